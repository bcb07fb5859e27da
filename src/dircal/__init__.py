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
    # scikit-learn takes longer to load than `dircal --help` may: names are loaded when asked for.
    def __getattr__(name):
        if name == "__all__" or not name.startswith("__"):
            # A room may be asked for while it is needed to load the public names.
            if importlib.util.find_spec(f"dircal.{name}") is not None:
                return importlib.import_module(f"dircal.{name}")
            public = vars(importlib.import_module("dircal._public"))
            if name in public:
                # From now on the name is there, and nobody asks here again.
                globals()[name] = public[name]
                return public[name]
        raise AttributeError(f"module 'dircal' has no attribute {name!r}")

    def __dir__():
        # Not in `__all__`: nobody wants `io` of `from dircal import *`.
        rooms = ("exceptions", "inference", "io", "maps")
        return sorted([*rooms, *importlib.import_module("dircal._public").__all__])
