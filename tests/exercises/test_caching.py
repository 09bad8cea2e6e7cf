"""Exercises 07: caching. What learners might write, right and wrong.

A right answer here is not the solution. A wrong one stands with words of what the check sees in it, and with
words of the rule or of what to look at next.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any, Final

import anyio
import pytest

from mcpsim import Cache, Client, Gateway, ProtocolError, StreamableHttp, simulate
from mcpsim.course import exercises, staff_desk
from mcpsim.course.exercises import ExerciseSet
from tests.exercises.answers import *  # noqa: F403 - the tests that every set shares

LIST: Final = "resources/list"
READ: Final = "resources/read"
UPDATED: Final = "notifications/resources/updated"
SIX: Final = (
    "server/discover",
    "tools/list",
    "prompts/list",
    LIST,
    "resources/templates/list",
    READ,
)


@pytest.fixture
def set_of() -> Callable[..., ExerciseSet]:
    return exercises.caching


# --- 07, who may be given it ----------------------------------------------------------------------

WHO: Final = {
    "A": "anybody",
    "B": "ada",
    "C": "nobody",
    "D": "nobody",
    "E": "anybody",
    "F": "nobody",
    "G": "nobody",
    "H": "nobody",
    "I": "nobody",
    "J": "ada",
    "K": "anybody",
    "L": "nobody",
}

GETS: Final = [
    ("who_gets", dict(reversed(WHO.items()))),
    ("who_gets", {**WHO, "B": "anybody"}, "B is not 'anybody'. It is fresh", "MUST NOT be shared"),
    ("who_gets", {**WHO, "C": "anybody"}, "it is stale, whoever it is for", "now < time received"),
    ("who_gets", {**WHO, "D": "anybody"}, "no cacheable method", "Six methods"),
    ("who_gets", {**WHO, "F": "ada"}, "a question, and no content", "not cacheable"),
    ("who_gets", {**WHO, "G": "ada"}, "may answer otherwise next time", "MUST NOT be cached"),
    ("who_gets", {**WHO, "H": "anybody"}, "A negative time counts as 0", "SHOULD be taken for 0"),
    ("who_gets", {**WHO, "I": "ada"}, "No time counts as 0", "SHOULD be taken for 0"),
    ("who_gets", {**WHO, "J": "nobody"}, "A page is a result of its own", "same authorization context"),
    ("who_gets", {**WHO, "K": "ada"}, "Public is public", "from an authenticated endpoint"),
    ("who_gets", {**WHO, "L": "anybody"}, "not right any more", "invalidates a cached result"),
    ("who_gets", {**WHO, "E": "everybody"}, "E: 'everybody' is none of the words", "The words are"),
    ("who_gets", {**WHO, "L": ...}, "11 of 12 are answered", "Still open: L"),
]

# --- 07, does it answer this request? -------------------------------------------------------------


def fits_step_by_step(entry: Any, method: str, params: Any, principal: str) -> bool:
    if entry.method != method or method not in SIX:
        return False
    if entry.result["resultType"] != "complete":
        return False
    for retry in ("inputResponses", "requestState"):
        if retry in params:
            return False
    if json.dumps(entry.params, sort_keys=True) != json.dumps(params, sort_keys=True):
        return False
    return entry.result.get("cacheScope", "private") != "private" or entry.principal == principal


def fits_but(**changed: Any) -> Any:
    """Right but for some of its parts, which are left out, or done in another way."""

    def same(entry: Any, method: str, params: Any, principal: str) -> bool:
        return entry.params == params

    def own(entry: Any, method: str, params: Any, principal: str) -> bool:
        return entry.result.get("cacheScope") == "public" or entry.principal == principal

    parts: dict[str, Any] = {
        "cacheable": lambda entry, method, params, principal: method in SIX,
        "complete": lambda entry, *asked: entry.result["resultType"] == "complete",
        "retry": lambda entry, method, params, principal: (
            "inputResponses" not in params and "requestState" not in params
        ),
        "method": lambda entry, method, params, principal: entry.method == method,
        "same": same,
        "own": own,
    } | changed
    return lambda *given: all(part(*given) for part in parts.values())


def anything(*given: Any) -> bool:
    return True


def by_uri_or_cursor(entry: Any, method: str, params: Any, principal: str) -> bool:
    return all(entry.params.get(key) == params.get(key) for key in ("uri", "cursor"))


def by_true_cursor(entry: Any, method: str, params: Any, principal: str) -> bool:
    rest = {key: value for key, value in params.items() if key != "cursor"}
    kept = {key: value for key, value in entry.params.items() if key != "cursor"}
    return rest == kept and (entry.params.get("cursor") or "") == (params.get("cursor") or "")


def in_small_letters(entry: Any, method: str, params: Any, principal: str) -> bool:
    return str(entry.params).lower() == str(params).lower()


def public_unless_private(entry: Any, method: str, params: Any, principal: str) -> bool:
    return entry.result.get("cacheScope") != "private" or entry.principal == principal


FITTING: Final = [
    ("fits", fits_step_by_step),
    ("fits", fits_but()),
    ("fits", fits_but(own=anything)),
    ("fits", fits_but(own=lambda entry, m, p, principal: entry.principal == principal)),
    ("fits", fits_but(same=by_uri_or_cursor)),
    ("fits", fits_but(same=by_true_cursor)),
    ("fits", fits_but(same=in_small_letters)),
    ("fits", fits_but(same=anything)),
    ("fits", fits_but(method=anything)),
    ("fits", fits_but(retry=anything)),
    ("fits", fits_but(retry=lambda entry, m, params, p: "inputResponses" not in params)),
    ("fits", fits_but(cacheable=anything)),
    ("fits", fits_but(complete=anything)),
    ("fits", fits_but(own=public_unless_private)),
    ("fits", fits_but(own=lambda entry, m, p, who: entry.result["cacheScope"] == "public")),
    ("fits", lambda *given: 1),
]
WHY_NOT: Final = [
    (),
    (),
    ("The same request, private, of another caller.", "MUST NOT be shared"),
    ("The same request, public, of another caller.", "MAY keep a `public` result"),
    ("Another value inside of a parameter.", "MUST NOT serve"),
    ("An empty cursor where there was none.", "MUST NOT serve"),
    ("A URI in other letters.", "MUST NOT serve"),
    ("Another URI.", "MUST NOT serve"),
    ("Another method.", "MUST NOT serve"),
    ("A result of a retry, and the same retry.", "MUST NOT be cached"),
    ("with a request state alone", "MUST NOT be cached"),
    ("The same tool call.", "Six methods"),
    ("An interim result", "not cacheable"),
    ("without a `cacheScope`, of another caller. Kept for", "To take it for private is careful"),
    ("raised KeyError: 'cacheScope'", "Call it yourself"),
    ("returned 1", "True or False"),
]
FITS: Final = [(*row, *why) for row, why in zip(FITTING, WHY_NOT, strict=True)]

# --- 07, fresh by time and by news ----------------------------------------------------------------


def fresh_by_cases(entry: Any, news: Any, now_ms: Any) -> bool:
    ttl_ms = entry.result.get("ttlMs")
    if not ttl_ms or ttl_ms < 0 or now_ms - entry.received_ms >= ttl_ms:
        return False
    for at_ms, method, params in reversed(news):
        if at_ms < entry.received_ms:
            continue
        group = method.removeprefix("notifications/")
        if group == "resources/updated":
            if entry.method == READ and params["uri"] == entry.params["uri"]:
                return False
        elif group == f"{entry.method}_changed":
            return False
    return True


def fresh_when(told: Callable[[Any, Any, int], bool], at_the_end: int = 0) -> Any:
    """Fresh by time, with some way to read the news."""

    def is_fresh(entry: Any, news: Any, now_ms: int) -> bool:
        in_time = now_ms - at_the_end < entry.received_ms + entry.result.get("ttlMs", 0)
        return in_time and not told(entry, news, now_ms)

    return is_fresh


def concerned(entry: Any, method: str, params: Any) -> bool:
    lists = method == f"notifications/{entry.method}_changed"
    return lists or (method == UPDATED and entry.method == READ and params["uri"] == entry.params["uri"])


def since(entry: Any, news: Any) -> list[Any]:
    return [(method, params) for at_ms, method, params in news if at_ms >= entry.received_ms]


def fresh_with_key_error(entry: Any, news: Any, now_ms: int) -> bool:
    return now_ms < entry.received_ms + entry.result["ttlMs"]


FRESHES: Final = [
    ("still_fresh", fresh_by_cases),
    (
        "still_fresh",
        fresh_when(lambda entry, news, now: any(concerned(entry, *one) for one in since(entry, news))),
    ),
    (
        "still_fresh",
        fresh_when(lambda entry, news, now: False),
        "the server said that this list has changed",
        "stale at once",
    ),
    (
        "still_fresh",
        fresh_when(lambda entry, news, now: bool(since(entry, news))),
        "and another list has changed",
        "SHOULD consider the result fresh",
    ),
    (
        "still_fresh",
        fresh_when(lambda entry, news, now: any(concerned(entry, *one[1:]) for one in news)),
        " ms before that. ",
        "SHOULD consider the result fresh",
    ),
    (
        "still_fresh",
        fresh_when(
            lambda entry, news, now: any(
                method == f"notifications/{entry.method}_changed"
                or (method == UPDATED and entry.method == READ)
                for method, _ in since(entry, news)
            )
        ),
        "another resource was updated",
        "SHOULD consider the result fresh",
    ),
    (
        "still_fresh",
        fresh_when(
            lambda entry, news, now: any(
                not entry.params and concerned(entry, *one) for one in since(entry, news)
            )
        ),
        "a page, in its time, and the server said that this list has changed",
        "stale at once",
    ),
    (
        "still_fresh",
        fresh_when(lambda *given: False, at_the_end=1),
        "at the very end of its time",
        "now < time received",
    ),
    ("still_fresh", fresh_with_key_error, "raised KeyError: 'ttlMs'", "absent or negative SHOULD be taken"),
    ("still_fresh", lambda entry, news, now_ms: "yes", "returned 'yes'", "True or False"),
]

# --- 07, a cache for a host -----------------------------------------------------------------------


class WithTheWorkbooksOwn:
    """The simulator's own cache is a right answer too."""

    def __init__(self) -> None:
        self.cache = Cache()

    def get(self, method: str, params: Any, principal: str, now_ms: int) -> Any:
        entry = self.cache.get(method, params, now_ms, principal)
        return entry.result if entry is not None and entry.is_fresh(now_ms) else None

    def put(self, method: str, params: Any, principal: str, result: Any, now_ms: int) -> None:
        self.cache.store(method, params, result, now_ms, principal)

    def notified(self, method: str, params: Any, now_ms: int) -> None:
        self.cache.invalidate(method, params)


