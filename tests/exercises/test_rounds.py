"""Exercises 10: rounds. What learners might write, right and wrong.

A right answer here is not the solution. A wrong one stands with words of what the check sees in it, and with
words of the rule or of what to look at next.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import pickle
from collections.abc import Callable
from datetime import date
from typing import Any, Final

import pydantic
import pytest

from mcpsim import ToolError
from mcpsim.course import exercises
from mcpsim.course.exercises import ExerciseSet, Outcome
from mcpsim.course.exercises.set_10_multi_round_trip.forms import WISHES
from mcpsim.eras.asking import rules_of
from mcpsim.errors import ElicitationSchemaError
from mcpsim.utilities.elicitation import check_form
from tests.exercises.answers import *  # noqa: F403 - the tests that every set shares

CALL: Final = "tools/call"


@pytest.fixture
def set_of() -> Callable[..., ExerciseSet]:
    return exercises.rounds


# --- 10, forms ------------------------------------------------------------------------------------

ASK_BY: Final = {
    "A": "form",
    "B": "url",
    "C": "neither",
    "D": "form",
    "E": "url",
    "F": "neither",
    "G": "form",
}


def by(**changes: Any) -> dict[str, Any]:
    return {**ASK_BY, **changes}


FORMS: Final = [
    ("forms", dict(sorted(ASK_BY.items(), reverse=True))),
    ("forms", by(A="url"), "6 of 7 are right. A is not 'url'", "are not forbidden"),
    ("forms", by(B="form"), "B is not 'form'. A key gives access", "MUST NOT ask for passwords"),
    ("forms", by(C="url"), "C is not 'url'", "Nested objects"),
    ("forms", by(D="neither"), "D is not 'neither'", "choices"),
    ("forms", by(E="neither"), "Payment credentials", "MUST use URL mode"),
    ("forms", by(F="form"), "An array may hold choices", "arrays of objects, are not supported"),
    ("forms", by(G="Form"), "G: 'Form' is none of the words", "The words are"),
    ("forms", by(G=...), "6 of 7 are answered", "Still open: G"),
]


@pytest.mark.parametrize("letter", WISHES)
def test_the_wishes_are_what_the_answers_say(letter: str) -> None:
    wish = WISHES[letter]
    schema = {"type": "object", "properties": {wish.name: wish.schema}}
    if wish.word == "neither":
        with pytest.raises(ElicitationSchemaError):
            check_form(schema, rules_of("2026-07-28"))
    else:
        check_form(schema, rules_of("2026-07-28"))


# --- 10, an answer to every kind of question ------------------------------------------------------


def respond_by_table(question: Any, host: Any) -> Any:
    params = question.get("params") or {}

    def elicit() -> Any:
        if "url" in params:
            return {"action": host.visit(url=params["url"], message=params["message"])}
        filled = host.fill_in(params["message"], params["requestedSchema"])
        if filled in ("decline", "cancel"):
            return {"action": filled, "content": {}}
        return {"content": filled, "action": "accept"}

    def sample() -> Any:
        text = host.write(params["messages"], params["maxTokens"])
        block = {"type": "text", "text": text}
        return {"role": "assistant", "model": host.model, "content": [block], "stopReason": "endTurn"}

    def roots() -> Any:
        return {"roots": [{"uri": uri, "name": uri.rpartition("/")[2]} for uri in host.folders]}

    return {
        "elicitation/create": elicit,
        "sampling/createMessage": sample,
        "roots/list": roots,
    }[question["method"]]()


def changed_response(change: Callable[[Any, Any, Any], Any]) -> Callable[[Any, Any], Any]:
    """The right response, changed."""

    def respond(question: Any, host: Any) -> Any:
        return change(respond_by_table(question, host), question, host)

    respond.__name__ = change.__name__
    return respond


def needs_a_mode(question: Any, host: Any) -> Any:
    if question["method"] == "elicitation/create" and question["params"].get("mode") != "form":
        params = question["params"]
        return {"action": host.visit(params["message"], params.get("url"))}
    return respond_by_table(question, host)


def reads_the_mode(question: Any, host: Any) -> Any:
    if question["method"] == "elicitation/create":
        question["params"]["mode"]
    return respond_by_table(question, host)


def always_accepts(response: Any, question: Any, host: Any) -> Any:
    return {**response, "action": "accept"} if "action" in response else response


def opens_without_asking(question: Any, host: Any) -> Any:
    if question.get("params", {}).get("mode") == "url":
        return {"action": "accept"}
    return respond_by_table(question, host)


def writes_in_short(question: Any, host: Any) -> Any:
    if "maxTokens" in question.get("params", {}):
        question["params"]["maxTokens"] = 5
    return respond_by_table(question, host)


def content_of_a_visit(response: Any, question: Any, host: Any) -> Any:
    if question.get("params", {}).get("mode") == "url":
        return {**response, "content": {"url": question["params"]["url"]}}
    return response


def empty_content_of_a_visit(response: Any, question: Any, host: Any) -> Any:
    is_by_url = question.get("params", {}).get("mode") == "url"
    return {**response, "content": {}} if is_by_url else response


def content_is_null(response: Any, question: Any, host: Any) -> Any:
    return {**response, "content": None} if response.get("action") == "decline" else response


def nothing_for_a_cancel(response: Any, question: Any, host: Any) -> Any:
    return {"action": "cancel"} if response == {"action": "accept", "content": {}} else response


def with_an_envelope(response: Any, question: Any, host: Any) -> Any:
    return {"method": question["method"], "result": response}


def nameless_model(response: Any, question: Any, host: Any) -> Any:
    return {key: value for key, value in response.items() if key != "model"}


def text_alone(response: Any, question: Any, host: Any) -> Any:
    return response["content"][0]["text"] if "model" in response else response


def uris_alone(response: Any, question: Any, host: Any) -> Any:
    return {"roots": host.folders} if "roots" in response else response


def user_role(response: Any, question: Any, host: Any) -> Any:
    return {**response, "role": "user"} if "role" in response else response


def content_in_the_open(response: Any, question: Any, host: Any) -> Any:
    return response.get("content", response) if response.get("action") == "accept" else response


def refuses_by_none(response: Any, question: Any, host: Any) -> Any:
    return None if response.get("action") in ("decline", "cancel") else response


RESPONSES: Final = [
    ("respond", respond_by_table),
    ("respond", needs_a_mode, "a form without a `mode`", "as one in form mode"),
    ("respond", reads_the_mode, "raised KeyError: 'mode'", "take it by `.get`. Call it yourself"),
    ("respond", changed_response(always_accepts), "that is declined", "`decline` is an explicit no"),
    ("respond", opens_without_asking, "it should ask for visit", "Look at `method`"),
    (
        "respond",
        changed_response(content_of_a_visit),
        "an elicitation by URL",
        "In URL mode `content` is left out",
    ),
    ("respond", changed_response(with_an_envelope), "That is no response to elicitation/create", "members"),
    (
        "respond",
        changed_response(nameless_model),
        "That is no response to sampling/createMessage: model",
        "`model`",
    ),
    ("respond", changed_response(text_alone), "The question is sampling", "as a dict"),
    (
        "respond",
        changed_response(uris_alone),
        "That is no response to roots/list: roots.0",
        "each with a `uri`",
    ),
    ("respond", changed_response(user_role), "The model model-", "is `assistant`"),
    ("respond", writes_in_short, "it called `host.write` with [[{", "Hand on what the question says"),
    ("respond", changed_response(content_is_null), "a form that is declined", "null is no object"),
    ("respond", changed_response(empty_content_of_a_visit), "by URL", "Otherwise leave it out"),
    ("respond", changed_response(nothing_for_a_cancel), "with no field filled in", "no more"),
    ("respond", changed_response(content_in_the_open), "a form that is filled in", "members"),
    ("respond", changed_response(refuses_by_none), "returned None", "as a dict"),
]

# --- 10, round after round ------------------------------------------------------------------------


async def loop_by_recursion(client: Any, call: Any, answer: Any, left: int = 10, **more: Any) -> Any:
    result = await client.request(CALL, {**call, **more})
    if result.get("resultType", "complete") == "complete":
        return result
    if not left:
        return None
    state = {key: result[key] for key in result if key == "requestState"}
    given = {key: answer(key, asked) for key, asked in result.get("inputRequests", {}).items()}
    return await loop_by_recursion(client, call, answer, left - 1, inputResponses=given, **state)


async def loop_by_raw_bytes(client: Any, call: Any, answer: Any) -> Any:
    meta = {
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {"elicitation": {}},
    }
    more: dict[str, Any] = {}
    for id in "abcdefghijk":
        params = {**call, **more, "_meta": meta}
        reply = await client.send_raw({"jsonrpc": "2.0", "id": id, "method": CALL, "params": params})
        result = reply.answer.result
        if result["resultType"] != "input_required":
            return result
        more = {"requestState": result["requestState"]} if "requestState" in result else {}
        more["inputResponses"] = {k: answer(k, q) for k, q in result.get("inputRequests", {}).items()}
    return None


def looping(retry: Callable[[Any, Any, Any, Any], Any], most: int = 10) -> Callable[..., Any]:
    """A loop that makes its retries in some way of its own, from the call, the result, the answers and the
    parameters of the request before."""

    async def story(client: Any, call: Any, answer: Any) -> Any:
        params = dict(call)
        result = await client.request(CALL, params)
        for _ in range(most):
            if result["resultType"] != "input_required":
                return result
            given = {key: answer(key, asked) for key, asked in result.get("inputRequests", {}).items()}
            params = retry(call, result, given, params)
            result = await client.request(CALL, params)
        return result if result["resultType"] == "complete" else None

    story.__name__ = retry.__name__
    return story


def keeps_what_it_sent(call: Any, result: Any, given: Any, params: Any) -> Any:
    more = {"requestState": result["requestState"]} if "requestState" in result else {}
    return {**params, "inputResponses": given, **more}


def without_state(call: Any, result: Any, given: Any, params: Any) -> Any:
    return {**call, "inputResponses": given}


def adds_a_text_to_a_number(call: Any, result: Any, given: Any, params: Any) -> Any:
    return {**call, "requestState": result["requestState"] + 1}


def takes_a_state_for_granted(call: Any, result: Any, given: Any, params: Any) -> Any:
    return {**call, "inputResponses": given, "requestState": result["requestState"]}


def with_a_true_state(call: Any, result: Any, given: Any, params: Any) -> Any:
    more = {"requestState": result["requestState"]} if result.get("requestState") else {}
    return {**call, "inputResponses": given, **more}


def with_the_first_state(call: Any, result: Any, given: Any, params: Any) -> Any:
    state = params.get("requestState", result.get("requestState"))
    more = {} if state is None else {"requestState": state}
    return {**call, "inputResponses": given, **more}


def with_a_tidy_state(call: Any, result: Any, given: Any, params: Any) -> Any:
    more = {"requestState": result["requestState"].strip()} if "requestState" in result else {}
    return {**call, "inputResponses": given, **more}


def with_one_answer(call: Any, result: Any, given: Any, params: Any) -> Any:
    more = {"requestState": result["requestState"]} if "requestState" in result else {}
    return {**call, "inputResponses": dict(list(given.items())[:1]), **more}


def with_accepted_alone(call: Any, result: Any, given: Any, params: Any) -> Any:
    more = {"requestState": result["requestState"]} if "requestState" in result else {}
    accepted = {key: one for key, one in given.items() if one["action"] == "accept"}
    return {**call, "inputResponses": accepted, **more}


def with_a_list(call: Any, result: Any, given: Any, params: Any) -> Any:
    more = {"requestState": result["requestState"]} if "requestState" in result else {}
    return {**call, "inputResponses": list(given.values()), **more}


def with_contents(call: Any, result: Any, given: Any, params: Any) -> Any:
    more = {"requestState": result["requestState"]} if "requestState" in result else {}
    return {**call, "inputResponses": {key: one.get("content") for key, one in given.items()}, **more}


def in_the_arguments(call: Any, result: Any, given: Any, params: Any) -> Any:
    more = {"requestState": result["requestState"]} if "requestState" in result else {}
    return {**call, "arguments": {**call["arguments"], **given}, "inputResponses": given, **more}


def only_the_answers(call: Any, result: Any, given: Any, params: Any) -> Any:
    more = {"requestState": result["requestState"]} if "requestState" in result else {}
    return {"name": call["name"], "inputResponses": given, **more}


def accumulating(call: Any, result: Any, given: Any, params: Any) -> Any:
    """Servers should ignore what they do not need."""
    more = {"requestState": result["requestState"]} if "requestState" in result else {}
    return {**call, "inputResponses": {**params.get("inputResponses", {}), **given}, **more}


async def once_only(client: Any, call: Any, answer: Any) -> Any:
    return await client.request(CALL, call)


async def while_there_are_questions(client: Any, call: Any, answer: Any) -> Any:
    result = await client.request(CALL, call)
    for _ in range(10):
        if "inputRequests" not in result:
            return result
        params = keeps_what_it_sent(
            call, result, {key: answer(key, asked) for key, asked in result["inputRequests"].items()}, call
        )
        result = await client.request(CALL, params)
    return None


async def one_id_for_all(client: Any, call: Any, answer: Any) -> Any:
    meta = {
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {"elicitation": {}},
    }
    params = {**call, "_meta": meta}
    for _ in range(10):
        reply = await client.send_raw({"jsonrpc": "2.0", "id": 7, "method": CALL, "params": params})
        result = reply.answer.result
        if result["resultType"] != "input_required":
            return result
        given = {key: answer(key, asked) for key, asked in result.get("inputRequests", {}).items()}
        params = {**params, **keeps_what_it_sent(call, result, given, call)}
    return None


async def asks_nobody(client: Any, call: Any, answer: Any) -> Any:
    return await looping(accumulating)(client, call, lambda key, question: {"action": "decline"})


async def as_a_model(client: Any, call: Any, answer: Any) -> Any:
    return [await loop_by_recursion(client, call, answer)]


async def last_of_an_endless_one(client: Any, call: Any, answer: Any) -> Any:
    return await loop_by_recursion(client, call, answer) or {"content": []}


LOOPS: Final = [
    ("loop", loop_by_recursion),
    ("loop", loop_by_raw_bytes),
    ("loop", looping(accumulating)),
    ("loop", looping(with_accepted_alone), "asks for", "Decline and cancel are responses too"),
    ("loop", once_only, "is not the end: it asks for", "MUST get what they ask for"),
    ("loop", looping(keeps_what_it_sent), "has no `requestState`, and request", "MUST NOT send one"),
    ("loop", looping(without_state), "and request 2 has none", "send back exactly that value"),
    (
        "loop",
        looping(with_a_true_state),
        "the `requestState` '', and request 2 has none",
        "empty text is a state",
    ),
    ("loop", looping(with_the_first_state), "and request 3 has", "Send the latest one"),
    ("loop", looping(with_a_tidy_state), "and request 2 has '=0.", "MUST NOT change it"),
    ("loop", looping(with_one_answer), "A server asks two questions at once. Answer 1 asks for", "every key"),
    ("loop", looping(with_a_list), "has the `inputResponses` [", "a response for each key"),
    ("loop", looping(with_contents), "`answer` did not say that", "send what it returns as it is"),
    ("loop", looping(in_the_arguments), "Request 2 has the parameters", "name and arguments as they are"),
    ("loop", looping(only_the_answers), "Request 2 has the parameters", "the original request"),
    (
        "loop",
        while_there_are_questions,
        "it has a state alone. Nothing follows",
        "MAY send the request again",
    ),
    ("loop", one_id_for_all, "Two requests have one id: 7, 7", "MUST be another one"),
    ("loop", asks_nobody, "`answer` did not say that", "Call `answer(key, question)`"),
    (
        "loop",
        looping(adds_a_text_to_a_number),
        "raised TypeError",
        "Mend that error first. Send the call again",
    ),
    ("loop", looping(takes_a_state_for_granted), "raised KeyError: 'requestState'", "ask by `in`"),
    ("loop", looping(accumulating, 10**6), "had sent and received", "give up after some tries"),
    ("loop", looping(accumulating, 9), "It was given up after 9 retries", "10 retries are 11 requests"),
    ("loop", looping(accumulating, 40), "It was asked 40 times more", "Give up after 10"),
    ("loop", looping(accumulating, 1), "is not the end: it asks for", "for as long as it asks"),
    ("loop", as_a_model, "returned [{", "as `client.request` returns it"),
    ("loop", last_of_an_endless_one, "it should return None", "has no result"),
]

# --- 10, ask twice, act once ----------------------------------------------------------------------


class Day(pydantic.BaseModel):
    day: date


class Consent(pydantic.BaseModel):
    agreed: bool


async def book_with_models(context: Any, city: str, pay: Any) -> Any:
    when = await context.elicit(f"{city}: which day?", Day, key="when")
    if when.action == "accept":
        day = when.content["day"]
        yes = await context.elicit(f"{day}, to {city}, for 80?", Consent, key="yes")
        if yes.action == "accept" and yes.content["agreed"]:
            return "Paid: " + pay(city, day)
    raise ToolError("The user did not want to book.")


async def book_and_remember(context: Any, city: str, pay: Any) -> Any:
    answers = {}
    for key, model in (("day", Day), ("agreed", Consent)):
        text = f"{city}, {answers['day']}: agreed?" if answers else f"{city}: when?"
        answer = await context.elicit(text, model, key=key)
        if answer.action != "accept":
            return "no"
        answers[key] = answer.content[key]
    return pay(city, answers["day"]) if answers["agreed"] else "no"


async def pays_first(context: Any, city: str, pay: Any) -> Any:
    when = await context.elicit("When?", Day)
    if when.action != "accept":
        return "no"
    receipt = pay(city, when.content["day"])
    yes = await context.elicit(f"{city} on {when.content['day']}?", Consent)
    return receipt if yes.action == "accept" and yes.content["agreed"] else "no"


async def does_not_look_at_the_action(context: Any, city: str, pay: Any) -> Any:
    when = await context.elicit("When?", Day)
    yes = await context.elicit(f"{city} on {when.content['day']}?", Consent)
    return pay(city, when.content["day"]) if yes.content["agreed"] else "no"


async def takes_a_yes_for_consent(context: Any, city: str, pay: Any) -> Any:
    when = await context.elicit("When?", Day)
    if when.action != "accept":
        return "no"
    yes = await context.elicit(f"{city} on {when.content['day']}?", Consent)
    return pay(city, when.content["day"]) if yes.action == "accept" else "no"


async def asks_both_at_once(context: Any, city: str, pay: Any) -> Any:
    answers = await context.ask({"day": context.form("When?", Day), "yes": context.form("Book?", Consent)})
    if any(answer.action != "accept" for answer in answers.values()):
        return "no"
    return pay(city, answers["day"].content["day"]) if answers["yes"].content["agreed"] else "no"


async def asks_vaguely(context: Any, city: str, pay: Any) -> Any:
    when = await context.elicit("When?", Day)
    if when.action != "accept":
        return "no"
    yes = await context.elicit("Shall I book it?", Consent)
    return pay(city, when.content["day"]) if yes.action == "accept" and yes.content["agreed"] else "no"


async def asks_only_for_the_day(context: Any, city: str, pay: Any) -> Any:
    when = await context.elicit("When?", Day)
    return pay(city, when.content["day"]) if when.action == "accept" else "no"


async def asks_for_both_in_one_form(context: Any, city: str, pay: Any) -> Any:
    form = {"type": "object", "properties": {"day": {"type": "string"}, "agreed": {"type": "boolean"}}}
    answer = await context.elicit("When, and do you agree?", form)
    return pay(city, answer.content["day"]) if answer.action == "accept" else "no"


async def asks_until_it_gets_an_answer(context: Any, city: str, pay: Any) -> Any:
    when = await context.elicit("When?", Day, key="0")
    for attempt in range(1, 3):
        if when.action == "accept":
            break
        when = await context.elicit("When?", Day, key=str(attempt))
    return await book_and_remember(context, city, pay) if when.action == "accept" else "no"


async def asks_nobody_and_pays(context: Any, city: str, pay: Any) -> Any:
    return pay(city, "2026-09-10")


async def keeps_the_receipt(context: Any, city: str, pay: Any) -> Any:
    text = await book_and_remember(context, city, pay)
    return "Booked." if text.startswith("R-") else text


async def refuses_in_silence(context: Any, city: str, pay: Any) -> Any:
    text = await book_and_remember(context, city, pay)
    return None if text == "no" else text


async def refuses_by_an_error(context: Any, city: str, pay: Any) -> Any:
    text = await book_and_remember(context, city, pay)
    if text == "no":
        raise ValueError("The user does not want to.")
    return text


async def asks_for_any_text(context: Any, city: str, pay: Any) -> Any:
    form = {"type": "object", "properties": {"day": {"type": "string"}}, "required": ["day"]}
    when = await context.elicit("When?", form)
    if when.action != "accept":
        return "no"
    yes = await context.elicit(f"{city} on {when.content['day']}?", Consent)
    agreed = yes.action == "accept" and yes.content["agreed"]
    return pay(city, when.content["day"]) if agreed else "no"


async def asks_for_yes_as_a_text(context: Any, city: str, pay: Any) -> Any:
    when = await context.elicit("When?", Day)
    if when.action != "accept":
        return "no"
    form = {"type": "object", "properties": {"agreed": {"type": "string"}}}
    await context.elicit(f"{city} on {when.content['day']}?", form)
    return pay(city, when.content["day"])


async def remembers_outside(context: Any, city: str, pay: Any, kept: dict[str, Any] = {}) -> Any:  # noqa: B006
    """Keeps the day from round to round: the questions of a round are not those of the round before."""
    if "day" not in kept:
        when = await context.elicit("When?", Day)
        if when.action != "accept":
            return "no"
        kept["day"] = when.content["day"]
    yes = await context.elicit(f"{city} on {kept['day']}?", Consent)
    day = kept.pop("day")
    return pay(city, day) if yes.action == "accept" and yes.content["agreed"] else "no"


async def refuses_by_protocol_error(context: Any, city: str, pay: Any) -> Any:
    from mcpsim import ProtocolError

    text = await book_and_remember(context, city, pay)
    if text == "no":
        raise ProtocolError(-32603, "The user does not want to.")
    return text


BOOKS: Final = [
    ("book", book_with_models),
    ("book", book_and_remember),
    (
        "book",
        pays_first,
        "The handler ran 3 times: 3 tool calls arrived",
        "processes each from its beginning",
    ),
    (
        "book",
        does_not_look_at_the_action,
        "declines the first form. `does_not_look_at_the_action` raised TypeError",
        "before you look at `content`",
    ),
    ("book", takes_a_yes_for_consent, "does not agree. `pay` was called with", "the user has agreed"),
    ("book", asks_both_at_once, "are not both in it", "Nobody can agree to what they are not told"),
    ("book", asks_vaguely, "The second form says 'Shall I book it?'", "put both into the message"),
    (
        "book",
        asks_only_for_the_day,
        "It was asked for day; it should be asked for day, then agreed",
        "consent",
    ),
    ("book", asks_for_both_in_one_form, "A form has the fields ['day', 'agreed']", "and no other"),
    ("book", asks_until_it_gets_an_answer, "It was asked for day, then day", "for the day"),
    ("book", asks_nobody_and_pays, "It was asked for nothing", "Ask for the day"),
    ("book", keeps_the_receipt, "The tool says 'Booked.'", "returns the receipt"),
    ("book", refuses_in_silence, "returned None", "also where nothing is booked"),
    ("book", refuses_by_an_error, "raised ValueError", "no is no error"),
    ("book", asks_for_any_text, "The field `day` is {'type': 'string'}", '"format": "date"'),
    ("book", asks_for_yes_as_a_text, "The field `agreed` is {'type': 'string'}. It", "a boolean"),
    ("book", remembers_outside, "It was asked for day, then agreed, then agreed", "Keep nothing outside"),
    ("book", takes_a_yes_for_consent, "does not agree", "`accept` brings the submitted data"),
    ("book", refuses_by_protocol_error, "was answered with the error -32603", "whatever the user does"),
]

# --- 10, the keeper -------------------------------------------------------------------------------


class KeeperByJson:
    """The state is one JSON object with its signature as a member."""

    def __init__(self, key: bytes) -> None:
        self._key = key

    def _sign(self, members: Any) -> str:
        return hmac.digest(self._key, json.dumps(members, sort_keys=True).encode(), "sha256").hex()

    def seal(self, value: Any, principal: str, params: Any, expires_ms: int) -> str:
        request = hashlib.sha256(json.dumps([params["name"], params["arguments"]], sort_keys=True).encode())
        members = {"v": value, "p": principal, "r": request.hexdigest(), "e": expires_ms}
        return json.dumps({**members, "s": self._sign(members)}, ensure_ascii=True, sort_keys=True)

    def open(self, state: str, principal: str, params: Any, now_ms: int) -> Any:
        members = json.loads(state)
        if not isinstance(members, dict) or state != json.dumps(members, sort_keys=True):
            raise ValueError("not ours")
        signature = members.pop("s", "")
        if not isinstance(signature, str) or not hmac.compare_digest(
            signature.encode(), self._sign(members).encode()
        ):
            raise ValueError("changed")
        again = json.loads(self.seal(members["v"], principal, params, members["e"]))
        if again["s"] != signature or now_ms >= members["e"]:
            raise ValueError("elsewhere or late")
        return members["v"]


def state_of(value: Any, *bound: Any) -> str:
    return json.dumps([value, *bound], sort_keys=True).encode().hex()


def keeping(
    sign: Callable[[bytes, bytes], str],
    bind: Callable[[str, Any], list[Any]],
    late: Callable[[int, int], bool] = lambda now, end: now >= end,
) -> type:
    """A keeper that signs in some way, binds to something, and takes something for late."""

    class Keeper:
        def __init__(self, key: bytes) -> None:
            self.key = key

        def seal(self, value: Any, principal: str, params: Any, expires_ms: int) -> str:
            text = state_of(value, bind(principal, params), expires_ms)
            return f"{text}.{sign(self.key, text.encode())}"

        def open(self, state: str, principal: str, params: Any, now_ms: int) -> Any:
            text, _, signature = state.rpartition(".")
            if signature != sign(self.key, text.encode()):
                raise ValueError
            value, bound, expires_ms = json.loads(bytes.fromhex(text))
            if bound != json.loads(json.dumps(bind(principal, params))) or late(now_ms, expires_ms):
                raise ValueError
            return value

    return Keeper


def by_hmac(key: bytes, data: bytes) -> str:
    return hmac.digest(key, data, "sha256").hex()


def by_hash(key: bytes, data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def by_nothing(key: bytes, data: bytes) -> str:
    return ""


def to_all(principal: str, params: Any) -> list[Any]:
    return [principal, params["name"], params["arguments"]]


def to_nobody(principal: str, params: Any) -> list[Any]:
    return [params["name"], params["arguments"]]


def to_no_request(principal: str, params: Any) -> list[Any]:
    return [principal]


def to_the_name(principal: str, params: Any) -> list[Any]:
    return [principal, params["name"]]


def to_all_params(principal: str, params: Any) -> list[Any]:
    return [principal, params]


def to_text_of_arguments(principal: str, params: Any) -> list[Any]:
    return [principal, params["name"], json.dumps(params["arguments"])]


class Trusting(keeping(by_hmac, to_all)):
    """Does not look at the signature."""

    def open(self, state: str, principal: str, params: Any, now_ms: int) -> Any:
        return json.loads(bytes.fromhex(state.split(".")[0]))[0]


class Crashing(keeping(by_hmac, to_all)):
    """Reads before it checks."""

    def open(self, state: str, principal: str, params: Any, now_ms: int) -> Any:
        text, signature = state.split(".")[0], state.split(".")[1]
        return super().open(f"{text}.{signature}", principal, params, now_ms)


class Asserting(keeping(by_hmac, to_all)):
    def open(self, state: str, principal: str, params: Any, now_ms: int) -> Any:
        text, _, signature = state.rpartition(".")
        assert signature == by_hmac(self.key, text.encode())
        return super().open(state, principal, params, now_ms)


class InHexadecimals:
    """Reads large digits as small ones: what is signed are the bytes."""

    encode = staticmethod(bytes.hex)
    decode = staticmethod(bytes.fromhex)

    def __init__(self, key: bytes) -> None:
        self._key = key

    def seal(self, value: Any, principal: str, params: Any, expires_ms: int) -> str:
        data = json.dumps([value, to_all(principal, params), expires_ms]).encode()
        return self.encode(data + hmac.digest(self._key, data, "sha256"))

    def open(self, state: str, principal: str, params: Any, now_ms: int) -> Any:
        content = self.decode(state)
        data, signature = content[:-32], content[-32:]
        if not hmac.compare_digest(signature, hmac.digest(self._key, data, "sha256")):
            raise ValueError("changed")
        value, bound, expires_ms = json.loads(data)
        if bound != json.loads(json.dumps(to_all(principal, params))) or now_ms >= expires_ms:
            raise ValueError("not for this")
        return value


class InOnePiece(InHexadecimals):
    """Base64 leaves out what comes after its end."""

    encode = staticmethod(lambda data: base64.b64encode(data).decode())
    decode = staticmethod(base64.b64decode)


class ReturnsNone(keeping(by_hmac, to_all)):
    def open(self, state: str, principal: str, params: Any, now_ms: int) -> Any:
        try:
            return super().open(state, principal, params, now_ms)
        except ValueError:
            return None


class Forgetful(keeping(by_hmac, to_all)):
    def open(self, state: str, principal: str, params: Any, now_ms: int) -> Any:
        super().open(state, principal, params, now_ms)
        return True


class OnlyOnce(keeping(by_hmac, to_all)):
    """Right as long as it is asked by hand: the first state of a call, and never again."""

    def __init__(self, key: bytes) -> None:
        super().__init__(key)
        self.strangers = not key.startswith(b"wire")

    def open(self, state: str, principal: str, params: Any, now_ms: int) -> Any:
        if not self.strangers:
            return {"round": 1}
        return super().open(state, principal, params, now_ms)


class SignsTheBinding(keeping(by_hmac, to_all)):
    """The signature is one of principal, request and time, and not of the value."""

    def seal(self, value: Any, principal: str, params: Any, expires_ms: int) -> str:
        bound = state_of([*to_all(principal, params), expires_ms])
        # A salt, as many libraries have one.
        salt = hashlib.sha256(json.dumps(value).encode()).hexdigest()[:8]
        signature = by_hmac(self.key, (salt + bound).encode())
        return f"{state_of([value, expires_ms])}.{salt}{signature}"

    def open(self, state: str, principal: str, params: Any, now_ms: int) -> Any:
        text, _, signature = state.rpartition(".")
        value, expires_ms = json.loads(bytes.fromhex(text))[0]
        bound = state_of([*to_all(principal, params), expires_ms])
        if signature[8:] != by_hmac(self.key, (signature[:8] + bound).encode()) or now_ms >= expires_ms:
            raise ValueError
        return value


class AsBytes(keeping(by_hmac, to_all)):
    def seal(self, value: Any, principal: str, params: Any, expires_ms: int) -> Any:
        return pickle.dumps(value)


class LeavesOpen:
    """Signs all but the time, which stands open in front."""

    def __init__(self, key: bytes) -> None:
        self._key = key

    def write(self, expires_ms: int) -> str:
        return str(expires_ms)

    def read(self, text: str) -> int:
        return int(text)

    def sign(self, *content: Any) -> str:
        return by_hmac(self._key, json.dumps(content, sort_keys=True).encode())

    def seal(self, value: Any, principal: str, params: Any, expires_ms: int) -> str:
        text = base64.urlsafe_b64encode(json.dumps(value).encode()).decode().rstrip("=")
        return f"{self.write(expires_ms)}.{text}.{self.sign(text, to_all(principal, params))}"

    def open(self, state: str, principal: str, params: Any, now_ms: int) -> Any:
        end, text, signature = state.split(".")
        if signature != self.sign(text, to_all(principal, params)) or now_ms >= self.read(end):
            raise ValueError("changed, or too late")
        return json.loads(base64.urlsafe_b64decode(text + "=="))


class LeavesOpenInBase64(LeavesOpen):
    def write(self, expires_ms: int) -> str:
        return base64.b64encode(b"%d" % expires_ms).decode()

    def read(self, text: str) -> int:
        return int(base64.b64decode(text))


class LeavesOpenInHexadecimals(LeavesOpen):
    def write(self, expires_ms: int) -> str:
        return (b"%d" % expires_ms).hex()

    def read(self, text: str) -> int:
        return int(bytes.fromhex(text))


class LeavesTheNameOpen(LeavesOpen):
    """Signs all but the name."""

    def seal(self, value: Any, principal: str, params: Any, expires_ms: int) -> str:
        text = json.dumps([value, to_nobody(principal, params), expires_ms]).encode().hex()
        return f"{self.sign(text)}.{text}.{principal}"

    def open(self, state: str, principal: str, params: Any, now_ms: int) -> Any:
        signature, text, name = state.split(".")
        if signature != self.sign(text) or name != principal:
            raise ValueError("changed, or somebody else's")
        value, bound, expires_ms = json.loads(bytes.fromhex(text))
        if bound != to_nobody(principal, params) or now_ms >= expires_ms:
            raise ValueError("not for this")
        return value


class LeavesTheRequestOpen(LeavesOpen):
    """Signs all but the digest of the request."""

    def digest(self, params: Any) -> str:
        return hashlib.sha256(state_of(to_nobody("", params)).encode()).hexdigest()

    def seal(self, value: Any, principal: str, params: Any, expires_ms: int) -> str:
        text = state_of(value, principal, expires_ms)
        return f"{text}.{self.digest(params)}.{self.sign(text)}"

    def open(self, state: str, principal: str, params: Any, now_ms: int) -> Any:
        text, digest, signature = state.split(".")
        if signature != self.sign(text) or digest != self.digest(params):
            raise ValueError("changed, or another request")
        value, name, expires_ms = json.loads(bytes.fromhex(text))
        if name != principal or now_ms >= expires_ms:
            raise ValueError("not for this")
        return value


class HidesTheTime(LeavesOpen):
    """Writes the time so that nobody finds it, and does not sign it."""

    def write(self, expires_ms: int) -> str:
        return str(expires_ms ^ 0xFFFFFF)

    def read(self, text: str) -> int:
        return int(text) ^ 0xFFFFFF


class Remembers:
    """Keeps the values, and gives out names: the server would have to share them with its replicas."""

    def __init__(self, key: bytes) -> None:
        self._kept: dict[str, Any] = {}
        self._key = key

    def seal(self, value: Any, principal: str, params: Any, expires_ms: int) -> str:
        text = json.dumps([len(self._kept), *to_all(principal, params)], sort_keys=True)
        name = by_hmac(self._key, text.encode())
        self._kept[name] = (value, to_all(principal, params), expires_ms)
        return name

    def open(self, state: str, principal: str, params: Any, now_ms: int) -> Any:
        value, bound, expires_ms = self._kept.get(state, (None, None, -1))
        if bound != to_all(principal, params) or now_ms >= expires_ms:
            raise ValueError("unknown")
        return value


KEEPERS: Final = [
    ("keeper", KeeperByJson),
    ("keeper", keeping(by_hmac, to_all)),
    ("keeper", Remembers),
    (
        "keeper",
        keeping(by_hash, to_all),
        "another server sealed, with another key",
        "a plain hash. An HMAC needs",
    ),
    ("keeper", keeping(by_nothing, to_all), "another server sealed, with another key", "needs the key"),
    ("keeper", SignsTheBinding, "put together from two good ones", "the value included"),
    ("keeper", keeping(by_hmac, to_nobody), "presented by another user", "SHOULD hold the principal"),
    ("keeper", keeping(by_hmac, to_no_request), "presented with other arguments", "The request has to be"),
    ("keeper", keeping(by_hmac, to_the_name), "presented with other arguments", "a digest of the parameters"),
    (
        "keeper",
        keeping(by_hmac, to_all_params),
        "presented with the retry, whose parameters hold",
        "Which parameters stay the same",
    ),
    ("keeper", keeping(by_hmac, to_text_of_arguments), "in another order", "sort_keys=True"),
    ("keeper", keeping(by_hmac, to_all, lambda now, end: now > end), "very moment", "now < `expires_ms`"),
    ("keeper", keeping(by_hmac, to_all, lambda now, end: False), "very moment", "a short expiry"),
    ("keeper", Trusting, "changed on its way", "MUST protect its integrity"),
    ("keeper", Crashing, "`open` raised IndexError: list index out of range", "ValueError and nothing else"),
    ("keeper", Asserting, "`open` raised AssertionError", "ValueError and nothing else"),
    ("keeper", LeavesOpen, "It is changed to be good until", "Sign all that is in the state"),
    ("keeper", LeavesOpenInBase64, "It is changed to be good until", "Sign all that is in the state"),
    ("keeper", LeavesOpenInHexadecimals, "It is changed to be good until", "Sign all that is in the state"),
    ("keeper", LeavesTheNameOpen, "It is changed to be user-", "Sign all that is in the state"),
    ("keeper", LeavesTheRequestOpen, "presented with the request of the other", "Sign all"),
    ("keeper", HidesTheTime, "presented while only the other is good", "Sign all"),
    ("keeper", InHexadecimals),
    ("keeper", InOnePiece),
    ("keeper", ReturnsNone, "`open` gave None", "raise ValueError"),
    ("keeper", Forgetful, "and `open` gave True", "by hand"),
    ("keeper", OnlyOnce, "by its own client and by a stranger: ['Round 2', 'Round 2']", "the same answer"),
    ("keeper", AsBytes, "`seal` returned b'", "A state is a text"),
]


# --- What claims to be right ----------------------------------------------------------------------


class Agreeable:
    """Claims to equal everything."""

    def __eq__(self, other: object) -> bool:
        return True

    __hash__ = None  # type: ignore[assignment]


class Incomparable:
    """Cannot even be compared."""

    def __eq__(self, other: object) -> bool:
        raise RuntimeError("no comparison")

    __hash__ = None  # type: ignore[assignment]


def opening(value: Any) -> type:
    """A keeper that opens everything, and gives the same value."""

    class Keeper:
        def __init__(self, key: bytes) -> None:
            pass

        def seal(self, *arguments: Any) -> str:
            return "state"

        def open(self, *arguments: Any) -> Any:
            return value

    return Keeper


async def ends_well(client: Any, call: Any, answer: Any, value: Any) -> Any:
    result = await loop_by_recursion(client, call, answer)
    return result and {"content": value}


@pytest.mark.parametrize("value", [Agreeable(), Incomparable()], ids=["agreeable", "incomparable"])
def test_what_claims_to_equal_everything_passes_nowhere(
    set_of: Callable[..., ExerciseSet], value: Any
) -> None:
    ex: Any = set_of()
    for verdict in (
        ex.keeper.check(opening(value)),
        ex.respond.check(lambda question, host: {"action": value, "content": value, "roots": value}),
        ex.loop.check(lambda client, call, answer: ends_well(client, call, answer, value)),
    ):
        assert verdict.outcome is Outcome.NOT_YET, verdict
        assert " raised " not in verdict.seen


ALL: Final = [*FORMS, *RESPONSES, *LOOPS, *BOOKS, *KEEPERS]
