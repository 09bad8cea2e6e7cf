"""Exercise: answer every kind of question that a server may put."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from random import Random
from typing import Any, Final, cast

from pydantic import ValidationError

from mcpsim.client import Client
from mcpsim.course.exercises.exercise import Passed, Task
from mcpsim.course.exercises.learner import Learner, is_placeholder
from mcpsim.course.exercises.set_04_stateless.worlds import SEEDS, worlds
from mcpsim.course.exercises.set_10_multi_round_trip.rules import ACTIONS, KEYS
from mcpsim.course.exercises.set_10_multi_round_trip.scripted import (
    CALL,
    TOOL,
    Json,
    ScriptedServer,
    as_json,
    asks,
    form,
    says,
)
from mcpsim.course.exercises.showing import name_of, show
from mcpsim.course.exercises.traffic import require_valid
from mcpsim.course.exercises.verdict import NotAttempted, NotYet, Rule
from mcpsim.eras.asking import parse_response
from mcpsim.eras.revisions import LATEST_MODERN

FORM_MODE: Final = Rule(
    "Clients MUST treat an elicitation without a `mode` as one in form mode.",
    "client/elicitation#elicitation-requests",
)
CONSENT: Final = Rule(
    "Clients MUST NOT open the URL without explicit consent of the user, and MUST show the full URL before.",
    "client/elicitation#safe-url-handling",
)
WRITTEN: Final = Rule(
    "A sampling result has a `role`, the `content`, and the `model` that generated it.",
    "client/sampling#result-fields",
)
LISTED: Final = Rule(
    "The client's result for `roots/list` has a list `roots`, each with a `uri`.",
    "client/roots#listing-roots",
)

ELICIT: Final = "elicitation/create"
SAMPLE: Final = "sampling/createMessage"
LIST_ROOTS: Final = "roots/list"


@dataclass(slots=True)
class Host:
    """What a host offers to the function: the user, the model, the folders.

    Attributes:
        model: the model's name.
        folders: the URIs of the user's folders.
        asked: what was done, for the check.
    """

    model: str
    folders: list[str]
    filled: Json | str
    consent: str
    text: str
    asked: list[tuple[Any, ...]] = field(default_factory=list[tuple[Any, ...]])

    def fill_in(self, message: Any, schema: Any) -> Json | str:
        """Show a form: what the user filled in, as a dict; or "decline", or "cancel"."""
        self.asked.append(("fill_in", message, schema))
        return dict(self.filled) if isinstance(self.filled, dict) else self.filled

    def visit(self, message: Any, url: Any) -> str:
        """Show a URL and ask whether to open it: "accept", "decline" or "cancel"."""
        self.asked.append(("visit", message, url))
        return self.consent

    def write(self, messages: Any, max_tokens: Any) -> str:
        """Let the model write, if the user agrees: the text."""
        self.asked.append(("write", messages, max_tokens))
        return self.text


@dataclass(frozen=True, slots=True)
class Case:
    """One question, what the host is to be asked, and which response is right."""

    what: str
    question: Json
    host: Host
    asked: tuple[Any, ...] | None
    rule: Rule

    def is_right(self, response: Mapping[str, Any]) -> bool:
        """Whether it says what the host said, and nothing else."""
        match self.question["method"]:
            case "elicitation/create":
                return self._is_right_action(response)
            case "sampling/createMessage":
                content: Any = response.get("content")
                blocks = cast("list[Any]", content) if isinstance(content, list) else [content]
                texts = [_member(block, "text") for block in blocks]
                return (
                    response.get("role") == "assistant"
                    and response.get("model") == self.host.model
                    and texts == [self.host.text]
                )
            case _:
                roots: Any = response.get("roots")
                listed = cast("list[Any]", roots) if isinstance(roots, list) else []
                uris = [_member(one, "uri") for one in listed]
                return uris == self.host.folders

    def _is_right_action(self, response: Mapping[str, Any]) -> bool:
        by_url = self.question["params"].get("mode") == "url"
        said = self.host.consent if by_url else self.host.filled
        if isinstance(said, dict):
            return response.get("action") == "accept" and response.get("content") == said
        # In a form `content` is typically left out when the user did not accept; by URL it always is.
        is_bare = "content" not in response or (not by_url and response["content"] == {})
        return response.get("action") == said and is_bare


def _member(value: Any, name: str) -> Any:
    return cast("Json", value).get(name) if isinstance(value, dict) else None


def grade(answer: object, learner: Learner) -> Passed:
    """Ask the function about every kind of question, then let a client use it."""
    cases = list(_cases())
    values = [
        (case, learner.call(answer, case.question, case.host, on=f"a question that is {case.what}"))
        for case in cases
    ]
    if all(is_placeholder(value) for _, value in values):
        raise NotAttempted
    for case, value in values:
        _judge(answer, case, value)
    _on_the_wire(answer, learner)
    return Passed(
        f"{len(cases)} questions of all kinds are answered as the user, the model and the host would, and a "
        "server took the answers."
    )


def _judge(answer: object, case: Case, value: object) -> None:
    method = case.question["method"]
    seen = f"The question is {case.what}. {name_of(answer)} returned {show(value)}."
    if not isinstance(value, dict):
        raise NotYet(seen, KEYS, "Return the response as a dict.")
    text = as_json(cast("Any", value))
    if text is None:
        raise NotYet(
            seen, KEYS, "What JSON cannot carry cannot be sent: use dicts, lists, texts and numbers."
        )
    response: Json = json.loads(text)
    if case.host.asked != ([case.asked] if case.asked is not None else []):
        if [one[0] for one in case.host.asked] == [case.asked[0] if case.asked is not None else ""]:
            (called,) = case.host.asked
            raise NotYet(
                f"{seen} On the way it called `host.{called[0]}` with {show(list(called[1:]))}; it should be "
                f"{show(list(case.asked[1:]) if case.asked is not None else [])}.",
                None,
                "Hand on what the question says, each part in its place.",
            )
        wanted = case.asked[0] if case.asked is not None else "nothing"
        done = ", ".join(str(one[0]) for one in case.host.asked) or "nothing"
        raise NotYet(
            f"{seen} On the way it asked the host for {done}; it should ask for {wanted}, with what the "
            "question says.",
            case.rule,
            f"Look at `method` ({show(method)}) and at `mode`, then at what that function of the host takes.",
        )
    try:
        parse_response(method, LATEST_MODERN, response)
    except ValidationError as error:
        fault = error.errors(include_url=False, include_input=False)[0]
        where = ".".join(map(str, fault["loc"]))
        raise NotYet(
            f"{seen} That is no response to {method}: {where}: {fault['msg']}.",
            case.rule,
            "Which members does the client's result have on the page?",
        ) from None
    if not case.is_right(response):
        raise NotYet(f"{seen} {_said(case)}", case.rule, _look(method, response))


def _look(method: str, response: Json) -> str:
    if method == SAMPLE:
        return "The text and the name are the host's, and the `role` of what a model says is `assistant`."
    if method == ELICIT and "content" in response:
        return (
            "`content` holds what the user filled in, where they accepted a form. Otherwise leave it out: "
            "null is no object."
        )
    return "The response says what the host said, no more."


def _said(case: Case) -> str:
    host = case.host
    said = {
        "fill_in": f"The user's part was {show(host.filled)}.",
        "visit": f"The user said {show(host.consent)}.",
        "write": f"The model {host.model} wrote {show(host.text)}.",
    }
    return said[case.asked[0]] if case.asked is not None else f"The folders are {show(host.folders)}."


def _host(rng: Random, filled: Json | str = "cancel", consent: str = "cancel") -> Host:
    folders = [
        f"file:///home/user/{name}" for name in rng.sample(["travel", "letters", "photos", "notes"], 2)
    ]
    return Host(
        f"model-{rng.randrange(100)}", folders, filled, consent, f"A text, number {rng.randrange(1000)}."
    )


def _form(rng: Random, *, named: bool) -> Json:
    name = rng.choice(["city", "colour", "title"])
    question = form(f"Which {name}, please? ({rng.randrange(1000)})", **{name: {"type": "string"}})
    if not named:
        del question["params"]["mode"]
    return question


def _of_form(rng: Random, what: str, *, named: bool, filled: Json | str, rule: Rule) -> Case:
    question = _form(rng, named=named)
    params = question["params"]
    if filled == {}:
        params["requestedSchema"]["required"] = []
    if filled == "accept":
        filled = {name: f"answer {rng.randrange(1000)}" for name in params["requestedSchema"]["properties"]}
    asked = ("fill_in", params["message"], params["requestedSchema"])
    return Case(what, question, _host(rng, filled), asked, rule)


def _of_url(rng: Random, consent: str) -> Case:
    url = f"https://travel.example/sign-in/{rng.randrange(1000)}"
    params = {"mode": "url", "message": f"Please sign in. ({rng.randrange(1000)})", "url": url}
    what = f"an elicitation by URL, and the user's part is {consent!r}"
    return Case(
        what,
        {"method": ELICIT, "params": params},
        _host(rng, consent=consent),
        ("visit", params["message"], url),
        ACTIONS if consent == "accept" else CONSENT,
    )


def _cases() -> Iterator[Case]:
    for seed in SEEDS:
        rng = Random(f"respond:{seed}")
        yield _of_form(rng, "a form that is filled in", named=True, filled="accept", rule=ACTIONS)
        yield _of_form(rng, "a form without a `mode`", named=False, filled="accept", rule=FORM_MODE)
        yield _of_form(rng, "a form that is declined", named=True, filled="decline", rule=ACTIONS)
        yield _of_form(rng, "a form that is closed", named=True, filled="cancel", rule=ACTIONS)
        yield from (_of_url(rng, consent) for consent in ("accept", "decline", "cancel"))
        messages = [{"role": "user", "content": {"type": "text", "text": f"Write {rng.randrange(1000)}."}}]
        params: Json = {"messages": messages, "maxTokens": rng.randrange(10, 99)}
        asked = ("write", messages, params["maxTokens"])
        yield Case("sampling", {"method": SAMPLE, "params": params}, _host(rng), asked, WRITTEN)
        yield Case("`roots/list`", {"method": LIST_ROOTS}, _host(rng), None, LISTED)
        yield _of_form(
            rng, "a form that is sent with no field filled in", named=True, filled={}, rule=ACTIONS
        )


async def _answer_all(answer: object, learner: Learner, hosts: Mapping[str, Host], client: Client) -> Any:
    call: Json = {"name": TOOL, "arguments": {"city": "Pau"}}
    asked = await client.request(CALL, call)
    responses = {
        key: learner.call(answer, question, hosts[key]) for key, question in asked["inputRequests"].items()
    }
    return await client.request(CALL, {**call, "inputResponses": responses})


def _on_the_wire(answer: object, learner: Learner) -> None:
    """One call with a question of each kind, all at once."""
    for transport, seed in worlds():
        cases = [case for case in _cases() if isinstance(case.host.filled, dict) or case.asked is None][:3]
        questions = {f"question {number}": case.question for number, case in enumerate(cases, 1)}
        hosts = {f"question {number}": case.host for number, case in enumerate(cases, 1)}

        run = learner.play(
            partial(_answer_all, answer, learner, hosts),
            server=ScriptedServer(_asking(questions)),
            client=Client(capabilities={"elicitation": {"form": {}}, "roots": {}}),
            transport=transport,
            seed=seed,
            title=TITLE,
            written=answer,
        )
        require_valid(run.recording)


def _asking(questions: Json) -> Any:
    def turn(params: Json, principal: str) -> Json:
        return says("Planned.") if "inputResponses" in params else asks(questions, None)

    return turn


TITLE: Final = "An answer to every kind of question"

TASK: Final = Task(
    name="respond",
    title=TITLE,
    text="""\
