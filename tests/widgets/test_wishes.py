"""Whatever a browser sends to the small widgets: it is answered, and an error is a text."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mcpsim.course.servers import workshop
from mcpsim.widgets import CacheTimeline, ElicitationForm, PaginationExplorer, ProgressBars
from mcpsim.widgets.acting import Acting

FORM = {"type": "object", "properties": {"a": {"type": "string"}, "b": {"type": "integer", "default": 1}}}
MAKERS: dict[str, Callable[[], Acting]] = {
    "cache timeline": CacheTimeline,
    "elicitation form": lambda: ElicitationForm(FORM),
    "pagination explorer": lambda: PaginationExplorer(3, 2),
    "progress bars": lambda: ProgressBars(workshop, [("saw", {"seconds": 1})]),
}

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=6,
)
DEEDS = [
    "add",
    "again",
    "answer",
    "cursor",
    "next",
    "remove",
    "reset",
    "scheme",
    "size",
    "stop",
    "turn",
    "undo",
]
MEMBERS = ["action", "call", "content", "moment", "n", "scheme", "settings", "size", "text"]
WISHES = st.builds(
    lambda do, more: {**more, "do": do},
    st.sampled_from(DEEDS) | VALUES,
    st.dictionaries(
        st.sampled_from(MEMBERS), VALUES | st.sampled_from(["accept", "front", 1, 2]), max_size=4
    ),
)


@pytest.mark.parametrize("name", MAKERS)
@settings(max_examples=60, deadline=None)
@given(st.lists(WISHES, max_size=4))
def test_any_wish_is_answered(name: str, wishes: list[dict[str, Any]]) -> None:
    widget = MAKERS[name]()
    for wish in wishes:
        widget.asked = wish
        assert isinstance(widget.shown["n"], int)
        assert widget.shown["error"] == widget.error
        json.dumps(widget.shown)
        assert widget.still_text()
        assert widget.still_html()
