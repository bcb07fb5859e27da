"""What is committed of the experiment on networks: whole, and the page follows from it."""

import shutil

import numpy as np
import pytest
from click.testing import CliRunner
from experiments._shared.measures import MEASURES
from experiments.neural.__main__ import HERE, main
from experiments.neural._networks import catalogued, known, read_network
from experiments.neural._results import Results
from experiments.neural._study import FAMILIES, Study
from experiments.neural._verdicts import EXPLAINED

RESULTS = Results(HERE / "results")
WITH_LOGITS, WITHOUT = 11, 7


def test_every_network_has_all_its_methods_and_measures():
    rows, networks = RESULTS.read("rows.csv"), RESULTS.read("networks.csv")
    assert set(rows["network"]) == set(networks["network"]) <= set(catalogued())
    assert not rows.duplicated(["network", "method", "measure"]).any()
    failed = len(RESULTS.read("failures.csv"))
    expected = sum(WITH_LOGITS if logits else WITHOUT for logits in networks["logits"])
    assert len(rows) == (expected - failed) * len(MEASURES)
    assert len(RESULTS.read("fits.csv")) == expected - failed
    assert rows["value"].notna().all()


def test_tables_and_page_regenerate_unchanged(tmp_path):
    made = ("tables", "compare", "page.md")
    shutil.copytree(
        RESULTS.folder, tmp_path, ignore=shutil.ignore_patterns(*made), dirs_exist_ok=True
    )
    arguments = ["--stage", "tables", "--stage", "compare", "--results", str(tmp_path)]
    done = CliRunner().invoke(main, arguments, catch_exceptions=False)
    assert done.exit_code == 0
    files = [path for path in RESULTS.folder.rglob("*") if path.is_file()]
    for path in files:
        copy = tmp_path / path.relative_to(RESULTS.folder)
        assert copy.read_bytes() == path.read_bytes(), f"{path.name} is not what the rows say"
    assert len(files) == len([path for path in tmp_path.rglob("*") if path.is_file()])


def test_every_printed_number_has_a_reason_and_the_docs_count_them():
    cells = RESULTS.read("compare/printed.csv")
    counts = cells["verdict"].value_counts()
    assert set(counts.index) <= set(EXPLAINED)
    docs = (HERE.parents[1] / "docs" / "faithfulness.md").read_text(encoding="utf-8")
    told = f"Of {len(cells)} numbers that are printed of them {counts['equal']} have all digits"
    told += f" with our converged fits, and {counts['Adam']} more"
    told_in = " ".join(docs.split())
    assert told in told_in
    plain = counts["draws"] + counts["ten bins"]
    told = f"{plain} more are p-values that our fits have as well: {counts['draws']} up to draws, "
    assert f"{told}{counts['ten bins']} in ten bins" in told_in
    assert f"The last {counts['Adam, other order']} are of runs" in told_in


def test_ranks_of_a_source_add_up():
    study = Study(RESULTS)
    for family, about in FAMILIES.items():
        for measure in MEASURES:
            ranking = study.ranking(measure, family)
            k = len(about.methods)
            assert ranking.ranks.sum() == pytest.approx(k * (k + 1) / 2)


def test_replications_and_other_classifiers_are_not_ranked():
    ranked = Study(RESULTS).chosen()
    assert {known(name).kind for name in ranked} == {"network"}


@pytest.mark.parametrize("path", sorted((HERE / "networks").glob("*.npz")), ids=lambda p: p.stem)
def test_our_own_networks_are_what_they_should_be(path):
    network = read_network(path)
    assert path.stat().st_size < 2_000_000
    assert network.n_classes == 10
    assert len(network.fit.y) + len(network.test.y) in (10_000, 15_000, 16_000)
    error = (network.test.logits.argmax(axis=1) != network.test.y).mean()
    usual = {"mnist": (0.0, 0.03), "fashion": (0.05, 0.15), "c10_lenet5": (0.25, 0.35)}
    usual["c10_resnet8"] = (0.1, 0.3)
    low, high = next(limits for name, limits in usual.items() if path.stem.startswith(name))
    assert low <= error <= high
    assert np.bincount(network.test.y).min() > 300
