"""``dircal reproduce``: the experiments of the paper."""

import click

from dircal.cli._reproduce import run_experiment

__all__ = ["command"]


@click.group("reproduce", epilog="Example: dircal reproduce uci --quick")
def command() -> None:
    """Re-run an experiment of the paper, in a checkout of the repository."""


@command.command(
    context_settings={"ignore_unknown_options": True, "help_option_names": []},
    short_help="21 datasets, 11 classifiers, 7 methods; --help lists the options.",
)
@click.argument("arguments", nargs=-1, type=click.UNPROCESSED)
@click.pass_context
def uci(context: click.Context, arguments: tuple[str, ...]) -> None:
    """Hand the arguments to the experiment on UCI data."""
    context.exit(run_experiment("uci", arguments))


@command.command(
    context_settings={"ignore_unknown_options": True, "help_option_names": []},
    short_help="Outputs of networks, 10 methods; --logits DIR runs yours; --help lists the rest.",
)
@click.argument("arguments", nargs=-1, type=click.UNPROCESSED)
@click.pass_context
def neural(context: click.Context, arguments: tuple[str, ...]) -> None:
    """Hand the arguments to the experiment on networks."""
    context.exit(run_experiment("neural", arguments))
