"""What a client knows at a moment of the message lab: what the server said, and what is under way. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple, cast

from mcpsim.eras.legacy import Phase
from mcpsim.eras.modern import is_modern
from mcpsim.eras.pages import LEGACY, MODERN
from mcpsim.eras.revisions import LATEST_LEGACY, LATEST_MODERN
from mcpsim.errors import ProtocolError
from mcpsim.messages import Batch, ErrorResponse, Message, Notification, Request, RequestId, Response
from mcpsim.messages.meta import CLIENT_CAPABILITIES, PROTOCOL_VERSION
from mcpsim.recording import Frame, Recording, events
from mcpsim.server.operations.listing import ListMembers
from mcpsim.server.server import Server
from mcpsim.simulation.world import CLIENT_LANE, SERVER_LANE
from mcpsim.widgets.message_lab_steps import Mirror

#: The lists of a server, and the member of a result that holds a page.
LISTS: Final[Mapping[str, str]] = {
    "tools/list": "tools",
    "resources/list": "resources",
    "resources/templates/list": "resourceTemplates",
    "prompts/list": "prompts",
}
#: How much of what a server said is kept in mind.
MAX_KEPT: Final = 50
MAX_ID: Final = 2**53 - 1


class Open(NamedTuple):
    """A request that waits for its answer.

    Attributes:
        exchange: of HTTP, otherwise 0.
        begun: the position of the event that sent it.
    """

    id: RequestId
    method: str
    params: Mapping[str, Any]
    era: str
    exchange: int
    begun: int


class Page(NamedTuple):
    """A page that is not the last of its list."""

    method: str
    params: Mapping[str, Any]
    cursor: str
    era: str


class Questioned(NamedTuple):
    """An answer that asks for input before the request can be done (modern)."""

    method: str
    params: Mapping[str, Any]
    requests: Mapping[str, Any]
    state: Any


@dataclass(slots=True)
class Known:
    """What a client knows.

    Attributes:
        phase: of the legacy session, or "" where none is begun.
        version: what the session speaks, or "".
        declared: what the server declares: in the session, and in the modern protocol.
        client: the capabilities that `initialize` declared.
        members: what is offered, by the method of its list.
        listed: the lists of which the server has said a page.
        page: the page that came last, where there is another one after it.
        questioned: the answers that ask for input, and were not followed up, in order.
        waiting: the client's requests that are not answered.
        asked: the server's requests that are not answered (legacy).
        used: the ids that the client used.
        next_id: one that is free.
    """

    is_http: bool
    server_era: str
    legacy_versions: tuple[str, ...]
    modern_versions: tuple[str, ...]
    phase: str = ""
    version: str = ""
    session_id: str = ""
    declared: Mapping[str, Any] = field(default_factory=dict[str, Any])
    modern_declared: Mapping[str, Any] = field(default_factory=dict[str, Any])
    client: Mapping[str, Any] = field(default_factory=dict[str, Any])
    members: dict[str, list[dict[str, Any]]] = field(default_factory=dict[str, list[dict[str, Any]]])
    listed: set[str] = field(default_factory=set[str])
    page: Page | None = None
    questioned: list[Questioned] = field(default_factory=list[Questioned])
    waiting: dict[tuple[str, RequestId, int], Open] = field(
        default_factory=dict[tuple[str, RequestId, int], Open]
    )
    asked: dict[RequestId, Open] = field(default_factory=dict[RequestId, Open])
    used: list[RequestId] = field(default_factory=list[RequestId])
    next_id: int = 1

    @property
    def modern_version(self) -> str:
        """The version that a modern request says."""
        return self.modern_versions[0] if self.modern_versions else LATEST_MODERN

    @property
    def legacy_version(self) -> str:
        """The version of the session, or what `initialize` proposes."""
        newest = self.legacy_versions[0] if self.legacy_versions else LATEST_LEGACY
        return self.version or newest

    def waiting_in(self, era: str) -> list[Open]:
        """The requests of one era that wait for their answers, the newest last."""
        return [one for one in self.waiting.values() if one.era == era]


def known_of(server: Server, mirror: Mirror, recording: Recording) -> Known:
    """What the client knows after all that was recorded."""
    known = Known(
        mirror.is_http,
        server.era,
        server.legacy_versions,
        server.modern_versions,
        members=offered(server),
    )
    if server.modern_versions:
        known.modern_declared = server.capabilities(server.modern_versions[0])
    session = mirror.latest
    if session is not None and session.phase is not Phase.CLOSED:
        known.phase, known.version = str(session.phase), session.version
        known.session_id, known.declared, known.client = session.id, session.declared, session.capabilities
    elif not mirror.is_http:
        known.phase = str(Phase.CLOSED) if session is not None else ""
    for frame in recording.frames:
        for message in _messages(frame):
            _take(known, frame, message)
    for event in recording.events:
        if event.kind == events.CLOSED and event.exchange:
            known.waiting = {key: one for key, one in known.waiting.items() if one.exchange != event.exchange}
    highest = max((one for one in known.used if isinstance(one, int) and 0 <= one < MAX_ID), default=0)
    known.next_id = highest + 1
    return known


def offered(server: Server) -> dict[str, list[dict[str, Any]]]:
    """What a server offers, by the method of its list: the first page of each."""
    version = server.supported_versions[0]
    params: dict[str, Any] = {"_meta": {PROTOCOL_VERSION: version, CLIENT_CAPABILITIES: {}}}
    found: dict[str, list[dict[str, Any]]] = {}
    for method in LISTS:
        route = server.route(method)
        if not isinstance(route, ListMembers):
            continue
        try:
            page, _ = route.check(params, version)
        except ProtocolError:
            continue
        found[method] = [one.definition(version) for one in page[:MAX_KEPT]]
    return found


def _messages(frame: Frame) -> Iterator[Message]:
    parsed = frame.parsed
    for one in parsed.members if isinstance(parsed, Batch) else (parsed,):
        if isinstance(one, Request | Notification | Response | ErrorResponse):
            yield one


def _take(known: Known, frame: Frame, message: Message) -> None:
    if frame.sender == CLIENT_LANE:
        _said(known, frame, message)
    elif frame.sender == SERVER_LANE and frame.fate == "delivered":
        _heard(known, frame, message)


def _said(known: Known, frame: Frame, message: Message) -> None:
    if isinstance(message, Request):
        era = MODERN if is_modern(message) else LEGACY
        one = Open(message.id, message.method, message.params or {}, era, frame.exchange, frame.index)
        known.used.append(message.id)
        known.waiting[_key(message.id, frame.exchange)] = one
        params = one.params
        if "inputResponses" in params or "requestState" in params:
            state = params.get("requestState")
            known.questioned = [
                each for each in known.questioned if each.method != message.method or each.state != state
            ]
    elif isinstance(message, Response | ErrorResponse) and message.id is not None:
        known.asked.pop(message.id, None)
    elif isinstance(message, Notification) and message.method == "notifications/cancelled":
        id: Any = (message.params or {}).get("requestId")
        for key, one in tuple(known.waiting.items()):
            if type(one.id) is type(id) and one.id == id:
                del known.waiting[key]


def _heard(known: Known, frame: Frame, message: Message) -> None:
    if isinstance(message, Request):
        one = Open(message.id, message.method, message.params or {}, LEGACY, frame.exchange, frame.index)
        known.asked[message.id] = one
    elif isinstance(message, Notification):
        if message.method == "notifications/cancelled":
            id: Any = (message.params or {}).get("requestId")
            if isinstance(id, str | int):
                known.asked.pop(id, None)
    elif message.id is None:
        # It answers what could not be read; on HTTP the exchange says what that was.
        known.waiting = {
            key: one
            for key, one in known.waiting.items()
            if one.exchange != frame.exchange or not frame.exchange
        }
    else:
        answered = known.waiting.pop(_key(message.id, frame.exchange), None)
        if answered is not None and isinstance(message, Response):
            _learn(known, answered, message.result)


def _learn(known: Known, request: Open, result: Mapping[str, Any]) -> None:
    if result.get("resultType") == "input_required":
        wanted: Any = result.get("inputRequests")
        requests = cast("dict[str, Any]", wanted) if isinstance(wanted, dict) else {}
        known.questioned.append(
            Questioned(request.method, request.params, requests, result.get("requestState"))
        )
        del known.questioned[:-MAX_KEPT]
        return
    key = LISTS.get(request.method)
    page: Any = result.get(key) if key is not None else None
    if key is None or not isinstance(page, list):
        return
    rows = [cast("dict[str, Any]", row) for row in cast("list[Any]", page) if isinstance(row, dict)]
    known.listed.add(request.method)
    if "cursor" not in request.params:
        known.members[request.method] = []
    known.members[request.method] = [*known.members.get(request.method, []), *rows][-MAX_KEPT:]
    cursor = result.get("nextCursor")
    known.page = (
        Page(request.method, request.params, cursor, request.era) if isinstance(cursor, str) else None
    )


def _key(id: RequestId, exchange: int) -> tuple[str, RequestId, int]:
    # 1 and "1" are different ids.
    return type(id).__name__, id, exchange
