"""Time and memory of the command line on large files: part of ``make bench``.

Prints a table, writes ``results/files.json`` and renews the table in ``README.md``. The exit code
is 0 also where a target is missed; the last line says so.
"""

from _files import apply_to_csv, apply_to_parquet, show_help
from _huge import enough_disk
from _report import Report, make_console


def main() -> None:
    """Run all steps, then save and show the rows."""
    console = make_console()
    report = Report(
        "files",
        "The command line: smaller ratios are better",
        "Whole processes in turns, the smallest time of two; ratio = ours / yardstick.",
    )
    with console.status("") as status:
        status.update("dircal --help ...")
        report.rows += show_help()
        status.update("CSV ...")
        report.rows += apply_to_csv()
        if enough_disk(5e9):
            report.rows += apply_to_parquet(status.update)
        else:
            report.skipped.append("10 000 000 rows of Parquet: the disk has less than 5 GB free.")
    report.save()
    report.show(console)


if __name__ == "__main__":
    main()
