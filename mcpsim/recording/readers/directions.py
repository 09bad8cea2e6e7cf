"""Who sent a message, where a file does not say so.

What tells it, from the strongest to the weakest:

1. the method: most may be sent by one side only;
2. bookkeeping: an answer comes from the side that was asked; `notifications/cancelled` comes from the side
   that asked, `notifications/progress` from the other one; a request whose id is already in use by one side
   comes from the other one;
3. what a result has in it, where both sides wait for an answer with this id;
4. how a side counts its ids.

Where nothing of that helps, the message is taken for the client's (a request with an id of the kind that it
uses, a cancellation) or the server's (any other request, an answer, progress), and counted as guessed.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any, Final, Literal, NamedTuple, cast

from mcpsim.eras.methods import METHODS
from mcpsim.messages import PROGRESS_TOKEN, PROTOCOL_VERSION, meta_of

Side = Literal["client", "server"]

OTHER: Final[Mapping[Side, Side]] = {"client": "server", "server": "client"}

_WAYS: Final[Mapping[str, frozenset[str]]] = {
    row.name: frozenset(other.direction for other in METHODS if other.name == row.name) for row in METHODS
}
#: The methods that one side only may send, and which side that is.
SENDERS: Final[Mapping[str, Side]] = {
    **{name: "client" for name, ways in _WAYS.items() if ways == frozenset({"to_server"})},
    **{name: "server" for name, ways in _WAYS.items() if ways == frozenset({"to_client"})},
}
# Members that tell a result of the server from one of the client.
_RESULTS_OF_SERVERS: Final = frozenset(
    {
        "protocolVersion",
        "serverInfo",
        "supportedVersions",
        "tools",
        "resources",
        "resourceTemplates",
        "prompts",
        "contents",
        "messages",
        "completion",
        "resultType",
        "isError",
        "structuredContent",
    }
)
_RESULTS_OF_CLIENTS: Final = frozenset({"roots", "model", "role", "stopReason", "action"})


class Told(NamedTuple):
    """Who sent a message.

    Attributes:
        side: "client" or "server".
        sure: whether something told it; False where it is a guess.
    """

    side: Side
    sure: bool


Key = tuple[bool, "str | float"]


def key_of(id: object) -> Key | None:
    """An id or a token for a table: 1 and 1.0 are the same, 1 and "1" are not. None where it is neither."""
    if isinstance(id, bool) or not isinstance(id, str | int | float):
        return None
    return isinstance(id, str), id


def sender_of(message: Any) -> Side | None:
    """The side that alone may send this message, by its method; None where that does not tell it."""
    for one in _members(message):
        method = one.get("method")
        if isinstance(method, str) and method in SENDERS:
            return SENDERS[method]
        if "id" in one and isinstance(method, str) and PROTOCOL_VERSION in meta_of(_params(one)):
            # Of the revisions in which a request says its version itself, none has requests of a server.
            return "client"
    return None


class Directions:
    """Tells one message after the other who sent it. Each costs the same, however many there were."""

    def __init__(self) -> None:
        self._open: dict[Side, dict[Key, str]] = {"client": {}, "server": {}}
        self._used: dict[Side, set[Key]] = {"client": set(), "server": set()}
        self._tokens: dict[Side, set[Key]] = {"client": set(), "server": set()}
        self._last: dict[Side, object] = {"client": None, "server": None}

    def tell(self, message: Any, said: Side | None = None) -> Told:
        """Who sent the next message.

        Args:
            said: who sent it, where the file says so.
        """
        told = Told(said, sure=True) if said is not None else self._infer(message)
        for one in _members(message):
            self._remember(one, told.side)
        return told

    def _infer(self, message: Any) -> Told:
        side = sender_of(message)
        if side is not None:
            return Told(side, sure=True)
        guess = Told("client", sure=False)
        for one in _members(message):
            found = self._of(one)
            if found.sure:
                return found
            guess = found
        return guess

    def _of(self, one: Mapping[str, Any]) -> Told:
        method = one.get("method")
        if not isinstance(method, str):
            return self._answer(one)
        if "id" in one:
            return self._request(one)
        if method == "notifications/cancelled":
            key = key_of(_params(one).get("requestId"))
            asking = _only(self._open, key) or _only(self._used, key)
            return Told(asking or "client", sure=asking is not None)
        if method == "notifications/progress":
            asking = _only(self._tokens, key_of(_params(one).get("progressToken")))
            return Told("server" if asking is None else OTHER[asking], sure=asking is not None)
        return Told("client", sure=False)

    def _request(self, one: Mapping[str, Any]) -> Told:
        key = key_of(one.get("id"))
        using = _only(self._open, key) or _only(self._used, key)
        if using is not None:
            return Told(OTHER[using], sure=True)
        following: list[Side] = [side for side, last in self._last.items() if _follows(one.get("id"), last)]
        if len(following) == 1:
            return Told(following[0], sure=True)
        # A side that writes all its ids in one way hardly writes this one in another way.
        return Told("client" if self._writes(key) else "server", sure=False)

    def _writes(self, key: Key | None) -> bool:
        """Whether the client writes ids of this kind, as far as it has written any."""
        last = self._last["client"]
        return key is None or last is None or isinstance(last, str) == key[0]

    def _answer(self, one: Mapping[str, Any]) -> Told:
        asking = _only(self._open, key_of(one.get("id")))
        if asking is not None:
            return Told(OTHER[asking], sure=True)
        result = one.get("result")
        members = cast("dict[str, Any]", result).keys() if isinstance(result, dict) else frozenset[str]()
        servers = not _RESULTS_OF_SERVERS.isdisjoint(members)
        clients = not _RESULTS_OF_CLIENTS.isdisjoint(members)
        if servers != clients:
            return Told("server" if servers else "client", sure=True)
        return Told("server", sure=False)

    def _remember(self, one: Mapping[str, Any], side: Side) -> None:
        key = key_of(one.get("id"))
        method = one.get("method")
        if key is None:
            return
        if not isinstance(method, str):
            self._open[OTHER[side]].pop(key, None)
            return
        self._open[side][key] = method
        self._used[side].add(key)
        self._last[side] = one.get("id")
        token = key_of(meta_of(_params(one)).get(PROGRESS_TOKEN))
        if token is not None:
            self._tokens[side].add(token)


def _only(held: Mapping[Side, Collection[Key]], key: Key | None) -> Side | None:
    """The one side that has this key; None where none has it, or both."""
    having: list[Side] = [side for side, keys in held.items() if key in keys]
    return having[0] if len(having) == 1 else None


def _follows(id: object, last: object) -> bool:
    """Whether somebody who counts would use this id after the last one."""
    if isinstance(id, int) and isinstance(last, int):
        return id == last + 1
    if isinstance(id, str) and isinstance(last, str):
        stem, digits = _counted(id)
        other, before = _counted(last)
        return bool(digits and before) and stem == other and int(digits) == int(before) + 1
    return False


def _counted(id: str) -> tuple[str, str]:
    stem = id.rstrip("0123456789")
    # More digits than anybody counts to cost time to read.
    return stem, id[len(stem) :] if len(id) - len(stem) < 20 else ""


def _members(message: Any) -> list[dict[str, Any]]:
    several = cast("list[Any]", message) if isinstance(message, list) else [message]
    return [cast("dict[str, Any]", one) for one in several if isinstance(one, dict)]


def _params(one: Mapping[str, Any]) -> dict[str, Any]:
    params = one.get("params")
    return cast("dict[str, Any]", params) if isinstance(params, dict) else {}
