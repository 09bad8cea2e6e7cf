"""Exercises 04: stateless. What learners might write, right and wrong.

A right answer here is not the solution. A wrong one stands with words of what the check sees in it, and with
words of the rule or of what to look at next.
"""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from typing import Any, Final

import pytest

from mcpsim import ProtocolError, RequestTimeout
from mcpsim.course import exercises
from mcpsim.course.exercises import ExerciseSet
from tests.exercises.answers import *  # noqa: F403 - the tests that every set shares

VERSION: Final = "io.modelcontextprotocol/protocolVersion"
CAPABILITIES: Final = "io.modelcontextprotocol/clientCapabilities"
INFO: Final = "io.modelcontextprotocol/clientInfo"
NOW: Final = "2026-07-28"
FUTURE: Final = "2027-01-01"
CALL: Final = {"name": "book_visit", "arguments": {"day": "Monday"}}


@pytest.fixture
def set_of() -> Callable[..., ExerciseSet]:
    return exercises.stateless


# --- 04, a version from the future ----------------------------------------------------------------


async def future_by_raw_bytes(client: Any) -> Any:
    meta = {VERSION: FUTURE, CAPABILITIES: {}}
    reply = await client.send_raw(
        {"jsonrpc": "2.0", "id": 7, "method": "tools/list", "params": {"_meta": meta}}
    )
    return tuple(reply.answer.data["supported"])


async def future_and_more(client: Any) -> Any:
    await client.list_tools()
    try:
        await client.request("tools/list", meta={VERSION: FUTURE})
    except ProtocolError as error:
        return [*error.data["supported"]]


async def future_without_a_request(client: Any) -> Any:
    return [NOW]


async def future_with_todays_version(client: Any) -> Any:
    await client.list_tools()
    return [NOW]


async def future_not_caught(client: Any) -> Any:
    return await client.request("tools/list", meta={VERSION: FUTURE})


async def future_code(client: Any) -> Any:
    try:
        await client.request("tools/list", meta={VERSION: FUTURE})
    except ProtocolError as error:
        return error.code


async def future_whole_data(client: Any) -> Any:
    try:
        await client.request("tools/list", meta={VERSION: FUTURE})
    except ProtocolError as error:
        return error.data


async def future_known_by_heart(client: Any) -> Any:
    try:
        await client.request("tools/list", meta={VERSION: FUTURE})
    except ProtocolError:
        return [NOW]


async def future_without_capabilities(client: Any) -> Any:
    try:
        await client.request("tools/list", meta={VERSION: FUTURE, CAPABILITIES: None})
    except ProtocolError as error:
        return error.data


async def future_with_a_broken_line(client: Any) -> Any:
    await client.send_raw('{"jsonrpc": "2.0", "id": 8, "method": "tools/list"')
    return await future_by_raw_bytes(client)


async def future_with_a_batch(client: Any) -> Any:
    await client.send_raw([{"jsonrpc": "2.0", "id": 8, "method": "tools/list"}])
    return await future_by_raw_bytes(client)


async def future_with_a_wrong_notification(client: Any) -> Any:
    await client.notify("notifications/cancelled", {"requestId": [1]})
    return await future_by_raw_bytes(client)


async def future_with_a_response(client: Any) -> Any:
    await client.send_raw({"jsonrpc": "2.0", "id": 8, "result": {}})
    return await future_by_raw_bytes(client)


async def future_without_the_prefix(client: Any) -> Any:
    return await client.request("tools/list", meta={"protocolVersion": FUTURE})


async def future_by_discovery(client: Any) -> Any:
    found = await client.discover()
    return found.supported_versions


