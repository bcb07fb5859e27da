"""What the commands of the experiments say when they cannot go on."""

from collections.abc import Iterator
from contextlib import contextmanager

import click
from rich.console import Console

from dircal._signals import requests_raise

__all__ = ["resumable"]


@contextmanager
def resumable(console: Console, *errors: type[Exception]) -> Iterator[None]:
    """Tell these errors in one line, and a person who stops the run that it can go on.

    Requests to end and a terminal that is closed stop it as Ctrl-C does, with all its workers.
    """
    try:
        with requests_raise(KeyboardInterrupt):
            yield
    except errors as error:
        raise click.ClickException(str(error)) from error
    except KeyboardInterrupt:
        console.print("\nStopped. The same command goes on from here.")
        raise SystemExit(130) from None
