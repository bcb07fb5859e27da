"""How the time of a default fit grows with the number of rows and of classes."""

from dataclasses import asdict, dataclass

import numpy as np
from _many_classes import first_evaluation
from _problems import generate, usual_strengths
from _report import Series, show_amount, show_ratio
from _timing import race

from dircal import DirichletCalibrator
from dircal._core.model.structure import Full

__all__ = ["growth"]

_CLASSES = (3, 10, 30, 100)
_SAMPLES = (1_000, 3_000, 10_000, 30_000, 100_000)
_AT_SAMPLES = 5_000
_AT_CLASSES = 10


@dataclass(frozen=True)
class _Point:
    """Smallest seconds of a fit and of one loss and gradient with n rows of k classes."""

    n: int
    k: int
    fit: float
    evaluation: float

    @property
    def ratio(self) -> float:
        """The fit in units of the evaluation."""
        return self.fit / self.evaluation


def growth() -> Series:
    """Fits for several k at one n and several n at one k, with the exponents that fit best."""
    by_classes = [_measure(_AT_SAMPLES, k) for k in _CLASSES]
    by_samples = [_measure(n, _AT_CLASSES) for n in _SAMPLES]
    of_classes, of_samples = _exponents("k", by_classes), _exponents("n", by_samples)
    return Series(
        "Growth of the default ODIR fit on generated rows",
        ("n", "k", "fit", "one loss and gradient", "ratio"),
        [
            *(_cells(point) for point in by_classes),
            _exponent_cells("k", of_classes),
            *(_cells(point) for point in by_samples),
            _exponent_cells("n", of_samples),
        ],
        [asdict(point) for point in (*by_classes, *by_samples)]
        + [{"exponent_of": "k"} | of_classes, {"exponent_of": "n"} | of_samples],
    )


def _measure(n_samples: int, n_classes: int) -> _Point:
    problem = generate(n_samples, n_classes)
    strengths = usual_strengths(n_samples, n_classes)
    calibrator = DirichletCalibrator(**strengths, classes=np.arange(n_classes))
    times = race(
        lambda: calibrator.fit(problem.proba, problem.labels),
        first_evaluation(problem, Full(n_classes, n_classes)),
    )
    return _Point(n_samples, n_classes, times.ours, times.theirs)


def _exponents(grows: str, points: list[_Point]) -> dict[str, float]:
    """Slopes of the straight lines through the logarithms, by least squares."""
    sizes = np.log([getattr(point, grows) for point in points])
    times = np.log([(point.fit, point.evaluation) for point in points])
    fit, evaluation = np.polyfit(sizes, times, 1)[0].tolist()
    return {"fit": fit, "evaluation": evaluation}


def _cells(point: _Point) -> tuple[str, ...]:
    fit, evaluation = show_amount(point.fit, "s"), show_amount(point.evaluation, "s")
    return (
        f"{point.n:,}".replace(",", " "),
        str(point.k),
        fit,
        evaluation,
        show_ratio(point.ratio),
    )


def _exponent_cells(grows: str, exponents: dict[str, float]) -> tuple[str, ...]:
    fit, evaluation = exponents["fit"], exponents["evaluation"]
    powers = [f"{grows}^{value:.2f}" for value in (fit, evaluation, fit - evaluation)]
    return (f"exponents of {grows}", "", *powers)
