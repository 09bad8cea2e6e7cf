"""Exercise: the client's side of the rounds."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from random import Random
from typing import Any, Final, cast

from mcpsim.client import Client
from mcpsim.course.exercises.exercise import Passed, Task
from mcpsim.course.exercises.learner import Learner
from mcpsim.course.exercises.set_04_stateless.worlds import worlds
from mcpsim.course.exercises.set_10_multi_round_trip.rules import (
    ANSWERED,
    AT_ONCE,
    ECHOED,
    KEYS,
    NEW_ID,
    NO_LIMIT,
    NOT_INVENTED,
    SAME_REQUEST,
)
from mcpsim.course.exercises.set_10_multi_round_trip.scripted import (
    CALL,
    TOOL,
    Json,
    ScriptedServer,
    Turn,
    as_json,
    asks,
    form,
    says,
)
from mcpsim.course.exercises.showing import name_of, show
from mcpsim.course.exercises.traffic import Exchange, exchanges, require_valid
from mcpsim.course.exercises.verdict import NotYet, Rule
from mcpsim.recording import Recording

MAX_RETRIES: Final = 10
CAN_ASK: Final[Json] = {"elicitation": {"form": {}}}


@dataclass(slots=True)
class Script:
    """What a server answers, one result after the other; the last one again and again.

    Attributes:
        results: the results.
        sent: how many were sent.
    """

    results: Sequence[Json]
    sent: int = 0

    def turn(self, params: Json, principal: str) -> Json:
        """The next result, whatever comes."""
        at = min(self.sent, len(self.results) - 1)
        self.sent += 1
        return self.results[at]


@dataclass(slots=True)
class User:
    """Answers questions, each in its own way.

    Attributes:
        given: the responses by key and question, in the order of asking.
    """

    rng: Random
    given: list[tuple[str, Any, Json]] = field(default_factory=list[tuple[str, Any, Json]])

    def answer(self, key: Any, question: Any) -> Json:
        """The response to one question."""
        chosen = self.rng.choice(["accept", "accept", "accept", "decline", "cancel"])
        response: Json = {"action": chosen}
        if chosen == "accept":
            response["content"] = {"value": f"answer {self.rng.randrange(10_000)}"}
        self.given.append((str(key), question, response))
        return dict(response)


@dataclass(frozen=True, slots=True)
class Case:
    """A kind of server, and the rule that it is about."""

    what: str
    make: Callable[[Random], Sequence[Json]]
    rule: Rule


def _question(rng: Random) -> Json:
    return form(f"Question {rng.randrange(10_000)}?", value={"type": "string"})


def _keys(rng: Random, count: int) -> list[str]:
    return rng.sample(["day", "seat", "1", "2", "consent", "a b", "Kürzel", "requestState"], count)


def _state(rng: Random) -> str:
    return rng.choice(
        [f"state-{rng.randrange(10_000)}", f'{{"step": {rng.randrange(10)}}}', f" ={rng.random()} "]
    )


def _end(rng: Random) -> Json:
    return says(f"Done, with number {rng.randrange(10_000)}.")


def _nothing(rng: Random) -> Sequence[Json]:
    return [_end(rng)]


def _one(rng: Random) -> Sequence[Json]:
    (key,) = _keys(rng, 1)
    return [asks({key: _question(rng)}, _state(rng)), _end(rng)]


def _two(rng: Random) -> Sequence[Json]:
    first, second = _keys(rng, 2)
    return [asks({first: _question(rng), second: _question(rng)}, _state(rng)), _end(rng)]


def _rounds(rng: Random) -> Sequence[Json]:
    first, second, third = _keys(rng, 3)
    return [
        asks({first: _question(rng)}, _state(rng)),
        asks({second: _question(rng)}, _state(rng)),
        asks({third: _question(rng)}, _state(rng)),
        _end(rng),
    ]


def _no_state(rng: Random) -> Sequence[Json]:
    (key,) = _keys(rng, 1)
    return [asks({key: _question(rng)}, None), _end(rng)]


def _state_once(rng: Random) -> Sequence[Json]:
    first, second = _keys(rng, 2)
    return [asks({first: _question(rng)}, _state(rng)), asks({second: _question(rng)}, None), _end(rng)]


def _empty_state(rng: Random) -> Sequence[Json]:
    (key,) = _keys(rng, 1)
    return [asks({key: _question(rng)}, ""), _end(rng)]


def _state_alone(rng: Random) -> Sequence[Json]:
    return [asks(None, _state(rng)), asks(None, _state(rng)), _end(rng)]


def _ten(rng: Random) -> Sequence[Json]:
    keys = [key for _ in range(2) for key in _keys(rng, MAX_RETRIES // 2)]
    return [*(asks({key: _question(rng)}, _state(rng)) for key in keys), _end(rng)]


def _endless(rng: Random) -> Sequence[Json]:
    (key,) = _keys(rng, 1)
    return [asks({key: _question(rng)}, _state(rng))]


CASES: Final = (
    Case("needs nothing", _nothing, SAME_REQUEST),
    Case("asks one question", _one, ANSWERED),
    Case("asks two questions at once", _two, ANSWERED),
    Case("asks three questions, one after the other", _rounds, ECHOED),
    Case("asks, and gives no state", _no_state, NOT_INVENTED),
    Case("gives a state with its first question alone", _state_once, NOT_INVENTED),
    Case("gives an empty state", _empty_state, ECHOED),
    Case("asks nothing, and gives a state", _state_alone, AT_ONCE),
    Case(f"asks {MAX_RETRIES} questions, one after the other", _ten, ANSWERED),
    Case("asks again and again, without an end", _endless, NO_LIMIT),
)


def grade(answer: object, learner: Learner) -> Passed:
    """Play the story against every kind of server."""
    for case in CASES:
        for transport, seed in worlds():
            rng = Random(f"loop:{case.what}:{seed}")
            script, user = Script(case.make(rng)), User(rng)
            call: Json = {"name": TOOL, "arguments": {"city": rng.choice(["Pau", "Pisa", "Lyon"])}}
            run = learner.play(
                answer,
                {"name": TOOL, "arguments": dict(call["arguments"])},
                user.answer,
                server=ScriptedServer(_turn(script)),
                client=Client(capabilities=CAN_ASK),
                transport=transport,
                seed=seed,
                title=TITLE,
                judge=partial(_judge, case, call, user),
            )
            _judge_value(case, answer, run.value, run.recording)
            require_valid(run.recording)
    return Passed(
        f"{len(CASES)} kinds of servers, and each got its answers, its state and nothing else; the one that "
        "never stops was given up."
    )


def _turn(script: Script) -> Turn:
    return script.turn


def _judge(case: Case, call: Json, user: User, recording: Recording) -> None:
    server = f"A server {case.what}."
    sent = exchanges(recording, CALL)
    if not sent:
        raise NotYet(
            f"{server} The story sends no `{CALL}`.",
            None,
            f'`await client.request("{CALL}", call)` sends one.',
        )
    ids = [repr(one.request.id) for one in sent]
    if len(set(ids)) < len(ids):
        raise NotYet(
            f"{server} Two requests have one id: {', '.join(ids)}.",
            NEW_ID,
            "`client.request` takes a new id by itself.",
        )
    responses = _rounds_of(user)
    for number, one in enumerate(sent, 1):
        params = {key: value for key, value in (one.request.params or {}).items() if key != "_meta"}
        before = sent[number - 2].result if number > 1 else None
        _judge_request(server, number, params, call)
        if number == 1:
            _judge_first(server, params)
        elif before is None or before.get("resultType") != "input_required":
            raise NotYet(
                f"{server} Request {number} follows, although answer {number - 1} was complete.",
                SAME_REQUEST,
                'Go on as long as the `resultType` is `"input_required"`, and no longer.',
            )
        else:
            _judge_state(server, number, params, before)
            _judge_responses(server, number, params, before, responses)
    _judge_end(case, server, sent)


def _rounds_of(user: User) -> dict[tuple[str, str], list[Json]]:
    """What the user answered, by key and by question."""
    found: dict[tuple[str, str], list[Json]] = {}
    for key, question, response in user.given:
        found.setdefault((key, repr(question)), []).append(response)
    return found


def _judge_request(server: str, number: int, params: Json, call: Json) -> None:
    if {key: params.get(key) for key in call} != call:
        raise NotYet(
            f"{server} Request {number} has the parameters {show(params)}; the call is {show(call)}.",
            SAME_REQUEST,
            "Send `call` with every request: name and arguments as they are. `{**call, …}` adds to it.",
        )


def _judge_first(server: str, params: Json) -> None:
    for member in ("requestState", "inputResponses"):
        if member in params:
            raise NotYet(
                f"{server} The first request has `{member}`: {show(params[member])}.",
                NOT_INVENTED if member == "requestState" else SAME_REQUEST,
                "Send `call` alone first. There is nothing to answer yet.",
            )


def _judge_state(server: str, number: int, params: Json, before: Json) -> None:
    if "requestState" not in before:
        if "requestState" in params:
            raise NotYet(
                f"{server} Answer {number - 1} has no `requestState`, and request {number} has "
                f"{show(params['requestState'])}.",
                NOT_INVENTED,
                "Begin each request with `call`, and not with the parameters of the one before.",
            )
        return
    if "requestState" not in params:
        raise NotYet(
            f"{server} Answer {number - 1} has the `requestState` {show(before['requestState'])}, and "
            f"request "
            f"{number} has none.",
            ECHOED,
            'An empty text is a state too: ask whether it is there, by `"requestState" in result`.'
            if before["requestState"] == ""
            else "Take it from the result, and put it into the parameters beside `inputResponses`.",
        )
    if params["requestState"] != before["requestState"]:
        raise NotYet(
            f"{server} Answer {number - 1} has the `requestState` {show(before['requestState'])}, and "
            f"request "
            f"{number} has {show(params['requestState'])}.",
            ECHOED,
            "Each answer brings a state of its own. Send the latest one, as it came.",
        )


def _judge_responses(
    server: str, number: int, params: Json, before: Json, responses: dict[tuple[str, str], list[Json]]
) -> None:
    questions: Json = before.get("inputRequests", {})
    responded: Any = params.get("inputResponses", {})
    if not isinstance(responded, dict):
        raise NotYet(
            f"{server} Request {number} has the `inputResponses` {show(responded)}.",
            KEYS,
            "`inputResponses` is a dict: a response for each key of `inputRequests`.",
        )
    given = cast("Json", responded)
    for key, question in questions.items():
        if key not in given:
            raise NotYet(
                f"{server} Answer {number - 1} asks for {show(key)}, and request {number} brings "
                f"{show(sorted(map(str, given)))}.",
                ANSWERED,
                "A response for every key, under that key. Decline and cancel are responses too.",
            )
        if given[key] not in responses.get((key, repr(question)), []):
            raise NotYet(
                f"{server} Request {number} brings {show(given[key])} for {show(key)}; `answer` did not say "
                "that.",
                KEYS,
                "Call `answer(key, question)` for each question, and send what it returns as it is.",
            )


def _judge_end(case: Case, server: str, sent: Sequence[Exchange]) -> None:
    last = sent[-1].result
    retries = len(sent) - 1
    if case.rule is NO_LIMIT:
        if retries > MAX_RETRIES:
            raise NotYet(
                f"{server} It was asked {retries} times more.",
                NO_LIMIT,
                f"Give up after {MAX_RETRIES} retries, and return None.",
            )
        if retries < 3:
            raise NotYet(
                f"{server} It was given up after {retries} retries.",
                NO_LIMIT,
                f"Several rounds are allowed. Give up after {MAX_RETRIES} retries.",
            )
        return
    if last is None:
        raise NotYet(
            f"{server} Its last answer is {sent[-1].said()}.", case.rule, "What was wrong with the request?"
        )
    if last.get("resultType") == "input_required":
        asked = (
            "asks for " + show(list(last["inputRequests"]))
            if "inputRequests" in last
            else "has a state alone"
        )
        if retries == MAX_RETRIES - 1:
            raise NotYet(
                f"{server} Answer {len(sent)} {asked}. It was given up after {retries} retries.",
                NO_LIMIT,
                f"{MAX_RETRIES} retries are {MAX_RETRIES + 1} requests: the first one is no retry.",
            )
        raise NotYet(
            f"{server} Answer {len(sent)} is not the end: it {asked}. Nothing follows.",
            AT_ONCE if "inputRequests" not in last else ANSWERED,
            "Send the call again, with what the answer asks for, for as long as it asks.",
        )


def _judge_value(case: Case, answer: object, value: object, recording: Recording) -> None:
    server = f"A server {case.what}."
    if case.rule is NO_LIMIT:
        if value is not None:
            raise NotYet(
                f"{server} {name_of(answer)} returned {show(value)}; it should return None.",
                NO_LIMIT,
                "A request that was given up has no result.",
                recording,
            )
        return
    last = exchanges(recording, CALL)[-1].result or {}
    returned = cast("Json", value) if isinstance(value, dict) else {}
    if not last or as_json(returned.get("content")) != as_json(last.get("content")):
        raise NotYet(
            f"{server} {name_of(answer)} returned {show(cast('Any', value))}; the last result has the "
            f"content "
            f"{show(last.get('content'))}.",
            None,
            "Return the last result, as `client.request` returns it.",
            recording,
        )


TITLE: Final = "Round after round"

TASK: Final = Task(
    name="loop",
    title=TITLE,
    text=f"""\
