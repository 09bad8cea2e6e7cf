"""Resources: their URIs, their templates, and whom updates go to.

https://modelcontextprotocol.io/specification/2026-07-28/server/resources
https://modelcontextprotocol.io/specification/2025-11-25/server/resources
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from itertools import islice
from typing import Any, Final

from mcpsim.audit.model import Connection, Item, Session, Walk
from mcpsim.audit.rule import ALL, LEGACY, MUST, NOTE, Found, Rule, each, inside, results
from mcpsim.audit.rules.content import Place, blocks, contents
from mcpsim.audit.rules.listed import RESOURCES as LIST
from mcpsim.audit.rules.listed import listing_of, members_of
from mcpsim.recording.words import show
from mcpsim.utilities.uris import is_uri

#: To how many subscriptions an update is compared that may be of a part of them.
MAX_LOOKED_AT: Final = 100
READING: Final = frozenset({"resources/read", "resources/subscribe", "resources/unsubscribe"})

# RFC 6570, section 2. A variable may come twice; the operators that are kept for later may not come at all.
_VARIABLE: Final = (
    r"(?:[A-Za-z0-9_]|%[0-9A-Fa-f]{2})(?:\.?(?:[A-Za-z0-9_]|%[0-9A-Fa-f]{2}))*(?::[1-9][0-9]{0,3}|\*)?"
)
_TEMPLATE: Final = re.compile(
    r"(?:[^\x00-\x20\"'%<>\\^`{|}\x7f]|%[0-9A-Fa-f]{2}"
    rf"|\{{[+#./;?&]?{_VARIABLE}(?:,{_VARIABLE})*\}})*"
)


def is_template(text: str) -> bool:
    """Whether a text is a URI template by RFC 6570. Every URI is one."""
    return _TEMPLATE.fullmatch(text) is not None


def _told(item: Item) -> Iterator[Place]:
    """Everything in a server's result that has a URI of a resource."""
    if item.method == "resources/list":
        for number, one in enumerate(members_of(item.result, "resources")):
            yield Place(f"resources[{number}]", one)
    elif item.method == "resources/read":
        yield from contents(item)
    else:
        for place in blocks(item):
            if place.value.get("type") == "resource_link":
                yield place
        if item.method == "tools/call":
            # Those in prompts have a rule of their own.
            yield from contents(item)


def _valid(item: Item) -> Iterator[Found]:
    asked = None if item.call is None else item.call.request.params.get("uri")
    for where, one in _told(item):
        uri: Any = one.get("uri")
        # What the client asked for is repeated: that it is no URI is the client's fault.
        if isinstance(uri, str) and not is_uri(uri) and uri != asked:
            yield Found(
                item,
                f"{where}.uri is {show(uri)}, which is no URI by RFC 3986.",
                hint="A URI begins with a scheme; spaces and letters beyond ASCII are percent-encoded.",
            )


def _requested(connection: Connection) -> Iterator[Found]:
    calls = [call for call in connection.calls if call.method in READING and call.asked_by == "client"]
    odd = [call for call in calls if _is_no_uri(call.request.params.get("uri"))]
    if not odd:
        return
    told = {
        place.value.get("uri")
        for item in connection.items
        if item.kind == "response" and item.method in ("resources/list", "tools/call", "prompts/get")
        for place in _told(item)
        if isinstance(place.value.get("uri"), str)
    }
    for call in odd:
        uri = call.request.params["uri"]
        if uri not in told:
            yield Found(
                call.request,
                f"The client asks for the resource {show(uri)}, which is no URI by RFC 3986.",
                hint="The schema has a URI there. A server has to validate it in any case.",
            )


def _is_no_uri(value: Any) -> bool:
    return isinstance(value, str) and not is_uri(value)


def _templates(item: Item) -> Iterator[Found]:
    for one in members_of(item.result, "resourceTemplates"):
        text: Any = one.get("uriTemplate")
        if isinstance(text, str) and not is_template(text):
            yield Found(
                item,
                f"The uriTemplate {show(text)} is no URI template by RFC 6570.",
                hint="A variable stands in braces, with letters, digits and underscores: file:///{path}.",
            )


def _unique(walk: Walk) -> Iterator[Found]:
    listing = listing_of(LIST, walk)
    for uri, entries in (listing.entries if listing else {}).items():
        for again in entries[1:]:
            # On another page it may be the very same resource: the list grew in the meantime.
            if again.item is entries[0].item or again.definition != entries[0].definition:
                yield Found(
                    again.item,
                    f"The resource {show(uri)} stands twice in the list; a URI identifies one resource.",
                )
                break


def _updates(session: Session) -> Iterator[Found]:
    subscribed: dict[str, None] = {}
    for item in session.items:
        uri: Any = item.params.get("uri")
        if not isinstance(uri, str):
            continue
        if item.kind == "request" and item.method == "resources/subscribe":
            subscribed[uri] = None
        if item.kind == "notification" and item.method == "notifications/resources/updated":
            # It may be a part of what was subscribed to.
            if uri in subscribed or any(uri.startswith(one) for one in islice(subscribed, MAX_LOOKED_AT)):
                continue
            yield Found(
                item,
                f"The server tells of an update of {show(uri)}, to which the client has not subscribed.",
                hint="Send updates to those who asked with resources/subscribe.",
            )


def _at(anchor: str) -> Mapping[Any, str]:
    return {"modern": f"server/resources#{anchor}", "legacy": f"server/resources#{anchor}"}


RESOURCES: Final[tuple[Rule, ...]] = (
    Rule(
        "resource-uri-valid",
        MUST,
        "server",
        ALL,
        _at("custom-uri-schemes"),
        "The URI of a resource is one by RFC 3986.",
        on=results("resources/list", "resources/read", "tools/call", "prompts/get", needs=inside("uri")),
        check=_valid,
    ),
    Rule(
        "resource-request-uri-valid",
        NOTE,
        "client",
        ALL,
        _at("reading-resources"),
        "A client asks for a resource by a URI.",
        on=each(Connection, among=tuple(sorted(READING))),
        check=_requested,
    ),
    Rule(
        "resource-template-valid",
        MUST,
        "server",
        ALL,
        _at("resource-templates"),
        "The template of resources is a URI template by RFC 6570.",
        on=results("resources/templates/list"),
        check=_templates,
    ),
    Rule(
        "resource-uri-unique",
        NOTE,
        "server",
        ALL,
        _at("resource"),
        "No two resources of a list have the same URI.",
        on=each(Walk, "resources/list"),
        check=_unique,
    ),
    Rule(
        "resource-update-subscribed-legacy",
        NOTE,
        "server",
        LEGACY,
        {"legacy": "server/resources#subscriptions"},
        "Updates of a resource go to clients that have subscribed to it.",
        on=each(Session),
        check=_updates,
    ),
)
