"""What may come after a cancellation, from either side."""

from __future__ import annotations

import re
from collections.abc import Iterator, Set
from itertools import pairwise
from typing import Any, Final, NamedTuple, cast

from mcpsim.audit.building import key_of
from mcpsim.audit.model import Call, Connection, Item
from mcpsim.audit.order import ON_ITS_WAY_MS, UNREAD_MS, Reading, is_later_by
from mcpsim.audit.rule import ALL, LEGACY, MODERN, MUST, NOTE, SHOULD, Found, Level, Rule, each
from mcpsim.audit.rules.cancellation import BEHAVIOR, cancellations, cursors_given, named
from mcpsim.audit.rules.http_common import has_odd_head
from mcpsim.messages import ErrorResponse
from mcpsim.recording.words import show

#: The statuses with which a server says that it cannot take a message as it is.
REFUSALS: Final = frozenset({400, 409, 410, 422, 500, 501})
#: The error code for a cancelled request in protocols near to this one.
REQUEST_CANCELLED: Final = -32800

_SUBJECT = "request|operation|call|task|tool|execution|processing|context|client|user|notification"
_SPEAKS = re.compile(
    rf"\b(?:{_SUBJECT})\b.{{0,80}}\b(?:cancel|abort)|\b(?:cancel|abort)\w*\b.{{0,80}}\b(?:{_SUBJECT})\b"
    r"|^\W*\w*(?:cancel|abort)\w*\W*$",
    re.IGNORECASE,
)
_DENIES = re.compile(r"\b(?:not|cannot|can't|couldn't|unable|failed)\b", re.IGNORECASE)
_ABOUT_IDS = re.compile(
    r"cancel|request.?id|unknown request|no such request|not.{0,20}in progress", re.IGNORECASE
)
_LONGEST: Final = 500
_LEAVES: Final = frozenset({"stdin_closed", "client_aborted"})
_UNKNOWN = re.compile(r"\b(?:unknown|unexpected|no such|not known|stray)\b", re.IGNORECASE)

#: Without one of these nothing is stopped.
STOPPING: Final = ("notifications/cancelled", "response_stream_closed", "client_aborted", "exchange_timeout")


class Stopped(NamedTuple):
    """A request that was cancelled while it was in progress, and what said so."""

    call: Call
    by: Item


def stopped(connection: Connection, *, modern: bool) -> Iterator[Stopped]:
    """The cancelled requests of one era. In the modern one, closing its HTTP stream cancels a request too."""
    for call in connection.calls:
        if (call.era == "modern") is not modern:
            continue
        by = call.cancelled
        exchange = call.request.exchange
        if modern and exchange is not None and exchange.closed is not None:
            closed = exchange.closed
            if closed.sender == "client" and (by is None or closed.index < by.index):
                by = closed
        if by is None or by.disturbed:
            continue
        answer = call.answer
        if answer is None or answer.index > by.index:
            yield Stopped(call, by)


def error_text(item: Item) -> str:
    """The message of an error; "" where it has none."""
    return item.message.message[:_LONGEST] if isinstance(item.message, ErrorResponse) else ""


def speaks_of_cancelling(answer: Item) -> bool:
    """Whether an error says that the request was cancelled: then the answer was no race."""
    if answer.kind != "error":
        return False
    return answer.code == REQUEST_CANCELLED or _says_so(error_text(answer))


def _says_so(text: str) -> bool:
    return bool(_SPEAKS.search(text) and not _DENIES.search(text))


def _tool_says_so(answer: Item) -> bool:
    """Whether a tool error says it. It may speak of something else, as a tool that cancels orders does."""
    content = answer.result.get("content")
    if answer.result.get("isError") is not True or not isinstance(content, list) or not content:
        return False
    first = cast("list[Any]", content)[0]
    text = cast("dict[str, Any]", first).get("text") if isinstance(first, dict) else None
    return isinstance(text, str) and _says_so(text[:_LONGEST])


def _responses(connection: Connection, *, modern: bool) -> Iterator[tuple[Stopped, Item, str]]:
    """The answers to cancelled requests of which can be told that the cancellation had been read, and how."""
    reading: Reading | None = None
    for one in stopped(connection, modern=modern):
        answer = one.call.answer
        if answer is None:
            continue
        if speaks_of_cancelling(answer):
            yield one, answer, "text"
            continue
        if _tool_says_so(answer):
            yield one, answer, "words"
            continue
        if one.call.asked_by == "server":
            if is_later_by(UNREAD_MS, one.by, answer):
                yield one, answer, "time"
            continue
        reading = reading or Reading(connection)
        if reading.had_read(one.by, answer):
            yield one, answer, "order"
        elif is_later_by(ON_ITS_WAY_MS, one.by, answer):
            yield one, answer, "time"


