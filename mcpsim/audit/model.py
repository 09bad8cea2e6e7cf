"""A trace, read: its items in order, and what belongs together.

Everything here is filled in by `mcpsim.audit.building` before the first rule looks at it, so a check may look
ahead as well as back. A check changes nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Literal, cast

from mcpsim.eras.revisions import Era
from mcpsim.errors import MalformedMessage
from mcpsim.messages import ErrorResponse, Notification, Request, Response
from mcpsim.transports.http import Headers

EMPTY: Final[Mapping[str, Any]] = {}
NO_HEADERS: Final = Headers()

Side = Literal["client", "server"]
Kind = Literal[
    "request",
    "notification",
    "response",
    "error",
    "batch",
    "malformed",
    "unreadable",
    "comment",
    "empty",
    "stderr",
    "event",
]


def _empty() -> Mapping[str, Any]:
    return EMPTY


def _no_headers() -> Headers:
    return NO_HEADERS


@dataclass(slots=True, eq=False)
class Item:
    """One thing in the trace: a message, or a line, a body, a head or an event without one.

    Attributes:
        index: the 0-based row of the interchange form. The members of a batch share the row of the batch.
        sender: whose side it comes from: "client" or "server".
        party: who that is by name: "client", "server", or the intermediary of a hop ("gateway", "proxy").
        at_ms: when; None where the trace does not say.
        connection: where it belongs.
        exchange: the HTTP exchange; None on stdio.
        kind: "request", "notification", "response" (a result), "error"; "batch" (an array: its members
            follow as items of their own); "malformed" (JSON, but no message); "unreadable" (no JSON that we
            accept, or not UTF-8); "comment" (a server-sent event without data: keep-alive, priming);
            "empty" (an HTTP head without a body); "stderr"; "event" (a row with `event`).
        value: the JSON value, where there is one.
        message: the envelope of a message, otherwise None.
        fault: why it is malformed or unreadable, otherwise None.
        raw: the bytes, where the row has `raw` or `raw_b64`.
        method: of a request or notification, and for an answer that of its request; otherwise "".
        params: of a request or notification; {} without.
        meta: `_meta` of params or of a result; {} without.
        result: of a result, otherwise {}.
        era, revision: None and "" where it cannot be told. A revision that is not known here is kept.
        call: a request's own; an answer's: the request that it answers; a notification's: the request that
            it is about (by progress token, request id, subscription id, or the HTTP stream it comes in).
        session: the legacy session that it belongs to, if any.
        phase: of a legacy session: "before" the handshake, "initializing", "operation", or "" (modern).
        batch: the item of the array that it stood in, otherwise None.
        disturbed: the transport lost, doubled, held back or changed it (known in our own recordings only):
            whoever sent it is not to blame for when and how it came.
        event: the name of an event, otherwise "".
        may_hold_null: False where its text has no `null` in it, so that nobody need look for one.
        sse_id: the id of a server-sent event; None without.
    """

    index: int
    sender: Side
    party: str
    at_ms: float | None
    connection: Connection
    exchange: Exchange | None
    kind: Kind
    row: Mapping[str, Any]
    value: Any = None
    message: Request | Notification | Response | ErrorResponse | None = None
    fault: MalformedMessage | None = None
    raw: bytes | None = None
    method: str = ""
    id: str | int | None = None
    params: Mapping[str, Any] = field(default_factory=_empty)
    meta: Mapping[str, Any] = field(default_factory=_empty)
    result: Mapping[str, Any] = field(default_factory=_empty)
    code: int | None = None
    era: Era | None = None
    revision: str = ""
    call: Call | None = None
    session: Session | None = None
    phase: str = ""
    batch: Item | None = None
    disturbed: bool = False
    event: str = ""
    may_hold_null: bool = True
    sse_id: str | None = None

    @property
    def other(self) -> str:
        """Who is on the other side, by name."""
        return self.connection.server if self.sender == "client" else self.connection.client

    @property
    def is_http(self) -> bool:
        """Whether it travelled over HTTP."""
        return self.connection.is_http

    @property
    def torn_into(self) -> int:
        """How many lines the other side reads where this is one message over several lines of stdio; else 0.

        We see what was meant. The other side sees pieces, and none of them is the message.
        """
        if self.is_http or self.raw is None or self.batch is not None or self.message is None:
            return 0
        breaks = self.raw.strip(b"\r\n").count(b"\n")
        return breaks + 1 if breaks else 0


@dataclass(slots=True, eq=False)
class Call:
    """A request, and all that belongs to it.

    Attributes:
        request: its item.
        asked_by: whose side: "client" or "server".
        answer: the first result or error that answers it, or None.
        more_answers: answers after the first.
        notifications: all that are about it, in order, from both sides.
        capabilities: what the client declared for it: in the request's own `_meta` (modern), or in the
            session's `initialize` (legacy); {} where nothing is known.
        server_capabilities: what the server had declared when it was sent, or None where the trace does not
            show it: the last discover result before it (modern), or the session's.
        cancelled: the first `notifications/cancelled` of its asker that names it, or the client's closing of
            its HTTP stream (modern); None where it was not cancelled.
        walk, rounds, subscription: what it is part of, if anything.
        round: its place among the calls of `rounds`, from 0.
        parent: of a legacy request of the server: the client's request in whose HTTP stream it came.
    """

    request: Item
    asked_by: Side
    answer: Item | None = None
    more_answers: list[Item] = field(default_factory=list["Item"])
    notifications: list[Item] = field(default_factory=list["Item"])
    capabilities: Mapping[str, Any] = field(default_factory=_empty)
    server_capabilities: Mapping[str, Any] | None = None
    cancelled: Item | None = None
    walk: Walk | None = None
    rounds: Rounds | None = None
    round: int = 0
    subscription: Subscription | None = None
    parent: Call | None = None

    @property
    def method(self) -> str:
        """The request's method."""
        return self.request.method

    @property
    def revision(self) -> str:
        """The revision in which it was asked; "" where that is not known."""
        return self.request.revision

    @property
    def era(self) -> Era | None:
        """The era in which it was asked."""
        return self.request.era

    @property
    def connection(self) -> Connection:
        """Where it was asked."""
        return self.request.connection

    @property
    def progress(self) -> list[Item]:
        """Its `notifications/progress`, in order."""
        return [one for one in self.notifications if one.method == "notifications/progress"]

    @property
    def result(self) -> Mapping[str, Any]:
        """The result; {} where it has none."""
        return self.answer.result if self.answer is not None else {}

    @property
    def principal(self) -> str | None:
        """Who asked: the `Authorization` header; None on stdio and without one."""
        exchange = self.request.exchange
        return None if exchange is None else exchange.headers.get("authorization")


