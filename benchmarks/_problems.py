"""What the benchmarks calibrate: outputs of real networks where present, else generated ones."""

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias, TypedDict

import numpy as np
import numpy.typing as npt

__all__ = [
    "FloatArray",
    "Problem",
    "all_networks",
    "generate",
    "mean_log_loss",
    "problems",
    "usual_strengths",
]

FloatArray: TypeAlias = npt.NDArray[np.float64]
LabelArray: TypeAlias = npt.NDArray[np.int64]

# Networks by number of classes; the first one has logits wherever there is a choice.
_NETWORKS = {
    2: ("imdb_cleanlab_cv_half1",),
    10: ("cifar10_vgg16_bolt", "cifar10_resnet110_netlearn"),
    100: ("cifar100_vgg16_bolt", "cifar100_wrn16_4_netcal"),
    1000: ("imagenet5k_efficientnet_lite0",),
}
_SEED = 0
_N_SAMPLES = 5000
# How much too large the generated logits are.
_OVERCONFIDENCE = 1.7
# Share of the logit of each even class that belongs to the odd one after it.
_CONFUSION = 0.3


@dataclass(frozen=True)
class Problem:
    """Outputs of a classifier with the true classes.

    ``proba`` (n, k) are float64 and sum to one; ``logits`` (n, k) are those of the network, or
    None where its file has probabilities only; ``labels`` (n,) are 0..k-1.
    """

    name: str
    proba: FloatArray
    logits: FloatArray | None
    labels: LabelArray

    @property
    def n_classes(self) -> int:
        """Number of classes k."""
        return int(self.proba.shape[1])


def problems(n_classes: int) -> list[Problem]:
    """Real networks with so many classes, 5000 rows each; one generated problem if none is here."""
    files = {path.stem: path for path in _files()}
    found = [_read(files[name]) for name in _NETWORKS[n_classes] if name in files]
    real = [problem for problem in found if problem is not None]
    return real or [generate(_N_SAMPLES, n_classes)]


def all_networks() -> Iterator[Problem]:
    """Every file of the folder that has an output for each class, one after another."""
    for path in _files():
        problem = _read(path)
        if problem is not None:
            yield problem


def generate(n_samples: int, n_classes: int, part: int = 0) -> Problem:
    """Overconfident logits with class bias and confusion of classes in pairs.

    The labels are drawn from the softmax of W z + b, with z the logits that the calibrator sees,
    so that the right answer is a Dirichlet map: W shrinks everything and moves mass from each even
    class to the odd one after it, b favours some classes. Another ``part`` has other rows of the
    same map.
    """
    bias = np.random.default_rng(_SEED).normal(scale=0.3, size=n_classes)
    rng = np.random.default_rng([_SEED, part])
    centres = rng.integers(n_classes, size=n_samples)
    logits = rng.normal(size=(n_samples, n_classes))
    logits[np.arange(n_samples), centres] += 2.0 + np.log(n_classes)
    honest = logits + bias
    n_pairs = n_classes // 2
    honest[:, 1 : 2 * n_pairs : 2] += _CONFUSION * logits[:, 0 : 2 * n_pairs : 2]
    honest += rng.gumbel(size=honest.shape)
    labels = honest.argmax(axis=1)
    logits *= _OVERCONFIDENCE
    return Problem(f"generated k={n_classes}", _softmax(logits), logits, labels)


class Strengths(TypedDict):
    """Of ODIR, in the units of the paper's formula."""

    lam: float
    mu: float


def usual_strengths(n_samples: int, n_classes: int, factor: float = 1.0) -> Strengths:
    """Strengths of ODIR that are a fixed prior, for fits in which nothing is learned."""
    pairs = n_classes * (n_classes - 1)
    return {"lam": factor * pairs**2 / n_samples, "mu": factor * n_classes**2 / n_samples}


def mean_log_loss(logits: FloatArray, labels: LabelArray) -> float:
    """Mean of minus the logarithm of the softmax at the true class."""
    top = logits.max(axis=1)
    picked = logits[np.arange(len(labels)), labels]
    return float(np.mean(np.log(np.exp(logits - top[:, None]).sum(axis=1)) + top - picked))


def _softmax(logits: FloatArray) -> FloatArray:
    """Softmax of each row."""
    proba: FloatArray = np.exp(logits - logits.max(axis=1, keepdims=True))
    proba /= proba.sum(axis=1, keepdims=True)
    return proba


def _files() -> list[Path]:
    """Files of networks, in order; none where nobody has named the folder of the data."""
    given = os.environ.get("DIRCAL_DATA")
    return sorted((Path(given) / "networks").glob("*.npz")) if given else []


def _read(path: Path) -> Problem | None:
    """The validation part of a file, shuffled (some are sorted by class) and cut to 5000 rows."""
    with np.load(path, allow_pickle=False) as file:
        part = "val_" if "val_labels" in file else ""
        kind = next((key for key in ("logits", "probs") if part + key in file), None)
        if kind is None or file[part + kind].ndim != 2:
            return None
        outputs, labels = file[part + kind], file[part + "labels"]
    order = np.random.default_rng(_SEED).permutation(len(labels))[:_N_SAMPLES]
    return _as_problem(path.stem, kind, outputs[order].astype(np.float64), labels[order])


def _as_problem(name: str, kind: str, outputs: FloatArray, labels: npt.NDArray[Any]) -> Problem:
    labels = labels.astype(np.int64)
    if kind == "logits":
        return Problem(name, _softmax(outputs), outputs, labels)
    return Problem(name, outputs / outputs.sum(axis=1, keepdims=True), None, labels)
