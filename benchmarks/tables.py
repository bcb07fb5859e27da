"""Memory and time of `dircal evaluate` and `dircal report` on a folder of Parquet files.

Prints a table, writes ``results/tables.json`` and renews the table in ``README.md``. A first
argument sets the number of rows, 50 000 000 unless said otherwise; a second one names a folder that
holds them already, or will hold them. No part of ``make bench``: it takes an hour of a processor.
"""

import sys
import tempfile
from pathlib import Path

from _report import Report, make_console
from _tables import measure_commands


def main() -> None:
    """Run both commands, then save and show the rows."""
    n_samples = int(float(sys.argv[1])) if len(sys.argv) > 1 else 50_000_000
    console = make_console()
    report = Report(
        "tables",
        "Folders of Parquet files: smaller ratios are better",
        "Whole processes, each run once; ratio = ours / yardstick.",
    )
    with console.status("") as status, tempfile.TemporaryDirectory() as temporary:
        folder = Path(sys.argv[2] if len(sys.argv) > 2 else temporary)
        report.rows += measure_commands(folder, n_samples, status.update)
    report.save()
    report.show(console)


if __name__ == "__main__":
    main()
