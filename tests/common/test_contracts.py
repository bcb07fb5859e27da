"""Laws that hold for every calibrator."""

import pickle
import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy.special import softmax
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline

from dircal import AutoCalibrator, CalibratorCV, IdentityCalibrator, OneVsRestCalibrator
from dircal.exceptions import ConvergenceWarning
from dircal.llm import LabelCalibrator
from dircal.shift import RecalibratedCalibrator

# Two fits of one convex problem end this close in their probabilities: each is within 1e-12 of
# the optimum in the mean loss, so within about 1e-6 in a probability.
SAME = 1e-6


@pytest.fixture
def quietly():
    """Fit where the optimum may lie at infinity, which is allowed to warn."""

    def fit(calibrator, *args):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            return calibrator.fit(*args)

    return fit


def assert_on_simplex(proba, shape):
    assert proba.shape == shape
    assert proba.dtype == np.float64
    assert np.isfinite(proba).all()
    assert (proba >= 0).all()
    assert_allclose(proba.sum(axis=1), 1.0, rtol=1e-12)


def counts_rows(calibrator):
    """Whether the sum of the weights counts as a number of rows: twice of it is other advice."""
    inner = getattr(calibrator, "calibrator", calibrator)
    return isinstance(calibrator, RecalibratedCalibrator) or type(inner).__name__ in (
        "AutoCalibrator",
        "BayesianDirichletCalibrator",
        "LabelCalibrator",
        "HistogramCalibrator",
        "PlattCalibrator",
    )


# Thirty classes are too many for a full Hessian.
@pytest.mark.parametrize(
    ("scaled", "k"),
    [("probability", 2), ("logit", 3), ("logit", 10), ("probability", 30)],
    indirect=["scaled"],
)
def test_rows_sum_to_one(scaled, k, quietly):
    calibrator, make = scaled
    X, y = make(0, n=300, k=k)
    fitted = quietly(calibrator, X, y)
    assert fitted is calibrator
    assert_on_simplex(fitted.predict_proba(X), X.shape)
    assert_on_simplex(fitted.predict_proba(X[:1]), (1, k))
    assert_array_equal(fitted.predict(X), fitted.predict_proba(X).argmax(axis=1))
    assert fitted.n_features_in_ == k


def test_relabelling_permutes_the_output(scaled):
    calibrator, make = scaled
    X, y = make(1, n=400, k=4)
    order = np.array([2, 0, 3, 1])
    if getattr(calibrator, "penalty", None) == "l2_reference":
        order = np.array([2, 0, 1, 3])  # its penalty depends on which class is last, by design
    plain = calibrator.fit(X, y).predict_proba(X)
    permuted = clone(calibrator).fit(X[:, order], np.argsort(order)[y])
    assert_allclose(permuted.predict_proba(X[:, order]), plain[:, order], atol=SAME)


def test_integer_weights_equal_repeated_rows(scaled):
    calibrator, make = scaled
    X, y = make(2, n=400, k=3)
    weight = np.random.default_rng(0).integers(0, 4, len(y))
    weighted = clone(calibrator).fit(X, y, sample_weight=weight)
    repeated = clone(calibrator).fit(np.repeat(X, weight, axis=0), np.repeat(y, weight))
    assert_allclose(weighted.predict_proba(X), repeated.predict_proba(X), atol=SAME)


def test_unit_weights_change_nothing(either):
    calibrator, make = either
    X, y = make(2, n=200, k=3)
    weighted = clone(calibrator).fit(X, y, sample_weight=np.ones(len(y)))
    assert_allclose(weighted.predict_proba(X), calibrator.fit(X, y).predict_proba(X), rtol=1e-10)


def test_rows_of_weight_zero_are_dropped(either):
    calibrator, make = either
    X, y = make(2, n=300, k=3)
    weight = np.r_[np.ones(250), np.zeros(50)]
    spoilt = X.copy()
    spoilt[250:] = np.nan
    dropped = clone(calibrator).fit(spoilt, y, sample_weight=weight)
    kept = clone(calibrator).fit(X[:250], y[:250])
    assert_allclose(dropped.predict_proba(X), kept.predict_proba(X), atol=SAME)


