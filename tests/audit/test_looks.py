"""How a report looks: as text, and as HTML."""

from __future__ import annotations

from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

from mcpsim.audit import audit
from mcpsim.audit.engine import Finding
from mcpsim.audit.html import as_html
from mcpsim.audit.report import Incomplete, Report, Skipped
from mcpsim.audit.text import as_text
from mcpsim.recording.readers import read_trace

SAMPLES = Path(__file__).parent.parent / "recording" / "samples"
HOSTILE = "<script>alert('x')</script>&\x1b[31m\u202e\n\"'</td>"


def finding(index: int, level: Any = "MUST", **members: str) -> Finding:
    row = {
        "rule": "progress-rises",
        "party": "server",
        "spec": "2026-07-28/basic/patterns/progress#progress-flow",
        "message": f"Progress went from 10 to {index}.",
        "hint": "Send only values that rise.",
        **members,
    }
    return Finding(level=level, index=index, **row)


REPORT = Report(
    findings=(
        finding(2),
        finding(5),
        finding(6, "SHOULD", rule="say-your-name", party="client", hint=""),
        finding(7, "note", rule="look-here"),
        finding(9, rule="ids-differ"),
    ),
    annotations=(),
    incomplete=(Incomplete("request-without-answer", 3, "Nobody answered."),),
    skipped=(Skipped("line 5", "Line 5 is not JSON."), Skipped("entry 2", "It has no URL.")),
    notes=("Directions were inferred.",),
    messages=120,
)


def test_a_report_as_text() -> None:
    assert (
        as_text(REPORT, places=["line 1", "line 2", "line 4"])
        == """\
2 broken rules (MUST) in 3 places, 1 recommendation (SHOULD), 1 note in 120 messages.

MUST: what has to hold, and does not

  progress-rises (server)
    row 2 (line 4): Progress went from 10 to 2.
      Try: Send only values that rise.
    row 5: Progress went from 10 to 5.
    https://modelcontextprotocol.io/specification/2026-07-28/basic/patterns/progress#progress-flow

  ids-differ (server)
    row 9: Progress went from 10 to 9.
      Try: Send only values that rise.
    https://modelcontextprotocol.io/specification/2026-07-28/basic/patterns/progress#progress-flow

SHOULD: what is recommended, and not done

  say-your-name (client)
    row 6: Progress went from 10 to 6.
    https://modelcontextprotocol.io/specification/2026-07-28/basic/patterns/progress#progress-flow

Notes

  look-here (server)
    row 7: Progress went from 10 to 7.
      Try: Send only values that rise.
    https://modelcontextprotocol.io/specification/2026-07-28/basic/patterns/progress#progress-flow

Incomplete
  row 3: Nobody answered.

Not read
  Line 5 is not JSON.
  entry 2: It has no URL.

About the reading
  Directions were inferred."""
    )


@pytest.mark.parametrize(
    ("findings", "messages", "text"),
    [
        ((), 0, "There is no message to audit."),
        ((), 1, "No findings in 1 message."),
        ((finding(1),), 2, "1 broken rule (MUST) in 2 messages."),
        (
            (finding(1, "note"), finding(2, "note")),
            3,
            "No broken rule (MUST), 1 note in 2 places in 3 messages.",
        ),
        ((finding(1, "SHOULD"),), 9, "No broken rule (MUST), 1 recommendation (SHOULD) in 9 messages."),
    ],
)
def test_the_first_line_sums_up(findings: tuple[Finding, ...], messages: int, text: str) -> None:
    report = Report(findings=findings, annotations=(), messages=messages)
    assert as_text(report).splitlines()[0] == text
    assert f'<p class="mcpsim-summary">{text}</p>' in as_html(report)


def test_lines_are_broken_at_the_width_and_places_are_counted() -> None:
    long = replace(REPORT, findings=tuple(finding(index, message="word " * 60) for index in range(30)))
    lines = as_text(long, width=60).splitlines()
    assert all(len(line) <= 60 or line.strip().startswith("https://") for line in lines)
    assert sum("row " in line for line in lines) == 10 + 1
    assert "    and 20 more places" in lines
    assert "20 more</th>" not in as_html(long)
    many = replace(REPORT, findings=tuple(map(finding, range(70))))
    assert as_html(many).count("<details>") == 50 + 3
    assert '<th scope="row">20 more</th>' in as_html(many)


class Tags(HTMLParser):
    """What a fragment consists of."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.names: list[str] = []
        self.attributes: list[tuple[str, str | None]] = []
        self.text = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.open.append(tag)
        self.names.append(tag)
        self.attributes += attrs

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text += data


def tags(report: Report, places: list[str] | None = None) -> Tags:
    found = Tags()
    found.feed(as_html(report, places=places or []))
    found.close()
    assert found.open == []
    return found


def test_a_report_as_html_is_a_table_for_each_level() -> None:
    found = tags(REPORT)
    assert [found.names.count(name) for name in ("table", "caption", "thead", "details", "script")] == [
        3,
        3,
        3,
        8,
        0,
    ]
    scopes = [value for name, value in found.attributes if name == "scope"]
    assert (scopes.count("col"), scopes.count("row")) == (12, 5)
    links = {value for name, value in found.attributes if name == "href"}
    assert links == {
        "https://modelcontextprotocol.io/specification/2026-07-28/basic/patterns/progress#progress-flow"
    }
    for text in ("progress-rises", "server", "row 2", "Progress went from 10 to 2.", "Try: Send only values"):
        assert text in found.text


def test_what_stands_in_backticks_is_code() -> None:
    one = finding(0, message="It sends `tools/list`, and one ` alone.", hint="Write `<b>` as text.")
    said = as_html(replace(REPORT, findings=(one,)))
    assert "It sends <code>tools/list</code>, and one ` alone." in said
    assert "Write <code>&lt;b&gt;</code> as text." in said
    assert tags(replace(REPORT, findings=(one,))).names.count("b") == 0


def test_whatever_stands_in_a_trace_is_text() -> None:
    members = dict.fromkeys(("rule", "party", "spec", "message", "hint"), HOSTILE)
    report = Report(
        findings=(finding(0, **members),),
        annotations=(),
        incomplete=(Incomplete(HOSTILE, 0, HOSTILE),),
        skipped=(Skipped(HOSTILE, HOSTILE),),
        notes=(HOSTILE,),
        messages=1,
    )
    found = tags(report, [HOSTILE])
    assert set(found.names) <= {
        *("section", "style", "p", "table", "caption", "span", "thead", "tbody", "tr", "th", "td"),
        *("code", "details", "summary", "a", "ul", "li"),
    }
    assert {name for name, _ in found.attributes} <= {
        "class",
        "aria-label",
        "aria-hidden",
        "scope",
        "href",
        "target",
        "rel",
    }
    said = as_text(report, places=[HOSTILE])
    assert not any(character in said + found.text for character in "\x1b\u202e")
    # A line break of a text in a trace begins no line of ours.
    assert not any(line.startswith('"') for line in said.splitlines())


def test_a_report_of_a_file_says_where_in_the_file() -> None:
    data = (SAMPLES / "json-rpc-arrows.log").read_bytes().replace(b'"progress":1', b'"progress":"one"')
    trace = read_trace(data)
    report = audit(trace)
    assert report.broken
    assert "row 10 (line 11): " in as_text(report, places=[where for _, where in trace.rows])
    assert repr(report) == as_text(report)
    assert report._repr_html_() == as_html(report)
