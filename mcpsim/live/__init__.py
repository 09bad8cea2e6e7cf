"""The same client and server over real pipes and sockets, recorded like a simulation."""

from mcpsim.live.asgi import AsgiApp, asgi_app
from mcpsim.live.http_serving import run_http, serve_http
from mcpsim.live.loading import load_server
from mcpsim.live.playing import record
from mcpsim.live.process import ShutdownTimes
from mcpsim.live.serving import run_stdio, serve_stdio
from mcpsim.live.session import Session, connect_stdio

__all__ = [
    "AsgiApp",
    "Session",
    "ShutdownTimes",
    "asgi_app",
    "connect_stdio",
    "load_server",
    "record",
    "run_http",
    "run_stdio",
    "serve_http",
    "serve_stdio",
]
