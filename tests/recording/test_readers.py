"""Traces of other tools: what a reader takes, what it leaves out, and that no file breaks it."""

from __future__ import annotations

import base64
import json
import runpy
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from mcpsim import Recording
from mcpsim.audit import audit
from mcpsim.cli.audit import report_on
from mcpsim.errors import RecordingError
from mcpsim.recording import lines
from mcpsim.recording.importing import from_interchange
from mcpsim.recording.readers import FORMATS, ReadTrace, read_trace
from mcpsim.recording.readers.directions import Directions
from mcpsim.recording.readers.python_values import NotPython, read_repr
from mcpsim.recording.readers.times import Clock, stamp_ms

SAMPLES = Path(__file__).parent / "samples"
FILES = {
    "saved.jsonl": "recording",
    "interchange.jsonl": "interchange",
    "json-rpc.jsonl": "json-rpc",
    "json-rpc-arrows.log": "json-rpc",
    "json-rpc-several-lines.json": "json-rpc",
    "claude-desktop.log": "claude-desktop",
    "vscode.log": "vscode",
    "python-sdk-client.log": "python-sdk",
    "python-sdk-server-1.log": "python-sdk",
    "inspector-protocol.json": "inspector",
    "inspector-network.json": "inspector",
    "browser.har": "har",
}
# The samples that tell one conversation over stdio, all the same one.
TALKS = [name for name in FILES if name not in ("inspector-network.json", "browser.har")]


def sample(name: str) -> bytes:
    return (SAMPLES / name).read_bytes()


def talk(trace: ReadTrace, connection: str = "bakery") -> list[tuple[str, Any]]:
    return [
        (row["from"], row["message"])
        for row, _ in trace.rows
        if "message" in row and row.get("connection", connection) == connection
    ]


def read(text: str | bytes, **options: Any) -> ReadTrace:
    return read_trace(text.encode() if isinstance(text, str) else text, **options)


def sides(trace: ReadTrace) -> list[str]:
    return [row["from"] for row, _ in trace.rows]


def line(**members: Any) -> str:
    return json.dumps({"jsonrpc": "2.0", **members}) + "\n"


# Every format.


def test_every_format_has_a_sample_and_every_sample_is_tested() -> None:
    assert set(FILES.values()) == set(FORMATS)
    assert set(FILES) == {
        path.name for path in SAMPLES.iterdir() if path.suffix in (".jsonl", ".json", ".log", ".har")
    }


@pytest.mark.parametrize("name", FILES)
def test_a_sample_is_what_its_maker_makes(name: str) -> None:
    made = runpy.run_path(str(SAMPLES / "make.py"))["SAMPLES"]
    assert sample(name).decode() == made[name]()
    assert set(made) == set(FILES)


@pytest.mark.parametrize("name", FILES)
def test_a_format_is_told_by_its_content(name: str) -> None:
    assert read_trace(sample(name)).format == FILES[name]
    assert read_trace(sample(name), name="misleading.har").format == FILES[name]
    assert read_trace(sample(name).replace(b"\n", b"\r\n")).format == FILES[name]
    assert read_trace(b"\xef\xbb\xbf" + sample(name)).format == FILES[name]


@pytest.mark.parametrize("name", TALKS)
def test_all_samples_tell_the_same_conversation(name: str) -> None:
    wanted = talk(read_trace(sample("interchange.jsonl")))
    assert len(wanted) == 14
    found = talk(read_trace(sample(name)))
    if name == "saved.jsonl":
        # A line is lost; the message that it would have begun is lost with it, and nothing else.
        assert [one for one in wanted if one in found] == found
        assert len(found) >= 13
    elif name in ("json-rpc.jsonl", "json-rpc-several-lines.json"):
        # Nothing says who sent the ping; it is right, and counted as a guess.
        assert found == wanted
    else:
        assert found == wanted


@pytest.mark.parametrize("name", FILES)
def test_a_conformant_conversation_has_no_findings_in_any_format(name: str) -> None:
    assert [one for one in report_on(read_trace(sample(name))).findings if one.level != "note"] == []


@pytest.mark.parametrize("name", FILES)
def test_every_row_is_of_the_interchange_form(name: str) -> None:
    trace = read_trace(sample(name))
    found = from_interchange(enumerate((row for row, _ in trace.rows), start=1))
    assert not [one for one in found if one.kind == "note" and "left out" in str(one.detail)]
    for row, _ in trace.rows:
        assert lines.read_line(lines.write_line(row, "row"), 1) == row


