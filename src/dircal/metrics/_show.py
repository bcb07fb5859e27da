"""Results of measures for a notebook."""

from html import escape
from typing import Any

import numpy as np

from dircal._html import card, table

__all__ = ["html_of_corp", "html_of_decomposition"]


def html_of_decomposition(found: Any) -> str:
    """The parts of a `LossDecomposition`, and their sum."""
    rows = [
        ["calibration", f"{found.calibration:.4g}", f"{found.standard_error:.2g}"],
        ["refinement", f"{found.refinement:.4g}", ""],
        ["total", f"{found.total:.4g}", ""],
    ]
    title = f"Decomposition of the {found.loss} on {found.n_samples:,} rows"
    return card(title, table(["part", "value", "standard error"], rows))


def html_of_corp(found: Any) -> str:
    """The four numbers of each curve of a `CorpReliability`."""
    names = ["confidence"] if found.labels is None else [str(x) for x in found.labels.tolist()]
    numbers = (found.score, found.miscalibration, found.discrimination, found.uncertainty)
    rows = [
        [escape(name), *(f"{value:.4g}" for value in values)]
        for name, values in zip(names, np.transpose(numbers), strict=True)
    ]
    heads = ["curve", "score", "miscalibration", "discrimination", "uncertainty"]
    return card("Reliability by isotonic regression (CORP)", table(heads, rows))
