"""Only frames that hold no rows are lazy."""

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from dircal.tables._lazy import refuse_lazy


@pytest.mark.parametrize(
    "eager", [np.ones((2, 2)), [[1, 2]], pd.DataFrame({"a": [1]}), pa.table({"a": [1]}), None]
)
def test_what_holds_rows_passes(eager):
    refuse_lazy("X", eager)


def test_arrays_of_dask_are_told():
    array = pytest.importorskip("dask.array")
    with pytest.raises(ValueError, match="`y_prob` is a lazy collection of Dask"):
        refuse_lazy("y_prob", array.ones((4, 2)))
