"""mcpsim, the MCP workbook: a simulator that teaches the Model Context Protocol.

Write a server and a story, play it, and look at every message that crossed the wire.
"""

from mcpsim.client import Client, Reply
from mcpsim.eras.modern import STEPS, walk
from mcpsim.errors import (
    ConnectionClosed,
    Deadlock,
    MalformedMessage,
    McpSimError,
    NegotiationFailed,
    ProtocolError,
    RequestTimeout,
    Stuck,
    ToolError,
)
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
from mcpsim.transports.faults import Change, Cut, Delay, Drop, Duplicate, Reorder
from mcpsim.transports.link import Stdio, StreamableHttp
from mcpsim.widgets import Player
from mcpsim.widgets.display import register as _register_displays

__version__ = "0.1.0"

__all__ = [
    "STEPS",
    "Change",
    "Client",
    "ConnectionClosed",
    "Context",
    "Cut",
    "Deadlock",
    "Delay",
    "Drop",
    "Duplicate",
    "ErrorResponse",
    "MalformedMessage",
    "McpSimError",
    "NegotiationFailed",
    "Notification",
    "Player",
    "ProtocolError",
    "Recording",
    "Reorder",
    "Reply",
    "Request",
    "RequestTimeout",
    "Response",
    "Run",
    "Server",
    "Simulation",
    "Stdio",
    "StreamableHttp",
    "Stuck",
    "ToolError",
    "read_message",
    "simulate",
    "walk",
    "write_message",
]

_register_displays()
