"""``dircal llm``: from raw answers of a language model to calibrated labels."""

import csv
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from dircal.cli._options import FILE, common_options, finite, output_options
from dircal.cli._output import check_outputs, name_of_output, output_file, print_answer

if TYPE_CHECKING:
    from dircal.cli._responses_file import Responses

__all__ = ["command"]

# Fewer labels than this say next to nothing about new rows.
_FEW = 20


@click.command(
    epilog="Example: dircal llm raw.jsonl --options A,B,C,D --label answer --ask 0.2 -o labels.csv"
)
@click.argument("responses", type=FILE)
@click.option(
    "--options",
    required=True,
    metavar="LIST",
    help="What the model may answer, with commas: the tokens that stand for the classes.",
)
@click.option(
    "--label",
    default="label",
    show_default=True,
    metavar="KEY",
    help="Key of the true option in a line; lines without it have no label.",
)
@click.option(
    "--group",
    metavar="KEY",
    help="Key of the prompt or model in a line, where there are several: each has its own map, "
    "which knows of the others.",
)
@click.option(
    "--ask",
    type=click.FloatRange(0.0, 1.0, min_open=True),
    callback=finite,
    help="What it costs to ask a person, where an error costs 1: the column 'action' then says "
    "'ask' where that is cheaper.",
)
@click.option("--map", "map_file", type=FILE, help="Where to save the map, too.")
@output_options("Where to write the calibrated labels, as CSV.")
@common_options
def command(
    responses: Path,
    options: str,
    label: str,
    group: str | None,
    ask: float | None,
    map_file: Path | None,
    output: Path,
    force: bool,
    as_json: bool,
) -> None:
    """Calibrate the labels that a language model gives.

    RESPONSES has one JSON object a line: an answer with log-probabilities in the form of OpenAI
    (logprobs=True, top_logprobs=20), or {"logprobs": {"A": -0.1, ...}}, or sampled {"answers":
    ["A", "B", "A"]}; some of them with the true option. All lines tell what the prompt prefers,
    those with a label what else is wrong; all are calibrated.
    """
    import numpy as np

    import dircal
    from dircal.cli._responses_file import read_responses
    from dircal.llm import LabelCalibrator

    names = [name.strip() for name in options.split(",")]
    check_outputs([("--output", output), ("--map", map_file)], force=force, inputs=[responses])
    found = read_responses(responses, names, label, group)
    known = np.array([one is not None for one in found.labels])
    if not known.any():
        raise ValueError(
            f"{str(responses)!r} has no line with a label called {label!r}. Write the true option "
            f"of some {_FEW} lines or more under that key, or name another with --label."
        )
    y = np.array([one for one in found.labels if one is not None])
    calibrator = LabelCalibrator(classes=names)
    calibrator.fit(found.proba[known], y, **_more(found, known))
    proba = calibrator.predict_proba(found.proba, groups=found.groups)
    actions = _actions(proba, calibrator.classes_, ask)
    with output_file(output, force=force) as temporary:
        _write(temporary, found, proba, calibrator.classes_.tolist(), actions)
    if map_file is not None:
        with output_file(map_file, force=force) as temporary:
            dircal.save(calibrator, temporary)
    document, lines = _told(found, calibrator, proba, known, actions)
    written = [name_of_output(one) for one in (output, map_file) if one is not None]
    lines.append(f"Written to {' and '.join(written)}.")
    print_answer(as_json, {"output": output, "map": map_file, **document}, *lines)


def _more(found: "Responses", known: Any) -> dict[str, Any]:
    """What else there is to learn from: rows without labels, and whose rows are whose."""
    import numpy as np

    more = {} if known.all() else {"unlabelled": found.proba[~known]}
    if found.groups is None:
        return more
    groups = np.array(found.groups)
    rest = {} if known.all() else {"unlabelled_groups": groups[~known]}
    return {**more, **rest, "groups": groups[known]}


def _actions(proba: Any, classes: Any, ask: float | None) -> Any:
    """The best action of each row, where an error costs one; None without a question."""
    if ask is None:
        return None
    from dircal.decide import CostTable, best_actions

    costs = CostTable.of_errors(classes).with_question(ask)
    return best_actions(proba, costs, classes=classes).actions


def _write(path: Path, found: "Responses", proba: Any, classes: list[str], actions: Any) -> None:
    """A line for each answer, in its order."""
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        action = [] if actions is None else ["action"]
        group = [] if found.groups is None else ["group"]
        writer.writerow([*group, "label", *classes, "prediction", "confidence", *action])
        for i, row in enumerate(proba):
            best = int(row.argmax())
            extra = [] if actions is None else [actions[i]]
            first = [] if found.groups is None else [found.groups[i]]
            writer.writerow(
                [
                    *first,
                    found.labels[i] or "",
                    *row.tolist(),
                    classes[best],
                    float(row[best]),
                    *extra,
                ]
            )


def _told(
    found: "Responses", calibrator: Any, proba: Any, known: Any, actions: Any
) -> tuple[dict[str, Any], list[str]]:
    """What was learned, in numbers and in sentences."""
    inside = calibrator.calibrator_
    auto = inside if found.groups is None else inside.calibrator_
    n, n_labelled = len(known), int(known.sum())
    divided = bool((calibrator.mean_proba_ != 1.0).any())
    prefers = max(zip(found.proba.mean(axis=0), calibrator.column_classes_, strict=True))
    table = auto.table_
    document = {
        "rows": n,
        "labelled": n_labelled,
        "divided_by_means": divided,
        "choice": auto.choice_,
        "probability_of_harm": auto.probability_of_harm_,
        "mean_confidence": float(proba.max(axis=1).mean()),
    }
    lines = [
        f"{n:,} answers, {n_labelled} with a label. The model gives {100 * prefers[0]:.0f} % to "
        f"{prefers[1]} on average; that was {'divided out' if divided else 'left as it is'}.",
        f"Of five maps the {auto.choice_} one is the most probable; its log-loss on new rows is "
        f"expected to be {table['log_loss'][table['calibrator'].index(auto.choice_)]:.3f}.",
    ]
    if found.groups is not None:
        document["groups"] = calibrator.groups_
        lines.append(f"Each of {len(calibrator.groups_)} groups has a map of its own around it.")
    if n_labelled < _FEW:
        lines.append(f"Fewer than {_FEW} labels say little: label some more.")
    if actions is not None:
        asked = float((actions == "ask").mean())
        document["asked"] = asked
        lines.append(f"Ask a person about {100 * asked:.1f} % of them.")
    return document, lines