FUTURES: Final = [
    ("future", future_by_raw_bytes),
    ("future", future_and_more),
    ("future", future_without_a_request, "sends no request", "Every request declares"),
    (
        "future",
        future_with_todays_version,
        f"declare '{NOW}'; none declares '{FUTURE}'",
        "Every request declares",
    ),
    (
        "future",
        future_without_the_prefix,
        "under the key 'protocolVersion'",
        "prefix `io.modelcontextprotocol/`",
    ),
    ("future", future_by_discovery, f"none declares '{FUTURE}'", "meta={…}"),
    ("future", future_with_a_broken_line, "something that is no message", "MUST follow JSON-RPC"),
    ("future", future_with_a_batch, "neither a request nor a notification", "only servers send responses"),
    (
        "future",
        future_with_a_wrong_notification,
        "notifications/cancelled is not valid in",
        "source of truth",
    ),
    ("future", future_with_a_response, "neither a request nor a notification", "only servers send responses"),
    ("future", future_not_caught, "raised ProtocolError: -32022 UnsupportedProtocolVersion", "Catch it"),
    ("future", future_code, "returned -32022", "under `supported`"),
    ("future", future_whole_data, "returned {'requested'", "under `supported`"),
    (
        "future",
        future_known_by_heart,
        f"and `future_known_by_heart` returned ['{NOW}']",
        "lists the versions",
    ),
    ("future", future_without_capabilities, "the error -32602, not with -32022", "Change the version alone"),
]

# --- 04, choose and retry -------------------------------------------------------------------------


async def attempt(client: Any, version: str) -> list[str] | None:
    """The list of the error, or None where the version was accepted."""
    try:
        await client.request("tools/list", meta={VERSION: version})
    except ProtocolError as error:
        return error.data["supported"]
    return None


async def retry_with_sets(client: Any, spoken: list[str]) -> Any:
    listed = await attempt(client, spoken[0])
    if listed is None:
        return spoken[0]
    common = set(spoken) & set(listed)
    if not common:
        return None
    await client.request("tools/list", meta={VERSION: max(common)})
    return max(common)


async def retry_in_a_loop(client: Any, spoken: list[str]) -> Any:
    candidates = spoken[:1]
    while candidates:
        listed = await attempt(client, candidates[0])
        if listed is None:
            return candidates[0]
        candidates = [version for version in spoken if version in listed]
    return None


async def retry_first_of_the_list(client: Any, spoken: list[str]) -> Any:
    listed = await attempt(client, spoken[0])
    await attempt(client, listed[0])
    return listed[0]


async def retry_first_of_the_list_not_caught(client: Any, spoken: list[str]) -> Any:
    try:
        await client.request("tools/list", meta={VERSION: spoken[0]})
    except ProtocolError as error:
        first = error.data["supported"][0]
        await client.request("tools/list", meta={VERSION: first})
        return first


async def retry_by_heart(client: Any, spoken: list[str]) -> Any:
    await attempt(client, spoken[0])
    await attempt(client, NOW)
    return NOW


async def retry_all_in_turn(client: Any, spoken: list[str]) -> Any:
    for version in spoken:
        if await attempt(client, version) is None:
            return version
    return None


async def retry_without_asking_again(client: Any, spoken: list[str]) -> Any:
    listed = await attempt(client, spoken[0])
    return next((version for version in spoken if version in listed), None)


async def retry_discovers_first(client: Any, spoken: list[str]) -> Any:
    found = await client.discover()
    return next((version for version in spoken if version in found.supported_versions), None)


async def retry_returns_the_list(client: Any, spoken: list[str]) -> Any:
    await retry_with_sets(client, spoken)
    return spoken


async def retry_next_without_default(client: Any, spoken: list[str]) -> Any:
    listed = await attempt(client, spoken[0])
    version = next(version for version in spoken if version in listed)
    await client.request("tools/list", meta={VERSION: version})
    return version


def retry_without_async(client: Any, spoken: list[str]) -> Any:
    return spoken[0] if client else None


async def retry_legacy_as_well(client: Any, spoken: list[str]) -> Any:
    listed = await attempt(client, spoken[0])
    version = next((one for one in (*spoken, "2025-11-25") if one in listed), None)
    if "2025-11-25" in listed:
        version = "2025-11-25"
    if version is not None:
        await attempt(client, version)
    return version


