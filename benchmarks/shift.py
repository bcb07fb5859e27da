"""What the tools of `dircal.shift` do on real data: `benchmarks/shift.md`.

``DIRCAL_DATA=... python benchmarks/shift.py [demo] [resampled] [monitor] [recalibrate] [groups]``
renews these parts of the page, or all of them.
"""

import os
import re
import sys
import time
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from scipy.optimize import minimize
from scipy.special import log_softmax, softmax

from dircal import (
    AutoCalibrator,
    DirichletCalibrator,
    IdentityCalibrator,
    TemperatureScaling,
)
from dircal.metrics import log_loss
from dircal.shift import CalibrationMonitor, GroupedCalibrator, PriorShift, recalibrate

PAGE = Path(__file__).with_suffix(".md")
DATA = Path(os.environ.get("DIRCAL_DATA", "."))
HEAD = """# After the shift

Written by `benchmarks/shift.py`, which says how. Log-losses are means over rows that no map has
seen; but where a network is cut by imbalance, rows are drawn with replacement, and some of them may
be among those fitted on.
"""
RESAMPLED = (
    "cifar10_resnet20_chenyaofo",
    "cifar10_lenet5_netcal",
    "cifar10_densenet121_devmotion",
    "cifar100_resnet20_chenyaofo",
    "cifar100_wrn16_4_netcal",
)
CUT = (
    "cifar10_resnet20_chenyaofo",
    "cifar10_lenet5_netcal",
    "cifar10_densenet121_devmotion",
    "cifar10_vgg16_bolt",
    "cifar10_wrn16_4_netcal",
    "cifar10_googlenet_devmotion",
    "cifar10_resnet_orig_devmotion",
    "cifar10_mobilenet_v2_devmotion",
    "cifar10_cleanlab_cv",
    "cifar10_humanai_net",
    "eurosat_rgb",
    "paper_c10_convnet",
)
ALPHAS, N_DRAWS, N_ROWS = (0.1, 1.0, 10.0), 50, 2000
N_NEW, N_LEFT = (10, 30, 100, 300, 1000, 3000), 750


def scores_of(name: str) -> tuple[Any, Any]:
    """Log-probabilities and labels of all rows of a network."""
    with np.load(DATA / "networks" / f"{name}.npz") as data:
        parts = ("",) if "labels" in data.files else ("val_", "test_")
        kind = "logits" if f"{parts[0]}logits" in data.files else "probs"
        raw = np.concatenate([data[f"{part}{kind}"] for part in parts]).astype(float)
        y = np.concatenate([data[f"{part}labels"].ravel() for part in parts])
    logits = raw if kind == "logits" else np.log(np.maximum(raw, 1e-12))
    return log_softmax(logits, axis=1), y


def table(head: list[str], rows: list[list[str]]) -> str:
    """A table of Markdown."""
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def bcts(scores: Any, y: Any) -> Callable[[Any], Any]:
    """Bias-corrected temperature scaling (Alexandari et al., 2020), by largest likelihood."""
    k, onehot = scores.shape[1], np.eye(scores.shape[1])[y]

    def objective(params: Any) -> tuple[float, Any]:
        log_proba = log_softmax(params[0] * scores + params[1:], axis=1)
        residual = np.exp(log_proba) - onehot
        gradient = np.append(np.vdot(residual, scores), residual.sum(axis=0))
        return -float((log_proba * onehot).sum()) / len(y), gradient / len(y)

    found = minimize(objective, np.append(1.0, np.zeros(k)), jac=True, method="L-BFGS-B").x
    return lambda new: softmax(found[0] * new + found[1:], axis=1)


def em(proba: Any, old: Any) -> Any:
    """Expectation and maximisation (Saerens et al., 2002)."""
    new = old.copy()
    for _ in range(500):
        posterior = proba * new / old
        last, new = new, (posterior / posterior.sum(axis=1, keepdims=True)).mean(axis=0)
        if np.abs(new - last).max() < 1e-7:
            break
    return new


def shifted(proba: Any, old: Any, new: Any) -> Any:
    """Probabilities with other class frequencies."""
    odds = proba * new / old
    return odds / odds.sum(axis=1, keepdims=True)


