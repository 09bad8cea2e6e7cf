"""The same client and server over real pipes, recorded like a simulation."""

from mcpsim.live.loading import load_server
from mcpsim.live.playing import record
from mcpsim.live.process import ShutdownTimes
from mcpsim.live.serving import run_stdio, serve_stdio
from mcpsim.live.session import Session, connect_stdio

__all__ = [
    "Session",
    "ShutdownTimes",
    "connect_stdio",
    "load_server",
    "record",
    "run_stdio",
    "serve_stdio",
]