def test_order_of_rows_is_irrelevant(either):
    calibrator, make = either
    X, y = make(3, n=300, k=3)
    order = np.random.default_rng(0).permutation(len(y))
    plain = clone(calibrator).fit(X, y).predict_proba(X)
    assert_allclose(clone(calibrator).fit(X[order], y[order]).predict_proba(X), plain, atol=SAME)


def test_constants_on_rows_of_logits_change_nothing(calibrator, configure, make_problem):
    configure(calibrator, input_scale="logit")
    problem = make_problem(4, n=300, k=3)
    shift = np.random.default_rng(0).normal(scale=100.0, size=(300, 1))
    plain = clone(calibrator).fit(problem.logits, problem.y).predict_proba(problem.logits)
    moved = clone(calibrator).fit(problem.logits + shift, problem.y)
    same = np.allclose(moved.predict_proba(problem.logits + shift), plain, rtol=0.0, atol=SAME)
    # Maps of raw logits use the constant of a row, by design.
    assert same != getattr(calibrator.method_class, "reads_raw_logits", False)


def test_float32_gives_the_answer_of_float64(either):
    calibrator, make = either
    X, y = make(5, n=400, k=4)
    wide = clone(calibrator).fit(X, y).predict_proba(X)
    narrow = clone(calibrator).fit(X.astype(np.float32), y).predict_proba(X.astype(np.float32))
    assert_allclose(narrow, wide, atol=1e-5)


@pytest.mark.parametrize("k", [2, 27])
def test_exact_zeros_and_ones(calibrator, k, make_problem, quietly):
    problem = make_problem(6, n=120, k=k)
    X = problem.proba.copy()
    X[X < 0.05] = 0.0
    X[:40] = np.eye(k)[np.arange(40) % k]
    X /= X.sum(axis=1, keepdims=True)
    assert_on_simplex(quietly(calibrator, X, problem.y).predict_proba(X), X.shape)
    assert_on_simplex(calibrator.predict_proba(np.eye(k)), (k, k))


@pytest.mark.parametrize("magnitude", [1e4, 1e12])
def test_huge_logits(calibrator, magnitude, configure, make_problem, quietly):
    configure(calibrator, input_scale="logit")
    problem = make_problem(7, n=200, k=4)
    X = problem.logits * magnitude
    assert_on_simplex(quietly(calibrator, X, problem.y).predict_proba(X), X.shape)


LABELS = {
    "strings": np.array(["ant", "bee", "cow"]),
    "objects": np.array(["ant", "bee", "cow"], dtype=object),
    "from one": np.array([1, 2, 3]),
    "tens": np.array([10, 20, 30]),
    "negative": np.array([-1, 0, 7], dtype=np.int32),
    "floats": np.array([1.0, 2.0, 3.0]),
}


@pytest.mark.representatives
def test_labels_of_any_kind(calibrator, make_problem):
    problem = make_problem(8, n=200, k=3)
    plain = clone(calibrator).fit(problem.proba, problem.y).predict_proba(problem.proba)
    for kind, labels in LABELS.items():
        named = clone(calibrator).fit(problem.proba, labels[problem.y])
        assert_array_equal(named.classes_, labels, err_msg=kind)
        assert_allclose(named.predict_proba(problem.proba), plain, rtol=1e-10, err_msg=kind)
        assert_array_equal(named.predict(problem.proba), labels[plain.argmax(axis=1)])


@pytest.mark.representatives
def test_boolean_labels(calibrator, make_problem):
    problem = make_problem(8, n=200, k=2)
    fitted = calibrator.fit(problem.proba, problem.y.astype(bool))
    assert_array_equal(fitted.classes_, [False, True])
    assert fitted.predict(problem.proba).dtype == bool


