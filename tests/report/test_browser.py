"""The page in a real browser: it sorts, chooses and reads out, and nothing overlaps.

The browser is Chromium as the system has it; `make browser` installs it where that is possible.
"""

import shutil

import pytest

from dircal import AutoCalibrator, TemperatureScaling, calibration_test, compare, score_test

PHONE, DESK = (400, 740), (1440, 900)


@pytest.fixture(scope="session")
def chromium():
    """One browser for all tests."""
    playwright = pytest.importorskip("playwright.sync_api")
    names = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")
    path = next(filter(None, map(shutil.which, names)), None)
    if path is None:
        pytest.skip("there is no Chromium on this machine: `make browser` installs it, as root")
    with playwright.sync_playwright() as driver:
        try:
            browser = driver.chromium.launch(executable_path=path)
        except playwright.Error as error:
            pytest.skip(f"{path} does not start: {str(error).splitlines()[0]}")
        yield browser
        browser.close()


@pytest.fixture(scope="session")
def pages(report, hostile_report, report_of_many, report_of_a_shift, tmp_path_factory):
    """Files of the reports by name."""
    folder = tmp_path_factory.mktemp("pages")
    reports = {"plain": report, "hostile": hostile_report, "many": report_of_many}
    reports["shift"] = report_of_a_shift
    for name, one in reports.items():
        one.to_html(folder / f"{name}.html")
    return {name: (folder / f"{name}.html").as_uri() for name in reports}


@pytest.fixture(scope="session")
def notebook(report, problem, tmp_path_factory):
    """A page of cards, as notebooks put them one below the other."""
    fitted = AutoCalibrator().fit(problem.proba, problem.y)
    options = {"n_resamples": 100, "random_state": 0}
    shown = [
        fitted,
        fitted.explain(),
        calibration_test(problem.y, problem.proba, **options),
        score_test(problem.y, problem.proba, **options),
        compare([TemperatureScaling()], problem.proba, problem.y, **options),
        report,
    ]
    cells = "".join(f"<div class=cell>{one._repr_html_()}</div>" for one in shown)
    path = tmp_path_factory.mktemp("notebook") / "notebook.html"
    path.write_text(f"<!DOCTYPE html><meta charset=utf-8><title>notebook</title>{cells}")
    return path.as_uri()


@pytest.fixture
def visit(chromium, pages):
    """Opens a page, and at the end holds it to silence: no request, no message, no error."""
    contexts, troubles = [], []

    def open_page(name, *, size=DESK, scheme="light", scripts=True):
        context = chromium.new_context(
            viewport={"width": size[0], "height": size[1]},
            color_scheme=scheme,
            java_script_enabled=scripts,
        )
        # A machine that others use as well may be slow.
        context.set_default_timeout(1_200_000)
        contexts.append(context)
        page = context.new_page()
        page.on("console", lambda message: troubles.append(message.text))
        page.on("pageerror", lambda error: troubles.append(str(error)))
        page.on("dialog", lambda dialog: troubles.append(dialog.message))
        page.on(
            "request",
            lambda request: troubles.append(request.url) if request.url != pages[name] else None,
        )
        page.goto(pages[name])
        return page

    yield open_page
    for context in contexts:
        context.close()
    assert troubles == []


def test_a_notebook_shows_cards_and_the_report_in_a_frame(chromium, notebook, report):
    context = chromium.new_context(viewport={"width": 1000, "height": 900})
    context.set_default_timeout(1_200_000)
    page = context.new_page()
    troubles = []
    page.on("console", lambda message: troubles.append(message.text))
    page.on("pageerror", lambda error: troubles.append(str(error)))
    page.goto(notebook)
    assert page.title() == "notebook"
    assert page.locator(".cell").count() == 6
    assert page.locator(".cell > .dircal").count() == 6
    for card in page.locator("div.dircal").all():
        box = card.bounding_box()
        assert box["width"] <= 1000
        assert box["height"] > 40
    assert page.locator("div.dircal svg").count() == 3
    frame = page.frame_locator("iframe.dircal")
    assert frame.locator(".lead").inner_text() == report.summary.verdict.sentence
    # The script of the page runs inside, and nothing of it is seen outside.
    frame.locator(".classes thead button").first.click()
    assert page.locator(".lead").count() == 0
    assert page.evaluate("document.documentElement.scrollWidth") <= 1000
    context.close()
    assert troubles == []


def test_a_pdf_is_printed_by_the_browser(chromium, report, tmp_path):
    report.to_pdf(tmp_path / "report.pdf")
    assert (tmp_path / "report.pdf").read_bytes().startswith(b"%PDF")


def column(page, n, table=0):
    return (
        page.locator(".classes")
        .nth(table)
        .locator("tbody tr")
        .evaluate_all(f"rows => rows.map(row => row.cells[{n}].dataset.value)")
    )


