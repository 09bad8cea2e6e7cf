"""Our client against processes that behave well, badly, or not at all."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import anyio
import pytest

from mcpsim import Client, ConnectionClosed, NegotiationFailed, RequestTimeout
from mcpsim.live import ShutdownTimes, connect_stdio
from mcpsim.live import process as process_module
from mcpsim.live import record as live_record
from mcpsim.recording import Recording

Program = Callable[[str], list[str]]

RESULT = (
    '{"jsonrpc":"2.0","id":1,"result":{"resultType":"complete","tools":[],"ttlMs":0,"cacheScope":"private"}}'
)
ANSWERS_ONCE = f"import sys; sys.stdin.readline(); print('{RESULT}'); sys.stdin.read()"
QUICK = ShutdownTimes(exit_s=0.2, terminate_s=0.2)
# A busy machine needs longer for everything; what is tested is how a process ends, not how fast.
PATIENT = ShutdownTimes(exit_s=60)
record = partial(live_record, times=PATIENT)


async def list_tools(client: Client) -> Any:
    """Ask for the tools."""
    return await client.list_tools()


def impatient(era: Any = "modern") -> Client:
    return Client(era=era, timeout_s=0.3, probe_timeout_s=0.3)


def notes(recording: Recording) -> list[str]:
    return [event.detail["text"] for event in recording.events if event.kind == "note" and event.detail]


def closings(recording: Recording) -> list[tuple[str, str]]:
    return [
        (event.party, event.detail["what"])
        for event in recording.events
        if event.kind == "closed" and event.detail
    ]


def from_server(recording: Recording, channel: str = "") -> list[bytes]:
    return [one.data for one in recording.frames if one.sender == "server" and one.channel == channel]


# What is recorded


def test_a_call_and_the_shutdown_after_it(program: Program) -> None:
    run = record(list_tools, command=program(ANSWERS_ONCE))
    assert run.value.tools == []
    assert run.recording.title == "Ask for the tools"
    assert run.recording.parties == ("client", "server")
    assert run.recording.header["source"] == "live"
    request, answer = run.recording.frames
    assert (request.sender, request.fate) == ("client", "delivered")
    assert (answer.sender, answer.data) == ("server", RESULT.encode() + b"\n")
    assert closings(run.recording) == [("client", "stdin"), ("server", "stdout")]
    assert notes(run.recording) == ["The server's process ended with exit code 0."]
    assert Recording.from_jsonl(run.recording.to_jsonl()) == run.recording


def test_one_frame_a_line_however_the_pipe_cuts(program: Program) -> None:
    run = record(
        list_tools,
        command=program(f"""
            import sys, time
            out = sys.stdout.buffer
            sys.stdin.readline()
            out.write(b'not json\\r\\n\\n')
            for piece in ({RESULT[:20]!r}, {RESULT[20:50]!r}, {RESULT[50:]!r} + "\\nlate"):
                time.sleep(0.02)
                out.write(piece.encode())
            out.write(b' \\xff\\xfe\\ncut off')
            sys.stdin.read()
        """),
    )
    assert from_server(run.recording) == [
        b"not json\r\n",
        b"\n",
        RESULT.encode() + b"\n",
        b"late \xff\xfe\n",
        b"cut off",
    ]
    assert Recording.from_jsonl(run.recording.to_jsonl()).frames == run.recording.frames


def test_what_follows_from_a_line_stands_after_it(program: Program) -> None:
    run = record(
        list_tools, command=program(f"import sys; sys.stdin.readline(); print('pollution\\n{RESULT}')")
    )
    kinds = [event.kind for event in run.recording.events]
    assert kinds[:7] == ["sent", "delivered", "sent", "delivered", "note", "sent", "delivered"]
    assert notes(run.recording)[0].startswith("Skipped what is not a message")


def test_lines_on_stderr_are_frames_of_their_own_channel(program: Program) -> None:
    run = record(list_tools, command=program(f"import sys; sys.stderr.write('one\\ntwo'); {ANSWERS_ONCE}"))
    assert from_server(run.recording, "stderr") == [b"one\n", b"two"]
    assert from_server(run.recording) == [RESULT.encode() + b"\n"]


def test_lines_that_come_after_the_end_of_stdin_are_recorded(program: Program) -> None:
    run = record(list_tools, command=program(ANSWERS_ONCE + "; print('bye'); print('gone', file=sys.stderr)"))
    assert from_server(run.recording)[-1] == b"bye\n"
    assert from_server(run.recording, "stderr") == [b"gone\n"]


def test_a_cancelled_call_that_was_never_written_is_not_recorded(program: Program) -> None:
    async def story(client: Client) -> None:
        with anyio.CancelScope() as scope:
            scope.cancel()
            await client.list_tools()

    run = record(story, command=program("import sys; sys.stdin.read()"))
    assert [frame.parsed.method for frame in run.recording.frames] == ["notifications/cancelled"]


def test_the_environment_and_the_folder(program: Program, tmp_path: Path) -> None:
    run = record(
        list_tools,
        command=program("import os, sys; print(sorted(os.environ), os.getcwd(), file=sys.stderr)"),
        env={"ONLY": "1"},
        cwd=tmp_path,
        check=False,
    )
    (line,) = from_server(run.recording, "stderr")
    assert b"'ONLY'" in line
    assert b"PATH" not in line
    assert line.endswith(f" {tmp_path}\n".encode())


# Where it can be called from


def test_record_works_inside_of_a_running_loop(program: Program) -> None:
    async def cell() -> Any:
        return record(list_tools, command=program(ANSWERS_ONCE))

    assert anyio.run(cell).value.tools == []


def test_a_session_gives_the_client_and_then_the_recording(program: Program) -> None:
    async def main() -> None:
        session = connect_stdio(program(ANSWERS_ONCE), title="By hand", times=PATIENT)
        assert session.pid is None
        async with session as entered:
            assert entered is session
            assert session.exit_code is None
            await session.client.list_tools()
            assert len(session.recording.frames) == 2
        assert session.exit_code == 0
        assert session.recording.title == "By hand"
        assert ("client", "stdin") in closings(session.recording)
        with pytest.raises(RuntimeError, match="one connection"):
            await session.__aenter__()

    anyio.run(main)


@pytest.mark.parametrize(
    ("arguments", "error", "text"),
    [
        ({"command": "my-server --quiet"}, TypeError, "must be a list"),
        ({"command": []}, ValueError, "must name a program"),
        ({"command": ["x"], "client": Client(), "era": "legacy"}, ValueError, "in the client's description"),
    ],
)
def test_arguments_that_cannot_be_used(arguments: dict[str, Any], error: type[Exception], text: str) -> None:
    with pytest.raises(error, match=text):
        record(list_tools, **arguments)


def test_times_of_a_shutdown_are_not_negative() -> None:
    with pytest.raises(ValueError, match="0 or more seconds"):
        ShutdownTimes(exit_s=-1)


# Servers that fail


@pytest.mark.parametrize(
    ("command", "cwd", "text"),
    [
        (["no-such-program-here"], None, "no-such-program-here: No such file or directory"),
        (["/"], None, "/: Permission denied"),
        (["sh", "\0"], None, "sh: embedded null byte"),
        (["sh"], "/no/such/folder", "/no/such/folder: No such file or directory"),
    ],
)
def test_a_server_that_cannot_be_started(command: list[str], cwd: str | None, text: str) -> None:
    run = record(list_tools, command=command, cwd=cwd, check=False)
    assert isinstance(run.error, ConnectionClosed)
    assert str(run.error) == f"The server could not be started: {text}."
    assert notes(run.recording) == [str(run.error)]
    assert closings(run.recording) == []


@pytest.mark.parametrize("era", ["modern", "legacy", "auto"])
def test_a_server_that_exits_at_once(program: Program, era: Any) -> None:
    command = program("import sys; [print('line', n, file=sys.stderr) for n in range(9)]; sys.exit(3)")
    run = record(list_tools, command=command, client=Client(era=era), check=False)
    assert isinstance(run.error, ConnectionClosed)
    assert "ended with exit code 3" in str(run.error)
    assert str(run.error).endswith("on stderr:\n  line 4\n  line 5\n  line 6\n  line 7\n  line 8")
    assert notes(run.recording)[-1] == "The server's process ended with exit code 3."
    with pytest.raises(ConnectionClosed, match="exit code 3"):
        record(list_tools, command=command, client=Client(era=era))


def test_a_server_that_dies_in_the_middle_of_a_message(program: Program) -> None:
    command = program("import os, sys; sys.stdin.readline(); sys.stdout.write('{\"jsonrpc\"'); os.abort()")
    run = record(list_tools, command=command, check=False)
    assert "ended by SIGABRT" in str(run.error)
    assert """no message: '{"jsonrpc"'""" in str(run.error)
    assert from_server(run.recording) == [b'{"jsonrpc"']


def test_a_server_that_is_gone_when_the_next_message_is_sent(program: Program) -> None:
    async def story(client: Client) -> None:
        await client.list_tools()
        await anyio.sleep(0.2)
        await client.notify("notifications/cancelled", {"requestId": 1})

    run = record(story, command=program(f"import sys; sys.stdin.readline(); print('{RESULT}')"), check=False)
    assert isinstance(run.error, ConnectionClosed)
    assert "could not be sent" in str(run.error)
    assert "exit code 0. It wrote nothing on stderr." in str(run.error)
    assert run.recording.frames[-1].fate == "dropped"


def timeout_after(frames: int, command: list[str]) -> tuple[str, Recording]:
    """What the client says when no answer comes, after so many lines came from the server."""

    async def main() -> tuple[str, Recording]:
        session = connect_stdio(command, client=impatient(), times=PATIENT)
        try:
            async with session:
                with anyio.fail_after(60):
                    while len(session.recording.frames) < frames:
                        await anyio.sleep(0.01)
                await session.client.list_tools()
        except RequestTimeout as error:
            return str(error), session.recording
        raise AssertionError("The server answered.")

    return anyio.run(main)


def test_a_server_that_writes_garbage(program: Program) -> None:
    text, recording = timeout_after(1, program("import sys; print('Ready \x1b[31mnow'); sys.stdin.read()"))
    assert "within 0.3 s" in text
    assert "The last line on its stdout is no message: 'Ready \N{REPLACEMENT CHARACTER}[31mnow'" in text
    assert from_server(recording) == [b"Ready \x1b[31mnow\n"]


def test_a_server_that_never_answers(program: Program) -> None:
    text, recording = timeout_after(
        2, program("import sys; sys.stderr.write('thinking\\nhard\\n'); sys.stdin.read()")
    )
    assert text.startswith("No answer to tools/list #1 within 0.3 s")
    assert text.endswith("The server's process still runs. Its last lines on stderr:\n  thinking\n  hard")
    request, cancelled = (frame.parsed for frame in recording.frames if frame.sender == "client")
    assert (request.method, cancelled.method) == ("tools/list", "notifications/cancelled")


def test_a_server_that_never_answers_a_probe_nor_a_handshake(program: Program) -> None:
    with pytest.raises(RequestTimeout, match=r"initialize #2 .* still runs\. It wrote nothing"):
        record(list_tools, command=program("import sys; sys.stdin.read()"), client=impatient("auto"))


def test_a_server_without_a_version_in_common(program: Program) -> None:
    answer = (
        '{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":"1999-01-01","capabilities":{},'
        '"serverInfo":{"name":"old","version":"1"}}}'
    )
    command = program(f"import sys; sys.stdin.readline(); print('{answer}'); sys.stdin.read()")
    with pytest.raises(NegotiationFailed, match=r"1999-01-01.* still runs"):
        record(list_tools, command=command, client=impatient("legacy"))


def test_a_server_that_does_not_read(program: Program) -> None:
    async def story(client: Client) -> None:
        await client.call_tool("add", {"text": "x" * 1_000_000})

    began = time.monotonic()
    command = program("import time; time.sleep(60)")
    run = record(story, command=command, client=impatient(), times=QUICK, check=False)
    assert isinstance(run.error, RequestTimeout)
    assert time.monotonic() - began < 10


def test_a_server_that_writes_without_end(program: Program, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(process_module, "MAX_OUTPUT_LINES", 1_000)
    command = program("while True: print('more')")
    run = record(list_tools, command=command, times=QUICK, check=False)
    assert isinstance(run.error, ConnectionClosed)
    assert "more than a recording may hold (64000000 bytes, 1000 lines)" in str(run.error)
    assert len(run.recording.frames) < 100_000


def test_a_flood_of_short_lines_is_told_before_anybody_loses_patience(program: Program) -> None:
    command = program("import sys\nwhile True: sys.stdout.write('x\\n' * 1000)")
    run = record(list_tools, command=command, client=Client(timeout_s=30), times=QUICK, check=False)
    assert isinstance(run.error, ConnectionClosed)
    assert f"({process_module.MAX_OUTPUT_BYTES} bytes, {process_module.MAX_OUTPUT_LINES} lines)" in str(
        run.error
    )


def test_a_timeout_names_the_bound_as_well(program: Program, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(process_module, "MAX_OUTPUT_LINES", 1_000)

    async def story(client: Client) -> None:
        await anyio.sleep(0.5)
        raise RequestTimeout("No answer.")

    run = record(story, command=program("while True: print('more')"), times=QUICK, connect=False, check=False)
    assert isinstance(run.error, RequestTimeout)
    assert "more than a recording may hold (64000000 bytes, 1000 lines)" in str(run.error)


# Shutdown


def test_a_server_that_ignores_the_end_of_stdin_is_asked_to_terminate(program: Program) -> None:
    run = record(list_tools, command=program(ANSWERS_ONCE + "; import time; time.sleep(60)"), times=QUICK)
    assert notes(run.recording) == [
        "The server still runs 0.2 s after its stdin was closed: SIGTERM.",
        "The server's process was ended by SIGTERM.",
    ]
    assert closings(run.recording) == [("client", "stdin"), ("server", "stdout")]


def test_a_server_that_ignores_that_too_is_killed(program: Program) -> None:
    command = program(
        f"import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); {ANSWERS_ONCE}; time.sleep(60)"
    )
    run = record(list_tools, command=command, times=QUICK)
    assert notes(run.recording) == [
        "The server still runs 0.2 s after its stdin was closed: SIGTERM.",
        "The server still runs 0.2 s after SIGTERM: it is killed.",
        "The server's process was ended by SIGKILL.",
    ]


def test_a_server_that_is_stuck_in_writing_gets_to_see_the_end_of_stdin(program: Program) -> None:
    command = program(f"{ANSWERS_ONCE}; sys.stdout.write('x' * 1_000_000); sys.stderr.write('y' * 1_000_000)")
    run = record(list_tools, command=command)
    assert notes(run.recording)[-1] == "The server's process ended with exit code 0."
    assert from_server(run.recording)[-1] == b"x" * 1_000_000


def test_programs_that_the_server_left_behind_are_ended(
    program: Program, is_gone: Callable[[int | None], bool]
) -> None:
    command = program(f"""
        import subprocess, sys
        left = subprocess.Popen([sys.executable, "-I", "-S", "-c", "import time; time.sleep(60)"])
        print(left.pid, file=sys.stderr)
        {ANSWERS_ONCE}
    """)
    began = time.monotonic()
    run = record(list_tools, command=command)
    assert time.monotonic() - began < 10
    assert notes(run.recording)[0].startswith("Programs that the server had started still run")
    (pid,) = from_server(run.recording, "stderr")
    assert is_gone_soon(is_gone, int(pid))


def is_gone_soon(is_gone: Callable[[int | None], bool], pid: int) -> bool:
    # Whoever inherits the orphan needs a moment to collect it.
    for _ in range(200):
        if is_gone(pid) or _is_zombie(pid):
            return True
        time.sleep(0.01)
    return False


def _is_zombie(pid: int) -> bool:
    try:
        with open(f"/proc/{pid}/stat", encoding="utf-8") as file:
            return file.read().rpartition(")")[2].split()[0] == "Z"
    except OSError:
        return False


# No process is left behind


class Broke(Exception):
    """What the story raises."""


def waits(stubborn: bool, program: Program) -> tuple[list[str], ShutdownTimes, int]:
    """A server that says nothing; how long to wait for it; and how it will end."""
    if stubborn:
        return program("import time; time.sleep(60)"), QUICK, -15
    return program("import sys; sys.stdin.read()"), PATIENT, 0


@pytest.mark.parametrize("stubborn", [False, True])
def test_a_story_that_raises(program: Program, is_gone: Callable[[int | None], bool], stubborn: bool) -> None:
    command, times, end = waits(stubborn, program)

    async def main() -> None:
        session = connect_stdio(command, times=times)
        with pytest.raises(Broke):
            async with session:
                raise Broke
        assert is_gone(session.pid)
        assert session.exit_code == end

    anyio.run(main)


@pytest.mark.parametrize("stubborn", [False, True])
def test_a_story_that_is_cancelled(
    program: Program, is_gone: Callable[[int | None], bool], stubborn: bool
) -> None:
    command, times, end = waits(stubborn, program)

    async def main() -> None:
        session = connect_stdio(command, times=times)
        with anyio.CancelScope() as scope:
            async with session:
                scope.deadline = anyio.current_time() + 0.1
                await session.client.list_tools()
        assert scope.cancelled_caught
        assert is_gone(session.pid)
        assert session.exit_code == end
        methods = [frame.parsed.method for frame in session.recording.frames]
        assert methods == ["tools/list", "notifications/cancelled"]

    anyio.run(main)


def test_a_handshake_that_is_cancelled(program: Program, is_gone: Callable[[int | None], bool]) -> None:
    command, times, end = waits(False, program)
    session = connect_stdio(command, era="legacy", times=times)

    async def stop(scope: anyio.CancelScope) -> None:
        while not session.recording.frames:
            await anyio.sleep(0.01)
        scope.cancel()

    async def main() -> None:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(stop, tasks.cancel_scope)
            await session.__aenter__()

    anyio.run(main)
    assert is_gone(session.pid)
    assert session.exit_code == end


@pytest.fixture
def hears_ctrl_c() -> Iterator[None]:
    """A shell that starts the tests in the background has them ignore it."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.usefixtures("hears_ctrl_c")
