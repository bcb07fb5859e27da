"""The pictures of the README and of the start page: ``python docs/readme_pictures.py``.

``before_after.svg`` needs the outputs of a network that are no part of the repository: the folder
that `DIRCAL_DATA` names. The screenshots need Chromium. What is missing is left as it is.
"""

import contextlib
import html
import io
import itertools
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import textwrap
from pathlib import Path
from typing import Any

import numpy as np
from scipy.special import softmax

from dircal import AutoCalibrator, Report
from dircal.metrics import log_loss
from dircal.plots import ReliabilityDisplay

ROOT = Path(__file__).resolve().parents[1]
FOLDER = ROOT / "docs" / "_static" / "readme"
NETWORK = "paper_c10_densenet40.npz"
SURE = 0.99
MOST_LINES = 18

INK, QUIET, BAR, GAP = "#1f2933", "#5f6c7b", "#2f6db5", "#d1495b"
SANS = "-apple-system, 'Segoe UI', 'DejaVu Sans', Helvetica, Arial, sans-serif"
SIDE, LEFT, TOP, STEP = 300, 70, 130, 440


def draw_network(path: Path) -> str:
    """Reliability of a network's confidence before and after calibration, as SVG."""
    with np.load(path) as stored:
        calibrator = AutoCalibrator(input_scale="logit")
        calibrator.fit(stored["val_logits"], stored["val_labels"])
        logits, y, n_fit = stored["test_logits"], stored["test_labels"], len(stored["val_labels"])
    before = softmax(logits.astype(float), axis=1)
    after = calibrator.predict_proba(logits)
    panels = "".join(
        _panel(LEFT + STEP * place, title, y, proba)
        for place, (title, proba) in enumerate((("Before", before), ("After", after)))
    )
    losses = f"log-loss {log_loss(y, before):.3f} → {log_loss(y, after):.3f}"
    rows = f"fitted on {n_fit} images, measured on {len(y)} others"
    foot = f"DenseNet-40 on CIFAR-10, {rows}; {losses}"
    middle, bottom = LEFT + (STEP + SIDE) / 2, TOP + SIDE + 70
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 880 520" font-family="{SANS}">\n'
        f"<title>A network before and after calibration</title>\n"
        f'<rect width="880" height="520" rx="10" fill="#ffffff"/>\n{panels}'
        f"{_text(middle, bottom, foot, 14, QUIET)}</svg>\n"
    )


def _panel(x: float, title: str, y: Any, proba: Any) -> str:
    right = proba.argmax(axis=1) == y
    confidence = proba.max(axis=1)
    sure = confidence >= SURE
    centre = x + SIDE / 2
    head = f"confidence {confidence.mean():.1%}, accuracy {right.mean():.1%}"
    told = f"accuracy {right[sure].mean():.1%} if confidence is at least {SURE:.0%}"
    parts = [
        _text(centre, 38, title, 15, QUIET),
        _text(centre, 70, head, 25, INK, weight="600"),
        _text(centre, 98, told, 16, QUIET),
        f'<rect x="{x}" y="{TOP}" width="{SIDE}" height="{SIDE}" fill="#f5f7fa"/>\n',
    ]
    frame = ReliabilityDisplay.from_predictions(y, proba, n_bins=10, level=None).to_frame()
    most = max(frame["count"])
    bars = zip(frame["mean_predicted"], frame["frequency"], frame["count"], strict=True)
    for said, found, count in bars:
        parts.append(_bar(x, said, found, 0.3 + 0.7 * (count / most) ** 0.3))
    parts.append(
        f'<path d="M{x} {TOP + SIDE}L{x + SIDE} {TOP}" stroke="{INK}" stroke-dasharray="5 4"/>\n'
    )
    for share in (0.0, 0.5, 1.0):
        along, up = x + SIDE * share, TOP + SIDE * (1 - share)
        label = f"{share:.0%}"
        parts.append(_text(along, TOP + SIDE + 20, label, 13, QUIET))
        parts.append(_text(x - 8, up + 5, label, 13, QUIET, anchor="end"))
    parts.append(_text(centre, TOP + SIDE + 40, "confidence", 13, QUIET))
    tall = TOP + SIDE / 2
    turned = f' transform="rotate(-90 {x - 50} {tall})"'
    parts.append(_text(x - 50, tall, "accuracy", 13, QUIET, extra=turned))
    return "".join(parts)


def _bar(x: float, said: float, found: float, opacity: float) -> str:
    width, place = SIDE / 10, min(int(10 * said), 9)
    low, high = sorted((said, found))
    fill = f'fill-opacity="{opacity:.2f}"'
    return (
        f'<rect x="{x + place * width + 1:.1f}" y="{TOP + SIDE * (1 - found):.1f}" '
        f'width="{width - 2:.1f}" height="{SIDE * found:.1f}" fill="{BAR}" {fill}/>\n'
        f'<rect x="{x + (place + 0.3) * width:.1f}" y="{TOP + SIDE * (1 - high):.1f}" '
        f'width="{0.4 * width:.1f}" height="{SIDE * (high - low):.1f}" fill="{GAP}" {fill}/>\n'
    )


