"""Numbers that steer `dircal.explain`, with their sources and sensitivities."""

from dataclasses import dataclass

from dircal._limits import in_context

__all__ = ["EXPLAIN_LIMITS", "ExplainLimits"]


@dataclass(frozen=True)
class ExplainLimits:
    """Limits of effects and sentences.

    They decide which effects get a sentence, and no number of a map.
    """

    # One class stands alone if its probability is at least this, and two compete if theirs sum to
    # it.
    contested_mass: float = 0.9
    # Rows of a contest, at least: fewer are an anecdote.
    min_contest_rows: float = 5.0
    # A smaller change of the confidence, in log-odds ...
    min_log_odds_change: float = 0.1
    # ... or of the confidence itself, means that one temperature would do.
    min_confidence_change: float = 0.005
    # Iterations of reweighted least squares: a few outlying pairs do not move the gains of the
    # classes.
    n_reweightings: int = 8
    # The shift in log-odds below which a pair is not an outlier.
    max_regular_shift: float = 0.05
    # Log-odds that change by more count as this much: there is no difference between 1e-9 and
    # 1e-15.
    max_shift: float = 4.0
    # Rows of the table, whatever the number of classes.
    max_rows: int = 5
    # Letters of a name in the tables of a notebook.
    max_name_length: int = 24
    # Sentences about pairs or classes, whatever the number of classes.
    max_sentences: int = 3
    # Contested rows of a pair, at least: fewer are an anecdote.
    min_pair_rows: float = 5.0
    # Larger factors carry no more information.
    max_factor: float = 20.0
    # A change of the odds by a tenth is worth a sentence ...
    min_odds_change: float = 0.1
    # ... unless another effect is larger by the inverse of this.
    min_relative_effect: float = 0.6
    # A mean probability that moves by less does not change its printed digits.
    min_visible_change: float = 1e-3
    # Temperatures this close to one are called right.
    max_right_log_temperature: float = 0.05
    # Level of the likelihood-ratio test against a single temperature.
    significance: float = 0.01


EXPLAIN_LIMITS = in_context(ExplainLimits())
