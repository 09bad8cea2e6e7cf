"""A run played again with one change: the same up to the change, and different in nothing else after it."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import anyio
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mcpsim.client import Client
from mcpsim.course.stories import STORIES
from mcpsim.errors import McpSimError, RequestStopped, SimulationError
from mcpsim.recording import Frame
from mcpsim.recording.run import Run
from mcpsim.server import Context, Server
from mcpsim.simulation import simulate
from mcpsim.simulation.branching import (
    AnswerOtherwise,
    Branch,
    Change,
    CrashServer,
    DelayNext,
    DropNext,
    DuplicateNext,
    EditNext,
    PressStop,
    branch,
    moment,
    why_not_again,
)
from mcpsim.transports.faults import Crash, Drop, Edit
from mcpsim.transports.link import Stdio, StreamableHttp

WAYS = {"stdio": Stdio, "http": StreamableHttp}


def slow_server() -> Server:
    server = Server("desk")

    @server.tool()
    async def work(seconds: int) -> str:
        """Take a while."""
        await anyio.sleep(seconds)
        return f"worked for {seconds} s"

    return server


async def one_call(client: Any) -> str:
    """Call a slow tool, and tell what became of it."""
    try:
        result = await client.call_tool("work", {"seconds": 2})
    except McpSimError as error:
        return type(error).__name__
    return str(result.content[0].text)


def played(way: str = "stdio", era: Any = "modern") -> Run:
    return simulate(one_call, server=slow_server(), transport=WAYS[way](), era=era)


def frame_of(run: Run, method: str) -> Frame:
    return next(one for one in run.recording.frames if getattr(one.parsed, "method", "") == method)


def changes_at(run: Run, after: int) -> list[Change]:
    here = moment(run.recording, after)
    found: list[Change] = [
        DropNext(),
        DelayNext(500),
        DuplicateNext(),
        EditNext(b'{"jsonrpc":"2.0","id":1'),
        *(CrashServer(lane) for lane in here.alive),
        *(PressStop(one.connection, one.parsed.id) for one in here.in_flight),  # pyright: ignore
        *(AnswerOtherwise(one.connection, one.nth, act) for one in here.questions for act in one.actions),
    ]
    return [change for change in found if not change.refusal(here)]


@given(st.data())
@settings(max_examples=60, deadline=None)
def test_a_branch_is_the_same_up_to_the_change(data: st.DataObject) -> None:
    story = data.draw(st.sampled_from(list(STORIES.values())))
    era = data.draw(st.sampled_from(story.eras))
    way = data.draw(st.sampled_from(story.ways))
    try:
        run = story.play(era=era, transport=WAYS[way](), check=False)
    except SimulationError:
        return
    after = data.draw(st.integers(0, len(run.recording.events)))
    possible = changes_at(run, after)
    if not possible:
        return
    branched = branch(run, after, data.draw(st.sampled_from(possible)))
    assert branched.run.recording.events[:after] == run.recording.events[:after]
    assert branched.common >= after
    assert branched.drift is None


@pytest.mark.parametrize("way", WAYS)
def test_the_next_message_gets_lost(way: str) -> None:
    run = played(way)
    call = frame_of(run, "tools/call")
    branched = branch(run, call.index, DropNext())
    assert branched.run.recording.frames[call.number - 1].fate == "dropped"
    assert run.recording.frames[call.number - 1].fate == "delivered"
    assert branched.run.value == "RequestTimeout"
    assert branched.run.recording.header["faults"] == [{"fault": "drop", "frame": call.number}]
    assert branched.warning == ""


def test_the_next_message_is_late() -> None:
    run = played()
    call = frame_of(run, "tools/call")
    late = branch(run, call.index, DelayNext(700)).run.recording.frames[call.number - 1]
    assert late.arrived_us is not None
    assert call.arrived_us is not None
    assert late.arrived_us - call.arrived_us == 700_000


def test_the_next_message_arrives_twice() -> None:
    run = played()
    call = frame_of(run, "tools/call")
    copies = [one for one in branch(run, call.index, DuplicateNext()).run.recording.frames if one.copy_of]
    assert [one.copy_of for one in copies] == [call.number]


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("fit", [True, False])
def test_the_next_message_is_edited(way: str, fit: bool) -> None:
    run = played(way)
    call = frame_of(run, "tools/call")
    message = json.loads(call.body)
    message["params"]["name"] = "nothing"
    edited = branch(run, call.index, EditNext(json.dumps(message).encode(), fit)).run
    sent = edited.recording.frames[call.number - 1]
    assert json.loads(sent.body) == message
    assert sent.arrived_data == sent.data
    # Headers that say something else than the body are refused before anybody looks for the tool.
    answer = json.loads(edited.recording.frames[call.number].body)
    assert answer["error"]["code"] == (-32602 if fit or way == "stdio" else -32020)


def test_bytes_that_are_no_json_are_sent_as_they_are() -> None:
    run = played()
    call = frame_of(run, "tools/call")
    sent = branch(run, call.index, EditNext(b"not json")).run.recording.frames[call.number - 1]
    assert sent.data == b"not json\n"


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("era", ["modern", "legacy"])
def test_stop_cancels_in_the_way_of_the_transport(way: str, era: str) -> None:
    run = played(way, era)
    call = frame_of(run, "tools/call")
    started = next(i for i, one in enumerate(run.recording.events) if one.kind == "handler_started")
    branched = branch(run, started + 1, PressStop(call.connection, call.parsed.id))  # pyright: ignore
    assert branched.run.value == "RequestStopped"
    events = branched.run.recording.events
    assert [one.kind for one in events].count("handler_cancelled") == 1
    signal = "aborted" if (way, era) == ("http", "modern") else "notifications/cancelled"
    told = [one.detail["how"] for one in events if one.kind == "closed" and one.detail is not None]
    told += [getattr(one.parsed, "method", "") for one in branched.run.recording.frames]
    assert told.count(signal) == 1
    assert branched.run.recording.header["interventions"][0]["intervention"] == "stop"


def test_stop_of_a_handshake_is_refused() -> None:
    run = played("stdio", "legacy")
    first = frame_of(run, "initialize")
    with pytest.raises(ValueError, match="must not cancel `initialize`"):
        branch(run, first.index + 1, PressStop(1, first.parsed.id))  # pyright: ignore
    with pytest.raises(ValueError, match="not in flight"):
        branch(run, first.index + 1, PressStop(1, 99))


def test_who_waits_hears_of_stop() -> None:
    async def waits(client: Client) -> None:
        await client.call_tool("work", {"seconds": 2})

    run = simulate(waits, server=slow_server())
    call = frame_of(run, "tools/call")
    stopped = branch(run, call.index + 1, PressStop(1, call.parsed.id)).run  # pyright: ignore
    assert isinstance(stopped.error, RequestStopped)
    assert str(stopped.error) == f"tools/call #{call.parsed.id} was stopped; it was cancelled."  # pyright: ignore


@pytest.mark.parametrize("way", WAYS)
def test_the_server_crashes(way: str) -> None:
    run = played(way)
    call = frame_of(run, "tools/call")
    started = next(i for i, one in enumerate(run.recording.events) if one.kind == "handler_started")
    branched = branch(run, started + 1, CrashServer())
    assert branched.run.value == "ConnectionClosed"
    kinds = [one.kind for one in branched.run.recording.events[started + 1 : started + 3]]
    assert kinds == ["note", "handler_cancelled"]
    dead = moment(branched.run.recording, len(branched.run.recording.events) - 1)
    assert dead.dead == ("server",)
    assert CrashServer().refusal(dead) == "The process of server is dead at this step."
    assert call.number in {one.number for one in branched.run.recording.frames}


def test_a_server_that_is_there_again() -> None:
    async def twice(client: Client) -> list[str]:
        first = await one_call(client)
        await anyio.sleep(1)
        return [first, await one_call(client)]

    run = simulate(twice, server=slow_server(), transport=StreamableHttp())
    started = next(i for i, one in enumerate(run.recording.events) if one.kind == "handler_started")
    branched = branch(run, started + 1, CrashServer(restart_after_ms=500))
    assert branched.run.value == ["ConnectionClosed", "worked for 2 s"]
    assert "started again 500 ms later" in branched.told
    onpipes = moment(played().recording, 1)
    assert "only the host" in CrashServer(restart_after_ms=500).refusal(onpipes)


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("era", ["modern", "legacy"])
def test_the_user_answers_differently(way: str, era: Any) -> None:
    run = STORIES["one-question"].play(era=era, transport=WAYS[way]())
    events = run.recording.events
    began = next(i for i, one in enumerate(events) if one.kind == "handler_started" and one.party == "client")
    question = moment(run.recording, began).questions[0]
    assert question.outcome == "accept"
    branched = branch(run, began, AnswerOtherwise(question.connection, question.nth, "decline"))
    outcome = next(
        one.detail
        for one in branched.run.recording.events[began:]
        if one.kind == "handler_finished" and one.party == "client"
    )
    assert outcome is not None
    assert outcome["outcome"] == "decline"
    assert branched.common >= began


def test_a_model_writes_something_else_or_nothing() -> None:
    server = Server("writer")

    @server.tool()
    async def rhyme(context: Context) -> str:
        """Ask a model."""
        told = await context.sample("Rhyme on sea.", max_tokens=20)
        return str(getattr(told.content, "text", ""))

    async def story(client: Client) -> str:
        return str((await client.call_tool("rhyme", {})).content[0].text)  # pyright: ignore

    run = simulate(story, server=server, client=Client(sample=lambda _: "bee"))
    assert run.value == "bee"
    began = next(
        i for i, one in enumerate(run.recording.events) if one.party == "client" and "handler" in one.kind
    )
    question = moment(run.recording, began).questions[0]
    other = branch(run, began, AnswerOtherwise(question.connection, question.nth, "accept", "tea"))
    assert other.run.value == "tea"
    none = branch(run, began, AnswerOtherwise(question.connection, question.nth, "decline"))
    assert type(none.run.error).__name__ == "InputDeclined"
    with pytest.raises(ValueError, match="accept or decline"):
        branch(run, began, AnswerOtherwise(question.connection, question.nth, "cancel"))


def test_a_server_that_keeps_something_is_found_out() -> None:
    server = Server("counter")
    calls: list[None] = []

    @server.tool()
    def count() -> int:
        """How often it was called, in all runs."""
        calls.append(None)
        return len(calls)

    async def story(client: Client) -> None:
        await client.call_tool("count", {})

    run = simulate(story, server=server)
    branched = branch(run, 0, DelayNext(10))
    assert branched.drift is not None
    assert "keeps something between runs" in branched.warning


def test_a_branch_can_be_branched() -> None:
    run = played()
    call = frame_of(run, "tools/call")
    late = branch(run, call.index, DelayNext(700))
    result = late.run.recording.frames[call.number]
    lost = branch(late.run, result.index, DropNext())
    assert lost.drift is None
    assert lost.run.value == "RequestTimeout"
    assert (
        lost.run.recording.frames[call.number - 1].arrived_us
        == late.run.recording.frames[call.number - 1].arrived_us
    )


def test_a_change_comes_before_a_fault_of_the_first_run() -> None:
    run = simulate(one_call, server=slow_server(), faults=[Drop("tools/call")])
    call = frame_of(run, "tools/call")
    assert call.fate == "dropped"
    assert DropNext().refusal(moment(run.recording, call.index)) == "The next message is lost already."
    assert branch(run, call.index, DelayNext(100)).run.value == "worked for 2 s"


def test_what_was_not_simulated_cannot_be_played_again() -> None:
    run = Run(played().recording)
    assert "cannot be played again" in why_not_again(run)
    with pytest.raises(McpSimError, match="cannot be played again"):
        branch(run, 0, DropNext())


REFUSED: dict[str, tuple[Callable[[], object], str]] = {
    "a delay that is no time": (lambda: DelayNext(float("nan")), "A delay is from 0"),
    "a long message": (lambda: EditNext(b"x" * 1_000_001), "at most 1,000,000 bytes"),
    "another answer": (lambda: AnswerOtherwise(1, 1, "perhaps"), "An answer is one of accept"),
    "a start in no time": (lambda: CrashServer(restart_after_ms=-1), "starts again after 0"),
    "a moment that is none": (lambda: moment(played().recording, 1000), "A moment is from 0 to"),
    "a fault that names nothing": (lambda: Drop(), "either a message or a frame"),
    "a fault that names both": (lambda: Drop("ping", frame=3), "either a message or a frame"),
    "the second of one frame": (lambda: Drop(frame=3, nth=2), "a frame is one alone"),
    "an edit of nothing": (lambda: Edit(data=b"{}"), "takes the place of one frame"),
    "a crash by two": (lambda: Crash("ping", after_events=3), "either a message or a time"),
    "a crash before the beginning": (lambda: Crash(after_events=-1), "after_events must be 0 or more"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_makes_no_sense_is_refused(name: str) -> None:
    make, says = REFUSED[name]
    with pytest.raises(ValueError, match=says):
        make()


def test_the_end_has_nothing_to_change() -> None:
    run = played()
    end = moment(run.recording, len(run.recording.events))
    assert DropNext().refusal(end) == "Nothing is sent after this step."
    assert CrashServer().refusal(end) == "The run is over at this step."
    assert end.over


def test_every_change_is_told_in_one_sentence() -> None:
    run = played()
    after = frame_of(run, "tools/call").index
    told = {change.kind: change.describe(moment(run.recording, after)) for change in changes_at(run, after)}
    assert told["drop"] == "The next message (client → server) is lost on the way."
    assert told["crash"] == "The process of server dies. Only the host can start it again."
    branched: Branch = branch(run, after, DelayNext(5))
    assert branched.told == "The next message (client → server) takes 5 ms longer."
    assert replace(branched, run=run).warning.startswith("The change had no effect")
