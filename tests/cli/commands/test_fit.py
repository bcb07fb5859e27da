import json
import re
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from numpy.testing import assert_array_equal
from sklearn.model_selection import KFold

import dircal
from dircal import calibrators
from dircal.cli._calibrators import NAMES

ANIMALS = ["ant", "bee", "cow"]


def test_it_is_the_fit_of_the_library(run, write_csv, animals):
    write_csv()
    told = run("fit", "p.csv", "--label", "y", "--calibrator", "vector", "-o", "map.json").stdout
    assert "VectorScaling, fitted on 300 rows of 3 classes." in told
    assert "Columns: ant, bee, cow." in told
    found = dircal.load("map.json")
    expected = dircal.VectorScaling(classes=["ant", "bee", "cow"]).fit(*animals)
    assert_array_equal(found.coef_, expected.coef_)
    assert found.feature_names_in_.tolist() == ["ant", "bee", "cow"]


def test_every_calibrator_has_a_name_and_can_be_fitted(run, write_csv):
    write_csv()
    for name in NAMES:
        run("fit", "p.csv", "--label", "y", "--calibrator", name, "-o", f"{name}.json")
    fitted = {name: dircal.load(f"{name}.json") for name in NAMES}
    inner = {type(getattr(one, "calibrator", one)).__name__ for one in fitted.values()}
    assert inner == {*calibrators.__all__, "AutoCalibrator"}


def test_options_reach_the_calibrator(run, write_csv):
    write_csv()
    options = ["--option", "penalty=l2", "--option", "lam=0.5"]
    run("fit", "p.csv", "--label", "y", "--calibrator", "dirichlet", *options, "-o", "map.json")
    found = dircal.load("map.json")
    assert (found.penalty, found.lam) == ("l2", 0.5)


@pytest.mark.parametrize(
    ("option", "message"),
    [
        ("lam", "must be NAME=VALUE"),
        ("lambda=1", "DirichletCalibrator has clip, lam, max_iter, mu, penalty, tol"),
        ("lam=-1", "`lam` must be a finite number"),
        ("input_scale=logit", "use --scale"),
    ],
)
def test_options_that_are_none(run, write_csv, option, message):
    write_csv()
    told = run(
        *("fit", "p.csv", "--label", "y", "--calibrator", "dirichlet"),
        *("--option", option, "-o", "map.json"),
        code=2,
    ).stderr
    assert message in told


def test_all_types_of_files_give_the_same_map(run, write_csv, animals, tmp_path):
    proba, y = animals
    write_csv()
    columns = dict(zip(["ant", "bee", "cow"], proba.T, strict=True))
    pq.write_table(pa.table({"y": y, **columns}), "p.parquet")
    np.savez("p.npz", probs=proba, labels=y)
    np.save("p.npy", proba)
    np.save("y.npy", y)
    (tmp_path / "p.tsv").write_text((tmp_path / "p.csv").read_text().replace(",", "\t"))
    for name, label in {
        "p.csv": "y",
        "p.tsv": "y",
        "p.parquet": "y",
        "p.npz": "labels",
        "p.npy": "y.npy",
    }.items():
        run("fit", name, "--label", label, "--calibrator", "dirichlet", "-o", f"{name}.json")
    maps = [dircal.load(f"p.{one}.json") for one in ("csv", "tsv", "parquet", "npz", "npy")]
    for one in maps:
        assert_array_equal(one.coef_, maps[0].coef_)
        assert one.classes_.tolist() == ["ant", "bee", "cow"]


def test_columns_by_pattern_by_name_and_by_order(run, write_csv, animals):
    proba, _ = animals
    turned = proba[:, [2, 0, 1]]
    write_csv("pattern.csv", columns=["prob_cow", "prob_ant", "prob_bee"], scores=turned)
    write_csv("name.csv", columns=["cow", "ant", "bee"], scores=turned)
    write_csv("order.csv", columns=["p0", "p1", "p2"], scores=turned)
    write_csv()
    common = ["--label", "y", "--calibrator", "dirichlet"]
    run("fit", "p.csv", *common, "-o", "plain.json")
    run("fit", "pattern.csv", *common, "--columns", "prob_*", "-o", "pattern.json")
    run("fit", "name.csv", *common, "--columns", "cow,ant,bee", "-o", "name.json")
    by_order = ["--columns", "p0,p1,p2", "--classes", "cow,ant,bee"]
    told = run("fit", "order.csv", *common, *by_order, "-o", "order.json").stdout
    assert "Columns: p0 = cow, p1 = ant, p2 = bee." in told
    plain = dircal.load("plain.json").coef_
    for name in ("pattern", "name", "order"):
        np.testing.assert_allclose(dircal.load(f"{name}.json").coef_, plain, rtol=1e-9, atol=1e-12)


