"""Exercises 11: subscriptions. What learners might write, right and wrong.

A right answer here is not the solution. A wrong one stands with words of what the check sees in it, and with
words of the rule or of what to look at next.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import Any, Final

import anyio
import pytest

from mcpsim import ConnectionClosed, McpSimError
from mcpsim.course import exercises
from mcpsim.course.exercises import ExerciseSet
from mcpsim.course.exercises.set_11_subscriptions.ended import SCENES
from mcpsim.course.exercises.set_11_subscriptions.expect import FLAGS, expected
from mcpsim.course.exercises.set_11_subscriptions.route import belongs_to
from mcpsim.course.exercises.set_11_subscriptions.tell import agreed
from mcpsim.messages.meta import SUBSCRIPTION_ID
from tests.exercises.answers import *  # noqa: F403 - the tests that every set shares

# --- 11, expect -----------------------------------------------------------------------------------


def expect_by_sets(asked: Any, acknowledged: Any) -> Any:
    def wishes(filter_: Any) -> set[str]:
        flags = {FLAGS[name] for name, value in filter_.items() if value is True}
        return flags | set(filter_.get("resourceSubscriptions") or ())

    both = wishes(asked) & wishes(acknowledged)
    return sorted(both), sorted(wishes(asked) - both)


def expect_what_is_acknowledged(asked: Any, acknowledged: Any) -> Any:
    return expected(acknowledged, acknowledged)[0], expected(asked, acknowledged)[1]


def expect_all_uris_together(asked: Any, acknowledged: Any) -> Any:
    if asked.get("resourceSubscriptions") and acknowledged.get("resourceSubscriptions"):
        acknowledged = {**acknowledged, "resourceSubscriptions": asked["resourceSubscriptions"]}
    return expected(asked, acknowledged)


def expect_by_the_keys(asked: Any, acknowledged: Any) -> Any:
    return expected(dict.fromkeys(asked, True) | {"resourceSubscriptions": []}, acknowledged)


def expect_where_a_member_is(asked: Any, acknowledged: Any) -> Any:
    flags = {name: True for name in acknowledged if name in FLAGS}
    return expected(asked, {**acknowledged, **flags})


def expect_members(asked: Any, acknowledged: Any) -> Any:
    return [name for name in asked if name in acknowledged], [n for n in asked if n not in acknowledged]


EXPECT: Final = [
    ("expect", expect_by_sets),
    ("expect", lambda asked, acknowledged: [list(one) for one in expected(asked, acknowledged)]),
    ("expect", expect_what_is_acknowledged, "more than was asked for", "has not explicitly requested"),
    ("expect", expect_all_uris_together, "some of the resources", "What it does not support is omitted"),
    ("expect", expect_by_the_keys, "Acknowledged is", "one by one"),
    ("expect", expect_where_a_member_is, "an answer that says false", "the subset that the server agreed to"),
    ("expect", expect_members, "'resourceSubscriptions'", "the URIs"),
    (
        "expect",
        lambda asked, acknowledged: expected(asked, acknowledged)[0],
        "returned [",
        "Return two lists",
    ),
    ("expect", lambda asked, acknowledged: (asked, acknowledged), "returned ({", "as texts"),
    ("expect", lambda asked, acknowledged: expected(asked, asked), "Acknowledged is less", "is omitted"),
    (
        "expect",
        lambda asked, acknowledged: asked["resourceSubscriptions"] and expected(asked, acknowledged),
        "raised KeyError",
        "the subset that the server agreed to",
    ),
]

# --- 11, route ------------------------------------------------------------------------------------


def route_by_trying(message: Any, open: Any) -> Any:
    """Another right way: it looks for each open id."""
    for id in open:
        params = message.get("params") or {}
        if "method" not in message:
            found = [message.get("id")]
        else:
            found = [params.get("_meta", {}).get(SUBSCRIPTION_ID)]
            if message["method"] == "notifications/cancelled":
                found.append(params["requestId"])
        if any(type(one) is type(id) and one == id for one in found):
            return id
    return None


def routing(change: Callable[[Any, Any], Any]) -> Any:
    """A function that is right, but for some of the messages: those for which it does not return "right"."""

    def route(message: Any, open: Any) -> Any:
        wrong = change(message, open)
        return belongs_to(message, open) if wrong == "right" else wrong

    return route


def by_text(message: Any, open: Any) -> Any:
    named = message.get("params", {}).get("_meta", {}).get(SUBSCRIPTION_ID)
    same = [id for id in open if named is not None and str(id) == str(named)]
    return same[0] if same else "right"


def without_asking_what_is_open(message: Any, open: Any) -> Any:
    return message.get("params", {}).get("_meta", {}).get(SUBSCRIPTION_ID, "right")


def no_responses(message: Any, open: Any) -> Any:
    return None if "result" in message else "right"


def no_errors(message: Any, open: Any) -> Any:
    return None if "error" in message else "right"


def no_cancellations(message: Any, open: Any) -> Any:
    return None if message.get("method") == "notifications/cancelled" else "right"


def only_true_ids(message: Any, open: Any) -> Any:
    return belongs_to(message, [id for id in open if id])


def without_an_id_to_the_first(message: Any, open: Any) -> Any:
    return open[0] if open and "list_changed" in str(message) and "_meta" not in str(message) else "right"


def by_any_number_in_it(message: Any, open: Any) -> Any:
    return message.get("params", {}).get("progressToken", "right")


ROUTE: Final = [
    ("route", route_by_trying),
    ("route", routing(by_text), "What comes is", "clients MUST go by it"),
    ("route", routing(without_asking_what_is_open), "an id that is not open", "carries its id in `_meta`"),
    ("route", routing(no_responses), "the result of a subscription", "answer its `subscriptions/listen`"),
    ("route", routing(no_errors), "an error that answers a subscription", "the same id as its request"),
    ("route", routing(no_cancellations), "the server's cancellation of a subscription", "tears"),
    ("route", only_true_ids, "a change for the id 0", "clients MUST go by it"),
    ("route", routing(without_an_id_to_the_first), "a change without an id", "Three places have an id"),
    ("route", routing(by_any_number_in_it), "progress with the token", "never on a subscription"),
    ("route", lambda message, open: open, "returned [", "Return one of the ids, or None"),
    ("route", lambda message, open: message["params"]["_meta"][SUBSCRIPTION_ID], "raised KeyError", ""),
]

# --- 11, ended ------------------------------------------------------------------------------------

ENDED: Final = {letter: one.word for letter, one in SCENES.items()}


def ended(**changes: Any) -> dict[str, Any]:
    return {**ENDED, **changes}


ENDS: Final = [
    ("ended", dict(reversed(ENDED.items()))),
    ("ended", ended(A="broken"), "10 of 11 are right. A is not 'broken'", "SHOULD answer"),
    ("ended", ended(B="server"), "a result would have come first", "unexpected disconnect"),
    ("ended", ended(C="open"), "takes the subscription down", "MUST send `notifications/cancelled`"),
    ("ended", ended(D="broken"), "how a client cancels over HTTP", "The client cancels it"),
    ("ended", ended(E="open"), "The new process knows nothing", "MUST send `subscriptions/listen` again"),
    ("ended", ended(F="broken"), "It is a comment", "Clients must ignore it"),
    ("ended", ended(G="server"), "another request", "are two ids"),
    ("ended", ended(H="server"), "open until somebody ends it", "What it does not support is omitted"),
    ("ended", ended(I="server"), "on a pipe", "The client cancels it"),
    ("ended", ended(J="server"), "do not end each other", "the same id as its request"),
    ("ended", ended(K="broken"), "The result came first", "SHOULD answer"),
    ("ended", dict.fromkeys(ENDED, "open"), "4 of 11 are right", "Who did it"),
    ("ended", ended(B="again"), "B: 'again' is none of the words", "The words are"),
    ("ended", ended(K=...), "10 of 11 are answered", "Still open: K"),
]

# --- 11, watch ------------------------------------------------------------------------------------


async def text_at(client: Any, uri: Any) -> str:
    return (await client.read_resource(uri)).contents[0].text


async def watch_with_a_flag(client: Any, uri: Any, show: Any) -> Any:
    """Another right way: one task takes the notifications, and a second one reads when there were any."""
    news = anyio.Event()

    async def read() -> None:
        nonlocal news
        while True:
            await news.wait()
            news = anyio.Event()
            with suppress(McpSimError):
                show(await text_at(client, uri))

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(read)
        while True:
            with suppress(McpSimError):
                async with client.listen(
                    resource_subscriptions=[uri], resources_list_changed=True
                ) as changes:
                    news.set()
                    async for _ in changes:
                        news.set()
            await anyio.sleep(0.25)


async def watch_and_read_twice(client: Any, uri: Any, show: Any) -> Any:
    """Another right way: it reads before listening too."""
    while True:
        try:
            show(await text_at(client, uri))
            async with client.listen(resource_subscriptions=[uri]) as changes:
                show(await text_at(client, uri))
                async for _ in changes:
                    show(await text_at(client, uri))
        except ConnectionClosed:
            await anyio.sleep(1)


async def watch_once(client: Any, uri: Any, show: Any) -> Any:
    async with client.listen(resource_subscriptions=[uri]) as changes:
        show(await text_at(client, uri))
        async for _ in changes:
            show(await text_at(client, uri))


async def watch_after_reading(client: Any, uri: Any, show: Any) -> Any:
    while True:
        with suppress(ConnectionClosed):
            show(await text_at(client, uri))
            async with client.listen(resource_subscriptions=[uri]) as changes:
                async for _ in changes:
                    show(await text_at(client, uri))
        await anyio.sleep(0.5)


async def watch_and_read_first_only(client: Any, uri: Any, show: Any) -> Any:
    """After a break it listens again, and reads nothing until it is told."""
    first = True
    while True:
        with suppress(ConnectionClosed):
            async with client.listen(resource_subscriptions=[uri]) as changes:
                if first:
                    show(await text_at(client, uri))
                    first = False
                async for _ in changes:
                    show(await text_at(client, uri))
        await anyio.sleep(0.5)


async def watch_until_the_end(client: Any, uri: Any, show: Any) -> Any:
    """Takes a good end for the end of all."""
    while True:
        try:
            return await watch_once(client, uri, show)
        except ConnectionClosed:
            await anyio.sleep(0.5)


async def watch_without_reading_first(client: Any, uri: Any, show: Any) -> Any:
    while True:
        with suppress(ConnectionClosed):
            async with client.listen(resource_subscriptions=[uri]) as changes:
                async for _ in changes:
                    show(await text_at(client, uri))
        await anyio.sleep(0.5)


async def watch_by_asking(client: Any, uri: Any, show: Any) -> Any:
    while True:
        with suppress(ConnectionClosed):
            show(await text_at(client, uri))
        await anyio.sleep(0.5)


async def watch_the_lists(client: Any, uri: Any, show: Any) -> Any:
    while True:
        with suppress(ConnectionClosed):
            async with client.listen(resources_list_changed=True) as changes:
                show(await text_at(client, uri))
                async for _ in changes:
                    show(await text_at(client, uri))
        await anyio.sleep(0.5)


async def watch_without_a_pause(client: Any, uri: Any, show: Any) -> Any:
    while True:
        with suppress(ConnectionClosed):
            await watch_once(client, uri, show)


async def watch_twice(client: Any, uri: Any, show: Any) -> Any:
    """Gives up after the second break."""
    for _ in range(2):
        with suppress(ConnectionClosed):
            await watch_once(client, uri, show)
        await anyio.sleep(0.8)


async def watch_the_notification(client: Any, uri: Any, show: Any) -> Any:
    async with client.listen(resource_subscriptions=[uri]) as changes:
        show(await text_at(client, uri))
        async for change in changes:
            show(change)


async def watch_and_stop(client: Any, uri: Any, show: Any) -> Any:
    async with client.listen(resource_subscriptions=[uri]):
        show(await text_at(client, uri))


async def watch_for_ever(client: Any, uri: Any, show: Any) -> Any:
    """Catches the cancellation too."""
    while True:
        with suppress(BaseException):
            await watch_once(client, uri, show)


async def watch_and_wait_for_long(client: Any, uri: Any, show: Any) -> Any:
    while True:
        with suppress(ConnectionClosed):
            await watch_once(client, uri, show)
        await anyio.sleep(5)


async def watch_what_is_not_there(client: Any, uri: Any, show: Any) -> Any:
    await watch_once(client, "notice://monday", show)


WATCH: Final = [
    ("watch", watch_with_a_flag),
    ("watch", watch_and_read_twice),
    ("watch", watch_once, "raised ConnectionClosed", "and begin anew"),
    ("watch", watch_after_reading, "right after it was read for the first time", "Listen first"),
    (
        "watch",
        watch_and_read_first_only,
        "the price changes before it is back",
        "sends `subscriptions/listen`",
    ),
    ("watch", watch_until_the_end, "the server ends the subscription", "put all of it into a loop"),
    ("watch", watch_without_reading_first, "nothing was ever shown", "Read the resource once"),
    ("watch", watch_by_asking, "the resource was read", "Read when you begin"),
    ("watch", watch_the_lists, "changes now and then", "this very resource"),
    ("watch", watch_and_wait_for_long, "the server dies", "Begin anew half a second"),
    ("watch", watch_what_is_not_there, "raised ProtocolError: -32602", "Listen for `uri`"),
    ("watch", watch_without_a_pause, "the server dies", "wait a moment"),
    ("watch", watch_twice, "the server dies", "put all of it into a loop"),
    ("watch", watch_the_notification, "showed Notification", "is the text"),
    ("watch", watch_and_stop, "came to an end, and returned None", "until it is cancelled"),
    ("watch", watch_for_ever, "and was not at its end", "Does it try again"),
    ("watch", lambda client, uri: None, "raised TypeError", "look at the messages"),
]

# --- 11, tell -------------------------------------------------------------------------------------


class Right:
    """Another right way: it keeps what was asked for, and asks anew what it can do."""

    def __init__(self, capabilities: Any) -> None:
        self.capabilities = capabilities
        self.asked: list[tuple[Any, Any]] = []

    def agreed(self, notifications: Any) -> Any:
        return agreed(notifications, self.capabilities)

    def meta(self, id: Any) -> Any:
        return {SUBSCRIPTION_ID: id}

    def listen(self, id: Any, notifications: Any) -> Any:
        self.asked.append((id, notifications))
        params = {"notifications": self.agreed(notifications), "_meta": self.meta(id)}
        return [{"jsonrpc": "2.0", "method": "notifications/subscriptions/acknowledged", "params": params}]

    def wants(self, agreed: Any, method: str, uri: Any) -> bool:
        if uri is not None:
            return uri in agreed.get("resourceSubscriptions", ())
        return any(FLAGS.get(flag) == method for flag in agreed)

    def changed(self, method: str, uri: Any = None) -> Any:
        about = {} if uri is None else {"uri": uri}
        return tuple(
            {"jsonrpc": "2.0", "method": method, "params": {"_meta": self.meta(id), **about}}
            for id, wishes in self.asked
            if self.wants(self.agreed(wishes), method, uri)
        )

    def is_same(self, one: Any, other: Any) -> bool:
        return type(one) is type(other) and one == other

    def cancelled(self, id: Any) -> Any:
        self.asked = [(one, wishes) for one, wishes in self.asked if not self.is_same(one, id)]
        return []


class TellsEverybody(Right):
    def wants(self, agreed: Any, method: str, uri: Any) -> bool:
        return True


class AgreesToAll(Right):
    def agreed(self, notifications: Any) -> Any:
        return {name: wish for name, wish in notifications.items() if wish}


class AgreesToWhatItCan(Right):
    """Without looking at what was asked for."""

    def agreed(self, notifications: Any) -> Any:
        return agreed(dict.fromkeys(FLAGS, True) | notifications, self.capabilities)


class TellsOfAllResources(Right):
    def wants(self, agreed: Any, method: str, uri: Any) -> bool:
        return super().wants(agreed, method, uri) or bool(uri and agreed.get("resourceSubscriptions"))


class WritesIdsAsTexts(Right):
    def meta(self, id: Any) -> Any:
        return {SUBSCRIPTION_ID: str(id)}


class NamesNoSubscription(Right):
    def meta(self, id: Any) -> Any:
        return {}


class TakesIdsForTexts(Right):
    def is_same(self, one: Any, other: Any) -> bool:
        return str(one) == str(other)


class ForgetsNothing(Right):
    def cancelled(self, id: Any) -> Any:
        return []


class AcknowledgesOnlyWhatItCan(Right):
    def listen(self, id: Any, notifications: Any) -> Any:
        return super().listen(id, notifications) if self.agreed(notifications) else []


class LeavesTheUriOut(Right):
    def changed(self, method: str, uri: Any = None) -> Any:
        told = super().changed(method, uri)
        for message in told:
            message["params"].pop("uri", None)
        return told


class TellsOneOnly(Right):
    def changed(self, method: str, uri: Any = None) -> Any:
        return super().changed(method, uri)[:1]


class AnswersWithAResult(Right):
    def listen(self, id: Any, notifications: Any) -> Any:
        super().listen(id, notifications)
        return [{"jsonrpc": "2.0", "id": id, "result": {"resultType": "complete"}}]


class ReturnsOneMessage(Right):
    def listen(self, id: Any, notifications: Any) -> Any:
        return super().listen(id, notifications)[0]


class FailsForUnknownIds(Right):
    def cancelled(self, id: Any) -> Any:
        self.asked.remove(next(one for one in self.asked if self.is_same(one[0], id)))
        return []


class TellsTwice(Right):
    def changed(self, method: str, uri: Any = None) -> Any:
        return super().changed(method, uri) * 2


class SaysFalse(Right):
    """Right: what is false is not agreed to."""

    def listen(self, id: Any, notifications: Any) -> Any:
        told = super().listen(id, notifications)
        filter_ = told[0]["params"]["notifications"]
        told[0]["params"]["notifications"] = {**dict.fromkeys(FLAGS, False), **filter_}
        return told


class TellsOfWhatBeginsTheSame(Right):
    def wants(self, agreed: Any, method: str, uri: Any) -> bool:
        if uri is None:
            return super().wants(agreed, method, uri)
        return uri.startswith(tuple(agreed.get("resourceSubscriptions", ())))


class AnswersACancellation(Right):
    def cancelled(self, id: Any) -> Any:
        super().cancelled(id)
        return [{"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": id}}]


TELL: Final = [
    ("tell", Right),
    ("tell", SaysFalse),
    ("tell", TellsEverybody, "No message should go to the subscription", "MUST NOT send notification types"),
    ("tell", AgreesToAll, "The server can agree to", "resources need `subscribe`"),
    ("tell", AgreesToWhatItCan, "The server can agree to", "not asked for"),
    ("tell", TellsOfAllResources, "No message should go to the subscription", "whose URIs it names"),
    ("tell", TellsOfWhatBeginsTheSame, "No message should go to the subscription", "what was agreed"),
    ("tell", AnswersACancellation, "Nothing should go out", "return an empty list"),
    ("tell", Right({}), "This is no class", "Give the class itself"),
    ("tell", WritesIdsAsTexts, "No message should go to the subscription '", "under its own id"),
    (
        "tell",
        NamesNoSubscription,
        "does not say to which subscription it belongs",
        "carries its id in `_meta`",
    ),
    ("tell", TakesIdsForTexts, "should go to the subscription", "It has asked, and it is open"),
    ("tell", ForgetsNothing, "No message should go to the subscription", "as long as it is open"),
    ("tell", AcknowledgesOnlyWhatItCan, "acknowledged` should go to", "MUST be the first message"),
    ("tell", LeavesTheUriOut, "That is not valid: params.uri", "An update has a `uri`"),
    ("tell", TellsOneOnly, "should go to the subscription", "It has asked"),
    ("tell", AnswersWithAResult, "is no notification", "MUST NOT have an id"),
    ("tell", ReturnsOneMessage, "returned {'jsonrpc'", "Return a list of messages"),
    ("tell", FailsForUnknownIds, "raised StopIteration", "The client cancels it"),
    ("tell", TellsTwice, "Two messages go to the subscription", "One is enough"),
    ("tell", lambda capabilities: capabilities, "has no method `listen`", "Give the class"),
]

ALL: Final = [*EXPECT, *ROUTE, *ENDS, *WATCH, *TELL]


@pytest.fixture
def set_of() -> Callable[..., ExerciseSet]:
    return exercises.subscriptions
