"""Blocks of content, wherever they stand: in results of tools, in prompts, in what a resource holds.

https://modelcontextprotocol.io/specification/2026-07-28/server/prompts#promptmessage
https://modelcontextprotocol.io/specification/2026-07-28/server/resources#resource-contents
https://modelcontextprotocol.io/specification/2026-07-28/server/resources#annotations
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, Final, NamedTuple, cast

from mcpsim.audit.model import Item
from mcpsim.audit.rule import ALL, MUST, NOTE, Found, Rule, inside, results
from mcpsim.audit.rules.listed import members_of
from mcpsim.audit.rules.texts import blocks_of
from mcpsim.recording.words import plain, show
from mcpsim.utilities.uris import is_uri

# RFC 4648, section 4, with the padding that it demands.
_BASE64: Final = re.compile(r"[A-Za-z0-9+/]*={0,2}")
# Section 5, the alphabet for URLs; also without padding, and in lines as mail has it.
_OTHER_BASE64: Final = re.compile(r"[A-Za-z0-9+/_\-\r\n]*={0,2}[\r\n]*")
# RFC 6838, section 4.2, and perhaps parameters.
_TOKEN: Final = r"[A-Za-z0-9!#$&^_.+\-]{1,127}"
_MIME_TYPE: Final = re.compile(rf"{_TOKEN}/{_TOKEN}(?:\s*;.*)?", re.DOTALL)
# What ISO 8601 allows for a date, alone or with a time: with a zone or without, extended or basic.
_TIMESTAMP: Final = re.compile(
    r"\d{4}-?(?:\d{2}(?:-?\d{2})?|W\d{2}(?:-?\d)?|\d{3})"
    r"(?:[Tt ]\d{2}(?::?\d{2}(?::?\d{2}(?:[.,]\d{1,12})?)?)?(?:[Zz]|[+-]\d{2}(?::?\d{2})?)?)?"
)
_ROLES: Final = frozenset({"user", "assistant"})


class Place(NamedTuple):
    """A block of content or a definition, and where it stands."""

    where: str
    value: Mapping[str, Any]


def tool_blocks(item: Item) -> Iterator[Place]:
    """The content of a tool's result."""
    for number, block in enumerate(blocks_of(item.result.get("content"))):
        yield Place(f"content[{number}]", block)


def prompt_blocks(item: Item) -> Iterator[Place]:
    """The content of the messages of a prompt."""
    for number, message in enumerate(members_of(item.result, "messages")):
        content: Any = message.get("content")
        if isinstance(content, dict):
            yield Place(f"messages[{number}].content", cast("dict[str, Any]", content))


def blocks(item: Item) -> Iterator[Place]:
    """The content of a result of either kind."""
    return tool_blocks(item) if item.method == "tools/call" else prompt_blocks(item)


def embedded(places: Iterator[Place]) -> Iterator[Place]:
    """The resources that are embedded in content."""
    for where, block in places:
        resource: Any = block.get("resource")
        if block.get("type") == "resource" and isinstance(resource, dict):
            yield Place(f"{where}.resource", cast("dict[str, Any]", resource))


def contents(item: Item) -> Iterator[Place]:
    """What a resource that was read holds, or the resources that are embedded in a result."""
    if item.method == "resources/read":
        for number, one in enumerate(members_of(item.result, "contents")):
            yield Place(f"contents[{number}]", one)
    else:
        yield from embedded(blocks(item))


def _encoding(item: Item, where: str, data: Any) -> Iterator[Found]:
    if not isinstance(data, str) or (_BASE64.fullmatch(data) and len(data) % 4 == 0):
        return
    if _OTHER_BASE64.fullmatch(data) and len(data.rstrip("=\r\n")) % 4 != 1:
        yield Found(
            item,
            f"{where} is base64 of another kind: without padding, in lines, or in the alphabet for URLs. Not "
            "every client can read that.",
            level=NOTE,
        )
    else:
        yield Found(item, f"{where} is {show(data)}, which is no base64.")


def _media(item: Item) -> Iterator[Found]:
    for where, block in blocks(item):
        if block.get("type") in ("image", "audio"):
            yield from _encoding(item, f"{where}.data", block.get("data"))


def _prompt_media(item: Item) -> Iterator[Found]:
    yield from _media(item)
    for where, block in prompt_blocks(item):
        kind: Any = block.get("mimeType")
        if (
            block.get("type") in ("image", "audio")
            and isinstance(kind, str)
            and not _MIME_TYPE.fullmatch(kind)
        ):
            yield Found(
                item, f"{where}.mimeType is {show(kind)}; a MIME type has a type and a subtype: image/png."
            )


def _blobs(item: Item) -> Iterator[Found]:
    for where, one in contents(item):
        yield from _encoding(item, f"{where}.blob", one.get("blob"))


