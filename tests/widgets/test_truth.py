"""Sentences that must not say more than the specification does: what is said, and what is not."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from mcpsim.errors import ERROR_CODES
from mcpsim.recording import Recording
from mcpsim.widgets.narration import Narration, Narrator
from mcpsim.widgets.passing import passing_of
from mcpsim.widgets.reading import read
from mcpsim.widgets.steps import Steps, steps_of
from mcpsim.widgets.threads import threads_of

POST: dict[str, Any] = {"method": "POST", "path": "/mcp", "headers": []}
BATCH = b'[{"jsonrpc":"2.0","id":5,"method":"ping"},{"jsonrpc":"2.0","id":6,"method":"ping"}]'
HELLO = {"protocolVersion": "2025-11-25"}


def narrator_of(recording: Recording, steps: Steps) -> Narrator:
    conversation = read(recording)
    passing = passing_of(recording, conversation)
    return Narrator(recording, conversation, steps, passing, threads_of(recording, conversation, passing))


def last(recording: Recording) -> Narration:
    steps = steps_of(recording)
    return narrator_of(recording, steps).tell(steps.all[-1])


@pytest.fixture
def talk(made) -> Callable[..., Narration]:
    """Play messages as (sender, message, options of the pen) and hear what is said of the last one."""

    def play(*messages: tuple[str, Any, dict[str, Any]] | tuple[str, Any]) -> Narration:
        pen = made.Pen()
        for sender, message, *more in messages:
            pen.send(
                sender, "client" if sender == "server" else "server", message, **(more[0] if more else {})
            )
        return last(pen.done("x"))

    return play


def posted(message: Any, *headers: list[str]) -> tuple[str, Any, dict[str, Any]]:
    return ("client", message, {"exchange": 1, "head": {**POST, "headers": list(headers)}})


def replied(status: int, body: Any = b"", *headers: list[str]) -> tuple[str, Any, dict[str, Any]]:
    return ("server", body, {"exchange": 1, "head": {"status": status, "headers": list(headers)}})


def handshake(made: Any, version: str) -> list[tuple[str, Any]]:
    return [
        ("client", made.plain(0, "initialize", {"protocolVersion": version})),
        ("server", {"jsonrpc": "2.0", "id": 0, "result": {"protocolVersion": version}}),
        ("client", made.notification("notifications/initialized")),
    ]


# --------------------------------------------------------------------------------------------- error codes


@pytest.mark.parametrize("era", ["modern", "legacy"])
def test_an_invalid_request_that_is_known_is_not_called_no_message(made, talk, era):
    ask = (made.request if era == "modern" else made.plain)(4, "tools/list")
    said = talk(("client", ask), ("server", made.error(4, -32600, "The id 4 was used before.")))
    assert said.what == (
        "The server refuses `tools/list` #4 as an invalid request: The id 4 was used before."
    )
    assert "not a message" not in said.what


def test_an_invalid_request_that_is_not_known_is_told_plainly(made, talk):
    said = talk(("client", b"{}"), ("server", made.error(None, -32600, "No method.")))
    assert said.what == "The server answers that what came is not a valid request: No method."


def test_the_table_of_codes_says_what_an_invalid_request_is():
    assert "may not be sent now" in ERROR_CODES[-32600].meaning
    assert "malformed" in ERROR_CODES[-32020].meaning


def test_arguments_that_do_not_fit_are_told_neutrally(made, talk):
    said = talk(("client", made.request(1, "tools/call")), ("server", made.error(1, -32602, "No such tool.")))
    assert "unknown tool" in said.rule
    assert "tools page lists input validation among the tool errors" in said.rule
    assert "schema lists invalid tool arguments under -32602" in said.rule


def test_legacy_arguments_that_do_not_fit_are_told_neutrally(made, talk):
    said = talk(("client", made.plain(1, "tools/call")), ("server", made.error(1, -32602, "No such tool.")))
    assert "earlier revisions list invalid arguments among the protocol errors" in said.rule


@pytest.mark.parametrize("key", ["requestState", "inputResponses"])
def test_a_refused_retry_is_not_told_as_an_unknown_tool(made, talk, key):
    ask = made.request(2, "tools/call", {"name": "clock", key: "x"})
    said = talk(("client", ask), ("server", made.error(2, -32602, "The state is not ours.")))
    assert "brings back `requestState` or answers" in said.what
    assert "nknown tool" not in said.rule
    assert "#server-requirements-basic-workflow" in said.url


def test_a_legacy_resource_that_is_not_found_should_have_another_code(made, talk):
    ask = made.plain(1, "resources/read", {"uri": "note://9"})
    said = talk(("client", ask), ("server", made.error(1, -32602, "Not found.")))
    assert said.rule == "A resource that is not found SHOULD be answered with -32002."
    assert said.url.endswith("2025-11-25/server/resources#error-handling")


@pytest.mark.parametrize("code", [-32602, -32600, -32603, 7])
def test_an_error_to_a_ping_names_the_rule_of_pings(made, talk, code):
    said = talk(("client", made.plain(1, "ping")), ("server", made.error(1, code, "No.")))
    assert "MUST answer promptly, with an empty response" in said.rule
    assert said.url.endswith("basic/utilities/ping#behavior-requirements")


def test_a_discover_without_metadata_is_no_probe(made, talk):
    other = ("client", made.request(1, "tools/list"))
    said = talk(other, ("client", made.plain(2, "server/discover")), ("server", made.error(2, -32602, "No.")))
    assert "lacks metadata" in said.what
    assert "legacy" not in said.rule
    assert "MUST refuse" in said.rule


def test_a_discover_with_metadata_is_a_probe(made, talk):
    said = talk(("client", made.request(2, "server/discover")), ("server", made.error(2, -32602, "No.")))
    assert "means a legacy server" in said.rule


def test_different_headers_are_only_one_of_the_reasons(made, talk):
    said = talk(posted(made.request(1, "tools/list")), replied(400, made.write(made.error(1, -32020, "No."))))
    assert "are missing, malformed, or do not say the same" in said.what


def test_a_refused_handshake_is_about_versions_only_where_it_says_so(made, talk):
    ask = ("client", made.plain(1, "initialize", HELLO))
    other = talk(ask, ("server", made.error(1, -32602, "params.clientInfo must be an object.")))
    assert "version" not in other.rule
    about = talk(ask, ("server", made.error(1, -32602, "Unsupported protocol version")))
    assert "MUST answer with one that it supports" in about.rule


@pytest.mark.parametrize("era", ["modern", "legacy"])
def test_a_tool_error_is_a_report_of_the_server(made, talk, era):
    ask = (made.request if era == "modern" else made.plain)(1, "tools/call", {"name": "clock"})
    said = talk(("client", ask), ("server", made.result(1, content=[], isError=True)))
    assert said.what.startswith("The server reports that the call of the tool “clock” failed")


# ------------------------------------------------------------------------------------------------- batches


@pytest.mark.parametrize("http", [False, True])
def test_a_batch_is_right_where_the_handshake_agreed_on_batches(made, talk, http):
    batch = posted(BATCH) if http else ("client", BATCH)
    said = talk(*handshake(made, "2025-03-26"), batch)
    assert "a receiver MUST take them" in said.rule
    assert "stands alone" not in said.rule
    assert "single" not in said.rule
    assert said.url.endswith("/2025-03-26/basic/index#batching")


def test_a_batch_of_answers_ends_each_request(made):
    pen = made.Pen()
    pen.send("client", "server", BATCH)
    answers = [{"jsonrpc": "2.0", "id": id, "result": {}} for id in (5, 6)]
    pen.send("server", "client", made.write(answers))
    recording = pen.done("x")
    found = read(recording)
    assert [call.outcome for call in found.calls] == ["answered", "answered"]
    assert all(call.ended is not None for call in found.calls)


@pytest.mark.parametrize("version", ["2025-06-18", "2025-11-25", "2024-11-05"])
def test_a_batch_is_not_right_under_other_versions(made, talk, version):
    assert "MUST take them" not in talk(*handshake(made, version), ("client", BATCH)).rule


@pytest.mark.parametrize("era", ["modern", "legacy"])
def test_a_batch_in_an_answer_is_not_a_post(made, talk, era):
    ask = (made.request if era == "modern" else made.plain)(1, "tools/list")
    said = talk(posted(ask), replied(200, b'[{"jsonrpc":"2.0","id":1,"result":{}}]'))
    assert "POST" not in said.rule
    assert "JSON object, or with an event stream" in said.rule


# -------------------------------------------------------------------------------------------- cancellation


def test_a_modern_server_ends_only_subscriptions_with_a_cancellation(made, talk):
    cancel = ("server", made.notification("notifications/cancelled", requestId=1))
    wrong = talk(("client", made.request(1, "tools/call")), cancel)
    assert "ends the subscription" not in wrong.what
    assert "MUST NOT be sent for any other purpose" in wrong.rule
    right = talk(("client", made.request(1, "subscriptions/listen")), cancel)
    assert right.what == "The server ends the subscription `subscriptions/listen` #1."


def test_a_call_goes_on_when_the_server_cancels_what_it_may_not(made):
    pen = made.Pen()
    pen.send("client", "server", made.request(1, "tools/call"))
    pen.send("server", "client", made.notification("notifications/cancelled", requestId=1))
    recording = pen.done("x")
    found = read(recording)
    assert [call.ended for call in found.calls] == [None]


@pytest.mark.parametrize("era", ["modern", "legacy"])
def test_a_cancellation_names_both_sides_of_the_rule(made, talk, era):
    ask = (made.request if era == "modern" else made.plain)(1, "tools/call")
    said = talk(("client", ask), ("client", made.notification("notifications/cancelled", requestId=1)))
    assert "MUST name a request" in said.rule
    assert "believes to be in progress" in said.rule
    assert "MAY ignore this if it does not know the request" in said.rule
    assert said.url.endswith("cancellation#behavior-requirements")


# ---------------------------------------------------------------------------------------------------- HTTP


def test_a_404_is_about_a_session_only_where_the_request_names_one(made, talk):
    ask = made.plain(1, "tools/list")
    without = talk(posted(ask), replied(404))
    assert without.what == "The server answers HTTP 404: the endpoint or the method was not found."
    assert "session" not in without.what + without.rule
    within = talk(posted(ask, ["Mcp-Session-Id", "s1"]), replied(404))
    assert "does not know this session" in within.what


@pytest.mark.parametrize("era", ["modern", "legacy"])
@pytest.mark.parametrize("what", ["request", "malformed"])
def test_202_is_no_answer_to_a_request(made, talk, era, what):
    ask = (made.request if era == "modern" else made.plain)(1, "tools/list")
    if what == "malformed":
        first = [posted(ask)]
        said = talk(
            *first,
            ("client", b"{", {"exchange": 2, "head": POST}),
            ("server", b"", {"exchange": 2, "head": {"status": 202, "headers": []}}),
        )
    else:
        said = talk(posted(ask), replied(202))
    assert "accepts" not in said.what
    assert "A request MUST be answered with a JSON object or an event stream" in said.rule


@pytest.mark.parametrize("message", ["notification", "response"])
def test_202_is_the_answer_to_what_a_legacy_client_tells(made, talk, message):
    told = {
        "notification": made.notification("notifications/initialized"),
        "response": {"jsonrpc": "2.0", "id": 1, "result": {}},
    }[message]
    said = talk(*handshake(made, "2025-11-25"), posted(told), replied(202))
    assert said.what == "The server accepts the message with the status 202 and no body."


STREAM = ["Content-Type", "text/event-stream"]
GET = ("client", b"", {"exchange": 1, "head": {"method": "GET", "path": "/mcp", "headers": []}})


def test_a_405_to_a_post_is_not_about_get(made, talk):
    modern = talk(posted(made.request(1, "tools/list")), replied(405))
    assert modern.what == "The server answers that POST is not allowed here (405)."
    assert "GET" not in modern.rule
    legacy = talk(posted(made.plain(1, "initialize", HELLO)), replied(405))
    assert "older HTTP+SSE transport" in legacy.rule
    assert "405" in talk(*handshake(made, "2025-11-25"), GET, replied(405)).rule


def test_a_get_is_not_told_by_the_rules_of_requests(made, talk):
    legacy = talk(*handshake(made, "2025-11-25"), GET, replied(200))
    assert legacy.rule == "The server MUST answer a GET with an event stream, or with 405 if it offers none."
    stream = talk(*handshake(made, "2025-11-25"), GET, replied(200, b"", STREAM))
    assert "MUST NOT send responses there" in stream.rule
    for headers in ([], [STREAM]):
        modern = talk(("client", made.request(1, "tools/list")), GET, replied(200, b"", *headers))
        assert modern.what == "The server answers the HTTP GET with the status 200."
        assert "no GET stream" in modern.rule


@pytest.mark.parametrize("era", ["modern", "legacy"])
def test_a_comment_is_no_event(made, talk, era):
    ask = (made.request if era == "modern" else made.plain)(1, "tools/list")
    comment = ("server", b": alive\n\n", {"exchange": 1})
    said = talk(posted(ask), replied(200, b"", STREAM), comment)
    assert said.what == "The server sends a comment on the stream."
    assert "It is no event" in said.rule
    event = talk(posted(ask), replied(200, b"", STREAM), ("server", b"id: 7\ndata:\n\n", {"exchange": 1}))
    assert event.what == "The server sends an event without a message on the stream."
    assert "colon" not in event.rule


def closing(made: Any, era: str, party: str, *messages: tuple[str, Any, dict[str, Any]]) -> Narration:
    pen = made.Pen()
    for sender, message, more in messages:
        pen.send(sender, "client" if sender == "server" else "server", message, **more)
    peer = "client" if party == "server" else "server"
    pen.recorder.closed(party, peer, "exchange", "closed", connection=1, exchange=1)
    return last(pen.done("x", era=era))


@pytest.mark.parametrize("era", ["modern", "legacy"])
def test_what_closes_is_a_stream_only_where_one_began(made, era):
    ask = posted((made.request if era == "modern" else made.plain)(1, "tools/list"))
    answer = made.write(made.result(1, tools=[]))
    plain = closing(made, era, "server", ask, replied(200, answer, ["Content-Type", "application/json"]))
    assert plain.what == "The server closes the HTTP exchange."
    assert "stream" not in plain.rule
    early = closing(made, era, "client", ask)
    assert early.what == "The client closes the HTTP exchange of `tools/list` #1 before the answer has come."
    late = closing(made, era, "client", ask, replied(200, b"", STREAM))
    assert late.what == "The client closes the response stream of `tools/list` #1 before the answer has come."


# -------------------------------------------------------------------------------------------------- others


@pytest.mark.parametrize("id", ["1.0", "1e0"])
def test_an_id_written_with_a_fraction_is_open_to_debate(made, talk, id):
    said = talk(("client", b'{"jsonrpc":"2.0","id":%s,"method":"ping"}' % id.encode()))
    assert "whole number" in said.what
    assert "open to debate" in said.rule
    assert "MUST NOT write" not in said.rule


@pytest.mark.parametrize("line", [b'{"jsonrpc":"2.0","id":1.5,"method":"ping"}', b'{"id":1.0}', b"1.0", b"["])
def test_other_faults_are_not_open_to_debate(talk, line):
    assert "debate" not in talk(("client", line)).rule


def test_both_pages_on_the_end_of_a_subscription_are_named(made, talk):
    ask = ("client", made.request(1, "subscriptions/listen"))
    answered = talk(ask, ("server", made.result(1)))
    assert "SHOULD send this result" in answered.rule
    assert "MUST send `notifications/cancelled`" in answered.rule
    assert answered.url.endswith("subscriptions#graceful-closure")
    cancelled = talk(ask, ("server", made.notification("notifications/cancelled", requestId=1)))
    assert "MUST send this" in cancelled.rule
    assert "SHOULD answer the request" in cancelled.rule


def test_a_server_with_legacy_versions_only_is_opened_with_a_handshake(made, talk):
    ask = ("client", made.request(1, "server/discover"))
    legacy = talk(ask, ("server", made.result(1, supportedVersions=["2025-11-25"])))
    assert "`initialize`" in legacy.rule
    both = talk(ask, ("server", made.result(1, supportedVersions=["2026-07-28", "2025-11-25"])))
    assert "`initialize`" not in both.rule
    unknown = talk(ask, ("server", made.result(1, supportedVersions=["soon"])))
    assert "`initialize`" not in unknown.rule


def test_a_handshake_without_a_version_is_told_as_such(made, talk):
    ask = ("client", made.plain(1, "initialize", {}))
    assert "(it names none)" in talk(ask).what
    answered = talk(ask, ("server", {"jsonrpc": "2.0", "id": 1, "result": {"protocolVersion": "2025-11-25"}}))
    assert answered.what == "The server was offered no version and answers with “2025-11-25” instead."


def test_a_ping_that_brings_something_is_told_as_such(made, talk):
    ask = ("client", made.plain(1, "ping"))
    full = talk(ask, ("server", {"jsonrpc": "2.0", "id": 1, "result": {"pong": True}}))
    assert full.what == "The server answers the ping with a result that is not empty."
    empty = talk(ask, ("server", {"jsonrpc": "2.0", "id": 1, "result": {}}))
    assert "still there" in empty.what
