import csv
import json
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_allclose

import dircal
from dircal.decide import CostTable, best_actions, expected_cost, realised_cost, savings

COSTS = {"ant": {"shoo": 0, "eat": 9}, "bee": {"shoo": 2, "eat": 5}, "cow": {"shoo": 7, "eat": 0}}


@pytest.fixture
def costs(tmp_path):
    text = "class,shoo,eat\nant,0,9\nbee,2,5\ncow,7,0\n"
    (tmp_path / "costs.csv").write_text(text)
    (tmp_path / "costs.json").write_text(json.dumps(COSTS))
    return CostTable.from_mapping(COSTS)


@pytest.mark.parametrize("name", ["costs.csv", "costs.json"])
def test_actions_are_those_of_the_library(name, run, write_csv, animals, costs):
    write_csv()
    found = run("decide", "p.csv", "--costs", name, "--ask", 0.5, "-o", "actions.csv")
    expected = best_actions(animals[0], costs.with_question(0.5))
    with Path("actions.csv").open(encoding="utf-8") as file:
        lines = list(csv.DictReader(file))
    assert [line["action"] for line in lines] == expected.actions.tolist()
    assert_allclose([float(line["expected_cost"]) for line in lines], expected.expected_cost)
    assert "300 rows: shoo" in found.stdout
    assert "Expected cost" in found.stdout
    assert "They have cost" not in found.stdout


def test_with_a_map_and_labels_it_tells_what_was_saved(run, fitted, animals, costs):
    options = ("--map", "map.json", "--label", "y", "--ask", 0.5, "--max-risk", 0.3)
    found = run("decide", "p.csv", "--costs", "costs.csv", *options).stdout
    assert "They have cost" in found
    assert "Without the map they would have cost" in found
    assert "Keep confidence >=" in found
    document = json.loads(run("decide", "p.csv", "--costs", "costs.csv", *options, "--json").stdout)
    proba, y = animals
    after = dircal.load("map.json").predict_proba(proba)
    table = costs.with_question(0.5)
    paid = realised_cost(y, after, table)
    assert_allclose(document["realised_cost"]["mean"], paid.mean)
    assert_allclose(document["savings"]["saved"], savings(y, proba, after, table).saved)
    assert_allclose(sum(document["actions"].values()), 1.0)


def test_numbers_as_labels(run, tmp_path, animals):
    proba, _ = animals
    np.savez(tmp_path / "p.npz", probs=proba, y=np.arange(300) % 3)
    (tmp_path / "costs.csv").write_text("class,a,b\n0,1,2\n2,3,1\n1,0,5\n")
    found = json.loads(
        run(
            "decide",
            "p.npz",
            "--columns",
            "probs",
            "--label",
            "y",
            "--costs",
            "costs.csv",
            "--json",
        ).stdout
    )
    table = CostTable.from_matrix([[1, 2], [0, 5], [3, 1]], classes=range(3), actions=["a", "b"])
    assert_allclose(
        found["realised_cost"]["mean"], realised_cost(np.arange(300) % 3, proba, table).mean
    )


