"""JSON Schemas that stand in a trace: whether they are valid, and whether a value fits one.

Schema and value come from strangers, and either may be made to keep a program busy. So there are bounds, and
what is beyond them, or of a dialect that is not known here, is not judged. Nothing is ever fetched, and no
regular expression of a schema is run: the keywords that need one are left out, which only makes a schema
allow more. Where that could make it allow less, as inside `not`, the value is not judged.

https://modelcontextprotocol.io/specification/2026-07-28/basic/index#json-schema-usage
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextvars import ContextVar
from functools import cached_property, lru_cache
from typing import Any, Final, NamedTuple, TypeVar, cast

from pydantic_core import from_json, to_json

from mcpsim.audit.model import Connection
from mcpsim.audit.once import once
from mcpsim.utilities.jsonschema_import import import_jsonschema
from mcpsim.utilities.schema_bounds import (
    MAX_DEPTH,
    MAX_PARTS,
    Keyword,
    dialect_of,
    is_within_bounds,
    items_of,
    nothing,
    steps_of,
    validator_of,
)

MAX_STEPS: Final = 20_000
MAX_SCHEMAS: Final = 2_000
MAX_UNIQUE: Final = 100
#: How many bytes a schema or value may have of which is remembered what was found.
MAX_REMEMBERED: Final = 10_000

_PATTERNS: Final = frozenset({"pattern", "patternProperties"})
# Where a part that allows more makes the whole allow less.
_TURNING: Final = frozenset(
    {
        "contains",
        "dependencies",
        "dependentSchemas",
        "disallow",
        "extends",
        "if",
        "not",
        "oneOf",
        "unevaluatedItems",
        "unevaluatedProperties",
    }
)
_REFERENCES: Final = ("$ref", "$dynamicRef", "$recursiveRef")

Said = TypeVar("Said")


class NotJudged(Exception):
    """Nobody here can tell. The text says why."""


class Misfit(NamedTuple):
    """What is wrong with a value.

    Attributes:
        where: the path to it, "" for the value itself.
        keyword: the keyword of the schema that it breaks.
        message: what is wrong, in a few words.
    """

    where: str
    keyword: str
    message: str


class Itself:
    """An object as a key: it is equal to itself only, and kept for as long as the key is."""

    __slots__ = ("value",)

    def __init__(self, value: object) -> None:
        self.value = value

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Itself) and other.value is self.value

    def __hash__(self) -> int:
        return id(self.value)


class Schemas:
    """Judges schemas and values. It remembers what it was asked: make one for each trace or connection."""

    def __init__(self) -> None:
        self._asked: dict[Itself, _Asked] = {}
        self._different: set[bytes] = set()

    def fault_of(self, schema: Mapping[str, Any]) -> str | None:
        """What makes a schema not valid in its dialect, or None.

        Raises:
            NotJudged: it is beyond the bounds, or its dialect is not known here.
        """
        return _said(self._of(schema).fault)

    def misfit(self, schema: Mapping[str, Any], value: Any) -> Misfit | None:
        """The first thing that is wrong with a value, or None where it fits.

        Raises:
            NotJudged: schema or value are beyond the bounds, the schema is not valid, refers to what is not
                inside it, or has regular expressions where leaving them out could make it stricter.
        """
        asked = self._of(schema)
        bounded = _said(asked.bounded)
        if bounded.takes(value):
            return None
        text = None if asked.text is None else _text_of(value)
        if asked.text is None or text is None:
            return bounded.misfit(value)
        return _said(_misfit_of(asked.text, text))

    def _of(self, schema: Mapping[str, Any]) -> _Asked:
        key = Itself(schema)
        asked = self._asked.get(key)
        if asked is None:
            asked = self._asked[key] = self._ask(schema)
        return asked

    def _ask(self, schema: Mapping[str, Any]) -> _Asked:
        text = _text_of(schema)
        if text is None:
            fault = _fault_within_bounds(schema)
            return _Asked(None, fault, _bounded(schema, fault))
        if text not in self._different and len(self._different) >= MAX_SCHEMAS:
            refused = NotJudged(f"more than {MAX_SCHEMAS} different schemas stand in this trace")
            return _Asked(text, refused, refused)
        self._different.add(text)
        return _Asked(text, _fault_of_text(text), _bounded_of_text(text))


@once
def schemas_of(_: Connection) -> Schemas:
    """What judges the schemas of a connection, for all rules."""
    return Schemas()


class _Asked(NamedTuple):
    """A schema that was asked about.

    Attributes:
        text: as JSON; None where it has none, or is too long to be remembered by it.
        fault: what makes it not valid.
        bounded: its validator.
    """

    text: bytes | None
    fault: str | NotJudged | None
    bounded: _Bounded | NotJudged


def _said(found: Said | NotJudged) -> Said:
    if isinstance(found, NotJudged):
        # A new one: what is raised again and again grows.
        raise NotJudged(str(found))
    return found


def _text_of(value: Any) -> bytes | None:
    """A value as the key by which it is remembered."""
    try:
        text = to_json(value)
    except (ValueError, RecursionError):
        return None
    return text if len(text) <= MAX_REMEMBERED else None


# The same few schemas and values come again and again, on each connection, and judging takes long. All of it
# is told by the texts alone.


@lru_cache(maxsize=512)
def _fault_of_text(text: bytes) -> str | NotJudged | None:
    return _fault_within_bounds(from_json(text))


@lru_cache(maxsize=256)
def _bounded_of_text(text: bytes) -> _Bounded | NotJudged:
    return _bounded(from_json(text), _fault_of_text(text))


@lru_cache(maxsize=1024)
def _misfit_of(schema: bytes, value: bytes) -> Misfit | NotJudged | None:
    try:
        return _said(_bounded_of_text(schema)).misfit(from_json(value))
    except NotJudged as error:
        return error.with_traceback(None)


def _fault_within_bounds(schema: Mapping[str, Any]) -> str | NotJudged | None:
    try:
        _check_bounds(schema)
        return _fault(schema)
    except NotJudged as error:
        return error.with_traceback(None)


def _bounded(schema: Mapping[str, Any], fault: str | NotJudged | None) -> _Bounded | NotJudged:
    try:
        return _Bounded(schema, _said(fault))
    except NotJudged as error:
        return error.with_traceback(None)


# How many steps there were: each thread has its own count, as several may judge by one validator.
_STEPS: Final[ContextVar[int]] = ContextVar("steps")


class _Bounded:
    """A validator of one schema with a budget of steps for each value."""

    def __init__(self, schema: Mapping[str, Any], fault: str | None) -> None:
        if fault is not None:
            raise NotJudged(f"the schema is not valid: {fault}")
        _check_patterns(schema)
        self._schema = schema
        self._plain = _Plain.of(schema)

    @cached_property
    def _validator(self) -> Any:
        dialect = _known_dialect(self._schema)
        keywords = {name: _counted(name, check) for name, check in dialect.VALIDATORS.items()}
        for name in _PATTERNS & keywords.keys():
            keywords[name] = nothing
        return validator_of(self._schema, dialect, keywords)

    def takes(self, value: Any) -> bool:
        """Whether it can be told at once that a value fits."""
        return self._plain is not None and self._plain.takes(value)

    def misfit(self, value: Any) -> Misfit | None:
        """What is wrong with a value."""
        from referencing.exceptions import Unresolvable

        if self.takes(value):
            return None
        _STEPS.set(0)
        try:
            error: Any = next(iter(self._validator.iter_errors(value)), None)
        except RecursionError:
            raise NotJudged("schema and value lead too deep") from None
        except Unresolvable as error:
            raise NotJudged(f"the schema refers to {error.ref}, which is not inside it") from None
        except NotJudged:
            raise
        except Exception as error:
            # A reference may lead to what is no schema, and the library trips over that in its own way.
            raise NotJudged(f"a part of the schema is none ({type(error).__name__})") from None
        if error is None:
            return None
        where = ".".join(map(str, error.absolute_path))
        return Misfit(where, str(error.validator), str(error.message))


def _counted(name: str, keyword: Keyword) -> Keyword:
    def check(validator: Any, value: Any, instance: Any, schema: Any) -> Iterator[Any]:
        if name == "additionalProperties" and "patternProperties" in schema:
            return
        if name == "uniqueItems" and len(items_of(instance)) > MAX_UNIQUE:
            # It may compare each item with each other one.
            raise NotJudged(f"more than {MAX_UNIQUE} items would have to be compared with each other")
        steps = _STEPS.get() + steps_of(value, instance)
        _STEPS.set(steps)
        if steps > MAX_STEPS:
            raise NotJudged(f"it takes more than {MAX_STEPS} steps")
        yield from keyword(validator, value, instance, schema) or ()

    return check


_WORDS: Final = frozenset({"title", "description", "default", "examples", "$comment", "x-mcp-header"})
_TYPES: Final[Mapping[str, tuple[type, ...]]] = {
    "string": (str,),
    "boolean": (bool,),
    "integer": (int,),
    "number": (int, float),
    "array": (list,),
    "object": (dict,),
    "null": (type(None),),
}


class _Plain(NamedTuple):
    """What most schemas of tools are: an object of members that have a type and no more. It tells quickly of
    most values that they fit.

    Attributes:
        members: the types of each member, () for any.
        required: the members that have to be there.
        is_open: whether other members may be there.
    """

    members: dict[str, tuple[type, ...]]
    required: tuple[str, ...]
    is_open: bool

    @staticmethod
    def of(schema: Mapping[str, Any]) -> _Plain | None:
        """The plain form of a schema, or None where it says more than that."""
        if not schema.keys() <= _WORDS | {
            "$schema",
            "type",
            "properties",
            "required",
            "additionalProperties",
        }:
            return None
        required, is_open = schema.get("required", []), schema.get("additionalProperties", True)
        if schema.get("type") != "object" or not isinstance(required, list) or not isinstance(is_open, bool):
            return None
        members: dict[str, tuple[type, ...]] = {}
        for name, member in cast("dict[str, Any]", schema.get("properties", {})).items():
            if not isinstance(member, dict) or not cast("dict[str, Any]", member).keys() <= _WORDS | {"type"}:
                return None
            kind: Any = cast("dict[str, Any]", member).get("type", "")
            if kind != "" and not (isinstance(kind, str) and kind in _TYPES):
                return None
            members[name] = _TYPES.get(kind, ())
        return _Plain(members, tuple(cast("list[str]", required)), is_open)

    def takes(self, value: Any) -> bool:
        """Whether a value fits for sure."""
        if not isinstance(value, dict):
            return False
        given = cast("dict[str, Any]", value)
        for name in self.required:
            if name not in given:
                return False
        for name, member in given.items():
            types = self.members.get(name)
            if types is None:
                if not self.is_open:
                    return False
            elif types and type(member) not in types:
                return False
        return True


def references_outside(schema: Mapping[str, Any]) -> list[str]:
    """The references of a schema that do not stay inside it: those that name another document."""
    own: Any = schema.get("$id", schema.get("id"))
    base = own.rstrip("#") if isinstance(own, str) else ""
    found: list[str] = []
    known = {base, ""}
    for part in _parts(schema):
        name: Any = part.get("$id")
        if isinstance(name, str):
            known.add(name.partition("#")[0])
        for keyword in _REFERENCES:
            target: Any = part.get(keyword)
            if isinstance(target, str) and "://" in target:
                found.append(target)
    return [target for target in found if target.partition("#")[0] not in known]


def _fault(schema: Mapping[str, Any]) -> str | None:
    import_jsonschema()
    import jsonschema
    import jsonschema.exceptions

    dialect = _known_dialect(schema)
    try:
        # No formats: they would have it that a regular expression is one of Python.
        dialect.check_schema(schema, format_checker=jsonschema.FormatChecker(formats=()))
    except jsonschema.exceptions.SchemaError as error:
        where = ".".join(map(str, error.absolute_path))
        return f"{where}: {error.message}" if where else error.message
    except RecursionError:
        raise NotJudged("the schema is nested too deeply") from None
    return None


def _known_dialect(schema: Mapping[str, Any]) -> Any:
    dialect = dialect_of(schema)
    if dialect is None:
        raise NotJudged("the dialect of the schema is not known here")
    return dialect


def _check_patterns(schema: Mapping[str, Any]) -> None:
    keywords = {keyword for part in _parts(schema) for keyword in part}
    if not keywords.isdisjoint(_PATTERNS) and not keywords.isdisjoint(_TURNING):
        raise NotJudged("no regular expression of a schema is run here")


def _parts(schema: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    left: list[Any] = [schema]
    while left:
        value = left.pop()
        if isinstance(value, dict):
            yield cast("dict[str, Any]", value)
        left += items_of(value)


def _check_bounds(schema: Mapping[str, Any]) -> None:
    if not is_within_bounds(schema):
        raise NotJudged(f"the schema has more than {MAX_PARTS} parts, or is nested over {MAX_DEPTH} deep")
