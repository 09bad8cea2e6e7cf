"""What goes on for a while: handlers with their progress, streams, fresh results, sessions, questions."""

from __future__ import annotations

import json
from typing import Any

import pytest

from mcpsim import Client, Context, Server, simulate
from mcpsim.course import STORIES
from mcpsim.recording import Event, Recording, events
from mcpsim.widgets import player_data
from mcpsim.widgets.bars import bars_of, words_of
from mcpsim.widgets.questions import questions_of
from mcpsim.widgets.reading import read
from mcpsim.widgets.steps import steps_of


def bars(recording: Recording, *kinds: str, until: int | None = None) -> list[Any]:
    found = bars_of(recording, steps_of(recording), read(recording), until=until)
    return [bar for bar in found if not kinds or bar.kind in kinds]


def played(name: str, **knobs: Any) -> Recording:
    return STORIES[name].play(**knobs).recording


# ---------------------------------------------------------------------------------------------- handlers


def test_handlers_at_the_same_time_are_side_by_side(made):
    pen = made.Pen()
    for number in (1, 2):
        pen.handler(events.HANDLER_STARTED, "slow", number)
        pen.wait(10)
    pen.handler(events.HANDLER_FINISHED, "slow", 1, outcome="result")
    pen.wait(10)
    pen.handler(events.HANDLER_CANCELLED, "slow", 2)
    pen.handler(events.HANDLER_STARTED, "slow", 3)
    found = bars(pen.done("x"))
    assert [(bar.name, bar.depth, bar.end) for bar in found] == [
        ("slow #1", 0, "finished"),
        ("slow #2", 1, "cancelled"),
        ("slow #3", 0, ""),
    ]


def test_a_handler_shows_the_progress_that_it_reported(made):
    (bar,) = bars(made.modern_progress(), "handler")
    assert [(mark.part, mark.text) for mark in bar.marks] == [
        (pytest.approx(1 / 3), "1 of 3"),
        (pytest.approx(2 / 3), "2 of 3"),
        (1.0, "3 of 3"),
    ]
    (drawn,) = [bar for bar in player_data(made.modern_progress())["bars"] if bar["kind"] == "handler"]
    assert [mark[0] for mark in drawn["marks"]] == [2, 3, 4]
    assert drawn["y"] < drawn["marks"][0][1] < drawn["marks"][2][1] <= drawn["y2"]


@pytest.mark.parametrize(
    ("params", "part", "text"),
    [
        ({"progress": 7}, None, "7"),
        ({"progress": 9, "total": 3}, 1.0, "9 of 3"),
        ({"progress": -1, "total": 3}, 0.0, "-1 of 3"),
        ({"progress": 1, "total": 0}, None, "1 of 0"),
        ({"progress": 10**400, "total": 1}, None, None),
        ({"progress": True, "total": 3}, None, None),
        ({"progress": "1"}, None, None),
    ],
)
def test_odd_progress(made, params, part, text):
    pen = made.Pen()
    pen.send("client", "server", made.request(1, "tools/call", {"name": "a"}, progressToken=5))
    pen.handler(events.HANDLER_STARTED, "a", 1)
    pen.send("server", "client", made.notification("notifications/progress", progressToken=5, **params))
    (bar,) = bars(pen.done("x"))
    assert [(mark.part, mark.text) for mark in bar.marks] == ([] if text is None else [(part, text)])


def test_what_is_beyond_the_limit_has_no_end_yet(made):
    recording = made.modern_progress()
    until = next(frame.index for frame in recording.frames if frame.number == 3)
    (bar,) = bars(recording, until=until)
    assert (bar.stop, bar.end, bar.outcome) == (None, "", "")


# ---------------------------------------------------------------------------------- streams and sessions


def test_an_event_stream_is_open_at_whoever_asked(made):
    (bar,) = bars(made.modern_stream(), "stream")
    assert (bar.party, bar.name, bar.end) == ("client", "stream of tools/call #1", "closed")


def test_a_stream_that_is_cut_is_broken():
    first, second = bars(played("subscription-breaks-off"), "stream")
    assert (first.name, first.end) == ("stream of subscriptions/listen #1", "broken")
    assert (second.name, second.end) == ("stream of subscriptions/listen #2", "closed")


