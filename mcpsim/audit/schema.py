"""One rule for all bodies: what a message carries is what the schema of its revision says.

The official models of mcp-types know the schemas. The finding tells where the body differs. Where another
rule has named the fault already, this one is silent (see `mcpsim.audit.auditing`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import lru_cache
from itertools import islice
from typing import Any, Final, cast, get_args

from pydantic import TypeAdapter, ValidationError
from pydantic_core import ErrorDetails

from mcpsim.audit.eras import RESULT_TYPE
from mcpsim.audit.gathering import INPUT_REQUIRED
from mcpsim.audit.model import Item
from mcpsim.audit.nulls import holds_null, nulls_of
from mcpsim.audit.rule import ALL, MUST, NOTE, Found, Rule, messages
from mcpsim.eras.bodies import models
from mcpsim.eras.revisions import era_of
from mcpsim.recording.words import show

ID: Final = "body-fits-its-schema"
SHOWN: Final = 3
COMPLETE: Final = "complete"
_WHAT: Final = {"request": "request", "notification": "notification", "response": "result"}
#: The kinds of faults that the models overlook where they may convert.
_CONVERTED: Final = frozenset({"bool_type", "float_type", "int_type"})
_QUESTION: Final = "InputRequiredResult"


def _surface(kind: str, sender: str) -> Mapping[tuple[str, str], Any]:
    """The models of what a side sends, by method and revision."""
    known = models()
    surfaces: Mapping[tuple[str, str], Mapping[tuple[str, str], Any]] = {
        ("request", "client"): known.CLIENT_REQUESTS,
        ("request", "server"): known.SERVER_REQUESTS,
        ("notification", "client"): known.CLIENT_NOTIFICATIONS,
        ("notification", "server"): known.SERVER_NOTIFICATIONS,
        # The result of a request is looked up on the side that answers.
        ("response", "server"): known.SERVER_RESULTS,
        ("response", "client"): known.CLIENT_RESULTS,
    }
    return surfaces[kind, sender]


@lru_cache(maxsize=512)
def _reader(kind: str, sender: str, method: str, revision: str, asks: bool) -> TypeAdapter[Any] | None:
    model = _surface(kind, sender).get((method, revision))
    if model is None:
        return None
    # What may ask has two models, and the one of a question has nothing that it must have: it would take any
    # result. `resultType` says which of them is meant.
    either: list[Any] = [one for one in get_args(model) if (one.__name__ == _QUESTION) == asks]
    wanted: Any = model
    for number, one in enumerate(either):
        wanted = wanted | one if number else one
    return TypeAdapter(wanted)


def _fits(item: Item) -> Iterator[Found]:
    if item.kind == "error" or not item.method or era_of(item.revision) != item.era:
        return
    kind = item.result.get(RESULT_TYPE, COMPLETE)
    if kind not in (COMPLETE, INPUT_REQUIRED):
        # A result of an extension, whose schema nobody knows here.
        return
    asks = kind == INPUT_REQUIRED
    reader = _reader(item.kind, item.sender, item.method, item.revision, asks)
    if reader is None:
        return
    if item.kind == "response" and _began_a_task(item):
        return
    body = item.value
    if item.kind == "response":
        # Whether it may be left out is for another rule to say.
        body = {RESULT_TYPE: COMPLETE, **item.result} if item.era == "modern" else item.result
    read, faults = _read(reader, body)
    if faults and all(one["type"] == _FRACTION for one in faults):
        text = f"{_sentence(item, faults)} schema.ts has any number there, schema.json a whole one."
        yield Found(item, text, level=NOTE)
    elif faults:
        yield Found(item, _sentence(item, faults))
        return
    if item.may_hold_null and holds_null(body) and (nulls := list(islice(nulls_of(read), SHOWN))):
        yield Found(
            item,
            f"This {show(item.method)} {_WHAT[item.kind]} is not what its schema says: null stands for "
            f"{', '.join(show(path)[1:-1] for path in nulls)}. A member that has no value is left out.",
            hint="Tell your serializer to leave out what is null. Strict readers refuse the whole message.",
        )


def _read(reader: TypeAdapter[Any], body: Any) -> tuple[Any, list[ErrorDetails]]:
    """The model that a body was read into, and where the body differs from it."""
    try:
        return reader.validator.validate_python(body, by_name=False, strict=True), []
    except ValidationError:
        # Strictly read, 5.0 is no integer; JSON does not tell it from 5.
        pass
    try:
        read = reader.validate_python(body, by_name=False)
    except ValidationError as error:
        return None, [one for one in error.errors(include_url=False) if not _is_contested(one)]
    try:
        reader.validate_python(_with_whole_numbers(body), by_name=False, strict=True)
    except ValidationError as error:
        return read, [one for one in error.errors(include_url=False) if _was_converted(one)]
    return read, []


def _with_whole_numbers(value: Any) -> Any:
    """A body where 5.0 is 5."""
    if isinstance(value, dict):
        members = cast("dict[str, Any]", value).items()
        return {name: _with_whole_numbers(one) for name, one in members}
    if isinstance(value, list):
        return [_with_whole_numbers(one) for one in cast("list[Any]", value)]
    return int(value) if isinstance(value, float) and value.is_integer() else value


def _was_converted(fault: ErrorDetails) -> bool:
    """Whether a value was taken for one of another type, as "5" for 5."""
    return fault["type"] in _CONVERTED and isinstance(fault["input"], str | int | float)


def _began_a_task(item: Item) -> bool:
    """Whether the answer is a task instead of the result: experimental in one revision, and no method's own
    result, so that the models do not know it."""
    return "task" in item.result and item.call is not None and "task" in item.call.request.params


#: What the models say of a number that is not whole.
_FRACTION: Final = "int_from_float"


def _is_contested(fault: ErrorDetails) -> bool:
    """Whether it is about a token with a fraction: the schema takes any number, the pages say integer."""
    return "progressToken" in fault["loc"] and isinstance(fault["input"], float)


def _sentence(item: Item, found: list[ErrorDetails]) -> str:
    faults: list[str] = []
    for one in found[:SHOWN]:
        path = ".".join(str(part) for part in one["loc"] if not _is_model(part))
        faults.append(f"{show(path)[1:-1] or 'the body'}: {one['msg']}")
    told = "; ".join(dict.fromkeys(faults))
    return f"This {show(item.method)} {_WHAT[item.kind]} is not what its schema says: {told}."


def _is_model(part: object) -> bool:
    """Whether a part of a path is the name of a model of a union, and not of a member."""
    return isinstance(part, str) and part[:1].isupper()


SCHEMA: Final[tuple[Rule, ...]] = (
    Rule(
        ID,
        MUST,
        "sender",
        ALL,
        {"modern": "schema", "legacy": "schema"},
        "A message has the members, of the types, that the schema of its revision gives it.",
        on=messages(),
        check=_fits,
    ),
)
