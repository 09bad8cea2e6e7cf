"""Check every message of a recording with the official models: the envelope, and the body by method,
revision and direction. The peers under test never saw this code, and it does not use their readers.

    run = simulate_checked(story, server=desk, era="legacy")
    check_recording(recording, broken=("tools/call", 7))
"""

from __future__ import annotations

import functools
import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, NamedTuple

from mcp_types import methods
from mcp_types.jsonrpc import JSONRPCError, JSONRPCNotification, JSONRPCRequest, JSONRPCResponse
from mcp_types.version import HANDSHAKE_PROTOCOL_VERSIONS, KNOWN_PROTOCOL_VERSIONS, MODERN_PROTOCOL_VERSIONS
from pydantic import BaseModel, TypeAdapter, ValidationError

from mcpsim.recording import Frame, Recording
from mcpsim.recording.frames import message_bytes
from mcpsim.recording.run import Run
from mcpsim.simulation import simulate

PROTOCOL_VERSION = "io.modelcontextprotocol/protocolVersion"
SUBSCRIPTION_ID = "io.modelcontextprotocol/subscriptionId"
BATCHING = "2025-03-26"
# The legacy schemas let every result have more members; these have no business there.
MODERN_MEMBERS = frozenset({"resultType", "ttlMs", "cacheScope"})
NOT_A_MESSAGE = "not a message"

Surface = Mapping[tuple[str, str], Any]
Key = tuple[int, str, str, Any]


class Fault(NamedTuple):
    """A message that no model accepts.

    Attributes:
        frame: the number of the frame that carries it.
        name: its method, "result of " and a method, "error of " and a method, or "not a message".
        why: one sentence.
    """

    frame: int
    name: str
    why: str


def simulate_checked(
    story: Callable[..., Any], *, broken: Iterable[str | int] = (), check: bool = True, **more: Any
) -> Run:
    """`simulate`, and `check_recording` of what it recorded; also where the story raises."""
    run = simulate(story, check=False, **more)
    check_recording(run.recording, broken)
    if check and run.error is not None:
        raise run.error
    return run


def check_recording(recording: Recording, broken: Iterable[str | int] = ()) -> None:
    """Check every message that was sent, as it was sent.

    Args:
        broken: the messages that are wrong on purpose, by name (see `Fault`) or by the number of their
            frame. Each of them must be wrong.

    Raises:
        AssertionError: another message is wrong, or one of `broken` is right.
    """
    allowed = set(broken)
    found = list(faults_of(recording))
    stray = [fault for fault in found if allowed.isdisjoint({fault.frame, fault.name})]
    if stray:
        raise AssertionError("\n".join(f"message {number}, {name}: {why}" for number, name, why in stray))
    unfounded = allowed - {fault.frame for fault in found} - {fault.name for fault in found}
    if unfounded:
        raise AssertionError(f"Said to be broken, but the models accept it: {sorted(map(str, unfounded))}")


def faults_of(recording: Recording) -> Iterator[Fault]:
    """What is wrong with the messages of a recording, in the order of sending."""
    reader = _Reader()
    for frame in recording.frames:
        if not frame.channel and not frame.copy_of and frame.body.strip():
            yield from reader.faults(frame)


