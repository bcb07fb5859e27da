"""Probabilities of options, from log-probabilities of tokens or from sampled answers."""

from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from dircal._typing import FloatArray

__all__ = ["check_options_occur", "option_probabilities", "sampled_probabilities"]

# What may stand around an option in a token or an answer.
_AROUND = " \t\r\n.,:;()[]{}*\"'`▁Ġ"
# An option that none of so many rows names is misspelt.
_MANY_ROWS = 20


def option_probabilities(rows: Sequence[Mapping[str, float]], options: Sequence[str]) -> FloatArray:
    r"""Probability of each option, from log-probabilities of the tokens that could come next.

    Parameters
    ----------
    rows : sequence of dicts
        For each row the log-probabilities by token, as a model gives them: of all tokens or of the
        most probable few. Tokens that say the same option (``"A"``, ``" A"``, ``"A."``) add up; the
        others are passed over.
    options : sequence of str
        What the tokens are called that stand for the classes, in the order of the columns.

    Returns
    -------
    proba : array of shape (n, k)
        Rows sum to one.

    Notes
    -----
    A provider that returns the top few tokens leaves options out. Such an option has at most the
    probability of the last token that is listed, and all of them together have at most what is left
    of one: each gets the smaller of the last one's and an equal share of the rest. Then
    probabilities are divided by their sum over the options: what the model gives to anything else
    is no answer.

    **When not to use it.** Where an answer takes several tokens: their first ones may be alike. Ask
    for a letter, or for a number.

    Examples
    --------
    >>> from dircal.llm import option_probabilities
    >>> rows = [{"A": -0.105, " B": -2.996, "The": -3.0}, {"B": -0.01, "A": -5.0, "C": -6.0}]
    >>> option_probabilities(rows, ["A", "B", "C"]).round(3)
    array([[0.947, 0.053, 0.   ],
           [0.007, 0.991, 0.002]])
    """
    names = _check_options(options)
    proba = np.zeros((len(rows), len(names)))
    for i, row in enumerate(rows):
        if not isinstance(row, Mapping) or not row:
            raise ValueError(
                f"`rows` must hold log-probabilities by token; row {i} is {row!r:.60}. Pass a dict "
                "such as {'A': -0.1, 'B': -2.5}."
            )
        listed = np.exp(np.array([_check_logprob(i, value) for value in row.values()]))
        for token, value in zip(row, listed, strict=True):
            place = names.get(_bare(token))
            if place is not None:
                proba[i, place] += value
        if not proba[i].any():
            raise ValueError(
                f"`rows` must name at least one option; row {i} has only {list(row)[:6]}. Pass "
                "`options` as the tokens spell them, or ask for more tokens."
            )
        left_out = proba[i] == 0.0
        if left_out.any():
            rest = max(1.0 - float(listed.sum()), 0.0) / int(left_out.sum())
            proba[i, left_out] = min(float(listed.min()), rest)
    check_options_occur(rows, options)
    result: FloatArray = proba / proba.sum(axis=1, keepdims=True)
    return result


def sampled_probabilities(rows: Sequence[Sequence[str]], options: Sequence[str]) -> FloatArray:
    r"""Probability of each option, from answers that were sampled several times.

    Parameters
    ----------
    rows : sequence of sequences of str
        For each row its answers; those that say no option are passed over.
    options : sequence of str
        What the answers are called that stand for the classes, in the order of the columns.

    Returns
    -------
    proba : array of shape (n, k)
        Rows sum to one, and none is zero.

    Notes
    -----
    With :math:`m_j` of m answers for option j it is :math:`(m_j + 1/k) / (m + 1)`: an option that
    has not come up in a few draws is not impossible (Perks' prior, one row in all). A row without
    any answer is uniform.

    **When not to use it.** Where log-probabilities can be had: a hundred samples say less.

    Examples
    --------
    >>> from dircal.llm import sampled_probabilities
    >>> sampled_probabilities([["A", "a", "(B)"], ["no idea"]], ["A", "B"]).round(3)
    array([[0.625, 0.375],
           [0.5  , 0.5  ]])
    """
    names = _check_options(options)
    k = len(names)
    counts = np.zeros((len(rows), k))
    for i, answers in enumerate(rows):
        if isinstance(answers, str) or not isinstance(answers, Sequence):
            raise ValueError(
                f"`rows` must hold lists of answers; row {i} is {answers!r:.60}. Pass a list, with "
                "one answer if there is only one."
            )
        for answer in answers:
            place = names.get(_bare(answer))
            if place is not None:
                counts[i, place] += 1.0
    check_options_occur(rows, options)
    result: FloatArray = (counts + 1.0 / k) / (counts.sum(axis=1, keepdims=True) + 1.0)
    return result


def check_options_occur(rows: Sequence[Iterable[str]], options: Sequence[str]) -> None:
    """Refuse options that none of many rows of tokens or answers names."""
    if len(rows) < _MANY_ROWS:
        return
    names = _check_options(options)
    said = {_bare(text) for row in rows for text in row}
    never = [options[place] for name, place in names.items() if name not in said]
    if never:
        raise ValueError(
            f"`options` has {never[0]!r}, which none of the {len(rows)} rows names. Write it as "
            "the model does, or leave it out."
        )


def _bare(text: object) -> str:
    """A token or an answer without what stands around it; letters of any case are alike."""
    return str(text).strip(_AROUND).casefold()


def _check_options(options: Sequence[str]) -> dict[str, int]:
    """Place of each option by its bare text."""
    if isinstance(options, str) or not isinstance(options, Sequence):
        raise ValueError(
            f"`options` must be a list of texts; got {options!r:.60}. Pass for example "
            "['A', 'B', 'C']."
        )
    names = {_bare(one): place for place, one in enumerate(options)}
    if len(options) < 2 or len(names) != len(options) or "" in names:
        raise ValueError(
            f"`options` must be at least two texts that differ by more than case, blanks and "
            f"punctuation; got {list(options)!r:.80}. Name each class once."
        )
    return names


def _check_logprob(row: int, value: object) -> float:
    number = float(value) if isinstance(value, int | float | np.floating) else np.nan
    # Rounding carries some a little above zero.
    if not number <= 1e-3:
        raise ValueError(
            f"`rows` must hold log-probabilities, which are not above zero; row {row} has "
            f"{value!r:.40}. Pass logarithms of probabilities."
        )
    return min(number, 0.0)
