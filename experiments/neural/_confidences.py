"""Networks of the paper of which only the confidences are public: errors and confidence-ECE."""

from collections.abc import Iterable
from pathlib import Path

import numpy as np

from dircal import metrics

from ._results import Results

__all__ = ["keep_confidences"]

_START = "top1_paper_"


def keep_confidences(results: Results, folders: Iterable[Path]) -> None:
    """Measure what can be measured from one confidence and one right or wrong for each row."""
    lines = []
    for folder in folders:
        for path in sorted(folder.glob(f"{_START}*.npz")):
            with np.load(path, allow_pickle=False) as stored:
                right = stored["pred"] == stored["labels"]
                conf = stored["conf"].astype(np.float64)
            ece = metrics.confidence_ece_from_confidence(right, conf)
            mce = metrics.maximum_calibration_error_from_confidence(right, conf)
            numbers = [f"{100 * (1 - right.mean()):.5f}", f"{ece:.5f}", f"{mce:.5f}"]
            lines.append([path.stem.removeprefix(_START), len(conf), *numbers])
    columns = ["network", "n_test", "error", "conf-ECE", "MCE"]
    results.add("confidences.csv", lines, columns, ["network"])
