"""The experiment on networks: reading, dividing, fitting, and what is recognised."""

import pickle
import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from experiments.neural._claims import claims
from experiments.neural._compare import against_print
from experiments.neural._example import (
    EXAMPLE,
    Example,
    examples_among,
    keep_example,
    look_at,
    matrix_name,
    own_examples,
    pairs_name,
    words_name,
)
from experiments.neural._figures import pictures
from experiments.neural._grids import grid_of
from experiments.neural._methods import METHODS, PAPER_METHODS, names_of
from experiments.neural._networks import (
    Entry,
    Network,
    Part,
    default_folders,
    find_networks,
    known,
    read_network,
)
from experiments.neural._paper_names import paper_names
from experiments.neural._printed import printed
from experiments.neural._results import Results
from experiments.neural._study import FAMILIES, Mean, Share
from experiments.neural._tables import as_printed
from neural_rows import make_study
from numpy.testing import assert_allclose, assert_array_equal
from scipy.special import log_softmax, softmax
from sklearn.model_selection import KFold, train_test_split

from dircal import DirichletCalibrator, MatrixScaling, TemperatureScaling, metrics
from dircal.metrics import log_loss


def make_part(seed, n, k=3):
    rng = np.random.default_rng(seed)
    logits = rng.normal(0, 2, (n, k))
    y = (logits / 2 + rng.gumbel(size=logits.shape)).argmax(axis=1)
    return Part(softmax(logits, axis=1), logits, y)


@pytest.fixture(scope="module")
def network():
    return Network("made", make_part(0, 300), make_part(1, 200), divided_here=False)


class TestReading:
    def test_a_split_is_kept(self, tmp_path):
        fit, test = make_part(0, 20), make_part(1, 30)
        arrays = {"val_logits": fit.logits, "val_labels": fit.y}
        path = tmp_path / "two.npz"
        np.savez(path, **arrays, test_logits=test.logits, test_labels=test.y)
        found = read_network(path)
        assert not found.divided_here
        assert_array_equal(found.fit.logits, fit.logits)
        assert_array_equal(found.test.y, test.y)
        assert_allclose(found.test.proba, test.proba)

    @pytest.mark.parametrize(("n", "n_fit"), [(600, 300), (10_000, 5000), (12_000, 5000)])
    def test_what_comes_undivided_is_divided_as_in_the_paper(self, tmp_path, n, n_fit):
        part = make_part(0, n)
        path = tmp_path / f"undivided{n}.npz"
        np.savez(path, logits=part.logits, labels=part.y)
        expected, _ = train_test_split(np.arange(n), test_size=n - n_fit, random_state=15)
        found = read_network(path)
        assert found.divided_here
        assert_array_equal(found.fit.logits, part.logits[expected])
        assert_array_equal(found.fit.y, part.y[expected])

    def test_pickles_of_the_literature(self, tmp_path):
        fit, test = make_part(0, 20), make_part(1, 30)
        content = [
            (p.logits.astype(np.float32), p.y.astype(np.uint8)[:, None]) for p in (fit, test)
        ]
        path = tmp_path / "probs_some_c10_logits.p"
        path.write_bytes(pickle.dumps(content, protocol=2))
        found = read_network(path)
        assert_array_equal(found.fit.y, fit.y)
        assert_allclose(found.test.logits, test.logits, rtol=1e-6)

    def test_a_pickle_that_would_run_code_is_refused(self, tmp_path):
        class Harm:
            def __reduce__(self):
                return (print, ("harm",))

        path = tmp_path / "harm.p"
        path.write_bytes(pickle.dumps(Harm()))
        with pytest.raises(ValueError, match="read safely"):
            read_network(path)

    def test_probabilities_are_made_to_sum_to_one(self, tmp_path):
        part = make_part(0, 30)
        path = tmp_path / "rounded.npz"
        np.savez(path, probs=1.003 * part.proba, labels=part.y)
        found = read_network(path)
        assert not found.has_logits
        assert_allclose(found.fit.proba.sum(axis=1), 1.0)

    def test_small_ones_come_first_and_confidences_are_no_networks(self, tmp_path):
        for name, n, k in (("large", 40, 5), ("small", 40, 3), ("long", 90, 3)):
            part = make_part(0, n, k)
            np.savez(tmp_path / f"{name}.npz", logits=part.logits, labels=part.y)
        np.savez(tmp_path / "top1.npz", conf=np.ones(2), pred=[0, 1], labels=[0, 1])
        (tmp_path / "README.md").write_text("no network")
        found = find_networks([tmp_path])
        assert [entry.name for entry in found] == ["small", "long", "large"]

    def test_networks_of_others_are_where_the_user_says(self, monkeypatch, tmp_path):
        monkeypatch.setenv("DIRCAL_DATA", str(tmp_path))
        ours, others = default_folders()
        assert others == tmp_path / "networks"
        assert [example.path.parent for example in own_examples()] == [ours, others]
        monkeypatch.delenv("DIRCAL_DATA")
        assert default_folders() == (ours,)
        assert [example.path.exists() for example in own_examples()] == [True, False]

    def test_a_network_of_a_user_stands_for_itself(self):
        assert known("mine").source == "mine"
        assert known("mine").kind == "network"
        assert known("uavhuman155_ctrgcn_k1").source == known("uavhuman155_mixformer_k8").source