def demo() -> str:
    """The demonstration of Alexandari et al.: one network, 97 % of new rows of one class."""
    with np.load(DATA / "streams" / "cifar10_labelshift_demo.npz") as data:
        X, y = data["val_probs"], data["val_labels"]
        X_new, y_new = data["test_probs"], data["test_labels"]
    truth = np.bincount(y_new, minlength=10) / len(y_new)
    old = np.bincount(y, minlength=10) / len(y)
    rows = []
    for name, calibrator in {
        "none": IdentityCalibrator(),
        "temperature": TemperatureScaling(),
        "AutoCalibrator": AutoCalibrator(),
    }.items():
        fitted = calibrator.fit(X, y)
        proba = fitted.predict_proba(X_new)
        by_em = em(proba, old)
        adapted = PriorShift(fitted, old_priors=old).adapt(X_new)
        losses = (proba, shifted(proba, old, by_em), adapted.predict_proba(X_new))
        errors = [f"{np.abs(one - truth).mean():.4f}" for one in (by_em, adapted.priors_)]
        rows.append([name, *(f"{log_loss(y_new, q, classes=range(10)):.4f}" for q in losses)])
        rows[-1] += errors
    head = [
        "calibration",
        "no adaptation",
        "EM",
        "PriorShift",
        "error of EM",
        "error of PriorShift",
    ]
    told = "Log-loss after adaptation, and mean absolute error of the class frequencies. "
    return told + "Wanted: at most 0.017 and 0.005.\n\n" + table(head, rows)


def resampled() -> str:
    """Networks whose test rows are drawn with frequencies from a Dirichlet distribution."""
    rows = []
    for name in RESAMPLED:
        scores, y = scores_of(name)
        k, rng = scores.shape[1], np.random.default_rng(0)
        order = rng.permutation(len(y))
        fit, rest = order[:5000], order[5000:]
        baseline = bcts(scores[fit], y[fit])
        old = baseline(scores[fit]).mean(axis=0)
        auto = AutoCalibrator(input_scale="logit").fit(scores[fit], y[fit])
        share = np.bincount(y[fit], minlength=k) / len(fit)
        shift = PriorShift(auto, old_priors=share)
        by_class = [rest[y[rest] == j] for j in range(k)]
        for alpha in ALPHAS:
            found = []
            for _ in range(N_DRAWS):
                counts = rng.multinomial(N_ROWS, rng.dirichlet(np.full(k, alpha)))
                drawn = np.concatenate([rng.choice(by_class[j], n) for j, n in enumerate(counts)])
                truth = counts / N_ROWS
                proba = baseline(scores[drawn])
                by_em = em(proba, old)
                adapted = shift.adapt(scores[drawn])
                found.append(
                    [
                        log_loss(y[drawn], shifted(proba, old, by_em), classes=range(k)),
                        log_loss(y[drawn], adapted.predict_proba(scores[drawn]), classes=range(k)),
                        np.abs(by_em - truth).sum(),
                        np.abs(adapted.priors_ - truth).sum(),
                    ]
                )
            mean = np.mean(found, axis=0)
            wins = np.mean([one[1] < one[0] for one in found])
            numbers = [f"{one:.4f}" for one in mean]
            rows.append([name, f"{alpha:g}", *numbers, f"{wins:.0%}"])
    overall = np.mean([[float(cell) for cell in row[2:6]] for row in rows], axis=0)
    rows.append(["mean", "", *(f"{one:.4f}" for one in overall), ""])
    head = [
        "network",
        "alpha",
        "log-loss, BCTS + EM",
        "PriorShift",
        "error, BCTS + EM",
        "PriorShift",
    ]
    told = (
        f"{N_DRAWS} draws of {N_ROWS} rows for each alpha; the calibrator is `AutoCalibrator`. "
        "Errors are summed absolute errors of the frequencies, and the last column is how often "
        "the log-loss of `PriorShift` is lower.\n\n"
    )
    return told + table([*head, "lower"], rows)


