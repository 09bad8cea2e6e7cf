"""What the layers view shows, as plain data: one call, and what each layer puts around it.

Pure functions: a call is read off its recording.

https://modelcontextprotocol.io/specification/2026-07-28/basic/index
https://modelcontextprotocol.io/specification/2026-07-28/basic/transports
"""

from __future__ import annotations

import html
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, cast

from mcpsim.eras.pages import spec_url
from mcpsim.messages import ErrorResponse, Request, Response, read_json, to_object
from mcpsim.recording import Frame, Recording
from mcpsim.widgets.pretty import pretty
from mcpsim.widgets.raw import raw_of
from mcpsim.widgets.reading import read
from mcpsim.widgets.text import NEWLINE_MARK, one_line

Lines = list[tuple[str, bool]]

ERAS: Final[Mapping[str, str]] = {"modern": "Modern", "legacy": "Legacy"}
MAX_CALLS: Final = 50
#: What marks the lines that a layer adds, and those that it takes off.
ADDED: Final = "+"
TAKEN_OFF: Final = "−"

# How a client finds out how to talk; the rest is what its host wants.
_OPENING: Final = frozenset({"initialize", "server/discover"})
_SPACES: Final = re.compile(r" *")

_PARAMS: Final = {
    "modern": (
        "The method, and in `_meta` what the server has to know to serve this request by itself: the version "
        "and the client's capabilities MUST be there, and the client's name SHOULD be."
    ),
    "legacy": (
        "The method. Version, names and capabilities are not repeated: the handshake at the beginning of the "
        "session agreed on them."
    ),
}
_ENVELOPE: Final = "`jsonrpc` says which protocol this is, and `id` which request the answer will belong to."
_STDIO: Final = (
    "stdio adds one byte: the newline at the end. So a message MUST NOT have a newline in it; inside of JSON "
    "strings it is written as `\\n`."
)
_HTTP: Final = {
    "modern": (
        "Streamable HTTP adds a request line and headers. `Mcp-Method`, `Mcp-Name` and "
        "`MCP-Protocol-Version` repeat what stands in the body, so that gateways need not read it; where "
        "header and body differ, the server MUST refuse the request."
    ),
    "legacy": (
        "Streamable HTTP adds a request line and headers: `MCP-Protocol-Version` with what the handshake "
        "agreed on, and `MCP-Session-Id`, where the server gave one out: from then "
        "on the client MUST send it."
    ),
}
_BACK: Final = (
    "On stdio the answer is a line again. On HTTP it is the response to this very request: a status, "
    "headers, and a body that is one JSON object, or an event stream that ends with it."
)
_ANSWER: Final = "The same `id`, and a `result` or an `error`."
_RESULT: Final = {
    "modern": ("`resultType` and `_meta` are for the client. The rest is for the host and the model."),
    "legacy": "This is for the host and the model. There is no `resultType` in this era.",
}
_PAGES: Final = {
    "modern": ("basic/index#messages", "basic/transports/stdio", "basic/transports/streamable-http"),
    "legacy": ("basic/index#messages", "basic/transports#stdio", "basic/transports#streamable-http"),
}


@dataclass(frozen=True, slots=True)
class Exchange:
    """A request of the client, and its answer.

    Attributes:
        asked: the frame that carries the request.
        answered: the frame that carries the answer; None where none came.
    """

    asked: Frame
    answered: Frame | None

    @property
    def request(self) -> Request:
        return cast("Request", self.asked.parsed)


def exchanges_of(recording: Recording) -> list[Exchange]:
    """What the client asked for, but for the opening, in order; at most `MAX_CALLS` of them."""
    conversation = read(recording)
    frames = {frame.number: frame for frame in recording.frames}
    answers: dict[int, Frame] = {}
    for number, reading in conversation.readings.items():
        if reading.call is not None and reading.kind in ("response", "error"):
            answers.setdefault(reading.call.frame, frames[number])
    return [
        Exchange(frames[call.frame], answers.get(call.frame))
        for call in conversation.calls
        if not conversation.readings[call.frame].from_server and call.request.method not in _OPENING
    ][:MAX_CALLS]


def label_of(exchange: Exchange) -> str:
    """A request in a few words."""
    request = exchange.request
    params = request.params or {}
    name = next((params[key] for key in ("name", "uri") if isinstance(params.get(key), str)), "")
    return one_line(f"{request.method} {name}".strip(), 60)


def layers_data(
    stdio: Exchange, http: Exchange, era: str, calls: Sequence[str], number: int
) -> dict[str, Any]:
    """The layers of one call as plain JSON values.

    Args:
        stdio: the call on stdio.
        http: the same call on Streamable HTTP.
        era: "legacy" or "modern".
        calls: the calls that can be chosen, in words.
        number: which of them this is, from 1.
    """
    return {
        "title": "One call, layer by layer",
        "era": era,
        "eras": [list(one) for one in ERAS.items()],
        "calls": [[str(i), f"{i}. {text}"] for i, text in enumerate(calls, start=1)],
        "number": str(number),
        "status": f"Call {number}: {calls[number - 1]}, {ERAS[era].lower()}.",
        "ways": [
            {"head": "On its way to the server", "sign": ADDED, "layers": _out(stdio, http, era)},
            {"head": "The answer's way back", "sign": TAKEN_OFF, "layers": _back(stdio, http, era)},
        ],
        "urls": [spec_url(era, page) for page in _PAGES[era]],
    }


