"""Log messages: who may send them, where they come, and how loud they are."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final, cast

from mcpsim.audit.model import Call, Connection, Item, Session
from mcpsim.audit.order import ON_ITS_WAY_MS, is_later_by, is_one_stream
from mcpsim.audit.rule import (
    LEGACY,
    MODERN,
    MUST,
    NOTE,
    SHOULD,
    Found,
    Rule,
    calls,
    each,
)
from mcpsim.audit.rules.subscriptions import LISTEN
from mcpsim.eras.capabilities import declares
from mcpsim.errors import INTERNAL_ERROR, INVALID_PARAMS
from mcpsim.messages.meta import LOG_LEVEL, SUBSCRIPTION_ID
from mcpsim.recording.words import show

LOG: Final = "notifications/message"
SET_LEVEL: Final = "logging/setLevel"
PAGE: Final = "server/utilities/logging"

#: From the least to the most severe.
LEVELS: Final = ("debug", "info", "notice", "warning", "error", "critical", "alert", "emergency")
_RANKS: Final[Mapping[str, int]] = {level: rank for rank, level in enumerate(LEVELS)}


def rank_of(level: object) -> int | None:
    """How severe a level is; None for what is no level."""
    return _RANKS.get(level) if isinstance(level, str) else None


def log_messages(connection: Connection) -> list[Item]:
    """The log messages of a connection, in order."""
    return [item for item in connection.items if item.kind == "notification" and item.method == LOG]


def _undeclared(connection: Connection) -> Iterator[Found]:
    """On a pipe nothing says which request a log message is about; over HTTP its stream does."""
    declared: bool | None = None
    first: Item | None = None
    for item in connection.items:
        if item.kind == "response" and item.method == "server/discover":
            offered = item.result.get("capabilities")
            if isinstance(offered, dict):
                declared = declares(cast("dict[str, Any]", offered), "logging")
        elif (
            item.kind == "notification" and item.method == LOG and item.era == "modern" and item.call is None
        ):
            first = first or (item if declared is False else None)
    if first is not None and declared is False:
        yield Found(
            first,
            f"The {first.party} sends log messages, and its answer to `server/discover` does not"
            " declare `logging`.",
            hint="Declare `logging` among the capabilities of the server.",
        )


class _InProgress:
    """The requests of a pipe that are in progress and ask for log messages, and the ranks of their levels."""

    __slots__ = ("_open", "_ranks")

    def __init__(self) -> None:
        self._open: dict[Call, int] = {}
        self._ranks = [0] * len(LEVELS)

    def take(self, item: Item) -> None:
        call = item.call
        if call is None:
            return
        if item.kind == "request" and item.sender == "client" and LOG_LEVEL in item.meta:
            if item.method != LISTEN:
                rank = self._open[call] = rank_of(item.meta[LOG_LEVEL]) or 0
                self._ranks[rank] += 1
        elif item.kind in ("response", "error") and call.answer is item and call in self._open:
            # A cancelled request stays: what comes for it may have been on its way.
            self._ranks[self._open.pop(call)] -= 1

    def any(self) -> bool:
        return bool(self._open)

    def lowest(self) -> int:
        """The rank of the least severe level that any of them asks for."""
        return next(rank for rank, several in enumerate(self._ranks) if several)


def _pipe(connection: Connection) -> Iterator[tuple[Item, _InProgress]]:
    """Each modern log message of a pipe, and the requests that it can be about."""
    if connection.is_http or not log_messages(connection):
        return
    now = _InProgress()
    for item in connection.items:
        if item.kind == "notification" and item.method == LOG:
            if item.era == "modern" and item.sender == "server":
                yield item, now
        else:
            now.take(item)


def _own_request(item: Item) -> Item | None:
    """The request in whose HTTP stream something comes, or None."""
    exchange = item.exchange
    return exchange.calls[0].request if exchange is not None and len(exchange.calls) == 1 else None


def _unwanted(connection: Connection) -> Iterator[Found]:
    if not connection.is_http:
        for item, now in _pipe(connection):
            if SUBSCRIPTION_ID in item.meta or now.any() or connection.began_late:
                continue
            yield Found(
                item,
                f"The {item.party} sends a log message, and no request that is in progress asks for any.",
                hint=f"Log only for a request whose `_meta` has `{LOG_LEVEL}`, before its answer. Use stderr"
                " for the rest.",
            )
        return
    for item in log_messages(connection):
        request = _own_request(item)
        if item.era != "modern" or request is None or request.method == LISTEN or LOG_LEVEL in request.meta:
            continue
        yield Found(
            item,
            f"The {item.party} sends a log message for the request {show(request.id)}, which does not ask"
            " for any.",
            hint=f"Log only for a request whose `_meta` has `{LOG_LEVEL}`.",
        )


def _on_subscription(connection: Connection) -> Iterator[Found]:
    for item in log_messages(connection):
        if item.era != "modern" or item.sender != "server":
            continue
        request = _own_request(item)
        if SUBSCRIPTION_ID not in item.meta and (request is None or request.method != LISTEN):
            continue
        yield Found(
            item,
            f"The {item.party} delivers a log message on a subscription. Log messages come on the stream of"
            " the request that asked for them.",
            hint=f"Send it before the answer to the request whose `_meta` has `{LOG_LEVEL}`, or not at all.",
        )


def _too_low(connection: Connection) -> Iterator[Found]:
    for item, now in _pipe(connection):
        rank = rank_of(item.params.get("level"))
        if rank is not None and now.any() and rank < now.lowest():
            yield _low(item, LEVELS[now.lowest()])
    if not connection.is_http:
        return
    for item in log_messages(connection):
        request = _own_request(item)
        if item.era != "modern" or request is None or request.method == LISTEN:
            continue
        rank, wanted = rank_of(item.params.get("level")), rank_of(request.meta.get(LOG_LEVEL))
        if rank is not None and wanted is not None and rank < wanted:
            yield _low(item, LEVELS[wanted])


def _low(item: Item, wanted: str) -> Found:
    return Found(
        item,
        f"This log message has the level {show(item.params.get('level'))}; {show(wanted)} and more severe"
        " ones were asked for.",
        hint="Drop log messages that are less severe than what was asked for.",
    )


def _too_low_in_session(connection: Connection) -> Iterator[Found]:
    if not log_messages(connection):
        return
    wanted: dict[Session, tuple[int, Item]] = {}
    # Between two settings, either may hold.
    changing: dict[Session, int] = {}
    for item in connection.items:
        session = item.session
        if session is None or item.era != "legacy":
            continue
        if item.method == SET_LEVEL and item.call is not None:
            rank = rank_of(item.call.request.params.get("level"))
            if item.kind == "request" and rank is not None:
                changing[session] = min(rank, changing.get(session, rank))
            elif item.kind == "response" and rank is not None:
                wanted[session] = rank, item
                changing.pop(session, None)
        elif item.kind == "notification" and item.method == LOG and session in wanted:
            lowest, told = wanted[session]
            lowest = min(lowest, changing.get(session, lowest))
            rank = rank_of(item.params.get("level"))
            ordered = is_one_stream(told, item) or is_later_by(ON_ITS_WAY_MS, told, item)
            if rank is not None and rank < lowest and ordered:
                yield _low(item, LEVELS[lowest])


def _bad_level(call: Call) -> Iterator[Found]:
    level, answer = call.request.meta.get(LOG_LEVEL), call.answer
    if LOG_LEVEL not in call.request.meta or rank_of(level) is not None:
        return
    if answer is not None and answer.kind == "response":
        yield Found(
            answer,
            f"The request {show(call.request.id)} has the log level {show(level)}, which is none, and the"
            f" {answer.party} answers as if nothing were wrong.",
            hint=f"Refuse it with the error {INVALID_PARAMS}.",
        )


def _bad_level_set(call: Call) -> Iterator[Found]:
    level, answer = call.request.params.get("level"), call.answer
    if rank_of(level) is not None or answer is None or answer.sender != "server":
        return
    if answer.kind == "response":
        what = "and gets a result"
    elif answer.code == INTERNAL_ERROR:
        what = f"and is refused with {INTERNAL_ERROR}, the code for faults of the server"
    else:
        # Any other code may tell of something else: no session, no such method, no permission.
        return
    yield Found(
        answer,
        f"`{SET_LEVEL}` asks for the level {show(level)}, which is none, {what}.",
        hint=f"Refuse it with the error {INVALID_PARAMS}.",
        level=None if answer.kind == "response" else NOTE,
    )


def _deprecated(connection: Connection) -> Iterator[Found]:
    for item in connection.items:
        if item.era != "modern":
            continue
        if item.method == LOG or (item.kind == "request" and LOG_LEVEL in item.meta):
            yield Found(
                item,
                "Log messages of the protocol are deprecated in this revision. New programs should not begin"
                " to use them, others should move on.",
                hint="Log to stderr on stdio, or use OpenTelemetry.",
                level=NOTE,
            )
            return


LOGGING: Final[tuple[Rule, ...]] = (
    Rule(
        "log-messages-are-declared",
        MUST,
        "server",
        MODERN,
        {"modern": f"{PAGE}#capabilities"},
        "A server that sends log messages declares logging.",
        on=each(Connection, needs=(LOG,)),
        check=_undeclared,
    ),
    Rule(
        "log-needs-level",
        MUST,
        "server",
        MODERN,
        {"modern": f"{PAGE}#per-request-log-level"},
        "A server sends log messages only for a request that asks for them, and before its answer.",
        on=each(Connection, needs=(LOG,)),
        check=_unwanted,
    ),
    Rule(
        "log-not-on-subscription",
        MUST,
        "server",
        MODERN,
        {"modern": f"{PAGE}#per-request-log-level"},
        "No log message comes on a subscription.",
        on=each(Connection, needs=(LOG,)),
        check=_on_subscription,
    ),
    Rule(
        "log-at-level-or-above",
        NOTE,
        "server",
        MODERN,
        {"modern": f"{PAGE}#per-request-log-level"},
        "A log message is at least as severe as what was asked for.",
        on=each(Connection, needs=(LOG,)),
        check=_too_low,
    ),
    Rule(
        "log-at-level-or-above-legacy",
        NOTE,
        "server",
        LEGACY,
        {"legacy": f"{PAGE}#message-flow"},
        "A log message is at least as severe as what was set.",
        on=each(Connection, needs=(LOG,)),
        check=_too_low_in_session,
    ),
    Rule(
        "log-level-is-checked",
        SHOULD,
        "server",
        MODERN,
        {"modern": f"{PAGE}#error-handling"},
        "A request with a log level that there is not is refused.",
        on=calls(),
        check=_bad_level,
    ),
    Rule(
        "log-level-is-checked-legacy",
        SHOULD,
        "server",
        LEGACY,
        {"legacy": f"{PAGE}#error-handling"},
        "A log level that there is not is refused as an invalid parameter.",
        on=calls(SET_LEVEL),
        check=_bad_level_set,
    ),
    Rule(
        "log-is-deprecated",
        SHOULD,
        "sender",
        MODERN,
        {"modern": PAGE},
        "Log messages of the protocol are not used by new programs.",
        on=each(Connection),
        check=_deprecated,
    ),
)
