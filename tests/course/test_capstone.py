"""The judges of lesson 16: what they see in a good server, in bad ones, and where somebody is not there."""

from __future__ import annotations

import json
import re
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import anyio
import pytest

from mcpsim import Context, ProtocolError, Server, ToolError
from mcpsim.course import judge
from mcpsim.course.judging import Outcome, outside, simulated, with_suite
from mcpsim.course.judging.tour import Plan
from tests.conformance.suite import install

NAMES: Final = ("lists", "calls", "questions", "stop", "faults", "audit", "official SDK", "conformance suite")
INSIDE: Final = NAMES[:6]
FORM: Final = {"type": "object", "properties": {"weeks": {"type": "integer"}}, "required": ["weeks"]}
LESSON: Final = Path("notebooks/16_capstone.ipynb")


class Desk:
    """A server with something of everything, and a lamp that must be dark when nobody works."""

    def __init__(self, **settings: Any) -> None:
        self.lit = False
        self.server = Server("desk", page_size=2, **settings)

        @self.server.tool()
        def find(title: str) -> str:
            if title != "Emma":
                raise ToolError(f"There is no {title}.")
            return "A 3"

        @self.server.tool()
        async def scan(context: Context) -> str:
            try:
                self.lit = True
                for part in range(1, 4):
                    await anyio.sleep(1)
                    await context.report_progress(part, 3)
            finally:
                with anyio.CancelScope(shield=True):
                    await anyio.sleep(0.1)
                    self.lit = False
            return "all there"

        @self.server.tool()
        async def reserve(context: Context) -> str:
            answer = await context.elicit("Weeks?", FORM, key="weeks")
            return "no" if answer.content is None else f"for {answer.content['weeks']} weeks"

        @self.server.resource("desk://hours")
        def hours() -> str:
            return "9 to 17"

    def judged(self, **more: Any) -> Any:
        return judge(
            self.server,
            calls={"find": {"title": "Emma"}},
            answers={"weeks": 3},
            at_rest=lambda: not self.lit,
            **more,
        )


@pytest.mark.parametrize("era", ["both", "modern", "legacy"])
def test_a_good_server_passes(era: str) -> None:
    card = Desk(era=era).judged()
    assert card.passed, card
    assert tuple(one.judge for one in card.rulings) == NAMES
    assert [card.of(name).outcome for name in INSIDE] == [Outcome.PASSED] * 6
    assert "3 tools on 2 pages and 1 resource" in card.of("lists").seen
    assert f"in {8 if era == 'both' else 4} runs" in card.of("lists").seen


def test_nobody_outside_is_asked_unasked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(outside, "_served", None)
    card = Desk().judged()
    for name in NAMES[6:]:
        assert card.of(name).outcome is Outcome.NOT_ASKED
        assert "live=True" in card.of(name).seen
    with pytest.raises(LookupError, match="no judge 'jury'"):
        card.of("jury")


def test_two_judgements_of_the_same_server_are_the_same() -> None:
    one, other = Desk().judged(), Desk().judged()
    assert repr(one) == repr(other)
    assert one._repr_html_() == other._repr_html_()


def bad(register: Any, **settings: Any) -> Server:
    server = Server("bad", **settings)
    register(server)
    return server


def slow(server: Server) -> None:
    @server.tool()
    async def work() -> str:
        with anyio.CancelScope(shield=True):
            await anyio.sleep(5)
        return "done"


def crashing(server: Server) -> None:
    @server.tool()
    def work() -> str:
        raise KeyError("tulip")


def greedy(server: Server) -> None:
    @server.tool()
    async def work(context: Context) -> str:
        return str((await context.elicit("Weeks?", FORM)).content["weeks"])  # type: ignore[index]


def wanting(server: Server) -> None:
    @server.tool()
    def work(title: str) -> str:
        return title


def refusing(server: Server) -> None:
    @server.tool()
    def work() -> str:
        raise ProtocolError(404, "no")


def counting_badly(server: Server) -> None:
    @server.tool()
    async def work(context: Context) -> str:
        for _ in range(2):
            params = {"progressToken": context.progress_token, "progress": 1}
            await context.notify("notifications/progress", params)
        return "done"


