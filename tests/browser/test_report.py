"""The report of an audit in a real browser: its tables, its colours, and that nothing in it runs."""

from __future__ import annotations

import pytest
from playwright.sync_api import Page

from mcpsim.audit.engine import Finding
from mcpsim.audit.html import as_html
from mcpsim.audit.report import Report, Skipped

pytestmark = pytest.mark.browser

HOSTILE = "<img src=x onerror='window.ran = 1'><script>window.ran = 1</script>"
SPEC = "2026-07-28/basic/index#meta"
REPORT = Report(
    findings=(
        Finding("first-rule", "MUST", "server", 3, SPEC, f"What is there: {HOSTILE}", HOSTILE),
        Finding("second-rule", "SHOULD", HOSTILE, 4, SPEC, "What is there.", ""),
        Finding("third-rule", "note", "client", 5, SPEC, "What is there.", "Look."),
    ),
    annotations=(),
    skipped=(Skipped("line 9", HOSTILE),),
    notes=(HOSTILE,),
    messages=12,
)
# Of the text of an element and of the ground behind it, as WCAG 2.2 measures it.
CONTRAST = """element => {
  const rgb = text => text.match(/[\\d.]+/g).map(Number);
  const light = text => {
    const [r, g, b] = rgb(text).slice(0, 3).map(v => v / 255)
      .map(v => v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4);
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  let ground = element;
  while (rgb(getComputedStyle(ground).backgroundColor)[3] === 0) ground = ground.parentElement;
  const pair = [getComputedStyle(element).color, getComputedStyle(ground).backgroundColor].map(light).sort();
  return (Math.max(...pair) + 0.05) / (Math.min(...pair) + 0.05);
}"""


@pytest.fixture(params=["light", "dark"])
def page(request: pytest.FixtureRequest, page: Page) -> Page:
    page.emulate_media(color_scheme=request.param)
    page.set_viewport_size({"width": 1000, "height": 800})
    page.set_content(f"<!doctype html><body>{as_html(REPORT)}</body>")
    return page


def test_it_is_tables_with_headers_and_details_that_open(page: Page) -> None:
    assert page.get_by_role("region", name="Audit").count() == 1
    assert page.get_by_role("table").count() == 3
    assert page.get_by_role("columnheader").count() == 12
    assert page.get_by_role("rowheader").all_inner_texts() == ["row 3", "row 4", "row 5"]
    link = page.get_by_role("link", name=SPEC).first
    assert not link.is_visible()
    page.locator("summary").first.focus()
    page.keyboard.press("Enter")
    assert link.is_visible()


def test_nothing_in_it_runs(page: Page) -> None:
    for summary in page.locator("summary").all():
        summary.click()
    assert page.evaluate("window.ran") is None
    assert page.locator("img, script").count() == 0
    assert page.get_by_text("window.ran = 1").count() > 0


def test_every_text_stands_out_from_its_ground(page: Page) -> None:
    for summary in page.locator("summary").all():
        summary.click()
    found = page.locator("p, th, td, code, summary, caption span, a, li").evaluate_all(
        f"texts => texts.map({CONTRAST})"
    )
    assert len(found) > 30
    assert min(found) >= 4.5
