"""Where a Bayesian map begins: the temperature map, and rows that are mixed for it."""

from dataclasses import dataclass

from dircal._core.bayes.features import MixedRows, MixturePrior
from dircal._core.bayes.slope import ProbableSlope, most_probable_slope
from dircal._core.clip.by_evidence import clip_by_evidence
from dircal._core.data.rows import Rows
from dircal._core.optim.newton import Solution
from dircal._core.optim.temperature import definite_temperature
from dircal._typing import InputScale
from dircal.calibrators._solver_options import Clip, choose_clip

__all__ = ["TemperedRows"]


@dataclass(frozen=True)
class TemperedRows:
    """Rows that a Bayesian map is fitted to.

    Parameters
    ----------
    rows : Rows
        As they are.
    clip : float
        The floor of their probabilities.
    temperature : Solution
        The temperature map of largest likelihood, which others are compared with.
    slope : ProbableSlope
        That of the temperature map in the centre of the prior: the most probable one, or that of
        largest likelihood where the prior is fixed.
    mixed : MixedRows
        The rows mixed for it, and the prior around it.
    """

    rows: Rows
    clip: float
    temperature: Solution
    slope: ProbableSlope
    mixed: MixedRows

    @classmethod
    def of(
        cls,
        rows: Rows,
        prior: MixturePrior,
        clip: Clip,
        input_scale: InputScale,
        tol: float,
        max_iter: int,
    ) -> "TemperedRows":
        """Rows with a clip that is given or learned, around their temperature map."""
        if clip == "learned" and input_scale == "probability":
            chosen = clip_by_evidence(rows, prior, max_iter=max_iter)
        else:
            chosen = choose_clip(rows, clip, input_scale, max_iter)
        clipped = rows.with_clip(chosen.clip)
        temperature = definite_temperature(clipped, tol=tol, max_iter=max_iter, start=chosen.slope)
        slope = ProbableSlope(float(temperature.params[0]), 0.0)
        # SMS, the fixed prior, centres on the map of largest likelihood.
        if not prior.normalised:
            slope = most_probable_slope(clipped, start=slope.slope, tol=tol, max_iter=max_iter)
        mixed = prior.around(rows, chosen.clip, slope.slope)
        return cls(rows, chosen.clip, temperature, slope, mixed)
