"""The pagination explorer without a browser: every cursor is a real server's, and every gap is a real one."""

from __future__ import annotations

import json
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mcpsim.messages import Request
from mcpsim.recording import Recording
from mcpsim.widgets.pagination_explorer import Action, PaginationExplorer
from mcpsim.widgets.pagination_explorer_view import Turn, explorer_data, outcome_of
from mcpsim.widgets.pagination_schemes import SCHEMES


def explorer(scheme: Any = "keyset", **more: Any) -> PaginationExplorer:
    return PaginationExplorer(scheme=scheme, **more)


def by_now(widget: PaginationExplorer) -> dict[str, str]:
    states = [state for state, _, _ in widget.shown["outcomes"]]
    return dict(zip(widget.shown["items"], states, strict=True))


def to_the_end(widget: PaginationExplorer) -> None:
    while not widget.shown["ended"]:
        widget.next_page()


@pytest.mark.parametrize("scheme", SCHEMES)
def test_a_list_that_stays_as_it_is_comes_once(scheme: str) -> None:
    widget = explorer(scheme)
    to_the_end(widget)
    assert set(by_now(widget).values()) == {"once"}
    assert widget.shown["status"].endswith("Everything that is in the list came, and came once.")
    cursors = [row["cursor"] for row in widget.shown["rows"]][1:]
    assert cursors[0][0] == ["sent", "no cursor"]
    # What one page gave is what the next request carries.
    for before, after in pairwise(cursors):
        assert dict(before)["nextCursor"] == dict(after)["sent"]
    assert dict(cursors[-1])["nextCursor"] == "none: this is the end"


@pytest.mark.parametrize(
    ("scheme", "missed", "hidden"),
    [
        ("keyset", [], "behind 4"),
        ("offset", ["5"], "4 items came before"),
        ("snapshot", [], "copy 1 of the list, 4 items came before"),
    ],
)
def test_a_removal_leaves_a_gap_with_offsets_only(scheme: str, missed: list[str], hidden: str) -> None:
    widget = explorer(scheme)
    widget.next_page()
    assert dict(widget.shown["rows"][-1]["cursor"])["hidden in it"] == hidden
    widget.remove("2")
    assert [name for name, state in by_now(widget).items() if state == "missed"] == missed
    to_the_end(widget)
    assert [name for name, state in by_now(widget).items() if state == "missed"] == missed


@pytest.mark.parametrize(("scheme", "twice"), [("keyset", []), ("offset", ["4"]), ("snapshot", [])])
def test_an_addition_shows_one_twice_with_offsets_only(scheme: str, twice: list[str]) -> None:
    widget = explorer(scheme)
    widget.next_page()
    widget.add("front")
    assert [name for name, state in by_now(widget).items() if state == "again"] == twice
    to_the_end(widget)
    states = by_now(widget)
    assert [name for name, state in states.items() if state == "twice"] == twice
    assert states["A"] == "unseen"


def test_what_is_added_ahead_comes_unless_it_is_a_copy() -> None:
    for scheme, state in (("keyset", "once"), ("offset", "once"), ("snapshot", "unseen")):
        widget = explorer(scheme)
        widget.next_page()
        widget.add("end")
        to_the_end(widget)
        assert by_now(widget)["A"] == state


def test_a_copy_shows_what_is_gone() -> None:
    widget = explorer("snapshot")
    widget.next_page()
    widget.remove("9")
    assert widget.shown["outcomes"][8][2] == "would still come, though it is gone"
    to_the_end(widget)
    assert widget.shown["outcomes"][8][2] == "came once, and is gone since"


@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize("cursor", ["", "page-2", "Ao7j7tuONB", "é\u202e", "null"])
def test_a_made_up_cursor_is_refused_and_the_right_one_stays_good(scheme: str, cursor: str) -> None:
    widget = explorer(scheme)
    widget.next_page()
    widget.send_cursor(cursor)
    row = widget.shown["rows"][-1]
    assert row["head"] == "Refused"
    assert dict(row["cursor"])["error"].startswith("-32602: ")
    assert "and this one was made up" in widget.shown["status"]
    assert "\u202e" not in json.dumps(widget.shown, ensure_ascii=False)
    widget.next_page()
    assert widget.turns[-1].keys == (5000, 6000, 7000, 8000)


def test_a_cursor_that_was_given_out_before_is_not_made_up() -> None:
    widget = explorer()
    widget.next_page()
    old = widget.shown["cursor"]
    widget.next_page()
    widget.send_cursor(old)
    assert not widget.turns[-1].made_up
    assert by_now(widget)["5"] == "twice"


def test_beginning_again_counts_anew_and_the_list_stays() -> None:
    widget = explorer("offset")
    widget.next_page()
    widget.remove("2")
    widget.start_again()
    assert [row["head"] for row in widget.shown["rows"]] == ["The list, time 2"]
    assert "2" not in widget.shown["items"]
    to_the_end(widget)
    assert set(by_now(widget).values()) == {"once"}


def test_the_page_size_is_the_servers() -> None:
    widget = explorer()
    widget.next_page()
    widget.set_page_size(2)
    widget.next_page()
    assert widget.turns[-1].keys == (5000, 6000)
    widget.undo()
    widget.undo()
    assert widget.shown["size"] == 4


