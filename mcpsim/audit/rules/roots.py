"""Roots: what a client may call a root, and that it tells when they change."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from mcpsim.audit.model import Call, Connection, Item, Session
from mcpsim.audit.questions import ASKING, HOLDING, Json, answers, mapping, sequence
from mcpsim.audit.rule import ALL, LEGACY, MUST, NOTE, SHOULD, Found, Rule, calls, each
from mcpsim.eras.capabilities import declares
from mcpsim.errors import METHOD_NOT_FOUND
from mcpsim.recording.words import show
from mcpsim.utilities.uris import leads_up

METHOD: Final = "roots/list"
CHANGED: Final = "notifications/roots/list_changed"
_ROOT: Final[Mapping[Any, str]] = {"modern": "client/roots#root", "legacy": "client/roots#root"}
_SECURITY: Final[Mapping[Any, str]] = {
    "modern": "client/roots#security-considerations",
    "legacy": "client/roots#security-considerations",
}


def _roots(call: Call) -> Iterator[tuple[Item, list[str]]]:
    """Each list of roots: where it stands, and the URIs."""
    for answer in answers(call, METHOD):
        yield answer.item, _uris(answer.result)


def _uris(result: Json) -> list[str]:
    found = (mapping(root).get("uri") for root in sequence(result.get("roots")))
    return [uri for uri in found if isinstance(uri, str)]


def _are_files(call: Call) -> Iterator[Found]:
    for item, uris in _roots(call):
        for uri in uris:
            if uri[: len(_FILE)].lower() != _FILE:
                yield Found(
                    item,
                    f"The root {show(uri)} is no file:// URI.",
                    hint="A root is a directory or file, such as file:///home/kim/project.",
                )


_FILE: Final = "file://"


def _lead_nowhere_else(call: Call) -> Iterator[Found]:
    for item, uris in _roots(call):
        for uri in uris:
            if leads_up(uri):
                yield Found(
                    item,
                    f"The root {show(uri)} has a step upwards in it; probably nobody checked where it leads.",
                    hint="Resolve the path before it goes out.",
                    level=SHOULD,
                )


def _are_unique(call: Call) -> Iterator[Found]:
    for item, uris in _roots(call):
        if len(set(uris)) < len(uris):
            seen: set[str] = set()
            twice = next(uri for uri in uris if uri in seen or seen.add(uri))
            yield Found(
                item, f"The root {show(twice)} stands there twice; its uri is what tells a root from others."
            )


def _change_is_told(session: Session) -> Iterator[Found]:
    if not declares(session.client_capabilities, "roots.listChanged"):
        return
    last: frozenset[str] | None = None
    pending: Item | None = None
    later = 0
    for item in session.items:
        if item.sender != "client":
            continue
        if item.kind == "notification" and item.method == CHANGED:
            last, pending = None, None
        elif item.kind == "response" and item.method == METHOD and item.call is not None:
            now = frozenset(_uris(item.result))
            if pending is None and last is not None and now != last:
                pending, later = item, 0
            last = now
        elif pending is not None:
            later += 1
    # The notification may come after the answer. Two messages later it was forgotten.
    if pending is not None and later >= _LATE:
        yield Found(
            pending,
            "The roots are others than before, and the client sent no notifications/roots/list_changed, "
            "although it had declared listChanged.",
            hint="Send the notification when the roots change.",
        )


_LATE: Final = 2


def _unsupported_code(call: Call) -> Iterator[Found]:
    answer, session = call.answer, call.request.session
    if call.asked_by != "server" or answer is None or answer.kind != "error" or session is None:
        return
    if not declares(session.client_capabilities, "roots") and answer.code != METHOD_NOT_FOUND:
        yield Found(
            answer,
            f"The client has not declared roots and refuses with error {answer.code}; it should be "
            f"{METHOD_NOT_FOUND} (method not found).",
        )


def _respected(connection: Connection) -> Iterator[Found]:
    # Legacy roots belong to a session, modern ones to whoever sends them.
    known: dict[object, tuple[str, ...]] = {}
    for item in connection.items:
        call = item.call
        if call is None:
            continue
        scope = item.session or call.principal or ""
        for answer in answers(call, METHOD) if item in (call.answer, call.request) else ():
            if answer.item is item:
                known[scope] = tuple(uri.rstrip("/").lower() for uri in _uris(answer.result))
        if item.kind != "response" or item.method not in _RESOURCES:
            continue
        roots = known.get(scope, ())
        outside = next((uri for uri in _resources(item) if _is_outside(uri, roots)), None)
        if outside is not None:
            # Once for each list of roots.
            known[scope] = ()
            yield Found(
                item,
                f"The server works with {show(outside)}, which is in none of the client's roots. That is "
                "only right where it is no file of the client.",
                level=NOTE,
            )


_RESOURCES: Final[Mapping[str, str]] = {"resources/list": "resources", "resources/read": "contents"}


def _resources(item: Item) -> Iterator[str]:
    for one in sequence(item.result.get(_RESOURCES[item.method])):
        uri = mapping(one).get("uri")
        if isinstance(uri, str):
            yield uri


def _is_outside(uri: str, roots: tuple[str, ...]) -> bool:
    path = uri.lower()
    if not roots or not path.startswith(_FILE) or not all(root.startswith("file:") for root in roots):
        return False
    return not any(path == root or path.startswith(f"{root}/") for root in roots)


ROOTS: Final[tuple[Rule, ...]] = (
    Rule(
        "roots-are-file-uris",
        MUST,
        "client",
        ALL,
        _ROOT,
        "The uri of a root begins with file://.",
        on=calls(*ASKING, among=HOLDING),
        check=_are_files,
    ),
    Rule(
        "roots-are-checked",
        MUST,
        "client",
        ALL,
        _SECURITY,
        "A client checks the URIs of its roots for steps upwards.",
        on=calls(*ASKING, among=HOLDING),
        check=_lead_nowhere_else,
    ),
    Rule(
        "roots-are-unique",
        NOTE,
        "client",
        ALL,
        _ROOT,
        "No two roots have the same uri.",
        on=calls(*ASKING, among=HOLDING),
        check=_are_unique,
    ),
    Rule(
        "roots-change-is-told",
        MUST,
        "client",
        LEGACY,
        {"legacy": "client/roots#root-list-changes"},
        "A client that has declared listChanged tells when its roots change.",
        on=each(Session),
        check=_change_is_told,
    ),
    Rule(
        "roots-unsupported-is-method-not-found",
        SHOULD,
        "client",
        LEGACY,
        {"legacy": "client/roots#error-handling"},
        "A client without roots answers roots/list with error -32601.",
        on=calls(METHOD),
        check=_unsupported_code,
    ),
    Rule(
        "roots-are-respected",
        SHOULD,
        "server",
        ALL,
        _SECURITY,
        "A server keeps to the roots of the client.",
        on=each(Connection, among=(METHOD, "inputResponses")),
        check=_respected,
    ),
)
