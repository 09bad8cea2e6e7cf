"""Exercises 16: capstone. What learners might write, right and wrong.

A right answer here is not the solution. A wrong one is a right one in which something was written otherwise;
it stands with words of what the check sees in it, and with words of the rule or of what to look at next.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import anyio
import pytest

from mcpsim import Client, ConnectionClosed, ProtocolError, RequestTimeout, Server, ToolError, simulate
from mcpsim.course import exercises, text_of
from mcpsim.course.exercises import ExerciseSet, Outcome
from mcpsim.course.exercises.set_16_capstone.repair import BROKEN
from tests.exercises.answers import *  # noqa: F403 - the tests that every set shares

pytestmark = pytest.mark.filterwarnings("ignore:coroutine .* was never awaited")


def written(text: str, name: str, *changes: tuple[str, str]) -> Any:
    """What a learner wrote, with some of it written otherwise."""
    for old, new in changes:
        assert text.count(old) == 1, old
        text = text.replace(old, new)
    names: dict[str, Any] = {
        "anyio": anyio,
        "ConnectionClosed": ConnectionClosed,
        "ProtocolError": ProtocolError,
        "RequestTimeout": RequestTimeout,
        "Server": Server,
        "ToolError": ToolError,
        "text_of": text_of,
    }
    exec(text, names)
    return names[name]


# --- 16, repair -----------------------------------------------------------------------------------

ARCHIVE: Final = """
CONFIRM = {"type": "object", "properties": {"sure": {"type": "boolean"}}, "required": ["sure"]}

def make_archive(papers, lamp):
    archive = Server("my-archive", version="2.0.0")

    async def copy(context, name: str):
        try:
            words = papers[name].split()
        except KeyError:
            raise ToolError("Not here: " + name + ". Here: " + " ".join(sorted(papers))) from None
        try:
            await lamp.on()
            done = 0
            while done < len(words):
                await anyio.sleep(0.5)
                done += 1
                await context.report_progress(done, len(words), words[done - 1])
        except BaseException:
            with anyio.CancelScope(shield=True):
                await lamp.off()
            raise
        with anyio.move_on_after(1, shield=True):
            await lamp.off()
        return papers[name]

    async def destroy(context, name: str):
        if papers.get(name) is None:
            raise ToolError("Not here: " + name + ". Here: " + " ".join(sorted(papers)))
        answer = await context.elicit("Really?", CONFIRM)
        if answer.action == "accept" and answer.content["sure"]:
            papers.pop(name)
            return "Done."
        return "Kept."

    archive.tool()(copy)
    archive.tool()(destroy)
    return archive