def test_ctrl_c_in_the_calling_thread(
    program: Program, is_gone: Callable[[int | None], bool], tmp_path: Path
) -> None:
    tells = tmp_path / "pid"
    command = program("import os, sys; open(sys.argv[1], 'w').write(str(os.getpid())); sys.stdin.read()")

    async def story(client: Client) -> None:
        while not (tells.exists() and tells.read_text(encoding="ascii")):
            await anyio.sleep(0.01)
        os.kill(os.getpid(), signal.SIGINT)
        await anyio.sleep(60)

    with pytest.raises(KeyboardInterrupt):
        record(story, command=[*command, str(tells)])
    assert is_gone(int(tells.read_text(encoding="ascii")))


def test_several_errors_stay_a_group(program: Program) -> None:
    async def story(client: Client) -> None:
        async def fail() -> None:
            raise Broke

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(fail)
            tasks.start_soon(fail)

    run = record(story, command=program("import sys; sys.stdin.read()"), check=False)
    assert isinstance(run.error, ExceptionGroup)
    assert [type(one) for one in run.error.exceptions] == [Broke, Broke]


def test_an_await_that_is_missing_at_the_end(program: Program) -> None:
    async def story(client: Client) -> Any:
        return client.list_tools()

    with pytest.raises(TypeError, match="an `await` is missing"):
        record(story, command=program("import sys; sys.stdin.read()"))
