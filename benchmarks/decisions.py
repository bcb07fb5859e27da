"""Whether costs come as foretold, and risks stay below their bounds: ``decisions.md``.

Rows of six real networks are dealt at random, again and again: some to fit the default map on, and
blocks of others to decide on and to make rules of rejection with. Run it from the root of the
checkout, ``PYTHONPATH=. python benchmarks/decisions.py``, with ``DIRCAL_DATA`` set.
"""

from pathlib import Path

import numpy as np
import numpy.typing as npt
from _quality_tasks import NETWORKS, Task, networks
from scipy.special import ndtri
from threadpoolctl import threadpool_limits

from dircal import AutoCalibrator
from dircal.decide import CostTable, expected_cost, realised_cost, rejection_rule, savings

SOURCES = (
    "cifar10_lenet5_netcal",
    "cifar10_resnet110_netlearn",
    "cifar10_vgg16_bolt",
    "cifar10n_worst_efficientnetb1",
    "eurosat_rgb",
    "nli_mnli_robertabase_s0",
)
N_FIT = N_TEST = 1000
N_FITS, N_BLOCKS = 200, 5
MOST_ROWS = 10_000
MAX_RISK = 0.05
PAGE = Path(__file__).resolve().parent / "decisions.md"
_HEAD = f"""# Decisions: are costs as foretold, and risks below their bounds?

{N_FITS * N_BLOCKS} resamplings of each network: {N_FITS} draws of {N_FIT} rows to fit
`AutoCalibrator` on (seeds 0 to {N_FITS - 1}), and for each {N_BLOCKS} disjoint blocks of {N_TEST}
of the other rows, to decide on and to make a rule with; written by `benchmarks/decisions.py`. Costs
of errors differ from class to class (drawn once), and asking costs a fifth of their mean.
*Foretold*: the cost of a block is inside the 95 % interval of `expected_cost`. *Off* and *spread*
are the mean and the standard deviation of what was foretold minus what was paid, in the standard
deviations of that interval: 0 and 1 where the interval is right; *exact map* is the share that is
foretold without `n_fitted`, as if there were no doubt about the map. *Exceeded*: of the rows that
are neither in the fit nor in the block, a rule of at most {100 * MAX_RISK:g} % errors keeps a part
with more than that; 5 % of the rules may be so, and one that keeps nothing never is.

Rows are drawn without replacement from at most {MOST_ROWS:,}, and the blocks of a draw have its map
in common, so the resamplings of a network are not independent. Why an interval is too wide or too
narrow for a network was not measured.

| network | foretold | off | spread | exact map | uncalibrated | saved | exceeded | kept | before |
| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |"""
# Half the width of an interval at 95 %, in standard deviations.
_HALF_WIDTH = float(ndtri(0.975))


def main() -> None:
    """Print and write the table."""
    lines = [_HEAD]
    with threadpool_limits(1):
        for task in networks():
            if task.kind == NETWORKS and task.name in SOURCES:
                lines.append(measure(task))
                print(lines[-1], flush=True)
    PAGE.write_text("\n".join(lines) + "\n", encoding="utf-8")


def measure(task: Task) -> str:
    """One line of the table."""
    proba = np.concatenate([task.fit_proba, task.test_proba])[:MOST_ROWS]
    labels = np.concatenate([task.fit_labels, task.test_labels])[:MOST_ROWS]
    k = proba.shape[1]
    drawn = np.random.default_rng(0).lognormal(size=(k, k))
    np.fill_diagonal(drawn, 0.0)
    ask = 0.2 * float(drawn.sum()) / (k * (k - 1))
    costs = CostTable.from_matrix(drawn, classes=range(k)).with_question(ask)
    deals = [block for seed in range(N_FITS) for block in _deal(proba, labels, costs, seed)]
    found = np.array(deals)
    off, *others = found.mean(axis=0)
    foretold, *shares = (f"{100 * each:.1f} %" for each in others)
    cells = [task.name, foretold, f"{off:.2f}", f"{found[:, 0].std():.2f}", *shares]
    return f"| {' | '.join(cells)} |"


def _deal(
    proba: npt.NDArray[np.float64], labels: npt.NDArray[np.int64], costs: CostTable, seed: int
) -> list[tuple[float, ...]]:
    """What came of the blocks of one fit; the numbers of the table are means of these."""
    order = np.random.default_rng(seed).permutation(len(labels))
    fit, others = order[:N_FIT], order[N_FIT:]
    auto = AutoCalibrator(classes=range(proba.shape[1])).fit(proba[fit], labels[fit])
    raw, after, y = proba[others], auto.predict_proba(proba[others]), labels[others]
    blocks = [slice(i * N_TEST, (i + 1) * N_TEST) for i in range(N_BLOCKS)]
    return [_block(raw, after, y, costs, block) for block in blocks]


def _block(
    proba: npt.NDArray[np.float64],
    after: npt.NDArray[np.float64],
    labels: npt.NDArray[np.int64],
    costs: CostTable,
    test: slice,
) -> tuple[float, ...]:
    """What came of decisions on one block, and of a rule made with it."""
    classes = range(proba.shape[1])
    paid = realised_cost(labels[test], after[test], costs).mean
    foretold = expected_cost(after[test], costs, n_fitted=N_FIT)
    alone = expected_cost(after[test], costs)
    raw = expected_cost(proba[test], costs, n_fitted=N_FIT)
    paid_raw = realised_cost(labels[test], proba[test], costs).mean
    saved = savings(labels[test], proba[test], after[test], costs)
    keep = rejection_rule(labels[test], after[test], max_risk=MAX_RISK, classes=classes)
    raw_keep = rejection_rule(labels[test], proba[test], max_risk=MAX_RISK, classes=classes)
    rest = np.delete(np.arange(len(labels)), test)
    kept = keep.keeps(after[rest])
    wrong = after[rest].argmax(axis=1) != labels[rest]
    return (
        _HALF_WIDTH * 2.0 * (foretold.mean - paid) / (foretold.high - foretold.low),
        foretold.low <= paid <= foretold.high,
        alone.low <= paid <= alone.high,
        raw.low <= paid_raw <= raw.high,
        saved.saved / saved.before,
        bool(kept.any()) and wrong[kept].mean() > MAX_RISK,
        kept.mean(),
        raw_keep.keeps(proba[rest]).mean(),
    )


if __name__ == "__main__":
    main()
