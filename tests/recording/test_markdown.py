"""The Markdown document of a run: what is in it, and that no message or name is more than text in it."""

from __future__ import annotations

import json
from typing import Any

import mistune
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from markdown_it import MarkdownIt
from markdown_it.token import Token

from mcpsim import Drop, Recording, Server, simulate
from mcpsim.course.stories import STORIES
from mcpsim.recording.events import CLOSED, DELIVERED, DROPPED, NOTE, SENT, Event
from mcpsim.recording.markdown import MAX_BODY, code, fenced, prose
from mcpsim.recording.transcript import safe

HOSTILE = [
    "```",
    "```\n# out of it\n```",
    "`````\n<script>alert(1)</script>\n`````",
    "~~~",
    "a | b\n--- | ---\n1 | 2",
    "| a | b |",
    "<script>alert(1)</script>",
    '<img src=x onerror="alert(1)">',
    "<!-- ",
    "<![CDATA[",
    "[text](javascript:alert(1))",
    "![picture](https://x.example/a.png)",
    "[a]: https://x.example",
    "<https://x.example>",
    "https://x.example www.x.example a@x.example",
    "@somebody #12 :smile:",
    "# heading",
    "- list\n- list",
    "1. list",
    "> quote",
    "===",
    "---",
    "***",
    "    indented",
    "\tindented",
    "**bold** __bold__ ~~gone~~ $x$ \\(x\\)",
    "back\\slash \\` \\",
    "`",
    "``",
    " ` ",
    "a`b``c",
    "&lt;b&gt; &#60;",
    "line\r\nline\u2028line\u2029line",
    "\u202e\x00\x1b[31m\ud800",
    "  ",
    "",
    "é 中 🙂",
]


def document(text: str) -> list[Token]:
    """What a strict reader of CommonMark, with tables, makes of it."""
    return MarkdownIt("commonmark", {"html": True}).enable(["table", "strikethrough"]).parse(text)


def flat(tokens: list[Token]) -> list[Token]:
    return [each for token in tokens for each in (token, *flat(token.children or []))]


def made(text: str) -> Recording:
    """A recording with a text wherever there can be one."""
    data = text.encode("utf-8", "surrogatepass")
    message = json.dumps({"jsonrpc": "2.0", "method": text, "params": {text: [text]}}).encode()
    head: Any = {"method": text, "path": text, "headers": [[text, text]]}
    happened = (
        Event(0, SENT, "client", text, frame=1, data=data, detail={"channel": "stderr"}),
        Event(1000, DELIVERED, text, "client", frame=1),
        Event(2000, SENT, text, "client", frame=2, data=data),
        Event(3000, DROPPED, text, "client", frame=2, detail={"why": text}),
        Event(3500, SENT, "client", text, frame=3, data=message, exchange=1, detail={"head": head}),
        Event(3600, SENT, "client", text, frame=4, data=b"[" + message + b"]"),
        Event(4000, NOTE, text, detail={"text": text}),
        Event(5000, CLOSED, "client", text, detail={"what": text, "how": text}),
    )
    return Recording({"title": text, "parties": ["client", text], "transport": text, "era": text}, happened)


ALLOWED = {
    *("heading_open", "heading_close", "paragraph_open", "paragraph_close", "inline", "text", "code_inline"),
    *("bullet_list_open", "bullet_list_close", "list_item_open", "list_item_close", "fence", "text_special"),
}


@given(st.text())
def test_no_text_is_more_than_text(text: str) -> None:
    tokens = document(made(text).to_markdown())
    assert {token.type for token in flat(tokens)} <= ALLOWED
    headings = [token.tag for token in tokens if token.type == "heading_open"]
    assert headings == ["h1", *["h2"] * 6]
    assert {token.info for token in tokens if token.type == "fence"} <= {"json", "text", "http"}


@given(st.text())
def test_what_is_shown_is_what_is_there(text: str) -> None:
    [_, inline, _] = document(code(text))
    assert [(token.type, token.content) for token in inline.children or []] == [
        ("code_inline", safe(text).strip() or "(nothing)")
    ]
    if len(text) <= MAX_BODY:
        [block] = document(fenced(text, "text"))
        assert block.content == "".join(f"{safe(line)}\n" for line in text.split("\n"))
    shown = "".join(
        token.content for token in flat(document(f"Note: {prose(text)}")) if token.type != "inline"
    )
    assert shown == f"Note: {' '.join(safe(text).split())}".rstrip()


@given(st.text())
def test_another_reader_sees_no_markup_either(text: str) -> None:
    # The one that turns notebooks into HTML, with everything switched on that it can do.
    plugins = ["table", "strikethrough", "url", "footnotes", "task_lists", "def_list", "math"]
    page = str(mistune.create_markdown(escape=False, plugins=plugins)(made(text).to_markdown()))
    for tag in ("<script", "<img", "<a ", "<table", "<del", "<hr", "<blockquote", "<dl", "<em>", "<strong>"):
        assert tag not in page


for _text in HOSTILE:
    test_no_text_is_more_than_text = example(_text)(test_no_text_is_more_than_text)
    test_what_is_shown_is_what_is_there = example(_text)(test_what_is_shown_is_what_is_there)
    test_another_reader_sees_no_markup_either = example(_text)(test_another_reader_sees_no_markup_either)


@pytest.mark.parametrize("name", sorted(STORIES))
def test_every_message_of_a_story_is_there(name: str) -> None:
    recording = STORIES[name].play(check=False).recording
    tokens = document(recording.to_markdown())
    assert {token.type for token in flat(tokens)} <= ALLOWED
    bodies = [json.loads(token.content) for token in tokens if token.type == "fence" and token.info == "json"]
    sent = [frame.body for frame in recording.frames if not frame.channel and frame.body.strip()]
    assert bodies == [json.loads(body) for body in sent if body[:1] in b"{["]
    assert recording.to_markdown() == STORIES[name].play(check=False).recording.to_markdown()


def test_what_became_of_a_message_stands_beside_it() -> None:
    async def story(client: Any) -> None:
        await client.call_tool("one", timeout_s=1)

    server = Server("desk")
    server.tool("one")(lambda: "1")
    run = simulate(story, server=server, faults=[Drop("result of tools/call")], check=False)
    text = run.recording.to_markdown()
    assert "## 2. 20 ms, `server` → `client`\n\n`result #1` `✗ lost: a fault dropped" in text
    assert text.startswith("# story\n\n- Between: `client`, `server`\n- Transport: `stdio`\n")


def test_long_texts_are_cut_and_say_so() -> None:
    body = json.dumps({"jsonrpc": "2.0", "method": "m" * 30_000}).encode()
    happened = (Event(0, SENT, "client", "server", frame=1, data=body),)
    text = Recording({"title": "t" * 50}, happened).to_markdown(width=40)
    assert f"{len(body) - MAX_BODY:,} more characters are not shown here." in text
    assert len(text) < MAX_BODY + 1_000
    label = text.split("\n\n")[3]
    assert label == f"`{'m' * 39}…` `⋯ on its way`"


def test_an_empty_recording_is_a_document_too() -> None:
    assert Recording({"title": "  "}, ()).to_markdown() == "# Recording\n"
