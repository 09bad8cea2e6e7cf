"""What a client was told of a server's offer, and when: the lists of a connection, walked through once.

A list may be told again, page by page, and it may change. So a definition counts as known at a certain answer
only where nothing in the trace says that it may have been another one by then.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple, cast

from mcpsim.audit.model import Call, Connection, Item, Session, Walk
from mcpsim.audit.once import once
from mcpsim.utilities.caching import LISTS_OF

Key = tuple[str | None, Session | None]


class Feature(NamedTuple):
    """A list of a server.

    Attributes:
        method: how it is asked for.
        member: the member of the result that holds it.
        key: the member of an entry that tells it from the others.
        changed: the notification that the list has changed.
        capability: of the server, that it has such a list.
        filter: the member of a subscription's filter that asks for the notification.
        noun: what an entry is, in sentences.
    """

    method: str
    member: str
    key: str
    changed: str
    capability: str
    filter: str
    noun: str


_CHANGED: Final[Mapping[str, str]] = {
    method: name for name, methods in LISTS_OF.items() for method in methods
}
TOOLS: Final = Feature(
    "tools/list", "tools", "name", _CHANGED["tools/list"], "tools", "toolsListChanged", "tool"
)
RESOURCES: Final = Feature(
    "resources/list",
    "resources",
    "uri",
    _CHANGED["resources/list"],
    "resources",
    "resourcesListChanged",
    "resource",
)
TEMPLATES: Final = RESOURCES._replace(
    method="resources/templates/list",
    member="resourceTemplates",
    key="uriTemplate",
    noun="resource template",
)
PROMPTS: Final = Feature(
    "prompts/list", "prompts", "name", _CHANGED["prompts/list"], "prompts", "promptsListChanged", "prompt"
)


class Entry(NamedTuple):
    """One entry of a list: its definition, and the result that told it."""

    definition: Mapping[str, Any]
    item: Item


@dataclass(slots=True, eq=False)
class Listing:
    """One list, as it was told.

    Attributes:
        walk: its pages.
        entries: what it holds, by name or URI, in order. More than one where a name stands there twice.
        complete: whether the pages go from the first to the last.
        first, last: the results that hold the first page and the last one.
        changed: the first notification after it that says that the list is not right any more.
        following: the list that was told next to the same client.
    """

    walk: Walk
    entries: dict[str, list[Entry]]
    complete: bool
    first: Item
    last: Item
    changed: Item | None = None
    following: Listing | None = None

    @property
    def names(self) -> list[str]:
        """The names or URIs, in the order in which they came first."""
        return list(self.entries)

    def definition(self, name: str) -> Mapping[str, Any] | None:
        """The definition of an entry; None where it is not there, or there in two versions."""
        found = self.entries.get(name)
        if not found or any(one.definition != found[0].definition for one in found[1:]):
            return None
        return found[0].definition


@dataclass(slots=True, eq=False)
class Asked:
    """A request of the client, and what it had been told before it asked and before it was answered."""

    call: Call
    before: Listing | None
    after: Listing | None = None

    def definition(self, name: Any) -> Mapping[str, Any] | None:
        """The definition that the server had most certainly when it answered; None where that is not sure."""
        listing = self.after
        if not isinstance(name, str) or listing is None or listing.changed is not None:
            return None
        found = listing.definition(name)
        if found is None or (self.before is not None and self.before.definition(name) != found):
            return None
        following = listing.following
        if following is not None:
            later = following.definition(name)
            if later != found and (later is not None or following.complete):
                return None
        return found

    def is_unknown(self, name: Any) -> bool:
        """Whether it is sure that the server's list did not hold this name when the request was answered."""
        around = [self.before, self.after, None if self.after is None else self.after.following]
        told = [one for one in around if one is not None]
        return (
            isinstance(name, str)
            and self.after is not None
            and self.after.complete
            and self.after.changed is None
            and not any(name in one.entries for one in told)
        )


class Questions:
    """When the server of a connection asked the client back (legacy: requests of its own)."""

    def __init__(self, connection: Connection) -> None:
        self._rows = [call.request.index for call in connection.calls if call.asked_by == "server"]

    def during(self, call: Call) -> bool:
        """Whether it did so before it answered a call: it may have learned then what was missing."""
        end = float("inf") if call.answer is None else call.answer.index
        return bisect_right(self._rows, call.request.index) < bisect_left(self._rows, end)