"""

REPORT: Final = "await context.report_progress(done, len(words), words[done - 1])"
HELP: Final = 'raise ToolError("Not here: " + name + ". Here: " + " ".join(sorted(papers))) from None'


SHIELDED: Final = "        with anyio.CancelScope(shield=True):\n            await lamp.on()\n"

OFF: Final = "        with anyio.move_on_after(1, shield=True):\n            await lamp.off()\n"


def archive(*changes: tuple[str, str]) -> Any:
    return written(ARCHIVE, "make_archive", *changes)


def mended(*changes: tuple[str, str]) -> Any:
    return written(BROKEN, "make_archive", *changes)


CODE: Final = ("ProtocolError(404, ", "ToolError(")
IMPORT: Final = ("from mcpsim import ProtocolError, Server", "from mcpsim import Server, ToolError")

REPAIR: Final = [
    ("repair", archive()),
    ("repair", archive(('"accept" and answer.content["sure"]', '"accept" and answer.content.get("sure")'))),
    ("repair", mended(), "a client could use [1]", "MUST increase"),
    ("repair", mended(CODE, IMPORT), "a client could use [1]", "MUST increase"),
    (
        "repair",
        archive((REPORT, "await context.report_progress(len(words) - done, len(words))")),
        "raised ValueError: progress must grow",
        "how many are done by now",
    ),
    (
        "repair",
        archive((REPORT, "await context.report_progress(done - 1, len(words))")),
        "was [0, 1, 2, 3]. It should be [1, 2, 3, 4]",
        "When the first one is, that is 1",
    ),
    (
        "repair",
        archive((REPORT, "await context.report_progress(100 * done / len(words), 100)")),
        "It should be [1, 2, 3, 4]",
        "how many words are done",
    ),
    ("repair", archive((REPORT, "pass")), "a client could use []", "report_progress(done, total)"),
    (
        "repair",
        archive(
            (
                REPORT,
                'await context.notify("notifications/progress", {"progressToken": 1, "progress": done})',
            )
        ),
        "a client could use []",
        "MUST increase",
    ),
    (
        "repair",
        archive(("            with anyio.CancelScope(shield=True):\n                await lamp.off()\n", "")),
        "the copying is stopped",
        "free what it held",
    ),
    (
        "repair",
        archive(("with anyio.CancelScope(shield=True):", "if True:")),
        "the lamp is still lit",
        "cancelled at each `await`",
    ),
    (
        "repair",
        archive(("        try:\n            await lamp.on()\n", "        await lamp.on()\n        try:\n")),
        "the copying is stopped at once (modern, stdio), the lamp is still lit",
        "`try` begins before",
    ),
    (
        "repair",
        archive(
            ("        try:\n            await lamp.on()\n", SHIELDED),
            (
                "        except BaseException:\n            with anyio.CancelScope(shield=True):\n"
                "                await lamp.off()\n            raise\n"
                "        with anyio.move_on_after(1, shield=True):\n            await lamp.off()\n",
                "            await lamp.off()\n",
            ),
        ),
        "after the Stop that the lamp went out",
        "for switching off alone",
    ),
    (
        "repair",
        archive((OFF, "        await lamp.off()\n")),
        "stopped as the lamp goes out (modern, stdio), the lamp is still lit",
        "cancelled at each `await`",
    ),
    (
        "repair",
        archive(
            ("            await lamp.on()\n", ""),
            (f"{OFF}        return", "        return"),
        ),
        "it was copied in the dark",
        "by the light of the lamp",
    ),
    (
        "repair",
        archive((HELP, 'raise ProtocolError(404, "Here: " + " ".join(papers)) from None')),
        "the protocol error 404 came",
        "belongs into the result",
    ),
    (
        "repair",
        archive((HELP, 'raise ProtocolError(-32050, "Here: " + " ".join(papers)) from None')),
        "the code -32050 is kept for the specification",
        "a text that helps",
    ),
    ("repair", archive((HELP, "raise")), "copy raised KeyError", "a text that helps"),
    (
        "repair",
        archive((HELP, "raise ToolError('No such paper.')")),
        "'No such paper.'",
        "with the text that",
    ),
    ("repair", archive((HELP, "return 'Here: ' + ' '.join(papers)")), "a result like any other", "ToolError"),
    (
        "repair",
        archive(
            (
                'answer = await context.elicit("Really?", CONFIRM)',
                'kept = papers.pop(name)\n        answer = await context.elicit("Really?", CONFIRM)',
            ),
            ("papers.pop(name)\n            return", "return"),
        ),
        "the answer is an error",
        "runs again from its start",
    ),
    (
        "repair",
        archive(('answer.action == "accept" and ', "")),
        "the user declines (modern, stdio), destroy raised TypeError",
        "Ask for `answer.action` before",
    ),
    (
        "repair",
        archive((' and answer.content["sure"]', "")),
        "the user accepts, and is not sure",
        "the box is ticked",
    ),
    ("repair", archive(("papers.pop(name)\n", "pass\n")), "is still there", "del papers[name]"),
    ("repair", archive(("return papers[name]", 'return "Copied."')), "'Copied.'", "has to do its work"),
    ("repair", lambda papers, lamp: Server("archive"), "Method not found", "has to do its work"),
    ("repair", lambda papers, lamp: None, "It should return a `Server`", "return server"),
    ("repair", lambda papers: Server("archive"), "raised TypeError", "Call it yourself"),
]

# --- 16, market -----------------------------------------------------------------------------------

MARKET: Final = """
def make_market(stalls, oven):
    market = Server("fair", page_size=2, list_changed=True, instructions="Bread is fresh.")
    goods_of = {}

    def add(name, goods):
        goods_of[name] = goods
        market.resource("market://" + name, name=name)(lambda: goods_of[name])

    def open_stall(name: str, goods: str):
        if name in goods_of:
            raise ToolError("There is one already: " + name)
        add(name, goods)
        return "open"

    def close_stall(name: str):
        try:
            market.remove_resource("market://" + name)
        except KeyError:
            raise ToolError("There is no " + name) from None
        del goods_of[name]
        return "closed"

    async def bake(context, loaves: int):
        try:
            await oven.heat()
            for done in range(loaves):
                await oven.bake_one()
                await context.report_progress(done + 1)
        finally:
            with anyio.move_on_after(1, shield=True):
                await oven.cool()
        return "bread"

    for tool in (open_stall, close_stall, bake):
        market.tool()(tool)
    for name in reversed(stalls):
        add(name, stalls[name])
    return market