@pytest.mark.representatives
def test_labels_in_a_column_with_a_warning(calibrator, make_problem):
    problem = make_problem(8, n=200, k=3)
    plain = clone(calibrator).fit(problem.proba, problem.y).predict_proba(problem.proba)
    with pytest.warns(UserWarning, match="column-vector"):
        column = clone(calibrator).fit(problem.proba, problem.y[:, None].astype(np.uint8))
    assert_allclose(column.predict_proba(problem.proba), plain, rtol=1e-10)


@pytest.mark.representatives
def test_frames_are_matched_by_name_whatever_their_index(calibrator, make_problem):
    problem = make_problem(9, n=200, k=3)
    labels = np.array(["ant", "bee", "cow"])
    y = labels[problem.y]
    plain = clone(calibrator).fit(problem.proba, y).predict_proba(problem.proba)
    index = np.random.default_rng(0).permutation(200)
    frame = pd.DataFrame(problem.proba, columns=labels, index=index)
    turned = frame[["cow", "ant", "bee"]]
    series = pd.Series(y, index=index)
    fitted = clone(calibrator).fit(turned, series)
    for new in (turned, frame, pl.DataFrame(problem.proba, schema=labels.tolist())):
        assert_allclose(fitted.predict_proba(new), plain, atol=SAME)
    assert_allclose(fitted.predict_proba(turned.to_numpy()), plain, atol=SAME)
    polars = pl.DataFrame(turned.to_numpy(), schema=["cow", "ant", "bee"])
    from_polars = clone(calibrator).fit(polars, pl.Series(y))
    assert_allclose(from_polars.predict_proba(problem.proba[:, [2, 0, 1]]), plain, atol=SAME)


@pytest.mark.representatives
def test_integer_columns_of_a_frame_name_integer_labels(calibrator, make_problem):
    problem = make_problem(9, n=200, k=3)
    plain = clone(calibrator).fit(problem.proba, problem.y + 1).predict_proba(problem.proba)
    frame = pd.DataFrame(problem.proba, columns=[1, 2, 3])[[3, 1, 2]]
    fitted = clone(calibrator).fit(frame, problem.y + 1)
    assert_allclose(fitted.predict_proba(frame), plain, atol=SAME)


@pytest.mark.representatives
def test_columns_in_another_order_through_classes(calibrator, configure, make_problem):
    problem = make_problem(9, n=200, k=3)
    plain = clone(calibrator).fit(problem.proba, problem.y).predict_proba(problem.proba)
    turned = problem.proba[:, [2, 0, 1]]
    fitted = configure(clone(calibrator), classes=[2, 0, 1]).fit(turned, problem.y)
    assert_array_equal(fitted.classes_, [0, 1, 2])
    assert_array_equal(fitted.column_classes_, [2, 0, 1])
    assert_allclose(fitted.predict_proba(turned), plain, atol=SAME)


def test_an_absent_class_needs_a_name_unless_labels_are_numbers_of_columns(
    either, configure, quietly
):
    calibrator, make = either
    X, y = make(10, n=200, k=4)
    y = np.where(y == 3, 0, y)
    with pytest.raises(ValueError, match=r"4 columns.*only 3 class.*`classes=\[...\]`"):
        clone(calibrator).fit(X, np.array(["a", "b", "c", "d"])[y])
    with pytest.raises(ValueError, match=r"4 columns.*only 3 class.*`classes=\[...\]`"):
        clone(calibrator).fit(X, y + 2)
    numbered = quietly(clone(calibrator), X, y)
    fitted = quietly(configure(calibrator, classes=range(4)), X, y)
    assert_array_equal(fitted.classes_, np.arange(4))
    assert_on_simplex(fitted.predict_proba(X), X.shape)
    assert_array_equal(numbered.classes_, np.arange(4))
    assert_array_equal(numbered.predict_proba(X), fitted.predict_proba(X))


@pytest.mark.parametrize(("scaled", "n"), [("probability", 1), ("logit", 5)], indirect=["scaled"])
def test_fewer_rows_than_classes(scaled, n, configure, quietly):
    calibrator, make = scaled
    X, y = make(11, n=n, k=8)
    fitted = quietly(configure(calibrator, classes=range(8)), X, y)
    new, _ = make(12, n=50, k=8)
    assert_on_simplex(fitted.predict_proba(new), new.shape)