class ByKey:
    """A dict by method, parameters and owner; what a notification is about is dropped."""

    def __init__(self) -> None:
        self.kept: dict[Any, Any] = {}

    def key(self, method: str, params: Any, owner: str) -> Any:
        return method, json.dumps(params, sort_keys=True), owner

    def owner(self, principal: str, result: Any) -> str:
        return "" if result["cacheScope"] == "public" else principal

    def may_keep(self, method: str, params: Any, result: Any) -> bool:
        retry = "inputResponses" in params or "requestState" in params
        return method in SIX and not retry and result["resultType"] == "complete"

    def until(self, result: Any, now_ms: int) -> int:
        return now_ms + int(result["ttlMs"])

    def get(self, method: str, params: Any, principal: str, now_ms: int) -> Any:
        for owner in ("", principal):
            result, until_ms = self.kept.get(self.key(method, params, owner), (None, 0))
            if now_ms < until_ms:
                return result
        return None

    def put(self, method: str, params: Any, principal: str, result: Any, now_ms: int) -> None:
        if self.may_keep(method, params, result):
            key = self.key(method, params, self.owner(principal, result))
            self.kept[key] = result, self.until(result, now_ms)

    def notified(self, method: str, params: Any, now_ms: int) -> None:
        for key in [key for key in self.kept if self.concerned(key, method, params)]:
            del self.kept[key]

    def concerned(self, key: Any, method: str, params: Any) -> bool:
        if method == UPDATED:
            return key[0] == READ and json.loads(key[1])["uri"] == params["uri"]
        return method == f"notifications/{key[0]}_changed"


