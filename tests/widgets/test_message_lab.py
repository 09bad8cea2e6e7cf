"""The message lab without a browser: what a cell can do with it, and what the browser may ask for."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from mcpsim import Server
from mcpsim.widgets.message_lab import MAX_ENTRIES, MAX_TEXT, MessageLab
from mcpsim.widgets.message_lab_desk import lab_desk
from mcpsim.widgets.message_lab_samples import sample
from mcpsim.widgets.message_lab_templates import BROKEN, LEGACY_GROUP, MODERN_GROUP
from mcpsim.widgets.message_lab_view import read_headers


def asks(lab: MessageLab, **wish: Any) -> dict[str, Any]:
    """What a browser gets for a wish; it is what can be sent to a browser."""
    lab.asked = {"n": lab.asked.get("n", 0) + 1, **wish}
    assert lab.shown["n"] == lab.asked["n"]
    json.dumps(lab.shown, ensure_ascii=False, allow_nan=False).encode("utf-8")
    return lab.shown


def sends(lab: MessageLab, body: str, **more: Any) -> dict[str, Any]:
    wish: dict[str, Any] = {"method": "POST", "path": "/mcp", "headers": "", **more}
    texts = {name: json.dumps(wish[name]) for name in ("method", "path", "headers")}
    return asks(lab, do="send", body=json.dumps(body), joined=True, **texts)


def template(lab: MessageLab, key: str) -> Any:
    return next(one for one in lab.templates if one.key == key)


def test_a_step_refuses_and_the_next_are_not_reached() -> None:
    lab = MessageLab()
    lab.send_template("no _meta")
    entry = lab.shown["entry"]
    outcomes = [check[1] for check in entry["messages"][0]["checks"]]
    assert outcomes == ["passed"] * 2 + ["refused"] + ["not reached"] * 6
    assert "params._meta is missing" in entry["messages"][0]["checks"][2][3]
    assert entry["verdict"] == "Step 3: read _meta: the server refuses it here, with error -32602."
    assert [row["kind"] for row in entry["came"]] == ["error"]
    assert any(level == "MUST" and whose == "you" for level, whose, *_ in entry["findings"])


def test_a_session_moves() -> None:
    lab = MessageLab(era="legacy")
    assert lab.shown["state"]["phase"] == "new"
    assert not template(lab, "legacy notifications/initialized").allowed
    early = template(lab, "legacy tools/list")
    assert (early.allowed, early.level) == (False, "SHOULD")
    lab.send_template("legacy initialize")
    assert lab.shown["state"]["phase"] == "initializing"
    late = template(lab, "legacy tools/list")
    assert (late.allowed, late.level) == (False, "MUST")
    assert not template(lab, "legacy initialize").allowed
    lab.send_template("legacy notifications/initialized")
    assert lab.shown["state"]["phase"] == "operating"
    message = lab.shown["entry"]["messages"][0]
    assert (message["before"], message["after"]) == ("initializing", "operating")
    assert template(lab, "legacy tools/list").allowed
    undeclared = template(lab, "legacy logging/setLevel")
    assert (undeclared.allowed, undeclared.level) == (False, "MUST")
    assert {one.era for one in lab.templates} <= {"legacy", ""}


def test_what_is_allowed_comes_first() -> None:
    lab = MessageLab(era="legacy")
    in_session = [one.allowed for one in lab.templates if one.group == LEGACY_GROUP]
    assert in_session == sorted(in_session, reverse=True)
    assert not in_session[-1]
    # Of a server without sessions nothing legacy is allowed: what is comes first, what is broken last.
    groups = list(dict.fromkeys(one.group for one in MessageLab(Server("new", era="modern")).templates))
    assert groups == [MODERN_GROUP, LEGACY_GROUP, BROKEN]
    groups = list(dict.fromkeys(one.group for one in MessageLab(Server("old", era="legacy")).templates))
    assert groups == [LEGACY_GROUP, MODERN_GROUP, BROKEN]


def test_what_the_last_answer_suggests() -> None:
    lab = MessageLab()
    assert "next page" not in [one.key for one in lab.templates]
    lab.send_template("modern tools/list")
    lab.send_template("next page")
    assert "next page" not in [one.key for one in lab.templates]
    lab.send_template("modern tools/call close_ticket")
    assert lab.outcome is not None
    assert lab.outcome.short == "input required"
    retry = json.loads(template(lab, "retry").body)
    assert retry["params"]["inputResponses"] == {
        "reason": {"action": "accept", "content": {"reason": "solved", "tell": True}}
    }
    assert retry["id"] not in [json.loads(entry.text)["id"] for entry in lab.entries]
    lab.send_template("retry")
    assert "T-1001 is closed: solved" in json.dumps(lab.shown["entry"]["came"])
    assert "retry" not in [one.key for one in lab.templates]


def test_a_state_that_was_changed_is_refused_before_the_handler_runs() -> None:
    lab = MessageLab()
    lab.send_template("modern tools/call close_ticket")
    body = json.loads(template(lab, "retry").body)
    body["params"]["requestState"] = "made up"
    lab.send(json.dumps(body))
    checks = {check[2]: check for check in lab.shown["entry"]["messages"][0]["checks"]}
    assert checks["Step 8: run the handler"][1] == "refused"
    assert "Refused before the handler ran" in checks["Step 8: run the handler"][3]


def test_a_legacy_server_asks_and_waits() -> None:
    lab = MessageLab()
    lab.send_template("legacy initialize")
    lab.send_template("legacy notifications/initialized")
    lab.send_template("legacy tools/call close_ticket")
    assert lab.outcome is not None
    assert lab.outcome.mark == "open"
    (answer,) = [one for one in lab.templates if one.key.startswith("response ")]
    lab.send_template(answer.key)
    assert [row[3] for row in lab.shown["history"]][2:] == ["result", "no answer"]


def test_progress_comes_as_time_passes() -> None:
    lab = MessageLab()
    lab.send_template("modern tools/call build_report")
    assert lab.outcome is not None
    assert lab.outcome.mark == "open"
    lab.wait(500)
    kinds = [row["kind"] for row in lab.shown["entry"]["came"]]
    assert kinds == ["notification", "notification"]
    lab.wait(2_000)
    assert lab.outcome is not None
    assert lab.outcome.short == "result"


def test_a_request_is_cancelled() -> None:
    lab = MessageLab()
    assert not template(lab, "modern notifications/cancelled").allowed
    lab.send_template("modern tools/call build_report")
    lab.send_template("modern notifications/cancelled")
    assert [row[3] for row in lab.shown["history"]] == ["cancelled", "no answer"]
    http = MessageLab(transport="http")
    http.send_template("modern tools/call build_report")
    assert http.shown["open"] == [[1, "tools/call #1"]]
    http.close_stream(1)
    assert http.shown["open"] == []
    assert http.shown["history"][0][3] == "cancelled"
    with pytest.raises(ValueError, match="no HTTP exchange 1 open"):
        http.close_stream(1)


def test_a_subscription_is_open_until_it_is_ended() -> None:
    server = lab_desk()
    lab = MessageLab(server)
    lab.send_template("modern subscriptions/listen")
    assert lab.outcome is not None
    assert lab.outcome.short == "open"
    server.resource_updated("ticket://T-1001")
    lab.wait(100)
    assert [row["label"] for row in lab.shown["entry"]["came"]][-1] == "notifications/resources/updated"
    lab.send_template("end subscription 1")
    assert lab.shown["history"][0][3] == "cancelled"


def test_a_session_on_http() -> None:
    lab = MessageLab(transport="http")
    lab.send_template("legacy initialize")
    assert "MCP-Session-Id" in template(lab, "legacy tools/list").headers[2][0]
    lab.send_template("legacy notifications/initialized")
    lab.send_template("legacy GET")
    assert lab.outcome is not None
    assert lab.outcome.sentence == "HTTP 200 OK. A stream is open now."
    lab.send_template("legacy tools/list")
    lab.send_template("legacy DELETE")
    # As on stdio before a session: none is open, and one would begin there.
    assert lab.shown["state"]["phase"] == "new"
    assert lab.shown["state"]["text"] == "No legacy session is open."
    assert lab.shown["open"] == []


def test_headers_that_fit_the_body() -> None:
    server = Server("regions")

    @server.tool(
        input_schema={
            "type": "object",
            "properties": {"region": {"type": "string", "x-mcp-header": "Region", "default": "north"}},
        }
    )
    def look(region: str = "north") -> str:
        return region

    lab = MessageLab(server, transport="http")
    lab.send_template("modern tools/call look")
    assert lab.outcome is not None
    assert lab.outcome.short == "result"
    body = template(lab, "modern tools/call look").body.replace("north", "süd")
    shown = asks(lab, do="fit", body=json.dumps(body))
    assert "Mcp-Param-Region: =?base64?" in json.loads(shown["edit"]["headers"])
    assert shown["edit"]["body"] is None


@pytest.mark.parametrize("transport", ["stdio", "http"])
@pytest.mark.parametrize(
    "body",
    [
        "",
        "\0",
        "\ud800",
        "\n\n",
        "{",
        '{"jsonrpc":"2.0","id":1,"method":"\\ud800"}',
        "[" * 100_000,
        '"' + "a" * 100_000,
        "[1," * 10_000 + "1" + "]" * 10_000,
        "1" * 10_000,
        "\u202e<img src=x onerror=alert(1)>",
    ],
    ids=lambda text: repr(text[:12]),
)
def test_any_text_is_a_message_like_any_other(transport: Any, body: str) -> None:
    lab = MessageLab(transport=transport)
    shown = sends(lab, body, headers="Content-Type: application/json\nAccept: */*")
    assert shown["error"] == ""
    assert shown["entry"]["mark"] == "error"
    assert json.loads(asks(lab, do="show", number=1)["edit"]["body"]) == body
    # It goes on afterwards.
    lab.send_template("modern tools/list")
    assert lab.outcome is not None
    assert lab.outcome.short == "result"


def test_a_text_that_is_too_long_is_not_sent() -> None:
    lab = MessageLab()
    shown = sends(lab, "a" * (MAX_TEXT + 1))
    assert "4,500,001 characters" in shown["error"]
    assert lab.entries == ()
    shown = sends(lab, "a" * MAX_TEXT)
    assert shown["error"] == ""
    assert shown["entry"]["mark"] == "error"
    assert len(json.dumps(shown)) < 400_000


@given(
    st.dictionaries(st.text(max_size=8), st.none() | st.integers() | st.text(max_size=5), max_size=4),
    st.sampled_from(["send", "wait", "show", "fit", "close", "hang up", "again", "era", "dance", None, 3]),
    st.sampled_from([None, 1, -1, "x", '"a"', "1", 2**70, 1.5, [], {}]),
)
@settings(suppress_health_check=list(HealthCheck), deadline=None, max_examples=80)
def test_whatever_a_browser_asks_for(wish: dict[str, Any], do: Any, value: Any) -> None:
    lab = MessageLab(transport="http")
    names = ("body", "ms", "number", "exchange", "transport", "era", "headers", "method", "path")
    asks(lab, **{**wish, **dict.fromkeys(names, value), "do": do})
    assert lab.shown["title"] == "Message lab: help-desk (both eras) on Streamable HTTP"


def test_line_breaks_are_taken_out_on_stdio() -> None:
    lab = MessageLab()
    body = template(lab, "modern tools/list").body
    assert "\n" in body
    lab.send(body)
    assert lab.outcome is not None
    assert lab.outcome.short == "result"
    lab.send(body, one_line=False)
    assert len(lab.entries[-1].walked) > 5
    assert lab.outcome.mark == "error"


def test_the_lab_can_be_left_and_begun_again() -> None:
    made: list[Server] = []

    def make() -> Server:
        made.append(lab_desk())
        return made[-1]

    lab = MessageLab(make)
    lab.send_template("modern tools/list")
    lab.hang_up()
    assert lab.shown["closed"]
    with pytest.raises(ValueError, match="Start again"):
        lab.send("{}")
    lab.start_again("http")
    assert (len(made), lab.entries, lab.transport) == (2, (), "http")
    with pytest.raises(ValueError, match="endpoint here is /mcp"):
        lab.send_http("{}", path="/other")
    with pytest.raises(ValueError, match="transport must be one of"):
        lab.start_again("carrier pigeon")  # type: ignore[arg-type]


def test_a_conversation_has_an_end() -> None:
    lab = MessageLab(Server("small"))
    for _ in range(MAX_ENTRIES):
        lab._send_line('{"jsonrpc":"2.0","id":1,"method":"ping"}', joined=True)
    with pytest.raises(ValueError, match="100 messages are enough"):
        lab.send("{}")


def test_a_server_that_fails_is_told_of() -> None:
    server = Server("leaving")

    @server.tool()
    def leave() -> str:
        raise SystemExit(1)

    lab = MessageLab(server)
    lab.send_template("modern tools/call leave")
    assert lab.shown["failure"].startswith("The server cannot go on. SystemExit")
    with pytest.raises(ValueError, match="Start again"):
        lab.send("{}")


def test_what_is_stored_is_the_same_in_every_run() -> None:
    def play() -> tuple[str, str, str, str]:
        lab = MessageLab()
        for key in ("modern tools/list", "bad JSON", "legacy initialize", "modern tools/call close_ticket"):
            lab.send_template(key)
        return repr(lab), lab.still_text(), lab.still_html(), lab.recording.sha256()

    first = play()
    assert first == play()
    assert "(1 before)" in first[1]
    assert "session: new → initializing" in first[1]
    assert "<script" not in first[2]
    assert 'role="img"' in first[2]


@pytest.mark.parametrize(
    ("given", "error"),
    [
        ({"transport": "pigeon"}, ValueError),
        ({"era": "future"}, ValueError),
        ({"server": 3}, TypeError),
    ],
)
def test_what_it_is_made_of(given: dict[str, Any], error: type[Exception]) -> None:
    with pytest.raises(error):
        MessageLab(**given)


def test_header_lines() -> None:
    assert read_headers("A: b\r\n\nC:d: e ") == (("A", "b"), ("C", "d: e"))
    with pytest.raises(ValueError, match="Line 2"):
        read_headers("A: b\nnothing")


@pytest.mark.parametrize(
    ("schema", "value"),
    [
        ({"type": "string", "enum": ["a", "b"]}, "a"),
        ({"type": "string", "format": "date"}, "2030-01-31"),
        ({"type": "string", "minLength": 9}, "texttexttext"),
        ({"type": "integer", "minimum": 4}, 4),
        ({"type": "number", "maximum": -2}, -2),
        ({"type": ["boolean", "null"]}, True),
        ({"oneOf": [{"const": "x"}]}, "x"),
        ({"type": "array", "items": {"type": "integer"}, "minItems": 2}, [1, 1]),
        (
            {"properties": {"a": {"default": 2}, "b": {}, "c": {"type": "string"}}, "required": ["c"]},
            {"a": 2, "c": "text"},
        ),
    ],
)
def test_samples_fit(schema: dict[str, Any], value: Any) -> None:
    assert sample(schema) == value
