"""``dircal reproduce``: the experiments of the paper, which live beside the package."""

import os
import subprocess
import sys
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path

import click

import dircal
from dircal.cli._errors import AskedToEnd

__all__ = ["command"]

_NEEDS = ("jinja2", "pandas")

# One thread for each process: the experiments run several processes at once.
_ONE_THREAD = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}

# Seconds in which an experiment may end by itself.
_PATIENCE = 10.0


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
    context.exit(_run_experiment("uci", arguments))


@command.command(
    context_settings={"ignore_unknown_options": True, "help_option_names": []},
    short_help="Outputs of networks, 10 methods; --logits DIR runs yours; --help lists the rest.",
)
@click.argument("arguments", nargs=-1, type=click.UNPROCESSED)
@click.pass_context
def neural(context: click.Context, arguments: tuple[str, ...]) -> None:
    """Hand the arguments to the experiment on networks."""
    context.exit(_run_experiment("neural", arguments))


def _run_experiment(name: str, arguments: Sequence[str]) -> int:
    """Run it in a process of its own; gives its exit code."""
    checkout = _checkout()
    if not (checkout / "experiments" / name).is_dir():
        raise click.UsageError(
            "The experiments are not part of the installed package. Clone the repository and run "
            f"this there, or `make paper-{name}`."
        )
    missing = [module for module in _NEEDS if find_spec(module) is None]
    if missing:
        raise click.UsageError(
            f"The experiments need {' and '.join(missing)}, which is not installed. Install the "
            "extra: pip install 'dircal[experiments]'"
        )
    command = [sys.executable, "-P", "-m", f"experiments.{name}", *arguments]
    # Found by their path and not by where we are: folders in the arguments are the caller's.
    path = os.pathsep.join(filter(None, [str(checkout), os.environ.get("PYTHONPATH")]))
    env = {**_ONE_THREAD, **os.environ, "PYTHONPATH": path}
    with subprocess.Popen(command, env=env) as experiment:
        try:
            code = experiment.wait()
        except AskedToEnd:
            experiment.terminate()
            code = _await_end(experiment)
        except KeyboardInterrupt:
            # A terminal has told the experiment, too.
            code = _await_end(experiment)
    # As a shell says it of a process that a signal has ended.
    return code if code >= 0 else 128 - code


def _await_end(experiment: "subprocess.Popen[bytes]") -> int:
    """Give an experiment that was told to end the time to end its workers; then tell it harder."""
    try:
        for harder in (experiment.terminate, experiment.kill):
            try:
                return experiment.wait(_PATIENCE)
            except subprocess.TimeoutExpired:
                harder()
    except KeyboardInterrupt:
        experiment.kill()
    return experiment.wait()


def _checkout() -> Path:
    """Where the repository would be if the package is installed from one."""
    return Path(dircal.__file__).resolve().parents[2]
