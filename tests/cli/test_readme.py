"""The commands of the README and of the guide, as typed."""

import re
import shlex
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize(
    ("page", "title"),
    [
        ("README.md", "### Command line"),
        ("docs/gallery/from_a_file.md", "# From a file"),
        ("docs/guide/command_line.md", "# The com"),
    ],
)
def test_commands_work_as_typed(run, tmp_path, page, title):
    section = (ROOT / page).read_text(encoding="utf-8").partition(title)[2]
    found = re.search(r"```sh\n(dircal .*?)```", section, flags=re.S)
    assert found is not None
    told = ""
    for line in found[1].splitlines():
        name, *arguments = shlex.split(line, comments=True)
        assert name == "dircal"
        told += run(*arguments).stdout
    assert "passed: classwise_ece is 0.00" in told
    assert {"calibration.csv", "test.csv", "map.json", "calibrated.csv"} <= {
        path.name for path in tmp_path.iterdir()
    }


def test_the_gate_of_the_gallery_is_a_gate(run, tmp_path):
    page = (ROOT / "docs" / "gallery" / "ci_gate.md").read_text(encoding="utf-8")
    found = re.search(r"```sh\n(dircal .*?)\n```", page, flags=re.S)
    assert found is not None
    assert found[1] in page.partition("```yaml")[2]
    run("demo", "--save", ".")
    text = (tmp_path / "test.csv").read_text(encoding="utf-8")
    (tmp_path / "predictions.csv").write_text(text.replace("digit", "y", 1), encoding="utf-8")
    assert "FAILED" in run(*shlex.split(found[1])[1:], code=1).stdout
