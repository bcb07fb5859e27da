"""Numbers that steer `dircal.shift`, with their sources and sensitivities."""

from dataclasses import dataclass

from dircal._limits import in_context

__all__ = ["MONITOR_LIMITS", "MonitorLimits"]


@dataclass(frozen=True)
class MonitorLimits:
    """Limits of monitors, shift reports and recalibration.

    They decide what is printed and when a group gets its own map; e-values and p-values do not
    depend on them.
    """

    # Differences of fewer standard errors are not reported: with some classes two happen by chance.
    min_standard_errors: float = 3.0
    # Classes in an alarm, at most.
    max_classes: int = 3
    # Larger exponents leave the range of floats.
    max_exponent: float = 700.0
    # Rows of a pair, at least: fewer are an anecdote.
    min_pair_rows: float = 5.0
    # Smaller p-values than one in a million show nothing more: normal tails are not those of the
    # data.
    min_p_value_inverse: int = 1_000_000
    # Groups with fewer rows have no separate map: it would be a guess.
    min_group_rows: int = 30
    # A smaller p-value of an assumption of label shift causes a warning.
    assumption_alpha: float = 0.01
    # Old rows of the rarest class below which `adapt` warns: a cautious choice, not measured.
    min_class_rows: float = 20.0
    # A smaller p-value is reported as a finding.
    alpha: float = 0.05
    # Classes in sentences, at most.
    max_label_sentences: int = 3
    # Findings in sentences, at most.
    max_findings: int = 8
    # Points of a curve in a line of text.
    n_points: int = 60
    # With more classes the full map is one with a slope and an intercept for each: its state would
    # grow with the fourth power of their number.
    max_matrix_classes: int = 12
    # Points of the curve that are kept; beyond this, every second one is dropped.
    max_trace_points: int = 512


MONITOR_LIMITS = in_context(MonitorLimits())
