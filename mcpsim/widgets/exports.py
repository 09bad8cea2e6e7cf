"""A recording as a file of another kind, for the browser to save.

There is one way to write each kind, and it is in Python. So a page without a kernel cannot write them; it is
the exported page itself.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any, Final, NamedTuple, cast

from mcpsim.recording import Recording
from mcpsim.widgets.standalone import standalone_html
from mcpsim.widgets.still import still_svg
from mcpsim.widgets.text import one_line


class View(NamedTuple):
    """What is exported.

    Attributes:
        recording: what is shown.
        cursor: the step that is shown.
        link: its link text without the step, or "".
        findings: whether what the audit finds is shown.
    """

    recording: Recording
    cursor: int = 1
    link: str = ""
    findings: bool = True


class Export(NamedTuple):
    """One kind of file.

    Attributes:
        ending: how its name ends, such as "svg".
        type: its media type.
        write: gives what is in it.
    """

    ending: str
    type: str
    write: Callable[[View], str]


def _html(view: View) -> str:
    return standalone_html(view.recording, cursor=view.cursor, link=view.link, findings=view.findings)


def _svg(view: View) -> str:
    return still_svg(view.recording, findings=view.findings)


def _mermaid(view: View) -> str:
    return view.recording.to_mermaid()


def _markdown(view: View) -> str:
    return view.recording.to_markdown()


def _jsonl(view: View) -> str:
    return view.recording.to_jsonl().decode()


EXPORTS: Final[Mapping[str, Export]] = {
    "html": Export("html", "text/html", _html),
    "svg": Export("svg", "image/svg+xml", _svg),
    "mermaid": Export("mmd", "text/plain", _mermaid),
    "markdown": Export("md", "text/markdown", _markdown),
    "jsonl": Export("jsonl", "application/jsonl", _jsonl),
}


def answer(asked: object, view: View) -> dict[str, Any] | None:
    """What goes back to a browser that asks for an export.

    Args:
        asked: what it sent: a dict with `export` (a key of `EXPORTS`) and `n` (which request of it this is).
        view: what is shown.

    Returns:
        A dict with `exported` (the `n`), `name`, `type` and `text`; or with `exported` and `error` where it
        cannot be written. None where nothing was asked for.
    """
    if not isinstance(asked, dict) or "export" not in asked:
        return None
    wanted = cast("dict[str, Any]", asked)
    number = wanted.get("n")
    export = EXPORTS.get(wanted["export"]) if isinstance(wanted["export"], str) else None
    if export is None:
        known = ", ".join(EXPORTS)
        return {
            "exported": number,
            "error": f"There is no export {wanted['export']!r:.60}; there are {known}.",
        }
    try:
        text = export.write(view)
    except Exception as error:
        # An error in a callback is lost: nobody would see it.
        return {"exported": number, "error": one_line(f"{type(error).__name__}: {error}", 400)}
    name = f"{file_name(view.recording.title)}.{export.ending}"
    return {"exported": number, "name": name, "type": export.type, "text": text}


def file_name(title: str) -> str:
    """A name for a file, of plain letters, digits and dashes."""
    plain = re.sub(r"[^a-z0-9]+", "-", title.lower()).strip("-")
    return plain[:60].rstrip("-") or "recording"
