"""Choosing hyperparameters of a calibrator by cross-validated log-loss."""

import numbers
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
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
from dircal.calibrators import (
    AbstractCalibrator,
    AbstractMethod,
    Fit,
    FitColumns,
    Notice,
    fitted_copy,
)
from dircal.exceptions import GridEdgeWarning
from dircal.maps import mean_of_maps
from dircal.selection._base import (
    AbstractMetaCalibrator,
    AbstractMetaMethod,
    check_calibrator,
    check_members,
    check_same_columns,
    losses_of,
)
from dircal.selection._grids import GRIDS, default_grid, named_grid
from dircal.selection._one_map import OneMapMixin
from dircal.selection._splits import Split, check_cv, splits_to_choose_by
from dircal.selection._training import check_n_jobs
from dircal.tables import Arguments, ArrayRows, LabelledRows, check_option

__all__ = ["CalibratorCV"]


@dataclass(frozen=True, eq=False)
class SearchDetails:
    """Place of the best setting, and scores (folds, settings) and seconds of all of them.

    Scores are minus the log-loss of the held-out rows.
    """

    best_index: int
    settings: list[dict[str, Any]]
    scores: FloatArray
    mean_fit_time: FloatArray
    std_fit_time: FloatArray


@dataclass(frozen=True, eq=False, kw_only=True)
class SearchMethod(AbstractMetaMethod):
    """The choice of hyperparameters as a method."""

    param_grid: Any
    cv: Any
    combine: Literal["average", "refit"]
    n_jobs: int | None

    name: ClassVar[str] = "CalibratorCV"
    details: ClassVar[type] = SearchDetails
    # Fits of the search are counted instead.
    usual_steps: ClassVar[int] = 0

    @property
    def arguments(self) -> Arguments:
        """Rules for reading `X` and `y`, of the calibrator inside."""
        return self.inner.arguments

    def check(self) -> None:
        """Raise a ValueError about the first invalid parameter."""
        super().check()
        check_option("combine", self.combine, ("average", "refit"))
        check_cv(self.cv)
        check_n_jobs(self.n_jobs)
        if isinstance(self.param_grid, str):
            check_option("param_grid", self.param_grid, GRIDS)

    def learn(self, rows: LabelledRows) -> Fit:
        """Find the best setting, and fit it."""
        data = rows.in_memory
        settings = self.settings(len(data.classes))
        candidates = self._candidates(settings)
        splits = splits_to_choose_by(self.cv, data.labels, data.sample_weight)
        scores, seconds = self._search(data, splits, candidates)
        means = scores.mean(axis=0)
        best = int(np.argmax(means))
        # Fits of the search stop when they can be compared; those that are kept go to the end.
        parts = [data.take(rows) for rows, _ in splits] if self.combine == "average" else [data]
        chosen = self._candidate(settings[best])
        members = tuple(fitted_copy(chosen, part) for part in parts)
        # Folds with the same warning warn once.
        notices = dict.fromkeys(notice for one in members for notice in one.fit_.notices)
        return Fit(
            FitColumns.of(data),
            mean_of_maps([one.map_ for one in members]),
            SearchDetails(best, settings, scores, seconds.mean(axis=0), seconds.std(axis=0)),
            members,
            notices=(*notices, *_notice_about_edges(settings, settings[best])),
        )

    def check_fit(self, fit: Fit) -> None:
        """Raise a ValueError unless members and scores belong together."""
        check_members(self, fit)
        check_same_columns(fit.members, fit, "`calibrators_` have")
        found = fit.details
        if not found.best_index < len(found.settings) == found.scores.shape[1]:
            raise ValueError("`best_index_` is no row of `cv_results_`")

    def settings(self, n_classes: int) -> list[dict[str, Any]]:
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

    def _candidates(self, settings: list[dict[str, Any]]) -> list[AbstractMethod]:
        """Return a method for each setting, all valid before any is fitted."""
        given = self.calibrator.get_params()
        names = {name for setting in settings for name in setting}
        base = {name: given[name] for name in names}
        return [self._candidate(base | setting).method() for setting in settings]

    def _candidate(self, setting: dict[str, Any]) -> AbstractCalibrator:
        return check_calibrator(clone(self.calibrator).set_params(**setting))

    def _search(
        self, data: ArrayRows, splits: list[Split], candidates: list[AbstractMethod]
    ) -> tuple[FloatArray, FloatArray]:
        """Return minus the held-out log-loss, and seconds, of every setting in every fold."""
        with Progress("Choosing", len(splits) * len(candidates), "fits") as progress:
            if effective_n_jobs(self.n_jobs) == 1:
                found = [
                    _search_fold(candidates, data, split, progress.advance) for split in splits
                ]
            else:
                found = Parallel(n_jobs=self.n_jobs)(
                    delayed(_search_fold)(candidates, data, split) for split in splits
                )
        scores, seconds = (np.array(part) for part in zip(*found, strict=True))
        return scores, seconds


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

    best_index_: int

    method_class: ClassVar = SearchMethod

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
    def calibrators_(self) -> list[Any]:
        """The fitted members."""
        return list(self.fit_.members)

    @property
    def classes(self) -> Iterable[Any] | None:
        """Label of each column, as given to the calibrator inside."""
        labels: Iterable[Any] | None = check_calibrator(self.calibrator).method().labels_of_columns
        return labels

    @property
    def best_params_(self) -> dict[str, Any]:
        """The setting with the smallest mean log-loss."""
        settings: list[dict[str, Any]] = self.fit_.details.settings
        return settings[self.best_index_]

    @property
    def best_score_(self) -> float:
        """Minus the smallest mean log-loss."""
        return float(self.fit_.details.scores[:, self.best_index_].mean())

    @property
    def n_splits_(self) -> int:
        """Number of folds."""
        return len(self.fit_.details.scores)

    @property
    def cv_results_(self) -> dict[str, Any]:
        """Scores and times of all settings, as scikit-learn names them."""
        return _as_results(self.fit_.details)

    def __sklearn_tags__(self) -> Tags:
        if isinstance(self.calibrator, AbstractCalibrator):
            return get_tags(self.calibrator)
        return super().__sklearn_tags__()

    def _only_map(self) -> Any:
        check_is_fitted(self)
        if len(self.calibrators_) == 1:
            return self.calibrators_[0]
        return _refuse_average(len(self.calibrators_))


