"""What a person sees at the end of a run."""

from collections.abc import Iterable

import pandas as pd
from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table

from ._compare import by_measure
from ._results import Results
from ._study import FAMILIES

__all__ = ["show_summary"]


def show_summary(results: Results, console: Console) -> None:
    """Average ranks, and where the rest is."""
    ranks = results.read("tables/ranks.csv")
    for name in ("paper", "general"):
        family, own = FAMILIES[name], ranks[ranks["family"] == name]
        if own.empty:
            continue
        title = f"{family.title}: average ranks over {own['n'].iloc[0]} sources; 1 is best"
        table = Table(title=title, box=SIMPLE_HEAD, padding=0)
        table.add_column("measure", no_wrap=True)
        for method in family.methods:
            table.add_column(method, justify="right")
        for measure, lines in own.groupby("measure", sort=False):
            values = lines.set_index("method")["rank"].astype(float)
            best = values.min()
            cells = [f"[bold]{v:.2f}[/]" if v == best else f"{v:.2f}" for v in values]
            table.add_row(str(measure), *cells)
        console.print(table)
    claims = results.read("compare/claims.csv")
    asked = claims[claims["holds"] != ""]
    held = (asked["holds"] == "yes").sum()
    console.print(f"{held} of {len(asked)} claims of the paper's text hold.", highlight=False)
    compared = results.read("compare/printed.csv")
    if len(compared):
        _show_print(compared, console)
        console.print("All of it, cell by cell, is in compare/printed.csv.", highlight=False)
    console.print(f"Tables: {results.folder}\nPage:   {results.folder / 'page.md'}", soft_wrap=True)


def _show_print(compared: pd.DataFrame, console: Console) -> None:
    """Log-losses one by one, of every other measure how far it is from print."""
    losses = compared[compared["measure"] == "log-loss"]
    columns = ["network", "method", "ours", "printed", "difference", "published", "verdict"]
    console.print(_table("Log-loss beside print", columns, losses[columns].astype(str).to_numpy()))
    others = by_measure(compared)
    console.print(_table("Other measures beside print", others.columns, others.to_numpy()))


def _table(title: str, columns: Iterable[str], lines: Iterable[Iterable[str]]) -> Table:
    table = Table(title=title, box=SIMPLE_HEAD, padding=0)
    for column in columns:
        table.add_column(column)
    for line in lines:
        table.add_row(*line)
    return table
