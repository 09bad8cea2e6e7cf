"""What every built-in story comes to, in each era and over each transport in which it is played."""

from __future__ import annotations

from typing import Any

import pytest

from mcpsim import Stdio, StreamableHttp
from mcpsim.course import STORIES, Story
from mcpsim.simulation.branching import DelayNext, branch
from tests.support.checked import check_recording

# Stories whose point is a message that no revision allows.
WRONG_ON_PURPOSE = frozenset({"version-from-the-future"})

VERSIONS = ["2026-07-28", "2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"]
PRINTER = "The printer on floor 2 prints blank pages."
NO_TOOL = "protocol error: -32602 InvalidParams: Unknown tool: find_tiket"
NO_TICKET = "tool error: There is no ticket T-9999. Tickets are T-1001, T-1002, T-1003."
FORBIDDEN = "The origin 'https://evil.example' is not allowed here."
TOO_LONG = "within 0.5 s without progress, or 3 s altogether; it was cancelled."
BOOKED = "Booked Pisa on 2026-09-01; trips booked so far: 1"
PLANNED = "Pau on 2026-09-01, aisle seat"
REPORTS = [f"report-{year}" for year in range(2019, 2027)]
EXPECTED: dict[str, Any] = {
    "first-call": PRINTER,
    "report-with-progress": [f"{part}/3 Built part {part} of 3" for part in (1, 2, 3)],
    "report-stopped": "stopped after part 2",
    "two-kinds-of-error": [NO_TICKET, NO_TOOL],
    "ask-what-it-is": VERSIONS,
    "version-from-the-future": "-32022 UnsupportedProtocolVersion: Unsupported protocol version (data: "
    f"{ {'supported': VERSIONS, 'requested': '2099-01-01'} })",
    "capability-missing": ["-32021", "booked"],
    "ping-both-ways": "The client is there.",
    "basket-by-handle": '{"items": ["ink", "paper"]}',
    "read-a-notice": ["notice://monday", "notice://tuesday", "notice://{day}", "The canteen has soup."],
    "no-such-notice": {
        "modern": "-32602 InvalidParams: Resource not found (data: {'uri': 'notice://sunday'})",
        "legacy": "-32002 ResourceNotFound: Resource not found (data: {'uri': 'notice://sunday'})",
    },
    "a-letter-from-a-prompt": "Write a letter from Pau in france. Be brief.",
    "complete-as-you-type": [["Paris", "Pau", "Parma", "Pisa"], ["Paris", "Pau"]],
    "complete-a-template": ["monday"],
    "a-result-with-a-schema": {"words": 4, "letters": 13},
    "every-kind-of-content": ["text", "image", "audio", "resource_link", "resource"],
    "log-from-warnings-on": ["warning: the pin is bent"],
    "nothing-is-logged-unasked": {
        "modern": ["A notice changed"],
        "legacy": ["A notice changed", "notifications/message"],
    },
    "three-pages": [3, 3, 1],
    "two-lists-in-pages": {"resources/list": 3, "tools/list": 1},
    "cursor-made-up": ["-32602"] * 3,
    "list-grows-between-pages": REPORTS,
    "fresh-then-stale": ["4 a pack"] * 3,
    "told-that-it-changed": ["4 a pack", "5 a pack"],
    "each-page-by-itself": 3,
    "stale-but-better-than-nothing": ["4 a pack"] * 2,
    "what-is-never-kept": 2,
    "wrong-page-drops-all": ["-32602"],
    "for-everybody-or-for-one": ["4 a pack", "ada has 12", "4 a pack", "ben has 30"],
    "two-reports-at-once": ["long 1/4", "short 1/2", "long 2/4", "short 2/2", "long 3/4", "long 4/4"],
    "progress-without-a-total": [0.5, 2.0, 3.5, 5.0],
    "kept-waiting-by-progress": "Looked into 10 drawers",
    "never-longer-than-the-maximum": {
        "modern": f"No answer to tools/call #1 {TOO_LONG}",
        "legacy": f"No answer to tools/call #2 {TOO_LONG}",
        "auto": f"No answer to tools/call #2 {TOO_LONG}",
    },
    "answer-took-too-long": "a half board, put away",
    "cancel-crosses-the-answer": "stopped",
    "cancel-what-is-not-there": 3,
    "cancel-before-it-begins": "a whole board",
    "handshake-is-not-cancelled": "No answer to initialize #1 within 1 s.",
    "one-question": "IC 31: aisle seat, bags: 1",
    "two-rounds": BOOKED,
    "two-questions-at-once": PLANNED,
    "user-declines": "No seat reserved in IC 31",
    "user-dismisses": "No seat reserved in IC 31",
    "visit-a-page": "The user is on the way",
    "ask-the-model": "Greetings from the river.",
    "ask-for-folders": "file:///home/user/travel",
    "nobody-to-ask": {
        "modern": "-32021 MissingRequiredClientCapability: tools/call has to ask for what the client did not "
        "declare with this request: elicitation.form. (data: {'requiredCapabilities': {'elicitation': "
        "{'form': {}}}})",
        "legacy": "-32600 InvalidRequest: tools/call has to ask for what the client did not declare in "
        "initialize: elicitation.form.",
    },
    "state-without-a-question": "Came back 2 times",
    "one-answer-is-missing": ["day", "seat", "seat", PLANNED],
    "state-is-sealed": ["-32602"] * 3,
    "state-is-good-once": ["Came back once", "-32602"],
    "watch-a-notice": ["notice://monday"],
    "two-subscriptions": ["1: notifications/resources/list_changed", "2: notifications/resources/updated"],
    "more-than-the-server-offers": [False, True],
    "subscription-breaks-off": "listening again",
    "subscribe-the-old-way": [
        "notifications/message",
        "notifications/resources/updated",
        "notifications/message",
    ],
    "list-changes-unasked": ["notifications/message", "notifications/resources/list_changed"],
    "argument-in-a-header": "Île-de-France: rain for 2 days",
    "header-and-body-differ": "-32020 HeaderMismatch: Header mismatch: The header Mcp-Param-Region says "
    '"south", and the body says "north" (params.arguments.region).',
    "tool-with-an-invalid-header": [],
    "from-another-page": [FORBIDDEN, "served"],
    "stream-is-lost": "report.pdf",
    "stream-is-resumed": [1, 2, 3, 4],
    "quiet-stream-is-kept-alive": 0,
    "server-dies-and-comes-back": "report.pdf",
    "session-dies-with-the-server": PRINTER,
    "process-is-started-again": "report.pdf",
    "any-replica-will-do": "The VPN asks for the password twice.",
    "answer-goes-to-another-replica": BOOKED,
    "session-at-the-wrong-replica": "HTTP 404: the server does not know the session any more.",
    "sessions-that-stick": PRINTER,
    "two-people-at-one-server": ["report.pdf", "ben may not call export_report."],
}