class SharesAll(ByKey):
    def owner(self, principal: str, result: Any) -> str:
        return ""


class SharesNothing(ByKey):
    def owner(self, principal: str, result: Any) -> str:
        return principal


class ByMethodAlone(ByKey):
    def key(self, method: str, params: Any, owner: str) -> Any:
        return method, "{}", owner

    def concerned(self, key: Any, method: str, params: Any) -> bool:
        return method == f"notifications/{key[0]}_changed"


class KeepsCalls(ByKey):
    def may_keep(self, method: str, params: Any, result: Any) -> bool:
        return super().may_keep("tools/list" if method == "tools/call" else method, params, result)


class KeepsRetries(ByKey):
    def may_keep(self, method: str, params: Any, result: Any) -> bool:
        return super().may_keep(method, {}, result)


class KeepsQuestions(ByKey):
    def may_keep(self, method: str, params: Any, result: Any) -> bool:
        return super().may_keep(method, params, {"resultType": "complete"})


class KeepsForEver(ByKey):
    def until(self, result: Any, now_ms: int) -> int:
        return 10**15


class InSeconds(ByKey):
    def until(self, result: Any, now_ms: int) -> int:
        return now_ms + int(result["ttlMs"]) // 1000


class Deaf(ByKey):
    def notified(self, method: str, params: Any, now_ms: int) -> None:
        """Hears nothing."""


