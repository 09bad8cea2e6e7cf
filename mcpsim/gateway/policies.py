"""What a gateway decides, as small functions: each may be replaced, for a better one or for a wrong one.

What an intermediary may rely on: https://modelcontextprotocol.io/specification/2026-07-28/basic/transports/streamable-http#server-validation
What it may keep: https://modelcontextprotocol.io/specification/2026-07-28/server/utilities/caching#cache-scope-field
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final
from zlib import crc32

from mcpsim.eras.revisions import era_of
from mcpsim.errors import FramingError
from mcpsim.transports.http import NAME_HEADER, PROTOCOL_VERSION_HEADER, Headers, decode_header_value
from mcpsim.utilities.caching import Entry
from mcpsim.utilities.parameter_headers import HEADER_PREFIX

Choose = Callable[[Headers, int, int], int]
"""Which replica gets a request, from 0: by its headers, how many requests there were before, and how many
replicas there are. Raises Untrusted where the headers cannot be relied upon."""

MayShare = Callable[[Mapping[str, Any]], bool]
"""Whether a result may be kept and given to everybody."""

Served = Callable[[Entry, float], dict[str, Any]]
"""The result that is given out for an entry of the cache, at a time in milliseconds."""

Forwarded = Callable[[Headers], Headers]
"""The headers that go on, for those that came."""


class Untrusted(Exception):
    """The headers of a request cannot be relied upon; the text says why. The gateway answers 400."""


def by_turns(headers: Headers, turn: int, replicas: int) -> int:
    """Every replica in its turn, whatever the request is about."""
    return turn % replicas


def by_header(name: str) -> Choose:
    """Requests with the same value of a header go to the same replica; those without it go by turns.

    Only modern servers have to compare headers with the body: an older client could say anything in them, and
    so its requests are refused instead of trusted (a SHOULD of the specification). A value in Base64 is the
    value that it stands for (a MUST).

    Args:
        name: the header, such as "Mcp-Name" or "Mcp-Param-Region".
    """

    def choose(headers: Headers, turn: int, replicas: int) -> int:
        version = headers.get(PROTOCOL_VERSION_HEADER)
        if version is None or era_of(version) != "modern":
            said = "no version" if version is None else f"the version {version!r}"
            raise Untrusted(
                f"{name} decides where a request goes, and the request names {said}: nobody compares its "
                "headers with its body."
            )
        value = headers.get(name)
        return turn % replicas if value is None else crc32(_decoded(name, value).encode()) % replicas

    return choose


def _decoded(name: str, value: str) -> str:
    """What a header says: `Mcp-Name` and `Mcp-Param-...` may say it in Base64.

    https://modelcontextprotocol.io/specification/2026-07-28/basic/transports/streamable-http#value-encoding
    """
    folded = name.lower()
    if folded != NAME_HEADER.lower() and not folded.startswith(HEADER_PREFIX.lower()):
        return value
    try:
        return decode_header_value(value.strip(" \t"))
    except FramingError as error:
        raise Untrusted(f"{name}: {error}") from None


def is_public(result: Mapping[str, Any]) -> bool:
    """Only what the server calls public is for everybody; without a word of the server nothing is."""
    return result.get("cacheScope") == "public"


def with_time_left(entry: Entry, now_ms: float) -> dict[str, Any]:
    """The result, with the part of its `ttlMs` that is left.

    Whoever gets it counts from now. With the whole time of the server it would count as fresh for longer than
    the server said. The specification does not speak of it; HTTP has its `Age` header for this.
    """
    left_ms = max(0, int(entry.fresh_until_ms - now_ms))
    return {**entry.result, "ttlMs": left_ms}


# https://www.rfc-editor.org/rfc/rfc9110.html#section-7.6.1
_OF_ONE_CONNECTION: Final = (
    "Connection",
    "Proxy-Connection",
    "Keep-Alive",
    "TE",
    "Transfer-Encoding",
    "Upgrade",
)


#: What a gateway says of itself: the version of HTTP in which the request came, and a name.
VIA: Final = ("Via", "1.1 gateway")


def signed(headers: Headers) -> Headers:
    """The headers of a request that goes on, with a line that says by which way it came.

    HTTP wants that of a gateway for requests; for responses it leaves the choice, and they stay as they are.
    https://www.rfc-editor.org/rfc/rfc9110.html#section-7.6.3
    """
    return Headers((*headers.items(), VIA))


def unchanged(headers: Headers) -> Headers:
    """Every header goes on as it is, known or not, but for those that are about one connection only."""
    named = [name.strip() for line in headers.get_all("Connection") for name in line.split(",")]
    for name in (*_OF_ONE_CONNECTION, *named):
        if name and name in headers:
            headers = headers.without(name)
    return headers
