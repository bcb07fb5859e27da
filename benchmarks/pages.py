"""Time and size of reports: part of ``make bench``.

Prints a table, writes ``results/pages.json`` and renews the table in ``README.md``. The exit code
is 0 also where a target is missed; the last line says so.
"""

import time

from _problems import generate
from _report import Report, make_console
from _timing import Row

import dircal

# Rows, classes and the seconds that a report of them may take.
_TASKS = ((100_000, 10, 45.0), (10_000, 100, 60.0))


def main() -> None:
    """Write all reports, then save and show the rows."""
    console = make_console()
    results = Report(
        "pages", "Reports: smaller ratios are better", "Processor time of one run of each report."
    )
    with console.status("") as status:
        for n, k, limit in _TASKS:
            status.update(f"report of {n} rows, {k} classes ...")
            results.rows.append(_row(n, k, limit))
    results.save()
    results.show(console)


def _row(n: int, k: int, limit: float) -> Row:
    calibrators = [
        dircal.TemperatureScaling(),
        dircal.DirichletCalibrator(),
        dircal.BayesianDirichletCalibrator(),
    ]
    problem = generate(n, k)
    began, seen = time.process_time(), time.monotonic()
    report = dircal.Report.from_predictions(
        problem.labels, problem.proba, calibrators=calibrators, classes=range(k)
    )
    page = report.to_html()
    seconds, waited = time.process_time() - began, time.monotonic() - seen
    note = f"processor time; {waited:.0f} s by the clock; page of {len(page.encode()) / 1e6:.2f} MB"
    rows = f"{n:,}".replace(",", " ")
    name = f"report, 3 calibrators, n={rows}, k={k}"
    return Row(name, problem.name, "s", seconds, "limit", limit, 1.0, note)


if __name__ == "__main__":
    main()
