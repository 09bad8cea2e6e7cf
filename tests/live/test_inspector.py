"""The Inspector's command line, which people try servers out with, against `mcpsim serve`.

It speaks the legacy protocol unless it is told otherwise (`--protocol-era`).
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

PACKAGE, VERSION = "@modelcontextprotocol/inspector", "2.12.0"
ERAS = ("legacy", "modern", "auto")
SERVER_INFO = "io.modelcontextprotocol/serverInfo"

Inspect = Callable[..., Any]


@pytest.fixture(scope="session")
def inspect(
    load_beside: Callable[[str], ModuleType],
    npm_package: Callable[[str, str], Path],
    tmp_path_factory: pytest.TempPathFactory,
) -> Inspect:
    """Run the Inspector once; gives what it prints as JSON."""
    run_node = load_beside("npm.py").run_node
    launcher = str(npm_package(PACKAGE, VERSION) / "clients" / "launcher" / "build" / "index.js")
    home = str(tmp_path_factory.mktemp("home"))

    def inspect(*words: str) -> Any:
        done = run_node(
            [launcher, "--cli", *words, "--format", "json", "--quiet"], {"HOME": home, "USERPROFILE": home}
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return json.loads(done.stdout)["result"]

    return inspect


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    """Where `mcpsim serve` serves the help desk."""
    words = [sys.executable, "-m", "mcpsim", "serve", "help-desk", "--http", "0", "--era", "both"]
    with subprocess.Popen(words, stderr=subprocess.PIPE, encoding="utf-8") as process:
        assert process.stderr is not None
        try:
            yield process.stderr.readline().split()[2]
        finally:
            process.terminate()
            said = process.stderr.read()
            assert said == ""


@pytest.fixture(params=["stdio", "http"])
def target(request: pytest.FixtureRequest) -> list[str]:
    """The words that name the server."""
    if request.param == "http":
        return ["--server-url", request.getfixturevalue("url"), "--transport", "http"]
    return [sys.executable, "-m", "mcpsim", "serve", "help-desk", "--stdio", "--era", "both"]


@pytest.mark.parametrize("era", ERAS)
def test_it_lists_and_calls_our_tools(era: str, target: list[str], inspect: Inspect) -> None:
    words = [*target, "--protocol-era", era]
    tools = inspect(*words, "--method", "tools/list")["tools"]
    assert sorted(tool["name"] for tool in tools) == ["add_hours", "export_report", "find_ticket"]
    arguments = json.dumps({"first": 2, "second": 3})
    result = inspect(
        *words, "--method", "tools/call", "--tool-name", "add_hours", "--tool-args-json", arguments
    )
    assert result["content"] == [{"type": "text", "text": "5"}]
    # Only a modern server says who it is in a result: the era was the one that was asked for.
    assert (SERVER_INFO in result.get("_meta", {})) == (era != "legacy")


def test_it_finds_our_schemas_portable(tmp_path: Path, inspect: Inspect) -> None:
    words = [sys.executable, "-m", "mcpsim", "serve", "help-desk", "--stdio", "--era", "both"]
    assert inspect(*words, "--method", "tools/list", "--strict")["tools"]
