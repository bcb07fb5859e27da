"""The page that the demonstration leaves behind."""

from pathlib import Path

from rich.console import Console

from dircal import BayesianDirichletCalibrator, DirichletCalibrator, Report, TemperatureScaling
from dircal.cli._demo import ClassifierResult

__all__ = ["REPORT", "write_report"]

REPORT = "dircal-report.html"
"""Name of the page, in the folder where the command is run."""


def write_report(console: Console, result: ClassifierResult, path: Path) -> None:
    """Write the report of one classifier and say where it is, or why it is nowhere."""
    report = Report.from_predictions(
        result.y_true,
        result.y_prob,
        calibrators=[TemperatureScaling(), DirichletCalibrator(), BayesianDirichletCalibrator()],
        title=f"{result.name} on handwritten digits",
        source="scikit-learn's load_digits",
    )
    try:
        report.to_html(path)
    except (ModuleNotFoundError, OSError) as error:
        console.print(
            f"\nThe report of this classifier could not be written: {error}", markup=False
        )
        return
    console.print(f"\nThe whole story of {result.name}, as a page for your browser:")
    console.print(path.resolve().as_uri(), soft_wrap=True, highlight=False)