@pytest.mark.parametrize("name", FILES)
def test_the_player_can_load_it(name: str, tmp_path: Path) -> None:
    path = tmp_path / name
    data = sample(name)
    if name == "saved.jsonl":
        data = b"".join(one for one in data.splitlines(keepends=True) if b'"at_us": -1' not in one)
    path.write_bytes(data)
    recording = Recording.load(path)
    assert recording.frames
    assert recording.transcript()
    assert Recording.from_jsonl(recording.to_jsonl()) == recording
    trace = read_trace(data)
    if trace.format != "recording":
        assert recording.header.get("notes", []) == list(trace.notes)
        assert [tuple(one.values()) for one in recording.header.get("skipped", [])] == list(trace.skipped)


@pytest.mark.parametrize("name", FILES)
def test_utf16_is_read_as_well(name: str) -> None:
    wanted = read_trace(sample(name))
    found = read_trace(sample(name).decode("utf-8").encode("utf-16"))
    assert (found.rows, found.skipped, found.notes) == (wanted.rows, wanted.skipped, wanted.notes)


# What is left out.


def test_what_is_skipped_is_said_with_place_and_reason() -> None:
    skipped = {name: read_trace(sample(name)).skipped for name in FILES}
    assert [(name, one.where) for name, several in skipped.items() for one in several] == [
        ("saved.jsonl", "line 5"),
        ("interchange.jsonl", "line 5"),
        ("interchange.jsonl", "line 6"),
        ("json-rpc.jsonl", "line 3"),
        ("json-rpc.jsonl", "line 4"),
        ("claude-desktop.log", "line 20"),
        ("inspector-protocol.json", "entry 10"),
        ("browser.har", "entry 7"),
    ]
    assert skipped["interchange.jsonl"][0].why == 'Line 5: `from` must be "client" or "server", not "nobody".'
    assert skipped["json-rpc.jsonl"][0].why == 'There is no JSON-RPC message in "Bakery is open".'
    assert skipped["json-rpc.jsonl"][1].why.startswith("It is not JSON: Unterminated string")


def test_rows_of_the_interchange_form_keep_their_numbers() -> None:
    trace = read_trace(sample("interchange.jsonl"))
    # Line 4 is blank, and has no number; lines 5 and 6 cannot be read, and have.
    assert trace.indices == (0, 1, 2, *range(5, 16))
    assert [where for _, where in trace.rows[:4]] == ["line 1", "line 2", "line 3", "line 7"]
    broken = sample("interchange.jsonl").replace(b'"progress":1', b'"progress":"one"')
    assert [one.index for one in report_on(read_trace(broken)).broken] == [12]


def test_a_file_of_no_known_format_says_what_is_wrong_with_it() -> None:
    with pytest.raises(
        RecordingError, match=r"^notes\.txt is of no format that is known here\. Line 1 is not JSON"
    ):
        read("Dear diary\n", name="notes.txt")
    with pytest.raises(RecordingError, match='Line 1: `from` must be "client" or "server", not null'):
        read('{"a": 1}\n')
    with pytest.raises(RecordingError, match=r"^x is empty\.$"):
        read(" \n\n", name="x")
    with pytest.raises(RecordingError, match="There is no format 'tape'; known are recording, har,"):
        read("{}", format="tape")
    with pytest.raises(RecordingError, match="begins as UTF-16, and is none"):
        read(b"\xff\xfe\x00")


def test_the_bounds_hold(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lines, "MAX_LINES", 3)
    with pytest.raises(RecordingError, match="gives more than 3 rows"):
        read(sample("inspector-network.json").replace(b"\n", b" "))
    with pytest.raises(RecordingError, match="has 14 lines; the limit is 3"):
        read(sample("json-rpc-arrows.log").rstrip())
    monkeypatch.setattr(lines, "MAX_FILE_BYTES", 10)
    with pytest.raises(RecordingError, match="The trace has 11 bytes; the limit is 10"):
        read(b"{}" + b" " * 9)


def test_depth_is_bounded() -> None:
    deep = '{"jsonrpc":"2.0","method":"x","params":' + '{"a":' * 300 + "1" + "}" * 301
    trace = read(line(method="a") + deep)
    assert len(trace.rows) == 1
    assert trace.skipped[0].why == "It is nested deeper than 200 objects and arrays."