"""


def market(*changes: tuple[str, str]) -> Any:
    return written(MARKET, "make_market", *changes)


MARKETS: Final = [
    ("market", market()),
    ("market", market(("page_size=2", "page_size=3"))),
    ("market", market(("page_size=2, ", "")), "8 stalls came on pages of 8", "stable cursors"),
    ("market", market(("page_size=2", "page_size=4")), "on pages of 4, 4", "page_size=3"),
    ("market", market(("lambda: goods_of[name]", "lambda: goods"))),
    (
        "market",
        market(
            (
                "    for name in reversed(stalls):\n        add(name, stalls[name])\n",
                "    for name, goods in stalls.items():\n        goods_of[name] = goods\n"
                '        market.resource("market://" + name)(lambda: goods)\n',
            )
        ),
        "It should say",
        "as it is *later*",
    ),
    ("market", market(("list_changed=True, ", "")), "heard nothing of it", "SHOULD tell"),
    (
        "market",
        market(("        add(name, goods)\n        return", "        return")),
        "the list holds",
        "One resource for each stall",
    ),
    (
        "market",
        market(
            (
                "        if name in goods_of:\n"
                '            raise ToolError("There is one already: " + name)\n',
                "",
            )
        ),
        "open_stall raised RegistrationError",
        "Look before you take",
    ),
    (
        "market",
        market(('raise ToolError("There is no " + name) from None', "return 'There is no ' + name")),
        "a result like any other",
        "raise ToolError",
    ),
    (
        "market",
        market(('raise ToolError("There is no " + name) from None', "raise ToolError('No.') from None")),
        "an error that names the stall",
        "so that the model sees it",
    ),
    (
        "market",
        market(("with anyio.move_on_after(1, shield=True):", "if True:")),
        "the oven stayed hot",
        "shield=True",
    ),
    (
        "market",
        market(
            ("        try:\n            await oven.heat()\n", "        await oven.heat()\n        try:\n"),
        ),
        "stopped after 0.05 s, the oven stayed hot",
        "`try` begins before",
    ),
    (
        "market",
        market(
            (
                "        try:\n            await oven.heat()\n            for",
                "        with anyio.CancelScope(shield=True):\n"
                "            await oven.heat()\n            for",
            ),
            (
                "        finally:\n            with anyio.move_on_after(1, shield=True):\n"
                "                await oven.cool()\n",
                "            await oven.cool()\n",
            ),
        ),
        "6 loaves were baked all the same",
        "for the cooling alone",
    ),
    (
        "market",
        market(("await context.report_progress(done + 1)", "pass")),
        "a client could use []",
        "MUST increase",
    ),
    (
        "market",
        market(
            (
                "        finally:\n            with anyio.move_on_after(1, shield=True):\n"
                "                await oven.cool()\n",
                "        except BaseException:\n            with anyio.move_on_after(1, shield=True):\n"
                "                await oven.cool()\n            raise\n        await oven.cool()\n",
            )
        ),
        "when the baking was stopped after 3.15 s, the oven stayed hot",
        "`finally`",
    ),
    ("market", market(("range(loaves)", "range(loaves - 1)")), "loaves were to be baked", "for each loaf"),
    (
        "market",
        market(('market.resource("market://" + name, name', 'market.resource("stall://" + name, name')),
        "the list holds stall://",
        "One resource",
    ),
    ("market", lambda stalls, oven: Server("market"), "Method not found", "what the tools are called"),
    ("market", lambda stalls, oven: None, "It should return a `Server`", "return server"),
]

# --- 16, host -------------------------------------------------------------------------------------

HOST: Final = """
import mcp_types

