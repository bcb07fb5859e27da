"""Choosing hyperparameters of a calibrator by cross-validated log-loss."""

import numbers
import time
from collections.abc import Callable, Iterable
from typing import Any, ClassVar, Literal, NoReturn

import numpy as np
from joblib import effective_n_jobs
from scipy.stats import rankdata
from sklearn.base import clone
from sklearn.model_selection import ParameterGrid
from sklearn.utils import Tags, get_tags
from sklearn.utils.parallel import Parallel, delayed
from sklearn.utils.validation import check_is_fitted

from dircal._progress import Progress
from dircal._typing import FloatArray
from dircal.calibrators import AbstractCalibrator, Fitted, FitWarning
from dircal.exceptions import GridEdgeWarning
from dircal.maps import CalibrationMap, mean_of_maps
from dircal.selection._base import (
    AbstractMetaCalibrator,
    check_calibrator,
    check_members,
    losses_of,
)
from dircal.selection._grids import GRIDS, default_grid, named_grid
from dircal.selection._one_map import OneMapMixin
from dircal.selection._splits import Split, check_cv, splits_to_choose_by
from dircal.selection._training import check_n_jobs
from dircal.tables import Arguments, ArrayRows, LabelledRows, check_option

__all__ = ["CalibratorCV"]


class CalibratorCV(OneMapMixin, AbstractMetaCalibrator):
    r"""A calibrator whose hyperparameters are chosen by cross-validation.

    Every setting of the grid is fitted on some rows and judged by its log-loss on others. The maps
    of the best setting are averaged, as the paper does, or one map is fitted on all rows.

    Parameters
    ----------
    calibrator : calibrator
        Its parameters outside the grid stay as they are.
    param_grid : dict, list of dicts, "paper_uci" or "paper_neural", optional
        Values to try for each parameter, as in scikit-learn's `GridSearchCV`; or the values of the
        paper's experiments, which depend on the calibrator and on the number of classes. None
        tries strengths of the penalty by decades, numbers of bins, or kinds of slopes.
    cv : int, splitter or iterable of pairs, default=5
        Number of folds, dealt at random with a fixed seed; or a splitter of scikit-learn; or pairs
        of indices (rows to fit, rows to score), one pair for each fold.
    combine : {"average", "refit"}, default="average"
        Average the probabilities of the maps that the folds of the best setting gave, or fit it
        once more on all rows.
    n_jobs : int, optional
        Folds that are searched at the same time, each in a process of its own; -1 for as many as
        there are processors, None for one, or what `joblib.parallel_config` says.

    Attributes
    ----------
    best_params_ : dict
        The setting with the smallest mean log-loss; of equal ones the first in the grid.
    best_score_ : float
        Minus that log-loss.
    best_index_ : int
        Its position in ``cv_results_``.
    cv_results_ : dict of arrays
        As in scikit-learn: ``params``, ``param_<name>``, ``split<i>_test_score``,
        ``mean_test_score``, ``std_test_score``, ``rank_test_score``, ``mean_fit_time``. Scores are
        minus the log-loss of the rows that were kept back.
    calibrators_ : list of calibrators
        The fitted maps: one for each fold, or the one of all rows.
    n_splits_ : int
        Number of folds.
    classes_ : array of shape (n_classes,)
        Labels, sorted.
    column_classes_ : array of shape (n_classes,)
        Label of each column of `X`.
    map_ : CalibrationMap
        The fitted map as a value: steps from columns to probabilities. It can be called, compared,
        pickled and printed.
    n_features_in_ : int
        Number of columns of `X`.

    See Also
    --------
    CalibratedClassifier : Fits the classifier as well.

    Notes
    -----
    With folds :math:`(F_f, S_f)`, f = 1, ..., m, the setting :math:`\theta` minimises

    .. math:: \frac1m \sum_f \frac{1}{n_f} \sum_{i \in S_f} -w_i \ln \mu^{(f, \theta)}_{y_i}(q_i),

    where :math:`\mu^{(f, \theta)}` is fitted on the rows :math:`F_f` and :math:`n_f` is the weight
    of the rows :math:`S_f`. The averaged map is :math:`\frac1m \sum_f \mu^{(f, \theta)}(q)`.

    Rows of weight zero are dropped before the folds are dealt; splitters and pairs count them, and
    they are dropped afterwards. Folds are dealt by row number: a row of weight two is not the same
    as two rows, which may fall into different folds, and rows in another order make other folds.
    Both move scores, with "average" also the map, and may change the best setting. Linear
    calibrators walk their strengths from strong to weak, each fit starting from its neighbour.

    The average of maps is in general no map of the family: it has no matrix, and `explain` and the
    parametrisations raise. Ask one of ``calibrators_``.

    When not to use it: with few rows the folds judge badly and the best setting is chance. Do not
    read ``best_score_`` as the loss on new rows: it is the best of many.

    Examples
    --------
    >>> from dircal import CalibratorCV, DirichletCalibrator, GenerativeParameters
    >>> alpha = [[2.0, 1.0, 0.8], [0.9, 2.5, 1.0], [1.0, 0.7, 1.6]]
    >>> world = GenerativeParameters(alpha, [0.3, 0.4, 0.3])
    >>> q, y = world.sample(500, random_state=0)
    >>> grid = {"lam": [1.0, 0.1, 0.01, 1e-3, 1e-4]}
    >>> search = CalibratorCV(DirichletCalibrator(penalty="l2"), grid)
    >>> search.fit(q, y).best_params_
    {'lam': 0.001}
    >>> search.predict_proba(q).shape
    (500, 3)
    """

    calibrators_: list[Any]
    best_index_: int
    best_params_: dict[str, Any]
    best_score_: float
    cv_results_: dict[str, Any]
    n_splits_: int

    # Fits of the search are counted instead.
    _usual_steps: ClassVar[int] = 0

    def __init__(
        self,
        calibrator: Any,
        param_grid: Any = None,
        *,
        cv: Any = 5,
        combine: Literal["average", "refit"] = "average",
        n_jobs: int | None = None,
    ) -> None:
        self.calibrator = calibrator
        self.param_grid = param_grid
        self.cv = cv
        self.combine = combine
        self.n_jobs = n_jobs

    @property
    def classes(self) -> Iterable[Any] | None:  # type: ignore[override]
        """Label of each column, as the calibrator inside was told."""
        return check_calibrator(self.calibrator)._labels_of_columns

    @property
    def _arguments(self) -> Arguments:  # type: ignore[override]
        return check_calibrator(self.calibrator)._arguments

    def __sklearn_tags__(self) -> Tags:
        if isinstance(self.calibrator, AbstractCalibrator):
            return get_tags(self.calibrator)
        return super().__sklearn_tags__()

    def _only_map(self) -> Any:
        check_is_fitted(self)
        if len(self.calibrators_) == 1:
            return self.calibrators_[0]
        return _refuse_average(len(self.calibrators_))

    def _check_options(self) -> None:
        check_calibrator(self.calibrator)._check_parameters()
        check_option("combine", self.combine, ("average", "refit"))
        check_cv(self.cv)
        check_n_jobs(self.n_jobs)
        if isinstance(self.param_grid, str):
            check_option("param_grid", self.param_grid, GRIDS)

    @property
    def map_(self) -> CalibrationMap:  # type: ignore[override]
        """The mean of the maps of the folds, or the one map of all rows."""
        return mean_of_maps([member.map_ for member in self.calibrators_])

    def _fit(self, data: LabelledRows) -> Fitted:
        data = data.in_memory
        settings = self._settings(len(data.classes))
        self._check_settings(settings)
        splits = splits_to_choose_by(self.cv, data.labels, data.sample_weight)
        results = self._search(data, splits, settings)
        best = int(np.argmax(results["mean_test_score"]))
        # Fits of the search stop where they can be compared; those that are kept go to the end.
        parts = [data.take(rows) for rows, _ in splits] if self.combine == "average" else [data]
        return Fitted(
            None,
            {
                "calibrators_": [
                    clone(self.calibrator).set_params(**settings[best])._fit_checked(part)
                    for part in parts
                ],
                "best_index_": best,
                "best_params_": settings[best],
                "best_score_": float(results["mean_test_score"][best]),
                "cv_results_": results,
                "n_splits_": len(splits),
            },
        )

    def _settings(self, n_classes: int) -> list[dict[str, Any]]:
        """Every combination of the grid, in its order."""
        if self.param_grid is None:
            return default_grid(self.calibrator, n_classes)
        if isinstance(self.param_grid, str):
            return named_grid(self.param_grid, self.calibrator, n_classes)
        try:
            settings = list(ParameterGrid(self.param_grid))
        except (TypeError, ValueError) as error:
            raise ValueError(
                f"`param_grid` must be a dict of lists, or a list of such; got "
                f"{self.param_grid!r} ({error}). Pass for example {{'lam': [0.1, 0.01, 0.001]}}."
            ) from error
        known = self.calibrator.get_params()
        strangers = sorted({name for setting in settings for name in setting} - set(known))
        if strangers or not settings:
            what = f"has {strangers[0]!r}" if strangers else "has no values"
            raise ValueError(
                f"`param_grid` {what}, but {type(self.calibrator).__name__} has the parameters "
                f"{', '.join(sorted(known))}. Name one of these and the values to try."
            )
        for name in sorted({name for setting in settings for name in setting}):
            if name.rpartition("__")[2] in ("input_scale", "classes"):
                raise ValueError(
                    f"`param_grid` has {name!r}, which says what `X` holds and cannot be chosen. "
                    "Set it on the calibrator."
                )
        return settings

    def _check_settings(self, settings: list[dict[str, Any]]) -> None:
        """Refuse a setting that the calibrator would, before any is fitted."""
        given = self.calibrator.get_params()
        names = {name for setting in settings for name in setting}
        trial = clone(self.calibrator)
        for setting in settings:
            trial.set_params(**({name: given[name] for name in names} | setting))
            trial._check_parameters()

    def _search(
        self, data: ArrayRows, splits: list[Split], settings: list[dict[str, Any]]
    ) -> dict[str, Any]:
        """The table of results: minus the held-out log-loss of every setting in every fold."""
        with Progress("Choosing", len(splits) * len(settings), "fits") as progress:
            if effective_n_jobs(self.n_jobs) == 1:
                found = [
                    _search_fold(self.calibrator, data, split, settings, progress.advance)
                    for split in splits
                ]
            else:
                found = Parallel(n_jobs=self.n_jobs)(
                    delayed(_search_fold)(self.calibrator, data, split, settings)
                    for split in splits
                )
        scores, seconds = (np.array(part) for part in zip(*found, strict=True))
        return _as_results(settings, scores, seconds)

    def _fit_warnings(self) -> list[FitWarning]:
        # Folds that say the same say it once.
        told = [warning for one in self.calibrators_ for warning in one._fit_warnings()]
        found = list(dict.fromkeys(told))
        edges = []
        for name, best in self.best_params_.items():
            values = [setting.get(name) for setting in self.cv_results_["params"]]
            if not all(isinstance(value, numbers.Real) for value in values):
                continue
            low, high = min(values), max(values)
            if low == high or low < best < high:
                continue
            which = "smallest" if best == low else "largest"
            edges.append(f"{name}={best:g}, the {which} of its values")
        if edges:
            message = (
                f"CalibratorCV chose {' and '.join(edges)} in `param_grid`: a better one may lie "
                "beyond. Extend the grid on that side, or accept it knowingly."
            )
            found.append((message, GridEdgeWarning))
        return found

    def _check_fitted(self) -> None:
        check_members(self)
        if not self.best_index_ < len(self.cv_results_["params"]):
            raise ValueError("`best_index_` is no row of `cv_results_`")
        for member in self.calibrators_:
            for name in ("classes_", "column_classes_", "n_features_in_"):
                if not np.array_equal(getattr(member, name), getattr(self, name)):
                    raise ValueError(f"`calibrators_` have another `{name}`")


