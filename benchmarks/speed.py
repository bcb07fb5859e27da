"""Speed of dircal as ratios to something run beside it: ``make bench``.

Prints a table, writes ``results/speed.json`` and renews the table in ``README.md``. The exit code
is 0 also where a target is missed; the last line says so.
"""

import json
import platform
from collections.abc import Callable
from dataclasses import asdict
from importlib.metadata import version
from pathlib import Path
from typing import Any

from _dirichlet import l2_against_sklearn, many_classes, odir_against_newton, odir_against_sms
from _others import import_against_sklearn, predict_against_arithmetic
from _temperature import (
    default_against_sklearn,
    logits_against_sklearn,
    passes_by_classes,
    worst_passes,
)
from _timing import Row
from rich.console import Console
from rich.table import Table
from threadpoolctl import threadpool_info, threadpool_limits

_HERE = Path(__file__).resolve().parent
_JSON = _HERE / "results" / "speed.json"
_README = _HERE / "README.md"
_BEGIN, _END = "<!-- results: written by speed.py -->", "<!-- end of results -->"

# Characters of a line where the output goes to a file.
_WIDTH = 140

_STEPS: tuple[Callable[[], list[Row]], ...] = (
    passes_by_classes,
    worst_passes,
    logits_against_sklearn,
    default_against_sklearn,
    l2_against_sklearn,
    odir_against_newton,
    odir_against_sms,
    many_classes,
    predict_against_arithmetic,
    import_against_sklearn,
)
_COLUMNS = ("what", "data", "ours", "yardstick", "its", "ratio", "target", "met", "note")


def main() -> None:
    """Run all steps on one BLAS thread, then save and show the rows."""
    console = Console()
    if not console.is_terminal:
        console = Console(width=_WIDTH)
    rows: list[Row] = []
    with threadpool_limits(1), console.status("") as status:
        for step in _STEPS:
            status.update(f"{step.__name__.replace('_', ' ')} ...")
            rows += step()
    versions = _versions()
    _write(_JSON, json.dumps(_as_document(rows, versions), indent=2) + "\n")
    _renew_readme(rows, versions)
    console.print(_as_table(rows))
    console.print(_sentence(versions))
    console.print(_verdict(rows))


def _versions() -> dict[str, str]:
    """Versions of what the numbers depend on; nothing that tells the machine."""
    packages = ("dircal", "numpy", "scipy", "scikit-learn")
    versions = {"python": platform.python_version()}
    versions |= {package: version(package) for package in packages}
    # NumPy and SciPy each bring a BLAS of their own.
    blas = {
        f"{info['internal_api']} {info['version']}"
        for info in threadpool_info()
        if info["user_api"] == "blas"
    }
    return versions | {"BLAS": " and ".join(sorted(blas))}


def _as_document(rows: list[Row], versions: dict[str, str]) -> dict[str, Any]:
    return {
        "about": "Smallest of interleaved repeats, one BLAS thread; ratio = ours / yardstick.",
        "versions": versions,
        "rows": [asdict(row) | {"ratio": row.ratio, "met": row.met} for row in rows],
    }


def _cells(row: Row) -> tuple[str, ...]:
    """The texts of a row, in the order of the columns."""
    met = {True: "yes", False: "NO", None: ""}[row.met]
    target = "" if row.target is None else f"≤ {row.target:g}"
    ours, theirs = _amount(row.ours, row.unit), _amount(row.theirs, row.unit)
    ratio = f"{row.ratio:.2f}" if row.ratio < 10 else f"{row.ratio:.0f}"
    return (row.name, row.data, ours, row.yardstick, theirs, ratio, target, met, row.note)


def _amount(value: float, unit: str) -> str:
    if unit == "passes":
        return f"{value:.0f}"
    return f"{value:.2f} s" if value >= 1.0 else f"{1e3 * value:.3g} ms"


def _as_table(rows: list[Row]) -> Table:
    """The same for a terminal: data and notes on a second line, so that it stays narrow."""
    table = Table(title="Speed of dircal: smaller ratios are better")
    for column in ("what", "ours", "yardstick", "its", "ratio", "target", "met"):
        numeric = column in ("ours", "its", "ratio", "target")
        table.add_column(column, justify="right" if numeric else "left", no_wrap=numeric)
    for row in rows:
        name, data, ours, yardstick, theirs, ratio, target, met, note = _cells(row)
        what, beside = f"{name}\n[dim]{data}[/]", f"{yardstick}\n[dim]{note}[/]"
        style = {True: "green", False: "bold red", None: ""}[row.met]
        table.add_row(what, ours, beside, theirs, ratio, target, met, style=style)
    return table


def _as_markdown(rows: list[Row]) -> str:
    lines = [_COLUMNS, tuple("---" for _ in _COLUMNS), *(_cells(row) for row in rows)]
    return "\n".join("| " + " | ".join(cells) + " |" for cells in lines)


def _sentence(versions: dict[str, str]) -> str:
    return "With " + ", ".join(f"{name} {number}" for name, number in versions.items()) + "."


def _verdict(rows: list[Row]) -> str:
    promised = [row for row in rows if row.met is not None]
    missed = [f"{row.name} ({row.data})" for row in promised if not row.met]
    if not missed:
        return f"[green]All {len(promised)} targets are met.[/]"
    return f"[bold red]{len(missed)} of {len(promised)} targets MISSED:[/] " + "; ".join(missed)


def _renew_readme(rows: list[Row], versions: dict[str, str]) -> None:
    """Put the new table between the two marks."""
    before, rest = _README.read_text(encoding="utf-8").split(_BEGIN)
    after = rest.split(_END)[1]
    body = f"{_as_markdown(rows)}\n\n{_sentence(versions)}"
    _write(_README, f"{before}{_BEGIN}\n\n{body}\n\n{_END}{after}")


def _write(path: Path, text: str) -> None:
    """Write to a temporary name and rename: never half a file."""
    path.parent.mkdir(exist_ok=True)
    temporary = path.with_suffix(".tmp")
    temporary.write_text(text, encoding="utf-8")
    temporary.replace(path)


if __name__ == "__main__":
    main()