def test_load_says_when_nothing_could_be_read(tmp_path: Path) -> None:
    path = tmp_path / "empty.har"
    path.write_text('{"log": {"entries": []}}')
    with pytest.raises(
        RecordingError, match=r"^empty\.har has not one row that can be read\. There is no message"
    ):
        Recording.load(path)


# Who sent what.


def test_requests_and_answers_are_told_apart() -> None:
    trace = read(
        line(id=1, method="tools/list")
        + line(id=1, method="sampling/createMessage")
        + line(id=1, result={"role": "assistant", "model": "m"})
        + line(id=1, result={"tools": []})
    )
    assert sides(trace) == ["client", "server", "client", "server"]
    assert len(trace.notes) == 1
    assert "guess" not in trace.notes[0]


def test_a_ping_with_an_id_that_the_client_uses_is_the_servers() -> None:
    trace = read(line(id=7, method="tools/call") + line(id=7, method="ping") + line(id=7, result={}))
    assert sides(trace)[:2] == ["client", "server"]
    trace = read(line(id=7, method="tools/call") + line(id=8, method="ping"))
    assert sides(trace) == ["client", "client"]
    assert "guess" not in trace.notes[0]


def test_what_cannot_be_told_is_counted() -> None:
    trace = read(
        line(id=1, method="ping") + line(id=2, method="company/secret") + line(method="company/told")
    )
    assert sides(trace) == ["client"] * 3
    assert "For 2 of them they could not" in trace.notes[0]


def test_progress_and_cancellation_follow_the_request() -> None:
    asked = {"params": {"_meta": {"progressToken": "t"}}}
    of_server = line(id="a", method="roots/list", **asked) + line(
        method="notifications/progress", params={"progressToken": "t", "progress": 1}
    )
    assert sides(read(of_server + line(method="notifications/cancelled", params={"requestId": "a"}))) == [
        "server",
        "client",
        "server",
    ]
    of_client = of_server.replace("roots/list", "tools/list")
    assert sides(read(of_client + line(method="notifications/cancelled", params={"requestId": "a"}))) == [
        "client",
        "server",
        "client",
    ]


def test_a_batch_has_one_direction() -> None:
    batch = json.dumps([json.loads(line(id=1, method="ping")), json.loads(line(id=2, method="tools/list"))])
    answer = json.dumps([json.loads(line(id=2, result={"tools": []}))])
    assert sides(read(line(method="notifications/initialized") + batch + "\n" + answer)) == [
        "client",
        "client",
        "server",
    ]


@pytest.mark.parametrize(
    ("of_client", "of_server"),
    [
        ("-> ", "<- "),
        ("<- ", "-> "),
        (">>> ", "<<< "),
        ("→", "←"),
        ("send: ", "recv: "),
        ("[2025-01-01 10:00:00] RECEIVED ", "[2025-01-01 10:00:01] SENT "),
        ("client: ", "server: "),
        ("from client ", "from server "),
        ("C->S ", "S->C "),
        ("10:00 stdin ", "10:00 stdout "),
        ("client --> server ", "server --> client "),
    ],
)
def test_signs_before_messages_say_who_sent_them(of_client: str, of_server: str) -> None:
    trace = read(
        of_client
        + line(id=1, method="initialize")
        + of_server
        + line(id=1, result={"serverInfo": {}})
        # Only the sign can tell these.
        + of_server
        + line(id=2, method="ping")
        + of_client
        + line(id=9, method="ping")
    )
    assert sides(trace) == ["client", "server", "server", "client"]
    assert not any("inferred" in note for note in trace.notes)


def test_a_sign_that_stands_before_both_sides_is_no_direction() -> None:
    trace = read(
        "".join(
            f"INFO in handler: {one}"
            for one in (
                line(id=1, method="tools/list"),
                line(id=1, method="roots/list"),
                line(id=1, result={"roots": []}),
            )
        )
    )
    assert sides(trace) == ["client", "server", "client"]
    assert any("does not tell who sent them" in note for note in trace.notes)


def test_what_another_parser_would_take_stays_as_text() -> None:
    twice = '{"jsonrpc":"2.0","id":1,"method":"tools/list","method":"roots/list"}'
    trace = read(line(id=2, method="tools/list") + twice)
    assert trace.rows[1] == ({"from": "server", "raw": twice}, "line 2")


def test_directions_cost_the_same_for_each_message() -> None:
    def rate(count: int) -> float:
        directions = Directions()
        began = time.process_time()
        for id in range(count):
            directions.tell({"jsonrpc": "2.0", "id": id, "method": "tools/list"})
        return (time.process_time() - began) / count

    rate(1000)
    assert rate(40_000) < 5 * rate(4_000)


