"""The Mermaid diagram of a run: what is drawn, and that nothing in a message or a name is more than text."""

from __future__ import annotations

import re
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from mcpsim import Drop, Recording, Server, StreamableHttp, simulate
from mcpsim.course.stories import STORIES
from mcpsim.recording.events import CLOSED, DELIVERED, DROPPED, NOTE, SENT, Event
from mcpsim.recording.transcript import safe

# What Mermaid's own lexer ends a text with, and what it looks for before it reads.
HOSTILE = [
    "a; b",
    "a\np1->>p2: forged",
    "a\r\nNote over p1: forged",
    "# comment",
    "%% comment",
    "%%{init: {'theme': 'dark'}}%%",
    "#35;",
    "#lt;script#gt;",
    "&lt;script&gt;",
    "<script>alert(1)</script>",
    '<img src=x onerror="alert(1)">',
    "$$\\int$$",
    "end",
    "END the end. bend",
    "wrap: text",
    "style fill:#f9f;",
    "classDef x:#f9f;",
    "---\ntitle: x\n---",
    "ﬂ°°60¶ß",
    "p1->>p2: x",
    "@{ shape: x }",
    "`md` ~x~ ^y^ |z|",
    "\u2028\u2029\u202e\x00\x1b[31m",
    "  spaces  ",
    "",
    "é 中 🙂",
]
TEXT = r"(?:[^#$%&:;<>@`\\^{|}~ﬂ°¶ß\x00-\x1f\x7f-\x9f\u2028\u2029]|#[0-9]+;)*"
LINE = re.compile(
    rf"    (?:title (?P<title>{TEXT})"
    rf"|participant (?P<lane>p[0-9]+) as (?P<name>{TEXT})"
    rf"|(?P<sender>p[0-9]+)(?P<arrow>--?(?:>>|x|\)))(?P<receiver>p[0-9]+): (?P<label>{TEXT})"
    rf"|Note over (?P<party>p[0-9]+): (?P<note>{TEXT}))"
)


def shown(text: str) -> str:
    """A text as Mermaid shows it."""
    return re.sub(r"#([0-9]+);", lambda match: chr(int(match[1])), text)


def read(diagram: str) -> list[dict[str, str]]:
    """The statements of a diagram; every line must be one."""
    first, *lines, last = diagram.split("\n")
    assert (first, last) == ("sequenceDiagram", "")
    found = [LINE.fullmatch(line) for line in lines]
    assert None not in found, [line for line, match in zip(lines, found, strict=True) if match is None]
    return [
        {key: value for key, value in match.groupdict().items() if value is not None}
        for match in found
        if match
    ]


def made(text: str) -> Recording:
    """A recording with a text wherever there can be one."""
    data = text.encode("utf-8", "surrogatepass")
    happened = (
        Event(0, SENT, "client", text, frame=1, data=data, detail={"channel": "stderr"}),
        Event(1000, DELIVERED, text, "client", frame=1),
        Event(2000, SENT, text, "client", frame=2, data=data),
        Event(3000, DROPPED, text, "client", frame=2, detail={"why": text}),
        Event(4000, NOTE, text, detail={"text": text}),
        Event(5000, CLOSED, "client", text, detail={"what": text, "how": text}),
    )
    return Recording({"title": text, "parties": ["client", text]}, happened)


@given(st.text())
def test_no_text_is_more_than_text(text: str) -> None:
    diagram = made(text).to_mermaid(width=1_000)
    rows = read(diagram)
    plain = safe(text).strip()
    lanes = [shown(row["name"]) for row in rows if "lane" in row]
    assert lanes == (["client"] if text == "client" else ["client", plain or "(no name)"])
    assert [shown(row["title"]) for row in rows if "title" in row] == ([plain] if plain else [])
    assert [row["arrow"] for row in rows if "arrow" in row] == ["->>", "-x"]
    notes = [shown(row["note"]) for row in rows if "note" in row]
    assert notes[0] == f"4 ms note: {safe(text)}".strip()
    assert len(notes) == 2
    assert not re.search(r"\bend\b", diagram, re.IGNORECASE)


for _text in HOSTILE:
    test_no_text_is_more_than_text = example(_text)(test_no_text_is_more_than_text)


@pytest.mark.parametrize("width", [1, 2, 40, 80])
def test_texts_are_cut_as_they_are_shown(width: int) -> None:
    rows = read(made("#" * 500).to_mermaid(width=width))
    texts = [shown(row[key]) for row in rows for key in ("name", "title", "label", "note") if key in row]
    assert max(map(len, texts)) == width
    assert all(text.endswith("…") for text in texts if text != "client")


def test_a_lost_message_ends_in_a_cross_and_an_answer_has_a_dotted_line() -> None:
    async def story(client: Any) -> None:
        await client.list_tools()
        await client.call_tool("one", timeout_s=1)

    server = Server("desk")
    server.tool("one")(lambda: "1")
    run = simulate(story, server=server, faults=[Drop("result of tools/call")], check=False)
    arrows = [row for row in read(run.recording.to_mermaid()) if "arrow" in row]
    assert [(row["sender"], row["arrow"], row["receiver"]) for row in arrows] == [
        ("p1", "->>", "p2"),
        ("p2", "-->>", "p1"),
        ("p1", "->>", "p2"),
        ("p2", "--x", "p1"),
        ("p1", "->>", "p2"),
    ]
    assert shown(arrows[3]["label"]).startswith("60 ms result #2")
    assert "✗ lost: a fault dropped" in shown(arrows[3]["label"])


def test_what_did_not_arrive_before_the_end_has_an_open_arrow() -> None:
    happened = (Event(0, SENT, "client", "server", frame=1, data=b"{}"),)
    rows = read(Recording({"parties": ["client", "server"]}, happened).to_mermaid())
    assert [row["arrow"] for row in rows if "arrow" in row] == ["-)"]


@pytest.mark.parametrize("name", sorted(STORIES))
def test_every_story_can_be_drawn(name: str) -> None:
    story = STORIES[name]
    for era in story.eras:
        for way in story.ways:
            transport = StreamableHttp() if way == "http" else None
            recording = story.play(era=era, transport=transport, check=False).recording
            rows = read(recording.to_mermaid())
            assert tuple(shown(row["name"]) for row in rows if "lane" in row) == recording.parties
            assert sum("arrow" in row for row in rows) == len(recording.frames)
            asides = [event for event in recording.events if event.kind in (NOTE, CLOSED)]
            assert sum("note" in row for row in rows) == len(asides)


def test_a_recording_without_anything_is_a_diagram_without_anything() -> None:
    assert Recording({"title": ""}, ()).to_mermaid() == "sequenceDiagram\n"
