"""Tables and arrays: read, checked, and handed on as rows that can be folded.

Names are loaded at their first use, those of scikit-learn after the columns of a table are found.
"""

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from dircal.tables._public import *  # noqa: F403
    from dircal.tables._public import __all__ as __all__
else:
    # Their modules need NumPy alone.
    _LIGHT = {
        "PYTHON": "_column_choice",
        "TableLimits": "_limits",
        "TextFile": "_text",
        "scan_files": "_score_table",
    }

    def __getattr__(name):
        if name != "__all__" and name.startswith("_"):
            raise AttributeError(f"module 'dircal.tables' has no attribute {name!r}")
        module = importlib.import_module(f"dircal.tables.{_LIGHT.get(name, '_public')}")
        return getattr(module, name)
