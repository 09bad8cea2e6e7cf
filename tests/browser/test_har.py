"""What a browser saves of its traffic with an MCP server is read as the conversation that it was."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Page

from mcpsim.audit import audit
from mcpsim.recording import Recording
from mcpsim.recording.readers import read_trace

pytestmark = pytest.mark.browser

META = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientInfo": {"name": "page", "version": "1"},
    "io.modelcontextprotocol/clientCapabilities": {},
}
POST = """async ([url, headers, body]) => {
  const response = await fetch(url, {method: "POST", headers, body: JSON.stringify(body)});
  await response.text();
}"""


@pytest.fixture
def url() -> Iterator[str]:
    words = [sys.executable, "-m", "mcpsim", "serve", "help-desk", "--http", "0"]
    with subprocess.Popen(words, stderr=subprocess.PIPE, encoding="utf-8") as process:
        assert process.stderr is not None
        said = process.stderr.readline()
        assert "http://" in said, said
        yield next(word for word in said.split() if word.startswith("http://"))
        process.terminate()


def post(page: Page, url: str, id: int, method: str, **params: Any) -> None:
    headers = {
        "Content-Type": "application/json",
        "Accept": "application/json, text/event-stream",
        "MCP-Protocol-Version": "2026-07-28",
        "Mcp-Method": method,
        "Authorization": "Bearer hush",
        **({"Mcp-Name": params["name"]} if "name" in params else {}),
    }
    meta = {**META, "progressToken": id}
    body = {"jsonrpc": "2.0", "id": id, "method": method, "params": {**params, "_meta": meta}}
    page.evaluate(POST, [url, headers, body])


def test_a_har_file_of_chromium(browser: Browser, url: str, tmp_path: Path) -> None:
    path = tmp_path / "session.har"
    context = browser.new_context(record_har_path=path, record_har_content="embed")
    page = context.new_page()
    page.goto(url)
    post(page, url, 1, "tools/list")
    post(page, url, 2, "tools/call", name="export_report", arguments={"parts": 2})
    context.close()

    trace = read_trace(path.read_bytes())
    assert trace.format == "har"
    assert trace.skipped == ()
    assert trace.notes[0].endswith("of the file is not MCP: left out.")
    messages = [row["message"] for row, _ in trace.rows if row["from"] == "server"]
    assert [message.get("method", message.get("id")) for message in messages] == [
        1,
        "notifications/progress",
        "notifications/progress",
        2,
    ]
    assert {row["headers"]["Authorization"] for row, _ in trace.rows if row["from"] == "client"} == {
        "principal-1"
    }
    assert "hush" not in json.dumps([row for row, _ in trace.rows])
    assert audit(trace).is_clean
    assert len(Recording.load(path).frames) == len(trace.rows) == 6
