"""The player as one HTML file: it opens from the disk, and needs no network and no kernel."""

from __future__ import annotations

import base64
import hashlib
import html
import json
from collections.abc import Iterator, Mapping
from typing import Any, Final

from mcpsim.recording import Recording
from mcpsim.widgets import scripts
from mcpsim.widgets.text import one_line
from mcpsim.widgets.view import FINDINGS, REST, WHOLE, Pieces

#: How many steps are in a piece of a long recording.
PIECE: Final = 400

# Inside a script element only "<" can begin something else than text. U+2028 and U+2029 are newlines to
# some readers of JavaScript, and ">" and "&" cost nothing.
_ESCAPES: Final = {"<": "\\u003c", ">": "\\u003e", "&": "\\u0026", "\u2028": "\\u2028", "\u2029": "\\u2029"}

_PAGE_STYLE: Final = """
:root { color-scheme: light dark; }
body { margin: 0; padding: 12px; background: #ffffff; }
@media (prefers-color-scheme: dark) { body { background: #0d0f12; } }
h1 { position: absolute; width: 1px; height: 1px; margin: 0; overflow: hidden; clip-path: inset(50%); }
@media (min-width: 901px) { #mcpsim-player .mcpsim-body { height: max(420px, calc(100vh - 262px)); } }
"""


def standalone_html(recording: Recording, *, cursor: int = 1, link: str = "", findings: bool = True) -> str:
    """One HTML page that plays the recording.

    The page forbids itself every connection, and every script and style but its own, by their digests.

    Args:
        cursor: the step to open at, from 1; 0 is before the first.
        link: its link text without the step, for others to open it on a bench; "" where there is none.
        findings: False to leave out what the audit finds, for somebody who wants to find it alone.
    """
    made = Pieces(recording, audited=findings)
    start = max(0, min(cursor, made.count))
    if made.count <= WHOLE:
        data, pieces = made.whole(), dict[str, Any]()
    else:
        pieces = dict(_pieces(made))
        data = made.opening(start)
    values = {"data": data, "cursor": start, "link": link, "pieces": PIECE if pieces else 0}
    # A module waits for the whole page otherwise, and the pieces can be long.
    wait = " async" if pieces else ""
    script = scripts.script((*scripts.PLAYER, "standalone"))
    style = scripts.style(*scripts.PLAYER_STYLES) + _PAGE_STYLE
    policy = (
        f"default-src 'none'; script-src {_digest(script)}; style-src {_digest(style)}; base-uri 'none'; "
        "form-action 'none'"
    )
    title = html.escape(one_line(recording.title, 200))
    return (
        "<!doctype html>\n"
        '<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{title}</title>\n<style>{style}</style>\n</head>\n<body>\n"
        # The player shows the title itself.
        f'<main><h1>{title}</h1><div id="mcpsim-player"></div></main>\n'
        f'<script type="application/json" id="mcpsim-data">{json_in_html(values)}'
        f'</script>\n<script type="module"{wait}>{script}</script>\n{_written(pieces)}</body>\n</html>\n'
    )


def _pieces(made: Pieces) -> Iterator[tuple[str, dict[str, Any]]]:
    """All pieces of a long recording, by what they are called in the page."""
    for number, first in enumerate(range(1, made.count + 1, PIECE)):
        yield (
            str(number),
            {"piece": "steps", **made.steps_from(first, PIECE, texts=0), "known": 0, "texts": []},
        )
    yield REST, {"piece": REST, **made.rest()}
    yield FINDINGS, {"piece": FINDINGS, **made.findings()}


def _written(pieces: Mapping[str, Any]) -> str:
    return "".join(
        f'<script type="application/json" id="mcpsim-piece-{name}">{json_in_html(piece)}</script>\n'
        for name, piece in pieces.items()
    )


def json_in_html(value: Any) -> str:
    """JSON that can stand in a script element of an HTML page."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    for character, escape in _ESCAPES.items():
        text = text.replace(character, escape)
    # Half a surrogate pair cannot be written as UTF-8; as an escape it can.
    return text.encode("utf-8", "backslashreplace").decode("utf-8")


def _digest(text: str) -> str:
    digest = hashlib.sha256(text.encode("utf-8")).digest()
    return f"'sha256-{base64.b64encode(digest).decode('ascii')}'"
