"""What is committed of the experiment on UCI data: whole, and the page follows from it."""

import shutil
from types import SimpleNamespace

import pandas as pd
import pytest
from click.testing import CliRunner
from experiments.uci.__main__ import HERE, main
from experiments.uci._calibrate import MEASURES
from experiments.uci._claims import SVCS
from experiments.uci._collect import example_name
from experiments.uci._data import DATASETS
from experiments.uci._findings import tell_ranks, tell_repetitions
from experiments.uci._grid import EXAMPLES, cells
from experiments.uci._methods import METHODS
from experiments.uci._results import CELL_COLUMNS, Results
from experiments.uci._study import Study
from experiments.uci._tables import printed
from experiments.uci._words import share
from scipy.stats import ttest_1samp

RESULTS = Results(HERE / "results")


@pytest.fixture(scope="module")
def study():
    return Study(RESULTS)


@pytest.mark.parametrize("dataset", DATASETS)
def test_rows_are_those_of_the_declared_grid(dataset):
    rows = RESULTS.rows(dataset)
    declared = {cell for cell in cells([dataset]) if cell not in RESULTS.failed()}
    found = rows[[*CELL_COLUMNS, "method", "measure"]]
    assert not found.duplicated().any()
    assert {tuple(line) for line in rows[CELL_COLUMNS].itertuples(index=False)} == declared
    assert len(rows) == len(declared) * len(METHODS) * len(MEASURES)
    assert rows["versions"].str.startswith("dircal ").all()
    assert rows["value"].notna().all()


def test_tables_and_page_regenerate_unchanged(tmp_path):
    made = ("tables", "compare", "figures", "page.md")
    shutil.copytree(
        RESULTS.folder, tmp_path, ignore=shutil.ignore_patterns(*made), dirs_exist_ok=True
    )
    arguments = ["--stage", "tables", "--stage", "compare", "--results", str(tmp_path)]
    done = CliRunner().invoke(main, arguments, catch_exceptions=False)
    assert done.exit_code == 0
    # Figures depend on the version of matplotlib; test_uci_figures.py looks at them.
    everything = RESULTS.folder.rglob("*")
    files = [path for path in everything if path.is_file() and path.suffix != ".svg"]
    for path in files:
        copy = tmp_path / path.relative_to(RESULTS.folder)
        assert copy.read_bytes() == path.read_bytes(), f"{path.name} is not what the rows say"
    assert len(files) == len([path for path in tmp_path.rglob("*") if path.is_file()])


@pytest.mark.parametrize(("dataset", "classifier"), EXAMPLES)
def test_examples_hold_every_test_fold(study, dataset, classifier):
    shapes = RESULTS.read("datasets.csv").set_index("dataset")
    n_rows = shapes.loc[dataset, "n_samples"] * study.repetitions[(dataset, classifier)]
    bins = RESULTS.read(example_name(dataset, classifier, "bins"))
    assert (bins.groupby(["method", "curve"])["rows"].sum() == n_rows).all()
    spreads = RESULTS.read(example_name(dataset, classifier, "spreads"))
    assert (spreads.groupby(["method", "column"])["rows"].sum() == n_rows).all()


def test_means_are_those_of_the_folds(study):
    rows = RESULTS.rows("glass")
    own = rows[(rows["classifier"] == "lda") & (rows["measure"] == "Brier")]
    mean = own[own["method"] == "Isot"]["value"].mean()
    assert study.means.loc[("glass", "lda"), ("Brier", "Isot")] == pytest.approx(mean)


def test_ranks_of_a_pair_add_up(study):
    for measure in MEASURES:
        assert study.ranking(measure).ranks.sum() == pytest.approx(28.0)


