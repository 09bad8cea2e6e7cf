"""Peers that misbehave while work is being done: with progress, and with cancellations."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import anyio

from mcpsim.client import Client
from mcpsim.course.misbehaving.base import Misbehaviour
from mcpsim.course.misbehaving.changing import (
    Json,
    Letter,
    add_after,
    add_before,
    change_params,
    on_message,
    set_in_params,
    with_memory,
    without_in_params,
)
from mcpsim.course.servers import archive, help_desk, workshop
from mcpsim.errors import INTERNAL_ERROR
from mcpsim.transports.http import HttpHead

PROGRESS: Final = "notifications/progress"
CANCELLED: Final = "notifications/cancelled"
CALL: Final = "tools/call"
LIST: Final = "resources/list"


def ignored(progress: float, total: float | None, message: str | None) -> None:
    """Take a progress notification."""


async def export_a_report(client: Client) -> Any:
    """One long call, with progress."""
    return await client.call_tool("export_report", {"parts": 3}, on_progress=ignored)


async def export_without_a_token(client: Client) -> Any:
    """One long call, and no progress is asked for."""
    return await client.call_tool("export_report", {"parts": 3})


async def export_two_reports(client: Client) -> None:
    """Two long calls at the same time, with progress."""
    async with anyio.create_task_group() as tasks:
        for _ in range(2):
            tasks.start_soon(export_a_report, client)


async def export_with_numbers(client: Client) -> None:
    """Two calls, one after the other, with the tokens 0 and 1."""
    for token in (0, 1):
        params = {"name": "export_report", "arguments": {"parts": 2}}
        await client.request(CALL, params, meta={"progressToken": token})


async def give_up_sawing(client: Client) -> Any:
    """Stop waiting for a call, and go on."""
    with anyio.move_on_after(1):
        await client.call_tool("saw", {"seconds": 5})
    await anyio.sleep(0.2)
    return await client.call_tool("look_around")


async def give_up_searching(client: Client) -> Any:
    """Stop waiting for a call that reports its progress, and go on."""
    with anyio.move_on_after(1):
        await client.call_tool("search", {"seconds": 5}, on_progress=ignored)
    await anyio.sleep(0.2)
    return await client.call_tool("look_around")


async def look_and_leave(client: Client) -> None:
    """Make one short call, and wait."""
    await client.call_tool("look_around")
    await anyio.sleep(5)


async def cancel_what_is_done(client: Client) -> None:
    """Cancel a call five seconds after its answer."""
    await look_and_leave(client)
    await client.notify(CANCELLED, {"requestId": _first(client)})
    await anyio.sleep(0.2)


async def cancel_at_once(client: Client) -> None:
    """Press Stop a moment after the answer has come."""
    await client.call_tool("look_around")
    await client.notify(CANCELLED, {"requestId": _first(client)})
    await anyio.sleep(0.2)


async def cancel_by_a_message(client: Client) -> None:
    """Send a cancellation over HTTP, where the end of the stream is enough."""
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(client.call_tool, "saw", {"seconds": 1})
        await anyio.sleep(0.5)
        await client.notify(CANCELLED, {"requestId": _first(client)})


async def use_a_cancelled_answer(client: Client) -> Any:
    """Cancel the first page, and turn it all the same when it comes."""
    return await client.request(LIST, {"cursor": await _cursor_of_cancelled(client)})


async def ask_anew(client: Client) -> Any:
    """Cancel the first page, and ask for it anew."""
    await _cursor_of_cancelled(client)
    first = await client.request(LIST, {})
    return await client.request(LIST, {"cursor": first["nextCursor"]})


async def _cursor_of_cancelled(client: Client) -> Any:
    pages: list[Json] = []

    async def first() -> None:
        pages.append(await client.request(LIST, {}))

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(first)
        # The answer has left when the cancellation does.
        await anyio.sleep(0.03)
        await client.notify(CANCELLED, {"requestId": _first(client)})
    return pages[0]["nextCursor"]


async def stop_a_call(client: Client) -> None:
    """Stop a call in the way of the transport."""
    with anyio.move_on_after(0.5):
        await client.call_tool("saw", {"seconds": 1})
    await anyio.sleep(0.2)


async def cross_the_answer(client: Client) -> None:
    """Cancel a call while the answer is on its way, and read on."""
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(client.call_tool, "saw", {"seconds": 0.5})
        await anyio.sleep(0.53)
        await client.notify(CANCELLED, {"requestId": _first(client)})


def _first(client: Client) -> int:
    """The id of the first request of a story: in a session the handshake is before it."""
    return 1 if client.era == "modern" else 2


# --- What the servers do wrong -----------------------------------------------------------------------


def _stand_still(params: Json) -> None:
    params["progress"] = 1


def _progress(letter: Letter) -> Json:
    token = letter.request["params"]["_meta"]["progressToken"]
    return {"jsonrpc": "2.0", "method": PROGRESS, "params": {"progressToken": token, "progress": 99}}


def _invented(letter: Letter) -> Json:
    params = {"progressToken": f"call-{letter.message['id']}", "progress": 1}
    return {"jsonrpc": "2.0", "method": PROGRESS, "params": params}


def _flood(letter: Letter) -> Any:
    token = letter.request["params"]["_meta"]["progressToken"]
    flood = (
        {"jsonrpc": "2.0", "method": PROGRESS, "params": {"progressToken": token, "progress": 100 + step}}
        for step in range(300)
    )
    return [*(letter.out.beside(one) for one in flood), letter.out]


def _where_false(letter: Letter) -> Any:
    return None if letter.message["params"]["progressToken"] else ()


def _cancelling(letter: Letter) -> Json:
    params = {"requestId": letter.message["id"], "reason": "The server is busy."}
    return {"jsonrpc": "2.0", "method": CANCELLED, "params": params}


def _remembering(tool: str, late: Callable[[Json], Json]) -> Callable[[], Callable[[Letter], Any]]:
    """After the answer to `look_around`, one more message for the call of another tool before it."""

    def make() -> Callable[[Letter], Any]:
        calls: list[Json] = []

        def change(letter: Letter) -> Any:
            asked = letter.message if letter.kind == "request" else letter.request
            name = asked["params"]["name"]
            if letter.kind == "request" and name == tool:
                calls.append(asked)
            if letter.kind != "result" or name != "look_around":
                return None
            return [letter.out, *(letter.out.beside(late(one)) for one in calls)]

        return change

    return make


def _late_error(call: Json) -> Json:
    error = {"code": INTERNAL_ERROR, "message": "Request cancelled by the client"}
    return {"jsonrpc": "2.0", "id": call["id"], "error": error}


def _late_progress(call: Json) -> Json:
    token = call["params"]["_meta"]["progressToken"]
    return {"jsonrpc": "2.0", "method": PROGRESS, "params": {"progressToken": token, "progress": 99}}


def _refusing_cancellations() -> Callable[[Letter], Any]:
    posted: set[int] = set()

    def change(letter: Letter) -> Any:
        out = letter.out
        if letter.method == CANCELLED:
            posted.add(out.exchange)
        elif out.exchange in posted and isinstance(out.head, HttpHead):
            return out.with_status(400)
        return None

    return change


def _after_initialize(letter: Letter) -> Json:
    return _cancelling(letter)


def _as_text(params: Json) -> None:
    params["requestId"] = str(params["requestId"])


def _by_server(name: str, rule: str, sentence: str, story: Any, twist: Any, **more: Any) -> Misbehaviour:
    more = {"server": help_desk, "era": "modern", "way": "stdio", **more}
    return Misbehaviour(name, "server", rule, sentence, story, twist=twist, **more)


def _by_client(name: str, rule: str, sentence: str, story: Any, **more: Any) -> Misbehaviour:
    more = {"server": workshop, "era": "modern", "way": "stdio", **more}
    return Misbehaviour(name, "client", rule, sentence, story, **more)


WORKING: Final[tuple[Misbehaviour, ...]] = (
    _by_server(
        "server-reports-the-same-progress",
        "progress-rises",
        "The server says that one part is done, again and again.",
        export_a_report,
        change_params(PROGRESS, _stand_still),
    ),
    _by_server(
        "server-invents-a-progress-token",
        "progress-names-a-token",
        "The server makes up a token for a call that has none.",
        export_without_a_token,
        add_before(CALL, _invented),
        way="http",
    ),
    _by_server(
        "server-reports-progress-after-the-answer",
        "progress-stops-at-completion",
        "The server reports progress of a call that it has answered.",
        export_a_report,
        add_after(CALL, _progress),
        era="legacy",
    ),
    _by_server(
        "server-reports-progress-without-words",
        "progress-message-is-readable",
        "The server sends a blank message with its progress.",
        export_a_report,
        set_in_params(PROGRESS, "message", to=" "),
    ),
    _by_server(
        "server-floods-with-progress",
        "progress-is-no-flood",
        "The server reports progress three hundred times in a moment.",
        export_a_report,
        on_message(_flood, "result", method=CALL),
    ),
    _by_server(
        "server-takes-zero-for-no-token",
        "progress-token-need-not-be-true",
        "The server takes the progress token 0 for none, and reports nothing.",
        export_with_numbers,
        on_message(_where_false, "notification", method=PROGRESS),
    ),
    _by_client(
        "client-uses-one-token-twice",
        "progress-token-is-unique",
        "The client gives two calls at the same time the same token.",
        export_two_reports,
        server=help_desk,
        twist=set_in_params(CALL, "_meta", "progressToken", to="report"),
    ),
    _by_client(
        "client-sends-true-as-a-token",
        "progress-token-is-string-or-integer",
        "The client gives the value true for a progress token.",
        export_a_report,
        server=help_desk,
        twist=set_in_params(CALL, "_meta", "progressToken", to=True),
    ),
    _by_client(
        "client-cancels-in-another-type",
        "cancellation-names-a-request",
        "The client turns the number of the request that it cancels into a text.",
        give_up_sawing,
        twist=change_params(CANCELLED, _as_text),
    ),
    _by_client(
        "client-forgets-which-request-to-cancel",
        "cancellation-has-request-id",
        "The client leaves the id out of its cancellation.",
        give_up_sawing,
        era="legacy",
        twist=without_in_params(CANCELLED, "requestId"),
    ),
    _by_client(
        "client-cancels-what-is-done",
        "cancellation-of-a-request-in-progress",
        "The client cancels a call long after its answer.",
        cancel_what_is_done,
        good_story=look_and_leave,
    ),
    _by_client(
        "client-cancels-its-handshake",
        "cancellation-not-of-initialize",
        "The client cancels initialize.",
        give_up_sawing,
        era="legacy",
        twist=add_after("initialize", _after_initialize, "request"),
    ),
    _by_client(
        "client-cancels-over-http-by-a-message",
        "cancellation-over-http-closes-stream",
        "The client posts a cancellation, where the end of the stream is enough.",
        cancel_by_a_message,
        good_story=stop_a_call,
        way="http",
    ),
    _by_client(
        "client-uses-a-cancelled-answer",
        "cancelled-request-answer-is-ignored",
        "The client cancels a page, and goes on with what still comes of it.",
        use_a_cancelled_answer,
        good_story=ask_anew,
        server=archive,
    ),
    _by_server(
        "server-cancels-a-call",
        "cancellation-by-server-ends-subscription",
        "The server cancels a call of the client.",
        export_a_report,
        add_before(CALL, _cancelling),
    ),
    _by_server(
        "server-answers-a-cancelled-call",
        "cancelled-request-not-answered",
        "The server answers a cancelled call, to say that it was cancelled.",
        give_up_sawing,
        with_memory(_remembering("saw", _late_error), method=CALL),
        server=workshop,
    ),
    _by_server(
        "server-answers-a-cancelled-call-in-a-session",
        "cancelled-request-not-answered-legacy",
        "The server answers a cancelled call of a session, to say that it was cancelled.",
        give_up_sawing,
        with_memory(_remembering("saw", _late_error), method=CALL),
        server=workshop,
        era="legacy",
    ),
    _by_server(
        "server-works-on-when-cancelled",
        "cancelled-request-is-stopped",
        "The server still reports progress of a call that was cancelled.",
        give_up_searching,
        with_memory(_remembering("search", _late_progress), method=CALL),
        server=workshop,
    ),
    _by_server(
        "server-works-on-when-cancelled-in-a-session",
        "cancelled-request-is-stopped-legacy",
        "The server still reports progress of a call of a session that was cancelled.",
        give_up_searching,
        with_memory(_remembering("search", _late_progress), method=CALL),
        server=workshop,
        era="legacy",
    ),
    _by_server(
        "server-refuses-a-late-cancellation",
        "cancellation-may-cross-the-answer",
        "The server takes a cancellation that crossed its answer for a fault.",
        cross_the_answer,
        with_memory(_refusing_cancellations),
        server=workshop,
        era="legacy",
        way="http",
    ),
    _by_server(
        "server-refuses-to-cancel-what-is-done",
        "cancellation-invalid-is-ignored",
        "The server answers a cancellation of what it has finished with an error.",
        cancel_at_once,
        with_memory(_refusing_cancellations),
        server=workshop,
        era="legacy",
        way="http",
    ),
)