class HearsOfTheFirstPage(ByKey):
    def concerned(self, key: Any, method: str, params: Any) -> bool:
        return super().concerned(key, method, params) and "cursor" not in json.loads(key[1])


class FreshAtTheEnd(ByKey):
    def until(self, result: Any, now_ms: int) -> int:
        return now_ms + int(result["ttlMs"]) + (1 if result["ttlMs"] else 0)


class Startled(ByKey):
    def notified(self, method: str, params: Any, now_ms: int) -> None:
        self.kept.clear()


class KeepsNothing(ByKey):
    def put(self, method: str, params: Any, principal: str, result: Any, now_ms: int) -> None:
        """Keeps nothing."""


class GivesEntries(ByKey):
    def get(self, method: str, params: Any, principal: str, now_ms: int) -> Any:
        found = super().get(method, params, principal, now_ms)
        return None if found is None else (found, now_ms)


class ForAllObjects(ByKey):
    everybodys: Final[dict[Any, Any]] = {}

    def __init__(self) -> None:
        self.kept = self.everybodys


class Unfinished:
    def get(self, method: str, params: Any, principal: str, now_ms: int) -> Any:
        return None


class Liar(dict[Any, Any]):
    """Claims to be every result."""

    def __eq__(self, other: object) -> bool:
        return True

    def __missing__(self, key: Any) -> Any:
        return 1

    __hash__ = None  # type: ignore[assignment]


class GivesLies(ByKey):
    def get(self, method: str, params: Any, principal: str, now_ms: int) -> Any:
        return Liar()


class Hiding(ByKey):
    @property
    def notified(self) -> Any:  # type: ignore[override]
        raise RuntimeError("not here")


class WantsMore(ByKey):
    def __init__(self, server: str) -> None:
        super().__init__()


CACHES: Final = [
    ("host_cache", WithTheWorkbooksOwn),
    ("host_cache", ByKey),
    ("host_cache", SharesAll, "and is private", "MUST NOT be shared"),
    ("host_cache", SharesNothing, "`get` returned None, and a public result came", "It is fresh"),
    ("host_cache", ByMethodAlone, "which is another request", "MUST NOT serve"),
    ("host_cache", KeepsCalls, "by tools/call", "Six methods"),
    ("host_cache", KeepsRetries, "'inputResponses'", "MUST NOT be cached"),
    ("host_cache", KeepsQuestions, "and may not be kept at all", "not cacheable"),
    ("host_cache", KeepsForEver, "and is stale", "now < time received"),
    ("host_cache", InSeconds, "`get` returned None", "SHOULD consider the result fresh"),
    ("host_cache", Deaf, "and a notification has come since", "stale at once"),
    ("host_cache", HearsOfTheFirstPage, "and a notification has come since", "stale at once"),
    ("host_cache", FreshAtTheEnd, "and is stale", "now < time received"),
    ("host_cache", ByKey(), "This is not a class: it is of type ByKey", "Pass the class itself"),
    ("host_cache", Startled, "`get` returned None", "nobody needs to ask"),
    ("host_cache", KeepsNothing, "`get` returned None", "nobody needs to ask"),
    ("host_cache", GivesEntries, "which nobody has put in", "Return a result as it came"),
    ("host_cache", ForAllObjects, "nobody has put in", "shared between two objects"),
    ("host_cache", Unfinished, "no method `put`", "`get`, `put` and `notified`"),
    ("host_cache", GivesLies, "which nobody has put in", "Return a result as it came"),
    ("host_cache", Hiding, "raised RuntimeError: not here", "Call it yourself"),
    ("host_cache", WantsMore, "raised TypeError", "Call it yourself"),
]

