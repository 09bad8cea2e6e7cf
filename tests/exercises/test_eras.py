"""Exercises 05: the eras side by side. What learners might write, right and wrong.

A right answer here is not the solution. A wrong one stands with words of what the check sees in it, and with
words of the rule or of what to look at next.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any, Final

import anyio
import pytest
from mcp_types.methods import (
    parse_server_notification,
    parse_server_request,
    parse_server_result,
    validate_client_notification,
    validate_client_request,
)
from pydantic import ValidationError

from mcpsim import McpSimError, ProtocolError
from mcpsim.course import exercises
from mcpsim.course.exercises import ExerciseSet
from mcpsim.course.exercises.set_05_eras_side_by_side.pairs import PAIRS
from mcpsim.course.exercises.set_05_eras_side_by_side.sort import FOUND, TO_CLIENT
from mcpsim.eras.revisions import LEGACY_REVISIONS, MODERN_REVISIONS, era_of
from mcpsim.errors import MalformedMessage
from mcpsim.messages import from_object
from tests.exercises.answers import *  # noqa: F403 - the tests that every set shares

# --- 05, sort -------------------------------------------------------------------------------------

SORTED: Final = {letter: one.word for letter, one in FOUND.items()}


def sorted_(**changes: Any) -> dict[str, Any]:
    return {**SORTED, **changes}


SORT: Final = [
    ("sort", dict(reversed(SORTED.items()))),
    ("sort", sorted_(A="modern"), "12 of 13 are right. A is not 'modern'", "MUST have the version"),
    ("sort", sorted_(B="modern"), "in the same way in both eras", "names the token"),
    ("sort", sorted_(C="either"), "It is a request of the server", "MUST NOT write requests"),
    ("sort", sorted_(D="neither"), "stands in a result", "`input_required`"),
    ("sort", sorted_(E="modern"), "The key in `_meta` looks modern", "MUST include `resultType`"),
    ("sort", sorted_(F="legacy"), "one of JSON-RPC's own", "standard error codes"),
    ("sort", sorted_(G="either"), "to which subscription", "carries the id"),
    ("sort", sorted_(H="modern"), "belongs to no subscription", "MUST NOT send what was not asked for"),
    ("sort", sorted_(I="legacy"), "only requests have to say the version", "`notifications/cancelled`"),
    ("sort", sorted_(J="legacy"), "never was such a method", "No messages are defined"),
    ("sort", sorted_(K="legacy"), "look at the id", "MUST NOT be null"),
    ("sort", sorted_(L="modern"), "Its value is a legacy revision", "MUST send the version"),
    ("sort", sorted_(M="either"), "the method and the name in headers", "in headers"),
    ("sort", dict.fromkeys(SORTED, "legacy"), "5 of 13 are right", "Ask both sides"),
    ("sort", sorted_(A="old"), "A: 'old' is none of the words", "The words are"),
    ("sort", sorted_(M=...), "12 of 13 are answered", "Still open: M"),
]


def is_valid(way: str, message: dict[str, Any], revision: str) -> bool:
    """Whether the official models of a revision take the message."""
    from_server = way == TO_CLIENT
    try:
        from_object({"jsonrpc": "2.0", **message})
        if "result" in message:
            # What is shown answers a call of a tool.
            parse_server_result("tools/call", revision, message["result"])
        elif "id" in message and "method" in message:
            check = parse_server_request if from_server else validate_client_request
            check(message["method"], revision, message.get("params"))
        elif "method" in message:
            notify = parse_server_notification if from_server else validate_client_notification
            notify(message["method"], revision, message.get("params"))
    except (ValidationError, KeyError, MalformedMessage):
        return False
    return True


@pytest.mark.parametrize("letter", [letter for letter, one in FOUND.items() if one.message is not None])
def test_the_official_models_agree(letter: str) -> None:
    """As far as they can: they let keys pass that a revision does not know, and know nothing of who asked."""
    one = FOUND[letter]
    assert one.message is not None
    way = TO_CLIENT if one.way == TO_CLIENT else one.way
    legacy = any(is_valid(way, dict(one.message), revision) for revision in LEGACY_REVISIONS)
    modern = any(is_valid(way, dict(one.message), revision) for revision in MODERN_REVISIONS)
    assert legacy or one.word in ("modern", "neither")
    assert modern or one.word in ("legacy", "neither")
    if one.word == "neither":
        assert not legacy
        assert not modern
    if letter in "ACE":
        assert not modern
    if letter == "D":
        assert not legacy


def test_what_was_found_is_shown_as_json() -> None:
    for letter, text in exercises.eras().found.items():
        message = FOUND[letter].message
        if message is not None:
            assert json.loads(text.split("  ", 1)[1]) == message


# --- 05, pairs ------------------------------------------------------------------------------------

PAIRED: Final = {letter: one.word for letter, one in PAIRS.items()}


def paired(**changes: Any) -> dict[str, Any]:
    return {**PAIRED, **changes}


PAIR: Final = [
    ("pairs", dict(reversed(PAIRED.items()))),
    ("pairs", paired(A="legacy"), "7 of 8 are right. A is not 'legacy'", "by the modern rules"),
    ("pairs", paired(B="legacy"), "never sends it", "Modern client, legacy server: fails"),
    ("pairs", paired(C="fails"), "the client speaks that too", "MUST answer with another one"),
    ("pairs", paired(D="legacy"), "but not the same", "SHOULD disconnect"),
    ("pairs", paired(E="fails"), "The probe was not answered", "the server is legacy"),
    ("pairs", paired(F="legacy"), "refuses `initialize`", "no way to go forward"),
    ("pairs", paired(G="legacy"), "belongs to the other client", "MAY serve both eras"),
    ("pairs", paired(H="fails"), "need none", "The client stays modern"),
    ("pairs", dict.fromkeys(PAIRED, "fails"), "3 of 8 are right", "what comes back"),
    ("pairs", paired(C="old"), "C: 'old' is none of the words", "The words are"),
]


def negotiated(client: tuple[str, ...], server: tuple[str, ...]) -> str:
    """What the rules say, by the versions alone."""
    if set(client) & set(server) & set(MODERN_REVISIONS):
        return "modern"
    spoken = [version for version in client if era_of(version) == "legacy"]
    offered = [version for version in server if era_of(version) == "legacy"]
    if not spoken or not offered:
        return "fails"
    answer = spoken[0] if spoken[0] in offered else offered[0]
    return "legacy" if answer in spoken else "fails"


@pytest.mark.parametrize("letter", PAIRS)
def test_the_versions_alone_say_the_same(letter: str) -> None:
    pair = PAIRS[letter]
    assert list(pair.client) == sorted(pair.client, reverse=True)
    assert list(pair.server) == sorted(pair.server, reverse=True)
    assert negotiated(pair.client, pair.server) == pair.word


# --- 05, choose -----------------------------------------------------------------------------------


def choose_by_hand(status: Any, body: Any, modern: Any, legacy: Any) -> Any:
    """Goes by what it cannot read."""
    fall_back = ["legacy", legacy[0]] if legacy else ["none", None]
    try:
        message = json.loads(body)
        listed = message["result"]["supportedVersions"] if "result" in message else None
        code = 0 if listed else message["error"]["code"]
        data = message["error"].get("data") if code else None
    except (TypeError, ValueError, KeyError):
        return fall_back
    match code:
        case 0:
            pass
        case -32022:
            listed = data["supported"]
        case -32020 | -32021:
            return ["modern", modern[0]]
        case _:
            return fall_back
    for version in modern:
        if version in listed:
            return ["modern", version]
    return ["none", None]


def choosing(change: Callable[..., Any]) -> Any:
    """A function that is right, but for some of the answers."""

    def choose(status: Any, body: Any, modern: Any, legacy: Any) -> Any:
        wrong = change(status, body, modern, legacy)
        return wrong if wrong is not None else choose_by_hand(status, body, modern, legacy)

    return choose


def by_one_code(status: Any, body: Any, modern: Any, legacy: Any) -> Any:
    is_other = bool(body) and '"error"' in body and "-3202" not in body and "-32601" not in body
    return ("none", None) if is_other and status is None else None


def every_error_is_legacy(status: Any, body: Any, modern: Any, legacy: Any) -> Any:
    return ("legacy", legacy[0]) if body and '"error"' in body and legacy else None


def only_the_version_is_modern(status: Any, body: Any, modern: Any, legacy: Any) -> Any:
    return ("legacy", legacy[0]) if body and legacy and ("-32021" in body or "-32020" in body) else None


def by_the_status(status: Any, body: Any, modern: Any, legacy: Any) -> Any:
    return ("legacy", legacy[0]) if status == 400 and legacy else None


def by_the_number_in_the_text(status: Any, body: Any, modern: Any, legacy: Any) -> Any:
    return ("modern", modern[0]) if status and "-32022" in body and '"supported"' not in body else None


def as_the_server_lists(status: Any, body: Any, modern: Any, legacy: Any) -> Any:
    return (
        ("modern", json.loads(body)["result"]["supportedVersions"][0])
        if body and '"result"' in body
        else None
    )


def the_newest_again(status: Any, body: Any, modern: Any, legacy: Any) -> Any:
    return ("modern", modern[0]) if body and '"code": -32022, "message"' in body else None


def falls_back_with_nothing(status: Any, body: Any, modern: Any, legacy: Any) -> Any:
    return ("legacy", None) if body is None and not legacy else None


def old_versions_from_the_list(status: Any, body: Any, modern: Any, legacy: Any) -> Any:
    return ("legacy", legacy[-1]) if len(legacy) > 1 and body == "" else None


def silence_is_an_error(status: Any, body: Any, modern: Any, legacy: Any) -> Any:
    return ("none", None) if body is None else None


def falls_back_where_nothing_is_common(status: Any, body: Any, modern: Any, legacy: Any) -> Any:
    if not body or '"supportedVersions"' not in body or not legacy:
        return None
    listed = json.loads(body)["result"]["supportedVersions"]
    return None if set(listed) & set(modern) else ("legacy", legacy[0])


def takes_the_first_in_common(status: Any, body: Any, modern: Any, legacy: Any) -> Any:
    if not body or '"supportedVersions"' not in body:
        return None
    listed = json.loads(body)["result"]["supportedVersions"]
    return "modern", [version for version in modern if version in listed][0]  # noqa: RUF015 - what learners do


CHOSEN: Final = [
    ("choose", choose_by_hand),
    ("choose", choosing(by_one_code), "-32602 (stdio)", "MUST NOT be keyed to one"),
    ("choose", choosing(every_error_is_legacy), "-32022 (stdio)", "do not fall back"),
    ("choose", choosing(only_the_version_is_modern), "-32021 (stdio)", "correct the request"),
    ("choose", choosing(by_the_status), "-32022 (HTTP 400)", "do not fall back"),
    ("choose", choosing(by_the_number_in_the_text), "<html>", "fall back to `initialize`"),
    ("choose", choosing(as_the_server_lists), "a result that lists", "that both speak"),
    (
        "choose",
        choosing(falls_back_where_nothing_is_common),
        "a result, and no version in common (stdio)",
        "`initialize` is of no use either",
    ),
    ("choose", choosing(takes_the_first_in_common), "raised IndexError", "`initialize` is of no use either"),
    ("choose", choosing(the_newest_again), "-32022 (stdio)", "Use one of its `supported` list"),
    ("choose", choosing(falls_back_with_nothing), "no answer (stdio)", "No response"),
    ("choose", choosing(old_versions_from_the_list), "the body ''", "fall back to `initialize`"),
    ("choose", choosing(silence_is_an_error), "no answer (stdio)", "the server is legacy"),
    ("choose", lambda *given: "legacy", "the returned value is 'legacy'", "Return a pair"),
    (
        "choose",
        lambda status, body, modern, legacy: choose_by_hand(
            status, json.dumps(json.loads(body)), modern, legacy
        ),
        "raised TypeError",
        "No response",
    ),
]

# --- 05, translate --------------------------------------------------------------------------------

PREFIX: Final = "io.modelcontextprotocol/"


def translated(session: list[dict[str, Any]], **how: Any) -> list[dict[str, Any]]:
    """Another right way: with a reason, with false where nothing is wanted, each message a copy."""
    hello = session[0]["params"]
    level: str | None = None
    open_: dict[str, Any] = {}
    sent: list[dict[str, Any]] = []
    for message in map(dict, session):
        method, params = message["method"], dict(message.get("params") or {})
        if method in ("initialize", "notifications/initialized", "ping", "notifications/roots/list_changed"):
            if how.get("keeps") == method:
                sent.append(message)
            continue
        if method == "logging/setLevel":
            level = params["level"]
            continue
        if method == "resources/unsubscribe":
            reason = {"requestId": open_[params["uri"]], "reason": "Enough"}
            sent.append({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": reason})
            continue
        if method == "resources/subscribe":
            open_[params["uri"]] = message["id"]
            wanted = {"resourceSubscriptions": [params["uri"]], "toolsListChanged": False}
            message["method"], params = "subscriptions/listen", {"notifications": wanted}
        meta = dict(params.get("_meta", {}))
        meta[PREFIX + "protocolVersion"] = how.get("version", MODERN_REVISIONS[-1])
        meta[PREFIX + "clientInfo"] = hello["clientInfo"]
        meta[PREFIX + "clientCapabilities"] = hello["capabilities"]
        if level is not None and message["method"] != "subscriptions/listen":
            meta[PREFIX + "logLevel"] = level
        message["params"] = {**params, "_meta": meta}
        sent.append(message)
    return sent


def with_change(change: Callable[[dict[str, Any]], Any]) -> Any:
    """A right translation, in which each message is changed afterwards."""

    def translate(session: Any) -> Any:
        sent = translated(session)
        return [one for one in sent if change(one) is not False]

    return translate


def without(key: str) -> Any:
    def change(message: dict[str, Any]) -> None:
        message["params"].get("_meta", {}).pop(PREFIX + key, None)

    return with_change(change)


def without_the_old_meta(message: dict[str, Any]) -> None:
    message["params"].get("_meta", {}).pop("progressToken", None)


def with_new_ids(message: dict[str, Any]) -> None:
    if "id" in message:
        message["id"] = f"new-{message['id']}"


def subscribing_the_old_way(message: dict[str, Any]) -> None:
    if message["method"] == "subscriptions/listen":
        message["method"] = "resources/subscribe"


def with_a_uri_in_the_filter(message: dict[str, Any]) -> None:
    wanted = message["params"].get("notifications")
    if wanted is not None:
        wanted["resourceSubscriptions"] = wanted["resourceSubscriptions"][0]


def never_unsubscribing(message: dict[str, Any]) -> bool:
    return message["method"] != "notifications/cancelled"


def with_ids_as_texts(message: dict[str, Any]) -> None:
    if message["method"] == "notifications/cancelled":
        message["params"]["requestId"] = str(message["params"]["requestId"])


def with_the_last_level(session: Any) -> Any:
    """Says the last level of the session in all requests."""
    levels = [one["params"]["level"] for one in session if one["method"] == "logging/setLevel"]
    sent = translated(session)
    for one in sent:
        one["params"].get("_meta", {})[PREFIX + "logLevel"] = levels[-1]
    return sent


def without_jsonrpc(message: dict[str, Any]) -> None:
    message.pop("jsonrpc")


TRANSLATED: Final = [
    ("translate", translated),
    ("translate", with_change(lambda message: None)),
    (
        "translate",
        without("protocolVersion"),
        "has no `io.modelcontextprotocol/protocolVersion`",
        "carries the",
    ),
    ("translate", without("clientInfo"), "has no `io.modelcontextprotocol/clientInfo`", "SHOULD say who"),
    ("translate", without("logLevel"), "in its `_meta` there is None", "set for each request"),
    (
        "translate",
        lambda session: translated(session, version=LEGACY_REVISIONS[-1]),
        "`io.modelcontextprotocol/protocolVersion` is '2025-11-25'",
        "with a modern version",
    ),
    ("translate", with_the_last_level, "The session's log level is None then", "until the next one"),
    ("translate", with_change(without_the_old_meta), "'progressToken'", "the keys that its `_meta` had"),
    ("translate", with_change(with_new_ids), "The id should be", "Keep the id"),
    (
        "translate",
        with_change(subscribing_the_old_way),
        "should be `subscriptions/listen`",
        "takes the place",
    ),
    ("translate", with_change(with_a_uri_in_the_filter), "The params should be", "its filter names"),
    ("translate", with_change(never_unsubscribing), "for `resources/unsubscribe`", "ends a subscription"),
    ("translate", with_change(with_ids_as_texts), "The params should be {'requestId'", "names the id"),
    ("translate", with_change(without_jsonrpc), "That is no message", "source of truth"),
    ("translate", lambda session: translated(session, keeps="ping"), "'method': 'ping'", "are removed"),
    (
        "translate",
        lambda session: translated(session, keeps="initialize"),
        "'method': 'initialize'",
        "are removed",
    ),
    ("translate", lambda session: session, "'method': 'initialize'", "are removed"),
    ("translate", lambda session: {}, "returned {}", "Return a list of messages"),
    ("translate", lambda session: [], "0 messages were returned", "in order"),
    ("translate", lambda session: [{"id": {1}}], "JSON cannot carry", "Only what JSON has"),
]

# --- 05, dual -------------------------------------------------------------------------------------


async def ask_by_doing(client: Any, spoken: Any, **how: Any) -> Any:
    """Another right way: it looks at the name of the error's class for nothing, and goes by the code."""
    modern = [one for one in spoken if one >= MODERN_REVISIONS[0]]
    legacy = [one for one in spoken if one < MODERN_REVISIONS[0]]
    for version in modern:
        client.version = version
        try:
            found = await client.request("server/discover", timeout_s=how.get("patience_s", 2))
        except ProtocolError as error:
            if error.code != -32022:
                break
            if not set(error.data["supported"]) & set(modern):
                return None
        except McpSimError:
            break
        else:
            if version in found["supportedVersions"]:
                return await names(client, version)
    else:
        return None
    result = await client.initialize(legacy[0])
    if result["protocolVersion"] not in legacy:
        return None
    await client.initialized()
    return await names(client, result["protocolVersion"])