async def retry_for_ever(client: Any, spoken: list[str]) -> Any:
    while await attempt(client, spoken[0]):
        pass


RETRIES: Final = [
    ("retry", retry_with_sets),
    ("retry", retry_in_a_loop),
    ("retry", retry_first_of_the_list, "which this client does not speak", "a version that both support"),
    (
        "retry",
        retry_first_of_the_list_not_caught,
        "should answer. `retry_first_of_the_list_not_caught` raised ProtocolError: -32022",
        "a version that both support",
    ),
    ("retry", retry_by_heart, f"'{NOW}', which this client does not speak", "in both lists"),
    (
        "retry",
        retry_without_async,
        "`retry_without_async` is a `def` and no `async def`",
        "Begin it with `async def`",
    ),
    (
        "retry",
        retry_legacy_as_well,
        f"declare, in this order: '{FUTURE}', '2025-11-25'. The server lists '2025-11-25' for sessions",
        "in both lists",
    ),
    ("retry", retry_all_in_turn, "declares '2026-12-01' all the same", "Read the list"),
    ("retry", retry_without_asking_again, "no request got a result", "Ask again"),
    ("retry", retry_discovers_first, f"The first request declares '{NOW}'", "`spoken[0]`"),
    ("retry", retry_returns_the_list, f"should return '{NOW}' and returned ['{FUTURE}'", "or None"),
    ("retry", retry_next_without_default, "RuntimeError: coroutine raised StopIteration", "simulate"),
    ("retry", retry_for_ever, "1000 messages and was not at its end", "for ever"),
]

# --- 04, capabilities -----------------------------------------------------------------------------


async def book(client: Any, capabilities: Any) -> int | None:
    try:
        await client.request("tools/call", CALL, meta={CAPABILITIES: capabilities})
    except ProtocolError as error:
        return error.code
    return None


async def three_in_a_loop(client: Any) -> Any:
    codes = [
        await book(client, declared) for declared in ({"elicitation": {"form": {}}}, None, {"roots": {}})
    ]
    return tuple(codes[1:])


async def three_by_raw_bytes(client: Any) -> Any:
    codes = []
    declared: tuple[dict[str, Any], ...] = ({CAPABILITIES: {"elicitation": {}}}, {}, {CAPABILITIES: {}})
    for id, capabilities in enumerate(declared):
        params = {**CALL, "_meta": {VERSION: NOW, **capabilities}}
        reply = await client.send_raw({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params})
        codes.append(getattr(reply.answer, "code", None))
    return codes[1:]


async def empty_is_not_missing(client: Any) -> Any:
    await book(client, {"elicitation": {}})
    return [await book(client, {}), await book(client, {"sampling": {}})]


async def first_without_elicitation(client: Any) -> Any:
    await book(client, {})
    return [await book(client, None), await book(client, {})]


async def does_not_wait_for_the_second(client: Any) -> Any:
    await book(client, {"elicitation": {}})
    try:
        await client.request("tools/call", CALL, meta={CAPABILITIES: None}, timeout_s=0.001)
    except RequestTimeout:
        return [-32602, await book(client, {})]


async def third_without_the_key(client: Any) -> Any:
    await book(client, {"elicitation": {}})
    return [await book(client, None), await book(client, None)]


async def third_is_allowed(client: Any) -> Any:
    await book(client, {"elicitation": {}})
    return [await book(client, None), await book(client, {"elicitation": {}, "sampling": {}})]


async def three_not_caught(client: Any) -> Any:
    await client.request("tools/call", CALL, meta={CAPABILITIES: {"elicitation": {}}})
    await client.request("tools/call", CALL, meta={CAPABILITIES: None})


async def only_two(client: Any) -> Any:
    await book(client, {"elicitation": {}})
    return [await book(client, None)]


async def codes_known_by_heart(client: Any) -> Any:
    return [-32602, -32021]


