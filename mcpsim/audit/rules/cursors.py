"""Cursors that are sent without having been given out: one pass over a trace, for several rules."""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Literal, NamedTuple
from urllib.parse import unquote

from mcpsim.audit.model import Call, Connection, Item, Session, Trace
from mcpsim.audit.occurring import connections_with, items_with
from mcpsim.recording.interchange import INTERMEDIARIES

Kind = Literal["changed", "invented", "missing", "other list", "other session"]

DECODED: Final = "decoded"
_SHORT: Final = 8
#: Longer ones are not taken apart.
_LONGEST: Final = 2_000
_NOTHING: Final = frozenset({"undefined", "null", "none", "nil", "nan"})
_DIGITS: Final = re.compile(r"\d+")


class Foreign(NamedTuple):
    """A request with a cursor that its list did not give out, as far as the trace shows.

    Attributes:
        call: the request.
        cursor: the cursor: a string, or what stands in its place.
        kind: "changed" (it looks like one that was given out), "missing" (the word for nothing, after the
            last page), "other list", "other session" (legacy), or "invented".
        like: the cursor that it was made of; for "other list", the method.
        how: what was done to it, for "changed".
        certain: whether the trace shows all that could have given it out.
        began: whether the trace shows that the list was begun, without a cursor.
        first: the answer to that.
    """

    call: Call
    cursor: Any
    kind: Kind
    like: str
    how: str
    certain: bool
    began: bool
    first: Item | None


class _Forms:
    """Cursors by what is left of them when they are spelled in another way; made when it is asked for."""

    def __init__(self) -> None:
        self._new: list[str] = []
        self._known: dict[tuple[str, str], str] = {}

    def add(self, cursor: str) -> None:
        self._new.append(cursor)

    def like(self, sent: str) -> tuple[str, str]:
        """A cursor of which another one may have been made, and how; two empty texts where there is none."""
        last = self._new[-1] if self._new else ""
        for given in self._new:
            for form in _forms(given):
                self._known[form] = given
        self._new.clear()
        for how, form in _forms(sent):
            given = self._known.get((how, form))
            if given is not None:
                return given, how
        given = self._known.get((DECODED, sent))
        if given is not None:
            return given, DECODED
        return (last, "cut off") if len(sent) >= _SHORT and last.startswith(sent) else ("", "")


@dataclass(slots=True)
class _Scope:
    """What was given out in one session, or on one connection."""

    given: dict[str, dict[str, Item]] = field(default_factory=dict[str, "dict[str, Item]"])
    forms: dict[str, _Forms] = field(default_factory=dict[str, "_Forms"])
    firsts: dict[str, Item] = field(default_factory=dict[str, Item])
    begun: set[str] = field(default_factory=set[str])
    ended: set[str] = field(default_factory=set[str])
    # Something came that could not be read, and may have been a page.
    unclear: bool = False


def foreign(trace: Trace, methods: Collection[str]) -> Iterator[Foreign]:
    """Every request of these lists with a cursor that was not given out."""
    scopes: dict[Session | Connection, _Scope] = {}
    everywhere: dict[str, Session | Connection] = {}
    if not any(
        call.method in methods and "cursor" in call.request.params
        for connection in connections_with(trace, methods)
        for call in connection.calls
    ):
        return
    for item in items_with(trace, ("cursor", "nextCursor")):
        kind = item.kind
        if kind == "request":
            if item.method not in methods:
                continue
        elif kind == "response":
            if item.method not in methods and "nextCursor" not in item.result:
                continue
        elif kind not in ("unreadable", "malformed") or item.sender == "client":
            continue
        if item.connection.client in INTERMEDIARIES:
            # Whoever passes on what comes has made up nothing.
            continue
        place = _place_of(item)
        scope = scopes.get(place)
        if scope is None:
            scope = scopes[place] = _Scope()
        if kind == "request":
            found = None if item.call is None else _asked(item.call, scope, place, everywhere)
            if found is not None:
                yield found
        elif kind == "response":
            _answered(item, scope)
            cursor = item.result.get("nextCursor")
            if isinstance(cursor, str):
                everywhere[cursor] = place
        else:
            scope.unclear = True


