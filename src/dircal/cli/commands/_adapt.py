"""``dircal adapt``: a fitted map for rows with other class frequencies."""

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from dircal.cli._options import FILE, common_options, output_options
from dircal.cli._output import check_output, name_of_output, output_file, print_answer

if TYPE_CHECKING:
    from dircal.cli._source import PredictionsFile

__all__ = ["command"]


@click.command(epilog="Example: dircal adapt map.json new.csv -o adapted.json")
@click.argument("map_file", metavar="MAP", type=FILE)
@click.argument("predictions", type=FILE, required=False)
@click.option("--columns", metavar="LIST", help="Columns with the scores, as for `dircal apply`.")
@click.option(
    "--priors",
    metavar="LIST",
    help="New frequencies by label, such as 'fine=0.99,fraud=0.01'; no PREDICTIONS are needed.",
)
@click.option(
    "--old-priors",
    metavar="LIST",
    help="Frequencies of the labels that the map was fitted on, where it does not remember them.",
)
@output_options("Where to write the adapted map, as JSON.")
@common_options
def command(
    map_file: Path,
    predictions: Path | None,
    columns: str | None,
    priors: str | None,
    old_priors: str | None,
    output: Path,
    force: bool,
    as_json: bool,
) -> None:
    """Adapt a fitted map to rows with other class frequencies.

    MAP is what `dircal fit` has written. PREDICTIONS are new rows without labels, in which the new
    frequencies are found; or they are given by --priors. The adapted map is one like any other.
    """
    import dircal
    from dircal.cli._source import PredictionsFile
    from dircal.shift import PriorShift

    inputs = [map_file] if predictions is None else [map_file, predictions]
    check_output(output, force=force, inputs=inputs)
    if predictions is None and priors is None:
        raise ValueError("Name PREDICTIONS to find the new frequencies in, or give them: --priors.")
    calibrator = dircal.load(map_file)
    shift = PriorShift(
        calibrator,
        priors=_frequencies("--priors", priors, calibrator.classes_),
        old_priors=_frequencies("--old-priors", old_priors, calibrator.classes_),
    )
    scores = None
    if predictions is not None:
        scores = _read_scores(PredictionsFile(predictions, columns), calibrator)
    adapted = shift.adapt(scores)
    with output_file(output, force=force) as temporary:
        dircal.save(adapted, temporary)
    lines = [*_sentences(adapted), f"Written to {name_of_output(output)}."]
    print_answer(as_json, _document(adapted, output), *lines)


def _frequencies(option: str, text: str | None, classes: Iterable[Any]) -> dict[Any, float] | None:
    """Frequencies as people type them, by labels of the type that the map has."""
    import csv

    from dircal.validation import label_text

    if text is None:
        return None
    labels = {label_text(label): label for label in list(classes)}
    found: dict[Any, float] = {}
    for item in next(csv.reader([text])):
        name, _, number = item.rpartition("=")
        try:
            found[labels.get(name.strip(), name.strip())] = float(number)
        except ValueError:
            raise ValueError(
                f"{option}: {item!r} is no frequency. Write label=number with commas between, "
                "such as 'fine=0.99,fraud=0.01'."
            ) from None
    return found


def _read_scores(source: "PredictionsFile", calibrator: Any) -> Any:
    from dircal.cli._selection import columns_of_map
    from dircal.cli._source import numbers_of, open_file

    with open_file(source) as table:
        return numbers_of(table, columns_of_map(table, source.columns, calibrator))


def _sentences(adapted: Any) -> list[str]:
    sentences: list[str] = [line.removeprefix("- ") for line in str(adapted.explain()).split("\n")]
    return sentences


def _document(adapted: Any, output: Path) -> dict[str, Any]:
    shift = adapted.shift_
    return {
        "output": output,
        "classes": adapted.classes_,
        "old_priors": adapted.old_priors_,
        "priors": adapted.priors_,
        "rows": 0 if shift is None else shift.n_rows,
        "low": None if shift is None else shift.low,
        "high": None if shift is None else shift.high,
        "pvalue": None if shift is None else shift.pvalue,
        "assumption_pvalue": None if shift is None else shift.assumption_pvalue,
        "sentences": _sentences(adapted),
    }