async def codes_as_text(client: Any) -> Any:
    return [str(code) for code in await three_in_a_loop(client)]


async def another_tool(client: Any) -> Any:
    call = {"name": "desk_hours", "arguments": {}}
    for capabilities in ({"elicitation": {}}, {}, {"sampling": {}}):
        await client.request("tools/call", call, meta={CAPABILITIES: capabilities})
    return [-32602, -32021]


async def with_a_handshake(client: Any) -> Any:
    await client.notify("notifications/initialized")
    return await three_in_a_loop(client)


CAPABILITY: Final = [
    ("capabilities", three_in_a_loop),
    ("capabilities", three_by_raw_bytes),
    ("capabilities", empty_is_not_missing, "The second call declares {}", "An empty object is an answer"),
    (
        "capabilities",
        first_without_elicitation,
        "The first call declares {}",
        "-32021, which says what is missing",
    ),
    (
        "capabilities",
        third_without_the_key,
        "third call has no `clientCapabilities` either",
        "Declare something",
    ),
    ("capabilities", third_is_allowed, "answered with a result, not with -32021", "not what the tool needs"),
    (
        "capabilities",
        three_not_caught,
        "2 times; it should be three times. `three_not_caught` raised",
        "Catch it",
    ),
    ("capabilities", only_two, "calls book_visit 2 times", "every request brings its own"),
    ("capabilities", codes_known_by_heart, "calls book_visit never", "every request brings its own"),
    ("capabilities", another_tool, "calls book_visit never", "every request brings its own"),
    ("capabilities", codes_as_text, "returned ['-32602', '-32021']", "two numbers"),
    (
        "capabilities",
        with_a_handshake,
        "notifications/initialized: the revision",
        "every message of a revision",
    ),
]

# --- 04, order ------------------------------------------------------------------------------------


def order_by_hand(tools: Any) -> Any:
    listed: list[Any] = []
    for tool in tools:
        at = sum(other["name"] > tool["name"] for other in listed)
        listed.insert(at, tool)
    return tuple(listed)


def order_by_everything(tools: Any) -> Any:
    return sorted(tools, key=json.dumps)


def order_by_set(tools: Any) -> Any:
    by_name = {tool["name"]: tool for tool in tools}
    return [by_name[name] for name in set(by_name)]


def order_in_place(tools: Any) -> Any:
    return tools.sort(key=lambda tool: tool["name"])


def order_and_drop(tools: Any) -> Any:
    return sorted(tools, key=lambda tool: tool["name"])[:3]


def order_and_change(tools: Any) -> Any:
    return [{**tool, "description": ""} for tool in order_by_everything(tools)]


def order_at_random(tools: Any) -> Any:
    return random.sample(tools, len(tools))


def order_until_tired(tools: Any, calls: list[int] = []) -> Any:  # noqa: B006
    """Right as long as it is asked directly, and then, in the server, not any more."""
    calls.append(len(calls))
    return sorted(tools, key=lambda tool: tool["name"], reverse=len(calls) > 37)


def only_names(tools: Any) -> Any:
    return sorted(tool["name"] for tool in tools)


ORDERS: Final = [
    ("order", order_by_hand),
    ("order", order_by_everything),
    ("order", lambda tools: tools, "Registered as", "must be in the tools themselves"),
    ("order", lambda tools: tools[::-1], "Registered as", "deterministic order"),
    (
        "order",
        lambda tools: sorted(tools, key=lambda tool: tool["description"]),
        "Registered as",
        "differ from",
    ),
    (
        "order",
        lambda tools: sorted(tools, key=lambda tool: len(tool["name"])),
        "Registered as",
        "differ from",
    ),
    (
        "order",
        lambda tools: sorted(tools, key=lambda tool: tool["name"].lower()),
        "Registered as",
        "differ from",
    ),
    ("order", order_by_set, "hashes strings in another way", "Do not go through a set"),
    ("order", order_at_random, "Called with the same list, it gave", "Leave chance out"),
    ("order", order_until_tired, "A server that lists its tools with your function", "deterministic"),
    ("order", order_in_place, "`order_in_place` returned None", "sorts in place"),
    ("order", order_and_drop, "was given 7 tools", "MUST answer"),
    ("order", order_and_change, "was given 7 tools", "do not change what is in it"),
    ("order", only_names, "was given 7 tools", "MUST answer"),
    ("order", sorted, "`sorted` raised TypeError", "Call it yourself"),
]

