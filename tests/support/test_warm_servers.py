"""A forked server is to its client what a started one is: streams, signals, how it ends."""

from __future__ import annotations

import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Timer
from typing import Any

import pytest

from tests.support.warm_servers import Warm

LIMIT_S = 60
# What it says when it has begun, before what is asked of it.
PROGRAM = """
import os, signal, sys, time
print("begun", flush=True)
exec(sys.argv[1])
"""


@pytest.fixture
def script(tmp_path: Path) -> str:
    path = tmp_path / "program.py"
    path.write_text(PROGRAM)
    return str(path)


@contextmanager
def begun(warm: Warm, script: str, code: str) -> Iterator[subprocess.Popen[str]]:
    pipes: dict[str, Any] = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    with subprocess.Popen(warm([sys.executable, script, code]), encoding="utf-8", **pipes) as process:
        watch = Timer(LIMIT_S, process.kill)
        watch.start()
        try:
            assert process.stdout is not None
            assert process.stdout.readline() == "begun\n"
            yield process
        finally:
            watch.cancel()


@pytest.mark.parametrize(
    ("code", "status", "told"),
    [
        ("", 0, ""),
        ("sys.exit(7)", 7, ""),
        ("sys.exit('Enough.')", 1, "Enough.\n"),
        ("os.kill(os.getpid(), signal.SIGKILL)", -signal.SIGKILL, ""),
        ("import no_such_module", 1, "ModuleNotFoundError: No module named 'no_such_module'\n"),
    ],
)
def test_it_ends_as_the_server_ends(warm: Warm, script: str, code: str, status: int, told: str) -> None:
    with begun(warm, script, code) as process:
        _, err = process.communicate(timeout=LIMIT_S)
    assert process.returncode == status
    assert err.endswith(told)
    assert bool(err) == bool(told)


def test_words_folder_environment_and_streams_are_those_that_it_was_started_with(
    warm: Warm, tmp_path: Path
) -> None:
    (tmp_path / "mine.py").write_text(
        "import os, sys\nprint(__name__, sys.argv[1:], os.getcwd(), sorted(os.environ), sys.stdin.read())\n"
        "print('also', file=sys.stderr)\n"
    )
    for words in (["-m", "mine", "one"], [str(tmp_path / "mine.py"), "one"]):
        done = subprocess.run(
            warm([sys.executable, *words]),
            cwd=tmp_path,
            env={"MINE": "1"},
            input="in",
            capture_output=True,
            encoding="utf-8",
            timeout=LIMIT_S,
        )
        assert done.returncode == 0, done.stderr
        # `LC_CTYPE` is what Python itself sets where there is none.
        assert done.stdout.replace("'LC_CTYPE', ", "") == f"__main__ ['one'] {tmp_path} ['MINE'] in\n"
        assert done.stderr == "also\n"


def test_a_signal_is_passed_on(warm: Warm, script: str) -> None:
    code = "signal.signal(signal.SIGTERM, lambda *_: sys.exit(9)); print('ready', flush=True); time.sleep(60)"
    with begun(warm, script, code) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        process.terminate()
        assert process.wait(LIMIT_S) == 9
    with begun(warm, script, "time.sleep(60)") as process:
        process.send_signal(signal.SIGINT)
        assert process.wait(LIMIT_S) == -signal.SIGINT
        assert process.stderr is not None
        assert process.stderr.read().endswith("KeyboardInterrupt\n")


def test_a_server_is_killed_with_the_one_in_its_place(warm: Warm, script: str) -> None:
    with begun(warm, script, "time.sleep(30); print('still there')") as process:
        assert process.stdout is not None
        process.kill()
        assert process.stdout.read() == ""


def test_both_ends_see_what_the_other_one_closes(warm: Warm, script: str) -> None:
    with begun(warm, script, "os.close(1); sys.stdin.read(); os._exit(3)") as process:
        assert process.stdout is not None
        assert process.stdin is not None
        assert process.stdout.read() == ""
        assert process.poll() is None
        process.stdin.close()
        assert process.wait(LIMIT_S) == 3


def test_what_it_needs_is_imported_before(warm: Warm, script: str) -> None:
    code = "print('mcpsim.live' in sys.modules, 'this' in sys.modules)"
    for imports, told in ((), "True False\n"), (("this",), "True True\n"):
        done = subprocess.run(
            warm([sys.executable, script, code], *imports), capture_output=True, encoding="utf-8"
        )
        assert done.stdout.endswith(told)