@dataclass(slots=True, eq=False)
class Exchange:
    """One HTTP request and its response.

    Attributes:
        key: its name in the trace, unique within the connection.
        request: the item with the request's head (the first one of a batch); None where the trace begins
            later.
        http_method: "POST", "GET", "DELETE" ...
        headers: of the request; empty where it is not there or the trace shows none.
        status: of the response; None where it is not known.
        response_headers: of the response.
        answers: all that came back, in order.
        closed: the event that ended it, or None.
        calls: the client's requests that it carried: one, or those of a batch.
    """

    key: str
    connection: Connection
    request: Item | None = None
    http_method: str = "POST"
    headers: Headers = field(default_factory=_no_headers)
    status: int | None = None
    response_headers: Headers = field(default_factory=_no_headers)
    answers: list[Item] = field(default_factory=list["Item"])
    closed: Item | None = None
    calls: list[Call] = field(default_factory=list["Call"])

    @property
    def is_stream(self) -> bool:
        """Whether the response is a stream of server-sent events."""
        kind = self.response_headers.get("content-type") or ""
        return kind.split(";")[0].strip().lower() == "text/event-stream"

    @property
    def first(self) -> Item | None:
        """The first item of it."""
        return self.request if self.request is not None else self.answers[0] if self.answers else self.closed

    @property
    def era(self) -> Era | None:
        """The era of what it carries."""
        return None if self.first is None else self.first.era

    @property
    def revision(self) -> str:
        """The revision of what it carries."""
        return "" if self.first is None else self.first.revision


@dataclass(slots=True, eq=False)
class Session:
    """A legacy session, from `initialize` on.

    Attributes:
        initialize: the call that opened it.
        initialized: the client's `notifications/initialized`, or None.
        revision: what was negotiated; what the client proposed, as long as there is no result.
        id: of HTTP, from the header of the result's response; "" without.
        items: all that belongs to it, in order, the handshake included.
        deleted: the exchange with which the client ended it, or None.
        lost: the first answer of 404 to a message with its id, or None.
    """

    initialize: Call
    connection: Connection
    revision: str
    initialized: Item | None = None
    id: str = ""
    items: list[Item] = field(default_factory=list["Item"])
    deleted: Exchange | None = None
    lost: Item | None = None

    @property
    def era(self) -> Era | None:
        """Always "legacy"."""
        return "legacy"

    @property
    def client_capabilities(self) -> Mapping[str, Any]:
        """What the client declared."""
        found = self.initialize.request.params.get("capabilities")
        return cast("dict[str, Any]", found) if isinstance(found, dict) else {}

    @property
    def server_capabilities(self) -> Mapping[str, Any] | None:
        """What the server declared; None before its result, and where the wire touched that."""
        answer = self.initialize.answer
        found = None if answer is None or answer.disturbed else answer.result.get("capabilities")
        return cast("dict[str, Any]", found) if isinstance(found, dict) else None


