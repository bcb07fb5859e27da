"""Soft labels in files: the same map as from arrays, and one clear error for each mistake."""

import json

import numpy as np
import pytest
from numpy.testing import assert_allclose

from dircal import effective_annotators, load, metrics


@pytest.fixture
def rows(tmp_path):
    """Probabilities and counts of five annotators, in the files `p.csv`, `p.npz` and `p.npy`."""
    rng = np.random.default_rng(0)
    proba = rng.dirichlet(np.ones(3), 200).round(6)
    proba[:, 2] = 1.0 - proba[:, 0] - proba[:, 1]
    spread = np.sqrt(proba) / np.sqrt(proba).sum(axis=1, keepdims=True)
    counts = np.array([rng.multinomial(5, row) for row in spread])
    counts[3] = 0
    lines = ["p_b,p_a,p_c,votes_a,votes_b,votes_c,w"]
    for p, c in zip(proba.tolist(), counts.tolist(), strict=True):
        lines.append(f"{p[1]!r},{p[0]!r},{p[2]!r},{c[0]},{c[1]},{c[2]},2")
    (tmp_path / "p.csv").write_text("\n".join(lines) + "\n")
    np.savez(tmp_path / "p.npz", scores=proba, counts=counts)
    np.save(tmp_path / "p.npy", proba)
    np.save(tmp_path / "counts.npy", counts)
    return proba, counts


OPTIONS = {
    "pattern": ("p.csv", "--columns", "p_*", "--label-columns", "votes_*"),
    "names": (
        *("p.csv", "--columns", "p_a,p_b,p_c", "--classes", "a,b,c"),
        *("--label-columns", "votes_a,votes_b,votes_c"),
    ),
    "npz": ("p.npz", "--columns", "scores", "--label-columns", "counts"),
    "npy": ("p.npy", "--label-columns", "counts.npy"),
}


@pytest.mark.parametrize("options", OPTIONS.values(), ids=OPTIONS)
def test_a_map_from_a_file(options, rows, run, tmp_path):
    proba, counts = rows
    told = run("fit", *options, "--calibrator", "dirichlet", "-o", "map.json")
    assert "5 annotators a row, who count as" in told.stdout
    assert "1 of 200 rows have no label and are left out." in told.stderr
    used = counts.sum(axis=1) > 0
    weight = effective_annotators(proba[used], counts[used])
    fitted = load(tmp_path / "map.json")
    expected = type(fitted)().fit(proba[used], counts[used] / 5, weight)
    places = {"a": 0, "b": 1, "c": 2, 0: 0, 1: 1, 2: 2}
    found = fitted.map_(proba[:, [places[label] for label in fitted.column_classes_.tolist()]])
    assert_allclose(found, expected.predict_proba(proba), atol=1e-9)


def test_probabilities_in_a_file(rows, run, tmp_path):
    proba, _ = rows
    soft = np.sqrt(proba) / np.sqrt(proba).sum(axis=1, keepdims=True)
    np.savez(tmp_path / "q.npz", scores=proba, soft=soft)
    told = run(
        *("fit", "q.npz", "--columns", "scores", "--label-columns", "soft"),
        *("--calibrator", "temperature", "-o", "map.json"),
    )
    assert "annotators" not in told.stdout
    assert_allclose(load(tmp_path / "map.json").temperature_, 2.0, rtol=1e-3)


def test_measures_of_a_file(rows, run):
    proba, counts = rows
    told = run(
        *("evaluate", *OPTIONS["pattern"], "--resamples", "100", "--json"),
        *("--fail-if", "log_loss > 9"),
    )
    document = json.loads(told.stdout)
    assert document["rows"] == 199
    assert document["tests"] == {}
    found = document["measures"]["log_loss"]
    assert_allclose(found["value"], metrics.log_loss(counts, proba), rtol=1e-9)
    assert found["low"] < found["value"] < found["high"]
    shown = run("evaluate", *OPTIONS["pattern"], "--resamples", "100").stdout
    assert "with soft labels none ran" in shown


def test_a_gate_that_asks_for_a_test(rows, run, tmp_path):
    proba, counts = rows
    np.savez(tmp_path / "all.npz", scores=proba, counts=counts + 1)
    told = run(
        *("evaluate", "all.npz", "--columns", "scores", "--label-columns", "counts"),
        *("--resamples", "100", "--fail-if", "score_test.pvalue < 0.05"),
        code=2,
    ).stderr
    assert "asks for a test, which needs one label for each row" in told


def test_a_comparison_of_a_file(rows, run):
    told = run(
        *("compare", *OPTIONS["pattern"], "--calibrators", "temperature,isotonic"),
        *("--resamples", "100", "--json"),
    )
    table = json.loads(told.stdout)["rows"]
    assert {row["calibrator"] for row in table} == {"uncalibrated", "temperature", "isotonic"}


