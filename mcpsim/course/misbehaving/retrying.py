"""Clients that misbehave in their retries: request state, ids, and which answers they bring."""

from __future__ import annotations

from typing import Any, Final

from mcpsim.client import Client
from mcpsim.course.misbehaving.answering import (
    CALL,
    answer_instead,
    answering_client,
    in_answers,
    in_retry,
    leave_out,
)
from mcpsim.course.misbehaving.base import Misbehaviour
from mcpsim.course.misbehaving.changing import Json, change_result
from mcpsim.course.misbehaving.lifecycle_parts import modern
from mcpsim.course.stories.asking import obliging, one_question, state_without_a_question
from mcpsim.messages import Response

DAY: Final[Json] = {"action": "accept", "content": {"day": "2026-09-01"}}
SEAT: Final[Json] = {"action": "accept", "content": {"seat": "aisle", "bags": 1}}


async def plan(client: Client, *rounds: Json) -> Any:
    """Plan a trip by hand: the day and the seat are asked for at the same time."""
    call: Json = {"name": "plan_trip", "arguments": {"city": "Pau"}}
    result = await client.request(CALL, call)
    for answers in rounds:
        retry: Json = {**call, "inputResponses": answers, "requestState": result["requestState"]}
        result = await client.request(CALL, retry)
    return result


async def one_answer_after_the_other(client: Client) -> Any:
    """Answer one of two questions, and then the other."""
    return await plan(client, {"day": DAY}, {"seat": SEAT})


async def both_answers_at_once(client: Client) -> Any:
    """Answer both questions."""
    return await plan(client, {"day": DAY, "seat": SEAT})


async def ask_for_a_seat(client: Client) -> Json:
    """Ask for a seat, by hand."""
    return await client.request(CALL, {"name": "choose_seat", "arguments": {"train": "IC 31"}})


async def state_for_another_tool(client: Client) -> Any:
    """Send the state of one tool with the call of another."""
    asked = await ask_for_a_seat(client)
    other: Json = {"name": "count_rounds", "arguments": {"rounds": 1}}
    return await client.request(CALL, {**other, "requestState": asked["requestState"]})


async def answers_for_another_tool(client: Client) -> Any:
    """Send the answers to one tool's questions with the call of another."""
    await ask_for_a_seat(client)
    other: Json = {"name": "count_rounds", "arguments": {"rounds": 1}}
    return await client.request(CALL, {**other, "inputResponses": {"seat": SEAT}})


async def answers_without_a_state(client: Client) -> Any:
    """Send the answers to the tool that asked, which gave no state."""
    await ask_for_a_seat(client)
    call: Json = {"name": "choose_seat", "arguments": {"train": "IC 31"}}
    return await client.request(CALL, {**call, "inputResponses": {"seat": SEAT}})


async def answers_for_the_same_tool(client: Client) -> Any:
    """Send the answers to the tool that asked."""
    asked = await ask_for_a_seat(client)
    call: Json = {"name": "choose_seat", "arguments": {"train": "IC 31"}}
    return await client.request(
        CALL, {**call, "inputResponses": {"seat": SEAT}, "requestState": asked["requestState"]}
    )


def count_by_hand(*ids: str) -> Any:
    """A story that sends a call that has no questions, and its retry, with these ids."""

    async def send_by_hand(client: Client) -> None:
        call: Json = {"name": "count_rounds", "arguments": {"rounds": 1}}
        for id in ids:
            reply = await client.send_raw(modern(id, CALL, **call))
            answer = reply.answer
            if isinstance(answer, Response):
                call["requestState"] = answer.result.get("requestState", "")

    return send_by_hand


# --- What they do wrong ------------------------------------------------------------------------------


def _without_state(params: Json) -> None:
    del params["requestState"]


def _with_another_state(params: Json) -> None:
    state = params["requestState"]
    params["requestState"] = state[:-1] + ("A" if state[-1] != "A" else "B")


def _with_a_state(params: Json) -> None:
    params["requestState"] = "round-1"


def _with_more_answers(params: Json) -> None:
    params["inputResponses"]["weather"] = {"action": "accept", "content": {}}


RETRYING: Final[tuple[Misbehaviour, ...]] = (
    answering_client(
        "client-loses-the-state",
        "mrtr-state-echoed",
        "The client does not bring the request state back.",
        one_question,
        obliging,
        in_retry(_without_state),
    ),
    answering_client(
        "client-changes-the-state",
        "mrtr-state-unchanged",
        "The client brings back another request state than it was given.",
        state_without_a_question,
        None,
        in_retry(_with_another_state),
    ),
    answering_client(
        "client-invents-a-state",
        "mrtr-state-not-invented",
        "The client brings a request state where the server gave none.",
        answers_without_a_state,
        obliging,
        in_retry(_with_a_state),
        scenery=change_result(CALL, leave_out("requestState")),
    ),
    answering_client(
        "client-uses-a-state-for-another-tool",
        "mrtr-state-for-its-own-request",
        "The client sends the request state of one tool with the call of another.",
        state_for_another_tool,
        obliging,
        None,
        good_story=answers_for_the_same_tool,
    ),
    answering_client(
        "client-answers-another-tool",
        "mrtr-answers-for-their-own-request",
        "The client sends the answers to one tool's questions with the call of another.",
        answers_for_another_tool,
        obliging,
        None,
        good_story=answers_for_the_same_tool,
    ),
    answering_client(
        "client-takes-an-id-again",
        "mrtr-retry-has-a-new-id",
        "The client sends the retry under the id of the request that it repeats.",
        count_by_hand("call-1", "call-1"),
        None,
        None,
        good_story=count_by_hand("call-1", "call-2"),
        way="http",
    ),
    answering_client(
        "client-answers-in-part",
        "mrtr-all-answered",
        "The client answers one of two questions, and comes back.",
        one_answer_after_the_other,
        obliging,
        None,
        good_story=both_answers_at_once,
    ),
    answering_client(
        "client-answers-more-than-was-asked",
        "mrtr-answers-only-what-was-asked",
        "The client brings an answer that nobody asked for.",
        one_question,
        obliging,
        in_retry(_with_more_answers),
    ),
    answering_client(
        "client-answers-another-question",
        "mrtr-answer-fits-its-question",
        "The client answers a form with a list of roots.",
        one_question,
        obliging,
        in_answers(answer_instead({"roots": []})),
    ),
)
