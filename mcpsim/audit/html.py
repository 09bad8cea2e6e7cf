"""A report as HTML: a fragment that needs nothing from outside, for a notebook or a page of one's own."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from html import escape
from typing import TYPE_CHECKING, Final

from mcpsim.audit.grouping import HEADINGS, LEVELS, Group, diagnoses, groups, place, summary
from mcpsim.audit.rule import Level
from mcpsim.recording.transcript import safe

if TYPE_CHECKING:
    from mcpsim.audit.report import Report

#: How many findings of one rule, or things that were left out, are written out. The rest is counted.
SHOWN: Final = 50

#: Names of the protocol stand so in our sentences.
_CODE: Final = re.compile(r"`([^`]+)`")
_SHAPES: Final[dict[Level, str]] = {"MUST": "✖", "SHOULD": "▲", "note": "●"}

_DARK: Final = """--ground: var(--jp-layout-color1, #16191d); --raised: var(--jp-layout-color2, #22272d);
  --text: var(--jp-content-font-color1, #e8ecf0); --line: var(--jp-border-color1, #454d56);
  --MUST: #f6a59d; --SHOULD: #f0b96e; --note: #8ab4f8; color-scheme: dark;"""
# Colours of the levels: at least 4.5:1 on the ground of each theme. A shape says the same as the colour.
_STYLE: Final = f"""
.mcpsim-audit {{
  --ground: var(--jp-layout-color1, #ffffff); --raised: var(--jp-layout-color2, #f3f5f7);
  --text: var(--jp-content-font-color1, #1b1f24); --line: var(--jp-border-color1, #c4cad0);
  --MUST: #b3261e; --SHOULD: #7a4a00; --note: #0b57d0; color-scheme: light;
}}
[data-jp-theme-light="false"] .mcpsim-audit, .vscode-dark .mcpsim-audit {{
  {_DARK}
}}
@media (prefers-color-scheme: dark) {{ body:not([data-jp-theme-light], .vscode-light) .mcpsim-audit {{
  {_DARK}
}} }}
.mcpsim-audit {{
  background: var(--ground); color: var(--text); border: 1px solid var(--line); border-radius: 8px;
  padding: 10px 14px; max-width: 1100px; overflow-x: auto;
  font: 14px/1.45 var(--jp-ui-font-family, system-ui, "Segoe UI", Roboto, Arial, sans-serif);
}}
.mcpsim-audit .mcpsim-summary {{ font-weight: 600; margin: 0 0 6px; }}
section.mcpsim-audit.mcpsim-audit.mcpsim-audit table {{
  border-collapse: collapse; width: 100%; min-width: 560px; table-layout: fixed; margin: 10px 0 4px;
  color: inherit; font-size: 13px;
}}
.mcpsim-audit caption {{ text-align: left; font-weight: 600; font-size: 14px; padding: 4px 0; }}
section.mcpsim-audit.mcpsim-audit.mcpsim-audit tr {{ background: none; }}
section.mcpsim-audit.mcpsim-audit.mcpsim-audit th, section.mcpsim-audit.mcpsim-audit.mcpsim-audit td {{
  text-align: left; vertical-align: top; padding: 5px 10px 5px 0; border-top: 1px solid var(--line);
  background: none; white-space: normal; max-width: none; overflow-wrap: anywhere;
}}
section.mcpsim-audit.mcpsim-audit.mcpsim-audit thead th {{ font-weight: 600; }}
section.mcpsim-audit.mcpsim-audit.mcpsim-audit thead th:nth-child(1) {{ width: 13%; }}
section.mcpsim-audit.mcpsim-audit.mcpsim-audit thead th:nth-child(2) {{ width: 10%; }}
section.mcpsim-audit.mcpsim-audit.mcpsim-audit thead th:nth-child(3) {{ width: 25%; }}
section.mcpsim-audit.mcpsim-audit.mcpsim-audit tbody th {{ font-weight: 400; }}
.mcpsim-audit code {{
  font-family: var(--jp-code-font-family, ui-monospace, Menlo, Consolas, "DejaVu Sans Mono", monospace);
  font-size: 12.5px; background: var(--raised); color: inherit; padding: 1px 4px; border-radius: 3px;
}}
.mcpsim-audit summary {{ cursor: pointer; overflow-wrap: anywhere; }}
.mcpsim-audit details p {{ margin: 4px 0 2px 14px; overflow-wrap: anywhere; }}
.mcpsim-audit a {{ color: inherit; text-decoration: underline; }}
.mcpsim-audit ul {{ margin: 4px 0; padding-left: 20px; }}
.mcpsim-audit .mcpsim-MUST {{ color: var(--MUST); }}
.mcpsim-audit .mcpsim-SHOULD {{ color: var(--SHOULD); }}
.mcpsim-audit .mcpsim-note {{ color: var(--note); }}
"""


def as_html(report: Report, *, places: Sequence[str] = ()) -> str:
    """The report as a fragment of HTML, without scripts. Whatever stands in the trace, it is text here.

    Args:
        places: where each row stands in its file, such as "line 12".
    """
    return "".join(
        (
            '<section class="mcpsim-audit" aria-label="Audit">',
            f"<style>{_STYLE}</style>",
            f'<p class="mcpsim-summary">{_text(summary(report))}</p>',
            *(part for level in LEVELS for part in _table(report, level, places)),
            *_list("What the errors mean", list(diagnoses(report, places))),
            *_list("Incomplete", [f"{place(one.index, places)}: {one.message}" for one in report.incomplete]),
            *_list("Not read", [f"{one.where}: {one.why}" for one in report.skipped]),
            *_list("About the reading", report.notes),
            "</section>",
        )
    )


def _table(report: Report, level: Level, places: Sequence[str]) -> Iterator[str]:
    found = groups(report, level)
    if not found:
        return
    mark = f'<span class="mcpsim-{level}"><span aria-hidden="true">{_SHAPES[level]}</span> '
    yield f"<table><caption>{mark}{_text(HEADINGS[level])}</span></caption>"
    yield "<thead><tr>"
    yield from (f'<th scope="col">{title}</th>' for title in ("Where", "Who", "Rule", "What"))
    yield "</tr></thead><tbody>"
    for group in found:
        yield from _rows(group, places)
    yield "</tbody></table>"


def _rows(group: Group, places: Sequence[str]) -> Iterator[str]:
    for one in group.findings[:SHOWN]:
        hint = f"<p>Try: {_sentence(one.hint)}</p>" if one.hint else ""
        yield (
            f'<tr><th scope="row">{_text(place(one.index, places))}</th><td>{_text(group.party)}</td>'
            f"<td><code>{_text(group.rule)}</code></td><td><details>"
            f"<summary>{_sentence(one.message)}</summary>"
            f'{hint}<p><a href="{escape(group.url)}" target="_blank" rel="noopener">'
            f"{_text(one.spec)}</a></p></details></td></tr>"
        )
    left = len(group.findings) - SHOWN
    if left > 0:
        yield (
            f'<tr><th scope="row">{left} more</th><td>{_text(group.party)}</td>'
            f"<td><code>{_text(group.rule)}</code></td><td>The same rule in other rows.</td></tr>"
        )


def _list(title: str, entries: Sequence[str]) -> Iterator[str]:
    if not entries:
        return
    yield f"<details><summary>{title}: {len(entries)}</summary><ul>"
    yield from (f"<li>{_sentence(entry)}</li>" for entry in entries[:SHOWN])
    if len(entries) > SHOWN:
        yield f"<li>and {len(entries) - SHOWN} more</li>"
    yield "</ul></details>"


def _text(text: str) -> str:
    return escape(safe(text))


def _sentence(text: str) -> str:
    return _CODE.sub(r"<code>\1</code>", _text(text))
