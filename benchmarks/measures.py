"""Time and memory of measures, tests and comparisons: part of ``make bench``.

Prints a table, writes ``results/measures.json`` and renews the table in ``README.md``. The exit
code is 0 also where a target is missed; the last line says so.
"""

from _inference import comparisons, moments_against_draws, score_tests
from _measures import (
    measures_of_many_rows,
    memory_of_many_rows,
    tests_of_classes,
    tests_of_confidence,
)
from _report import Report, make_console


def main() -> None:
    """Run all steps, then save and show the rows."""
    console = make_console()
    report = Report(
        "measures",
        "Measures and tests: smaller ratios are better",
        "Measures as the smallest of interleaved repeats, the test of the classes once; limits are "
        "in seconds and gigabytes; ratio = ours / yardstick.",
    )
    with console.status("") as status:
        status.update("measures of a million rows ...")
        report.rows += measures_of_many_rows()
        report.rows += memory_of_many_rows(status.update)
        report.rows += tests_of_confidence(status.update)
        report.rows += tests_of_classes(status.update)
        report.rows += comparisons(status.update)
        report.rows += score_tests(status.update)
        report.rows += moments_against_draws(status.update)
    report.save()
    report.show(console)


if __name__ == "__main__":
    main()
