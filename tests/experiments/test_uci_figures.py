"""The figures of the experiment on UCI data: they show what the tables say."""

import re
from xml.etree import ElementTree as ET

import matplotlib as mpl
import numpy as np
import pytest
from experiments._pictures import to_svg
from experiments.uci.__main__ import HERE
from experiments.uci._calibrate import MEASURES
from experiments.uci._collect import example_name
from experiments.uci._example_map import MAP_NAME, keep_map, read_map
from experiments.uci._figures import CLASS_NAMES, FIGURES, PARTS_OF_S6, figure_path
from experiments.uci._files import Cache
from experiments.uci._grid import EXAMPLES, Cell
from experiments.uci._methods import METHODS, PAPER_METHODS
from experiments.uci._predict import predict
from experiments.uci._results import Results
from experiments.uci._study import Study
from numpy.testing import assert_allclose

from dircal.metrics import class_bins

RESULTS = Results(HERE / "results")
pytestmark = pytest.mark.usefixtures("plain_tables")
COMMITTED = sorted(path.name for path in (RESULTS.folder / "figures").iterdir())


@pytest.fixture(scope="module")
def study():
    return Study(RESULTS)


@pytest.fixture(scope="module")
def panels(study):
    """The panels of a figure."""
    return lambda name: FIGURES[name](study).panels


@pytest.fixture(scope="module")
def table():
    """A committed table."""
    return lambda name: RESULTS.read(f"tables/{name}.csv")


def ranks_of(panel):
    frame = panel.display.to_frame()
    return dict(zip(frame["method"], frame["rank"], strict=True))


@pytest.mark.parametrize("measure", MEASURES)
def test_rank_diagrams_show_the_rank_tables(panels, table, measure):
    ranks = table("ranks")
    own = ranks[
        (ranks["measure"] == measure)
        & (ranks["classifier"] == "average")
        & (ranks["temperature"] == "converged")
        & ranks["method"].isin(PAPER_METHODS)
    ].set_index("method")
    ours, theirs = panels(f"s6{PARTS_OF_S6[measure]}")
    assert ranks_of(ours) == pytest.approx(own["rank"].to_dict(), abs=1e-4)
    assert ranks_of(theirs) == pytest.approx(own["printed"].astype(float).to_dict())
    assert f"{own['n'].iloc[0]} pairs" in ours.title


@pytest.mark.parametrize("measure", MEASURES)
def test_bars_join_the_groups_of_the_tests(panels, table, measure):
    tests = table("tests")
    own = tests[
        (tests["measure"] == measure)
        & (tests["classifier"] == "average")
        & (tests["temperature"] == "converged")
    ].iloc[0]
    display = panels(f"s6{PARTS_OF_S6[measure]}")[0].display
    names = [[display.names[j] for j in group] for group in display.groups]
    assert " | ".join(" ~ ".join(group) for group in names) == own["groups"]
    assert display.difference == pytest.approx(float(own["critical_difference"]), abs=1e-4)


def test_naive_bayes(panels, table):
    ranks = table("ranks")
    own = ranks[
        (ranks["measure"] == "log-loss")
        & (ranks["classifier"] == "nbayes")
        & (ranks["temperature"] == "converged")
        & ranks["method"].isin(PAPER_METHODS)
    ].set_index("method")["rank"]
    ours, theirs = panels("s5a")
    assert ranks_of(ours) == pytest.approx(own.to_dict(), abs=1e-4)
    # As printed under table S4.
    assert ranks_of(theirs)["DirL2"] == pytest.approx(1.05)
    assert ranks_of(theirs)["Uncal"] == pytest.approx(6.28, abs=0.006)


@pytest.mark.parametrize(("name", "by"), [("s7", "method"), ("s10", "classifier")])
def test_bars_show_the_passed_tests(panels, table, name, by):
    shares = table("passed")
    for panel, measure in zip(panels(name), ("p-conf-ECE", "p-cw-ECE"), strict=True):
        frame = panel.display.to_frame()
        own = shares[(shares["measure"] == measure) & (shares["by"] == by)].set_index("name")
        expected = own["share"][frame["method"]].tolist()
        assert frame["share"] == pytest.approx(expected, abs=1e-4)
        assert set(own.index) - set(frame["method"]) <= set(METHODS) - set(PAPER_METHODS)


def test_histograms_show_the_choices(panels, table):
    chosen = table("hyperparameters")
    (panel,) = panels("s8")
    frame = panel.display.to_frame()
    assert frame["value"] == chosen["value"].tolist()
    assert frame["count"] == chosen["count"].tolist()


@pytest.mark.parametrize("position", range(8))
def test_classifiers(panels, table, position):
    panel = panels(f"s9_{1 + position // 4}")[position % 4]
    ranks = table("classifiers")
    own = ranks[ranks["measure"] == MEASURES[position]].set_index("classifier")
    assert f"({'abcdefgh'[position]}) {MEASURES[position]}:" in panel.title
    assert ranks_of(panel) == pytest.approx(own["rank"].to_dict(), abs=1e-4)


