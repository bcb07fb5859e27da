"""Speed of dircal as ratios to something run beside it: part of ``make bench``.

Prints a table, writes ``results/speed.json`` and renews the table in ``README.md``. The exit code
is 0 also where a target is missed; the last line says so.
"""

from collections.abc import Callable

from _bayesian import (
    curves_against_none,
    curves_against_sms,
    few_classes_against_odir,
    many_classes_against_odir,
)
from _databases import queries_against_predict
from _dirichlet import l2_against_sklearn, odir_against_newton
from _one_vs_rest import one_vs_rest_against_isotonic
from _others import import_against_sklearn, predict_against_arithmetic
from _report import Report, make_console
from _search import grids_against_one_fit
from _sms import few_classes_against_sms
from _temperature import (
    default_against_sklearn,
    logits_against_sklearn,
    passes_by_classes,
    worst_passes,
)
from _timing import Row
from threadpoolctl import threadpool_limits

_STEPS: tuple[Callable[[], list[Row]], ...] = (
    passes_by_classes,
    worst_passes,
    logits_against_sklearn,
    default_against_sklearn,
    l2_against_sklearn,
    odir_against_newton,
    few_classes_against_odir,
    many_classes_against_odir,
    curves_against_none,
    curves_against_sms,
    few_classes_against_sms,
    grids_against_one_fit,
    one_vs_rest_against_isotonic,
    predict_against_arithmetic,
    queries_against_predict,
    import_against_sklearn,
)


def main() -> None:
    """Run all steps on one BLAS thread, then save and show the rows."""
    console = make_console()
    report = Report(
        "speed",
        "Speed of dircal: smaller ratios are better",
        "Smallest of interleaved repeats, one BLAS thread; ratio = ours / yardstick.",
    )
    with threadpool_limits(1), console.status("") as status:
        for step in _STEPS:
            status.update(f"{step.__name__.replace('_', ' ')} ...")
            report.rows += step()
    report.save()
    report.show(console)


if __name__ == "__main__":
    main()
