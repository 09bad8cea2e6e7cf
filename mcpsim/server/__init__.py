"""The server's side: tools, the context of a handler, and serving over lines and over HTTP."""

from mcpsim.server.context import Context
from mcpsim.server.dispatch import Tokens
from mcpsim.server.http import HttpServing
from mcpsim.server.server import Server
from mcpsim.server.stdio import StdioServing

__all__ = ["Context", "HttpServing", "Server", "StdioServing", "Tokens"]