async def names(client: Any, version: str) -> Any:
    found = await client.request("tools/list")
    return [version, [tool["name"] for tool in found["tools"]]]


async def ask_and_always_fall_back(client: Any, spoken: Any) -> Any:
    try:
        await client.request("server/discover", timeout_s=2)
    except McpSimError:
        await client.initialize(spoken[-1])
        await client.initialized()
        return await names(client, spoken[-1])
    return await names(client, client.version)


async def ask_and_fall_back_on_one_code(client: Any, spoken: Any) -> Any:
    try:
        await client.request("server/discover", timeout_s=2)
    except ProtocolError as error:
        if error.code == -32022:
            return await ask_by_doing(client, spoken)
        if error.code not in (-32600, -32601):
            return None
        return await open_session(client, spoken)
    return await names(client, client.version)


async def open_session(client: Any, spoken: Any) -> Any:
    legacy = [one for one in spoken if one < MODERN_REVISIONS[0]]
    version = (await client.initialize(legacy[0]))["protocolVersion"]
    await client.initialized()
    return await names(client, version)


async def never_modern(client: Any, spoken: Any) -> Any:
    return await open_session(client, spoken)


async def never_legacy(client: Any, spoken: Any) -> Any:
    return await names(client, client.version)


async def wait_longer(client: Any, spoken: Any) -> Any:
    return await ask_by_doing(client, spoken, patience_s=30)


