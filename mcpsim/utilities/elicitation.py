"""The forms of an elicitation: which schemas they may have, and which answers fit.

A form is a flat object of primitive fields, so that every client can show it. A server checks its schema
before it asks (`check_form`); both sides check the answer (`faults_of_content`).

https://modelcontextprotocol.io/specification/2026-07-28/client/elicitation#requested-schema
https://modelcontextprotocol.io/specification/2025-11-25/client/elicitation#requested-schema
https://modelcontextprotocol.io/specification/2025-06-18/client/elicitation#request-schema
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final, cast

from pydantic import BaseModel
from pydantic.errors import PydanticInvalidForJsonSchema, PydanticUserError

from mcpsim.eras.asking import AskingRules
from mcpsim.errors import ElicitationSchemaError
from mcpsim.messages import write_json

Schema = Mapping[str, Any]

FORMATS: Final = ("email", "uri", "date", "date-time")

_TEXTS: Final = frozenset({"title", "description"})
_FORM_MEMBERS: Final = frozenset({"$schema", "type", "properties", "required"})
_MEMBERS: Final[Mapping[str, frozenset[str]]] = {
    "string": frozenset({"type", "minLength", "maxLength", "format", "default"}) | _TEXTS,
    "number": frozenset({"type", "minimum", "maximum", "default"}) | _TEXTS,
    "integer": frozenset({"type", "minimum", "maximum", "default"}) | _TEXTS,
    "boolean": frozenset({"type", "default"}) | _TEXTS,
    "choice": frozenset({"type", "enum", "enumNames", "default"}) | _TEXTS,
    "titled choice": frozenset({"type", "oneOf", "default"}) | _TEXTS,
    "choices": frozenset({"type", "items", "minItems", "maxItems", "default"}) | _TEXTS,
}


def kind_of(field: Schema) -> str:
    """The kind of a field: "string", "number", "integer", "boolean", "choice", "titled choice", "choices",
    or "" for what is none of these."""
    type_ = field.get("type")
    if type_ == "string":
        return "choice" if "enum" in field else "titled choice" if "oneOf" in field else "string"
    if type_ == "array":
        return "choices"
    return type_ if isinstance(type_, str) and type_ in _MEMBERS else ""


def options_of(field: Schema) -> tuple[str, ...] | None:
    """The values that a field offers, in order; None for a field that offers none."""
    inner: Any = field.get("items") if field.get("type") == "array" else field
    if not isinstance(inner, Mapping):
        return None
    holder = cast("Schema", inner)
    if isinstance(holder.get("enum"), list):
        return tuple(holder["enum"])
    for name in ("oneOf", "anyOf"):
        options: Any = holder.get(name)
        if isinstance(options, list):
            return tuple(
                cast("Schema", one).get("const", "")
                for one in cast("list[Any]", options)
                if isinstance(one, Mapping)
            )
    return None


def form_of(schema: Schema | type[BaseModel]) -> dict[str, Any]:
    """A form's schema from what a handler gives: a JSON Schema, or a pydantic model class.

    A model's field that may be None becomes one that may be left out; an enumeration becomes a choice.

    Raises:
        ElicitationSchemaError: it is neither, or there is no JSON Schema for it.
    """
    if isinstance(schema, Mapping):
        return dict(schema)
    given: Any = schema
    if not (isinstance(given, type) and issubclass(given, BaseModel)):
        raise ElicitationSchemaError(f"A form is a JSON Schema or a pydantic model class, not {given!r}.")
    try:
        made = schema.model_json_schema(by_alias=True)
    except (PydanticInvalidForJsonSchema, PydanticUserError) as error:
        raise ElicitationSchemaError(f"{schema.__name__} has no JSON Schema: {error}") from None
    definitions: dict[str, Any] = made.get("$defs", {})
    fields = {name: _plain(field, definitions) for name, field in made.get("properties", {}).items()}
    form: dict[str, Any] = {"type": "object", "properties": fields}
    if made.get("required"):
        form["required"] = made["required"]
    return form


def _plain(field: Schema, definitions: Mapping[str, Any]) -> dict[str, Any]:
    """A field of a model's schema as a form has it: without references, null, and a title of the class."""
    plain = dict(field)
    reference: Any = plain.pop("$ref", None)
    if isinstance(reference, str):
        named = dict(definitions.get(reference.rpartition("/")[2], {}))
        named.pop("title", None)
        plain = {**named, **plain}
    several: Any = plain.get("anyOf")
    if isinstance(several, list):
        others = [one for one in cast("list[Any]", several) if one != {"type": "null"}]
        if len(others) == 1:
            del plain["anyOf"]
            plain = {**_plain(others[0], definitions), **plain}
    if plain.get("default", "") is None:
        del plain["default"]
    if isinstance(plain.get("items"), Mapping):
        plain["items"] = _plain(plain["items"], definitions)
        plain.pop("uniqueItems", None)
    # A Literal with one member.
    if isinstance(plain.get("const"), str) and "enum" not in plain:
        plain["enum"] = [plain.pop("const")]
    return plain


