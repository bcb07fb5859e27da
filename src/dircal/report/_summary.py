"""What the page says, as plain data: numbers, names and sentences, and nothing drawn yet."""

from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

from dircal._json import to_plain
from dircal.inference import Source
from dircal.report._savings import SavingsSummary
from dircal.report._shift import ShiftSummary

__all__ = [
    "Bin",
    "CalibrationTestSummary",
    "Changes",
    "Check",
    "ClassSummary",
    "Confusion",
    "DataSummary",
    "Diagram",
    "Example",
    "MapSummary",
    "MeasureSummary",
    "Method",
    "Numbers",
    "ScoreFinding",
    "Settings",
    "Share",
    "Summary",
    "Verdict",
]

Numbers: TypeAlias = tuple[tuple[float, ...], ...]
"""A matrix, row by row."""


@dataclass(frozen=True)
class Bin:
    """Rows of similar probability: what was said, what was observed, and the range by chance."""

    lower: float
    upper: float
    count: float
    predicted: float
    observed: float
    low: float | None
    high: float | None


@dataclass(frozen=True)
class Diagram:
    """A reliability diagram; bins without rows are left out."""

    error: float
    bins: tuple[Bin, ...]


@dataclass(frozen=True)
class MeasureSummary:
    """One measure of one method, as in `dircal.ComparisonRow`."""

    measure: str
    value: float
    low: float | None
    high: float | None
    difference: float
    difference_low: float | None
    difference_high: float | None
    pvalue: float | None
    corrected: float | None
    source: Source | None


@dataclass(frozen=True)
class CalibrationTestSummary:
    """A calibration error beside those of a calibrated model, as in `dircal.CalibrationTest`."""

    measure: str
    statistic: float
    expected: float
    low: float
    high: float
    pvalue: float
    n_resamples: int
    source: Source


@dataclass(frozen=True)
class Method:
    """Probabilities of the rows, as they are or after a calibrator.

    ``role`` says whose fault it would be if the numbers flatter: "cross-fitted" ones are out of
    fold, "fitted" ones come from a map whose rows are not known.
    """

    name: str
    role: Literal["uncalibrated", "cross-fitted", "fitted"]
    description: str
    note: str | None
    confidence: float
    accuracy: float
    measures: tuple[MeasureSummary, ...]
    tests: tuple[CalibrationTestSummary, ...]
    diagram: Diagram
    fit_warnings: tuple[str, ...]

    def measure(self, name: str) -> MeasureSummary:
        """One of the measures."""
        return next(one for one in self.measures if one.measure == name)


@dataclass(frozen=True)
class ScoreFinding:
    """Where a map would act, as in `dircal.ScoreTest`: p-values of classes and of pairs.

    The ``source`` of its draws is "draws" of labels or "moments".
    """

    pvalue: float
    family: str
    n_resamples: int
    source: Source
    classes: tuple[tuple[str, float], ...]
    pairs: tuple[tuple[str, str, float], ...]


@dataclass(frozen=True)
class ClassSummary:
    """One class before and after the map; recalls are None where it has no rows.

    Of its rows, counted by weight, some are ``lost`` (right before, wrong after), others ``won``.
    """

    name: str
    count: float
    share: float
    mean_before: float
    mean_after: float
    error_before: float
    error_after: float
    recall_before: float | None
    recall_after: float | None
    lost: float
    won: float
    before: Diagram
    after: Diagram


@dataclass(frozen=True)
class Confusion:
    """How often a true class is called another, before and after."""

    true: str
    called: str
    before: float
    after: float


@dataclass(frozen=True)
class Share:
    """Probability of a class in one row, before and after."""

    name: str
    before: float
    after: float
    is_true: bool


@dataclass(frozen=True)
class Example:
    """One row before and after; ``rest`` are the shares of the classes that are not listed.

    ``row`` is its number; None where that is not known.
    """

    row: int | None
    why: str
    shares: tuple[Share, ...]
    rest_before: float
    rest_after: float


