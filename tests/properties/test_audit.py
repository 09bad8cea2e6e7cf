"""Any rows, however broken, give a report: no traceback, no rule that fails, and nothing but plain JSON."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, cast

from hypothesis import given
from hypothesis import strategies as st

from mcpsim import Stdio, StreamableHttp
from mcpsim.audit import Report, audit
from mcpsim.course import STORIES
from mcpsim.recording.exporting import to_interchange
from mcpsim.recording.readers import read_trace

MOST_ROWS = 60
Row = dict[str, Any]


def recorded() -> list[list[Row]]:
    """The rows of every story, in every era and over every transport, as far as they are not many."""
    found: list[list[Row]] = []
    for story in STORIES.values():
        for era in story.eras:
            for way in story.ways:
                transport = Stdio() if way == "stdio" else StreamableHttp()
                run = story.play(era=era, transport=transport, check=False)
                found.append(to_interchange(run.recording.events)[:MOST_ROWS])
    return found


def cases() -> list[list[Row]]:
    """The rows of every case of a rule: what breaks it, and what comes near."""
    folder = Path(__file__).parents[1] / "audit" / "cases"
    texts = [path.read_text(encoding="utf-8") for path in sorted(folder.glob("*.jsonl"))]
    return [[json.loads(line) for line in text.splitlines()][:MOST_ROWS] for text in texts if text.strip()]


RECORDED = recorded() + cases()
# What stands in messages, and what looks like it.
SCALARS = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.sampled_from([10**400, 10**4000, -0.0, 1e308])
    | st.text(max_size=8)
    | st.sampled_from(
        ["", "2.0", "tools/list", "tools/call", "initialize", "2025-11-25", "2026-07-28", "2099-01-01"]
    )
    | st.sampled_from(
        [
            "a/b",
            "input_required",
            "complete",
            "form",
            "url",
            "accept",
            "\ud800",
            "__proto__",
            "\r\n",
            "http://[",
            "=?base64?!?=",
            "=?base64?eA==?=",
            "file:///x",
        ]
    )
)
NAMES = st.text(max_size=6) | st.sampled_from(["", "__proto__", "_meta", "$ref", "properties", "type", "uri"])
VALUES = st.recursive(
    SCALARS, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(NAMES, inner, max_size=3)
)
SIDES = st.sampled_from(["client", "server"])
CHANGES = ("change", "change", "change", "cut", "drop", "double", "move", "mix", "junk")


def places(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Every place within a value."""
    found = [path]
    inside = enumerate(value) if isinstance(value, list) else value.items() if isinstance(value, dict) else ()
    for key, one in inside:
        found += places(one, (*path, key))
    return found


def changed(value: Any, path: tuple[Any, ...], new: Any) -> Any:
    """The value with something else at a place; without what stands there for `...`."""
    if not path:
        return new
    key, *rest = path
    if isinstance(value, dict):
        if new is ... and not rest:
            return {name: one for name, one in cast("Row", value).items() if name != key}
        return {**value, key: changed(value[key], tuple(rest), new)}
    if new is ... and not rest:
        return [one for number, one in enumerate(value) if number != key]
    return [changed(one, tuple(rest), new) if number == key else one for number, one in enumerate(value)]


@st.composite
def spoilt(draw: st.DrawFn) -> list[Any]:
    """The rows of a story with some of them changed, doubled, taken out, or in another order."""
    rows: list[Any] = list(draw(st.sampled_from(RECORDED)))
    for _ in range(draw(st.integers(0, 6))):
        if not rows:
            break
        at = draw(st.integers(0, len(rows) - 1))
        what = draw(st.sampled_from(CHANGES))
        if what == "drop":
            del rows[at]
        elif what == "double":
            rows.insert(draw(st.integers(0, len(rows))), rows[at])
        elif what == "move":
            rows.insert(draw(st.integers(0, len(rows) - 1)), rows.pop(at))
        elif what == "mix":
            rows[at:at] = draw(st.sampled_from(RECORDED))[:5]
        elif what == "junk":
            rows.insert(at, draw(VALUES))
        else:
            path = draw(st.sampled_from(places(rows[at])))
            rows[at] = changed(rows[at], path, ... if what == "cut" and path else draw(VALUES))
    return rows


def check(report: Report) -> None:
    """It can be shown in every form, and no rule failed."""
    failed = [one for one in report.skipped if "failed" in one.why]
    assert not failed, failed
    json.dumps(report.to_dict(), allow_nan=False)
    assert report.text()
    assert report._repr_html_()


@given(spoilt())
def test_spoilt_traces(rows: list[Any]) -> None:
    check(audit(rows))


@given(st.lists(VALUES, max_size=8))
def test_rows_of_anything(rows: list[Any]) -> None:
    check(audit(rows))


@given(st.lists(st.fixed_dictionaries({"from": SIDES, "message": VALUES}), max_size=8))
def test_messages_of_anything(rows: list[Any]) -> None:
    check(audit(rows))


@given(st.binary(max_size=400))
def test_bytes_of_anything(data: bytes) -> None:
    check(audit(read_trace(b'{"from":"client","message":{}}\n' + data)))


@given(spoilt(), st.data())
def test_lines_that_are_cut(rows: list[Any], data: st.DataObject) -> None:
    lines = "\n".join(json.dumps(row) for row in rows).encode()
    keep = data.draw(st.integers(0, len(lines)))
    check(audit(read_trace(b'{"from":"client","message":{}}\n' + lines[:keep])))
