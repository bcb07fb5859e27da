"""Stage four: the page."""

from pathlib import Path
from typing import Any

from experiments._shared.files import write_whole
from experiments._shared.page import render
from experiments._shared.versions import tell_versions

from ._figure import FIGURE
from ._files import Results
from ._findings import (
    tell_architectures,
    tell_bases,
    tell_evidence,
    tell_families_within,
    tell_groups,
    tell_limits,
    tell_losses,
    tell_maps,
    tell_options,
    tell_sources,
    tell_trained,
)
from ._likelihood import DRAWS
from ._study import NEAR, Study
from ._tables import (
    attributes_table,
    correlations_table,
    groups_table,
    networks_table,
    sources_table,
    trainings_table,
)

__all__ = ["write_page"]

_TEMPLATE = Path(__file__).parent / "page.md.j2"


def write_page(results: Results) -> None:
    """Write the page from the tables."""
    write_whole(results.folder / "page.md", render(_TEMPLATE, _contents(results)))


def _contents(results: Results) -> dict[str, Any]:
    study = Study(results)
    complaints = study.networks[study.networks["complaints"] != ""]
    return {
        "n_sources": len(study.sources()),
        "n_networks": len(study.of_kind("network")),
        "n_trained": study.n_trained,
        "near": f"{100 * NEAR:g} %",
        "draws": DRAWS,
        "figure": FIGURE if (results.folder / FIGURE).exists() else "",
        "sources": [*tell_sources(study), *tell_trained(study)],
        "maps": tell_maps(study),
        "evidence": tell_evidence(study),
        "recipes": list(tell_groups(study, "recipe")),
        "families": list(tell_groups(study, "family")),
        "architectures": tell_architectures(study),
        "within": tell_families_within(study),
        "options": tell_options(study),
        "bases": tell_bases(study),
        "limits": tell_limits(study),
        "losses": tell_losses(study),
        "by_chance": f"{0.05 * len(study.sources()):.1f}",
        "source_table": sources_table(study),
        "other_table": sources_table(study, "other"),
        "group_tables": [groups_table(study, name) for name in ("recipe", "family", "year")],
        "correlations": correlations_table(study),
        "training_table": trainings_table(study),
        "network_table": networks_table(study),
        "attribute_table": attributes_table(study),
        "complaints": {name: line["complaints"] for name, line in complaints.iterrows()},
        "seconds": f"{study.networks['seconds'].astype(float).sum() / 60:.0f}",
        "versions": tell_versions(study.networks["versions"]),
    }