@pytest.mark.parametrize("label", [(), ("--label", "y")])
def test_numbers_as_labels_in_text(run, write_csv, tmp_path, label, animals):
    y = np.arange(300) % 3
    write_csv(columns=range(3), labels=y)
    (tmp_path / "costs.csv").write_text("class,a,b\n0,1,2\n2,3,1\n1,0,5\n")
    found = json.loads(run("decide", "p.csv", "--costs", "costs.csv", *label, "--json").stdout)
    table = CostTable.from_matrix([[1, 2], [0, 5], [3, 1]], classes=range(3), actions=["a", "b"])
    assert_allclose(found["expected_cost"]["mean"], expected_cost(animals[0], table).mean)
    assert ("realised_cost" in found) == bool(label)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("class,shoo,eat\nant,0,9\nbee,2,5\n", "lacks|no column"),
        ("class,shoo,eat\nant,0,9\nbee,2,5\ncow,7\n", "'cow' has 2 cells, the header 3"),
        ("class,shoo,eat\nant,0,9\nbee,2,much\ncow,7,0\n", "'much', in the line of 'bee'"),
        ("class,shoo\nant,0\n", "must have a header"),
        (
            "class,shoo,shoo,eat\nant,0,8,9\nbee,2,3,5\ncow,7,1,0\n",
            "action 'shoo' twice, in line 1",
        ),
        ("class,shoo, shoo\nant,0,8\nbee,2,3\ncow,7,1\n", "action 'shoo' twice, in line 1"),
        ("class,shoo,eat\nant,0,9\n\nbee,2,5\n ant,5,5\ncow,7,0\n", "class 'ant' twice, in line 5"),
        ("class,shoo,eat\nant,0,9\nbee,2,nan\ncow,7,0\n", "'nan', in the line of 'bee'"),
        ("class,shoo,eat\nant,0,9\nbee,2,5\ncow,7," + "9" * 200_000, "field larger than"),
        ("class,shoo,eat\nant,0,9\nb\xe9e,2,5\ncow,7,0\n".encode("latin-1"), "not text in UTF-8"),
    ],
)
def test_bad_costs(text, message, run, fitted, tmp_path):
    (tmp_path / "costs.csv").write_bytes(text if isinstance(text, bytes) else text.encode())
    found = run("decide", "p.csv", "--map", "map.json", "--costs", "costs.csv", code=2)
    assert any(part in found.stderr for part in message.split("|"))
    assert "--costs 'costs.csv'" in found.stderr


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{", "is not JSON"),
        ("[" * 100_000, "is nested too deeply"),
        ('{"ant": {"a": ' + "[" * 950 + "]" * 950 + "}}", "is nested too deeply"),
        ('{"ant": {"a": ' + "9" * 5000 + ', "b": 1}}', "holds a number that is too long"),
        ('{"ant": {"a": NaN, "b": 1}, "bee": {"a": 1, "b": 1}}', "holds NaN"),
        ('{"ant": {"a": 1, "b": 0}, "bee": {"a": 1, "b": 2, "a": 3}}', "key 'a' twice, in 'bee'"),
        ('{"ant": {"a": 1, "b": 0}, "bee": {"a": 1, "b": 2}, "ant": {}}', "key 'ant' twice"),
        ("[1, 2]", "must hold costs by class and action"),
        ('{"ant": {"a": 1}, "bee": {"b": 1}, "cow": {"a": 1}}', "the same actions"),
        (
            '{"ant": {"a": 1}, "bee": {"a": 1}, "cow": {"a": 1}}',
            "at least two classes and two actions",
        ),
        ('{"ant": {"a": 1, "b": 2}}', "at least two classes and two actions"),
        ("{}", "at least two classes and two actions"),
        ('{"ant": {"a": null}, "bee": {"a": 1}, "cow": {"a": 1}}', "None"),
    ],
)
def test_bad_json(text, message, run, write_csv, tmp_path):
    write_csv()
    (tmp_path / "costs.json").write_text(text)
    told = run("decide", "p.csv", "--costs", "costs.json", code=2).stderr
    assert message in told
    assert "--costs 'costs.json'" in told


def test_bad_usage(run, write_csv, costs):
    write_csv()
    found = run("decide", "p.csv", "--costs", "costs.csv", "--max-risk", 0.1, code=2)
    assert "--max-risk needs --label" in found.stderr
    assert "no such file" in run("decide", "p.csv", "--costs", "none.csv", code=2).stderr.lower()
    found = run("decide", "p.csv", "--costs", "costs.csv", "-o", "p.csv", "--force", code=2)
    assert "is the input" in found.stderr


@pytest.mark.parametrize(
    ("command", "option"),
    [
        (["decide", "p.csv", "--costs", "costs.csv"], "--ask"),
        (["decide", "p.csv", "--costs", "costs.csv", "--label", "y"], "--max-risk"),
        (["report", "p.csv", "--costs", "costs.csv", "--label", "y", "-o", "o.html"], "--ask"),
        (["llm", "raw.jsonl", "--options", "A,B", "-o", "o.csv"], "--ask"),
        (["monitor", "p.csv", "--label", "y"], "--level"),
    ],
)
def test_numbers_that_are_not(run, write_csv, costs, command, option):
    write_csv()
    told = run(*command, option, "nan", code=2).stderr
    assert f"Invalid value for '{option}': must be a finite number; got nan." in told


def test_a_file_without_rows(run, tmp_path, costs):
    (tmp_path / "empty.csv").write_text("y,ant,bee,cow\n")
    for label in ((), ("--label", "y")):
        found = run("decide", "empty.csv", "--costs", "costs.csv", *label, code=2)
        assert "has no rows" in found.stderr
