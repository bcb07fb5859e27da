"""``dircal monitor``: watch a stream of predictions and labels, and exit with 1 on an alarm."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from dircal.cli._errors import GATE_FAILED
from dircal.cli._options import FILE, common_options, finite, source_options, stream_options
from dircal.cli._output import check_outputs, print_json, print_lines

if TYPE_CHECKING:
    from dircal.cli._source import PredictionsFile
    from dircal.cli._watching import Watched
    from dircal.shift import CalibrationMonitor

__all__ = ["command"]

# Alarms told in words, where there are groups.
_TOLD = 5
_NEXT = (
    "What next: see what has changed (dircal report NEW --old OLD), fit a map on the rows since "
    "the shift began (dircal fit) or adapt the old one to new frequencies (dircal adapt), and go "
    "on with a new --state. This alarm stays in the old one."
)


@click.command(epilog="Example: dircal monitor stream.csv --label y --state state.json")
@stream_options
@source_options
@click.option(
    "--state",
    type=FILE,
    help="Where to keep what was seen: written after every batch, and read by the next call, which "
    "goes on behind the last row.",
)
@click.option("--map", "map_file", type=FILE, help="Calibrate the scores with this map first.")
@click.option("--time", metavar="NAME", help="Column with times, in their order.")
@click.option("--group", metavar="NAME", help="Column that tells streams apart.")
@click.option(
    "--id",
    "key",
    metavar="NAME",
    help="Column that names the rows: those without a label then wait for it, and the state keeps "
    "them. Without it they are left out.",
)
@click.option(
    "--late-labels",
    "late",
    type=FILE,
    help="A file with the columns of --id and --label: labels of rows that wait. Labels that are "
    "filled in in PREDICTIONS itself are found, too.",
)
@click.option(
    "--level",
    type=click.FloatRange(0.0, 1.0, min_open=True, max_open=True),
    callback=finite,
    default=0.05,
    show_default=True,
    help="Probability of an alarm, ever, if nothing is wrong.",
)
@click.option(
    "--batch",
    type=click.IntRange(min=1),
    default=1_000,
    show_default=True,
    help="Rows after which the state is written.",
)
@common_options
@click.pass_context
def command(
    context: click.Context,
    source: "PredictionsFile",
    state: Path | None,
    map_file: Path | None,
    time: str | None,
    group: str | None,
    key: str | None,
    late: Path | None,
    level: float,
    batch: int,
    as_json: bool,
) -> None:
    """Watch a stream of predictions and labels, and raise an alarm.

    PREDICTIONS is a file in the order of time, to which rows may be added between calls. However
    often it is called, a stream that is calibrated raises an alarm with a probability of at most
    --level. The exit code is 1 while there is one. Labels may be empty: with --id such rows wait
    for theirs.
    """
    import dircal
    from dircal.cli._source import input_files
    from dircal.cli._watching import StreamNames, Watching, watch_file

    if source.scale == "logit" and map_file is None:
        raise ValueError("--scale logit: a monitor watches probabilities. Pass the --map for them.")
    if late is not None and key is None:
        raise ValueError("--late-labels needs --id, the column that names the rows in both files.")
    read = [*input_files(source.path), map_file, late]
    check_outputs([("--state", state)], force=True, inputs=read)
    calibrator = None if map_file is None else dircal.load(map_file)
    names = StreamNames(time, group, key)
    watched = watch_file(Watching(source, names, level, batch, state, calibrator, late))
    if as_json:
        print_json(_document(watched))
    else:
        print_lines(_sentences(watched))
    if watched.monitor.alarm_:
        context.exit(GATE_FAILED)


def _sentences(watched: "Watched") -> list[str]:
    from dircal.shift import show_trace

    monitor = watched.monitor
    lines = [
        f"{watched.n_new:,} new rows, {monitor.n_rows_:,} with a label in all, "
        f"{len(monitor.classes)} classes.",
        *_about_labels(watched),
    ]
    if monitor.groups_:
        return lines + _about_groups(monitor)
    lines += show_trace(*monitor.trace_)
    if monitor.alarms_:
        return [*lines, *monitor.alarms_[0].sentences(), "", _NEXT]
    return [
        *lines,
        f"No alarm: the e-value is {monitor.e_value_:.3g}, and {1.0 / monitor.level:.3g} would be "
        "one.",
    ]


def _about_labels(watched: "Watched") -> list[str]:
    """Labels that are missing, or came late."""
    monitor, unknown = (
        watched.monitor,
        "late labels are of rows that do not wait for one: they have",
    )
    counts = (
        (watched.n_late, "labels came late."),
        (watched.n_unknown, f"{unknown} it, or were never seen."),
        (monitor.n_pending_, "rows wait for their label."),
        (monitor.n_missing_, "rows have no label and are left out."),
    )
    return [f"{count:,} {text}" for count, text in counts if count]


def _about_groups(monitor: "CalibrationMonitor") -> list[str]:
    alarms = sorted(monitor.alarms_, key=lambda alarm: -alarm.log10_e)
    lines = [f"{len(alarms)} of {len(monitor.groups_)} groups have raised an alarm."]
    for alarm in alarms[:_TOLD]:
        lines += ["", *alarm.sentences()]
    if len(alarms) > _TOLD:
        lines += ["", f"And {len(alarms) - _TOLD} more; --json lists them all."]
    expected = monitor.level * len(monitor.groups_)
    sure = ", ".join(map(str, monitor.discoveries_)) or "none"
    return [
        *lines,
        "",
        f"By chance up to {expected:.1f} of them may. With at most {monitor.level:.0%} false "
        f"discoveries among all groups: {sure}.",
    ]


def _document(watched: "Watched") -> dict[str, Any]:
    monitor = watched.monitor
    rows, log10_e = monitor.trace_
    return {
        "new_rows": watched.n_new,
        "rows": monitor.n_rows_,
        "late": watched.n_late,
        "waiting": monitor.n_pending_,
        "missing": monitor.n_missing_,
        "classes": monitor.classes,
        "level": monitor.level,
        "alarm": monitor.alarm_,
        "e_value": monitor.e_value_,
        "groups": monitor.groups_,
        "alarms": [alarm.to_dict() for alarm in monitor.alarms_],
        "discoveries": monitor.discoveries_ if monitor.groups_ else [],
        "trace": {"rows": rows, "log10_e": log10_e},
    }
