"""Numbers that steer `dircal.report`, with their sources and sensitivities."""

from dataclasses import dataclass

from dircal._limits import in_context

__all__ = ["REPORT_LIMITS", "ReportLimits"]


@dataclass(frozen=True)
class ReportLimits:
    """Limits of the report.

    They decide the advice and the length of the page; measures, intervals and p-values do not
    depend on them.
    """

    # With fewer rows, intervals and tests are rough.
    min_precise_rows: int = 300
    # With fewer still there is no advice: 5 % tests of 50 rows found changes that were none 16
    # times of 100, those of 200 rows 9 times (`tests/long/table.md`).
    min_advice_rows: int = 100
    # The same for each class: a class that is seen less often cannot be judged.
    min_class_rows: int = 5
    # Rows of other classes than the most common one: ten events for each learned number is the rule
    # of thumb for logistic models (Peduzzi et al., 1996), and a map learns at least one.
    min_other_rows: int = 10
    # Fraction of rows that are copies of others, above which tests and intervals mean nothing.
    max_copies: float = 0.1
    # Examples of changed rows, at most.
    max_examples: int = 8
    # Classes of an example, besides the true one.
    max_example_classes: int = 4
    # Rows that are enough to estimate the median change; of more, an evenly spaced sample is used.
    max_change_rows: int = 2**20
    # A smaller p-value counts as evidence: five of a hundred, shared by three tests.
    alarm_level: float = 0.05 / 3
    # A class is worse off if its recall falls by this much ...
    max_recall_fall: float = 0.05
    # ... and by this many rows ...
    min_lost_rows: float = 3.0
    # ... or by less ...
    max_small_recall_fall: float = 0.02
    # ... if that is this many standard deviations of an exchange by chance.
    min_deviations: float = 3.0
    # Classes that are named; the others are counted.
    max_named_classes: int = 3
    # Rows nearer to certainty are left out: saturated scores are equal without being copies.
    max_copied_probability: float = 1.0 - 1e-6
    # Models with few different outputs, such as trees, give the same scores to many rows, but the
    # labels of these differ, and those of copies agree. Copies may meet by accident in this
    # fraction of groups.
    max_accidents: float = 0.05
    # Rows that are remembered: 20 MB. Of more, those are whose scores have a certain number, so
    # that a row and its copies are kept or left out together.
    max_copy_rows: int = 2**21
    # Classes up to which a matrix is shown whole, as in the plots.
    max_legible_classes: int = 16
    # A page takes a few seconds; a busy machine may need far longer.
    max_pdf_seconds: float = 180.0
    # Classes with a row and diagrams; a plain table lists the others.
    max_detailed_classes: int = 20
    # Points of a curve on the page: more cannot be distinguished.
    n_saving_points: int = 80
    # Smaller adjusted p-values are called changes.
    shift_level: float = 0.05
    # Folds of a map that is fitted for the report.
    n_folds: int = 5
    # With fewer rows on either side, a shift of some size may stay unseen.
    min_shift_rows: int = 300
    # A smaller relative change of the log-loss is negligible.
    min_loss_change: float = 0.005
    # Level at which the score test names classes and pairs.
    alpha: float = 0.05
    # Level of intervals and of consistency bands.
    confidence_level: float = 0.95
    # A mean confidence that is off by less is about right.
    min_confidence_gap: float = 0.01


REPORT_LIMITS = in_context(ReportLimits())