def test_separable_rows(either, quietly):
    calibrator, make = either
    X, _ = make(13, n=200, k=3)
    fitted = quietly(calibrator, X, X.argmax(axis=1))
    assert_on_simplex(fitted.predict_proba(X), X.shape)
    assert (fitted.predict(X) == X.argmax(axis=1)).mean() > 0.95  # a penalty may cost a few


def test_a_faultless_classifier_is_said_to_be_one(calibrator):
    X = np.random.default_rng(0).dirichlet(np.ones(3), size=200)
    y = X.argmax(axis=1)
    # Strengths that are learned hold the diagonal too.
    bounded = getattr(calibrator, "penalty", None) in ("l2", "l2_reference", "odir")
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        calibrator.fit(X, y)
    if bounded or hasattr(calibrator, "prior"):
        assert not told
        assert np.abs(calibrator.coef_).max() < 100.0
    elif isinstance(calibrator, OneVsRestCalibrator | IdentityCalibrator):
        assert not told  # no threshold tells one class from the rest
    elif isinstance(calibrator, AutoCalibrator | LabelCalibrator):
        assert not told  # all its maps have a prior
    else:
        assert [one.category for one in told] == [ConvergenceWarning]
        assert "no finite optimum" in str(told[0].message)


def test_the_scale_of_weights_does_not_stop_a_fit(calibrator, make_problem):
    problem = make_problem(14, n=300, k=3)
    penalty = calibrator.get_params().get("penalty")
    if penalty == "odir":
        calibrator.set_params(lam=0.1, mu=0.1)  # the defaults depend on the sum of the weights
    plain = clone(calibrator).fit(problem.proba, problem.y).predict_proba(problem.proba)
    for total in (1e-6, 1.0, 1e6):
        weight = np.full(300, total / 300)
        scaled = clone(calibrator).fit(problem.proba, problem.y, sample_weight=weight)
        proba = scaled.predict_proba(problem.proba)
        assert_on_simplex(proba, plain.shape)
        if not counts_rows(calibrator):
            assert_allclose(proba, plain, atol=SAME)


def test_one_observed_class(calibrator, configure, make_problem, quietly):
    X = make_problem(14, n=50, k=3).proba
    fitted = quietly(configure(calibrator, classes=["a", "b", "c"]), X, np.full(50, "b"))
    assert_on_simplex(fitted.predict_proba(X), X.shape)


def test_uniform_rows(calibrator, quietly):
    X = np.full((30, 3), 1 / 3)
    fitted = quietly(calibrator, X, np.arange(30) % 3)
    assert_allclose(fitted.predict_proba(X), X, atol=1e-6)


@pytest.mark.parametrize(("scaled", "k"), [("probability", 3), ("logit", 10)], indirect=["scaled"])
def test_uniform_rows_teach_no_slope(scaled, k, quietly):
    calibrator, make = scaled
    level = 1.0 / k if calibrator.input_scale == "probability" else 5.0
    fitted = quietly(calibrator, np.full((30 * k, k), level), np.arange(30 * k) % k)
    new, _ = make(0, n=50, k=k)
    assert_on_simplex(fitted.predict_proba(new), new.shape)
    if hasattr(fitted, "coef_"):
        assert np.abs(fitted.coef_).max() < 10.0


def test_input_is_never_modified(either):
    calibrator, make = either
    X, y = make(15, n=200, k=3)
    weight = np.random.default_rng(0).random(200)
    copies = X.copy(), y.copy(), weight.copy()
    for array in (X, y, weight):
        array.setflags(write=False)
    calibrator.fit(X, y, sample_weight=weight).predict_proba(X)
    for array, copy in zip((X, y, weight), copies, strict=True):
        assert_array_equal(array, copy)


