"""Soft labels: what several annotators a row are worth: ``soft_labels.md``.

Run it from the root of the checkout, ``python benchmarks/soft_labels.py``, with ``DIRCAL_DATA`` set
to a folder that has ``networks``: the files ``nli_*.npz`` with 100 human labels for some rows,
``cifar10h_human.npz`` with about 50 for each test image of CIFAR-10, and
``imagenet5k_real_labels.npz`` with all labels that fit an image.
"""

import os
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.special import softmax
from threadpoolctl import threadpool_limits

from dircal import AutoCalibrator, TemperatureScaling, effective_annotators
from dircal.metrics import log_loss

FOLDER = Path(os.environ.get("DIRCAL_DATA", "data")) / "networks"
PAGE = Path(__file__).resolve().parent / "soft_labels.md"
N_DRAWS, CIFAR_DRAWS = 10, 3
SIZES = (25, 50, 100, 200, 400, 700)
CIFAR_SIZES = (50, 200, 1000)
CIFAR = ("resnet20_chenyaofo", "densenet121_devmotion", "lenet5_netcal", "vgg16_bn_chenyaofo")
HEADINGS = (
    "one annotator",
    "given label",
    "counts",
    "probabilities",
    "probabilities, effective weights",
)
_NLI = f"""# Soft labels

Log-loss against the human distribution, of rows that no map has seen; written by
`benchmarks/soft_labels.py`. Means over files and {N_DRAWS} draws of fitting rows ({CIFAR_DRAWS} for
CIFAR-10; seeds from 0). `AutoCalibrator` is fitted on the same rows with

- *one annotator*: the label that one of the annotators gave, drawn at random,
- *given label*: the label of the data set, which is mostly that of the majority,
- *counts*: `fit(P, counts)`, where each annotator counts as a row,
- *probabilities*: `fit(P, shares)`, where each row counts once,
- *effective weights*: the same with `sample_weight=effective_annotators(P, counts)`.

## Natural language inference, 100 annotators a row

Three classes, five networks; uncalibrated {{:.4f}}, and {{:.4f}} is the entropy of the annotators,
which no map goes below. Effective weights are {{:.1f}} in the mean.

| rows | {" | ".join(HEADINGS)} |
| --- | {" | ".join(["---"] * len(HEADINGS))} |
"""
_CIFAR = f"""
## CIFAR-10H, about 50 annotators a row

Ten classes, {len(CIFAR)} networks; uncalibrated {{:.4f}}, entropy of the annotators {{:.4f}};
effective weights {{:.1f}} in the mean.

| rows | {" | ".join(HEADINGS)} |
| --- | {" | ".join(["---"] * len(HEADINGS))} |
"""
_IMAGENET = """
## ImageNet, all labels that fit

A thousand classes, two networks, 2341 rows to fit and as many to measure; soft labels share a row
among the labels that fit it. Log-loss against these of `TemperatureScaling`.

| uncalibrated | given label | soft labels |
| --- | --- | --- |
"""


@dataclass(frozen=True)
class Rows:
    """Probabilities (n, k), counts (n, k) of annotators and the labels (n,) of the data set."""

    proba: npt.NDArray[np.float64]
    counts: npt.NDArray[np.int64]
    labels: npt.NDArray[np.int64]

    def take(self, rows: Any) -> "Rows":
        """Some of the rows."""
        return Rows(self.proba[rows], self.counts[rows], self.labels[rows])

    @property
    def shares(self) -> npt.NDArray[np.float64]:
        """Distribution of the annotators."""
        found: npt.NDArray[np.float64] = self.counts / self.counts.sum(axis=1, keepdims=True)
        return found


def main() -> None:
    """Write the page."""
    with threadpool_limits(1), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        nli = table(_NLI, list(nli_pairs()), SIZES, N_DRAWS)
        cifar = table(_CIFAR, list(cifar_pairs()), CIFAR_SIZES, CIFAR_DRAWS)
        PAGE.write_text(nli + cifar + imagenet(), encoding="utf-8")


