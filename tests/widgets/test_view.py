"""The data that the player gets."""

from __future__ import annotations

import json
import subprocess
import sys
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mcpsim.course import STORIES
from mcpsim.recording import Event, Recording, events
from mcpsim.widgets import view
from mcpsim.widgets.view import Pieces, player_data

STEP_KEYS = {
    "n", "at_us", "time", "kind", "label", "short", "gist", "from", "to", "y", "scaled", "what", "rule",
    "era", "thread", "part", "family",
}  # fmt: skip
FRAME_KEYS = {
    "frame", "exchange", "y2", "scaled2", "fate", "took", "arrives", "copy_of", "about", "changed", "json",
    "fields", "raw", "meta", "compared", "state",
}  # fmt: skip


def test_the_form_of_the_data(recording):
    data = player_data(recording)
    assert set(data) == {
        "title", "transport", "source", "eras", "parties", "steps", "texts", "requests", "memory", "bars",
        "waits", "height", "left_out", "threads", "findings", "beside", "breaks", "scaled_height",
        "us_per_px", "nothing", "states", "held", "predictions",
    }  # fmt: skip
    for number, step in enumerate(data["steps"], start=1):
        assert step["n"] == number
        assert set(step) - {"pins"} == STEP_KEYS | (FRAME_KEYS if "frame" in step else set())
        assert step["from"] in data["parties"]
        assert step["to"] in {"", *data["parties"]}
        assert -1 <= step["rule"] < len(data["texts"])
        assert -1 <= step["thread"] < len(data["threads"])
        assert (step["part"] > 0) == (step["thread"] >= 0)
    assert len({tuple(text) for text in data["texts"]}) == len(data["texts"])


def test_it_is_json_and_the_same_every_time(recording):
    once = json.dumps(player_data(recording), allow_nan=False)
    again = Recording(dict(recording.header), tuple(recording.events))
    assert json.dumps(player_data(again), allow_nan=False) == once
    assert json.loads(once) == player_data(recording)


def test_a_saved_recording_is_played_as_before(made):
    for name in ("modern_stream", "legacy_handshake", "dropped", "hostile", "gateway"):
        recording = made.MADE[name]()
        assert player_data(Recording.from_jsonl(recording.to_jsonl())) == player_data(recording)


def test_it_is_the_same_in_another_process(made):
    script = (
        "import sys, importlib.util as u\n"
        "s = u.spec_from_file_location('made', sys.argv[1])\n"
        "m = u.module_from_spec(s); s.loader.exec_module(m)\n"
        "print(*m.player_digests(), sep='\\n')\n"
    )
    for seed in ("1", "2"):
        output = subprocess.run(
            [sys.executable, "-c", script, str(Path(__file__).with_name("made.py"))],
            env={"PYTHONHASHSEED": seed},
            cwd=Path(__file__).parents[2],
            capture_output=True,
            check=True,
            text=True,
        ).stdout
        assert output.splitlines() == made.player_digests()
        assert output.count("\n") == 9


def test_a_trace_from_elsewhere_is_played_too(recording):
    if any(event.kind == events.SENT and not event.party for event in recording.events):
        return  # A frame without a sender cannot be written as a trace.
    trace = Recording.from_interchange(recording.to_interchange())
    data = player_data(trace)
    assert data["source"] == "import"
    assert len(data["steps"]) == len([e for e in trace.events if e.kind in ("sent", "closed", "note")])


def test_an_error_that_comes_with_a_status_of_http_says_so():
    steps = player_data(STORIES["header-and-body-differ"].play(check=False).recording)["steps"]
    refused = next(step for step in steps if step["kind"] == "error")
    assert refused["label"] == "HTTP 400 error -32020 #1 HeaderMismatch"
    assert refused["short"] == "HTTP 400 error -32020 #1"
    fine = [step["label"] for step in steps if step["kind"] == "response"]
    assert not [label for label in fine if "HTTP" in label]


