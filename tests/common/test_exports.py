"""Every export of every calibrator agrees with `predict_proba`, or says why there is none."""

from functools import partial

import keras
import numpy as np
import onnxruntime
import pytest
import torch
from onnx.reference import ReferenceEvaluator
from scipy.special import softmax
from sklearn.base import clone

from dircal import AutoCalibrator, CalibratorCV, OneVsRestCalibrator, calibrators
from dircal.export import _expression as expr
from dircal.export import from_torch, to_keras, to_onnx, to_python, to_sql, to_torch
from dircal.export._expression import AbstractTarget
from dircal.export._fitted import check_fitted
from dircal.io import from_bytes, to_bytes
from dircal.shift import GroupedCalibrator, PriorShift, RecalibratedCalibrator, recalibrate

pytestmark = pytest.mark.filterwarnings("ignore::dircal.exceptions.ConvergenceWarning")
BINARY = {
    "add": np.add,
    "sub": np.subtract,
    "mul": np.multiply,
    "div": np.divide,
    "max": np.maximum,
    "min": np.minimum,
}
CURVES = (calibrators.HistogramCalibrator, calibrators.IsotonicCalibrator)


def run_onnx(calibrator, X, dtype):
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3
    options.intra_op_num_threads = 1
    model = to_onnx(calibrator, dtype=dtype).SerializeToString()
    session = onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
    outside = np.float64 if dtype == "float64" else np.float32
    (proba,) = session.run(["probabilities"], {"scores": X.astype(outside)})
    assert proba.dtype == outside
    return proba


def run_reference(model, X):
    """The model in the evaluator that comes with ONNX, which is what its operators mean."""
    with np.errstate(all="ignore"):
        (proba,) = ReferenceEvaluator(model).run(None, {"scores": X})
    return proba


def assert_named(model):
    """ONNX Runtime before 1.22 names what it fuses after its parts, and refuses a name twice."""
    names = [node.name for node in model.graph.node]
    assert all(names)
    assert len(set(names)) == len(names)


def run_torch(calibrator, X, dtype):
    with torch.no_grad():
        proba = to_torch(calibrator, dtype=dtype)(torch.tensor(X)).numpy()
    assert proba.dtype == dtype
    return proba


def run_keras(calibrator, X, dtype):
    proba = keras.ops.convert_to_numpy(to_keras(calibrator, dtype=dtype)(X))
    assert proba.dtype == dtype
    return proba


def run_python(calibrator, X):
    module = {}
    exec(to_python(calibrator), module)
    return np.array(module["predict_proba"](X.tolist()))


class ColumnTarget(AbstractTarget[list[np.ndarray]]):
    """The example of a target in the recipe for an export: a list of columns, each (n,)."""

    def __init__(self, X):
        super().__init__()
        self.X = X

    def _make(self, e):
        match e:
            case expr.Input():
                return list(self.X.T)
            case expr.Constant(values):
                return [np.full(len(self.X), value) for value in values]
            case expr.Columns(x, indices):
                return [self.of(x)[i] for i in indices]
            case expr.Join(parts):
                return [self.of(part)[0] for part in parts]
            case expr.Unary(name, x):
                return self.each(e, getattr(np, name), x)
            case expr.Binary(name, x, y):
                return self.each(e, BINARY[name], x, y)
            case expr.Choose(low, high, yes, no):
                return self.each(e, lambda a, b, c, d: np.where(a < b, c, d), low, high, yes, no)
            case expr.Linear(x, matrix, bias):
                rows = zip(matrix.values, bias.values, strict=True)
                return [sum(map(np.multiply, self.of(x), row), start=b) for row, b in rows]
            case expr.RowSum(x):
                return [sum(self.of(x))]
            case expr.RowMax(x):
                return [np.max(self.of(x), axis=0)]
            case expr.Softmax(x):
                return list(softmax(self.of(x), axis=0))
            case expr.Lookup(x, edges, at_edge, table):
                places = np.searchsorted(
                    edges, self.of(x)[0], side="right" if at_edge == "above" else "left"
                )
                return list(table[places].T)

    def each(self, e, function, *operands):
        """A function of numbers; operands of one column are repeated."""
        columns = [self.of(operand) for operand in operands]
        return [function(*(each[i % len(each)] for each in columns)) for i in range(e.width)]


