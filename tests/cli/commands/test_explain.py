import json

import numpy as np
import pytest

import dircal


def test_sentences_and_parameters(run, fitted):
    told = run("explain", fitted).stdout
    for sentence in dircal.load(fitted).explain().sentences():
        assert " ".join(sentence.split()) in " ".join(told.split())
    assert "canonical form" in told


@pytest.mark.parametrize("name", ["isotonic", "platt", "auto", "temperature", "identity"])
def test_every_map_says_something(run, write_csv, name):
    write_csv()
    run("fit", "p.csv", "--label", "y", "--calibrator", name, "-o", "map.json")
    run("explain", "map.json")
    found = json.loads(run("explain", "map.json", "--json").stdout)
    assert found["classes"] == ["ant", "bee", "cow"]
    assert found["sentences"]


def test_probabilities_that_need_no_map(run, tmp_path):
    rng = np.random.default_rng(0)
    q = rng.dirichlet(np.ones(3), size=1000)
    y = (q.cumsum(axis=1) > rng.random((1000, 1))).argmax(axis=1)
    auto = dircal.AutoCalibrator().fit(q, y)
    assert auto.choice_ == "identity"
    dircal.save(auto, "map.json")
    told = run("explain", "map.json").stdout
    assert "- Nothing needed correcting" in told
    assert "`calibrators` must" not in told
    found = json.loads(run("explain", "map.json", "--json").stdout)
    assert found["sentences"] == auto.explain().sentences()
    assert found["explanation"]["comparison"] is None


@pytest.mark.parametrize(
    ("labels", "expected"),
    [
        (np.array([b"a", b"b"]), ["a", "b"]),
        (np.array(["2020-01-01", "2020-01-02"], dtype="M8[D]"), ["2020-01-01", "2020-01-02"]),
        (np.array([1, 2], dtype="m8[s]"), ["1 seconds", "2 seconds"]),
        (np.array([False, True]), [False, True]),
    ],
    ids=["bytes", "dates", "durations", "truths"],
)
def test_labels_of_every_type(run, make_problem, labels, expected):
    problem = make_problem(0, n=100, k=2)
    fitted = dircal.DirichletCalibrator().fit(problem.proba, labels[problem.y])
    dircal.save(fitted, "map.json")
    run("explain", "map.json")
    assert json.loads(run("explain", "map.json", "--json").stdout)["classes"] == expected


def test_odd_values_in_the_record(run, fitted, tmp_path):
    """Whole numbers of any length are numbers; ragged tables are refused by their place."""
    document = json.loads((tmp_path / fitted).read_text())
    record = document["object"]["fit"]["record"]["fields"]
    record["comparison"]["fields"]["likelihood_ratio"] = 10**30
    record["n_rows"] = 10**300
    (tmp_path / "odd.json").write_text(json.dumps(document))
    run("explain", "odd.json")
    run("explain", "odd.json", "--json")
    record["effects"]["fields"]["before"]["data"] = [[0.5], [0.25, 0.25]]
    (tmp_path / "odd.json").write_text(json.dumps(document))
    told = run("explain", "odd.json", code=2).stderr
    assert "'odd.json' is no calibrator that dircal" in told
    assert "record.effects.before" in told
