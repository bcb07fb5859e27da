"""Names for the types that every room uses."""

from typing import Any, Literal, TypeAlias

import numpy as np
import numpy.typing as npt

__all__ = [
    "AnyFloatArray",
    "ArrayLike",
    "Float32Array",
    "FloatArray",
    "InputScale",
    "IntArray",
    "LabelArray",
]

ArrayLike: TypeAlias = Any
"""What users pass: arrays, lists, memory maps, pandas or polars frames."""

FloatArray: TypeAlias = npt.NDArray[np.float64]
Float32Array: TypeAlias = npt.NDArray[np.float32]
AnyFloatArray: TypeAlias = npt.NDArray[Any]
"""Arrays of either float type."""
IntArray: TypeAlias = npt.NDArray[np.integer[Any]]
LabelArray: TypeAlias = npt.NDArray[Any]
"""Labels as users have them: strings, integers, booleans."""

InputScale: TypeAlias = Literal["probability", "logit"]
