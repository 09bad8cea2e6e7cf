"""The transport over HTTP of the first revision, which servers may still have: how it is told.

https://modelcontextprotocol.io/specification/2024-11-05/basic/transports#http-with-sse
"""

from __future__ import annotations

import re
from typing import Final

from mcpsim.audit.model import Connection, Session
from mcpsim.audit.once import once
from mcpsim.transports.http import (
    EVENT_STREAM_TYPE,
    LAST_EVENT_ID_HEADER,
    PROTOCOL_VERSION_HEADER,
    SESSION_ID_HEADER,
)

_ENDPOINT: Final = re.compile(rb"^event: ?endpoint\s*$", re.MULTILINE)
#: After how many exchanges a client has surely found out which transport a server has.
_ATTEMPTS: Final = 8
_OWN_HEADERS: Final = (PROTOCOL_VERSION_HEADER, SESSION_ID_HEADER, LAST_EVENT_ID_HEADER)


@once
def is_old_transport(connection: Connection) -> bool:
    """Whether it is the HTTP+SSE transport of the first revision: it begins with a stream of GET that names
    where to post, and all answers come there.

    Also where the trace does not show that event: no other transport brings the result of `initialize` on
    the stream of a GET.

    https://modelcontextprotocol.io/specification/2025-11-25/basic/transports#backwards-compatibility
    """
    if any(
        exchange.http_method == "GET"
        and any(_ENDPOINT.search(one.raw or b"") for one in exchange.answers[:2])
        for exchange in connection.exchanges[:_ATTEMPTS]
    ):
        return True
    return any(_is_answered_elsewhere(session, connection) for session in connection.sessions[:_ATTEMPTS])


def _is_answered_elsewhere(session: Session, connection: Connection) -> bool:
    """Whether the result of `initialize` does not come in the response to its POST, or cannot, as a stream
    without a session was opened before."""
    call = session.initialize
    own, answer = call.request.exchange, call.answer
    if answer is not None:
        carrier = answer.exchange
        is_get = carrier is not None and (carrier.http_method == "GET" or carrier.request is None)
        return is_get and carrier is not own
    if (
        own is not None
        and own.answers
        and 200 <= (own.status or 0) <= 299
        and session.initialized is not None
    ):
        # The client goes on: it has got the result where the trace does not show it.
        return all(one.message is None for one in own.answers)
    return any(
        exchange.http_method == "GET"
        and exchange.request is not None
        and exchange.request.index < call.request.index
        and not any(name in exchange.headers for name in _OWN_HEADERS)
        and EVENT_STREAM_TYPE in (exchange.headers.get("Accept") or "")
        for exchange in connection.exchanges[:_ATTEMPTS]
    )