def check_form(schema: Schema, rules: AskingRules) -> None:
    """Check that a server may ask with this schema in the revision that it speaks.

    Raises:
        ElicitationSchemaError: it may not; the text names the field and the rule.
    """
    fault = next(_faults_of_form(schema, rules), None)
    if fault is not None:
        raise ElicitationSchemaError(f"The schema of a form: {fault}")


def _faults_of_form(schema: Schema, rules: AskingRules) -> Iterator[str]:
    if schema.get("type") != "object":
        yield f'its type must be "object", not {schema.get("type")!r}.'
    fields: Any = schema.get("properties")
    if not isinstance(fields, Mapping):
        yield "its properties must be an object."
        return
    yield from _strange("it", schema, _FORM_MEMBERS)
    required: Any = schema.get("required", [])
    if not _is_texts(required):
        yield "required must be a list of names."
        return
    for name in cast("list[str]", required):
        if name not in fields:
            yield f"required names {name!r}, which is no property."
    for name, field in cast("Mapping[str, Any]", fields).items():
        if not isinstance(field, Mapping):
            yield f"{name}: a field is an object."
            return
        yield from (f"{name}: {fault}" for fault in _faults_of_field(cast("Schema", field), rules))
    try:
        write_json(schema)
    except Exception as error:
        yield f"it cannot be sent. {error}"


def _faults_of_field(field: Schema, rules: AskingRules) -> Iterator[str]:
    kind = kind_of(field)
    if not kind:
        yield (
            f"the type {field.get('type')!r} is none that a form can have. A form is flat: its fields are "
            "strings, numbers, integers, booleans and choices."
        )
        return
    if kind in ("titled choice", "choices") and not rules.choices:
        yield f"this revision has no {kind}; a choice has type string, enum and (for titles) enumNames."
    if "default" in field and kind != "boolean" and not rules.defaults:
        yield "only a boolean has a default in this revision."
    yield from _strange("it", field, _MEMBERS[kind])
    for member in sorted(_TEXTS & field.keys()):
        if not isinstance(field[member], str):
            yield f"{member} must be a text."
    yield from _faults_of_limits(field)
    if kind in ("choice", "titled choice", "choices"):
        yield from _faults_of_options(field, kind)
    if "format" in field and field["format"] not in FORMATS:
        yield f"format must be one of {', '.join(FORMATS)}, not {field['format']!r}."
    if "default" in field:
        yield from (f"its default: {fault}" for fault in faults_of_value(field, field["default"]))


def _faults_of_limits(field: Schema) -> Iterator[str]:
    for low, high, whole in _LIMITS:
        for name in (low, high):
            limit = field.get(name, 0)
            if not _is_number(limit) or (whole and (not _is_whole(limit) or limit < 0)):
                yield f"{name} must be a {'whole ' if whole else ''}number, not {limit!r}."
                return
        if low in field and high in field and field[low] > field[high]:
            yield f"{low} is above {high}: nothing fits."


_LIMITS: Final = (
    ("minLength", "maxLength", True),
    ("minimum", "maximum", False),
    ("minItems", "maxItems", True),
)


def _faults_of_options(field: Schema, kind: str) -> Iterator[str]:
    holder: Any = field
    if kind == "choices":
        holder = field.get("items")
        if not isinstance(holder, Mapping):
            yield "items must be an object that says what there is to choose from."
            return
        yield from _strange("items", cast("Schema", holder), frozenset({"type", "enum", "anyOf"}))
        if "enum" in holder and cast("Schema", holder).get("type") != "string":
            yield 'the type of items must be "string".'
    options: Any = next(
        (cast("Schema", holder)[name] for name in ("enum", "oneOf", "anyOf") if name in holder), None
    )
    if not isinstance(options, list) or not options:
        yield "there must be a list of what there is to choose from, and something in it."
        return
    if "enum" in holder:
        if not _is_texts(cast("list[Any]", options)):
            yield "enum must be a list of texts."
    elif not all(map(_is_titled, cast("list[Any]", options))):
        yield "each option must be an object with const and title, both texts."
        return
    values = options_of(field) or ()
    if len(set(values)) < len(values):
        yield "an option stands there twice."
    names: Any = field.get("enumNames")
    if names is not None and not (_is_texts(names) and len(names) == len(values)):
        yield "enumNames must be a list with a text for each member of enum."


