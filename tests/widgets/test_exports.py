"""Exports: each kind of file, and whatever else a browser may ask for."""

from __future__ import annotations

from typing import Any

import pytest

from mcpsim import Recording
from mcpsim.course.misbehaving import MISBEHAVING
from mcpsim.course.stories import STORIES
from mcpsim.widgets import standalone_html, still_svg
from mcpsim.widgets.exports import EXPORTS, View, answer, file_name


@pytest.fixture(scope="module")
def view() -> View:
    return View(STORIES["first-call"].play().recording, 3, "mcpsim:first-call")


def test_each_kind(view: View) -> None:
    found = {kind: answer({"export": kind, "n": "7-1"}, view) for kind in EXPORTS}
    assert {kind: one["text"] for kind, one in found.items() if one is not None} == {
        "html": standalone_html(view.recording, cursor=3, link="mcpsim:first-call"),
        "svg": still_svg(view.recording),
        "mermaid": view.recording.to_mermaid(),
        "markdown": view.recording.to_markdown(),
        "jsonl": view.recording.to_jsonl().decode(),
    }
    for one in found.values():
        assert one is not None
        assert one["exported"] == "7-1"
        assert "error" not in one


def test_where_the_findings_are_left_out_no_export_has_them() -> None:
    recording = MISBEHAVING["server-tells-of-changes-undeclared"].play().recording
    (found,) = recording.audit().findings
    telling = {True: View(recording), False: View(recording, findings=False)}
    texts = {
        shown: {kind: each.write(view) for kind, each in EXPORTS.items()} for shown, view in telling.items()
    }
    assert found.rule in texts[True]["html"]
    assert "⚑" in texts[True]["svg"]
    for text in texts[False].values():
        assert found.rule not in text
        assert found.message not in text
        assert "⚑" not in text


@pytest.mark.parametrize("asked", [None, "html", ["export"], {}, {"n": 1}])
def test_what_asks_for_nothing_gets_nothing(view: View, asked: object) -> None:
    assert answer(asked, view) is None


@pytest.mark.parametrize("kind", ["pdf", "", None, 7, ["html"], {"html": 1}, "x" * 1_000])
def test_a_kind_that_is_not_there(view: View, kind: Any) -> None:
    found = answer({"export": kind, "n": 1}, view)
    assert found is not None
    assert found["exported"] == 1
    assert found["error"].startswith("There is no export ")
    assert found["error"].endswith("there are html, svg, mermaid, markdown, jsonl.")
    assert len(found["error"]) < 200


def test_what_cannot_be_written_is_told() -> None:
    found = answer({"export": "jsonl", "n": 1}, View(Recording({"title": "x", "odd": object()}, ())))
    assert found is not None
    assert found["error"].startswith("RecordingError: ")


@pytest.mark.parametrize(
    ("title", "name"),
    [
        ("A list, in three pages (modern)", "a-list-in-three-pages-modern"),
        ("../../etc/passwd\0", "etc-passwd"),
        ("", "recording"),
        ("é 中 🙂", "recording"),
        ("a" * 100, "a" * 60),
    ],
)
def test_names_of_files_are_plain(title: str, name: str) -> None:
    assert file_name(title) == name
