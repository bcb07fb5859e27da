"""The published optimiser written anew, and why numbers are not the printed ones."""

import numpy as np
import pandas as pd
import pytest
from experiments.neural import _adam, _published
from experiments.neural._adam import AdamMap, Strengths, fit_matrix, fit_vector, log_inputs
from experiments.neural._compare import against_print
from experiments.neural._defaults import HERE as RUN_HERE
from experiments.neural._defaults import PUBLISHED, defaults
from experiments.neural._files import Cache
from experiments.neural._networks import find_networks
from experiments.neural._published import PUBLISHED_ORDER, repeat_published
from experiments.neural._results import Results
from experiments.neural._targets import targets
from experiments.neural._verdicts import EXPLAINED, NOT_EXPLAINED, Cell, Reruns, judge
from neural_rows import make_study
from numpy.testing import assert_allclose
from rich.console import Console
from scipy.special import log_softmax

from dircal import DirichletCalibrator, MatrixScaling, VectorScaling, calibration_test, metrics


def make_logits(seed, n=300, k=3):
    rng = np.random.default_rng(seed)
    logits = rng.normal(0, 2, (n, k))
    y = (logits / 2 + rng.gumbel(size=(n, k))).argmax(axis=1)
    return logits.astype(np.float32), y


def penalised_loss(parameters, inputs, y, strengths):
    """The objective of a batch in double precision, transcribed."""
    k = inputs.shape[1]
    kernel, intercept = parameters[:-1], parameters[-1]
    logs = log_softmax(inputs.astype(float) @ kernel + intercept, axis=1)
    weights = strengths.kernel.astype(float)
    penalty = (weights * kernel**2).sum() + float(strengths.intercept) * (intercept**2).sum()
    assert parameters.shape == (k + 1, k)
    return -logs[np.arange(len(y)), y].mean() + penalty


class TestObjective:
    @pytest.mark.parametrize("penalty", ["odir", "l2"])
    def test_gradients_are_those_of_the_loss(self, penalty):
        inputs, y = make_logits(0, n=50)
        strengths = Strengths.of(penalty, 0.3, 0.2, 3)
        rng = np.random.default_rng(1)
        kernel = (np.eye(3) + rng.normal(0, 0.2, (3, 3))).astype(np.float32)
        intercept = rng.normal(0, 0.2, 3).astype(np.float32)
        found, gradients = _adam._loss_and_gradients(
            AdamMap(kernel, intercept), inputs, y, strengths
        )
        at = np.vstack([kernel, intercept]).astype(float)
        assert found == pytest.approx(penalised_loss(at, inputs, y, strengths), rel=1e-5)
        for place in np.ndindex(at.shape):
            step = np.zeros_like(at)
            step[place] = 1e-6
            slope = penalised_loss(at + step, inputs, y, strengths)
            slope -= penalised_loss(at - step, inputs, y, strengths)
            ours = gradients[0][place] if place[0] < 3 else gradients[1][place[1]]
            assert ours == pytest.approx(slope / 2e-6, abs=1e-5)

    def test_odir_spares_the_diagonal(self):
        assert np.diag(Strengths.of("odir", 2.0, 1.0, 3).kernel).tolist() == [0, 0, 0]
        assert (Strengths.of("l2", 2.0, 1.0, 3).kernel == 2.0).all()

    def test_clipped_probabilities_carry_no_gradient(self):
        inputs = np.array([[40.0, 0.0, 0.0]], np.float32)
        start = AdamMap(np.eye(3, dtype=np.float32), np.zeros(3, np.float32))
        none = Strengths(np.zeros((3, 3), np.float32), np.float32(0))
        loss, gradients = _adam._loss_and_gradients(start, inputs, np.array([1]), none)
        # Keras charges no more than the logarithm of its epsilon.
        assert loss == pytest.approx(-np.log(1e-7), rel=1e-5)
        assert_allclose(gradients[1], 0.0, atol=1e-6)