@pytest.mark.filterwarnings("ignore::dircal.exceptions.GridEdgeWarning")
class TestMethods:
    def test_temperature_sees_logits(self, network):
        fitted = METHODS["TempS"].fit(network, grid_of(network.n_classes))
        one = TemperatureScaling(input_scale="logit").fit(network.fit.logits, network.fit.y)
        expected = softmax(network.test.logits / one.temperature_, axis=1)
        assert_allclose(fitted.proba["TempS"], expected, rtol=1e-9)

    def test_strengths_are_those_of_the_smallest_loss_of_five_folds(self, network):
        grid = grid_of(3, quick=True)
        k = network.n_classes
        logs = log_softmax(network.fit.logits, axis=1)
        best = (np.inf, None, None)
        for lam in grid.lams:
            for mu in grid.mus:
                losses, maps = [], []
                for fit, score in KFold(5, shuffle=True, random_state=15).split(logs):
                    one = DirichletCalibrator(lam=k * (k - 1) * lam, mu=k * mu, classes=range(k))
                    one.fit(np.exp(logs[fit]), network.fit.y[fit])
                    proba = one.predict_proba(np.exp(logs[score]))
                    losses.append(log_loss(network.fit.y[score], proba, classes=range(k)))
                    maps.append(one)
                best = min(best, (np.mean(losses), (lam, mu), maps), key=lambda found: found[0])
        fitted = METHODS["Dir-ODIR"].fit(network, grid)
        assert tuple(choice.value for choice in fitted.choices) == best[1]
        expected = np.mean([one.predict_proba(network.test.proba) for one in best[2]], axis=0)
        assert_allclose(fitted.proba["Dir-ODIR"], expected, atol=1e-6)

    def test_zeros_off_the_diagonal_are_of_the_same_five_maps(self, network):
        grid = grid_of(3, quick=True)
        fitted = METHODS["MS-ODIR"].fit(network, grid)
        assert set(fitted.proba) == {"MS-ODIR", "MS-ODIR-zero"}
        assert len(fitted.maps) == 5
        lam, mu = (choice.value for choice in fitted.choices)
        total = 0.0
        for fit, _ in KFold(5, shuffle=True, random_state=15).split(network.fit.y):
            one = MatrixScaling(lam=6 * lam, mu=3 * mu, input_scale="logit", classes=range(3))
            one.fit(network.fit.logits[fit], network.fit.y[fit])
            scores = network.test.logits * one.coef_.diagonal() + one.intercept_
            total = total + softmax(scores, axis=1) / 5
        assert_allclose(fitted.proba["MS-ODIR-zero"], total, atol=1e-6)

    def test_without_logits_three_methods_are_left_out(self, network):
        bare = replace(
            network, fit=replace(network.fit, logits=None), test=replace(network.test, logits=None)
        )
        missing = set(names_of(network)) - set(names_of(bare))
        assert missing == {"VecS", "MS-ODIR", "Bayes-logits"}
        assert METHODS["Dir-ODIR"].fit(bare, grid_of(3, quick=True)).proba["Dir-ODIR"].shape

    @pytest.mark.parametrize(
        ("k", "full", "expected"),
        [
            (10, False, "paper"),
            (20, False, "paper"),
            (100, False, "9 x 5"),
            (100, True, "paper"),
            (1000, False, "2 x 1"),
        ],
    )
    def test_grids_by_the_number_of_classes(self, k, full, expected):
        assert grid_of(k, full=full).name == expected

    def test_the_coarse_grid_has_nine_and_five_values(self):
        settings = grid_of(100).settings("odir", 100)
        assert [len(settings[name]) for name in ("lam", "mu")] == [9, 5]
        assert settings["lam"][0] == pytest.approx(9900 * 0.01)


