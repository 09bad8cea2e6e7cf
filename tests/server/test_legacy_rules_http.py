"""Sentences of the legacy transport page about single POSTs, GETs and DELETEs."""

from __future__ import annotations

from typing import Any

import anyio
import pytest
from talking import Endpoint, Reply, call, legacy, notification, run

from mcpsim import Context, Server

# https://modelcontextprotocol.io/specification/2025-11-25/basic/transports#protocol-version-header


@pytest.mark.parametrize("era", ["legacy", "both"])
@pytest.mark.parametrize(
    ("version", "status"), [("2025-11-25", 200), ("2024-11-05", 200), ("1999-01-01", 400), ("", 400)]
)
def test_a_ping_before_the_handshake_names_no_version_that_is_not_spoken(
    era: Any, version: str, status: int
) -> None:
    async def main() -> Reply:
        return await Endpoint(Server("desk", era=era)).ask(legacy(1, "ping"), MCP_Protocol_Version=version)

    reply = run(main)
    assert reply.status == status
    assert reply.value["id"] == 1
    assert (f"says {version!r}; this server speaks 2025-11-25," in str(reply.value)) == (status == 400)


@pytest.mark.parametrize("method", ["GET", "DELETE", "POST"])
def test_a_legacy_server_takes_a_modern_version_for_one_that_it_does_not_speak(method: str) -> None:
    async def main() -> Reply:
        endpoint = Endpoint(Server("desk", era="legacy"))
        headers = await endpoint.open()
        body = legacy(1, "ping") if method == "POST" else b""
        return await endpoint.ask(body, headers, method=method, MCP_Protocol_Version="2026-07-28")

    reply = run(main)
    assert reply.status == 400
    assert "this session speaks 2025-11-25" in reply.value["error"]["message"]


# https://modelcontextprotocol.io/specification/2025-11-25/basic/transports#session-management


@pytest.mark.parametrize("era", ["legacy", "both"])
@pytest.mark.parametrize("body", [[legacy(1, "ping")], b"{", {"jsonrpc": "2.0", "id": 1}, []], ids=str)
def test_whatever_names_a_session_that_is_over_gets_404(era: Any, body: Any) -> None:
    async def main() -> list[int]:
        endpoint = Endpoint(Server("desk", era=era))
        headers = await endpoint.open("2025-03-26")
        before = await endpoint.ask(body, headers)
        await endpoint.ask(b"", headers, method="DELETE")
        after = await endpoint.ask(body, headers)
        modern = await endpoint.ask(body, headers, MCP_Protocol_Version="2026-07-28")
        return [before.status, after.status, modern.status]

    before, after, modern = run(main)
    assert before == (200 if isinstance(body, list) and body else 400)
    assert after == 404
    # Under the modern protocol a session header means nothing.
    assert modern == (400 if era == "both" else modern)


# https://modelcontextprotocol.io/specification/2025-11-25/basic/transports#sending-messages-to-the-server


@pytest.mark.parametrize(
    "body",
    [{"jsonrpc": "2.0", "id": 5, "result": 1}, {"jsonrpc": "2.0", "id": 5, "error": "no"}],
    ids=str,
)
def test_the_error_about_a_response_has_no_id(body: Any) -> None:
    async def main() -> Reply:
        endpoint = Endpoint(Server("desk", era="legacy"))
        return await endpoint.ask(body, await endpoint.open())

    reply = run(main)
    assert reply.status == 400
    assert reply.value["error"]["code"] == -32600
    assert "id" not in reply.value


# https://modelcontextprotocol.io/specification/2025-11-25/basic/utilities/cancellation#timing-considerations


def test_an_answer_that_crossed_its_cancellation_is_taken_in_and_one_to_nothing_is_not() -> None:
    server = Server("desk", era="legacy")
    heard: list[Any] = []

    @server.tool()
    async def ask(context: Context) -> str:
        heard.append(await context.request("roots/list", timeout_s=1))
        return "never"

    async def main() -> list[int]:
        endpoint = Endpoint(server)
        headers = await endpoint.open("2025-03-26", {"roots": {}})
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(endpoint.ask, legacy(1, "tools/call", call("ask")), headers)
            await anyio.sleep(2)

        def answer(id: Any) -> dict[str, Any]:
            return {"jsonrpc": "2.0", "id": id, "result": {"roots": []}}

        bodies = [
            answer(1),
            answer(2),
            answer("1"),
            answer(0),
            [answer(1), answer(7)],
            [answer(7), answer(8)],
            [answer(7), notification("notifications/roots/list_changed")],
        ]
        return [(await endpoint.ask(body, headers)).status for body in bodies]

    assert run(main) == [202, 400, 400, 400, 202, 400, 202]
    assert heard == []
