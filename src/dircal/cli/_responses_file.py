"""Answers of a language model, one JSON object a line."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from dircal._json import JSONError, parse_json
from dircal._typing import FloatArray
from dircal.cli._utf8 import open_utf8
from dircal.llm import (
    check_options_occur,
    option_probabilities,
    sampled_probabilities,
    top_logprobs,
)

__all__ = ["Responses", "read_responses"]


@dataclass(frozen=True)
class Responses:
    """Probabilities (n, k) of the options, and the label of each row, None where it has none.

    ``groups`` are the prompts or models of the rows; None where the file does not tell.
    """

    proba: FloatArray
    labels: list[str | None]
    groups: list[str] | None = None


def read_responses(
    path: Path, options: Sequence[str], label: str, group: str | None = None
) -> Responses:
    """Read a file; ``label`` is the key of the true option in each line, ``group`` of its prompt.

    A line holds an answer in the form of OpenAI, ``logprobs`` by token, or sampled ``answers``.
    """
    rows: list[FloatArray] = []
    said: list[list[str]] = []
    labels: list[str | None] = []
    groups: list[str] = []
    known = {option.strip().casefold(): option for option in options}
    with open_utf8(path, repr(str(path))) as file:
        for number, line in enumerate(file, 1):
            if not line.strip():
                continue
            where = f"{str(path)!r}, line {number}"
            found = _parsed(where, line)
            try:
                proba, texts = _probabilities(found, options)
            except ValueError as error:
                raise ValueError(f"{where}: {error}") from error
            rows.append(proba)
            labels.append(_label(where, found.get(label), known))
            # A label names an option too.
            said.append([*texts, *filter(None, labels[-1:])])
            if group is not None:
                groups.append(_group(where, found.get(group), group))
    if not rows:
        raise ValueError(f"{str(path)!r} has no lines. Write one JSON object a line.")
    check_options_occur(said, options)
    return Responses(np.concatenate(rows), labels, None if group is None else groups)


def _parsed(where: str, line: str) -> dict[str, Any]:
    try:
        found = parse_json(line)
    except JSONError as error:
        raise ValueError(f"{where} {error}. Write one JSON object a line.") from None
    if not isinstance(found, dict):
        raise ValueError(f"{where} is not a JSON object. Write one JSON object a line.")
    return found


def _probabilities(
    found: dict[str, Any], options: Sequence[str]
) -> tuple[FloatArray, Sequence[str]]:
    """Of the options, and the tokens or answers that tell them."""
    answers, given = found.get("answers"), found.get("logprobs")
    if isinstance(answers, list):
        return sampled_probabilities([answers], options), answers
    tokens = given if isinstance(given, Mapping) and "choices" not in found else None
    tokens = tokens or top_logprobs(found)
    return option_probabilities([tokens], options), list(tokens)


def _group(where: str, value: Any, key: str) -> str:
    if not isinstance(value, str | int | float) or value == "":
        raise ValueError(
            f"{where}: {key!r} is {value!r}, and no name of a prompt or model. Write one in every "
            "line, or leave --group out."
        )
    return str(value)


def _label(where: str, value: Any, known: Mapping[str, str]) -> str | None:
    if value is None or value == "":
        return None
    option = known.get(str(value).strip().casefold())
    if option is None:
        raise ValueError(
            f"{where}: the label {value!r} is none of the options {', '.join(known.values())}. "
            "Write the option that is true."
        )
    return option