def test_the_summary_is_made_of_three_others(panels):
    ours = [panels("s6h")[0], panels("s7")[1], panels("s10")[1]]
    for panel, same in zip(panels("3"), ours, strict=True):
        assert panel.display.to_frame() == same.display.to_frame()


@pytest.mark.parametrize("name", ["s1_1", "s1_2", "s2"])
def test_reliability_diagrams_show_the_stored_bins(study, panels, name):
    example = EXAMPLES[name == "s2"]
    bins = study.example(example_name(*example, "bins"))
    (panel,) = panels(name)
    frame = panel.display.to_frame()
    curves = ["confidence", *CLASS_NAMES[example[0]]]
    lines = zip(frame["method"], frame["curve"], frame["bin"], strict=True)
    keys = [
        (m, "confidence" if c == curves[0] else str(curves.index(c) - 1), b) for m, c, b in lines
    ]
    stored = bins.set_index(["method", "curve", "bin"]).loc[keys]
    for ours, theirs in (("count", "rows"), *[(c, c) for c in ("mean_predicted", "frequency")]):
        assert frame[ours] == stored[theirs].tolist()
    all_of_them = bins[bins["method"].isin(panel.display.rows)]
    if name == "s2":
        all_of_them = all_of_them[all_of_them["curve"] != "confidence"]
    assert len(stored) == len(all_of_them)


def test_bins_lie_where_they_were_counted(panels):
    edges = class_bins([0, 1], [[0.5, 0.5], [0.2, 0.8]]).edges[0]
    frame = panels("s2")[0].display.to_frame()
    assert_allclose(frame["lower"], edges[frame["bin"]])
    assert_allclose(frame["upper"], edges[np.array(frame["bin"]) + 1])


def test_boxes_show_the_stored_quantiles(study, panels):
    spreads = study.example(example_name(*EXAMPLES[1], "spreads"))
    (panel,) = panels("s3")
    frame = panel.display.to_frame()
    keys = list(zip(frame["method"], frame["true"], frame["predicted"], strict=True))
    names = CLASS_NAMES["car"]
    stored = spreads.set_index(["method", "true_class", "column"]).loc[
        [(m, names.index(t), names.index(p)) for m, t, p in keys]
    ]
    assert len(set(keys)) == 4 * 4 * 4
    for column in ("smallest", "q05", "q25", "q50", "q75", "q95", "largest", "mean", "sd"):
        assert frame[column] == stored[column].tolist()


def test_the_map_is_the_stored_one(panels):
    parameters, _ = read_map(RESULTS)
    display = panels("2a")[0].display
    assert_allclose(display.matrix, np.column_stack([parameters.A, parameters.c]))
    centre = [display.to_frame()[f"after_{name}"][-1] for name in CLASS_NAMES["abalone"]]
    assert_allclose(centre, parameters.c)


def test_a_map_is_kept_as_it_was_fitted(tmp_path):
    cache, results, cell = Cache(tmp_path), Results(tmp_path), Cell("iris", "nbayes", 0, 0)
    assert read_map(results) is None
    predict(cache, cell)
    keep_map(cache, results, cell)
    assert (tmp_path / MAP_NAME).exists()
    parameters, strength = read_map(results)
    assert parameters.A.shape == (3, 3)
    assert parameters.c.sum() == pytest.approx(1.0)
    assert strength in [10.0**e for e in range(-7, 4)]


def test_every_figure_on_the_page_exists_and_the_other_way_round():
    page = (RESULTS.folder / "page.md").read_text()
    shown = re.findall(r"!\[[^\]]+\]\(([^)]+)\)", page)
    assert sorted(shown) == sorted(figure_path(name) for name in FIGURES)
    assert sorted(shown) == [f"figures/{name}" for name in COMMITTED]


def test_files_are_small():
    sizes = [(RESULTS.folder / "figures" / name).stat().st_size for name in COMMITTED]
    # Every bar of a reliability diagram has an opacity of its own.
    assert max(sizes) < 120_000
    assert sum(sizes) < 1_100_000


@pytest.mark.parametrize("name", ["2a", "s4"])
def test_files_are_the_same_each_time(study, name):
    first, second = (to_svg(FIGURES[name](study).draw()) for _ in range(2))
    assert first == second


@pytest.mark.parametrize("name", FIGURES)
def test_committed_files_are_what_is_drawn(study, name):
    """Number by number, where they were drawn by the same matplotlib."""
    committed = (RESULTS.folder / figure_path(name)).read_text()
    drawn = to_svg(FIGURES[name](study).draw()).decode()
    for text in (committed, drawn):
        ET.fromstring(text)
        assert "<dc:date>" not in text
    if f"<!-- matplotlib {mpl.__version__} -->" not in committed:
        pytest.skip("the committed figures were drawn by another version of matplotlib")
    assert_allclose(_numbers(drawn), _numbers(committed), atol=0.02)


def _numbers(svg):
    """All numbers; names made of hashes say nothing."""
    plain = re.sub(r"(?<=[#\"])[mp][0-9a-f]{10}", "", svg)
    return np.array([float(one) for one in re.findall(r"-?\d+(?:\.\d+)?", plain)])
