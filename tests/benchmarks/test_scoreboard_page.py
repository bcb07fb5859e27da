"""Pages of the scoreboard: those that are committed are those of the results."""

import json
import re
from pathlib import Path

import pytest
from _scoreboard_contracts import CONTRACTS
from _scoreboard_page import library_page, scoreboard_page, write_pages
from _scoreboard_run import FAILURES
from rivals import LIBRARIES

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"


def cell(contract, verdict, **more):
    return {"calibrator": "Map (1)", "contract": contract, "verdict": verdict, **more}


@pytest.fixture
def records():
    cells = [cell(name, "holds", message="") for name in CONTRACTS]
    cells[0] = cell("sum", "wrong", message="m", program="import x\n", output="Broken: m")
    cells[2] = cell("weights", "not offered", message="there are none")
    some = {"name": "some", "versions": {"some": "1.5", "numpy": "2"}, "failure": None}
    none = {"name": "none", "versions": {}, "failure": "cannot be installed: no wheel", "cells": []}
    return [some | {"cells": cells}, none]


def anchors(page):
    headings = re.findall(r"^#+ (.*)$", page, flags=re.M)
    return {re.sub(r"[^\w\- ]", "", one.lower()).replace(" ", "-") for one in headings}


def test_a_row_has_its_verdicts_and_leads_to_what_was_seen(records):
    page = scoreboard_page(records)
    computed, taken = [line for line in page.splitlines() if line.startswith("| Map (1) |")]
    assert computed.split(" | ")[1:4] == ["[wrong](scoreboard/some.md#map-1-sum)", "✓", "-"]
    assert computed.endswith(" | 6/7 |")
    assert taken.endswith(" | 7/7 |")
    assert computed.count(" | ") + taken.count(" | ") == len(CONTRACTS) + 2
    assert "map-1-sum" in anchors(library_page(records[0]))
    assert "- some: **weights**: there are none." in page
    assert "| some 1.5 | numpy 2 |" in page
    assert "| none | not run: cannot be installed: no wheel |" in page


def test_what_was_seen_stands_above_its_program(records):
    page = library_page(records[0])
    assert "```text\nBroken: m\n```\n\n```python\nimport x\n```" in page
    assert "weights" not in page


def test_libraries_without_failures_have_no_page(records, tmp_path):
    write_pages(records, tmp_path)
    assert [path.name for path in (tmp_path / "scoreboard").iterdir()] == ["some.md"]
    records[0]["cells"] = [cell(name, "holds", message="") for name in CONTRACTS]
    write_pages(records, tmp_path)
    assert not [*(tmp_path / "scoreboard").iterdir()]


@pytest.fixture(scope="module")
def results():
    path = BENCHMARKS / "results" / "scoreboard.json"
    return json.loads(path.read_text(encoding="utf-8"))


def test_all_libraries_were_run(results):
    assert [record["name"] for record in results] == [library.name for library in LIBRARIES]
    for record in results:
        kinds = {one["calibrator"] for one in record["cells"]}
        assert len(record["cells"]) == len(kinds) * len(CONTRACTS)
        assert bool(kinds) == (record["failure"] is None)


def test_every_failure_was_reproduced(results):
    for record in results:
        for one in record["cells"]:
            assert one["verdict"] in ("holds", "not offered", *FAILURES)
            if one["verdict"] in FAILURES:
                compile(one["program"], "reproduction", "exec")
                assert one["output"]


def test_the_committed_pages_are_those_of_the_results(results, tmp_path):
    write_pages(results, tmp_path)
    written = {path.relative_to(tmp_path) for path in tmp_path.rglob("*.md")}
    folder = BENCHMARKS / "scoreboard"
    committed = {path.relative_to(BENCHMARKS) for path in folder.glob("*.md")}
    assert written == committed | {Path("scoreboard.md")}
    for name in written:
        text = (tmp_path / name).read_text(encoding="utf-8")
        assert text == (BENCHMARKS / name).read_text(encoding="utf-8"), name


def test_links_lead_to_headings(results):
    page = scoreboard_page(results)
    pages = {record["name"]: anchors(library_page(record)) for record in results}
    links = re.findall(r"\(scoreboard/([\w-]+)\.md#([\w-]+)\)", page)
    assert links
    for name, anchor in links:
        assert anchor in pages[name]
