"""The gateway's memory of public results: the one part of it that reads bodies.

Whoever processes a body must compare the headers with it; where they differ, the request is the server's to
refuse, and nothing of it is looked up or kept.
https://modelcontextprotocol.io/specification/2026-07-28/basic/transports/streamable-http#server-validation
https://modelcontextprotocol.io/specification/2026-07-28/server/utilities/caching
"""

from __future__ import annotations

from typing import Final, NamedTuple, cast

from mcpsim.eras import modern
from mcpsim.eras.revisions import era_of
from mcpsim.errors import INVALID_PARAMS, MalformedMessage, ProtocolError
from mcpsim.gateway.gateway import Gateway
from mcpsim.messages import ErrorResponse, Notification, Request, Response, read_message
from mcpsim.transports.http import (
    EVENT_STREAM_TYPE,
    JSON_TYPE,
    METHOD_HEADER,
    PROTOCOL_VERSION_HEADER,
    Headers,
    HttpHead,
    HttpRequest,
    accepts,
    header_problems,
    origin_allowed,
)
from mcpsim.utilities.caching import CACHEABLE, Cache, Entry, in_words, spoiled_in_words

OK: Final = 200


class Asked(NamedTuple):
    """A request whose answer may be kept.

    Attributes:
        found: what is kept for it and fresh, or None.
        changes: how many notifications had concerned its method before it was asked.
    """

    request: Request
    found: Entry | None
    changes: int


class SharedCache:
    """Public results, for everybody.

    Args:
        gateway: whose rules hold.
    """

    def __init__(self, gateway: Gateway) -> None:
        self._gateway = gateway
        self._cache = Cache(gateway.max_entries)

    def look_up(self, request: HttpRequest, now_ms: float) -> Asked | None:
        """Find an answer; None where the request is none whose answer could be kept.

        Its headers decide whether its body is looked at.
        """
        headers = request.headers
        if request.method != "POST" or headers.get(METHOD_HEADER) not in CACHEABLE:
            return None
        # Older servers do not compare headers with bodies, and their results say nothing of caching.
        if era_of(headers.get(PROTOCOL_VERSION_HEADER) or "") != "modern" or not _passes(headers):
            return None
        asked = _admitted(request)
        if asked is None:
            return None
        # Everything in here is for everybody: there is no principal in the key.
        entry = self._cache.get(asked.method, asked.params, now_ms)
        found = entry if entry is not None and entry.is_fresh(now_ms) else None
        return Asked(asked, found, self._cache.changes(asked.method))

    def answer(self, asked: Asked, now_ms: float) -> Response | None:
        """The answer out of the cache, or None."""
        if asked.found is None:
            return None
        return Response(asked.request.id, self._gateway.served(asked.found, now_ms))

    def take(self, asked: Asked, head: HttpHead, body: bytes, now_ms: float) -> bool:
        """Look at the server's answer, and keep it if it may be kept. Whether anything changed here."""
        try:
            answer = read_message(body)
        except MalformedMessage:
            return False
        request = asked.request
        if isinstance(answer, ErrorResponse):
            return answer.code == INVALID_PARAMS and self._drop_pages(request)
        if not isinstance(answer, Response) or answer.id != request.id or head.status != OK:
            return False
        if not self._gateway.may_share(answer.result):
            return False
        entry = self._cache.store(
            request.method, request.params, answer.result, now_ms, asked_at=asked.changes
        )
        return entry is not None

    def hear(self, data: bytes) -> str:
        """Take in one event of a stream that passes by: what a notification is about is stale from now on.

        https://modelcontextprotocol.io/specification/2026-07-28/server/utilities/caching#interaction-with-notifications

        Returns:
            What there is to write down, or "".
        """
        try:
            message = read_message(data)
        except MalformedMessage:
            return ""
        if not isinstance(message, Notification):
            return ""
        spoiled = self._cache.invalidate(message.method, message.params)
        return spoiled_in_words(message.method, len(spoiled)) if spoiled else ""

    def _drop_pages(self, request: Request) -> bool:
        """Where a cursor that one of the pages gave out is not valid any more, forget all of them.

        Any other cursor is somebody's mistake, and nobody else shall suffer from it.
        """
        cursor = (request.params or {}).get("cursor")
        pages = [entry for entry in self._cache.entries() if entry.method == request.method]
        known = cursor is not None and any(cursor == page.result.get("nextCursor") for page in pages)
        return known and self._cache.drop_pages(request.method) > 0

    def rows(self, now_ms: float) -> list[str]:
        """What is kept, in words, a line each: as a client tells of its own cache."""
        return [in_words(row) for row in self._cache.snapshot(now_ms)]


def _passes(headers: Headers) -> bool:
    """Whether a server would take in a request with these headers."""
    content_type = (headers.get("Content-Type") or "").split(";")[0].strip().lower()
    both = accepts(headers, JSON_TYPE) and accepts(headers, EVENT_STREAM_TYPE)
    return both and content_type == JSON_TYPE and origin_allowed(headers)


def _admitted(request: HttpRequest) -> Request | None:
    """The request in a body, where the first four steps of a server have nothing against it."""
    # The first three steps ask nothing of a server; the fourth does, for the arguments of tools.
    visit = modern.Visit(cast("modern.Service", None), request.body, request.headers)
    try:
        for step in (modern.parse_envelope, modern.check_request, modern.read_meta):
            step(visit)
    except ProtocolError:
        return None
    return None if header_problems(request.headers, visit.request) else visit.request