async def wait_for_ever(client: Any, spoken: Any) -> Any:
    """As long as the client waits by itself, which is a minute."""
    return await ask_by_doing(client, spoken, patience_s=None)


async def wait_too_little(client: Any, spoken: Any) -> Any:
    return await ask_by_doing(client, spoken, patience_s=1)


class Impatient:
    """A client whose requests are given up by a scope around them, and not by a timeout of their own."""

    def __init__(self, client: Any) -> None:
        super().__setattr__("client", client)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.client, name)

    def __setattr__(self, name: str, value: Any) -> None:
        setattr(self.client, name, value)

    async def request(self, method: str, **how: Any) -> Any:
        with anyio.move_on_after(2):
            return await self.client.request(method)
        raise McpSimError("silent")


async def wait_with_a_scope(client: Any, spoken: Any) -> Any:
    return await ask_by_doing(Impatient(client), spoken)


async def return_a_set(client: Any, spoken: Any) -> Any:
    found = await ask_by_doing(client, spoken)
    return found and [found[0], set(found[1])]


async def catch_protocol_errors_only(client: Any, spoken: Any) -> Any:
    try:
        found = await client.request("server/discover", timeout_s=2)
    except ProtocolError as error:
        if error.code == -32022:
            return await ask_by_doing(client, spoken)
        return await open_session(client, spoken)
    return await names(client, found["supportedVersions"][0])