Write the client's side of the rounds. The story gets a client, a call, and a function that answers
questions. Send the call. As long as the result is `input_required`, answer what it asks and send the call
again. Return the last result. If the server still asks after {MAX_RETRIES} retries, give up and return None.

- `call` are the parameters of a `{CALL}`: a dict with `name` and `arguments`.
- `answer(key, question)` returns the response to one of the `inputRequests`, a dict.
- `await client.request("{CALL}", params)` sends one request, under an id of its own, and returns its result
  as a dict, `input_required` or not.

A server may ask nothing and give a state; it may ask and give none; it may ask several things at once, and in
several rounds.""",
    answer="call_in_rounds",
    starter='''\
async def call_in_rounds(client, call, answer):
    """Send the call until its result is complete, and return that; or None after ten retries."""
    return ...''',
    hints=(
        "Three steps for each round: look at `resultType`; make the parameters of the next request from "
        "`call`, "
        "the answers and the state; send it.",
        "Begin each retry with a fresh copy of `call`. What one answer brought is for the very next request "
        "and "
        "for no other.",
        '`if "requestState" in result:` finds a state that is empty, too. `result.get("inputRequests", {})` '
        "is "
        "empty where nothing is asked.",
    ),
    solution=(
        """\
def retry_of(call, result, answer):
    retry = dict(call)
    if "inputRequests" in result:
        asked = result["inputRequests"].items()
        retry["inputResponses"] = {key: answer(key, question) for key, question in asked}
    if "requestState" in result:
        retry["requestState"] = result["requestState"]
    return retry""",
        """\
async def call_in_rounds(client, call, answer):
    result = await client.request("tools/call", call)
    retries = 0
    while result["resultType"] == "input_required":
        if retries == 10:
            return None
        retries += 1
        result = await client.request("tools/call", retry_of(call, result, answer))
    return result""",
    ),
    why="Each request is made from the call and from the latest result, and from nothing else. So nothing "
    "old "
    "can get into it.",
    grade=grade,
    points=20,
    pages=(
        ("client requirements", "basic/patterns/mrtr#client-requirements-basic-workflow"),
        ("results that ask", "basic/patterns/mrtr#inputrequiredresult"),
    ),
    play="""\
VALUES = {"day": {"day": "2026-09-01"}, "consent": {"agreed": True}}
say = lambda key, question: {"action": "accept", "content": VALUES[key]}
call = {"name": "book_trip", "arguments": {"city": "Pisa"}}
user = Client(capabilities={"elicitation": {}})
simulate(lambda client: call_in_rounds(client, call, say), server=travel_desk(), client=user, check=False)""",
)
