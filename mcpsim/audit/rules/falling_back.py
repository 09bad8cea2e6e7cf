"""How a client finds out which era a server is of, and falls back: over stdio and over HTTP."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Final, cast

from mcpsim.audit.model import Connection, Item, Trace
from mcpsim.audit.once import once
from mcpsim.audit.rule import MODERN, MUST, NOTE, SHOULD, Found, Level, Rule, each
from mcpsim.audit.rules.envelopes import speaks_modern
from mcpsim.audit.rules.negotiation import listed_by
from mcpsim.audit.rules.versioning import DISCOVER
from mcpsim.eras.negotiation import RECOGNISED_MODERN_ERRORS
from mcpsim.eras.revisions import MODERN_REVISIONS
from mcpsim.messages.meta import CLIENT_INFO, PROTOCOL_VERSION
from mcpsim.recording.words import show

STDIO_PAGE: Final = "basic/transports/stdio#backward-compatibility"
HTTP_PAGE: Final = "basic/transports/streamable-http#backward-compatibility"
#: How a legacy server may refuse a modern request. Others are about access, or about waiting.
REFUSALS: Final = frozenset({400, 404, 405, 406, 415, 422})


@dataclass(frozen=True, slots=True)
class Attempt:
    """A client's first request, where it is a modern one, and what came of it.

    Attributes:
        request: it.
        client: what the client calls itself in it, or None.
        answer: the first thing that answers it, if only a status; None for silence.
        initialize: the first `initialize` after that, or None.
        left: what the client did to leave, without having sent anything else; None where it did not.
    """

    request: Item
    client: str | None
    answer: Item | None
    initialize: Item | None
    left: Item | None


@once
def _attempt(connection: Connection) -> Attempt | None:
    if connection.began_late:
        return None
    request: Item | None = None
    answer: Item | None = None
    left: Item | None = None
    for item in connection.items:
        if request is None:
            if item.kind == "request" and item.sender == "client":
                if PROTOCOL_VERSION not in item.meta:
                    return None
                request = item
        elif item.sender == "server":
            answer = item if answer is None and _answers(item, request) else answer
        elif item.kind == "event":
            left = left or item
        elif item.method != "notifications/cancelled":
            # It goes on, by handshake or otherwise.
            later = connection.sessions[0].initialize.request if connection.sessions else None
            begun = later if later is not None and later.index >= item.index else None
            return Attempt(request, _named(request), answer, begun, None)
    return None if request is None else Attempt(request, _named(request), answer, None, left)


def _answers(item: Item, request: Item) -> bool:
    if item.kind in ("response", "error"):
        return item.call is request.call
    return item.kind != "event" and item.exchange is not None and item.exchange is request.exchange


def _named(request: Item) -> str | None:
    info: Any = request.meta.get(CLIENT_INFO)
    name = cast("dict[str, Any]", info).get("name") if isinstance(info, dict) else None
    return name if isinstance(name, str) else None


def _points_to_legacy(connection: Connection, attempt: Attempt) -> bool:
    """Whether what came back says that the server is a legacy one."""
    answer = attempt.answer
    if answer is None:
        # Silence: over stdio, after a probe. HTTP without an answer is a broken connection.
        return not connection.is_http and attempt.request.method == DISCOVER
    if answer.kind == "error" and answer.code in RECOGNISED_MODERN_ERRORS:
        return False
    if connection.is_http:
        exchange = answer.exchange
        return exchange is not None and exchange.status in REFUSALS and not speaks_modern(connection)
    return answer.kind == "error" and attempt.request.method == DISCOVER and not speaks_modern(connection)


def _gives_up(on_http: bool) -> Callable[[Connection], Iterator[Found]]:
    def check(connection: Connection) -> Iterator[Found]:
        attempt = _attempt(connection) if connection.is_http is on_http else None
        if attempt is None or attempt.left is None or not _points_to_legacy(connection, attempt):
            return
        yield Found(
            attempt.left,
            f"The client leaves after {_in_words(attempt.answer)}. That is what a legacy server answers: "
            "a client "
            "that speaks a legacy revision as well falls back to initialize.",
            "Send initialize after any answer that is not an error of the modern protocol.",
        )

    return check


def _in_words(answer: Item | None) -> str:
    if answer is None:
        return "no answer to its probe"
    if answer.kind == "error":
        return f"the error {show(answer.code)}"
    status = None if answer.exchange is None else answer.exchange.status
    return f"the status {show(status)} without an error of the modern protocol"


def _keyed_to_a_code(trace: Trace) -> Iterator[Found]:
    attempts = [
        (connection, attempt)
        for connection in trace.connections
        if not connection.is_http and (attempt := _attempt(connection)) is not None
    ]
    fell_back: dict[tuple[str, str | None], dict[int, None]] = {}
    for connection, attempt in attempts:
        answer = attempt.answer
        if attempt.initialize is None or answer is None or answer.code is None:
            continue
        if _points_to_legacy(connection, attempt):
            fell_back.setdefault((connection.client, attempt.client), {})[answer.code] = None
    for connection, attempt in attempts:
        answer = attempt.answer
        codes = fell_back.get((connection.client, attempt.client), {})
        if attempt.left is None or answer is None or answer.code is None or not codes or answer.code in codes:
            continue
        if _points_to_legacy(connection, attempt):
            yield Found(
                attempt.left,
                f"The client fell back to initialize after the code {next(iter(codes))}, and gives up after "
                f"{show(answer.code)}: the fallback depends on one code.",
                "Fall back after any error that is not one of the modern protocol, and after silence.",
            )


def _stays_modern(level: Level, on_http: bool) -> Callable[[Connection], Iterator[Found]]:
    def check(connection: Connection) -> Iterator[Found]:
        attempt = _attempt(connection) if connection.is_http is on_http else None
        if attempt is None or attempt.initialize is None or attempt.answer is None:
            return
        answer = attempt.answer
        if answer.code not in RECOGNISED_MODERN_ERRORS:
            return
        versions = listed_by(answer)
        # A list of legacy versions alone points to the handshake.
        if versions and not any(one in MODERN_REVISIONS for one in versions):
            return
        refused = attempt.request.meta.get(PROTOCOL_VERSION)
        if not any(one in MODERN_REVISIONS and one != refused for one in versions) and versions:
            return
        yield Found(
            attempt.initialize,
            f"The client falls back to initialize after {answer.code}, an error that only a modern server "
            "sends.",
            "Try again with one of the versions in the error, or correct the request.",
            level=level,
        )

    return check


def _probes_first(connection: Connection) -> Iterator[Found]:
    attempt = None if connection.is_http else _attempt(connection)
    if attempt is None or attempt.initialize is None or attempt.request.method == DISCOVER:
        return
    yield Found(
        attempt.request,
        f"The client, which speaks both eras, begins with {show(attempt.request.method)}. Some legacy "
        "servers "
        "carry out such a request without any handshake.",
        "Send server/discover before anything else.",
    )


FALLING_BACK: Final[tuple[Rule, ...]] = (
    Rule(
        "fallback-not-keyed-to-a-code",
        MUST,
        "client",
        MODERN,
        {"modern": STDIO_PAGE},
        "Whether a client falls back to initialize does not depend on one certain error code.",
        on=each(Trace),
        check=_keyed_to_a_code,
    ),
    Rule(
        "legacy-answer-means-initialize-on-stdio",
        NOTE,
        "client",
        MODERN,
        {"modern": STDIO_PAGE},
        "A probe that brings any other error than a modern one, or none, means a legacy server: initialize.",
        on=each(Connection),
        check=_gives_up(on_http=False),
    ),
    Rule(
        "legacy-answer-means-initialize-on-http",
        NOTE,
        "client",
        MODERN,
        {"modern": HTTP_PAGE},
        "A refusal without a modern error means a legacy server: initialize.",
        on=each(Connection),
        check=_gives_up(on_http=True),
    ),
    Rule(
        "modern-error-means-no-fallback-on-stdio",
        NOTE,
        "client",
        MODERN,
        {"modern": STDIO_PAGE},
        "A modern error means a modern server: the client tries again, and does not fall back.",
        on=each(Connection),
        check=_stays_modern(NOTE, on_http=False),
    ),
    Rule(
        "modern-error-means-no-fallback-on-http",
        SHOULD,
        "client",
        MODERN,
        {"modern": HTTP_PAGE},
        "Before it falls back, a client looks for a modern error in the body.",
        on=each(Connection),
        check=_stays_modern(SHOULD, on_http=True),
    ),
    Rule(
        "stdio-probe-comes-first",
        SHOULD,
        "client",
        MODERN,
        {"modern": STDIO_PAGE},
        "A client of both eras sends server/discover before any other request.",
        on=each(Connection),
        check=_probes_first,
    ),
)
