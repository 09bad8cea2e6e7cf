"""What the handler of a resource returned, as contents in the revision that is spoken.

https://modelcontextprotocol.io/specification/2026-07-28/server/resources#resource-contents
"""

from __future__ import annotations

import base64
from collections.abc import Mapping
from typing import Any, Final, cast

import mcp_types
from pydantic import BaseModel, TypeAdapter, ValidationError

from mcpsim.eras.revisions import CONTENT_META_REVISIONS
from mcpsim.server.results import check_base64, check_uri, plain_value

_CONTENTS: Final[TypeAdapter[Any]] = TypeAdapter(
    mcp_types.TextResourceContents | mcp_types.BlobResourceContents
)


def contents_of(value: Any, uri: str, mime_type: str, version: str) -> list[dict[str, Any]]:
    """What a handler returned, as the contents of `resources/read`.

    A string becomes text, bytes become a Base64 blob; a dictionary with `text` or `blob` is completed by the
    URI and the MIME type; a list may hold several of these.

    Raises:
        TypeError, ValueError: the value is none of these.
    """
    items = cast("list[Any]", value) if isinstance(value, list | tuple) else [value]
    return [_contents(item, uri, mime_type, version) for item in items]


def _contents(value: Any, uri: str, mime_type: str, version: str) -> dict[str, Any]:
    whole: dict[str, Any] = {"uri": uri}
    if mime_type:
        whole["mimeType"] = mime_type
    if isinstance(value, str):
        value.encode("utf-8")
        return {**whole, "text": value}
    if isinstance(value, bytes | bytearray | memoryview):
        return {**whole, "blob": _base64(bytes(cast("bytes", value)))}
    if not isinstance(value, Mapping | BaseModel):
        raise TypeError(
            f"the handler of a resource returns text, bytes or contents, not {type(value).__name__}"
        )
    given: dict[str, Any] = (
        value.model_dump(mode="json", by_alias=True, exclude_none=True)
        if isinstance(value, BaseModel)
        else dict(cast("Mapping[str, Any]", value))
    )
    blob = given.get("blob")
    if isinstance(blob, bytes | bytearray | memoryview):
        given["blob"] = _base64(bytes(cast("bytes", blob)))
    whole |= cast("dict[str, Any]", plain_value(given))
    try:
        _CONTENTS.validate_python(whole)
    except ValidationError:
        raise ValueError("contents have a uri, perhaps a mimeType, and either text or a blob") from None
    check_uri(whole["uri"])
    check_base64(whole.get("blob", ""))
    if version not in CONTENT_META_REVISIONS:
        whole.pop("_meta", None)
    return whole


def _base64(data: bytes) -> str:
    return base64.b64encode(data).decode("ascii")
