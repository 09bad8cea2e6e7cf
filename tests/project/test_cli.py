"""The `mcpsim` command: what it prints, and how it exits."""

from __future__ import annotations

import importlib.util
import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from mcpsim import Recording
from mcpsim.audit.rules import RULES
from mcpsim.cli import COMMANDS, SERVERS, TRANSPORTS, main
from mcpsim.course import MISBEHAVING, STORIES, bench
from mcpsim.course.misbehaving import TOPICS
from mcpsim.live import record
from mcpsim.workbook.lab import lab_arguments
from tests.support.warm_servers import Warm


@pytest.fixture
def notebook(tmp_path: Path) -> Path:
    cell = {
        "cell_type": "code",
        "source": "6 * 7",
        "metadata": {},
        "execution_count": None,
        "outputs": [],
    }
    path = tmp_path / "sample.ipynb"
    path.write_text(json.dumps({"nbformat": 4, "nbformat_minor": 5, "metadata": {}, "cells": [cell]}))
    return path


@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: command.name)
def test_every_command_explains_itself(command, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as exit:
        main([command.name, "--help"])
    assert exit.value.code == 0
    assert command.help.split(",")[0] in " ".join(capsys.readouterr().out.split())


@pytest.mark.parametrize(
    "words",
    [
        ["unknown"],
        ["notebooks"],
        ["notebooks", "--check", "--refresh"],
        ["notebooks", "--check", "--", "--port=1"],
        ["notebooks", "--check", "--exercises"],
        ["lab", "one", "two"],
        ["run", "no-such-story"],
        ["serve", "help-desk"],
        ["serve", "help-desk", "--stdio", "--http", "0"],
        ["serve", "help-desk", "--http", "65536"],
        ["serve", "help-desk", "--http", "-1"],
        ["serve", "help-desk", "--http", "http"],
    ],
)
def test_arguments_without_a_meaning_are_refused(
    words: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as exit:
        main(words)
    assert exit.value.code == 2
    assert "usage: mcpsim" in capsys.readouterr().err


@pytest.mark.parametrize("command", ["misbehaving", "stories"])
def test_a_reader_who_has_had_enough_sees_no_traceback(command: str, warm: Warm) -> None:
    words = warm([sys.executable, "-m", "mcpsim", command])
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        # Closed before anything is read: the first write that leaves the buffer fails.
        process.stdout.close()
        assert process.stderr.read() == ""
    assert process.returncode == 2


def test_the_notebooks_of_unknown_exercises_are_not_made(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["notebooks", "--exercises", "99_unknown"]) == 2
    assert "There are: 01_messages" in capsys.readouterr().err


def test_check_then_refresh_then_check(notebook: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before = notebook.read_bytes()
    assert main(["notebooks", "--check", str(notebook)]) == 1
    assert notebook.read_bytes() == before
    assert main(["notebooks", "--refresh", str(notebook)]) == 0
    after = notebook.read_bytes()
    assert json.loads(after)["cells"][0]["outputs"][0]["data"] == {"text/plain": ["42"]}
    assert main(["notebooks", "--check", str(notebook)]) == 0
    assert main(["notebooks", "--refresh", str(notebook)]) == 0
    assert notebook.read_bytes() == after
    said = [line.partition(": ")[2] for line in capsys.readouterr().out.splitlines()]
    assert said == [
        f"out of date; run: mcpsim notebooks --refresh {notebook}",
        "refreshed",
        *["up to date"] * 2,
    ]


def test_a_notebook_that_fails_does_not_keep_the_others_from_being_run(
    notebook: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    bad = notebook.with_name("bad.ipynb")
    bad.write_text("{")
    assert main(["notebooks", "--refresh", str(bad), str(notebook)]) == 1
    printed = capsys.readouterr()
    assert f"{bad}: this is not a notebook" in printed.err
    assert f"{notebook}: refreshed" in printed.out


def test_a_path_that_does_not_exist_is_an_error(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["notebooks", "--check", str(tmp_path / "none.ipynb")]) == 2
    assert "none.ipynb is neither a notebook" in capsys.readouterr().err


def test_without_jupyterlab_it_says_how_to_install_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    find_spec = importlib.util.find_spec
    monkeypatch.setattr(
        importlib.util,
        "find_spec",
        lambda name, *rest: None if name == "jupyterlab" else find_spec(name, *rest),
    )
    assert main(["lab", str(tmp_path / "copy")]) == 2
    assert 'python -m pip install -e ".[lab]"' in capsys.readouterr().err
    assert not (tmp_path / "copy").exists()
    assert main(["lab", str(tmp_path / "copy"), "--copy-only"]) == 0


def test_in_a_checkout_nothing_is_copied_without_a_folder(
    project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["lab", "--copy-only"]) == 0
    assert capsys.readouterr().out == f"The workbook is in {project}.\n"
    assert list(tmp_path.iterdir()) == []


def test_inside_of_a_copied_workbook_that_one_is_meant(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "mine"
    assert main(["lab", str(folder), "--copy-only"]) == 0
    monkeypatch.chdir(folder)
    before = sorted(path.name for path in folder.iterdir())
    capsys.readouterr()
    assert main(["lab", "--copy-only"]) == 0
    assert f"The workbook is in {folder}" in capsys.readouterr().out
    assert sorted(path.name for path in folder.iterdir()) == before


def test_alone_the_command_says_what_it_can_do(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main([])
    assert ended.value.code == 0
    assert "Open the workbook in JupyterLab" in capsys.readouterr().out


def test_jupyterlab_starts_on_the_first_lesson_and_gets_the_rest(project: Path) -> None:
    arguments = lab_arguments(project, browser=False, extra=["--port=9999"])
    assert arguments == [
        f"--ServerApp.root_dir={project}",
        "--ContentsManager.pre_save_hook=mcpsim.workbook.saving.store_still_pictures",
        "--LabApp.default_url=/lab/tree/notebooks/00_start_here.ipynb",
        "--no-browser",
        "--port=9999",
    ]


def test_the_module_is_the_command(run) -> None:
    done = run(sys.executable, "-m", "mcpsim", "notebooks", "--check", "nowhere")
    assert done.returncode == 2
    assert done.stdout.startswith("mcpsim notebooks: nowhere is neither")


def test_stories_lists_each_story_with_what_it_shows(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["stories"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in lines] == list(STORIES)
    assert all(story.what in line for story, line in zip(STORIES.values(), lines, strict=True))


@pytest.mark.parametrize("name", STORIES)
def test_run_plays_every_story(name: str, capsysbinary: pytest.CaptureFixture[bytes]) -> None:
    story = STORIES[name]
    for era in story.eras:
        for way in story.ways:
            assert main(["run", name, "--era", era, "--transport", way, "--format", "jsonl"]) == 0
            recording = Recording.from_jsonl(capsysbinary.readouterr().out)
            assert recording.header["transport"] == way
            assert set(recording.header["era"].values()) == {era}
            again = story.play(era=era, transport=TRANSPORTS[way]())
            assert recording.sha256() == again.recording.sha256()


def test_without_a_transport_a_story_is_played_over_its_first(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", "stream-is-lost"]) == 0
    assert "POST tools/call" in capsys.readouterr().out


def test_a_story_is_not_played_over_a_transport_that_it_is_not_about(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["run", "stream-is-lost", "--transport", "stdio"]) == 2
    assert "stream-is-lost is played over http, not over stdio." in capsys.readouterr().err


def test_a_server_that_crashes_is_a_fault_too(capfd: pytest.CaptureFixture[str]) -> None:
    assert main(["run", "first-call", "--fault", "crash:tools/call"]) == 1
    assert "The story ended in ConnectionClosed" in capfd.readouterr().err


@pytest.mark.parametrize(
    ("format", "begins", "holds"),
    [
        ("transcript", "", "tools/call #2"),
        ("jsonl", '{"format":"mcpsim-recording"', "tools/call"),
        ("mermaid", "sequenceDiagram\n", "tools/call #35;2"),
        ("markdown", "# ", "`tools/call #2`"),
        ("svg", "<svg ", "tools/call"),
        ("html", "<!doctype html>", "tools/call"),
        ("audit", "No ", "messages"),
    ],
)
def test_run_saves_in_each_format(tmp_path: Path, format: str, begins: str, holds: str) -> None:
    file = tmp_path / "run"
    assert main(["run", "first-call", "--format", format, "--save", str(file)]) == 0
    text = file.read_text(encoding="utf-8")
    assert text.startswith(begins)
    assert holds in text


LINK = "mcpsim:three-pages?page_size=2&fault=delay&message=2%20resources/list#3"


def test_run_plays_a_link_text(capfd: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    assert main(["run", LINK]) == 0
    told = capfd.readouterr().out
    assert told == f"{bench(LINK).play().transcript()}\n"
    assert told.count("resources/list #") == 4
    page = tmp_path / "page.html"
    assert main(["run", LINK, "--format", "html", "--save", str(page)]) == 0
    link = json.dumps(LINK.partition("#")[0]).replace("&", "\\u0026")
    assert f'"cursor":3,"link":{link}' in page.read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        ([LINK, "--era", "legacy"], "leave --era out."),
        ([LINK, "--well"], "leave --well out."),
        ([f"{LINK}00"], "The link text says step 300"),
        (["mcpsim:no-such-story#1"], "There is no story 'no-such-story'."),
        (["mcpsim:three-pages?page_size=99"], "Page size is a whole number from 1 to 10"),
    ],
)
def test_a_link_text_that_cannot_be_played(
    arguments: list[str], told: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["run", *arguments]) == 2
    assert told in capsys.readouterr().err


def test_run_takes_faults_and_says_how_the_story_ended(capfd: pytest.CaptureFixture[str]) -> None:
    assert (
        main(["run", "first-call", "--fault", "drop:result of tools/call", "--fault", "delay:tools/list"])
        == 1
    )
    printed = capfd.readouterr()
    assert "The story ended in RequestTimeout" in printed.err
    assert "notifications/cancelled" in printed.out
    assert "1020 ms  server → client  result #1" in printed.out


def test_run_with_another_seed_is_still_reproducible(tmp_path: Path) -> None:
    for name, seed in (("a", "7"), ("b", "7"), ("c", "seven")):
        assert (
            main(
                [
                    "run",
                    "basket-by-handle",
                    "--seed",
                    seed,
                    "--format",
                    "jsonl",
                    "--save",
                    str(tmp_path / name),
                ]
            )
            == 0
        )
    a, b, c = ((tmp_path / name).read_bytes() for name in "abc")
    assert a == b != c
    assert Recording.from_jsonl(a).header["seed"] == 7


def test_a_fault_that_changes_nothing_is_named(capfd: pytest.CaptureFixture[str]) -> None:
    assert main(["run", "first-call", "--fault", "drop:tools/cal", "--fault", "delay:tools/list:9"]) == 0
    err = capfd.readouterr().err
    assert "The fault drop:tools/cal changed nothing." in err
    assert "The fault delay:tools/list:9 changed nothing." in err


def test_a_story_that_is_not_there(capsys: pytest.CaptureFixture[str]) -> None:
    for word, said in (("frist-call", "perhaps first-call"), ("q", "`mcpsim stories` lists them")):
        with pytest.raises(SystemExit):
            main(["run", word])
        err = capsys.readouterr().err
        assert f"there is no story {word!r}" in err
        assert said in err


@pytest.mark.parametrize(
    "fault", ["drop", "drop:", "lose:tools/call", "drop:tools/call:0", "drop:tools/call:x"]
)
def test_a_fault_without_a_meaning_is_refused(fault: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["run", "first-call", "--fault", fault])
    assert "is not KIND:MESSAGE[:NTH]" in capsys.readouterr().err


def test_a_story_is_not_played_in_an_era_that_it_is_not_about(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", "ping-both-ways", "--era", "modern"]) == 2
    assert "ping-both-ways is played as legacy, not as modern." in capsys.readouterr().err


def test_a_run_that_cannot_be_written_is_an_error(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", "first-call", "--save", str(tmp_path / "no" / "run")]) == 2
    assert "cannot be written" in capsys.readouterr().err


OWN_SERVER = """
from mcpsim import Server

print("made")
mine = Server("mine", version="1")
"""
DISCOVER = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "server/discover",
    "params": {
        "_meta": {
            "io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientCapabilities": {},
        }
    },
}


def answer_of(command: list[str], cwd: Path, message: object) -> dict[str, Any]:
    """Send one message to `mcpsim serve`, end its input, and read the one line of its output."""
    done = subprocess.run(
        command,
        cwd=cwd,
        input=json.dumps(message) + "\n",
        capture_output=True,
        encoding="utf-8",
        timeout=60,
    )
    assert done.returncode == 0, done.stderr
    (line,) = done.stdout.splitlines()
    return json.loads(line)


@pytest.fixture
def stdin() -> Iterator[Callable[[bytes], None]]:
    """Put something into this process's stdin, which ends after it."""
    kept = os.dup(0)

    def put(text: bytes) -> None:
        reading, writing = os.pipe()
        os.dup2(reading, 0)
        os.close(reading)
        os.write(writing, text)
        os.close(writing)

    yield put
    os.dup2(kept, 0)
    os.close(kept)


# In this process: the tests below serve in processes of their own.
@pytest.mark.parametrize("name", SERVERS)
def test_serve_offers_each_built_in_server(
    name: str, stdin: Callable[[bytes], None], capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    stdin(json.dumps(DISCOVER).encode() + b"\n")
    assert main(["serve", name, "--stdio", "--era", "both"]) == 0
    answer = json.loads(capfdbinary.readouterr().out)
    assert answer["result"]["_meta"]["io.modelcontextprotocol/serverInfo"]["name"] == name


def test_serve_keeps_stdout_for_the_protocol(tmp_path: Path) -> None:
    (tmp_path / "own.py").write_text(OWN_SERVER)
    words = [sys.executable, "-m", "mcpsim", "serve", "own:mine", "--stdio"]
    answer = answer_of(words, tmp_path, DISCOVER)
    assert answer["id"] == 1
    assert answer["result"]["_meta"]["io.modelcontextprotocol/serverInfo"]["name"] == "mine"


def test_serve_offers_the_era_that_is_asked_for(tmp_path: Path, warm: Warm) -> None:
    words = [sys.executable, "-m", "mcpsim", "serve", "help-desk", "--stdio", "--era", "legacy"]
    answer = answer_of(warm(words), tmp_path, DISCOVER)
    assert "error" in answer


@pytest.mark.parametrize(
    ("name", "sentence"),
    [
        ("nobody", "no built-in server 'nobody', but archive"),
        ("no_such_module:mine", "There is no module no_such_module."),
        ("mcpsim.course:nothing", "has nothing named nothing"),
    ],
)
def test_a_server_that_does_not_exist_is_an_error(
    name: str, sentence: str, run, tmp_path: Path, warm: Warm
) -> None:
    done = run(*warm([sys.executable, "-m", "mcpsim", "serve", name, "--stdio"]), cwd=tmp_path)
    assert done.returncode == 2
    assert sentence in done.stdout


def test_serve_on_http_says_where_and_ends_by_the_rules() -> None:
    words = [sys.executable, "-m", "mcpsim", "serve", "help-desk", "--http", "0", "--era", "both"]
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, encoding="utf-8") as process:
        assert process.stderr is not None
        line = process.stderr.readline()
        found = re.fullmatch(r"Serving at (http://127\.0\.0\.1:[0-9]+/mcp) until Ctrl-C\.\n", line)
        try:
            assert found is not None, line
            run = record(lambda client: client.discover(), url=found[1])
            assert run.value.meta["io.modelcontextprotocol/serverInfo"]["name"] == "help-desk"
        finally:
            process.send_signal(signal.SIGINT)
        assert process.wait(timeout=30) == 0
        assert process.stderr.read() == ""


def test_serve_on_stdio_has_no_host(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["serve", "help-desk", "--stdio", "--host", "127.0.0.1"]) == 2
    assert "--host is for --http" in capsys.readouterr().err


def test_serve_on_an_address_that_is_not_ours_is_an_error(capsys: pytest.CaptureFixture[str]) -> None:
    # An address for documentation, which no machine has.
    assert main(["serve", "help-desk", "--http", "0", "--host", "192.0.2.1"]) == 2
    assert "Nobody can listen on 192.0.2.1, port 0: " in capsys.readouterr().err


def test_misbehaving_lists_each_peer_under_its_party_and_topic(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["misbehaving"]) == 0
    listed: dict[str, str] = {}
    heading = ""
    for line in capsys.readouterr().out.splitlines():
        heading = line if line.startswith("# ") else heading
        if line is not heading:
            listed[line.split()[0]] = heading
            one = MISBEHAVING[line.split()[0]]
            level = next(rule.level for rule in RULES if rule.id == one.rule)
            assert line.endswith(f"  {one.sentence} ({one.rule}, {level})")
    assert listed == {one.name: f"# {one.party}: {topic}" for topic, some in TOPICS.items() for one in some}


def test_misbehaving_lists_those_of_one_party(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["misbehaving", "--party", "gateway"]) == 0
    lines = [line for line in capsys.readouterr().out.splitlines() if not line.startswith("# ")]
    assert [line.split()[0] for line in lines] == [
        one.name for one in MISBEHAVING.values() if one.party == "gateway"
    ]


def test_run_plays_a_peer_that_misbehaves_and_its_twin(capsysbinary: pytest.CaptureFixture[bytes]) -> None:
    one = MISBEHAVING["server-answers-twice"]
    for more, run in (([], one.play()), (["--well"], one.play_well())):
        assert main(["run", one.name, "--format", "jsonl", *more]) == 0
        assert capsysbinary.readouterr().out == run.recording.to_jsonl()


def test_run_prints_what_the_audit_says(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", "server-answers-twice", "--format", "audit"]) == 0
    assert "request-is-answered-once (server)" in capsys.readouterr().out
    assert main(["run", "server-answers-twice", "--format", "audit", "--well"]) == 0
    assert capsys.readouterr().out.startswith("No findings")


def test_a_peer_that_gives_up_because_the_other_one_misbehaves_is_no_failure(
    capfd: pytest.CaptureFixture[str],
) -> None:
    assert main(["run", "server-indents-its-json"]) == 0
    assert "The story ended in RequestTimeout" in capfd.readouterr().err


@pytest.mark.parametrize(
    "options", [["--era", "legacy"], ["--transport", "http"], ["--seed", "0"], ["--fault", "drop:tools/call"]]
)
def test_a_peer_that_misbehaves_is_played_as_it_is(
    options: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["run", "server-answers-twice", *options]) == 2
    assert f"is played as it is: leave {options[0]} out." in capsys.readouterr().err


def test_a_story_has_no_twin(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", "first-call", "--well"]) == 2
    assert "first-call is a story; --well is for" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("name", "start"),
    [
        ("run.jsonl", b'{"'),
        ("run.SVG", b"<svg"),
        ("run.html", b"<!doctype html>"),
        ("run.txt", b"  0 ms  "),
    ],
)
def test_the_name_of_the_saved_file_says_its_format(name: str, start: bytes, tmp_path: Path) -> None:
    assert main(["run", "three-pages", "--save", str(tmp_path / name)]) == 0
    assert (tmp_path / name).read_bytes()[: len(start)] == start
