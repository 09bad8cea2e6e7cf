"""Text that attacks whatever shows it, and what is full of it: a recording, a server, and every widget."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from html.parser import HTMLParser
from typing import Any, Final

import anyio

from mcpsim import Client, Context, Knob, Server, StreamableHttp, simulate, widgets
from mcpsim.errors import ToolError
from mcpsim.recording import Recording, events
from mcpsim.recording.run import Run
from mcpsim.widgets.base import Picture

ATTACKS = (
    "<script>window.hostile=1</script>",
    "</script><script>window.hostile=1</script>",
    "<img src=x onerror=window.hostile=1>",
    '"><svg onload=window.hostile=1>',
    "' autofocus onfocus=window.hostile=1 '",
    "<iframe srcdoc='<script>parent.hostile=1</script>'>",
    "javascript:window.hostile=1",
    "[here](javascript:window.hostile=1)",
    "`${window.hostile=1}` ${window.hostile=1}",
    "<!-- ]]> -->",
    "&lt;img src=x onerror=window.hostile=1&gt;",
    "\u2028window.hostile=1\u2029",
    "safe\u202egnp.exe\u202c\u2067\u2069",
    "zero\u200bwidth\ufeff\u2060\u00ad",
    "bell\x07 escape\x1b[31m nul\x00 \x85",
    "half \ud800 pair",
    '%%{init: {}}%%\nend\nparticipant x; click p1 href "javascript:window.hostile=1"',
    "*bold* | cell | <b>b</b> # title\n\n---",
    "__proto__",
    "مرحبا 123 שלום",
)

#: What can be sent as UTF-8, which half a surrogate pair cannot.
SENDABLE: Final = tuple(attack for attack in ATTACKS if "\ud800" not in attack)


def attacked(made: Any) -> Recording:
    """Everything that a recording can hold of strangers' text, with an attack in it."""
    pen = made.Pen()
    send = pen.send
    # Half a surrogate pair is no UTF-8: in a body it stands as an escape.
    pen.send = lambda sender, receiver, message, **more: send(
        sender, receiver, message if isinstance(message, bytes) else json.dumps(message).encode(), **more
    )
    parties = [ATTACKS[0], ATTACKS[2], ATTACKS[12]]
    client, server = parties[:2]
    for number, attack in enumerate(ATTACKS):
        pen.remember(client, **{attack: attack, "list": [attack], "object": {attack: attack}})
        call = {
            "name": attack,
            "arguments": {attack: attack},
            "_meta": {attack: attack, "progressToken": attack},
        }
        pen.send(client, server, made.request(attack, "tools/call", call))
        pen.send(
            server,
            client,
            made.notification("notifications/progress", progressToken=attack, progress=1, message=attack),
        )
        ask = {"mode": "url", "url": attack, "message": attack, "elicitationId": attack}
        form = {
            "message": attack,
            "requestedSchema": {"type": "object", "properties": {attack: {"title": attack}}},
        }
        asks = {
            attack: {"method": "elicitation/create", "params": ask},
            "form": {"method": "elicitation/create", "params": form},
        }
        if number % 3 == 0:
            pen.send(
                server,
                client,
                made.result(attack, resultType="input_required", inputRequests=asks, requestState=attack),
            )
        elif number % 3 == 1:
            link = {
                "type": "resource_link",
                "uri": attack,
                "name": attack,
                "title": attack,
                "icons": [{"src": attack}],
            }
            pen.send(
                server,
                client,
                made.result(attack, content=[*made.text(attack), link], structuredContent={attack: attack}),
            )
        else:
            pen.send(server, client, made.error(attack, -32602, attack, data={attack: attack}))
        pen.send(client, server, made.request(number, attack, {attack: attack}))
        pen.send(
            server,
            client,
            made.notification("notifications/message", level=attack, logger=attack, data=attack),
        )
        pen.recorder.note(client, attack)
        pen.handler(events.HANDLER_STARTED, attack, number)
        pen.handler(events.HANDLER_CANCELLED, attack, number)
        pen.send(server, client, attack.encode("utf-8", "surrogatepass"), channel="stderr")
        exchange = pen.recorder.new_exchange()
        head: Any = {"method": attack, "path": attack, "headers": [[attack, attack]]}
        pen.send(client, server, attack.encode("utf-8", "surrogatepass"), exchange=exchange, head=head)
        pen.recorder.closed(client, server, attack, attack, connection=1)
    return pen.done(ATTACKS[1], parties=parties, transport=ATTACKS[2])


# ------------------------------------------------------------------------------- a server, and its stories


