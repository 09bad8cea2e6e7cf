"""HAR 1.2: what a browser's network panel or a proxy saves of HTTP traffic.

The members come from the description of the format (HTTP Archive 1.2). Beyond it, `_error` (Chromium) tells a
request that was given up, and a body of a request may have an `encoding` as that of a response has.

http://www.softwareishard.com/blog/har-12-spec/
"""

from __future__ import annotations

import base64
import binascii
from typing import Any, Final, cast

from mcpsim.recording.readers.bodies import body_of
from mcpsim.recording.readers.http_entries import HttpEntry, add_entries, as_headers, as_status
from mcpsim.recording.readers.model import Format, Found
from mcpsim.recording.readers.source import NOT_JSON, Source
from mcpsim.recording.readers.times import stamp_ms
from mcpsim.transports.http import JSON_TYPE

NAME: Final = "har"
# From the click to the first byte of the response, in order.
_BEFORE_RESPONSE: Final = ("blocked", "dns", "connect", "send", "wait")


def _entries(source: Source) -> list[Any] | None:
    document = source.document
    if document is NOT_JSON or not isinstance(document, dict):
        return None
    log = cast("dict[str, Any]", document).get("log")
    entries = cast("dict[str, Any]", log).get("entries") if isinstance(log, dict) else None
    return cast("list[Any]", entries) if isinstance(entries, list) else None


def _claims(source: Source) -> int:
    entries = _entries(source)
    return 0 if entries is None else len(entries) + 1


def _read(source: Source, found: Found) -> None:
    entries: list[HttpEntry] = []
    for number, value in enumerate(_entries(source) or (), start=1):
        at = f"entry {number}"
        entry = _entry(at, value)
        if entry is None:
            found.skip(at, "It has no request with a method and a URL.")
        else:
            entries.append(entry)
    add_entries(entries, found)


def _entry(where: str, value: Any) -> HttpEntry | None:
    whole, request, response = _object(value), _object(_object(value).get("request")), {}
    response = _object(whole.get("response"))
    method, url = request.get("method"), request.get("url")
    if not isinstance(method, str) or not isinstance(url, str):
        return None
    post = _object(request.get("postData"))
    content = _object(response.get("content"))
    started = whole.get("startedDateTime")
    start = stamp_ms(started) if isinstance(started, str) else None
    timings = _object(whole.get("timings"))
    before = sum(_number(timings.get(name)) for name in _BEFORE_RESPONSE)
    error = response.get("_error")
    return HttpEntry(
        where,
        method.upper(),
        url,
        as_headers(request.get("headers")),
        _text(post),
        as_status(response.get("status")),
        as_headers(response.get("headers")),
        _text(content),
        start,
        None if start is None else start + before,
        None if start is None else start + max(_number(whole.get("time")), before),
        isinstance(error, str) and "ABORTED" in error,
    )


def _object(value: Any) -> dict[str, Any]:
    return cast("dict[str, Any]", value) if isinstance(value, dict) else {}


def _number(value: Any) -> float:
    """A time in milliseconds; -1 stands for one that there is not."""
    ok = isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value < 1e12
    return float(value) if ok else 0.0


def _text(content: dict[str, Any]) -> bytes | None:
    text = content.get("text")
    if not isinstance(text, str) or (not text and _number(content.get("size")) > 0):
        return None
    if content.get("encoding") == "base64":
        try:
            data = base64.b64decode(text, validate=True)
        except (binascii.Error, ValueError):
            return None
    else:
        data = text.encode("utf-8", "surrogatepass")
    return None if _is_cut(content, data) else data


def _is_cut(content: dict[str, Any], data: bytes) -> bool:
    """Whether a browser kept the beginning of a long body only. That is no fault of who sent it."""
    kind = content.get("mimeType")
    is_json = isinstance(kind, str) and kind.lower().startswith(JSON_TYPE)
    return is_json and _number(content.get("size")) > len(data) and body_of(data).value is None


HAR: Final = Format(NAME, "a HAR file", _claims, _read)
