"""The contracts of the scoreboard, each written once and run against every calibrator.

A contract is a function of ``new(classes)``, which makes a calibrator for columns of these classes,
``fit(model, P, y)``, which returns what was fitted, ``predict(model, P)`` and the number of
classes. It returns nothing where it holds, and raises ``Broken`` with what came out where it does
not. Any other exception is one of the library.

Contracts run in environments that have the library, NumPy, pandas and scikit-learn only, and their
source is copied into the reproductions: they import nothing of ours.
"""

import pickle
import re
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
from sklearn.base import clone
from sklearn.utils.estimator_checks import check_estimator

__all__ = ["CONTRACTS", "FED_WITH_OTHER_COLUMNS", "Broken"]

# Probabilities may move by so much: optimisers in single precision stop within it.
SAME = 1e-3
# So far may the sum of a row be from one: single precision is well within it.
SUM = 1e-4
# Words of an error that tells what is wrong with a NaN, or with a probability that is none.
SAYS_WHY = r"(?i)\bnan|finite|missing|\binf|range|probabilit"
# Checks of scikit-learn that feed columns which are no probabilities, or not one for each class.
FED_WITH_OTHER_COLUMNS = """
check_classifier_data_not_an_array check_classifiers_classes check_classifiers_train
check_dict_unchanged check_dont_overwrite_parameters check_dtype_object check_estimators_dtypes
check_estimators_fit_returns_self check_estimators_nan_inf check_estimators_overwrite_params
check_estimators_pickle check_f_contiguous_array_estimator check_fit2d_predict1d
check_fit_check_is_fitted check_fit_idempotent check_fit_score_takes_y
check_methods_sample_order_invariance check_methods_subset_invariance check_n_features_in
check_n_features_in_after_fitting check_non_transformer_estimators_n_iter
check_pipeline_consistency check_positive_only_tag_during_fit check_readonly_memmap_input
check_sample_weight_equivalence_on_dense_data check_sample_weight_equivalence_on_sparse_data
check_sample_weights_list check_sample_weights_not_an_array check_sample_weights_not_overwritten
check_sample_weights_pandas_series check_sample_weights_shape check_supervised_y_2d
""".split()  # noqa: SIM905 - it is copied into programs, where it is to be short


class Broken(Exception):  # noqa: N818 - as it reads in the programs
    """What came out is not what the contract says."""


def problem(n: int, k: int) -> Any:
    """Labels, and probabilities that are too sure of them."""
    rng = np.random.default_rng(0)
    y = np.concatenate([np.arange(k), rng.integers(0, k, n)])[:n]
    odds = np.exp(2 * rng.normal(size=(n, k)) + 3 * np.eye(k)[y])
    return odds / odds.sum(axis=1, keepdims=True), y


def finite(Q: Any, P: Any) -> Any:
    """One row for each row and one column for each class, of numbers, not negative or all zero."""
    Q = np.asarray(Q, dtype=float)
    if Q.shape != P.shape:
        raise Broken(f"an array of shape {P.shape} went in, one of shape {Q.shape} came out")
    rows = ~np.isfinite(Q).all(axis=1)
    if rows.any():
        raise Broken(f"{rows.sum()} of {len(Q)} rows are not finite, the first is {Q[rows][0]}")
    if Q.min() < 0 or Q.max(axis=1).min() == 0:
        raise Broken("there is a negative probability, or a row of zeros")
    return Q


def same(Q: Any, expected: Any, when: str) -> None:
    """The probabilities are equal, up to what an optimiser leaves open."""
    moved = abs(finite(Q, expected) - expected).max()
    if moved > SAME:
        raise Broken(f"a probability moves by {moved:.2g} {when}")


def rows_sum_to_one(new: Any, fit: Any, predict: Any, k: int) -> None:
    """Rows that come out sum to one."""
    P, y = problem(400, k)
    sums = finite(predict(fit(new(range(k)), P, y), P), P).sum(axis=1)
    worst = abs(sums - 1).argmax()
    if abs(sums[worst] - 1) > SUM:
        raise Broken(f"row {worst} sums to {sums[worst]:.6f}")


def relabelling(new: Any, fit: Any, predict: Any, k: int) -> None:
    """Numbering the classes in another order permutes the columns that come out."""
    P, y = problem(400, k)
    order = np.roll(np.arange(k), 1)
    plain = finite(predict(fit(new(range(k)), P, y), P), P)
    turned = fit(new(range(k)), P[:, order], np.argsort(order)[y])
    same(predict(turned, P[:, order]), plain[:, order], "when classes are numbered otherwise")


def integer_weights(new: Any, fit: Any, predict: Any, k: int) -> None:
    """A row of weight three counts as three such rows, a row of weight zero as none."""
    P, y = problem(400, k)
    weight = np.random.default_rng(1).integers(0, 4, len(y))
    repeated = fit(new(range(k)), P.repeat(weight, axis=0), y.repeat(weight))
    weighted = fit(new(range(k)), P, y, weight)
    expected = finite(predict(repeated, P), P)
    same(predict(weighted, P), expected, "when rows are weighted and not repeated")


def absent_class(new: Any, fit: Any, predict: Any, k: int) -> None:
    """A class without rows in the calibration set keeps its column."""
    P, y = problem(400, k)
    seen = y < k - 1
    finite(predict(fit(new(range(k)), P[seen], y[seen]), P), P)