@pytest.mark.representatives
def test_memory_order_and_strides_are_irrelevant(either):
    calibrator, make = either
    X, y = make(15, n=200, k=3)
    plain = clone(calibrator).fit(X, y).predict_proba(X)
    wide = np.zeros((400, 6))
    wide[::2, ::2] = X
    for same in (np.asfortranarray(X), wide[::2, ::2], X.tolist()):
        assert_allclose(clone(calibrator).fit(same, y).predict_proba(same), plain, atol=SAME)


@pytest.mark.representatives
def test_memory_maps(either, tmp_path):
    calibrator, make = either
    X, y = make(15, n=300, k=3)
    np.save(tmp_path / "X.npy", X)
    mapped = np.load(tmp_path / "X.npy", mmap_mode="r")
    plain = clone(calibrator).fit(X, y).predict_proba(X)
    assert_allclose(clone(calibrator).fit(mapped, y).predict_proba(mapped), plain, rtol=1e-12)


@pytest.mark.representatives
def test_weights_as_series_and_lists(calibrator, make_problem):
    problem = make_problem(15, n=200, k=3)
    weight = np.random.default_rng(0).random(200)
    plain = clone(calibrator).fit(problem.proba, problem.y, weight).predict_proba(problem.proba)
    for same in (pd.Series(weight), weight.tolist(), weight.astype(object)):
        fitted = clone(calibrator).fit(problem.proba, problem.y, sample_weight=same)
        assert_array_equal(fitted.predict_proba(problem.proba), plain)


@pytest.mark.representatives
def test_scores_as_objects(calibrator, make_problem):
    problem = make_problem(15, n=200, k=3)
    plain = clone(calibrator).fit(problem.proba, problem.y).predict_proba(problem.proba)
    fitted = clone(calibrator).fit(problem.proba.astype(object), problem.y.astype(object))
    assert_array_equal(fitted.predict_proba(problem.proba.astype(object)), plain)


@pytest.mark.representatives
def test_pipeline_gives_the_same(calibrator, make_problem):
    problem = make_problem(15, n=200, k=3)
    plain = clone(calibrator).fit(problem.proba, problem.y).predict_proba(problem.proba)
    pipeline = make_pipeline(clone(calibrator)).fit(problem.proba, problem.y)
    assert_array_equal(pipeline.predict_proba(problem.proba), plain)


def test_iterations_are_counted(calibrator, configure, make_problem, quietly):
    problem = make_problem(15, n=200, k=3)

    def count(fitted):
        members = getattr(fitted, "calibrators_", [fitted])
        assert all(isinstance(one.n_iter_, int) for one in members)
        return [one.n_iter_ for one in members]

    needed = count(calibrator.fit(problem.proba, problem.y))
    assert min(needed) >= 1
    # The learned prior counts those of all priors it tries, so it may take more than `max_iter`.
    allowed = count(quietly(configure(calibrator, max_iter=1), problem.proba, problem.y))
    assert sum(allowed) < sum(needed)
    assert getattr(calibrator, "prior", None) == "learned" or max(allowed) == 1


def test_prediction_is_row_by_row(either):
    calibrator, make = either
    X, y = make(15, n=200, k=3)
    together = calibrator.fit(X, y).predict_proba(X)
    one_by_one = np.vstack([calibrator.predict_proba(row[None]) for row in X[:20]])
    assert_allclose(one_by_one, together[:20], rtol=1e-12)
    order = np.random.default_rng(0).permutation(200)
    assert_allclose(calibrator.predict_proba(X[order]), together[order], rtol=1e-12)


@pytest.mark.representatives
def test_prediction_leaves_the_calibrator_alone(calibrator, make_problem):
    problem = make_problem(15, n=200, k=3)
    calibrator.fit(problem.proba, problem.y)
    before = pickle.dumps(vars(calibrator))
    calibrator.predict_proba(problem.proba)
    assert pickle.dumps(vars(calibrator)) == before


