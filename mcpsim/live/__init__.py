"""The same client and server over real pipes and sockets, recorded like a simulation."""

from mcpsim.live.asgi import AsgiApp, asgi_app
from mcpsim.live.http_serving import run_http, serve_http
from mcpsim.live.http_session import HttpSession, connect_http
from mcpsim.live.loading import load_server
from mcpsim.live.playing import record
from mcpsim.live.process import ShutdownTimes
from mcpsim.live.serving import run_stdio, serve_stdio
from mcpsim.live.session import Session
from mcpsim.live.stdio_session import StdioSession, connect_stdio

__all__ = [
    "AsgiApp",
    "HttpSession",
    "Session",
    "ShutdownTimes",
    "StdioSession",
    "asgi_app",
    "connect_http",
    "connect_stdio",
    "load_server",
    "record",
    "run_http",
    "run_stdio",
    "serve_http",
    "serve_stdio",
]
