"""Every Python block of the pages is run, top to bottom, with one namespace for each page."""

from doctest import NORMALIZE_WHITESPACE

from sybil import Sybil
from sybil.parsers.markdown import PythonCodeBlockParser

pytest_collect_file = Sybil(
    parsers=[PythonCodeBlockParser(doctest_optionflags=NORMALIZE_WHITESPACE)],
    pattern="*.md",
    excludes=["_build/*"],
).pytest()