def _prompt_resources(item: Item) -> Iterator[Found]:
    for where, resource in embedded(prompt_blocks(item)):
        uri, kind = resource.get("uri"), resource.get("mimeType")
        if isinstance(uri, str) and not is_uri(uri):
            yield Found(item, f"{where}.uri is {show(uri)}, which is no URI by RFC 3986.")
        if kind is None:
            yield Found(
                item,
                f"{where} has no mimeType. server/prompts#embedded-resources says that it must be there, "
                "schema.ts that it may be left out where it is not known.",
                level=NOTE,
            )
        elif isinstance(kind, str) and not _MIME_TYPE.fullmatch(kind):
            yield Found(item, f"{where}.mimeType is {show(kind)}; a MIME type has a type and a subtype.")


def _annotated(item: Item) -> Iterator[Place]:
    """Everything in a result that may have annotations."""
    if item.method == "resources/list":
        yield from (
            Place(f"the resource {show(one.get('uri'))}", one) for one in members_of(item.result, "resources")
        )
    elif item.method == "resources/templates/list":
        for one in members_of(item.result, "resourceTemplates"):
            yield Place(f"the template {show(one.get('uriTemplate'))}", one)
    else:
        yield from blocks(item)


def _annotations(item: Item) -> Iterator[tuple[str, Mapping[str, Any]]]:
    for where, one in _annotated(item):
        hints: Any = one.get("annotations")
        if isinstance(hints, dict):
            yield where, cast("dict[str, Any]", hints)


def _hints(item: Item) -> Iterator[Found]:
    for where, hints in _annotations(item):
        audience: Any = hints.get("audience", [])
        whom: list[Any] = cast("list[Any]", audience) if isinstance(audience, list) else [audience]
        odd = [one for one in whom if not (isinstance(one, str) and one in _ROLES)]
        if odd or not isinstance(audience, list):
            yield _wrong(item, where, "audience", audience, 'is a list of "user" and "assistant"')
        priority: Any = hints.get("priority", 0)
        is_number = isinstance(priority, int | float) and not isinstance(priority, bool)
        if not (is_number and 0 <= priority <= 1):
            yield _wrong(item, where, "priority", priority, "is a number from 0 to 1")


def _modified(item: Item) -> Iterator[Found]:
    for where, hints in _annotations(item):
        moment: Any = hints.get("lastModified")
        if isinstance(moment, str) and not _TIMESTAMP.fullmatch(moment):
            yield _wrong(item, where, "lastModified", moment, "should be a timestamp of ISO 8601")


def _wrong(item: Item, where: str, name: str, value: Any, right: str) -> Found:
    return Found(item, f"{plain(where)}: annotations.{name} is {show(value)}; it {right}.")


_WITH_ANNOTATIONS: Final = ("tools/call", "prompts/get", "resources/list", "resources/templates/list")


def _at(page: str) -> Mapping[Any, str]:
    return {"modern": page, "legacy": page}


CONTENT: Final[tuple[Rule, ...]] = (
    Rule(
        "tool-media-base64",
        MUST,
        "server",
        ALL,
        _at("server/tools#image-content"),
        "The data of an image or of audio in a tool's result is base64.",
        on=results("tools/call", needs=inside("data")),
        check=_media,
    ),
    Rule(
        "prompt-media-encoded",
        MUST,
        "server",
        ALL,
        _at("server/prompts#image-content"),
        "The data of an image or of audio in a prompt is base64, and its MIME type is one.",
        on=results("prompts/get"),
        check=_prompt_media,
    ),
    Rule(
        "prompt-embedded-resource",
        MUST,
        "server",
        ALL,
        _at("server/prompts#embedded-resources"),
        "A resource that is embedded in a prompt has a URI, a MIME type, and a text or a blob.",
        on=results("prompts/get"),
        check=_prompt_resources,
    ),
    Rule(
        "resource-blob-base64",
        MUST,
        "server",
        ALL,
        _at("server/resources#binary-content"),
        "The binary content of a resource is base64.",
        on=results("resources/read", "tools/call", "prompts/get", needs=inside("blob")),
        check=_blobs,
    ),
    Rule(
        "annotations-valid",
        MUST,
        "server",
        ALL,
        _at("server/resources#annotations"),
        "Annotations name users and assistants as the audience, and a priority from 0 to 1.",
        on=results(*_WITH_ANNOTATIONS, needs=inside("annotations")),
        check=_hints,
    ),
    Rule(
        "annotations-last-modified",
        NOTE,
        "server",
        ALL,
        _at("server/resources#annotations"),
        "The moment of the last modification in annotations is a timestamp of ISO 8601.",
        on=results(*_WITH_ANNOTATIONS, needs=inside("lastModified")),
        check=_modified,
    ),
)
