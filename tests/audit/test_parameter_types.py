"""Which types of a parameter with `x-mcp-header` are surely wrong, and which are left open."""

from __future__ import annotations

from typing import Any

import pytest

from mcpsim.audit import Report, audit

HEADERS = {
    "Content-Type": "application/json",
    "Accept": "application/json, text/event-stream",
    "MCP-Protocol-Version": "2026-07-28",
}
META = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientInfo": {"name": "lantern", "version": "2"},
    "io.modelcontextprotocol/clientCapabilities": {},
}
SHARED = {
    "resultType": "complete",
    "_meta": {"io.modelcontextprotocol/serverInfo": {"name": "harbour-office", "version": "3"}},
}


def report_of(parameter: dict[str, Any]) -> Report:
    """What the audit says of a tool with such a parameter, which a client calls."""
    tool = {
        "name": "moor",
        "inputSchema": {"type": "object", "properties": {"dock": {**parameter, "x-mcp-header": "Dock"}}},
    }
    call = {"name": "moor", "_meta": META}
    asked = (("tools/list", {"_meta": META}, {}), ("tools/call", call, {"Mcp-Name": "moor"}))
    results: tuple[dict[str, Any], ...] = (
        {"tools": [tool], "ttlMs": 0, "cacheScope": "private"},
        {"content": []},
    )
    rows: list[dict[str, Any]] = []
    for id, ((method, params, more), result) in enumerate(zip(asked, results, strict=True)):
        row = {"transport": "http", "exchange": f"x{id}"}
        request = {"jsonrpc": "2.0", "id": id, "method": method, "params": params}
        response = {"jsonrpc": "2.0", "id": id, "result": {**SHARED, **result}}
        rows.append(
            {
                "from": "client",
                **row,
                "headers": {**HEADERS, "Mcp-Method": method, **more},
                "message": request,
            }
        )
        rows.append(
            {
                "from": "server",
                **row,
                "status": 200,
                "headers": {"Content-Type": "application/json"},
                "message": response,
            }
        )
    return audit(rows)


@pytest.mark.parametrize("kind", ["number", "object", "array", "null", ["string", "number"], ["null"], 7])
def test_a_type_that_is_no_primitive_is_wrong(kind: Any) -> None:
    rules = {one.rule for one in report_of({"type": kind}).broken}
    assert "x-mcp-header-valid" in rules


@pytest.mark.parametrize(
    "parameter", [{}, {"enum": ["a", "b"]}, {"type": ["string", "null"]}, {"type": ["integer", "string"]}]
)
def test_what_is_left_open_is_a_note(parameter: dict[str, Any]) -> None:
    report = report_of(parameter)
    assert {one.rule: one.level for one in report.findings} == {"x-mcp-header-valid": "note"}


@pytest.mark.parametrize("kind", ["string", "integer", "boolean"])
def test_a_primitive_type_is_right(kind: str) -> None:
    assert report_of({"type": kind}).findings == ()
