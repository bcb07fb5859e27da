"""Lines that make a report again, and calibrate new rows."""

import re
from numbers import Integral
from typing import Any

from dircal import calibrators, selection
from dircal.report._candidates import Candidate
from dircal.report._summary import Method
from dircal.report._task import Request, Task
from dircal.tables import ScoreTable

__all__ = ["write_code"]


def write_code(task: Task, chosen: Method) -> str:
    """What a reader has to run."""
    request, candidates, table = task.request, task.candidates, task.request.table
    options: dict[str, Any] = {
        "classes": task.data.column_classes.tolist() if task.columns_were_named else None,
        "class_names": None if request.class_names is None else list(task.names),
        "title": request.title,
        "source": request.source,
    }
    first, made = ["    y_true,", "    y_prob,"], {"Report"}
    rows, weights = "y_true and y_prob are the rows", []
    if request.sample_weight is not None:
        weights = ["    sample_weight=sample_weight,"]
    if table is not None:
        rows, first = f"table = scan(...{_options(table)}), the rows", ["    table,"]
        made = {"Report", "scan"}
    code = {one.name: one.code for one in candidates}
    names = {*made, *re.findall(r"\w+", " ".join(code.values()))}
    known = {*made, *calibrators.__all__, *selection.__all__}
    logits = ["    input_scale='logit',"] if request.input_scale == "logit" else []
    described = {
        one.name: f"...,  # {code[one.name]}, as fitted" if one.is_fitted else f"{code[one.name]},"
        for one in candidates
    }
    lines = [
        f"from dircal import {', '.join(sorted(names & known))}",
        *(["from dircal.decide import CostTable"] if request.costs is not None else []),
        "",
        f"# {rows} with the fingerprint above.",
        "report = Report.from_predictions(",
        *first,
        "    calibrators={",
        *(f"        {name!r}: {code}" for name, code in described.items()),
        "    },",
        *_arguments(options),
        *weights,
        *logits,
        *_further_arguments(request),
        *_folds(request.cv),
        f"    n_resamples={request.n_resamples},",
        f"    random_state={task.seed},",
        ")",
        'report.to_html("report.html")',
        "",
        "# The map for new rows:",
        _map(task, next(one for one in candidates if one.name == chosen.name), options["classes"]),
        "calibrated = calibrator.predict_proba(new_y_prob)",
    ]
    return "\n".join(lines)


def _arguments(options: dict[str, Any]) -> list[str]:
    """Those that are not left out, one a line."""
    return [f"    {key}={value!r}," for key, value in options.items() if value is not None]


def _further_arguments(request: Request) -> list[str]:
    """Lines about old rows and costs, where there are any."""
    lines = []
    if request.y_old is not None:
        lines += ["    y_old=y_old,", "    prob_old=prob_old,"]
    if request.costs is not None:
        matrix, classes = (one.tolist() for one in (request.costs.matrix, request.costs.classes))
        told = f"{matrix}, classes={classes}, actions={list(request.costs.actions)}"
        lines.append(f"    costs=CostTable.from_matrix({told}),")
    return lines


def _folds(cv: Any) -> list[str]:
    if cv is None:
        return []
    return [f"    cv={cv:d}," if isinstance(cv, Integral) else "    cv=...,  # as described above"]


def _map(task: Task, one: Candidate, classes: list[Any] | None) -> str:
    """The line that makes the map."""
    if one.is_fitted:
        return f"calibrator = ...  # {one.code}, as fitted"
    code = one.code_for(classes)
    if task.request.table is not None:
        return f"calibrator = {code}.fit(table)"
    also = "" if task.request.sample_weight is None else ", sample_weight"
    return f"calibrator = {code}.fit(y_prob, y_true{also})"


def _options(table: ScoreTable) -> str:
    """Options of `scan` that describe the columns of a table."""
    names = ("label", "label_columns", "scores", "weight", "classes")
    given = {name: getattr(table, name) for name in names}
    return "".join(f", {key}={value!r}" for key, value in given.items() if value is not None)