def monitor() -> str:
    """The card stream with its change, the soccer stream, and the speed."""
    with np.load(DATA / "streams" / "nannyml_card_type.npz") as data:
        X = np.concatenate([data["val_probs"], data["test_probs"]])
        y = np.concatenate([data["val_labels"], data["test_labels"]])
    calibrator = AutoCalibrator().fit(X[:30_000], y[:30_000])
    proba, labels = calibrator.predict_proba(X[30_000:]), y[30_000:]
    watch = CalibrationMonitor(classes=range(3))
    for start in range(0, len(labels), 1000):
        watch.update(proba[start : start + 1000], labels[start : start + 1000])
    [alarm] = watch.alarms_
    # With hindsight: the map that is best for the last third, from which row on it is better.
    late = DirichletCalibrator().fit(proba[60_000:], labels[60_000:]).predict_proba(proba)
    rows = np.arange(len(labels))
    gain = np.cumsum(np.log(late[rows, labels]) - np.log(proba[rows, labels]))
    change = int(gain.argmin()) + 1
    with np.load(DATA / "streams" / "soccer_spi_2016_2019.npz") as data:
        soccer, results = data["probs"], data["labels"]
    possible = soccer.min(axis=1) > 0
    all_rows = CalibrationMonitor(classes=range(3)).update(soccer, results)
    without = CalibrationMonitor(classes=range(3)).update(soccer[possible], results[possible])
    lines = [
        f"- Card stream: alarm at row {alarm.row:,}, told to have begun at row {alarm.began:,}. By "
        f"likelihood, with hindsight, the change is at row {change:,}: the alarm is "
        f"{alarm.row - change:,} rows behind it (wanted: 5,000).",
        f"- Soccer stream: alarm at row {all_rows.alarms_[0].row:,}, with "
        f"{all_rows.alarms_[0].impossible} labels since the beginning that had been given no "
        f"probability. Without the {int((~possible).sum())} rows with a probability of zero: "
        f"{'an alarm' if without.alarm_ else 'no alarm'}, and an e-value of "
        f"{without.e_value_:.2f} at the end.",
        *(_speed(k) for k in (3, 10)),
    ]
    return "\n".join(lines)


def _speed(k: int) -> str:
    rng = np.random.default_rng(0)
    p = rng.dirichlet(np.ones(k), 100_000)
    y = (p.cumsum(axis=1) > rng.random((len(p), 1))).argmax(axis=1)
    watch = CalibrationMonitor(classes=range(k))
    began, used = time.perf_counter(), time.process_time()
    for start in range(0, len(y), 1000):
        watch.update(p[start : start + 1000], y[start : start + 1000])
    wall, used = time.perf_counter() - began, time.process_time() - used
    return (
        f"- k = {k}, batches of 1000: {len(y) / used:,.0f} rows per second of processor time, "
        f"{len(y) / wall:,.0f} by the clock of a busy machine (wanted at k = 10: 50,000)."
    )


def cuts(scores: Any, y: Any, rng: Any) -> Iterator[tuple[str, Any, Any]]:
    """Rows as they are, with noise in the logits, and with other class frequencies."""
    yield "none", scores, y
    yield "noise", scores + rng.normal(scale=0.5 * scores.std(), size=scores.shape), y
    share = rng.dirichlet(np.ones(scores.shape[1]))[y]
    drawn = rng.choice(len(y), len(y), p=share / share.sum())
    yield "imbalance", scores[drawn], y[drawn]


