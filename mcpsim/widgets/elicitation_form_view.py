"""What an elicitation form shows, as plain data: the fields of a schema, what is wrong with it, what travels.

Pure functions. What a field may have is said in `mcpsim.utilities.elicitation`; here it is said to people.

https://modelcontextprotocol.io/specification/2026-07-28/client/elicitation
https://modelcontextprotocol.io/specification/2025-11-25/client/elicitation
"""

from __future__ import annotations

import html
import json
import re
from collections.abc import Iterator, Mapping
from typing import Any, Final, cast

from mcpsim.eras.asking import RULES as ASKING_RULES
from mcpsim.eras.pages import spec_url
from mcpsim.eras.revisions import LATEST_MODERN
from mcpsim.errors import ElicitationSchemaError
from mcpsim.messages import Request, Response
from mcpsim.recording import Frame, Recording
from mcpsim.utilities.elicitation import (
    check_form,
    faults_of_value,
    is_form,
    is_url,
    kind_of,
    missing_fields,
    names_user,
    options_of,
)
from mcpsim.widgets.pretty import pretty
from mcpsim.widgets.reading import Conversation, read
from mcpsim.widgets.text import compact_text, cut, one_line, visible

MAX_TEXT: Final = 600
MAX_FIELDS: Final = 60
MAX_OPTIONS: Final = 200
MAX_SHOWN: Final = 6
ACCEPT: Final = "accept"
#: The three answers, and what each of them says.
ACTIONS: Final[Mapping[str, str]] = {
    ACCEPT: "Yes, and this is the data.",
    "decline": "No. An explicit refusal: the server may offer something else.",
    "cancel": "Closed without a choice, neither yes nor no: the server may ask again later.",
}
URL_ACTIONS: Final[Mapping[str, str]] = {
    **ACTIONS,
    ACCEPT: "Yes, I will go there. It does not say that anything is done there yet.",
}

_FORMATS: Final[Mapping[str, str]] = {
    "email": "an e-mail address",
    "uri": "a URI with its scheme, such as https://example.com/",
    "date": "a day, such as 2026-07-28",
    "date-time": "a day and time with its offset, such as 2026-07-28T10:30:00Z",
}
# What such a field is called. A field may be called so and be harmless: it is a hint, and nothing more.
_SECRET: Final = re.compile(
    r"passw(?:or)?d|passphrase|secret|credential|(?:api|private)[ _-]?key|(?:access|refresh)[ _-]?token"
    r"|card[ _-]?number|\bcvv\b",
    re.IGNORECASE,
)
_ADDRESS: Final = re.compile(
    r"([A-Za-z][A-Za-z0-9+.-]*://(?:[^/?#@]*@)?)(\[[^\]]*\]|[^/?#:@]*)(.*)", re.DOTALL
)


def form_data(question: Mapping[str, Any], server: str) -> dict[str, Any]:
    """A question as a form, as plain JSON values.

    Args:
        question: the parameters of an `elicitation/create`.
        server: which server asks: users have to see that.
    """
    by_url = question.get("mode") == "url"
    message: Any = question.get("message")
    return {
        "server": one_line(server, 100) or "(no name)",
        "message": visible(cut(message, MAX_TEXT)) if isinstance(message, str) else "(no message)",
        "mode": "url" if by_url else "form",
        "actions": [[name, text] for name, text in (URL_ACTIONS if by_url else ACTIONS).items()],
        **(_visit(question) if by_url else _form(question.get("requestedSchema"))),
    }


def _visit(question: Mapping[str, Any]) -> dict[str, Any]:
    url: Any = question.get("url")
    text = url if isinstance(url, str) else compact_text(url)
    match = _ADDRESS.fullmatch(text)
    parts = match.groups() if match is not None else ("", "", text)
    faults: list[str] = []
    if not isinstance(url, str) or not is_url(url):
        faults.append("This is no valid URL: this workbook's client refuses the question (-32602).")
    elif names_user(url):
        faults.append("The address holds a user's name: what stands before the @ is not the host.")
    if match is not None and not text.lower().startswith("https:"):
        faults.append("It is not https: what is typed there can be read on the way.")
    if any(label.startswith("xn--") for label in parts[1].lower().split(".")):
        faults.append(
            "The host is written in Punycode (xn--): in other letters it may look like another one."
        )
    return {
        "fields": [],
        # In full: whoever consents has to see all of it.
        "url": [visible(part) for part in parts],
        "faults": faults,
        "answerable": isinstance(url, str) and is_url(url),
    }