def _strange(what: str, holder: Schema, known: frozenset[str]) -> Iterator[str]:
    for member in holder:
        if member not in known:
            yield (
                f"{what} has the member {member!r}; here are allowed {', '.join(sorted(known))}. "
                "Clients need not look at anything else."
            )


def is_form(schema: Any) -> bool:
    """Whether a client can show a form for this schema: a flat object of fields of known kinds.

    Less strict than `check_form`: what a client does not know in a schema of a foreign server it leaves
    aside, and the server checks the answer again.
    """
    if not isinstance(schema, Mapping):
        return False
    found = cast("Schema", schema)
    fields: Any = found.get("properties")
    if found.get("type") != "object" or not isinstance(fields, Mapping):
        return False
    return _is_texts(found.get("required", [])) and all(
        isinstance(field, Mapping)
        and kind_of(cast("Schema", field))
        and not any(_faults_of_limits(cast("Schema", field)))
        for field in cast("Mapping[str, Any]", fields).values()
    )


def with_defaults(schema: Schema, content: Mapping[str, Any]) -> dict[str, Any]:
    """What a user filled in, with the defaults of the fields that were left alone, in the form's order."""
    fields: Mapping[str, Any] = schema.get("properties", {})
    filled = {
        name: content.get(name, field.get("default"))
        for name, field in fields.items()
        if name in content or "default" in field
    }
    return {**filled, **{name: value for name, value in content.items() if name not in filled}}


def missing_fields(schema: Schema, content: Mapping[str, Any]) -> list[str]:
    """The required fields that an answer does not have."""
    return [name for name in schema.get("required", ()) if name not in content]


def faults_of_content(schema: Schema, content: Mapping[str, Any]) -> list[str]:
    """What is wrong with an answer to a form, a sentence each; a field that is missing is not among it.

    A field that the form does not have is a fault: an answer holds what was asked for.
    """
    fields: Mapping[str, Any] = schema.get("properties", {})
    found: list[str] = []
    for name, value in content.items():
        if name not in fields:
            found.append(f"{name}: the form has no such field.")
        else:
            found += [f"{name}: {fault}" for fault in faults_of_value(fields[name], value)]
    return found


def faults_of_value(field: Schema, value: Any) -> Iterator[str]:
    """What is wrong with the value of one field."""
    kind = kind_of(field)
    if not _HAS_TYPE.get(kind, _is_anything)(value):
        yield f"must be {_TYPE_NAMES.get(kind, 'a primitive value')}, not {type(value).__name__}."
    elif kind == "string":
        yield from _faults_of_text(field, value)
    elif kind in ("number", "integer"):
        if "minimum" in field and value < field["minimum"]:
            yield f"must be {field['minimum']} or more."
        if "maximum" in field and value > field["maximum"]:
            yield f"must be {field['maximum']} or less."
    elif kind in ("choice", "titled choice"):
        options = options_of(field) or ()
        if value not in options:
            yield f"must be one of {_listed(options)}."
    elif kind == "choices":
        yield from _faults_of_selection(field, value)


def _faults_of_text(field: Schema, value: str) -> Iterator[str]:
    if len(value) < field.get("minLength", 0):
        yield f"must have {field['minLength']} characters or more."
    if "maxLength" in field and len(value) > field["maxLength"]:
        yield f"must have {field['maxLength']} characters or less."
    name = field.get("format")
    if isinstance(name, str) and name in _HAS_FORMAT and not _HAS_FORMAT[name](value):
        yield f"must be {_FORMAT_NAMES[name]}."


def _faults_of_selection(field: Schema, value: list[str]) -> Iterator[str]:
    if len(value) < field.get("minItems", 0):
        yield f"at least {field['minItems']} must be chosen."
    if "maxItems" in field and len(value) > field["maxItems"]:
        yield f"at most {field['maxItems']} may be chosen."
    options = options_of(field)
    if options is not None and any(one not in options for one in value):
        yield f"each must be one of {_listed(options)}."


def _listed(options: tuple[str, ...]) -> str:
    shown = ", ".join(map(repr, options[:10]))
    return shown if len(options) <= 10 else f"{shown} and {len(options) - 10} more"


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and value == value


def _is_whole(value: Any) -> bool:
    # JSON Schema counts 1.0 among the integers.
    return _is_number(value) and (isinstance(value, int) or cast("float", value).is_integer())


