"""Where null stands in a body for a member that may be left out.

The models of mcp-types take null for such a member. The schema does not: it gives the member a type, and says
that it need not be there. Strict readers refuse the whole message for it.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final, cast, get_args

from pydantic import BaseModel
from pydantic.fields import FieldInfo

#: A page speaks of null there: the note of a rule about pages says so.
_CONTESTED: Final = frozenset({"nextCursor"})


def holds_null(body: Any) -> bool:
    """Whether null stands anywhere in a body."""
    waiting = [body]
    while waiting:
        value = waiting.pop()
        if value is None:
            return True
        if isinstance(value, dict):
            waiting += cast("dict[str, Any]", value).values()
        elif isinstance(value, list):
            waiting += cast("list[Any]", value)
    return False


def nulls_of(read: Any) -> Iterator[str]:
    """The members of a body that may be left out, and are there with null, by their paths.

    What may hold any value may hold this one, and so may members that the schema does not know.

    Args:
        read: the model that the body was read into.
    """
    waiting: list[tuple[str, Any]] = [("", read)]
    while waiting:
        path, value = waiting.pop()
        if isinstance(value, BaseModel):
            for name, field in type(value).model_fields.items():
                if name not in value.model_fields_set:
                    continue
                member, one = field.alias or name, getattr(value, name)
                if one is not None:
                    waiting.append((f"{path}{member}.", one))
                elif _has_type(field) and member not in _CONTESTED:
                    yield f"{path}{member}"
        elif isinstance(value, list):
            places = enumerate(cast("list[Any]", value))
            waiting += [(f"{path}{place}.", one) for place, one in places]
        elif isinstance(value, dict):
            items = cast("dict[str, Any]", value).items()
            waiting += [(f"{path}{key}.", one) for key, one in items if isinstance(one, BaseModel)]


def _has_type(field: FieldInfo) -> bool:
    """Whether a member may be left out, and holds something else than null where it is there."""
    return not field.is_required() and Any not in get_args(field.annotation)
