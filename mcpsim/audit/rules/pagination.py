"""Cursors and pages: what a client does with a cursor, and what a server gives out and refuses.

A cursor that was never given out can only be told from one that was where the trace shows all that could have
given it out: a legacy session from its `initialize` on. Otherwise a client may have it from before the trace;
then what is said is no more than likely, or nothing.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final, cast

from mcpsim.audit.gathering import LISTS
from mcpsim.audit.model import Call, Connection, Item, Session, Trace, Walk
from mcpsim.audit.occurring import connections_with
from mcpsim.audit.once import once
from mcpsim.audit.rule import ALL, LEGACY, MODERN, MUST, NOTE, SHOULD, Found, Level, Rule, each, results
from mcpsim.audit.rules.cursors import Foreign, foreign
from mcpsim.eras.revisions import Era
from mcpsim.errors import INVALID_PARAMS
from mcpsim.messages import ErrorResponse
from mcpsim.messages.meta import CLIENT_CAPABILITIES, PROTOCOL_VERSION
from mcpsim.recording.interchange import INTERMEDIARIES
from mcpsim.recording.words import show
from mcpsim.utilities.caching import LISTS_OF

Check = Callable[[Any], Iterator[Found]]

GUIDELINES: Final = "server/utilities/pagination#implementation-guidelines"
ERRORS: Final = "server/utilities/pagination#error-handling"
FORMAT: Final = "server/utilities/pagination#response-format"
MODEL: Final = "server/utilities/pagination#pagination-model"

#: Which member of the result holds the page.
MEMBERS: Final[Mapping[str, str]] = {
    "tools/list": "tools",
    "resources/list": "resources",
    "resources/templates/list": "resourceTemplates",
    "prompts/list": "prompts",
}
#: Codes that say that something else is wrong with the request than its cursor.
_OTHER_REASONS: Final = frozenset({-32600, -32601, -32700, -32020, -32021, -32022, -32001, -32000})
#: For how long a server can be expected to know a cursor that it gave out, in milliseconds.
_SOON_MS: Final = 60_000


def _cursor(call: Call) -> Any:
    return call.request.params.get("cursor")


def _next(item: Item | None) -> str | None:
    cursor = None if item is None else item.result.get("nextCursor")
    return cursor if isinstance(cursor, str) else None


def _page(item: Item | None, method: str) -> list[Any]:
    held = None if item is None else item.result.get(MEMBERS.get(method, ""))
    return cast("list[Any]", held) if isinstance(held, list) else []


# --- Cursors that nobody gave out --------------------------------------------------------------------


def _level(one: Foreign) -> Level | None:
    """How strictly to speak of it; None for not at all."""
    if one.certain:
        return MUST
    if not one.began:
        return None
    if one.kind == "changed":
        return MUST
    answer = one.call.answer
    return SHOULD if answer is not None and answer.code == INVALID_PARAMS else NOTE


@once
def _foreign(trace: Trace) -> tuple[Foreign, ...]:
    return tuple(foreign(trace, LISTS))


def _opaque(trace: Trace) -> Iterator[Found]:
    for one in _foreign(trace):
        if one.kind not in ("changed", "invented"):
            continue
        level = _level(one)
        if level is None:
            continue
        sent = f"The cursor {show(one.cursor)} of this {one.call.method}"
        if one.kind == "changed":
            text = f"{sent} was not given out; the server gave {show(one.like)}. It was {one.how}."
        elif one.certain:
            text = f"{sent} was not given out in this session."
        else:
            text = f"{sent} was probably made up: no answer in this trace gave it out."
        yield Found(
            one.call.request, text, hint="Send back the nextCursor of a page as it came.", level=level
        )


def _across_sessions(trace: Trace) -> Iterator[Found]:
    for one in _foreign(trace):
        if one.kind == "other session":
            yield Found(
                one.call.request,
                f"The cursor {show(one.cursor)} was given out in another session, not in this one.",
                hint="Begin a list anew in a new session: without a cursor.",
            )


def _of_another_list(trace: Trace) -> Iterator[Found]:
    for one in _foreign(trace):
        if one.kind == "other list":
            yield Found(
                one.call.request,
                f"The cursor {show(one.cursor)} was given out for {show(one.like)}, and is sent with "
                f"{one.call.method}. A position in one list means nothing in another.",
            )


def _missing_is_the_end(trace: Trace) -> Iterator[Found]:
    for one in _foreign(trace):
        if one.kind == "missing":
            yield Found(
                one.call.request,
                f"The cursor {show(one.cursor)} looks like the name of a value that is not there: the page "
                "before had no nextCursor, and so it was the last one.",
                hint="End the loop where nextCursor is missing.",
            )


def _refused(trace: Trace) -> Iterator[Found]:
    for one in _foreign(trace):
        call, answer = one.call, one.call.answer
        sure = one.certain or (one.began and one.kind == "changed")
        if answer is None or not sure or one.kind in ("other list", "other session"):
            continue
        if answer.kind == "error":
            if answer.code not in _OTHER_REASONS and answer.code != INVALID_PARAMS and not _names(answer):
                yield Found(
                    answer,
                    f"A cursor that was not given out, {show(one.cursor)}, is answered with the code "
                    f"{answer.code}; {INVALID_PARAMS} (invalid params) says what is wrong.",
                )
            continue
        if one.first is not None and _same_page(one.first, answer, call.method):
            yield Found(
                answer,
                f"The cursor {show(one.cursor)} was not given out, and is answered with the first page, as "
                f"if there were none. {INVALID_PARAMS} (invalid params) says that it is wrong.",
            )


def _same_page(first: Item, answer: Item, method: str) -> bool:
    page = _page(answer, method)
    return bool(page) and page == _page(first, method) and _next(first) == _next(answer)


def _names(answer: Item) -> bool:
    """Whether an error speaks of the cursor."""
    message = answer.message
    return isinstance(message, ErrorResponse) and "cursor" in message.message.lower()


def _code(trace: Trace) -> Iterator[Found]:
    yield from _refused(trace)
    for connection in connections_with(trace, ("cursor",)):
        for call in connection.calls:
            answer = call.answer
            if call.method not in LISTS or answer is None or answer.kind != "error":
                continue
            if "cursor" not in call.request.params or answer.code == INVALID_PARAMS or not _names(answer):
                continue
            yield Found(
                answer,
                f"The cursor is refused with the code {answer.code}; {INVALID_PARAMS} (invalid params) is "
                "the code for that.",
            )


# --- What servers give out ---------------------------------------------------------------------------


def _stable(connection: Connection) -> Iterator[Found]:
    if not connection.walks:
        return
    # With how often the list had changed when the cursor was given out.
    given: dict[tuple[str, str | None, str, Session | None], tuple[Item, int]] = {}
    changes: Counter[str] = Counter()
    for item in connection.items:
        if item.kind == "notification" and item.method in LISTS_OF:
            changes.update(LISTS_OF[item.method])
        call = item.call
        if call is None or call.method not in LISTS or call.answer is not item:
            continue
        place = item.session
        cursor = _next(item)
        if item.kind == "response" and cursor is not None:
            given[call.method, call.principal, cursor, place] = item, changes[call.method]
        elif item.kind == "error" and item.code == INVALID_PARAMS:
            sent = _cursor(call)
            if not isinstance(sent, str) or not (_names(item) or _is_complete(call)):
                continue
            before, count = given.get((call.method, call.principal, sent, place), (item, -1))
            if before.index < call.request.index and count == changes[call.method]:
                yield _unstable(before, item, sent)


def _is_complete(call: Call) -> bool:
    """Whether nothing else is wrong with the params."""
    meta = call.request.meta
    return call.era == "legacy" or {PROTOCOL_VERSION, CLIENT_CAPABILITIES} <= meta.keys()


def _unstable(before: Item, item: Item, cursor: str) -> Found:
    request = item.call.request if item.call is not None else item
    passed = None
    if before.at_ms is not None and request.at_ms is not None:
        passed = request.at_ms - before.at_ms
    soon = passed is not None and passed <= _SOON_MS
    when = "" if passed is None else f" {passed / 1000:g} s"
    return Found(
        item,
        f"The server gave out the cursor {show(cursor)}{when} before, and refuses it. Cursors are to "
        "stay good for a while.",
        level=None if soon else NOTE,
    )


def _ends(walk: Walk) -> Iterator[Found]:
    places: dict[str, int] = {}
    for call in walk.calls:
        cursor, following = _cursor(call), _next(call.answer)
        place = places.get(cursor, 0) if isinstance(cursor, str) else 0
        if following is None or call.answer is None:
            continue
        if places.setdefault(following, place + 1) <= place:
            yield Found(
                call.answer,
                f"The page for the cursor {show(cursor)} gives out {show(following)} as nextCursor, which "
                "leads back to a page that was there before: the list has no end. There is a nextCursor only "
                "if more follows.",
                hint="Leave nextCursor out on the last page.",
            )


def _null(item: Item) -> Iterator[Found]:
    if "nextCursor" in item.result and item.result["nextCursor"] is None:
        page = "; the pagination page speaks of values that are not null" if item.era == "modern" else ""
        yield Found(
            item,
            f"nextCursor is null. The schema has a string there, or nothing{page}. Clients that read "
            "strictly refuse the page.",
            hint="Leave nextCursor out on the last page.",
        )


# --- What clients do not ask for ---------------------------------------------------------------------


class _Open:
    """A list whose next page nobody has asked for."""

    __slots__ = ("answer", "later", "walk")

    def __init__(self, answer: Item, walk: Walk | None) -> None:
        self.answer = answer
        self.walk = walk
        self.later: Item | None = None


_NO_WORK: Final = frozenset({"initialize", "ping", "server/discover", "subscriptions/listen"}) | LISTS


@once
def _left_open(connection: Connection) -> list[_Open]:
    """The lists of which a page was read and the next one was not, though the client went on."""
    if connection.client in INTERMEDIARIES or not connection.walks:
        return []
    lists: dict[tuple[str, str | None, Session | None], _Open] = {}
    waiting: dict[tuple[str, str | None, Session | None], None] = {}
    for item in connection.items:
        call = item.call
        if call is None or call.asked_by != "client":
            continue
        key = call.method, call.principal, call.request.session
        if item is call.request:
            if call.method in LISTS:
                # A list that is asked for again is not left open, whatever it is asked for with.
                lists.pop(key, None)
                waiting.pop(key, None)
            elif call.method not in _NO_WORK:
                for other in tuple(waiting):
                    if other[1:] == key[1:]:
                        lists[other].later = item
                        waiting.pop(other, None)
        elif item is call.answer and call.method in LISTS and _next(item) is not None:
            lists[key] = _Open(item, call.walk)
            waiting[key] = None
    return [one for one in lists.values() if one.later is not None]


def _shrank(one: _Open) -> tuple[int, int] | None:
    """The size of the pages of a list, and of the last one, where that is smaller."""
    walk = one.walk
    pages = [] if walk is None else [len(_page(call.answer, walk.method)) for call in walk.calls]
    if len(pages) < 2 or len(set(pages[:-1])) != 1 or pages[-1] >= pages[0]:
        return None
    return pages[0], pages[-1]


def _in_part(connection: Connection) -> Iterator[Found]:
    for one in _left_open(connection):
        if one.later is not None and _shrank(one) is None:
            method, cursor = one.answer.method, _next(one.answer)
            empty = (
                " An empty string is a cursor like any other."
                if cursor == "" and one.answer.era == "modern"
                else ""
            )
            yield Found(
                one.later,
                f"The client goes on, and has not asked for the page of {method} behind the cursor "
                f"{show(cursor)}. If it wanted the whole list, it has a part of it.{empty}",
                hint="Ask on until a page has no nextCursor.",
            )


def _size_assumed(connection: Connection) -> Iterator[Found]:
    for one in _left_open(connection):
        sizes = _shrank(one)
        if one.later is not None and sizes is not None:
            yield Found(
                one.later,
                f"The client goes on after a page of {one.answer.method} with {sizes[1]} members, where the "
                f"pages before had {sizes[0]}. It has a nextCursor, so that the client probably took a short "
                "page for the last one.",
                hint="Ask on until a page has no nextCursor; the size of a page means nothing.",
                level=NOTE,
            )


class _Restarts:
    """How one list with an empty cursor is begun anew."""

    __slots__ = ("answer", "followed", "requests")

    def __init__(self) -> None:
        self.answer: Item | None = None
        self.followed = False
        self.requests: list[Item] = []


def _empty(connection: Connection) -> Iterator[Found]:
    if connection.client in INTERMEDIARIES or not connection.walks:
        return
    lists: dict[tuple[str, str | None], _Restarts] = {}
    for item in connection.items:
        if item.kind == "notification" and item.method in LISTS_OF:
            for (method, _), one in lists.items():
                if method in LISTS_OF[item.method]:
                    one.answer = None
        call = item.call
        if call is None or call.method not in LISTS or call.era != "modern":
            continue
        one = lists.setdefault((call.method, call.principal), _Restarts())
        if item is call.request:
            if _cursor(call) == "":
                one.followed = True
            elif "cursor" not in item.params and one.answer is not None and _is_fresh(one.answer, item):
                one.requests.append(item)
                one.answer = None
        elif item is call.answer:
            one.answer = item if _next(item) == "" else None
    for one in lists.values():
        if not one.followed:
            # Once may be for a reason of its own; again and again is a loop.
            level = None if len(one.requests) > 1 else NOTE
            for request in one.requests:
                yield Found(
                    request,
                    f'The page before had the cursor "" for the next one, and the client asks for the first '
                    f"page of {request.method} again, which is still fresh: most likely it took the empty "
                    "string for no cursor.",
                    hint="Look whether nextCursor is there, not whether it is empty, and send it back.",
                    level=level,
                )


def _is_fresh(answer: Item, later: Item) -> bool:
    ttl_ms: Any = answer.result.get("ttlMs")
    if isinstance(ttl_ms, bool) or not isinstance(ttl_ms, int | float) or ttl_ms <= 0:
        return False
    if answer.at_ms is None or later.at_ms is None:
        return True
    return later.at_ms < answer.at_ms + ttl_ms


def _rule(
    id: str,
    level: Level,
    bound: Any,
    page: str,
    sentence: str,
    part: type[Any],
    check: Check,
    *,
    needs: tuple[str, ...] = (),
    revisions: frozenset[str] = ALL,
) -> Rule:
    pages: dict[Era, str] = {}
    if revisions & MODERN:
        pages["modern"] = page
    if revisions & LEGACY:
        pages["legacy"] = page
    return Rule(id, level, bound, revisions, pages, sentence, on=each(part, needs=needs), check=check)


PAGINATION: Final[tuple[Rule, ...]] = (
    _rule(
        "pagination-cursor-is-opaque",
        MUST,
        "client",
        GUIDELINES,
        "A client sends a cursor back as it got it, and makes up none.",
        Trace,
        _opaque,
        needs=("cursor",),
    ),
    _rule(
        "pagination-cursor-stays-in-its-session",
        MUST,
        "client",
        GUIDELINES,
        "A client does not use a cursor of one session in another.",
        Trace,
        _across_sessions,
        needs=("cursor",),
        revisions=LEGACY,
    ),
    _rule(
        "pagination-cursor-of-another-list",
        NOTE,
        "client",
        MODEL,
        "A cursor is a position in the list that gave it out.",
        Trace,
        _of_another_list,
        needs=("cursor",),
    ),
    _rule(
        "pagination-empty-cursor-is-a-cursor",
        MUST,
        "client",
        GUIDELINES,
        "A client sends an empty cursor back as any other: it is not the end of the list.",
        Connection,
        _empty,
        needs=("nextCursor",),
        revisions=MODERN,
    ),
    _rule(
        "pagination-missing-cursor-is-the-end",
        SHOULD,
        "client",
        GUIDELINES,
        "A client takes a page without nextCursor for the last one.",
        Trace,
        _missing_is_the_end,
        needs=("cursor",),
    ),
    _rule(
        "pagination-list-is-read-in-part",
        NOTE,
        "client",
        GUIDELINES,
        "A client that wants the whole list asks on until a page has no nextCursor.",
        Connection,
        _in_part,
        needs=("nextCursor",),
    ),
    _rule(
        "pagination-page-size-is-not-assumed",
        MUST,
        "client",
        MODEL,
        "A client does not take a short page for the last one.",
        Connection,
        _size_assumed,
        needs=("nextCursor",),
    ),
    _rule(
        "pagination-list-has-an-end",
        NOTE,
        "server",
        FORMAT,
        "There is a nextCursor only if more of the list follows.",
        Walk,
        _ends,
    ),
    Rule(
        "pagination-no-cursor-is-left-out",
        NOTE,
        "server",
        ALL,
        {"modern": FORMAT, "legacy": FORMAT},
        "Where there is no next page, there is no nextCursor.",
        on=results(*sorted(LISTS)),
        check=_null,
    ),
    _rule(
        "pagination-cursors-are-stable",
        SHOULD,
        "server",
        GUIDELINES,
        "A server knows the cursors that it has given out.",
        Connection,
        _stable,
        needs=("cursor", "nextCursor"),
    ),
    _rule(
        "pagination-invalid-cursor-is-refused",
        SHOULD,
        "server",
        ERRORS,
        "A cursor that is not valid is answered with the error -32602.",
        Trace,
        _code,
        needs=("cursor",),
    ),
)