# --- 04, scope ------------------------------------------------------------------------------------

CHOICES: Final = {"A": ("public", 1), "B": ("private", 2), "C": ("private", 2), "D": ("public", 1)}


def chosen(**changes: Any) -> dict[str, Any]:
    return {**CHOICES, **changes}


SCOPES: Final = [
    ("scope", {letter: list(pair) for letter, pair in reversed(CHOICES.items())}),
    ("scope", chosen(A=("private", 3)), "A: private does not fit", "may be shared between callers"),
    ("scope", chosen(B=("public", 1)), "B: public does not fit. Two callers", "holds nothing of one user"),
    ("scope", chosen(C=("public", 1)), "C: public does not fit", "holds nothing of one user"),
    ("scope", chosen(D=("private", 4)), "D: private does not fit", "hint how long"),
    ("scope", chosen(B=("private", 3)), "the reason is another one than 3", "What counts is"),
    ("scope", chosen(D=("public", 4)), "the reason is another one than 4", "hint how long"),
    ("scope", chosen(A="public"), "A: the answer is 'public'", "the number of a reason"),
    ("scope", chosen(A=("Public", 1)), "A: the answer is ('Public', 1)", "the number of a reason"),
    ("scope", chosen(A=("public", True)), "A: the answer is ('public', True)", "the number of a reason"),
    ("scope", chosen(D=...), "3 of 4 are answered", "Still open: D"),
]

# --- 04, cache ------------------------------------------------------------------------------------


def serve_step_by_step(entry: Any, principal: str, now_ms: int) -> bool:
    ttl_ms = max(0, entry.result.get("ttlMs") or 0)
    if now_ms - entry.received_ms >= ttl_ms:
        return False
    if entry.result.get("cacheScope") == "public":
        return True
    return entry.principal == principal


def serve(fresh: Callable[[Any, int], bool], fits: Callable[[Any, str], bool]) -> Callable[..., Any]:
    return lambda entry, principal, now_ms: fresh(entry, now_ms) and fits(entry, principal)


def is_fresh(entry: Any, now_ms: int) -> bool:
    return now_ms < entry.received_ms + entry.result.get("ttlMs", 0)


def fits(entry: Any, principal: str) -> bool:
    return entry.result.get("cacheScope") == "public" or entry.principal == principal


def serve_needs_a_ttl(entry: Any, principal: str, now_ms: int) -> bool:
    return now_ms < entry.received_ms + entry.result["ttlMs"] and fits(entry, principal)


def serve_needs_a_scope(entry: Any, principal: str, now_ms: int) -> bool:
    for_this_caller = entry.result["cacheScope"] == "public" or entry.principal == principal
    return is_fresh(entry, now_ms) and for_this_caller


def serve_legacy_for_ever(entry: Any, principal: str, now_ms: int) -> bool:
    return "cacheScope" not in entry.result or (is_fresh(entry, now_ms) and fits(entry, principal))


def serve_reads_the_scope_first(entry: Any, principal: str, now_ms: int) -> bool:
    """Without a scope, for nobody: right as well, for such a result is stale."""
    match entry.result:
        case {"cacheScope": "public", "ttlMs": ttl_ms}:
            return now_ms < entry.received_ms + ttl_ms
        case {"cacheScope": "private", "ttlMs": ttl_ms}:
            return now_ms < entry.received_ms + ttl_ms and entry.principal == principal
        case _:
            return False


def serve_if_not_private(entry: Any, principal: str) -> bool:
    """Takes what says nothing for public."""
    return entry.result.get("cacheScope") != "private" or entry.principal == principal


