"""Whether costs come as foretold, and risks stay below their bounds: ``decisions.md``.

Rows of six real networks are dealt at random, again and again: some to fit the default map on,
some to make a rule of rejection with, the rest to decide on. Run it from the root of the checkout,
``PYTHONPATH=. python benchmarks/decisions.py``, with ``DIRCAL_DATA`` set.
"""

from pathlib import Path

import numpy as np
import numpy.typing as npt
from _quality_tasks import NETWORKS, Task, tasks
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
N_FIT = N_TEST = N_RULE = 1000
N_DEALS = 200
MAX_RISK = 0.05
PAGE = Path(__file__).resolve().parent / "decisions.md"
_HEAD = f"""# Decisions: are costs as foretold, and risks below their bounds?

{N_DEALS} deals of {N_FIT} rows to fit `AutoCalibrator` on, {N_TEST} to decide on and {N_RULE} to
make a rule with, of each network; written by `benchmarks/decisions.py`. Costs of errors differ from
class to class (drawn once), and asking costs a fifth of their mean. *Foretold*: the cost of the
{N_TEST} rows is inside the 95 % interval of `expected_cost`. *Exceeded*: the errors among all rows
that a rule of at most {100 * MAX_RISK:g} % keeps are more than that; 5 % of the rules may be so.

| network | foretold | without `n_fitted` | uncalibrated | saved | exceeded | kept | kept, before |
| --- | --- | --- | --- | --- | --- | --- | --- |"""


def main() -> None:
    """Print and write the table."""
    lines = [_HEAD]
    with threadpool_limits(1):
        for task in tasks():
            if task.kind == NETWORKS and task.name in SOURCES:
                lines.append(measure(task))
                print(lines[-1], flush=True)
    PAGE.write_text("\n".join(lines) + "\n", encoding="utf-8")


def measure(task: Task) -> str:
    """One line of the table."""
    proba = np.concatenate([task.fit_proba, task.test_proba])
    labels = np.concatenate([task.fit_labels, task.test_labels])
    k = proba.shape[1]
    drawn = np.random.default_rng(0).lognormal(size=(k, k))
    np.fill_diagonal(drawn, 0.0)
    ask = 0.2 * float(drawn.sum()) / (k * (k - 1))
    costs = CostTable.from_matrix(drawn, classes=range(k)).with_question(ask)
    found = np.array([_deal(proba, labels, costs, seed) for seed in range(N_DEALS)])
    foretold, alone, raw, saved, exceeded, kept, kept_raw = found.mean(axis=0)
    shares = (foretold, alone, raw, saved, exceeded, kept, kept_raw)
    return f"| {task.name} | " + " | ".join(f"{100 * each:.1f} %" for each in shares) + " |"


def _deal(
    proba: npt.NDArray[np.float64], labels: npt.NDArray[np.int64], costs: CostTable, seed: int
) -> tuple[float, ...]:
    """What came of one deal; the numbers of the table are means of these."""
    k = proba.shape[1]
    order = np.random.default_rng(seed).permutation(len(labels))
    fit, test, rule, rest = np.split(order, np.cumsum([N_FIT, N_TEST, N_RULE]))
    auto = AutoCalibrator(classes=range(k)).fit(proba[fit], labels[fit])
    after = auto.predict_proba(proba)
    paid = realised_cost(labels[test], after[test], costs).mean
    foretold = expected_cost(after[test], costs, n_fitted=N_FIT)
    alone = expected_cost(after[test], costs)
    raw = expected_cost(proba[test], costs, n_fitted=N_FIT)
    paid_raw = realised_cost(labels[test], proba[test], costs).mean
    saved = savings(labels[test], proba[test], after[test], costs)
    keep = rejection_rule(labels[rule], after[rule], max_risk=MAX_RISK, classes=range(k))
    raw_keep = rejection_rule(labels[rule], proba[rule], max_risk=MAX_RISK, classes=range(k))
    kept = keep.keeps(after[rest])
    wrong = after[rest].argmax(axis=1) != labels[rest]
    return (
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
