"""One fake server for both eras and both transports."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from talking import FakeEndpoint, FakeServer, Played, Response, json_response, play, stream

from mcpsim import Client

ERAS = ("modern", "legacy")
TRANSPORTS = ("stdio", "http")

both_ways = pytest.mark.parametrize(
    ("era", "transport"), [(era, transport) for era in ERAS for transport in TRANSPORTS]
)

EVERYTHING = {
    "tools": {"listChanged": False},
    "resources": {"subscribe": True},
    "prompts": {},
    "completions": {},
    "logging": {},
}

Answer = Callable[[Any], list[Any]]


def result(message: Any, **members: Any) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": message["id"], "result": members}


def error(message: Any, code: int, text: str = "No.", data: Any = None) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": message["id"], "error": {"code": code, "message": text, "data": data}}


def notification(method: str, **params: Any) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "method": method, "params": params}


def progress(token: Any, value: Any, **more: Any) -> dict[str, Any]:
    return notification("notifications/progress", progressToken=token, progress=value, **more)


def initialized(message: Any, capabilities: Any, version: str) -> dict[str, Any]:
    """The answer to `initialize`."""
    info = {"name": "fake", "version": "1"}
    return result(message, protocolVersion=version, capabilities=capabilities, serverInfo=info)


def far_end(
    transport: str, answer: Answer, *, capabilities: Any = None, version: str = "2025-11-25"
) -> FakeServer | FakeEndpoint:
    """A server whose answers to requests, other than the handshake, are what `answer` returns: messages, and
    numbers, which are pauses in seconds. Where that is nothing, a request stays open."""
    declared = EVERYTHING if capabilities is None else capabilities

    def respond(message: Any) -> list[Any]:
        if message.get("method") == "initialize":
            return [initialized(message, declared, version)]
        return answer(message) if "id" in message and "method" in message else []

    def over_http(request: Any, message: Any) -> Response:
        if request.method == "DELETE":
            return Response(200)
        if request.method == "GET":
            return Response(405)
        if "id" not in message or "method" not in message:
            return Response(202)
        items = respond(message)
        if message.get("method") == "initialize":
            return json_response(items[0], MCP_Session_Id="s")
        return stream(*items, hangs=True)

    return FakeServer(respond) if transport == "stdio" else FakeEndpoint(over_http)


def heard(far: FakeServer | FakeEndpoint, method: str) -> list[Any]:
    """The messages with this method that the server got, in order."""
    values = far.heard() if isinstance(far, FakeEndpoint) else far.heard
    return [one for one in values if isinstance(one, dict) and one.get("method") == method]


def talk_to(
    story: Any, answer: Answer, era: str, transport: str, *, capabilities: Any = None, **described: Any
) -> tuple[Played, FakeServer | FakeEndpoint]:
    """Play a story against such a server."""
    far = far_end(transport, answer, capabilities=capabilities)
    return play(story, far, client=Client(era=era, **described)), far  # type: ignore[arg-type]