# --- 07, pages with clocks of their own -----------------------------------------------------------


def now() -> float:
    return anyio.current_time()


async def pages_in_a_loop(client: Any, kept: dict[Any, Any]) -> Any:
    """Keeps the moment until which a page is fresh."""
    for _ in range(3):
        names: list[str] = []
        cursor: Any = None
        try:
            while True:
                until_s, page = kept.get(cursor, (0, None))
                if page is None or now() >= until_s:
                    page = await client.request(LIST, {} if cursor is None else {"cursor": cursor})
                    kept[cursor] = now() + page["ttlMs"] / 1000, page
                names += [one["name"] for one in page["resources"]]
                if "nextCursor" not in page:
                    return tuple(names)
                cursor = page["nextCursor"]
        except ProtocolError as error:
            if error.code != -32602:
                raise
            kept.clear()
    return None


async def pages_with_the_workbooks_cache(client: Any, kept: dict[Any, Any]) -> Any:
    cache = kept.setdefault("cache", Cache())
    names: list[str] = []
    cursor: Any = None
    while True:
        params = {} if cursor is None else {"cursor": cursor}
        entry = cache.get(LIST, params, now() * 1000)
        if entry is None or not entry.is_fresh(now() * 1000):
            try:
                page = await client.request(LIST, params)
            except ProtocolError:
                cache.drop_pages(LIST)
                return await pages_with_the_workbooks_cache(client, kept)
            entry = cache.store(LIST, params, page, now() * 1000)
        names += [one["name"] for one in entry.result["resources"]]
        cursor = entry.result.get("nextCursor")
        if cursor is None:
            return names


def pages(
    *,
    fresh: Callable[[Any, float, Any], bool] = lambda page, since_s, kept: (
        now() < since_s + page["ttlMs"] / 1000
    ),
    more: Callable[[Any], bool] = lambda cursor: cursor is not None,
    drop: Callable[[Any, Any], None] = lambda kept, cursor: kept.clear(),
    stamp: Callable[[Any], float] = lambda kept: now(),
    anew: bool = True,
) -> Any:
    """A walk that is right but for what is given."""

    async def walk(client: Any, kept: dict[Any, Any]) -> Any:
        names: list[str] = []
        cursor: Any = None
        while True:
            page, since_s = kept.get(cursor, (None, 0))
            if page is None or not fresh(page, since_s, kept):
                try:
                    page = await client.request(LIST, {} if cursor is None else {"cursor": cursor})
                except ProtocolError:
                    if not anew:
                        raise
                    drop(kept, cursor)
                    return await walk(client, kept)
                kept[cursor] = page, stamp(kept)
            names += [one["name"] for one in page["resources"]]
            cursor = page.get("nextCursor")
            if not more(cursor):
                return names

    return walk


async def pages_all_or_nothing(client: Any, kept: dict[Any, Any]) -> Any:
    """The whole list is kept for as long as its first page says."""
    if "names" not in kept or now() >= kept["until"]:
        found = [page async for page in client.pages(LIST)]
        kept["names"] = [one.name for page in found for one in page.resources]
        kept["until"] = now() + found[0].ttl_ms / 1000
    return kept["names"]


async def pages_all_when_one_is_stale(client: Any, kept: dict[Any, Any]) -> Any:
    if "names" not in kept or now() >= kept["until"]:
        found = [page async for page in client.pages(LIST)]
        kept["names"] = [one.name for page in found for one in page.resources]
        kept["until"] = now() + min(page.ttl_ms for page in found) / 1000
    return kept["names"]


async def pages_last_only(client: Any, kept: dict[Any, Any]) -> Any:
    names = await pages_in_a_loop(client, kept)
    return names[-2:]


def drop_nothing_but_the_start(kept: Any, cursor: Any) -> None:
    """Drops the first page and the refused one, and thinks that the others are still good."""
    kept.pop(None, None)
    kept.pop(cursor, None)


def first_stamp(kept: Any) -> float:
    """One clock for all pages: when the first one came."""
    return kept[None][1] if None in kept else now()