def test_a_subscription_on_stdio_goes_from_its_acknowledgement_to_its_end():
    recording = played("watch-a-notice")
    (bar,) = bars(recording, "stream")
    frame = next(f for f in recording.frames if b"acknowledged" in f.data)
    arrival = next(
        i for i, e in enumerate(recording.events) if e.kind == "delivered" and e.frame == frame.number
    )
    assert (bar.name, bar.start, bar.end) == ("subscription #1", arrival, "cancelled")


def test_a_session_ends_where_it_is_forgotten():
    found = bars(played("session-dies-with-the-server"), "session")
    assert [(bar.party, bar.end) for bar in found] == [
        ("server", "closed"),
        ("client", "closed"),
        ("server", "closed"),
        ("client", "closed"),
    ]
    assert found[0].name == found[1].name != found[2].name


def test_a_modern_run_has_no_session():
    for name in ("first-call", "any-replica-will-do", "one-question"):
        assert bars(played(name), "session") == []


# --------------------------------------------------------------------------------------------- fresh results


def test_a_kept_result_is_fresh_until_its_time_is_over():
    first, second = bars(played("fresh-then-stale"), "fresh")
    assert (first.end, first.until_us, first.stop) == ("stale", 30_040_000, None)
    assert words_of(first) == "keeps resources/read uri 'price://paper', fresh until 30.04 s"
    assert (second.end, second.until_us) == ("", 65_080_000)
    drawn, _ = [b for b in player_data(played("fresh-then-stale"))["bars"] if b["kind"] == "fresh"]
    steps = player_data(played("fresh-then-stale"))["steps"]
    assert (drawn["from"], drawn["until"]) == (2, 4)
    assert steps[drawn["until"] - 1]["at_us"] >= 30_040_000 > steps[drawn["until"] - 2]["at_us"]
    # Not where the next event is: at its own time between two of them.
    assert steps[2]["y"] < drawn["y2"] < steps[3]["y"]


def test_a_kept_result_that_is_told_to_be_stale_ends_there():
    found = bars(played("told-that-it-changed"), "fresh")
    assert "dropped" in [bar.end for bar in found]


def test_a_shared_cache_is_the_gateways():
    (bar,) = bars(played("for-everybody-or-for-one"), "fresh")
    assert bar.party == "gateway"


@pytest.mark.parametrize("cache", [None, 3, ["x"], [["a"]], {"a": 1}, [": public, fresh until 1e999 ms"]])
def test_odd_memory_is_no_bar(cache):
    found = Recording({}, (Event(0, events.STATE, "client", detail={"cache": cache, "phase": 1}),))
    assert bars(found) == []


# -------------------------------------------------------------------------------------- users and hosts


def desk() -> Server:
    server = Server("desk", version="1.0.0")

    @server.tool()
    async def order(context: Context) -> str:
        """Ask, and say what came."""
        return (await context.elicit("Your order?", {"type": "object", "properties": {}})).action

    return server


@pytest.mark.parametrize("era", ["modern", "legacy"])
@pytest.mark.parametrize(
    ("answer", "label", "what"),
    [
        ({}, "accepts", "The user accepts."),
        ("decline", "declines", "The user declines."),
        ("cancel", "cancels", "The user closes the question without a choice."),
    ],
)
def test_the_user_is_a_lane_where_a_client_asks_it(era, answer, label, what):
    async def story(client: Client) -> None:
        await client.call_tool("order")

    run = simulate(story, server=desk(), client=Client(elicit=lambda params: answer, era=era))
    data = player_data(run.recording)
    assert (data["parties"], data["beside"]) == (["user", "client", "server"], ["user"])
    asked, answered = [step for step in data["steps"] if step["kind"] in ("question", "answer")]
    assert [(asked[k], answered[k]) for k in ("from", "to", "label", "gist")] == [
        ("client", "user"),
        ("user", "client"),
        ("asks", label),
        ("Your order?", ""),
    ]
    assert (asked["what"], answered["what"]) == ("The client asks the user: “Your order?”", what)
    assert asked["thread"] == answered["thread"]
    assert asked["family"] == answered["family"] > 0
    # The question came with a message before it, and the answer goes out with one after it.
    assert asked["asked"]["text"] == "Your order?"
    assert json.loads(asked["asked"]["json"])["requestedSchema"] == {"type": "object", "properties": {}}
    brought, sent = (data["steps"][one["asked"]["carried"] - 1] for one in (asked, answered))
    assert brought["n"] < asked["n"] < answered["n"] < sent["n"]
    assert "Your order?" in brought["json"]
    given = {"action": "accept", "content": {}} if answer == {} else {"action": answer}
    assert json.loads(answered["asked"]["json"]) == given
    assert f'"{given["action"]}"' in sent["json"]
    (bar,) = [bar for bar in data["bars"] if bar["kind"] == "asked"]
    assert (bar["party"], bar["from"], bar["until"]) == ("user", asked["n"], answered["n"])


