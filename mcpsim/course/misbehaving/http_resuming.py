"""Peers that misbehave with streams over HTTP: how they end, are taken up again, and what stands in them."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from functools import partial
from typing import Any, Final

import anyio

from mcpsim.client import Client
from mcpsim.course.misbehaving.base import Misbehaviour
from mcpsim.course.misbehaving.changing import (
    Json,
    Letter,
    add_before,
    change_answer,
    dropped,
    on_message,
    on_nth,
    unanswered,
    with_memory,
)
from mcpsim.course.misbehaving.lifecycle_parts import plain, refusal
from mcpsim.course.misbehaving.logging import PIN
from mcpsim.course.servers import help_desk, notice_board
from mcpsim.course.stories.listening import list_changes_unasked, with_a_stream
from mcpsim.eras.revisions import ClientEra
from mcpsim.errors import INTERNAL_ERROR, McpSimError
from mcpsim.server import Context, Server
from mcpsim.transports.http import EVENT_STREAM_TYPE, LAST_EVENT_ID_HEADER, HttpHead, HttpRequest, sse_event
from mcpsim.transports.twists import MakeTwist

Story = Callable[..., Any]

CALL: Final = "tools/call"
PROGRESS: Final = "notifications/progress"
CHANGED: Final = "notifications/resources/list_changed"
RESUMABLE: Final[Json] = {"resumable": True}
#: The id of the first event with a message, as this endpoint makes them.
FIRST: Final = "1-1"


def patient_desk() -> Server:
    """A server that lets go of the connection while it works, where streams can be taken up again."""
    desk = Server("patient-desk")

    @desk.tool()
    async def export_report(context: Context, parts: int = 2) -> str:
        """Build the report, part by part, and let the client ask for the rest."""
        for part in range(1, parts + 1):
            await context.report_progress(part, parts)
            await context.close_stream()
            await anyio.sleep(0.5)
        return "report.pdf"

    return desk


def _heard(progress: float, total: float | None, message: str | None) -> None:
    """Progress is told, and nobody needs to do anything."""


async def build_a_report(client: Client) -> None:
    """Call a tool that tells how far it is; whatever comes of it is fine."""
    with suppress(McpSimError):
        await client.call_tool("export_report", {"parts": 4}, on_progress=_heard, timeout_s=5)


async def leave_a_report(client: Client) -> None:
    """Call a tool, and do not wait for it."""
    with suppress(McpSimError):
        await client.call_tool("export_report", {"parts": 9}, on_progress=_heard, timeout_s=0.5)
    await anyio.sleep(1)


async def two_reports(client: Client) -> None:
    """Call a tool twice, the second time a moment later; both tell how far they are."""
    async with anyio.create_task_group() as tasks:
        for parts in (3, 2):
            tasks.start_soon(_report, client, parts)
            await anyio.sleep(0.3)


async def _report(client: Client, parts: int) -> None:
    with suppress(McpSimError):
        await client.call_tool("export_report", {"parts": parts}, on_progress=_heard, timeout_s=9)


def _by_hand() -> Json:
    params = {"name": "export_report", "arguments": {}, "_meta": {"progressToken": "report"}}
    return plain("report", CALL, params)


async def never_come_back(client: Client) -> None:
    """Call a tool whose connection is closed early, and do not ask for the rest."""
    await client.send_raw(_by_hand())
    await anyio.sleep(3)


def come_back_after(seconds: float, wait_s: float = 5.0) -> Story:
    """A story that asks for the rest after so long, by a message that goes out as a GET (`_as_get`).

    Args:
        wait_s: how long it waits for the first part, in seconds.
    """

    async def story(client: Client) -> None:
        await client.send_raw(_by_hand(), timeout_s=wait_s)
        await anyio.sleep(seconds)
        await client.send_raw(plain("again", "ping"), headers={LAST_EVENT_ID_HEADER: FIRST}, timeout_s=5)

    return story


# --- What they do wrong --------------------------------------------------------------------------------


def _as_get(letter: Letter) -> Any:
    head = letter.out.head
    if not isinstance(head, HttpRequest):
        return None
    headers = head.headers.without("Content-Type").with_("Accept", EVENT_STREAM_TYPE)
    return letter.out.with_head(replace(head, method="GET", headers=headers)).with_data(b"")


def _names_an_older_event(letter: Letter) -> Any:
    out = letter.out
    return out.with_header(LAST_EVENT_ID_HEADER, "1-0") if LAST_EVENT_ID_HEADER in out.headers else None


def _is_in_a_stream(letter: Letter) -> bool:
    head = letter.out.head
    kind = "" if head is None else head.headers.get("Content-Type") or ""
    return isinstance(head, HttpHead) and kind.startswith(EVENT_STREAM_TYPE)


def _without_a_beginning(letter: Letter) -> Any:
    """A comment in the place of the event that only has an id."""
    if letter.out.data or not _is_in_a_stream(letter):
        return None
    return letter.out.with_raw(b": hello\n\n")


def _in_the_stream_of_another() -> Callable[[Letter], Any]:
    """The progress of the second call, once, in the stream of the first."""
    tokens: list[Any] = []

    def change(letter: Letter) -> Any:
        if letter.method == CALL and letter.kind == "request":
            tokens.append(letter.message["params"]["_meta"]["progressToken"])
            return None
        if len(tokens) != 2 or letter.method != PROGRESS:
            return None
        if letter.message["params"]["progressToken"] != tokens[0]:
            return None
        params = {"progressToken": tokens.pop(), "progress": 1.5}
        other = letter.out.beside({"jsonrpc": "2.0", "method": PROGRESS, "params": params})
        # Without an event id: that of the message itself would stand there twice.
        return [other.with_raw(sse_event(other.data)), letter.out]

    return change


def _on_the_stream_of_get(make: Callable[[Json], Json], *, moved: bool = False) -> MakeTwist:
    """One more message beside the first change that is told of on the stream of a GET.

    Args:
        make: makes the message out of the first call.
        moved: whether that is the response, which then stands nowhere else.
    """

    def make_change() -> Callable[[Letter], Any]:
        asked: list[Json] = []

        def change(letter: Letter) -> Any:
            if letter.method == CALL:
                if letter.kind == "request":
                    asked.append(letter.message)
                return () if letter.kind == "result" and moved else None
            if letter.method != CHANGED or not asked:
                return None
            return [letter.out, letter.out.beside(make(asked.pop(0)))]

        return change

    return with_memory(make_change, "request", "notification", "result")


def _progress_of(call: Json) -> Json:
    params = {"progressToken": call["params"]["_meta"]["progressToken"], "progress": 0.5}
    return {"jsonrpc": "2.0", "method": PROGRESS, "params": params}


def _result_of(call: Json) -> Json:
    content = [{"type": "text", "text": "A new notice"}]
    return {"jsonrpc": "2.0", "id": call["id"], "result": {"content": content}}


def _changed(letter: Letter) -> Json:
    return {"jsonrpc": "2.0", "method": CHANGED}


async def pin_two_notices(client: Client) -> None:
    """Pin a notice slowly, and meanwhile another one for a new day."""
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(partial(client.call_tool, "pin_slowly", PIN, on_progress=_heard))
        await anyio.sleep(0.1)
        await client.call_tool("pin", {"day": "friday", "text": "Cake at four."})


async def pin_another_day(client: Client) -> None:
    """Pin a notice for a new day; whatever comes of it is fine."""
    with suppress(McpSimError):
        await client.call_tool("pin", {"day": "friday", "text": "Cake at four."}, timeout_s=2)


def _peer(
    party: Any,
    name: str,
    rule: str,
    sentence: str,
    twist: MakeTwist | None,
    story: Story = build_a_report,
    server: Callable[[], Server] = help_desk,
    era: ClientEra = "legacy",
    **more: Any,
) -> Misbehaviour:
    return Misbehaviour(name, party, rule, sentence, story, server, era, "http", twist=twist, **more)


HTTP_RESUMING: Final[tuple[Misbehaviour, ...]] = (
    _peer(
        "server",
        "server-does-not-prime-its-streams",
        "http-stream-is-primed",
        "The server begins a stream without an event that has an id and no data.",
        on_message(_without_a_beginning, "other"),
        endpoint=RESUMABLE,
    ),
    _peer(
        "server",
        "server-does-not-say-when-to-come-back",
        "http-interruption-says-retry",
        "The server closes a connection early, and does not say when to come back.",
        on_message(_without_a_beginning, "other"),
        server=patient_desk,
        endpoint=RESUMABLE,
    ),
    _peer(
        "client",
        "client-comes-back-too-early",
        "http-retry-is-respected",
        "The client comes back for a stream at once, although the server has asked it to wait.",
        None,
        come_back_after(0.1),
        patient_desk,
        good_story=come_back_after(1.2),
        scenery=on_message(_as_get, "request", method="ping"),
        endpoint=RESUMABLE,
    ),
    _peer(
        "client",
        "client-does-not-come-back",
        "http-interrupted-stream-is-polled",
        "The client does not come back for a stream whose connection was closed early.",
        None,
        never_come_back,
        patient_desk,
        good_story=build_a_report,
        endpoint=RESUMABLE,
    ),
    _peer(
        "client",
        "client-names-an-older-event",
        "http-resumption-names-the-last-event",
        "The client takes a stream up again from an event before the last one that came.",
        on_message(_names_an_older_event, "other"),
        server=patient_desk,
        endpoint=RESUMABLE,
    ),
    _peer(
        "server",
        "server-replays-another-stream",
        "http-replay-keeps-to-its-stream",
        "The server sends what belongs to another stream, where a client takes one up again.",
        with_memory(_in_the_stream_of_another),
        two_reports,
        patient_desk,
        endpoint={"resumable": True, "retry_ms": 100},
    ),
    _peer(
        "server",
        "server-mixes-its-streams",
        "http-stream-is-about-its-request",
        "The server reports the progress of one call in the stream of another.",
        with_memory(_in_the_stream_of_another),
        two_reports,
        era="modern",
    ),
    _peer(
        "server",
        "server-mixes-its-streams-in-a-session",
        "http-stream-is-about-its-request-legacy",
        "The server of a session reports the progress of one call in the stream of another.",
        with_memory(_in_the_stream_of_another),
        two_reports,
    ),
    _peer(
        "server",
        "server-ends-a-stream-without-the-response",
        "http-stream-brings-the-response",
        "The server ends the stream of a call without its response.",
        unanswered(CALL),
    ),
    _peer(
        "server",
        "server-takes-a-lost-stream-for-a-cancellation",
        "http-disconnection-is-no-cancellation",
        "The server gives a call up because its connection broke.",
        change_answer(CALL, refusal(INTERNAL_ERROR, "The client disconnected.")),
        come_back_after(1.2, wait_s=0.5),
        scenery=on_message(_as_get, "request", method="ping"),
        endpoint=RESUMABLE,
    ),
    _peer(
        "client",
        "client-leaves-without-a-word",
        "http-cancellation-is-said",
        "The client closes the stream of a call, and does not say that it has cancelled it.",
        dropped("notifications/cancelled"),
        leave_a_report,
    ),
    _peer(
        "server",
        "server-answers-on-the-stream-of-get",
        "http-get-stream-has-no-responses",
        "The server sends the response of a call on the stream of a GET.",
        _on_the_stream_of_get(_result_of, moved=True),
        pin_another_day,
        notice_board,
        clients=with_a_stream,
    ),
    _peer(
        "server",
        "server-reports-progress-on-the-stream-of-get",
        "http-get-stream-is-about-no-request",
        "The server reports the progress of a running call on the stream of a GET.",
        _on_the_stream_of_get(_progress_of),
        pin_two_notices,
        notice_board,
        clients=with_a_stream,
    ),
    _peer(
        "server",
        "server-tells-on-every-stream",
        "http-message-on-one-stream",
        "The server tells of one change on two streams at the same time.",
        on_nth(1, add_before(CALL, _changed)),
        list_changes_unasked,
        notice_board,
        clients=with_a_stream,
    ),
)