_PROOF: Final = {
    "text": "Its text says that the cancellation had arrived, so the two did not cross.",
    "words": "Its text probably says that the cancellation had arrived.",
    "order": "A later request had been answered before, so the cancellation had been read.",
    "time": "It came so late that the cancellation had probably arrived.",
}


def _answered_in_modern(connection: Connection) -> Iterator[Found]:
    for one, answer, how in _responses(connection, modern=True):
        page = "streamable-http" if connection.is_http else "stdio"
        yield Found(
            answer,
            f"The {answer.party} answered the request {show(one.call.request.id)}, which was cancelled in row"
            f" {one.by.index}. {_PROOF[how]} The pages differ: basic/patterns/cancellation says that it"
            f" should not answer, basic/transports/{page} that it must not.",
            hint="Stop silently: nobody waits for the answer any more.",
            # So much says either page. What the text of the answer does not prove may have crossed.
            level=SHOULD if how == "text" else NOTE,
        )


def _answered_in_legacy(connection: Connection) -> Iterator[Found]:
    for one, answer, how in _responses(connection, modern=False):
        may = " A request that cannot be stopped may still be answered." if how != "text" else ""
        level: Level = SHOULD if how == "text" else NOTE
        yield Found(
            answer,
            f"The {answer.party} answered the request {show(one.call.request.id)}, which was cancelled in row"
            f" {one.by.index}. {_PROOF[how]}{may}",
            hint="Stop silently: nobody waits for the answer any more.",
            level=level,
        )


def _goes_on_in_modern(connection: Connection) -> Iterator[Found]:
    # Over HTTP the closed stream tells, and a rule of the transport looks at it.
    return iter(()) if connection.is_http else _goes_on(connection, modern=True)


def _goes_on_in_legacy(connection: Connection) -> Iterator[Found]:
    return _goes_on(connection, modern=False)


def _goes_on(connection: Connection, *, modern: bool) -> Iterator[Found]:
    reading: Reading | None = None
    for call, by in stopped(connection, modern=modern):
        if call.asked_by != "client" or not call.notifications:
            continue
        for item in call.notifications:
            if item.sender != "server" or item.index <= by.index or item.disturbed:
                continue
            reading = reading or Reading(connection)
            is_read = reading.had_read(by, item)
            if not is_read and not is_later_by(ON_ITS_WAY_MS, by, item):
                continue
            how = _PROOF["order" if is_read else "time"]
            yield Found(
                item,
                f"The {item.party} still sends messages for the request {show(call.request.id)}, which was"
                f" cancelled in row {by.index}. {how}",
                hint="Stop the work on a request when its cancellation arrives.",
                level=SHOULD if modern else NOTE,
            )
            break


def _not_ignored(connection: Connection) -> Iterator[Found]:
    late = {
        one.call: one.call.answer
        for modern in (True, False)
        for one in stopped(connection, modern=modern)
        if one.call.answer is not None and one.call.asked_by == "client"
    }
    if not late:
        return
    yield from _left_because(connection, set(late.values()))
    given = cursors_given(connection)
    for chain in (*connection.walks, *connection.rounds):
        for call, after in pairwise(chain.calls):
            answer = call.answer
            if call not in late or answer is None or after.request.index < answer.index:
                continue
            cursor = answer.result.get("nextCursor")
            if call.walk is chain and not (isinstance(cursor, str) and given[call.method, cursor] == 1):
                continue
            yield Found(
                after.request,
                f"This goes on with what row {answer.index} says, which answers a request that the"
                f" {after.request.party} had cancelled.",
                hint="Leave an answer unread that comes after the cancellation.",
            )


def _left_because(connection: Connection, late: Set[Item]) -> Iterator[Found]:
    """The client closes the connection next, and says that it did not know the answer."""
    for item, after in pairwise(connection.items):
        if item not in late or after.event not in _LEAVES or after.sender != "client":
            continue
        detail = after.row.get("detail")
        if isinstance(detail, str) and _UNKNOWN.search(detail[:_LONGEST]):
            yield Found(
                after,
                f"The {after.party} closed the connection when the answer in row {item.index} came, probably"
                " because it had forgotten the request, which it had cancelled.",
                hint="Leave an answer unread that comes after the cancellation, and go on.",
            )


class Complaint(NamedTuple):
    """A refusal of a cancellation."""

    cancel: Item
    item: Item
    what: str


