"""The contracts of our test suite, run against ourselves and other libraries: `scoreboard.md`.

``python benchmarks/scoreboard.py [LIBRARY ...]`` makes an environment for each library where there
is none yet, runs the contracts there, reproduces every failure by a program of its own, and renews
``results/scoreboard.json``, ``scoreboard.md`` and the pages in ``scoreboard``: of these libraries,
or of all. Environments stay in ``.venv-scoreboard``; remove that folder for the newest versions.
"""

import json
import sys
from pathlib import Path
from typing import Any

from _scoreboard_environments import InstallationError, environment
from _scoreboard_page import write_pages
from _scoreboard_run import run
from rivals import LIBRARIES, Library

HERE = Path(__file__).parent
RESULTS = HERE / "results" / "scoreboard.json"


def outcome(library: Library) -> dict[str, Any]:
    """What came of a library, also where it cannot be installed."""
    print(f"{library.name} ...", flush=True)
    try:
        python = environment(library)
    except InstallationError as error:
        failure = f"cannot be installed: {error}"
        record: dict[str, Any] = {"name": library.name, "versions": {}, "failure": failure}
        record["cells"] = []
    else:
        record = run(library, python)
    verdicts = [cell["verdict"] for cell in record["cells"]]
    counts = {verdict: verdicts.count(verdict) for verdict in dict.fromkeys(verdicts)}
    print(f"    {record['failure'] or counts}", flush=True)
    return record


def main(names: list[str]) -> None:
    """Renew what is known of some libraries, or of all, and write the pages."""
    known = {library.name for library in LIBRARIES}
    if not set(names) <= known:
        sys.exit(f"{sorted(set(names) - known)} are not among the libraries {sorted(known)}.")
    for library in LIBRARIES:
        if not names or library.name in names:
            # After each, so that a stop loses little, and several may run beside each other.
            keep(outcome(library))
    write_pages(read(), HERE)


def read() -> list[dict[str, Any]]:
    """What is known, in the order of the libraries."""
    if not RESULTS.exists():
        return []
    records: list[dict[str, Any]] = json.loads(RESULTS.read_text(encoding="utf-8"))
    return records


def keep(record: dict[str, Any]) -> None:
    """Put a record into the file of results, in the place of the last one of that library."""
    kept = {one["name"]: one for one in read()} | {record["name"]: record}
    records = [kept[library.name] for library in LIBRARIES if library.name in kept]
    text = json.dumps(records, indent=1, ensure_ascii=False)
    RESULTS.write_text(text + "\n", encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
