"""Old rows beside new ones: two files with the same columns, and labels of both."""

from dataclasses import replace
from pathlib import Path

import numpy as np

from dircal._typing import LabelArray
from dircal.cli._predictions_file import FileRows, labels_of_column, read_rows
from dircal.cli._source import PredictionsFile, check_source, column_called, open_file
from dircal.tables import label_text

__all__ = ["read_new_and_old"]


def read_new_and_old(source: PredictionsFile, old: Path) -> tuple[FileRows, FileRows]:
    """The rows of both files; a class that only one of them holds is one of both."""
    before = replace(source, path=old, name="")
    if source.label.endswith(".npy"):
        raise ValueError(
            f"--old {str(old)!r}: --label {source.label!r} has the labels of the new rows only. "
            "Pass files that hold scores and labels, such as NPZ or CSV."
        )
    check_source(before)
    if source.classes is None:
        found = [_labels(one) for one in (source, before)]
        every = np.unique(np.concatenate(found))
        if any(len(one) < len(every) for one in found):
            told = ",".join(_quoted(label_text(label)) for label in every.tolist())
            source, before = replace(source, classes=told), replace(before, classes=told)
    new, earlier = read_rows(source), read_rows(before)
    if new.classes.tolist() != earlier.classes.tolist():
        raise ValueError(
            f"--old {str(old)!r} has columns for {earlier.classes.tolist()}, and "
            f"{str(source.path)!r} for {new.classes.tolist()}. Name them in one order: --columns "
            "and --classes."
        )
    return new, earlier


def _labels(source: PredictionsFile) -> LabelArray:
    with open_file(source) as table:
        column = column_called(table, source.label, "--label")
        labels, _ = labels_of_column(table, column, source.unlabelled)
    return np.unique(labels)


def _quoted(text: str) -> str:
    """An item of a list as people type it."""
    return '"' + text.replace('"', '""') + '"' if set(text) & set(',"\n') else text