def _form(schema: Any) -> dict[str, Any]:
    given = _object(_object(schema).get("properties"))
    answerable = is_form(schema)
    faults = _sentences(_faults_of_whole(schema))
    if not answerable:
        faults.append(
            "This form cannot be shown: a form is a flat object of strings, numbers, integers, booleans and "
            "choices. This workbook's client refuses the question (-32602) and asks nobody."
        )
    if len(given) > MAX_FIELDS:
        answerable = False
        faults.append(f"The form has {len(given)} fields; at most {MAX_FIELDS} are shown here.")
    required: Any = _object(schema).get("required")
    needed = cast("list[Any]", required) if isinstance(required, list) else []
    return {
        "fields": [
            _field(name, field, required=name in needed) for name, field in list(given.items())[:MAX_FIELDS]
        ],
        "url": [],
        "faults": faults,
        "answerable": answerable,
    }


def _faults_of_whole(schema: Any) -> Iterator[str]:
    """What is wrong with a schema beside its fields."""
    if not isinstance(schema, Mapping):
        yield "There is no requestedSchema."
        return
    whole = dict(cast("Mapping[str, Any]", schema))
    fields: Any = whole.get("properties")
    if isinstance(fields, Mapping):
        # The fields are judged one by one.
        whole["properties"] = {str(name): {"type": "string"} for name in cast("Mapping[str, Any]", fields)}
    yield from _fault_of(whole)


def _fault_of(schema: Mapping[str, Any]) -> Iterator[str]:
    try:
        check_form(schema, ASKING_RULES[LATEST_MODERN])
    except ElicitationSchemaError as error:
        yield one_line(str(error).removeprefix("The schema of a form: "), 400)


def _sentences(texts: Iterator[str]) -> list[str]:
    return [_sentence(text) for text in texts]


def _field(name: str, field: Any, *, required: bool) -> dict[str, Any]:
    """A field as the browser needs it."""
    schema = _object(field)
    kind = kind_of(schema)
    title, description = schema.get("title"), schema.get("description")
    label = title if isinstance(title, str) and title else name
    faults = [_sentence(fault.removeprefix(f"{name}: ")) for fault in _fault_of(_alone(name, field))]
    if _SECRET.search(f"{name} {label}"):
        faults.append("This looks like a secret. A server MUST NOT ask for one with a form.")
    return {
        "name": name,
        "kind": "choice" if kind == "titled choice" else kind,
        "label": one_line(label, 120),
        "description": visible(cut(description, MAX_TEXT)) if isinstance(description, str) else "",
        "required": required,
        "hint": hint_of(schema, kind),
        "limits": {name: schema[name] for name in _LIMITS if _is_number(schema.get(name))},
        "format": schema.get("format") if schema.get("format") in _FORMATS else "",
        "options": _options(schema)[:MAX_OPTIONS],
        "default": schema.get("default"),
        "has_default": "default" in schema,
        "faults": faults,
    }


_LIMITS: Final = ("minLength", "maxLength", "minimum", "maximum", "minItems", "maxItems")


def _object(value: Any) -> Mapping[str, Any]:
    return cast("Mapping[str, Any]", value) if isinstance(value, Mapping) else {}


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _sentence(text: str) -> str:
    return text[:1].upper() + text[1:]


def _alone(name: str, field: Any) -> dict[str, Any]:
    return {"type": "object", "properties": {name: field}}


def _options(field: Mapping[str, Any]) -> list[list[str]]:
    """The options of a field: the value, and what stands for it."""
    values = options_of(field) or ()
    holder = _object(field.get("items")) if field.get("type") == "array" else field
    titled: Any = next((holder[name] for name in ("oneOf", "anyOf") if name in holder), None)
    names: Any = field.get("enumNames")
    titles: list[Any] = list(values)
    if isinstance(titled, list):
        titles = [_object(one).get("title") for one in cast("list[Any]", titled)]
    elif isinstance(names, list) and len(cast("list[Any]", names)) == len(values):
        titles = cast("list[Any]", names)
    return [
        [value, one_line(title if isinstance(title, str) else str(value), 120)]
        for value, title in zip(values, titles, strict=False)
        if isinstance(cast("Any", value), str)
    ]


