"""Cancellation and timeouts, in both eras on both transports."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import anyio
import pytest
from checked import simulate_checked
from hypothesis import given, settings
from hypothesis import strategies as st
from talking import (
    UNREAD,
    Endpoint,
    FakeServer,
    Reply,
    as_bytes,
    call,
    handlers_of,
    headers_for,
    legacy,
    modern,
    notification,
    opening,
    play,
    run,
    talk,
)

from mcpsim import Client, Context, Drop, RequestTimeout, Run, Server, Stdio, StreamableHttp
from mcpsim.messages import Notification, Request, Response

ERAS = pytest.mark.parametrize("era", ["modern", "legacy"])
TRANSPORTS = pytest.mark.parametrize("transport", [Stdio(), StreamableHttp()], ids=["stdio", "http"])


def desk(log: list[str] | None = None) -> Server:
    server = Server("desk")
    lines = [] if log is None else log

    @server.tool()
    async def work(context: Context, seconds: float = 10, name: str = "job") -> str:
        lines.append(f"{name} begins")
        try:
            for n in range(100):
                await context.report_progress(n)
                await anyio.sleep(seconds / 100)
        except anyio.get_cancelled_exc_class():
            lines.append(f"{name} is cancelled")
            raise
        finally:
            lines.append(f"{name} cleans up")
        lines.append(f"{name} ends")
        return name

    @server.tool()
    async def stubborn(context: Context) -> str:
        try:
            await anyio.sleep(100)
        except anyio.get_cancelled_exc_class():
            lines.append("ignores it")
        with anyio.CancelScope(shield=True):
            await context.report_progress(1)
            await context.notify("notifications/message", {"level": "info", "data": "still here"})
        return "done all the same"

    return server


def notices(played: Run) -> list[tuple[str, Any]]:
    """The cancellations on the wire, as (sender, request id)."""
    return [
        (frame.sender, frame.parsed.params["requestId"])
        for frame in played.recording.frames
        if isinstance(frame.parsed, Notification) and frame.parsed.method == "notifications/cancelled"
    ]


def id_of_call(played: Run, name: str = "tools/call") -> Any:
    return next(
        frame.parsed.id
        for frame in played.recording.frames
        if isinstance(frame.parsed, Request) and frame.parsed.method == name
    )


def aborted(played: Run) -> int:
    return sum(
        event.kind == "closed" and event.detail["how"] == "aborted" for event in played.recording.events
    )


def kinds(played: Run) -> list[str]:
    return [event.kind for event in played.recording.events if event.kind.startswith("handler_")]


@ERAS
@TRANSPORTS
def test_leaving_a_cancel_scope_cancels_in_the_transports_own_way(era: Any, transport: Any) -> None:
    log: list[str] = []

    async def story(client: Client) -> bool:
        with anyio.move_on_after(1) as scope:
            await client.call_tool("work", on_progress=lambda *what: None)
        await anyio.sleep(5)
        return scope.cancelled_caught

    played = simulate_checked(story, server=desk(log), era=era, transport=transport)
    assert played.value is True
    by_notice = transport.name == "stdio" or era == "legacy"
    assert notices(played) == ([("client", id_of_call(played))] if by_notice else [])
    assert aborted(played) == (1 if transport.name == "http" else 0)
    assert "reason" not in str([frame.parsed for frame in played.recording.frames])
    # The handler is really stopped, and cleans up.
    assert log == ["job begins", "job is cancelled", "job cleans up"]
    assert kinds(played) == ["handler_started", "handler_cancelled"]
    # Nothing is sent for it afterwards.
    stopped_at = next(event.at_us for event in played.recording.events if event.kind == "handler_cancelled")
    late = [
        frame for frame in played.recording.frames if frame.sender == "server" and frame.sent_us > stopped_at
    ]
    assert [frame.parsed for frame in late] == (
        [None] if era == "legacy" and transport.name == "http" else []
    )


@ERAS
@TRANSPORTS
def test_only_the_one_request_is_stopped(era: Any, transport: Any) -> None:
    log: list[str] = []

    async def story(client: Client) -> list[str]:
        finished: list[str] = []

        async def work(name: str, give_up_s: float) -> None:
            with anyio.move_on_after(give_up_s):
                result = await client.call_tool("work", {"name": name, "seconds": 2})
                finished.append(result.content[0].text)

        async with anyio.create_task_group() as tasks:
            for name, give_up_s in (("a", 9), ("b", 1), ("c", 9)):
                tasks.start_soon(work, name, give_up_s)
        return finished

    played = simulate_checked(story, server=desk(log), era=era, transport=transport)
    assert played.value == ["a", "c"]
    assert [line for line in log if line.startswith("b")] == ["b begins", "b is cancelled", "b cleans up"]
    assert "a ends" in log
    assert "c ends" in log


@ERAS
@TRANSPORTS
def test_a_timeout_cancels_and_each_request_may_have_its_own(era: Any, transport: Any) -> None:
    async def story(client: Client) -> list[Any]:
        seen: list[Any] = []
        for timeout_s in (0.5, None, 20):
            began = anyio.current_time()
            try:
                result = await client.call_tool("work", {"seconds": 4}, timeout_s=timeout_s)
                seen.append(result.content[0].text)
            except RequestTimeout as error:
                seen.append((round(anyio.current_time() - began, 3), str(error)))
        return seen

    client = Client(era=era, timeout_s=2)
    played = simulate_checked(story, server=desk(), client=client, transport=transport)
    first, second, third = played.value
    assert (first[0], second[0], third) == (0.5, 2.0, "job")
    assert "within 0.5 s; it was cancelled" in first[1]
    by_notice = transport.name == "stdio" or era == "legacy"
    assert len(notices(played)) == (2 if by_notice else 0)
    assert kinds(played).count("handler_cancelled") == 2
    reasons = [
        frame.parsed.params.get("reason")
        for frame in played.recording.frames
        if isinstance(frame.parsed, Notification) and frame.parsed.method == "notifications/cancelled"
    ]
    assert all(reason == "The answer took too long." for reason in reasons)


@ERAS
@TRANSPORTS
def test_a_lost_answer_is_a_timeout_and_not_a_hang(era: Any, transport: Any) -> None:
    async def story(client: Client) -> str:
        try:
            await client.call_tool("work", {"seconds": 0.1}, timeout_s=3)
        except RequestTimeout:
            return "timeout"
        return "answered"

    faults = [Drop("result of tools/call")]
    played = simulate_checked(story, server=desk(), era=era, transport=transport, faults=faults)
    assert played.value == "timeout"


# What crosses on the way


@settings(max_examples=60)
@given(
    st.integers(0, 160), st.sampled_from(["modern", "legacy"]), st.sampled_from([Stdio(), StreamableHttp()])
)
def test_whenever_the_cancellation_comes_each_request_has_one_outcome(
    after_ms: int, era: Any, transport: Any
) -> None:
    # The handler takes 50 ms and each way 20 ms, so that 0 to 160 ms holds every order of events.
    async def story(client: Client) -> Any:
        result = None
        with anyio.move_on_after(after_ms / 1000) as scope:
            result = await client.call_tool("work", {"seconds": 0.05})
        await anyio.sleep(1)
        again = await client.call_tool("work", {"seconds": 0.01, "name": "next"})
        return scope.cancelled_caught, result is not None, again.content[0].text

    played = simulate_checked(story, server=CROSSING, era=era, transport=transport)
    cancelled, answered, again = played.value
    assert cancelled != answered
    assert again == "next"
    first = id_of_call(played)
    found = [
        event.kind
        for event in played.recording.events
        if event.kind.startswith("handler_") and event.detail["id"] == first
    ]
    # Cancelled before it began, cancelled, or finished.
    assert found in (
        [],
        ["handler_started", "handler_cancelled"],
        ["handler_started", "handler_finished"],
    )
    answers = [
        frame
        for frame in played.recording.frames
        if frame.sender == "server" and isinstance(frame.parsed, Response) and frame.parsed.id == first
    ]
    assert len(answers) == found.count("handler_finished")
    if transport.name == "stdio" and cancelled and answers:
        notes = [event.detail["text"] for event in played.recording.events if event.kind == "note"]
        assert f"Ignored: an answer to #{first}, for which nobody waits." in notes


CROSSING = desk()


@ERAS
@pytest.mark.parametrize(
    "params",
    [
        {"requestId": 99},  # unknown
        {"requestId": "1"},  # another type
        {"requestId": True},  # equals 1 in Python, and is no id
        {"requestId": 1.0},
        {"requestId": None},
        {"requestId": [1]},
        {"requestId": {}},
        {},
        None,
    ],
    ids=str,
)
def test_a_cancellation_that_names_no_request_in_work_is_ignored(era: str, params: Any) -> None:
    make = modern if era == "modern" else legacy
    said = talk(
        desk(),
        *(opening() if era == "legacy" else []),
        make(1, "tools/call", call("work", {"seconds": 2})),
        1.0,
        notification("notifications/cancelled", params),
    )
    assert said.answer(1)["result"]["content"][0]["text"] == "job"
    assert any("Nothing to cancel" in note for note in said.notes)


@ERAS
def test_late_and_repeated_cancellations(era: str) -> None:
    make = modern if era == "modern" else legacy
    cancel = notification("notifications/cancelled", {"requestId": 1, "reason": "Enough."})
    before = opening() if era == "legacy" else []
    request = make(1, "tools/call", call("work", {"seconds": 2}))
    late = talk(desk(), *before, request, 3.0, cancel, cancel)
    assert "result" in late.answer(1)
    twice = talk(desk(), *before, request, 1.0, cancel, cancel, make(2, "tools/list"))
    assert twice.answers(1) == []
    assert "result" in twice.answer(2)


@ERAS
def test_a_request_cancelled_before_its_handler_began_never_begins(era: str) -> None:
    log: list[str] = []
    make = modern if era == "modern" else legacy
    lines = [make(1, "tools/call", call("work")), notification("notifications/cancelled", {"requestId": 1})]
    # Both in one piece, so that they are read one right after the other.
    piece = b"".join(as_bytes(line) + b"\n" for line in lines)
    said = talk(desk(log), *(opening() if era == "legacy" else []), piece)
    assert (log, said.answers(1), handlers_of(said.recorder)) == ([], [], [])
    assert any("cancelled before its handler began" in note for note in said.notes)


@ERAS
def test_where_nobody_reads_one_note_tells_of_all_that_has_not_begun(era: str) -> None:
    log: list[str] = []
    make = modern if era == "modern" else legacy
    lines = [as_bytes(make(id, "tools/call", call("work"))) for id in range(1, 5)]
    # The last line is answered while it is read, before the work of the others begins.
    piece = b"".join(line + b"\n" for line in [*lines, b"{"])
    said = talk(desk(log), *(opening() if era == "legacy" else []), UNREAD, piece)
    assert (log, handlers_of(said.recorder)) == ([], [])
    assert said.notes == ["An answer could not be sent: nobody reads any more."]


@ERAS
@TRANSPORTS
def test_a_handler_that_will_not_stop_is_not_heard_any_more(era: Any, transport: Any) -> None:
    log: list[str] = []

    async def story(client: Client) -> None:
        with anyio.move_on_after(1):
            await client.call_tool("stubborn", on_progress=lambda *what: None)
        await anyio.sleep(1)

    played = simulate_checked(story, server=desk(log), era=era, transport=transport)
    assert log == ["ignores it"]
    assert kinds(played) == ["handler_started", "handler_cancelled"]
    from_server = [frame.parsed for frame in played.recording.frames if frame.sender == "server"]
    assert not any(isinstance(parsed, Notification) for parsed in from_server)
    assert sum(getattr(parsed, "id", None) == id_of_call(played) for parsed in from_server) == 0


def test_a_client_that_goes_away_has_cancelled_in_the_modern_era_only() -> None:
    async def main(era: str) -> tuple[list[str], Reply]:
        log: list[str] = []
        endpoint = Endpoint(desk(log))
        reply = Reply()
        params = call("work", {"seconds": 2})
        headers = {} if era == "modern" else await endpoint.open()
        async with anyio.create_task_group() as tasks:
            if era == "modern":
                request = modern(1, "tools/call", params)
                tasks.start_soon(lambda: endpoint.ask(request, headers_for(request), reply=reply))
            else:
                tasks.start_soon(lambda: endpoint.ask(legacy(1, "tools/call", params), headers, reply=reply))
            await anyio.sleep(1)
            reply.abort()
        return log, reply

    log, _ = run(lambda: main("modern"))
    assert log == ["job begins", "job is cancelled", "job cleans up"]
    log, reply = run(lambda: main("legacy"))
    assert log == ["job begins", "job cleans up", "job ends"]
    assert reply.body == b""


def test_an_abort_before_the_handler_begins() -> None:
    async def main() -> tuple[list[str], Endpoint]:
        log: list[str] = []
        endpoint = Endpoint(desk(log))
        reply = Reply()
        reply.abort()
        request = modern(1, "tools/call", call("work"))
        await endpoint.ask(request, headers_for(request), reply=reply)
        return log, endpoint

    log, endpoint = run(main)
    assert log == []
    assert any("before its handler began" in note for note in endpoint.notes)


# The handshake


@pytest.mark.parametrize("how", ["timeout", "cancel scope"])
def test_initialize_is_never_cancelled(how: str) -> None:
    async def story(client: Client) -> None:
        with anyio.move_on_after(1 if how == "cancel scope" else 100):
            await client.initialize()

    server = FakeServer(lambda message: [])
    played = play(story, server, client=Client(era="legacy", timeout_s=3), connect=False)
    assert server.heard_methods() == ["initialize"]
    if how == "timeout":
        assert isinstance(played.error, RequestTimeout)
        assert "cancelled" not in str(played.error)


# Requests of the server


def asking(give_up: Callable[[Context], Any]) -> Server:
    server = Server("desk")

    @server.tool()
    async def ask(context: Context) -> str:
        return await give_up(context)

    return server


def methods_said(said: Any) -> list[Any]:
    return [value.get("method", value.get("id")) for value in said.values]


def test_a_server_withdraws_its_own_request_when_its_handler_stops_waiting() -> None:
    async def give_up(context: Context) -> str:
        with anyio.move_on_after(1):
            await context.ping()
        return "gave up"

    said = talk(asking(give_up), *opening(), legacy(5, "tools/call", call("ask")))
    assert methods_said(said) == ["open", "ping", "notifications/cancelled", 5]
    assert said.values[2]["params"] == {"requestId": said.values[1]["id"]}


def test_a_request_that_was_answered_in_the_same_moment_is_not_withdrawn() -> None:
    async def give_up(context: Context) -> str:
        with anyio.move_on_after(1):
            await context.ping()
        return "went on"

    answer = {"jsonrpc": "2.0", "id": 1, "result": {}}
    said = talk(asking(give_up), *opening(), legacy(5, "tools/call", call("ask")), 1.0, answer)
    assert methods_said(said) == ["open", "ping", 5]
    assert not any("nobody waits" in note for note in said.notes)


def test_the_question_is_withdrawn_too_where_the_client_cancelled_the_whole_request() -> None:
    async def wait(context: Context) -> str:
        await context.ping()
        return "there"

    cancel = notification("notifications/cancelled", {"requestId": 5})
    said = talk(asking(wait), *opening(), legacy(5, "tools/call", call("ask")), 1.0, cancel)
    assert methods_said(said) == ["open", "ping", "notifications/cancelled"]
    assert said.values[2]["params"] == {"requestId": said.values[1]["id"]}


def test_nothing_is_withdrawn_where_the_client_has_closed_the_connection() -> None:
    async def wait(context: Context) -> str:
        await context.ping()
        return "there"

    said = talk(asking(wait), *opening(), legacy(5, "tools/call", call("ask")), wait=1.0)
    assert methods_said(said) == ["open", "ping"]


def test_a_handler_that_is_over_cannot_ask() -> None:
    kept: list[Context] = []

    async def keep(context: Context) -> str:
        if kept:
            await kept[0].ping()
        kept.append(context)
        return "kept"

    said = talk(
        asking(keep),
        *opening(),
        legacy(5, "tools/call", call("ask")),
        1.0,
        legacy(6, "tools/call", call("ask")),
    )
    assert methods_said(said) == ["open", 5, 6]
    assert said.answer(6)["result"]["isError"] is True
    assert any("is over" in note for note in said.notes)


FORM = {"type": "object", "properties": {}}
QUESTIONS = {"elicitation": {"form": {}}, "roots": {}}


async def ask_twice(context: Context) -> str:
    await context.ask({"a": context.form("A?", FORM), "b": context.form("B?", FORM), "c": context.roots()})
    return "asked"


def test_all_open_questions_are_withdrawn_in_order_and_no_others() -> None:
    answer = {"jsonrpc": "2.0", "id": 2, "result": {"action": "decline"}}
    cancel = notification("notifications/cancelled", {"requestId": 5})
    said = talk(
        asking(ask_twice),
        *opening(capabilities=QUESTIONS),
        legacy(5, "tools/call", call("ask")),
        1.0,
        answer,
        1.0,
        cancel,
        1.0,
        # Late, and for nobody.
        {"jsonrpc": "2.0", "id": 1, "result": {"action": "decline"}},
    )
    assert methods_said(said)[1:4] == ["elicitation/create", "elicitation/create", "roots/list"]
    withdrawn = [one["params"] for one in said.values if one.get("method") == "notifications/cancelled"]
    assert withdrawn == [{"requestId": 1}, {"requestId": 3}]
    assert said.answers(5) == []
    assert any("nobody waits" in note for note in said.notes)


def test_questions_that_are_not_answered_in_time_are_withdrawn() -> None:
    async def impatient(context: Context) -> str:
        try:
            await context.ask({"a": context.form("A?", FORM), "b": context.roots()}, timeout_s=2)
        except RequestTimeout as error:
            return str(error)
        return "asked"

    answer = {"jsonrpc": "2.0", "id": 2, "result": {"roots": []}}
    said = talk(
        asking(impatient),
        *opening(capabilities=QUESTIONS),
        legacy(5, "tools/call", call("ask")),
        1.0,
        answer,
    )
    text = said.answer(5)["result"]["content"][0]["text"]
    assert text == "No answer to elicitation/create #1 within 2 s; it was cancelled."
    withdrawn = [one["params"] for one in said.values if one.get("method") == "notifications/cancelled"]
    assert withdrawn == [{"requestId": 1}]


def test_over_http_a_question_is_withdrawn_on_the_stream_that_brought_it() -> None:
    async def main() -> Reply:
        endpoint = Endpoint(asking(ask_twice))
        headers = await endpoint.open(capabilities=QUESTIONS)
        reply = Reply()
        async with anyio.create_task_group() as tasks:

            async def post() -> None:
                await endpoint.ask(legacy(5, "tools/call", call("ask")), headers, reply=reply)

            tasks.start_soon(post)
            await anyio.sleep(1)
            cancel = notification("notifications/cancelled", {"requestId": 5})
            assert (await endpoint.ask(cancel, headers)).status == 202
        return reply

    reply = run(main)
    assert [value["method"] for value in reply.values] == [
        "elicitation/create",
        "elicitation/create",
        "roots/list",
        *["notifications/cancelled"] * 3,
    ]
    assert [value["params"]["requestId"] for value in reply.values[3:]] == [1, 2, 3]
    assert reply.ended


def test_a_round_that_is_cancelled_while_it_ends_has_no_answer() -> None:
    log: list[str] = []

    async def slow(context: Context) -> str:
        try:
            await context.elicit("Sure?", FORM)
        finally:
            with anyio.CancelScope(shield=True):
                await anyio.sleep(2)
            log.append("cleaned up")
        return "sure"

    ask = modern(1, "tools/call", call("ask"), capabilities=QUESTIONS)
    said = talk(asking(slow), ask, 1.0, notification("notifications/cancelled", {"requestId": 1}))
    assert said.answers(1) == []
    assert log == ["cleaned up"]
    assert handlers_of(said.recorder) == [("handler_started", 1), ("handler_cancelled", 1)]


@ERAS
@pytest.mark.parametrize("method", ["prompts/get", "resources/read"])
def test_prompts_and_resources_stop_too(era: str, method: str) -> None:
    log: list[str] = []
    server = Server("desk")

    async def slow(context: Context) -> str:
        try:
            await anyio.sleep(100)
        finally:
            log.append("cleaned up")
        return "never"

    server.prompt("slow")(slow)
    server.resource("test://slow")(slow)
    params = {"name": "slow"} if method == "prompts/get" else {"uri": "test://slow"}
    ask = modern(1, method, params) if era == "modern" else legacy(1, method, params)
    cancel = notification("notifications/cancelled", {"requestId": 1, "reason": "Enough."})
    said = talk(server, *(opening() if era == "legacy" else []), ask, 1.0, cancel, wait=1.0)
    assert said.answers(1) == []
    assert log == ["cleaned up"]
