"""What the player says of the built-in stories: every step is told by a row of its own, and truly."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from mcpsim import Stdio, StreamableHttp
from mcpsim.course import STORIES
from mcpsim.eras.pages import spec_url
from mcpsim.widgets.fields import FEATURES, FIELDS
from mcpsim.widgets.narration import LINES, Narrator, url_of
from mcpsim.widgets.passing import passing_of
from mcpsim.widgets.reading import read
from mcpsim.widgets.steps import steps_of
from mcpsim.widgets.still import part_of
from mcpsim.widgets.threads import threads_of
from mcpsim.widgets.view import player_data

PLAYED = [(name, era, way) for name, story in STORIES.items() for era in story.eras for way in story.ways]

#: Rows for what nobody foresaw: in a built-in story something better is due.
GENERIC = ("request", "notification", "response", "response unknown", "error", "error reserved", "malformed",
           "error implementation", "http request", "http response", "http error", "closed")  # fmt: skip


@cache
def played(name: str, era: str, way: str) -> dict[str, Any]:
    transport = {"stdio": Stdio, "http": StreamableHttp}[way]()
    return player_data(STORIES[name].play(era=era, transport=transport).recording)  # pyright: ignore[reportArgumentType]


def sentences(name: str, era: str, way: str) -> list[str]:
    return [step["what"] for step in played(name, era, way)["steps"]]


def parts(name: str, era: str, way: str) -> list[str]:
    data = played(name, era, way)
    return [part_of(data, step) for step in data["steps"]]


@pytest.mark.parametrize(("name", "era", "way"), PLAYED)
def test_every_step_is_told_by_a_row_of_its_own(name, era, way):
    transport = {"stdio": Stdio, "http": StreamableHttp}[way]()
    recording = STORIES[name].play(era=era, transport=transport).recording
    conversation, steps = read(recording), steps_of(recording)
    passing = passing_of(recording, conversation)
    places = threads_of(recording, conversation, passing)
    narrator = Narrator(recording, conversation, steps, passing, places)
    for step in steps.all:
        told = narrator.tell(step)
        assert told.row not in GENERIC, told
        assert not re.search(r"\{\w*\}|\(none\)|not known here|: \.|  ", told.what), told


@pytest.mark.parametrize(("name", "era", "way"), PLAYED)
def test_only_facts_have_no_rule(name, era, way):
    for step in played(name, era, way)["steps"]:
        if step["rule"] < 0:
            told = step["kind"] in ("note", "handler")
            assert told or " passes " in step["what"] or "by itself" in step["what"], step["what"]


def test_each_page_that_is_named_is_there():
    known = set((Path(__file__).parent / "anchors.txt").read_text(encoding="utf-8").split())
    urls = {url_of(era, line) for era, lines in LINES.items() for line in lines.values() if line.rule}
    for row in (*FIELDS, *FEATURES):
        modern, _, legacy = row.page.partition(" ")
        for era in ("modern", "legacy"):
            if row.era in ("", era):
                urls.add(spec_url(era, (legacy or modern) if era == "legacy" else modern))
    places = {url.partition("/specification/")[2] for url in urls}
    assert places - known == set()


# ------------------------------------------------------------------------------------------ single stories


@pytest.mark.parametrize(
    ("name", "era", "way", "sentence"),
    [
        ("user-declines", "modern", "stdio", "asked: “seat” (the user declined)."),
        ("user-dismisses", "modern", "http", "asked: “seat” (the user dismissed it)."),
        ("one-answer-is-missing", "modern", "stdio", "nobody asked for it). There is no answer for “seat”."),
        (
            "state-without-a-question",
            "modern",
            "stdio",
            "again, as a new request, now with a `requestState`.",
        ),
        ("state-is-sealed", "modern", "stdio", "Its `requestState` is not the one that came."),
        ("visit-a-page", "modern", "stdio", "that the user visits a page."),
        ("visit-a-page", "legacy", "stdio", "send the user to the page “https://travel.example/sign-in”"),
        ("cancel-what-is-not-there", "modern", "stdio", "cancels `tools/call` #1, which is over already"),
        (
            "cancel-what-is-not-there",
            "legacy",
            "stdio",
            "cancels the request #“never-sent”, which was not sent",
        ),
        ("watch-a-notice", "modern", "stdio", "The client ends its subscription `subscriptions/listen` #1."),
        ("watch-a-notice", "modern", "http", "ends its subscription `subscriptions/listen` #1 by closing"),
        ("subscription-breaks-off", "modern", "http", "The connection of the subscription"),
        ("server-dies-and-comes-back", "modern", "http", "because the process of the server has died."),
        (
            "process-is-started-again",
            "legacy",
            "stdio",
            "The process of the server has died, and its standard",
        ),
        ("stream-is-lost", "modern", "http", "The connection of `tools/call` #1 breaks before the answer"),
        (
            "stream-is-resumed",
            "legacy",
            "http",
            "The server takes the broken stream up again, after the event",
        ),
        (
            "session-dies-with-the-server",
            "legacy",
            "http",
            "404: it does not know the session of this request.",
        ),
        ("from-another-page", "modern", "http", "which comes from the web page “https://evil.example”"),
        (
            "for-everybody-or-for-one",
            "modern",
            "http",
            "The gateway answers `resources/read` #1 by itself, out",
        ),
        ("any-replica-will-do", "modern", "http", "The gateway passes `tools/call` #2 on to server-2."),
        (
            "session-at-the-wrong-replica",
            "legacy",
            "http",
            "passes the error -32600 with the HTTP status 404 on to",
        ),
        ("sessions-that-stick", "legacy", "http", "The gateway passes the HTTP DELETE on to server-1."),
        (
            "subscribe-the-old-way",
            "legacy",
            "http",
            "The client closes the standing stream that a GET opened.",
        ),
        ("handshake-is-not-cancelled", "legacy", "http", "before the answer has come: it waits no longer."),
    ],
)
def test_what_is_said_somewhere(name, era, way, sentence):
    assert any(sentence in said for said in sentences(name, era, way))


@pytest.mark.parametrize(
    ("name", "era", "way", "wrong"),
    [
        ("user-declines", "modern", "stdio", "now with what the server asked for"),
        ("state-without-a-question", "modern", "stdio", "needs input"),
        ("subscription-breaks-off", "modern", "http", "before the answer has come"),
        ("server-dies-and-comes-back", "modern", "http", "The client closes the HTTP exchange of"),
        ("stream-is-resumed", "legacy", "http", "The client closes the response stream"),
        ("session-dies-with-the-server", "legacy", "http", "as an invalid request"),
        ("from-another-page", "legacy", "http", "as an invalid request"),
        ("any-replica-will-do", "modern", "http", "The gateway gives back"),
        ("any-replica-will-do", "modern", "http", "The gateway asks"),
        ("sessions-that-stick", "legacy", "http", "The gateway opens the handshake"),
        ("sessions-that-stick", "legacy", "http", "as the gateway asked"),
    ],
)
def test_what_is_never_said(name, era, way, wrong):
    assert not any(wrong in said for said in sentences(name, era, way))


def rules(name: str, era: str, way: str, sentence: str) -> list[str]:
    data = played(name, era, way)
    return [data["texts"][step["rule"]][0] for step in data["steps"] if sentence in step["what"]]


def test_a_message_that_is_lost_with_its_stream_is_told_by_the_rules_of_streams():
    (lost,) = rules("stream-is-lost", "modern", "http", "It is lost")
    assert "does not come again" in lost
    (lost,) = rules("stream-is-resumed", "legacy", "http", "It is lost")
    assert "the server MAY send it again" in lost


def test_without_a_level_a_legacy_server_decides_what_it_logs():
    assert "has set no level" in rules("nothing-is-logged-unasked", "legacy", "stdio", "logs at level")[0]
    assert "logging/setLevel" in rules("log-from-warnings-on", "legacy", "stdio", "logs at level")[0]


# ------------------------------------------------------------------------------------------------- threads


@pytest.mark.parametrize("way", ["stdio", "http"])
def test_the_rounds_of_a_question(way):
    found = parts("two-rounds", "modern", way)
    # The user is asked, and answers, before the next round begins.
    assert found[:10] == [f"round {n} of 3" for n in (1, 1, 1, 1, 2, 2, 2, 2, 3, 3)]
    assert set(found[10:]) <= {""}


def test_both_hops_of_a_gateway_are_in_the_same_round():
    found = parts("answer-goes-to-another-replica", "modern", "http")
    assert found == [f"round {n} of 3" for n in (*[1] * 6, *[2] * 6, *[3] * 4)]


def test_a_question_that_is_never_settled_has_no_last_round():
    found = parts("state-is-good-once", "modern", "stdio")
    assert "round 1 of 2" in found
    refused = parts("state-is-sealed", "modern", "stdio")
    assert "round 2" in refused


@pytest.mark.parametrize("era", ["modern", "legacy"])
def test_the_pages_of_a_list(era):
    found = [part for part in parts("three-pages", era, "stdio") if part]
    assert found == [f"page {n} of 3" for n in (1, 1, 2, 2, 3, 3)]


def test_a_list_on_one_page_has_no_pages():
    assert set(parts("first-call", "modern", "stdio")) == {""}


@pytest.mark.parametrize("way", ["stdio", "http"])
def test_the_messages_of_two_subscriptions(way):
    data = played("two-subscriptions", "modern", way)
    found = {part_of(data, step) for step in data["steps"]} - {""}
    assert found == {"subscription #1", "subscription #2"}
    for step in data["steps"]:
        if step["label"] == "notifications/resources/list_changed":
            assert part_of(data, step) == "subscription #1"
        if step["label"] == "notifications/resources/updated":
            assert part_of(data, step) == "subscription #2"


def test_a_passed_on_request_and_its_answer_are_one_family():
    data = played("any-replica-will-do", "modern", "http")
    assert [step["family"] for step in data["steps"]] == [1, 1, 1, 1, 5, 5, 5, 5, 9, 9, 9, 9]


# ------------------------------------------------------------------------------------------------- memory


def remembered(name: str, era: str, way: str, party: str) -> list[tuple[int, str, str]]:
    data = played(name, era, way)
    (card,) = [card for card in data["memory"] if card["party"] == party]
    return [(entry["step"], row[0], row[1]) for entry in card["at"] for row in entry["rows"]]


def test_a_kept_result_becomes_stale_with_time():
    rows = remembered("fresh-then-stale", "modern", "stdio", "client")
    kept = [row for row in rows if row[1].startswith("kept: resources/read")]
    assert [words for _, _, words in kept][:2] == [
        "public, fresh until 30.04 s",
        "public, stale since 30.04 s",
    ]
    steps = played("fresh-then-stale", "modern", "stdio")["steps"]
    turn = kept[1][0]
    assert steps[turn - 2]["at_us"] < 30_040_000 <= steps[turn - 1]["at_us"]


def test_a_notification_makes_what_is_kept_invalid():
    rows = remembered("told-that-it-changed", "modern", "stdio", "client")
    assert any(words == "public, invalidated" for _, _, words in rows)


def test_the_gateway_keeps_only_what_is_public():
    rows = remembered("for-everybody-or-for-one", "modern", "http", "gateway")
    assert {key for _, key, _ in rows} == {"kept: resources/read uri 'price://paper'"}


def test_open_subscriptions_are_remembered_in_words():
    rows = remembered("two-subscriptions", "modern", "stdio", "server")
    assert {row[1:] for row in rows} >= {
        ("subscription #1", "changes of the list of resources"),
        ("subscription #2", "resource notice://monday, resource notice://friday"),
    }


def test_sessions_are_remembered_one_by_one():
    rows = remembered("sessions-that-stick", "legacy", "http", "gateway")
    assert any(key.startswith("session ") and words == "at server-1" for _, key, words in rows)
    rows = remembered("two-people-at-one-server", "legacy", "http", "server")
    assert sum("client: ada 1.0.0" in words or "client: ben 1.0.0" in words for _, _, words in rows) >= 2


# ------------------------------------------------------------------------------------------------- fields


def fields(name: str, era: str, way: str) -> set[str]:
    return {field[0] for step in played(name, era, way)["steps"] for field in step.get("fields", ())}


@pytest.mark.parametrize(
    ("name", "era", "way", "path"),
    [
        ("one-question", "modern", "stdio", "result.inputRequests.seat.params.requestedSchema"),
        ("one-question", "modern", "stdio", "params.inputResponses.seat.action"),
        ("one-question", "legacy", "stdio", "result.content"),
        ("ask-the-model", "legacy", "stdio", "result.model"),
        ("ask-for-folders", "legacy", "stdio", "result.roots"),
        ("complete-as-you-type", "modern", "stdio", "params.argument"),
        ("complete-as-you-type", "legacy", "stdio", "result.completion.values"),
        ("log-from-warnings-on", "modern", "stdio", "params.level"),
        ("read-a-notice", "modern", "stdio", "result.contents.0.mimeType"),
        ("watch-a-notice", "modern", "http", "params.notifications.resourceSubscriptions"),
        ("argument-in-a-header", "modern", "http", "header mcp-param-region"),
        ("stream-is-resumed", "legacy", "http", "header last-event-id"),
        ("stream-is-resumed", "legacy", "http", "id of the event"),
        ("stream-is-resumed", "legacy", "http", "retry of the event"),
    ],
)
def test_the_fields_of_a_feature_are_explained(name, era, way, path):
    assert path in fields(name, era, way)
