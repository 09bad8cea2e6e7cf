"""Exercises 14: stateless at scale. What learners might write, right and wrong.

A right answer here is not the solution. A wrong one stands with words of what the check sees in it, and with
words of the rule or of what to look at next.
"""

from __future__ import annotations

import time
import uuid
from collections import Counter
from collections.abc import Callable
from typing import Any, Final

import anyio
import pytest

from mcpsim import (
    Client,
    ErrorResponse,
    McpSimError,
    ProtocolError,
    Request,
    RequestTimeout,
    Response,
    Server,
    StreamableHttp,
    ToolError,
    simulate,
)
from mcpsim.course import exercises, text_of
from mcpsim.course.exercises import ExerciseSet, Outcome
from mcpsim.course.exercises.set_14_stateless_at_scale.count import SEEDS, counted, update
from mcpsim.course.exercises.set_14_stateless_at_scale.pay import CASES, MOST
from mcpsim.course.exercises.set_14_stateless_at_scale.resend import SITUATIONS
from mcpsim.course.exercises.set_14_stateless_at_scale.shop import Store
from mcpsim.eras.revisions import LATEST_MODERN
from tests.exercises.answers import *  # noqa: F403 - the tests that every set shares

# --- 14, resend -----------------------------------------------------------------------------------

RESEND: Final = {letter: one.word for letter, one in SITUATIONS.items()}


def resend(**changes: Any) -> dict[str, Any]:
    return {**RESEND, **changes}


RESENT: Final = [
    ("resend", dict(reversed(RESEND.items()))),
    ("resend", resend(A="look first"), "9 of 10 are right. A is not 'look first'", "a new request with a"),
    ("resend", resend(B="again"), "The money may be on its way", "The default is false"),
    ("resend", resend(C="new session"), "a fresh process knows as much", "can retry"),
    ("resend", resend(D="again"), "the word of a stranger", "MUST consider annotations untrusted"),
    ("resend", resend(E="look first"), "With the same number", "no additional effect"),
    ("resend", resend(F="again"), "The session is gone", "MUST start a new session"),
    ("resend", resend(G="again"), "No answer was lost", "come as results"),
    ("resend", resend(H="nothing"), "know nothing of this subscription", "sends the request again"),
    ("resend", resend(I="again"), "may have done so", "for one use only"),
    ("resend", resend(J="look first"), "may run twice", "does not modify its environment"),
    ("resend", dict.fromkeys(RESEND, "again"), "5 of 10 are right", "Would it do harm"),
    ("resend", resend(A="yes"), "A: 'yes' is none of the words", "The words are"),
    ("resend", resend(J=...), "9 of 10 are answered", "Still open: J"),
]

# --- 14, count ------------------------------------------------------------------------------------


def counting(
    *,
    call: Callable[[Any], bool] = lambda frame: True,
    hop: str = "client",
    fate: bool = True,
    by_id: bool = False,
    any_answer: bool = False,
    errors: bool = True,
) -> Any:
    """Counts in another way than the solution; right as long as nothing is said."""

    def outcome(call: Any, recording: Any) -> str:
        back = [frame for frame in recording.frames if frame.receiver == call.sender]
        if by_id:
            back = [frame for frame in back if getattr(frame.parsed, "id", None) == call.parsed.id]
        else:
            back = [frame for frame in back if frame.exchange == call.exchange]
        statuses = [frame.head["status"] for frame in back if frame.head is not None]
        kinds = [type(frame.parsed) for frame in back]
        if not back:
            return "nothing"
        if any_answer and statuses == [200]:
            return "result"
        if ErrorResponse in kinds and not errors:
            return "error"
        if Response in kinds:
            return "result"
        if any(status != 200 for status in statuses):
            return f"HTTP {statuses[0]}"
        return "error" if ErrorResponse in kinds else "nothing"

    def count_calls(recording: Any) -> Any:
        calls = [
            frame
            for frame in recording.frames
            if isinstance(frame.parsed, Request) and frame.parsed.method == "tools/call" and call(frame)
        ]
        reached: Counter[str] = Counter()
        outcomes: Counter[str] = Counter()
        for frame in calls:
            if frame.receiver.startswith("server"):
                reached[frame.receiver] += not fate or frame.fate == "delivered"
            if (frame.receiver == "gateway") == (hop == "client"):
                outcomes[outcome(frame, recording)] += 1
        return [reached, dict(outcomes)]

    return count_calls