def test_labels(made):
    steps = player_data(made.legacy_handshake())["steps"]
    assert [(step["kind"], step["label"], step["gist"]) for step in steps] == [
        ("request", "initialize #0", "2025-11-25"),
        ("response", "result #0 initialize", "2025-11-25"),
        ("notification", "notifications/initialized", ""),
        ("request", "tools/list #1", ""),
        ("response", "result #1 tools/list", "0 tools, more to come"),
        ("request", "tools/call #2", "close_ticket"),
        ("request", 'elicitation/create #"s-1"', "Close ticket 7?"),
        ("note", "The user reads the question and presses Decline.", ""),
        ("response", 'result #"s-1" elicitation/create', "decline"),
        ("response", "result #2 tools/call", "isError: Not closed."),
        ("request", "tools/describe #3", ""),
        ("error", "error -32601 #3 MethodNotFound", "Method not found"),
        ("stderr", "stderr", "cleaning up"),
    ]


def test_a_level_is_followed_by_what_is_logged_where_something_is(made):
    pen = made.Pen()
    pen.send("client", "server", made.request(1, "logging/setLevel", {"level": "warning"}))
    pen.send("server", "client", made.notification("notifications/message", level="error", data="Disk full."))
    pen.send("server", "client", made.notification("notifications/message", level="error", data=None))
    steps = player_data(pen.done("levels"))["steps"]
    assert [step["gist"] for step in steps] == ["warning", 'error: "Disk full."', "error: null"]


def test_fates(made):
    steps = player_data(made.dropped())["steps"]
    assert [step.get("fate") for step in steps] == [
        "delivered",
        "dropped",
        "delivered",
        "delivered",
        "in flight",
        "delivered",
        None,
        "in flight",
    ]
    assert steps[4]["copy_of"] == 4
    # Sent at step 4, delivered after step 6 was sent.
    assert (steps[3]["arrives"], steps[3]["took"]) == (6, "5 min")
    assert steps[1]["arrives"] is None


def test_requests_in_flight(made):
    requests = player_data(made.dropped())["requests"]
    assert [(r["label"], r["opened"], r["ended"], r["outcome"]) for r in requests] == [
        ("tools/call #1", 1, 6, "cancelled"),
        ("tools/call #2", 3, 6, "answered"),
        ("tools/call #3", 8, None, "open"),
    ]


def test_memory_and_what_changed(made):
    memory = player_data(made.legacy_handshake())["memory"]
    assert [(entry["party"], [at["step"] for at in entry["at"]]) for entry in memory] == [
        ("client", [0, 2]),
        ("server", [0, 1, 3]),
    ]
    client = memory[0]["at"]
    # The second thing that the client remembered before the first step is what counts.
    assert client[0]["rows"] == [["phase", "initializing", "new"], ["offered", "2025-11-25", "new"]]
    assert client[1]["rows"] == [
        ["phase", "ready", "changed"],
        ["version", "2025-11-25", "new"],
        ["server", '{"tools": {"listChanged": true}}', "new"],
        ["offered", "", "forgotten"],
    ]


def test_a_party_that_remembers_nothing_has_no_entry(made):
    assert [entry["party"] for entry in player_data(made.modern_progress())["memory"]] == ["client"]


def test_memory_is_told_apart_by_connection(made):
    rows = tuple(Event(0, events.STATE, "server", connection=n, detail={"n": n}) for n in (1, 2))
    memory = player_data(Recording({}, rows))["memory"]
    assert [(entry["party"], entry["connection"]) for entry in memory] == [("server", 1), ("server", 2)]


def test_fields_point_at_their_lines(made):
    data = player_data(made.modern_progress())
    step = data["steps"][0]
    lines = step["json"].split("\n")
    fields = {path: (data["texts"][text], line) for path, text, line in step["fields"]}
    for path, (_, line) in fields.items():
        name = path.split(".", 2)[2] if path.startswith("params._meta.") else path.rsplit(".", 1)[-1]
        assert f'"{name}":' in lines[line]
    assert [line for _, line in fields.values()] == sorted(line for _, line in fields.values())
    (text, url), _ = fields["params._meta.progressToken"]
    assert "MUST be unique" in text
    assert url.endswith("/2026-07-28/basic/patterns/progress#progress-flow")


