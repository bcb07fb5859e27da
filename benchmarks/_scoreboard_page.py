"""Pages of the scoreboard: the table, and for each library the programs that show its failures."""

import re
from pathlib import Path
from typing import Any

from _scoreboard_contracts import CONTRACTS, FED_WITH_OTHER_COLUMNS, SAME, SUM
from _scoreboard_run import BESIDE, FAILURES
from _scoreboard_worker import LIMIT

__all__ = ["library_page", "scoreboard_page", "write_pages"]

_FOLDER = "scoreboard"
# Two tables, since one is wider than a page.
_GROUPS = {
    "What is computed": ("sum", "relabel", "weights", "absent", "zeros", "NaN", "logits", "n < k"),
    "What is taken and given": (
        "text",
        "numbers",
        "float32",
        "pandas",
        "pickle",
        "clone",
        "checks",
    ),
}
_HEAD = f"""# Contract scoreboard

Written by `make scoreboard`, which makes an environment for each library, runs every contract in
it and then, for every failure, a program that shows it. Nothing here is written by hand.

**These contracts are our own.** They are what the tests of `dircal` ask of every calibrator, so it
is no surprise that ours keep them, and others never signed them. A cell says nothing of how well a
library calibrates: that is in [quality.md](quality.md). Each library is called as its
documentation says, with its defaults. Where the documentation rules a contract out, or the
interface has no place for it, that is [not offered](#not-offered) and no failure.

- ✓ the contract holds;
- **wrong**: an answer comes out, and it is not the one of the contract;
- **error**: an exception in the place of an answer, which is better than a wrong one;
- **hang**, **crash**: no answer after {LIMIT} seconds of computing, or the end of the process;
- `-` not offered.

Every failure leads to the program that shows it, and to what that program wrote.
"""
_DETAILS = f"""Problems have 400 rows of four classes (two for betacal, which takes no more), made
with a fixed seed, of a classifier that is too sure. Probabilities are the same where none differs
by more than {SAME}, and sum to one within {SUM}: optimisers in single precision stop within that.
`check_estimator` leaves out, for all alike, {len(FED_WITH_OTHER_COLUMNS)} checks that feed columns
which are no probabilities or not one for each class; `benchmarks/_scoreboard_contracts.py` lists
them and has the source of every contract. scikit-learn calibrates classifiers and not
probabilities, so it gets a frozen classifier that says what it is given; there, NaN is what such a
classifier might say.
"""
_ABOVE_PROGRAMS = """Written by `make scoreboard`; [the table](../scoreboard.md) says what the
contracts are and whose. Each program is made of the source that the table was made with, and was
run in a process of its own in the same environment; above it stands the exception that it ended
with. `Broken` is ours, all others are of the library.
"""


def write_pages(records: list[dict[str, Any]], folder: Path) -> None:
    """The table, and one page for each library that has a failure."""
    (folder / "scoreboard.md").write_text(scoreboard_page(records), encoding="utf-8")
    (folder / _FOLDER).mkdir(exist_ok=True)
    for record in records:
        page = folder / _FOLDER / f"{record['name']}.md"
        page.unlink(missing_ok=True)
        if any(cell["verdict"] in FAILURES for cell in record["cells"]):
            page.write_text(library_page(record), encoding="utf-8")


def scoreboard_page(records: list[dict[str, Any]]) -> str:
    """The table with what it means."""
    told = [(name, (law.__doc__ or "").partition("\n")[0]) for name, law in CONTRACTS.items()]
    laws = [[f"**{name}**", says] for name, says in told]
    return "\n".join(
        [
            _HEAD,
            *(f"## {title}\n\n{_scores(records, group)}\n" for title, group in _GROUPS.items()),
            "The last columns count contracts that hold, of those that are offered.\n",
            "## The contracts\n",
            _table(["column", "what holds"], laws),
            f"\n{_DETAILS}",
            "## Not offered\n",
            *_not_offered(records),
            "\n## Versions\n",
            _versions(records),
            "",
        ]
    )


def _table(head: list[str], rows: list[list[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _scores(records: list[dict[str, Any]], contracts: tuple[str, ...]) -> str:
    rows = []
    for record in records:
        if record["failure"] is not None:
            continue
        rows.append([f"**{_named(record)}**", *[""] * (len(contracts) + 1)])
        by_calibrator: dict[str, dict[str, dict[str, str]]] = {}
        for cell in record["cells"]:
            by_calibrator.setdefault(cell["calibrator"], {})[cell["contract"]] = cell
        for calibrator, cells in by_calibrator.items():
            verdicts = [cells[contract]["verdict"] for contract in contracts]
            offered = len(verdicts) - verdicts.count("not offered")
            shown = [_cell(record["name"], cells[contract]) for contract in contracts]
            rows.append([calibrator, *shown, f"{verdicts.count('holds')}/{offered}"])
    return _table(["", *(name.replace(" ", "&nbsp;") for name in contracts), "kept"], rows)


def _named(record: dict[str, Any]) -> str:
    version = record["versions"].get(record["name"])
    return f"{record['name']} {version}" if version else str(record["name"])


def _cell(library: str, cell: dict[str, str]) -> str:
    verdict = cell["verdict"]
    if verdict in FAILURES:
        return f"[{verdict}]({_FOLDER}/{library}.md#{_anchor(_heading(cell))})"
    return {"holds": "✓", "not offered": "-"}.get(verdict, verdict)


def _heading(cell: dict[str, str]) -> str:
    return f"{cell['calibrator']}: {cell['contract']}"


def _anchor(heading: str) -> str:
    """As GitHub and most others make it of a heading."""
    return re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")


def _not_offered(records: list[dict[str, Any]]) -> list[str]:
    lines = []
    for record in records:
        reasons: dict[str, list[str]] = {}
        for cell in record["cells"]:
            if cell["verdict"] == "not offered":
                contracts = reasons.setdefault(cell["message"], [])
                if cell["contract"] not in contracts:
                    contracts.append(cell["contract"])
        told = [f"**{', '.join(names)}**: {reason}" for reason, names in reasons.items()]
        if told:
            lines.append(f"- {record['name']}: {'; '.join(told)}.")
    return lines


def _versions(records: list[dict[str, Any]]) -> str:
    rows = []
    for record in records:
        versions = record["versions"]
        beside = [f"{name} {versions[name]}" for name in BESIDE if name in versions]
        what = ", ".join(beside) if record["failure"] is None else f"not run: {record['failure']}"
        rows.append([_named(record), what])
    return _table(["library", "with"], rows)


def library_page(record: dict[str, Any]) -> str:
    """The failures of a library: what was seen, and the program that shows it."""
    parts = [f"# {_named(record)}: what was seen\n", _ABOVE_PROGRAMS]
    for cell in record["cells"]:
        if cell["verdict"] in FAILURES:
            parts += [
                f"## {_heading(cell)}\n",
                f"```text\n{cell['output']}\n```\n",
                f"```python\n{cell['program']}```\n",
            ]
    return "\n".join(parts)
