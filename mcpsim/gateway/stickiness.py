"""Which replica a legacy session lives at, by what the session header says.

https://modelcontextprotocol.io/specification/2025-11-25/basic/transports#session-management
"""

from __future__ import annotations

from typing import Final

from mcpsim.transports.http import SESSION_ID_HEADER, Headers, HttpHead, HttpRequest

MAX_SESSIONS: Final = 10_000
NOT_FOUND: Final = 404


class Stickiness:
    """Remembers where sessions began."""

    def __init__(self) -> None:
        self._places: dict[str, str] = {}

    def place_of(self, headers: Headers) -> str | None:
        """The replica of the session that a request names, or None."""
        id = headers.get(SESSION_ID_HEADER)
        return None if id is None else self._places.get(id)

    def learn(self, request: HttpRequest, head: HttpHead, replica: str) -> bool:
        """See a response pass by. Whether anything changed here."""
        named = request.headers.get(SESSION_ID_HEADER)
        if named is not None and (head.status == NOT_FOUND or _ended(request, head)):
            return self._places.pop(named, None) is not None
        given = head.headers.get(SESSION_ID_HEADER)
        if given is None or self._places.get(given) == replica:
            return False
        self._places[given] = replica
        if len(self._places) > MAX_SESSIONS:
            del self._places[next(iter(self._places))]
        return True

    def rows(self) -> dict[str, str]:
        """The replica of every session."""
        return dict(self._places)


def _ended(request: HttpRequest, head: HttpHead) -> bool:
    return request.method == "DELETE" and 200 <= head.status < 300