async def pages_since_they_were_asked_for(client: Any, kept: dict[Any, Any]) -> Any:
    names: list[str] = []
    cursor: Any = None
    while True:
        page, asked_s = kept.get(cursor, (None, 0))
        if page is None or now() >= asked_s + page["ttlMs"] / 1000:
            asked_s = now()
            try:
                page = await client.request(LIST, {} if cursor is None else {"cursor": cursor})
            except ProtocolError:
                kept.clear()
                return await pages_since_they_were_asked_for(client, kept)
            kept[cursor] = page, asked_s
        names += [one["name"] for one in page["resources"]]
        cursor = page.get("nextCursor")
        if cursor is None:
            return names


CLOCKS: Final = [
    ("page_clocks", pages_in_a_loop),
    ("page_clocks", pages_with_the_workbooks_cache),
    ("page_clocks", pages()),
    (
        "page_clocks",
        pages(fresh=lambda *given: False),
        "It is needed at 3 s. `walk` asked for the first page, the page at 'a' and the page at 'b', and "
        "should ask for no page",
        "still fresh",
    ),
    (
        "page_clocks",
        pages(fresh=lambda *given: True),
        "It is needed at 10 s. `walk` asked for no page, and should ask for the page at 'b'",
        "missing, or stale by now",
    ),
    (
        "page_clocks",
        pages(fresh=lambda page, since_s, kept: now() < since_s + page["ttlMs"]),
        "It is needed at 10 s. `walk` asked for no page",
        "clock starts when that page was received",
    ),
    (
        "page_clocks",
        pages(fresh=lambda page, since_s, kept: now() < kept[None][1] + kept[None][0]["ttlMs"] / 1000),
        "It is needed at 10 s. `walk` asked for no page",
        "with its own `ttlMs`",
    ),
    ("page_clocks", pages(stamp=first_stamp), "It is needed at 12 s", "The page at 'b': still fresh"),
    (
        "page_clocks",
        pages(more=bool),
        "asked for the first page, and should ask for the first page, the page at '' and the page at 'b'",
        "The page at '' and the page at 'b': missing",
    ),
    (
        "page_clocks",
        pages(anew=False),
        "raised ProtocolError: -32602",
        "except ProtocolError",
    ),
    (
        "page_clocks",
        pages(drop=lambda kept, cursor: kept.pop(None, None)),
        "refuses the cursor of the second page",
        "SHOULD discard all cached pages",
    ),
    (
        "page_clocks",
        pages(drop=drop_nothing_but_the_start),
        "should ask for the page at 'a', the first page, the page at 'x' and the page at 'b'",
        "SHOULD discard all cached pages",
    ),
    ("page_clocks", pages_all_or_nothing, "It is needed at 10 s.", "missing, or stale by now"),
    ("page_clocks", pages_all_when_one_is_stale, "It is needed at 10 s.", "still fresh"),
    (
        "page_clocks",
        pages_since_they_were_asked_for,
        "come four seconds after they were asked for. It is needed at 22 s.",
        "still fresh",
    ),
    ("page_clocks", pages_last_only, "The right pages were asked for.", "the names of all pages"),
]


ALL: Final[list[tuple[Any, ...]]] = [*GETS, *FITS, *FRESHES, *CACHES, *CLOCKS]


# --- The desk of the lesson -----------------------------------------------------------------------


async def both_look(ada: Client, ben: Client) -> list[list[str]]:
    return [[tool.name for tool in (await client.list_tools()).tools] for client in (ada, ben)]


@pytest.mark.parametrize(
    ("scope", "seen"),
    [
        ("private", [["close_ticket", "open_ticket"], ["open_ticket"]]),
        ("public", [["close_ticket", "open_ticket"]] * 2),
    ],
)
def test_a_private_list_is_shared_where_its_server_calls_it_public(scope: str, seen: list[list[str]]) -> None:
    people = {name: Client(name, principal=name) for name in ("ada", "ben")}
    desk = staff_desk(cache_scope=scope)
    run = simulate(both_look, server=desk, client=people, transport=StreamableHttp(), gateway=Gateway())
    assert run.value == seen


@pytest.mark.parametrize(("who", "allowed"), [("ada", True), ("ben", False), ("", False)])
def test_the_desk_checks_by_itself_who_may_call(who: str, allowed: bool) -> None:
    async def close(client: Client) -> bool:
        try:
            await client.call_tool("close_ticket", {"number": "T-1"})
        except ProtocolError:
            return False
        return True

    client = Client(principal=who)
    assert simulate(close, server=staff_desk(), client=client, transport=StreamableHttp()).value is allowed
