"""The Inspector's command line, which people try servers out with, against `mcpsim serve`.

It speaks the legacy protocol unless it is told otherwise (`--protocol-era`).
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from threading import Timer
from types import ModuleType
from typing import Any

import pytest

from tests.support.warm_servers import Warm

PACKAGE, VERSION = "@modelcontextprotocol/inspector", "2.12.0"
ERAS = ("legacy", "modern", "auto")
SERVER_INFO = "io.modelcontextprotocol/serverInfo"

FORMAT = ("--format", "json", "--quiet")
LIMIT_S = 300

Inspect = Callable[..., Any]


@pytest.fixture(scope="session")
def inspector(npm_package: Callable[[str, str], Path]) -> Path:
    """The folder with what the Inspector's commands are built from."""
    return npm_package(PACKAGE, VERSION) / "clients"


@pytest.fixture(scope="session")
def home(tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, str]:
    """A home of its own, where it keeps what it likes."""
    folder = str(tmp_path_factory.mktemp("home"))
    return {"HOME": folder, "USERPROFILE": folder}


@pytest.fixture(scope="module")
def inspect(
    load_beside: Callable[[str], ModuleType], inspector: Path, home: Mapping[str, str]
) -> Iterator[Inspect]:
    """Run the Inspector's command line once, all of them in one process; gives what it prints as JSON."""
    script = Path(__file__).with_name("inspect_often.mjs")
    words = [load_beside("npm.py").NODE, str(script), str(inspector / "cli" / "build" / "index.js")]
    pipes: dict[str, Any] = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    with subprocess.Popen(words, env=os.environ | home, encoding="utf-8", **pipes) as process:
        watch = Timer(LIMIT_S, process.kill)
        watch.start()

        def inspect(*words: str) -> Any:
            assert process.stdin is not None
            assert process.stdout is not None
            process.stdin.write(json.dumps([*words, *FORMAT]) + "\n")
            process.stdin.flush()
            done = json.loads(process.stdout.readline())
            assert done["error"] is None, done
            return json.loads(done["printed"])["result"]

        try:
            yield inspect
        finally:
            watch.cancel()
            assert process.stdin is not None
            process.stdin.close()


@pytest.fixture(scope="module")
def url(warm: Warm) -> Iterator[str]:
    """Where `mcpsim serve` serves the help desk."""
    words = [sys.executable, "-m", "mcpsim", "serve", "help-desk", "--http", "0", "--era", "both"]
    with subprocess.Popen(warm(words), stderr=subprocess.PIPE, encoding="utf-8") as process:
        assert process.stderr is not None
        try:
            yield process.stderr.readline().split()[2]
        finally:
            process.terminate()
            said = process.stderr.read()
            assert said == ""


@pytest.fixture(params=["stdio", "http"])
def target(request: pytest.FixtureRequest, warm: Warm) -> list[str]:
    """The words that name the server."""
    if request.param == "http":
        return ["--server-url", request.getfixturevalue("url"), "--transport", "http"]
    return warm([sys.executable, "-m", "mcpsim", "serve", "help-desk", "--stdio", "--era", "both"])


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


def test_it_finds_our_schemas_portable(
    load_beside: Callable[[str], ModuleType], inspector: Path, home: Mapping[str, str]
) -> None:
    """By its own command, with a server that it starts."""
    words = [str(inspector / "launcher" / "build" / "index.js"), "--cli"]
    words += [sys.executable, "-m", "mcpsim", "serve", "help-desk", "--stdio", "--era", "both"]
    done = load_beside("npm.py").run_node([*words, "--method", "tools/list", "--strict", *FORMAT], home)
    assert done.returncode == 0, done.stdout + done.stderr
    assert json.loads(done.stdout)["result"]["tools"]
