"""Where results go: a table on the terminal, a JSON file, and the last table in ``README.md``."""

import json
import platform
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from _timing import Row
from rich.console import Console
from rich.table import Table
from threadpoolctl import threadpool_info

__all__ = ["Report", "Series", "make_console", "show_amount", "show_ratio"]

_HERE = Path(__file__).resolve().parent
_README = _HERE / "README.md"
_END = "<!-- end of results -->"

# Characters of a line where the output goes to a file.
_WIDTH = 140

_COLUMNS = ("what", "data", "ours", "yardstick", "its", "ratio", "target", "met", "note")


@dataclass(frozen=True)
class Series:
    """Numbers that are no race: ``cells`` are what a table shows, ``data`` is what is saved."""

    title: str
    columns: tuple[str, ...]
    cells: Sequence[tuple[str, ...]]
    data: list[dict[str, Any]]


@dataclass
class Report:
    """What one script has measured.

    ``name`` is that of its JSON file, ``about`` one sentence on how it measures; ``skipped`` says
    what was not measured, and why.
    """

    name: str
    title: str
    about: str
    rows: list[Row] = field(default_factory=list)
    series: dict[str, Series] = field(default_factory=dict)
    skipped: list[str] = field(default_factory=list)

    def show(self, console: Console) -> None:
        """Print everything, the verdict last."""
        console.print(self._as_table())
        for series in self.series.values():
            console.print(_small_table(series))
        console.print(_sentence(_versions()))
        for reason in self.skipped:
            console.print(f"[yellow]Skipped: {reason}[/]")
        console.print(self._verdict())

    def save(self) -> None:
        """Write the JSON file and renew the part of ``README.md`` that belongs to this report."""
        document = {
            "about": self.about,
            "versions": _versions(),
            "rows": [asdict(row) | {"ratio": row.ratio, "met": row.met} for row in self.rows],
        }
        document |= {key: series.data for key, series in self.series.items()}
        if self.skipped:
            document["skipped"] = self.skipped
        target = _HERE / "results" / f"{self.name}.json"
        _write(target, json.dumps(document, indent=2) + "\n")
        self._renew_readme()

    def _renew_readme(self) -> None:
        """Put the new tables between the two marks."""
        begin = f"<!-- results: written by {self.name}.py -->"
        before, rest = _README.read_text(encoding="utf-8").split(begin)
        after = rest.split(_END, maxsplit=1)[1]
        parts = [_markdown(_COLUMNS, [_cells(row) for row in self.rows])]
        for series in self.series.values():
            parts += [f"{series.title}:", _markdown(series.columns, series.cells)]
        parts += [f"Skipped: {reason}" for reason in self.skipped]
        parts.append(_sentence(_versions()))
        body = "\n\n".join(parts)
        _write(_README, f"{before}{begin}\n\n{body}\n\n{_END}{after}")

    def _as_table(self) -> Table:
        """For a terminal: data and notes on a second line, so that it stays narrow."""
        table = Table(title=self.title)
        for column in ("what", "ours", "yardstick", "its", "ratio", "target", "met"):
            numeric = column in ("ours", "its", "ratio", "target")
            table.add_column(column, justify="right" if numeric else "left", no_wrap=numeric)
        for row in self.rows:
            name, data, ours, yardstick, theirs, ratio, target, met, note = _cells(row)
            what, beside = f"{name}\n[dim]{data}[/]", f"{yardstick}\n[dim]{note}[/]"
            style = {True: "green", False: "bold red", None: ""}[row.met]
            table.add_row(what, ours, beside, theirs, ratio, target, met, style=style)
        return table

    def _verdict(self) -> str:
        promised = [row for row in self.rows if row.met is not None]
        missed = [f"{row.name} ({row.data})" for row in promised if not row.met]
        if not missed:
            return f"[green]All {len(promised)} targets are met.[/]"
        return f"[bold red]{len(missed)} of {len(promised)} targets MISSED:[/] " + "; ".join(missed)


def make_console() -> Console:
    """The terminal, or a file of fixed width."""
    console = Console()
    return console if console.is_terminal else Console(width=_WIDTH)


def show_amount(value: float, unit: str) -> str:
    """A number with its unit, in three digits or so."""
    if unit == "passes":
        return f"{value:.0f}"
    if unit == "GB":
        return f"{value:.2f} GB"
    if value >= 100.0:
        return f"{value:.0f} s"
    return f"{value:.2f} s" if value >= 1.0 else f"{1e3 * value:.3g} ms"


def show_ratio(ratio: float) -> str:
    """Two digits after the point where they mean something."""
    return f"{ratio:.2f}" if ratio < 10 else f"{ratio:.0f}"


def _cells(row: Row) -> tuple[str, ...]:
    """The texts of a row, in the order of the columns."""
    met = {True: "yes", False: "NO", None: ""}[row.met]
    target = "" if row.target is None else f"≤ {row.target:g}"
    ours, theirs = show_amount(row.ours, row.unit), show_amount(row.theirs, row.unit)
    ratio = show_ratio(row.ratio)
    return (row.name, row.data, ours, row.yardstick, theirs, ratio, target, met, row.note)


def _small_table(series: Series) -> Table:
    table = Table(title=series.title)
    for column in series.columns:
        table.add_column(column, justify="right")
    for cells in series.cells:
        table.add_row(*cells)
    return table


def _markdown(columns: tuple[str, ...], cells: Sequence[tuple[str, ...]]) -> str:
    lines = [columns, tuple("---" for _ in columns), *cells]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def _versions() -> dict[str, str]:
    """Versions of what the numbers depend on; nothing that tells the machine."""
    packages = ("dircal", "numpy", "scipy", "scikit-learn")
    versions = {"python": platform.python_version()}
    versions |= {package: version(package) for package in packages}
    if find_spec("probmetrics") is not None:
        versions["probmetrics"] = version("probmetrics")
    # NumPy and SciPy each bring a BLAS of their own.
    blas = {
        f"{info['internal_api']} {info['version']}"
        for info in threadpool_info()
        if info["user_api"] == "blas"
    }
    return versions | {"BLAS": " and ".join(sorted(blas))}


def _sentence(versions: dict[str, str]) -> str:
    return "With " + ", ".join(f"{name} {number}" for name, number in versions.items()) + "."


def _write(path: Path, text: str) -> None:
    """Write to a temporary name and rename: never half a file."""
    path.parent.mkdir(exist_ok=True)
    temporary = path.with_suffix(".tmp")
    temporary.write_text(text, encoding="utf-8")
    temporary.replace(path)