def _is_text(value: Any) -> bool:
    return isinstance(value, str)


def _is_texts(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(one, str) for one in cast("list[Any]", value))


def _is_titled(option: Any) -> bool:
    if not isinstance(option, Mapping):
        return False
    found = cast("Schema", option)
    return set(found) == {"const", "title"} and _is_texts([found["const"], found["title"]])


def _is_anything(value: Any) -> bool:
    return isinstance(value, str | int | float | bool)


_HAS_TYPE: Final[Mapping[str, Callable[[Any], bool]]] = {
    "string": _is_text,
    "number": _is_number,
    "integer": _is_whole,
    "boolean": lambda value: isinstance(value, bool),
    "choice": _is_text,
    "titled choice": _is_text,
    "choices": _is_texts,
}
_TYPE_NAMES: Final[Mapping[str, str]] = {
    "string": "a text",
    "number": "a number",
    "integer": "a whole number",
    "boolean": "true or false",
    "choice": "one of the options",
    "titled choice": "one of the options",
    "choices": "a list of options",
}

_DATE: Final = r"(\d{4})-(\d{2})-(\d{2})"
_EMAIL: Final = re.compile(r"[^\s@]+@[^\s@.]+(?:\.[^\s@.]+)*", re.ASCII)
_URI: Final = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:[^\s<>\"{}|\\^`]+", re.ASCII)
_DAY: Final = re.compile(_DATE, re.ASCII)
_TIME: Final = re.compile(
    _DATE + r"[Tt]([01]\d|2[0-3]):[0-5]\d:([0-5]\d|60)(?:\.\d+)?(?:[Zz]|[+-](?:[01]\d|2[0-3]):[0-5]\d)",
    re.ASCII,
)


def _is_date(match: re.Match[str] | None) -> bool:
    """Whether the first three groups are a day of the calendar."""
    if match is None:
        return False
    year, month, day = (int(part) for part in match.groups()[:3])
    leap = year % 4 == 0 and (year % 100 != 0 or year % 400 == 0)
    days = (31, 29 if leap else 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)
    return 1 <= month <= 12 and 1 <= day <= days[month - 1]


_HAS_FORMAT: Final[Mapping[str, Callable[[str], bool]]] = {
    "email": lambda value: _EMAIL.fullmatch(value) is not None,
    "uri": lambda value: _URI.fullmatch(value) is not None,
    "date": lambda value: _is_date(_DAY.fullmatch(value)),
    "date-time": lambda value: _is_date(_TIME.fullmatch(value)),
}
_FORMAT_NAMES: Final[Mapping[str, str]] = {
    "email": "an e-mail address",
    "uri": "a URI with its scheme, such as https://example.com/",
    "date": "a day, such as 2026-07-28",
    "date-time": "a day and time with its offset, such as 2026-07-28T10:30:00Z",
}


_MOMENT: Final = re.compile(
    _DATE
    + r"(?:[Tt]([01]\d|2[0-3]):[0-5]\d(?::(?:[0-5]\d|60)(?:[.,]\d+)?)?(?:[Zz]|[+-]\d{2}(?::?\d{2})?)?)?",
    re.ASCII,
)


def is_timestamp(value: str) -> bool:
    """Whether a text is a moment by ISO 8601, in its usual long form; it may be a day alone."""
    return _is_date(_MOMENT.fullmatch(value))


_WEB: Final = re.compile(r"https?:", re.ASCII | re.IGNORECASE)
_WEB_URL: Final = re.compile(
    r"https?://(?:[^/?#@]*@)?(?:\[[0-9A-Fa-f:.]+\]|[^/?#@:\[\]]+)(?::([0-9]*))?(?:[/?#].*)?",
    re.ASCII | re.IGNORECASE,
)
_USER: Final = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://[^/?#]*@", re.ASCII)
_LARGEST_PORT: Final = 65_535


def is_url(value: str) -> bool:
    """Whether a text is a URL that somebody can be sent to: a URI, and on the web one with a host."""
    if not is_uri(value):
        return False
    if _WEB.match(value) is None:
        return True
    match = _WEB_URL.fullmatch(value)
    return match is not None and (len(match[1] or "") <= 5 and int(match[1] or "0") <= _LARGEST_PORT)


def names_user(value: str) -> bool:
    """Whether a URL holds the name, or name and password, of whoever it lets in."""
    return _USER.match(value) is not None


def is_uri(value: str) -> bool:
    """Whether a text is an absolute URI, as far as one can see without asking anybody."""
    return _HAS_FORMAT["uri"](value)