@dataclass(frozen=True)
class Changes:
    """What the map does to decisions, counted in rows or by weight.

    Of the ``flipped`` decisions some are ``fixed`` (wrong before, right after), some ``spoiled``
    and the others wrong in both. ``confusion_change`` (k, k) has a row for each true class.
    """

    total: float
    flipped: float
    fixed: float
    spoiled: float
    confusions_fixed: tuple[Confusion, ...]
    confusions_created: tuple[Confusion, ...]
    confusion_change: Numbers
    examples: tuple[Example, ...]


@dataclass(frozen=True)
class MapSummary:
    """The map fitted on all rows; where it has no matrix or no words, ``why_not`` says so.

    ``kind`` says in a few words what sort of map it is, and who chose it.
    """

    calibrator: str
    kind: str
    sentences: tuple[str, ...]
    matrix: Numbers | None
    centre: tuple[float, ...] | None
    why_not: str | None


@dataclass(frozen=True)
class DataSummary:
    """The rows and their fingerprint; ``n_largest`` scored rows belong to the ``largest`` class.

    ``better_order`` are the classes in an order of the columns that the labels fit far better; it
    is empty where the order is not in doubt. ``n_copies`` scored rows repeat another, scores and
    label. ``n_parts`` is the number of parts that the fingerprints are of; None for one array.
    """

    source: str | None
    n_rows: int
    n_scored: int
    n_classes: int
    absent: tuple[str, ...]
    better_order: tuple[str, ...]
    largest: str
    n_largest: int
    n_copies: int
    weight: float | None
    input_scale: str
    dtype: str
    sha256_labels: str
    sha256_scores: str
    sha256_weights: str | None
    n_parts: int | None
    has_soft_labels: bool = False


@dataclass(frozen=True)
class Settings:
    """How the numbers were made.

    ``map_rows`` says which rows the map that is shown was fitted on; ``sources`` which numbers come
    from moments and which from draws, where not all are drawn.
    """

    cv: str
    map_rows: str
    sources: str
    n_resamples: int
    random_state: int
    level: float
    n_bins: int
    versions: dict[str, str]
    code: str


@dataclass(frozen=True)
class Check:
    """A question that is passed or failed, before and after; None where it was not asked.

    ``detail`` are a few words on what was seen.
    """

    question: str
    before: bool | None
    after: bool | None
    detail: str


@dataclass(frozen=True)
class Verdict:
    """One sentence, what it rests on, what to do, and what to beware of.

    ``harm`` names the classes that are ``worse_off`` after the map; it is empty where none is.
    """

    fault: Literal["overconfident", "underconfident", "miscalibrated", "none", "not tested"]
    effect: Literal["better", "unclear", "worse", "not tested", "insufficient data"]
    sentence: str
    advice: str
    harm: str
    worse_off: tuple[str, ...]
    checks: tuple[Check, ...]
    points: tuple[str, ...]
    cautions: tuple[str, ...]


@dataclass(frozen=True)
class Summary:
    """Everything on the page; ``shift`` and ``savings`` where old rows and costs are given."""

    title: str
    class_names: tuple[str, ...]
    verdict: Verdict
    methods: tuple[Method, ...]
    chosen: str
    score: ScoreFinding | None
    classes: tuple[ClassSummary, ...]
    changes: Changes
    map: MapSummary
    data: DataSummary
    settings: Settings
    shift: ShiftSummary | None = None
    savings: SavingsSummary | None = None

    def method(self, name: str) -> Method:
        """One of the methods."""
        return next(one for one in self.methods if one.name == name)

    @property
    def before(self) -> Method:
        """The probabilities as they are."""
        return self.methods[0]

    @property
    def after(self) -> Method:
        """Those after the chosen calibrator."""
        return self.method(self.chosen)

    def to_dict(self) -> dict[str, Any]:
        """The same as dictionaries and lists that can be written as JSON."""
        plain = to_plain(self)
        assert isinstance(plain, dict)
        return plain
