"""Taking a map elsewhere: ONNX, PyTorch, Keras, SQL, plain Python.

Nothing here checks its input when it runs: the labels of the columns that go in and of those that
come out are part of every export.
"""

from dircal.export._keras import register_keras, to_keras
from dircal.export._onnx import to_onnx
from dircal.export._python import to_python
from dircal.export._spark import to_spark
from dircal.export._sql import to_sql
from dircal.export._torch import from_torch, to_torch

__all__ = [
    "from_torch",
    "register_keras",
    "to_keras",
    "to_onnx",
    "to_python",
    "to_spark",
    "to_sql",
    "to_torch",
]
