import sys

import pytest

import dircal._frames
from dircal._frames import to_frame

COLUMNS = {"calibrator": ["none", "temperature"], "value": [0.5, None]}


@pytest.mark.parametrize(
    ("installed", "module"), [(("pandas", "polars"), "pandas"), (("polars",), "polars")]
)
def test_takes_the_first_library_that_is_installed(installed, module, monkeypatch):
    for name in installed:
        pytest.importorskip(name)
    monkeypatch.setattr(dircal._frames, "find_spec", lambda name: name in installed or None)
    frame = to_frame(COLUMNS)
    assert type(frame).__module__.startswith(module)
    assert list(frame.columns) == list(COLUMNS)
    assert frame["calibrator"].to_list() == COLUMNS["calibrator"]


def test_needs_no_library(monkeypatch):
    monkeypatch.setattr(dircal._frames, "find_spec", lambda name: None)
    for name in ("pandas", "polars"):
        monkeypatch.setitem(sys.modules, name, None)
    assert to_frame({"value": (1, 2)}) == {"value": [1, 2]}
