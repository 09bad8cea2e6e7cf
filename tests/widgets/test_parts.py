"""The parts that run in the browser, as texts."""

from __future__ import annotations

from importlib.resources import files

import pytest

PARTS = sorted((part.name, part.read_text("utf-8")) for part in (files("mcpsim.widgets") / "parts").iterdir())


@pytest.mark.parametrize(("name", "text"), PARTS, ids=[name for name, _ in PARTS])
def test_no_part_uses_what_jupyterlab_and_chromium_break(name: str, text: str) -> None:
    # In a cell that JupyterLab skipped while it was out of view, Chromium 156 never paints again what changes
    # inside of a size container. `fit` in dom.js sets classes instead.
    assert "@container" not in text
    assert "container-type" not in text


@pytest.mark.parametrize(("name", "text"), PARTS, ids=[name for name, _ in PARTS])
def test_no_part_makes_markup_out_of_text(name: str, text: str) -> None:
    found = ("innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval(", "new Function")
    assert [one for one in found if one in text] == []


@pytest.mark.parametrize(("name", "text"), PARTS, ids=[name for name, _ in PARTS])
def test_no_part_asks_the_network_for_anything(name: str, text: str) -> None:
    found = ("fetch(", "XMLHttpRequest", "WebSocket", "import(", "@import", "url(http", "sendBeacon", " src=")
    assert [one for one in found if one in text] == []