class TestSteps:
    def test_steps_are_those_of_adam(self):
        """Transcribed from the paper of Adam, with the epsilon of Keras."""
        rng = np.random.default_rng(0)
        values = np.zeros(4, np.float32)
        steps, exact, m, v = _adam._Steps(values), np.zeros(4), 0.0, 0.0
        for t in range(1, 30):
            g = rng.normal(size=4)
            steps.take(g.astype(np.float32), 1e-3)
            m, v = 0.9 * m + 0.1 * g, 0.999 * v + 0.001 * g**2
            rate = 1e-3 * np.sqrt(1 - 0.999**t) / (1 - 0.9**t)
            exact -= rate * m / (np.sqrt(v) + 1e-7)
        assert_allclose(values, exact, rtol=1e-4)


class TestFits:
    """Adam stops near the minimum that our solver finds, and above it."""

    @pytest.mark.parametrize("penalty", ["odir", "l2"])
    def test_dirichlet(self, penalty):
        logits, y = make_logits(2)
        inputs, k, lam, mu = log_inputs(logits), 3, 0.05, 0.05
        fitted = fit_matrix(inputs, y, Strengths.of(penalty, lam, mu, k), order=15)
        units = {"lam": k * (k - 1) * lam, "mu": k * mu} if penalty == "odir" else {"lam": lam}
        exact = DirichletCalibrator(penalty=penalty, clip=1e-300, **units)
        exact.fit(np.exp(inputs.astype(float)) / np.exp(inputs.astype(float)).sum(1)[:, None], y)
        strengths = Strengths.of(penalty, lam, mu, k)
        losses = [
            penalised_loss(np.vstack([kernel, intercept]).astype(float), inputs, y, strengths)
            for kernel, intercept in (
                (fitted.kernel, fitted.intercept),
                (exact.coef_.T, exact.intercept_),
            )
        ]
        assert losses[1] - 1e-9 <= losses[0] <= losses[1] + 1e-2

    def test_vector_scaling(self):
        logits, y = make_logits(3)
        proba = fit_vector(logits, y, order=0).predict_proba(logits)
        exact = VectorScaling(input_scale="logit").fit(logits.astype(float), y)
        least = metrics.log_loss(y, exact.predict_proba(logits.astype(float)))
        assert metrics.log_loss(y, proba.astype(float)) == pytest.approx(least, abs=5e-3)

    def test_the_order_decides(self):
        logits, y = make_logits(4)
        kernels = [fit_vector(logits, y, order).kernel for order in (0, 0, 1)]
        assert (kernels[0] == kernels[1]).all()
        assert (kernels[0] != kernels[2]).any()

    def test_zeros_off_the_diagonal(self):
        logits, y = make_logits(5)
        fitted = fit_matrix(logits, y, Strengths.of("odir", 1e-3, 1e-3, 3), order=0)
        by_hand = AdamMap(np.diag(np.diag(fitted.kernel)), fitted.intercept)
        assert_allclose(
            fitted.diagonal().predict_proba(logits), by_hand.predict_proba(logits), rtol=1e-5
        )

    def test_inputs_have_the_floor_of_the_code(self):
        inputs = log_inputs(np.array([[0.0, -80.0], [0.0, 0.0]], np.float32))
        assert inputs[0, 1] == pytest.approx(np.log(np.finfo(float).eps), rel=1e-6)
        assert inputs[1].tolist() == pytest.approx([np.log(0.5)] * 2)


def cell(ours, value, measure="log-loss", method="Dir-ODIR"):
    return Cell(measure, method, ours, value)