def test_intervals_have_the_datasets_as_trials(study):
    losses = study.means["log-loss"]
    wins = (losses["Bayes"] < losses["Uncal"]).astype(float).groupby("dataset").mean()
    found = ttest_1samp(wins, 0.0).confidence_interval()
    reach = study.reach_better("log-loss", "Bayes", "Uncal")
    assert reach == pytest.approx((found.high - found.low) / 2)
    passed = study.reach_passed("p-cw-ECE", "method")
    assert set(passed.index) == set(METHODS)
    assert passed.between(0.0, 0.5).all()


def test_gaps_of_ranks_have_the_datasets_as_trials(study):
    for measure in MEASURES:
        ranks = study.ranking(measure).ranks
        gap, reach = study.rank_gap(measure, "Uncal", "DirL2")
        assert gap == pytest.approx(ranks["Uncal"] - ranks["DirL2"])
        assert 0 < reach < 1
    values = study.values("accuracy").rank(axis=1, ascending=False)
    gaps = (values["Isot"] - values["DirL2"]).groupby("dataset").mean()
    found = ttest_1samp(gaps, 0.0).confidence_interval()
    _, reach = study.rank_gap("accuracy", "Isot", "DirL2")
    # Ties are those of values to twelve digits.
    assert reach == pytest.approx((found.high - found.low) / 2, rel=0.02)


def test_a_classifier_passes_more_often_than_others(study):
    shares = study.passed("p-cw-ECE", "classifier")
    others = [name for name in shares.index if name not in SVCS]
    for name in SVCS:
        ahead, reach = study.passed_ahead("p-cw-ECE", name, others)
        assert ahead == pytest.approx(shares[name] - shares[others].mean())
        assert 0 < reach < 0.5


def test_shares_of_choices_have_the_datasets_as_trials(study):
    counts, reach = study.chosen("DirL2"), study.reach_chosen("DirL2")
    # Every dataset has as many fits, so that shares are means over datasets.
    rows = study.rows[(study.rows["method"] == "DirL2") & (study.rows["repetition"] == 0)]
    rows = rows[rows["measure"] == "Brier"].set_index("dataset")["chosen"].str.split(";").explode()
    own = (rows.astype(float) == 0.001).groupby("dataset").mean()
    assert own.mean() == pytest.approx(counts[0.001] / counts.sum())
    found = ttest_1samp(own, 0.0).confidence_interval()
    assert reach[0.001] == pytest.approx((found.high - found.low) / 2)
    lead, _ = study.lead_of("DirL2", 0.001)
    assert lead == pytest.approx((counts[0.001] - counts.drop(0.001).max()) / counts.sum())
    assert study.lead_of("DirL2", 17.0)[0] == pytest.approx(-counts.max() / counts.sum())


class TestSentences:
    """What is said of the rows, whatever they are."""

    @pytest.mark.parametrize(
        ("times", "told"),
        [
            ([5, 5, 5, 5], "5 times, as in the paper"),
            ([1, 1, 1, 1], "once, while the paper draws them 5 times for all"),
            (
                [5, 5, 1, 5],
                "5 times for 3 pairs (knn on all datasets, all classifiers on car) and once for "
                "the other 1, while the paper draws them 5 times for all",
            ),
            (
                [5, 1, 1, 1],
                "5 times for one pair (lda on car) and once for the other 3, while the paper draws "
                "them 5 times for all",
            ),
        ],
    )
    def test_repetitions(self, times, told):
        names = ["dataset", "classifier"]
        pairs = pd.MultiIndex.from_product([["car", "iris"], ["lda", "knn"]], names=names)
        study = SimpleNamespace(repetitions=pd.Series(times, index=pairs))
        assert tell_repetitions(study) == told

    def test_ranks_name_the_best_and_dirl2(self, study):
        lines = tell_ranks(study)
        assert len(lines) == len(MEASURES)
        for measure, line in zip(MEASURES, lines, strict=True):
            ranks = study.ranking(measure).ranks
            assert line.startswith(f"{measure}: {ranks.idxmin()} has the best average rank")
            assert f"{ranks['DirL2']:.2f}" in line
            assert " ± " in line