def run_columns(calibrator, X):
    with np.errstate(all="ignore"):
        return np.column_stack(ColumnTarget(X).of(check_fitted(calibrator).expression()))


@pytest.fixture
def run_sql(query_duckdb):
    def run(calibrator, X):
        columns = [f"score of {i}" for i in range(X.shape[1])]
        return query_duckdb(to_sql(calibrator, table="scores", columns=columns), X, columns)

    return run


def innermost(calibrator):
    while hasattr(calibrator, "calibrator"):
        calibrator = calibrator.calibrator
    return calibrator


def curve_of_computed_scores(calibrator):
    """Edges at scores that no two programs compute alike."""
    inside = calibrator.calibrator if isinstance(calibrator, CalibratorCV) else calibrator
    return (
        isinstance(inside, OneVsRestCalibrator)
        and isinstance(innermost(inside), CURVES)
        and calibrator.input_scale == "logit"
    )


def hard_rows(calibrator, X, seed=1):
    """The rows of the fit, and rows with zeros, ones and large logits."""
    k = X.shape[1]
    rng = np.random.default_rng(seed)
    if calibrator.input_scale == "logit":
        return np.vstack([X, rng.normal(scale=1e4, size=(20, k)), rng.uniform(-50, 50, (50, k))])
    ones = np.eye(k)[rng.integers(0, k, size=5)]
    zeros = rng.dirichlet(np.ones(k), size=20) * (rng.random((20, k)) < 0.5) + 0.5 * np.eye(k)[0]
    # Sums that are off by more than rounding are divided by.
    coarse = X[:40] * (1.0 + rng.uniform(-5e-5, 5e-5, size=(40, 1)))
    small = softmax(rng.uniform(-69, 0, size=(50, k)), axis=1)
    return np.vstack([X, ones, zeros / zeros.sum(axis=1, keepdims=True), coarse, small])


def tolerance(calibrator, X):
    """1e-12 times one plus the largest logit."""
    members = getattr(calibrator, "calibrators_", [calibrator])
    slopes = [np.abs(getattr(one, "coef_", getattr(one, "slope_", 1.0))).max() for one in members]
    scores = np.abs(X).max() if calibrator.input_scale == "logit" else 708.0
    return 1e-12 * (1.0 + max(slopes) * scores)


@pytest.fixture
def fitted(scaled):
    calibrator, make = scaled
    X, y = make(0, n=300, k=4)
    # In another order than the labels are sorted in.
    names = np.array(["d", "a", "c", "b"])
    inner = innermost(calibrator)
    inner.set_params(classes=names.tolist())
    return calibrator.fit(X, names[y]), hard_rows(calibrator, X)


@pytest.fixture
def fitted_binary(scaled_binary, request):
    calibrator, make = scaled_binary
    X, y = make(0, n=300, k=2)
    return calibrator.fit(X, y == 1), hard_rows(calibrator, X)


def assert_agrees(calibrator, X, bound, run_sql):
    expected = calibrator.predict_proba(X)
    assert np.abs(run_columns(calibrator, X) - expected).max() <= bound
    if X.shape[1] <= 400:
        assert np.abs(run_sql(calibrator, X) - expected).max() <= bound
    assert np.abs(run_onnx(calibrator, X, "float64") - expected).max() <= bound
    model = to_onnx(calibrator, dtype="float64")
    assert_named(model)
    assert np.abs(run_reference(model, X) - expected).max() <= bound
    assert np.abs(run_python(calibrator, X) - expected).max() <= bound
    assert np.abs(run_keras(calibrator, X, "float64") - expected).max() <= bound
    single = X.astype(np.float32)
    rounded = calibrator.predict_proba(single)
    assert np.abs(run_onnx(calibrator, single, "mixed") - rounded).max() <= 1e-7
    assert_named(to_onnx(calibrator))
    if isinstance(innermost(calibrator), CURVES):
        return
    assert np.abs(run_torch(calibrator, X, "float64") - expected).max() <= bound
    back = from_torch(to_torch(calibrator))
    for same in (back, from_bytes(to_bytes(back))):
        assert np.abs(same.predict_proba(X) - expected).max() <= 1e-14