def test_a_class_without_rows_is_named(run, write_csv, animals):
    _, y = animals
    few = np.where(y == "cow", "bee", y)
    write_csv(labels=few)
    told = run("fit", "p.csv", "--label", "y", "-o", "map.json", code=2).stderr
    assert "rows that sum to one" in told
    assert "check that --columns names all classes" in told
    run("fit", "p.csv", "--label", "y", "--classes", "ant,bee,cow", "-o", "map.json")
    assert dircal.load("map.json").classes_.tolist() == ["ant", "bee", "cow"]


def test_logits_are_said_and_doubted(run, write_csv, make_problem):
    problem = make_problem(1, n=300)
    write_csv("z.csv", scores=problem.logits)
    write_csv()
    told = run("fit", "z.csv", "--label", "y", "-o", "map.json", code=2).stderr
    assert "must not be negative; line " in told
    assert "Pass --scale logit if these are logits" in told
    run("fit", "z.csv", "--label", "y", "--scale", "logit", "-o", "map.json")
    assert dircal.load("map.json").input_scale == "logit"
    told = run("fit", "p.csv", "--label", "y", "--scale", "logit", "-o", "other.json").stderr
    assert told.startswith(
        "Warning: 'p.csv' is read as logits, but its rows look like probabilities"
    )
    told = run("apply", "map.json", "p.csv", "-o", "out.csv").stderr
    assert "The map was fitted on logits: apply it to those." in told


def test_weights_count(run, animals):
    proba, y = animals
    weights = np.arange(len(y)) % 3
    columns = dict(zip(["ant", "bee", "cow"], proba.T, strict=True))
    pq.write_table(pa.table({"y": y, "w": weights, **columns}), "p.parquet")
    common = ["--label", "y", "--weights", "w", "--calibrator", "vector"]
    run("fit", "p.parquet", *common, "-o", "map.json")
    expected = dircal.VectorScaling().fit(proba, y, weights)
    assert_array_equal(dircal.load("map.json").coef_, expected.coef_)


@pytest.mark.parametrize("calibrator", ["auto", "temperature", "platt"])
def test_one_column_for_two_classes(calibrator, run, make_problem, tmp_path):
    """From the fit to the report of what `apply` has written, always one column."""
    problem = make_problem(0, n=200, k=2)
    lines = [
        f"{'yes' if y else 'no'},{q}" for y, q in zip(problem.y, problem.proba[:, 1], strict=True)
    ]
    (tmp_path / "p.csv").write_text("\n".join(["y,score", *lines]))
    common = ["--label", "y", "--columns", "score"]
    run("fit", "p.csv", *common, "-o", "map.json", "--calibrator", calibrator)
    run("apply", "map.json", "p.csv", "-o", "out.csv")
    expected = dircal.load("map.json").predict_proba(problem.proba[:, 1])[:, 1]
    found = np.genfromtxt("out.csv", delimiter=",", skip_header=1, usecols=1)
    assert_array_equal(found, expected)
    after = json.loads(run("evaluate", "out.csv", *common, "--json").stdout)
    words = np.array(["no", "yes"])[problem.y]
    assert after["measures"]["log_loss"]["value"] == pytest.approx(
        dircal.metrics.log_loss(words, expected)
    )
    run("compare", "out.csv", *common, "--calibrators", "temperature")
    run("report", "out.csv", *common, "-o", "r.html", "--calibrators", "temperature")


