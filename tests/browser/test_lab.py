"""A newcomer's first minutes: JupyterLab, opened by `mcpsim lab` from an installed wheel, in Chromium."""

from __future__ import annotations

import json
import os
import re
import secrets
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Locator, Page, expect

LESSON = "notebooks/04_stateless.ipynb"
START_S = 90
RUN_MS = 120_000
WAIT_MS = 20_000


@dataclass(frozen=True)
class Lab:
    """A running JupyterLab.

    Attributes:
        url: its address, on the loopback interface.
        token: what it asks of a browser.
        folder: the learner's copy of the workbook.
        settings: where a user's settings are kept.
    """

    url: str
    token: str
    folder: Path
    settings: Path

    def set(self, plugin: str, **values: object) -> None:
        """Change a setting as the user could in the settings editor."""
        path = self.settings / "lab" / "user-settings" / "@jupyterlab" / f"{plugin}.jupyterlab-settings"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(values))

    def ask(self, path: str, method: str = "GET") -> bytes:
        """Call the server's own interface."""
        headers = {"Authorization": f"token {self.token}"}
        request = urllib.request.Request(f"{self.url}{path}", method=method, headers=headers)
        with urllib.request.urlopen(request, timeout=30) as response:
            return response.read()

    def stop_kernels(self) -> None:
        """Shut all kernels down, so that the next test begins as a new user would."""
        for kernel in json.loads(self.ask("/api/kernels")):
            self.ask(f"/api/kernels/{kernel['id']}", "DELETE")


@pytest.fixture(scope="module")
def lab(installed_wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lab]:
    """Start `mcpsim lab`, with nothing of this machine's user in reach, and stop it at the end."""
    home = tmp_path_factory.mktemp("newcomer")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    lab = Lab(f"http://127.0.0.1:{port}", secrets.token_hex(), home / "mcp-workbook", home / "config")
    lab.set("apputils-extension/notification", fetchNews="false", checkForUpdates=False)
    places = ("config", "data", "runtime")
    environment = os.environ | {f"JUPYTER_{place.upper()}_DIR": str(home / place) for place in places}
    environment |= {"IPYTHONDIR": str(home / "ipython"), "PYTHONPATH": str(installed_wheel)}
    options = [f"--port={port}", "--ServerApp.ip=127.0.0.1", "--allow-root"]
    options.append(f"--IdentityProvider.token={lab.token}")
    with (home / "log").open("w") as log:
        process = subprocess.Popen(
            [sys.executable, "-m", "mcpsim", "lab", "--no-browser", "--", *options],
            cwd=home,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
        )
    try:
        wait_for(lab, process, home / "log")
        yield lab
    finally:
        process.terminate()
        try:
            process.wait(30)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def wait_for(lab: Lab, process: subprocess.Popen[bytes], log: Path) -> None:
    deadline = time.monotonic() + START_S
    while time.monotonic() < deadline and process.poll() is None:
        try:
            lab.ask("/api")
        except OSError:
            time.sleep(0.2)
        else:
            return
    pytest.fail(f"JupyterLab did not start within {START_S} s:\n{log.read_text()}")


@pytest.fixture
def page(browser: Browser, lab: Lab) -> Iterator[Page]:
    context = browser.new_context(viewport={"width": 1400, "height": 1000})
    page = context.new_page()
    page.set_default_timeout(30_000)
    yield page
    context.close()
    lab.stop_kernels()


def open_lesson(page: Page, lab: Lab, name: str = LESSON) -> None:
    page.goto(f"{lab.url}/lab/tree/{name}?reset&token={lab.token}")
    page.get_by_role("tab", name=Path(name).name).wait_for()
    expect(page.get_by_text("Python 3 (ipykernel) | Idle")).to_be_visible(timeout=60_000)


def run_all(page: Page) -> Locator:
    """Run the lesson from the top to its end, and return its first player."""
    page.get_by_role("menuitem", name="Run", exact=True).click()
    page.get_by_role("menuitem", name="Run All Cells", exact=True).click()
    player = page.get_by_role("region", name=re.compile("^Player: ")).first
    player.wait_for(timeout=RUN_MS)
    expect(page.get_by_text("[*]:", exact=True)).to_have_count(0, timeout=RUN_MS)
    expect(page.get_by_text("Python 3 (ipykernel) | Idle")).to_be_visible(timeout=RUN_MS)
    expect(page.get_by_text("Traceback (most recent call last)")).to_have_count(0)
    player.evaluate("element => element.scrollIntoView({block: 'start'})")
    return player


def hold_focus(page: Page, target: Locator) -> None:
    """Put the focus there as a user would who looks: JupyterLab takes it once more, a little after a run."""
    for _ in range(20):
        target.focus()
        page.wait_for_timeout(500)
        if target.evaluate("element => element === document.activeElement"):
            return
    pytest.fail("The focus does not stay in the player.")