def assert_agrees_in_single(calibrator, X):
    X = X.astype(np.float32)
    expected = calibrator.predict_proba(X)
    promised = (np.abs(X) <= 50 if calibrator.input_scale == "logit" else X >= 1e-30).all(axis=1)
    assert promised.sum() >= 50
    for run in (run_onnx, run_torch, run_keras):
        found = run(calibrator, X, "float32")
        assert np.isfinite(found).all()
        assert np.abs(found.sum(axis=1) - 1.0).max() <= 1e-6
        assert np.abs(found - expected)[promised].max() <= 1e-5


def assert_agrees_in_single_or_says_why(calibrator, X):
    if isinstance(innermost(calibrator), CURVES):
        reasons = {
            to_onnx: r"'float32' cannot hold .* Use dtype='mixed'",
            to_torch: r"has no gradient.* Use to_onnx",
            to_keras: r"'float32' cannot hold .* Use dtype='float64'",
        }
        if curve_of_computed_scores(calibrator):
            reasons = dict.fromkeys(reasons, "of scores that are computed with exponentials")
        for export, reason in reasons.items():
            with pytest.raises(ValueError, match=reason):
                export(calibrator, dtype="float32")
    else:
        assert_agrees_in_single(calibrator, X)


def test_exports_agree(fitted, run_sql):
    calibrator, X = fitted
    if curve_of_computed_scores(calibrator):
        for export in (to_onnx, to_python, partial(to_sql, table="scores"), to_torch, to_keras):
            with pytest.raises(ValueError, match="of scores that are computed with exponentials"):
                export(calibrator)
        return
    assert_agrees(calibrator, X, tolerance(calibrator, X), run_sql)


def test_exports_of_binary_calibrators_agree(fitted_binary, run_sql):
    calibrator, X = fitted_binary
    assert_agrees(calibrator, X, tolerance(calibrator, X), run_sql)


def test_exports_of_one_column_agree(scaled_binary, run_sql):
    calibrator, make = scaled_binary
    X, y = make(0, n=300, k=2)
    extremes = [-60.0, 40.0, 0.0] if calibrator.input_scale == "logit" else [0.0, 1.0, 1e-20]
    column = np.r_[X[:, 1], extremes].reshape(-1, 1)
    calibrator.fit(X[:, 1], y)
    assert_agrees(calibrator, column, tolerance(calibrator, X), run_sql)


def test_single_precision(fitted):
    assert_agrees_in_single_or_says_why(*fitted)


def test_single_precision_of_binary_calibrators(fitted_binary):
    assert_agrees_in_single_or_says_why(*fitted_binary)


@pytest.mark.parametrize(("scaled", "k"), [("probability", 12), ("logit", 2)], indirect=["scaled"])
def test_single_precision_where_the_map_is_undecided(scaled, k):
    """Rows far out whose first two classes are equal after the map: where rounding shows."""
    calibrator, make = scaled
    X, y = make(1, n=50 * k, k=k)
    calibrator.fit(X, y)
    rng = np.random.default_rng(2)
    logs = rng.uniform(-65.0, 0.0, size=(2, 300, k))
    share = np.linspace(0.0, 1.0, 40)[:, None, None]
    rows = (logs[0] + share * (logs[1] - logs[0])).reshape(-1, k)
    rows = 0.75 * rows + 24.0 if calibrator.input_scale == "logit" else softmax(rows, axis=1)
    proba = np.sort(calibrator.predict_proba(rows), axis=1)
    contested = rows[np.argsort(proba[:, -1] - proba[:, -2])[:1000]]
    assert_agrees_in_single(calibrator, contested)