def test_the_label_of_one_column(run, make_problem, tmp_path):
    problem = make_problem(0, n=200, k=2)
    lines = [
        f"{'ill' if y else 'well'},{q}" for y, q in zip(problem.y, problem.proba[:, 1], strict=True)
    ]
    # Without another column, the one that is left contains the scores.
    (tmp_path / "p.csv").write_text("\n".join(["y,score", *lines]))
    run("fit", "p.csv", "--label", "y", "--positive", "ill", "-o", "map.json")
    assert dircal.load("map.json").column_classes_.tolist() == ["well", "ill"]
    told = run("fit", "p.csv", "--label", "y", "--positive", "sick", "-o", "m.json", code=2).stderr
    assert "has the labels ['ill', 'well']; got 'sick'" in told
    both = ["--positive", "ill", "--classes", "well,ill"]
    assert (
        "exclude each other"
        in run("fit", "p.csv", "--label", "y", "-o", "m.json", *both, code=2).stderr
    )


def test_json_for_machines(run, write_csv):
    write_csv()
    found = json.loads(run("fit", "p.csv", "--label", "y", "-o", "m.json", "--json").stdout)
    assert found["rows"] == 300
    assert found["columns"] == found["classes"] == ["ant", "bee", "cow"]
    assert found["log_loss_after"] < found["log_loss_before"]


def test_a_calibrator_goes_by_its_class_too(run, write_csv):
    write_csv()
    told = run("fit", "p.csv", "--label", "y", "--calibrator", "VectorScaling", "-o", "m.json")
    assert "VectorScaling, fitted on 300 rows of 3 classes." in told.stdout
    refused = run("fit", "p.csv", "--label", "y", "--calibrator", "Report", "-o", "n.json", code=2)
    assert "'Report' is no calibrator. There are auto, bayesian, " in refused.stderr


def test_columns_that_are_nearly_called_like_the_labels(run, write_csv, animals):
    proba, _ = animals
    # In the order of the model, which is not that of the labels.
    columns = ["p_Cow", "p_Ant", "p_Bee"]
    write_csv(columns=columns, scores=proba[:, [2, 0, 1]])
    options = ("--label", "y", "--calibrator", "temperature", "-o", "map.json")
    fit = run("fit", "p.csv", "--columns", ",".join(columns), *options)
    assert "Columns: p_Cow = cow, p_Ant = ant, p_Bee = bee." in fit.stdout
    run("apply", "map.json", "p.csv", "--columns", "p_Ant,p_Cow,p_Bee", "-o", "a.csv")
    run("apply", "map.json", "p.csv", "-o", "b.csv")
    assert Path("a.csv").read_bytes() == Path("b.csv").read_bytes()
    write_csv("half.csv", columns=["p_ant", "p_bee", "q"])
    said = run("fit", "half.csv", "--columns", "p_ant,p_bee,q", *options, "--force", code=2)
    assert "seem to be named after the labels" in said.stderr


@pytest.mark.parametrize("rename", ["proba_{}".format, "{} (%)".format, str.upper, " {}".format])
def test_columns_that_are_nearly_called_like_the_labels_need_no_option(
    run, write_csv, animals, rename
):
    proba, _ = animals
    options = ("--label", "y", "--calibrator", "temperature")
    write_csv("exact.csv")
    run("fit", "exact.csv", *options, "-o", "exact.json")
    columns = [rename(name) for name in ("cow", "ant", "bee")]
    write_csv("near.csv", columns=columns, scores=proba[:, [2, 0, 1]])
    assert f"{rename('cow')} = cow" in run("fit", "near.csv", *options, "-o", "near.json").stdout
    found = [
        json.loads(run("evaluate", name, "--label", "y", "--resamples", 100, "--json").stdout)
        for name in ("exact.csv", "near.csv")
    ]
    assert found[0]["measures"] == found[1]["measures"]
    # A map that was fitted on one reads the other.
    for fitted in ("exact", "near"):
        run("apply", f"{fitted}.json", "near.csv", "-o", f"by_{fitted}.csv")
    assert Path("by_near.csv").read_bytes() == Path("by_exact.csv").read_bytes()


def test_several_sets_of_columns_are_a_choice(run, write_csv, animals):
    proba, _ = animals
    columns = [f"{part}_{name}" for part in "pq" for name in ("ant", "bee", "cow")]
    write_csv(columns=columns, scores=np.hstack([proba, proba]))
    options = ("--label", "y", "-o", "map.json")
    said = run("fit", "p.csv", *options, code=2).stderr
    assert "no column is called 'ant'" in said
    assert "--columns 'prob_*'" in said


