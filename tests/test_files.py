"""Files are written whole or not at all."""

import errno
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from dircal._files import (
    WrittenFiles,
    check_target,
    remove_abandoned,
    whole_file,
    write_whole,
)


def test_whole_file_is_removed_whatever_happens(tmp_path):
    def write_half():
        with whole_file(tmp_path / "out") as temporary:
            temporary.write_text("half")
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        write_half()
    assert list(tmp_path.iterdir()) == []


def test_a_link_to_itself_is_no_file(tmp_path):
    (tmp_path / "loop").symlink_to("loop")
    with pytest.raises(OSError, match="is a link that leads back to itself"):
        write_whole(tmp_path / "loop", b"")


def test_a_pipe_is_no_file_by_any_name(tmp_path):
    reader, writer = os.pipe()
    try:
        with pytest.raises(OSError, match="is a device or a pipe"):
            check_target(f"/dev/fd/{writer}")
    finally:
        os.close(reader)
        os.close(writer)


def test_without_replace_a_file_that_appears_stays(tmp_path):
    target = tmp_path / "out"

    def write():
        with whole_file(target, replace=False) as temporary:
            temporary.write_text("ours")
            target.write_text("theirs")

    with pytest.raises(FileExistsError, match="exists by now, and was not replaced"):
        write()
    assert target.read_text() == "theirs"
    assert list(tmp_path.iterdir()) == [target]


@pytest.mark.parametrize("there", [False, True])
def test_without_links_it_is_the_same(tmp_path, monkeypatch, there):
    def no_links(*_):
        raise OSError(errno.EPERM, os.strerror(errno.EPERM))

    monkeypatch.setattr(os, "link", no_links)
    target = tmp_path / "out"

    def write():
        with whole_file(target, replace=False) as temporary:
            temporary.write_text("ours")
            if there:
                target.write_text("theirs")

    if there:
        with pytest.raises(FileExistsError):
            write()
    else:
        write()
    assert target.read_text() == ("theirs" if there else "ours")
    assert list(tmp_path.iterdir()) == [target]


def test_no_room_names_the_file_and_nothing_else_does(tmp_path):
    def write(*error):
        with whole_file(tmp_path / "out"):
            raise OSError(*error)

    with pytest.raises(OSError, match=r"No space left on device: '.*out'"):
        write(errno.ENOSPC, "No space left on device")
    with pytest.raises(OSError, match="No space left on device: '/elsewhere'"):
        write(errno.ENOSPC, "No space left on device", "/elsewhere")


class TestWrittenFiles:
    def test_what_is_there_counts(self, tmp_path, monkeypatch):
        with WrittenFiles() as written:
            write_whole(tmp_path / "a", b"1")
            with whole_file(tmp_path / "b", replace=False) as temporary:
                write_whole(temporary, b"2")
            rename = Path.replace

            def stop_after(self, target):
                rename(self, target)
                raise KeyboardInterrupt

            monkeypatch.setattr(Path, "replace", stop_after)
            with pytest.raises(KeyboardInterrupt):
                write_whole(tmp_path / "c", b"3")
            monkeypatch.setattr(Path, "replace", lambda *_: os.close(999_999))
            with pytest.raises(OSError, match="Bad file descriptor"):
                write_whole(tmp_path / "d", b"4")
        assert written.names() == [str(tmp_path / name) for name in "abc"]

    def test_nothing_is_kept_outside(self, tmp_path):
        with WrittenFiles() as written:
            pass
        write_whole(tmp_path / "a", b"1")
        assert written.names() == []


class TestAbandoned:
    @pytest.fixture
    def killed(self, tmp_path):
        """A process that was killed while it wrote."""
        if os.name == "nt":
            pytest.skip("there are no signals on Windows")
        code = (
            "import os, signal, sys; from dircal._files import whole_file\n"
            "with whole_file(sys.argv[1]) as temporary:\n"
            "    temporary.write_text('half')\n"
            "    os.kill(os.getpid(), signal.SIGKILL)\n"
        )
        process = subprocess.Popen([sys.executable, "-c", code, str(tmp_path / "out")])
        yield process
        process.wait()

    def test_files_of_the_dead_go(self, tmp_path, killed):
        assert killed.wait() == -signal.SIGKILL
        assert len(list(tmp_path.glob(".out.*"))) == 1
        remove_abandoned(tmp_path)
        assert list(tmp_path.iterdir()) == []

    def test_the_dead_whom_nobody_has_buried_are_dead(self, tmp_path, killed):
        if not Path("/proc/self/stat").exists():
            pytest.skip("zombies are told from the living by /proc")
        os.waitid(os.P_PID, killed.pid, os.WEXITED | os.WNOWAIT)
        remove_abandoned(tmp_path)
        assert list(tmp_path.iterdir()) == []

    def test_files_of_the_living_stay(self, tmp_path):
        with whole_file(tmp_path / "out") as temporary:
            temporary.write_text("half")
            remove_abandoned(tmp_path)
            assert temporary.exists()

    def test_a_number_that_was_given_again_is_another_process(self, tmp_path):
        with whole_file(tmp_path / "out") as temporary:
            machine, pid, start, chance = temporary.name.rpartition(".dircal-")[2].split("-")
            if start == "0":
                pytest.skip("nothing tells when a process began")
            other = f".out.dircal-{machine}-{pid}-{int(start) - 1}-{chance}"
            (tmp_path / other).write_text("half")
            temporary.write_text("whole")
            remove_abandoned(tmp_path)
        assert list(tmp_path.iterdir()) == [tmp_path / "out"]

    def test_files_of_other_machines_stay_for_a_day(self, tmp_path):
        young, old = (tmp_path / f".out.dircal-00000000-1-1-0000000{i}" for i in range(2))
        for path in (young, old):
            path.write_text("half")
        os.utime(old, (time.time() - 90_000,) * 2)
        remove_abandoned(tmp_path)
        assert list(tmp_path.iterdir()) == [young]

    def test_other_files_stay(self, tmp_path):
        names = ["out.dircal-00000000-1-1-00000000", ".out.dircal-0-1-1-00000000", ".out.csv"]
        for name in names:
            (tmp_path / name).write_text("mine")
            os.utime(tmp_path / name, (0, 0))
        (tmp_path / ".out.dircal-00000000-1-1-00000001").mkdir()
        remove_abandoned(tmp_path)
        assert len(list(tmp_path.iterdir())) == 4
        remove_abandoned(tmp_path / "no such folder")
