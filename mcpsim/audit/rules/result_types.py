"""`resultType`: every modern result has it, and nobody works with one that it does not know."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from mcpsim.audit.model import Call, Connection, Item, Walk
from mcpsim.audit.rule import LEGACY, MODERN, MUST, SHOULD, Found, Rule, each, results
from mcpsim.audit.rules.envelopes import members, shows_modern, speaks_modern
from mcpsim.eras.methods import METHODS
from mcpsim.messages.meta import CLIENT_CAPABILITIES
from mcpsim.recording.words import show

RESULTS: Final = "basic/index#result-responses"
TYPES: Final = "basic/index#resulttype"
KEY: Final = "resultType"
ABSENT: Final = "result-has-resulttype"
KNOWN: Final = frozenset({"complete", "input_required"})
_IN_LEGACY: Final = frozenset(row.name for row in METHODS if row.revisions & LEGACY)


def _absent(connection: Connection) -> Iterator[Found]:
    lacking = [item for item in connection.items if _is_modern(item) and KEY not in item.result]
    if not lacking or _is_legacy_server(connection):
        return
    sure = speaks_modern(connection)
    for item in lacking:
        # Some legacy servers carry out a request without any handshake, and do not look at its metadata.
        # Over HTTP a header names the version as well, and with an unknown one they must refuse it.
        known = sure or item.is_http or item.method not in _IN_LEGACY
        doubt = "" if known else " (Only a server of an earlier revision may leave it out.)"
        yield Found(
            item,
            f'This result of {show(item.method)} has no `resultType`; a finished one says "complete".{doubt}',
            hint="Some clients refuse such a result, others take it as complete.",
            level=None if known else SHOULD,
        )


def _is_modern(item: Item) -> bool:
    return (
        item.kind == "response"
        and item.era == "modern"
        and item.sender == "server"
        and item.revision in MODERN
    )


def _is_legacy_server(connection: Connection) -> bool:
    """Whether the server shows that it knows no modern revision: it refused the probe as such servers do, or
    did a handshake, and nothing that it sent is modern. It may answer a modern request in its own way."""
    refused = bool(connection.sessions)
    for item in connection.items:
        if item.sender != "server":
            continue
        if shows_modern(item):
            return False
        if item.kind == "error" and item.method == "server/discover":
            refused = True
    return refused


def _no_text(item: Item) -> Iterator[Found]:
    if KEY in item.result and not isinstance(item.result[KEY], str):
        yield Found(item, f"`resultType` is {show(item.result[KEY])}; it must be a string.")


def _unknown(item: Item) -> Iterator[Found]:
    kind = item.result.get(KEY)
    if not isinstance(kind, str) or kind in KNOWN or item.call is None:
        return
    declared = members(item.call.request.meta.get(CLIENT_CAPABILITIES))
    if members(declared.get("extensions")) or members(declared.get("experimental")):
        # One of them may have added it.
        return
    yield Found(
        item,
        f"The `resultType` {show(kind)} is none of the protocol's own (complete, input_required), and the "
        "client declares no extension that could have added it.",
    )


def _walks_on(walk: Walk) -> Iterator[Found]:
    for before, after in zip(walk.calls, walk.calls[1:], strict=False):
        kind = before.result.get(KEY)
        if _is_foreign(before):
            yield Found(
                after.request,
                f"The client goes on with a cursor from a result whose `resultType` is {show(kind)}. It "
                "declares no extension that knows that type, and so the result is not valid for it.",
            )


def _is_foreign(call: Call) -> bool:
    return call.answer is not None and call.answer.kind == "response" and any(_unknown(call.answer))


def _retries(connection: Connection) -> Iterator[Found]:
    states: dict[str, Item] = {}
    for item in connection.items:
        if item.kind == "response" and item.sender == "server" and KEY not in item.result:
            state = item.result.get("requestState")
            if isinstance(state, str) and "inputRequests" in item.result:
                states[state] = item
        elif item.kind == "request" and states:
            state = item.params.get("requestState")
            if isinstance(state, str) and state in states:
                yield Found(
                    item,
                    "The client takes a result without `resultType` for one that asks for input, and tries "
                    "again. Without it a result counts as complete.",
                )


RESULT_TYPES: Final[tuple[Rule, ...]] = (
    Rule(
        ABSENT,
        MUST,
        "server",
        MODERN,
        {"modern": RESULTS},
        "Every result says in `resultType` what it is.",
        on=each(Connection),
        check=_absent,
    ),
    Rule(
        "resulttype-is-a-string",
        MUST,
        "server",
        MODERN,
        {"modern": TYPES},
        "`resultType` is a string.",
        on=results(),
        check=_no_text,
    ),
    Rule(
        "resulttype-is-supported",
        MUST,
        "server",
        MODERN,
        {"modern": TYPES},
        "A server sends the result types of the protocol, and those of extensions that the client declares.",
        on=results(),
        check=_unknown,
    ),
    Rule(
        "unknown-resulttype-is-not-used",
        MUST,
        "client",
        MODERN,
        {"modern": TYPES},
        "A client takes a result of a type that it does not know as not valid.",
        on=each(Walk),
        check=_walks_on,
    ),
    Rule(
        "absent-resulttype-means-complete",
        MUST,
        "client",
        MODERN,
        {"modern": TYPES},
        "A client takes a result without `resultType` as complete.",
        on=each(Connection, needs=("requestState",)),
        check=_retries,
    ),
)
