"""``python -m dircal`` is ``dircal``."""

from dircal.cli import main

__all__: list[str] = []

if __name__ == "__main__":
    main()
