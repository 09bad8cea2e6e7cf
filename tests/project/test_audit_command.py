"""`mcpsim audit`: what it reads, what it prints, and how it exits."""

from __future__ import annotations

import io
import json
import sys
from pathlib import Path
from typing import Any

import pytest

from mcpsim.cli import main
from mcpsim.recording.readers import FORMATS

SAMPLES = Path(__file__).parent.parent / "recording" / "samples"
FILES = sorted(path for path in SAMPLES.iterdir() if path.suffix not in (".py", ""))
GOOD = SAMPLES / "json-rpc-arrows.log"


@pytest.fixture
def broken(tmp_path: Path) -> Path:
    path = tmp_path / "broken.log"
    path.write_bytes(GOOD.read_bytes().replace(b'"progress":1', b'"progress":"one"'))
    return path


def plain(capsys: pytest.CaptureFixture[str]) -> Any:
    return json.loads(capsys.readouterr().out)


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_every_format_can_be_audited(path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["audit", str(path)]) == 0
    said = capsys.readouterr()
    assert said.out.startswith(("No findings in ", "No broken rule (MUST), "))
    assert said.err == ""


def test_a_broken_rule_is_named_with_its_place_and_exits_with_1(
    broken: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["audit", str(broken)]) == 1
    said = capsys.readouterr().out
    assert said.startswith("1 broken rule (MUST)")
    assert "row 10 (line 11): " in said
    assert "https://modelcontextprotocol.io/specification/" in said


def test_one_file_as_json(broken: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["audit", "--format", "json", str(broken)]) == 1
    found = plain(capsys)
    assert set(found) == {"findings", "annotations", "skipped", "incomplete", "notes"}
    assert {"rule", "level", "party", "index", "spec", "message"} <= set(found["findings"][0])
    assert [one["index"] for one in found["findings"] if one["level"] == "MUST"] == [10]
    assert len(found["annotations"]) == 14


def test_several_files_as_json(broken: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["audit", "--format", "json", str(GOOD), str(broken)]) == 1
    found = plain(capsys)
    assert [one["file"] for one in found] == [str(GOOD), str(broken)]
    assert [len([two for two in one["findings"] if two["level"] == "MUST"]) for one in found] == [0, 1]


def test_several_files_as_text(broken: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["audit", str(GOOD), str(broken)]) == 1
    first, second = capsys.readouterr().out.split(f"{broken}\n")
    assert first.startswith(f"{GOOD}\nNo findings")
    assert second.startswith("1 broken rule")


@pytest.mark.parametrize(
    ("content", "why"),
    [
        (None, "cannot be read: No such file or directory."),
        (b"", "is empty."),
        (b"Dear diary\n", "is of no format that is known here."),
        (b'{"log": {"entries": []}}', "has not one row that can be read."),
        (b'{"from": "nobody", "message": {}}\n', "has not one row that can be read."),
    ],
)
def test_a_file_that_cannot_be_read_exits_with_2_and_the_others_are_reported(
    content: bytes | None, why: str, broken: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "bad.txt"
    if content is not None:
        path.write_bytes(content)
    assert main(["audit", str(path), str(broken)]) == 2
    said = capsys.readouterr()
    assert said.err.startswith(f"mcpsim audit: bad.txt {why}")
    assert "1 broken rule (MUST)" in said.out
    assert main(["audit", "--format", "json", str(path), str(broken)]) == 2
    bad, other = plain(capsys)
    assert why in bad["error"]
    assert bad["findings"] == []
    assert other["findings"]
    assert "error" not in other


def test_a_folder_is_no_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["audit", str(tmp_path)]) == 2
    assert "cannot be read: Is a directory." in capsys.readouterr().err


