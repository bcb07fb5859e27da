"""The paper's figures of networks: 1, 2b, 2c, S11 and S12."""

from collections.abc import Sequence

import pandas as pd

from dircal import CanonicalParameters
from dircal.plots import ConfusionChangeDisplay, ParametersDisplay
from experiments._network_figures import network_pictures
from experiments._pictures import Panel, Picture, rank_panel, to_svg
from experiments._shared.files import write_whole
from experiments._shared.measures import MEASURES

from ._example import Example, look_at, matrix_name
from ._networks import read_network
from ._results import Results
from ._study import Study

__all__ = ["draw_figures", "figure_path", "pictures"]


def figure_path(name: str) -> str:
    """Where a figure is, seen from the page."""
    return f"figures/figure_{name}.svg"


def draw_figures(results: Results, examples: Sequence[Example]) -> None:
    """Write every figure that the results have the numbers of."""
    for name, picture in pictures(results, examples).items():
        write_whole(results.folder / figure_path(name), to_svg(picture.draw()))


def pictures(results: Results, examples: Sequence[Example]) -> dict[str, Picture]:
    """The figures by their names in the paper."""
    drawn = _of_ranks(Study(results))
    if examples:
        drawn |= _of_rows(results, examples[0])
        drawn |= _of_matrix(results.read(matrix_name(examples[-1].name)))
    return drawn


def _of_rows(results: Results, example: Example) -> dict[str, Picture]:
    """Figures 1 and S12."""
    if not example.path.exists():
        return {}
    network = read_network(example.path)
    look = look_at(network, results.read("choices.csv"), example.class_names)
    if look is None:
        return {}
    drawn = network_pictures(look.y, look.before, look.after, look.map, look.class_names)
    return {name: drawn[name] for name in ("1", "s12")}


def _of_matrix(table: pd.DataFrame) -> dict[str, Picture]:
    """Figures 2b and 2c from the committed table, whose network need not be at hand."""
    if table.empty:
        return {}
    k = round(len(table) ** 0.5)
    a, before, after = (
        table[name].to_numpy(dtype=float).reshape(k, k)
        for name in ("a", "confusions_before", "confusions_after")
    )
    names = tuple(table["column"][:k])
    parameters = CanonicalParameters(a, table["c"].to_numpy(dtype=float)[::k])
    return {
        "2b": Picture((Panel(ParametersDisplay(parameters, names)),)),
        "2c": Picture((Panel(ConfusionChangeDisplay(before, after, names)),)),
    }


def _of_ranks(study: Study) -> dict[str, Picture]:
    """A panel for each measure, as in figure S11."""
    rankings = {measure: study.ranking(measure, "paper") for measure in MEASURES}
    panels = tuple(
        rank_panel(ranking, measure, "sources")
        for measure, ranking in rankings.items()
        if ranking is not None
    )
    if not panels:
        return {}
    places = tuple((i, i + 1) for i in range(0, len(panels), 2))
    return {"s11": Picture(panels, places, (10.4, 2.5 * len(places)))}