class TestStudy:
    def test_networks_of_one_source_count_once(self, tmp_path):
        values = dict.fromkeys(PAPER_METHODS, 1.0)
        about = {name: {"source": "same"} for name in ("one", "two")}
        losses = {"one": {**values, "TempS": 0.2}, "two": {**values, "TempS": 0.4}, "three": values}
        study = make_study(tmp_path, losses, about)
        table = study.by_source("log-loss", FAMILIES["paper"])
        assert list(table.index) == ["same", "three"]
        assert table.loc["same", "TempS"] == pytest.approx(0.3)

    def test_counts_and_means_have_intervals(self):
        assert str(Share(8, 14)) == "8 of 14 sources (33 to 79 %)"
        assert str(Mean((0.01, 0.03))) == "+2.00 % (-10.71 to +14.71 %)"

    def test_claims_without_rows_are_not_answered(self, tmp_path):
        study = make_study(tmp_path, {"one": {"Uncal": 1.0}})
        table = claims(study)
        assert set(table["holds"]) <= {"", "yes", "no"}
        assert (table["numbers"] == "not run").any()

    def test_reductions_are_relative(self, tmp_path):
        values = {"Uncal": 1.0, "MS-ODIR": 0.6}
        study = make_study(tmp_path, {"one": values, "two": {"Uncal": 2.0, "MS-ODIR": 1.6}})
        found = study.reduction("MS-ODIR", "Uncal", "log-loss", study.chosen())
        assert found.value == pytest.approx(0.3)


class TestPrint:
    def test_the_authors_files_are_known_by_their_hash(self, tmp_path):
        files = printed("files")
        first = files.iloc[0]
        line = {"sha256": first["sha256"]}
        study = make_study(tmp_path, {"renamed": {"TempS": 0.3}}, {"renamed": line})
        assert paper_names(study) == {"renamed": first["network"]}
        table = against_print(study)
        own = table[(table["measure"] == "log-loss") & (table["method"] == "TempS")]
        assert own["ours"].tolist() == ["0.30000"]
        assert grid_of(100, full=True).name == "paper"
        assert own["verdict"].tolist() == ["not explained"]

    def test_the_others_by_name_and_loss(self, tmp_path):
        study = make_study(
            tmp_path, {"c10_convnet": {"Uncal": 0.390983}, "c100_convnet": {"Uncal": 0.5}}
        )
        assert paper_names(study) == {"c10_convnet": "c10_convnet"}

    def test_table_s21_is_compared_too(self, tmp_path):
        first = printed("files").iloc[0]
        line = {"sha256": first["sha256"]}
        losses = {"renamed": {"MS-ODIR": 0.2, "MS-ODIR-zero": 0.2}}
        table = against_print(make_study(tmp_path, losses, {"renamed": line}))
        own = table[table["table"] == "S21"]
        assert own["method"].tolist() == ["MS-ODIR", "MS-ODIR-zero"]
        assert set(own["verdict"]) == {"not explained"}

    def test_print_has_errors_and_sums(self):
        assert as_printed("accuracy", 0.9, 10) == pytest.approx(10.0)
        assert as_printed("cw-ECE", 0.01, 10) == pytest.approx(0.1)
        assert as_printed("MCE", 0.2, 10) == 0.2

    def test_printed_tables_are_whole(self):
        scores = printed("scores")
        assert len(scores) == 14 * 6 * 6 + 15 * 6 * 2
        assert len(printed("files")) == 11 + 3
        assert printed("files")["sha256"].is_unique
        assert set(printed("files")["network"]) < set(scores["network"])


@pytest.fixture(scope="module")
def kept(tmp_path_factory):
    """The example of ten classes, made here, with strengths that were chosen before."""
    results = Results(tmp_path_factory.mktemp("example"))
    choices = [[EXAMPLE, "Dir-ODIR", name, 0.1, 5, 9] for name in ("lam", "mu")]
    columns = ["network", "method", "parameter", "value", "position", "n_values"]
    results.write("choices.csv", pd.DataFrame(choices, columns=columns))
    fit, test = make_part(0, 900, 10), make_part(1, 800, 10)
    path = results.folder / f"{EXAMPLE}.npz"
    arrays = {"val_logits": fit.logits, "val_labels": fit.y}
    np.savez(path, **arrays, test_logits=test.logits, test_labels=test.y)
    keep_example(results, Example(EXAMPLE, path))
    return results, read_network(path)


