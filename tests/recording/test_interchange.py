"""The interchange form: what an observer beside the client would write down, out and in."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable
from decimal import Decimal
from typing import Any

import anyio
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mcpsim import Client, Cut, Drop, Run, Server, Stdio, StreamableHttp, simulate
from mcpsim.errors import MalformedMessage, RecordingError
from mcpsim.recording import Event, Recording
from mcpsim.recording.importing import RowReader, check_row
from mcpsim.recording.interchange import KEYS
from tests.simulation.check_stories import checked_runs, course_runs
from tests.support.checked import faults_of

# As section 6 of the design has them; `KEYS` is what the importer knows.
DESIGNED = {
    *("from", "message", "raw", "raw_b64", "t_ms", "transport", "headers", "status", "http_method"),
    *("exchange", "event", "by", "detail", "connection", "hop", "channel", "sse_id"),
}
EVENTS = {
    *("response_stream_closed", "client_aborted", "exchange_timeout", "stdin_closed", "stdout_closed"),
    "client_state",
}
REQUEST = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}
ANSWER = {"jsonrpc": "2.0", "id": 1, "result": {"tools": []}}


def rows_of(recording: Recording) -> list[dict[str, Any]]:
    return [json.loads(line) for line in recording.to_interchange().splitlines()]


def trace(*rows: dict[str, Any]) -> Recording:
    return Recording.from_interchange(b"".join(json.dumps(row).encode() + b"\n" for row in rows))


def again(recording: Recording) -> Recording:
    return Recording.from_interchange(recording.to_interchange(), title=recording.title)


@pytest.fixture(scope="module")
def runs() -> list[tuple[str, Run]]:
    return [*checked_runs(), *course_runs()]


def test_the_keys_are_those_of_the_design() -> None:
    assert KEYS == DESIGNED


def test_every_run_exports_to_valid_rows_in_order(runs: list[tuple[str, Run]]) -> None:
    for name, run in runs:
        rows = rows_of(run.recording)
        assert rows, name
        for row in rows:
            assert row.keys() <= DESIGNED, name
            assert row["from"] in ("client", "server"), name
            assert row["transport"] == run.recording.header["transport"], name
            bodies = [key for key in ("message", "raw", "raw_b64", "event") if key in row]
            assert len(bodies) <= 1, name
            assert bodies or row["transport"] == "http", name
            assert row.get("event", "client_state") in EVENTS, name
            assert ("exchange" in row) == (row["transport"] == "http"), name
            assert isinstance(row.get("message", {}), dict | list), name
        times = [row["t_ms"] for row in rows]
        assert times == sorted(times), name
        numbers = {frame.connection for frame in run.recording.frames}
        # Where there is one connection only, there is nothing to tell apart.
        named = {f"c{number}" for number in numbers} if len(numbers) > 1 else {None}
        assert {row.get("connection") for row in rows} == named, name
    several = {
        name.partition(" ")[0] for name, run in runs if len({f.connection for f in run.recording.frames}) > 1
    }
    assert "two_clients" in several
    assert len(several) > 1
    assert len(several) < len({name.partition(" ")[0] for name, _ in runs})


def test_every_export_comes_back_the_same(runs: list[tuple[str, Run]]) -> None:
    for name, run in runs:
        once = again(run.recording)
        assert once.to_interchange() == run.recording.to_interchange(), name
        assert Recording.from_jsonl(once.to_jsonl()) == once, name
        shown = [row for row in rows_of(run.recording) if "event" not in row]
        assert len(once.frames) == len(shown), name


def test_an_imported_run_is_judged_as_the_run_itself(runs: list[tuple[str, Run]]) -> None:
    for name, run in runs:
        if not run.recording.header["faults"] and "two_clients" not in name:
            ours = sorted((fault.name, fault.why) for fault in faults_of(run.recording))
            theirs = sorted((fault.name, fault.why) for fault in faults_of(again(run.recording)))
            assert ours == theirs, name


# What the observer sees, and when.


def played(story: Callable[..., Any], transport: Any = None, **more: Any) -> list[dict[str, Any]]:
    server = Server("desk")

    @server.tool(input_schema={"type": "object"})
    async def wait() -> str:
        await anyio.sleep(0.1)
        return "done"

    return rows_of(simulate(story, server=server, transport=transport, check=False, **more).recording)


async def one_call(client: Client) -> None:
    await client.call_tool("wait", timeout_s=1)


def brief(row: dict[str, Any]) -> tuple[Any, ...]:
    message = row.get("message", {})
    what = (
        row.get("event") or message.get("method") or ("result" if "result" in message else row.get("status"))
    )
    return row["from"], row["t_ms"], what


def test_what_a_server_sends_stands_where_it_arrives() -> None:
    assert [brief(row) for row in played(one_call, Stdio(latency_ms=10))] == [
        ("client", 0, "tools/call"),
        ("server", 120, "result"),
        ("client", 120, "stdin_closed"),
        ("server", 130, "stdout_closed"),
    ]


def test_the_end_of_a_stream_is_seen_after_what_was_sent_on_it() -> None:
    async def story(client: Client) -> None:
        async def ask() -> None:
            await client.call_tool("report", on_progress=lambda *_: None)

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(ask)
            tasks.start_soon(ask)

    server = Server("desk")

    @server.tool()
    async def report(context: Any) -> str:
        await context.report_progress(1)
        return "done"

    rows = rows_of(simulate(story, server=server, transport=StreamableHttp(latency_ms=10)).recording)
    assert [(row["exchange"], *brief(row)[1:]) for row in rows] == [
        ("x1", 0, "tools/call"),
        ("x2", 0, "tools/call"),
        ("x1", 20, "notifications/progress"),
        ("x1", 20, "result"),
        ("x1", 20, "response_stream_closed"),
        ("x2", 20, "notifications/progress"),
        ("x2", 20, "result"),
        ("x2", 20, "response_stream_closed"),
    ]
    assert {row["status"] for row in rows if row["from"] == "server" and "message" in row} == {200}


@pytest.mark.parametrize("message", ["tools/call", "result of tools/call"])
def test_what_never_arrives_is_seen_only_where_the_client_sent_it(message: str) -> None:
    rows = played(one_call, Stdio(), faults=[Drop(message)])
    seen = [brief(row)[2] for row in rows]
    assert "tools/call" in seen
    assert "result" not in seen


def test_a_cut_is_closed_by_nobody() -> None:
    for transport, name in ((Stdio(), "stdout_closed"), (StreamableHttp(), "response_stream_closed")):
        (row,) = [
            row for row in played(one_call, transport, faults=[Cut("result of tools/call")]) if "event" in row
        ]
        assert (row["from"], row["event"], row["detail"]) == ("server", name, "cut")
        assert "by" not in row


def test_an_abort_is_the_clients() -> None:
    async def stop(client: Client) -> None:
        with anyio.move_on_after(0.05):
            await one_call(client)

    (row,) = [row for row in played(stop, StreamableHttp()) if "event" in row]
    assert (row["from"], row["event"], row["by"], row["exchange"]) == (
        "client",
        "client_aborted",
        "client",
        "x1",
    )


def test_the_copy_that_a_fault_made_is_not_the_clients() -> None:
    recording = Recording(
        {},
        (
            Event(0, "sent", "client", "server", 1, data=b"{}\n"),
            Event(0, "sent", "client", "server", 2, data=b"{}\n", detail={"copy_of": 1}),
        ),
    )
    assert len(rows_of(recording)) == 1


# In.


def test_a_small_trace_becomes_frames() -> None:
    recording = trace(
        {"from": "client", "t_ms": 0, "message": REQUEST},
        {"from": "server", "t_ms": 20.5, "message": ANSWER},
        {"from": "client", "event": "stdin_closed"},
    )
    assert [(frame.sender, frame.receiver, frame.sent_us, frame.fate) for frame in recording.frames] == [
        ("client", "server", 0, "delivered"),
        ("server", "client", 20_500, "delivered"),
    ]
    assert recording.parties == ("client", "server")
    assert recording.header == {
        "title": "trace",
        "parties": ["client", "server"],
        "transport": "stdio",
        "source": "import",
    }
    last = recording.events[-1]
    assert (last.at_us, last.kind, last.party, last.detail) == (
        20_500,
        "closed",
        "client",
        {"what": "stdin", "how": "closed", "event": "stdin_closed"},
    )


def test_http_rows_become_exchanges_with_heads_and_streams() -> None:
    stream = {"from": "server", "transport": "http", "exchange": "a", "status": 200}
    recording = trace(
        {
            "from": "client",
            "transport": "http",
            "exchange": "a",
            "headers": {"Accept": "x"},
            "message": REQUEST,
        },
        {**stream, "headers": {"content-type": "text/event-stream"}, "raw": ": hello\n\n"},
        {**stream, "sse_id": "e1", "message": ANSWER},
        {"from": "client", "transport": "http", "exchange": "b", "http_method": "GET"},
        {"from": "server", "transport": "http", "exchange": "b", "status": 405},
        {"from": "server", "transport": "http", "exchange": "b", "message": ANSWER},
    )
    assert [frame.exchange for frame in recording.frames] == [1, 1, 1, 2, 2, 2]
    assert [frame.parsed is None for frame in recording.frames] == [False, True, False, True, True, False]
    assert recording.frames[2].data.startswith(b"event: message\nid: e1\ndata: {")
    assert recording.frames[3].head == {"method": "GET", "headers": []}
    assert recording.frames[4].head == {"status": 405, "headers": []}
    assert again(recording).to_interchange() == recording.to_interchange()
    assert [row.get("sse_id") for row in rows_of(recording)] == [None, None, "e1", None, None, None]


def test_bytes_and_texts_that_are_no_message_are_kept() -> None:
    recording = trace(
        {"from": "server", "raw": "Server 1.0 ready", "channel": "stderr"},
        {"from": "server", "raw": "banner"},
        {"from": "server", "raw": ""},
        {"from": "client", "raw_b64": base64.b64encode(b"\xff{").decode()},
        {"from": "client", "message": [REQUEST]},
        {"from": "client", "message": {"text": "\ud800"}},
        {"from": "client", "message": 5},
    )
    assert [frame.data for frame in recording.frames] == [
        b"Server 1.0 ready\n",
        b"banner\n",
        b"\n",
        b"\xff{\n",
        json.dumps([REQUEST], separators=(",", ":")).encode() + b"\n",
        b'{"text":"\\ud800"}\n',
        b"5\n",
    ]
    assert recording.frames[0].parsed is None
    assert isinstance(recording.frames[1].parsed, MalformedMessage)
    assert again(recording).to_interchange() == recording.to_interchange()


def test_hops_connections_and_numbers_are_kept() -> None:
    recording = trace(
        {"from": "client", "hop": "client-proxy", "connection": "ada", "message": REQUEST},
        {"from": "client", "hop": "proxy-server", "connection": "ada", "message": REQUEST},
        {"from": "server", "hop": "proxy-server", "connection": "ada", "message": ANSWER},
        {"from": "server", "hop": "client-proxy", "connection": "ada", "message": ANSWER},
        {"from": "client", "hop": "client-proxy", "connection": "c7", "message": REQUEST},
    )
    assert recording.parties == ("client", "proxy", "server")
    assert [(frame.sender, frame.receiver, frame.connection) for frame in recording.frames] == [
        ("client", "proxy", 1),
        ("proxy", "server", 1),
        ("server", "proxy", 1),
        ("proxy", "client", 1),
        ("client", "proxy", 7),
    ]
    rows = rows_of(recording)
    assert [row["hop"] for row in rows] == [
        *("client-proxy", "proxy-server", "proxy-server", "client-proxy", "client-proxy")
    ]
    assert [row["connection"] for row in rows] == ["c1", "c1", "c1", "c1", "c7"]
    assert again(recording).to_interchange() == recording.to_interchange()


def test_events_of_every_name_are_kept() -> None:
    recording = trace(
        *({"from": "client", "event": name, "detail": "why"} for name in sorted(EVENTS)),
        {"from": "server", "by": "client", "event": "response_stream_closed"},
        {"from": "client", "event": "something_new", "detail": {"n": [1]}},
    )
    rows = rows_of(recording)
    assert [row["event"] for row in rows[:6]] == sorted(EVENTS)
    assert all(row["detail"] == "why" for row in rows[:6])
    assert (rows[6]["from"], rows[6]["by"]) == ("client", "client")
    assert (rows[7]["event"], rows[7]["detail"]) == ("something_new", {"n": [1]})
    assert again(recording).to_interchange() == recording.to_interchange()


def test_a_key_that_is_not_known_is_left_out_and_said() -> None:
    recording = trace({"from": "client", "message": REQUEST, "colour": "red", "\x1b": 1})
    assert recording.transcript(width=200).split("\n")[1:] == [
        '0 ms  client           note: Line 1 has more than the form knows; left out: "\\u001b", "colour".'
    ]
    assert len(rows_of(recording)) == 1


def test_headers_may_be_lists_and_come_out_joined() -> None:
    head = {"from": "server", "transport": "http", "status": 200, "headers": {"Vary": ["a", "b"], "Age": 5}}
    recording = trace(head)
    assert recording.frames[0].head == {
        "headers": [["Vary", "a"], ["Vary", "b"], ["Age", "5"]],
        "status": 200,
    }
    assert rows_of(recording)[0]["headers"] == {"Vary": "a, b", "Age": "5"}


HTTP = {"from": "server", "transport": "http"}


@pytest.mark.parametrize(
    ("row", "text"),
    [
        ({}, '`from` must be "client" or "server", not null.'),
        ({"from": ["client"]}, '`from` must be "client" or "server", not ["client"].'),
        ({"from": "client"}, "says nothing: a row of stdio has one of message, raw, raw_b64, event."),
        ({"from": "client", "message": {}, "raw": ""}, "`message` and `raw` exclude each other."),
        ({"from": "client", "message": {}, "event": "x"}, "`message` and `event` exclude each other."),
        ({"from": "client", "raw": 5}, "`raw` must be a string, not 5."),
        ({"from": "client", "raw_b64": "?"}, "`raw_b64` is not Base64: "),
        ({"from": "client", "raw_b64": "ü"}, "`raw_b64` is not Base64: "),
        ({"from": "client", "message": {}, "t_ms": -1}, "`t_ms` must be milliseconds from 0, not -1."),
        ({"from": "client", "message": {}, "t_ms": "1"}, '`t_ms` must be milliseconds from 0, not "1".'),
        ({"from": "client", "message": {}, "t_ms": True}, "`t_ms` must be milliseconds from 0, not true."),
        ({"from": "client", "message": {}, "t_ms": 1e300}, "`t_ms` must be milliseconds from 0, not 1e+300."),
        (
            {"from": "client", "message": {}, "transport": "sse"},
            '`transport` must be "stdio" or "http", not "sse".',
        ),
        ({"from": "client", "message": {}, "status": 5}, "`status` belongs to HTTP; such a row says"),
        (
            {"from": "client", "message": {}, "channel": "stdin"},
            '`channel` must be "stdout" or "stderr", not "stdin".',
        ),
        (
            {"from": "client", "message": {}, "hop": "gateway"},
            '`hop` must be like "client-gateway", not "gateway".',
        ),
        ({"from": "client", "message": {}, "hop": 5}, '`hop` must be like "client-gateway", not 5.'),
        (
            {"from": "client", "message": {}, "connection": {}},
            "`connection` must be a name or a number, not {}.",
        ),
        ({**HTTP, "exchange": True}, "`exchange` must be a name or a number, not true."),
        ({**HTTP, "status": "200"}, '`status` must be a whole number up to 999, not "200".'),
        ({**HTTP, "status": 1000}, "`status` must be a whole number up to 999, not 1000."),
        ({**HTTP, "headers": []}, "`headers` must be an object of names and values."),
        ({**HTTP, "headers": {"a": {}}}, 'the header "a" must be a string, not {}.'),
        ({**HTTP, "message": {}, "sse_id": "a\nb"}, "The id of an event holds U+000A at character 1."),
        ({**HTTP, "message": {}, "sse_id": []}, "`sse_id` must be a name or a number, not []."),
        ({**HTTP, "from": "client", "http_method": 5}, "`http_method` must be a name, not 5."),
        ({"from": "client", "event": 5}, "`event` must be a name, not 5."),
        ({"from": "client", "event": "x", "by": "user"}, '`by` must be "client" or "server", not "user".'),
    ],
)
def test_a_row_that_breaks_the_form_is_refused_by_line_and_reason(row: dict[str, Any], text: str) -> None:
    good = {"from": "client", "message": REQUEST}
    with pytest.raises(RecordingError) as raised:
        trace(good, row)
    said = str(raised.value)
    assert said.startswith("Line 2")
    assert text in said
    assert said.endswith(".")


values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-5, 1000)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=4),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text(max_size=3), inner, max_size=2),
    max_leaves=4,
)
likely = {
    "from": st.sampled_from(["client", "server"]),
    "transport": st.sampled_from(["stdio", "http"]),
    "message": st.sampled_from([REQUEST, ANSWER, [REQUEST], 5]),
    "raw": st.sampled_from(["", "x", "data: {}\n\n", ": c\n\n", "event: a\ndata: b\n\n", "\r\n"]),
    "raw_b64": st.sampled_from(["", "/w==", "e30="]),
    "t_ms": st.integers(0, 100) | st.floats(0, 100),
    "headers": st.sampled_from(
        [{}, {"Content-Type": "text/event-stream"}, {"Content-Type": "application/json"}]
    ),
    "status": st.sampled_from([200, 202, 404]),
    "http_method": st.sampled_from(["POST", "GET", "DELETE"]),
    "exchange": st.sampled_from(["a", "b", "x1", "x2", 1]),
    "event": st.sampled_from([*sorted(EVENTS), "new"]),
    "by": st.sampled_from(["client", "server"]),
    "detail": st.text(max_size=3),
    "connection": st.sampled_from(["a", "c1", "c2", 1]),
    "hop": st.sampled_from(["client-gateway", "gateway-server", "a-b"]),
    "channel": st.sampled_from(["stdout", "stderr"]),
    "sse_id": st.text(max_size=3) | st.integers(0, 9),
}
rows = st.fixed_dictionaries(
    {"from": likely["from"]}, optional={key: value for key, value in likely.items() if key != "from"}
)
wild = st.dictionaries(st.sampled_from(sorted(KEYS)), values)


@settings(max_examples=200)
@given(st.lists(rows | wild, min_size=1, max_size=5))
def test_any_rows_are_refused_or_come_back_the_same(rows: list[dict[str, Any]]) -> None:
    kept: list[dict[str, Any]] = []
    for row in rows:
        try:
            trace(*kept, row)
        except RecordingError as error:
            text = str(error)
            assert text.startswith(f"Line {len(kept) + 1}"), text
        else:
            kept.append(row)
    recording = trace(*kept)
    assert len(recording.events) >= len(kept)
    recording.transcript()
    once = again(recording)
    assert once.to_interchange() == recording.to_interchange()
    assert Recording.from_jsonl(recording.to_jsonl()) == recording


EXACT = "12345678901234567890.123456789"


@pytest.mark.parametrize(
    ("number", "key"),
    [
        (EXACT, "raw"),
        ("0.1000000000000000055511151231257827", "raw"),
        ("1e-400", "raw"),
        ("123456789012345678901234567890", "message"),
        ("0.1", "message"),
        ("1.50", "message"),
        ("1E2", "message"),
        ('"' + EXACT + '"', "message"),
    ],
)
def test_a_number_that_writing_again_would_change_stays_as_text(number: str, key: str) -> None:
    text = f'{{"jsonrpc":"2.0","id":1,"method":"x","params":{{"n":{number}}}}}'
    row = {"from": "client", "raw": text}
    for more in ({}, {"transport": "http", "exchange": "x1"}):
        recording = trace({**row, **more})
        assert key in rows_of(recording)[0]
        body = again(recording).frames[0].body
        assert json.loads(body, parse_float=Decimal) == json.loads(text, parse_float=Decimal)


def test_a_number_beyond_every_decimal_stays_as_text() -> None:
    text = '{"jsonrpc":"2.0","method":"x","params":{"n":1e-99999999999999999999}}'
    assert rows_of(trace({"from": "client", "raw": text}))[0]["raw"] == text


def test_a_number_in_an_event_stream_stays_as_text() -> None:
    text = f'{{"jsonrpc":"2.0","id":1,"result":{{"n":{EXACT}}}}}'
    http = {"transport": "http", "exchange": "x1"}
    recording = trace(
        {"from": "client", "message": REQUEST, **http},
        {
            "from": "server",
            "raw": f"id: 7\ndata: {text}\n\n",
            "status": 200,
            "headers": {"Content-Type": "text/event-stream"},
            **http,
        },
    )
    assert "raw" in rows_of(recording)[1]
    assert again(recording).frames[1].data == recording.frames[1].data
    assert again(recording).frames[1].body.decode() == text


HEADER = {"format": "mcpsim-recording", "version": 1, "title": "odd", "parties": ["client", "server"]}


def sent(party: str, peer: str, **more: Any) -> dict[str, Any]:
    return {"at_us": 0, "kind": "sent", "party": party, "peer": peer, "text": "{}\n", **more}


@pytest.mark.parametrize(
    "lines",
    [
        [sent("client", "server", frame=1, detail={"head": {"method": "GET", "headers": [["A", "b"]]}})],
        [sent("server", "client", frame=1, detail={"head": {"status": 200, "headers": [["A", "b"]]}})],
        [sent("client", "", frame=1), sent("", "server", frame=2)],
        [sent("server", "", frame=1), sent("client", "server", frame=2), sent("client", "", frame=3)],
        [sent("a", "client", frame=1), sent("client", "b", frame=2)],
        [sent("server", "x", frame=1), sent("y", "server", frame=2)],
        [sent("a", "a", frame=1)],
        [sent("a", "b-c", frame=1), sent("b-c", "d", frame=2)],
        [{"at_us": 0, "kind": "closed", "party": "client", "peer": "server", "detail": {"event": 7}}],
        [{"at_us": 0, "kind": "note", "party": "client", "detail": {"event": ["x"], "text": "x"}}],
        [{"at_us": 0, "kind": "note", "party": "client", "detail": {"event": "", "text": "x"}}],
    ],
)
def test_what_loads_exports_to_what_loads_again(lines: list[dict[str, Any]]) -> None:
    delivered = [
        {"at_us": 1, "kind": "delivered", "party": row["peer"], "peer": row["party"], "frame": row["frame"]}
        for row in lines
        if "frame" in row
    ]
    rows = [HEADER, *lines, *delivered]
    recording = Recording.from_jsonl(b"".join(json.dumps(row).encode() + b"\n" for row in rows))
    loaded = Recording.from_interchange(recording.to_interchange())
    assert [frame.body for frame in loaded.frames] == [frame.body for frame in recording.frames]


MEMBERS: dict[str, list[Any]] = {
    "transport": ["stdio", "http", "q", None],
    "message": [{}, [], {"a": "\ud800"}, "a\rb"],
    "raw": ["x", 1],
    "raw_b64": ["YQ==", "!", 3],
    "t_ms": [1.5, -1, True, "a", None],
    "connection": ["a", 1, True, None],
    "hop": ["client-gateway", "x", 1, "a-a"],
    "exchange": ["x1", 1, True, []],
    "headers": [{"content-type": "text/event-stream"}, {"a": [1, True]}, [], {"a": None}],
    "status": [200, "a", True, 1000],
    "http_method": ["POST", 1],
    "sse_id": ["a", "a\nb", "\0", True],
    "event": ["stdin_closed", "thought", "", 1],
    "by": ["client", "x"],
    "channel": ["stdout", "stderr", "x"],
}


ROWS = st.fixed_dictionaries({}, optional={key: st.sampled_from(values) for key, values in MEMBERS.items()})


@given(st.lists(ROWS, max_size=4), st.sampled_from(["client", "server"]))
def test_a_row_is_refused_alike_with_events_and_without(rows: list[dict[str, Any]], side: str) -> None:
    reader = RowReader()
    for row in rows:
        row["from"] = side
        assert refusal(lambda row=row: list(reader.events(1, row))) == refusal(
            lambda row=row: check_row(1, row)
        )


def refusal(read: Callable[[], object]) -> str:
    try:
        read()
    except RecordingError as error:
        return str(error)
    return ""