@dataclass(slots=True, eq=False)
class CallsInARow:
    """Calls of one method that belong together.

    Attributes:
        calls: in order; never without a first one.
    """

    connection: Connection
    calls: list[Call]

    @property
    def method(self) -> str:
        """The method of its calls."""
        return self.calls[0].method

    @property
    def era(self) -> Era | None:
        """The era of its first call."""
        return self.calls[0].era

    @property
    def revision(self) -> str:
        """The revision of its first call."""
        return self.calls[0].revision


@dataclass(slots=True, eq=False)
class Walk(CallsInARow):
    """The pages of one list, as far as one client followed them: each call repeats the cursor of the one
    before. A call without a cursor begins a new walk. There is one call for each page.
    """


@dataclass(slots=True, eq=False)
class Rounds(CallsInARow):
    """A call that was asked again with input responses: multi round-trip (modern). There is one call for each
    round; all but the last were answered by `input_required`.
    """


@dataclass(slots=True, eq=False)
class Subscription:
    """A `subscriptions/listen` and all that came for it (modern).

    Attributes:
        call: the request.
        acknowledged: the first acknowledgement, or None.
        notifications: all with its subscription id, in order, the acknowledgement included.
        end: what ended it: a result, an error, a `notifications/cancelled` of either side, or the closing of
            the stream; None while it is open.
    """

    call: Call
    acknowledged: Item | None = None
    notifications: list[Item] = field(default_factory=list["Item"])
    end: Item | None = None

    @property
    def connection(self) -> Connection:
        """Where it was opened."""
        return self.call.connection

    @property
    def era(self) -> Era | None:
        """Always that of its call."""
        return self.call.era

    @property
    def revision(self) -> str:
        """The revision of its call."""
        return self.call.revision


@dataclass(slots=True, eq=False)
class Connection:
    """One client and one server, or one hop of the way: a pipe, or all HTTP exchanges of one client.

    Attributes:
        key: the row's `connection`, "" without.
        hop: the row's `hop`, "" without.
        client, server: who is on each side, by name.
        is_http: whether it is HTTP; a trace that mixes both under one name has two connections.
        items: all of it, in order.
        sessions: legacy sessions, in order.
        calls: requests of both sides, in order.
        closed: the first event that closed it on stdio, or None.
        began_late: the first message answers something that is not there: the trace was cut off at its
            beginning, and what would stand before it is not missing.
        is_guessed: nothing shows of which legacy revision it is.
        occurs: what occurs on it: see `On`; and the eras.
        worked_out: see `mcpsim.audit.once`.
    """

    key: str
    hop: str
    client: str
    server: str
    is_http: bool
    items: list[Item] = field(default_factory=list["Item"])
    sessions: list[Session] = field(default_factory=list["Session"])
    calls: list[Call] = field(default_factory=list["Call"])
    exchanges: list[Exchange] = field(default_factory=list["Exchange"])
    walks: list[Walk] = field(default_factory=list["Walk"])
    rounds: list[Rounds] = field(default_factory=list["Rounds"])
    subscriptions: list[Subscription] = field(default_factory=list["Subscription"])
    closed: Item | None = None
    began_late: bool = False
    is_guessed: bool = False
    occurs: set[Any] = field(default_factory=set[Any])
    worked_out: dict[Any, Any] = field(default_factory=dict[Any, Any])

    @property
    def era(self) -> Era | None:
        """The era of all its messages; None where there are several, or none."""
        eras: set[Era] = {item.era for item in self.items if item.era is not None}
        return eras.pop() if len(eras) == 1 else None

    @property
    def revision(self) -> str:
        """The revision of its first message that has one."""
        return next((item.revision for item in self.items if item.revision), "")


@dataclass(slots=True, eq=False)
class Trace:
    """All of it.

    Attributes:
        items: in order.
        connections: in order of appearance.
        worked_out: see `mcpsim.audit.once`.
    """

    items: list[Item] = field(default_factory=list["Item"])
    connections: list[Connection] = field(default_factory=list["Connection"])
    worked_out: dict[Any, Any] = field(default_factory=dict[Any, Any])
