"""A server whose versions were chosen one by one."""

from __future__ import annotations

from mcpsim import Server

server = Server("chosen", versions=("2025-06-18",))