class _Reader:
    """Knows who is the client on a connection, and which revision the two speak."""

    def __init__(self) -> None:
        self._clients: dict[int, str] = {}
        self._sessions: dict[int, str] = {}
        self._asked: dict[Key, tuple[str, str]] = {}
        self._tokens: dict[Key, str] = {}
        self._exchanges: dict[int, str] = {}

    def faults(self, frame: Frame) -> Iterator[Fault]:
        try:
            value = json.loads(frame.body.decode("utf-8"))
        except (ValueError, RecursionError) as error:
            yield Fault(frame.number, NOT_A_MESSAGE, str(error))
            return
        self._clients.setdefault(frame.connection, self._client_of(frame, value))
        members = value if isinstance(value, list) else [value]
        if frame.arrived_data != frame.data:
            self._remember_what_arrived(frame)
        if isinstance(value, list) and self._sessions.get(frame.connection) != BATCHING:
            yield Fault(frame.number, NOT_A_MESSAGE, f"Batches are for {BATCHING} only.")
        for member in members:
            name, why = self._check(frame, member)
            if why:
                yield Fault(frame.number, name, why)

    @staticmethod
    def _client_of(frame: Frame, value: Any) -> str:
        """Who is the client of the two, from the first thing that can be read: on HTTP who sends the request,
        on a pipe who asks or tells first. Until then a server only says that it cannot read something."""
        asks = "method" in (frame.head or {}) if frame.is_http else isinstance(value, list) or _asks(value)
        return frame.sender if asks else frame.receiver

    def _remember_what_arrived(self, frame: Frame) -> None:
        """A fault changed a request on the way: its receiver answers what it got."""
        body = message_bytes(frame.arrived_data, frame.head, http=frame.is_http)
        try:
            value = json.loads(body.decode("utf-8"))
        except (ValueError, RecursionError):
            return
        for message in value if isinstance(value, list) else [value]:
            if _envelope(message)[0] is JSONRPCRequest:
                self._of_request(frame, message)

    def _check(self, frame: Frame, message: Any) -> tuple[str, str]:
        kind, why = _envelope(message)
        if kind is None:
            return NOT_A_MESSAGE, why
        from_client = frame.sender == self._clients[frame.connection]
        if kind is JSONRPCRequest:
            revision = self._of_request(frame, message)
            surface = methods.CLIENT_REQUESTS if from_client else methods.SERVER_REQUESTS
            return message["method"], _body(surface, message["method"], revision, message)
        if kind is JSONRPCNotification:
            revision = self._of_notification(frame, message, from_client)
            surface = methods.CLIENT_NOTIFICATIONS if from_client else methods.SERVER_NOTIFICATIONS
            return message["method"], _body(surface, message["method"], revision, message)
        return self._answer(frame, message, from_client)

    def _answer(self, frame: Frame, message: dict[str, Any], from_client: bool) -> tuple[str, str]:
        asked = self._asked.get(_key(frame.connection, frame.receiver, message.get("id")))
        method, revision = asked or ("a request that was never sent", "")
        if "error" in message:
            lost = asked is None and message.get("id") is not None
            return f"error of {method}", "It answers a request that nobody sent." if lost else ""
        if asked is None:
            return f"result of {method}", "It answers a request that nobody sent."
        surface = methods.SERVER_RESULTS if from_client is False else methods.CLIENT_RESULTS
        why = _body(surface, method, revision, message["result"])
        strays = MODERN_MEMBERS & message["result"].keys() if revision in HANDSHAKE_PROTOCOL_VERSIONS else ()
        if strays and not why:
            why = f"The result has {', '.join(sorted(strays))}, which {revision} does not know."
        if method == "initialize" and not why:
            self._sessions[frame.connection] = message["result"]["protocolVersion"]
        return f"result of {method}", why

    def _of_request(self, frame: Frame, message: dict[str, Any]) -> str:
        params = message.get("params") or {}
        meta = params.get("_meta") or {}
        if PROTOCOL_VERSION in meta:
            revision = meta[PROTOCOL_VERSION]
        elif message["method"] == "initialize":
            proposed = params.get("protocolVersion")
            known = proposed in HANDSHAKE_PROTOCOL_VERSIONS
            revision = proposed if known else HANDSHAKE_PROTOCOL_VERSIONS[-1]
        elif message["method"] == "ping":
            revision = self._sessions.get(frame.connection, HANDSHAKE_PROTOCOL_VERSIONS[-1])
        else:
            revision = self._spoken(frame)
        self._asked[_key(frame.connection, frame.sender, message["id"])] = (message["method"], revision)
        self._exchanges[frame.exchange] = revision
        if "progressToken" in meta:
            self._tokens[_key(frame.connection, frame.sender, meta["progressToken"])] = revision
        return revision

    def _of_notification(self, frame: Frame, message: dict[str, Any], from_client: bool) -> str:
        params = message.get("params") or {}
        asked = None
        if message["method"] == "notifications/cancelled":
            asked = self._asked.get(_key(frame.connection, frame.sender, params.get("requestId")))
        if message["method"] == "notifications/progress":
            token = _key(frame.connection, frame.receiver, params.get("progressToken"))
            if token in self._tokens:
                return self._tokens[token]
        meta = params.get("_meta")
        if isinstance(meta, dict) and SUBSCRIPTION_ID in meta:
            # It belongs to the request that has this id.
            asked = self._asked.get(_key(frame.connection, frame.receiver, meta[SUBSCRIPTION_ID]))
        if asked is not None:
            return asked[1]
        if frame.is_http and not from_client and frame.exchange in self._exchanges:
            return self._exchanges[frame.exchange]
        return self._spoken(frame)

    def _spoken(self, frame: Frame) -> str:
        """The revision of a message that does not say it: the session's, or what the HTTP header names."""
        session = self._sessions.get(frame.connection)
        if session is not None:
            return session
        lines = (frame.head or {}).get("headers", [])
        named = next((value for name, value in lines if name.lower() == "mcp-protocol-version"), "")
        return named if named in HANDSHAKE_PROTOCOL_VERSIONS else MODERN_PROTOCOL_VERSIONS[-1]


def _asks(value: Any) -> bool:
    return isinstance(value, dict) and "method" in value


def _key(connection: int, party: str, id: Any) -> Key:
    # 1, 1.0, True and "1" are four different ids.
    return connection, party, type(id).__name__, id if isinstance(id, str | int | float) else None


_SHAPES: tuple[tuple[frozenset[str], frozenset[str], type[BaseModel]], ...] = (
    (frozenset({"jsonrpc", "id", "method"}), frozenset({"params"}), JSONRPCRequest),
    (frozenset({"jsonrpc", "method"}), frozenset({"params"}), JSONRPCNotification),
    (frozenset({"jsonrpc", "id", "result"}), frozenset(), JSONRPCResponse),
    (frozenset({"jsonrpc", "error"}), frozenset({"id"}), JSONRPCError),
)


def _envelope(message: Any) -> tuple[type[BaseModel] | None, str]:
    if not isinstance(message, dict):
        return None, "It is no object."
    for required, optional, model in _SHAPES:
        if required <= message.keys() <= required | optional:
            # The model wants `id` where the schema has it optional.
            given = {"id": None, **message} if model is JSONRPCError else message
            try:
                model.model_validate(given, strict=True)
            except ValidationError as error:
                return None, str(error)
            return model, ""
    return None, f"No message has exactly the members {', '.join(sorted(message))}."


def _body(surface: Surface, method: str, revision: str, message: Mapping[str, Any]) -> str:
    """Why `message` (a request, a notification or a result) is not one of its method and revision, or ""."""
    if revision not in KNOWN_PROTOCOL_VERSIONS:
        return f"It names the revision {revision!r}, which does not exist."
    model = surface.get((method, revision))
    if model is None:
        return f"{method} is not sent in this direction in {revision}."
    try:
        _reader_of(model).validate_python(message, by_name=False)
    except ValidationError as error:
        return f"Not valid in {revision}: {error}"
    return ""


@functools.cache
def _reader_of(model: Any) -> TypeAdapter[Any]:
    return TypeAdapter(model)
