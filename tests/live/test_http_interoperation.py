"""The story of `test_interoperation` over HTTP: our client, the official SDK's, our server, the SDK's."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType
from typing import Any

import anyio
import mcp
import pytest

from mcpsim import Client, ErrorResponse, Request, Response
from mcpsim.live import record
from mcpsim.recording import Recording
from tests.support.warm_servers import Warm

HERE = Path(__file__).parent
MODES = ("legacy", "modern", "auto")


@pytest.fixture(scope="module")
def told(load_beside: Callable[[str], ModuleType]) -> ModuleType:
    """The module with the story."""
    return load_beside("test_interoperation.py")


@contextmanager
def a_server(command: list[str]) -> Iterator[str]:
    """Start a server's process; gives the URL that it prints."""
    with subprocess.Popen(
        command, cwd=HERE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, encoding="utf-8"
    ) as process:
        try:
            assert process.stdout is not None
            line = process.stdout.readline()
            assert "http://" in line, line
            yield next(word for word in line.split() if word.startswith("http://"))
        finally:
            process.terminate()


@pytest.fixture(scope="module")
def our_urls(warm: Warm) -> Iterator[dict[str, str]]:
    """Our server, by the era that it speaks."""
    words = [sys.executable, "-m", "mcpsim", "serve", "our_server:server", "--http", "0", "--era"]
    with a_server(warm([*words, "both"])) as both, a_server(warm([*words, "legacy"])) as legacy:
        yield {"both": both, "legacy": legacy}


@pytest.fixture(scope="module")
def their_url(told: ModuleType, warm: Warm) -> Iterator[str]:
    with a_server(warm([*told.THEIRS, "--http"], *told.SDK)) as url:
        yield url


def play_ours(told: ModuleType, mode: Any, url: str) -> tuple[Any, Recording]:
    client = Client("our-client", era=mode, probe_timeout_s=told.PATIENT_S)
    run = record(lambda client: told.the_story(told.Ours(client)), url=url, client=client)
    return run.value, run.recording


def play_theirs(told: ModuleType, mode: str, url: str) -> Any:
    pinned = {"modern": told.MODERN}.get(mode, mode)

    async def main() -> Any:
        async with mcp.Client(url, mode=pinned, read_timeout_seconds=told.PATIENT_S) as client:
            return await told.the_story(told.Theirs(client))

    return anyio.run(main)


def assert_our_wire_is_right(told: ModuleType, recording: Recording, mode: str, era: str) -> None:
    calls = list(told.CALLS)
    is_legacy = mode == "legacy" or era == "legacy"
    methods = told.methods_sent(recording)
    # On HTTP a modern client cancels by closing the stream. A legacy one also says it, and its next request
    # may be there before that.
    calls.remove("notifications/cancelled")
    assert methods.count("notifications/cancelled") == is_legacy
    assert [one for one in methods if one != "notifications/cancelled"] == told.OPENINGS[mode, era] + calls
    requests = [frame.parsed for frame in recording.frames if isinstance(frame.parsed, Request)]
    answers = [
        frame.parsed for frame in recording.frames if isinstance(frame.parsed, Response | ErrorResponse)
    ]
    (given_up,) = (one.id for one in requests if (one.params or {}).get("name") == "wait_long")
    assert [answer.id for answer in answers] == [one.id for one in requests if one.id != given_up]
    assert all(frame.fate == "delivered" for frame in recording.frames)
    closed = [event.detail["how"] for event in recording.events if event.kind == "closed" and event.detail]
    assert closed.count("aborted") == 1
    assert "cut" not in closed


@pytest.mark.parametrize("mode", MODES)
def test_our_client_and_their_server(
    mode: str, told: ModuleType, their_url: str, check_recording: Callable[[Recording], None]
) -> None:
    seen, recording = play_ours(told, mode, their_url)
    told.assert_it_went_well(seen, told.ENDS_WITH[mode], "theirs")
    assert_our_wire_is_right(told, recording, mode, "both")
    check_recording(recording)


@pytest.mark.parametrize("mode", MODES)
def test_their_client_and_our_server(mode: str, told: ModuleType, our_urls: dict[str, str]) -> None:
    seen = play_theirs(told, mode, our_urls["both"])
    told.assert_it_went_well(seen, told.ENDS_WITH[mode], "ours")


@pytest.mark.parametrize("client", ["ours", "theirs"])
def test_an_automatic_client_finds_out_that_our_server_is_legacy(
    client: str, told: ModuleType, our_urls: dict[str, str], check_recording: Callable[[Recording], None]
) -> None:
    if client == "theirs":
        told.assert_it_went_well(play_theirs(told, "auto", our_urls["legacy"]), told.LEGACY, "ours")
        return
    seen, recording = play_ours(told, "auto", our_urls["legacy"])
    told.assert_it_went_well(seen, told.LEGACY, "ours")
    assert_our_wire_is_right(told, recording, "auto", "legacy")
    check_recording(recording)
