"""Tables and arrays: read, checked, and published as rows that can be folded.

Other subpackages use the names in ``__all__`` of these modules. They are loaded at their first use,
those of scikit-learn after the columns of a table are found.
"""

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from dircal.tables._arguments import *  # noqa: F403
    from dircal.tables._arrays import *  # noqa: F403
    from dircal.tables._calibrated import *  # noqa: F403
    from dircal.tables._checks import *  # noqa: F403
    from dircal.tables._column_choice import *  # noqa: F403
    from dircal.tables._columns import *  # noqa: F403
    from dircal.tables._conversion import *  # noqa: F403
    from dircal.tables._keys import *  # noqa: F403
    from dircal.tables._labelled_rows import *  # noqa: F403
    from dircal.tables._labels import *  # noqa: F403
    from dircal.tables._limits import *  # noqa: F403
    from dircal.tables._names import *  # noqa: F403
    from dircal.tables._numbers import *  # noqa: F403
    from dircal.tables._order import *  # noqa: F403
    from dircal.tables._pass_progress import *  # noqa: F403
    from dircal.tables._raw_rows import *  # noqa: F403
    from dircal.tables._reading import *  # noqa: F403
    from dircal.tables._score_table import *  # noqa: F403
    from dircal.tables._soft_labels import *  # noqa: F403
    from dircal.tables._text import *  # noqa: F403
    from dircal.tables._unchanged import *  # noqa: F403
    from dircal.tables._values import *  # noqa: F403

else:
    # Modules that need NumPy alone come first.
    _MODULES = (
        *("_limits", "_text", "_column_choice", "_score_table", "_names", "_numbers", "_unchanged"),
        *("_conversion", "_columns", "_labels", "_arguments", "_values", "_arrays", "_checks"),
        *("_labelled_rows", "_soft_labels", "_raw_rows", "_order", "_reading", "_keys"),
        *("_pass_progress", "_calibrated"),
    )

    def __getattr__(name):
        for module in () if name.startswith("_") else _MODULES:
            found = importlib.import_module(f"dircal.tables.{module}")
            if name in found.__all__:
                globals()[name] = getattr(found, name)
                return globals()[name]
        raise AttributeError(f"module 'dircal.tables' has no attribute {name!r}")


__all__ = ["ScoreTable", "scan"]  # noqa: F405