def _refuse_average(n_members: int) -> NoReturn:
    raise ValueError(
        f"This map is the average of {n_members} maps, which has no parameters of its own and "
        "nothing to explain. Ask one of them, `calibrators_[0]` and so on, or use "
        "combine='refit'."
    )


def _search_fold(
    candidates: list[AbstractMethod],
    data: ArrayRows,
    split: Split,
    advance: Callable[[int], None] = lambda done: None,
) -> tuple[FloatArray, FloatArray]:
    """Minus the held-out log-loss of every setting in one fold, and the seconds that each took."""
    fitting, scoring = split
    scores, seconds = np.empty((2, len(candidates)))
    held_out = data.take(scoring).copied()
    began = time.perf_counter()
    for i, fit in candidates[0].fit_each(data.take(fitting), candidates):
        seconds[i] = time.perf_counter() - began
        scores[i] = -float(np.average(losses_of(fit, held_out), weights=held_out.sample_weight))
        advance(1)
        began = time.perf_counter()
    return scores, seconds


def _notice_about_edges(
    settings: list[dict[str, Any]], best_params: dict[str, Any]
) -> tuple[Notice, ...]:
    """Return a warning if the best setting is at the edge of the grid."""
    edges = []
    for name, best in best_params.items():
        values = [setting.get(name) for setting in settings]
        if not all(isinstance(value, numbers.Real) for value in values):
            continue
        low, high = min(values), max(values)  # type: ignore[type-var]
        if low == high or low < best < high:
            continue
        which = "smallest" if best == low else "largest"
        edges.append(f"{name}={best:g}, the {which} of its values")
    if not edges:
        return ()
    message = (
        f"CalibratorCV chose {' and '.join(edges)} in `param_grid`: a better one may lie "
        "beyond. Extend the grid on that side, or accept it knowingly."
    )
    return ((message, GridEdgeWarning),)


def _as_results(found: SearchDetails) -> dict[str, Any]:
    settings, scores = found.settings, found.scores
    results: dict[str, Any] = {
        "mean_fit_time": found.mean_fit_time,
        "std_fit_time": found.std_fit_time,
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