# HTTP.


def har_of(*entries: dict[str, Any]) -> str:
    return json.dumps({"log": {"version": "1.2", "entries": list(entries)}})


def har_entry(
    body: Any = None,
    answer: str | None = None,
    *,
    kind: str = "application/json",
    at: int = 0,
    headers: dict[str, str] | None = None,
    url: str = "https://a.example/mcp",
    **request: Any,
) -> dict[str, Any]:
    sent = json.dumps(body if body is not None else json.loads(line(id=1, method="tools/list")))
    return {
        "startedDateTime": f"2025-12-01T08:00:{at:02d}.000Z",
        "time": 10,
        "timings": {"wait": 4, "receive": 6},
        "request": {
            "method": "POST",
            "url": url,
            "headers": [{"name": name, "value": value} for name, value in (headers or {}).items()],
            "postData": {"text": sent},
            **request,
        },
        "response": {
            "status": 200,
            "headers": [{"name": "Content-Type", "value": kind}],
            "content": {} if answer is None else {"text": answer, "size": len(answer)},
        },
    }


def test_rows_of_a_har_file_stand_in_the_order_of_their_times() -> None:
    trace = read_trace(sample("browser.har"))
    assert [(row["from"], where, row.get("t_ms")) for row, where in trace.rows] == [
        ("client", "entry 4", 0),
        ("server", "entry 4", 40),
        ("client", "entry 3", 1000),
        ("server", "entry 3", 1026),
        ("server", "entry 3", None),
        ("server", "entry 3", 1040),
        ("client", "entry 5", 2000),
        ("client", "entry 5", 2040),
    ]
    assert trace.rows[3][0]["raw"] == ": still here\r\n\r\n"
    assert trace.rows[-1][0]["event"] == "client_aborted"
    assert {row["exchange"] for row, where in trace.rows if where == "entry 3"} == {"x3"}
    assert trace.notes[0] == "3 entries of the file are not MCP: left out."


def test_secrets_become_labels_and_stand_nowhere() -> None:
    trace = read_trace(sample("browser.har"))
    said = [
        row["headers"].get("Authorization")
        for row, _ in trace.rows
        if row["from"] == "client" and "headers" in row
    ]
    assert said == ["principal-1", "principal-1", "principal-2"]
    assert not any(word in repr(trace) for word in ("s3cret", "letmein", "Bearer"))


def test_every_header_with_a_secret_is_hidden() -> None:
    names = ("authorization", "Proxy-Authorization", "Cookie", "X-API-Key")
    entry = har_entry(headers=dict.fromkeys(names, "hush"))
    entry["response"]["headers"] += [{"name": "Set-Cookie", "value": f"hush{number}"} for number in (1, 2)]
    entry["response"]["content"] = {"text": "{}"}
    trace = read(har_of(entry))
    assert "hush" not in repr(trace)
    assert trace.rows[1][0]["headers"]["Set-Cookie"] == ["cookie-2", "cookie-3"]


def test_two_servers_are_two_connections_and_queries_are_not_kept() -> None:
    trace = read(
        har_of(
            har_entry(answer="{}", url="https://one.example/mcp?token=hush"),
            har_entry(answer="{}", url="https://anna:hush@two.example/mcp#x", at=1),
        )
    )
    assert [row["connection"] for row, _ in trace.rows] == ["one.example/mcp"] * 2 + ["two.example/mcp"] * 2


@pytest.mark.parametrize("newline", ["\n", "\r\n", "\r"])
def test_a_stream_is_split_into_its_events(newline: str) -> None:
    progress = line(method="notifications/progress", params={"progressToken": 1, "progress": 1}).strip()
    answer = line(id=1, result={}).strip()
    events = [
        "id: e1",
        "data:",
        "",
        ": alive",
        "",
        "id: e2",
        f"data: {progress}",
        "",
        f"data: {answer}",
        "",
        "",
    ]
    trace = read(har_of(har_entry(answer=newline.join(events), kind="text/event-stream; charset=utf-8")))
    rows = [row for row, _ in trace.rows[1:]]
    assert [row.get("raw") for row in rows] == [
        newline.join(["id: e1", "data:", "", ""]),
        newline.join([": alive", "", ""]),
        None,
        None,
    ]
    assert [row.get("sse_id") for row in rows] == [None, None, "e2", None]
    assert [row["message"] for row in rows[2:]] == [json.loads(progress), json.loads(answer)]


