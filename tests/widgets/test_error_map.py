"""The map of errors: each example really has its error, and the table says what the codes say."""

from __future__ import annotations

from typing import Any

import pytest

from mcpsim.errors import ERROR_CODES
from mcpsim.messages import ErrorResponse
from mcpsim.widgets.error_map import ErrorMap, example
from mcpsim.widgets.error_map_view import ENTRIES, TOOL_ERROR, Wanted, codes_of, eras_of, status_in

EXAMPLES = [(code, era) for code in ENTRIES for era in eras_of(code)]


def shown_names(widget: ErrorMap) -> list[str]:
    return [row["name"] for group in widget.shown["groups"] for row in group["rows"]]


def test_every_code_is_in_the_map() -> None:
    assert set(ENTRIES) == {*ERROR_CODES, TOOL_ERROR}


@pytest.mark.parametrize(("code", "era"), EXAMPLES)
def test_the_error_really_happens(code: int, era: str) -> None:
    run = example(code, era)
    codes = [one.parsed.code for one in run.recording.frames if isinstance(one.parsed, ErrorResponse)]
    if code == TOOL_ERROR:
        assert codes == []
        assert any(b'"isError":true' in frame.body for frame in run.recording.frames)
    else:
        assert codes == [code]
    fixed = ERROR_CODES[code].http_status if code in ERROR_CODES else 200
    if era == "modern" and fixed is not None:
        assert status_in(run.recording) == fixed


def test_the_filters() -> None:
    widget = ErrorMap()
    assert len(shown_names(widget)) == len(ENTRIES)
    # What is played at first is at the head of the table.
    assert [row["chosen"] for group in widget.shown["groups"] for row in group["rows"]].index(True) == 0
    widget.filter(reader="model")
    assert shown_names(widget) == ["tool error"]
    widget.filter(era="legacy", reader="client")
    assert codes_of(widget.wanted) == [-32700, -32600, -32601, -32602, -32042]
    assert "hide its row" in widget.shown["status"]
    assert codes_of(Wanted(era="modern", reader="host")) == [-32602, -32603, -32021, -32022]


def test_an_example_is_of_the_era_that_is_looked_at() -> None:
    widget = ErrorMap()
    widget.choose(-32002)
    assert widget.wanted.example_era == "legacy"
    widget.choose(-32601)
    assert widget.wanted.example_era == "modern"
    assert "It came with HTTP 404." in widget.shown["status"]
    widget.asked = {"n": 4, "do": "filter", "era": "legacy", "reader": "all"}
    assert widget.wanted.example_era == "legacy"
    assert widget.data["title"] == "Example: -32601 MethodNotFound"
    assert widget.shown["n"] == 4


@pytest.mark.parametrize(
    "wish",
    [
        {},
        {"do": "x"},
        {"do": "choose"},
        {"do": "choose", "code": -1},
        {"do": "choose", "code": False},
        {"do": "choose", "code": []},
        {"do": "filter"},
        {"do": "filter", "era": "x", "reader": "all"},
        {"do": "filter", "era": "all", "reader": "cat"},
    ],
)
def test_a_wish_that_makes_no_sense_is_refused_in_words(wish: dict[str, Any]) -> None:
    widget = ErrorMap()
    before = widget.wanted
    widget.asked = {"n": 1, **wish}
    assert widget.shown["error"]
    assert widget.wanted == before


def test_the_same_text_every_time() -> None:
    assert ErrorMap().still_text() == ErrorMap().still_text()
    assert "2025-11-25 only" in ErrorMap().still_text()
    assert "<script" not in ErrorMap().still_html()
    assert repr(ErrorMap()) == "ErrorMap()"