@pytest.mark.parametrize("command", ["fit", "evaluate", "compare", "report"])
def test_columns_in_another_order_are_told_once(run, write_csv, animals, command):
    proba, _ = animals
    write_csv(columns=["x", "y1", "z"], scores=proba[:, [1, 2, 0]])
    output = {"fit": ["-o", "map.json"], "report": ["-o", "page.html"]}.get(command, [])
    result = run(command, "p.csv", "--label", "y", "--columns", "x,y1,z", *output)
    assert result.stderr.count("fit another order of the columns") == 1
    assert "classes=['bee', 'cow', 'ant']" in result.stderr


def test_it_says_what_to_expect_of_new_rows(run, write_csv, animals):
    write_csv()
    common = ["fit", "p.csv", "--label", "y", "--force", "-o", "m.json"]
    told = run(*common).stdout
    auto = dircal.load("m.json")
    expected = auto.table_["log_loss"][auto.table_["calibrator"].index(auto.choice_)]
    assert f"Log-loss of new rows: {expected:.4f} (what to expect by the evidence" in told
    told = json.loads(run(*common, "--calibrator", "temperature", "--json").stdout)
    proba, y = animals
    folds = np.empty_like(proba)
    for fitting, scoring in KFold(5, shuffle=True, random_state=0).split(proba):
        map_ = dircal.TemperatureScaling().fit(proba[fitting], y[fitting])
        folds[scoring] = map_.predict_proba(proba[scoring])
    assert told["log_loss_new_rows"] == pytest.approx(dircal.metrics.log_loss(y, folds))
    assert told["log_loss_new_rows_by"] == "folds"


def test_folds_that_would_take_long_are_left_to_others(run, write_csv, use_limits):
    write_csv()
    use_limits("InferenceLimits", max_fold_seconds=0.0)
    common = ["fit", "p.csv", "--label", "y", "--calibrator", "temperature", "-o", "m.json"]
    assert "Log-loss of new rows: not measured; dircal compare does" in run(*common).stdout


def test_what_intervals_need_is_kept_if_wanted(run, write_csv, animals):
    write_csv()
    common = ["fit", "p.csv", "--label", "y", "--calibrator", "bayesian"]
    run(*common, "-o", "small.json")
    run(*common, "--uncertainty", "posterior", "-o", "large.json")
    dircal.load("large.json").predict_interval(animals[0])
    with pytest.raises(ValueError, match="--uncertainty posterior"):
        dircal.load("small.json").predict_interval(animals[0])


@pytest.mark.parametrize("engine", [(), ("--engine", "threads")], ids=["memory", "parts"])
@pytest.mark.parametrize("given", ["lake", "lake/*.parquet", "lake/**/*.parquet"])
def test_many_parquet_files_are_one_table(given, engine, lake, run, write_csv):
    write_csv()
    run("fit", "p.csv", "--label", "y", "--calibrator", "vector", "-o", "whole.json")
    given = (given, *engine)
    result = run("fit", *given, "--label", "y", "--calibrator", "vector", "-o", "m.json", "--json")
    document = json.loads(result.stdout)
    assert document["rows"] == 300
    assert document["columns"] == ["ant", "bee", "cow"]
    assert document["log_loss_after"] < document["log_loss_before"]
    whole, streamed = dircal.load("whole.json"), dircal.load("m.json")
    np.testing.assert_allclose(streamed.coef_, whole.coef_, rtol=0, atol=1e-9)
    assert streamed.feature_names_in_.tolist() == whole.feature_names_in_.tolist()
    told = run("fit", *given, "--label", "y", "-o", "n.json").stdout
    assert "fitted on 300 rows of 3 classes" in told


def test_many_files_are_measured_as_one(lake, run):
    files = [pq.read_table(one) for one in sorted(lake.iterdir())]
    pq.write_table(pa.concat_tables(files), "whole.parquet")
    options = ("--label", "y", "--resamples", "100")
    whole, found = (
        json.loads(run("evaluate", path, *options, "--json").stdout)
        for path, *options in (
            ("whole.parquet", *options),
            ("lake", *options, "--engine", "threads"),
        )
    )
    assert found["rows"] == 300
    assert [*found] == [*whole]
    assert [*found["measures"]] == [*whole["measures"]]
    for name, one in found["measures"].items():
        assert one["value"] == pytest.approx(whole["measures"][name]["value"], rel=1e-12), name
        for end in ("low", "high", "corrected") if name != "maximum_calibration_error" else ():
            assert one[end] == pytest.approx(whole["measures"][name][end], rel=3e-6), name
    for name, test in found["tests"].items():
        assert test["pvalue"] == whole["tests"][name]["pvalue"], name
        assert test["source"] == "draws"
    assert [label for label, _ in found["classes_off"]] == [
        label for label, _ in whole["classes_off"]
    ]
    parts = ("--engine", "threads")
    told = [
        run("evaluate", *call, *options).stdout
        for call in (["whole.parquet"], ["lake/*"], ["lake/*", *parts])
    ]
    assert told[0] == told[1] == told[2]
    assert "moments" not in told[0]


