"""What other libraries hold, as NumPy has it, and results as those libraries have them."""

import sys
from dataclasses import dataclass
from types import ModuleType
from typing import Any

import numpy as np
import numpy.typing as npt

from dircal._typing import LabelArray

__all__ = [
    "NamedScores",
    "as_array",
    "category_order",
    "reject_masked",
    "reject_sparse",
    "same_kind",
]

# Arrays that do not say themselves which library they are of, and those that do: the array API.
_TORCH, _CUPY = "torch.Tensor", "cupy.ndarray"


@dataclass(frozen=True)
class NamedScores:
    """Scores (n, k) and the names of their columns, None if they have none."""

    matrix: npt.NDArray[Any]
    names: LabelArray | None

    @property
    def shape(self) -> tuple[int, ...]:
        """Numbers of rows and columns."""
        return self.matrix.shape


def as_array(value: Any, name: str = "array") -> npt.NDArray[Any]:
    """Any array or list as an array of NumPy, without a copy where there is one already.

    Tensors of PyTorch and arrays of JAX, CuPy and whatever keeps the array API come from any
    device, with or without a gradient, and of types that NumPy lacks, such as bfloat16, which
    become float32. A list of them is an array with a row for each. Errors call it ``name``.
    """
    if type(value) in (np.ndarray, np.memmap):
        return value  # type: ignore[no-any-return]
    if isinstance(value, list | tuple) and len(value) and _library_of(value[0]) is not None:
        return np.asarray([as_array(one, name) for one in value])
    if _library_of(value) is None:
        return np.asarray(value)
    reject_sparse(name, value)
    try:
        array = _from_library(value)
    # Every library has errors of its own for what cannot be read.
    except Exception as error:
        raise ValueError(
            f"`{name}` is a {_kind_of(value)} that NumPy cannot read ({_first_line(error)}). Pass "
            "its numbers, on the CPU and outside of compiled functions."
        ) from error
    # Types that NumPy lacks come as bytes that only their own library understands.
    return array.astype(np.float32) if array.dtype.kind == "V" else array


def same_kind(values: npt.NDArray[Any], given: Any) -> Any:
    """Results as an array of the library of what was ``given``, and on its device.

    For lists and data frames, which are of none, they stay an array of NumPy.
    """
    library = _library_of(given)
    if library is None:
        return values
    if _is(given, _CUPY):
        with given.device:
            return library.asarray(values)
    try:
        return library.asarray(values, device=given.device)
    except TypeError:
        # Some devices have no float64.
        return library.asarray(values.astype(np.float32), device=given.device)


def _library_of(value: Any) -> ModuleType | None:
    """The library that an array is of; None for NumPy and for what is no array."""
    if isinstance(value, np.ndarray | np.generic):
        return None
    for kind in (_TORCH, _CUPY):
        if _is(value, kind):
            return sys.modules[kind.partition(".")[0]]
    namespace = getattr(value, "__array_namespace__", None)
    return None if namespace is None else namespace()


def _from_library(value: Any) -> npt.NDArray[Any]:
    if _is(value, _TORCH):
        tensor = value.detach().cpu().resolve_conj().resolve_neg()
        try:
            return np.asarray(tensor.numpy())
        except TypeError:
            return np.asarray(tensor.float().numpy())
    if _is(value, _CUPY):
        return np.asarray(value.get())
    try:
        return np.asarray(value)
    except (RuntimeError, TypeError):
        # From another device, where the library can bring it here.
        return np.from_dlpack(value, device="cpu")


def _is(value: object, kind: str) -> bool:
    # By its name: the library itself need not be there.
    return any(_name_of(base) == kind for base in type(value).__mro__)


def _name_of(kind: type) -> str:
    return f"{kind.__module__.partition('.')[0]}.{kind.__name__}"


def _kind_of(value: Any) -> str:
    device = getattr(value, "device", None)
    return _name_of(type(value)) + ("" if device is None else f" on the device '{device}'")


def _first_line(error: Exception) -> str:
    return str(error).strip().partition("\n")[0].rstrip(".")


def category_order(labels: Any) -> LabelArray | None:
    """Labels in the order of their categories; None where they have none of their own.

    Categorical labels of pandas have one, and those of an enumeration in polars. The categories of
    polars are in the order of their first rows, which says nothing.
    """
    dtype = getattr(labels, "dtype", None)
    if type(dtype).__name__ not in ("CategoricalDtype", "Enum"):
        return None
    categories = getattr(dtype, "categories", None)
    return None if categories is None else np.asarray(categories)


def reject_masked(name: str, value: object) -> None:
    """Refuse an array with masked entries, which NumPy would take for what is below the mask."""
    masked = isinstance(value, np.ma.MaskedArray) and np.ma.is_masked(value)
    if masked or _is(value, "torch.MaskedTensor"):
        raise ValueError(
            f"`{name}` is a masked array with masked entries. Remove their rows, or fill them."
        )


def reject_sparse(name: str, value: Any) -> None:
    """Refuse what does not hold its zeros, and say what makes it hold them."""
    layout = str(getattr(value, "layout", "")) if _is(value, _TORCH) else ""
    if layout not in ("", "torch.strided"):
        dense = "to_dense"
    elif hasattr(value, "todense"):
        dense = "toarray" if hasattr(value, "toarray") else "todense"
    else:
        return
    raise ValueError(
        f"`{name}` is a sparse matrix or array; pass a dense one with `{name}.{dense}()`."
    )