class TestVerdicts:
    def test_all_printed_digits(self):
        assert judge(cell(0.223706, 0.22371), None) == "equal"
        assert judge(cell(0.223704, 0.22371), None) == NOT_EXPLAINED

    def test_where_adam_stopped(self):
        again = Reruns(0.223712, (0.223712, 0.2238))
        assert judge(cell(0.2239, 0.22371), again) == "Adam"

    def test_in_an_order_that_nobody_knows(self):
        again = Reruns(0.2240, (0.2240, 0.2236, 0.2238, 0.2239))
        assert judge(cell(0.2250, 0.22371), again) == "Adam, other order"
        assert judge(cell(0.2250, 0.25), again) == NOT_EXPLAINED

    def test_pvalues_are_equal_up_to_draws(self):
        assert judge(cell(0.161, 0.18, "p-conf-ECE"), None) == "draws"
        # Ten times as many draws tell these apart.
        assert judge(cell(0.161, 0.18, "p-cw-ECE"), None) == NOT_EXPLAINED
        assert judge(cell(0.5487, 0.174, "p-conf-ECE"), None) == NOT_EXPLAINED

    def test_ten_bins(self):
        again = Reruns(0.1609, (0.1609,))
        assert judge(cell(0.5487, 0.174, "p-conf-ECE", "TempS"), again) == "ten bins"
        # Near in 15 bins is chance, where print has ten.
        assert judge(cell(0.17, 0.174, "p-conf-ECE", "TempS"), again) == "ten bins"
        far = Reruns(0.5, (0.5,))
        assert judge(cell(0.17, 0.174, "p-conf-ECE", "TempS"), far) == NOT_EXPLAINED

    def test_one_more_run_falls_into_the_interval(self):
        """With runs that are normal, 99 of 100; the error of the share below is 0.003."""
        rng = np.random.default_rng(0)
        inside = 0
        for _ in range(1000):
            *seen, new = rng.normal(10.0, size=6)
            low, high = Reruns(seen[0], tuple(seen)).interval()
            inside += low <= new <= high
        assert 0.98 <= inside / 1000 <= 1.0


@pytest.fixture(scope="module")
def repeated(tmp_path_factory):
    """Results of the stage on a small network that is taken for one of the paper's."""
    folder = tmp_path_factory.mktemp("published")
    fit, test = make_logits(6, 200), make_logits(7, 400)
    np.savez(
        folder / "small.npz",
        val_logits=fit[0],
        val_labels=fit[1],
        test_logits=test[0],
        test_labels=test[1],
    )
    entries = find_networks([folder], in_catalogue=False)
    results = Results(folder / "results")
    lines = [["small", method, "lam", 0.1] for method in ("Dir-L2", "Dir-ODIR", "MS-ODIR")]
    lines += [["small", method, "mu", 0.2] for method in ("Dir-ODIR", "MS-ODIR")]
    results.write(
        "choices.csv", pd.DataFrame(lines, columns=["network", "method", "parameter", "value"])
    )
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_published, "name_by_hash", lambda sha256: "c10_convnet2")
        patch.setattr(_published, "OTHER_ORDERS", dict.fromkeys(_published.OTHER_ORDERS, 1))
        patch.setattr(_published, "printed", lambda name: PRINTED[name])
        patch.setattr(_published, "DRAWS", 500)
        patch.setattr(_adam, "_EPOCHS", 5)
        repeat_published(Cache(folder / "cache"), results, entries, Console(quiet=True))
        before = (results.folder / "published.csv").read_bytes()
        patch.setattr(_published, "run_all", pytest.fail)
        repeat_published(Cache(folder / "none"), results, entries, Console(quiet=True))
        assert (results.folder / "published.csv").read_bytes() == before
    return results, test


PRINTED = {
    "choices": pd.DataFrame(
        [["c10_convnet2", "Dir-L2", 0.01, 0.01]], columns=["network", "method", "lam", "mu"]
    ),
    "scores": pd.DataFrame(
        [["log-loss", "c10_convnet2", "TempS", 0.2], ["log-loss", "c10_convnet2", "Uncal", 0.4]],
        columns=["measure", "network", "method", "value"],
    ),
}


