"""What is committed of the study: whole, and the page follows from it."""

import shutil

import numpy as np
import pytest
from click.testing import CliRunner
from experiments.neural._networks import read_network, sha256
from experiments.study.__main__ import HERE, main
from experiments.study._files import Results
from experiments.study._findings import (
    tell_architectures,
    tell_evidence,
    tell_maps,
    tell_sources,
)
from experiments.study._gains import mean_gain
from experiments.study._networks import TRAINED, attributes_of
from experiments.study._study import OTHERS, Study

RESULTS = Results(HERE / "results")
NETWORKS = sorted((HERE / "networks").glob("*.npz"))


def test_the_page_regenerates_unchanged(tmp_path):
    shutil.copytree(
        RESULTS.folder, tmp_path, ignore=shutil.ignore_patterns("page.md"), dirs_exist_ok=True
    )
    done = CliRunner().invoke(
        main, ["--stage", "page", "--results", str(tmp_path)], catch_exceptions=False
    )
    assert done.exit_code == 0
    assert (tmp_path / "page.md").read_bytes() == (RESULTS.folder / "page.md").read_bytes()


def test_every_network_has_all_its_lines():
    study = Study(RESULTS)
    for name, about in study.networks.iterrows():
        lost = {"vector"} if about["n_classes"] == 1000 else set()
        own = study.comparisons[study.comparisons["network"] == name]
        assert set(own["map"]) == set(OTHERS) - lost, name
        assert attributes_of(name).recipe, name
    assert not study.comparisons.duplicated(["network", "map", "other"]).any()


def test_networks_of_a_source_have_one_recipe():
    study = Study(RESULTS)
    for source, own in study.of_kind("network").groupby("source"):
        assert len({attributes_of(name).recipe for name in own.index}) == 1, source


def test_sources_are_means_of_their_networks():
    study = Study(RESULTS)
    for source, gain in study.sources().items():
        networks = study.of_kind("network")
        own = networks.index[networks["source"] == source]
        assert study.relative.loc[own, "curved"].mean() == pytest.approx(gain.value, abs=2e-5)


def test_the_trained_networks_are_those_of_the_tables():
    trained = Study(RESULTS).of_kind(TRAINED)
    assert {path.stem: sha256(path) for path in NETWORKS} == dict(trained["sha256"])
    assert sum(path.stat().st_size for path in NETWORKS) < 6_000_000


@pytest.mark.parametrize("path", NETWORKS, ids=lambda path: path.stem)
def test_trained_networks_are_better_than_chance(path):
    network = read_network(path)
    assert (len(network.fit.y), len(network.test.y)) == (5000, 10_000)
    assert np.mean(network.test.logits.argmax(axis=1) == network.test.y) > 0.25


def test_sentences_name_the_extreme_networks():
    study = Study(RESULTS)
    told = tell_architectures(study)
    own = study.of_kind("network")
    for line in told:
        source = line.split(":")[0]
        gains = study.relative.loc[own.index[own["source"] == source], "curved"]
        assert f"from {100 * gains.min():+.2f} %" in line
        assert f"to {100 * gains.max():+.2f} %" in line


def test_tests_are_counted_by_source_too():
    study = Study(RESULTS)
    ratios = study.ratios[study.ratios["network"].isin(study.of_kind("network").index)]
    own = ratios[ratios["larger"] == "vector"]
    rejected = own.assign(
        rejected=own["pvalue"].astype(float) < 0.05 / len(own),
        source=list(study.networks.loc[own["network"], "source"]),
    )
    every = rejected.groupby("source")["rejected"].all()
    told = tell_evidence(study)[0]
    assert f"{rejected['rejected'].sum()} of {len(own)} networks" in told
    assert f"every network of {every.sum()} of {len(every)} sources" in told


def test_failed_fits_are_left_out_of_a_mean_of_their_map():
    study = Study(RESULTS)
    about = study.of_kind("network")
    lost = set(about[about["complaints"].str.contains("vector")]["source"])
    gains = [g.value for name, g in study.sources(map_="vector").items() if name not in lost]
    told = [line for line in tell_maps(study) if line.startswith("Vector without")]
    assert len(told) == bool(lost)
    for line in told:
        assert all(source in line for source in lost)
        assert f"{mean_gain(gains)} in the mean over {len(gains)} sources" in line


def test_the_papers_networks_have_the_gains_of_their_sources():
    study = Study(RESULTS)
    [told] = [line for line in tell_sources(study) if line.startswith("The paper's own")]
    own = [name for name in study.networks.index if name.startswith("paper_")]
    assert f"{len(own)} of its 14" in told
    for name in own:
        gain = study.sources()[study.networks.loc[name, "source"]]
        assert f"{name} ({attributes_of(name).architecture}) {gain}" in told


def test_the_page_holds_every_finding():
    page = (RESULTS.folder / "page.md").read_text()
    study = Study(RESULTS)
    for effect in study.effects():
        for gain in effect.by_network.values():
            assert str(gain) in page
    assert len(study.of_kind(TRAINED)) <= 20
