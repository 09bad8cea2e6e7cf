"""Every JSON example in a lesson's prose is what it claims to be, and every wrong one is refused.

An example has a comment before its fence that says which revision it claims, and what it is:

    <!-- json: 2026-07-28 request -->
    <!-- json: 2026-07-28 result of tools/call -->
    <!-- json: wrong 2026-07-28 request: params is an array -->
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pytest
from mcp_types import methods
from pydantic import ValidationError

from mcpsim.eras.methods import BY_NAME_AND_REVISION
from mcpsim.eras.modern import Visit, read_meta
from mcpsim.eras.revisions import LEGACY_REVISIONS, MODERN_REVISIONS
from mcpsim.errors import ERROR_CODES, ProtocolError
from mcpsim.messages import (
    ErrorResponse,
    Notification,
    Request,
    Response,
    from_object,
    read_json,
)
from mcpsim.workbook import find_source
from mcpsim.workbook.normal_form import cell_source, read_notebook

FENCE = re.compile(
    r"^(?:<!--[ ]json:[ ](?P<claim>[^\n]*?)[ ]-->\n)?```json\n(?P<text>.*?)^```$", re.MULTILINE | re.DOTALL
)
CLAIM = re.compile(
    r"(?P<wrong>wrong )?(?P<revision>\d{4}-\d\d-\d\d) (?P<kind>request|notification|error|result of \S+?)"
    r"(?:: (?P<why>.+))?"
)


@dataclass(frozen=True)
class Example:
    """One fenced JSON block of a lesson."""

    lesson: str
    claim: str
    text: str

    def __str__(self) -> str:
        return f"{self.lesson}: {self.claim}"


def examples_in(lesson: str, prose: str) -> Iterator[Example]:
    for found in FENCE.finditer(prose):
        yield Example(lesson, found["claim"] or "", found["text"])


def examples() -> Iterator[Example]:
    for path in sorted((find_source().root / "notebooks").glob("*.ipynb")):
        for cell in read_notebook(path.read_bytes())["cells"]:
            if cell["cell_type"] == "markdown":
                yield from examples_in(path.stem, cell_source(cell))


EXAMPLES = list(examples())


def check(text: str, revision: str, kind: str) -> None:
    """Raise, with the reason, where the text is not a message of that kind in that revision."""
    message = from_object(read_json(text.encode()))
    match message, kind.partition(" of ")[::2]:
        case Request(), ("request", ""):
            check_request(message, revision)
        case Notification(), ("notification", ""):
            check_notification(message, revision)
        case Response(), ("result", method):
            methods.validate_server_result(method, revision, message.result)
        case ErrorResponse(), ("error", ""):
            era = "modern" if revision in MODERN_REVISIONS else "legacy"
            if era not in ERROR_CODES[message.code].eras:
                raise ValueError(f"{message.code} is not an error of {revision}")
        case _:
            raise ValueError(f"this is a {type(message).__name__}, and not a {kind}")


def check_request(message: Request, revision: str) -> None:
    row = BY_NAME_AND_REVISION[message.method, revision]
    if row.kind != "request":
        raise ValueError(f"{message.method} is no request in {revision}")
    methods.validate_client_request(message.method, revision, message.params)
    if revision in MODERN_REVISIONS:
        service: Any = None
        read_meta(Visit(service, b"", request=message, params=message.params or {}))


def check_notification(message: Notification, revision: str) -> None:
    row = BY_NAME_AND_REVISION[message.method, revision]
    if row.kind != "notification":
        raise ValueError(f"{message.method} is no notification in {revision}")
    if row.direction == "to_client":
        methods.parse_server_notification(message.method, revision, message.params)
    else:
        methods.validate_client_notification(message.method, revision, message.params)


REFUSALS = (ProtocolError, ValidationError, ValueError, KeyError)


def test_the_lessons_have_right_and_wrong_examples() -> None:
    wrong = [example for example in EXAMPLES if example.claim.startswith("wrong")]
    assert wrong
    assert len(EXAMPLES) > len(wrong)


@pytest.mark.parametrize("example", EXAMPLES, ids=str)
def test_an_example_is_what_it_claims(example: Example) -> None:
    claim = CLAIM.fullmatch(example.claim)
    assert claim is not None, f"say what this is, in a comment before the fence:\n{example.text}"
    assert claim["revision"] in (*LEGACY_REVISIONS, *MODERN_REVISIONS)
    assert bool(claim["wrong"]) == bool(claim["why"]), "only a wrong example says what is wrong"
    if claim["wrong"]:
        with pytest.raises(REFUSALS):
            check(example.text, claim["revision"], claim["kind"])
    else:
        check(example.text, claim["revision"], claim["kind"])


META = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientCapabilities": {},
}
LIST = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}


@pytest.mark.parametrize(
    ("message", "revision", "kind"),
    [
        (LIST | {"id": None, "params": {"_meta": META}}, "2026-07-28", "request"),
        (LIST | {"params": {"_meta": {}}}, "2026-07-28", "request"),
        (LIST | {"params": {"_meta": META}, "method": "ping"}, "2026-07-28", "request"),
        (LIST | {"method": "server/discover"}, "2025-11-25", "request"),
        (LIST, "2025-11-25", "notification"),
        (LIST | {"method": "tools/call", "params": {"arguments": {}}}, "2025-11-25", "request"),
        ({"jsonrpc": "2.0", "method": "notifications/progress"}, "2026-07-28", "notification"),
        ({"jsonrpc": "2.0", "method": "notifications/initialized"}, "2026-07-28", "notification"),
        ({"jsonrpc": "2.0", "id": 1, "result": {"tools": []}}, "2026-07-28", "result of tools/list"),
        ({"jsonrpc": "2.0", "id": 1, "result": {}}, "2025-11-25", "result of initialize"),
        ({"jsonrpc": "2.0", "id": 1, "error": {"code": -32022, "message": ""}}, "2025-11-25", "error"),
        ({"jsonrpc": "2.0", "id": 1, "error": {"code": -31000, "message": ""}}, "2026-07-28", "error"),
    ],
)
def test_the_check_refuses_what_is_wrong(message: dict[str, Any], revision: str, kind: str) -> None:
    with pytest.raises(REFUSALS):
        check(json.dumps(message), revision, kind)


@pytest.mark.parametrize(
    ("message", "revision", "kind"),
    [
        (LIST | {"params": {"_meta": META}}, "2026-07-28", "request"),
        (LIST, "2025-11-25", "request"),
        (LIST | {"method": "ping"}, "2025-11-25", "request"),
        ({"jsonrpc": "2.0", "method": "notifications/initialized"}, "2025-11-25", "notification"),
    ],
)
def test_the_check_accepts_what_is_right(message: dict[str, Any], revision: str, kind: str) -> None:
    check(json.dumps(message), revision, kind)


def test_a_block_without_a_claim_is_seen() -> None:
    (found,) = examples_in("lesson", 'Text.\n\n```json\n{"a": 1}\n```\n\nMore.')
    assert (found.claim, found.text) == ("", '{"a": 1}\n')
