"""The list of public names, for `from dircal import *`, completion and type checkers.

All names that `calibrators`, `inference` and `selection` publish are public here, and a few of the
other subpackages, which are listed here and in `dircal.__init__`.
"""

from dircal import (
    calibrators,
    decide,
    export,
    inference,
    llm,
    metrics,
    plots,
    selection,
    shift,
)
from dircal._version import __version__
from dircal.calibrators import *  # noqa: F403
from dircal.explain import Explanation
from dircal.inference import *  # noqa: F403
from dircal.io import load, load_map, save
from dircal.maps import (
    CanonicalParameters,
    GenerativeParameters,
    InterpretationPoints,
    LinearParameters,
)
from dircal.report import Report
from dircal.selection import *  # noqa: F403
from dircal.tables import ScoreTable, scan

__all__ = [
    "CanonicalParameters",
    "Explanation",
    "GenerativeParameters",
    "InterpretationPoints",
    "LinearParameters",
    "Report",
    "ScoreTable",
    "__version__",
    "decide",
    "export",
    "llm",
    "load",
    "load_map",
    "metrics",
    "plots",
    "save",
    "scan",
    "shift",
]
__all__ += calibrators.__all__
__all__ += inference.__all__
__all__ += selection.__all__
