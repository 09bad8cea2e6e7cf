"""A recording as a still picture, for where nothing can move: GitHub, a printed page, a screen reader.

The picture is SVG. In a notebook it stands in the page itself, so that it follows the theme; beside it
stands a table with the same content as text.
"""

from __future__ import annotations

import hashlib
import html
from collections.abc import Iterator
from typing import Any, Final

from mcpsim.recording import Recording
from mcpsim.widgets.text import ELLIPSIS
from mcpsim.widgets.view import player_data

#: How many steps a still picture shows.
MAX_SHOWN: Final = 60

WIDTH: Final = 900
AXIS: Final = 110
MARGIN: Final = 70
HEAD: Final = 40
LANE_GAP: Final = 240

# Ground and text follow the theme of JupyterLab, and are dark on light elsewhere. The lines have colours
# of a middle lightness, which can be seen on both.
_GROUND: Final = "var(--jp-layout-color0,#ffffff)"
_TEXT: Final = "var(--jp-content-font-color1,#1b1f24)"
_QUIET: Final = "var(--jp-content-font-color2,#4a5560)"
_FONT: Final = "font-family:var(--jp-ui-font-family,system-ui,sans-serif)"
_LANE: Final = "#8a939c"
_COLOURS: Final = {
    "request": "#2f74d8",
    "response": "#2b8a47",
    "notification": "#9a5fd0",
    "error": "#d1453b",
    "batch": "#a8701a",
    "malformed": "#a8701a",
    "handler": "#a8701a",
    "question": "#6f7b86",
    "answer": "#6f7b86",
}
_DASHES: Final = {
    "response": "9 4",
    "error": "9 4",
    "notification": "2 4",
    "malformed": "9 4 2 4",
    "stderr": "1 5",
    "question": "5 3 1 3",
    "answer": "5 3 1 3",
}
#: The bars that stand beside a lane, and not on it.
_BESIDE: Final = frozenset({"stream", "fresh", "session"})
_NARROW: Final = frozenset(" .,:;|!'ijlftI()[]{}/\\")
_WIDE: Final = frozenset("mw@%—…<>=+~")
#: The kinds whose label does not say by itself what they are.
_NAMED: Final = frozenset({"request", "notification", "note"})
_WORDS: Final = {
    "request": "request",
    "response": "result",
    "error": "error",
    "notification": "notification",
    "batch": "batch",
    "malformed": "not a message",
    "http": "HTTP only",
    "stderr": "standard error",
    "note": "note",
    "closed": "closed",
    "handler": "work stopped",
    "question": "asked outside of MCP",
    "answer": "answered outside of MCP",
}


def still_svg(recording: Recording, *, findings: bool = True) -> str:
    """A sequence diagram as an SVG file, with a title and a description; at most `MAX_SHOWN` steps.

    Args:
        findings: False to leave out what the audit finds.
    """
    data = player_data(recording, findings=findings)
    return _svg(data, 'xmlns="http://www.w3.org/2000/svg" ')


def still_html(recording: Recording) -> str:
    """A figure with the diagram in it, and a table with the same messages as text."""
    return still_of(player_data(recording))


def still_of(data: dict[str, Any]) -> str:
    """`still_html` from what `player_data` gave."""
    summary = _text(f"{_summary(data)}: all of it as text")
    rows = "".join(_row(data, step) for step in data["steps"][:MAX_SHOWN])
    heads = "".join(
        f'<th scope="col">{head}</th>'
        for head in ("Step", "Time", "From", "To", "Kind", "Message", "What happened")
    )
    left_out = _left_out(data)
    more = f"<p>{_text(left_out)}</p>" if left_out else ""
    label = _text(_description(data))
    # An HTML parser puts inline SVG into its namespace by itself.
    return (
        f'<figure role="img" aria-label="{label}" style="margin:0">{_svg(data, "")}</figure>'
        f"<details><summary>{summary}</summary><table><thead><tr>{heads}</tr></thead>"
        f"<tbody>{rows}</tbody></table>{more}{_went_on(data)}</details>"
    )


def _row(data: dict[str, Any], step: dict[str, Any]) -> str:
    part = part_of(data, step)
    named = (str(step["label"]), str(step["gist"]), _fate(step), f"({part})" if part else "")
    message = " ".join(part for part in named if part)
    cells = (
        step["time"],
        step["from"],
        step["to"],
        _WORDS.get(step["kind"], ""),
        message,
        " ".join((step["what"].replace("`", ""), *_findings(data, step))),
    )
    return f'<tr><th scope="row">{step["n"]}</th>{"".join(f"<td>{_text(cell)}</td>" for cell in cells)}</tr>'