def table(head: str, pairs: list[tuple[Rows, Rows]], sizes: tuple[int, ...], n_draws: int) -> str:
    """Losses of all kinds of labels by the number of rows."""
    uncalibrated = np.mean([log_loss(test.counts, test.proba) for _, test in pairs])
    entropy = np.mean([log_loss(test.counts, test.shares) for _, test in pairs])
    lines, weights = [], []
    for size in sizes:
        losses = []
        for fit, test in pairs:
            for seed in range(n_draws):
                found, weight = measure(fit, test, size, seed)
                losses.append(found)
                weights.append(weight)
        cells = " | ".join(f"{each:.4f}" for each in np.mean(losses, axis=0))
        lines.append(f"| {size} | {cells} |")
        print(lines[-1], flush=True)
    return head.format(uncalibrated, entropy, np.mean(weights)) + "\n".join(lines) + "\n"


def measure(fit: Rows, test: Rows, size: int, seed: int) -> tuple[list[float], float]:
    """Losses with one draw of rows, and the mean effective weight."""
    rng = np.random.default_rng(seed)
    rows = fit.take(rng.permutation(len(fit.labels))[:size])
    classes = range(fit.proba.shape[1])
    one = np.array([rng.choice(len(share), p=share) for share in rows.shares])
    weight = effective_annotators(rows.proba, rows.counts, classes=classes)
    kinds = (one, None), (rows.labels, None), (rows.counts, None), (rows.shares, None)
    losses = []
    for y, w in (*kinds, (rows.shares, weight)):
        fitted = AutoCalibrator(classes=classes).fit(rows.proba, y, sample_weight=w)
        losses.append(log_loss(test.counts, fitted.predict_proba(test.proba), classes=classes))
    return losses, float(weight.mean())


def nli_pairs() -> Iterator[tuple[Rows, Rows]]:
    """Rows to fit and rows to measure of each network."""
    for path in sorted(FOLDER.glob("nli_*.npz")):
        with np.load(path) as stored:
            both = []
            for part in ("val", "test"):
                counts = stored[f"{part}_human_counts"].astype(np.int64)
                proba = softmax(stored[f"{part}_logits"].astype(np.float64), axis=1)
                rows = Rows(proba, counts, stored[f"{part}_labels"])
                both.append(rows.take(counts.sum(axis=1) > 0))
        yield both[0], both[1]


def cifar_pairs() -> Iterator[tuple[Rows, Rows]]:
    """The same of CIFAR-10: halves of the test images."""
    with np.load(FOLDER / "cifar10h_human.npz") as stored:
        counts = stored["counts"]
    for name in CIFAR:
        with np.load(FOLDER / f"cifar10_{name}.npz") as stored:
            key = "probs" if "probs" in stored.files else "logits"
            raw, labels = stored[key].astype(np.float64), stored["labels"]
        proba = raw / raw.sum(axis=1, keepdims=True) if key == "probs" else softmax(raw, axis=1)
        rows = Rows(proba, counts, labels)
        yield rows.take(np.s_[:5000]), rows.take(np.s_[5000:])


def imagenet() -> str:
    """Losses against all labels that fit."""
    with np.load(FOLDER / "imagenet5k_real_labels.npz") as stored:
        real = stored["real_labels"]
    used = np.flatnonzero((real >= 0).any(axis=1))
    targets = np.zeros((len(real), 1000))
    for row, labels in zip(targets, real, strict=True):
        row[labels[labels >= 0]] = 1.0
    targets = targets[used] / targets[used].sum(axis=1, keepdims=True)
    half, classes = len(used) // 2, range(1000)
    losses = []
    for name in ("efficientnet_lite0", "efficientnet_lite1"):
        with np.load(FOLDER / f"imagenet5k_{name}.npz") as stored:
            proba = softmax(stored["logits"][used].astype(np.float64), axis=1)
            labels = stored["labels"][used]
        found = [log_loss(targets[half:], proba[half:])]
        for y in (labels[:half], targets[:half]):
            fitted = TemperatureScaling(classes=classes).fit(proba[:half], y)
            found.append(log_loss(targets[half:], fitted.predict_proba(proba[half:])))
        losses.append(found)
    cells = " | ".join(f"{each:.4f}" for each in np.mean(losses, axis=0))
    return f"{_IMAGENET}| {cells} |\n"


if __name__ == "__main__":
    main()