def count_every_request(recording: Any) -> Any:
    _, outcomes = counting()(recording)
    every = Counter(
        frame.receiver
        for frame in recording.frames
        if isinstance(frame.parsed, Request) and frame.receiver.startswith("server")
    )
    return every, outcomes


def count_one_recording(recording: Any) -> Any:
    return counted(update("modern", 1))


COUNTS: Final = [
    ("count", counting()),
    ("count", lambda recording: tuple(dict(one) for one in counting()(recording))),
    ("count", counting(fate=False), "among the calls by replica", "whose `fate` is"),
    ("count", counting(hop="server"), "among the outcomes", "the same `exchange`"),
    ("count", counting(by_id=True), "among the outcomes", "the same `exchange`"),
    ("count", counting(errors=False), "counts", "Begin with the calls"),
    ("count", counting(any_answer=True), "counts", "there may be several frames"),
    ("count", counting(call=lambda frame: frame.sender == "gateway"), "counts 0 for 'HTTP", "Begin with"),
    ("count", count_every_request, "among the calls by replica", "`Request` of `tools/call`"),
    ("count", count_one_recording, "An update, legacy", "whose `fate` is"),
    ("count", lambda recording: counted(recording)[0], "returned {'server", "Return two dicts"),
    ("count", lambda recording: ({}, {}), "counts 0 for", "`Request` of `tools/call`"),
    ("count", lambda recording: recording.calls, "raised AttributeError", "Call it yourself"),
]

# --- 14, route ------------------------------------------------------------------------------------


def route_step_by_step(headers: Any, sessions: Any, alive: Any, turn: Any) -> Any:
    """Modern is what is not older, and a lost session goes to whoever is there."""
    version = headers.get("mcp-protocol-version") or ""
    session = headers.get("mcp-session-id")
    if not alive:
        return 503
    order = sorted(alive)
    if version < LATEST_MODERN and session:
        if sessions.get(session) in alive:
            return sessions[session]
        # It knows nothing of the session, and says so.
        return order[0]
    return order[(turn + 7) % len(order)]


def routing(
    *,
    dead: Any = 404,
    unknown: Any = 404,
    modern: bool = True,
    turns: bool = True,
    empty: Any = 503,
    needs_version: bool = False,
    skips_dead: bool = True,
) -> Any:
    def route(headers: Any, sessions: Any, alive: Any, turn: Any) -> Any:
        if not alive:
            return empty
        everybody = sorted({*alive, *sessions.values()})
        version, session = headers.get("MCP-Protocol-Version"), headers.get("MCP-Session-Id")
        is_modern = version == LATEST_MODERN if not needs_version else version in (LATEST_MODERN, None)
        if session and not (is_modern and modern):
            if session not in sessions:
                return unknown
            return sessions[session] if sessions[session] in alive else dead or sessions[session]
        among = alive if skips_dead else everybody
        return among[turn % len(among)] if turns else among[0]

    return route


ROUTES: Final = [
    ("route", route_step_by_step),
    ("route", routing()),
    ("route", routing(dead=None), "whose replica is dead", "MUST start a new session"),
    ("route", routing(dead=502), "returned 502", "No other status says that"),
    ("route", routing(dead=503), "returned 503; right is 404, or a replica that is alive", "say 404 itself"),
    ("route", routing(unknown=400), "that nobody knows", "MUST start a new session"),
    ("route", routing(modern=False), "A modern request with the id of a session", "SHOULD be ignored"),
    ("route", routing(turns=False), "times in a row", "shared out by turns"),
    ("route", routing(empty=404), "no replica is alive", "If `alive` is empty"),
    ("route", routing(needs_version=True), "without a version", "had no such header"),
    ("route", routing(skips_dead=False), "that are alive should get 3", "shared out by turns"),
    (
        "route",
        lambda headers, sessions, alive, turn: alive[turn % len(alive)],
        "The session began at",
        "Whoever",
    ),
    (
        "route",
        lambda headers, sessions, alive, turn: sessions[headers.get("MCP-Session-Id")],
        "raised KeyError",
        "Call it yourself",
    ),
]

# --- 14, pay --------------------------------------------------------------------------------------


