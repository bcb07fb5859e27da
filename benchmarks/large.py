"""Time and memory of large fits, and how time grows with their size: part of ``make bench``.

Prints tables, writes ``results/large.json`` and renews its tables in ``README.md``. The exit code
is 0 also where a target is missed; the last line says so. With ``BENCH_QUICK=1`` the two largest
fits are skipped and nothing is saved.
"""

import os

from _alone import Say
from _growth import growth
from _huge import enough_disk, very_many_classes, very_many_rows
from _many_classes import many_classes
from _report import Report, make_console
from _sms import many_classes_against_sms
from threadpoolctl import threadpool_limits


def main() -> None:
    """Run all steps, then save and show what they found."""
    quick = os.environ.get("BENCH_QUICK", "") not in ("", "0")
    console = make_console()
    report = Report(
        "large",
        "Large problems: smaller ratios are better",
        "Up to 100 classes the smallest of interleaved repeats on one BLAS thread, the two largest "
        "fits once in a process of their own; ratio = ours / yardstick.",
    )
    with console.status("") as status:
        _up_to_100_classes(report, status.update)
        if quick:
            report.skipped.append("the two largest fits, because BENCH_QUICK is set.")
        else:
            _largest(report, status.update)
    if not quick:
        report.save()
    report.show(console)


def _up_to_100_classes(report: Report, say: Say) -> None:
    with threadpool_limits(1):
        say("100 classes ...")
        report.rows += many_classes()
        say("100 classes, against SMS ...")
        report.rows += many_classes_against_sms()
        say("growth ...")
        report.series["growth"] = growth()


def _largest(report: Report, say: Say) -> None:
    rows, series = very_many_classes(lambda text: say(f"1000 classes: {text}"))
    report.rows += rows
    report.series["loss_against_time"] = series
    if enough_disk():
        report.rows += very_many_rows(lambda text: say(f"10 000 000 rows: {text}"))
    else:
        report.skipped.append("10 000 000 rows, because the disk has less than 2 GB free.")


if __name__ == "__main__":
    main()