def _text(
    x: float,
    y: float,
    words: str,
    size: int,
    colour: str,
    *,
    anchor: str = "middle",
    weight: str = "400",
    extra: str = "",
) -> str:
    return (
        f'<text x="{x:g}" y="{y:g}" font-size="{size}" fill="{colour}" text-anchor="{anchor}" '
        f'font-weight="{weight}"{extra}>{html.escape(words)}</text>\n'
    )


def blocks(language: str) -> list[str]:
    """The README's blocks of one language, as they are printed there."""
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    return re.findall(rf"```{language}\n(.*?)```", text, flags=re.S)


def python_page() -> str:
    """The README's sessions, run anew, with the colours of an editor."""
    from pygments import highlight
    from pygments.formatters import HtmlFormatter
    from pygments.lexers import PythonConsoleLexer

    space: dict[str, Any] = {}
    exec(compile(blocks("python")[0], "README", "exec"), space)
    lines: list[str] = []
    for line in "".join(blocks("python")).splitlines():
        if line.startswith(">>> "):
            told = io.StringIO()
            with contextlib.redirect_stdout(told):
                exec(compile(line[4:], "README", "single"), space)
            folded = (textwrap.wrap(one, 92) or [""] for one in told.getvalue().splitlines())
            lines += [line, *itertools.chain(*folded)]
    del lines[MOST_LINES:]
    formatter = HtmlFormatter(style="friendly", noclasses=True, nobackground=True)
    body = highlight("\n".join(lines), PythonConsoleLexer(), formatter)
    # Answers are to be read as well: not in pale grey.
    return _page(body.replace("#888", "#333"), "#fbfcfd", INK)


def terminal_page(folder: Path) -> str:
    """The README's commands, run anew, as a terminal shows them."""
    commands = next(block for block in blocks("sh") if "dircal fit" in block)
    surroundings = {**os.environ, "COLUMNS": "100", "NO_COLOR": "1"}
    lines: list[str] = []
    for command in commands.splitlines()[:4]:
        done = subprocess.run(
            [sys.executable, "-m", *shlex.split(command)],
            cwd=folder,
            env=surroundings,
            capture_output=True,
            text=True,
            check=True,
        )
        lines += [f"<b>$ {html.escape(command)}</b>", html.escape(done.stdout.strip())]
    return _page(f"<pre>{chr(10).join(lines)}</pre>", "#16202c", "#d7dee7")


def _page(body: str, background: str, ink: str) -> str:
    font = "15px/1.45 'DejaVu Sans Mono', monospace"
    style = (
        f"body {{ margin: 0; background: {background}; color: {ink} }} b {{ color: #7cc7ff }}"
        " #all { display: inline-block }"
        f" pre {{ margin: 0; padding: 18px 20px; font: {font} }}"
    )
    return f'<style>{style}</style><div id="all">{body}</div>'


def report_page() -> str:
    """The page about the forest of the README."""
    space: dict[str, Any] = {}
    exec(compile(blocks("python")[0], "README", "exec"), space)
    report = Report.from_predictions(space["y_new"], space["before"], random_state=0)
    return report.to_html()


def screenshot(browser: Any, page: str, path: Path, size: tuple[int, int]) -> None:
    """A terminal as large as its text, or the top of a page, in few colours."""
    from PIL import Image

    context = browser.new_context(
        viewport={"width": size[0], "height": size[1]}, device_scale_factor=1.5
    )
    tab = context.new_page()
    tab.set_content(page)
    cropped = tab.locator("#all")
    raw = cropped.screenshot() if cropped.count() else tab.screenshot()
    context.close()
    picture = Image.open(io.BytesIO(raw)).convert("RGB").quantize(128)
    picture.save(path, optimize=True)


def main() -> None:
    """Draw what can be drawn here."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    data = Path(os.environ.get("DIRCAL_DATA") or ".") / "networks" / NETWORK
    if data.exists():
        (FOLDER / "before_after.svg").write_text(draw_network(data), encoding="utf-8")
    chromium = shutil.which("chromium") or shutil.which("google-chrome")
    if chromium is None:
        return
    from playwright.sync_api import sync_playwright

    with tempfile.TemporaryDirectory() as name:
        pages = {
            "python": (python_page(), (900, 500)),
            "command_line": (terminal_page(Path(name)), (1400, 1200)),
            "report": (report_page(), (900, 640)),
        }
    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=chromium)
        for stem, (page, size) in pages.items():
            screenshot(browser, page, FOLDER / f"{stem}.png", size)
        browser.close()


if __name__ == "__main__":
    main()
