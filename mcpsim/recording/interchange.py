"""The words of the interchange form: one JSON object a line, as an observer beside the client would write it
down. What the client sends stands at the time at which it left, what the server sends at the time at which it
arrived; what never arrived is not seen.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

CLIENT_SIDE: Final = "client"
SERVER_SIDE: Final = "server"
SIDES: Final = (CLIENT_SIDE, SERVER_SIDE)
# Who stands between a client and a server, where a trace has two hops.
INTERMEDIARIES: Final = frozenset({"gateway", "proxy"})
STDIO: Final = "stdio"
HTTP: Final = "http"
BODIES: Final = ("message", "raw", "raw_b64")
HTTP_ONLY: Final = ("headers", "status", "http_method", "exchange", "sse_id")
KEYS: Final = frozenset(
    {
        "from",
        *BODIES,
        *HTTP_ONLY,
        "t_ms",
        "transport",
        "event",
        "by",
        "detail",
        "connection",
        "hop",
        "channel",
    }
)

# The events that close something, and what our own `closed` event calls it.
CLOSINGS: Final[Mapping[str, tuple[str, str]]] = {
    "response_stream_closed": ("exchange", "closed"),
    "client_aborted": ("exchange", "aborted"),
    "exchange_timeout": ("exchange", "timed out"),
    "stdin_closed": ("stdin", "closed"),
    "stdout_closed": ("stdout", "closed"),
}
# A connection that breaks is closed by nobody. A client sees it on the side of the server.
CUT: Final = "cut"
