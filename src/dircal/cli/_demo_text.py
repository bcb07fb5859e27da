"""The words and tables of the demonstration, and the page that it leaves behind."""

from pathlib import Path

from rich.console import Console
from rich.padding import Padding
from rich.table import Table as RichTable
from rich.text import Text

from dircal import AutoCalibrator, DirichletCalibrator, Report, TemperatureScaling
from dircal._numerals import format_pvalue
from dircal.cli._demo import DEFAULT, N_RESAMPLES, ClassifierResult
from dircal.cli._output import output_file
from dircal.metrics import Table, measures_in

__all__ = [
    "REPORT",
    "show_classifier",
    "show_details",
    "show_introduction",
    "show_reading",
    "write_report",
]

UNCALIBRATED = "uncalibrated"
REPORT = "dircal-report.html"
"""Name of the page, in the folder where the command is run."""
# Two lines each, as the headings of the measures have, so that all fit on a narrow terminal.
_TEST_COLUMNS = ("p of\nconf.", "p of\nclass")
_SURE_COLUMNS = (
    "log-loss,\n95 %",
    "\nchange",
    "change,\n95 %",
    "\np",
    "p of\nBrier",
    "p of\nclass",
)
_NOT_CALIBRATED = 0.05


def show_introduction(console: Console, dataset: str) -> None:
    """Print the data and the split."""
    console.print(f"\n[bold]dircal[/bold] on {dataset}.")
    console.print(
        "Each classifier is trained on 30% of the rows. The default calibrator is fitted on 35% "
        "and measured on the remaining 35%."
    )


def show_classifier(console: Console, result: ClassifierResult) -> None:
    """Print one line before calibration, one after, and a sentence on what was wrong."""
    table = RichTable(box=None, padding=(0, 2, 0, 0), pad_edge=False, show_header=False)
    for name in (UNCALIBRATED, DEFAULT):
        value = {one: result.comparison.row(name, one).value for one in ("accuracy", "log_loss")}
        table.add_row(
            "before" if name == UNCALIBRATED else "after",
            f"confidence {result.confidence(name):.1%}",
            f"accuracy {value['accuracy']:.1%}",
            f"log-loss {value['log_loss']:.3f}",
        )
    console.print(f"\n[bold]{result.name}[/bold]")
    console.print(Padding(table, (0, 0, 0, 2)))
    console.print(Padding(result.explanation.sentences()[0], (0, 0, 0, 2)), highlight=False)


def show_details(console: Console, result: ClassifierResult) -> None:
    """Print the measures of every calibrator, and everything that the default corrects."""
    console.print(_measures(result))
    console.print(_intervals(result))
    for name, fit_warnings in result.comparison.fit_warnings.items():
        for warning in fit_warnings:
            console.print(f"  [yellow]{name}:[/yellow] {warning}", highlight=False)
    console.print(f"  Corrections by {DEFAULT}:")
    for sentence in result.explanation.sentences():
        console.print(Padding(f"- {sentence}", (0, 0, 0, 2)), highlight=False)
    console.print()


def show_reading(console: Console) -> None:
    """Print how to read the tables of details."""
    console.print(
        "Lower is better for the log-loss and the Brier score, which judge the probabilities as a "
        "whole, and for the calibration errors (ECE, MCE). The last two columns of the first table "
        "are p-values of tests of confidence and class probabilities: below 0.05 they are not "
        "calibrated. The second table has 95% intervals, and p-values of the hypothesis that "
        "calibration makes no difference to the log-loss, the Brier score and the class ECE. Beta, "
        "histogram, isotonic and Platt calibration are for two classes: here each class against "
        "the rest (OneVsRestCalibrator)."
    )


def write_report(console: Console, result: ClassifierResult, path: Path, *, force: bool) -> None:
    """Write the report of one classifier and say where it is, or why it is nowhere."""
    if path.exists() and not force:
        console.print(
            f"\n{path} is there already and stays as it is; pass --force to replace it by the "
            f"report of {result.name}.",
            highlight=False,
        )
        return
    report = Report.from_predictions(
        result.y_true,
        result.y_prob,
        calibrators=[AutoCalibrator(), TemperatureScaling(), DirichletCalibrator()],
        title=f"{result.name} on handwritten digits",
        source="scikit-learn's load_digits",
    )
    try:
        with output_file(path, force=force) as temporary:
            report.to_html(temporary)
    except (ModuleNotFoundError, OSError) as error:
        console.print(
            f"\nThe report of this classifier could not be written: {error}", markup=False
        )
        return
    console.print(f"\nReport on {result.name}, for your browser:")
    console.print(path.resolve().as_uri(), soft_wrap=True, highlight=False)


def _table(title: str | None, columns: tuple[str, ...]) -> RichTable:
    table = RichTable(
        title=title,
        title_justify="left",
        title_style="bold",
        box=None,
        padding=(0, 1, 0, 0),
        pad_edge=False,
    )
    table.add_column("\ncalibrator")
    for column in columns:
        table.add_column(column, justify="right")
    return table


def _measures(result: ClassifierResult) -> RichTable:
    """All measures of all calibrators."""
    measures = measures_in(Table.DEMONSTRATION)
    table = _table(result.name, (*(one.heading for one in measures), *_TEST_COLUMNS))
    for name, pvalues in result.pvalues.items():
        value = {row.measure: row.value for row in result.comparison if row.calibrator == name}
        table.add_row(
            _shorter(name),
            *(format(value[one.name], one.number_format) for one in measures),
            *(_chance(pvalue, N_RESAMPLES, good="large") for pvalue in pvalues),
        )
    return table


def _intervals(result: ClassifierResult) -> RichTable:
    """How sure we are of the log-loss, and of what calibration does to it and to others."""
    table = _table(None, _SURE_COLUMNS)
    for name in result.pvalues:
        row = result.comparison.row(name, "log_loss")
        cells: list[Text | str] = [f"{row.low:.3f} to {row.high:.3f}"]
        if row.pvalue is not None:
            style = "green" if row.difference < 0 else "red"
            ends = f"{row.difference_low:+.3f} to {row.difference_high:+.3f}"
            others = [result.comparison.row(name, one) for one in ("brier_score", "classwise_ece")]
            cells += [
                Text(f"{row.difference:+.3f}", style=style),
                ends,
                *(_chance(one.pvalue, None, good="small") for one in (row, *others)),
            ]
        table.add_row(_shorter(name), *cells)
    return table


def _shorter(name: str) -> str:
    return name.removesuffix("Calibrator")


def _chance(pvalue: float | None, n_resamples: int | None, good: str) -> Text:
    if pvalue is None:
        return Text("")
    small = pvalue < _NOT_CALIBRATED
    style = "green" if small == (good == "small") else "red"
    return Text(format_pvalue(pvalue, n_resamples), style=style)