def test_the_table_sorts_by_any_column(visit):
    page = visit("plain")
    heads = page.locator(".classes thead th")
    n_sortable = heads.locator("button").count()
    assert n_sortable == heads.count() - 1
    for n in range(n_sortable):
        orders = []
        for _ in range(2):
            heads.nth(n).locator("button").click()
            values = column(page, n)
            values = values if n == 0 else [float(value) for value in values]
            orders.append(heads.nth(n).get_attribute("aria-sort"))
            assert values == sorted(values, reverse=orders[-1] == "descending")
        assert sorted(orders) == ["ascending", "descending"]
        assert page.locator(".classes thead [aria-sort]").count() == 1


def test_rows_without_a_value_stay_last(visit):
    page = visit("many")
    page.locator("#classes summary").click()
    [table] = [i for i in range(2) if "" in column(page, 7, i)]
    recall = page.locator(".classes").nth(table).locator("thead th").nth(7).locator("button")
    for _ in range(2):
        recall.click()
        assert column(page, 7, table)[-1] == ""


def test_a_class_can_be_picked(visit, report):
    page = visit("plain")
    errors = [one.error_before for one in report.summary.classes]
    worst = errors.index(max(errors))
    assert page.locator(".panel:visible").get_attribute("id") == f"class-{worst}"
    other = (worst + 1) % len(errors)
    page.select_option("#class-picker", str(other))
    assert page.locator(".panel:visible").get_attribute("id") == f"class-{other}"
    page.locator(f'.classes a[href="#class-{worst}"]').click()
    assert page.locator(".panel:visible").get_attribute("id") == f"class-{worst}"
    assert page.locator("#class-picker").input_value() == str(worst)
    assert page.locator(".classes tr.shown a").get_attribute("href") == f"#class-{worst}"


def test_the_keyboard_is_enough(visit):
    page = visit("plain")
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.className") == "skip"
    page.locator(".classes thead th button").first.focus()
    before = column(page, 0)
    page.keyboard.press("Enter")
    page.keyboard.press("Enter")
    assert column(page, 0) == sorted(before, reverse=True)
    page.locator("#class-picker").focus()
    page.keyboard.press("Home")
    assert page.locator(".panel:visible").get_attribute("id") == "class-0"
    page.keyboard.press("ArrowDown")
    assert page.locator(".panel:visible").get_attribute("id") == "class-1"
    diagram = page.locator("#verdict .diagram").first
    diagram.focus()
    page.keyboard.press("ArrowRight")
    first = page.locator("#verdict .readout").first.inner_text()
    page.keyboard.press("ArrowRight")
    second = page.locator("#verdict .readout").first.inner_text()
    assert "said" in first
    assert first != second


def test_hovering_reads_out_bins(visit):
    page = visit("plain")
    for section in ("#verdict", "#reliability"):
        page.locator(f"{section} .bin").first.hover()
        assert "observed" in page.locator(f"{section} .readout").first.inner_text()


@pytest.mark.parametrize("name", ["plain", "hostile", "many"])
def test_the_first_screen_says_it_all(visit, name):
    """Verdict, advice, checks, the map and both diagrams, without scrolling at a desk."""
    page = visit(name)
    inside = "e => e.getBoundingClientRect().bottom <= innerHeight"
    # Names without end and long advice may push the rest down, but not these.
    for part in (".lead", ".advice"):
        assert page.locator(part).evaluate(inside)
    if name == "plain":
        for part in (".checks", ".choice", "#verdict .diagram"):
            assert page.locator(part).evaluate_all(f"all => all.every({inside})")
    drawn = page.locator("#verdict .diagram").evaluate_all(
        "all => all.map(e => e.getBoundingClientRect()).map(r => [r.left, r.right, r.top])"
    )
    assert len(drawn) == 2
    (_, right, top), (left, _, other_top) = drawn
    story = page.locator(".story").evaluate("e => e.getBoundingClientRect().right")
    assert right <= left
    if name == "plain":
        assert top == other_top
    assert story <= drawn[0][0]


def test_details_are_behind_a_fold(visit):
    page = visit("plain")
    assert "p ≤" not in page.locator("main").inner_text()
    assert page.locator("#measures .points").is_hidden()
    page.locator("#measures summary").click()
    assert page.locator("#measures .points").is_visible()
    assert "p ≤" in page.locator("#measures").inner_text()


def test_a_hundred_classes_show_twenty(visit):
    page = visit("many")
    assert page.locator(".classes tbody tr:visible").count() == 20
    page.locator("#classes summary").click()
    assert page.locator(".classes tbody tr:visible").count() == 30
    assert page.locator("#class-picker option").count() == 20


