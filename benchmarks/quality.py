"""Which calibrator is best on real classifiers: ``make quality``.

Measures every method on every task, and those for few rows on learning curves of the networks. Adds
each result to ``results/quality.csv`` at once (a stopped run goes on where it stopped; delete the
file, or lines of it, to measure again), then prints the tables and renews them in ``quality.md``.
``quality.py 0 2`` and ``quality.py 1 2`` measure every other task each, side by side, and tell
nothing; ``quality.py`` alone then has all results.
"""

import sys

from _quality_page import write_page
from _quality_rows import key_of, measure, read_rows
from _quality_tasks import NETWORKS, draws_of, tasks
from threadpoolctl import threadpool_limits


def main() -> None:
    """Measure on one BLAS thread, then tell."""
    part, n_parts = (int(argument) for argument in sys.argv[1:3] or ("0", "1"))
    known = {key_of(row) for row in read_rows()}
    with threadpool_limits(1):
        for number, task in enumerate(tasks()):
            if number % n_parts != part:
                continue
            if sys.stderr.isatty():
                print(f"\r{number}: {task.name:60s}", end="", file=sys.stderr, flush=True)
            measure(task, known)
            if task.kind == NETWORKS:
                for draw in draws_of(task):
                    measure(draw, known)
    if n_parts == 1:
        print(write_page(read_rows()))


if __name__ == "__main__":
    main()