def test_a_report_of_a_file(rows, run, tmp_path):
    pytest.importorskip("jinja2")
    run(
        *("report", *OPTIONS["pattern"], "--calibrators", "temperature"),
        *("--resamples", "100", "-o", "page.html"),
    )
    assert "Labels are soft" in (tmp_path / "page.html").read_text()


BAD = {
    "both": (("--label", "w", "--label-columns", "votes_*"), "exclude each other"),
    "neither": ((), "Missing option '--label'"),
    "one": (("--label-columns", "votes_a"), "two columns or more"),
    "twice": (("--label-columns", "votes_a,votes_a"), "each once"),
    "unknown": (("--label-columns", "votes_a,votes_d"), "no column called 'votes_d'"),
    "no pattern": (("--label-columns", "vote*_x"), "fit two columns or more; it fits 0"),
    "two purposes": (("--label-columns", "votes_a,p_a,p_b", "--classes", "a,b,c"), "as well"),
    "multilabel": (("--label-columns", "many_*", "--columns", "p_*"), "multilabel"),
    "classes": (("--label-columns", "votes_*", "--classes", "a,b"), "--classes names 2 labels"),
}


@pytest.mark.parametrize(("options", "message"), BAD.values(), ids=BAD)
def test_mistakes(options, message, rows, run, tmp_path):
    lines = (tmp_path / "p.csv").read_text().splitlines()
    more = [",many_a,many_b,many_c", *(f",1,{i % 2},0" for i in range(200))]
    text = [line + tail for line, tail in zip(lines, more, strict=True)]
    (tmp_path / "p.csv").write_text("\n".join(text) + "\n")
    columns = () if "--columns" in options else ("--columns", "p_a,p_b,p_c")
    told = run("fit", "p.csv", *columns, *options, "-o", "map.json", code=2).stderr
    assert message in told
    assert not (tmp_path / "map.json").exists()


def test_arrays_that_are_no_soft_labels(rows, run, tmp_path):
    told = run("fit", "p.npz", "--columns", "scores", "--label-columns", "votes", "-o", "m", code=2)
    assert "has no array 'votes'; it has 'scores' (200, 3), 'counts' (200, 3)" in told.stderr
    np.save(tmp_path / "short.npy", np.ones((3, 3)))
    told = run("fit", "p.npy", "--label-columns", "short.npy", "-o", "m", code=2)
    assert "'short.npy' has 3 labels, but 'p.npy' has 200 rows. Pass one" in told.stderr


def test_many_files_may_have_soft_labels(rows, run, tmp_path):
    pa = pytest.importorskip("pyarrow")
    pq = pytest.importorskip("pyarrow.parquet")
    proba, counts = rows
    columns = dict(zip(("a", "b", "c"), proba.T, strict=True))
    votes = dict(zip(("v_a", "v_b", "v_c"), counts.T, strict=True))
    (tmp_path / "parts").mkdir()
    table = pa.table(columns | votes)
    for i, part in enumerate((table[:80], table[80:])):
        pq.write_table(part, tmp_path / "parts" / f"{i}.parquet")
    told = run("fit", "parts", "--label-columns", "v_*", "-o", "map.json", "--json").stdout
    run("fit", *OPTIONS["pattern"], "-o", "one.json")
    found, expected = (load(tmp_path / name) for name in ("map.json", "one.json"))
    assert json.loads(told)["annotators"] == 5.0
    # Columns are in the order of the file: b, a, c.
    assert_allclose(
        found.predict_proba(proba), expected.predict_proba(proba[:, [1, 0, 2]]), atol=1e-9
    )


def test_one_column_of_scores(rows, run, tmp_path):
    rng = np.random.default_rng(0)
    p = rng.uniform(size=100)
    yes = rng.binomial(4, p)
    lines = ["p,no,yes", *(f"{a!r},{4 - b},{b}" for a, b in zip(p.tolist(), yes, strict=True))]
    (tmp_path / "two.csv").write_text("\n".join(lines) + "\n")
    told = run(
        *("fit", "two.csv", "--columns", "p", "--label-columns", "no,yes"),
        *("--calibrator", "platt", "-o", "map.json"),
    )
    assert "4 annotators a row" in told.stdout


def test_old_rows_and_costs_need_one_label_for_each_row(rows, run, tmp_path):
    (tmp_path / "costs.csv").write_text("class,keep,sell\na,0,3\nb,1,0\nc,0,5\n")
    options = OPTIONS["pattern"]
    for further in (("--old", "p.csv"), ("--costs", "costs.csv")):
        told = run("report", *options, *further, "-o", "r.html", code=2).stderr
        assert "with one label each, but --label-columns is given. Pass --label alone" in told
    options = ("p.csv", "--columns", "p_*", "--label", "votes_a", "--weights", "w")
    told = run("report", *options, "--old", "p.csv", "-o", "r.html", code=2).stderr
    assert "but --weights is given" in told
