"""Caching hints: what servers say of their results.

What clients do is in `caching_clients`, what gateways do in `caching_gateways`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Final

from mcpsim.audit.model import Call, Item, Trace, Walk
from mcpsim.audit.occurring import connections_with
from mcpsim.audit.once import once
from mcpsim.audit.rule import MODERN, MUST, NOTE, Found, Rule, each, results
from mcpsim.audit.rules.caching_keys import changed_by, contents_of, in_time, is_retry, key_of, subject_of
from mcpsim.messages.meta import SERVER_INFO
from mcpsim.recording.interchange import INTERMEDIARIES
from mcpsim.recording.words import show
from mcpsim.utilities.caching import CACHEABLE

RESULTS: Final = "server/utilities/caching#cacheable-results"
TTL: Final = "server/utilities/caching#time-to-live-ttl-field"
SCOPE: Final = "server/utilities/caching#cache-scope-field"
PAGES: Final = "server/utilities/caching#interaction-with-pagination"

HINTS: Final = ("ttlMs", "cacheScope")
_SCOPES: Final = ("public", "private")


# --- Hints -------------------------------------------------------------------------------------------


def _missing(item: Item) -> Found | None:
    missing = [name for name in HINTS if name not in item.result]
    if item.result.get("resultType") != "complete" or not missing or item.call is None:
        return None
    text = f"This complete result of {item.method} has no {' and no '.join(missing)}."
    if is_retry(item.call):
        return Found(
            item,
            f"{text} It answers a retry: the caching page wants hints on every complete result of this "
            "method (cacheable results), and says that results of retries must not be cached (cache key).",
            level=NOTE,
        )
    return Found(item, text, hint='ttlMs 0 with cacheScope "private" is always safe.')


def _no_integer(item: Item) -> Found | None:
    ttl_ms: Any = item.result.get("ttlMs", 0)
    if isinstance(ttl_ms, int) and not isinstance(ttl_ms, bool):
        return None
    if isinstance(ttl_ms, float) and ttl_ms.is_integer():
        return Found(
            item,
            f"ttlMs is written {show(ttl_ms)}. As a number that is whole, but many readers take only what is "
            "written without a fraction.",
            level=NOTE,
        )
    return Found(item, f"ttlMs is {show(ttl_ms)}; it must be a whole number of milliseconds.")


def _negative(item: Item) -> Found | None:
    ttl_ms: Any = item.result.get("ttlMs")
    if isinstance(ttl_ms, bool) or not isinstance(ttl_ms, int | float) or ttl_ms >= 0:
        return None
    return Found(
        item,
        f"ttlMs is {show(ttl_ms)}; it must be 0 or more.",
        hint="0 says that the result is stale at once.",
    )


def _no_scope(item: Item) -> Found | None:
    scope = item.result.get("cacheScope", "private")
    if scope in _SCOPES:
        return None
    return Found(item, f'cacheScope is {show(scope)}; it must be "public" or "private".')


@once
def _cacheable(trace: Trace) -> list[Item]:
    """The results that may be kept."""
    return [
        call.answer
        for connection in connections_with(trace, CACHEABLE)
        for call in connection.calls
        if call.method in CACHEABLE
        and call.answer is not None
        and call.answer.kind == "response"
        and call.answer.revision in MODERN
    ]


def _by_server(fault: Callable[[Item], Found | None]) -> Callable[[Trace], Iterator[Found]]:
    """A check of every cacheable result. What a gateway passes on is not its own fault."""

    def check(trace: Trace) -> Iterator[Found]:
        passed_on: set[str] = set()
        later: list[Found] = []
        for item in _cacheable(trace):
            found = fault(item)
            if found is None:
                continue
            if item.connection.server in INTERMEDIARIES:
                later.append(found)
                continue
            if item.connection.client in INTERMEDIARIES:
                passed_on.add(item.method)
            yield found
        yield from (found for found in later if found.item.method not in passed_on)

    return check


def _while_asking(item: Item) -> Iterator[Found]:
    if item.result.get("resultType") != "input_required":
        return
    there = [name for name in HINTS if name in item.result]
    if there:
        yield Found(
            item,
            f"This result asks for input, and has {' and '.join(there)}: it cannot be cached, and carries no "
            "hints.",
        )


# --- Scopes ------------------------------------------------------------------------------------------


def _one_scope(walk: Walk) -> Iterator[Found]:
    if walk.connection.server in INTERMEDIARIES and walk.connection.hop:
        return
    first: str | None = None
    for number, call in enumerate(walk.calls, 1):
        answer = call.answer
        scope = call.result.get("cacheScope")
        if answer is None or answer.kind != "response" or scope not in _SCOPES:
            continue
        if first is None:
            first = scope
        elif scope != first:
            yield Found(
                answer,
                f"Page {number} of this {walk.method} is {show(scope)}, and the first page that the trace "
                f"shows was {show(first)}; all pages of one list must have the same cacheScope.",
                hint='Where one page is "private", all are.',
            )


@dataclass(slots=True)
class _Public:
    """A public result that one principal got."""

    item: Item
    contents: str
    principal: str | None
    told: bool = False


def _same_for_all(trace: Trace) -> Iterator[Found]:
    known: dict[tuple[str, ...], _Public] = {}
    if len({call.principal for call in _public(trace)}) < _TWO:
        return
    behind = any(one.client in INTERMEDIARIES for one in trace.connections)
    changes: dict[str, int] = {}
    for item in trace.items:
        for name in changed_by(item):
            changes[name] = changes.get(name, 0) + 1
        call = item.call
        if item.kind != "response" or call is None or call.answer is not item or not item.is_http:
            continue
        if item.method not in CACHEABLE or item.revision not in MODERN or is_retry(call):
            continue
        if item.result.get("cacheScope") != "public" or (behind and item.connection.server in INTERMEDIARIES):
            continue
        subject = subject_of(call)
        changed = str(changes.get(item.method, 0) + changes.get(subject, 0))
        key = (item.connection.hop, _server(item), item.method, key_of(call), changed)
        contents = contents_of(item.result)
        before = known.get(key)
        if before is None or not in_time(before.item, call.request):
            known[key] = _Public(item, contents, call.principal)
        elif before.principal != call.principal and before.contents != contents:
            if not before.told:
                before.told = True
                yield _differs(before.item, item)
            yield _differs(item, before.item)


def _public(trace: Trace) -> Iterator[Call]:
    """The requests over HTTP with an answer for everybody."""
    for item in _cacheable(trace):
        if item.is_http and item.call is not None and item.result.get("cacheScope") == "public":
            yield item.call


_TWO: Final = 2


def _differs(item: Item, other: Item) -> Found:
    return Found(
        item,
        f"This result of {item.method} is public, and somebody else got another one for the same request "
        f"(row {other.index}): it seems to depend on who asks. A shared cache would give it to everybody.",
        hint='Mark as "private" what depends on the caller.',
    )


def _server(item: Item) -> str:
    """Which server answered, as far as it can be told."""
    info: Any = item.meta.get(SERVER_INFO)
    host = None if item.exchange is None else item.exchange.headers.get("host")
    return f"{host} {show(info, 200)}"


def _server_rule(id: str, page: str, sentence: str, fault: Callable[[Item], Found | None]) -> Rule:
    return Rule(
        id, MUST, "server", MODERN, {"modern": page}, sentence, on=each(Trace), check=_by_server(fault)
    )


CACHING: Final[tuple[Rule, ...]] = (
    _server_rule(
        "caching-hints-are-there",
        RESULTS,
        "A complete result of one of the six cacheable methods has ttlMs and cacheScope.",
        _missing,
    ),
    _server_rule("caching-ttl-is-an-integer", TTL, "ttlMs is a whole number of milliseconds.", _no_integer),
    _server_rule("caching-ttl-is-not-negative", TTL, "ttlMs is 0 or more.", _negative),
    _server_rule("caching-scope-is-known", SCOPE, "cacheScope is public or private.", _no_scope),
    Rule(
        "caching-no-hints-while-asking",
        NOTE,
        "server",
        MODERN,
        {"modern": RESULTS},
        "A result that asks for input carries no caching hints.",
        on=results(*sorted(CACHEABLE)),
        check=_while_asking,
    ),
    Rule(
        "caching-pages-share-a-scope",
        MUST,
        "server",
        MODERN,
        {"modern": PAGES},
        "All pages of one list have the same cacheScope.",
        on=each(Walk),
        check=_one_scope,
    ),
    Rule(
        "caching-public-is-for-everybody",
        NOTE,
        "server",
        MODERN,
        {"modern": SCOPE},
        "A public result is the same for everybody.",
        on=each(Trace),
        check=_same_for_all,
    ),
)
