"""Which of the networks are the paper's own."""

from ._printed import name_by_hash, printed
from ._study import Study

__all__ = ["paper_names"]


def paper_names(study: Study) -> dict[str, str]:
    """Networks that are the paper's own, with its names for them.

    Files whose hash is known are known by it. Of a few it is not: they are known by their name and
    by their log-loss without calibration, to all printed digits.
    """
    losses = printed("scores").query("measure == 'log-loss' and method == 'Uncal'")
    losses = losses.set_index("network")["value"]
    ours = study.of("log-loss", "Uncal")
    found = {}
    for network, about in study.networks.iterrows():
        by_hash = name_by_hash(about["sha256"])
        if by_hash is not None:
            found[str(network)] = by_hash
        elif f"{ours.get(network, 0.0):.5f}" == f"{losses.get(network, -1.0):.5f}":
            found[str(network)] = str(network)
    return found