def test_another_scheme_plays_the_same_again() -> None:
    widget = explorer()
    widget.next_page()
    widget.remove("1")
    widget.use("offset")
    widget.next_page()
    assert by_now(widget)["5"] == "missed"


def test_every_message_is_real_and_the_recording_is_whole() -> None:
    widget = explorer("offset")
    widget.next_page()
    widget.next_page()
    asked = [frame.parsed for frame in widget.recording.frames if isinstance(frame.parsed, Request)]
    assert [request.method for request in asked] == ["resources/list"] * 2
    assert not widget.run.audit().findings
    assert Recording.from_jsonl(widget.recording.to_jsonl()).sha256() == widget.recording.sha256()


def test_the_legacy_era_pages_in_the_same_way() -> None:
    widget = explorer(era="legacy")
    to_the_end(widget)
    assert [row["head"] for row in widget.shown["rows"]] == ["The list", "Page 1", "Page 2", "Page 3"]
    assert not widget.run.audit().findings


@pytest.mark.parametrize(
    ("wish", "why"),
    [
        ({}, "There is nothing like None to do here."),
        ({"do": "fly"}, "There is nothing like 'fly' to do here."),
        (
            {"do": "add", "text": "nowhere"},
            "An item is added at one of front, middle, end, not at 'nowhere'.",
        ),
        ({"do": "remove", "text": "99"}, "There is no item '99' in the list."),
        ({"do": "remove"}, "text must be a text."),
        ({"do": "cursor", "text": "x" * 201}, "text has 201 characters; at most 200 will do here."),
        ({"do": "size", "size": 0}, "size must be a whole number from 1 to 30."),
        ({"do": "size", "size": True}, "size must be a whole number from 1 to 30."),
        ({"do": "scheme", "scheme": "magic"}, "scheme must be one of keyset, offset, snapshot, not 'magic'."),
    ],
)
def test_a_wish_that_makes_no_sense_is_told_and_changes_nothing(wish: dict[str, Any], why: str) -> None:
    widget = explorer()
    widget.next_page()
    before = widget.shown["rows"]
    widget.asked = {"n": 1, **wish}
    assert widget.shown["error"] == widget.error == why
    assert widget.shown["n"] == 1
    assert widget.shown["rows"] == before
    widget.asked = {"n": 2, "do": "next"}
    assert widget.shown["error"] == ""
    assert widget.shown["rows"][-1]["head"] == "Page 2"


def test_a_cell_gets_an_error_as_an_error() -> None:
    widget = explorer()
    to_the_end(widget)
    with pytest.raises(ValueError, match="the list is at its end"):
        widget.next_page()
    with pytest.raises(ValueError, match="items must be a number from 1 to 30, not 0"):
        PaginationExplorer(items=0)
    with pytest.raises(ValueError, match="page_size must be 1 or more"):
        PaginationExplorer(page_size=0)
    with pytest.raises(ValueError, match="scheme must be one of"):
        explorer("magic")


def test_the_still_pictures_are_the_same_in_every_run_and_run_nothing() -> None:
    first, second = explorer("offset"), explorer("offset")
    for widget in (first, second):
        widget.next_page()
        widget.remove("2")
    assert first.still_text() == second.still_text()
    assert repr(first) == "PaginationExplorer(12, 4, 'offset')"
    assert "Missed: 5." in first.still_text()
    assert "<script" not in first.still_html()
    assert "<caption>" in first.still_html()


ACTIONS = st.one_of(
    st.builds(Action, st.sampled_from(["next", "again"])),
    st.builds(Action, st.just("add"), st.sampled_from(["front", "middle", "end"])),
    st.builds(Action, st.just("remove"), st.integers(1, 5).map(str)),
    st.builds(Action, st.just("size"), number=st.integers(1, 4)),
    st.builds(Action, st.just("cursor"), st.sampled_from(["", "page-2"])),
)


@settings(max_examples=25, deadline=None)
@given(st.sampled_from(SCHEMES), st.lists(ACTIONS, max_size=8))
def test_what_is_there_all_the_time_comes_once_but_with_offsets(scheme: Any, actions: list[Action]) -> None:
    widget = PaginationExplorer(5, 2, scheme)
    for n, action in enumerate(actions, start=1):
        widget.asked = {"n": n, "do": action.do, "text": action.text, "size": action.number}
    to_the_end(widget)
    states = set(by_now(widget).values())
    assert "coming" not in states
    if scheme != "offset":
        assert not states & {"missed", "twice", "again"}


def test_the_view_of_turns_made_by_hand() -> None:
    walk = [
        Turn("begin", (1, 2), 1, (1, 2)),
        Turn("page", (1, 2), 1, (2,), keys=(1,), next="c", inside="1"),
        Turn("removed", (1,), 1, (), keys=(2,)),
    ]
    assert outcome_of(2, walk).state == "gone"
    data = explorer_data(walk, {1: "one", 2: "two"}, scheme="offset", number=1, undoable=True)
    assert data["rows"][2]["cells"] == [["here", "in the list"], ["removed", "removed"]]
    assert data["present"] == [["one", "one"]]
    assert json.loads(json.dumps(data)) == data
