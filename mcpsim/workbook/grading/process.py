"""The process in which one submission runs: `python -m mcpsim.workbook.grading.process`.

It reads its job from standard input and answers on what was its standard output, one JSON object a line.
Before the first of the learner's cells runs, both are taken away from it.

With the descriptor of a socket as its argument it serves forks instead: it never sees a job, and each process
that it forks reads one.
"""

from __future__ import annotations

import ast
import asyncio
import contextlib
import ctypes
import gc
import json
import os
import re
import socket
import sys
import threading
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final, NoReturn, cast

from mcpsim.course import exercises
from mcpsim.course.exercises import Exercise
from mcpsim.course.exercises.showing import cut
from mcpsim.workbook.grading.fence import limit_resources, raise_fence
from mcpsim.workbook.grading.starting import of_its_own
from mcpsim.workbook.grading.tampering import Marks

LONGEST_TEXT: Final = 1_000
LARGEST_TABLE: Final = 100_000
#: The path of a folder, and what comes with it: the process's standard input and output.
LONGEST_MESSAGE: Final = 10_000
STREAMS: Final = 2

_MAGIC: Final = re.compile(r"^\s*[%!].*$", re.MULTILINE)

Say = Callable[[dict[str, Any]], None]


def main() -> None:
    """Run the job on standard input, or serve forks."""
    # Its address is looked up once; later the fence refuses that. The watchdog of the checks needs it.
    assert ctypes.pythonapi.PyThreadState_SetAsyncExc
    if len(sys.argv) > 1:
        _serve(socket.socket(fileno=int(sys.argv[1])))
    else:
        _stay_for_good()
        _run_job()


def _stay_for_good() -> None:
    # What was imported stays until the end: there is nothing in it for the collector.
    gc.collect()
    gc.freeze()


def _serve(connection: socket.socket) -> None:
    """Fork a process for each message with a folder and two descriptors, until the other side is gone.

    The answer is its number, or -1 where the system has no room for one more. Asked for such a number, it
    answers with it when that process has ended, and has no such process any more; otherwise with 0.
    """
    assert sys.platform != "win32"
    for make in exercises.SETS:
        _names(make.__name__)
    marks = Marks()
    _stay_for_good()
    while True:
        words, descriptors, _, _ = socket.recv_fds(connection, LONGEST_MESSAGE, STREAMS)
        if not words:
            return
        if descriptors:
            number = _fork(Path(os.fsdecode(words)), descriptors, connection, marks)
        else:
            number, _ = os.waitpid(int(words), os.WNOHANG)
        connection.send(b"%d" % number)


def _fork(own: Path, descriptors: Sequence[int], connection: socket.socket, marks: Marks) -> int:
    assert sys.platform != "win32"
    ends: list[int] = []
    try:
        ends += os.pipe()
        number = os.fork()
    except OSError:
        for each in (*ends, *descriptors):
            os.close(each)
        return -1
    reading, writing = ends
    if not number:
        connection.close()
        os.close(reading)
        # A session is a process group that it cannot leave: so it can be ended with all that it started.
        os.setsid()
        os.close(writing)
        for target, descriptor in enumerate(descriptors):
            os.dup2(descriptor, target)
            os.close(descriptor)
        os.chdir(own)
        os.environ.update(of_its_own(own))
        _run_job(marks)
    for descriptor in (writing, *descriptors):
        os.close(descriptor)
    # It has its session when this end is closed.
    os.read(reading, 1)
    os.close(reading)
    return number


def _run_job(marks: Marks | None = None) -> NoReturn:
    job = json.loads(sys.stdin.buffer.read())
    say = _channel(job.pop("word"))
    limit_resources(job["memory_mb"], job["cpu_s"])
    _grade(job, say, marks)
    sys.stdout.flush()
    # Not by the usual way: what the learner's code left behind, such as threads, shall not run now.
    os._exit(0)


def _channel(word: str) -> Say:
    """A function that writes one line to the grader. Standard input and output lead nowhere from now on."""
    channel = os.dup(1)
    nowhere = os.open(os.devnull, os.O_RDWR)
    for descriptor in (0, 1, 2):
        os.dup2(nowhere, descriptor)
    write, dumps = os.write, json.dumps

    def say(what: dict[str, Any]) -> None:
        rest = (dumps({"word": word} | what) + "\n").encode()
        while rest:
            rest = rest[write(channel, rest) :]

    return say


