import json

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
