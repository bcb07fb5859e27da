"""The words and tables of the demonstration."""

import numpy as np
from rich.console import Console
from rich.table import Table
from rich.text import Text

from dircal.cli._demo import CalibratorResult, ClassifierResult, MapReading

__all__ = ["show_classifier", "show_introduction", "show_reading"]

# Classes whose mean probability moved most, told one by one.
_CLASSES_TOLD = 3


def show_introduction(console: Console, dataset: str) -> None:
    """Say what is about to be done."""
    console.print(f"\n[bold]dircal[/bold] on {dataset}.")
    console.print(
        "Each classifier is trained on 30 % of the rows; the calibrators are fitted on 35 % that "
        "it has not seen\nand measured on the remaining 35 %.\n"
    )


def show_classifier(console: Console, result: ClassifierResult) -> None:
    """One table, and what the maps of this classifier say."""
    table = Table(title=result.name, title_justify="left", title_style="bold", box=None)
    table.add_column("calibrator")
    for column in ("log-loss", "change", "Brier score", "accuracy"):
        table.add_column(column, justify="right")
    uncalibrated = result.calibrators[0]
    for row in result.calibrators:
        table.add_row(
            row.name,
            f"{row.log_loss:.3f}",
            _change(row, uncalibrated),
            f"{row.brier_score:.3f}",
            f"{row.accuracy:.1%}",
        )
    console.print(table)
    for row in result.calibrators:
        if row.warning is not None:
            console.print(f"  [yellow]{row.name}:[/yellow] {row.warning}", highlight=False)
    for sentence in _sentences(result.reading):
        console.print(f"  {sentence}", highlight=False)
    console.print()


def show_reading(console: Console) -> None:
    """How to read the tables."""
    console.print(
        "Log-loss and Brier score are lower for better probabilities; the change is against no "
        "calibration\n(IdentityCalibrator). Given probabilities, MatrixScaling reads their "
        "logarithms and is then the same map\nas DirichletCalibrator; it differs on logits."
    )


def _change(row: CalibratorResult, uncalibrated: CalibratorResult) -> Text:
    if row is uncalibrated:
        return Text("")
    change = row.log_loss / uncalibrated.log_loss - 1.0
    return Text(f"{change:+.0%}", style="green" if change < 0 else "red")


def _sentences(reading: MapReading) -> list[str]:
    """What was wrong with the classifier, in the light of the fitted maps."""
    confidence = "overconfident" if reading.temperature > 1.0 else "underconfident"
    sentences = [f"Temperature {reading.temperature:.2f}: the classifier is {confidence}."]
    if reading.clip > 1e-300:
        sentences.append(
            f"Probabilities below {reading.clip:.0e} are not taken at their word: "
            "they are read as that."
        )
    moved = np.abs(reading.after - reading.before).argsort()[::-1][:_CLASSES_TOLD]
    told = "; ".join(
        f"{reading.classes[j]}: {reading.before[j]:.3f} -> {reading.after[j]:.3f} "
        f"(observed {reading.observed[j]:.3f})"
        for j in moved
    )
    return [*sentences, f"Mean probability before and after the Dirichlet map, class {told}."]