async def pay_with_a_random_key(client: Any, user: Any, bill: Any, most: Any) -> Any:
    """Waits longer and longer."""
    arguments = {"user": user, "bill": bill, "key": str(uuid.uuid4())}
    tries = 0
    while tries < most:
        tries += 1
        try:
            result = await client.call_tool("pay", arguments)
        except ProtocolError:
            break
        except McpSimError:
            if tries < most:
                await anyio.sleep(0.6 * tries)
            continue
        if result.is_error:
            break
        return result.content[0].text
    return None


def paying(
    *,
    key: str = "both",
    catches: tuple[type[Exception], ...] = (McpSimError,),
    protocol: str = "none",
    refused: str = "none",
    wait_s: float = 1,
    more: int = 0,
    at_least: int = 1,
    value: Callable[[Any], Any] = text_of,
) -> Any:
    """Right, but for what is said otherwise."""

    async def pay_bill(client: Any, user: Any, bill: Any, most: Any) -> Any:
        keys = {"both": f"{user}/{bill}", "bill": bill, "user": user, "one": "key"}
        for number in range(most + more):
            if number:
                await anyio.sleep(wait_s)
            chosen = keys.get(key) or f"{user}/{bill}/{number}"
            try:
                result = await client.call_tool("pay", {"user": user, "bill": bill, "key": chosen})
            except ProtocolError:
                if protocol == "again":
                    continue
                return None
            except catches:
                continue
            if result.is_error:
                if refused == "again":
                    continue
                return text_of(result) if refused == "text" else None
            if number + 1 >= at_least:
                return value(result)
        return None

    return pay_bill


async def pay_and_hope(client: Any, user: Any, bill: Any, most: Any) -> Any:
    result = await client.call_tool("pay", {"user": user, "bill": bill, "key": f"{user}/{bill}"})
    return None if result.is_error else text_of(result)


async def pay_once_and_shrug(client: Any, user: Any, bill: Any, most: Any) -> Any:
    try:
        return await pay_and_hope(client, user, bill, most)
    except McpSimError:
        return None


async def pay_nothing(client: Any, user: Any, bill: Any, most: Any) -> Any:
    return None


async def pay_for_ever(client: Any, user: Any, bill: Any, most: Any) -> Any:
    while True:
        try:
            return await pay_and_hope(client, user, bill, most)
        except ProtocolError:
            return None
        except McpSimError:
            await anyio.sleep(1)


async def pay_and_wait(client: Any, user: Any, bill: Any, most: Any) -> Any:
    await anyio.sleep_forever()


PAYS: Final = [
    ("pay", pay_with_a_random_key),
    ("pay", paying()),
    ("pay", paying(key="each"), "was tried with the keys", "Choose the key once"),
    ("pay", paying(key="bill"), "had the same key", "one bill of one user"),
    ("pay", paying(key="user"), "had the same key", "put both into it"),
    ("pay", paying(key="one"), "had the same key", "MUST be named"),
    ("pay", paying(catches=(RequestTimeout,)), "raised UnexpectedResponse", "look at the messages"),
    ("pay", paying(protocol="again"), "The bank had answered", "An answer is an answer"),
    ("pay", paying(refused="again"), "by a tool error", "the answer has come, and it is no"),
    ("pay", paying(refused="text"), "it should return None", "a result that is no error"),
    ("pay", paying(wait_s=0), "The replicas came back later", "Wait for a second"),
    ("pay", paying(more=1), "It should be 5 times at most", "count the tries"),
    ("pay", paying(more=-2), "was tried 3 times", "try again"),
    ("pay", paying(at_least=2), "was tried twice. It should be once at most", "as soon as an answer comes"),
    ("pay", paying(value=lambda result: result), "returned CallToolResult", "`text_of(result)`"),
    ("pay", pay_and_hope, "raised ProtocolError", "Catch it where you ask"),
    ("pay", pay_once_and_shrug, "and then given up", "try again"),
    ("pay", pay_nothing, "was never tried", "pays"),
    ("pay", pay_for_ever, "`pay_for_ever` had sent and received", "Does it try again for ever"),
    ("pay", pay_and_wait, "after an hour of simulated time", "What does it wait for"),
]

# --- 14, shop -------------------------------------------------------------------------------------