def test_refitting_repeats_and_forgets(either):
    calibrator, make = either
    X, y = make(16, n=200, k=3)
    first = calibrator.fit(X, y).predict_proba(X)
    assert_array_equal(calibrator.fit(X, y).predict_proba(X), first)
    other, y_other = make(17, n=200, k=5)
    calibrator.fit(other, y_other)
    assert_array_equal(calibrator.fit(X, y).predict_proba(X), first)
    names = ["a", "b", "c"]
    calibrator.fit(pd.DataFrame(X, columns=names), y)
    calibrator.fit(X, y)
    assert not hasattr(calibrator, "feature_names_in_")


@pytest.mark.representatives
def test_a_fit_that_fails_loses_nothing(calibrator, make_problem):
    problem = make_problem(16, n=200, k=3)
    first = calibrator.fit(problem.proba, problem.y).predict_proba(problem.proba)
    with pytest.raises(ValueError, match="`X`"):
        calibrator.fit(np.full((5, 2), np.nan), [0, 1, 0, 1, 0])
    assert_array_equal(calibrator.predict_proba(problem.proba), first)


def test_clone_and_pickle(calibrator, make_problem):
    problem = make_problem(18, n=200, k=3)
    params = calibrator.get_params()
    fitted = calibrator.fit(problem.proba, problem.y)
    assert fitted.get_params() == params
    assert not hasattr(clone(fitted), "classes_")
    again = pickle.loads(pickle.dumps(fitted))
    assert_array_equal(again.predict_proba(problem.proba), fitted.predict_proba(problem.proba))
    with pytest.raises(NotFittedError):
        clone(fitted).predict_proba(problem.proba)


@pytest.mark.representatives
def test_grid_search_by_log_loss(calibrator, make_problem):
    problem = make_problem(19, n=300, k=3)
    grid = {"lam": [1e-4, 1.0]} if "lam" in calibrator.get_params() else {"classes": [None]}
    if isinstance(calibrator, OneVsRestCalibrator):
        grid = {"calibrator__classes": [None, [0, 1, 2]]}
    if isinstance(calibrator, AutoCalibrator):
        grid = {"cv": [2, 3]}
    if isinstance(calibrator, CalibratorCV):
        grid = {"combine": ["average", "refit"]}
    if calibrator.get_params().get("penalty") == "none":
        grid = {"clip": [1e-6, 1e-3]}
    search = GridSearchCV(calibrator, grid, scoring="neg_log_loss", error_score="raise", cv=2)
    search.fit(problem.proba, problem.y)
    assert np.isfinite(search.best_score_)
    assert np.isfinite(cross_val_score(calibrator, problem.proba, problem.y, cv=2)).all()


def test_calibration_helps_where_it_must(calibrator, make_problem):
    problem = make_problem(20, n=2000, k=4)
    fitted = calibrator.fit(problem.proba[:1000], problem.y[:1000])
    rows = np.arange(1000)
    # A log-loss with a floor of its own: isotonic maps say 0 and may be wrong about it.
    before = -np.log(problem.proba[1000:][rows, problem.y[1000:]].clip(1e-6)).mean()
    calibrated = fitted.predict_proba(problem.proba[1000:])[rows, problem.y[1000:]]
    after = -np.log(calibrated.clip(1e-6)).mean()
    assert after < before - 0.1 or type(calibrator).__name__ == "IdentityCalibrator"


@settings(max_examples=4, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    seed=st.integers(0, 2**32 - 1),
    k=st.integers(2, 12),
    n=st.integers(1, 60),
    zeros=st.floats(0.0, 0.9),
)
def test_any_valid_input_gives_valid_rows(calibrator, configure, quietly, seed, k, n, zeros):
    rng = np.random.default_rng(seed)
    X = softmax(rng.normal(scale=rng.choice([0.1, 3.0, 100.0]), size=(n, k)), axis=1)
    X[(rng.random(X.shape) < zeros) & (X.max(axis=1, keepdims=True) > X)] = 0.0
    X /= X.sum(axis=1, keepdims=True)
    y = rng.integers(0, k, n)
    fitted = quietly(configure(clone(calibrator), classes=range(k)), X, y)
    assert_on_simplex(fitted.predict_proba(X), X.shape)
