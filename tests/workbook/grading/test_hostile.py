"""Submissions that attack the grader: each costs its own points, and nothing else."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

import pytest

from mcpsim.course.exercises import stateless
from mcpsim.workbook.grading import GradedExercise, fork_server
from mcpsim.workbook.grading.grader import _folder
from tests.workbook.grading.conftest import Grade, HandIn, dead_fork_server, server_of

# The exercises that are attacked; the last one is right, and has to get its points.
ATTACKED = ("future", "retry", "capabilities", "order", "scope", "cache", "nameless")
RIGHT = "required"

# In these, NAME is the name of the exercise and ANSWER that of what the learner has to write.
ENDS_ITS_PROCESS = {
    "leaves": "import os\nos._exit(0)",
    "leaves with a code": "import os\nos._exit(7)",
    "leaves within the check": "import os\n\ndef ANSWER(*arguments):\n    os._exit(0)",
    "crashes": "import faulthandler\nfaulthandler._sigsegv()",
    "aborts": "import os\nos.abort()",
    "sends itself a signal": "import signal\nsignal.raise_signal(signal.SIGTERM)",
}
NEVER_ENDS = {
    "a loop": "while True:\n    pass",
    "a loop that catches": "import time\nwhile True:\n    try:\n        time.sleep(0.01)\n"
    "    except BaseException:\n        pass",
    "blocks": "import threading\nlock = threading.Lock()\nlock.acquire()\nlock.acquire()",
    "forks": "import os, time\nwhile True:\n    try:\n        os.fork()\n    except OSError:\n"
    "        time.sleep(0.01)",
    "writes": "import os, time\nwhile True:\n    os.write(1, b'x' * 1_000_000)\n    time.sleep(0.001)",
    "threads": "import threading, time\n\ndef run():\n    while True:\n        time.sleep(0.01)\n\n"
    "for _ in range(4):\n    threading.Thread(target=run).start()\nrun()",
}
FAILS = {
    "raises": "raise RuntimeError('no')",
    "is no Python": "def ANSWER(",
    "exits": "import sys\nsys.exit(0)",
    "interrupts": "raise KeyboardInterrupt",
    "recursion": "def again():\n    again()\n\nagain()",
    "memory": "much = []\nwhile True:\n    much.append(bytearray(10**7))",
    "a large file": "with open('large', 'wb') as file:\n    file.write(b'x' * 10**8)",
}
REFUSED = {
    "a shell": "os.system('true')",
    "a process": "subprocess.run(['true'])",
    "a process by the back door": "_posixsubprocess.fork_exec()",
    "a process by another one": "subprocess._fork_exec() if hasattr(subprocess, '_fork_exec') else os.fork()",
    "multiprocessing": "multiprocessing.Process(target=print).start()",
    "the C library": "ctypes.CDLL(None)",
    "the network": "socket.create_connection(('127.0.0.1', 9), timeout=1)",
    "the grader": "os.kill(os.getppid(), 9)",
    "traces": "sys.settrace(lambda *arguments: None)",
    "frames of other threads": "sys._current_frames()",
    "all objects": "gc.get_objects()",
    "no limits": "resource.setrlimit(resource.RLIMIT_CPU, (-1, -1))",
    "limits of the grader": "resource.prlimit(os.getppid(), resource.RLIMIT_CORE)",
    "the grader by its descriptor": "signal.pidfd_send_signal(os.pidfd_open(os.getppid()), 0)",
    "the same in another module": "sys.modules['_signal'].pidfd_send_signal(0, 0)",
    "the grader's pace": "os.setpriority(os.PRIO_PROCESS, os.getppid(), 19)",
    "the memory of the grader": "open(f'/proc/{os.getppid()}/mem', 'rb')",
    "the memory of this process": "open('/proc/self/mem', 'rb')",
    "a database elsewhere": "sqlite3.connect('../new.db')",
    "a pipe elsewhere": "os.mkfifo('../new')",
    "a file elsewhere, without opening it": "os.mknod('../new')",
    "a file in memory": "os.memfd_create('new')",
    "a signal for the grader from a pipe": "fcntl.fcntl(os.pipe()[0], fcntl.F_SETOWN, os.getppid())",
}
TRIED_IN = (
    "_posixsubprocess, ctypes, fcntl, gc, multiprocessing, os, resource, socket, subprocess, sys, signal, "
    "sqlite3"
)
# Each of these would make a check pass, were it believed.
FORGES = {
    "the check": "from mcpsim.course.exercises import Exercise, Outcome, Verdict\n"
    "Exercise.check = lambda self, answer: Verdict('', Outcome.PASSED, 'forged')",
    "the inner check": "from mcpsim.course.exercises import Exercise, Outcome, Verdict\n"
    "Exercise._verdict = lambda self, answer: Verdict('', Outcome.PASSED, 'forged')",
    "the grade": "from mcpsim.course.exercises import Exercise, Grade, Outcome, Verdict\n"
    "Exercise.grade = lambda self, answer: Grade(Verdict('', Outcome.PASSED, 'forged'), 10, 10)",
    "the code of the check": "from mcpsim.course.exercises import Exercise\n"
    "def check(self, answer=...):\n    from mcpsim.course.exercises import Outcome, Verdict\n"
    "    return Verdict('', Outcome.PASSED, 'forged')\n"
    "Exercise.check.__code__ = check.__code__",
    "passed": "from mcpsim.course.exercises import Verdict\nVerdict.passed = property(lambda self: True)",
    "another module": "import sys, types\n"
    "sys.modules['mcpsim.course.exercises.exercise'] = types.ModuleType('exercise')",
    "the maker": "from mcpsim.course import exercises\nexercises.stateless = lambda **options: ex",
}
FORGES_MORE = {
    "a grader": "import mcpsim.course.exercises.set_04_stateless as there\n"
    "from mcpsim.course.exercises.exercise import Passed\n"
    "object.__setattr__(there.NAME.TASK, 'grade', lambda answer, learner: Passed('forged'))",
    "builtins": "import builtins\nbuiltins.sorted = lambda things, **options: list(things)",
    "the writing of JSON": "import json\nreal = json.dumps\n"
    "json.dumps = lambda value, **options: real(dict(value, outcome='passed', points=10))",
    "the channel": "import json, os\n"
    "said = {'exercise': 'NAME', 'outcome': 'passed', 'points': 10, 'seen': 'forged'}\n"
    "for number in range(3, 60):\n    try:\n        os.write(number, json.dumps(said).encode() + b'\\n')\n"
    "    except OSError:\n        pass",
    "frames": "import sys\nframe = sys._getframe()\n"
    "while frame:\n    for value in list(frame.f_locals.values()):\n"
    "        if getattr(value, '__name__', '') == 'say':\n"
    "            value({'exercise': 'NAME', 'outcome': 'passed', 'points': 10, 'seen': 'forged'})\n"
    "    frame = frame.f_back",
    "frames within the check": "import sys\n\ndef ANSWER(*arguments):\n    frame = sys._getframe()\n"
    "    while frame:\n        for value in list(frame.f_locals.values()):\n"
    "            if getattr(value, '__name__', '') == 'say':\n"
    "                value({'exercise': 'NAME', 'outcome': 'passed', 'points': 10, 'seen': 'forged'})\n"
    "        frame = frame.f_back",
    "a list that equals all": "class Yes(list):\n    __eq__ = lambda self, other: True\n"
    "    __ne__ = lambda self, other: False\n    __hash__ = None\n\n"
    "def ANSWER(*arguments):\n    return Yes()",
}

FORGES_THE_RUNNER = {
    "what runs the check": "import __main__\n__main__._verdict = lambda *arguments: "
    "{'outcome': 'passed', 'points': 10, 'seen': 'forged', 'table': ''}",
    "the same by its thread": "import threading\n"
    "there = type(threading.current_thread()).run.__globals__\nthere['_verdict'] = lambda *arguments: "
    "{'outcome': 'passed', 'points': 10, 'seen': 'forged', 'table': ''}",
    "what runs apart": "import __main__\n"
    "__main__._Call.run = lambda self: setattr(self, 'value', "
    "{'outcome': 'passed', 'points': 10, 'seen': 'forged', 'table': ''})",
}


def attack(
    hand_in: HandIn, grade: Grade, attacks: Mapping[str, str], **limits: float
) -> dict[str, GradedExercise]:
    """Hand in the attacks, each as an answer. None may get a point, and the right answer gets its own."""
    ex = stateless()
    where = dict(zip(attacks, ATTACKED, strict=False))
    assert len(where) == len(attacks)
    hand_in(
        **{
            name: attacks[title].replace("ANSWER", getattr(ex, name).task.answer).replace("NAME", name)
            for title, name in where.items()
        }
    )
    graded = grade(*where.values(), RIGHT, **limits)
    rows = {row.name: row for row in graded.exercises}
    assert rows.pop(RIGHT).outcome == "passed", graded
    found = {title: rows[name] for title, name in where.items()}
    assert {title: row.points for title, row in found.items()} == dict.fromkeys(attacks, 0)
    assert [title for title, row in found.items() if row.outcome == "passed" or "forged" in row.seen] == []
    return found


def test_those_that_end_their_process(hand_in: HandIn, grade: Grade) -> None:
    rows = attack(hand_in, grade, ENDS_ITS_PROCESS)
    assert {row.seen for row in rows.values()} == {"Its process ended before the check was done."}


def test_those_that_never_end(hand_in: HandIn, grade: Grade) -> None:
    rows = attack(hand_in, grade, NEVER_ENDS, time_s=1)
    assert {row.outcome for row in rows.values()} == {"stopped"}
    assert {row.seen for row in rows.values()} == {"It was stopped after 1 s."}


def test_those_that_fail(hand_in: HandIn, grade: Grade) -> None:
    rows = attack(hand_in, grade, FAILS, memory_mb=800)
    assert "A cell ended in RuntimeError: no." in rows["raises"].seen
    assert "A cell ended in SyntaxError" in rows["is no Python"].seen
    assert "A cell ended in SystemExit" in rows["exits"].seen
    assert "A cell ended in RecursionError" in rows["recursion"].seen
    assert "A cell ended in MemoryError" in rows["memory"].seen
    assert "A cell ended in OSError" in rows["a large file"].seen


def test_without_a_word_about_it_memory_has_a_limit(hand_in: HandIn, grade: Grade) -> None:
    hand_in(order="much = bytearray(3 * 10**9)")
    (row,) = grade("order").exercises
    assert "A cell ended in MemoryError" in row.seen


@pytest.mark.parametrize("wait_s", [0.0, 0.3])
def test_a_fork_server_that_is_late_leaves_nothing_behind(
    wait_s: float, hand_in: HandIn, grade: Grade
) -> None:
    hand_in(order=NEVER_ENDS["a loop that catches"])
    with fork_server() as start:
        server = server_of(start)
        server._process = process = server._begin()
        server._connection.settimeout(wait_s)
        graded = grade("order", RIGHT, start=start, time_s=1)
        assert process.returncode is not None
    assert {row.name: row.seen for row in graded.exercises}["order"] == "It was stopped after 1 s."
    assert {row.name: row.outcome for row in graded.exercises}[RIGHT] == "passed"


@pytest.mark.parametrize(
    "attacks", [FORGES, FORGES_MORE, FORGES_THE_RUNNER], ids=["one", "two", "the runner"]
)
def test_those_that_forge_their_verdict(attacks: Mapping[str, str], hand_in: HandIn, grade: Grade) -> None:
    rows = attack(hand_in, grade, attacks)
    for title, row in rows.items():
        assert row.outcome in ("stopped", "not yet", "not attempted"), title


def test_the_disk_is_not_filled_and_deep_folders_are_not_made(hand_in: HandIn, grade: Grade) -> None:
    hand_in(
        scope="import os\nfor number in range(1_000):\n    with open(f'{number}', 'wb') as file:\n"
        "        file.write(b'x')",
        nameless="import os\nfor number in range(10_000):\n    os.mkdir(f'folder{number}')",
        order="import os\npath = os.getcwd()\nwhile len(path) < 4_000:\n    path += '/a'\n    os.mkdir(path)",
        cache="import os\nos.mkdir('here')\nos.mkdir('there')\nos.rename('here', 'there/here')",
    )
    rows = {row.name: row.seen for row in grade("order", "scope", "cache", "nameless").exercises}
    assert "Graded code may open files for writing 64 times." in rows["scope"]
    assert "Graded code may change 1,000 files." in rows["nameless"]
    assert "Graded code may put 16 folders into each other." in rows["order"]
    assert "Graded code may not move folders." in rows["cache"]
    assert not [seen for seen in rows.values() if ".." in seen]


def test_a_folder_that_resists_its_end_ends_no_grader() -> None:
    with _folder() as own:
        path = str(own)
        while len(path) < 4_000:
            path += "/a"
            os.mkdir(path)
    assert own.is_dir()
    while own.is_dir():
        # Python 3.11 comes down to about a thousand folders only; what is below ends first.
        deepest = [str(own)]
        while inner := os.listdir(deepest[-1]):
            deepest.append(f"{deepest[-1]}/{inner[0]}")
        for folder in reversed(deepest):
            os.rmdir(folder)


def test_a_gigabyte_of_print_leaves_the_answer_alone(hand_in: HandIn, grade: Grade) -> None:
    hand_in(
        order="line = 'x' * 10_000_000\nfor _ in range(100):\n    print(line)\n\n"
        "def in_order(tools):\n    return sorted(tools, key=lambda tool: tool['name'])"
    )
    assert grade("order").points == 10


def answer_after(attempts: Mapping[str, str], imports: str) -> str:
    """A right answer, where each attempt is refused; otherwise an error that names those that are not."""
    tries = "\n".join(
        f"try:\n    {code}\n    done.append({title!r})\n"
        f"except BaseException as error:\n    if type(error).__name__ != 'Refused':\n"
        f"        done.append({title!r} + repr(error))"
        for title, code in attempts.items()
    )
    return (
        f"import {imports}\ndone = []\n{tries}\n"
        "def in_order(tools):\n    return sorted(tools, key=lambda tool: tool['name'])\n\n"
        "if done:\n    raise RuntimeError(done)"
    )


def test_what_is_refused(hand_in: HandIn, grade: Grade) -> None:
    hand_in(order=answer_after(REFUSED, TRIED_IN))
    (row,) = grade("order").exercises
    assert (row.points, row.seen.count("A cell ended")) == (10, 0), row


def test_what_was_handed_in_can_neither_be_changed_nor_read(
    folder: Path, hand_in: HandIn, grade: Grade
) -> None:
    report = folder / "grades.csv"
    report.write_text("untouched")
    attempts = (
        f"open({str(report)!r}, 'w').write('mine')",
        f"open({str(report)!r}).read()",
        f"os.remove({str(report)!r})",
        f"os.rename({str(report)!r}, 'mine')",
        f"os.truncate({str(report)!r}, 0)",
        f"os.symlink({str(report)!r}, 'mine')",
        f"os.link({str(report)!r}, 'mine')",
        f"os.open({str(folder)!r}, os.O_RDONLY)",
        f"os.chdir({str(folder)!r})",
        f"shutil.rmtree({str(folder)!r})",
        f"pathlib.Path({str(folder)!r}, 'new').mkdir()",
        "open('../new', 'w').write('mine')",
        f"pathlib.Path({str(report)!r}).write_text('mine')",
    )
    hand_in(order=answer_after({attempt: attempt for attempt in attempts}, "os, pathlib, shutil"))
    (row,) = grade("order").exercises
    assert (row.points, row.seen.count("A cell ended")) == (10, 0), row
    assert report.read_text() == "untouched"
    assert sorted(os.listdir(folder)) == ["grades.csv", "one"]


OF_ITS_OWN = """\
import os, stat, tempfile
open('mine', 'w').write('x')
with tempfile.TemporaryFile() as file:
    file.write(b'x')