def test_standard_input(
    broken: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    class Input:
        buffer = io.BytesIO(broken.read_bytes())

    monkeypatch.setattr(sys, "stdin", Input)
    assert main(["audit", "-"]) == 1
    assert "row 10 (line 11)" in capsys.readouterr().out


def test_rows_keep_their_numbers_where_lines_before_them_are_skipped(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "trace.jsonl"
    data = (SAMPLES / "interchange.jsonl").read_bytes()
    path.write_bytes(data.replace(b'"progress":1', b'"progress":"one"'))
    assert main(["audit", "--format", "json", str(path)]) == 1
    found = plain(capsys)
    assert [one["index"] for one in found["findings"] if one["level"] == "MUST"] == [12]
    assert [one["where"] for one in found["skipped"]] == ["line 5", "line 6"]
    assert main(["audit", str(path)]) == 1
    assert "row 12 (line 14): " in capsys.readouterr().out


def test_the_format_of_the_input_can_be_said(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["audit", "--input-format", "json-rpc", str(SAMPLES / "vscode.log")]) == 0
    assert "No findings in 14 messages." in capsys.readouterr().out
    with pytest.raises(SystemExit) as raised:
        main(["audit", "--input-format", "tape", str(GOOD)])
    assert raised.value.code == 2


def test_its_help_names_the_formats(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["audit", "--help"])
    said = capsys.readouterr().out
    assert all(name in said for name in FORMATS)


@pytest.mark.parametrize(
    ("stream", "words", "why"),
    [
        ("stdin", ["-"], "Standard input cannot be read: it is closed."),
        ("stdout", [str(GOOD)], "The report cannot be written: standard output is closed."),
    ],
)
def test_a_stream_that_is_closed(
    stream: str,
    words: list[str],
    why: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr(sys, stream, None)
    assert main(["audit", *words]) == 2
    assert capsys.readouterr().err == f"mcpsim audit: {why}\n"


def test_what_is_wrong_never_goes_into_the_report(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "stderr", None)
    assert main(["audit", "--format", "json", "no-such-file"]) == 2
    assert plain(capsys)["error"].startswith("no-such-file cannot be read")


def test_no_name_of_a_file_garbles_the_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["audit", "no\x1b[31m\u202e\udcff"]) == 2
    assert capsys.readouterr().err.startswith("mcpsim audit: no\\u001b[31m\\u202e\\udcff cannot be read")


def test_an_interruption(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    class Input:
        class buffer:  # noqa: N801
            @staticmethod
            def read(size: int) -> bytes:
                raise KeyboardInterrupt

    monkeypatch.setattr(sys, "stdin", Input)
    assert main(["audit", "-"]) == 2
    assert capsys.readouterr().err == "mcpsim audit: interrupted.\n"


HOSTILE = "\x1b[31m\u202e\u2028\ud800\x9b<script>alert(1)</script>"


def hostile(text: str) -> bytes:
    messages: list[dict[str, Any]] = [
        {"jsonrpc": "2.0", "id": text, "method": text, "params": {"_meta": {text: text}}},
        {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": text, "cursor": text}},
        {"jsonrpc": "2.0", "id": text, "method": "resources/read", "params": {"uri": text}},
    ]
    rows: list[dict[str, Any]] = [{"from": "client", "message": message} for message in messages]
    rows += [
        {"from": "server", "message": {"jsonrpc": "2.0", "id": text, "error": {"code": 1, "message": text}}}
    ]
    rows += [{"from": "server", "raw": text}, {"from": "client", "event": text}, {text: text}]
    return "\n".join(json.dumps(row) for row in rows).encode()


@pytest.mark.parametrize("form", ["text", "json"])
def test_what_stands_in_a_trace_is_harmless(
    form: str, tmp_path: Path, capsysbinary: pytest.CaptureFixture[bytes]
) -> None:
    path = tmp_path / "hostile.jsonl"
    path.write_bytes(hostile(HOSTILE))
    assert main(["audit", "--format", form, str(path)]) == 1
    said = capsysbinary.readouterr().out.decode("utf-8")
    assert not [one for one in HOSTILE if not one.isprintable() and one in said]
    if form == "json":
        json.loads(said, parse_constant=pytest.fail)
