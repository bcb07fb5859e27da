"""Which calibrator is best on real classifiers: ``make quality``.

Measures every method on every task, adds each result to ``results/quality.csv`` at once (a stopped
run goes on where it stopped; delete the file, or lines of it, to measure again), then prints the
tables and renews them in ``quality.md``.
"""

import sys

from _quality_rows import measure, read_rows
from _quality_tables import write_tables
from _quality_tasks import tasks
from threadpoolctl import threadpool_limits


def main() -> None:
    """Measure on one BLAS thread, then tell."""
    rows = read_rows()
    known = {(row.task, row.method) for row in rows}
    with threadpool_limits(1):
        for number, task in enumerate(tasks(), start=1):
            new = measure(task, known)
            rows += new
            if new and sys.stderr.isatty():
                print(f"\r{number}: {task.name:60s}", end="", file=sys.stderr, flush=True)
    print(write_tables(rows))


if __name__ == "__main__":
    main()