def _refuse_average(n_members: int) -> NoReturn:
    raise ValueError(
        f"This map is the average of {n_members} maps, which has no parameters of its own and "
        "nothing to explain. Ask one of them, `calibrators_[0]` and so on, or use "
        "combine='refit'."
    )


def _search_fold(
    calibrator: AbstractCalibrator,
    data: ArrayRows,
    split: Split,
    settings: list[dict[str, Any]],
    advance: Callable[[int], None] = lambda done: None,
) -> tuple[FloatArray, FloatArray]:
    """Minus the held-out log-loss of every setting in one fold, and the seconds that each took."""
    fitting, scoring = split
    scores, seconds = np.empty((2, len(settings)))
    held_out = data.take(scoring).copied()
    began = time.perf_counter()
    for i, candidate in calibrator._fit_settings(data.take(fitting), settings):
        seconds[i] = time.perf_counter() - began
        scores[i] = -_log_loss(candidate, held_out)
        advance(1)
        began = time.perf_counter()
    return scores, seconds


def _log_loss(candidate: AbstractCalibrator, data: ArrayRows) -> float:
    return float(np.average(losses_of(candidate, data), weights=data.sample_weight))


def _as_results(
    settings: list[dict[str, Any]], scores: FloatArray, seconds: FloatArray
) -> dict[str, Any]:
    results: dict[str, Any] = {
        "mean_fit_time": seconds.mean(axis=0),
        "std_fit_time": seconds.std(axis=0),
        "params": settings,
    }
    for name in sorted({name for setting in settings for name in setting}):
        # One by one: NumPy would make a matrix of values that are lists.
        values = np.empty(len(settings), dtype=object)
        for i, setting in enumerate(settings):
            values[i] = setting.get(name)
        lacking = [name not in setting for setting in settings]
        results[f"param_{name}"] = np.ma.MaskedArray(values, mask=lacking)
    results |= {f"split{fold}_test_score": row for fold, row in enumerate(scores)}
    results["mean_test_score"] = scores.mean(axis=0)
    results["std_test_score"] = scores.std(axis=0)
    results["rank_test_score"] = rankdata(-results["mean_test_score"], method="min").astype(int)
    return results