def test_headers_are_explained_too(made):
    data = player_data(made.modern_stream())
    paths = [path for path, _, _ in data["steps"][0]["fields"]]
    assert {"header mcp-protocol-version", "header mcp-method", "header mcp-name", "header accept"} <= set(
        paths
    )


@pytest.mark.parametrize(
    ("method", "member", "era_page"),
    [
        ("tools/list", {"ttlMs": 0}, "2026-07-28/server/utilities/caching#time-to-live-ttl-field"),
        ("tools/list", {"cacheScope": "public"}, "2026-07-28/server/utilities/caching#cache-scope-field"),
        ("tools/list", {"nextCursor": ""}, "2026-07-28/server/utilities/pagination#response-format"),
        ("tools/call", {"isError": True}, "2026-07-28/server/tools#error-handling"),
    ],
)
def test_members_of_a_result_are_explained(made, method, member, era_page):
    pen = made.Pen()
    pen.send("client", "server", made.request(1, method))
    pen.send("server", "client", made.result(1, **member))
    data = player_data(pen.done("x"))
    found = {path: data["texts"][text][1] for path, text, _ in data["steps"][1]["fields"]}
    assert found[f"result.{next(iter(member))}"].endswith(era_page)


def test_long_strings_are_cut_and_their_length_is_said(made):
    step = player_data(made.hostile())["steps"][3]
    assert "… (100,000 characters)" in step["json"].replace('"', "")
    assert " bytes)" in step["raw"][0][1]
    assert len(json.dumps(step)) < 20_000


def test_the_size_grows_with_the_number_of_messages(made):
    small, large = (len(json.dumps(player_data(made.long(count)))) for count in (500, 2_000))
    assert large < 4.2 * small


def test_many_open_requests_do_not_make_it_grow_faster(made):
    def size(count: int) -> int:
        pen = made.Pen(latency_ms=0)
        for number in range(count):
            pen.send("client", "server", made.request(number, "tools/call"))
            pen.handler(events.HANDLER_STARTED, "slow", number)
        return len(json.dumps(player_data(pen.done("x"))))

    assert size(800) < 4.2 * size(200)


def test_what_is_beyond_the_limit_is_counted(made, monkeypatch):
    monkeypatch.setattr(view, "MAX_STEPS", 10)
    data = player_data(made.long(100))
    assert (len(data["steps"]), data["left_out"]) == (10, 90)
    assert all(request["opened"] <= 10 for request in data["requests"])
    assert data["height"] < 1_000


# ------------------------------------------------------------------------------- any recording at all

names = st.sampled_from(["client", "server", "gateway", "", "é\u202e<"])
bodies = st.one_of(
    st.binary(max_size=40),
    st.sampled_from(
        [
            b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"_meta":{"progressToken":1}}}\n',
            b'{"jsonrpc":"2.0","id":1,"result":{"resultType":[]}}',
            b'{"jsonrpc":"2.0","id":1,"result":{"tools":3,"nextCursor":{},"completion":{"values":7}}}',
            b'{"jsonrpc":"2.0","id":1,"error":{"code":-32022,"message":"","data":{"supported":[{},1]}}}',
            b'{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1,"reason":[1]}}',
            b'{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":1,"progress":{}}}',
            b'{"jsonrpc":"2.0","id":"1","method":"initialize","params":{"protocolVersion":{},"cursor":[]}}',
            b'{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"inputResponses":3,"name":{"a":1}}}',
            b'[{"jsonrpc":"2.0","id":1,"method":"ping"},3]',
        ]
    ),
)
heads = st.sampled_from(
    [
        None,
        {},
        {"method": "POST"},
        {"method": "GET", "headers": [["Last-Event-ID", "1"]]},
        {"status": 200, "headers": [["Content-Type", "text/event-stream"]]},
        {"status": 404, "headers": []},
    ]
)
details = st.builds(
    lambda head, more: {**({"head": head} if head is not None else {}), **more},
    heads,
    st.sampled_from(
        [
            {},
            {"copy_of": 1},
            {"channel": "stderr"},
            {"what": "exchange", "how": "timed out"},
            {"what": "stdin", "how": "closed"},
            {"text": "note"},
            {"name": "f", "id": 1, "outcome": "result"},
            {"why": "fault"},
            {"seen": [1, 2], "deep": {"a": [{}]}},
        ]
    ),
)
any_event = st.builds(
    Event,
    at_us=st.integers(0, 10**10),
    kind=st.sampled_from(events.KINDS),
    party=names,
    peer=names,
    frame=st.integers(0, 4),
    exchange=st.integers(0, 2),
    connection=st.integers(1, 2),
    data=st.one_of(st.none(), bodies),
    detail=st.one_of(st.none(), details),
)


