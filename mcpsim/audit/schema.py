"""One rule for all bodies: what a message carries is what the schema of its revision says.

The official models of mcp-types know the schemas. The finding tells where the body differs. Where another
rule has named the fault already, this one is silent (see `mcpsim.audit.auditing`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import Any, Final

from mcp_types import methods as known
from pydantic import TypeAdapter, ValidationError

from mcpsim.audit.model import Item
from mcpsim.audit.rule import ALL, MUST, Found, Rule, messages
from mcpsim.audit.words import show
from mcpsim.eras.revisions import era_of

ID: Final = "body-fits-its-schema"
SHOWN: Final = 3
_SURFACES: Final[Mapping[tuple[str, str], Any]] = {
    ("request", "client"): known.CLIENT_REQUESTS,
    ("request", "server"): known.SERVER_REQUESTS,
    ("notification", "client"): known.CLIENT_NOTIFICATIONS,
    ("notification", "server"): known.SERVER_NOTIFICATIONS,
    # The result of a request is looked up on the side that answers.
    ("response", "server"): known.SERVER_RESULTS,
    ("response", "client"): known.CLIENT_RESULTS,
}


@lru_cache(maxsize=512)
def _reader(kind: str, sender: str, method: str, revision: str) -> TypeAdapter[Any] | None:
    model = _SURFACES[kind, sender].get((method, revision))
    return None if model is None else TypeAdapter(model)


def _fits(item: Item) -> Iterator[Found]:
    if item.kind == "error" or not item.method or era_of(item.revision) != item.era:
        return
    reader = _reader(item.kind, item.sender, item.method, item.revision)
    if reader is None:
        return
    body = item.result if item.kind == "response" else item.value
    try:
        reader.validate_python(body, by_name=False)
    except ValidationError as error:
        yield Found(item, _sentence(item, error))


def _sentence(item: Item, error: ValidationError) -> str:
    what = {"request": "request", "notification": "notification", "response": "result"}[item.kind]
    faults: list[str] = []
    for one in error.errors(include_url=False, include_input=False)[:SHOWN]:
        path = ".".join(str(part) for part in one["loc"] if not _is_model(part))
        faults.append(f"{show(path)[1:-1] or 'the body'}: {one['msg']}")
    return f"This {show(item.method)} {what} is not what its schema says: {'; '.join(faults)}."


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