def test_an_answer_is_sorted_to_the_end_of_its_stream_and_what_is_before_it_to_its_beginning() -> None:
    asked = line(id="q", method="elicitation/create").strip()
    answer = line(id=1, result={}).strip()
    stream = har_entry(answer=f"data: {asked}\n\ndata: {answer}\n\n", kind="text/event-stream")
    stream.update(time=5000, timings={"wait": 100})
    reply = har_entry(json.loads(line(id="q", result={"action": "accept"})), "", at=2)
    reply["response"]["status"] = 202
    trace = read(har_of(stream, reply))
    assert [(row["from"], row.get("message", {}).get("id")) for row, _ in trace.rows] == [
        ("client", 1),
        ("server", "q"),
        ("client", "q"),
        ("server", None),
        ("server", 1),
    ]


def test_bodies_that_a_har_file_does_not_have_are_no_empty_bodies() -> None:
    trace = read(har_of(har_entry(None), har_entry(answer="x", at=1) | {"response": {"status": 0}}))
    assert [row["from"] for row, _ in trace.rows] == ["client", "client"]
    assert [one.why for one in trace.skipped] == [
        "The body of the response is not in the file.",
        "The file has no response to this request.",
    ]


def test_an_answer_that_a_tool_did_not_keep_is_no_fault_of_the_server() -> None:
    empty = har_entry(answer="", kind="text/event-stream")
    cut = har_entry(answer='{"jsonrpc":"2.0","id":1,"res', at=1)
    cut["response"]["content"] |= {"size": 5000, "mimeType": "application/json"}
    whole = har_entry(answer='{"jsonrpc":"2.0","id":1,"res', at=2)
    trace = read(har_of(empty, cut, whole))
    assert [one.why for one in trace.skipped] == ["The body of the response is not in the file."] * 2
    # Where the body is whole, that it is broken is what was sent.
    assert trace.rows[-1][0]["raw"] == '{"jsonrpc":"2.0","id":1,"res'


def test_entries_without_a_time_keep_their_place() -> None:
    entries = [har_entry(json.loads(line(id=id, method="tools/list")), "{}", at=id) for id in (1, 2, 3)]
    del entries[1]["startedDateTime"]
    rows = [row for row, _ in read(har_of(*entries)).rows if row["from"] == "client"]
    assert [row["message"]["id"] for row in rows] == [1, 2, 3]
    assert [row.get("t_ms") for row in rows] == [0, None, 2000]


def test_a_body_in_base64_and_one_that_is_no_text() -> None:
    whole = har_entry(answer=base64.b64encode(b'{"jsonrpc":"2.0","id":1,"result":{}}').decode())
    whole["response"]["content"]["encoding"] = "base64"
    bad = har_entry(answer=base64.b64encode(b"\xff\xfe{").decode(), at=1)
    bad["response"]["content"]["encoding"] = "base64"
    rows = [row for row, _ in read(har_of(whole, bad)).rows]
    assert rows[1]["message"] == {"jsonrpc": "2.0", "id": 1, "result": {}}
    assert base64.b64decode(rows[3]["raw_b64"]) == b"\xff\xfe{"


def test_a_visit_and_a_preflight_are_not_mcp() -> None:
    visit = har_entry(answer="x", method="GET", headers={"Accept": "text/html,*/*"}, at=1)
    preflight = har_entry(answer="", method="OPTIONS", at=2)
    listening = har_entry(
        answer=": hi\n\n",
        method="GET",
        headers={"Accept": "text/event-stream"},
        kind="text/event-stream",
        at=3,
    )
    ended = har_entry(answer="", method="DELETE", headers={"Mcp-Session-Id": "s"}, at=4)
    trace = read(har_of(har_entry(answer="{}"), visit, preflight, listening, ended))
    assert [row.get("http_method", "POST") for row, _ in trace.rows if row["from"] == "client"] == [
        "POST",
        "GET",
        "DELETE",
    ]
    assert trace.notes[0] == "2 entries of the file are not MCP: left out."


