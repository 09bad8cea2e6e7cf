"""The cells of the notebook that the tests in JupyterLab share, by name: each shows a widget."""

from __future__ import annotations

from typing import Final

#: What the others need.
FIRST: Final = '''
import anyio
from mcpsim import Context, Server, simulate, widgets
from mcpsim.course import MISBEHAVING, STORIES, basket_shop, bench
from mcpsim.course.servers import travel_desk
from mcpsim.course.stories.asking import two_rounds

def reports():
    server = Server("reports")

    @server.tool()
    async def export(context: Context) -> str:
        """Build a report."""
        for part in range(1, 4):
            await anyio.sleep(0.1)
            await context.report_progress(part, 3, f"Part {part}")
        return "report.pdf"

    @server.tool()
    async def search(context: Context) -> str:
        """Search, nobody knows how long."""
        await anyio.sleep(0.15)
        await context.report_progress(0.5)
        await anyio.sleep(0.15)
        return "found"

    return server

async def two_calls(client):
    """Two calls."""
    await client.list_tools()
    await client.call_tool("create_basket", {})

SCHEMA = {
    "type": "object",
    "properties": {
        "name": {"type": "string", "title": "Your name", "minLength": 3},
        "mail": {"type": "string", "format": "email"},
        "page": {"type": "string", "format": "uri"},
        "day": {"type": "string", "format": "date"},
        "when": {"type": "string", "format": "date-time"},
        "bags": {"type": "integer", "minimum": 0, "maximum": 3, "default": 1},
        "weight": {"type": "number", "maximum": 23.5},
        "agree": {"type": "boolean"},
        "seat": {"type": "string", "enum": ["window", "aisle"], "default": "aisle"},
        "colour": {
            "type": "string",
            "oneOf": [{"const": "#f00", "title": "Red"}, {"const": "#0f0", "title": "Green"}],
        },
        "meals": {"type": "array", "items": {"type": "string", "enum": ["lunch", "dinner"]}, "maxItems": 1},
    },
    "required": ["name", "agree"],
}

async def many(client):
    """Many calls."""
    for _ in range(260):
        await client.list_tools()
'''
SMALL: Final = {
    "comparison": 'widgets.Comparison(*(bench("first-call").play(era=era) for era in ("legacy", "modern")))',
    "caches": "widgets.CacheTimeline(gateway=True)",
    "caches of a run": 'widgets.CacheTimeline(STORIES["fresh-then-stale"].play())',
    "bars": 'widgets.ProgressBars(reports, ["export", "search"])',
    "form": 'widgets.ElicitationForm(SCHEMA, server="travel-desk")',
    "address": 'widgets.ElicitationForm({"mode": "url", "message": "Sign in.", "url": "https://sign-in.example/"})',
    "form of a run": "widgets.ElicitationForm.in_run(two_rounds, server=travel_desk)",
    "matrix": "widgets.EraMatrix()",
    "layers": "widgets.Layers(two_calls, basket_shop())",
    "errors": "widgets.ErrorMap()",
    "lab": "widgets.MessageLab()",
    "lab on HTTP": 'widgets.MessageLab(transport="http")',
    "lab of a session": 'widgets.MessageLab(era="legacy")',
    "pages": "widgets.PaginationExplorer()",
}
PLAYERS: Final = {
    "player": 'widgets.Player(MISBEHAVING["server-tells-of-changes-undeclared"].play())',
    "rounds": 'widgets.Player(bench("one-question").play(transport="http"), cursor=2)',
    "many": "widgets.Player(simulate(many, server=basket_shop()))",
    "predicting": 'widgets.Player(bench("one-question").play(era="legacy"), cursor=0)',
    "bench": 'widgets.Bench.of(bench("fresh-then-stale"))',
    "bench of pages": 'bench("three-pages")',
    "bench of a question": 'bench("one-question")',
}
