"""One JupyterLab, and one notebook in it, for all tests of this folder."""

from __future__ import annotations

import secrets
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser

from tests.browser.lab.by_hand import Hand
from tests.browser.lab.cells import FIRST, PLAYERS, SMALL
from tests.browser.lab.in_lab import AnyDesk, Desk, Lab, at_desk, free_port, serving, shower
from tests.browser.lab.in_plain_page import HANDS, PlainDesk, at_plain_desk

CELLS = SMALL | PLAYERS


@pytest.fixture(scope="package")
def lab(installed_wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lab]:
    """JupyterLab as `mcpsim lab` of an installed wheel starts it for a newcomer."""
    home = tmp_path_factory.mktemp("newcomer")
    port = free_port()
    lab = Lab(f"http://127.0.0.1:{port}", secrets.token_hex(), home / "mcp-workbook", home / "config")
    lab.set("apputils-extension/notification", fetchNews="false", checkForUpdates=False)
    # It would start Node.js for each page that is opened, to see whether it should be built again.
    page_config = lab.settings / "labconfig" / "page_config.json"
    page_config.parent.mkdir(parents=True)
    page_config.write_text('{"buildCheck": false, "buildAvailable": false}')
    options = [f"--port={port}", "--ServerApp.ip=127.0.0.1", "--allow-root"]
    options.append(f"--IdentityProvider.token={lab.token}")
    words = ["mcpsim", "lab", "--no-browser", "--", *options]
    path = {"PYTHONPATH": str(installed_wheel)}
    with serving(home, words, port, f"/api?token={lab.token}", environment=path):
        yield lab


@pytest.fixture(scope="package")
def desk(browser: Browser, lab: Lab) -> Iterator[Desk]:
    """The notebook. What needs no kernel of its own is looked at in its cells."""
    with at_desk(browser, lab, "desk.ipynb", FIRST, CELLS) as desk:
        yield desk


@pytest.fixture(scope="package")
def plain_desk(browser: Browser) -> Iterator[PlainDesk]:
    """The same cells without a notebook."""
    with at_plain_desk(browser, FIRST, CELLS) as desk:
        yield desk


@pytest.fixture(params=["mouse", "keyboard"])
def by(request: pytest.FixtureRequest) -> str:
    """A key of `HANDS`."""
    return str(request.param)


@pytest.fixture
def place(request: pytest.FixtureRequest, browser: Browser, by: str) -> AnyDesk:
    """Where the hand is at work, in the browser."""
    return request.getfixturevalue(HANDS[by])


@pytest.fixture
def hand(place: AnyDesk, by: str) -> Hand:
    return Hand(place.page, "keyboard" if by == "keyboard" else "mouse")


@pytest.fixture
def show(place: AnyDesk, by: str) -> Iterator[Any]:
    """Shows widgets. At the end of a test by keyboard, when most can be seen, what JupyterLab has for itself
    is typed all over the last one: nothing of it may reach the notebook."""
    yield from shower(place, typed=by == "keyboard")


@pytest.fixture
def show_in_lab(desk: Desk) -> Iterator[Any]:
    yield from shower(desk)
