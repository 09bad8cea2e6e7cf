"""Elicitation by form: what may be asked, and whether the answer fits."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, Final, cast

from mcpsim.audit.model import Call
from mcpsim.audit.questions import (
    ASKING,
    HOLDING,
    Answer,
    Json,
    Question,
    answers,
    asks,
    mapping,
    sequence,
)
from mcpsim.audit.rule import MODERN, MUST, NOTE, SHOULD, Found, Rule, calls
from mcpsim.audit.rules.elicitation import METHOD, MODES, elicitations, mode_of, page
from mcpsim.eras.asking import AskingRules, rules_of
from mcpsim.eras.methods import ELICITING, URL_ELICITING
from mcpsim.errors import ElicitationSchemaError
from mcpsim.recording.words import plain, show
from mcpsim.utilities.elicitation import (
    FORMATS,
    check_form,
    faults_of_content,
    is_form,
    kind_of,
    missing_fields,
)

# --- The question ------------------------------------------------------------------------------------


def _has_its_params(call: Call) -> Iterator[Found]:
    for question in elicitations(call):
        fault = _lack(question)
        if fault:
            yield Found(question.item, f"{question.name} {fault}.")


def _lack(question: Question) -> str:
    params, rules = question.params, rules_of(question.revision)
    mode = mode_of(params) if rules.modes else "form"
    if mode not in MODES:
        return f"has the mode {show(params.get('mode'))}; there are form and url"
    if not isinstance(params.get("message"), str):
        return "has no message, which says why the user is asked"
    if mode == "form" and not isinstance(params.get("requestedSchema"), dict):
        return "has no requestedSchema, which says what is asked for"
    if mode == "url" and not isinstance(params.get("url"), str):
        return "has no url"
    if mode == "url" and rules.elicitation_ids and not isinstance(params.get("elicitationId"), str):
        return "has no elicitationId"
    return ""


def _forms(call: Call) -> Iterator[tuple[Question, Json]]:
    for question in elicitations(call):
        schema = question.params.get("requestedSchema")
        is_url = rules_of(question.revision).modes and mode_of(question.params) != "form"
        if not is_url and isinstance(schema, dict):
            yield question, cast("dict[str, Any]", schema)


def _is_flat(call: Call) -> Iterator[Found]:
    for question, schema in _forms(call):
        fault = _fault_of_form(schema, rules_of(question.revision))
        if fault:
            yield Found(
                question.item,
                f"{question.name} has a requestedSchema that no form can have: {fault}.",
                hint="A form is one object of strings, numbers, booleans and choices.",
            )


def _fault_of_form(schema: Json, rules: AskingRules) -> str:
    if schema.get("type") != "object":
        return f"its type is {show(schema.get('type'))}, and must be object"
    fields = schema.get("properties")
    if not isinstance(fields, dict):
        return "it has no properties"
    required = schema.get("required", [])
    if not isinstance(required, list) or not all(isinstance(one, str) for one in sequence(required)):
        return "required is no list of names"
    for name, field in cast("dict[str, Any]", fields).items():
        fault = _fault_of_field(field, rules)
        if fault:
            return f"{show(name)} {fault}"
    return ""


def _fault_of_field(field: Any, rules: AskingRules) -> str:
    if not isinstance(field, dict):
        return "is no object"
    members = cast("dict[str, Any]", field)
    kind = kind_of(members)
    if not kind or (kind == "choices" and not rules.choices):
        if "type" not in members:
            return "has no type"
        return f"has the type {show(members['type'])}"
    if kind == "choices":
        inner = mapping(members.get("items"))
        if not isinstance(inner.get("enum"), list) and not isinstance(inner.get("anyOf"), list):
            return "is a list of things that cannot be chosen from: items needs enum or anyOf"
    if kind == "string" and "format" in members and members["format"] not in FORMATS:
        return f"has the format {show(members['format'])}; there are {', '.join(FORMATS)}"
    return ""


def _makes_sense(call: Call) -> Iterator[Found]:
    for question, schema in _forms(call):
        rules = rules_of(question.revision)
        if _fault_of_form(schema, rules):
            continue
        try:
            check_form(_bare(schema, pattern=rules.elicitation_ids), rules)
        except ElicitationSchemaError as error:
            yield Found(question.item, f"{question.name}: {plain(str(error), 300)}")


def _bare(schema: Json, *, pattern: bool) -> dict[str, Any]:
    """A form without what says nothing about its answers."""
    left_out = _ANNOTATIONS | {"pattern"} if pattern else _ANNOTATIONS
    fields = {
        name: {member: value for member, value in mapping(field).items() if member not in left_out}
        for name, field in mapping(schema.get("properties")).items()
    }
    bare: dict[str, Any] = {"type": "object", "properties": fields}
    return {**bare, "required": schema["required"]} if "required" in schema else bare


_ANNOTATIONS: Final = frozenset({"examples", "$comment", "deprecated", "readOnly", "writeOnly"})


def _no_secrets(call: Call) -> Iterator[Found]:
    for question, schema in _forms(call):
        for name, field in mapping(schema.get("properties")).items():
            plain = _CAMEL.sub("_", name[:_LONGEST_NAME]).replace("-", "_").replace(" ", "_")
            if _SECRET.search(plain):
                sure = _SURELY_SECRET.fullmatch(plain) is not None and _is_free_text(mapping(field))
                yield Found(
                    question.item,
                    f"{question.name} asks for {show(name)} in a form, by its name a secret. Forms must not "
                    "ask for what gives access; url mode is for that.",
                    level=None if sure else NOTE,
                )
                break


def _is_free_text(field: Json) -> bool:
    """Whether a user may write into a field what they like."""
    return field.get("type") == "string" and not {"enum", "oneOf", "anyOf", "const"} & field.keys()


_LONGEST_NAME: Final = 100
_CAMEL: Final = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
_SECRET: Final = re.compile(
    r"(?:^|_)(?:pass_?word|passwd|pass_?phrase|pass_?code|pwd|pin|secret|api_?key|access_?key|private_?key|token"
    r"|credentials?|cvv|cvc|card_?number|credit_?card|otp|seed_?phrase)$",
    re.IGNORECASE,
)

#: Names of what the page itself gives as examples. A field of such a name holds nothing else.
_SURELY_SECRET: Final = re.compile(
    r"(?:(?:your|user|account|login|admin|root|db|database|current|old|new)_)?"
    r"(?:password|passwd|passphrase|api_?key|secret_key|client_secret|access_token|private_key"
    r"|(?:credit_)?card_number|cvv|cvc)",
    re.IGNORECASE,
)


def _no_links(call: Call) -> Iterator[Found]:
    for question, schema in _forms(call):
        message = question.params.get("message")
        if isinstance(message, str) and (link := _LINK.search(message)):
            invites = _INVITES.search(message) is not None
            yield Found(
                question.item,
                f"{question.name} has the URL {show(link[0])} in the message of a form"
                + (
                    ", probably for the user to open it."
                    if invites
                    else "; it is not to be opened from there."
                ),
                hint="Use url mode to send a user somewhere.",
                level=None if invites else NOTE,
            )
            continue
        for name, field in mapping(schema.get("properties")).items():
            link = next(filter(None, map(_LINK.search, _texts(mapping(field)))), None)
            if link is not None:
                yield Found(
                    question.item,
                    f"{question.name} has the URL {show(link[0])} beside its field {show(name)}; it is not "
                    "to be opened from there.",
                    level=NOTE,
                )
                break


def _texts(field: Json) -> Iterator[str]:
    for name in ("title", "description"):
        text = field.get(name)
        if isinstance(text, str):
            yield text


_LINK: Final = re.compile(r"https?://[^\s<>\"]+", re.IGNORECASE)
_INVITES: Final = re.compile(
    r"\b(?:visit|open|click|go to|follow|browse to|navigate|(?:log|sign) ?in at)\b", re.IGNORECASE
)


# --- The answer --------------------------------------------------------------------------------------


def _form_answers(call: Call) -> Iterator[tuple[Answer, Json]]:
    """Answers to forms that make sense, with the schema."""
    for answer in answers(call, METHOD):
        question = answer.question
        schema = question.params.get("requestedSchema")
        is_url = rules_of(question.revision).modes and mode_of(question.params) != "form"
        if not is_url and isinstance(schema, dict) and is_form(schema):
            yield answer, cast("dict[str, Any]", schema)


def _fault_of_answer(answer: Answer, schema: Json) -> str:
    """What is wrong with the content of a form that was accepted; "" where nothing is."""
    result = answer.result
    if result.get("action") != "accept":
        return ""
    content = result.get("content", {})
    if not isinstance(content, dict):
        return "content is no object"
    given = cast("dict[str, Any]", content)
    missing = missing_fields(schema, given)
    if missing:
        return f"{', '.join(map(show, missing[:5]))} is missing"
    known = {name: value for name, value in given.items() if name in schema["properties"]}
    return plain(" ".join(faults_of_content(schema, known)), 300).rstrip(".")


def _answer_fits(call: Call) -> Iterator[Found]:
    for answer, schema in _form_answers(call):
        fault = _fault_of_answer(answer, schema)
        if fault:
            yield Found(
                answer.item,
                f"{answer.name} does not fit the form: {fault}.",
                hint="Check what the user entered before it is sent.",
            )


def _answer_is_tidy(call: Call) -> Iterator[Found]:
    for answer in answers(call, METHOD):
        result, question = answer.result, answer.question
        action, has_content = result.get("action"), result.get("content") is not None
        is_url = mode_of(question.params) == "url"
        if action in ("decline", "cancel") and has_content:
            fault = f"has content with the action {action}; only accept brings content"
        elif action == "accept" and is_url and has_content:
            fault = "has content, and url mode brings none"
        elif action == "accept" and not is_url and not has_content:
            fault = "accepts a form and has no content"
        else:
            content = mapping(result.get("content"))
            fields = mapping(mapping(question.params.get("requestedSchema")).get("properties"))
            extra = [name for name in content if name not in fields]
            if not extra or not fields:
                continue
            fault = f"has {', '.join(map(show, extra[:5]))}, which the form does not have"
        yield Found(answer.item, f"{answer.name} {fault}.")


def _answer_is_checked(call: Call) -> Iterator[Found]:
    for answer, schema in _form_answers(call):
        fault = _fault_of_answer(answer, schema)
        outcome = _outcome(answer) if fault else None
        if outcome is None or outcome.answer is None:
            continue
        yield Found(
            outcome.answer,
            f"The server went on, and probably did not check the answer to its form: {fault}.",
            hint="Check the content against the form, and ask again where it does not fit.",
        )


def _outcome(answer: Answer) -> Call | None:
    """The client's request that went on with an answer; None where it failed, asked again or is unknown."""
    call = answer.call if answer.question.key else answer.call.parent
    if call is None or call.answer is None or call.answer.kind != "response" or asks(call.answer):
        return None
    if call.answer.index < answer.item.index or call.result.get("isError") is True:
        return None
    if not answer.question.key and call.request.exchange is not None:
        later = call.request.exchange.answers
        if any(one.method == METHOD and one.index > answer.item.index for one in later):
            return None
    return call