def is_complete(item: Item) -> bool:
    """Whether a result is what was asked for: no question back, and no task that will have it later."""
    return item.result.get("resultType", "complete") == "complete" and not isinstance(
        item.result.get("task"), dict
    )


def members_of(result: Mapping[str, Any], member: str) -> Iterator[Mapping[str, Any]]:
    """The entries of a list in a result that are objects."""
    entries: Any = result.get(member)
    if isinstance(entries, list):
        for entry in cast("list[Any]", entries):
            if isinstance(entry, dict):
                yield cast("dict[str, Any]", entry)


def listing_of(feature: Feature, walk: Walk) -> Listing | None:
    """What a walk told; None where no page of it came."""
    entries: dict[str, list[Entry]] = {}
    pages = [call.answer for call in walk.calls if call.answer is not None and call.answer.kind == "response"]
    if not pages:
        return None
    for page in pages:
        for definition in members_of(page.result, feature.member):
            name = definition.get(feature.key)
            if isinstance(name, str):
                entries.setdefault(name, []).append(Entry(definition, page))
    complete = (
        len(pages) == len(walk.calls)
        and "cursor" not in walk.calls[0].request.params
        and pages[-1].result.get("nextCursor") is None
        and all(isinstance(page.result.get(feature.member), list) for page in pages)
        and not any(page.disturbed for page in pages)
    )
    return Listing(walk, entries, complete, pages[0], pages[-1])


def _key(call: Call) -> Key:
    return call.principal, call.request.session


@dataclass(slots=True, eq=False)
class _Teller:
    """Goes through a connection and remembers what each client was told last."""

    feature: Feature
    methods: frozenset[str]
    now: dict[Key, Listing] = field(default_factory=dict["Key", "Listing"])
    asked: dict[Call, Asked] = field(default_factory=dict["Call", "Asked"])
    told: list[Listing] = field(default_factory=list["Listing"])

    def take(self, item: Item, first_pages: Mapping[Item, Listing]) -> None:
        if item.kind == "notification":
            if item.method == self.feature.changed and item.sender == "server":
                for listing in self.now.values():
                    listing.changed = listing.changed or item
            return
        call = item.call
        if call is None or item.sender == "client":
            if call is not None and call.request is item and item.method in self.methods:
                self.asked[call] = Asked(call, self.now.get(_key(call)))
            return
        if item.method in self.methods and call in self.asked and call.answer is item:
            self.asked[call].after = self.now.get(_key(call))
        listing = first_pages.get(item)
        if listing is not None:
            key = _key(call)
            if key in self.now:
                self.now[key].following = listing
            self.now[key] = listing
            self.told.append(listing)


@once
def _teller(connection: Connection, feature: Feature, methods: frozenset[str]) -> _Teller | None:
    walks = (walk for walk in connection.walks if walk.method == feature.method)
    listings = [one for one in (listing_of(feature, walk) for walk in walks) if one is not None]
    if not listings:
        return None
    teller = _Teller(feature, methods)
    first_pages = {one.first: one for one in listings}
    for item in connection.items:
        teller.take(item, first_pages)
    return teller


# What most rules look at. So one way through a connection is enough for them and for its lists.
_ASKED: Final[Mapping[str, frozenset[str]]] = {
    "tools/list": frozenset({"tools/call"}),
    "resources/list": frozenset({"resources/read"}),
    "prompts/list": frozenset({"prompts/get"}),
}


def asked(connection: Connection, feature: Feature, *methods: str) -> list[Asked]:
    """The client's requests of these methods, each with what the client had been told of the list.

    Empty where the connection shows no list at all: then nothing is known.
    """
    teller = _teller(connection, feature, frozenset(methods))
    return [] if teller is None else list(teller.asked.values())


def listings(connection: Connection, feature: Feature) -> list[Listing]:
    """The lists that were told, in order, each linked to the next one that the same client was told."""
    teller = _teller(connection, feature, _ASKED.get(feature.method, frozenset()))
    return [] if teller is None else teller.told
