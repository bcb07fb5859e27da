"""Tables in parts: fits, lazy calibration and measures, on a Dask cluster or from Parquet files."""

from dircal.distributed._apply import apply
from dircal.distributed._compare import compare
from dircal.distributed._evaluate import Evaluation, evaluate
from dircal.distributed._fit import check_for_fit as check_for_fit
from dircal.distributed._fit import fit
from dircal.distributed._fit import fit_rows as fit_rows
from dircal.distributed._labels import observed_labels as observed_labels
from dircal.distributed._loaders import parquet_files as parquet_files
from dircal.distributed._open import Selection as Selection
from dircal.distributed._open import check_rows as check_rows
from dircal.distributed._report import report

__all__ = ["Evaluation", "apply", "compare", "evaluate", "fit", "report"]