def test_the_older_transport_is_left_out_and_said() -> None:
    endpoint = "event: endpoint\ndata: /messages?session_id=hush\n\nevent: message\ndata: {}\n\n"
    stream = har_entry(answer=endpoint, kind="text/event-stream", url="https://old.example/sse")
    stream["request"] |= {"method": "GET", "postData": {}}
    posted = har_entry(
        answer="Accepted", url="https://old.example/messages?session_id=hush", kind="text/plain"
    )
    trace = read(har_of(stream, posted, har_entry(answer="{}", at=1)))
    assert {where for _, where in trace.rows} == {"entry 3"}
    assert any("old.example/sse, old.example/messages were left out." in note for note in trace.notes)


# Logs.


def test_a_long_file_is_told_as_a_short_one_is() -> None:
    for name in TALKS:
        # One JSON value is not longer by being there twice, and a recording has one header.
        if not name.endswith(".json") and name != "saved.jsonl":
            assert read_trace(sample(name) * 30).format == FILES[name]


def test_what_a_server_prints_into_a_log_does_not_hide_whose_log_it_is() -> None:
    trace = read_trace(sample("claude-desktop.log") + sample("json-rpc.jsonl") * 3)
    assert trace.format == "claude-desktop"
    assert len(trace.rows) == 20
    # A message that quotes a log is none.
    quoted = json.dumps({"jsonrpc": "2.0", "method": "a/b", "params": ["x] Message from client: {}"]})
    assert read(quoted + "\n" + line(id=1, method="tools/list")).format == "json-rpc"


def test_a_message_as_one_member_of_a_line() -> None:
    trace = read(
        "".join(
            json.dumps(
                {"timestamp": f"2026-01-01T00:00:0{at}Z", "direction": way, "payload": json.loads(one)}
            )
            + "\n"
            for at, (way, one) in enumerate(
                [("client_to_server", line(id=1, method="ping")), ("server_to_client", line(id=1, result={}))]
            )
        )
    )
    assert trace.format == "json-rpc"
    assert [row for row, _ in trace.rows] == [
        {"from": "client", "t_ms": 0, "message": {"jsonrpc": "2.0", "id": 1, "method": "ping"}},
        {"from": "server", "t_ms": 1000, "message": {"jsonrpc": "2.0", "id": 1, "result": {}}},
    ]


def test_each_start_of_a_server_is_a_connection() -> None:
    trace = read_trace(sample("claude-desktop.log"))
    names = [row["connection"] for row, _ in trace.rows]
    assert dict.fromkeys(names) == dict.fromkeys(["bakery", "garden", "bakery 2"])
    assert len(talk(trace, "bakery 2")) == 3
    assert any("each start of a server is one" in note for note in trace.notes)


def test_one_more_initialize_is_a_start_and_one_after_a_probe_is_none() -> None:
    head = "2026-01-01 10:00:00.000 [debug] [editor -> server] "
    probed = read(head + line(id=1, method="server/discover") + head + line(id=2, method="initialize"))
    assert [row.get("connection") for row, _ in probed.rows] == [None, None]
    again = read(head + line(id=1, method="initialize") + head + line(id=1, method="initialize"))
    assert [row.get("connection") for row, _ in again.rows] == ["server", "server 2"]


def test_earlier_words_of_vs_code_and_its_stderr() -> None:
    trace = read(
        "2025-03-23 16:38:00.970 [info] [Client Says] "
        + line(id=4, method="ping")
        + "2025-03-23 16:38:00.989 [info] [Server Says] "
        + line(id=4, result={})
        + "2025-03-23 16:38:01.000 [warning] [server stderr] over {and} out\n"
    )
    assert trace.format == "vscode"
    assert [(row["from"], row["t_ms"]) for row, _ in trace.rows] == [
        ("client", 0),
        ("server", 19),
        ("server", 30),
    ]
    assert trace.rows[2][0]["channel"] == "stderr"
    assert trace.rows[2][0]["raw"] == "over {and} out"


def test_a_log_that_two_parts_of_the_sdk_wrote_is_read_once() -> None:
    both = sample("python-sdk-client.log") + b"INFO\n" + sample("python-sdk-server-1.log")
    trace = read_trace(
        both + b"DEBUG:mcp.client.sse:Sending client message: jsonrpc='2.0' method='x/y' params=None\n"
    )
    assert len(trace.rows) == 15
    assert any("Only what the client says was read" in note for note in trace.notes)


