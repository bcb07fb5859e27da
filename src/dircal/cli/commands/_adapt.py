"""``dircal adapt``: a fitted map for rows with other class frequencies."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import click

from dircal.cli._errors import GATE_FAILED
from dircal.cli._options import FILE, common_options, output_options
from dircal.cli._output import check_outputs, name_of_output, output_file, print_answer

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
@click.option(
    "--old",
    type=FILE,
    help="A file of old rows with their labels, for the test whether more than the frequencies has "
    "changed. Default: the rows of the fit.",
)
@click.option("--label", metavar="NAME", help="Column of --old with the true labels.")
@output_options("Where to write the adapted map, as JSON.")
@common_options
def command(
    map_file: Path,
    predictions: Path | None,
    columns: str | None,
    priors: str | None,
    old_priors: str | None,
    old: Path | None,
    label: str | None,
    output: Path,
    force: bool,
    as_json: bool,
) -> None:
    """Adapt a fitted map to rows with other class frequencies.

    MAP is what `dircal fit` has written. PREDICTIONS are new rows without labels, in which the new
    frequencies are found; or they are given by --priors. It is tested whether more than the
    frequencies has changed, on the rows of the fit or on those of --old. If more has changed, no
    map is written and the exit code is 1, unless --force is given.
    """
    import dircal
    from dircal.cli._source import PredictionsFile
    from dircal.shift import PriorShift
    from dircal.tables import as_classes

    check_outputs([("--output", output)], force=force, inputs=[map_file, predictions, old])
    if (old is None) != (label is None):
        raise ValueError(
            "--old and --label belong together: old rows, and their column with the true labels."
        )
    if predictions is None and priors is None:
        raise ValueError("Name PREDICTIONS to find the new frequencies in, or give them: --priors.")
    if predictions is None and (old is not None or columns is not None):
        option = "--columns" if old is None else "--old"
        raise ValueError(
            f"{option} needs PREDICTIONS, the new rows. Name them, or leave {option} out."
        )
    calibrator = dircal.load(map_file)
    shift = PriorShift(
        calibrator,
        priors=_frequencies("--priors", priors, calibrator.classes_),
        old_priors=_frequencies("--old-priors", old_priors, calibrator.classes_),
    )
    scores = X_old = y_old = None
    if predictions is not None:
        scores = calibrator.predict_proba(PredictionsFile(predictions, columns).table).scores
    if old is not None and label is not None:
        table = PredictionsFile(old, columns, label=label).table
        X_old, where = (
            calibrator.predict_proba(table).scores,
            f"--old {table.where}, column {label!r}",
        )
        y_old = as_classes(table.labels, calibrator.classes_, where, "Drop its rows.")
    adapted = shift.adapt(scores, X_old=X_old, y_old=y_old)
    found = adapted.shift_
    if found is not None and found.assumption_fails and not force:
        unwritten = "Not written. Use --force to write the adapted map anyway."
        print_answer(as_json, _document(adapted, None), *_sentences(adapted), unwritten)
        raise click.exceptions.Exit(GATE_FAILED)
    with output_file(output, force=force) as temporary:
        dircal.save(adapted, temporary)
    lines = [*_sentences(adapted), f"Written to {name_of_output(output)}."]
    print_answer(as_json, _document(adapted, output), *lines)


def _frequencies(option: str, text: str | None, classes: Iterable[Any]) -> dict[Any, float] | None:
    """Frequencies as people type them, by labels of the type that the map has."""
    from dircal.cli._source import items_of
    from dircal.tables import label_text

    if text is None:
        return None
    labels = {label_text(label): label for label in list(classes)}
    found: dict[Any, float] = {}
    for item in items_of(text):
        name, _, number = item.rpartition("=")
        label = labels.get(name.strip(), name.strip())
        if label in found:
            raise ValueError(f"{option}: {name.strip()!r} is named twice. Name each label once.")
        try:
            found[label] = float(number)
        except ValueError:
            raise ValueError(
                f"{option}: {item!r} is no frequency. Write label=number with commas between, "
                "such as 'fine=0.99,fraud=0.01'."
            ) from None
    return found


def _sentences(adapted: Any) -> list[str]:
    sentences: list[str] = [line.removeprefix("- ") for line in str(adapted.explain()).split("\n")]
    return sentences


def _document(adapted: Any, output: Path | None) -> dict[str, Any]:
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