def hint_of(field: Mapping[str, Any], kind: str) -> str:
    """What may be filled in, in plain words; "" where anything may."""
    low, high, what = {
        "string": ("minLength", "maxLength", "characters"),
        "choices": ("minItems", "maxItems", "of these"),
    }.get(kind, ("minimum", "maximum", ""))
    told: list[str] = []
    name: Any = field.get("format")
    if kind == "string" and isinstance(name, str) and name in _FORMATS:
        told.append(_FORMATS[name])
    if kind in ("number", "integer"):
        told.append("a whole number" if kind == "integer" else "a number")
    if kind in ("string", "number", "integer", "choices"):
        least, most = field.get(low), field.get(high)
        if _is_number(least) and least == most:
            told.append(f"exactly {least} {what}".strip())
        elif _is_number(least) and _is_number(most):
            told.append(f"{least} to {most} {what}".strip())
        elif _is_number(least):
            told.append(f"{least} or more {what}".strip())
        elif _is_number(most):
            told.append(f"at most {most} {what}".strip())
    if "default" in field and kind in ("string", "number", "integer"):
        told.append("empty for the default")
    return ", ".join(told)


def faults_of_answer(schema: Mapping[str, Any], content: Mapping[str, Any]) -> dict[str, list[str]]:
    """What is wrong with what was filled in, by field; "" for what belongs to no field."""
    fields: Mapping[str, Any] = schema.get("properties", {})
    faults = {name: ["is required."] for name in missing_fields(schema, content)}
    for name, value in content.items():
        if name not in fields:
            faults.setdefault("", []).append(f"{one_line(name, 40)}: the form has no such field.")
        elif found := list(faults_of_value(fields[name], value)):
            faults[name] = found
    return faults


def travelled(recording: Recording) -> list[dict[str, str]]:
    """The messages of the client that carried answers of its user: what each is, and its JSON.

    A legacy client responds to the server's own request. A modern one sends its request again, with
    `inputResponses`.
    """
    conversation = read(recording)
    found: list[dict[str, str]] = []
    for frame in recording.frames:
        what = _carries(frame, conversation)
        if what:
            found.append({"what": what, "json": pretty(json.loads(frame.body)).text})
    return found[-MAX_SHOWN:]


def _carries(frame: Frame, conversation: Conversation) -> str:
    match frame.parsed:
        case Response():
            call = conversation.readings[frame.number].call
            if call is not None and call.request.method == "elicitation/create":
                return "The response to the server's request elicitation/create"
        case Request(method=method, params=params) if "inputResponses" in (params or {}):
            return f"The request {method} once more, with inputResponses"
        case _:
            pass
    return ""


def answer_json(action: str, content: Mapping[str, Any] | None) -> str:
    """The answer alone, as JSON."""
    return pretty({"action": action} if content is None else {"action": action, "content": content}).text


URLS: Final = tuple(spec_url(era, "client/elicitation") for era in ("modern", "legacy"))


def form_text(data: Mapping[str, Any]) -> str:
    """The form as text."""
    form = data["form"]
    if form is None:
        return "\n".join([data["title"], *data["history"], data["status"]])
    lines = [f"{data['title']}: {form['server']} asks", form["message"]]
    if form["mode"] == "url":
        lines.append(f"Address: {''.join(form['url'])} (host: {form['url'][1]})")
    for field in form["fields"]:
        mark = " (required)" if field["required"] else ""
        hint = f": {field['hint']}" if field["hint"] else ""
        lines.append(f"- {field['label']}{mark}{hint}")
        lines += [f"    {title}" for _, title in field["options"][:20]]
        lines += [f"  ! {fault}" for fault in field["faults"]]
    lines += [f"! {fault}" for fault in form["faults"]]
    lines += [f"{name}: {text}" for name, text in form["actions"]]
    return "\n".join([*lines, *data["history"], data["status"], data["answer"]]).rstrip()


def form_html(data: Mapping[str, Any]) -> str:
    """The form as HTML that runs nothing and has nothing to fill in."""
    return f"<pre>{html.escape(form_text(data))}</pre>"