@pytest.mark.parametrize(
    "value",
    [
        {"a": [1, -2.5, 1e100, None, True, False], 'it\'s "it"': "x\ny\t\\ \x00 ü 漢 \U0001f600 \ud800"},
        [],
        {},
        {"deep": [[[{"a": {"b": []}}]]]},
    ],
)
def test_what_python_prints_is_read_back(value: Any) -> None:
    assert read_repr(repr(value)) == value
    assert read_repr(f"Model(a={value!r}, b=Inner(c={value!r})), rest=1") == {"a": value, "b": {"c": value}}
    assert read_repr(f"a={value!r} b=1") == {"a": value, "b": 1}


@pytest.mark.parametrize(
    "text",
    [
        "",
        "f()()",
        "{1: 2",
        "a",
        "__import__('os')",
        "lambda: 1",
        "[1, 2",
        "{'a': 1)",
        "'\\d'",
        "'",
        "[" * 1000,
        "1 + 1j",
        "{'a' 1}",
    ],
)
def test_what_is_no_plain_value_is_refused(text: str) -> None:
    try:
        found = read_repr(text)
    except NotPython:
        return
    # What comes after the first value is not looked at, and nothing is called.
    assert found in ({}, 1)


def test_times_are_read_with_zones_and_never_run_backwards() -> None:
    assert stamp_ms("x 1970-01-01T00:00:01.5Z y") == 1500
    assert stamp_ms("1970-01-01 01:00:00,250+01:00") == 250
    assert stamp_ms("2025-02-28T23:59:59.999-0030") == stamp_ms("2025-03-01T00:29:59.999Z")
    assert stamp_ms("2024-02-29") is None
    assert stamp_ms("2024-13-01T00:00:00Z") is None
    clock = Clock()
    assert [clock.row(at) for at in (5.0, 7.25, 6.0, None, 8.0)] == [
        {"t_ms": 0},
        {"t_ms": 2.25},
        {},
        {},
        {"t_ms": 3},
    ]


def test_the_inspectors_answers_stand_where_they_came() -> None:
    def entry(at: int, message: str, origin: str | None = "client", **more: Any) -> dict[str, Any]:
        kind = "request" if "id" in json.loads(message) else "notification"
        found = {
            "timestamp": f"2026-01-01T00:00:0{at}.000Z",
            "direction": kind,
            "message": json.loads(message),
            **more,
        }
        return found if origin is None else found | {"origin": origin}

    answer = json.loads(line(id=1, result={}))
    entries = [
        entry(1, line(id=1, method="tools/call"), response=answer, duration=2000),
        entry(3, line(method="notifications/message"), "server"),
        entry(3, line(method="notifications/initialized")),
    ]
    # In the same millisecond: what the server sent before its answer, the answer, what the client sent then.
    assert [row["message"].get("method") for row, _ in read(json.dumps(entries)).rows] == [
        "tools/call",
        "notifications/message",
        None,
        "notifications/initialized",
    ]
    older = [{name: value for name, value in one.items() if name != "origin"} for one in entries]
    trace = read(json.dumps(older))
    assert sides(trace) == ["client", "server", "server", "client"]
    assert trace.notes[0].startswith("Directions were inferred: 4 entries say not who sent")


# Any bytes.

MARKS = [b"{", b"}", b"[", b'"', b"\n", b"\\", b"\0", b"null", b"1e999", b"NaN"]
READABLE = st.sampled_from([sample(name) for name in FILES])


@st.composite
def mutated(draw: st.DrawFn) -> bytes:
    data = bytearray(draw(READABLE))
    for _ in range(draw(st.integers(1, 6))):
        at = draw(st.integers(0, len(data)))
        how = draw(st.integers(0, 3))
        if how == 0:
            data[at : at + draw(st.integers(1, 400))] = b""
        elif how == 1:
            data[at:at] = draw(st.binary(max_size=30))
        elif how == 2:
            data[at:at] = draw(
                st.sampled_from([b"{", b"}", b"[", b'"', b"\n", b"\\", b"\0", b"null", b"1e999", b"NaN"])
            )
        else:
            start = draw(st.integers(0, len(data)))
            data[at:at] = data[start : start + draw(st.integers(1, 600))]
    return bytes(data)


def check_any(data: bytes, format: str | None) -> None:
    try:
        trace = read_trace(data, format=format)
    except RecordingError as error:
        text = str(error)
    else:
        check_read(trace)
        return
    assert text