def test_hostile_names_do_nothing_but_show(visit, hostile):
    page = visit("hostile")
    assert page.title().startswith(hostile[2])
    for name in page.locator(".classes thead button").all():
        name.click()
    page.locator("#class-picker").select_option("0")
    assert page.locator(".panel:visible h3").inner_text() == hostile[0]
    assert page.evaluate("document.querySelectorAll('img, b b, script').length") == 1


# What is where depends on the page and the size, and colours on the scheme alone.
@pytest.mark.parametrize(
    ("name", "size", "scheme"),
    [
        ("plain", PHONE, "dark"),
        ("plain", DESK, "light"),
        ("hostile", PHONE, "light"),
        ("hostile", DESK, "dark"),
        ("many", PHONE, "dark"),
        ("many", DESK, "light"),
        ("shift", PHONE, "light"),
        ("shift", DESK, "dark"),
    ],
)
def test_nothing_overflows_and_no_label_overlaps(visit, name, size, scheme):
    page = visit(name, size=size, scheme=scheme)
    root = page.evaluate(
        "[document.documentElement.scrollWidth, document.documentElement.clientWidth]"
    )
    assert root[0] <= root[1]
    assert page.evaluate(OUTSIDE) == []
    assert page.evaluate(OVERLAPPING) == []
    colour = page.evaluate("getComputedStyle(document.documentElement).backgroundColor")
    assert (sum(map(int, colour[4:-1].split(","))) < 200) == (scheme == "dark")
    assert page.evaluate(CONTRAST) >= 4.5


# Elements that stick out of the page, though no box around them scrolls; and cells whose text
# sticks out of them.
OUTSIDE = """() => {
  const wide = document.documentElement.clientWidth + 1;
  const seen = (e) => e.getClientRects().length > 0 && !e.closest('.skip, .unseen');
  const free = [...document.querySelectorAll('main *, header *')].filter(
    (e) => seen(e) && !e.closest('.scroll, pre, .heat') && e.getBoundingClientRect().right > wide
  );
  const cells = [...document.querySelectorAll('td, th')].filter(
    (e) => seen(e) && e.scrollWidth > e.clientWidth + 1
  );
  return [...free, ...cells].map((e) => e.outerHTML.slice(0, 120));
}"""

# Labels of diagrams that touch each other or leave their diagram.
OVERLAPPING = """() => {
  const found = [];
  for (const svg of document.querySelectorAll('.diagram, .coverage')) {
    if (svg.getClientRects().length === 0) continue;
    const frame = svg.getBoundingClientRect();
    const boxes = [...svg.querySelectorAll('text')].map((e) => [e, e.getBoundingClientRect()]);
    boxes.forEach(([a, p], i) => {
      if (p.left < frame.left - 1 || p.right > frame.right + 1 || p.bottom > frame.bottom + 1) {
        found.push(a.textContent + ' leaves its diagram');
      }
      for (const [b, q] of boxes.slice(i + 1)) {
        if (p.left < q.right && q.left < p.right && p.top < q.bottom && q.top < p.bottom) {
          found.push(a.textContent + ' overlaps ' + b.textContent);
        }
      }
    });
  }
  return found;
}"""

# The least contrast of text to the ground of the page, as WCAG counts it.
CONTRAST = """() => {
  const light = (rgb) => {
    const [r, g, b] = rgb.match(/[\\d.]+/g).map((v) => {
      v /= 255;
      return v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4;
    });
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const ground = light(getComputedStyle(document.documentElement).backgroundColor);
  const inks = new Set(
    [...document.querySelectorAll('main *, header *')].map((e) => getComputedStyle(e).color)
  );
  const ratios = [...inks].map((ink) => {
    const [low, high] = [light(ink), ground].sort((a, b) => a - b);
    return (high + 0.05) / (low + 0.05);
  });
  return Math.min(...ratios);
}"""


def test_the_page_reads_without_scripts(visit, report):
    page = visit("plain", scripts=False)
    assert page.locator(".lead").inner_text() == report.summary.verdict.sentence
    assert page.locator(".picker").is_hidden()
    assert page.locator(".panel:visible").count() == 1
    target = page.locator(".classes a").last
    target.click()
    assert "#" + page.locator(".panel:visible").get_attribute("id") == target.get_attribute("href")


def test_the_page_prints(visit):
    page = visit("plain", scheme="dark")
    page.emulate_media(media="print", color_scheme="dark")
    assert page.locator("nav").is_hidden()
    assert page.locator(".panel:visible").count() == 4
    assert page.locator("details:visible").count() == 0
    assert page.locator("thead button:visible").count() == 0
    heads = page.locator("#classes thead th").all_inner_texts()
    assert heads[:2] == ["Class", "Rows"], "buttons do not repeat on the next sheet, text does"
    colour = page.evaluate("getComputedStyle(document.documentElement).backgroundColor")
    assert colour == "rgb(255, 255, 255)"
    assert page.pdf().startswith(b"%PDF")