_ALL: Final = MODERN | ELICITING
ELICITATION_FORMS: Final[tuple[Rule, ...]] = (
    Rule(
        "elicitation-has-its-params",
        MUST,
        "server",
        _ALL,
        page("elicitation-requests"),
        "An elicitation has a message, and what its mode needs: a requestedSchema, or a url (and its id).",
        on=calls(*ASKING, among=HOLDING),
        check=_has_its_params,
    ),
    Rule(
        "elicitation-form-is-flat",
        MUST,
        "server",
        _ALL,
        page("requested-schema"),
        "A form is a flat object of strings, numbers, booleans and choices.",
        on=calls(*ASKING, among=HOLDING),
        check=_is_flat,
    ),
    Rule(
        "elicitation-form-makes-sense",
        NOTE,
        "server",
        _ALL,
        page("requested-schema"),
        "A form asks for what can be entered, with keywords that clients know.",
        on=calls(*ASKING, among=HOLDING),
        check=_makes_sense,
    ),
    Rule(
        "elicitation-form-asks-no-secrets",
        MUST,
        "server",
        _ALL,
        page("form-mode-security"),
        "A form does not ask for passwords, keys, tokens or the like.",
        on=calls(*ASKING, among=HOLDING),
        check=_no_secrets,
    ),
    Rule(
        "elicitation-form-has-no-links",
        SHOULD,
        "server",
        MODERN | URL_ELICITING,
        page("safe-url-handling"),
        "A form has no URLs that are meant to be opened.",
        on=calls(*ASKING, among=HOLDING),
        check=_no_links,
    ),
    Rule(
        "elicitation-answer-fits-the-form",
        SHOULD,
        "client",
        _ALL,
        page("form-mode-security"),
        "A client checks what the user entered against the form.",
        on=calls(*ASKING, among=HOLDING),
        check=_answer_fits,
    ),
    Rule(
        "elicitation-answer-is-tidy",
        NOTE,
        "client",
        _ALL,
        page("response-actions"),
        "Accepting a form brings the fields of the form; nothing else brings content.",
        on=calls(*ASKING, among=HOLDING),
        check=_answer_is_tidy,
    ),
    Rule(
        "elicitation-answer-is-checked",
        SHOULD,
        "server",
        _ALL,
        page("form-mode-security"),
        "A server checks the answer against the form before it goes on.",
        on=calls(*ASKING, among=HOLDING),
        check=_answer_is_checked,
    ),
)