def played() -> list[Any]:
    return [
        pytest.param(story, era, way, id=f"{name}-{era}-{way}")
        for name, story in STORIES.items()
        for era in story.eras
        for way in story.ways
    ]


@pytest.mark.parametrize(("story", "era", "way"), played())
def test_a_story_comes_to_what_it_should(story: Story, era: Any, way: str) -> None:
    run = story.play(era=era, transport=Stdio() if way == "stdio" else StreamableHttp())
    expected = EXPECTED[story.name]
    by_era = isinstance(expected, dict) and set(expected) == set(story.eras)
    assert run.value == (expected[era] if by_era else expected)
    assert run.unused_faults == ()
    # A server and a client that have not begun play a branch: what differs there comes from its change alone.
    assert branch(run, 0, DelayNext(0)).drift is None
    if story.name not in WRONG_ON_PURPOSE:
        check_recording(run.recording)


def test_every_story_has_a_row_here() -> None:
    assert list(EXPECTED) == list(STORIES)


@pytest.mark.parametrize("name", STORIES)
def test_a_story_says_what_it_shows_in_one_sentence(name: str) -> None:
    what = STORIES[name].what
    assert what.endswith(".")
    assert "\n" not in what


def test_a_story_refuses_an_era_or_a_transport_in_which_it_makes_no_sense() -> None:
    with pytest.raises(ValueError, match="played as modern, not as legacy"):
        STORIES["fresh-then-stale"].play(era="legacy")
    with pytest.raises(ValueError, match="played over http, not over stdio"):
        STORIES["stream-is-lost"].play(transport=Stdio())


def test_a_transport_is_no_text() -> None:
    with pytest.raises(TypeError, match=r"transport must be Stdio\(\) or StreamableHttp\(\), not 'stdio'"):
        STORIES["first-call"].play(transport="stdio")  # type: ignore[arg-type]
