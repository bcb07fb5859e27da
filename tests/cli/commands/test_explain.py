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
    q = rng.dirichlet(np.ones(3), size=500)
    y = (q.cumsum(axis=1) > rng.random((500, 1))).argmax(axis=1)
    auto = dircal.AutoCalibrator().fit(q, y)
    assert auto.choice_ == "IdentityCalibrator"
    dircal.save(auto, "map.json")
    told = run("explain", "map.json").stdout
    assert "- Nothing needed correcting" in told
    assert "`calibrators` must" not in told
    found = json.loads(run("explain", "map.json", "--json").stdout)
    assert found["sentences"] == auto.explain().sentences()
    assert found["explanation"]["comparison"] is None
