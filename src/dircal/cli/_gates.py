"""Rules of the form ``measure op number`` that make a command fail."""

import math
import operator
import re
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from dircal._suggestions import did_you_mean

__all__ = ["GATE_NAMES", "Gate", "parse_gate"]

_WITH_INTERVAL = (
    "accuracy",
    "error_rate",
    "log_loss",
    "brier_score",
    "confidence_ece",
    "classwise_ece",
    "smooth_ece",
    "debiased_squared_error",
)
# Written out, and compared by a test to what is measured: a mistyped rule is told at once. A new
# measure need not be here.
GATE_NAMES = (
    *_WITH_INTERVAL,
    "maximum_calibration_error",
    *(f"{name}.{end}" for name in _WITH_INTERVAL for end in ("low", "high")),
    "confidence_ece.pvalue",
    "classwise_ece.pvalue",
    "score_test.pvalue",
)
"""Everything that a gate can ask for."""

_OPERATORS: dict[str, Callable[[float, float], bool]] = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}
_RULE = re.compile(r"\s*([a-z_]+(?:\.[a-z]+)?)\s*(<=|>=|<|>)\s*(\S+)\s*")


@dataclass(frozen=True)
class Gate:
    """A rule as typed, and its parts."""

    rule: str
    name: str
    sign: str
    limit: float

    def fires(self, values: Mapping[str, float]) -> bool:
        """Whether the rule holds, or cannot be told, which is a failure."""
        value = values[self.name]
        return math.isnan(value) or _OPERATORS[self.sign](value, self.limit)

    def to_dict(self, values: Mapping[str, float]) -> dict[str, Any]:
        """Return the outcome as plain data."""
        return {"rule": self.rule, "value": values[self.name], "failed": self.fires(values)}

    def sentence(self, values: Mapping[str, float]) -> str:
        """What became of it."""
        verdict = "FAILED" if self.fires(values) else "passed"
        return f"{verdict}: {self.name} is {values[self.name]:.6g} (fails if {self.rule})"


def parse_gate(rule: str) -> Gate:
    """A gate, or a ValueError that says how one looks."""
    found = _RULE.fullmatch(rule)
    limit = math.nan
    if found is not None:
        with suppress(ValueError):
            limit = float(found[3])
    if found is None or not math.isfinite(limit):
        raise ValueError(
            f"--fail-if {rule!r} must be a measure, one of < <= > >=, and a number; for example "
            "'classwise_ece > 0.02'."
        )
    near = "" if found[1] in GATE_NAMES else did_you_mean(found[1], GATE_NAMES)
    if near or not (found[1] in GATE_NAMES or _is_measured(found[1])):
        raise ValueError(
            f"--fail-if {rule!r}: {found[1]!r} is not measured.{near} There are "
            f"{', '.join(GATE_NAMES)}."
        )
    return Gate(rule.strip(), found[1], found[2], limit)


def _is_measured(name: str) -> bool:
    """Whether it is a measure that the list above does not know; loading them all takes a while."""
    from dircal.metrics import RECORDS

    return name.partition(".")[0] in RECORDS