def _grade(job: Mapping[str, Any], say: Say, marks: Marks | None) -> None:
    names = _names(job["set"])
    marks = marks or Marks()
    raise_fence(Path.cwd(), tuple(map(Path, job["closed"])))
    for section in job["sections"]:
        name = section["exercise"]
        say({"began": name})
        error: str | None = _apart(_run_all, section["cells"], names)
        if not section["skipped"]:
            changed = marks.change()
            # Where the memory is full, it stays so, and nothing after it could be judged.
            is_full = error is None or error.startswith("MemoryError")
            verdict: dict[str, Any] | None = None
            if not is_full:
                verdict = _apart(_verdict, job, name, names)
            verdict = verdict or {"broken": True}
            say({"exercise": name, "error": error or "", "changed": changed or marks.change()} | verdict)


def _apart(function: Callable[..., Any], *arguments: Any) -> Any:
    """Call it in a thread of its own and return what it returns; None where it raises.

    From the frames of that thread no way leads to those of this one, where the grader's word is.
    """
    call = _Call(function, arguments)
    call.start()
    call.join()
    return call.value


class _Call(threading.Thread):
    def __init__(self, function: Callable[..., Any], arguments: tuple[Any, ...]) -> None:
        super().__init__(daemon=True)
        self._call = function, arguments
        self.value: Any = None

    def run(self) -> None:
        function, arguments = self._call
        with contextlib.suppress(BaseException):
            self.value = function(*arguments)


def _verdict(job: Mapping[str, Any], name: str, names: Mapping[str, Any]) -> dict[str, Any]:
    exercise: Exercise = getattr(getattr(exercises, job["set"])(patience_s=job["patience_s"]), name)
    answer = names.get(exercise.task.answer, ...)
    grade = exercise.grade(answer)
    refuses = all(not exercise.check(wrong).passed for wrong in (None, object(), _gives_nothing))
    verdict = {
        "outcome": str(grade.verdict.outcome),
        "points": grade.points,
        "seen": cut(grade.verdict.seen, LONGEST_TEXT),
        "table": _as_text(answer),
    }
    return verdict if refuses else {"changed": "the check"}


def _gives_nothing(*arguments: Any) -> None:
    """An answer that no check may pass."""


def _names(maker: str) -> dict[str, Any]:
    """The names that the first cell of the notebook makes."""
    names: dict[str, Any] = {"__name__": "__main__", "display": _gives_nothing}
    ex = getattr(exercises, maker)()
    exec("\n".join(ex.notebook.imports), names)
    return names | {"ex": ex}


def _run_all(cells: list[str], names: dict[str, Any]) -> str:
    """Run all of the cells, as somebody does who goes on after an error; return the last error, or ""."""
    error = ""
    for source in cells:
        error = _run(source, names) or error
    return error


def _run(source: str, names: dict[str, Any]) -> str:
    """Run a cell as a notebook does; return what went wrong, or ""."""
    try:
        code = _compiled(source)
        value = eval(code, names)
        if asyncio.iscoroutine(value):
            asyncio.run(value)
    except BaseException as error:
        try:
            return cut(f"{type(error).__name__}: {error}".removesuffix(": "), LONGEST_TEXT)
        except Exception:
            return type(error).__name__
    return ""


def _compiled(source: str) -> Any:
    flags = ast.PyCF_ALLOW_TOP_LEVEL_AWAIT
    try:
        return compile(source, "<cell>", "exec", flags)
    except SyntaxError:
        # Lines for IPython, such as %timeit, have no part in an answer.
        return compile(_MAGIC.sub("", source), "<cell>", "exec", flags)


def _as_text(value: Any) -> str:
    """A table as a Python literal, or "" where the value is none, or holds anything but plain data."""
    if type(value) is not dict:
        return ""
    try:
        text = repr(_plain(value, 5))
    except (TypeError, ValueError, RecursionError, MemoryError):
        return ""
    return text if len(text) <= LARGEST_TABLE else ""


def _plain(value: Any, depth: int) -> Any:
    """A copy of exact plain types, so that nothing of the learner's own is asked for its repr.

    Raises:
        TypeError: there is something else in it.
    """
    if depth == 0:
        raise TypeError
    if type(value) is dict:
        table = cast("dict[Any, Any]", value)
        return {_plain(key, depth - 1): _plain(item, depth - 1) for key, item in table.items()}
    if type(value) in (list, tuple):
        items = cast("list[Any]", value)
        return type(items)(_plain(item, depth - 1) for item in items)
    if value is None or value is ... or type(value) in (str, bytes, bool, int, float):
        return value
    if isinstance(value, str):
        return str.__str__(value)
    if isinstance(value, int):
        return int.__int__(value)
    raise TypeError


if __name__ == "__main__":
    main()
