"""mcpsim, the MCP workbook: a simulator that teaches the Model Context Protocol.

Write a server and a story, play it, and look at every message that crossed the wire.
"""

import sys
from typing import TYPE_CHECKING, Any

from mcpsim.audit import Finding, Report
from mcpsim.client import Client, Reply
from mcpsim.eras.modern import STEPS, walk
from mcpsim.errors import (
    CapabilityMissing,
    ConnectionClosed,
    Deadlock,
    InputDeclined,
    MalformedMessage,
    McpSimError,
    NegotiationFailed,
    ProtocolError,
    RequestTimeout,
    ResourceNotFound,
    Stuck,
    ToolError,
    TooManyRounds,
)
from mcpsim.gateway import Gateway
from mcpsim.messages import (
    ErrorResponse,
    Notification,
    Request,
    Response,
    read_message,
    write_message,
)
from mcpsim.recording import Recording
from mcpsim.server import Context, Server
from mcpsim.simulation import Run, Simulation, simulate
from mcpsim.simulation.knobs import Knob
from mcpsim.transports.faults import Change, Crash, Cut, Delay, Drop, Duplicate, Reorder
from mcpsim.transports.link import Stdio, StreamableHttp
from mcpsim.utilities.caching import Cache

if TYPE_CHECKING:
    from mcpsim.widgets import Bench, Player

__version__ = "0.1.0"

__all__ = [
    "STEPS",
    "Bench",
    "Cache",
    "CapabilityMissing",
    "Change",
    "Client",
    "ConnectionClosed",
    "Context",
    "Crash",
    "Cut",
    "Deadlock",
    "Delay",
    "Drop",
    "Duplicate",
    "ErrorResponse",
    "Finding",
    "Gateway",
    "InputDeclined",
    "Knob",
    "MalformedMessage",
    "McpSimError",
    "NegotiationFailed",
    "Notification",
    "Player",
    "ProtocolError",
    "Recording",
    "Reorder",
    "Reply",
    "Report",
    "Request",
    "RequestTimeout",
    "ResourceNotFound",
    "Response",
    "Run",
    "Server",
    "Simulation",
    "Stdio",
    "StreamableHttp",
    "Stuck",
    "TooManyRounds",
    "ToolError",
    "read_message",
    "simulate",
    "walk",
    "write_message",
]

# The widgets take as long to import as a third of all else, and only notebooks show any.
_WIDGETS = ("Bench", "Player")


def __getattr__(name: str) -> Any:
    if name not in _WIDGETS:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from mcpsim import widgets

    return getattr(widgets, name)


if "IPython" in sys.modules:
    from mcpsim.widgets.display import register as _register_displays

    _register_displays()
