"""The Python blocks of the README are run; docs/conftest.py does the same for the pages."""

from sybil import Sybil
from sybil.parsers.markdown import PythonCodeBlockParser

pytest_collect_file = Sybil(
    parsers=[PythonCodeBlockParser()], pattern="README.md", exclude="*/README.md"
).pytest()
