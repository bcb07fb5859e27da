"""Forests whose exact zeros meet a rare class: the learned clip does not flatten the map."""

import numpy as np
from sklearn.datasets import make_classification
from sklearn.ensemble import RandomForestClassifier
from sklearn.model_selection import cross_val_predict

from dircal import AutoCalibrator, TemperatureScaling
from dircal.metrics import log_loss

N, NEW, FORESTS = 1200, 20_000, 12


def test_auto_is_no_worse_than_temperature_scaling(record):
    changes = []
    for seed in range(FORESTS):
        X, y = make_classification(
            N + NEW, 20, n_informative=6, weights=[0.98], flip_y=0.01, random_state=seed
        )
        forest = RandomForestClassifier(100, random_state=seed)
        before = cross_val_predict(forest, X[:N], y[:N], cv=5, method="predict_proba")
        after = forest.fit(X[:N], y[:N]).predict_proba(X[N:])
        auto, temperature = (
            log_loss(y[N:], each.fit(before, y[:N]).predict_proba(after))
            for each in (AutoCalibrator(), TemperatureScaling())
        )
        changes.append(auto / temperature - 1.0)
    mean, worst = float(np.mean(changes)), float(np.max(changes))
    claim = f"log-loss by temperature scaling, {FORESTS} forests, about 2 % positives"
    record(f"{claim}, mean", f"{mean:+.1%}", "at most 0%")
    record(f"{claim}, worst", f"{worst:+.1%}", "at most +5%")
    assert mean <= 0.0
    assert worst <= 0.05
