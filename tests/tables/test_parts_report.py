"""A report on parts says what one on the same rows in memory says."""

import dataclasses

import numpy as np
import pytest

from dircal import Report, TemperatureScaling, VectorScaling
from dircal._core.data.folds import RowFolds

NAMES = ["ant", "bee", "cat", "dog"]
TRIED = {"one": TemperatureScaling(), "each": VectorScaling()}
# What is told in other words, or is of parts.
APART = ("sha256_labels", "sha256_scores", "sha256_weights", "n_parts", "cv", "code", "map_rows")


@pytest.fixture
def some(frame):
    """Rows that are fitted in a moment."""
    return frame[:1003]


def folds_of(n_rows, n_folds, scored):
    dealt = RowFolds(n_folds).of_rows(np.arange(n_rows))
    return [(np.flatnonzero(dealt != one), np.flatnonzero(dealt == one)) for one in scored]


def assert_same(found, whole, where=""):
    """Everything that both say, numbers up to rounding."""
    if isinstance(whole, dict):
        assert [*found] == [*whole]
        for key in whole:
            if key not in APART:
                assert_same(found[key], whole[key], f"{where}.{key}")
    elif isinstance(whole, list):
        assert len(found) == len(whole), where
        for i, pair in enumerate(zip(found, whole, strict=True)):
            assert_same(*pair, f"{where}[{i}]")
    elif isinstance(whole, float):
        # Ends by halving are found to a part in a million.
        assert found == pytest.approx(whole, rel=3e-6, abs=1e-8), where
    else:
        assert found == whole, where


@pytest.mark.parametrize("n_parts", [1, 6])
def test_it_is_that_of_one_array(n_parts, some, cut, in_parts):
    options = {"n_resamples": 100, "calibrators": TRIED, "title": "Animals"}
    found = Report.from_predictions(in_parts(cut(some, n_parts), scores=NAMES), cv=3, **options)
    pairs = folds_of(len(some), 3, range(3))
    whole = Report.from_predictions(some["y"], some[NAMES], cv=pairs, **options)
    assert_same(found.to_dict(), whole.to_dict())
    data, settings = found.summary.data, found.summary.settings
    assert data.n_parts == n_parts
    assert settings.cv == "3 folds, dealt by the numbers of the rows"
    assert settings.sources == ""
    assert "table = scan(..., label='y', scores=['ant', 'bee', 'cat', 'dog'])" in settings.code
    assert "report = Report.from_predictions(\n    table,\n" in settings.code
    assert "calibrator = VectorScaling().fit(table)" in settings.code
    page = found.to_html()
    assert "The rows were read in parts." in page
    assert "fitted on all rows" in page


def test_weights_and_rows_without_any(some, cut, in_parts):
    options = {"n_resamples": 100, "calibrators": TRIED}
    found = Report.from_predictions(
        in_parts(cut(some, 3), scores=NAMES, weight="w"), cv=2, **options
    )
    used = np.flatnonzero(some["w"])
    pairs = [tuple(np.intersect1d(one, used) for one in pair) for pair in folds_of(1003, 2, (0, 1))]
    weights = {"sample_weight": some["w"]}
    whole = Report.from_predictions(some["y"], some[NAMES], cv=pairs, **weights, **options)
    found, whole = found.to_dict(), whole.to_dict()
    # Rows of weight zero are dealt, too, and have no place among the others.
    for one in (found, whole):
        one["data"].pop("n_scored")
        one["verdict"].pop("sentence")
        for example in one["changes"]["examples"]:
            example.pop("row")
    assert_same(found, whole)