def test_a_share_without_an_interval_stands_alone():
    assert share(0.5, 0.125) == "50.0 ± 12.5 %"
    assert share(0.5, float("nan")) == "50.0 %"


class TestOurs:
    """The methods that the paper does not have."""

    def test_rank_instead_is_that_of_the_place_taken(self, study):
        values = study.values("log-loss").assign(DirL2=study.means["log-loss"]["Bayes"])
        expected = values.rank(axis=1)["DirL2"].mean()
        assert study.rank_instead("Bayes", "log-loss") == pytest.approx(expected, abs=1e-3)

    def test_ranks_of_all_nine_add_up(self, study):
        for measure in MEASURES:
            assert study.ranking_of_all(measure).ranks.sum() == pytest.approx(45.0)

    @pytest.mark.parametrize("measure", ["log-loss", "accuracy"])
    def test_shares_of_two_methods_add_up(self, study, measure):
        one = study.share_better(measure, "Bayes", "Uncal")
        assert one + study.share_better(measure, "Uncal", "Bayes") == pytest.approx(1.0)

    def test_the_default_does_little_harm(self, study):
        """Auto is hardly ever worse than nothing in log-loss, and Bayes is ahead of DirL2."""
        losses = study.means["log-loss"]
        assert (losses["Auto"] > losses["Uncal"] + 0.01).mean() < 0.05
        assert losses["Bayes"].mean() < losses["DirL2"].mean()


class TestPrint:
    """Agreement with the paper, as far as others have found it too."""

    @pytest.fixture(scope="class")
    @classmethod
    def gaps(cls):
        table = RESULTS.read("tables/naive_bayes.csv")
        table = table[table["printed"] != ""].astype({"printed": float})
        table["gap"] = (table["value"].round(2) - table["printed"]).abs().round(2)
        return table.set_index(["method", "dataset"])

    def test_table_s4_is_there(self, gaps):
        assert len(gaps) == 20 * 7
        often = Study(RESULTS).repetitions.xs("nbayes", level="classifier")
        assert (often == 5).all()

    @pytest.mark.parametrize(
        ("method", "limit", "at_least"),
        [("WidB", 0.02, 20), ("FreqB", 0.02, 18), ("FreqB", 0.06, 20), ("DirL2", 0.03, 18)],
    )
    def test_table_s4(self, gaps, method, limit, at_least):
        assert (gaps.loc[method, "gap"] <= limit).sum() >= at_least

    def test_table_s4_uncalibrated(self, gaps):
        own = gaps.loc["Uncal"]
        relative = own["gap"] / own["printed"]
        assert (relative <= 0.05).sum() >= 19
        assert relative.max() <= 0.08

    def test_tables_s1_and_s2(self):
        table = RESULTS.read("tables/examples.csv")
        table = table[table["printed"] != ""].astype({"printed": float})
        checked = pd.concat(
            [
                table[(table["table"] == "S1") & (table["measure"] == "cw-ECE")].query(
                    "method in ('Uncal', 'FreqB', 'WidB', 'Isot')"
                ),
                table[(table["table"] == "S2") & (table["measure"] == "conf-ECE")].query(
                    "method == 'Uncal'"
                ),
                table[(table["table"] == "S2") & (table["measure"] == "cw-ECE")].query(
                    "method == 'Isot'"
                ),
            ]
        )
        assert len(checked) == 6
        assert ((checked["value"] - checked["printed"]).abs() <= 0.02).all()

    def test_published_ties_of_temperature_come_back(self, study):
        """Where TempS and Uncal are tied in print, the fault of 2019 ties them here."""
        paper = printed("naive_bayes").pivot(index="dataset", columns="method", values="rank")
        tied = paper[paper["TempS"] == paper["Uncal"]].index
        assert len(tied) == 9
        ours = study.means["log-loss"].xs("nbayes", level="classifier").loc[tied]
        assert (ours["TempS-2019"] == ours["Uncal"]).sum() >= 7
