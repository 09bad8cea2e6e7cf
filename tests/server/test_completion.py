"""Suggestions for arguments and variables, in every revision that has them."""

from __future__ import annotations

from typing import Any

import pytest
from revisions import BOTH_ERAS, BOTH_TRANSPORTS, EVERY_REVISION, LATEST_LEGACY, MODERN, ask

from mcpsim import Server
from mcpsim.errors import ProtocolError

LANGUAGES = ["python", "pyret", "pascal", "perl"]


def languages(value: str, known: dict[str, str]) -> list[str]:
    return [one for one in LANGUAGES if one.startswith(value)]


async def frameworks(value: str, known: dict[str, str]) -> list[str]:
    return [f"{known.get('language', 'any')}-{value}"]


def numbers(value: str, known: dict[str, str]) -> tuple[str, ...]:
    return tuple(str(number) for number in range(int(value or "250")))


def guide(**settings: Any) -> Server:
    server = Server("guide", **settings)

    @server.prompt(complete={"language": languages, "framework": frameworks})
    def review(language: str, framework: str = "", code: str = "") -> str:
        return language + framework + code

    @server.resource_template("page://{number}", complete={"number": numbers})
    def page(number: str) -> str:
        return number

    @server.resource("note://plain")
    def plain() -> str:
        return ""

    return server


PROMPT = {"type": "ref/prompt", "name": "review"}


def complete(revision: str, ref: Any, name: str, value: str, context: Any = None, **more: Any) -> Any:
    params: dict[str, Any] = {"ref": ref, "argument": {"name": name, "value": value}}
    if context is not None:
        params["context"] = context
    return ask(guide(), revision, "completion/complete", params, **more)


@EVERY_REVISION
@BOTH_TRANSPORTS
def test_an_argument_of_a_prompt(revision: str, transport: Any) -> None:
    assert complete(revision, PROMPT, "language", "py", transport=transport) == {
        "completion": {"values": ["python", "pyret"], "total": 2, "hasMore": False}
    }


@EVERY_REVISION
def test_the_arguments_that_stand_already_count_where_a_revision_can_tell_them(revision: str) -> None:
    result = complete(revision, PROMPT, "framework", "x", {"arguments": {"language": "python"}})
    told = "python" if revision >= "2025-06-18" else "any"
    assert result["completion"]["values"] == [f"{told}-x"]


@BOTH_ERAS
@pytest.mark.parametrize("count", [0, 1, 99, 100, 101, 250])
@pytest.mark.parametrize("uri", ["page://{number}", "page://7"])
def test_at_most_a_hundred_values(revision: str, count: int, uri: str) -> None:
    """A reference may be the template, or a URI that it makes."""
    result = complete(revision, {"type": "ref/resource", "uri": uri}, "number", str(count))["completion"]
    assert result["values"] == [str(number) for number in range(min(count, 100))]
    assert (result["total"], result["hasMore"]) == (count, count > 100)


@BOTH_ERAS
def test_an_argument_without_suggestions(revision: str) -> None:
    nothing = {"completion": {"values": [], "total": 0, "hasMore": False}}
    assert complete(revision, PROMPT, "code", "x") == nothing


@EVERY_REVISION
@pytest.mark.parametrize(
    ("ref", "name", "says"),
    [
        ({"type": "ref/prompt", "name": "nobody"}, "language", "Unknown prompt: nobody"),
        ({"type": "ref/resource", "uri": "page://{other}"}, "number", "Unknown resource or template"),
        (PROMPT, "colour", "Prompt review has no argument named colour"),
        ({"type": "ref/resource", "uri": "page://{number}"}, "x", "has no argument named x"),
        (
            {"type": "ref/resource", "uri": "note://plain"},
            "x",
            "Resource note://plain has no argument named x",
        ),
    ],
)
def test_references_that_lead_nowhere(revision: str, ref: Any, name: str, says: str) -> None:
    error = complete(revision, ref, name, "")
    assert isinstance(error, ProtocolError)
    assert error.code == -32602
    assert says in error.message


@BOTH_ERAS
@pytest.mark.parametrize(
    "params",
    [
        {},
        {"ref": PROMPT},
        {"ref": {"type": "ref/tool", "name": "x"}, "argument": {"name": "a", "value": ""}},
        {"ref": PROMPT, "argument": {"name": "language", "value": 1}},
        {"ref": PROMPT, "argument": {"name": "language", "value": ""}, "context": {"arguments": {"a": 1}}},
    ],
)
def test_what_the_schema_refuses(revision: str, params: Any) -> None:
    error = ask(guide(), revision, "completion/complete", params, broken=("completion/complete",))
    assert isinstance(error, ProtocolError)
    assert error.code == -32602


@BOTH_ERAS
def test_null_is_no_context(revision: str) -> None:
    """The schema has the context left out; the official models take null for it as well."""
    params = {"ref": PROMPT, "argument": {"name": "language", "value": ""}, "context": None}
    error = ask(guide(), revision, "completion/complete", params)
    assert isinstance(error, ProtocolError)
    assert error.code == -32602


@BOTH_ERAS
def test_a_completer_that_fails_is_an_internal_error(revision: str) -> None:
    for value in ("many", "-"):
        error = complete(revision, {"type": "ref/resource", "uri": "page://{number}"}, "number", value)
        assert isinstance(error, ProtocolError)
        assert (error.code, error.message) == (-32603, "Internal error")


@pytest.mark.parametrize("returned", ["text", [1], None, 5])
def test_a_completer_returns_strings(returned: Any) -> None:
    server = Server("guide")
    server.prompt("a", complete={"b": lambda value, known: returned})(lambda b: b)
    params = {"ref": {"type": "ref/prompt", "name": "a"}, "argument": {"name": "b", "value": ""}}
    error = ask(server, MODERN, "completion/complete", params)
    assert isinstance(error, ProtocolError)
    assert error.code == -32603


def test_the_capability_is_declared_where_it_exists_and_something_completes() -> None:
    server = guide()
    assert server.capabilities() == {"resources": {}, "prompts": {}, "completions": {}}
    assert "completions" not in server.capabilities("2024-11-05")
    nothing_completes = Server("guide")
    nothing_completes.prompt("review")(lambda language: language)
    assert nothing_completes.capabilities() == {"prompts": {}}
    # What was declared once is answered, also when nothing is left of it.
    server.remove_prompt("review")
    server.remove_resource("page://{number}")
    assert "completions" in server.capabilities()
    params = {"ref": PROMPT, "argument": {"name": "language", "value": ""}}
    for revision in ("2024-11-05", LATEST_LEGACY, MODERN):
        for asked, code in ((nothing_completes, -32601), (server, -32602)):
            error = ask(asked, revision, "completion/complete", params)
            assert isinstance(error, ProtocolError)
            assert error.code == code
