"""Sentences of the legacy pages that concern a client, and are about no feature alone."""

from __future__ import annotations

from typing import Any

import pytest
from talking import FakeServer, play

from mcpsim import Client

REVISIONS = ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"]


def far_end(
    version: str, answers: dict[str, Any] | None = None, *, says: list[Any] | None = None
) -> FakeServer:
    """A server of a revision: declares everything, answers by method, and says something of its own."""
    capabilities = {"tools": {}, "resources": {}, "prompts": {}, "logging": {}}
    if version != REVISIONS[0]:
        capabilities["completions"] = {}
    opened = {
        "protocolVersion": version,
        "capabilities": capabilities,
        "serverInfo": {"name": "desk", "version": "1"},
    }

    def respond(message: Any) -> list[Any]:
        method = message.get("method")
        if method == "notifications/initialized":
            return says or []
        if method is None or "id" not in message:
            return []
        result = {"initialize": opened, **(answers or {})}.get(method, {})
        return [{"jsonrpc": "2.0", "id": message["id"], "result": result}]

    return FakeServer(respond)


def client(version: str, **settings: Any) -> Client:
    return Client(era="legacy", protocol_version=version, **settings)


# https://modelcontextprotocol.io/specification/2025-06-18/changelog#other-schema-changes


@pytest.mark.parametrize("version", REVISIONS)
def test_the_other_arguments_are_told_since_the_third_revision(version: str) -> None:
    far = far_end(version, {"completion/complete": {"completion": {"values": []}}})

    async def story(client: Client) -> None:
        await client.complete({"type": "ref/prompt", "name": "p"}, ("city", "Par"), {"country": "France"})
        await client.complete({"type": "ref/prompt", "name": "p"}, ("city", "Par"), {})

    played = play(story, far, client=client(version))
    assert played.error is None
    asked, plain = [one["params"] for one in far.heard if one.get("method") == "completion/complete"]
    knows = version >= "2025-06-18"
    assert asked.get("context") == ({"arguments": {"country": "France"}} if knows else None)
    assert plain.get("context") == ({"arguments": {}} if knows else None)
    assert played.notes == (
        [] if knows else [f"The other arguments are left out: {version} has no place for them."]
    )
