"""Label probabilities of language models with few labels: ``language_models.md``.

Run it from the root of the checkout, ``python benchmarks/language_models.py``, with ``DIRCAL_DATA``
set to a folder that has ``llm/emotion4.npz``: logits of option letters of 25 pairs of a model and a
prompt, two of them never the answer.
"""

import os
import warnings
from pathlib import Path

import numpy as np
import numpy.typing as npt
from scipy.special import softmax
from threadpoolctl import threadpool_limits

from dircal import AutoCalibrator, BayesianDirichletCalibrator, TemperatureScaling
from dircal.llm import LabelCalibrator
from dircal.metrics import log_loss

N_OPTIONS, N_DRAWS, N_TEST = 4, 20, 4000
SIZES = (25, 50, 100, 200)
PAGE = Path(__file__).resolve().parent / "language_models.md"
NAMES = ("uncalibrated", "temperature", "Bayesian Dirichlet", "Auto", "LabelCalibrator")
_HEAD = f"""# Language models with few labels

Mean log-loss over 25 pairs of a model and a prompt (four emotions of tweets) and {N_DRAWS} draws of
labelled rows (seeds 0 to {N_DRAWS - 1}), on {N_TEST} others; written by
`benchmarks/language_models.py`. All rows that are not labelled are there without labels.

| labels | {" | ".join(NAMES)} | to Bayesian | to temperature |
| --- | {"--- | " * (len(NAMES) + 2)}"""


def main() -> None:
    """Print and write the table."""
    stored = np.load(Path(os.environ["DIRCAL_DATA"]) / "llm" / "emotion4.npz")
    lines = [_HEAD.rstrip()]
    with threadpool_limits(1), warnings.catch_warnings():
        warnings.simplefilter("ignore")
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
            lines.append(f"| {size} | {' | '.join(cells)} |")
            print(lines[-1], flush=True)
    PAGE.write_text("\n".join(lines) + "\n", encoding="utf-8")


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
