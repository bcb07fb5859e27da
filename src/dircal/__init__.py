"""Calibrated probabilities for any multiclass classifier.

Fit a calibrator on scores and labels that the classifier was not trained on, then map new scores:

>>> from dircal import DirichletCalibrator
>>> calibrator = DirichletCalibrator(penalty="l2").fit(
...     [[0.9, 0.1], [0.8, 0.2], [0.3, 0.7], [0.1, 0.9]], ["no", "yes", "no", "yes"]
... )
>>> calibrator.predict_proba([[0.95, 0.05]]).shape
(1, 2)
"""

import importlib
import importlib.util
from typing import TYPE_CHECKING

from dircal._version import __version__ as __version__

if TYPE_CHECKING:
    # mypy does not add up the lists of `_public`: it sees what the rooms publish here.
    from dircal._public import *  # noqa: F403
    from dircal._public import __all__ as __all__
    from dircal.calibrators import *  # noqa: F403
    from dircal.inference import *  # noqa: F403
    from dircal.selection import *  # noqa: F403
else:
    # Subpackages whose public names are offered here, each of which imports those before it.
    _SUBPACKAGES = ("calibrators", "selection", "inference")
    # The names that others offer here.
    _OTHERS = {
        "CanonicalParameters": "maps",
        "Explanation": "explain",
        "GenerativeParameters": "maps",
        "InterpretationPoints": "maps",
        "LinearParameters": "maps",
        "Report": "report",
        "ScoreTable": "tables",
        "load": "io",
        "load_map": "io",
        "save": "io",
        "scan": "tables",
    }

    # Names are imported one by one when they are first used: a calibrator needs no report.
    def __getattr__(name):
        if name == "__all__":
            return importlib.import_module("dircal._public").__all__
        if not name.startswith("__"):
            # A subpackage may be asked for while it is needed to load another one.
            if importlib.util.find_spec(f"dircal.{name}") is not None:
                return importlib.import_module(f"dircal.{name}")
            for subpackage in (_OTHERS[name],) if name in _OTHERS else _SUBPACKAGES:
                module = importlib.import_module(f"dircal.{subpackage}")
                if name in _OTHERS or name in module.__all__:
                    # From now on the name is there, and this is not called again.
                    globals()[name] = getattr(module, name)
                    return globals()[name]
        raise AttributeError(f"module 'dircal' has no attribute {name!r}")

    def __dir__():
        # Not in `__all__`: nobody wants `io` of `from dircal import *`.
        more = ("exceptions", "inference", "io", "maps")
        return sorted([*more, *importlib.import_module("dircal._public").__all__])
