"""Writes ``other_libraries.csv``: what relplot and uncertainty-calibration say of the test vectors.

Run once, with both installed: ``pip install relplot==1.0.3 uncertainty-calibration==0.1.4``, then
``python tests/golden/other_libraries.py``. The test that reads the numbers needs neither.
"""

import csv
from pathlib import Path

import numpy as np

HERE = Path(__file__).parent
BANDWIDTHS = (0.02, 0.05, 0.1)
N_BINS = 15


def curves():
    """Probability and event of the confidence and of each class, for the test vectors."""
    i, j = np.arange(240)[:, None], np.arange(4)
    z = 2 * np.sin(1.3 * i + 2.1 * j) + 0.7 * np.cos(0.37 * i * (j + 1))
    t = 43758.5453 * np.sin(12.9898 * (i + 1) + 78.233 * (j + 1))
    u = (t - np.floor(t)).clip(1e-6, 1 - 1e-6)
    y = (0.6 * z + 0.4 * (j == 1) - np.log(-np.log(u))).argmax(axis=1)
    proba = np.exp(z) / np.exp(z).sum(axis=1, keepdims=True)
    yield "confidence", proba.max(axis=1), (proba.argmax(axis=1) == y).astype(float)
    for label in range(4):
        yield f"class {label}", proba[:, label], (y == label).astype(float)


def main():
    import calibration
    import relplot

    rows = []
    for name, p, outcomes in curves():
        for width in BANDWIDTHS:
            value = relplot.smECE_sigma(p, outcomes, width)
            rows.append((f"relplot smECE_sigma {width}", name, value))
        rows.append(("relplot smECE", name, relplot.smECE(p, outcomes)))
        edges = [(b + 1) / N_BINS for b in range(N_BINS)]
        binned = calibration.utils.bin(list(zip(p, outcomes, strict=True)), edges)
        value = calibration.utils.unbiased_square_ce(binned)
        rows.append(("uncertainty-calibration, 15 bins", name, value))
        rounded = np.ceil(p * 20) / 20
        pairs = list(zip(rounded, outcomes, strict=True))
        binned = calibration.utils.bin(pairs, calibration.utils.get_discrete_bins(rounded))
        value = calibration.utils.unbiased_square_ce(binned)
        rows.append(("uncertainty-calibration, twentieths", name, value))
    with (HERE / "other_libraries.csv").open("w", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(("quantity", "curve", "value"))
        writer.writerows((quantity, curve, repr(float(value))) for quantity, curve, value in rows)


if __name__ == "__main__":
    main()
