"""Our server on a process's own stdin and stdout, seen from outside."""

from __future__ import annotations

import base64
import json
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest

from mcpsim.errors import ServerNotFound
from mcpsim.live import load_server, own_pipes
from mcpsim.live.__main__ import main
from tests.support.warm_servers import Warm

HERE = Path(__file__).parent
LIMIT_S = 60


def request(id: int, method: str, **params: Any) -> bytes:
    meta = {
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {},
    }
    message = {"jsonrpc": "2.0", "id": id, "method": method, "params": {**params, "_meta": meta}}
    return json.dumps(message).encode() + b"\n"


def call(id: int, name: str, **arguments: Any) -> bytes:
    return request(id, "tools/call", name=name, arguments=arguments)


def command(spec: str, *options: str) -> list[str]:
    return [sys.executable, "-m", "mcpsim.live", spec, *options]


@contextmanager
def served(command: list[str], **how: Any) -> Iterator[subprocess.Popen[bytes]]:
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE, **how}
    with subprocess.Popen(command, cwd=HERE, **pipes) as process:
        watch = threading.Timer(LIMIT_S, process.kill)
        watch.start()
        try:
            yield process
        finally:
            watch.cancel()
            process.kill()


def ask(process: subprocess.Popen[bytes], data: bytes) -> Any:
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.write(data)
    process.stdin.flush()
    return json.loads(process.stdout.readline())


def text_of(answer: Any) -> str:
    return answer["result"]["content"][0]["text"]


def test_stdout_is_for_messages_alone() -> None:
    with served(command("noisy_server:make")) as process:
        for id, name in enumerate(("print_it", "write_to_descriptor_1", "start_a_program"), start=1):
            assert text_of(ask(process, call(id, name))) == "done"
        assert text_of(ask(process, call(4, "ask_the_user"))) == "nobody there"
        assert ask(process, call(5, "break_down"))["result"]["isError"] is True
        tokens = {text_of(ask(process, call(id, "make_token"))) for id in (6, 7)}
        assert [len(token) for token in tokens] == [32, 32]
        # The end of stdin ends it, quietly, although a call is in work.
        out, err = process.communicate(call(8, "wait_long"), LIMIT_S)
    assert process.returncode == 0
    assert out == b""
    assert err.decode().splitlines() == [
        "printed while the module is imported",
        "printed by a handler",
        "written to descriptor 1",
        "from a program",
        "mcpsim: break_down raised RuntimeError: the disk is full",
    ]


def test_ctrl_c_ends_it_quietly_while_a_call_is_in_work(warm: Warm) -> None:
    with served(warm(command("our_server:server"))) as process:
        assert process.stdin is not None
        process.stdin.write(call(1, "wait_long"))
        assert text_of(ask(process, call(2, "add", a=1, b=2))) == "3"
        process.send_signal(signal.SIGINT)
        # Its stdin stays open: only the signal can have ended it.
        assert process.wait(LIMIT_S) == 0
        assert process.communicate() == (b"", b"")


def test_sigterm_ends_it_also_while_nobody_reads_what_it_writes(warm: Warm) -> None:
    with served(warm(command("noisy_server:make"))) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(call(1, "write_a_lot"))
        process.stdin.flush()
        assert process.stdout.read(1) == b"{"
        process.send_signal(signal.SIGTERM)
        assert process.wait(LIMIT_S) == 0
        assert process.communicate()[1] == b"printed while the module is imported\n"


def test_a_client_that_closed_its_end_ends_it(warm: Warm) -> None:
    with served(warm(command("our_server:server"))) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        assert text_of(ask(process, call(1, "add", a=1, b=2))) == "3"
        process.stdout.close()
        process.stdin.write(call(2, "add", a=1, b=2))
        process.stdin.flush()
        assert process.wait(LIMIT_S) == 0


@pytest.mark.parametrize("era", ["modern", "legacy"])
def test_a_client_that_never_reads_an_answer_ends_it_with_one_line_whatever_it_has_sent(
    era: str, warm: Warm
) -> None:
    ping = b'{"jsonrpc":"2.0","id":1,"method":"ping"}\n'
    lines = [ping] * 1500 if era == "legacy" else [call(id, "add", a=1, b=2) for id in range(300)]
    # One is in work for longer than the test may take.
    first = b"" if era == "legacy" else call(1000, "wait_long")
    with served(warm(command("our_server:server", "--era", era))) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.close()
        with suppress(BrokenPipeError):
            process.stdin.write(first + b"".join(lines))
            process.stdin.flush()
        # Its stdin stays open.
        assert process.wait(LIMIT_S) == 0
        told = process.stderr.read().decode().splitlines()
    assert told == ["mcpsim: An answer could not be sent: nobody reads any more."]