def test_one_fold_of_very_many_rows_is_scored(some, cut, use_limits, in_parts):
    use_limits("InferenceLimits", max_fold_rows=1000)
    use_limits("ResamplingLimits", min_moment_rows=200)
    options = {"n_resamples": 100, "calibrators": VectorScaling()}
    found = Report.from_predictions(in_parts(cut(some, 4), scores=NAMES), **options)
    fitting, scoring = folds_of(len(some), 5, [0])[0]
    whole = Report.from_predictions(
        some["y"], some[NAMES], cv=[(fitting, scoring)], **options
    ).to_dict()
    own = VectorScaling().fit(some[NAMES].iloc[fitting], some["y"].iloc[fitting])
    # The map of the page is the one that was scored, and not one of all rows.
    assert found.summary.map.matrix == pytest.approx(
        np.array(own.canonical_parameters().A), rel=1e-6
    )
    told = found.to_dict()
    whole.pop("map")
    told.pop("map")
    assert_same(told, whole)
    assert found.summary.data.n_scored == 201
    settings = found.summary.settings
    assert "one of them is scored, with maps that were fitted on the 802 rows" in settings.cv
    assert "cv=" not in settings.code
    assert settings.sources.startswith("With 201 rows these come from moments of sums over rows")
    assert settings.sources.endswith("the test of confidence_ece, the score test.")
    page = found.to_html()
    assert settings.sources in page
    assert "fitted on the rows that are not scored" in page


def test_fitted_calibrators_score_all_rows(some, cut, in_parts):
    fitted = VectorScaling().fit(some[NAMES], some["y"])
    options = {"n_resamples": 100, "calibrators": fitted}
    found = Report.from_predictions(in_parts(cut(some, 3), scores=NAMES), **options)
    whole = Report.from_predictions(some["y"], some[NAMES], **options)
    assert_same(found.to_dict(), whole.to_dict())


def test_on_a_cluster_and_from_files(client, some, tmp_path, in_parts):
    import dask.dataframe as dd

    options = {"calibrators": TRIED, "n_resamples": 100, "cv": 2}
    for i, part in enumerate(np.array_split(np.arange(len(some)), 3)):
        some.iloc[part].to_parquet(tmp_path / f"part-{i}.parquet")
    from_files = Report.from_predictions(in_parts(tmp_path, scores=NAMES), **options)
    lazy = dd.from_pandas(some, npartitions=3, sort=False)
    on_workers = Report.from_predictions(in_parts(lazy, client=client, scores=NAMES), **options)
    assert_same(on_workers.to_dict(), from_files.to_dict())


def test_of_more_rows_some_are_looked_at(some, cut, use_limits, in_parts):
    twice = some.iloc[np.repeat(np.arange(400), 2)].reset_index(drop=True)
    options = {"calibrators": TRIED, "n_resamples": 100, "cv": 2}
    exact = Report.from_predictions(in_parts(cut(twice, 2), scores=NAMES), **options).summary
    assert exact.data.n_copies == 400
    use_limits("ReportLimits", max_copy_rows=100, max_change_rows=100)
    rough = Report.from_predictions(in_parts(cut(twice, 2), scores=NAMES), **options).summary
    assert rough.data.n_copies == pytest.approx(400, rel=0.4)
    assert rough.changes.examples[:-1] == exact.changes.examples[:-1]


def test_a_watcher_is_told_every_step(some, cut, in_parts):
    told = []
    Report.from_predictions(
        in_parts(cut(some, 2), scores=NAMES),
        calibrators=TRIED,
        cv=2,
        n_resamples=100,
        progress=lambda *step: told.append(step),
    )
    assert told[-1][1] == told[-1][2]
    assert {what for what, _, _ in told} >= {"calibrating with one", "measuring", "testing"}


def test_fingerprints_change_with_any_row(some, cut, in_parts):
    options = {"calibrators": TRIED, "n_resamples": 100, "cv": 2}
    first = Report.from_predictions(
        in_parts(cut(some[:600], 2), scores=NAMES), **options
    ).summary.data
    moved = some[:600].copy()
    moved.iloc[[0, 1], :5] = moved.iloc[[1, 0], :5].to_numpy()
    second = Report.from_predictions(in_parts(cut(moved, 2), scores=NAMES), **options).summary.data
    assert first.sha256_scores != second.sha256_scores
    assert dataclasses.replace(first, sha256_labels="", sha256_scores="") == dataclasses.replace(
        second, sha256_labels="", sha256_scores=""
    )


def test_errors_name_the_part(some, cut, in_parts):
    broken = some.copy()
    broken.loc[800, "ant"] = -1.0
    with pytest.raises(ValueError, match=r"row \d+ of part 1"):
        Report.from_predictions(in_parts(cut(broken, 2), scores=NAMES))
