"""Questions to a client and its answers have one form in both eras."""

from __future__ import annotations

import time
from typing import Any

import pytest

from mcpsim.audit import audit
from mcpsim.audit.building import build
from mcpsim.audit.model import Call
from mcpsim.audit.questions import answers, asked_of, declared, questions

FORM = {
    "message": "Which name?",
    "requestedSchema": {"type": "object", "properties": {"name": {"type": "string"}}},
}
ELICIT = {"method": "elicitation/create", "params": FORM}
YES = {"action": "accept", "content": {"name": "Kim"}}
META = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientCapabilities": {"elicitation": {}},
}


def row(side: str, **message: Any) -> dict[str, Any]:
    return {"from": side, "message": {"jsonrpc": "2.0", **message}}


def call(id: int, name: str = "badge", **params: Any) -> dict[str, Any]:
    return row("client", id=id, method="tools/call", params={"name": name, "_meta": META, **params})


def ask(id: int, requests: Any, **more: Any) -> dict[str, Any]:
    return row("server", id=id, result={"resultType": "input_required", "inputRequests": requests, **more})


def done(id: int) -> dict[str, Any]:
    return row("server", id=id, result={"resultType": "complete", "content": []})


def legacy(*rows: dict[str, Any]) -> list[dict[str, Any]]:
    params = {
        "protocolVersion": "2025-11-25",
        "capabilities": {"elicitation": {}},
        "clientInfo": {"name": "front-desk", "version": "1"},
    }
    info = {"name": "badge-office", "version": "1"}
    return [
        row("client", id=0, method="initialize", params=params),
        row("server", id=0, result={**params, "capabilities": {}, "serverInfo": info}),
        row("client", method="notifications/initialized"),
        *rows,
    ]


def calls_of(*rows: dict[str, Any]) -> list[Call]:
    trace, refused = build(enumerate(rows))
    assert refused == ()
    return [one for connection in trace.connections for one in connection.calls]


def test_a_question_and_its_answer_look_the_same_in_both_eras() -> None:
    modern = calls_of(call(1), ask(1, {"who": ELICIT}), call(2, inputResponses={"who": YES}), done(2))
    old = calls_of(*legacy(row("server", id="q", **ELICIT), row("client", id="q", result=YES)))
    for asking, answering, key, at in ((modern[0], modern[1], "who", 1), (old[1], old[1], "", 3)):
        (question,) = questions(asking)
        assert (question.method, question.params, question.key) == ("elicitation/create", FORM, key)
        assert question.capabilities == {"elicitation": {}}
        assert question.item.index == at
        (answer,) = answers(answering)
        assert (answer.question.item, answer.result, answer.item.index) == (question.item, YES, at + 1)


def test_an_error_is_no_answer() -> None:
    refusal = row("client", id="q", error={"code": -1, "message": "no"})
    assert [*answers(calls_of(*legacy(row("server", id="q", **ELICIT), refusal))[1])] == []


def test_what_the_trace_does_not_show_is_not_known() -> None:
    assert declared(calls_of(row("server", id="q", **ELICIT))[0]) is None


@pytest.mark.parametrize("state", ["s-2", None])
def test_of_two_calls_that_wait_the_one_that_fits_is_taken(state: str | None) -> None:
    given = {} if state is None else {"requestState": state}
    retry = call(3, inputResponses={"who": YES}, **given)
    calls = calls_of(
        call(1), ask(1, {"who": ELICIT}, requestState="s-1"), call(2), ask(2, {"who": ELICIT}, **given), retry
    )
    assert asked_of(calls[2]) is calls[1]


def test_a_call_of_another_tool_is_no_retry() -> None:
    calls = calls_of(
        call(1),
        ask(1, {"who": ELICIT}, requestState="s-1"),
        call(2, "pass", inputResponses={}, requestState="s-1"),
    )
    assert asked_of(calls[1]) is None


def test_a_new_call_is_no_retry() -> None:
    assert asked_of(calls_of(call(1), ask(1, {"who": ELICIT}), call(2))[1]) is None


@pytest.mark.parametrize("junk", [None, 7, "who", [ELICIT], {"who": 1}, {"who": {"method": ["x"]}}])
def test_what_is_no_question_is_none(junk: Any) -> None:
    assert [*questions(calls_of(call(1), ask(1, junk))[0])] == []


@pytest.mark.parametrize("junk", [None, 7, "who", [YES], {}, {"else": YES}])
def test_what_answers_no_question_is_none(junk: Any) -> None:
    assert [*answers(calls_of(call(1), ask(1, {"who": ELICIT}), call(2, inputResponses=junk))[1])] == []


@pytest.mark.parametrize("junk", [None, 7, "yes", [YES]])
def test_an_answer_that_is_no_object_is_one_all_the_same(junk: Any) -> None:
    retry = call(2, inputResponses={"who": junk})
    (answer,) = answers(calls_of(call(1), ask(1, {"who": ELICIT}), retry)[1])
    assert answer.value == junk
    assert answer.result == {}


def test_retries_that_fit_nothing_cost_no_more_than_a_little_each() -> None:
    def seconds(count: int) -> float:
        rows: list[dict[str, Any]] = []
        for number in range(count):
            rows += [call(2 * number), ask(2 * number, {"who": ELICIT}, requestState=f"s-{number}")]
            rows += [call(2 * number + 1, inputResponses={"x": YES}), done(2 * number + 1)]
        began = time.process_time()
        assert len(audit(rows).broken) >= count
        return time.process_time() - began

    seconds(50)
    assert seconds(800) < 12 * seconds(200)