def _complaints(connection: Connection) -> Iterator[Complaint]:
    """The cancellations of the client to which the server answered with an error."""
    cancels = [cancel for cancel in cancellations(connection) if cancel.sender == "client"]
    if not cancels:
        return
    if connection.is_http:
        for cancel in cancels:
            exchange = cancel.exchange
            if exchange is None or has_odd_head(cancel):
                continue
            if exchange.answers and exchange.status in REFUSALS:
                yield Complaint(cancel, exchange.answers[0], f"with the status {exchange.status}")
        return
    errors = [
        item
        for item in connection.items
        if item.kind == "error"
        and item.sender == "server"
        and (item.id is None or (item.call is not None and item.call.answer is not item))
        and _ABOUT_IDS.search(error_text(item))
    ]
    position = 0
    for item in errors:
        while position + 1 < len(cancels) and cancels[position + 1].index < item.index:
            position += 1
        cancel = cancels[position]
        if cancel.index < item.index and (item.id is None or item.call is named(cancel)):
            yield Complaint(cancel, item, f"with an error: {show(error_text(item))}")


def _race_refused(connection: Connection) -> Iterator[Found]:
    for cancel, item, what in _complaints(connection):
        call = named(cancel)
        if call is None or call.answer is None or call.answer.index < cancel.index:
            continue
        yield Found(
            item,
            f"The answer to the request {show(call.request.id)} and its cancellation crossed on the way, and"
            f" the {item.party} met the cancellation {what}.",
            hint="Ignore a cancellation of a request that is finished: such crossing is normal.",
        )


def _invalid_refused(connection: Connection) -> Iterator[Found]:
    for cancel, item, what in _complaints(connection):
        call = named(cancel)
        malformed = key_of("client", cancel.params.get("requestId")) is None
        if not malformed and call is None and connection.began_late:
            continue
        if call is not None and (call.answer is None or call.answer.index > cancel.index):
            continue
        why = (
            "is malformed"
            if malformed
            else "names no request that is known here"
            if call is None
            else "names a request that was answered before"
        )
        yield Found(
            item,
            f"The cancellation in row {cancel.index} {why}, and the {item.party} met it {what}. It should"
            " ignore such a cancellation.",
            hint="Take the notification (202 over HTTP) and do nothing.",
        )


AFTER_CANCELLATION: Final[tuple[Rule, ...]] = (
    Rule(
        "cancelled-request-not-answered",
        NOTE,
        "sender",
        MODERN,
        {"modern": BEHAVIOR["modern"]},
        "A request that was cancelled is not answered.",
        on=each(Connection, among=STOPPING),
        check=_answered_in_modern,
    ),
    Rule(
        "cancelled-request-not-answered-legacy",
        SHOULD,
        "sender",
        LEGACY,
        {"legacy": BEHAVIOR["legacy"]},
        "A request that was cancelled is not answered.",
        on=each(Connection, among=STOPPING),
        check=_answered_in_legacy,
    ),
    Rule(
        "cancelled-request-is-stopped",
        MUST,
        "server",
        MODERN,
        {"modern": "basic/transports/stdio#cancellation"},
        "When a request is cancelled on stdio, its work stops and nothing more is sent for it.",
        on=each(Connection, among=STOPPING),
        check=_goes_on_in_modern,
    ),
    Rule(
        "cancelled-request-is-stopped-legacy",
        SHOULD,
        "server",
        LEGACY,
        {"legacy": BEHAVIOR["legacy"]},
        "When a request is cancelled, its work stops.",
        on=each(Connection, among=STOPPING),
        check=_goes_on_in_legacy,
    ),
    Rule(
        "cancelled-request-answer-is-ignored",
        SHOULD,
        "client",
        ALL,
        BEHAVIOR,
        "Who cancelled a request makes no use of an answer that still comes.",
        on=each(Connection, among=STOPPING),
        check=_not_ignored,
    ),
    Rule(
        "cancellation-may-cross-the-answer",
        MUST,
        "server",
        ALL,
        {
            "modern": "basic/patterns/cancellation#timing-considerations",
            "legacy": "basic/utilities/cancellation#timing-considerations",
        },
        "A cancellation that crosses the answer on the way does no harm.",
        on=each(Connection, among=STOPPING),
        check=_race_refused,
    ),
    Rule(
        "cancellation-invalid-is-ignored",
        SHOULD,
        "server",
        ALL,
        {
            "modern": "basic/patterns/cancellation#error-handling",
            "legacy": "basic/utilities/cancellation#error-handling",
        },
        "A cancellation that names no request in progress, or is malformed, is ignored.",
        on=each(Connection, among=STOPPING),
        check=_invalid_refused,
    ),
)