def _went_on(data: dict[str, Any]) -> str:
    """The bars as text: what goes on for a while."""
    shown = [bar for bar in data["bars"] if bar["from"] <= MAX_SHOWN][:MAX_SHOWN]
    items = "".join(f"<li>{_text(said_of(bar))}</li>" for bar in shown)
    return f"<p>What goes on for a while:</p><ul>{items}</ul>" if items else ""


def said_of(bar: dict[str, Any]) -> str:
    """A bar in a sentence: who, what, and from which step until which."""
    at = (
        f"from step {bar['from']} on"
        if bar["until"] is None
        else f"from step {bar['from']} to {bar['until']}"
    )
    far = f"; progress {', '.join(mark[4] for mark in bar['marks'][:20])}" if bar["marks"] else ""
    how = f" ({bar['end']})" if bar["end"] not in ("", "finished", "closed") else ""
    return f"{bar['party']} {bar['text']}: {at}{how}{far}"


#: What a level of the audit means, in few words.
_LEVELS: Final = {
    "MUST": "breaks a rule (MUST)",
    "SHOULD": "against advice (SHOULD)",
    "note": "note of the audit",
}


_PINS: Final = {level: f"⚑ {meaning}" for level, meaning in _LEVELS.items()}
_PIN_COLOURS: Final = dict(zip(_PINS.values(), (_COLOURS["error"], _COLOURS["batch"], _QUIET), strict=True))


def _findings(data: dict[str, Any], step: dict[str, Any]) -> Iterator[str]:
    for number in step.get("pins", ()):
        one = data["findings"][number]
        yield f"[{_LEVELS[one['level']]}, {one['party']}: {one['message']}]".replace("`", "")


def _pin(data: dict[str, Any], step: dict[str, Any]) -> str:
    levels = [data["findings"][number]["level"] for number in step.get("pins", ())]
    worst = min(levels, key=list(_LEVELS).index, default="")
    return _PINS[worst] if worst else ""


def part_of(data: dict[str, Any], step: dict[str, Any]) -> str:
    """Where a step stands in its thread: "page 2 of 3", "round 1", "subscription #1"; "" where in none."""
    if step["thread"] < 0:
        return ""
    thread = data["threads"][step["thread"]]
    if thread["kind"] == "subscription":
        return f"subscription {thread['label'].rpartition(' ')[2]}"
    noun = {"rounds": "round", "pages": "page"}[thread["kind"]]
    of = f" of {thread['parts']}" if thread["parts"] else ""
    return f"{noun} {step['part']}{of}"


def _summary(data: dict[str, Any]) -> str:
    count = len(data["steps"]) + data["left_out"]
    return f"{data['title']}, {count:,} step{'' if count == 1 else 's'}"


def _description(data: dict[str, Any]) -> str:
    lanes = ", ".join(data["parties"])
    return f"Sequence diagram: {_summary(data)} between {lanes}. The same is below as a table."


def _left_out(data: dict[str, Any]) -> str:
    more = len(data["steps"]) - MAX_SHOWN + data["left_out"]
    return f"{more:,} more steps are in the recording and not shown here." if more > 0 else ""


def _fate(step: dict[str, Any]) -> str:
    found = {"dropped": "(lost)", "in flight": "(not arrived)"}.get(step.get("fate", ""), "")
    copy = f"(copy of {step['copy_of']})" if step.get("copy_of") else ""
    changed = "(changed on the way)" if step.get("changed") else ""
    return " ".join(part for part in (found, copy, changed) if part)


def _svg(data: dict[str, Any], namespace: str) -> str:
    shown = data["steps"][:MAX_SHOWN]
    left_out = _left_out(data)
    width = max(WIDTH, AXIS + 2 * MARGIN + LANE_GAP * (len(data["parties"]) - 1))
    bottom = max((max(step["y"], step.get("y2") or 0) for step in shown), default=20) + 24
    if len(shown) == len(data["steps"]):
        bottom = max(bottom, data["height"])
    height = HEAD + bottom + (30 if left_out else 0)
    lanes = _lanes(data["parties"], width)
    parts = [
        *_lifelines(lanes, bottom),
        *(_bar(bar, lanes, bottom) for bar in data["bars"] if bar["y"] < bottom),
        *(part for step in shown for part in _step(step, lanes, width, _pin(data, step))),
        *(_wait(wait, width) for wait in data["waits"] if wait["y"] < bottom),
    ]
    if left_out:
        parts.append(_words(AXIS, bottom + 18, left_out, _QUIET))
    # Ids have to differ within a page and be the same in every run: the picture itself names them.
    name = f"mcpsim-{hashlib.sha256(''.join((*parts, data['title'])).encode()).hexdigest()[:12]}"
    return (
        f'<svg {namespace}viewBox="0 0 {width} {height}" width="{width}" height="{height}" role="img" '
        f'aria-labelledby="{name}-t {name}-d" style="max-width:100%;height:auto;{_FONT};font-size:14px">'
        f'<title id="{name}-t">{_text(data["title"])}</title>'
        f'<desc id="{name}-d">{_text(_description(data))}</desc>'
        f'<rect width="{width}" height="{height}" rx="6" style="fill:{_GROUND}"/>'
        f'<g transform="translate(0 {HEAD})">{"".join(parts)}</g></svg>'
    )