class Host:
    def __init__(self, person):
        self.person = person

    async def question(self, asked):
        said = await self.person.answers(asked.message, asked.requested_schema)
        if isinstance(said, str):
            return mcp_types.ElicitResult(action=said)
        return mcp_types.ElicitResult(action="accept", content=said)

    async def converse(self, client, model, wish, most):
        texts = [wish]
        async for page in client.pages("tools/list"):
            texts += [tool.name + ": " + (tool.description or "") for tool in page.tools]
        turn = model.reads("\\n".join(texts))
        left = most
        while not isinstance(turn, str):
            if left == 0:
                return None
            left -= 1
            turn = model.reads(await self.text(client, turn))
        return turn

    async def text(self, client, use):
        if not await self.person.agrees(use.name, use.arguments):
            return "Denied: no."
        result = None
        try:
            with self.person.button():
                result = await client.call_tool(use.name, dict(use.arguments))
        except ProtocolError as error:
            return "Refused: " + error.message
        except (ConnectionClosed, RequestTimeout) as error:
            return "Lost: " + str(error)
        if result is None:
            return "Stopped: by the user."
        if result.is_error:
            return "Failed: " + text_of(result)
        return text_of(result)
"""


def host(*changes: tuple[str, str]) -> Any:
    return written(HOST, "Host", *changes)


class Maker:
    """A function that makes a host is as good as a class."""

    def __call__(self, person: Any) -> Any:
        return host()(person)


FORGETS: Final = "        if result is None:\n            return\n"
CALL: Final = "result = await client.call_tool(use.name, dict(use.arguments))"
LOST: Final = '(ConnectionClosed, RequestTimeout) as error:\n            return "Lost: " + str(error)'

HOSTS: Final = [
    ("host", host()),
    ("host", Maker()),
    (
        "host",
        host(('async for page in client.pages("tools/list"):', "for page in [await client.list_tools()]:")),
        "find, work is missing",
        "The list has pages",
    ),
    ("host", host(("texts = [wish]", "texts = []")), "The wish and the names", "The list has pages"),
    (
        "host",
        host(("if not await self.person.agrees(use.name, use.arguments):", "if False:")),
        "the user had not been shown it",
        "before each call",
    ),
    (
        "host",
        host(
            (
                "if not await self.person.agrees(use.name, use.arguments):",
                "await self.person.agrees(use.name, use.arguments)\n        if False:",
            )
        ),
        "The user had not agreed to it",
        "only where `agrees` is true",
    ),
    (
        "host",
        host(
            (
                "if not await self.person.agrees(use.name, use.arguments):",
                "if not self.person.agrees(use.name, use.arguments):",
            )
        ),
        "the user had not been shown it",
        "before each call",
    ),
    (
        "host",
        host(("ConnectionClosed, RequestTimeout", "RequestTimeout,")),
        "raised ConnectionClosed",
        "`except` belongs",
    ),
    (
        "host",
        host(("ConnectionClosed, RequestTimeout", "ConnectionClosed,")),
        "raised RequestTimeout",
        "What was in flight",
    ),
    (
        "host",
        host(("except ProtocolError as error", "except KeyError as error"), ("error.message", "str(error)")),
        "raised ProtocolError",
        "protocol errors",
    ),
    (
        "host",
        host((LOST, "(ConnectionClosed, RequestTimeout):\n            return await self.text(client, use)")),
        "was sent 2 times",
        "Nobody knows whether",
    ),
    (
        "host",
        host(
            (
                LOST,
                "(ConnectionClosed, RequestTimeout):\n            try:\n                "
                + CALL
                + "\n            except Exception:\n                return 'Lost: twice.'",
            )
        ),
        "was sent 2 times",
        "let it decide",
    ),
    (
        "host",
        host(('        if result.is_error:\n            return "Failed: " + text_of(result)\n', "")),
        "It should begin with 'Failed:'",
        "`is_error`",
    ),
    (
        "host",
        host(('return "Failed: " + text_of(result)', 'return "Failed: something"')),
        "and hold 'There is no",
        "belongs to the model",
    ),
    (
        "host",
        host(('return "Refused: " + error.message', 'return "Failed: " + error.message')),
        "It should begin with 'Refused:'",
        "error.message",
    ),
    (
        "host",
        host(
            (
                "            with self.person.button():\n                result",
                "            if True:\n                result",
            )
        ),
        "It should begin with 'Stopped:'",
        "button()",
    ),
    (
        "host",
        host(
            ("return mcp_types.ElicitResult(action=said)", 'return mcp_types.ElicitResult(action="decline")')
        ),
        "and hold 'No name for",
        "`question` returns what the person does",
    ),
    (
        "host",
        host(('return mcp_types.ElicitResult(action="accept", content=said)', 'return {"name": "Kim"}')),
        "is Name",
        "three answers",
    ),
    (
        "host",
        host(("said = await self.person.answers(asked.message, asked.requested_schema)", 'said = "decline"')),
        "read",
        "three answers",
    ),
    (
        "host",
        host(('        if result is None:\n            return "Stopped: by the user."\n', FORGETS)),
        "and was given None. What a model reads is a text",
        "cancelled_caught",
    ),
    ("host", host(('"\\n".join(texts)', "texts")), "the model was first given [", "the wish and the names"),
    (
        "host",
        host(
            ("return mcp_types.ElicitResult(action=said)", "return said"),
            ('return mcp_types.ElicitResult(action="accept", content=said)', 'return {"action": "accept"}'),
        ),
        "does not fit the form",
        "`question` returns what the person does",
    ),
    (
        "host",
        host(("            if left == 0:\n                return None\n", "")),
        "The script of this model has no turn left",
        "one more than `most`",
    ),
    ("host", host(("if left == 0:", "if left < 0:")), "beyond the limit", "none after the last one"),
    ("host", host(("left = most", "left = most - 1")), "It should have been", "One question for each"),
    ("host", host(("return None", 'return "I give up."')), "should return None", "where it wants one more"),
    ("host", lambda person: person, "which has no method `question`", "A class with the methods"),
    ("host", lambda person: None, "which has no method `question`", "A class with the methods"),
]

# --- 16, whole ------------------------------------------------------------------------------------

LIBRARY: Final = """
FORM = {"type": "object", "properties": {"weeks": {"type": "integer", "minimum": 1, "maximum": 4}}}
FORM["required"] = ["weeks"]

