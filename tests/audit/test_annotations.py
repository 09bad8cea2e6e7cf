"""What the audit says of each message, clean or not: what it is, where it belongs, and in which era."""

from __future__ import annotations

from typing import Any

import pytest

from mcpsim import Recording, Stdio, StreamableHttp
from mcpsim.audit import audit
from mcpsim.audit.annotating import Annotation
from mcpsim.course import STORIES

Row = dict[str, Any]


def meta(version: Any = "2026-07-28", **capabilities: Any) -> Row:
    return {
        "io.modelcontextprotocol/protocolVersion": version,
        "io.modelcontextprotocol/clientInfo": {"name": "reader", "version": "1"},
        "io.modelcontextprotocol/clientCapabilities": capabilities,
    }


def asks(id: Any, method: str, side: str = "client", **params: Any) -> Row:
    return {"from": side, "message": {"jsonrpc": "2.0", "id": id, "method": method, "params": params}}


def tells(method: str, side: str, **params: Any) -> Row:
    return {"from": side, "message": {"jsonrpc": "2.0", "method": method, "params": params}}


def answers(id: Any, side: str = "server", **result: Any) -> Row:
    return {"from": side, "message": {"jsonrpc": "2.0", "id": id, "result": result}}


def initialize(id: Any = 0, version: str = "2025-11-25", **capabilities: Any) -> Row:
    info = {"name": "reader", "version": "1"}
    return asks(id, "initialize", protocolVersion=version, capabilities=capabilities, clientInfo=info)


def initialized(id: Any = 0, version: str = "2025-11-25", **capabilities: Any) -> Row:
    info = {"name": "shelf", "version": "1"}
    return answers(id, protocolVersion=version, capabilities=capabilities, serverInfo=info)


READY = tells("notifications/initialized", "client")
SESSION = [initialize(elicitation={}), initialized(tools={}), READY]


def of(rows: list[Row]) -> tuple[Annotation, ...]:
    return audit(rows).annotations


def test_a_legacy_session() -> None:
    found = of([*SESSION, asks(1, "tools/list"), answers(1, tools=[])])
    assert [(one.kind, one.direction, one.group, one.phase) for one in found] == [
        ("request", "to_server", "lifecycle", "initializing"),
        ("result", "to_client", "lifecycle", "initializing"),
        ("notification", "to_server", "lifecycle", "initializing"),
        ("request", "to_server", "tools", "operation"),
        ("result", "to_client", "tools", "operation"),
    ]
    assert {(one.era, one.revision) for one in found} == {("legacy", "2025-11-25")}
    assert [(one.answers, one.conversation, one.belongs_to) for one in found] == [
        (None, 0, "handshake"),
        (0, 0, "handshake"),
        (None, 0, "handshake"),
        (None, 3, "request"),
        (3, 3, "request"),
    ]


def test_the_revision_is_the_one_that_was_agreed() -> None:
    rows = [initialize(version="2025-11-25"), initialized(version="2025-06-18"), READY, asks(1, "ping")]
    assert [one.revision for one in of(rows)] == ["2025-06-18"] * 4


def test_what_comes_before_any_handshake() -> None:
    (one,) = of([asks(1, "tools/list")])
    assert (one.era, one.phase, one.declared) == ("legacy", "before", None)


@pytest.mark.parametrize(
    ("method", "side", "capability", "declared_by", "declared"),
    [
        ("tools/list", "client", "tools", "server", True),
        ("prompts/list", "client", "prompts", "server", False),
        ("elicitation/create", "server", "elicitation", "client", True),
        ("roots/list", "server", "roots", "client", False),
        ("ping", "client", "", "", None),
    ],
)
def test_capabilities_of_a_session(
    method: str, side: str, capability: str, declared_by: str, declared: bool | None
) -> None:
    one = of([*SESSION, asks(7, method, side)])[-1]
    assert (one.capability, one.declared_by, one.declared) == (capability, declared_by, declared)


def test_capabilities_of_a_modern_server_are_known_from_its_discover_result() -> None:
    listed = asks(2, "tools/list", _meta=meta())
    told = answers(1, resultType="complete", supportedVersions=["2026-07-28"], capabilities={"prompts": {}})
    assert of([listed])[0].declared is None
    assert of([asks(1, "server/discover", _meta=meta()), told, listed])[-1].declared is False


def test_rounds_are_one_conversation() -> None:
    asked = {"method": "elicitation/create", "params": {"mode": "form", "message": "Sure?"}}
    rows = [
        asks(1, "tools/call", name="tidy", _meta=meta(elicitation={})),
        answers(1, resultType="input_required", inputRequests={"ok": asked}, requestState="s1"),
        asks(2, "tools/list", _meta=meta()),
        asks(3, "tools/call", name="tidy", requestState="s1", inputResponses={}, _meta=meta(elicitation={})),
        answers(3, resultType="complete", content=[]),
    ]
    assert [(one.conversation, one.belongs_to) for one in of(rows)] == [
        (0, "rounds"),
        (0, "rounds"),
        (2, "request"),
        (0, "rounds"),
        (0, "rounds"),
    ]