def check_read(trace: ReadTrace) -> None:
    assert len(trace.indices) == len(trace.rows)
    assert list(trace.indices) == sorted(set(trace.indices))
    for event in from_interchange(
        (index + 1, row) for index, (row, _) in zip(trace.indices, trace.rows, strict=True)
    ):
        assert event.at_us >= 0
    for row, where in trace.rows:
        assert where
        lines.write_line(row, "row")
    assert all(one.where and one.why for one in trace.skipped)
    audit(trace)


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(mutated(), st.none() | st.sampled_from(list(FORMATS)))
def test_a_changed_file_is_read_or_refused(data: bytes, format: str | None) -> None:
    check_any(data, format)


@settings(max_examples=150, deadline=None)
@given(st.binary(max_size=300), st.none() | st.sampled_from(list(FORMATS)))
@example(b"\xff\xfe\n\x00", None)
@example(b'{"log":{"entries":[1,{"request":{"method":"POST","url":"","headers":5}}]}}', "har")
def test_any_bytes_are_read_or_refused(data: bytes, format: str | None) -> None:
    check_any(data, format)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=5,
)


def paths(value: Any, at: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    yield at
    if isinstance(value, dict):
        for name, inner in value.items():
            yield from paths(inner, (*at, name))
    elif isinstance(value, list):
        for number, inner in enumerate(value):
            yield from paths(inner, (*at, number))


DOCUMENTS = {
    name: json.loads(sample(name))
    for name in ("browser.har", "inspector-network.json", "inspector-protocol.json")
}
PLACES = [(name, path) for name, document in DOCUMENTS.items() for path in paths(document) if path]


@settings(max_examples=200, deadline=None)
@given(st.sampled_from(PLACES), JSON)
def test_any_member_of_a_document_may_be_of_any_type(place: tuple[str, tuple[Any, ...]], value: Any) -> None:
    name, path = place
    document = json.loads(sample(name))
    holder = document
    for step in path[:-1]:
        holder = holder[step]
    holder[path[-1]] = value
    check_any(json.dumps(document).encode(), None)


@pytest.mark.parametrize("name", FILES)
def test_the_work_is_in_proportion_to_the_size(name: str) -> None:
    data = sample(name)
    if data.startswith((b"[", b'{"log"', b'{\n "log"')):
        document = json.loads(data)
        entries = document if isinstance(document, list) else document["log"]["entries"]

        def grown(times: int) -> bytes:
            several = entries * times
            whole = (
                several if isinstance(document, list) else {"log": {**document["log"], "entries": several}}
            )
            return json.dumps(whole).encode()
    else:

        def grown(times: int) -> bytes:
            return data * times

    def seconds(text: bytes) -> float:
        began = time.process_time()
        read_trace(text)
        return time.process_time() - began

    few, many = grown(20), grown(160)
    # Eight times as much: with quadratic work it would take sixty-four times as long.
    bound_s = 24 * min(seconds(few) for _ in range(3)) + 0.2
    # The best of three, as well: the second is only measured where the first took too long.
    assert any(seconds(many) < bound_s for _ in range(3))


@pytest.mark.parametrize(
    "data",
    [
        b"[" * 300 + b'"' + b'\\"' * 500_000,
        b'{"a":"' + b"\\" * 1_000_000,
        b'{"a":[1,\n' * 20_000,
        b"{\n" * 40_000,
        b"Sending client message: jsonrpc='" + b"\\'" * 500_000,
        b"Received JSON: b'" + b"\\x" * 500_000,
        b"Sending client message: jsonrpc=" + b"[" * 500_000,
        b"2025-01-01T00:00:00.000Z [info] [a] Message from client: {" + b"{ metadata: " * 100_000,
        b"[" * 250_000 + b"] Message from client: {",
        b'{"log":{"entries":[{"request":{"method":"POST","url":"' + b"://@" * 200_000 + b'"}}]}}',
        b"-" * 300 + b">" * 99 + b'{"jsonrpc":"2.0"}\n' * 20_000,
    ],
)
def test_a_hostile_file_takes_no_time(data: bytes) -> None:
    for format in (None, *FORMATS):
        began = time.process_time()
        with suppress(RecordingError):
            read_trace(data, format=format)
        assert time.process_time() - began < 6


@pytest.mark.parametrize(
    ("start", "what"), [(b"\x1f\x8b\x08", "gzip"), (b"PK\x03\x04", "ZIP"), (b"\x89PNG\r\n", "a picture")]
)
def test_what_is_packed_or_no_text_is_named(start: bytes, what: str) -> None:
    with pytest.raises(RecordingError, match=rf"^trace\.gz is .*{what}"):
        read_trace(start + b"\x00" * 20, name="trace.gz")
