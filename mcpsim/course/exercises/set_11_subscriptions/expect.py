"""Exercise: what of the wishes will come, by the acknowledgement."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from random import Random
from typing import Any, Final

from mcpsim.client import Client
from mcpsim.course.exercises.exercise import Passed, Task
from mcpsim.course.exercises.learner import Learner, is_placeholder
from mcpsim.course.exercises.plain import items_of, texts_of
from mcpsim.course.exercises.set_11_subscriptions.rules import (
    ACKNOWLEDGED,
    AGREED,
    ASKED,
    CHECK_IT,
    LEFT_OUT,
    LISTEN,
)
from mcpsim.course.exercises.showing import name_of, show
from mcpsim.course.exercises.verdict import NotAttempted, NotYet, Rule
from mcpsim.course.servers import help_desk, notice_board
from mcpsim.messages import Notification, Request
from mcpsim.server import Server
from mcpsim.simulation import simulate
from mcpsim.transports.link import Stdio, StreamableHttp
from mcpsim.utilities.subscriptions import LIST_CHANGES, RESOURCE_SUBSCRIPTIONS

SEEDS: Final = (1, 2, 3)
FLAGS: Final[Mapping[str, str]] = {kind.member: kind.method for kind in LIST_CHANGES}
URIS: Final = ("notice://monday", "notice://tuesday", "notice://friday", "price://paper")

Filter = Mapping[str, Any]
Lists = tuple[list[str], list[str]]


@dataclass(frozen=True, slots=True)
class Case:
    """What was asked for and what was acknowledged."""

    what: str
    asked: Filter
    acknowledged: Filter
    rule: Rule


def expected(asked: Filter, acknowledged: Filter) -> Lists:
    """What was asked for and will come, and what was asked for and will not."""
    will: list[str] = []
    will_not: list[str] = []
    for member, method in FLAGS.items():
        if asked.get(member):
            (will if acknowledged.get(member) else will_not).append(method)
    agreed = acknowledged.get(RESOURCE_SUBSCRIPTIONS, [])
    for uri in asked.get(RESOURCE_SUBSCRIPTIONS, []):
        (will if uri in agreed else will_not).append(uri)
    return will, will_not


def _cases(rng: Random) -> Iterator[Case]:
    one, two, three = rng.sample(list(FLAGS), 3)
    first, second, third = rng.sample(URIS, 3)
    uris = RESOURCE_SUBSCRIPTIONS
    yield Case("all of it", {one: True, uris: [first]}, {one: True, uris: [first]}, CHECK_IT)
    yield Case("less", {one: True, two: True}, {two: True}, AGREED)
    yield Case("nothing", {one: True, uris: [first, second]}, {}, AGREED)
    yield Case(
        "some of the resources",
        {uris: [first, second, third], two: True},
        {uris: [third, first], two: True},
        AGREED,
    )
    yield Case("no resources", {uris: [first], three: True}, {three: True}, AGREED)
    yield Case("an empty list of resources", {uris: [second], three: True}, {uris: [], three: True}, AGREED)
    yield Case("an answer that says false", {one: True, two: True}, {one: True, two: False}, AGREED)
    yield Case("a wish that is false", {one: True, two: False}, {one: True}, LEFT_OUT)
    yield Case("no wishes", {}, {}, LEFT_OUT)
    yield Case("no resources wished", {uris: [], one: True}, {one: True}, LEFT_OUT)
    yield Case("more than was asked for", {one: True}, {one: True, three: True}, ASKED)
    yield Case("another resource", {uris: [first]}, {uris: [second]}, ASKED)
    yield Case("one resource more", {uris: [first]}, {uris: [first, second]}, ASKED)


def _played() -> Iterator[Case]:
    """What several servers really acknowledge."""
    desks: tuple[tuple[str, Server], ...] = (
        ("a notice board", notice_board(era="modern")),
        ("a notice board without `subscribe`", notice_board(era="modern", subscribe=False)),
        ("a notice board without `listChanged`", notice_board(era="modern", list_changed=False)),
        ("a help desk", help_desk(era="modern")),
    )
    for (what, server), transport in zip(desks, (Stdio(), StreamableHttp()) * 2, strict=True):
        yield _acknowledged(what, server, transport)


def _acknowledged(what: str, server: Server, transport: Stdio | StreamableHttp) -> Case:
    async def story(client: Client) -> None:
        wishes: dict[str, Any] = {"tools_list_changed": True, "prompts_list_changed": True}
        async with client.listen(**wishes, resource_subscriptions=URIS[:2]):
            pass

    run = simulate(story, server=server, era="modern", transport=transport)
    asked: Filter = {}
    acknowledged: Filter = {}
    for frame in run.recording.frames:
        match frame.parsed:
            case Request(method=method, params=params) if method == LISTEN and params:
                asked = params["notifications"]
            case Notification(method=method, params=params) if method == ACKNOWLEDGED and params:
                acknowledged = params["notifications"]
            case _:
                pass
    return Case(f"what {what} said", asked, acknowledged, AGREED)


def grade(answer: object, learner: Learner) -> Passed:
    """Ask about made-up acknowledgements, then about those of servers."""
    cases = [case for seed in SEEDS for case in _cases(Random(f"expect:{seed}"))]
    for case in cases:
        _compare(answer, learner, case)
    played = list(_played())
    for case in played:
        _compare(answer, learner, case)
    return Passed(
        f"{len(cases) + len(played)} acknowledgements, and the client knows each time what it would wait for "
        "in vain.",
        CHECK_IT,
    )


def _compare(answer: object, learner: Learner, case: Case) -> None:
    asked, acknowledged = _copy(case.asked), _copy(case.acknowledged)
    value = learner.call(answer, asked, acknowledged, on=f"an acknowledgement of {case.what}", rule=case.rule)
    if is_placeholder(value):
        raise NotAttempted
    lists = _lists(value)
    if lists is None:
        raise NotYet(
            f"{name_of(answer)} returned {show(value)}.",
            look="Return two lists: what will come, and what will not. Each holds methods and URIs, as "
            "texts.",
        )
    right = expected(case.asked, case.acknowledged)
    if tuple(map(sorted, lists)) != tuple(map(sorted, right)):
        raise NotYet(
            f"Asked for: {show(dict(case.asked))}. Acknowledged is {case.what}: "
            f"{show(dict(case.acknowledged))}. {name_of(answer)} returned {show(lists)}, and {show(right)} "
            f"was "
            "expected.",
            case.rule,
            "Go through the wishes, one by one. A wish is a member that is true, or one of the URIs.",
        )


def _copy(filter_: Filter) -> dict[str, Any]:
    return {name: list(value) if name == RESOURCE_SUBSCRIPTIONS else value for name, value in filter_.items()}


def _lists(value: object) -> Lists | None:
    pair = items_of(value)
    if pair is None or len(pair) != 2:
        return None
    will, will_not = texts_of(pair[0]), texts_of(pair[1])
    if will is None or will_not is None or None in will or None in will_not:
        return None
    return [one for one in will if one is not None], [one for one in will_not if one is not None]


_FLAGS: Final = "\n".join(f"| `{member}` | `{method}` |" for member, method in FLAGS.items())

TASK: Final = Task(
    name="expect",
    title="What will come",
    text=f"""\
