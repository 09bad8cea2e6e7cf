"""Which request a cancellation may name, and how it is sent."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping
from itertools import pairwise
from typing import Final

from mcpsim.audit.building import Key, key_of
from mcpsim.audit.model import Call, Connection, Item, Side, Trace
from mcpsim.audit.order import ON_ITS_WAY_MS, UNREAD_MS, hides_requests, is_later_by, ways_with
from mcpsim.audit.rule import (
    ALL,
    LEGACY,
    MODERN,
    MUST,
    NOTE,
    SHOULD,
    Found,
    Level,
    Rule,
    each,
    notifications,
)
from mcpsim.eras.revisions import LATEST_LEGACY, Era
from mcpsim.recording.interchange import INTERMEDIARIES
from mcpsim.recording.words import show

CANCELLED: Final = "notifications/cancelled"
LISTEN: Final = "subscriptions/listen"
_SIDES: Final[tuple[Side, ...]] = ("client", "server")
BEHAVIOR: Final[Mapping[Era, str]] = {
    "modern": "basic/patterns/cancellation#behavior-requirements",
    "legacy": "basic/utilities/cancellation#behavior-requirements",
}


def cancellations(connection: Connection) -> list[Item]:
    """The `notifications/cancelled` of both sides, in order."""
    if CANCELLED not in connection.occurs:
        return []
    return [item for item in connection.items if item.kind == "notification" and item.method == CANCELLED]


def named(cancel: Item) -> Call | None:
    """The sender's own request that it names, or None."""
    call = cancel.call
    return call if call is not None and call.asked_by == cancel.sender else None


def is_task(call: Call) -> bool:
    """Whether a request was answered by a task, which has a cancellation of its own."""
    return isinstance(call.result.get("task"), dict)


def _names_nothing(trace: Trace) -> Iterator[Found]:
    # Whoever passes messages on may pass on the cancellation of a request that was lost on the way to it.
    lost = {key_of(item.sender, item.id) for item in trace.items if item.disturbed and item.kind == "request"}
    for way in ways_with(trace, (CANCELLED,)):
        yield from _names_nothing_on(way, lost if way[0].hop else ())


def _names_nothing_on(way: tuple[Connection, ...], lost: Collection[Key | None]) -> Iterator[Found]:
    cancels = [
        cancel
        for connection in way
        for cancel in cancellations(connection)
        if named(cancel) is None and key_of(cancel.sender, cancel.params.get("requestId")) is not None
    ]
    if not cancels or any(connection.began_late for connection in way):
        return
    asked = _asked_on(way)
    hidden = {side for side in _SIDES if hides_requests(way, side)}
    for cancel in cancels:
        modern = cancel.era == "modern"
        # Without the handshake, the trace began later than the session.
        if (modern and cancel.sender == "server") or (not modern and cancel.session is None):
            continue
        id = cancel.params["requestId"]
        key = key_of(cancel.sender, id)
        # Over HTTP the request may be on another connection, and even come later.
        if key in lost or cancel.sender in hidden or (cancel.is_http and key in asked):
            continue
        yield Found(
            cancel,
            f"This cancels the request {show(id)}, and the {cancel.party} had not sent a request with that id"
            " here.",
            hint=_likely(cancel, id, asked),
        )


def _asked_on(way: Iterable[Connection]) -> dict[Key | None, Call]:
    """The last request with each id."""
    return {key_of(call.asked_by, call.request.id): call for one in way for call in one.calls}


def _likely(cancel: Item, id: object, asked: Mapping[Key | None, Call]) -> str:
    other = "server" if cancel.sender == "client" else "client"
    if isinstance(id, str) and id.removeprefix("-").isdecimal() and len(id) < 16:
        if key_of(cancel.sender, int(id)) in asked:
            return "There is a request with that number. Write the id in the type that the request has."
    elif isinstance(id, int) and key_of(cancel.sender, str(id)) in asked:
        return "There is a request with that id as a text. Write the id in the type that the request has."
    if cancel.connection.hop:
        return "Whoever gives requests new ids on the way must do so in cancellations as well."
    if key_of(other, id) in asked:
        return "The other side has a request with that id. Each side cancels its own requests."
    return "Send the id of the request that is to end."


def _of_finished(connection: Connection) -> Iterator[Found]:
    cancels = [cancel for cancel in cancellations(connection) if named(cancel) is not None]
    if not cancels:
        return
    used_at = _answers_in_use(connection)
    seen: dict[Call, Item] = {}
    for cancel in cancels:
        call = cancel.call
        if call is None or call.method == "initialize" or is_task(call):
            continue
        before = seen.setdefault(call, cancel)
        answer = call.answer
        if answer is not None and answer.torn_into:
            # Nobody could read that answer, so the request is still open to whoever sent it.
            continue
        if answer is not None and answer.index < cancel.index:
            found = _too_late(cancel, answer, used_at.get(call))
            if found is not None:
                yield found
        elif before is not cancel:
            yield Found(cancel, "This request was cancelled before already: once is enough.", level=NOTE)


def cursors_given(connection: Connection) -> Counter[tuple[str, str]]:
    """How often each list gave each cursor."""
    return Counter(
        (call.method, cursor)
        for call in connection.calls
        if isinstance(cursor := call.result.get("nextCursor"), str)
    )


def _answers_in_use(connection: Connection) -> dict[Call, Item]:
    """For each request of whose answer the client has certainly made use: where it did so."""
    given = cursors_given(connection)
    used = {call: after.request for one in connection.rounds for call, after in pairwise(one.calls)}
    for walk in connection.walks:
        for call, after in pairwise(walk.calls):
            cursor = call.result.get("nextCursor")
            if isinstance(cursor, str) and given[call.method, cursor] == 1:
                used[call] = after.request
    return used


