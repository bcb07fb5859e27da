"""Figures of the pages: what the code above a picture has drawn last.

So a picture cannot differ from its code. A page is run again only where it, or the package, is
newer than its figures.
"""

import contextlib
import doctest
import io
import os
import re
import tempfile
from pathlib import Path
from typing import Any

import matplotlib as mpl
import matplotlib.pyplot as plt

import dircal

DPI = 110
PARTS = re.compile(r"^```python\n(.*?)^```$|!\[[^\]]*\]\((figures/\w+\.png)\)", flags=re.S | re.M)


def draw_all(source: Path) -> None:
    """Draw the figures of every page below a folder that shows some."""
    mpl.use("Agg")
    for page in sorted(source.glob("*/*.md")):
        parts = PARTS.findall(page.read_text(encoding="utf-8"))
        while parts and not parts[-1][1]:
            parts.pop()  # code that no picture needs
        figures = [page.parent / figure for _, figure in parts if figure]
        if any(code for code, _ in parts) and _outdated(page, figures):
            draw(page.parent, parts)


def draw(folder: Path, parts: list[tuple[str, str]]) -> None:
    """Run code and save pictures in the order of the page, in an empty folder."""
    space: dict[str, Any] = {"__name__": "page"}
    with _elsewhere(), contextlib.redirect_stdout(io.StringIO()):
        for code, figure in parts:
            if code:
                run(code, space)
                continue
            if not plt.get_fignums():
                raise RuntimeError(f"No code of the page has drawn {figure}.")
            save(folder / figure)
            plt.close("all")


def save(path: Path) -> None:
    """The figure as it is, and its first panel as ``NAME_small.png`` for lists of pages."""
    path.parent.mkdir(exist_ok=True)
    figure = plt.gcf()
    figure.savefig(path, dpi=DPI, metadata={"Software": None})
    pixels = plt.imread(path)
    # Cut out, not drawn again: the layout would move.
    panel = figure.axes[0].get_position()
    height, width = pixels.shape[:2]
    rows = slice(int(height * (1 - panel.y1)), int(height * (1 - panel.y0)) + 3)
    columns = slice(int(width * panel.x0) - 3, int(width * panel.x1) + 3)
    plt.imsave(path.with_name(f"{path.stem}_small.png"), pixels[rows, columns])


def run(code: str, space: dict[str, Any]) -> None:
    """A block, or a session whose answers are left to the tests."""
    if code.startswith(">>> "):
        code = "".join(example.source for example in doctest.DocTestParser().get_examples(code))
    exec(compile(code, "page", "exec"), space)


@contextlib.contextmanager
def _elsewhere() -> Any:
    home = Path.cwd()
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        try:
            yield
        finally:
            os.chdir(home)


def _outdated(page: Path, figures: list[Path]) -> bool:
    if not all(figure.exists() for figure in figures):
        return True
    package = Path(dircal.__file__).parent
    newest = max(path.stat().st_mtime for path in (page, *package.rglob("*.py")))
    return min(figure.stat().st_mtime for figure in figures) < newest
