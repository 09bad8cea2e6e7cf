"""What is stored and exported of hostile text, without a browser: nothing in it is more than text."""

from __future__ import annotations

import re
from typing import Any
from xml.etree import ElementTree

import mistune
import pytest
from markdown_it import MarkdownIt

from mcpsim.widgets.exports import EXPORTS, View
from mcpsim.widgets.text import visible
from tests.support.hostile import ATTACKS, DRAWN, HOSTILE_WIDGETS, WRITTEN, Tags, attacked, runs

#: What a still picture of a widget is written with, beside what a still run is.
ALSO = {"b", "strong", "em", "code", "pre", "ol", "caption", "bdi", "br", "div", "span", "h4", "h5"}
#: What Markdown makes of headings, lists, code and prose.
OF_MARKDOWN = {"h1", "h2", "p", "ul", "li", "code", "pre"}
INVISIBLE = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff\ud800-\udfff]"
)


def tags(text: str) -> Tags:
    found = Tags()
    found.feed(text)
    found.close()
    return found


@pytest.fixture(scope="module", params=HOSTILE_WIDGETS)
def widget(request: pytest.FixtureRequest, made: Any) -> Any:
    return HOSTILE_WIDGETS[request.param](made)


def test_a_still_widget_holds_nothing_that_runs(widget: Any) -> None:
    found = tags(widget.still_html())
    assert found.elements <= WRITTEN | ALSO
    assert runs(found.attributes) == set()
    assert INVISIBLE.search(widget.still_html()) is None
    # The same goes for what a notebook stores beside it.
    bundle, _ = widget._repr_mimebundle_()
    assert bundle["text/html"] == widget.still_html()
    bundle["text/html"].encode()
    bundle["text/plain"].encode()


def test_a_still_widget_tells_text(widget: Any) -> None:
    """In its text nothing is invisible, or turns round what is beside it."""
    assert INVISIBLE.search(widget.still_text()) is None


def exported(made: Any, kind: str) -> str:
    text = EXPORTS[kind].write(View(attacked(made), link=f"mcpsim:{ATTACKS[0]}"))
    text.encode()
    return text


@pytest.mark.parametrize("read", [MarkdownIt("commonmark", {"html": True}).render, mistune.html])
def test_markdown(made: Any, read: Any) -> None:
    found = tags(read(exported(made, "markdown")))
    assert found.elements <= OF_MARKDOWN
    # The language of a block of code.
    assert found.attributes <= {"class"}


def test_mermaid(made: Any) -> None:
    """Nothing that Mermaid, or the page around it, could read as more than text."""
    written = exported(made, "mermaid")
    assert not re.search(r"[<>%`{}|\\]", re.sub(r"--?>>|--?[x)]", "", written))
    assert {line.split()[0] for line in written.splitlines()[1:]} <= {
        "title",
        "participant",
        "Note",
        *(word for line in written.splitlines() if (word := line.split()[0]).startswith("p")),
    }
    assert "click" not in {line.split()[0] for line in written.splitlines()}


def test_svg(made: Any) -> None:
    drawing = ElementTree.fromstring(exported(made, "svg"))
    assert {each.tag.rpartition("}")[2] for each in drawing.iter()} <= DRAWN | {"style"}
    assert runs({name for each in drawing.iter() for name in each.attrib}) == set()
    styles = "".join(each.text or "" for each in drawing.iter() if each.tag.endswith("style"))
    assert not re.search(r"url\(|@import|hostile", styles)
    assert visible(ATTACKS[0])[:20] in "".join(drawing.itertext())


def test_html(made: Any) -> None:
    """The page that needs nothing else has its own scripts, and no attack ends or begins one."""
    empty, full = (
        tags(EXPORTS["html"].write(View(each))) for each in (made.Pen().done("empty"), attacked(made))
    )
    assert full.elements - empty.elements <= WRITTEN
    assert runs(full.attributes) == runs(empty.attributes)
    written = exported(made, "html")
    assert written.count("<script") == EXPORTS["html"].write(View(made.Pen().done("empty"))).count("<script")
    assert written.count("</script") == written.count("<script")


@pytest.mark.parametrize(
    "active",
    ["<img src=x>", "<p onclick=x>", "<script>", "<a href=x>", "<form action=x>", "<svg xlink:href=x>"],
)
def test_what_is_active_is_found(active: str) -> None:
    found = tags(f"<p>{active}</p>")
    assert found.elements - (WRITTEN | ALSO) or runs(found.attributes)