def _out(stdio: Exchange, http: Exchange, era: str) -> list[dict[str, Any]]:
    whole = to_object(stdio.request)
    params: dict[str, Any] = whole.get("params", {})
    wanted = {name: value for name, value in params.items() if name != "_meta"}
    called = {name: whole[name] for name in ("method", "params") if name in whole}
    intent = "The host wants this tool to be called, with these arguments."
    if whole["method"] != "tools/call":
        intent = "This is what the host gives to its client library. The library knows the method."
    return [
        _layer("1. Intent", f"{intent} Nothing of the protocol is in it yet.", [("", _json(wanted, ()))]),
        _layer(
            "2. Method and params",
            _PARAMS[era],
            [("", _json(called, (("method",), ("params", "_meta"))))],
        ),
        _layer("3. JSON-RPC envelope", _ENVELOPE, [("", _json(whole, (("jsonrpc",), ("id",))))]),
        _layer("4. Bytes", f"{_STDIO} {_HTTP[era]}", _both(stdio.asked, http.asked)),
    ]


def _back(stdio: Exchange, http: Exchange, era: str) -> list[dict[str, Any]]:
    answer = None if stdio.answered is None else stdio.answered.parsed
    if stdio.answered is None or not isinstance(answer, Response | ErrorResponse):
        return [_layer("5. Bytes", "No answer came.", [])]
    whole = read_object(stdio.answered)
    layers = [
        _layer("5. Bytes", _BACK, _both(stdio.answered, http.answered)),
        _layer("6. JSON-RPC envelope", _ANSWER, [("", _json(whole, (("jsonrpc",), ("id",))))]),
    ]
    if isinstance(answer, ErrorResponse):
        told = "An error instead of a result: the client library raises it, and the host decides what to do."
        return [*layers, _layer("7. Error", told, [("", _json(whole["error"], ()))])]
    own = tuple((name,) for name in ("resultType", "_meta") if name in answer.result)
    return [*layers, _layer("7. Result", _RESULT[era], [("", _json(answer.result, own))])]


def read_object(frame: Frame) -> dict[str, Any]:
    """The JSON object that a frame carries, its members in the order of the wire."""
    return cast("dict[str, Any]", read_json(frame.body))


def _layer(name: str, about: str, blocks: Sequence[tuple[str, Lines]]) -> dict[str, Any]:
    return {
        "name": name,
        "about": about,
        "blocks": [{"label": label, "lines": [list(line) for line in lines]} for label, lines in blocks],
    }


def _json(value: Any, added: Sequence[tuple[str, ...]]) -> Lines:
    """A value as lines, and which of them belong to a member that is this layer's own."""
    shown = pretty(value)
    lines = shown.text.split("\n")
    new: set[int] = set()
    for path in added:
        start = shown.lines.get(path)
        if start is not None:
            new |= set(range(start, _end(lines, start) + 1))
    return [(line, number in new) for number, line in enumerate(lines)]


def _end(lines: Sequence[str], start: int) -> int:
    """The last line of the value that begins on this line."""
    if not lines[start].endswith(("{", "[")):
        return start
    depth = _depth(lines[start])
    return next(
        (number for number in range(start + 1, len(lines)) if _depth(lines[number]) <= depth), len(lines) - 1
    )


def _depth(line: str) -> int:
    found = _SPACES.match(line)
    return 0 if found is None else found.end()


def _both(stdio: Frame, http: Frame | None) -> list[tuple[str, Lines]]:
    blocks = [("stdio", _line(stdio))]
    if http is not None:
        blocks.append(("Streamable HTTP", _http(http)))
    return blocks


def _line(frame: Frame) -> Lines:
    text = raw_of(frame)[0].text.removesuffix(NEWLINE_MARK)
    return [(text, False), (f"{NEWLINE_MARK} the newline", True)]


def _http(frame: Frame) -> Lines:
    lines = raw_of(frame)[0].text.split("\n")
    if frame.head is None:
        # A later event of a stream: its head came with the first one.
        return [(line, not line.startswith("data:")) for line in lines]
    # The head ends with an empty line; what comes after it is the body.
    end = lines.index("") if "" in lines else -1
    return [(line, number <= end) for number, line in enumerate(lines)]


def layers_text(data: Mapping[str, Any]) -> str:
    """The layers as text, for readers without a kernel; `+` and `−` as in the view."""
    lines = [f"{data['title']}: {data['status']}"]
    for way in data["ways"]:
        lines += ["", way["head"]]
        for layer in way["layers"]:
            lines += ["", layer["name"], f"  {layer['about'].replace('`', '')}"]
            for block in layer["blocks"]:
                lines += [f"  {block['label']}:"] if block["label"] else []
                lines += [
                    f"  {way['sign'] if marked else ' '} {text}".rstrip() for text, marked in block["lines"]
                ]
    return "\n".join(lines)


def layers_html(data: Mapping[str, Any]) -> str:
    """The layers as still HTML."""
    parts = [f"<p><strong>{html.escape(data['title'])}</strong> {html.escape(data['status'])}</p>"]
    for way in data["ways"]:
        for layer in way["layers"]:
            about = html.escape(layer["about"].replace("`", ""))
            parts.append(f"<p><b>{html.escape(layer['name'])}</b> {about}</p>")
            for block in layer["blocks"]:
                text = "\n".join(
                    f"{way['sign'] if marked else ' '} {line}" for line, marked in block["lines"]
                )
                parts.append(f"<pre>{html.escape(text)}</pre>")
    return "".join(parts)
