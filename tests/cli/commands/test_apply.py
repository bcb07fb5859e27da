import csv
import gzip
import json
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from numpy.testing import assert_array_equal

import dircal
from dircal.tables import LIMITS


@pytest.fixture
def expected(fitted, animals):
    return dircal.load(fitted).predict_proba(animals[0])


def scores(path, columns=(2, 3, 4)):
    return np.genfromtxt(path, delimiter=",", skip_header=1, usecols=columns, encoding="utf-8")


def test_the_scores_are_replaced_exactly(run, expected, tmp_path):
    told = run("apply", "map.json", "p.csv", "-o", "out.csv").stdout
    assert told == "300 rows calibrated, written to out.csv.\n"
    assert_array_equal(scores("out.csv"), expected)
    old, new = ((tmp_path / name).read_text().splitlines() for name in ("p.csv", "out.csv"))
    assert old[0] == new[0]
    assert [line.split(",")[:2] for line in old] == [line.split(",")[:2] for line in new]


def test_columns_are_added_with_a_prefix_or_suffix(run, expected, tmp_path):
    run("apply", "map.json", "p.csv", "-o", "out.csv", "--prefix", "cal_", "--suffix", "!")
    old, new = ((tmp_path / name).read_text().splitlines() for name in ("p.csv", "out.csv"))
    assert new[0] == "id,y,ant,bee,cow,cal_ant!,cal_bee!,cal_cow!"
    assert all(b.startswith(a + ",") for a, b in zip(old, new, strict=True))
    assert_array_equal(scores("out.csv", (5, 6, 7)), expected)
    again = ["out.csv", "-o", "more.csv", "--prefix", "cal_", "--suffix", "!"]
    told = run("apply", "map.json", *again, code=2).stderr
    assert "has a column called 'cal_ant!' already" in told


def test_text_of_other_columns_stays(run, fitted, tmp_path):
    rows = [
        '\ufeffcow,"a ""note""",ant,bee\r\n',
        '0.2,"two\r\nlines, and a comma",0.3,0.5\r\n',
        "\r\n",
        '0.6,5" pipe ,"0.2",2e-1\r\n',
        "1,ñ,0,0",
    ]
    (tmp_path / "odd.csv").write_bytes("".join(rows).encode())
    run("apply", "map.json", "odd.csv", "-o", "out.csv")
    expected = dircal.load("map.json").predict_proba(
        [[0.3, 0.5, 0.2], [0.2, 0.2, 0.6], [0.0, 0.0, 1.0]]
    )
    a, b, c = [[repr(float(p)) for p in row] for row in expected]
    with (tmp_path / "out.csv").open(encoding="utf-8", newline="") as file:
        assert [*csv.reader(file)] == [
            ["\ufeffcow", 'a "note"', "ant", "bee"],
            [a[2], "two\r\nlines, and a comma", *a[:2]],
            [b[2], '5" pipe ', *b[:2]],
            ["1", "ñ", *c[:2]],
        ]


def test_blocks_make_no_difference(run, fitted, animals):
    proba = np.tile(animals[0], (600, 1))
    lines = [",".join(map(repr, row)) for row in proba.tolist()]
    Path("long.csv").write_text("ant,bee,cow\n" + "\n".join(lines))
    assert Path("long.csv").stat().st_size > LIMITS.block_bytes
    run("apply", "map.json", "long.csv", "-o", "out.csv")
    expected = np.tile(dircal.load("map.json").predict_proba(animals[0]), (600, 1))
    assert_array_equal(scores("out.csv", (0, 1, 2)), expected)