def test_gates_of_many_files_know_all_names(lake, run):
    options = ("--label", "y", "--resamples", "100")
    rules = ["--fail-if", "smooth_ece > 1", "--fail-if", "log_loss.low > 0"]
    told = run("evaluate", "lake", *options, *rules, code=1).stdout
    assert "passed: smooth_ece is " in told
    assert "FAILED: log_loss.low is " in told
    run("evaluate", "lake", *options, "--fail-if", "score_test.pvalue > 1")


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["lake/*.csv"], "contains no files of predictions"),
        (["p.csv", "--engine", "dask"], "--engine dask reads Parquet"),
        (["lake", "--scheduler", "tcp://nobody:1"], "needs --engine dask"),
        (["lake", "--engine", "threads", "--option", "cv=3"], "fitted by sums over rows"),
        (["lake", "--columns", "ant,bee"], "columns of scores|--columns"),
    ],
)
def test_what_cannot_be_streamed(arguments, told, lake, run, write_csv):
    write_csv()
    result = run("fit", *arguments, "--label", "y", "-o", "m.json", code=2)
    assert re.search(told, result.stderr)
    assert not Path("m.json").exists()


def test_other_commands_read_many_files_as_one(lake, run, write_csv):
    write_csv()
    options = ("--label", "y", "--calibrators", "temperature", "--json")
    calls = (["lake", "--engine", "threads"], ["p.csv"])
    found = [json.loads(run("compare", *one, *options).stdout) for one in calls]
    # Folds are dealt by the number of a row, which is another one here.
    accuracy = [
        [row["value"] for row in one["rows"] if row["calibrator"] == "uncalibrated"]
        for one in found
    ]
    np.testing.assert_allclose(*accuracy, rtol=1e-9)
    run("report", "lake/*.parquet", "--label", "y", "-o", "page.html", "--resamples", 100)
    assert "300 rows" in Path("page.html").read_text(encoding="utf-8")
    run("fit", "lake", "--label", "y", "-o", "m.json")
    told = run("apply", "m.json", "lake", "-o", "out.parquet", code=2).stderr
    assert "'lake' is not one file, and only one is written" in told


@pytest.mark.parametrize("engine", [(), ("--engine", "threads")], ids=["memory", "parts"])
def test_labels_of_many_files_that_are_none(lake, run, engine):
    second = pq.read_table(lake / "1.parquet")
    place = second.schema.get_field_index("y")
    options = ("evaluate", "lake", "--label", "y", "--columns", "ant,bee,cow", *engine)
    missing = [None] + ["bee"] * (len(second) - 1)
    for labels, message in (
        (range(len(second)), "`y` must hold labels of one type"),
        (missing, "row 0 of 'lake/1.parquet', column 'y' is empty. Leave out the rows"),
    ):
        changed = second.set_column(place, "y", pa.array(labels))
        pq.write_table(changed, lake / "1.parquet")
        assert re.search(message, run(*options, code=2).stderr)
    found = run(*options, "--skip-unlabelled", "--json", "--resamples", "100").stdout
    assert json.loads(found)["rows"] == 299


def test_a_folder_that_is_not_there(lake, run):
    told = run("evaluate", "lak", "--label", "y", code=2).stderr
    assert "No such file or directory: 'lak'. Did you mean 'lake'?" in told


def test_files_of_another_table_are_refused(lake, run):
    pq.write_table(pa.table({"id": [1], "y": ["ant"]}), lake / "2.parquet")
    told = run("compare", "lake", "--label", "y", code=2).stderr
    assert "2.parquet' has no column called 'ant'" in told
