import numpy as np
import pytest


def _write(kind, path, labels, scores):
    if kind == "csv":
        rows = [
            f"{label},{a!r},{b!r}\n" for label, (a, b) in zip(labels, scores.tolist(), strict=True)
        ]
        path.write_text("y,0,1\n" + "".join(rows))
    elif kind == "npz":
        numbers = [float("nan") if label == "" else float(label) for label in labels]
        np.savez(path, scores=scores, y=np.array(numbers))
    else:
        import pyarrow as pa
        import pyarrow.parquet as pq

        y = [None if label == "" else int(label) for label in labels]
        pq.write_table(pa.table({"y": y, "0": scores[:, 0], "1": scores[:, 1]}), path)


@pytest.mark.parametrize("kind", ["csv", "npz", "parquet"])
def test_rows_without_a_label_are_left_out_if_wanted(run, tmp_path, kind):
    rng = np.random.default_rng(0)
    first = rng.uniform(size=60)
    scores = np.column_stack([first, 1 - first])
    labels = [str(int(rng.uniform() > p)) for p in first]
    gaps = [*labels]
    for i in (0, 7, 59):
        gaps[i] = ""
    # What is left out may be anything.
    broken = scores.copy()
    broken[7] = 5.0
    _write(kind, tmp_path / f"gaps.{kind}", gaps, broken)
    whole = [i for i, label in enumerate(gaps) if label]
    _write(kind, tmp_path / f"whole.{kind}", [labels[i] for i in whole], scores[whole])
    common = ["--label", "y", "--calibrator", "temperature"]
    refused = run("fit", f"gaps.{kind}", *common, "-o", "a.json", code=2).stderr
    assert "column 'y' is empty. Leave out the rows without a label, or pass --skip" in refused
    told = run("fit", f"gaps.{kind}", *common, "--skip-unlabelled", "-o", "a.json").stderr
    assert "3 of 60 rows have no label and are left out." in told
    run("fit", f"whole.{kind}", *common, "-o", "b.json")
    assert (tmp_path / "a.json").read_text() == (tmp_path / "b.json").read_text()
    # A row that is kept is named by its place in the file.
    broken[30] = 5.0
    _write(kind, tmp_path / f"bad.{kind}", gaps, broken)
    told = run("fit", f"bad.{kind}", *common, "--skip-unlabelled", "-o", "c.json", code=2).stderr
    place = {"csv": "line 32", "npz": "row 30", "parquet": "row 30 of 'bad.parquet'"}[kind]
    assert f"{place} sums to 10" in told


@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_options_that_a_command_does_not_have_are_not_recommended(run, tmp_path, kind):
    scores = np.array([[0.6, 0.4], [0.3, 0.7]] * 10)
    _write(kind, tmp_path / f"whole.{kind}", ["0", "1"] * 10, scores)
    _write(kind, tmp_path / f"gaps.{kind}", ["0", "1"] * 9 + ["0", ""], scores)
    (tmp_path / "costs.csv").write_text("class,x,y\n0,0,1\n1,1,0\n")
    fit = ("fit", f"whole.{kind}", "--label", "y", "--calibrator", "temperature")
    run(*fit, "-o", "map.json")
    old = ("--old", f"gaps.{kind}", "--label", "y")
    for command in (
        ("decide", f"gaps.{kind}", "--costs", "costs.csv", "--label", "y"),
        ("adapt", "map.json", f"whole.{kind}", *old, "-o", "new.json"),
    ):
        told = run(*command, code=2).stderr
        assert "column 'y' is empty. Leave out the rows without a label." in told


def test_no_labels_at_all(run, tmp_path):
    (tmp_path / "p.csv").write_text("y,a,b\n,0.5,0.5\n")
    told = run("evaluate", "p.csv", "--label", "y", "--skip-unlabelled", code=2).stderr
    assert "has no row with a label" in told