def test_all_types_of_files(run, expected, animals, tmp_path):
    proba, y = animals
    (tmp_path / "p.csv.gz").write_bytes(gzip.compress((tmp_path / "p.csv").read_bytes()))
    columns = dict(zip(["ant", "bee", "cow"], proba.T, strict=True))
    pq.write_table(pa.table({"y": y, **columns}), "p.parquet")
    np.savez("p.npz", probs=proba, labels=y)
    np.save("p.npy", proba)
    for name in ("csv.gz", "parquet", "npz", "npy"):
        run("apply", "map.json", f"p.{name}", "-o", f"out.{name}")
    with gzip.open("out.csv.gz", "rt") as file:
        assert_array_equal(scores(file), expected)
    table = pq.read_table("out.parquet")
    assert table.column_names == ["y", "ant", "bee", "cow"]
    assert_array_equal(np.column_stack([table[name] for name in ("ant", "bee", "cow")]), expected)
    with np.load("out.npz") as arrays:
        assert_array_equal(arrays["probs"], expected)
        assert_array_equal(arrays["labels"], y)
    assert_array_equal(np.load("out.npy"), expected)
    run("apply", "map.json", "p.npz", "-o", "more.npz", "--suffix", "_calibrated")
    with np.load("more.npz") as arrays:
        assert_array_equal(arrays["probs"], proba)
        assert_array_equal(arrays["probs_calibrated"], expected)
    again = ["more.npz", "--columns", "probs", "-o", "most.npz", "--suffix", "_calibrated"]
    told = run("apply", "map.json", *again, code=2).stderr
    assert "has an array called 'probs_calibrated' already" in told
    told = run("apply", "map.json", "p.npy", "-o", "more.npy", "--suffix", "_", code=2).stderr
    assert "an NPY file has no names" in told


def test_columns_of_another_file(run, expected, write_csv, animals):
    proba, _ = animals
    turned = proba[:, [2, 0, 1]]
    write_csv("pattern.csv", columns=["prob_cow", "prob_ant", "prob_bee"], scores=turned)
    write_csv("order.csv", columns=["p0", "p1", "p2"], scores=turned)
    run("apply", "map.json", "pattern.csv", "-o", "a.csv", "--columns", "prob_*")
    run("apply", "map.json", "order.csv", "-o", "b.csv", "--columns", "p1,p2,p0")
    for name in ("a.csv", "b.csv"):
        assert_array_equal(scores(name)[:, [1, 2, 0]], expected)
    told = run("apply", "map.json", "order.csv", "-o", "c.csv", code=2).stderr
    assert "lacks columns that the map reads: 'ant', 'bee', 'cow'" in told
    assert "Its columns: 'id', 'y', 'p0', 'p1', 'p2'" in told


def test_the_map_remembers_the_columns_it_was_fitted_on(run, write_csv, animals):
    write_csv(columns=["prob_ant", "prob_bee", "prob_cow"])
    run("fit", "p.csv", "--label", "y", "--columns", "prob_*", "-o", "map.json")
    fitted = dircal.load("map.json")
    assert fitted.feature_names_in_.tolist() == ["prob_ant", "prob_bee", "prob_cow"]
    # Without --columns, and in whatever order.
    turned = animals[0][:, [2, 0, 1]]
    write_csv("turned.csv", columns=["prob_cow", "prob_ant", "prob_bee"], scores=turned)
    run("apply", "map.json", "turned.csv", "-o", "out.csv")
    expected = fitted.predict_proba(animals[0])
    assert_array_equal(scores("out.csv")[:, [1, 2, 0]], expected)


def test_a_file_without_rows_stays_without(run, fitted, tmp_path):
    (tmp_path / "none.csv").write_text("ant,bee,cow\n")
    run("apply", "map.json", "none.csv", "-o", "out.csv")
    assert (tmp_path / "out.csv").read_text() == "ant,bee,cow\n"
    pq.write_table(pa.table({n: pa.array([], pa.float64()) for n in ("ant", "bee", "cow")}), "n.pq")
    run("apply", "map.json", "n.pq", "-o", "out.parquet")
    assert pq.read_table("out.parquet").num_rows == 0


def test_json_for_machines(run, fitted):
    found = json.loads(run("apply", "map.json", "p.csv", "-o", "o.csv", "--json").stdout)
    assert found == {"output": "o.csv", "rows": 300, "columns": ["ant", "bee", "cow"]}


def test_missing_columns_are_those_of_the_fit(run, write_csv):
    write_csv("a.csv", columns=["p_ant", "p_bee", "p_cow"])
    run("fit", "a.csv", "--label", "y", "--columns", "p_*", "-o", "m.json")
    write_csv("b.csv", columns=["p_ant", "p_bee", "p_dog"])
    told = run("apply", "m.json", "b.csv", "-o", "out.csv", code=2).stderr
    assert "columns that the map reads: 'p_ant', 'p_bee', 'p_cow'" in told


