"""A server of PostgreSQL for the tests, where its programs are installed."""

import os
import shutil
import socket
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest

# Where Debian puts the server, and where others do.
FOLDERS = [*Path("/usr/lib/postgresql").glob("*/bin"), *map(Path, os.get_exec_path())]
PROGRAMS = next((folder for folder in FOLDERS if (folder / "initdb").exists()), None)
# The server refuses to run as root; then it runs as the user that its package made.
USER = ["runuser", "-u", "postgres", "--"] if os.name == "posix" and os.getuid() == 0 else []


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Leave out what needs PostgreSQL where there is none, rather than skip it."""
    if PROGRAMS is not None and shutil.which("psql") and (not USER or shutil.which(USER[0])):
        return
    params = [(item, getattr(item, "callspec", None)) for item in items]
    items[:] = [
        item for item, call in params if call is None or call.params.get("database") != "postgres"
    ]


@pytest.fixture(scope="session")
def query_postgres() -> Iterator[Callable[..., np.ndarray]]:
    """What `query_duckdb` does, in a server of PostgreSQL that lives as long as the tests."""
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        if USER:
            shutil.chown(folder, "postgres")
        control = [*USER, str(PROGRAMS / "pg_ctl"), "-D", f"{folder}/data", "-w"]
        port = start_server(folder, control)
        client = ["psql", "-X", "-q", "-h", "127.0.0.1", "-p", port, "-U", "tester", "postgres"]

        def run(query: str, X: np.ndarray, columns: list[str]) -> np.ndarray:
            done = subprocess.run(
                [*client, "-v", "ON_ERROR_STOP=1", "-f", "-"],
                input=script(query, X, columns),
                capture_output=True,
                text=True,
                check=False,
            )
            assert done.returncode == 0, done.stderr[-2000:]
            lines = done.stdout.replace("\\N", "nan").splitlines()
            return np.array([line.split("\t") for line in lines], float)[:, 1 + len(columns) :]

        yield run
        subprocess.run([*control, "-m", "immediate", "stop"], check=True, capture_output=True)


def start_server(folder: str, control: list[str]) -> str:
    """Make a server that only this machine can reach, and say at which port it listens."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = str(free.getsockname()[1])
    make = [*USER, str(PROGRAMS / "initdb"), "-D", f"{folder}/data", "-U", "tester", "-A", "trust"]
    subprocess.run([*make, "-N"], check=True, capture_output=True, cwd=folder)
    options = f"-p {port} -c listen_addresses=127.0.0.1 -c unix_socket_directories="
    start = [*control, "-l", f"{folder}/log", "-o", options, "start"]
    subprocess.run(start, check=True, stdout=subprocess.DEVNULL, cwd=folder)
    return port


def script(query: str, X: np.ndarray, columns: list[str]) -> str:
    """Commands that fill a table and print what the query makes of it."""
    quoted = ['"{}"'.format(column.replace('"', '""')) for column in ("row number", *columns)]
    declared = ", ".join(f"{column} float8" for column in quoted)
    texts = [["\\N" if x is np.ma.masked else repr(float(x)) for x in row] for row in X]
    rows = "\n".join("\t".join([str(i), *row]) for i, row in enumerate(texts))
    return (
        f"CREATE TEMPORARY TABLE scores ({declared});\n"
        f"COPY scores FROM STDIN;\n{rows}\n\\.\n"
        f'COPY (SELECT * FROM ({query}) AS q ORDER BY "row number") TO STDOUT;\n'
    )
