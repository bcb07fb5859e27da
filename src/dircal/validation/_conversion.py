"""What other libraries hold, as NumPy has it."""

from typing import Any

import numpy as np
import numpy.typing as npt

from dircal._typing import LabelArray

__all__ = ["as_array", "as_label_array", "category_order", "refuse_masked"]


def as_array(value: Any) -> npt.NDArray[Any]:
    """Any array or list as an array of NumPy, without a copy where there is one already.

    Tensors of PyTorch come from any device, with or without a gradient, and of types that NumPy
    lacks, such as bfloat16, which become float32. A list of them is an array with a row for each.
    """
    if type(value) in (np.ndarray, np.memmap):
        return value  # type: ignore[no-any-return]
    if isinstance(value, list | tuple) and len(value) and _is_tensor(value[0]):
        return np.asarray([as_array(one) for one in value])
    if _is_tensor(value):
        value = value.detach().cpu().resolve_conj().resolve_neg()
        try:
            return np.asarray(value.numpy())
        except TypeError:
            return np.asarray(value.float().numpy())
    return np.asarray(value)


def _is_tensor(value: object) -> bool:
    # By its name: the library itself need not be there.
    return any(
        base.__module__ == "torch" and base.__name__ == "Tensor" for base in type(value).__mro__
    )


def as_label_array(labels: Any) -> npt.NDArray[Any]:
    """The same for labels, of which a text is what it holds, whatever its class prints.

    Of a list NumPy would take what members of an enumeration print, cut to the length of what they
    hold.
    """
    if isinstance(labels, list | tuple) and any(
        isinstance(label, str) and type(label) not in (str, np.str_) for label in labels
    ):
        labels = [str.__str__(label) if isinstance(label, str) else label for label in labels]
    return as_array(labels)


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


def refuse_masked(name: str, value: object) -> None:
    """Refuse an array with masked entries, which NumPy would take for what is below the mask."""
    if isinstance(value, np.ma.MaskedArray) and np.ma.is_masked(value):
        raise ValueError(
            f"`{name}` is a masked array with masked entries. Remove their rows, or fill them."
        )
