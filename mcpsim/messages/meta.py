"""The `_meta` object: its reserved keys, and which keys are valid.

https://modelcontextprotocol.io/specification/2026-07-28/basic/index#_meta
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final, cast

from mcpsim.messages.envelopes import is_request_id

PROTOCOL_VERSION: Final = "io.modelcontextprotocol/protocolVersion"
CLIENT_INFO: Final = "io.modelcontextprotocol/clientInfo"
CLIENT_CAPABILITIES: Final = "io.modelcontextprotocol/clientCapabilities"
LOG_LEVEL: Final = "io.modelcontextprotocol/logLevel"
SUBSCRIPTION_ID: Final = "io.modelcontextprotocol/subscriptionId"
SERVER_INFO: Final = "io.modelcontextprotocol/serverInfo"
PROGRESS_TOKEN: Final = "progressToken"
TRACE_CONTEXT: Final = ("traceparent", "tracestate", "baggage")

# The keys without a prefix that the specification keeps for itself.
RESERVED_NAMES: Final = frozenset({PROGRESS_TOKEN, *TRACE_CONTEXT})
RESERVED_LABELS: Final = frozenset({"modelcontextprotocol", "mcp"})

_LABEL = "[A-Za-z](?:[A-Za-z0-9-]*[A-Za-z0-9])?"
_NAME = "[A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?"
_KEY = re.compile(rf"(?:{_LABEL}(?:\.{_LABEL})*/)?(?:{_NAME})?")


def meta_of(params: Mapping[str, Any] | None) -> dict[str, Any]:
    """Give the `_meta` object of a request's params, a notification's params or a result.

    `{}` when there is none, and also when `_meta` is not an object: that the body is not valid is for
    the check of the body to say, with the error code that belongs to it.
    """
    found = None if params is None else params.get("_meta")
    return cast(dict[str, Any], found) if isinstance(found, dict) else {}


def is_progress_token(value: object) -> bool:
    """Say whether `value` can be a progress token: a string or an integer, `0` and `""` included.

    https://modelcontextprotocol.io/specification/2026-07-28/basic/patterns/progress
    """
    return is_request_id(value)


def is_valid_meta_key(key: str) -> bool:
    """Say whether `key` has the form of a `_meta` key: an optional prefix with a slash, and a name.

    The name may be empty, by the letter of the specification even where there is no prefix.
    """
    return _KEY.fullmatch(key) is not None


def is_reserved_meta_key(key: str) -> bool:
    """Say whether the specification keeps `key` for itself.

    Reserved are `progressToken`, the three keys of trace context, and every key whose prefix has
    `modelcontextprotocol` or `mcp` as its second label: `com.mcp.tools/x` is, `com.example.mcp/x` is
    not. A prefix is looked at even if it is not valid otherwise: better to keep away from it.
    """
    prefix, slash, _ = key.partition("/")
    if not slash:
        return key in RESERVED_NAMES
    labels = prefix.split(".", 2)
    return len(labels) > 1 and labels[1] in RESERVED_LABELS
