"""What each message of a trace is, clean or not."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final, NamedTuple, cast

from mcpsim.audit.diagnosis import Diagnosis, diagnose, diagnose_status
from mcpsim.audit.model import Call, Item, Trace
from mcpsim.eras.methods import METHODS, Direction, Method, method
from mcpsim.eras.revisions import Era

_ANY: Final[Mapping[str, Method]] = {row.name: row for row in reversed(METHODS)}
_KINDS: Final[Mapping[str, str]] = {"response": "result"}
_FAILED: Final = 400


class Annotation(NamedTuple):
    """What one message is.

    Attributes:
        index: the 0-based row of the interchange form.
        kind: "request", "notification", "result", "error", or what it is instead of a message: "batch",
            "malformed", "unreadable", "comment", "empty", "stderr", "event".
        sender, receiver: by name.
        direction: "to_server" or "to_client".
        method: its method, or that of the request that it answers; "" where it has none.
        group: the part of the protocol: "tools", "lifecycle" ...; "" for a method that is not known.
        era: "legacy" or "modern"; None where it cannot be told.
        revision: "" where it cannot be told.
        phase: of a legacy session: "before", "initializing" or "operation"; otherwise "".
        capability: the capability that it depends on, such as "tools.listChanged"; "" where on none.
        declared_by: who has to declare it; "" where nobody.
        declared: whether that was declared; None where the trace does not show it, or nothing has to be.
        answers: the row of the request that it answers; None where it answers none.
        conversation: the row of the request that began what it belongs to; None where it stands alone.
        belongs_to: what that is: "request", "handshake", "rounds", "pages" or "subscription"; "" for None.
        diagnosis: of an error: what it most likely means here, and what to try; otherwise None.
    """

    index: int  # pyright: ignore[reportIncompatibleMethodOverride]  # nobody looks for a value in it
    kind: str
    sender: str
    receiver: str
    direction: Direction
    method: str
    group: str
    era: Era | None
    revision: str
    phase: str
    capability: str
    declared_by: str
    declared: bool | None
    answers: int | None
    conversation: int | None
    belongs_to: str
    diagnosis: Diagnosis | None

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON values."""
        found: dict[str, Any] = {name: getattr(self, name) for name in _PLAIN}
        if self.diagnosis is not None:
            found["diagnosis"] = {"means": self.diagnosis.means, "try": self.diagnosis.tries}
        return found


_PLAIN: Final = tuple(name for name in Annotation._fields if name != "diagnosis")


def annotate(trace: Trace) -> Iterator[Annotation]:
    """One annotation for each item, in order."""
    for item in trace.items:
        yield _annotation(item)


def _annotation(item: Item) -> Annotation:
    row = method(item.method, item.revision) or _ANY.get(item.method)
    call = item.call
    conversation, belongs_to = _conversation(item, call)
    answers = call is not None and item.kind in ("response", "error")
    gated = row is not None and row.capability != ""
    return Annotation(
        item.index,
        _KINDS.get(item.kind, item.kind),
        item.party,
        item.other,
        "to_server" if item.sender == "client" else "to_client",
        item.method,
        "" if row is None else row.group,
        item.era,
        item.revision,
        item.phase,
        row.capability if row is not None else "",
        row.declared_by if row is not None else "",
        _declared(item, row) if row is not None and gated else None,
        call.request.index if answers and call is not None else None,
        conversation,
        belongs_to,
        _diagnosis(item),
    )


def _conversation(item: Item, call: Call | None) -> tuple[int | None, str]:
    if call is None:
        if item.session is not None and item is item.session.initialized:
            return item.session.initialize.request.index, "handshake"
        return None, ""
    if call.rounds is not None:
        return call.rounds.calls[0].request.index, "rounds"
    if call.walk is not None and (len(call.walk.calls) > 1 or "nextCursor" in call.result):
        return call.walk.calls[0].request.index, "pages"
    if call.subscription is not None:
        return call.request.index, "subscription"
    kind = "handshake" if call.method == "initialize" else "request"
    return call.request.index, kind


def _declared(item: Item, row: Method) -> bool | None:
    """Whether the capability of a method was declared, as far as the trace shows it."""
    declared = _of_client(item) if row.declared_by == "client" else _of_server(item)
    return None if declared is None else _has(declared, row.capability)


def _of_client(item: Item) -> Mapping[str, Any] | None:
    if item.session is not None:
        return item.session.client_capabilities
    return None if item.call is None else item.call.capabilities


def _of_server(item: Item) -> Mapping[str, Any] | None:
    if item.era == "legacy":
        return None if item.session is None else item.session.server_capabilities
    return None if item.call is None else item.call.server_capabilities


def _has(declared: Mapping[str, Any], path: str) -> bool:
    found: Any = declared
    for part in path.split("."):
        if not isinstance(found, Mapping) or part not in found:
            return False
        found = cast("Mapping[str, Any]", found)[part]
    return found is not False and found is not None


def _diagnosis(item: Item) -> Diagnosis | None:
    if item.kind == "error":
        return diagnose(item)
    exchange = item.exchange
    if exchange is None or item.sender != "server" or item.kind not in ("empty", "unreadable"):
        return None
    return diagnose_status(item) if (exchange.status or 0) >= _FAILED else None