def endless(server: Server) -> None:
    @server.tool()
    async def work() -> str:
        while True:
            time.sleep(0.005)


def breaking_down(server: Server) -> None:
    """Once two calls have come at the same time, nothing goes any more."""
    at_work: list[int] = []

    @server.tool()
    async def work() -> str:
        at_work.append(1)
        if len(at_work) > 1:
            raise ToolError("Out of order.")
        await anyio.sleep(0.4)
        at_work.pop()
        return "done"


BAD: Final = [
    (slow, "stop", "its handler went on for"),
    (crashing, "calls", "work failed: work failed."),
    (greedy, "questions", "work raised TypeError"),
    (wanting, "calls", "has to be given title"),
    (refusing, "calls", "404"),
    (counting_badly, "audit", "progress-rises (MUST)"),
    (endless, "lists", "could not go on"),
    (breaking_down, "faults", "Out of order."),
    (lambda server: None, "lists", "no tool, no resource and no prompt"),
]


@pytest.mark.parametrize(("register", "name", "seen"), BAD)
def test_a_bad_server_is_found_out(
    register: Any, name: str, seen: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    # So that the one that never gives control back is ended sooner.
    monkeypatch.setattr(simulated, "STEP_LIMIT_S", 1.0)
    card = judge(bad(register))
    assert not card.passed
    assert card.of(name).outcome is Outcome.NOT_YET, card
    assert seen in card.of(name).seen
    assert f"✗ {name}" in repr(card)
    assert "✗ not yet" in card._repr_html_()


def test_who_heats_before_try_is_found_out_by_the_first_stop() -> None:
    is_hot: list[bool] = []

    def heating(server: Server) -> None:
        @server.tool()
        async def work() -> str:
            is_hot.append(True)
            await anyio.sleep(0.1)
            try:
                await anyio.sleep(1)
            finally:
                is_hot.clear()
            return "done"

    card = judge(bad(heating), at_rest=lambda: not is_hot)
    assert card.of("stop").outcome is Outcome.NOT_YET
    assert "Stop work after 0.05 s (modern, stdio): something is left in the end" in card.of("stop").seen


def test_who_cools_without_a_shield_at_the_end_is_found_out_by_the_last_stop() -> None:
    is_hot: list[bool] = []

    def cooling(server: Server) -> None:
        @server.tool()
        async def work() -> str:
            is_hot.append(True)
            try:
                await anyio.sleep(1)
            except BaseException:
                is_hot.clear()
                raise
            await anyio.sleep(0.1)
            is_hot.clear()
            return "done"

    card = judge(bad(cooling), at_rest=lambda: not is_hot)
    assert card.of("stop").outcome is Outcome.NOT_YET
    assert "something is left in the end" in card.of("stop").seen


def test_a_server_that_differs_from_run_to_run() -> None:
    made: list[Server] = []

    def make() -> Server:
        server = Server("moody")
        made.append(server)

        @server.tool(name=f"tool-{len(made) % 3}")
        def work() -> str:
            return "done"

        return server

    assert "differ from run to run" in judge(make).of("lists").seen


def test_what_is_left_is_told_once() -> None:
    desk = Desk()

    @desk.server.tool()
    def turn_on() -> str:
        desk.lit = True
        return "lit"

    card = desk.judged()
    left = [one.judge for one in card.rulings if "at_rest() says so" in one.seen]
    assert left == ["lists"]
    assert card.of("calls").outcome is Outcome.NOT_ASKED


def test_what_a_page_shows_is_text() -> None:
    server = Server("<b>x</b>")
    assert "<b>x" not in judge(server)._repr_html_()


def test_a_form_is_filled_in_with_what_fits() -> None:
    schema = {
        "properties": {
            "weeks": {"type": "integer", "minimum": 2},
            "size": {"type": "string", "enum": ["A4", "A3"]},
            "kind": {"type": "string", "oneOf": [{"const": "new", "title": "New"}]},
            "sure": {"type": "boolean"},
            "mail": {"type": "string", "format": "email"},
            "name": {"type": "string", "minLength": 6},
            "day": {"type": "string", "default": "friday"},
            "days": {"type": "array", "items": {"enum": ["mo", "tu"]}, "minItems": 2},
            "given": {"type": "string"},
        }
    }
    assert Plan(answers={"given": "mine"}).fill_in(schema) == {
        "weeks": 2,
        "size": "A4",
        "kind": "new",
        "sure": True,
        "mail": "reader@example.org",
        "name": "text..",
        "day": "friday",
        "days": ["mo", "tu"],
        "given": "mine",
    }


# The lesson, with the official peers


@pytest.fixture
def print_shop(project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """The server of the lesson, in a file of its own, as the lesson says; gives the code that judges it."""
    cells = json.loads((project / LESSON).read_text(encoding="utf-8"))["cells"]
    sources = {cell["id"]: "".join(cell["source"]) for cell in cells}
    pieces = [
        sources[cell["id"]]
        for cell in cells
        if cell["cell_type"] == "code" and cell["id"].startswith("server-")
    ]
    (tmp_path / "print_shop.py").write_text("\n\n".join(pieces) + "\n", encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    fence = re.search(r"```python\n(.*?)```", sources["strangers"], re.DOTALL)
    assert fence is not None
    yield fence[1]
    sys.modules.pop("print_shop", None)


def test_the_official_peers_judge_the_server_of_the_lesson(
    project: Path, print_shop: str, pytestconfig: pytest.Config, tmp_path: Path
) -> None:
    suite = install(pytestconfig.cache.mkdir("mcpsim-conformance"))
    modules = tmp_path / "node_modules" / "@modelcontextprotocol"
    modules.mkdir(parents=True)
    (modules / "conformance").symlink_to(suite.folder, target_is_directory=True)
    names: dict[str, Any] = {}
    exec(print_shop, names)
    card = names["card"]
    assert card.passed, card
    assert [one.outcome for one in card.rulings] == [Outcome.PASSED] * 8, card
    cells = json.loads((project / LESSON).read_text(encoding="utf-8"))["cells"]
    (strangers,) = ("".join(cell["source"]) for cell in cells if cell["id"] == "strangers")
    shown = re.search(r"```text\n(.*?)```", strangers, re.DOTALL)
    assert shown is not None
    assert shown[1].strip() in repr(card)


def test_who_is_not_installed_is_not_there(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setitem(sys.modules, "mcp", None)
    monkeypatch.delitem(sys.modules, "mcpsim.course.judging.with_sdk", raising=False)
    card = Desk().judged(live=True)
    assert card.passed
    assert card.of("official SDK").outcome is Outcome.NOT_THERE
    assert "pip install mcp" in card.of("official SDK").seen
    assert card.of("conformance suite").outcome is Outcome.NOT_THERE
    assert "npm install" in card.of("conformance suite").seen
    assert "6 of 6" in card.heading


def test_the_sdk_finds_a_tool_that_fails() -> None:
    made = bad(crashing)
    (sdk, _) = outside.outside_rulings(lambda: made, Plan())
    assert sdk.outcome is Outcome.NOT_YET
    assert "modern over HTTP" in sdk.seen
    assert "work failed" in sdk.seen


def test_in_a_browser_nobody_is_there(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(outside.sys, "platform", "emscripten")
    found = outside.outside_rulings(lambda: Desk().server, Plan())
    assert [one.outcome for one in found] == [Outcome.NOT_THERE] * 2


def test_without_uvicorn_there_is_nobody_to_serve(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "uvicorn", None)
    monkeypatch.delitem(sys.modules, "mcpsim.live.uvicorn_server", raising=False)
    (sdk, _) = outside.outside_rulings(lambda: Desk().server, Plan({"find": {"title": "Emma"}}))
    assert sdk.outcome is Outcome.NOT_THERE


def test_a_folder_without_the_suite_and_a_node_that_is_too_old(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(with_suite.NoSuite, match="not installed here"):
        with_suite.find_suite(tmp_path)
    (tmp_path / "dist").mkdir()
    (tmp_path / "dist" / "index.js").write_text("")
    monkeypatch.setattr(with_suite, "NODE_VERSION", 1_000)
    with pytest.raises(with_suite.NoSuite, match=r"wants Node\.js"):
        with_suite.find_suite(tmp_path)