def _too_late(cancel: Item, answer: Item, use: Item | None) -> Found | None:
    text = f"This cancels a request that was answered in row {answer.index}."
    if use is not None and use.index < cancel.index:
        return Found(
            cancel,
            f"{text} The {cancel.party} knew: it made use of the answer in row {use.index}.",
            hint="Forget a request when its answer comes.",
        )
    # What has just arrived may not have been read; and a server is further away from where we look.
    limit = UNREAD_MS if cancel.sender == "client" else ON_ITS_WAY_MS
    if not is_later_by(limit, answer, cancel):
        return None
    # One in between passes on what its client believes.
    knows = cancel.sender == "client" and cancel.party not in INTERMEDIARIES
    level: Level = SHOULD if knows else NOTE
    return Found(
        cancel,
        f"{text} That was so long ago that the {cancel.party} probably knew.",
        hint="Forget a request when its answer comes.",
        level=level,
    )


def _of_initialize(cancel: Item) -> Iterator[Found]:
    call = named(cancel)
    if call is not None and call.method == "initialize" and cancel.sender == "client":
        yield Found(
            cancel,
            "This cancels `initialize`, which cannot be cancelled.",
            hint="Close the connection instead.",
        )


def _of_task(cancel: Item) -> Iterator[Found]:
    call = named(cancel)
    if call is None or call.answer is None or call.answer.index >= cancel.index or not is_task(call):
        return
    task = call.result["task"]
    status = task.get("status")
    yield Found(
        cancel,
        f"This cancels a request that has become the task {show(task.get('taskId'))} ({show(status)}).",
        hint="Send `tasks/cancel` with the id of the task.",
    )


def _without_id(cancel: Item) -> Iterator[Found]:
    if "requestId" not in cancel.params:
        yield Found(
            cancel,
            "This cancellation does not say which request it is about.",
            hint="Put the id of the request into `params.requestId`.",
        )


def _by_server(trace: Trace) -> Iterator[Found]:
    for way in ways_with(trace, (CANCELLED,)):
        yield from _by_server_on(way)


def _by_server_on(way: tuple[Connection, ...]) -> Iterator[Found]:
    cancels = [
        cancel
        for connection in way
        for cancel in cancellations(connection)
        if cancel.sender == "server" and cancel.era == "modern"
    ]
    if not cancels:
        return
    asked = _asked_on(way)
    for cancel in cancels:
        id = cancel.params.get("requestId")
        call = cancel.call or asked.get(key_of("client", id))
        if call is not None and call.method == LISTEN:
            continue
        if call is None and (cancel.connection.began_late or hides_requests(way, "client")):
            continue
        is_other = call is not None and call.asked_by == "client"
        what = f"which is `{show(call.method)[1:-1]}`" if call is not None and is_other else ""
        yield Found(
            cancel,
            f"The {cancel.party} cancels {show(id)}, {what or 'which is no request of the client'}. A server"
            " sends this only to end a subscription, with the id of its `subscriptions/listen`.",
            hint="Answer a request that fails with an error.",
        )


def _over_http(cancel: Item) -> Iterator[Found]:
    if cancel.is_http and cancel.sender == "client":
        yield Found(
            cancel,
            "Over HTTP a client cancels by closing the response stream of the request; this message is"
            " neither needed nor expected.",
            hint="Close the response stream of the request.",
        )


CANCELLATION: Final[tuple[Rule, ...]] = (
    Rule(
        "cancellation-names-a-request",
        MUST,
        "sender",
        ALL,
        BEHAVIOR,
        "A cancellation names a request that its sender has sent before on the same connection.",
        on=each(Trace, needs=(CANCELLED,)),
        check=_names_nothing,
    ),
    Rule(
        "cancellation-of-a-request-in-progress",
        MUST,
        "sender",
        ALL,
        BEHAVIOR,
        "A cancellation names a request that its sender believes to be in progress.",
        on=each(Connection, needs=(CANCELLED,)),
        check=_of_finished,
    ),
    Rule(
        "cancellation-by-server-ends-subscription",
        MUST,
        "server",
        MODERN,
        {"modern": BEHAVIOR["modern"]},
        "A server sends a cancellation only to end a subscription, and names its `subscriptions/listen`.",
        on=each(Trace, needs=(CANCELLED,)),
        check=_by_server,
    ),
    Rule(
        "cancellation-not-of-initialize",
        MUST,
        "client",
        LEGACY,
        {"legacy": BEHAVIOR["legacy"]},
        "A client does not cancel `initialize`.",
        on=notifications(CANCELLED),
        check=_of_initialize,
    ),
    Rule(
        "cancellation-not-of-task",
        MUST,
        "sender",
        frozenset({LATEST_LEGACY}),
        {"legacy": BEHAVIOR["legacy"]},
        "A request that has become a task is cancelled by `tasks/cancel`.",
        on=notifications(CANCELLED),
        check=_of_task,
    ),
    Rule(
        "cancellation-has-request-id",
        MUST,
        "sender",
        frozenset({LATEST_LEGACY}),
        {"legacy": "schema#cancellednotificationparams"},
        "A cancellation says which request it is about.",
        on=notifications(CANCELLED),
        check=_without_id,
    ),
    Rule(
        "cancellation-over-http-closes-stream",
        NOTE,
        "client",
        MODERN,
        {"modern": "basic/patterns/cancellation#transport-specific-cancellation"},
        "Over HTTP a client cancels a request by closing its response stream, and not by a message.",
        on=notifications(CANCELLED),
        check=_over_http,
    ),
)
