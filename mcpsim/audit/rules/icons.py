"""Icons: where they come from, and their sizes. Clients refuse what is not safe.

https://modelcontextprotocol.io/specification/2026-07-28/basic/index#icons
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, Final, cast

from mcpsim.audit.model import Item
from mcpsim.audit.rule import NOTE, Found, Rule, inside, messages
from mcpsim.audit.rules.envelopes import members, on_both
from mcpsim.eras.revisions import ICON_REVISIONS
from mcpsim.messages.meta import CLIENT_INFO, SERVER_INFO
from mcpsim.recording.words import show

ICONS_PAGE: Final = "basic/index#icons"
LISTS: Final = frozenset({"tools", "resources", "resourceTemplates", "prompts", "content"})
_IDENTITIES: Final = ("clientInfo", "serverInfo")

_SIZE: Final = re.compile(r"any|[1-9][0-9]*x[1-9][0-9]*")
_SCHEME: Final = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*):")
_BASE64: Final = re.compile(r"data:[^,]*;base64,", re.IGNORECASE)


def icons(item: Item) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """The icons in a message, each with the name of what it belongs to."""
    for key in (CLIENT_INFO, SERVER_INFO):
        if key in item.meta:
            yield from _of(item.meta[key])
    for name, value in (item.result if item.kind == "response" else item.params).items():
        if name in _IDENTITIES:
            yield from _of(value)
        elif name in LISTS and isinstance(value, list):
            for entry in cast("list[Any]", value):
                yield from _of(entry)


def _of(value: Any) -> Iterator[tuple[str, Mapping[str, Any]]]:
    holder = members(value)
    found = holder.get("icons")
    if isinstance(found, list):
        for icon in cast("list[Any]", found):
            yield show(holder.get("name")), members(icon)


def _sources(item: Item) -> Iterator[Found]:
    for name, icon in icons(item):
        source = icon.get("src")
        if isinstance(source, str) and (fault := _fault_of_source(source)):
            yield Found(
                item,
                f"The icon {show(source)} of {name} {fault}",
                hint="Give it as https: or as data: in Base64.",
            )
            return


def _fault_of_source(source: str) -> str:
    match = _SCHEME.match(source)
    scheme = "" if match is None else match[1].lower()
    match scheme:
        case "https":
            return ""
        case "":
            return "is no complete URI; clients cannot tell where it is."
        case "data":
            return "" if _BASE64.match(source) else "has its data not in Base64."
        case "http":
            return "comes without encryption; clients should take https: or data: only."
        case _:
            return f"has the scheme {scheme}:, which clients must refuse."


def _sizes(item: Item) -> Iterator[Found]:
    for name, icon in icons(item):
        sizes = icon.get("sizes")
        if not isinstance(sizes, list):
            continue
        for size in cast("list[Any]", sizes):
            if isinstance(size, str) and not _SIZE.fullmatch(size):
                yield Found(
                    item, f'The size {show(size)} of an icon of {name} is not like "48x48", and not "any".'
                )
                return


ICONS: Final[tuple[Rule, ...]] = (
    Rule(
        "icon-is-safe-to-fetch",
        NOTE,
        "sender",
        ICON_REVISIONS,
        on_both(ICONS_PAGE),
        "The source of an icon is an https: or a data: URI; clients refuse other schemes.",
        on=messages(needs=inside("icons")),
        check=_sources,
    ),
    Rule(
        "icon-size-has-its-form",
        NOTE,
        "sender",
        ICON_REVISIONS,
        on_both(ICONS_PAGE),
        'The sizes of an icon are like "48x48", or "any".',
        on=messages(needs=inside("icons")),
        check=_sizes,
    ),
)
