"""Table S4 of the paper, naive Bayes: our log-losses beside the printed ones.

    python experiments/uci/naive_bayes.py [--repetitions 5] [--datasets iris car ...]

Writes ``results/naive_bayes.csv`` as it goes, one row for each dataset and method, and goes on
where it was stopped. Prints the table, and on how many datasets the two agree.
"""

import argparse
import csv
import time
import warnings
from pathlib import Path

import joblib
import numpy as np
from _data import find_folder, load
from _protocol import cells, log_losses
from sklearn.naive_bayes import GaussianNB

HERE = Path(__file__).parent
RESULTS = HERE / "results" / "naive_bayes.csv"
PRINTED = HERE / "expected" / "naive_bayes_logloss.csv"
COLUMNS = ("dataset", "method", "repetitions", "log_loss")
# What is asked of the agreement: method, allowed difference, and on how many datasets.
CLAIMS = (("WidB", 0.03, False, 18), ("Uncal", 0.08, True, 19), ("DirL2", 0.04, False, 16))


def main() -> None:
    """Run what is missing, then compare."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repetitions", type=int, default=5)
    parser.add_argument("--datasets", nargs="*", default=sorted(read(PRINTED)))
    parser.add_argument("--jobs", type=int, default=2)
    options = parser.parse_args()
    find_folder()
    for name in options.datasets:
        done = {key: row for key, row in read_results().items() if row[0] == options.repetitions}
        if any(key[0] == name for key in done):
            continue
        began = time.perf_counter()
        means = run(name, options.repetitions, options.jobs)
        append(name, options.repetitions, means)
        print(f"{name}: {time.perf_counter() - began:.0f} s", flush=True)
    compare()


def run(name: str, n_repetitions: int, n_jobs: int) -> dict[str, float]:
    """Mean log-loss of every method over all test folds of one dataset."""
    dataset = load(name)
    jobs = (joblib.delayed(quietly)(dataset, cell) for cell in cells(dataset, n_repetitions))
    losses = list(joblib.Parallel(n_jobs=n_jobs)(jobs))
    return {method: float(np.mean([loss[method] for loss in losses])) for method in losses[0]}


def quietly(dataset, cell):  # type: ignore[no-untyped-def]
    """One cell; optima at infinity and edges of grids are no news here."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return log_losses(dataset, GaussianNB(), cell)


def append(name: str, n_repetitions: int, means: dict[str, float]) -> None:
    """Rewrite the results with those of one more dataset, never half of it."""
    rows: list[list[object]] = [
        [*key, *row] for key, row in read_results().items() if key[0] != name
    ]
    rows += [[name, method, n_repetitions, f"{loss:.6f}"] for method, loss in means.items()]
    rows.sort(key=lambda row: (str(row[0]), str(row[1])))
    RESULTS.parent.mkdir(exist_ok=True)
    temporary = RESULTS.with_suffix(".tmp")
    with temporary.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(COLUMNS)
        writer.writerows(rows)
    temporary.replace(RESULTS)


def read_results() -> dict[tuple[str, str], tuple[int, float]]:
    """What has been run: (dataset, method) to (repetitions, log-loss)."""
    if not RESULTS.exists():
        return {}
    with RESULTS.open(newline="") as file:
        return {
            (row["dataset"], row["method"]): (int(row["repetitions"]), float(row["log_loss"]))
            for row in csv.DictReader(file)
        }


def read(path: Path) -> dict[str, dict[str, float]]:
    """The printed log-losses, by dataset and method."""
    printed: dict[str, dict[str, float]] = {}
    with path.open(newline="") as file:
        for row in csv.DictReader(file):
            printed.setdefault(row["dataset"], {})[row["calibrator"]] = float(row["logloss"])
    return printed


def compare() -> None:
    """Print ours beside theirs, and count where they agree."""
    printed, results = read(PRINTED), read_results()
    datasets = [name for name in printed if (name, "Uncal") in results]
    methods = list(next(iter(printed.values())))
    print("\nMean log-loss, ours / printed\n")
    print(f"{'':20}" + "".join(f"{method:>14}" for method in methods))
    for name in datasets:
        cells_ = [f"{results[name, m][1]:6.2f} /{printed[name][m]:5.2f}" for m in methods]
        print(f"{name:20}" + "".join(f"{cell:>14}" for cell in cells_))
    print()
    for method, allowed, relative, needed in CLAIMS:
        gaps = [abs(results[name, method][1] - printed[name][method]) for name in datasets]
        if relative:
            gaps = [gap / printed[name][method] for gap, name in zip(gaps, datasets, strict=True)]
        # The printed numbers have two decimals; half a unit of the last is no difference.
        agree = sum(gap <= allowed + (0.0 if relative else 0.005) for gap in gaps)
        within = f"{allowed:.0%}" if relative else f"{allowed} (and rounding)"
        print(f"{method}: within {within} on {agree} of {len(datasets)}; asked for {needed} of 20")


if __name__ == "__main__":
    main()
