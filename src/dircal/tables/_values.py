"""Numbers of scores: a matrix of any input, whose rows are probabilities or logits."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, NoReturn, Self

import narwhals.stable.v2 as nw
import numpy as np
import numpy.typing as npt
from narwhals.exceptions import DuplicateError

from dircal._core.data.chunks import row_slices
from dircal._typing import ArrayLike, FloatArray, InputScale, LabelArray
from dircal.exceptions import RowSumWarning, warn
from dircal.tables._columns import Arguments
from dircal.tables._conversion import NamedScores, as_array, reject_masked, reject_sparse
from dircal.tables._numbers import LARGEST, reject_datetimes

__all__ = [
    "ROW_SUM_QUIET",
    "ROW_SUM_TOLERANCE",
    "RowSum",
    "as_matrix",
    "check_values",
    "eager_frame",
    "reject_lazy",
    "worst_row_sum",
]

ROW_SUM_TOLERANCE = 1e-2
"""Rows of probabilities may miss the sum of one by this much: real files do."""
_SLACK = 1e-9
"""0.33 + 0.33 + 0.33 misses by a rounding error more than one hundredth."""
ROW_SUM_QUIET = 1e-4
"""Beyond this a renormalised sum is worth a warning."""
# Numbers of seven bits after the first, where float16 has ten.
_BFLOAT16_EPS = 2.0**-7


@dataclass(frozen=True)
class RowSum:
    """Distance of the sum of a row from one; a warning or an error if it is large."""

    miss: float
    warning: str = ""
    error: str = ""

    @classmethod
    def of(cls, name: str, row: str, total: float, values: npt.NDArray[Any], fix: str = "") -> Self:
        """Compare the sum of a row with one; the argument and the row are called by their names."""
        miss = abs(total - 1.0)
        sums = f"{row} sums to {total:.6g}"
        if miss > ROW_SUM_TOLERANCE + _SLACK:
            return cls(miss, error=f"`{name}` must have rows that sum to one; {sums}. {fix}")
        # Rows of half precision miss by more.
        if miss <= max(ROW_SUM_QUIET, _rounding_of(values)):
            return cls(miss)
        message = f"`{name}` has rows that do not sum to one ({sums}); they were renormalised."
        return cls(miss, message)

    @staticmethod
    def settle(worst: "Iterable[RowSum]") -> float:
        """Raise the first error, warn about the row farthest from one, and return how far it is."""
        found = [*worst]
        error = next((each.error for each in found if each.error), "")
        if error:
            raise ValueError(error)
        farthest = max(found, key=lambda each: each.miss)
        if farthest.warning:
            warn(farthest.warning, RowSumWarning)
        return farthest.miss


def _rounding_of(row: npt.NDArray[Any]) -> float:
    """How far the rounding of numbers between zero and one may move their sum."""
    if row.dtype.kind != "f":
        return 0.0
    if row.dtype == np.float32 and not (row.astype("<f4").view("<u4") & 0xFFFF).any():
        # The upper halves alone are bfloat16, which NumPy does not have.
        return _BFLOAT16_EPS
    return float(np.finfo(row.dtype).eps)


def reject_lazy(name: str, value: object) -> None:
    """Raise if rows are not in memory, and name the call that reads them in parts."""
    # By their names: none of these libraries need be installed.
    module = type(value).__module__.partition(".")[0]
    source = "frame"
    if nw.dependencies.is_dask_dataframe(value) or module == "dask":
        what, effect = "a lazy collection of Dask", "its rows stay on the workers"
    elif nw.dependencies.is_polars_lazyframe(value):
        what, effect = "a LazyFrame of polars", "write it with `sink_parquet` first"
        source = "path"
    elif module == "pyarrow" and any(c.__name__ == "Dataset" for c in type(value).__mro__):
        what, effect = "a dataset of pyarrow", "its row groups are read one by one"
        source = "dataset"
    else:
        return
    raise ValueError(
        f"`{name}` is {what}, whose rows are not in memory. Fit on it with "
        f"`calibrator.fit(dircal.scan({source}, label=...))`: {effect}. Or load the rows into "
        "memory first."
    )


def eager_frame(name: str, value: Any) -> nw.DataFrame[Any]:
    """Wrap a data frame; errors about its columns call it ``name``."""
    try:
        return nw.from_native(value, eager_only=True)
    except DuplicateError:
        columns = list(getattr(value, "column_names", value.columns))
        repeated = next(one for one in columns if columns.count(one) > 1)
        raise ValueError(
            f"`{name}` must have distinct column names; got {repeated!r:.60} more than once. "
            "Rename its columns."
        ) from None


def as_matrix(X: ArrayLike, name: str = "X") -> tuple[npt.NDArray[Any], LabelArray | None]:
    """Numbers (n, k) without copying them, and the column names of a data frame."""
    if isinstance(X, NamedScores):
        return X.matrix, X.names
    names: LabelArray | None = None
    # A plain array is none of what the following checks look for.
    is_array = type(X) is np.ndarray
    if not is_array:
        reject_lazy(name, X)
        reject_sparse(name, X)
        reject_masked(name, X)
    if not is_array and nw.dependencies.is_into_dataframe(X):
        frame = eager_frame(name, X)
        names = np.array(list(frame.columns), dtype=object)
        if names.tolist() == list(range(len(names))):
            names = None  # pandas numbers columns that have no names
        X = frame.to_numpy()
    matrix = as_array(X, name)
    if np.iscomplexobj(matrix):
        raise ValueError(
            f"`{name}` holds complex numbers. (Complex data not supported.) Pass real ones."
        )
    if matrix.dtype.kind not in "fiub":
        try:
            reject_datetimes(matrix)
            matrix = matrix.astype(np.float64)
        except (TypeError, ValueError) as error:
            raise ValueError(
                f"`{name}` must hold numbers; got values of type {matrix.dtype} ({error}). "
                "Pass the columns with the scores only."
            ) from error
    if matrix.ndim != 2:
        raise ValueError(
            f"`{name}` must be a 2D array, with a row for each sample and a column for each class; "
            f"got {matrix.ndim} dimension(s) of shape {matrix.shape}. "
            f"Reshape your data: {name}.reshape(1, -1) if it is a single row."
        )
    if 0 in matrix.shape:
        what = "sample(s)" if len(matrix) == 0 else "feature(s)"
        raise ValueError(
            f"`{name}` is empty: 0 {what} (shape={matrix.shape}) while a minimum of 1 is required. "
            "Pass at least one row and one column for each class."
        )
    return matrix, names


def check_values(
    inputs: npt.NDArray[Any],
    weight: FloatArray | None,
    input_scale: InputScale,
    arguments: Arguments,
) -> None:
    """Raise unless values are probabilities or logits; warn if rows do not sum to one."""
    RowSum.settle([worst_row_sum(inputs, weight, input_scale, arguments)])


def worst_row_sum(
    inputs: npt.NDArray[Any],
    weight: FloatArray | None,
    input_scale: InputScale,
    arguments: Arguments,
) -> RowSum:
    """Check values like `check_values`, without a warning."""
    name, fix = arguments.scores, arguments.fix
    farthest, row, total = 0.0, 0, 1.0
    for part in row_slices(inputs.shape):
        block = inputs[part]
        if weight is not None:
            block = np.where(weight[part, None] > 0, block, 1.0 / inputs.shape[1])
        if input_scale == "logit":
            check_logits(block, part.start, arguments)
            continue
        low, high = float(block.min()), float(block.max())
        if not (np.isfinite(low) and np.isfinite(high)):
            raise_for_entry(block, ~np.isfinite(block), part.start, arguments)
        if low < 0:
            i, j = np.argwhere(block < 0)[0]
            raise ValueError(
                f"`{name}` must not be negative; {arguments.row(part.start + i)}, "
                f"{arguments.column(j)} is {block[i, j]:.6g}. {fix} (Negative values in data.)"
            )
        # Twice as fast as the sum over the short axis.
        sums = np.einsum("ij->i", block, dtype=np.float64, casting="unsafe")
        misses = np.abs(sums - 1.0)
        i = int(misses.argmax())
        if misses[i] > farthest:
            farthest, row, total = float(misses[i]), part.start + i, float(sums[i])
    worst = RowSum.of(name, arguments.row(row), total, inputs[row], fix)
    if worst.error:
        raise ValueError(worst.error)
    return worst


def check_logits(block: npt.NDArray[Any], first_row: int, arguments: Arguments) -> None:
    """Refuse logits that nothing can be computed from, and rows in which all classes are masked.

    ``block`` (m, k) are rows from ``first_row`` on.
    """
    low, high = float(block.min()), float(block.max())
    if low >= -LARGEST and high <= LARGEST:
        return
    bad = np.isnan(block) | (block == np.inf)
    if bad.any():
        raise_for_entry(block, bad, first_row, arguments)
    masked = block == -np.inf
    none_left = masked.all(axis=1)
    if none_left.any():
        row = arguments.row(first_row + int(none_left.argmax()))
        raise ValueError(
            f"`{arguments.scores}` must leave a class in each row; in {row} every logit is -inf, "
            "which masks its class. Leave such rows out."
        )
    largest = float(np.abs(block[~masked]).max())
    if largest > LARGEST:
        raise ValueError(
            f"`{arguments.scores}` holds a logit of magnitude {largest:.3g}; "
            f"at most {LARGEST:g} can be computed with. Check the units."
        )


def raise_for_entry(
    block: npt.NDArray[Any], bad: npt.NDArray[np.bool_], first_row: int, arguments: Arguments
) -> NoReturn:
    """Raise a ValueError about the first entry that is bad."""
    i, j = np.argwhere(bad)[0]
    raise ValueError(
        f"`{arguments.scores}` must be finite; {arguments.row(first_row + i)}, "
        f"{arguments.column(j)} is {block[i, j]} "
        f"(Input {arguments.scores} contains NaN or infinity). Remove such rows or repair them."
    )
