"""Fits of tables in parts against a fit in memory: part of ``make bench``.

Prints a table, writes ``results/parts.json`` and renews the table in ``README.md``. A first
argument sets the number of rows. The exit code is 0 also where a target is missed; the last line
says so.
"""

import sys
import tempfile
from pathlib import Path

from _parts import compare_engines
from _report import Report, make_console


def main() -> None:
    """Run all fits, then save and show the rows."""
    n_samples = int(float(sys.argv[1])) if len(sys.argv) > 1 else 4_000_000
    console = make_console()
    report = Report(
        "parts",
        "Tables in parts: smaller ratios are better",
        "Whole processes, one after another; ratio = ours / yardstick.",
    )
    with console.status("") as status, tempfile.TemporaryDirectory() as folder:
        report.rows += compare_engines(Path(folder), n_samples, status.update)
    report.save()
    report.show(console)


if __name__ == "__main__":
    main()
