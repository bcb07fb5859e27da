"""The study, run by its command on files that are made here."""

import numpy as np
import pytest
from click.testing import CliRunner
from experiments.study import _figure
from experiments.study.__main__ import main
from experiments.study._collect import collect
from experiments.study._files import Cache, Results
from experiments.study._measure import measure
from experiments.study._networks import TRAINED, Member, find_members
from experiments.study._study import OTHERS, Study
from scipy.special import softmax


def write_network(path, seed, *, bent, n=900, k=3):
    """Logits that are too sure; with ``bent`` also of class 0 where it is in doubt."""
    rng = np.random.default_rng(seed)
    truth = rng.normal(0, 1.5, (n, k))
    y = (truth + rng.gumbel(size=truth.shape)).argmax(axis=1)
    logits = 2.0 * truth
    logits[:, 0] += bent * truth[:, 0] ** 2
    if "probabilities" in path.stem:
        np.savez(path, probs=softmax(logits, axis=1), labels=y)
    else:
        np.savez(path, logits=logits, labels=y)


@pytest.fixture(scope="module")
def networks(tmp_path_factory):
    folder = tmp_path_factory.mktemp("networks")
    write_network(folder / "straight.npz", 0, bent=0.0)
    write_network(folder / "bent.npz", 1, bent=1.0)
    write_network(folder / "probabilities.npz", 2, bent=0.5)
    return folder


def call(*arguments):
    return CliRunner().invoke(main, [*map(str, arguments)], catch_exceptions=False)


@pytest.fixture(scope="module")
def folder(networks, tmp_path_factory):
    folder = tmp_path_factory.mktemp("results")
    done = call("--logits", networks, "--results", folder, "--draws", 3)
    assert done.exit_code == 0, done.output
    assert "3 of 3 networks measured" in done.output
    return folder


class TestCommand:
    def test_every_map_is_compared_with_one_temperature(self, folder):
        table = Results(folder).read("comparisons.csv")
        own = table[table["other"] == "temperature"]
        assert own.groupby("network")["map"].apply(set).map(set(OTHERS).__eq__).all()
        assert (own["low"] <= own["difference"]).all()
        assert (own["difference"] <= own["high"]).all()

    def test_what_is_bent_is_outside_of_the_family(self, folder):
        study = Study(Results(folder))
        gains = study.sources()
        assert gains["bent"].low > 0.02
        assert gains["straight"].holds_zero
        factors = study.log_bayes_factors("curved")
        assert factors["bent"] > 5 > 0 > factors["straight"]

    def test_the_paired_comparison_agrees_with_the_interval_of_its_source(self, folder):
        study = Study(Results(folder))
        for name, gain in study.sources().items():
            alone = study.gain(name, "curved")
            assert alone.value == pytest.approx(gain.value, abs=1e-6)
            width = gain.high - gain.low
            assert abs(alone.low - gain.low) < 0.3 * width

    def test_the_page_tells_numbers_with_intervals(self, folder):
        page = (folder / "page.md").read_text()
        gain = Study(Results(folder)).sources()["bent"]
        assert f"bent {gain}" in page
        assert "What training does" not in page
        assert "nan" not in page
        assert (folder / "figures" / "gains.svg").exists()

    def test_again_there_is_nothing_to_do(self, folder, networks):
        before = {path: path.read_bytes() for path in folder.rglob("*.csv")}
        again = call("--logits", networks, "--results", folder, "--draws", 3)
        assert "measured" not in again.output
        assert {path: path.read_bytes() for path in folder.rglob("*.csv")} == before

    def test_a_changed_file_is_measured_anew(self, folder, networks, tmp_path):
        other = tmp_path / "networks"
        other.mkdir()
        write_network(other / "bent.npz", 9, bent=1.0)
        results = Results(tmp_path)
        for name in ("networks", "sources", "comparisons", "evidence", "ratios"):
            results.write(f"{name}.csv", Results(folder).read(f"{name}.csv"))
        # A line that the new file does not have.
        stale = [["bent", "full", "curved", 1.0, 1, 1.0, 0.5]]
        results.add("ratios.csv", stale, list(results.read("ratios.csv")), ["network", "larger"])
        done = call("--logits", other, "--results", tmp_path, "--draws", 3)
        assert "1 of 1 networks measured" in done.output
        assert results.done()["bent"] != Results(folder).done()["bent"]
        assert results.done()["straight"] == Results(folder).done()["straight"]
        before, after = (table.read("ratios.csv") for table in (Results(folder), results))
        assert len(after[after["network"] == "bent"]) == 2
        assert len(after) == len(before)

    def test_a_stopped_run_goes_on(self, networks, tmp_path):
        arguments = ("--logits", networks, "--results", tmp_path, "--draws", 3)
        assert call(*arguments, "--stage", "measure").exit_code == 0
        assert not Results(tmp_path).done()
        made = {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*.json")}
        assert call(*arguments).exit_code == 0
        assert {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*.json")} == made
        assert len(Results(tmp_path).done()) == 3

    def test_files_of_a_user_do_not_get_into_the_committed_tables(self, networks):
        done = call("--logits", networks)
        assert done.exit_code == 2
        assert "--logits needs --results" in done.output

    def test_a_folder_without_networks_is_named(self, tmp_path):
        done = call("--logits", tmp_path, "--results", tmp_path / "results")
        assert done.exit_code == 1
        assert "There are no networks in" in done.output

    def test_a_file_that_cannot_be_used_is_told_in_one_line(self, tmp_path):
        np.savez(tmp_path / "bad.npz", logits=np.zeros((9, 3)), labels=np.arange(8) % 3)
        done = call("--logits", tmp_path, "--results", tmp_path / "results")
        assert done.exit_code == 1
        assert "labels of shape (8,) for 9 rows" in " ".join(done.output.split())

    def test_without_tables_there_is_no_page(self, tmp_path):
        done = call("--stage", "page", "--results", tmp_path)
        assert done.exit_code == 1
        assert "run all stages first" in done.output


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    """Three trainings of one network, of which one is bent."""
    folder = tmp_path_factory.mktemp("trained")
    for option, bent in (("plain", 0.0), ("seed1", 0.0), ("focal", 1.0)):
        write_network(folder / f"c10_lenet5_{option}.npz", 3, bent=bent)
    members = [Member(member.entry, "c10_lenet5", TRAINED) for member in find_members([folder])]
    cache, results = Cache(folder / "cache"), Results(folder / "results")
    for member in members:
        measure(cache, member, 2)
    collect(cache, results, members)
    return Study(results)


class TestTrainings:
    def test_options_are_compared_with_the_plain_one(self, trained):
        effects = {effect.option: effect.by_network for effect in trained.effects()}
        assert set(effects) == {"focal", "seed1"}
        assert effects["focal"]["c10_lenet5"].low > 0
        # The same file under another name.
        assert effects["seed1"]["c10_lenet5"].value == 0.0

    def test_they_are_no_sources(self, trained):
        assert trained.sources() == {}
        assert trained.n_trained == 3

    def test_lines_of_the_figure_begin_with_the_plain_one(self, trained):
        lines = _figure.lines_of_trainings(trained)
        assert [line.group for line in lines] == ["plain", "focal loss", "another seed"]