class TestOwnOutput:
    """Calibrating twice is noticed where a file can tell."""

    def test_the_input_is_not_the_output(self, run, fitted):
        told = run("apply", "map.json", "p.csv", "-o", "p.csv", "--force", code=2).stderr
        assert "is the input. Name another file" in told

    @pytest.mark.parametrize("kind", ["parquet", "npz"])
    def test_files_remember_by_which_map(self, run, fitted, animals, write_csv, kind):
        proba, _ = animals
        columns = dict(zip(["ant", "bee", "cow"], proba.T, strict=True))
        pq.write_table(pa.table(columns), "p.parquet")
        np.savez("p.npz", probs=proba)
        run("apply", "map.json", f"p.{kind}", "-o", f"once.{kind}")
        told = run("apply", "map.json", f"once.{kind}", "-o", f"twice.{kind}", code=2).stderr
        assert f"'once.{kind}' is calibrated by this map already" in told
        run("apply", "map.json", f"p.{kind}", "-o", f"more.{kind}", "--prefix", "cal_")
        # The scores are still there, and another map may follow.
        scores = ["--columns", "probs"] if kind == "npz" else []
        again = [f"more.{kind}", "-o", f"a.{kind}", "--prefix", "new_", *scores]
        run("apply", "map.json", *again)
        cal = "cal_probs" if kind == "npz" else "cal_*"
        told = run("apply", "map.json", f"a.{kind}", "-o", f"b.{kind}", "--columns", cal, code=2)
        assert "is calibrated by this map already" in told.stderr
        other = ["--calibrator", "temperature", "-o", "other.json"]
        run("fit", "p.csv", "--label", "y", *other)
        run("apply", "other.json", f"once.{kind}", "-o", f"both.{kind}")
        told = run("apply", "other.json", f"both.{kind}", "-o", f"c.{kind}", code=2).stderr
        assert "is calibrated by this map already" in told

    def test_columns_beside_their_scores(self, run, fitted):
        run("apply", "map.json", "p.csv", "-o", "once.csv", "--prefix", "cal_")
        twice = ["once.csv", "-o", "twice.csv"]
        told = run("apply", "map.json", *twice, "--columns", "cal_*", code=2).stderr
        assert "'once.csv' is calibrated by this map already" in told
        run("apply", "map.json", *twice)

    def test_a_map_that_changes_nothing_may_be_applied_again(self, run, write_csv):
        write_csv()
        run("fit", "p.csv", "--label", "y", "--calibrator", "identity", "-o", "same.json")
        run("apply", "same.json", "p.csv", "-o", "once.csv", "--prefix", "cal_")
        run("apply", "same.json", "once.csv", "-o", "twice.csv", "--columns", "cal_*")


def test_masked_classes(run, make_problem, write_csv):
    """A logit of -inf is a probability of zero in every command; a row of them is an error."""
    problem = make_problem(1, n=300)
    masked = np.random.default_rng(0).random((300, 3)) < 0.2
    masked[np.arange(300), problem.y] = False
    logits = np.where(masked, -np.inf, problem.logits)
    write_csv(scores=logits)
    run("fit", "p.csv", "--label", "y", "--scale", "logit", "-o", "map.json")
    run("apply", "map.json", "p.csv", "-o", "out.csv")
    found = scores("out.csv")
    assert (found[masked] == 0.0).all()
    assert np.abs(found.sum(axis=1) - 1.0).max() < 1e-12
    assert "log_loss" in run("evaluate", "p.csv", "--label", "y", "--scale", "logit").stdout
    told = run("evaluate", "p.csv", "--label", "y", code=2).stderr
    assert "must be finite; line " in told
    assert "is -inf" in told
    logits[4] = -np.inf
    write_csv(scores=logits)
    for command in (
        ["apply", "map.json", "p.csv", "-o", "more.csv"],
        ["fit", "p.csv", "--label", "y", "--scale", "logit", "-o", "more.json"],
    ):
        told = run(*command, code=2).stderr
        assert "must leave a class in each row; in line 6 every logit is -inf" in told