Write the function that answers one question of a server, whichever kind it is. `question` is one of the
values of `inputRequests`: a dict with `method` and, but for `roots/list`, `params`. Return what goes into
`inputResponses`: the client's result for it, a dict.

`host` stands for the program around the client:

- `host.fill_in(message, schema)` shows a form. It returns what the user filled in, a dict; or `"decline"`,
  or `"cancel"`.
- `host.visit(message, url)` shows a URL and asks whether to open it. It returns `"accept"`, `"decline"` or
  `"cancel"`.
- `host.write(messages, max_tokens)` lets the model write, and returns its text. `host.model` is its name.
- `host.folders` is a list of URIs.

The methods are `elicitation/create` (a form or a URL), `sampling/createMessage` and `roots/list`.""",
    answer="respond",
    starter='''\
def respond(question, host):
    """The client's result for one question of a server."""
    return ...''',
    hints=(
        "Begin with the method. For `elicitation/create` look at the mode next: a question without a mode "
        "is a "
        "form.",
        'A form that is filled in becomes `{"action": "accept", "content": …}`. Everything else that a user '
        "does "
        'with a form or a URL becomes `{"action": …}` alone.',
        'The model\'s text becomes `{"role": "assistant", "content": {"type": "text", "text": …}, "model": '
        "…}`; "
        'the folders become `{"roots": [{"uri": …}, …]}`.',
    ),
    solution=(
        """\
def elicited(params, host):
    if params.get("mode") == "url":
        return {"action": host.visit(params["message"], params["url"])}
    filled = host.fill_in(params["message"], params["requestedSchema"])
    if isinstance(filled, dict):
        return {"action": "accept", "content": filled}
    return {"action": filled}""",
        """\
def respond(question, host):
    params = question.get("params", {})
    if question["method"] == "elicitation/create":
        return elicited(params, host)
    if question["method"] == "roots/list":
        return {"roots": [{"uri": uri} for uri in host.folders]}
    text = host.write(params["messages"], params["maxTokens"])
    content = {"type": "text", "text": text}
    return {"role": "assistant", "content": content, "model": host.model}""",
    ),
    why="A response has the shape of its question's result. Decline and cancel are responses too: the server "
    "learns that nothing will come.",
    grade=grade,
    pages=(
        ("input responses", "basic/patterns/mrtr#inputresponses"),
        ("actions", "client/elicitation#response-actions"),
        ("sampling", "client/sampling#creating-messages"),
        ("roots", "client/roots#listing-roots"),
    ),
)
