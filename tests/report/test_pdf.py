"""A page as PDF, where there is a browser."""

import stat
import sys

import pytest

from dircal.report import _pdf


def test_without_a_browser_the_error_says_what_to_do(report, tmp_path, monkeypatch):
    monkeypatch.setattr("shutil.which", lambda name: None)
    with pytest.raises(FileNotFoundError, match="Install Chromium, or write HTML"):
        report.to_pdf(tmp_path / "report.pdf")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("script", "told"),
    [("exit 1", "it said nothing"), ("echo no display >&2; exit 1", "no display")],
)
@pytest.mark.skipif(sys.platform == "win32", reason="the browser is a shell script")
def test_a_browser_that_fails_is_told_of(report, tmp_path, monkeypatch, use_limits, script, told):
    browser = tmp_path / "chromium"
    browser.write_text(f"#!/bin/sh\n{script}\n")
    browser.chmod(browser.stat().st_mode | stat.S_IXUSR)
    monkeypatch.setattr(_pdf, "find_browser", lambda: str(browser))
    with pytest.raises(OSError, match=f"did not print the page: {told}"):
        report.to_pdf(tmp_path / "report.pdf")
    browser.write_text("#!/bin/sh\nsleep 30\n")
    use_limits("ReportLimits", max_pdf_seconds=0.2)
    with pytest.raises(OSError, match=r"within 0\.2 seconds"):
        report.to_pdf(tmp_path / "report.pdf")
    assert not (tmp_path / "report.pdf").exists()