def make_library(books, hours, lamp, lend):
    library = Server("reading-room", page_size=2)

    def known(title):
        if title in books:
            return books[title]
        raise ToolError("Nobody has heard of " + title)

    @library.tool()
    async def scan(context):
        count = 0
        try:
            await lamp.on()
            for _ in books:
                await anyio.sleep(0.5)
                count += 1
                await context.report_progress(count)
        finally:
            async with anyio.create_task_group() as tasks:
                tasks.cancel_scope.shield = True
                tasks.start_soon(lamp.off)
        return str(count)

    @library.tool()
    async def reserve(context, title: str):
        known(title)
        answer = await context.elicit("Weeks?", FORM)
        match answer.action:
            case "accept":
                lend(title, answer.content["weeks"])
                return "Reserved."
            case other:
                return "Not reserved: " + other

    @library.tool()
    def where_is(title: str):
        return "Shelf " + known(title)

    @library.resource("library://hours")
    def opening():
        return "Open from " + hours

    return library
"""


def library(*changes: tuple[str, str]) -> Any:
    return written(LIBRARY, "make_library", *changes)


MATCH: Final = (
    '        match answer.action:\n            case "accept":\n'
    '                lend(title, answer.content["weeks"])\n                return "Reserved."\n'
    '            case other:\n                return "Not reserved: " + other\n'
)

LIBRARIES: Final = [
    ("whole", library()),
    ("whole", library(("page_size=2", "page_size=1"))),
    (
        "whole",
        library((", page_size=2", "")),
        "They should be reserve, scan, where_is, at most 2 to a page",
        "pages",
    ),
    ("whole", library(("async def scan", "async def scan_all")), "the tools are", "names of the task"),
    ("whole", library(('"Open from " + hours', '"Open from 8 to 18"')), "It should say", "library://hours"),
    (
        "whole",
        library(('return "Shelf " + known(title)', 'known(title)\n        return "On a shelf"')),
        "stands on",
        "the shelf in it",
    ),
    (
        "whole",
        library(('raise ToolError("Nobody has heard of " + title)', "return 'nowhere'")),
        "a result like any other",
        "names the title",
    ),
    (
        "whole",
        library(('raise ToolError("Nobody has heard of " + title)', "raise KeyError(title)")),
        "where_is raised KeyError",
        "a text that helps",
    ),
    (
        "whole",
        library(('raise ToolError("Nobody has heard of " + title)', "raise ProtocolError(-32602, title)")),
        "ended with the error",
        "another title",
    ),
    (
        "whole",
        library(("        known(title)\n        answer", "        answer")),
        "Reserved.",
        "names the title",
    ),
    (
        "whole",
        library(("FORM)", "[1])")),
        "reserve raised ElicitationSchemaError",
        "what is wrong with the form",
    ),
    (
        "whole",
        library(
            (
                "        finally:\n            async with anyio.create_task_group() as tasks:\n"
                "                tasks.cancel_scope.shield = True\n"
                "                tasks.start_soon(lamp.off)\n",
                "        except BaseException:\n            with anyio.CancelScope(shield=True):\n"
                "                await lamp.off()\n            raise\n        await lamp.off()\n",
            )
        ),
        "(modern, stdio): something is left in the end",
        "`finally`",
    ),
    (
        "whole",
        library(("await context.report_progress(count)", "await context.report_progress(1 + count // 9)")),
        "scan raised ValueError: progress must grow",
        "MUST increase",
    ),
    (
        "whole",
        library(("                await context.report_progress(count)\n", "")),
        "a client could use []",
        "report_progress",
    ),
    (
        "whole",
        library(("await context.report_progress(count)", "await context.report_progress(count - 1)")),
        "the progress of 4 books was [0, 1, 2, 3]",
        "how many books are done",
    ),
    ("whole", library(("            await lamp.on()\n", "")), "the lamp was lit for 0 s", "Lamp on"),
    (
        "whole",
        library(("        try:\n            await lamp.on()\n", "        await lamp.on()\n        try:\n")),
        "The judge of stop says: Stop scan after 0.05 s (modern, stdio): something is left",
        "`try` begins before",
    ),
    (
        "whole",
        library((', "minimum": 1, "maximum": 4', "")),
        "a form that takes 0 for `weeks`",
        "a `minimum` of 1",
    ),
    ("whole", library(('"maximum": 4', '"maximum": 3')), "does not take 4 for `weeks`", "`maximum` of 4"),
    ("whole", library(('FORM["required"] = ["weeks"]', "")), "may be sent without `weeks`", "is required"),
    (
        "whole",
        library(('"type": "integer", "minimum": 1, "maximum": 4', '"type": "string"')),
        "does not take 1",
        "SHOULD check",
    ),
    (
        "whole",
        library((MATCH, '        lend(title, answer.content["weeks"])\n        return "Reserved."\n')),
        "The judge of questions says: In modern, stdio: reserve raised TypeError",
        "declines or dismisses",
    ),
    (
        "whole",
        library(
            (MATCH, '        lend(title, (answer.content or {}).get("weeks"))\n        return "Reserved."\n')
        ),
        "`lend` was called with",
        "answer.action",
    ),
    (
        "whole",
        library(
            (
                '        answer = await context.elicit("Weeks?", FORM)\n',
                '        lend(title, 2)\n        answer = await context.elicit("Weeks?", FORM)\n',
            ),
            ('                lend(title, answer.content["weeks"])\n', ""),
        ),
        "it should be",
        "is done again",
    ),
    (
        "whole",
        library(("                tasks.cancel_scope.shield = True\n", "")),
        "The judge of stop says",
        "free what it held",
    ),
    (
        "whole",
        library(
            (
                "        try:\n            await lamp.on()",
                "        with anyio.CancelScope(shield=True):\n            await lamp.on()",
            ),
            (
                "        finally:\n            async with anyio.create_task_group() as tasks:\n"
                "                tasks.cancel_scope.shield = True\n"
                "                tasks.start_soon(lamp.off)\n",
                "            await lamp.off()\n",
            ),
        ),
        "its handler went on for",
        "SHOULD stop processing",
    ),
    ("whole", lambda books, hours, lamp, lend: Server("library"), "Method not found", "what there is"),
    ("whole", lambda books, hours, lamp, lend: None, "It should return a `Server`", "return server"),
]


ALL: Final = [*REPAIR, *MARKETS, *HOSTS, *LIBRARIES]


@pytest.fixture
def set_of() -> Callable[..., ExerciseSet]:
    return exercises.capstone


PROGRESS: Final = (
    '                params = {"progressToken": context.progress_token, "progress": 1, "total": len(words)}\n'
    '                await context.notify("notifications/progress", params)\n',
    "                await context.report_progress(words.index(word) + 1, len(words))\n",
)
CLEANS: Final = (
    "            except BaseException:\n                with anyio.CancelScope(shield=True):\n"
    "                    await lamp.off()\n                raise\n"
)
CLEAN_UP: Final = (
    "            await anyio.sleep(0.5)\n",
    "            try:\n                await anyio.sleep(0.5)\n" + CLEANS,
)
CLEAN_UP_EARLY: Final = (
    "        await lamp.on()\n",
    "        for _ in (1,):\n            try:\n                await lamp.on()\n" + CLEANS,
)
CLEAN_UP_LATE: Final = (
    '        await lamp.off()\n        return " ".join(words)\n',
    f'{OFF}        return " ".join(words)\n',
)
ORDER: Final = ("        del papers[name]\n        answer", "        answer")
AFTER: Final = (
    '        return f"{name} is destroyed."',
    '        del papers[name]\n        return "Destroyed."',
)
ASK: Final = ('if not answer.content["sure"]:', 'if answer.action != "accept" or not answer.content["sure"]:')
FOUR: Final = {
    "progress": ((PROGRESS,), "a client could use [1]"),
    "clean-up": ((CLEAN_UP, CLEAN_UP_EARLY, CLEAN_UP_LATE), "the lamp is still lit"),
    "error": ((CODE, IMPORT), "the protocol error 404 came"),
    "question": ((ORDER, AFTER, ASK), ""),
}


@pytest.mark.parametrize("left", FOUR)
def test_each_of_the_four_rules_has_to_be_mended(left: str) -> None:
    changes = [change for name, (several, _) in FOUR.items() if name != left for change in several]
    verdict = exercises.capstone().repair.check(mended(*changes))
    assert verdict.outcome is Outcome.NOT_YET
    assert FOUR[left][1] in verdict.seen


def test_where_all_four_are_mended_it_is_right() -> None:
    changes = [change for several, _ in FOUR.values() for change in several]
    assert exercises.capstone().repair.check(mended(*changes)).passed


def test_a_person_of_the_notebook_is_called_kim() -> None:
    kim = exercises.capstone().Person()

    async def story(client: Client) -> Any:
        with kim.button():
            await anyio.sleep(100)
        return await kim.agrees("any", {}), await kim.answers("Name?", {})

    assert simulate(story, server=Server("any")).value == (True, {"name": "Kim"})


def test_the_servers_of_the_notebook_have_something_in_them() -> None:
    ex = exercises.capstone()

    async def story(client: Client) -> Any:
        return [tool.name async for page in client.pages("tools/list") for tool in page.tools]

    assert simulate(story, server=ex.archive(archive())).value == ["copy", "destroy"]
    assert simulate(story, server=ex.fair(market())).value == ["bake", "close_stall", "open_stall"]
    assert simulate(story, server=ex.library(library())).value == ["reserve", "scan", "where_is"]
