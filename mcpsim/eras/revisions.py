"""The protocol revisions, by era.

*Legacy* revisions open a session with an `initialize` handshake; *modern* ones put version and
capabilities into every request.
https://modelcontextprotocol.io/specification/2026-07-28/basic/versioning#terminology
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, Literal, cast

from mcp_types.version import HANDSHAKE_PROTOCOL_VERSIONS, MODERN_PROTOCOL_VERSIONS

Era = Literal["legacy", "modern"]
ClientEra = Literal["legacy", "modern", "auto"]
ServerEra = Literal["legacy", "modern", "both"]

LEGACY_REVISIONS: Final = HANDSHAKE_PROTOCOL_VERSIONS
MODERN_REVISIONS: Final = MODERN_PROTOCOL_VERSIONS
LATEST_LEGACY: Final = LEGACY_REVISIONS[-1]
LATEST_MODERN: Final = MODERN_REVISIONS[-1]

# JSON-RPC batches were part of the protocol in one revision only.
# https://modelcontextprotocol.io/specification/2025-03-26/basic/index#batching
BATCHING_REVISIONS: Final = frozenset({"2025-03-26"})
# The one before says nothing of them: its messages follow JSON-RPC, which has them.
# https://modelcontextprotocol.io/specification/2024-11-05/basic/messages
SILENT_ABOUT_BATCHES: Final = frozenset({"2024-11-05"})

# The revision that brought the version header; before it a client sends none.
VERSION_HEADER_REVISIONS: Final = frozenset(LEGACY_REVISIONS[2:]) | frozenset(MODERN_REVISIONS)


def era_of(revision: str) -> Era | None:
    """The era of a revision, or None for a revision that nobody here knows."""
    if revision in LEGACY_REVISIONS:
        return "legacy"
    return "modern" if revision in MODERN_REVISIONS else None


def check_era(era: str, eras: tuple[str, ...]) -> None:
    """Check that an era is one of those that there are for a peer.

    Raises:
        ValueError: it is none of them.
    """
    if era not in eras:
        raise ValueError(f"era must be one of {', '.join(eras)}, not {era!r}.")


def supported_by(era: ServerEra) -> tuple[str, ...]:
    """The revisions of a server of this era, the newest first."""
    revisions = {
        "legacy": LEGACY_REVISIONS,
        "modern": MODERN_REVISIONS,
        "both": (*LEGACY_REVISIONS, *MODERN_REVISIONS),
    }[era]
    return tuple(reversed(revisions))


# Where arguments that do not fit a tool's schema are a tool error, which the model reads. The earlier
# revisions list invalid arguments among the protocol errors. (The comment beside InvalidParamsError in the
# modern schema still lists them there too; the tools page is the more specific text, and it is followed.)
# https://modelcontextprotocol.io/specification/2026-07-28/server/tools#error-handling
# https://modelcontextprotocol.io/specification/2025-06-18/server/tools#error-handling
ARGUMENT_FAULT_IS_TOOL_ERROR: Final = frozenset({LATEST_LEGACY, *MODERN_REVISIONS})

# Where a tool's result may carry `structuredContent`; an object before 2026-07-28, any JSON value since.
# https://modelcontextprotocol.io/specification/2025-06-18/server/tools#structured-content
# https://modelcontextprotocol.io/specification/2026-07-28/server/tools#structured-content
STRUCTURED_CONTENT_REVISIONS: Final = frozenset({"2025-06-18", "2025-11-25", *MODERN_REVISIONS})
ANY_STRUCTURED_CONTENT: Final = frozenset(MODERN_REVISIONS)

# The types of content that a revision knows: audio came with 2025-03-26, links with 2025-06-18.
_CONTENT: Final = frozenset({"text", "image", "resource"})
CONTENT_TYPES: Final[Mapping[str, frozenset[str]]] = {
    "2024-11-05": _CONTENT,
    "2025-03-26": _CONTENT | {"audio"},
    "2025-06-18": _CONTENT | {"audio", "resource_link"},
    "2025-11-25": _CONTENT | {"audio", "resource_link"},
    "2026-07-28": _CONTENT | {"audio", "resource_link"},
}

# Since when a definition may have a member; what is not here was always there. `annotations` is about tools:
# resources and templates always had them.
# https://modelcontextprotocol.io/specification/2025-03-26/changelog
# https://modelcontextprotocol.io/specification/2025-06-18/changelog
# https://modelcontextprotocol.io/specification/2025-11-25/changelog
_SINCE_2025_03_26: Final = frozenset({*LEGACY_REVISIONS[1:], *MODERN_REVISIONS})
_SINCE_2025_06_18: Final = frozenset({*LEGACY_REVISIONS[2:], *MODERN_REVISIONS})
_SINCE_2025_11_25: Final = frozenset({*LEGACY_REVISIONS[3:], *MODERN_REVISIONS})
_NAMED: Final[Mapping[str, frozenset[str]]] = {
    "title": _SINCE_2025_06_18,
    "icons": _SINCE_2025_11_25,
    "_meta": _SINCE_2025_06_18,
}
Kind = Literal["tool", "resource", "resource template", "prompt", "prompt argument", "implementation"]
MEMBERS_SINCE: Final[Mapping[Kind, Mapping[str, frozenset[str]]]] = {
    "tool": {**_NAMED, "annotations": _SINCE_2025_03_26, "outputSchema": _SINCE_2025_06_18},
    "resource": _NAMED,
    "resource template": _NAMED,
    "prompt": _NAMED,
    "prompt argument": _NAMED,
    "implementation": _NAMED,
}


def known_members(kind: Kind, definition: Mapping[str, Any], revision: str) -> dict[str, Any]:
    """A definition with the members that the revision knows."""
    since = MEMBERS_SINCE[kind]
    known = {
        name: value for name, value in definition.items() if name not in since or revision in since[name]
    }
    return known if kind == "tool" else with_known_annotations(known, revision)


def with_known_annotations(annotated: dict[str, Any], revision: str) -> dict[str, Any]:
    """A resource or a content block with the annotations that the revision knows: `lastModified` came with
    2025-06-18.

    https://modelcontextprotocol.io/specification/2025-06-18/schema#annotations
    """
    hints = annotated.get("annotations")
    if revision in _SINCE_2025_06_18 or not isinstance(hints, Mapping):
        return annotated
    known = {name: hint for name, hint in cast("Mapping[str, Any]", hints).items() if name != "lastModified"}
    rest = {name: value for name, value in annotated.items() if name != "annotations"}
    return {**rest, "annotations": known} if known else rest


# A content block or the contents of a resource with `_meta`; a link with icons.
CONTENT_META_REVISIONS: Final = _SINCE_2025_06_18
LINK_ICON_REVISIONS: Final = _SINCE_2025_11_25

# https://modelcontextprotocol.io/specification/2025-03-26/changelog
COMPLETIONS_CAPABILITY_REVISIONS: Final = _SINCE_2025_03_26
# https://modelcontextprotocol.io/specification/2025-06-18/changelog
COMPLETION_CONTEXT_REVISIONS: Final = _SINCE_2025_06_18

# Where a progress notification may say in words what is being done.
# https://modelcontextprotocol.io/specification/2025-03-26/changelog
PROGRESS_MESSAGE_REVISIONS: Final = _SINCE_2025_03_26

# Where a resource that is not there is an invalid parameter; before, it had a code of its own.
# https://modelcontextprotocol.io/specification/2026-07-28/server/resources#error-handling
# https://modelcontextprotocol.io/specification/2025-11-25/server/resources#error-handling
NO_RESOURCE_IS_INVALID_PARAMS: Final = frozenset(MODERN_REVISIONS)

# Where the tools page has rules for names, and says that schemas are valid in their dialect.
# https://modelcontextprotocol.io/specification/2025-11-25/changelog
TOOL_NAME_RULES_REVISIONS: Final = _SINCE_2025_11_25
TOOL_SCHEMA_DIALECT_REVISIONS: Final = _SINCE_2025_11_25

# Where a server that embeds resources in results of tools should have the `resources` capability.
# https://modelcontextprotocol.io/specification/2025-06-18/server/tools#embedded-resources
EMBEDDING_NEEDS_RESOURCES_REVISIONS: Final = _SINCE_2025_06_18

# The legacy revisions that have Streamable HTTP. The first one has another transport on HTTP.
# https://modelcontextprotocol.io/specification/2025-03-26/changelog
STREAMABLE_HTTP_REVISIONS: Final = frozenset(LEGACY_REVISIONS) & _SINCE_2025_03_26
# Where an invalid `Origin` is answered with 403; before, it is to be validated.
# https://modelcontextprotocol.io/specification/2025-11-25/basic/transports#security-warning
ORIGIN_IS_403_REVISIONS: Final = _SINCE_2025_11_25
# Where a server may close a connection before its stream has ended, and a stream begins with an id.
# https://modelcontextprotocol.io/specification/2025-11-25/changelog
POLLED_STREAM_REVISIONS: Final = frozenset(LEGACY_REVISIONS) & _SINCE_2025_11_25

# Where the keys of `_meta` have a form. The later of these also say which prefixes are the protocol's own
# (the first one says it in another way), and that a prefix is a domain, written backwards.
# https://modelcontextprotocol.io/specification/2025-06-18/basic/index#meta
# https://modelcontextprotocol.io/specification/2025-11-25/basic/index#meta
META_KEY_REVISIONS: Final = _SINCE_2025_06_18
META_PREFIX_REVISIONS: Final = _SINCE_2025_11_25
# Where what is offered may have icons.
# https://modelcontextprotocol.io/specification/2025-11-25/basic/index#icons
ICON_REVISIONS: Final = _SINCE_2025_11_25
# Where a schema without `$schema` is one of JSON Schema 2020-12.
# https://modelcontextprotocol.io/specification/2025-11-25/basic/index#json-schema-usage
SCHEMA_DIALECT_REVISIONS: Final = _SINCE_2025_11_25

# Where tasks are part of the protocol, as an experiment.
# https://modelcontextprotocol.io/specification/2025-11-25/basic/utilities/tasks
TASKS_REVISIONS: Final = frozenset({LATEST_LEGACY})

# Where both sides must keep to what was negotiated; before, they should.
# https://modelcontextprotocol.io/specification/2025-06-18/basic/lifecycle#operation
# https://modelcontextprotocol.io/specification/2025-03-26/basic/lifecycle#operation
OPERATION_IS_DEMANDED: Final = frozenset(LEGACY_REVISIONS) & _SINCE_2025_06_18

# Where the text says that whoever stops waiting cancels, and that what comes on stderr need not be an error.
# https://modelcontextprotocol.io/specification/2025-03-26/basic/lifecycle#timeouts
# https://modelcontextprotocol.io/specification/2025-11-25/basic/transports#stdio
TIMEOUT_CANCELS_REVISIONS: Final = _SINCE_2025_03_26
STDERR_REVISIONS: Final = _SINCE_2025_11_25
