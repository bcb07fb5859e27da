"""``dircal explain``: what a fitted map corrects."""

from pathlib import Path
from typing import Any

import click

from dircal.cli._options import common_options, map_argument
from dircal.cli._output import print_json, print_lines, print_table

__all__ = ["command"]

# More classes than this make a table that nobody reads.
_SHOWN = 12


@click.command(epilog="Example: dircal explain map.json")
@map_argument
@common_options
def command(map_file: Path, as_json: bool) -> None:
    """Say what a fitted map corrects.

    MAP is what `dircal fit` has written: which classes were over- or under-estimated, which were
    confused, and the parameters of the map.
    """
    import dircal

    calibrator = dircal.load(map_file)
    explanation, why_not = _ask(calibrator, "explain")
    parameters, _ = _ask(calibrator, "canonical_parameters")
    if as_json:
        document: dict[str, Any] = {
            "map": map_file,
            "calibrator": type(calibrator).__name__,
            "choice": getattr(calibrator, "choice_", None),
            "classes": calibrator.classes_,
            "columns": getattr(calibrator, "feature_names_in_", None),
            "scale": calibrator.input_scale,
            "sentences": explanation.sentences() if explanation else [why_not],
            "explanation": explanation.to_dict() if explanation else None,
            "parameters": {"A": parameters.A, "c": parameters.c} if parameters else None,
        }
        print_json(document)
        return
    k = len(calibrator.classes_)
    print_lines(
        [f"{type(calibrator).__name__}, {k} classes, reads {calibrator.input_scale} scores."]
    )
    if explanation is None:
        print_lines([why_not])
    else:
        print_lines(["", *(f"- {one}" for one in explanation.sentences()), ""])
        print_lines([*explanation.table().splitlines(), ""])
    if parameters is not None:
        _show_parameters(calibrator, parameters)


def _ask(calibrator: Any, method: str) -> tuple[Any, str]:
    """What the map says, or why it says nothing."""
    if not hasattr(calibrator, method):
        return (
            None,
            f"{type(calibrator).__name__} has no matrix to tell of: it maps class by class.",
        )
    try:
        return getattr(calibrator, method)(), ""
    except ValueError as error:
        return None, str(error)


def _show_parameters(calibrator: Any, parameters: Any) -> None:
    """The matrix of the canonical form, a row for each class."""
    labels = [str(label) for label in calibrator.classes_.tolist()]
    print_lines(["Its parameters, in canonical form (row: class that comes out):"])
    if len(labels) > _SHOWN:
        print_lines([f"a matrix of {len(labels)} x {len(labels)} numbers; --json prints it."])
        return
    rows = [
        (label, *(f"{value:.2f}" for value in row), f"{share:.3f}")
        for label, row, share in zip(labels, parameters.A, parameters.c, strict=True)
    ]
    print_table(("", *labels, "c"), rows)
