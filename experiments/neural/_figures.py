"""The paper's figures of networks: 1, 2b, 2c, S11 and S12."""

from experiments._network_figures import network_pictures
from experiments._pictures import Picture, rank_panel, to_svg
from experiments._shared.files import write_whole
from experiments._shared.measures import MEASURES

from ._example import Example, look_at
from ._networks import read_network
from ._results import Results
from ._study import Study

__all__ = ["draw_figures", "figure_path", "pictures"]


def figure_path(name: str) -> str:
    """Where a figure is, seen from the page."""
    return f"figures/figure_{name}.svg"


def draw_figures(results: Results, example: Example | None) -> None:
    """Write every figure that the results have the numbers of."""
    for name, picture in pictures(results, example).items():
        write_whole(results.folder / figure_path(name), to_svg(picture.draw()))


def pictures(results: Results, example: Example | None) -> dict[str, Picture]:
    """The figures by their names in the paper."""
    return {**_of_example(results, example), **_of_ranks(Study(results))}


def _of_example(results: Results, example: Example | None) -> dict[str, Picture]:
    if example is None or not example.path.exists():
        return {}
    network = read_network(example.path)
    look = look_at(network, results.read("choices.csv"), example.class_names)
    if look is None:
        return {}
    return network_pictures(look.y, look.before, look.after, look.map, look.class_names)


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
