"""Who may have what: one question to the server's own callback, for tools, prompts and resources alike."""

from __future__ import annotations

from typing import Any

import pytest
from talking import call, legacy, modern, opening, talk

from mcpsim import Server

ASKED = {
    "a tool": ("tools/call", call("secret"), "secret", "call"),
    "a prompt": ("prompts/get", {"name": "secret"}, "secret", "get the prompt"),
    "a resource": ("resources/read", {"uri": "file:///secret"}, "file:///secret", "read"),
    "one of a template": ("resources/read", {"uri": "file:///of/ben"}, "file:///of/ben", "read"),
}
CASES = pytest.mark.parametrize("asked", ASKED)
ERAS = pytest.mark.parametrize("era", ["legacy", "modern"])


def desk(heard: list[tuple[str, str]], ran: list[str]) -> Server:
    def allows(principal: str, name: str) -> bool:
        heard.append((principal, name))
        return principal == "ada"

    server = Server("desk", authorise=allows)

    @server.tool()
    def secret() -> str:
        ran.append("tool")
        return "x"

    @server.prompt("secret")
    def prompt() -> str:
        ran.append("prompt")
        return "x"

    @server.resource("file:///secret")
    def resource() -> str:
        ran.append("resource")
        return "x"

    @server.resource_template("file:///of/{who}")
    def of(who: str) -> str:
        ran.append(who)
        return "x"

    return server


def lines(era: str, method: str, params: Any) -> list[Any]:
    if era == "modern":
        return [modern(1, method, params)]
    return [*opening(), legacy(1, method, params)]


@ERAS
@CASES
@pytest.mark.parametrize("principal", ["ben", ""])
def test_nothing_runs_for_whom_it_is_not(asked: str, era: str, principal: str) -> None:
    method, params, name, doing = ASKED[asked]
    heard: list[tuple[str, str]] = []
    ran: list[str] = []
    answer = talk(desk(heard, ran), *lines(era, method, params), principal=principal).answer(1)
    who = principal or "An unnamed caller"
    assert answer["error"] == {"code": -32600, "message": f"{who} may not {doing} {name}."}
    assert (heard, ran) == ([(principal, name)], [])


@ERAS
@CASES
def test_it_runs_for_whom_it_is(asked: str, era: str) -> None:
    method, params, name, _ = ASKED[asked]
    heard: list[tuple[str, str]] = []
    ran: list[str] = []
    answer = talk(desk(heard, ran), *lines(era, method, params), principal="ada").answer(1)
    assert "result" in answer
    assert heard == [("ada", name)]
    assert len(ran) == 1


@ERAS
@pytest.mark.parametrize("method", ["tools/list", "prompts/list", "resources/list"])
def test_lists_show_everything_to_everybody(method: str, era: str) -> None:
    heard: list[tuple[str, str]] = []
    answer = talk(desk(heard, []), *lines(era, method, {}), principal="ben").answer(1)
    assert len(answer["result"][method.partition("/")[0]]) == 1
    assert heard == []
