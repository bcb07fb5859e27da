"""README and documentation as a stranger meets them: links, blocks, and ways to every page."""

import ast
import importlib
import re
import subprocess
import sys
from collections import deque
from pathlib import Path

import matplotlib.pyplot as plt
import pytest

ROOT = Path(__file__).parent.parent
DOCS = ROOT / "docs"
PAGES = sorted(path for path in DOCS.rglob("*.md") if not {"_build", "generated"} & {*path.parts})
GALLERY = sorted(path for path in (DOCS / "gallery").glob("*.md") if path.stem != "index")
each_page = pytest.mark.parametrize(
    "page", [ROOT / "README.md", *PAGES], ids=lambda page: str(page.relative_to(ROOT))
)
# What `make demo` does not install, of all that a block could be tempted to use.
NOT_IN_THE_DEMO = (
    "keras", "lightgbm", "matplotlib", "onnx", "onnxruntime", "pandas", "polars", "pyarrow",
    "pytest", "torch", "xgboost",
)  # fmt: skip
HIDE = """
import importlib.abc, sys

class Hidden(importlib.abc.MetaPathFinder):
    def find_spec(self, name, path, target=None):
        if name.partition(".")[0] in {}:
            raise ModuleNotFoundError(f"No module named {{name!r}}", name=name)

sys.meta_path.insert(0, Hidden())
"""


def blocks(page, language):
    """The blocks of a page in one language, also those inside a container."""
    text = page.read_text(encoding="utf-8")
    return re.findall(rf"^```{language}\n(.*?)^```", text, flags=re.S | re.M)


def linked_pages(page):
    """Where the links and lists of contents of a page lead within the documentation."""
    text = page.read_text(encoding="utf-8")
    names = re.findall(r"\]\(([\w./-]+\.md)", text)
    for tree in re.findall(r"```\{toctree\}\n(.*?)```", text, flags=re.S):
        entries = [line.strip() for line in tree.splitlines()]
        names += [f"{name}.md" for name in entries if name and not name.startswith(":")]
    return {(page.parent / name).resolve() for name in names}


def test_the_page_of_limits_is_current(monkeypatch):
    monkeypatch.syspath_prepend(str(DOCS))
    made = importlib.import_module("limits_page")
    assert made.PAGE.read_text(encoding="utf-8") == made.write_page()


def test_every_page_is_three_clicks_away():
    clicks, waiting = {DOCS / "index.md": 0}, deque([DOCS / "index.md"])
    while waiting:
        page = waiting.popleft()
        for there in linked_pages(page) - clicks.keys():
            assert there.exists(), f"{page.name} leads to {there}, which is not there"
            clicks[there] = clicks[page] + 1
            waiting.append(there)
    assert set(PAGES) <= set(clicks), "no way leads there"
    assert max(clicks[page] for page in PAGES) <= 3


@each_page
def test_local_links_lead_somewhere(page):
    text = re.sub(r"```.*?```", "", page.read_text(encoding="utf-8"), flags=re.S)
    for target in re.findall(r"\]\(([^)#\s]+)[^)]*\)", text):
        drawn = target.startswith("figures/") and page.parent.name in ("gallery", "guide")
        if "://" not in target and not drawn:
            assert (page.parent / target).exists(), target


@each_page
def test_every_block_of_python_is_run_or_at_least_read(page):
    """Blocks called python are run by the tests of the page, the others would not be noticed."""
    languages = re.findall(r"^```(\S*)\n(?=.)", page.read_text(encoding="utf-8"), flags=re.M)
    known = {"", "python", "py", "sh", "text", "yaml", "{toctree}", "{include}", "{eval-rst}"}
    assert {name for name in languages if not name.startswith("{")} <= known
    for block in blocks(page, "py"):
        ast.parse(block)


@pytest.mark.parametrize("page", GALLERY, ids=lambda page: page.stem)
def test_an_example_has_its_picture_and_its_card(page):
    text = page.read_text(encoding="utf-8")
    figures = re.findall(r"\(figures/(\w+)\.png\)", text)
    assert figures
    assert text.index("```python") < text.index("(figures/"), "a picture before any code"
    cards = (DOCS / "gallery" / "index.md").read_text(encoding="utf-8")
    assert f"({page.name})" in cards
    assert any(f"figures/{name}_small.png" in cards for name in figures)


def test_the_readme_runs_with_what_the_demonstration_installs():
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    assert '--editable ".[cli,report]"' in makefile
    code = [HIDE.format(NOT_IN_THE_DEMO)]
    for block in blocks(ROOT / "README.md", "python"):
        session = re.findall(r"^(?:>>>|\.\.\.) ?(.*)", block, flags=re.M)
        code.append("\n".join(session) if session else block)
    done = subprocess.run(
        [sys.executable, "-c", "\n".join(code)], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr


def test_pictures_of_the_readme_are_small():
    pictures = re.findall(r"\((docs/\S+?\.(?:png|svg))\)", (ROOT / "README.md").read_text())
    assert len(pictures) == 4
    for name in pictures:
        assert (ROOT / name).stat().st_size < 150_000, name


def test_figures_are_what_the_code_above_them_has_drawn(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(str(DOCS))
    drawing = importlib.import_module("page_figures")
    folder = tmp_path / "gallery"
    folder.mkdir()
    page = folder / "page.md"
    code = "import matplotlib.pyplot as plt\nplt.figure(figsize=(2, 1)).add_subplot()\n"
    shown = f"```python\n{code}```\n\n![One](figures/one.png)\n"
    page.write_text(f"{shown}\n```python\n>>> plt.subplots()\n```\n\n![Two](figures/two.png)\n")
    drawing.draw_all(tmp_path)
    assert plt.imread(folder / "figures" / "one.png").shape[:2] == (110, 220)
    assert plt.imread(folder / "figures" / "two.png").shape[:2] == (528, 704)
    assert (folder / "figures" / "one_small.png").exists()
    page.write_text(f"{shown}\n![Two](figures/three.png)\n")
    with pytest.raises(RuntimeError, match=r"No code of the page has drawn figures/three\.png"):
        drawing.draw_all(tmp_path)
