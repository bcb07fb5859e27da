"""Every Python block of the README and of the pages is run, with one namespace for each file."""

import os
import sys
from doctest import ELLIPSIS, NORMALIZE_WHITESPACE

import pytest
from sybil import Document, Example, Sybil
from sybil.parsers.markdown import PythonCodeBlockParser
from sybil.typing import Evaluator


class Page(Document):
    """A page whose blocks bring along those before them.

    So any block can be run alone, and the blocks of a page can go to several workers.
    """

    def __init__(self, text: str, path: str) -> None:
        super().__init__(text, path)
        self.reached = -1

    def evaluate(self, example: Example, evaluator: Evaluator) -> None:
        """Run the blocks that were passed over, then this one."""
        for block in self.examples():
            if self.reached < block.start < example.start:
                self.reached = block.start
                super().evaluate(block, block.region.evaluator)
        self.reached = example.start
        super().evaluate(example, evaluator)


pytest_collect_file = Sybil(
    parsers=[PythonCodeBlockParser(doctest_optionflags=ELLIPSIS | NORMALIZE_WHITESPACE)],
    patterns=["README.md", "docs/*.md", "docs/guide/*.md"],
    excludes=["*/README.md", "docs/_build/*"],
    document_types={".md": Page},
).pytest()

# No windows, whatever the machine.
os.environ.setdefault("MPLBACKEND", "Agg")


@pytest.hookimpl(trylast=True)
def pytest_runtest_teardown() -> None:
    """Close the figures of tests, docstrings and pages."""
    pyplot = sys.modules.get("matplotlib.pyplot")
    if pyplot is not None:
        pyplot.close("all")
