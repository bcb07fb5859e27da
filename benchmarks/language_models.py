"""Label probabilities of language models with few labels: ``language_models.md``.

Run it from the root of the checkout, ``python benchmarks/language_models.py``, with ``DIRCAL_DATA``
set to a folder that has ``llm/emotion4.npz``: logits of option letters of 25 pairs of a model and a
prompt, two of them never the answer. ``language_models.py prompts`` renews the second table only.
"""

import os
import sys
import warnings
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.special import softmax
from threadpoolctl import threadpool_limits

from dircal import AutoCalibrator, BayesianDirichletCalibrator, TemperatureScaling
from dircal.llm import LabelCalibrator
from dircal.metrics import log_loss

N_OPTIONS, N_DRAWS, N_TEST = 4, 20, 4000
SIZES = (25, 50, 100, 200)
N_PROMPT_DRAWS, N_UNLABELLED = 3, 300
PAGE = Path(__file__).resolve().parent / "language_models.md"
NAMES = ("uncalibrated", "temperature", "Bayesian Dirichlet", "Auto", "LabelCalibrator")
_HEAD = f"""# Language models with few labels

Mean log-loss over 25 pairs of a model and a prompt (four emotions of tweets) and {N_DRAWS} draws of
labelled rows (seeds 0 to {N_DRAWS - 1}), on {N_TEST} others; written by
`benchmarks/language_models.py`. All rows that are not labelled are there without labels.

| labels | {" | ".join(NAMES)} | to Bayesian | to temperature |
| --- | {"--- | " * (len(NAMES) + 2)}"""


_PROMPT_HEAD = f"""
## Several prompts at once

The four models that have five or six prompts. Mean log-loss over prompts, models and
{N_PROMPT_DRAWS} draws (seeds 0 to {N_PROMPT_DRAWS - 1}), on {N_TEST} others: one `LabelCalibrator`
for each prompt, one for all rows as if they were of one prompt, and one with `groups`. Every
labelled text was shown to one prompt, and {N_UNLABELLED} texts without labels to all. In the last
row the same 50 texts were shown to every prompt: these are not more labels.

| labels | uncalibrated | one for each | one for all | `groups` | to one for each |
| --- | --- | --- | --- | --- | --- |"""


def main() -> None:
    """Print and write the tables."""
    old = PAGE.read_text(encoding="utf-8") if PAGE.exists() else ""
    first = old.partition("\n## ")[0].rstrip() if sys.argv[1:] == ["prompts"] else ""
    stored = np.load(Path(os.environ["DIRCAL_DATA"]) / "llm" / "emotion4.npz")
    lines = [first or _HEAD.rstrip()]
    with threadpool_limits(1), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for line in (*(() if first else pairs(stored)), _PROMPT_HEAD, *prompts(stored)):
            lines.append(line)
            print(line, flush=True)
    PAGE.write_text("\n".join(lines) + "\n", encoding="utf-8")


def pairs(stored: Mapping[str, npt.NDArray[Any]]) -> Iterator[str]:
    """Lines of the first table."""
    for size in SIZES:
        losses = np.array(
            [
                measure(softmax(logits, axis=1), stored["labels"], size, seed)
                for logits in stored["logits"][:, :, :N_OPTIONS].astype(np.float64)
                for seed in range(N_DRAWS)
            ]
        ).mean(axis=0)
        cells = [f"{each:.4f}" for each in losses]
        cells += [f"{losses[-1] / losses[2]:.3f}", f"{losses[-1] / losses[1]:.3f}"]
        yield f"| {size} | {' | '.join(cells)} |"


def prompts(stored: Mapping[str, npt.NDArray[Any]]) -> Iterator[str]:
    """Lines of the second table."""
    models = np.array([name.partition("_emotion")[0] for name in stored["names"]])
    logits = stored["logits"][:, :, :N_OPTIONS].astype(np.float64)
    several = [
        softmax(logits[models == model], axis=2)
        for model in dict.fromkeys(models.tolist())
        if (models == model).sum() > 1
    ]
    for name, size, same in (
        ("50 in all", 50, False),
        ("50 for each", None, False),
        ("the same 50 for each", None, True),
    ):
        losses = np.array(
            [
                measure_prompts(proba, stored["labels"], size or 50 * len(proba), seed, same=same)
                for proba in several
                for seed in range(N_PROMPT_DRAWS)
            ]
        ).mean(axis=0)
        cells = [f"{each:.4f}" for each in losses]
        yield f"| {name} | {' | '.join(cells)} | {losses[-1] / losses[1]:.3f} |"


def measure_prompts(
    proba: npt.NDArray[np.float64], y: npt.NDArray[np.int64], size: int, seed: int, *, same: bool
) -> list[float]:
    """Log-losses with labelled texts dealt to the prompts of ``proba`` (g, n, k), or the same."""
    n_prompts, classes = len(proba), range(N_OPTIONS)
    order = np.random.default_rng(seed).permutation(len(y))
    group = np.arange(size) % n_prompts
    texts = order[np.arange(size) // n_prompts] if same else order[:size]
    rest = order[size : size + N_UNLABELLED]
    test = order[size + N_UNLABELLED :][:N_TEST]
    X, more = proba[group, texts], proba[:, rest].reshape(-1, N_OPTIONS)
    of_more = np.repeat(np.arange(n_prompts), len(rest))
    pooled = LabelCalibrator(classes=classes).fit(X, y[texts], unlabelled=more)
    grouped = LabelCalibrator(classes=classes).fit(
        X, y[texts], unlabelled=more, groups=group, unlabelled_groups=of_more
    )
    losses = []
    for i, each in enumerate(proba):
        mine = group == i
        own = LabelCalibrator(classes=classes)
        own.fit(X[mine], y[texts[mine]], unlabelled=each[rest])
        new = each[test]
        every = (
            new,
            own.predict_proba(new),
            pooled.predict_proba(new),
            grouped.predict_proba(new, groups=np.full(len(test), i)),
        )
        losses.append([float(log_loss(y[test], one, classes=classes)) for one in every])
    means: list[float] = np.mean(losses, axis=0).tolist()
    return means


def measure(
    proba: npt.NDArray[np.float64], y: npt.NDArray[np.int64], size: int, seed: int
) -> list[float]:
    """Log-losses of all methods with one draw of labelled rows."""
    order = np.random.default_rng(seed).permutation(len(y))
    fit, rest = order[:size], order[size:]
    test, classes = rest[:N_TEST], range(N_OPTIONS)
    fitted = [
        TemperatureScaling(classes=classes).fit(proba[fit], y[fit]),
        BayesianDirichletCalibrator(classes=classes).fit(proba[fit], y[fit]),
        AutoCalibrator(classes=classes).fit(proba[fit], y[fit]),
        LabelCalibrator(classes=classes).fit(proba[fit], y[fit], unlabelled=proba[rest]),
    ]
    every = [proba[test], *(one.predict_proba(proba[test]) for one in fitted)]
    return [float(log_loss(y[test], one, classes=classes)) for one in every]


if __name__ == "__main__":
    main()