def serve_if_public_or_unsaid(entry: Any, principal: str) -> bool:
    return entry.result.get("cacheScope", "public") == "public" or entry.principal == principal


def serve_if_known(entry: Any, principal: str) -> bool:
    scope = entry.result.get("cacheScope")
    return scope in ("public", "tenant") or (scope == "private" and entry.principal == principal)


def serve_once(entry: Any, principal: str, now_ms: int, seen: list[Any] = []) -> bool:  # noqa: B006
    """Right at first, and then never again: what a host would not stand for long."""
    seen.append(entry)
    return serve_step_by_step(entry, principal, now_ms) and len(seen) <= 40


CACHES: Final = [
    ("cache", serve_step_by_step),
    ("cache", serve_reads_the_scope_first),
    (
        "cache",
        serve(
            is_fresh,
            lambda entry, who: who == entry.principal or "pub" in entry.result.get("cacheScope", ""),
        ),
    ),
    (
        "cache",
        serve(lambda entry, now: now <= entry.received_ms + entry.result.get("ttlMs", 0), fits),
        "at the very end of its time",
        "now < time received",
    ),
    (
        "cache",
        serve(lambda entry, now: now < entry.received_ms + 1000 * entry.result.get("ttlMs", 0), fits),
        "long stale",
        "in milliseconds",
    ),
    (
        "cache",
        serve(is_fresh, lambda entry, who: True),
        "fresh, private, for another caller",
        "another token",
    ),
    (
        "cache",
        serve(is_fresh, lambda entry, who: entry.principal == who),
        "fresh, public, for another caller",
        "to any user",
    ),
    (
        "cache",
        serve(is_fresh, lambda entry, who: entry.result.get("cacheScope") == "public"),
        "fresh, private, for the same caller",
        "Two questions",
    ),
    ("cache", serve(lambda entry, now: True, fits), "long stale", "fresh while"),
    ("cache", serve(is_fresh, serve_if_not_private), "and has no `cacheScope`", "is our reading"),
    ("cache", serve(is_fresh, serve_if_public_or_unsaid), "and has no `cacheScope`", "is our reading"),
    ("cache", serve(is_fresh, serve_if_known), "its `cacheScope` is none that there is", "is our reading"),
    (
        "cache",
        serve(lambda entry, now: now - entry.received_ms < abs(entry.result.get("ttlMs", 0)), fits),
        "`ttlMs` is negative",
        "taken for 0",
    ),
    ("cache", serve_needs_a_ttl, "raised KeyError: 'ttlMs' (in `serve_needs_a_ttl`", "Call it yourself"),
    (
        "cache",
        serve_needs_a_scope,
        "raised KeyError: 'cacheScope' (in `serve_needs_a_scope`, line",
        "none at all, SHOULD be taken for 0",
    ),
    (
        "cache",
        serve_needs_a_scope,
        "an entry that is of a legacy server: it has no `ttlMs` and no `cacheScope`",
        "Call it yourself",
    ),
    (
        "cache",
        serve_legacy_for_ever,
        "of a legacy server: it has no `ttlMs` and no `cacheScope`. It was received",
        "none at all, SHOULD be taken for 0",
    ),
    (
        "cache",
        lambda entry, principal, now_ms: "yes" if is_fresh(entry, now_ms) else "",
        "returned 'yes'",
        "True or False",
    ),
    ("cache", lambda entry: True, "raised TypeError", "Call it yourself"),
    ("cache", serve_once, "should have asked", "to any user"),
]

# --- 04, without a name ---------------------------------------------------------------------------


async def nameless_by_raw_bytes(client: Any) -> Any:
    params = {"_meta": {VERSION: NOW, CAPABILITIES: {}}}
    reply = await client.send_raw({"jsonrpc": "2.0", "id": "a", "method": "tools/list", "params": params})
    return tuple(tool["name"] for tool in reply.answer.result["tools"])