def _lanes(parties: list[str], width: int) -> dict[str, int]:
    room = width - AXIS - 2 * MARGIN
    gaps = max(1, len(parties) - 1)
    first = AXIS + MARGIN if len(parties) > 1 else AXIS + MARGIN + room // 2
    return {party: first + room * place // gaps for place, party in enumerate(parties)}


def _lifelines(lanes: dict[str, int], bottom: int) -> Iterator[str]:
    for party, x in lanes.items():
        yield (
            f'<path d="M{x} 0V{bottom}" stroke="{_LANE}" stroke-width="1.5"/>'
            f'<rect x="{x - 62}" y="-32" width="124" height="26" rx="5" fill="none" stroke="{_LANE}"/>'
        )
        yield _words(x, -14, _fit(party, 120), _TEXT, "middle", "font-weight:600")


def _bar(bar: dict[str, Any], lanes: dict[str, int], bottom: int) -> str:
    if bar["kind"] in _BESIDE:
        return _rail(bar, lanes, bottom)
    x = lanes.get(bar["party"], AXIS) - 4 + bar["depth"] * 7
    end = min(bar["y2"], bottom)
    cross = _cross(x + 4, end) if bar["end"] == "cancelled" and bar["y2"] <= bottom else ""
    return (
        f'<rect x="{x}" y="{bar["y"]}" width="8" height="{max(4, end - bar["y"])}" rx="2" stroke="{_LANE}" '
        f'stroke-width="1.5" style="fill:{_GROUND}"/>{cross}'
    )


def _rail(bar: dict[str, Any], lanes: dict[str, int], bottom: int) -> str:
    lane = lanes.get(bar["party"], AXIS)
    side = 1 if lane > AXIS and lane == max(lanes.values()) else -1
    x = lane + side * (16 + bar["depth"] * 10)
    top, end = bar["y"], max(bar["y"] + 4, min(bar["y2"], bottom))
    path = {
        "stream": f"M{x - 2} {top}V{end}M{x + 2} {top}V{end}",
        "fresh": f"M{x} {top}V{end}",
        "session": f"M{x + 4} {top}H{x - 4}V{end}H{x + 4}",
    }[bar["kind"]]
    dash = ' stroke-dasharray="1 4" stroke-linecap="round"' if bar["kind"] == "fresh" else ""
    width = {"fresh": 4}.get(bar["kind"], 1.5)
    return f'<path d="{path}" stroke="{_LANE}" stroke-width="{width}" fill="none"{dash}/>'


def _wait(wait: dict[str, Any], width: int) -> str:
    y = wait["y"]
    line = f'<path d="M{AXIS} {y}H{width - 12}" stroke="{_LANE}" stroke-dasharray="2 5"/>'
    return line + _halo((AXIS + width) // 2, y + 4, f"⋮ {wait['text']} ⋮", _QUIET, "middle")


def _step(step: dict[str, Any], lanes: dict[str, int], width: int, pin: str) -> Iterator[str]:
    y, kind = step["y"], step["kind"]
    colour = _COLOURS.get(kind, "#6f7b86")
    yield _words(12, y - 8, str(step["n"]), _QUIET)
    yield _words(AXIS - 8, y + 4, step["time"], _QUIET, "end", "font-size:12.5px")
    start, target = lanes.get(step["from"], AXIS), lanes.get(step["to"])
    word = f"{_WORDS[kind]}:" if kind in _NAMED else ""
    label = _label(step, word, str(step["label"]))
    if target is None or target == start:
        anchor = "end" if start > width / 2 else "start"
        room = start - AXIS if anchor == "end" else width - start
        text = _fit(label, room - 20)
        yield f'<circle cx="{start}" cy="{y}" r="4" fill="{colour}"/>'
        yield _halo(start + (-12 if anchor == "end" else 12), y + 5, f"{text} {pin}".rstrip(), _TEXT, anchor)
        return
    yield _arrow(step, start, target, colour)
    side = 1 if target > start else -1
    room = abs(target - start) - 30
    # Where there is little room the part that tells messages apart goes first.
    name = " ".join(part for part in (word, str(step["label"])) if part)
    text = _fit(label if _width(name) <= room else _label(step, "", str(step["short"])), room)
    yield _halo(start + 14 * side, y - 7, text, _TEXT, "start" if side > 0 else "end")
    if pin:
        # Below the arrow: above it stands what it is.
        yield _halo(start + 14 * side, y + 20, pin, _PIN_COLOURS[pin], "start" if side > 0 else "end")


def _label(step: dict[str, Any], word: str, name: str) -> str:
    label = " ".join(part for part in (word, name, _fate(step)) if part)
    return f"{label} · {step['gist']}" if step["gist"] else label


def _arrow(step: dict[str, Any], start: int, target: int, colour: str) -> str:
    kind, side = step["kind"], 1 if target > start else -1
    y = step["y"]
    arrives = step["y2"] if step["y2"] is not None else y + 14
    part = {"delivered": 1.0, "dropped": 0.62}.get(step["fate"], 0.8)
    x = round(start + (target - start) * part) - (5 * side if part == 1 else 0)
    dash = f' stroke-dasharray="{_DASHES[kind]}"' if kind in _DASHES else ""
    shaft = f'<path d="M{start} {y}L{x} {arrives}" stroke="{colour}" stroke-width="1.8" fill="none"{dash}/>'
    if step["fate"] == "dropped":
        return shaft + _cross(x, arrives)
    if step["fate"] != "delivered":
        return shaft + _words(x, arrives + 5, ELLIPSIS, _TEXT, "middle", "font-weight:700")
    return shaft + _head(kind, x, arrives, side, colour)


def _head(kind: str, x: int, y: int, side: int, colour: str) -> str:
    back = x - 11 * side
    if kind in ("request", "error", "batch"):
        return f'<path d="M{x} {y}L{back} {y - 5}V{y + 5}Z" fill="{colour}"/>'
    hollow = f'stroke="{colour}" stroke-width="1.8" style="fill:{_GROUND}"'
    if kind == "notification":
        half = x - 7 * side
        return f'<path d="M{x} {y}L{half} {y + 5}L{x - 14 * side} {y}L{half} {y - 5}Z" {hollow}/>'
    if kind in ("http", "stderr"):
        return f'<path d="M{x} {y - 4}V{y + 4}H{x - 8 * side}V{y - 4}Z" {hollow}/>'
    return (
        f'<path d="M{back} {y - 6}L{x} {y}L{back} {y + 6}" fill="none" stroke="{colour}" stroke-width="2"/>'
    )


def _cross(x: int, y: int) -> str:
    lines = f"M{x - 6} {y - 6}L{x + 6} {y + 6}M{x + 6} {y - 6}L{x - 6} {y + 6}"
    return f'<path d="{lines}" stroke="{_COLOURS["error"]}" stroke-width="3" fill="none"/>'


def _words(x: int, y: int, text: str, colour: str, anchor: str = "start", style: str = "") -> str:
    return f'<text x="{x}" y="{y}" text-anchor="{anchor}" style="fill:{colour};{style}">{_text(text)}</text>'


def _halo(x: int, y: int, text: str, colour: str, anchor: str) -> str:
    # Arrows can cross a label; the ground around its letters keeps it readable.
    return _words(x, y, text, colour, anchor, f"paint-order:stroke;stroke:{_GROUND};stroke-width:5px")


def _fit(text: str, width: int) -> str:
    # Nobody measures text here, so each character counts as wide as it is in a common sans-serif font.
    widths = [_character_width(character) for character in text]
    if sum(widths) <= width:
        return text
    room = width - 14.0
    for place, each in enumerate(widths):
        room -= each
        if room < 0:
            return text[:place].rstrip() + ELLIPSIS
    return text


def _width(text: str) -> float:
    return sum(_character_width(character) for character in text)


def _character_width(character: str) -> float:
    if character in _NARROW:
        return 4.8
    if character in _WIDE or character.isupper():
        return 11.5
    return 8.7 if ord(character) < 0x1100 else 14.0


def _text(text: str) -> str:
    return html.escape(text, quote=True)
