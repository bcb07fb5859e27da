"""Passes over many rows, and the time of warm starts against cold ones: part of ``make bench``.

Prints a table, writes ``results/passes.json`` and renews the table in ``README.md``. The exit code
is 0 also where a target is missed; the last line says so.
"""

from _report import Report, make_console
from _warm_starts import all_calibrators, many_rows, solver_passes
from threadpoolctl import threadpool_limits


def main() -> None:
    """Run all steps, then save and show the rows."""
    console = make_console()
    report = Report(
        "passes",
        "Warm starts: smaller ratios are better",
        "Folds over all rows, and the smaller processor time of two fits in turns on one BLAS "
        "thread; ratio = with subsamples / without.",
    )
    with console.status("") as status, threadpool_limits(1):
        status.update("passes of the solver ...")
        report.rows += solver_passes()
        status.update("all calibrators ...")
        report.rows += all_calibrators()
        status.update("4 000 000 rows ...")
        report.rows += many_rows()
    report.save()
    report.show(console)


if __name__ == "__main__":
    main()