class TestExample:
    def test_probabilities_are_those_of_the_five_maps(self, kept):
        results, network = kept
        look = look_at(network, results.read("choices.csv"))
        total = 0.0
        for fit, _ in KFold(5, shuffle=True, random_state=15).split(network.fit.y):
            one = DirichletCalibrator(lam=90 * 0.1, mu=10 * 0.1, input_scale="logit")
            one.fit(network.fit.logits[fit], network.fit.y[fit])
            total = total + one.predict_proba(network.test.logits) / 5
        assert_allclose(look.after["Dir-ODIR"], total, atol=1e-6)
        assert_allclose(look.before, network.test.proba)

    def test_confusions_add_up(self, kept):
        results, network = kept
        table = results.read(matrix_name())
        assert len(table) == 100
        for when in ("before", "after"):
            assert table[f"confusions_{when}"].sum() == len(network.test.y)
        assert table.groupby("column")["a"].min().eq(0).all()

    def test_mistakes_that_went_and_came_explain_the_change_of_accuracy(self, kept):
        results, network = kept
        look = look_at(network, results.read("choices.csv"))
        told = results.read(words_name())["sentence"].iloc[-1]
        fixed, created = (int(word) for word in told.split() if word.isdigit() and word != "800")
        right = [(p.argmax(axis=1) == look.y).sum() for p in (look.before, look.after["Dir-ODIR"])]
        assert right[1] - right[0] == fixed - created

    def test_differences_of_its_measures_are_in_the_units_of_print(self, kept):
        results, network = kept
        look = look_at(network, results.read("choices.csv"))
        own = results.read(pairs_name()).set_index(["measure", "method", "other"])
        first, second = (
            metrics.classwise_ece(look.y, proba, aggregate="sum", binning="paper_table")
            for proba in (look.after["Dir-ODIR"], look.after["TempS"])
        )
        line = own.loc[("cw-ECE", "Dir-ODIR", "TempS")]
        assert_allclose(line["difference"], first - second, atol=1e-6)
        assert line["low"] < line["difference"] < line["high"]

    def test_the_matrix_is_enough_to_draw_figure_2(self, kept, tmp_path):
        results, network = kept
        shutil.copytree(results.folder, tmp_path, dirs_exist_ok=True)
        study = make_study(tmp_path, {EXAMPLE: dict.fromkeys(PAPER_METHODS, 0.5)})
        drawn = pictures(
            study.results, [Example("absent", Path("absent")), Example(EXAMPLE, Path("no"))]
        )
        assert set(drawn) == {"2b", "2c"}
        look = look_at(network, results.read("choices.csv"))
        canonical = look.map.canonical_parameters()
        shown = drawn["2b"].panels[0].display.parameters
        assert_allclose(shown.A, canonical.A, atol=1e-6)
        assert_allclose(shown.c, canonical.c, atol=1e-6)
        change = drawn["2c"].panels[0].display
        right = [(p.argmax(axis=1) == look.y).sum() for p in (look.before, look.after["Dir-ODIR"])]
        assert [np.trace(change.before), np.trace(change.after)] == right

    def test_of_a_users_files_it_is_one_of_the_papers(self):
        files = printed("files").set_index("network")

        def entry(stem, paper_name=None, k=10):
            sha256 = files.loc[paper_name, "sha256"] if paper_name else ""
            return Entry(stem, Path(f"{stem}.p"), k, 9, True, sha256, known(stem))

        found = [
            entry("mine"),
            entry("c10_wide", "c10_resnet_wide32", 100),
            entry("svhn", "SVHN_resnet152_SD"),
            entry("probs_lenet5_c10_logits"),
            entry("renamed", "c10_resnet_wide32"),
        ]
        assert examples_among(found)[0].path == Path("renamed.p")
        assert examples_among(found[:4])[0].name == "probs_lenet5_c10_logits"
        assert examples_among(found[:4])[0].class_names[2] == "bird"
        assert examples_among(found[:3])[0].class_names[2] == "class 2"
        assert examples_among(found[:2]) == ()

    def test_claims_about_it_are_answered(self, kept, tmp_path):
        results, _ = kept
        shutil.copytree(results.folder, tmp_path, dirs_exist_ok=True)
        table = claims(make_study(tmp_path, {EXAMPLE: dict.fromkeys(PAPER_METHODS, 0.5)}))
        own = table[table["text"].str.startswith(f"{EXAMPLE}")]
        assert len(own) == 6
        assert "not run" not in set(own["numbers"])