class TestStage:
    def test_every_method_is_repeated_in_every_order(self, repeated):
        table = repeated[0].read("published.csv")
        orders = table.groupby("method")["order"].unique().map(sorted).to_dict()
        several = ("VecS", "Dir-L2", "Dir-ODIR", "MS-ODIR", "MS-ODIR-zero")
        once = {name: [PUBLISHED_ORDER] for name in ("Uncal", "TempS")}
        assert orders == {**once, **{name: [0, PUBLISHED_ORDER] for name in several}}
        assert not table.duplicated(["method", "order", "measure"]).any()
        assert set(table.groupby(["method", "order"])["measure"].nunique()) == {8}

    def test_strengths_are_printed_ones_or_ours(self, repeated):
        table = repeated[0].read("published.csv").drop_duplicates("method").set_index("method")
        assert table.loc["Dir-L2", ["lam", "mu"]].tolist() == [0.01, 0.01]
        assert table.loc["MS-ODIR", ["lam", "mu"]].tolist() == [0.1, 0.2]

    def test_confidence_is_tested_in_ten_bins(self, repeated):
        results, (logits, y) = repeated
        table = results.read("published.csv").set_index(["method", "measure"])
        proba = np.exp(log_softmax(logits.astype(float), axis=1))
        error = metrics.confidence_ece(y, proba)
        assert table.loc[("Uncal", "conf-ECE"), "value"] == pytest.approx(error)
        test = calibration_test(y, proba, n_bins=10, n_resamples=500, random_state=0)
        assert table.loc[("Uncal", "p-conf-ECE"), "value"] == pytest.approx(test.pvalue)

    def test_defaults_stand_beside_the_lowest_in_print(self, repeated):
        table = repeated[0].read("defaults.csv")
        assert table["method"].tolist() == ["Auto", "Bayes"]
        assert set(table["other"]) == {"TempS"}
        gaps = table["loss"] - table["other_loss"]
        assert_allclose(gaps, table["difference"], atol=1e-6)
        assert (table["low"] <= table["difference"]).all()


class TestTables:
    def test_ties_are_called_ties(self, tmp_path):
        about = {"c10_convnet": {}}
        gaps = [["c10_convnet", "Bayes", "TempS", -0.1, -0.2, -0.05, 0.1]]
        gaps += [["c10_convnet", "Auto", "TempS", -0.05, -0.2, 0.01, 0.1]]
        losses = {"Uncal": 0.390983, "TempS": 0.3, "Bayes": 0.2, "Auto": 0.25}
        study = make_study(tmp_path, {"c10_convnet": losses}, about, gaps)
        columns = ["network", "method", "other", "loss", "other_loss", "difference", "low", "high"]
        line = ["c10_convnet", "Bayes", "Dir-L2", 0.2, 0.19, 0.01, 0.005, 0.02]
        study.results.write("defaults.csv", pd.DataFrame([line], columns=columns))
        table = defaults(study).set_index(["method", "beside"])
        assert table.loc[("Bayes", RUN_HERE), "verdict"] == "lower"
        assert table.loc[("Auto", RUN_HERE), "verdict"] == "tie"
        assert table.loc[("Bayes", PUBLISHED), "verdict"] == "higher"
        assert table.loc[("Bayes", PUBLISHED), "other"] == "Dir-L2"
        aims = targets(study).set_index("target")["reached"]
        aims.index = aims.index.str.split(" has").str[0]
        assert aims[["c10_convnet: Bayes", "c10_convnet: Auto"]].tolist() == ["no", "tie"]

    def test_cells_have_the_published_procedure_beside_them(self, tmp_path):
        study = make_study(tmp_path, {"c10_convnet": {"Uncal": 0.390983, "Dir-ODIR": 0.1956}})
        lines = [["c10_convnet", "Dir-ODIR", 15, "log-loss", 0.195362]]
        columns = ["network", "method", "order", "measure", "value"]
        study.results.write("published.csv", pd.DataFrame(lines, columns=columns))
        table = against_print(study).set_index(["measure", "method"])
        own = table.loc[("log-loss", "Dir-ODIR")]
        assert own[["ours", "printed", "difference", "published"]].tolist() == [
            *("0.19560", "0.19536", "+0.00024", "0.19536")
        ]
        assert own["verdict"] == "Adam"
        assert table.loc[("log-loss", "Uncal"), "verdict"] == "equal"
        assert set(table["verdict"]) <= {*EXPLAINED, NOT_EXPLAINED}


def test_matrix_scaling_sees_logits():
    """The diagonal map of matrix scaling is that of vector scaling, so both see the same."""
    logits, y = make_logits(8)
    exact = MatrixScaling(lam=1e6, mu=1e-9, input_scale="logit").fit(logits.astype(float), y)
    fitted = fit_matrix(logits, y, Strengths.of("odir", 1e5, 0.0, 3), order=0)
    assert_allclose(np.diag(fitted.kernel), np.diag(exact.coef_), atol=0.05)
