"""What a person sees at the end of a run."""

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table

from ._methods import PAPER_METHODS
from ._results import Results

__all__ = ["show_summary"]


def show_summary(results: Results, console: Console) -> None:
    """Average ranks beside the printed ones, and where the rest is."""
    ranks = results.read("tables/ranks.csv")
    own = ranks[(ranks["classifier"] == "average") & (ranks["temperature"] == "converged")]
    pairs = own["n"].iloc[0]
    title = f"Average ranks over {pairs} pairs, ours and (printed); 1 is best"
    table = Table(title=title, box=SIMPLE_HEAD, padding=0)
    table.add_column("measure", no_wrap=True)
    for method in PAPER_METHODS:
        table.add_column(method, justify="right")
    for measure, lines in own.groupby("measure", sort=False):
        values = lines.set_index("method").loc[list(PAPER_METHODS), ["rank", "printed"]]
        best = values["rank"].min()
        pairs_of_ranks = values.itertuples(index=False, name=None)
        cells = [_cell(ours, theirs, best) for ours, theirs in pairs_of_ranks]
        table.add_row(str(measure), *cells)
    console.print(table)
    claims = results.read("compare/claims.csv")
    asked = claims[claims["holds"] != ""]
    held = (asked["holds"] == "yes").sum()
    console.print(f"{held} of {len(asked)} claims of the paper's text hold.", highlight=False)
    console.print(f"Tables: {results.folder}\nPage:   {results.folder / 'page.md'}", soft_wrap=True)


def _cell(ours: float, theirs: str, best: float) -> str:
    text = f"[bold]{ours:.2f}[/]" if ours == best else f"{ours:.2f}"
    return f"{text} ({float(theirs):.2f})"