async def named(client: Any) -> Any:
    return [tool.name for tool in (await client.list_tools()).tools]


async def listed_without(client: Any, *keys: str, **more: Any) -> Any:
    meta = {**dict.fromkeys(keys), **more}
    return [tool["name"] for tool in (await client.request("tools/list", meta=meta))["tools"]]


async def nothing_at_all(client: Any) -> Any:
    try:
        await listed_without(client, INFO, CAPABILITIES, VERSION)
    except ProtocolError:
        return ["add_hours", "export_report", "find_ticket"]


async def empty_info(client: Any) -> Any:
    try:
        await client.request("tools/list", meta={INFO: {}})
    except ProtocolError:
        return []


async def another_name(client: Any) -> Any:
    result = await client.request("tools/list", meta={INFO: {"name": "", "version": ""}})
    return [tool["name"] for tool in result["tools"]]


async def counts_them(client: Any) -> Any:
    return len(await listed_without(client, INFO))


async def names_known_by_heart(client: Any) -> Any:
    await listed_without(client, INFO)
    return ["add_hours", "export_report", "find_ticket"]


async def only_says_so(client: Any) -> Any:
    return ["add_hours", "export_report", "find_ticket"]


async def with_another_version(client: Any) -> Any:
    try:
        return await client.request("tools/list", meta={INFO: None, VERSION: FUTURE})
    except ProtocolError:
        return ["add_hours", "export_report", "find_ticket"]


async def without_a_version(client: Any) -> Any:
    return await listed_without(client, INFO, VERSION)


NAMELESS: Final = [
    ("nameless", nameless_by_raw_bytes),
    ("nameless", lambda client: listed_without(client, INFO)),
    ("nameless", named, "`clientInfo` is still there", "SHOULD include"),
    ("nameless", another_name, "`clientInfo` is still there", "takes the key out"),
    ("nameless", nothing_at_all, "lacks io.modelcontextprotocol/protocolVersion", "MUST be in the `_meta`"),
    (
        "nameless",
        empty_info,
        "`clientInfo` is {}, and the answer is the error -32602",
        "a name and a version",
    ),
    (
        "nameless",
        without_a_version,
        "and the answer is the error -32602. `without_a_version` raised",
        "MUST refuse",
    ),
    ("nameless", counts_them, "returned 3", "its `tools` have names"),
    ("nameless", names_known_by_heart, "The server listed ['add_item', 'create_basket']", "have names"),
    ("nameless", only_says_so, "sends no `tools/list` request", ""),
]

# --- 04, required ---------------------------------------------------------------------------------

STRENGTH: Final = {"A": "MUST", "B": "MUST", "C": "SHOULD", "D": "MAY", "E": "MUST", "F": "SHOULD"}


def strong(**changes: Any) -> dict[str, Any]:
    return {**STRENGTH, **changes}


REQUIRED: Final = [
    ("required", dict(sorted(STRENGTH.items(), reverse=True))),
    (
        "required",
        strong(C="MUST"),
        "5 of 6 are right. C is not 'MUST'. It is `clientInfo`",
        "Clients SHOULD include it",
    ),
    ("required", strong(B="SHOULD"), "B is not 'SHOULD'. It is `clientCapabilities`", "An empty object says"),
    ("required", strong(D="SHOULD"), "D is not 'SHOULD'. It is `progressToken`", "Progress is optional"),
    ("required", strong(E="MAY"), "E is not 'MAY'. It is `resultType`", "MUST include it"),
    ("required", strong(F="MUST"), "F is not 'MUST'. It is `serverInfo`", "Servers SHOULD include it"),
    ("required", strong(A="must"), "A: 'must' is none of the words", "The words are"),
    ("required", strong(F=...), "5 of 6 are answered", "Still open: F"),
]


ALL: Final = [*FUTURES, *RETRIES, *CAPABILITY, *ORDERS, *SCOPES, *CACHES, *NAMELESS, *REQUIRED]
