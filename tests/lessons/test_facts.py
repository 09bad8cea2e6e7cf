"""What the lessons name exists: revisions, methods, `_meta` keys, headers, error codes, other notebooks."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from mcpsim.eras.methods import METHODS
from mcpsim.eras.revisions import LEGACY_REVISIONS, MODERN_REVISIONS
from mcpsim.errors import ERROR_CODES
from mcpsim.messages import meta
from mcpsim.transports import http
from mcpsim.workbook import find_source
from mcpsim.workbook.normal_form import cell_source, code_cells, read_notebook

FOLDER = find_source().root / "notebooks"
LESSONS = sorted(FOLDER.glob("[0-9][0-9]_*.ipynb"))
ALL = sorted(FOLDER.glob("*.ipynb"))
REVISIONS = (*LEGACY_REVISIONS, *MODERN_REVISIONS)

LINK = re.compile(r"\[(?P<text>[^\]]+)\]\((?P<target>[^)\s]+)\)")
PAGE = re.compile(
    r"https://modelcontextprotocol\.io/specification/(?P<revision>\d{4}-\d\d-\d\d)"
    r"(?P<page>(?:/[a-z0-9-]+)*)(?P<anchor>#[a-z0-9_-]+)?"
)
CODE = re.compile(r"`([^`\n]+)`")
GROUPS = "|".join(sorted({re.escape(row.name.split("/")[0]) for row in METHODS if "/" in row.name}))
METHOD = re.compile(rf"(?:{GROUPS})/[A-Za-z_/]+")

KNOWN_METHODS = {row.name for row in METHODS}
KNOWN_KEYS = {
    value for name, value in vars(meta).items() if name.isupper() and str(value).startswith("io.modelcontext")
}
KNOWN_HEADERS = {value for name, value in vars(http).items() if name.endswith("_HEADER")}


def prose_of(path: Path) -> str:
    """The Markdown of a notebook, without fenced blocks."""
    cells = read_notebook(path.read_bytes())["cells"]
    text = "\n\n".join(cell_source(cell) for cell in cells if cell["cell_type"] == "markdown")
    return re.sub(r"^```.*?^```$", "", text, flags=re.MULTILINE | re.DOTALL)


def links_of(path: Path) -> Iterator[tuple[str, str, str]]:
    """Each link: its text, where it leads, and the paragraph that it stands in without any address."""
    for paragraph in re.split(r"\n\s*\n", prose_of(path)):
        words = LINK.sub(lambda found: found["text"], paragraph)
        for found in LINK.finditer(paragraph):
            yield found["text"], found["target"], words


def names_nothing_unknown(prose: str) -> list[str]:
    """Names in backticks, and error codes anywhere, that no table knows."""
    unknown: list[str] = []
    for name in CODE.findall(prose):
        if METHOD.fullmatch(name) and name not in KNOWN_METHODS:
            unknown.append(name)
        if name.startswith("io.modelcontextprotocol/") and name not in KNOWN_KEYS:
            unknown.append(name)
        if name.lower().startswith("mcp-") and name not in KNOWN_HEADERS:
            unknown.append(name)
    unknown += [code for code in re.findall(r"(?<![\w-])-3\d{4}\b", prose) if int(code) not in ERROR_CODES]
    return unknown


@pytest.mark.parametrize("path", ALL, ids=lambda path: path.stem)
def test_every_link_leads_somewhere(path: Path) -> None:
    links = list(links_of(path))
    assert links
    for _, target, _ in links:
        if target.startswith("http"):
            assert PAGE.fullmatch(target) or target == "https://www.jsonrpc.org/specification", target
        else:
            assert (path.parent / target).is_file(), target


@pytest.mark.parametrize("path", ALL, ids=lambda path: path.stem)
def test_the_revision_of_a_page_is_named_beside_its_link(path: Path) -> None:
    for text, target, words in links_of(path):
        if page := PAGE.fullmatch(target):
            assert page["revision"] in REVISIONS, target
            assert page["revision"] in words, f"{text}: {target}"


@pytest.mark.parametrize("path", ALL, ids=lambda path: path.stem)
def test_what_the_prose_names_exists(path: Path) -> None:
    assert names_nothing_unknown(prose_of(path)) == []


@pytest.mark.parametrize(
    "wrong",
    [
        "`tools/invoke`",
        "`notifications/canceled`",
        "`io.modelcontextprotocol/protocol`",
        "`Mcp-Tool`",
        "`Mcp-Session-ID`",
        "the code -32023",
    ],
)
def test_a_wrong_name_is_seen(wrong: str) -> None:
    assert len(names_nothing_unknown(f"It is {wrong}, they say.")) == 1


@pytest.mark.parametrize("path", LESSONS, ids=lambda path: path.stem)
def test_a_lesson_has_the_parts_of_a_lesson(path: Path) -> None:
    prose = prose_of(path)
    headings = re.findall(r"^## (.+)$", prose, re.MULTILINE)
    assert headings[-3:] == ["Check yourself", "What to remember", "Where to go next"]
    assert [heading for heading in headings[:-3] if not heading.endswith("?")] == []
    assert prose.count("**Predict:**") >= 3
    questions = re.findall(r"^\*\*\d\. .+\*\*$", prose, re.MULTILINE)
    assert len(questions) >= 3
    assert prose.count("<details>") == prose.count("</details>") == len(questions)
    assert re.search(r"^- .*\]\(index\.ipynb\)", prose.rsplit("## ", 1)[1], re.MULTILINE)


@pytest.mark.parametrize("path", LESSONS, ids=lambda path: path.stem)
def test_code_cells_are_short(path: Path) -> None:
    sizes = sorted(
        len(cell_source(cell).splitlines()) for _, cell in code_cells(read_notebook(path.read_bytes()))
    )
    assert sizes[-1] <= 12
    assert sizes[len(sizes) // 2] <= 5


def test_the_index_names_each_lesson_and_links_no_other() -> None:
    linked = {target for _, target, _ in links_of(FOLDER / "index.ipynb")}
    assert {path.name for path in LESSONS} <= linked
