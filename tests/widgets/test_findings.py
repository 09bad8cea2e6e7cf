"""Findings of the audit are pinned to the steps where they happen."""

from __future__ import annotations

import json

from mcpsim import Recording, Server, Stdio, simulate
from mcpsim.widgets import view
from mcpsim.widgets.still import still_of
from mcpsim.widgets.view import player_data

META = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientInfo": {"name": "probe", "version": "1"},
    "io.modelcontextprotocol/clientCapabilities": {},
}
CALL = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "tools/call",
    "params": {"name": "count", "arguments": {}, "_meta": {**META, "progressToken": 7}},
}
NAMED = {"io.modelcontextprotocol/serverInfo": {"name": "desk", "version": "1"}}
RESULT = {"jsonrpc": "2.0", "id": 1, "result": {"resultType": "complete", "content": [], "_meta": NAMED}}


def progress(value: float) -> dict[str, object]:
    params = {"progressToken": 7, "progress": value, "message": "<b>half</b>"}
    return {"jsonrpc": "2.0", "method": "notifications/progress", "params": params}


def falling() -> Recording:
    """A trace whose progress falls, in its third row."""
    said = [("client", CALL), ("server", progress(2)), ("server", progress(1)), ("server", RESULT)]
    rows = [json.dumps({"from": side, "message": message}) for side, message in said]
    return Recording.from_interchange("\n".join(rows).encode())


def test_a_finding_is_pinned_to_its_step() -> None:
    data = player_data(falling())
    (number,) = data["steps"][2]["pins"]
    finding = data["findings"][number]
    assert (finding["level"], finding["party"]) == ("MUST", "server")
    assert finding["url"].startswith(
        "https://modelcontextprotocol.io/specification/2026-07-28/basic/patterns/"
    )
    assert [step["n"] for step in data["steps"] if "pins" in step] == [3]


def test_the_still_picture_tells_of_it() -> None:
    still = still_of(player_data(falling()))
    assert "breaks a rule (MUST)" in still
    assert "<b>half" not in still


def test_without_findings_there_are_no_pins() -> None:
    desk = Server("desk")
    desk.tool(name="echo")(lambda text="": text)

    async def story(client):
        await client.call_tool("echo", {"text": "hello"})

    data = player_data(simulate(story, server=desk, transport=Stdio()).recording)
    assert data["findings"] == []
    assert all("pins" not in step for step in data["steps"])


def test_long_recordings_are_not_audited_unasked(monkeypatch) -> None:
    monkeypatch.setattr(view, "MAX_AUDITED", 3)
    assert player_data(falling())["findings"] == []