def shop_that_lets_the_store_count(store: Any) -> Any:
    """Keeps every item under a key of its own."""
    server = Server("counting-shop")

    @server.tool()
    def open_basket() -> str:
        """Begin a basket."""
        number = (store.get("baskets") or 0) + 1
        store.put("baskets", number)
        store.put(f"{number}:count", 0)
        return f"basket {number}"

    def number_of(basket: str) -> str:
        number = basket.removeprefix("basket ")
        if store.get(f"{number}:count") is None:
            raise ToolError("No such basket.")
        return number

    @server.tool()
    def add_item(basket: str, item: str) -> str:
        """Add an item."""
        number = number_of(basket)
        count = store.get(f"{number}:count")
        store.put(f"{number}:{count}", item)
        store.put(f"{number}:count", count + 1)
        return "added"

    @server.tool()
    def list_items(basket: str) -> str:
        """List the items."""
        number = number_of(basket)
        return ", ".join(store.get(f"{number}:{nth}") for nth in range(store.get(f"{number}:count")))

    return server


class Shop:
    """A shop that is wrong in one way, or in none."""

    def __init__(self, **differences: Any) -> None:
        self.differences = differences
        self.known: dict[str, list[str]] = {}
        self.opened = 0

    def __call__(self, store: Any) -> Any:
        ways = self.differences
        server = Server("shop")
        here: dict[str, list[str]] = {}
        counted = [0]

        def get(basket: str) -> Any:
            match ways.get("keeps"):
                case "module":
                    return self.known.get(basket)
                case "process":
                    return here.get(basket)
                case "cache":
                    return (
                        here.setdefault(basket, store.get(basket)) if store.get(basket) is not None else None
                    )
                case _:
                    return store.get(basket, [] if ways.get("forgiving") else None)

        def put(basket: str, items: list[str]) -> None:
            match ways.get("keeps"):
                case "module":
                    self.known[basket] = items
                case "process":
                    here[basket] = items
                case "cache":
                    here[basket] = items
                    store.put(basket, items)
                case _:
                    store.put(basket, items)

        @server.tool()
        def open_basket() -> str:
            """Begin a basket."""
            counted[0] += 1
            basket = f"basket-{counted[0]}" if ways.get("handle") == "count" else f"basket-{uuid.uuid4()}"
            basket = ways.get("fixed", basket)
            put(basket, [])
            return basket

        @server.tool()
        def add_item(basket: str, item: str) -> str:
            """Add an item."""
            items = get(basket)
            if items is None:
                raise ToolError("No such basket.")
            if ways.get("changes"):
                items.append(item)
            elif ways.get("set"):
                put(basket, sorted({*items, item}))
            else:
                put(basket, [*items, item])
            return "added"

        @server.tool()
        def list_items(basket: str) -> str:
            """List the items."""
            items = get(basket)
            if items is None:
                if ways.get("quiet"):
                    return "There is no such basket."
                raise ways.get("raises", ToolError("No such basket."))
            return ways.get("between", ", ").join(items)

        return server


def shop_with_one_basket(store: Any) -> Any:
    """Remembers the basket of the connection."""
    server = Server("shop")
    current: list[str] = []

    @server.tool()
    def open_basket() -> str:
        """Begin a basket."""
        current.clear()
        return str(uuid.uuid4())

    @server.tool()
    def add_item(basket: str, item: str) -> str:
        """Add an item."""
        current.append(item)
        return "added"

    @server.tool()
    def list_items(basket: str) -> str:
        """List the items."""
        return ", ".join(current)

    return server


def shop_without_tools(store: Any) -> Any:
    return Server("shop")


def shop_that_is_made_once() -> Any:
    made: list[Any] = []

    def make_server(store: Any) -> Any:
        if not made:
            made.append(Shop(keeps="process")(store))
        return made[0]

    return make_server


SHOPS: Final = [
    ("shop", shop_that_lets_the_store_count),
    ("shop", Shop()),
    ("shop", Shop(keeps="process"), "The basket is not known there", "belong to one process"),
    ("shop", Shop(keeps="module"), "a replica with a copy of the store", "belong to one process"),
    ("shop", Shop(keeps="cache"), "It should be", "put it back"),
    ("shop", Shop(handle="count"), "Two baskets have the same handle", "is not unique"),
    ("shop", Shop(fixed="basket"), "Two baskets have the same handle", "explicit identifier"),
    ("shop", Shop(fixed=""), "That is no handle", "returns the handle of a new basket"),
    ("shop", Shop(changes=True), "It should be", "`store.get` gives a copy"),
    ("shop", Shop(set=True), "It should be", "put it back"),
    ("shop", Shop(forgiving=True), "There is no such basket", "raise ToolError"),
    ("shop", Shop(quiet=True), "There is no such basket", "in a result with `isError`"),
    ("shop", Shop(raises=KeyError("basket")), "learns nothing", "with words for the model"),
    ("shop", Shop(raises=ToolError("")), "learns nothing", "with words for the model"),
    ("shop", Shop(raises=ProtocolError(-32602, "No such basket.")), "a protocol error", "It needs no code"),
    ("shop", Shop(between=" and "), "It should be", "put it back"),
    ("shop", shop_with_one_basket, "It should be", "passes on each request"),
    ("shop", shop_without_tools, "That is no handle", "takes no arguments"),
    ("shop", shop_that_is_made_once(), "a replica with a copy of the store", "belong to one process"),
    ("shop", lambda store: store, "returned", "Make a server"),
    ("shop", lambda store: store.shop, "raised AttributeError", "Call it yourself"),
]