def zeros_and_ones(new: Any, fit: Any, predict: Any, k: int) -> None:
    """Rows that are zero in all classes but one are mapped to probabilities, right or wrong."""
    P, y = problem(400, k)
    P[::2] = P[::2] == P[::2].max(axis=1, keepdims=True)
    P[:2] = np.eye(k)[[1, 0]]
    finite(predict(fit(new(range(k)), P, y), P), P)


def text_labels(new: Any, fit: Any, predict: Any, k: int) -> None:
    """Labels that are text give the probabilities of labels that are numbers."""
    P, y = problem(400, k)
    names = np.array([f"class {j}" for j in range(k)])
    expected = finite(predict(fit(new(range(k)), P, y), P), P)
    same(predict(fit(new(names), P, names[y]), P), expected, "when labels are text")


def other_numbers(new: Any, fit: Any, predict: Any, k: int) -> None:
    """Labels 10, 20, 30 and so on give the probabilities of labels 0, 1, 2 and so on."""
    P, y = problem(400, k)
    numbers = 10 * np.arange(1, k + 1)
    expected = finite(predict(fit(new(range(k)), P, y), P), P)
    same(predict(fit(new(numbers), P, numbers[y]), P), expected, "when labels are 10, 20, ...")


def nan_is_refused(new: Any, fit: Any, predict: Any, k: int) -> None:
    """A NaN is refused by an error that says why; one to predict from may also come out as NaN."""
    P, y = problem(400, k)
    spoilt = P.copy()
    spoilt[7] = np.nan
    for what in ("fit", "predict"):
        try:
            rows = (spoilt, P) if what == "fit" else (P, spoilt)
            Q = np.asarray(predict(fit(new(range(k)), rows[0], y), rows[1]), dtype=float)
        except Exception as error:
            if re.search(SAYS_WHY, str(error)) is None:
                told = f"{type(error).__name__}: {error}"
                raise Broken(f"a NaN to {what} is refused without a reason: {told}") from error
        else:
            if what == "fit":
                lost = np.isnan(Q).any(axis=1).sum()
                raise Broken(f"a NaN to fit is taken; {lost} of {len(Q)} predictions are NaN")
            if not np.isnan(Q[7]).any():
                raise Broken(f"a row of NaN to predict comes out as {Q[7]}")


def huge_logits(new: Any, fit: Any, predict: Any, k: int) -> None:
    """Logits of some 100 000 are mapped to probabilities."""
    P, y = problem(400, k)
    logits = 1e4 * np.log(P)
    finite(predict(fit(new(range(k)), logits, y), logits), P)


def fewer_rows_than_classes(new: Any, fit: Any, predict: Any, k: int) -> None:
    """Five rows of ten classes are enough for a map, however poor."""
    k = 10
    P, y = problem(50, k)
    finite(predict(fit(new(range(k)), P[:5], y[:5]), P), P)


def single_precision(new: Any, fit: Any, predict: Any, k: int) -> None:
    """Probabilities in single precision give the answer of those in double precision."""
    P, y = problem(400, k)
    expected = finite(predict(fit(new(range(k)), P, y), P), P)
    P = P.astype(np.float32)
    same(predict(fit(new(range(k)), P, y), P), expected, "when the input is float32")


def data_frames(new: Any, fit: Any, predict: Any, k: int) -> None:
    """A pandas DataFrame and a Series give the answer of arrays."""
    P, y = problem(400, k)
    expected = finite(predict(fit(new(range(k)), P, y), P), P)
    index = np.arange(400)[::-1]
    frame = pd.DataFrame(P, columns=range(k), index=index)
    fitted = fit(new(range(k)), frame, pd.Series(y, index=index))
    same(predict(fitted, frame), expected, "when the input is a DataFrame")


def pickling(new: Any, fit: Any, predict: Any, k: int) -> None:
    """What was fitted predicts the same after pickling."""
    P, y = problem(400, k)
    fitted = fit(new(range(k)), P, y)
    expected = finite(predict(fitted, P), P)
    same(predict(pickle.loads(pickle.dumps(fitted)), P), expected, "after pickling")


def cloning(new: Any, fit: Any, predict: Any, k: int) -> None:
    """scikit-learn's clone of a fitted calibrator learns the same from the same rows."""
    P, y = problem(400, k)
    fitted = fit(new(range(k)), P, y)
    expected = finite(predict(fitted, P), P)
    same(predict(fit(clone(fitted), P, y), P), expected, "after clone and another fit")


def checks_of_scikit_learn(new: Any, fit: Any, predict: Any, k: int) -> None:
    """check_estimator passes, without the checks that feed columns other than probabilities."""
    left_out = dict.fromkeys(FED_WITH_OTHER_COLUMNS, "columns are no probabilities")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        results = check_estimator(
            new(None), expected_failed_checks=left_out, on_skip=None, on_fail=None
        )
    failed = [one["check_name"] for one in results if one["status"] == "failed"]
    ran = [one for one in results if one["status"] in ("passed", "failed")]
    if failed:
        raise Broken(f"{len(failed)} of {len(ran)} checks fail: {', '.join(sorted(set(failed)))}")


CONTRACTS: dict[str, Callable[..., None]] = {
    "sum": rows_sum_to_one,
    "relabel": relabelling,
    "weights": integer_weights,
    "absent": absent_class,
    "zeros": zeros_and_ones,
    "text": text_labels,
    "numbers": other_numbers,
    "NaN": nan_is_refused,
    "logits": huge_logits,
    "n < k": fewer_rows_than_classes,
    "float32": single_precision,
    "pandas": data_frames,
    "pickle": pickling,
    "clone": cloning,
    "checks": checks_of_scikit_learn,
}
"""By the heading of their column."""