@pytest.mark.parametrize("k", [2, 5, 26, 401])
@pytest.mark.parametrize("scale", ["probability", "logit"])
def test_maps_that_bend_agree(k, scale, make_problem, run_sql):
    """Own curves of classes, shared ones, and those of a diagonal matrix."""
    problem = make_problem(1, n=600 if k < 100 else 450, k=k)
    # Labels that a linear map cannot foretell.
    sure = problem.proba.max(axis=1) > 0.9
    y = np.where(sure, problem.proba.argmax(axis=1), problem.y)
    X = problem.logits if scale == "logit" else problem.proba
    calibrator = calibrators.BayesianDirichletCalibrator(
        input_scale=scale, classes=range(k), clip=1e-30, tol=1e-9
    )
    fitted = calibrator.fit(X, y)
    rows = hard_rows(fitted, X)[-200:]
    assert_agrees(fitted, rows, tolerance(fitted, rows), run_sql)
    assert_agrees_in_single(fitted, rows)


def of_a_group(calibrator, X, y):
    grouped = GroupedCalibrator(calibrator).fit(X, y, groups=list("ab") * (len(y) // 2))
    return grouped.calibrator_of("a")


def of_new_priors(calibrator, X, y):
    fitted = calibrator if hasattr(calibrator, "classes_") else calibrator.fit(X, y)
    return PriorShift(fitted, priors=[0.5, 0.3, 0.2], old_priors=[0.3, 0.4, 0.3]).adapt()


def of_new_labels(calibrator, X, y):
    return recalibrate(calibrator.fit(X, y), X[::3], (y[::3] + 1) % 3)


def choice_of(calibrator):
    return AutoCalibrator(calibrators=[calibrator], cv=2, input_scale=calibrator.input_scale)


def search_of(calibrator):
    return CalibratorCV(calibrator, [{}], cv=2)


NESTINGS = {
    "itself": lambda one, X, y: one.fit(X, y),
    "group": of_a_group,
    "priors": of_new_priors,
    "new labels": of_new_labels,
    "search": lambda one, X, y: search_of(one).fit(X, y),
    "choice": lambda one, X, y: choice_of(one).fit(X, y),
    "search of a choice": lambda one, X, y: search_of(choice_of(one)).fit(X, y),
    "search of groups": lambda one, X, y: search_of(GroupedCalibrator(one)).fit(X, y),
    "search of moved": lambda one, X, y: search_of(RecalibratedCalibrator(one)).fit(X, y),
    "priors of a group": lambda one, X, y: of_new_priors(of_a_group(one, X, y), X, y),
    "new labels of a search": lambda one, X, y: of_new_labels(search_of(one), X, y),
    "group of a choice of a search": lambda one, X, y: of_a_group(choice_of(search_of(one)), X, y),
}


# A map of each kind of steps: linear, of raw logits, with curves, one class at a time with slopes
# and with edges, and a mean of maps.
INNER = {
    "linear": calibrators.DirichletCalibrator(),
    "logits": calibrators.VectorScaling(input_scale="logit"),
    "curves": calibrators.BayesianDirichletCalibrator(),
    "one against the rest": OneVsRestCalibrator(calibrators.BetaCalibrator()),
    "edges": OneVsRestCalibrator(calibrators.IsotonicCalibrator()),
    "mean": CalibratorCV(calibrators.DirichletCalibrator(), {"lam": [1e-2, 1e-3]}, cv=2),
}


@pytest.mark.parametrize("nesting", NESTINGS.values(), ids=NESTINGS)
@pytest.mark.parametrize("inner", INNER)
def test_a_module_that_was_not_trained_comes_back_as_the_same_map(inner, nesting, make_problem):
    calibrator, problem = clone(INNER[inner]), make_problem(0, n=48, k=3)
    X = problem.logits if calibrator.input_scale == "logit" else problem.proba
    fitted = nesting(calibrator, X, np.r_[[0, 1, 2] * 2, problem.y[6:]])
    try:
        module = to_torch(fitted)
    except ValueError:
        assert inner == "edges"
        return
    back = from_torch(module)
    expected = fitted.predict_proba(X)
    assert np.abs(back.predict_proba(X) - expected).max() <= 1e-14
    stored = from_bytes(to_bytes(back))
    assert np.abs(stored.predict_proba(X) - expected).max() <= 1e-14