A client has asked for changes, and the server has acknowledged. Write the function that compares the two, and
returns two lists: what was asked for and will come, and what was asked for and will not.

`asked` and `acknowledged` are the field `notifications` of the request and of the acknowledgement: dicts, in
which each member may be missing, and each of the three flags may be false. In the lists stand

- for a list of tools, prompts or resources: the method of the notification,
- for a resource: its URI.

| member | method |
|---|---|
{_FLAGS}

The order does not matter. What was not asked for stands in neither list.""",
    answer="expect",
    starter='''\
def expect(asked, acknowledged):
    """What was asked for and will come, and what was asked for and will not: two lists."""
    return ...''',
    hints=(
        "Begin with the wishes, and look each of them up in the acknowledgement. Never the other way round.",
        "`asked.get(member)` is None where the member is missing, and may be False. Both mean: no wish. In "
        "the acknowledgement both mean: it will not come.",
        "For resources a loop over the URIs that were asked for: each of them may be in the acknowledged "
        "list, or not. Where there is no list, take an empty one.",
    ),
    solution=(
        """\
METHODS = {
    "toolsListChanged": "notifications/tools/list_changed",
    "promptsListChanged": "notifications/prompts/list_changed",
    "resourcesListChanged": "notifications/resources/list_changed",
}

def wishes(filter):
    flags = [method for member, method in METHODS.items() if filter.get(member)]
    return flags + filter.get("resourceSubscriptions", [])""",
        """\
def expect(asked, acknowledged):
    agreed = wishes(acknowledged)
    will = [wish for wish in wishes(asked) if wish in agreed]
    return will, [wish for wish in wishes(asked) if wish not in agreed]""",
    ),
    why="The acknowledgement is the only sign of what will not come. There is no error, and nothing else is "
    "ever said about it.",
    grade=grade,
    pages=(
        ("notification filter", "basic/patterns/subscriptions#notification-filter"),
        ("acknowledgment", "basic/patterns/subscriptions#acknowledgment"),
    ),
)
