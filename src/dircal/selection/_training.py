"""Whether a classifier can be trained, and its folds can calibrate it."""

import numbers
from collections.abc import Sequence

from dircal.selection._splits import Split, check_cv

__all__ = ["check_folds", "check_n_jobs", "check_trainable", "check_training_cv"]


def check_trainable(classifier: object) -> None:
    """Refuse what has no `fit`, or is not made yet."""
    is_class = isinstance(classifier, type)
    if is_class or not hasattr(classifier, "fit"):
        what = f"the class {classifier.__name__}" if is_class else repr(classifier)  # type: ignore[attr-defined]
        raise ValueError(
            f"`estimator` must be a classifier that can be trained, with `fit`; got {what}. Pass "
            "for example LogisticRegression(), or scheme='prefit' with a model that is ready."
        )


def check_training_cv(cv: object) -> None:
    """Refuse what gives no folds, and the word that scikit-learn had for a classifier that is."""
    if cv == "prefit" and isinstance(cv, str):
        raise ValueError(
            "`cv` must say which rows train and which calibrate; got 'prefit'. A classifier that "
            "is ready needs no folds: CalibratedClassifier(estimator, scheme='prefit')."
        )
    check_cv(cv)


def check_n_jobs(n_jobs: object) -> None:
    """Refuse what is no number of jobs; joblib says so only when work has begun."""
    if n_jobs is None or (isinstance(n_jobs, numbers.Integral) and n_jobs != 0):
        return
    raise ValueError(
        f"`n_jobs` must be None or a whole number other than 0; got {n_jobs!r}. Pass for example "
        "2, or -1 for as many as there are processors."
    )


def check_folds(splits: Sequence[Split]) -> None:
    """Refuse folds of one row, of which nothing can be learned that holds for another."""
    single = sum(len(kept_back) == 1 for _, kept_back in splits)
    if single:
        raise ValueError(
            f"`cv` must keep back at least two rows in every fold, since scheme='ensemble' fits a "
            f"calibrator on each; {single} of {len(splits)} folds keep back one row. Pass "
            "scheme='out_of_fold', which fits one calibrator on all of them, or fewer folds."
        )
