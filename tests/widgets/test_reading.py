"""What each frame is, and which request it belongs to."""

from __future__ import annotations

import pytest

from mcpsim.recording import Recording
from mcpsim.widgets.reading import read


def kinds(recording: Recording) -> list[str]:
    return [reading.kind for reading in read(recording).readings.values()]


def test_kinds_of_a_run(made):
    assert kinds(made.legacy_handshake()) == [
        "request",
        "response",
        "notification",
        "request",
        "response",
        "request",
        "request",
        "response",
        "response",
        "request",
        "error",
        "stderr",
    ]


def test_every_frame_has_a_reading(recording):
    found = read(recording).readings
    assert sorted(found) == sorted(frame.number for frame in recording.frames)


def test_progress_belongs_to_the_request_with_its_token(made):
    found = read(made.modern_progress())
    assert [found.readings[n].call.frame for n in (2, 3, 4)] == [1, 1, 1]


def test_a_token_that_nobody_gave_belongs_to_no_request(made):
    pen = made.Pen()
    pen.send("client", "server", made.request(1, "tools/call", progressToken=0))
    pen.send("server", "client", made.notification("notifications/progress", progressToken="0", progress=1))
    assert read(pen.done("x")).readings[2].call is None


def test_one_and_the_text_one_are_two_ids(made):
    pen = made.Pen()
    pen.send("client", "server", made.request(1, "tools/list"))
    pen.send("client", "server", made.request("1", "prompts/list"))
    pen.send("server", "client", made.result("1", prompts=[]))
    found = read(pen.done("x"))
    assert found.readings[3].call.request.method == "prompts/list"
    assert [call.outcome for call in found.calls] == ["open", "answered"]


def test_a_result_ends_its_request_when_it_arrives(made):
    recording = made.modern_progress()
    found = read(recording)
    (call,) = found.calls
    arrival = next(i for i, e in enumerate(recording.events) if e.kind == "delivered" and e.frame == 5)
    assert (call.ended, call.outcome) == (arrival, "answered")


def test_a_lost_result_leaves_its_request_open(made):
    pen = made.Pen()
    pen.send("client", "server", made.request(1, "tools/list"))
    lost = pen.send("server", "client", made.result(1, tools=[]), arrives=False)
    pen.recorder.dropped(lost, "server", "client", "fault", connection=1)
    (call,) = read(pen.done("x")).calls
    assert (call.ended, call.outcome) == (None, "open")


def test_a_cancelled_request_ends_when_the_cancellation_is_sent(made):
    recording = made.dropped()
    found = read(recording)
    call = found.calls[0]
    sent = next(frame.index for frame in recording.frames if b"cancelled" in frame.data)
    assert (call.ended, call.outcome) == (sent, "cancelled")


def test_an_answer_after_the_cancellation_is_late(made):
    pen = made.Pen()
    pen.send("client", "server", made.request(1, "tools/call"))
    pen.send("client", "server", made.notification("notifications/cancelled", requestId=1))
    pen.send("server", "client", made.result(1))
    pen.send("server", "client", made.result(1))
    found = read(pen.done("x"))
    assert [found.readings[n].late for n in (3, 4)] == [True, True]
    assert found.calls[0].outcome == "cancelled"


def test_a_copy_of_a_request_opens_no_second_one(made):
    pen = made.Pen()
    first = pen.send("client", "server", made.request(1, "tools/list"))
    pen.send("client", "server", made.request(1, "tools/list"), copy_of=first)
    assert len(read(pen.done("x")).calls) == 1


@pytest.mark.parametrize(("era", "outcome"), [("modern", "cancelled"), ("legacy", "open")])
def test_closing_the_stream_cancels_only_under_modern_rules(made, era, outcome):
    pen = made.Pen()
    exchange = pen.recorder.new_exchange()
    if era == "modern":
        pen.post(exchange, made.request(1, "tools/call"))
    else:
        head = {"method": "POST", "path": "/mcp", "headers": []}
        pen.send("client", "server", made.plain(1, "initialize"), exchange=exchange, head=head)
    pen.recorder.closed("client", "server", "exchange", "closed", connection=1, exchange=exchange)
    found = read(pen.done("x"))
    assert found.calls[0].outcome == outcome
    # The closing itself still saw an open request.
    assert [call.outcome for call in found.closings.values()] == ["open"]


@pytest.mark.parametrize(
    ("message", "era"),
    [
        (
            {"method": "tools/list", "params": {"_meta": {"io.modelcontextprotocol/protocolVersion": "x"}}},
            "modern",
        ),
        ({"method": "initialize"}, "legacy"),
        ({"method": "tools/list"}, "legacy"),
    ],
)
def test_the_era_comes_from_the_messages(made, message, era):
    pen = made.Pen()
    pen.send("client", "server", {"jsonrpc": "2.0", "id": 1, **message})
    pen.send("server", "client", {"jsonrpc": "2.0", "id": 1, "result": {}})
    assert [reading.era for reading in read(pen.done("x")).readings.values()] == [era, era]


def test_a_run_can_change_from_one_era_to_the_other(made):
    pen = made.Pen()
    pen.send("client", "server", made.request("probe", "server/discover"))
    pen.send("server", "client", made.error("probe", -32601, "Method not found"))
    pen.send("client", "server", made.plain(1, "initialize", {"protocolVersion": made.LEGACY}))
    pen.send("server", "client", made.plain(1, "ping"))
    pen.send("server", "client", made.error("probe", -32601, "again"))
    eras = [reading.era for reading in read(pen.done("x")).readings.values()]
    assert eras == ["modern", "modern", "legacy", "legacy", "modern"]


def test_the_version_header_names_the_era_where_the_body_does_not(made):
    for version, era in (("2026-07-28", "modern"), ("2025-06-18", "legacy")):
        pen = made.Pen()
        head = {"method": "POST", "path": "/", "headers": [["mcp-protocol-VERSION", version]]}
        pen.send("client", "server", made.plain(1, "tools/list"), exchange=1, head=head)
        assert read(pen.done("x")).readings[1].era == era


def test_which_side_is_the_server(made):
    found = read(made.gateway()).readings
    assert [found[n].from_server for n in range(1, 9)] == [False, False, True, True] * 2


def test_both_hops_of_a_gateway_have_requests_of_their_own(made):
    found = read(made.gateway())
    assert [(call.sender, call.receiver, call.outcome) for call in found.calls] == [
        ("client", "gateway", "answered"),
        ("gateway", "server", "answered"),
    ] * 2


def test_a_subscription_is_ended_by_the_server_with_a_cancellation(made):
    pen = made.Pen()
    pen.send("client", "server", made.request(7, "subscriptions/listen", {"notifications": {}}))
    acknowledged = {"io.modelcontextprotocol/subscriptionId": 7}
    pen.send(
        "server", "client", made.notification("notifications/subscriptions/acknowledged", _meta=acknowledged)
    )
    pen.send("server", "client", made.notification("notifications/cancelled", requestId=7))
    found = read(pen.done("x"))
    assert [found.readings[n].call for n in (2, 3)] == [found.calls[0]] * 2
    assert found.calls[0].outcome == "cancelled"
