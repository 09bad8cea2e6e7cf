"""The handshake of the legacy revisions: a session's state machine, as a table.

`TABLE` says for each phase and each kind of arriving message what the server does and which phase
follows. A request whose pair is not in the table is refused; a notification or response whose pair is not
in the table is ignored.

What the table cannot say: the id rules, whether a batch is allowed (that depends on the negotiated
revision), and what a capability gates.

https://modelcontextprotocol.io/specification/2025-11-25/basic/lifecycle
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from itertools import islice
from typing import Any, Final, TypeGuard, cast

from mcpsim.eras.capabilities import declares
from mcpsim.eras.methods import method as method_row
from mcpsim.eras.revisions import BATCHING_REVISIONS, LATEST_LEGACY
from mcpsim.errors import INVALID_PARAMS, INVALID_REQUEST, METHOD_NOT_FOUND, ProtocolError
from mcpsim.messages import Message, Notification, Request, RequestId


class Phase(StrEnum):
    """Where a session stands.

    NEW: nothing was said yet. INITIALIZING: `initialize` was answered, `notifications/initialized` has not
    come. OPERATING: normal work. CLOSED: the transport is closed; there is no closing message.
    """

    NEW = "new"
    INITIALIZING = "initializing"
    OPERATING = "operating"
    CLOSED = "closed"


class Arrival(StrEnum):
    """The kinds of message that the state machine tells apart."""

    INITIALIZE = "initialize"
    INITIALIZED = "notifications/initialized"
    PING = "ping"
    REQUEST = "any other request"
    NOTIFICATION = "any other notification"
    RESPONSE = "response"
    CLOSE = "the transport closes"


class Action(StrEnum):
    """What the server does with it."""

    ANSWER_INITIALIZE = "negotiate and answer"
    ANSWER_PING = "answer with an empty result"
    BEGIN = "begin normal operation"
    SERVE = "serve it"
    ACCEPT = "take it in"
    IGNORE = "ignore it"
    REFUSE = "refuse it (-32600)"
    END = "end the session"


# The specification asks clients not to send requests other than pings before `initialize` is answered; it
# does not say that a server must refuse them. We refuse until `notifications/initialized` has come, so that
# a client that forgets it learns so at once. A ping is answered in every phase: its answer is a MUST.
# https://modelcontextprotocol.io/specification/2025-11-25/basic/lifecycle#initialization
# https://modelcontextprotocol.io/specification/2025-11-25/basic/utilities/ping#behavior-requirements
TABLE: Final[Mapping[tuple[Phase, Arrival], tuple[Action, Phase]]] = {
    (Phase.NEW, Arrival.INITIALIZE): (Action.ANSWER_INITIALIZE, Phase.INITIALIZING),
    (Phase.NEW, Arrival.PING): (Action.ANSWER_PING, Phase.NEW),
    (Phase.NEW, Arrival.CLOSE): (Action.END, Phase.CLOSED),
    (Phase.INITIALIZING, Arrival.INITIALIZED): (Action.BEGIN, Phase.OPERATING),
    (Phase.INITIALIZING, Arrival.PING): (Action.ANSWER_PING, Phase.INITIALIZING),
    (Phase.INITIALIZING, Arrival.RESPONSE): (Action.ACCEPT, Phase.INITIALIZING),
    (Phase.INITIALIZING, Arrival.NOTIFICATION): (Action.ACCEPT, Phase.INITIALIZING),
    (Phase.INITIALIZING, Arrival.CLOSE): (Action.END, Phase.CLOSED),
    (Phase.OPERATING, Arrival.PING): (Action.ANSWER_PING, Phase.OPERATING),
    (Phase.OPERATING, Arrival.REQUEST): (Action.SERVE, Phase.OPERATING),
    (Phase.OPERATING, Arrival.NOTIFICATION): (Action.ACCEPT, Phase.OPERATING),
    (Phase.OPERATING, Arrival.RESPONSE): (Action.ACCEPT, Phase.OPERATING),
    (Phase.OPERATING, Arrival.CLOSE): (Action.END, Phase.CLOSED),
}

_REQUESTS: Final[Mapping[str, Arrival]] = {"initialize": Arrival.INITIALIZE, "ping": Arrival.PING}


def arrival_of(message: Message) -> Arrival:
    """The kind of a message, as the state machine sees it."""
    if isinstance(message, Request):
        return _REQUESTS.get(message.method, Arrival.REQUEST)
    if isinstance(message, Notification):
        is_initialized = message.method == Arrival.INITIALIZED
        return Arrival.INITIALIZED if is_initialized else Arrival.NOTIFICATION
    return Arrival.RESPONSE


def next_step(phase: Phase, arrival: Arrival) -> tuple[Action, Phase]:
    """What happens to a message in a phase, and the phase after it."""
    row = TABLE.get((phase, arrival))
    if row is not None:
        return row
    is_request = arrival in (Arrival.INITIALIZE, Arrival.PING, Arrival.REQUEST)
    return (Action.REFUSE if is_request else Action.IGNORE, phase)


# Where a stream that can be resumed begins with an event that has an id and no data, and where a server may
# close a connection before the answer, so that the client comes back for it. Clients of the revisions before
# take empty data for a broken message.
# https://modelcontextprotocol.io/specification/2025-11-25/basic/transports#sending-messages-to-the-server
PRIMED_REVISIONS: Final = frozenset({LATEST_LEGACY})

# How many resources a session may subscribe to.
MAX_SUBSCRIPTIONS: Final = 10_000
# How many of them a recording shows as remembered: every one that comes writes them all down.
MAX_SHOWN: Final = 20
# How many visits to URLs, asked for and not known to be done, a session keeps in mind.
MAX_VISITS: Final = 1_000


def choose_version(requested: str, supported: Sequence[str]) -> str:
    """The server's side of version negotiation: the requested revision if it is spoken, otherwise the
    server's latest legacy revision.

    Args:
        requested: what the client proposes.
        supported: the server's legacy revisions, the newest first.
    """
    return requested if requested in supported else supported[0]


@dataclass(slots=True)
class Session:
    """What a legacy server remembers about one client, from `initialize` to the end of the transport.

    Attributes:
        supported: the server's legacy revisions, the newest first.
        id: the session id that travels in an HTTP header, or "".
        used_ids: every request id so far; a requestor must not use one twice in a session.
        declared: the capabilities that the server declared to this client. Both sides use nothing beyond.
        log_level: the level that `logging/setLevel` set; None before, when the server decides what to send.
        subscriptions: the URIs of the resources whose updates the client wants, in order.
        visits: the ids of elicitations that asked this client to visit a URL, the oldest first; as far as
            they are not known to be done.
    """

    supported: tuple[str, ...]
    id: str = ""
    phase: Phase = Phase.NEW
    version: str = ""
    client_info: Mapping[str, Any] = field(default_factory=dict[str, Any])
    capabilities: Mapping[str, Any] = field(default_factory=dict[str, Any])
    declared: Mapping[str, Any] = field(default_factory=dict[str, Any])
    used_ids: set[RequestId] = field(default_factory=set[RequestId])
    log_level: str | None = None
    subscriptions: dict[str, None] = field(default_factory=dict[str, None])
    visits: dict[str, None] = field(default_factory=dict[str, None])
    _resubscribed: int = 0

    def take(self, message: Message) -> Action:
        """Move by one message; returns what to do with it.

        Raises:
            ProtocolError: a request that is refused here (-32600): not yet, not again, or with a used id.
        """
        action, phase = next_step(self.phase, arrival_of(message))
        if isinstance(message, Request):
            if action is Action.REFUSE:
                raise ProtocolError(INVALID_REQUEST, _refusal(self.phase, message, self.supported))
            # 1 and "1" are different ids, and so they are different members of the set.
            if message.id in self.used_ids:
                raise ProtocolError(
                    INVALID_REQUEST,
                    f"The id {message.id!r} was used before in this session; every request needs a new one.",
                )
            self.used_ids.add(message.id)
        if action is not Action.ANSWER_INITIALIZE:
            self.phase = phase
        return action

    def open(self, params: Mapping[str, Any]) -> str:
        """Take in the parameters of `initialize`; returns the version that both will speak.

        Raises:
            ProtocolError: -32602, a parameter is missing or of the wrong kind. The session stays new.
        """
        version, capabilities, info = (
            params.get("protocolVersion"),
            params.get("capabilities"),
            params.get("clientInfo"),
        )
        if not isinstance(version, str):
            raise ProtocolError(INVALID_PARAMS, "initialize: params.protocolVersion must be a string.")
        if not isinstance(capabilities, dict):
            raise ProtocolError(INVALID_PARAMS, "initialize: params.capabilities must be an object.")
        if not _is_identity(info):
            raise ProtocolError(
                INVALID_PARAMS, "initialize: params.clientInfo must be an object with a name and a version."
            )
        self.version = choose_version(version, self.supported)
        self.capabilities = cast("dict[str, Any]", capabilities)
        self.client_info = info
        self.phase = Phase.INITIALIZING
        return self.version

    def subscribe(self, uri: str) -> None:
        """Take in `resources/subscribe`. Once more for the same resource changes nothing.

        Raises:
            ProtocolError: -32600, there are too many already.

        https://modelcontextprotocol.io/specification/2025-11-25/server/resources#subscriptions
        """
        if uri not in self.subscriptions and len(self.subscriptions) >= MAX_SUBSCRIPTIONS:
            raise ProtocolError(
                INVALID_REQUEST, f"A session can subscribe to {MAX_SUBSCRIPTIONS} resources and no more."
            )
        if uri not in self.subscriptions:
            self.subscriptions[uri] = None
            self._resubscribed += 1

    def unsubscribe(self, uri: str) -> None:
        """Take in `resources/unsubscribe`. For a resource without subscription it changes nothing."""
        if uri in self.subscriptions:
            del self.subscriptions[uri]
            self._resubscribed += 1

    def begin_visit(self, elicitation_id: str) -> None:
        """Note that the client was asked to let its user visit a URL. Of very many the oldest are forgotten.

        https://modelcontextprotocol.io/specification/2025-11-25/client/elicitation#url-mode-elicitation-requests
        """
        self.visits[elicitation_id] = None
        if len(self.visits) > MAX_VISITS:
            del self.visits[next(iter(self.visits))]

    def end_visit(self, elicitation_id: str) -> bool:
        """Note that a visit is done; False where this client was not asked for it, or it was done before."""
        if elicitation_id not in self.visits:
            return False
        del self.visits[elicitation_id]
        return True

    @property
    def mark(self) -> tuple[Phase, str | None, int]:
        """Equal before and after a message where it changed nothing of what the session remembers."""
        return self.phase, self.log_level, self._resubscribed

    @property
    def batches(self) -> bool:
        """Whether the negotiated revision knows batches."""
        return self.version in BATCHING_REVISIONS

    def remembers(self) -> dict[str, Any]:
        """The session as plain values, for a recording."""
        state: dict[str, Any] = {"phase": str(self.phase)}
        if self.id:
            state["session id"] = self.id
        if self.version:
            state["version"] = self.version
            state["client"] = dict(self.client_info)
            state["client capabilities"] = dict(self.capabilities)
        if self.log_level is not None:
            state["log level"] = self.log_level
        if self.subscriptions:
            state["resource subscriptions"] = list(islice(self.subscriptions, MAX_SHOWN))
        if len(self.subscriptions) > MAX_SHOWN:
            state["more resource subscriptions"] = len(self.subscriptions) - MAX_SHOWN
        return state


def check_method(method: str, version: str, capabilities: Mapping[str, Any]) -> None:
    """A method that the revision lacks, or whose capability the server did not declare, is not found.

    Raises:
        ProtocolError: -32601.
    """
    row = method_row(method, version)
    if row is None or row.kind != "request" or row.direction == "to_client":
        raise ProtocolError(METHOD_NOT_FOUND, f"Method not found: {method}")
    if row.declared_by == "server" and not declares(capabilities, row.capability):
        raise ProtocolError(
            METHOD_NOT_FOUND, f"Method not found: {method} (this server does not declare {row.capability})"
        )


def initialize_params(
    version: str, capabilities: Mapping[str, Any], info: Mapping[str, Any]
) -> dict[str, Any]:
    """The parameters of a client's `initialize`."""
    return {"protocolVersion": version, "capabilities": dict(capabilities), "clientInfo": dict(info)}


def _is_identity(value: Any) -> TypeGuard[dict[str, Any]]:
    if not isinstance(value, dict):
        return False
    info = cast("dict[str, Any]", value)
    return isinstance(info.get("name"), str) and isinstance(info.get("version"), str)


def _refusal(phase: Phase, message: Request, supported: Sequence[str]) -> str:
    if message.method == "initialize":
        return "This session is initialized already; initialize comes once, at the beginning."
    if phase is Phase.NEW:
        return (
            f"{message.method} came before initialize. This server speaks {', '.join(supported)}, and these "
            "begin with a handshake: send initialize first."
        )
    if phase is Phase.INITIALIZING:
        return f"{message.method} came before notifications/initialized; send that first."
    return f"{message.method} came after the session was closed."
