"""What an exercise says, as text and as HTML."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from typing import Any

import pytest

from mcpsim import simulate
from mcpsim.course import exercises, help_desk
from mcpsim.course.exercises.card import Card, Part
from mcpsim.course.exercises.showing import WIDTH, cut, describe_error, inline, show
from mcpsim.course.exercises.verdict import Outcome, Rule, Verdict

HOSTILE = '<script>alert(1)</script><img src=x onerror="alert(2)">&amp;\'"'


class Tags(HTMLParser):
    """The tags of a document, with their attributes, and the text between them."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[tuple[str, dict[str, str | None]]] = []
        self.open: list[str] = []
        self.text = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, dict(attrs)))
        if tag != "br":
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text += data


def read(html: str) -> Tags:
    tags = Tags()
    tags.feed(html)
    assert tags.open == []
    return tags


ALLOWED = {"div", "strong", "em", "code", "br", "a", "pre", "details", "summary"}


def is_harmless(html: str) -> Tags:
    tags = read(html)
    for tag, attributes in tags.found:
        assert tag in ALLOWED
        assert attributes.keys() <= {"style", "href", "target", "rel"}
        if "href" in attributes:
            assert str(attributes["href"]).startswith("https://modelcontextprotocol.io/specification/")
    return tags


@pytest.fixture
def verdict() -> Verdict:
    async def story(client: Any) -> None:
        await client.request("tools/list", {"cursor": HOSTILE}, meta={"com.example/x": HOSTILE})

    run = simulate(story, server=help_desk(), check=False)
    rule = Rule(HOSTILE, "basic/index#requests")
    return Verdict(HOSTILE, Outcome.NOT_YET, f"`{HOSTILE}`", rule, HOSTILE, run.recording)


def test_nothing_of_a_verdict_can_run(verdict: Verdict) -> None:
    tags = is_harmless(verdict._repr_html_())
    assert tags.text.count(HOSTILE) >= 4
    assert "tools/list" in tags.text


def test_text_and_html_say_the_same(verdict: Verdict) -> None:
    text, html = repr(verdict), read(verdict._repr_html_()).text
    for part in ("Not yet", "https://modelcontextprotocol.io/specification/2026-07-28/basic/index#requests"):
        assert part in text
        assert part in html
    for line in verdict.recording.transcript().splitlines() if verdict.recording else []:
        assert line.strip() in text
        assert line.strip() in html


def test_hostile_answers_are_shown_and_cannot_run() -> None:
    ex = exercises.messages()
    answers = {**dict.fromkeys("ABCDEFGHIJKL", HOSTILE)}
    shown = [
        ex.classify.check(answers),
        ex.classify.check(HOSTILE),
        ex.classify.check({HOSTILE: 1}),
        ex.repair.check(dict.fromkeys("EGHIL", HOSTILE)),
        ex.classifier.check(lambda data: HOSTILE),
    ]
    for verdict in shown:
        assert verdict.outcome is Outcome.NOT_YET
        is_harmless(verdict._repr_html_())


def test_a_function_with_a_hostile_name_cannot_run() -> None:
    def classify(data: bytes) -> str:
        raise ValueError(HOSTILE)

    classify.__name__ = HOSTILE
    is_harmless(exercises.messages().classifier.check(classify)._repr_html_())
    classify.__name__ = classify.__qualname__ = ""
    assert exercises.messages().classifier.check(classify).outcome is Outcome.NOT_YET


@pytest.mark.parametrize("make", [exercises.messages, exercises.stateless])
def test_cards_are_harmless_and_stable(make: Any) -> None:
    for exercise, again in zip(make().exercises, make().exercises, strict=True):
        for card, other in ((exercise.hint(), again.hint()), (exercise.solution(), again.solution())):
            is_harmless(card._repr_html_())
            assert repr(card) == repr(other)
            assert card._repr_html_() == other._repr_html_()
    is_harmless(make()._repr_html_())


def test_a_card_has_a_mark_and_words_and_no_colour_alone() -> None:
    marks = {outcome: repr(Verdict("Title", outcome)).splitlines()[0] for outcome in Outcome}
    assert marks == {
        Outcome.PASSED: "✓ Passed: Title",
        Outcome.NOT_YET: "✗ Not yet: Title",
        Outcome.NOT_ATTEMPTED: "○ Not attempted: Title",
    }


def test_long_texts_are_wrapped_with_a_hanging_indent() -> None:
    lines = repr(Card("Heading", (Part("Seen", "word " * 60),))).splitlines()
    assert lines[1].startswith("  Seen  word")
    assert all(line.startswith(" " * 8 + "word") for line in lines[2:])
    assert max(map(len, lines)) <= WIDTH


def test_values_are_cut_and_have_no_address() -> None:
    assert show("x" * 1_000).startswith("'xxx")
    assert len(show("x" * 1_000)) <= 160
    assert show(object()) == "<object object>"
    assert show(b"\x00\xff") == repr(b"\x00\xff")
    assert cut("one\n\ttwo  three", 11) == "one two th…"
    assert inline("`a<b` and <i>") == "<code>a&lt;b</code> and &lt;i&gt;"


def test_every_verdict_links_to_a_page_of_the_specification() -> None:
    verdict = exercises.stateless().order.check(lambda tools: tools)
    assert verdict.rule is not None
    assert re.fullmatch(
        r"https://modelcontextprotocol\.io/specification/2026-07-28/server/tools#capabilities",
        verdict.rule.link,
    )


def test_an_error_that_ends_with_a_full_stop_ends_with_one() -> None:
    assert describe_error(ValueError("It is too late."), len) == "ValueError: It is too late"
