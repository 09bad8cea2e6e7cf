"""A view as one line of text: it gives the same view back, and of anything else is said what is wrong."""

from __future__ import annotations

import re

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from mcpsim import Bench, Knob
from mcpsim.course import bench
from mcpsim.course.stories import STORIES
from mcpsim.simulation.knobs import BenchPlan, settle
from mcpsim.simulation.link_text import LinkText, check_step, read_link, settings_of, write_link

KNOBS = (
    Knob.choice("era", "Era", {"modern": "modern", "legacy": "legacy", "a&b=c#d%20 é🙂+": "odd"}),
    Knob.number("size", "Size", 0, 100, default=3),
    Knob.number("wait", "Wait", -1, 10, default=None, step=0.5, none="never"),
    Knob.switch("kept", "Kept", default=True),
    Knob.choice(
        "what", "What", lambda settings: {f"{settings['size']} x": "x", "y": "y"}, only={"kept": (False,)}
    ),
)
SETTINGS = st.fixed_dictionaries(
    {
        "era": st.sampled_from(["modern", "legacy", "a&b=c#d%20 é🙂+"]),
        "size": st.integers(0, 100),
        "wait": st.none() | st.integers(-2, 20).map(lambda half: half / 2),
        "kept": st.booleans(),
        "what": st.just("y"),
    }
)


@given(st.text(min_size=1, max_size=30), SETTINGS, st.none() | st.integers(0, 9_999_999))
def test_a_view_comes_back_as_it_was(story: str, settings: dict, step: int | None) -> None:
    settings = settle(KNOBS, settings)
    text = write_link(story, KNOBS, settings, step)
    assert text.isascii()
    assert len(text.split()) == 1
    link = read_link(f"  {text}\n")
    assert (link.story, link.step) == (story, step)
    back = settings_of(link, KNOBS)
    assert {knob.name: back[knob.name] for knob in KNOBS if knob.matters(settings)} == {
        knob.name: settings[knob.name] for knob in KNOBS if knob.matters(settings)
    }
    assert write_link(link.story, KNOBS, back, link.step) == text


def short(text: str) -> str:
    return f"mcpsim:{text}"


@given(st.text(max_size=60) | st.text(alphabet="mcpsi:?=&#%20azé ", max_size=40).map(short))
@example("mcpsim:x?wait=none#007")
@example("mcpsim:x?kept=True")
@example("mcpsim:x?size=1e3")
@example("mcpsim:x?size=٣")
def test_whatever_is_pasted_is_read_or_refused(text: str) -> None:
    try:
        link = read_link(text)
        settings = settings_of(link, KNOBS)
    except ValueError:
        return
    # What was read is a view, and the text of that view gives it again.
    again = read_link(write_link(link.story, KNOBS, settings, link.step))
    assert (again.story, again.step) == (link.story, link.step)
    assert settings_of(again, KNOBS) == settings


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("", "'' is no link text."),
        ("https://x.example/mcpsim:x", "is no link text"),
        ("mcpsim:", "is no link text"),
        ("mcpsim:three-pages#", "stands after #, such as #5"),
        ("mcpsim:three-pages#-1", "stands after #, such as #5, and not '-1'"),
        ("mcpsim:three-pages#01", "stands after #, such as #5, and not '01'"),
        ("mcpsim:three-pages#1#2", "and not '1#2'"),
        ("mcpsim:three-pages?", "stands as name=value, and not as ''"),
        ("mcpsim:three-pages?page_size", "stands as name=value, and not as 'page_size'"),
        ("mcpsim:three-pages?=2", "stands as name=value, and not as '=2'"),
        ("mcpsim:three-pages?page_size=2&page_size=2", "names 'page_size' twice"),
        ("mcpsim:three-pages?page_size=%zz", "has to be a percent code"),
        ("mcpsim:three pages", "has to be a percent code"),
        ("mcpsim:three-pages?page_size=%ff", "are no text in UTF-8"),
        ("mcpsim:three-pages?page_size=99", "Page size is a whole number from 1 to 10, not 99."),
        ("mcpsim:three-pages?page_size=two", "Page size is a whole number from 1 to 10, not 'two'."),
        ("mcpsim:three-pages?pages=2", "There is no knob 'pages'."),
        ("mcpsim:three-pages?by_ms=5", "By how much changes nothing beside the other settings"),
        ("mcpsim:three-pages?fault=drop&message=9%20tools/list", "With which message is one of"),
        ("mcpsim:" + "x" * 3_000, "A link text has at most 2,000 characters"),
    ],
)
def test_what_is_wrong_is_said(text: str, told: str) -> None:
    with pytest.raises(ValueError, match=re.escape(told)) as found:
        settings_of(read_link(text), bench("three-pages").knobs)
    assert str(found.value).endswith(".")


