"""Every Python block of the README and of the pages is run, with one namespace for each file."""

import os
import sys
from doctest import ELLIPSIS, NORMALIZE_WHITESPACE
from typing import Any

import pytest
from sybil import Document, Example, Sybil
from sybil.parsers.markdown import PythonCodeBlockParser
from sybil.typing import Evaluator


class Page(Document):
    """A page whose blocks bring along those before them, so that any can be run alone."""

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
    patterns=["README.md", "docs/*.md", "docs/gallery/*.md", "docs/guide/*.md"],
    excludes=["*/README.md", "docs/_build/*"],
    document_types={".md": Page},
).pytest()

# No windows, whatever the machine.
os.environ.setdefault("MPLBACKEND", "Agg")
# The backend of Keras that is there anyway.
os.environ.setdefault("KERAS_BACKEND", "torch")


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """Keep a file on one worker: what its tests share and earlier blocks of a page run once."""
    if config.getvalue("dist") != "load":
        return None
    from xdist.scheduler import LoadFileScheduling

    return LoadFileScheduling(config, log)


@pytest.hookimpl(trylast=True)
def pytest_runtest_teardown() -> None:
    """Close the figures of tests, docstrings and pages."""
    pyplot = sys.modules.get("matplotlib.pyplot")
    if pyplot is not None:
        pyplot.close("all")