def recalibration() -> str:
    """Old, fresh and recalibrated maps of networks that were cut."""
    regrets: dict[tuple[str, int], list[float]] = {}
    against: dict[tuple[str, int], list[list[float]]] = {}
    for name in CUT:
        scores, y = scores_of(name)
        k, rng = scores.shape[1], np.random.default_rng(0)
        order = rng.permutation(len(y))
        fit, rest = order[: len(y) // 2], order[len(y) // 2 :]
        old = AutoCalibrator(input_scale="logit").fit(scores[fit], y[fit])
        for cut, new, labels in cuts(scores[rest], y[rest], rng):
            n_most = min(N_NEW[-1], len(labels) - N_LEFT)
            test, truth = new[n_most:], labels[n_most:]
            for n in N_NEW:
                if n > n_most:
                    continue
                fresh = AutoCalibrator(input_scale="logit", classes=range(k))
                fresh.fit(new[:n], labels[:n])
                moved = recalibrate(old, new[:n], labels[:n])
                losses = [
                    log_loss(truth, one.predict_proba(test), classes=range(k))
                    for one in (old, fresh, moved)
                ]
                best = min(losses[:2])
                regrets.setdefault((cut, n), []).append(losses[2] / best - 1.0)
                against.setdefault((cut, n), []).append([one / best - 1.0 for one in losses[:2]])
    rows = []
    for (cut, n), found in regrets.items():
        others = np.mean(against[cut, n], axis=0)
        numbers = [others[0], others[1], np.mean(found), np.max(found)]
        rows.append([cut, str(n), *(f"{100 * one:+.2f} %" for one in numbers)])
    every = [one for found in regrets.values() for one in found]
    both = np.mean([one for found in against.values() for one in found], axis=0)
    total = [*both, np.mean(every), np.max(every)]
    rows.append(["all", "", *(f"{100 * one:+.2f} %" for one in total)])
    head = ["cut", "new labels", "old", "fresh", "recalibrate", "its worst"]
    told = (
        f"Regret: by how much the log-loss is larger than that of the better of old and fresh, "
        f"which nobody knows beforehand, in the mean of {len(CUT)} networks, on {N_LEFT} to 2000 "
        "rows that follow the new ones. Wanted: at most 1 %.\n\n"
    )
    return told + table(head, rows)


def groups() -> str:
    """Soccer leagues and prompts of language models, in three folds."""
    with np.load(DATA / "streams" / "soccer_spi_2016_2019.npz") as data:
        soccer = data["probs"].astype(float), data["labels"], data["league"]
    with np.load(DATA / "llm" / "emotion4.npz") as data:
        logits, y = data["logits"][:, :, :4].astype(float), data["labels"]
    problems = {"37 soccer leagues": soccer}
    for n in (50, 200):
        rng = np.random.default_rng(0)
        picked = [rng.choice(len(y), n, replace=False) for _ in logits]
        X = np.concatenate([softmax(one[i], axis=1) for one, i in zip(logits, picked, strict=True)])
        prompt = np.repeat(np.arange(len(logits)), n)
        problems[f"25 prompts, {n} rows each"] = X, y[np.concatenate(picked)], prompt
    rows = [[name, *_compare_groups(*problem)] for name, problem in problems.items()]
    return table(["groups", "no map", "one map", "separate maps", "GroupedCalibrator"], rows)


def _compare_groups(X: Any, y: Any, of: Any) -> list[str]:
    X = X / X.sum(axis=1, keepdims=True)
    fold = np.random.default_rng(0).integers(0, 3, len(y))
    k = X.shape[1]
    proba = np.empty((3, *X.shape))
    for i in range(3):
        fit, test = fold != i, fold == i
        grouped = GroupedCalibrator(AutoCalibrator(classes=range(k)))
        grouped.fit(X[fit], y[fit], groups=of[fit])
        proba[0, test] = grouped.calibrator_.predict_proba(X[test])
        proba[2, test] = grouped.predict_proba(X[test], groups=of[test])
        for group in np.unique(of[test]):
            own, new = fit & (of == group), test & (of == group)
            alone = AutoCalibrator(classes=range(k)).fit(X[own], y[own])
            proba[1, new] = alone.predict_proba(X[new])
    return [f"{log_loss(y, one, classes=range(k)):.4f}" for one in (X, *proba)]


PARTS = {
    "demo": ("Label shift: the demonstration", demo),
    "resampled": ("Label shift: resampled networks", resampled),
    "monitor": ("The monitor", monitor),
    "recalibrate": ("A few new labels", recalibration),
    "groups": ("Groups", groups),
}


def main(names: list[str]) -> None:
    """Renew some parts of the page."""
    warnings.simplefilter("ignore")
    for name in names or list(PARTS):
        title, make = PARTS[name]
        made = make()
        text = PAGE.read_text(encoding="utf-8") if PAGE.exists() else ""
        parts = dict(re.findall(r"^## (.*?)\n(.*?)(?=^## |\Z)", text, re.M | re.S))
        parts[title] = f"\n{made}\n"
        order = [title for title, _ in PARTS.values() if title in parts]
        body = "\n\n".join(f"## {one}\n\n{parts[one].strip()}" for one in order)
        PAGE.write_text(f"{HEAD}\n{body}\n", encoding="utf-8")
        print(f"{name} done")


if __name__ == "__main__":
    main(sys.argv[1:])
