"""A real browser for the tests: Chromium."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, sync_playwright

from mcpsim.recording import Recording
from mcpsim.widgets import standalone_html
from tests.browser.chromium import find_chromium
from tests.browser.in_page import Shown, Stage, listening, opener

ARGUMENTS = [
    "--no-sandbox",
    "--disable-gpu",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    """One Chromium for all tests. Without one the tests fail: nothing else can say what a learner sees."""
    path = find_chromium()
    if not path:
        pytest.fail("No Chromium: install one, or say where it is in the environment variable CHROMIUM.")
    with sync_playwright() as playwright:
        found = playwright.chromium.launch(executable_path=path, args=ARGUMENTS)
        yield found
        found.close()


@pytest.fixture(scope="session")
def shared_stage(browser: Browser) -> Iterator[Stage]:
    stage = Stage(browser)
    yield stage
    stage.close()


@pytest.fixture
def fresh() -> None:
    """For tests that change what cannot be put back in a page: its clock, what it may use, scripts that begin
    every document in it. They get a page of their own."""


@pytest.fixture
def stage(request: pytest.FixtureRequest, browser: Browser) -> Iterator[Stage]:
    """A page, and the widget in it: empty, and as a new one. See `fresh`."""
    if "fresh" in request.fixturenames:
        stage = Stage(browser)
        yield stage
        stage.close()
    else:
        stage = request.getfixturevalue("shared_stage")
        yield stage
        stage.clear()


@pytest.fixture
def page(stage: Stage) -> Page:
    """A page that is empty, wide enough for the player to stand beside its panel, and without motion."""
    return stage.page


@pytest.fixture
def show(stage: Stage) -> Iterator[Callable[..., Shown]]:
    """Shows a widget in the page. Whatever goes wrong in it fails the test."""
    yield from opener(stage)


@pytest.fixture(scope="session")
def made() -> ModuleType:
    """The recordings made by hand that the tests of the views use."""
    path = Path(__file__).parents[1] / "widgets" / "made.py"
    spec = importlib.util.spec_from_file_location("made_recordings", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def play(page: Page, tmp_path: Path) -> Iterator[Callable[..., Page]]:
    """Open the standalone page of a recording from the disk, or one that is there. Whatever goes wrong in it
    fails the test."""
    wrong: list[str] = []
    asked: list[str] = []

    def open_page(shown: Recording | Path, **more: Any) -> Page:
        if isinstance(shown, Recording):
            file = tmp_path / "player.html"
            file.write_text(standalone_html(shown, **more), encoding="utf-8")
        else:
            file = shown
        page.goto(file.as_uri())
        page.locator(".mcpsim-player").wait_for()
        return page

    with listening(
        page,
        pageerror=lambda error: wrong.append(str(error)),
        console=lambda message: wrong.append(message.text),
        dialog=lambda dialog: (wrong.append(dialog.message), dialog.dismiss()),
        request=lambda request: asked.append(request.url),
    ):
        yield open_page
    assert wrong == []
    assert [url for url in asked if not url.startswith("file:")] == []
