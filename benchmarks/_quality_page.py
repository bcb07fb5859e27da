"""The page of ``make quality``."""

from collections.abc import Iterable
from pathlib import Path

from _quality_curves import curve_table, reliability
from _quality_methods import OUR_SMS, SMS
from _quality_promises import promises
from _quality_rows import Row
from _quality_tables import Table, by_source, select, summary, table_of
from _quality_tasks import HALVES, NETWORKS, UCI

__all__ = ["write_page"]

_PATH = Path(__file__).resolve().parent / "quality.md"
_ABOUT = """\
{n_whole} tasks of {n_sources} sources and {n_draws} draws of fewer rows; written by `make
quality` from `results/quality.csv` (`results/quality_before.csv` is what it was before maps
were weighed by evidence). Measured with dircal {versions}. Wins and differences are against
{rival}, on the tasks that both have: a method with fewer tasks was measured on those alone, and
its means do not compare with others. *Harm* is the part of tasks on which the method is worse
than nothing, or than temperature scaling, by a paired interval of 95 %. probmetrics has no
ensemble temperature scaling.

What was in sight when constants were set: those of the priors and of the floor were chosen by
averages over the half developed on (datasets of UCI up to optdigits, networks of at most 20
classes); the rule for the level of the scores, the weight of the uniform and the second prior
with all tasks in sight. The prior of the five maps of `AutoCalibrator`, the formula of its
probability of harm and the prior of the strengths of `DirichletCalibrator` were chosen by
learning curves of networks of at most 20 classes, with results on all of UCI in sight. Files of
one recipe and one test set are one source. Files that hold no classifier of single labels have
rules of their own: `top1_*` (a confidence and whether it was right) are tasks of two classes,
`cifar10h_human` is a crowd of people, and the networks of ImageNet are measured once more on
the rows for which `imagenet5k_real_labels` accepts exactly one label. None of these count among
the networks."""


def write_page(rows: Iterable[Row]) -> str:
    """Write the page and return it."""
    rows = list(rows)
    table = table_of(rows)
    whole = select(table, lambda row: row.draw == 0)
    rival = SMS if any(SMS in found for found in table.values()) else OUR_SMS
    about = _ABOUT.format(
        n_whole=len(whole),
        n_sources=len(by_source(whole)),
        n_draws=len(table) - len(whole),
        rival=rival,
        versions=" and ".join(sorted({row.version for row in rows})),
    )
    parts = ["# Which calibrator is best?", about, "## Promises", promises(table, rival)]
    parts += [
        "## Learning curves of networks",
        "Log-loss relative to temperature scaling, in percent: the ratio of means over sources. "
        "Draws are of the rows to fit on; all are measured on at most 4000 others.",
        curve_table(table),
        "## Harm that was foretold",
        "`probability_of_harm_` of `AutoCalibrator` on all tasks and draws, and how often its "
        "log-loss was above that of the uncalibrated rows.",
        reliability(table),
    ]
    for title, part in _parts(whole).items():
        parts += [f"## {title} ({len(part)} tasks)", summary(part, rival)]
    text = "\n\n".join(parts) + "\n"
    temporary = _PATH.with_suffix(".tmp")
    temporary.write_text(text, encoding="utf-8")
    temporary.replace(_PATH)
    return text


def _parts(whole: Table) -> dict[str, Table]:
    """All classifiers of single labels, their pieces, and the files with rules of their own."""
    of_kinds = {"UCI and networks": select(whole, lambda row: row.kind in (UCI, NETWORKS))}
    for half in HALVES:
        of_kinds[f"UCI, {half}"] = select(
            whole,
            lambda row, h=half: (row.kind, row.half) == (UCI, h),  # type: ignore[misc]
        )
    few, many = "networks, fewer than 100 classes", "networks, 100 classes and more"
    of_kinds[few] = select(whole, lambda row: row.kind == NETWORKS and row.k < 100)
    of_kinds[many] = select(whole, lambda row: row.kind == NETWORKS and row.k >= 100)
    for kind in ("confidences", "people", "relabelled"):
        of_kinds[kind] = select(whole, lambda row, k=kind: row.kind == k)  # type: ignore[misc]
    return {title: part for title, part in of_kinds.items() if part}
