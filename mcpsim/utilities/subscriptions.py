"""What a subscription asks for: a filter, read, cut down to what a server supports, and asked of each change.

https://modelcontextprotocol.io/specification/2026-07-28/basic/patterns/subscriptions#notification-filter
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple, cast

RESOURCE_SUBSCRIPTIONS: Final = "resourceSubscriptions"
RESOURCE_UPDATED: Final = "notifications/resources/updated"


class Kind(NamedTuple):
    """One kind of change that a filter names by a flag.

    Attributes:
        member: the filter's member.
        method: the notification that tells of it.
        capability: what a server declares that sends it, as a path into the capabilities object.
    """

    member: str
    method: str
    capability: str


LIST_CHANGES: Final = (
    Kind("toolsListChanged", "notifications/tools/list_changed", "tools.listChanged"),
    Kind("promptsListChanged", "notifications/prompts/list_changed", "prompts.listChanged"),
    Kind("resourcesListChanged", "notifications/resources/list_changed", "resources.listChanged"),
)
UPDATES: Final = Kind(RESOURCE_SUBSCRIPTIONS, RESOURCE_UPDATED, "resources.subscribe")

CAPABILITY_OF: Final[Mapping[str, str]] = {kind.method: kind.capability for kind in (*LIST_CHANGES, UPDATES)}


@dataclass(frozen=True, slots=True)
class Filter:
    """What a subscription wants to hear of. Two filters that want the same are equal.

    Attributes:
        methods: the list changes, as the methods of their notifications.
        uris: the resources whose updates are wanted, in the order in which they were named.
    """

    methods: frozenset[str] = frozenset()
    uris: tuple[str, ...] = ()
    # A filter may name very many resources, and every change is looked up in it.
    _uris: frozenset[str] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_uris", frozenset(self.uris))

    def wants(self, method: str, uri: str | None = None) -> bool:
        """Whether a change is one of those.

        Args:
            method: the notification's method.
            uri: the resource that was updated, or None for a list change.
        """
        return uri in self._uris if method == RESOURCE_UPDATED else method in self.methods

    def supported(self, declares: Callable[[str], bool]) -> Filter:
        """The part of this filter that a server can honour.

        Args:
            declares: whether the server declares a capability, by its path, such as "tools.listChanged".
        """
        methods = (kind.method for kind in LIST_CHANGES if declares(kind.capability))
        return Filter(self.methods.intersection(methods), self.uris if declares(UPDATES.capability) else ())

    def without(self, other: Filter) -> Filter:
        """What this filter wants and another one does not."""
        return Filter(self.methods - other.methods, tuple(uri for uri in self.uris if uri not in other._uris))

    def to_json(self) -> dict[str, Any]:
        """The filter as it stands in `params.notifications`; what is not wanted is left out."""
        written: dict[str, Any] = {kind.member: True for kind in LIST_CHANGES if kind.method in self.methods}
        if self.uris:
            written[RESOURCE_SUBSCRIPTIONS] = list(self.uris)
        return written


def wanted(
    *,
    tools_list_changed: bool = False,
    prompts_list_changed: bool = False,
    resources_list_changed: bool = False,
    resource_subscriptions: Iterable[str] = (),
) -> Filter:
    """A filter by the names that its members have in Python.

    Raises:
        TypeError: `resource_subscriptions` is one string. It holds several URIs.
    """
    if isinstance(resource_subscriptions, str):
        raise TypeError("resource_subscriptions takes several URIs, such as ['file:///a'], not one string.")
    flags = (tools_list_changed, prompts_list_changed, resources_list_changed)
    methods = frozenset(kind.method for kind, flag in zip(LIST_CHANGES, flags, strict=True) if flag)
    return Filter(methods, tuple(dict.fromkeys(resource_subscriptions)))


def read_filter(value: object) -> Filter:
    """Read a filter as it came in `params.notifications`. Members that nobody here knows are left alone.

    A URI that is named twice counts once.

    Raises:
        ValueError: it has not the form of a filter; the text says where.
    """
    if not isinstance(value, Mapping):
        found = "is missing" if value is None else "is not an object"
        raise ValueError(f"params.notifications {found}; it says which notifications are wanted.")
    members = cast("Mapping[str, Any]", value)
    methods: list[str] = []
    for kind in LIST_CHANGES:
        flag = members.get(kind.member, False)
        if not isinstance(flag, bool):
            raise ValueError(f"params.notifications.{kind.member} must be true or false, or left out.")
        if flag:
            methods.append(kind.method)
    uris: Any = members.get(RESOURCE_SUBSCRIPTIONS, [])
    if not isinstance(uris, list) or not all(isinstance(uri, str) for uri in cast("list[Any]", uris)):
        raise ValueError(f"params.notifications.{RESOURCE_SUBSCRIPTIONS} must be a list of URIs.")
    return Filter(frozenset(methods), tuple(dict.fromkeys(cast("list[str]", uris))))
