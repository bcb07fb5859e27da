"""The command line: translate, call, print."""

import sys

__all__ = ["main"]


def main() -> None:
    """Run ``dircal``; say what to install where the extra is missing."""
    try:
        from dircal.cli._app import app
    except ModuleNotFoundError as error:
        if error.name not in ("click", "rich"):
            raise
        sys.stderr.write(
            f"Error: The dircal command needs {error.name}, which is not installed. "
            "Install the extra: pip install 'dircal[cli]'\n"
        )
        sys.exit(2)
    app()