@pytest.mark.parametrize("tool", ["leave", "leave_at_once", "leave_from_a_group"])
@pytest.mark.parametrize(("code", "status", "told"), [(7, 7, ""), (None, 0, ""), ("Enough.", 1, "Enough.\n")])
def test_a_handler_that_ends_the_process_ends_it_without_more_words(
    tool: str, code: Any, status: int, told: str, warm: Warm
) -> None:
    with served(warm(command("leaving_server:server"))) as process:
        assert process.stdin is not None
        assert process.stderr is not None
        # What is in work, and what has not begun yet, is told of as little.
        lines = [call(1, "wait_long"), call(2, tool, code=code), *(call(id, "wait_long") for id in (3, 4))]
        process.stdin.write(b"".join(lines))
        process.stdin.flush()
        assert process.wait(LIMIT_S) == status
        assert process.stderr.read().decode() == told


def test_files_in_the_place_of_pipes(tmp_path: Path, warm: Warm) -> None:
    (tmp_path / "in").write_bytes(b'{"jsonrpc":"2.0","id":1,"method":"ping"}\n')
    with (
        open(tmp_path / "in", "rb") as stdin,
        open(tmp_path / "out", "wb") as stdout,
        served(warm(command("our_server:server", "--era", "legacy")), stdin=stdin, stdout=stdout) as process,
    ):
        assert process.wait(LIMIT_S) == 0
    assert json.loads((tmp_path / "out").read_bytes()) == {"jsonrpc": "2.0", "id": 1, "result": {}}


def test_a_process_without_stdin(monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> None:
    def closed(descriptor: int) -> int:
        raise OSError(9, "Bad file descriptor")

    with monkeypatch.context() as patched:
        patched.setattr(own_pipes.os, "dup", closed)
        assert main(["our_server:server"]) == 2
    assert capfd.readouterr().err == "mcpsim: This process has no stdin or no stdout to serve on.\n"


# What a command line names


@pytest.fixture
def here(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "path", list(sys.path))
    monkeypatch.chdir(HERE)


@pytest.mark.usefixtures("here")
@pytest.mark.parametrize(
    ("spec", "text"),
    [
        ("our_server", "'our_server' names no server; write module:name"),
        (":server", "names no server"),
        ("our_server:", "names no server"),
        ("no_such_module:server", "There is no module no_such_module."),
        ("mcpsim.no_such_module:server", "There is no module mcpsim.no_such_module."),
        ("our_server:nothing", "The module our_server has nothing named nothing."),
        ("mcpsim:__version__", "mcpsim:__version__ is no Server, nor a function that makes one: it is str."),
        ("mcpsim.live.process:CLIENT_LANE", "it is str"),
    ],
)
def test_a_name_that_leads_to_no_server(spec: str, text: str) -> None:
    with pytest.raises(ServerNotFound) as caught:
        load_server(spec)
    assert text in str(caught.value)


@pytest.mark.usefixtures("here")
def test_a_module_that_needs_another_which_is_not_there(tmp_path: Path) -> None:
    (tmp_path / "needs_more.py").write_text("import no_such_package\n", encoding="utf-8")
    sys.path.insert(0, str(tmp_path))
    with pytest.raises(ModuleNotFoundError, match="no_such_package"):
        load_server("needs_more:server")


def test_a_server_or_a_function_that_makes_one() -> None:
    assert load_server("mcpsim.course.servers:help_desk").name == "help-desk"
    assert load_server("mcpsim.course.servers:help_desk", "legacy").era == "legacy"


def test_the_era_of_the_command_line_counts() -> None:
    legacy = load_server("mcpsim.course.servers:help_desk", "legacy")
    assert legacy.supported_versions == ("2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05")
    assert load_server("mcpsim.course.servers:help_desk", "modern").supported_versions == ("2026-07-28",)


@pytest.mark.usefixtures("here")
def test_versions_that_somebody_chose_stay_chosen() -> None:
    assert load_server("chosen_versions:server", "both").supported_versions == ("2025-06-18",)
    with pytest.raises(ServerNotFound, match="chosen speaks 2025-06-18; none of them is modern"):
        load_server("chosen_versions:server", "modern")


def test_a_name_that_leads_nowhere_is_told_in_one_line(capfd: pytest.CaptureFixture[str]) -> None:
    assert main(["no_such_module:server"]) == 2
    print("stdout is back")
    assert capfd.readouterr() == ("stdout is back\n", "mcpsim: There is no module no_such_module.\n")


def test_request_state_is_good_after_a_restart_by_the_time_of_day() -> None:
    with served(command("returning_server:server")) as process:
        before_ms = time.time_ns() // 1_000_000
        first = ask(process, call(1, "twice"))["result"]
    assert first["resultType"] == "input_required"
    content, _ = first["requestState"].split(".")
    expires_ms = json.loads(base64.urlsafe_b64decode(content + "=="))["expires"]
    assert 300_000 <= expires_ms - before_ms < 300_000 + LIMIT_S * 1000
    again = {"name": "twice", "arguments": {}, "requestState": first["requestState"]}
    with served(command("returning_server:server")) as process:
        assert text_of(ask(process, request(2, "tools/call", **again))) == "came twice"