def test_pages_are_one_conversation() -> None:
    rows = [
        asks(1, "tools/list", _meta=meta()),
        answers(1, resultType="complete", tools=[], nextCursor=""),
        asks(2, "tools/list", cursor="", _meta=meta()),
        answers(2, resultType="complete", tools=[]),
        asks(3, "tools/list", _meta=meta()),
    ]
    found = [(one.conversation, one.belongs_to) for one in of(rows)]
    assert found == [(0, "pages")] * 4 + [(4, "request")]


def test_a_subscription_is_one_conversation() -> None:
    mine = {"io.modelcontextprotocol/subscriptionId": "s"}
    rows = [
        asks("s", "subscriptions/listen", notifications={"toolsListChanged": True}, _meta=meta()),
        tells("notifications/subscriptions/acknowledged", "server", notifications={}, _meta=mine),
        tells("notifications/tools/list_changed", "server", _meta=mine),
        tells("notifications/cancelled", "client", requestId="s"),
    ]
    assert {(one.conversation, one.belongs_to) for one in of(rows)} == {(0, "subscription")}


def test_progress_belongs_to_its_request() -> None:
    rows = [
        asks(1, "tools/call", name="dig", _meta={**meta(), "progressToken": "1"}),
        asks(2, "tools/call", name="dig", _meta={**meta(), "progressToken": 1}),
        tells("notifications/progress", "server", progressToken=1, progress=1),
        tells("notifications/progress", "server", progressToken="1", progress=1),
    ]
    assert [one.conversation for one in of(rows)] == [0, 1, 1, 0]


def test_both_eras_on_one_pipe_are_told_apart() -> None:
    rows = [
        asks(1, "server/discover", _meta=meta()),
        answers(1, resultType="complete", supportedVersions=["2026-07-28"], capabilities={}),
        initialize(2),
        initialized(2),
        READY,
        asks(3, "tools/list", _meta=meta()),
        asks(4, "tools/list"),
        answers(4, tools=[]),
        answers(3, resultType="complete", tools=[]),
    ]
    eras = [one.era for one in of(rows)]
    assert eras == ["modern"] * 2 + ["legacy"] * 3 + ["modern", "legacy", "legacy", "modern"]


def test_a_revision_that_is_not_known_is_kept() -> None:
    rows = [
        asks(1, "tools/list", _meta=meta("2099-01-01")),
        answers(1, resultType="complete", tools=[]),
        asks(2, "stars/count", _meta=meta("2099-01-01")),
        {"from": "server", "message": {"jsonrpc": "2.0", "id": 2, "error": {"code": 1.5, "message": "no"}}},
    ]
    report = audit(rows)
    assert {(one.era, one.revision) for one in report.annotations[:3]} == {("modern", "2099-01-01")}
    # What holds in every revision holds there too; what one says of its lists is not known.
    assert {one.index for one in report.broken} == {3}


def test_what_is_no_message_is_kept() -> None:
    rows: list[Row] = [
        *SESSION,
        {"from": "server", "raw": "starting ..."},
        {"from": "server", "channel": "stderr", "raw": "INFO ready"},
        {"from": "client", "message": [asks(1, "ping")["message"], asks(2, "ping")["message"]]},
        {"from": "client", "message": {"jsonrpc": "2.0"}},
        {"from": "client", "event": "stdin_closed"},
    ]
    found = of(rows)[3:]
    kinds = ["unreadable", "stderr", "batch", "request", "request", "malformed", "event"]
    assert [one.kind for one in found] == kinds
    assert [one.index for one in found] == [3, 4, 5, 5, 5, 6, 7]


def test_parties_of_a_hop_are_called_by_their_names() -> None:
    rows = [
        {**asks(1, "tools/list", _meta=meta()), "hop": "client-gateway"},
        {**asks(9, "tools/list", _meta=meta()), "hop": "gateway-server"},
        {**answers(9, resultType="complete", tools=[]), "hop": "gateway-server"},
        {**answers(1, resultType="complete", tools=[]), "hop": "client-gateway"},
    ]
    assert [(one.sender, one.receiver) for one in of(rows)] == [
        ("client", "gateway"),
        ("gateway", "server"),
        ("server", "gateway"),
        ("gateway", "client"),
    ]
    assert [one.answers for one in of(rows)] == [None, None, 1, 0]


def test_errors_have_a_diagnosis() -> None:
    refused = {"jsonrpc": "2.0", "id": 1, "error": {"code": -32601, "message": "Method not found"}}
    one = of([asks(1, "ping", _meta=meta()), {"from": "server", "message": refused}])[1]
    assert one.diagnosis is not None
    assert one.to_dict()["diagnosis"].keys() == {"means", "try"}


@pytest.mark.parametrize("way", ["stdio", "http"])
@pytest.mark.parametrize("name", ["ask-the-model", "watch-a-notice", "three-pages"])
def test_a_recording_and_its_file_are_told_alike(name: str, way: str) -> None:
    transport = Stdio() if way == "stdio" else StreamableHttp()
    recording = STORIES[name].play(transport=transport).recording
    again = Recording.from_interchange(recording.to_interchange())
    assert again.audit().annotations == recording.audit().annotations
    assert again.audit().findings == recording.audit().findings
