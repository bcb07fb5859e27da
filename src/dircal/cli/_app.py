"""The commands, each loaded when it is called."""

import importlib
from typing import Any

import click

from dircal import __version__
from dircal._suggestions import did_you_mean
from dircal.cli._errors import told

__all__ = ["SUMMARIES", "app"]

SUMMARIES = {
    "demo": "Calibrate real classifiers on real data and show what changed.",
    "fit": "Learn a map from a file of predictions with labels.",
    "apply": "Calibrate a file of predictions with a fitted map.",
    "evaluate": "Measure a file of predictions, with intervals and tests.",
    "compare": "Compare calibrators on a file of predictions.",
    "report": "Write a page about a file of predictions, to read and hand on.",
    "explain": "Say what a fitted map corrects.",
    "decide": "Take the action of least expected cost for each row of a file.",
    "llm": "Calibrate the labels that a language model gives.",
    "adapt": "Adapt a fitted map to rows with other class frequencies.",
    "monitor": "Watch a stream of predictions and labels, and raise an alarm.",
    "export": "Take a fitted map to ONNX, PyTorch, Keras, plain Python or a database.",
    "reproduce": "Re-run an experiment of the paper, in a checkout of the repository.",
}
"""First lines of the commands, which `--help` shows without loading them."""

_EPILOG = """\b
Exit codes:
  0  done
  1  a gate of --fail-if has failed, or a monitor has raised an alarm
  2  bad input or usage, or stopped: one line on stderr, and no file was
     written unless that line names it

Example: dircal fit predictions.csv --label y -o map.json
"""


class _Commands(click.Group):
    """A group that imports a command when it is needed, and tells errors in one line."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(SUMMARIES)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in SUMMARIES:
            ctx.fail(f"No such command {cmd_name!r}.{did_you_mean(cmd_name, SUMMARIES)}")
        module = importlib.import_module(f"dircal.cli.commands._{cmd_name}")
        command: click.Command = module.command
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl(list(SUMMARIES.items()))

    def make_context(self, *args: Any, **kwargs: Any) -> click.Context:
        with told():
            return super().make_context(*args, **kwargs)

    def invoke(self, ctx: click.Context) -> Any:
        with told(ctx):
            return super().invoke(ctx)


@click.command(
    cls=_Commands, epilog=_EPILOG, context_settings={"help_option_names": ["-h", "--help"]}
)
@click.version_option(__version__, prog_name="dircal")
def app() -> None:
    """Calibrated probabilities for any multiclass classifier."""