@pytest.mark.parametrize(
    ("story", "who", "labels"),
    [
        ("ask-the-model", "host", ["asks the model", "the model has written"]),
        ("ask-for-folders", "host", ["asks for the roots", "names the roots"]),
        ("visit-a-page", "user", ["asks", "accepts"]),
    ],
)
def test_the_host_is_a_lane_too(story, who, labels):
    data = player_data(played(story))
    assert data["beside"] in ([who], [])
    found = [step["label"] for step in data["steps"] if step["kind"] in ("question", "answer")]
    # Roots that were there before nobody asks for.
    assert found == (labels if data["beside"] else [])


def test_nobody_is_a_lane_who_was_not_asked():
    for name in ("first-call", "nobody-to-ask", "state-without-a-question"):
        assert player_data(played(name))["beside"] == []


def test_a_handler_of_a_server_may_be_called_like_a_question(made):
    pen = made.Pen()
    pen.send("client", "server", made.request(1, "tools/call", {"name": "roots/list"}))
    pen.handler(events.HANDLER_STARTED, "roots/list", 1)
    pen.handler(events.HANDLER_FINISHED, "roots/list", 1, outcome="result")
    recording = pen.done("x")
    assert questions_of(recording) == {}
    assert player_data(recording)["parties"] == ["client", "server"]
    assert [bar.kind for bar in bars(recording)] == ["handler"]


def test_each_of_two_clients_has_a_user_of_its_own(made):
    pen = made.Pen()
    for connection, client in enumerate(("ada", "ben"), start=1):
        pen.connection = connection
        question = made.plain(7, "elicitation/create", {"message": f"{client}?"})
        pen.send("server", client, question)
        for kind in (events.HANDLER_STARTED, events.HANDLER_CANCELLED):
            pen.recorder.handler(kind, client, "elicitation/create", 7, connection=connection)
    data = player_data(pen.done("x", parties=["ada", "ben", "server"]))
    assert data["parties"] == ["user of ada", "ada", "user of ben", "ben", "server"]
    stopped = [step for step in data["steps"] if step["kind"] == "handler"]
    assert [(step["from"], step["to"], step["label"]) for step in stopped] == [
        ("ada", "", "does not ask any more"),
        ("ben", "", "does not ask any more"),
    ]


def test_a_party_may_be_called_user_itself(made):
    pen = made.Pen()
    pen.send("server", "user", made.plain(7, "elicitation/create", {"message": "?"}))
    pen.recorder.handler(events.HANDLER_STARTED, "user", "elicitation/create", 7, connection=1)
    data = player_data(pen.done("x", parties=["user", "server"]))
    assert data["parties"] == ["user of user", "user", "server"]


# --------------------------------------------------------------------------------------- in every recording


def test_bars_are_within_the_picture_and_say_what_they_are(recording):
    data = player_data(recording)
    last = len(data["steps"])
    for bar in data["bars"]:
        assert bar["kind"] in ("handler", "asked", "stream", "fresh", "session")
        assert bar["party"] in data["parties"]
        assert bar["text"]
        assert bar["y"] <= bar["y2"] <= data["height"]
        assert bar["scaled"][0] <= bar["scaled"][1] <= data["scaled_height"]
        assert bar["until"] is None or 0 <= bar["from"] <= bar["until"] <= last
    json.dumps(data["bars"], allow_nan=False)
