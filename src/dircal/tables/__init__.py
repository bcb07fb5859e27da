"""Tables and arrays: read, checked, and handed on as rows that can be folded.

Names are loaded at their first use: the command line looks for columns before scikit-learn is there.
"""

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from dircal.tables._public import *  # noqa: F403
    from dircal.tables._public import __all__ as __all__
else:

    def __getattr__(name):
        if name != "__all__" and name.startswith("_"):
            raise AttributeError(f"module 'dircal.tables' has no attribute {name!r}")
        return getattr(importlib.import_module("dircal.tables._public"), name)
