"""Log-probabilities of tokens in the answers of providers."""

from collections.abc import Mapping
from typing import Any

__all__ = ["top_logprobs"]


def top_logprobs(response: Mapping[str, Any]) -> dict[str, float]:
    """Log-probabilities of the first token of an answer, by token.

    Parameters
    ----------
    response : dict
        An answer in the form of OpenAI's chat completions (``choices[0].logprobs.content``) or of
        its older completions (``choices[0].logprobs.top_logprobs``), which most servers speak. A
        line of a batch, where the answer is the ``body`` of a ``response``, does as well.

    Returns
    -------
    logprobs : dict from str to float
        What `option_probabilities` takes for a row.

    Examples
    --------
    >>> from dircal.llm import top_logprobs
    >>> tokens = [{"token": "A", "logprob": -0.1}, {"token": "B", "logprob": -2.4}]
    >>> content = [{"token": "A", "logprob": -0.1, "top_logprobs": tokens}]
    >>> top_logprobs({"choices": [{"logprobs": {"content": content}}]})
    {'A': -0.1, 'B': -2.4}
    """
    found = _first_token(response)
    if not found:
        raise ValueError(
            f"`response` must hold log-probabilities of tokens in choices[0].logprobs; got "
            f"{response!r:.80}. Ask the model for them: logprobs=True, top_logprobs=20."
        )
    return found


def _first_token(response: Any) -> dict[str, float]:
    body = response
    for key in ("response", "body"):
        if isinstance(body, Mapping) and isinstance(body.get(key), Mapping):
            body = body[key]
    try:
        logprobs = body["choices"][0]["logprobs"]
        if logprobs.get("content"):
            first = logprobs["content"][0]
            listed = first.get("top_logprobs") or [first]
            return {str(one["token"]): float(one["logprob"]) for one in listed}
        return {str(token): float(value) for token, value in logprobs["top_logprobs"][0].items()}
    except (KeyError, IndexError, TypeError, AttributeError, ValueError):
        return {}