@given(st.lists(any_event, max_size=14))
def test_any_order_of_events_can_be_shown(found: list[Any]) -> None:
    data = player_data(Recording({"title": "x"}, tuple(found)))
    assert len(data["steps"]) == sum(e.kind in ("sent", "closed", "note", "handler_cancelled") for e in found)
    json.dumps(data, allow_nan=False)


# ------------------------------------------------------------------------------------------------- in pieces

PARTED = ("steps", "texts", "findings", "bars", "waits")


def told(steps: list[dict[str, Any]], texts: list[list[str]]) -> list[dict[str, Any]]:
    """The steps with the texts themselves, without what does not come with them."""
    return [
        {
            **{key: value for key, value in step.items() if key not in ("scaled", "scaled2", "pins")},
            "rule": texts[step["rule"]] if step["rule"] >= 0 else None,
            "fields": [[path, texts[at], line] for path, at, line in step.get("fields", ())],
        }
        for step in steps
    ]


@settings(max_examples=25)
@given(st.data())
def test_wherever_the_steps_are_cut_they_are_the_same(made, data):
    recording = made.MADE[data.draw(st.sampled_from(sorted(set(made.MADE) - {"long"})))]()
    whole = player_data(recording)
    pieces = Pieces(recording)
    cuts = sorted(data.draw(st.sets(st.integers(1, pieces.count + 1))) | {1, pieces.count + 1})
    # In any order, what they say and their bodies at once or one after the other.
    spans = data.draw(st.permutations(list(pairwise(cuts))))
    steps: list[dict[str, Any]] = [{} for _ in whole["steps"]]
    texts: list[list[str]] = []
    for first, after in spans:
        both = data.draw(st.booleans())
        layers = [{}] if both else [{"bodies": False}, {"rows": False}]
        for layer in layers:
            piece = pieces.steps_from(first, after - first, texts=len(texts), **layer)
            texts += piece["texts"]
            for step, row in zip(steps[first - 1 :], piece["steps"], strict=False):
                step.update(row)
    assert told(steps, texts) == told(whole["steps"], whole["texts"])


@settings(max_examples=6)
@given(st.integers(0, 240))
def test_an_opening_and_what_comes_later_have_all_the_keys(made, cursor):
    recording = made.long(200)
    whole, pieces = player_data(recording), Pieces(recording)
    opening, rest, findings = pieces.opening(cursor), pieces.rest(), pieces.findings()
    assert whole.keys() <= opening.keys() | rest.keys() | findings.keys()
    for key in whole.keys() - set(PARTED):
        found = next(part[key] for part in (rest, findings, opening) if key in part)
        assert found == whole[key], key
    assert (rest["bars"], findings["findings"]) == (whole["bars"], whole["findings"])
    near = opening["near"] or {"first": 1, "steps": opening["steps"]}
    shown = range(near["first"], near["first"] + len(near["steps"]))
    assert max(1, min(cursor, pieces.count)) in shown
    assert all(
        bar in [{**one, "scaled": None} for one in rest["bars"]]
        for bar in ({**one, "scaled": None} for one in opening["bars"])
    )


def test_every_step_is_made_when_it_is_looked_at(made):
    recording = made.legacy_handshake()
    whole, pieces = player_data(recording), Pieces(recording)
    assert len(pieces.told) == len(whole["steps"])
    assert told(list(pieces.told), pieces._rows.texts) == told(whole["steps"], whole["texts"])
    assert [step["n"] for step in pieces.told[2:4]] == [3, 4]
