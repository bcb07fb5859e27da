"""A page as PDF, printed by a browser that the machine has."""

import os
import shutil
import subprocess
import tempfile
from pathlib import Path

from dircal.report._limits import REPORT_LIMITS

__all__ = ["find_browser", "to_pdf"]

_BROWSERS = (
    "chromium",
    "chromium-browser",
    "google-chrome",
    "google-chrome-stable",
    "chrome",
    "msedge",
    "microsoft-edge",
)


def find_browser() -> str:
    """A browser that can print; a FileNotFoundError where there is none."""
    browser = next(filter(None, map(shutil.which, _BROWSERS)), None)
    if browser is None:
        raise FileNotFoundError(
            f"Writing a report as PDF needs a browser: none of {', '.join(_BROWSERS)} was found. "
            "Install Chromium, or write HTML and print it to PDF."
        )
    return browser


def to_pdf(page: str) -> bytes:
    """The page as PDF, by the browser of this machine."""
    limits = REPORT_LIMITS.get()
    browser = find_browser()
    with tempfile.TemporaryDirectory(prefix="dircal-", ignore_cleanup_errors=True) as folder:
        source, target = Path(folder, "report.html"), Path(folder, "report.pdf")
        source.write_bytes(page.encode("utf-8", "replace"))
        command = [
            browser,
            "--headless",
            "--disable-gpu",
            "--no-first-run",
            "--disable-background-networking",
            "--disable-component-update",
            "--disable-sync",
            "--no-pdf-header-footer",
            f"--user-data-dir={Path(folder, 'profile')}",
            f"--print-to-pdf={target}",
            source.as_uri(),
        ]
        # Chromium refuses to run as root inside of its own sandbox.
        if hasattr(os, "geteuid") and os.geteuid() == 0:
            command.insert(1, "--no-sandbox")
        try:
            done = subprocess.run(
                command, capture_output=True, timeout=limits.max_pdf_seconds, check=False
            )
        except subprocess.TimeoutExpired:
            raise OSError(
                f"{browser} did not print the page within {limits.max_pdf_seconds:g} seconds. "
                "Write HTML and print it to PDF by hand."
            ) from None
        if not target.is_file():
            said = done.stderr.decode("utf-8", "replace").strip().splitlines()
            raise OSError(
                f"{browser} did not print the page: {said[-1] if said else 'it said nothing'}. "
                "Write HTML and print it to PDF by hand."
            )
        return target.read_bytes()
