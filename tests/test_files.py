"""Files are written whole or not at all."""

import os

import pytest

from dircal._files import check_target, whole_file


def test_whole_file_is_removed_whatever_happens(tmp_path):
    def write_half():
        with whole_file(tmp_path / "out") as temporary:
            temporary.write_text("half")
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        write_half()
    assert list(tmp_path.iterdir()) == []


def test_a_pipe_is_no_file_by_any_name(tmp_path):
    reader, writer = os.pipe()
    try:
        with pytest.raises(OSError, match="is a device or a pipe"):
            check_target(f"/dev/fd/{writer}")
    finally:
        os.close(reader)
        os.close(writer)
