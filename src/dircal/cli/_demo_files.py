"""Predictions of a real classifier as files, to try the other commands on."""

import csv
import io
from pathlib import Path

from sklearn.datasets import load_digits
from sklearn.ensemble import RandomForestClassifier
from sklearn.model_selection import train_test_split

from dircal._typing import FloatArray, LabelArray
from dircal.cli._output import check_outputs, output_file

__all__ = ["save_predictions"]


def save_predictions(folder: Path, *, force: bool) -> list[Path]:
    """Write what a forest says of digits that it has not seen, in two parts."""
    folder.mkdir(exist_ok=True)
    files = [folder / "calibration.csv", folder / "test.csv"]
    check_outputs([("--save", file) for file in files], force=force, inputs=[])
    X, y = load_digits(return_X_y=True)
    X_train, X_rest, y_train, y_rest = train_test_split(
        X, y, train_size=0.3, stratify=y, random_state=0
    )
    classifier = RandomForestClassifier(random_state=0).fit(X_train, y_train)
    parts = train_test_split(
        classifier.predict_proba(X_rest), y_rest, train_size=0.5, stratify=y_rest, random_state=0
    )
    for file, proba, labels in zip(files, parts[:2], parts[2:], strict=True):
        with output_file(file, force=force) as temporary:
            temporary.write_bytes(_as_csv(proba, labels).encode())
    return files


def _as_csv(proba: FloatArray, labels: LabelArray) -> str:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(["digit", *range(proba.shape[1])])
    writer.writerows(
        [label, *row] for label, row in zip(labels.tolist(), proba.tolist(), strict=True)
    )
    return text.getvalue()