assert os.getcwd() == os.environ['HOME'] == tempfile.gettempdir()
assert 'SECRET_OF_THE_TEACHER' not in os.environ
assert os.getsid(0) == os.getpid()
for number in range(100):
    try:
        assert not stat.S_ISSOCK(os.fstat(number).st_mode)
    except OSError:
        pass

def in_order(tools):
    return sorted(tools, key=lambda tool: tool['name'])"""


def test_what_a_process_has_of_its_own_and_the_teachers_environment_is_not_there(
    hand_in: HandIn, grade: Grade, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SECRET_OF_THE_TEACHER", "x")
    hand_in(order=OF_ITS_OWN)
    # One that begins when the secret is there.
    with fork_server() as start:
        (row,) = grade("order", start=start).exercises
    assert (row.points, row.seen.count("A cell ended")) == (10, 0), row


def test_where_there_is_no_fork_server_it_is_the_same(
    hand_in: HandIn, grade: Grade, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SECRET_OF_THE_TEACHER", "x")
    hand_in(
        future=NEVER_ENDS["threads"],
        capabilities=FAILS["memory"],
        cache=FAILS["a large file"],
        order=f"{answer_after(REFUSED, TRIED_IN)}\n\n{OF_ITS_OWN}",
    )
    with dead_fork_server() as start:
        (endless,) = grade("future", start=start, time_s=2).exercises
        # These end by themselves, however long that takes on a machine that has much to do.
        graded = grade("capabilities", "cache", "order", start=start, memory_mb=800)
    assert endless.seen == "It was stopped after 2 s."
    rows = {row.name: row for row in graded.exercises}
    assert "A cell ended in MemoryError" in rows["capabilities"].seen, rows
    assert "A cell ended in OSError" in rows["cache"].seen, rows
    assert (rows["order"].points, rows["order"].seen.count("A cell ended")) == (10, 0), rows["order"]