ALL: Final = [*RESENT, *COUNTS, *ROUTES, *PAYS, *SHOPS]


@pytest.fixture
def set_of() -> Callable[..., ExerciseSet]:
    return exercises.scale


def test_the_recordings_to_count_in_have_each_kind_of_outcome_and_break_no_rule() -> None:
    found: Counter[str] = Counter()
    for seed in SEEDS:
        for era in ("modern", "legacy"):
            recording = update(era, seed)
            found.update(counted(recording)[1])
            assert any(frame.fate == "dropped" for frame in recording.frames)
            assert recording.audit().broken == ()
    assert {"result", "error", "nothing", "HTTP 400", "HTTP 404", "HTTP 502"} <= set(found)
    assert min(found[kind] for kind in ("error", "nothing", "HTTP 404", "HTTP 502")) >= 3


def test_a_recording_is_the_same_each_time_and_another_one_for_each_seed() -> None:
    assert update().sha256() == update().sha256()
    assert len({update(era, seed).sha256() for era in ("modern", "legacy") for seed in SEEDS}) == 6


def test_each_kind_of_trouble_takes_place(set_of: Callable[..., ExerciseSet]) -> None:
    """A client that does not try again meets each of them but the first three."""
    troubles = [case for case in CASES if case.tries[1] > 1]
    assert len(troubles) == len(CASES) - 3
    verdict = set_of().pay.check(paying(more=1 - MOST))
    assert verdict.outcome is Outcome.NOT_YET
    assert "dies before it takes the call in" in verdict.seen


class Rude(BaseException):
    """Not even an Exception."""


async def pay_rudely(client: Any, user: Any, bill: Any, most: Any) -> Any:
    raise Rude("no")


async def pay_without_an_end(client: Any, user: Any, bill: Any, most: Any) -> Any:
    while True:
        time.sleep(0.005)


@pytest.mark.parametrize(
    ("answer", "seen"),
    [(pay_rudely, "`pay_rudely` raised Rude: no"), (pay_without_an_end, "an endless loop")],
)
def test_what_goes_wrong_for_many_clients_is_told_as_one_thing(answer: Any, seen: str) -> None:
    verdict = exercises.scale(patience_s=0.4).pay.check(answer)
    assert verdict.outcome is Outcome.NOT_YET
    assert seen in verdict.seen


def test_the_store_keeps_copies() -> None:
    store, items = Store(), ["tea"]
    store.put("basket", items)
    items.append("salt")
    assert store.get("basket") == ["tea"]
    store.get("basket").append("soap")
    assert store.get("basket") == ["tea"]
    other = store.copy()
    other.put("basket", [])
    assert (store.get("basket"), other.get("basket"), store.get("other")) == (["tea"], [], None)
    with pytest.raises(TypeError, match="A key is a text, not 3"):
        store.put(3, "tea")  # type: ignore[arg-type]
    with pytest.raises(TypeError):
        store.put("set", {1, 2})


def test_a_solution_serves_over_http_in_both_eras(set_of: Callable[..., ExerciseSet]) -> None:
    ex = set_of()
    names: dict[str, Any] = {"ToolError": ToolError, "Server": Server, "text_of": text_of}
    for cell in ex.shop.task.solution:
        exec(cell, names)

    async def story(client: Any) -> str:
        basket = text_of(await client.call_tool("open_basket"))
        await client.call_tool("add_item", {"basket": basket, "item": "tea"})
        return text_of(await client.call_tool("list_items", {"basket": basket}))

    for era in ("modern", "legacy"):
        server = names["make_server"](Store())
        run = simulate(story, server=server, client=Client(era=era), transport=StreamableHttp())
        assert run.value == "tea"
