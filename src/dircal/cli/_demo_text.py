"""The words and tables of the demonstration."""

from rich.console import Console
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from dircal.cli._demo import CalibratorResult, ClassifierResult

__all__ = ["show_classifier", "show_introduction", "show_reading"]

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
    console.print("  What the Dirichlet map says:")
    for sentence in _sentences(result):
        console.print(Padding(f"- {sentence}", (0, 0, 0, 2)), highlight=False)
    console.print()


def show_reading(console: Console) -> None:
    """How to read the tables."""
    console.print(
        "Log-loss and Brier score are lower for better probabilities; the change is against no "
        "calibration (IdentityCalibrator). Given probabilities, MatrixScaling reads their "
        "logarithms and is then the same map as DirichletCalibrator; it differs on logits."
    )


def _change(row: CalibratorResult, uncalibrated: CalibratorResult) -> Text:
    if row is uncalibrated:
        return Text("")
    change = row.log_loss / uncalibrated.log_loss - 1.0
    return Text(f"{change:+.0%}", style="green" if change < 0 else "red")


def _sentences(result: ClassifierResult) -> list[str]:
    """What was wrong with the classifier, in the light of its Dirichlet map."""
    sentences = result.explanation.sentences()
    if result.clip > _TAKEN_AT_ITS_WORD:
        sentences.append(
            f"Probabilities below {result.clip:.0e} are not taken at their word, but read as that."
        )
    return sentences
