"""Tables in parts: fits, lazy calibration and measures, on a Dask cluster or from Parquet files."""

from dircal.distributed._apply import apply
from dircal.distributed._evaluate import Evaluation, evaluate
from dircal.distributed._evaluate import evaluate_selection as evaluate_selection
from dircal.distributed._fit import fit
from dircal.distributed._fit import fit_selection as fit_selection
from dircal.distributed._loaders import parquet_files as parquet_files
from dircal.distributed._open import Selection as Selection

__all__ = ["Evaluation", "apply", "evaluate", "fit"]