def hostile_server(era: Any = "both", **settings: Any) -> Server:
    """A server that says nothing else: names, titles, descriptions, URIs, schemas, errors, progress, logs."""
    given: dict[str, Any] = {
        "title": ATTACKS[1],
        "instructions": ATTACKS[0],
        "version": ATTACKS[3],
        "ttl_ms": 60_000,
        "cache_scope": "public",
        "subscribe": True,
        "logging": True,
        **settings,
    }
    server = Server(ATTACKS[2], era=era, **given)
    for attack in SENDABLE:
        _offer(server, attack)
    return server


def _offer(server: Server, attack: str) -> None:
    field = {"type": "string", "title": attack, "description": attack, "default": attack, "enum": [attack]}
    schema: dict[str, Any] = {"type": "object", "title": attack, "properties": {attack: field}}
    icons = [{"src": "data:text/html,<script>window.hostile=1</script>"}]

    @server.tool(
        attack,
        title=attack,
        description=attack,
        input_schema=schema,
        annotations={"title": attack},
        icons=icons,
        meta={"example.com/attack": attack},
    )
    async def call(context: Context, **arguments: Any) -> str:
        await context.log("error", {attack: attack}, attack)
        for part in (1, 2):
            await anyio.sleep(0.1)
            await context.report_progress(part, 2, attack)
        if arguments:
            return attack
        raise ToolError(attack)

    number = SENDABLE.index(attack)

    @server.resource(
        f"javascript:window.hostile={number}",
        name=attack,
        title=attack,
        description=attack,
        mime_type=attack,
        icons=icons,
    )
    def read() -> str:
        return attack

    @server.prompt(attack, title=attack, description=attack)
    def write(topic: str = attack) -> str:
        return topic


def hostile_form() -> dict[str, Any]:
    """A form whose every text is an attack, with a field of each kind for each of them."""
    texts = [{"title": attack, "description": attack} for attack in SENDABLE]
    fields: dict[str, Any] = {}
    for number, (attack, text) in enumerate(zip(SENDABLE, texts, strict=True)):
        kinds: list[dict[str, Any]] = [
            {"type": "string", "default": attack},
            {"type": "string", "enum": list(SENDABLE), "default": attack},
            {"type": "string", "oneOf": [{"const": each, "title": each} for each in SENDABLE]},
            {"type": "array", "items": {"type": "string", "enum": list(SENDABLE)}, "default": [attack]},
            {"type": "boolean"},
            {"type": "integer", "minimum": 3},
            {"type": "string", "format": attack},
            {"type": attack},
        ]
        fields[attack] = {**text, **kinds[number % len(kinds)]}
    return {"type": "object", "properties": fields, "required": list(SENDABLE[4:6])}


async def hostile_story(client: Client) -> None:
    """Ask for everything, and be told."""
    await client.list_tools()
    await client.list_resources()
    await client.list_prompts()
    for number, attack in enumerate(SENDABLE):
        await client.call_tool(attack, {attack: attack} if number % 2 else {})
        await client.read_resource(f"javascript:window.hostile={number}")


def hostile_run(era: Any = "modern", transport: Any = None) -> Run:
    return simulate(
        hostile_story, server=hostile_server(), era=era, transport=transport, title=ATTACKS[era == "modern"]
    )


def play(attack: str, number: float, switch: bool) -> Run:
    """What the bench of attacks plays."""
    del number
    if switch:
        raise ValueError(attack)

    async def story(client: Client) -> None:
        await client.call_tool(attack, {})
        raise ValueError(attack)

    return simulate(story, server=hostile_server(), title=attack, check=False)


def hostile_bench() -> widgets.Bench:
    def find(text: str) -> Any:
        raise LookupError(text)

    more = {"group": ATTACKS[3], "hint": ATTACKS[12]}
    return widgets.Bench(
        play,
        [
            Knob.choice("attack", ATTACKS[2], {attack: attack for attack in SENDABLE}, **more),
            Knob.number("number", ATTACKS[4], 0, 9, default=None, unit=ATTACKS[9], none=ATTACKS[0], **more),
            Knob.switch("switch", ATTACKS[10], group=ATTACKS[5], hint=ATTACKS[13]),
        ],
        title=ATTACKS[14],
        name="attack",
        find=find,
    )


def hostile_address() -> widgets.ElicitationForm:
    asked = {"mode": "url", "message": ATTACKS[2], "url": ATTACKS[6], "elicitationId": ATTACKS[0]}
    return widgets.ElicitationForm(asked, server=ATTACKS[3])