def _place_of(item: Item) -> Session | Connection:
    return item.session if item.era == "legacy" and item.session is not None else item.connection


def _answered(item: Item, scope: _Scope) -> None:
    call = item.call
    cursor = item.result.get("nextCursor")
    method = "" if call is None else call.method
    if isinstance(cursor, str):
        scope.given.setdefault(method, {})[cursor] = item
        scope.forms.setdefault(method, _Forms()).add(cursor)
        scope.ended.discard(method)
    elif call is not None:
        scope.ended.add(method)
    if call is None:
        return
    sent: Any = call.request.params.get("cursor")
    if "cursor" not in call.request.params:
        scope.firsts[method] = item
    elif isinstance(sent, str):
        # The server takes it: wherever it came from, it is one.
        scope.given.setdefault(method, {}).setdefault(sent, item)


def _asked(
    call: Call,
    scope: _Scope,
    place: Session | Connection,
    everywhere: Mapping[str, Session | Connection],
) -> Foreign | None:
    params = call.request.params
    method = call.method
    began = method in scope.begun
    if "cursor" not in params:
        scope.begun.add(method)
        return None
    cursor: Any = params["cursor"]
    if cursor is None or scope.unclear or call.request.disturbed:
        return None
    first = scope.firsts.get(method)
    session = call.request.session
    # A trace of one side alone has no answers, and nothing that gave out a cursor.
    certain = call.era == "legacy" and session is not None and session.initialize.answer is not None

    def be(kind: Kind, like: str = "", how: str = "") -> Foreign:
        return Foreign(call, cursor, kind, like, how, certain, began, first)

    if not isinstance(cursor, str):
        text = str(cursor) if isinstance(cursor, int | float) else None
        given = text is not None and text in scope.given.get(method, ())
        return be("changed", text or "", "made a number of a string") if given else None
    if cursor in scope.given.get(method, ()) or cursor in scope.given.get("", ()):
        return None
    other = next((name for name, given in scope.given.items() if cursor in given), None)
    if other is not None:
        return be("other list", other)
    if cursor in everywhere:
        # Under the modern protocol a client may have got it on another connection.
        return be("other session") if certain and everywhere[cursor] is not place else None
    if cursor.lower() in _NOTHING and method in scope.ended:
        return be("missing")
    forms = scope.forms.get(method)
    like, how = ("", "") if forms is None else forms.like(cursor)
    return be("changed", like, how) if how else be("invented")


def _forms(cursor: str) -> Iterator[tuple[str, str]]:
    """What is left of a cursor when it is spelled in another way, each with what that would be."""
    if not cursor or len(cursor) > _LONGEST:
        return
    yield "given other blanks", cursor.strip()
    yield "put into quotes", cursor.strip("\"'")
    yield "given another padding", cursor.rstrip("=")
    yield "encoded or decoded as of a URL", unquote(cursor)
    yield "spelled in other letters", cursor.casefold()
    if _DIGITS.search(cursor):
        yield "given another number", _DIGITS.sub("0", cursor)
    inside = _decoded(cursor)
    if inside:
        yield DECODED, inside
        if _DIGITS.search(inside):
            yield "taken apart, and given another number", _DIGITS.sub("0", inside)


def _decoded(text: str) -> str:
    """What a text in Base64 stands for, where that can be read; otherwise ""."""
    folded = text.rstrip("=").replace("-", "+").replace("_", "/")
    try:
        data = base64.b64decode(folded + "=" * (-len(folded) % 4), validate=True)
        found = data.decode("utf-8")
    except (binascii.Error, ValueError):
        return ""
    return found if len(found) > 1 and found.isprintable() else ""