async def take_any_version(client: Any, spoken: Any) -> Any:
    try:
        await client.request("server/discover", timeout_s=2)
    except ProtocolError as error:
        if error.code == -32022:
            return await ask_by_doing(client, spoken)
        return await open_session(client, spoken)
    except McpSimError:
        return await open_session(client, spoken)
    return await names(client, client.version)


async def forget_to_be_ready(client: Any, spoken: Any) -> Any:
    class Impolite:
        """The client, without `initialized`."""

        def __getattr__(self, name: str) -> Any:
            return getattr(client, name)

        async def initialized(self) -> None:
            """Nothing."""

    return await ask_by_doing(Impolite(), spoken)


async def propose_the_oldest(client: Any, spoken: Any) -> Any:
    return await ask_by_doing(client, [spoken[0], *reversed(spoken[1:])])


async def return_the_version(client: Any, spoken: Any) -> Any:
    found = await ask_by_doing(client, spoken)
    return found and found[0]


async def find_nothing(client: Any, spoken: Any) -> Any:
    return None


DUAL: Final = [
    ("dual", ask_by_doing),
    ("dual", wait_with_a_scope),
    ("dual", return_a_set),
    ("dual", wait_longer, "the client waits for 30 s before it sends `initialize`", "timeout_s=2"),
    ("dual", wait_for_ever, "the client waits for 60 s before it sends `initialize`", "within a reasonable"),
    ("dual", wait_too_little, "takes a second and a half for an answer", "within a reasonable"),
    ("dual", ask_and_always_fall_back, "that does not have the client's newest version", "Do not fall back"),
    ("dual", ask_and_fall_back_on_one_code, "never sends `initialize`", "Fall back to `initialize`"),
    ("dual", never_modern, "the first message is initialize", "SHOULD probe"),
    ("dual", never_legacy, "the first message is tools/list", "is the probe"),
    ("dual", catch_protocol_errors_only, "that does not answer the probe", "Fall back to `initialize`"),
    ("dual", take_any_version, "they have no version in common", "SHOULD disconnect"),
    ("dual", forget_to_be_ready, "`notifications/initialized` is never sent", "MUST send"),
    ("dual", propose_the_oldest, "and proposes '2025-03-26'", "SHOULD be the latest"),
    ("dual", return_the_version, "returned '2026-07-28'", "Return the version and the names"),
    ("dual", find_nothing, "the client sends nothing", "is the probe"),
    ("dual", lambda client: None, "the client sends nothing", "SHOULD probe"),
]

ALL: Final = [*SORT, *PAIR, *CHOSEN, *TRANSLATED, *DUAL]


@pytest.fixture
def set_of() -> Callable[..., ExerciseSet]:
    return exercises.eras
