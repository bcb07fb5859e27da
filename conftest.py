"""Every Python block of the README and of the pages is run, with one namespace for each file."""

from doctest import ELLIPSIS, NORMALIZE_WHITESPACE

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