@pytest.mark.parametrize(("step", "last", "found"), [(None, 5, 1), (None, 0, 0), (0, 5, 0), (5, 5, 5)])
def test_the_step(step: int | None, last: int, found: int) -> None:
    assert check_step(step, last) == found


def test_a_step_that_is_not_there() -> None:
    with pytest.raises(ValueError, match="says step 6, and with these knobs there are 5 steps"):
        check_step(6, 5)


def test_what_it_looks_like() -> None:
    assert read_link("mcpsim:three-pages?era=legacy&message=1%20tools/list#12") == LinkText(
        "three-pages", {"era": "legacy", "message": "1 tools/list"}, 12
    )
    plan = bench("three-pages")
    settings = settle(plan.knobs, {"era": "legacy", "page_size": 2, "fault": "drop"})
    text = write_link("three-pages", plan.knobs, settings, 12)
    assert text == "mcpsim:three-pages?era=legacy&page_size=2&fault=drop&message=1%20initialize#12"


@pytest.mark.parametrize("name", sorted(STORIES))
def test_every_story_has_a_link_text(name: str) -> None:
    plan = bench(name)
    text = write_link(name, plan.knobs, settle(plan.knobs, {}), 1)
    assert text == f"mcpsim:{name}#1"
    again = bench(text)
    assert (again.name, again.step) == (name, 1)
    assert dict(again.settings) == settle(plan.knobs, {})


def test_a_plan_from_a_link_text_plays_as_it_says() -> None:
    text = "mcpsim:three-pages?page_size=2&fault=drop&message=2%20resources/list#3"
    plan = bench(text)
    plainly = bench("three-pages").play(page_size=2, fault="drop", message="2 resources/list")
    assert plan.play().recording.sha256() == plainly.recording.sha256()
    assert plan.play(page_size=3).recording.sha256() != plainly.recording.sha256()


def test_a_bench_opens_what_another_shows() -> None:
    first = Bench.of(bench("three-pages"))
    first.turn(page_size=2, fault="delay", message="2 resources/list", by_ms=500)
    first.cursor = 4
    for second in (Bench.of(bench(first.link_text())), Bench.of(bench("first-call"))):
        second.open_link(first.link_text())
        assert second.link_text() == first.link_text()
        assert second.settings == first.settings
        assert second.data == first.data
        assert second.cursor == 4


def test_from_the_browser() -> None:
    widget = Bench.of(bench("first-call"))
    widget.asked = {"n": 1, "link": "mcpsim:three-pages?page_size=2#3"}
    assert widget.shown["n"] == 1
    assert widget.shown["error"] == ""
    assert widget.shown["title"] == bench("three-pages").title
    assert [row["number"] for row in widget.shown["rows"]] == [1]
    assert widget.link_text() == "mcpsim:three-pages?page_size=2#3"
    before = (widget.data, dict(widget.settings), widget.cursor)
    for number, (text, told) in enumerate(
        [
            ("mcpsim:three-page#3", "There is no story 'three-page'. Did you mean three-pages"),
            ("three-pages", "is no link text"),
            ("mcpsim:three-pages?page_size=2#99", "says step 99, and with these knobs there are"),
        ],
        start=2,
    ):
        widget.asked = {"n": number, "link": text}
        assert widget.shown["n"] == number
        assert widget.shown["error"].startswith("The link text was not opened. ")
        assert told in widget.shown["error"]
        assert (widget.data, dict(widget.settings), widget.cursor) == before
    widget.asked = {"n": 9, "settings": {"page_size": 3}}
    assert widget.shown["error"] == ""


def test_a_bench_of_ones_own_has_no_link_text() -> None:
    play = bench("first-call").play
    widget = Bench.of(BenchPlan("mine", "Mine", lambda **_: play(), ()))
    assert widget.shown["opens"] is False
    assert widget.link_text() == ""
    nameless = Bench(lambda **_: play(), [])
    assert nameless.link_text() == ""
    with pytest.raises(ValueError, match="knows no other stories"):
        nameless.open_link("mcpsim:first-call#1")