def hostile_lab(transport: Any) -> widgets.MessageLab:
    """A lab in which everything was sent already."""
    lab = widgets.MessageLab(hostile_server, transport=transport)
    # A lab looks at all that was sent before: half of them will do, and on HTTP the other half.
    for number, attack in enumerate(ATTACKS[transport == "http" :: 2]):
        call = {"name": attack, "arguments": {attack: attack}, "uri": attack, "cursor": attack}
        lab.send(attack)
        message: dict[str, Any] = {"jsonrpc": "2.0", "id": attack, "method": attack, "params": call}
        lab.send(json.dumps(message if number % 2 else {**message, "method": "tools/call"}))
        if transport == "http":
            lines = [(attack, attack), ("Mcp-Name", attack), ("MCP-Session-Id", attack)]
            lab.send_http(attack, method=attack, headers=lines)
    return lab


def hostile_pages() -> widgets.PaginationExplorer:
    explorer = widgets.PaginationExplorer()
    for attack in SENDABLE:
        explorer.send_cursor(attack)
    return explorer


def _wished(widget: Any) -> Any:
    """The widget when a browser has sent it attacks in place of wishes."""
    for attack in SENDABLE:
        wish = {
            "do": attack,
            "text": attack,
            "era": attack,
            "transport": attack,
            "settings": {attack: attack},
        }
        widget.set_state({"asked": {"n": 1, **wish}})
        assert widget.error
    return widget


def _turned(bench: widgets.Bench) -> widgets.Bench:
    for attack in SENDABLE[9:15]:
        bench.turn(attack=attack)
    return bench


def _widgets() -> Mapping[str, Callable[[Any], Picture]]:
    return {
        "MessageLab": lambda _: hostile_lab("stdio"),
        "MessageLab on HTTP": lambda _: hostile_lab("http"),
        "MessageLab: wishes": lambda _: _wished(widgets.MessageLab(hostile_server)),
        "CacheTimeline": lambda _: widgets.CacheTimeline(hostile_run()),
        "CacheTimeline of a recording": lambda made: widgets.CacheTimeline(attacked(made)),
        "CacheTimeline: wishes": lambda _: _wished(widgets.CacheTimeline()),
        "Comparison": lambda _: widgets.Comparison(hostile_run("legacy"), hostile_run("modern")),
        "Comparison of recordings": lambda made: widgets.Comparison(
            attacked(made), hostile_run().recording, names=(ATTACKS[2], ATTACKS[12])
        ),
        "ElicitationForm": lambda _: widgets.ElicitationForm(hostile_form(), server=ATTACKS[2]),
        "ElicitationForm: an address": lambda _: hostile_address(),
        "ElicitationForm: wishes": lambda _: _wished(hostile_address()),
        "ProgressBars": lambda _: widgets.ProgressBars(hostile_server, list(SENDABLE[:12])),
        "ProgressBars: the rest": lambda _: _wished(
            widgets.ProgressBars(
                hostile_server,
                [(one, {one: one}) for one in SENDABLE[7:]],
                transport=StreamableHttp(),
                era="legacy",
            )
        ),
        "PaginationExplorer": lambda _: hostile_pages(),
        "PaginationExplorer: wishes": lambda _: _wished(widgets.PaginationExplorer()),
        "Layers": lambda _: widgets.Layers(hostile_story, hostile_server()),
        "Layers: wishes": lambda _: _wished(widgets.Layers(hostile_story, hostile_server())),
        "EraMatrix": lambda _: widgets.EraMatrix(hostile_server, hostile_story),
        "EraMatrix: wishes": lambda _: _wished(widgets.EraMatrix(hostile_server)),
        "ErrorMap": lambda _: _wished(widgets.ErrorMap()),
        "Bench": lambda _: hostile_bench(),
        "Bench that was turned": lambda _: _turned(hostile_bench()),
        "Bench: wishes": lambda _: _wished(hostile_bench()),
        "Player": lambda made: widgets.Player(attacked(made)),
    }


#: Every widget, with attacks wherever it takes what others say. Each is made of `tests/widgets/made.py`.
HOSTILE_WIDGETS: Final = _widgets()


# --------------------------------------------------------------------------------------- what can be active


class Tags(HTMLParser):
    """The elements and the attributes of a piece of HTML."""

    def __init__(self) -> None:
        super().__init__()
        self.elements: set[str] = set()
        self.attributes: set[str] = set()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.add(tag)
        self.attributes |= {name for name, _ in attrs}


DRAWN = {"svg", "title", "desc", "rect", "g", "path", "text", "tspan", "circle", "line"}
WRITTEN = DRAWN | {
    "figure",
    "details",
    "summary",
    "table",
    "thead",
    "tbody",
    "tr",
    "th",
    "td",
    "p",
    "ul",
    "li",
}


def runs(names: set[str]) -> set[str]:
    return {name for name in names if name.startswith("on") or name in ("src", "action") or "href" in name}
