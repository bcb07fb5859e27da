"""The words and tables of the demonstration."""

from rich.console import Console
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from dircal.cli._demo import CalibratorResult, ClassifierResult

__all__ = ["show_classifier", "show_introduction", "show_reading"]

# Two lines each, so that all eight measures fit on a narrow terminal.
_COLUMNS = (
    "acc-\nuracy",
    "log-\nloss",
    "\nchange",
    "Brier\nscore",
    "conf.\nECE",
    "class\nECE",
    "\nMCE",
    "p of\nconf.",
    "p of\nclass",
)
_NOT_CALIBRATED = 0.05
# A floor below this is the paper's, and no news.
_TAKEN_AT_ITS_WORD = 1e-300


def show_introduction(console: Console, dataset: str) -> None:
    """Say what is about to be done."""
    console.print(f"\n[bold]dircal[/bold] on {dataset}.")
    console.print(
        "Each classifier is trained on 30 % of the rows; the calibrators are fitted on 35 % that "
        "it has not seen, and measured on the remaining 35 %.\n"
    )


def show_classifier(console: Console, result: ClassifierResult) -> None:
    """One table, and what the maps of this classifier say."""
    table = Table(
        title=result.name,
        title_justify="left",
        title_style="bold",
        box=None,
        padding=(0, 1, 0, 0),
        pad_edge=False,
    )
    table.add_column("\ncalibrator")
    for column in _COLUMNS:
        table.add_column(column, justify="right")
    uncalibrated = result.calibrators[0]
    for row in result.calibrators:
        table.add_row(
            row.name.removesuffix("Calibrator"),
            f"{row.accuracy:.1%}",
            f"{row.log_loss:.3f}",
            _change(row, uncalibrated),
            f"{row.brier_score:.3f}",
            f"{row.confidence_ece:.3f}",
            f"{row.classwise_ece:.4f}",
            f"{row.maximum_calibration_error:.2f}",
            _chance(row.confidence_pvalue),
            _chance(row.classwise_pvalue),
        )
    console.print(table)
    for row in result.calibrators:
        if row.warning is not None:
            console.print(f"  [yellow]{row.name}:[/yellow] {row.warning}", highlight=False)
    console.print("  What the Dirichlet map says:")
    for sentence in _sentences(result):
        console.print(Padding(f"- {sentence}", (0, 0, 0, 2)), highlight=False)
    console.print()


def show_reading(console: Console) -> None:
    """How to read the tables."""
    console.print(
        "Lower is better for the log-loss and the Brier score, which judge the probabilities as a "
        "whole, and for the calibration errors (ECE, MCE). The change is that of the log-loss "
        "against no calibration (IdentityCalibrator). The last two columns are p-values of the "
        "test that the confidence and the class probabilities are calibrated: below 0.05 they are "
        "not. Given probabilities, MatrixScaling reads their logarithms and is then the same map "
        "as DirichletCalibrator; it differs on logits. Beta, histogram, isotonic and Platt "
        "calibration are for two classes: here each class against the rest (OneVsRestCalibrator)."
    )


def _change(row: CalibratorResult, uncalibrated: CalibratorResult) -> Text:
    if row is uncalibrated:
        return Text("")
    change = row.log_loss / uncalibrated.log_loss - 1.0
    return Text(f"{change:+.0%}", style="green" if change < 0 else "red")


def _chance(pvalue: float) -> Text:
    return Text(f"{pvalue:.2f}", style="green" if pvalue >= _NOT_CALIBRATED else "red")


def _sentences(result: ClassifierResult) -> list[str]:
    """What was wrong with the classifier, in the light of its Dirichlet map."""
    sentences = result.explanation.sentences()
    if result.clip > _TAKEN_AT_ITS_WORD:
        sentences.append(
            f"Probabilities below {result.clip:.0e} are not taken at their word, but read as that."
        )
    return sentences
