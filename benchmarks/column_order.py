"""How often columns in another order are noticed, and how often wrongly.

Draws rows of every network and of every pair of UCI data and classifier, as they are and with their
columns shuffled, reversed or two of them swapped; prints the rates and renews their table in
``docs/guide/columns_and_labels.md``. About fifteen minutes. Run it from the root of a checkout:
``DIRCAL_DATA=... PYTHONPATH=. python benchmarks/column_order.py``.
"""

import re
import sys
import warnings
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt
from experiments._shared.data import data_folders
from experiments.uci._classifiers import CLASSIFIERS
from experiments.uci._data import DATASETS, load
from sklearn.base import clone
from threadpoolctl import threadpool_limits

from dircal._core.stats.column_order import better_order

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.intp]

_PAGE = Path(__file__).resolve().parents[1] / "docs" / "guide" / "columns_and_labels.md"
_SIZES = (50, 200, 1000)
_DRAWS = 10
_ALL = "all"
# Rows of a UCI dataset: half of them train the classifier.
_MOST_ROWS = 4000
# Labels with fewer rows cannot show that they were swapped.
_ENOUGH = 15
_AS_GIVEN = "as they are (false alarms)"
_SHUFFLED = "shuffled"
_REVERSED = "reversed"
_SWAPPED = "two of them swapped"
_SWAPPED_LARGE = f"two with {_ENOUGH} rows or more swapped"


@dataclass(frozen=True)
class Outputs:
    """Scores (n, k) of a classifier and labels 0..k-1."""

    group: str
    name: str
    scores: FloatArray
    labels: IntArray
    is_probability: bool


def networks() -> Iterator[Outputs]:
    """Every part of every file."""
    for path in sorted(path for one in data_folders("networks") for path in one.glob("*.npz")):
        with np.load(path) as stored:
            for part in ("", "val_", "test_"):
                for kind in ("logits", "probs"):
                    if part + kind in stored and stored[part + kind].ndim == 2:
                        scores = stored[part + kind].astype(np.float64)
                        labels = stored[f"{part}labels"].astype(np.intp)
                        name = f"{path.stem} {part}".strip(" _")
                        yield Outputs("networks", name, scores, labels, kind == "probs")


def uci_pairs() -> Iterator[Outputs]:
    """Every dataset with every classifier, trained on one half of the rows."""
    for dataset in DATASETS:
        data = load(dataset)
        n = min(len(data.y), _MOST_ROWS) // 2
        X, y = data.X[:n], data.y[:n]
        for name, classifier in CLASSIFIERS.items():
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                try:
                    trained = clone(classifier).fit(X, y)
                    proba = trained.predict_proba(data.X[n : 2 * n])
                except ValueError:  # too few rows of a class for some classifiers
                    continue
            whole = np.zeros((n, int(data.y.max()) + 1))
            whole[:, trained.classes_] = proba
            yield Outputs("UCI pairs", f"{dataset}/{name}", whole, data.y[n : 2 * n], True)


def orders(rng: np.random.Generator, labels: IntArray, k: int) -> Iterator[tuple[str, IntArray]]:
    """Orders of columns to try on rows."""
    yield _AS_GIVEN, np.arange(k)
    yield _SHUFFLED, rng.permutation(k)
    yield _REVERSED, np.arange(k)[::-1]
    counts = np.bincount(labels, minlength=k)
    for kind, among in (
        (_SWAPPED, np.arange(k)),
        (_SWAPPED_LARGE, np.flatnonzero(counts >= _ENOUGH)),
    ):
        if len(among) >= 2:
            a, b = rng.choice(among, 2, replace=False)
            order = np.arange(k)
            order[[a, b]] = b, a
            yield kind, order


def main() -> None:
    """Count, print, and write down."""
    rng = np.random.default_rng(0)
    found: dict[tuple[str, str, object], list[bool]] = defaultdict(list)
    members: dict[str, int] = defaultdict(int)
    with threadpool_limits(1):
        for source in (networks(), uci_pairs()):
            for one in source:
                members[one.group] += 1
                if sys.stderr.isatty():
                    print(f"\r{one.group}: {one.name:60s}", end="", file=sys.stderr, flush=True)
                for size, draws in (*((n, _DRAWS) for n in _SIZES), (_ALL, 1)):
                    for _ in range(
                        draws if size == _ALL or int(str(size)) <= len(one.labels) else 0
                    ):
                        try_out(rng, one, size, found)
    table = as_table(found, members)
    print(table)
    begin, end = "<!-- column order: begin -->", "<!-- column order: end -->"
    text = _PAGE.read_text(encoding="utf-8")
    renewed = re.sub(f"{begin}.*{end}", f"{begin}\n{table}\n{end}", text, flags=re.S)
    _PAGE.write_text(renewed, encoding="utf-8")


def try_out(
    rng: np.random.Generator,
    one: Outputs,
    size: object,
    found: dict[tuple[str, str, object], list[bool]],
) -> None:
    """One draw of rows, in every order."""
    n = len(one.labels) if size == _ALL else int(str(size))
    rows = rng.permutation(len(one.labels))[:n]
    labels, k = one.labels[rows], one.scores.shape[1]
    for kind, order in orders(rng, labels, k):
        if kind != _AS_GIVEN and (order == np.arange(k)).all():
            continue
        scores = one.scores[rows][:, order]
        better = better_order(scores.__getitem__, labels, k, is_probability=one.is_probability)
        found[one.group, kind, size].append(better is not None)
        if kind == _AS_GIVEN and better is not None:
            print(f"\nfalse alarm: {one.group} {one.name}, {size} rows: {better}", file=sys.stderr)


def as_table(found: dict[tuple[str, str, object], list[bool]], members: dict[str, int]) -> str:
    """Share of draws with a warning."""
    sizes = [*_SIZES, _ALL]
    heads = [f"{size} rows" for size in sizes]
    lines = [f"| columns | outputs of | {' | '.join(heads)} |", "| --- " * (len(sizes) + 2) + "|"]
    for kind in (_AS_GIVEN, _SHUFFLED, _REVERSED, _SWAPPED, _SWAPPED_LARGE):
        for group, n in members.items():
            cells = []
            for size in sizes:
                alarms = found.get((group, kind, size), [])
                share = f"{100 * np.mean(alarms):.0f} %" if alarms else ""
                counts = f"{sum(alarms)} of {len(alarms):,}"
                cells.append(counts if kind == _AS_GIVEN and alarms else share)
            lines.append(f"| {kind} | {n} {group} | {' | '.join(cells)} |")
    return "\n".join(lines)


if __name__ == "__main__":
    main()