class Shown:
    """What a user reads off a player."""

    def __init__(self, player: Locator) -> None:
        self.player = player
        self.step = player.get_by_role("spinbutton", name="Go to step")
        self.message = player.get_by_role("tabpanel", name="Message")

    def chosen(self) -> str:
        """The row that is chosen in the list of messages."""
        return (
            self.player.get_by_role("listbox", name="Messages")
            .get_by_role("option", selected=True)
            .inner_text()
        )

    def press(self, button: str) -> None:
        self.player.get_by_role("button", name=button, exact=True).click()

    def at(self, step: int) -> str:
        """Wait until the player stands at this step, and read the message that it shows."""
        expect(self.step).to_have_value(str(step), timeout=WAIT_MS)
        return self.message.inner_text()


def test_it_opens_on_the_first_lesson(page: Page, lab: Lab) -> None:
    page.goto(f"{lab.url}/?token={lab.token}")
    page.get_by_role("tab", name="00_start_here.ipynb").wait_for()


def test_a_lesson_shows_its_pictures_before_anything_was_run(page: Page, lab: Lab) -> None:
    open_lesson(page, lab)
    picture = page.get_by_role("img", name=re.compile(r"\w+ \w+")).filter(has=page.locator("svg")).first
    picture.scroll_into_view_if_needed()
    expect(picture).to_be_visible(timeout=WAIT_MS)


@pytest.mark.parametrize("theme", ["Light", "Dark"])
def test_stepping_through_a_lesson_by_click_and_by_key(
    page: Page, lab: Lab, theme: str, tmp_path: Path
) -> None:
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    lab.set("apputils-extension/themes", theme=f"JupyterLab {theme}")
    open_lesson(page, lab)
    shown = Shown(run_all(page))

    shown.press("First")
    shown.at(0)
    by_click = []
    for step in (1, 2, 3):
        shown.press("Forward")
        by_click.append(shown.at(step))
    assert len(set(by_click)) == 3
    for message in by_click:
        assert '"jsonrpc": "2.0"' in message
    page.screenshot(path=tmp_path / f"{theme.lower()}.png")

    for step in (2, 1):
        shown.press("Back")
        assert shown.at(step) == by_click[step - 1]
    # The list of messages names the method of the request whose JSON the message pane shows.
    method = re.search(r'"method": "([^"]+)"', by_click[0])
    assert method is not None
    assert method.group(1) in shown.chosen()

    hold_focus(page, shown.player)
    for key, step in (("ArrowRight", 2), ("ArrowRight", 3), ("ArrowLeft", 2)):
        page.keyboard.press(key)
        assert shown.at(step) == by_click[step - 1]
    page.keyboard.press("Home")
    shown.at(0)

    assert [url for url in asked if not url.startswith((lab.url, "data:", "blob:"))] == []


def test_keys_meant_for_the_player_do_not_reach_the_notebook(page: Page, lab: Lab) -> None:
    open_lesson(page, lab)
    player = run_all(page)
    cells = page.locator(".jp-Cell")
    before = cells.count()
    assert before > 3
    hold_focus(page, player.get_by_role("button", name="Forward", exact=True))
    for key in ("b", "a"):
        page.keyboard.press(key)
    page.keyboard.press("End")
    steps = player.get_by_role("spinbutton", name="Go to step")
    expect(steps).to_have_value(steps.get_attribute("max") or "", timeout=WAIT_MS)
    assert cells.count() == before


def test_a_notebook_that_was_run_and_saved_shows_its_pictures_without_a_kernel(page: Page, lab: Lab) -> None:
    open_lesson(page, lab)
    hold_focus(page, run_all(page))
    page.keyboard.press("Control+s")
    path = lab.folder / LESSON
    for _ in range(200):
        saved = path.read_text(encoding="utf-8")
        if "Sequence diagram" in saved and "widget-view" not in saved:
            break
        time.sleep(0.1)
    lab.stop_kernels()
    page.goto(f"{lab.url}/lab/tree/{LESSON}?reset&token={lab.token}")
    picture = page.get_by_role("img", name=re.compile("^Sequence diagram")).first
    picture.scroll_into_view_if_needed()
    expect(picture).to_be_visible(timeout=WAIT_MS)
    expect(page.get_by_text("model not found")).to_have_count(0)


def test_the_memory_of_both_sides_is_readable(page: Page, lab: Lab) -> None:
    """JupyterLab styles the lists of definitions in an output in its own way: rows must stay rows."""
    open_lesson(page, lab, "notebooks/03_handshake.ipynb")
    player = run_all(page)
    player.get_by_role("button", name="Last", exact=True).click()
    player.get_by_role("button", name="Back", exact=True).click()
    player.get_by_role("tab", name=re.compile("^Memory")).click()
    memory = player.get_by_role("tabpanel", name="Memory")
    names, values = memory.locator("dt"), memory.locator("dd")
    assert names.count() == values.count() > 3
    boxes = [(names.nth(n).bounding_box(), values.nth(n).bounding_box()) for n in range(names.count())]
    for name, value in boxes:
        assert name is not None
        assert value is not None
        assert name["y"] + name["height"] <= value["y"] + 1
        assert abs(name["x"] - value["x"]) < 20
