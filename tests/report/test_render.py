"""The page as text: complete, closed to the outside, and harmless."""

import re
import sys
from html.parser import HTMLParser

import numpy as np
import pytest

from dircal import Report, TemperatureScaling
from dircal.report import _render


class Elements(HTMLParser):
    """Collects the elements of a page."""

    def __init__(self, text):
        super().__init__()
        self.found = []
        self.text = []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.found.append((tag, dict(attrs)))

    def handle_data(self, data):
        self.text.append(data)


def test_the_page_asks_for_nothing(report, report_of_many):
    for one in (report, report_of_many):
        page = one.to_html()
        assert page.startswith("<!DOCTYPE html>")
        elements = Elements(page)
        for tag, attributes in elements.found:
            assert tag not in ("img", "link", "iframe", "object", "base", "form")
            assert "src" not in attributes
            assert "style" not in attributes, "the policy of the page refuses styles of elements"
            assert not any(name.startswith("on") for name in attributes)
            assert attributes.get("href", "#").startswith("#")
        assert not re.search(r"https?://|url\(|@import", page)
        [policy] = [one["content"] for _, one in elements.found if "http-equiv" in one]
        for rule in ("default-src", "base-uri", "form-action"):
            assert f"{rule} 'none'" in policy.split("; ")


def test_ids_are_unique_and_links_lead_somewhere(report):
    elements = Elements(report.to_html())
    ids = [attributes["id"] for _, attributes in elements.found if "id" in attributes]
    assert len(ids) == len(set(ids))
    for _, attributes in elements.found:
        if "href" in attributes:
            assert attributes["href"][1:] in ids
        if "aria-labelledby" in attributes:
            assert attributes["aria-labelledby"] in ids


def test_hostile_names_are_text(hostile_report, hostile):
    page = hostile_report.to_html()
    elements = Elements(page)
    assert [tag for tag, _ in elements.found].count("script") == 1
    assert "img" not in [tag for tag, _ in elements.found]
    assert "b" not in [tag for tag, _ in elements.found[:12]]
    text = "".join(elements.text)
    for name in hostile:
        assert name in text
    assert "{{ 7 * 7 }}" in text


def test_hostile_names_stay_inside_of_their_data(make_problem, hostile):
    rows = make_problem(3, n=200, k=20)
    names = ["</script><script>document.title = 'hacked'</script>", *map(str, range(19))]
    report = Report.from_predictions(
        rows.y,
        rows.proba,
        class_names=names,
        calibrators=TemperatureScaling(),
        sample_weight=np.ones(200),
    )
    page = report.to_html()
    assert page.count("<script") == 1 + ('id="matrices"' in page)


def test_every_sentence_and_number_of_the_summary_is_on_the_page(report):
    text = "".join(Elements(report.to_html()).text)
    verdict = report.summary.verdict
    for sentence in (verdict.sentence, verdict.advice, *verdict.points, *verdict.cautions):
        assert sentence in text
    for sentence in report.summary.map.sentences:
        assert sentence in text
    for name in report.summary.class_names:
        assert name in text
    data = report.summary.data
    assert data.sha256_scores in text
    assert report.summary.settings.code in text
    assert "200 draws" in text


def test_a_hundred_classes_stay_below_three_megabytes(make_problem):
    rows = make_problem(0, n=1500, k=100)
    report = Report.from_predictions(
        rows.y, rows.proba, calibrators=TemperatureScaling(), n_resamples=100
    )
    assert len(report.to_html().encode()) < 3e6


def test_names_that_are_no_unicode_are_written_all_the_same(problem, tmp_path):
    labels = np.array(["a\udcff", "b", "c", "d"])
    report = Report.from_predictions(
        labels[problem.y],
        problem.proba,
        classes=labels,
        calibrators=TemperatureScaling(),
        source="odd\udcff.csv",
        n_resamples=100,
    )
    report.to_html(tmp_path / "page.html")
    assert b"odd?.csv" in (tmp_path / "page.html").read_bytes()


def test_files_are_written_whole_or_not_at_all(report, tmp_path):
    with pytest.raises(FileNotFoundError, match="does not exist"):
        report.to_html(tmp_path / "nowhere" / "page.html")
    with pytest.raises(IsADirectoryError, match="is a folder"):
        report.to_html(tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_a_missing_extra_is_named(report, monkeypatch):
    _render._template.cache_clear()
    monkeypatch.setitem(sys.modules, "jinja2", None)
    with pytest.raises(ModuleNotFoundError, match=re.escape("pip install 'dircal[report]'")):
        report.to_html()
    assert report._repr_html_() is None, "a notebook then shows the text"
    assert report.to_dict()["chosen"]


def test_a_report_says_what_to_do_in_a_few_lines(report):
    sentence, advice, *_, last = repr(report).splitlines()
    assert sentence == f"<Report: {report.summary.verdict.sentence}"
    assert advice.strip() == report.summary.verdict.advice
    assert last.endswith("writes the page>")


def test_a_report_in_a_notebook_is_closed(report):
    [(tag, attributes)] = Elements(report._repr_html_()).found
    assert tag == "iframe"
    assert attributes["sandbox"] == "allow-scripts"
    assert attributes["srcdoc"] == report.to_html()


def test_the_score_test_says_where_it_comes_from(problem, use_limits):
    def told():
        report = Report.from_predictions(
            problem.y, problem.proba, calibrators=[TemperatureScaling()], n_resamples=100
        )
        return re.search(r"The score test finds.*?(100 draws[^)]*)\)", report.to_html(), re.S)[1]

    assert told() == "100 draws"
    use_limits("ResamplingLimits", min_moment_rows=10, max_excess_kurtosis=100.0)
    assert told() == "100 draws from moments"
