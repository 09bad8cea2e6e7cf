"""What a tool's handler returned, as a result of `tools/call` in the revision that is spoken.

https://modelcontextprotocol.io/specification/2026-07-28/server/tools#tool-result
"""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from enum import Enum
from typing import Any, Final, cast, get_args

import mcp_types
from pydantic import BaseModel, TypeAdapter, ValidationError

from mcpsim.eras.revisions import (
    ANY_STRUCTURED_CONTENT,
    CONTENT_META_REVISIONS,
    CONTENT_TYPES,
    LINK_ICON_REVISIONS,
    STRUCTURED_CONTENT_REVISIONS,
    with_known_annotations,
)
from mcpsim.messages import write_json
from mcpsim.utilities.uris import is_uri

# RFC 6838, section 4.2, with parameters behind it.
_MIME_NAME: Final = r"[A-Za-z0-9][A-Za-z0-9!#$&^_.+-]{0,126}"
_MIME_TYPE: Final = re.compile(rf"{_MIME_NAME}/{_MIME_NAME}(?:\s*;.*)?")
_BLOCKS: Final = get_args(mcp_types.ContentBlock)
_BLOCK: Final[TypeAdapter[Any]] = TypeAdapter(mcp_types.ContentBlock)


def error_result(text: str) -> dict[str, Any]:
    """A tool error: a result, not a JSON-RPC error, so that it reaches the model."""
    return {"content": [{"type": "text", "text": text}], "isError": True}


def result_of(value: Any, version: str) -> dict[str, Any]:
    """What a handler returned, as a result.

    A string becomes text; None becomes no content; a content block or a list of them stays what it is.
    Anything else becomes `structuredContent` with the same JSON as text beside it: any JSON value in
    2026-07-28, only an object in the revisions before, and only the text in those before 2025-06-18. A
    content block that the revision does not know becomes text that says what it is.

    Raises:
        TypeError, ValueError, FramingError: JSON cannot carry the value.
    """
    if isinstance(value, str):
        # Half of a surrogate pair raises here, where it is still clear whose fault it is.
        value.encode("utf-8")
        return {"content": [{"type": "text", "text": value}]}
    if value is None:
        return {"content": []}
    plain = plain_value(value)
    write_json(plain)
    blocks = cast("list[Any]", plain) if isinstance(plain, list) else [plain]
    if blocks and all(map(_is_content, blocks)):
        return {"content": [block_for_revision(block, version) for block in blocks]}
    return structured_result(plain, version)


def structured_result(plain: Any, version: str) -> dict[str, Any]:
    """A JSON value as a result: structured where the revision can carry it, and as text beside it."""
    text = json.dumps(plain, ensure_ascii=False)
    return {"content": [{"type": "text", "text": text}], **_structured(plain, version)}


def _structured(plain: Any, version: str) -> dict[str, Any]:
    known = version in ANY_STRUCTURED_CONTENT or (
        version in STRUCTURED_CONTENT_REVISIONS and isinstance(plain, dict)
    )
    return {"structuredContent": plain} if known else {}


def whole_result(value: mcp_types.CallToolResult, version: str) -> dict[str, Any]:
    """A result that the handler made itself, with what the revision knows of it.

    Raises:
        FramingError: JSON cannot carry it.
    """
    dumped = value.model_dump(mode="json", by_alias=True, exclude_none=True)
    result: dict[str, Any] = {"content": [block_for_revision(block, version) for block in dumped["content"]]}
    if "structured_content" in value.model_fields_set:
        result |= _structured(plain_value(value.structured_content), version)
    if value.is_error:
        result["isError"] = True
    if "_meta" in dumped:
        result["_meta"] = dumped["_meta"]
    write_json(result)
    return result


def plain_value(value: Any) -> Any:
    """Models, dataclasses, enumerations and tuples as the JSON values that they stand for.

    Raises:
        TypeError: a value of another kind. A set is one: it has no order, and JSON has nothing but lists.
    """
    if value is None or (isinstance(value, bool | int | float | str) and not isinstance(value, Enum)):
        return value
    if isinstance(value, BaseModel):
        # In the protocol's own types None means "not there"; in a model of the server's it is a value.
        return value.model_dump(mode="json", by_alias=True, exclude_none=isinstance(value, _BLOCKS))
    if isinstance(value, Enum):
        return plain_value(value.value)
    if is_dataclass(value) and not isinstance(value, type):
        return {one.name: plain_value(getattr(value, one.name)) for one in fields(value)}
    if isinstance(value, Mapping):
        return {key: plain_value(item) for key, item in cast("Mapping[Any, Any]", value).items()}
    if isinstance(value, list | tuple):
        return [plain_value(item) for item in cast("list[Any]", value)]
    raise TypeError(f"a value of type {type(value).__name__} has no JSON form")


def _is_content(block: Any) -> bool:
    if not isinstance(block, dict) or "type" not in block:
        return False
    try:
        _BLOCK.validate_python(block)
    except ValidationError:
        return False
    return True


def block_for_revision(block: dict[str, Any], version: str) -> dict[str, Any]:
    """A content block as a revision knows it; one of an unknown type as a text that says what it is.

    Raises:
        ValueError: the data in it is not Base64, or what should be a URI or a MIME type is none.
    """
    kind = block["type"]
    _check_block(block)
    if kind in CONTENT_TYPES[version]:
        return _known_block(block, version)
    what = block.get("uri") or block.get("mimeType") or ""
    return {"type": "text", "text": f"[{kind} {what}: revision {version} has no content of this type]"}


def _known_block(block: dict[str, Any], version: str) -> dict[str, Any]:
    unknown = {
        *(() if version in CONTENT_META_REVISIONS else ("_meta",)),
        *(() if version in LINK_ICON_REVISIONS else ("icons",)),
    }
    if not unknown:
        return block
    members = {key: value for key, value in block.items() if key not in unknown}
    known = with_known_annotations(members, version)
    inner = known.get("resource")
    if isinstance(inner, dict):
        known["resource"] = {
            key: value for key, value in cast("dict[str, Any]", inner).items() if key not in unknown
        }
    return known


def check_uri(text: str) -> None:
    """Raises ValueError where a text is no URI by RFC 3986."""
    if not is_uri(text):
        raise ValueError(f"{text!r} is no URI by RFC 3986")


def check_base64(text: Any) -> None:
    """Raises ValueError where a text is not Base64 as RFC 4648 has it."""
    try:
        base64.b64decode(text, validate=True)
    except ValueError:
        raise ValueError("data that is no text goes as Base64, and this is not valid Base64") from None


def _check_block(block: Mapping[str, Any]) -> None:
    if block["type"] in ("image", "audio"):
        check_base64(block["data"])
        if not _MIME_TYPE.fullmatch(block["mimeType"]):
            raise ValueError(f"{block['mimeType']!r} is no MIME type")
    elif block["type"] == "resource":
        check_uri(block["resource"]["uri"])
        check_base64(block["resource"].get("blob", ""))
    elif block["type"] == "resource_link":
        check_uri(block["uri"])
