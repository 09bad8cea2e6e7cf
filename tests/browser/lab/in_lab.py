"""Servers of notebooks for the tests, away from this machine's user, and how to open a notebook."""

from __future__ import annotations

import json
import os
import re
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Protocol

import pytest
from playwright.sync_api import Browser, Locator, Page, Route, expect

from tests.browser.lab.by_hand import LEDGER

START_S: Final = 90
RUN_MS: Final = 120_000
WAIT_MS: Final = 20_000
KERNEL: Final = "Python 3 (ipykernel)"
#: What a page may do, and a user would be asked for.
PERMISSIONS: Final = ("clipboard-read", "clipboard-write")


def elsewhere(route: Route) -> None:
    """No test goes out into the network, and a link opens all the same."""
    route.fulfill(body="Elsewhere.")


def notebook(*cells: str) -> str:
    """A notebook with these cells, not run."""
    kernel = {"name": "python3", "display_name": KERNEL, "language": "python"}
    empty = {"cell_type": "code", "metadata": {}, "outputs": [], "execution_count": None}
    made = [empty | {"id": f"cell-{place}", "source": source} for place, source in enumerate(cells)]
    whole = {"nbformat": 4, "nbformat_minor": 5, "metadata": {"kernelspec": kernel}, "cells": made}
    return json.dumps(whole)


def free_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return int(free.getsockname()[1])


@contextmanager
def serving(
    home: Path,
    words: Sequence[str],
    port: int,
    check: str,
    *,
    environment: Mapping[str, str] | None = None,
) -> Iterator[None]:
    """Start a server of notebooks with a home of its own, and stop it at the end.

    Args:
        home: where it keeps its settings, and where it is started.
        words: the module to run and its arguments.
        port: where it listens, on the loopback interface.
        check: what answers there when it has started.
        environment: more of the environment.
    """
    places = ("config", "data", "runtime")
    given = {f"JUPYTER_{place.upper()}_DIR": str(home / place) for place in places}
    given |= {"IPYTHONDIR": str(home / "ipython"), **(environment or {})}
    with (home / "log").open("w") as log:
        process = subprocess.Popen(
            [sys.executable, "-m", *words],
            cwd=home,
            env=os.environ | given,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
        )
    try:
        _wait_for(f"http://127.0.0.1:{port}{check}", process, home / "log")
        yield
    finally:
        process.terminate()
        try:
            process.wait(2)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def _wait_for(url: str, process: subprocess.Popen[bytes], log: Path) -> None:
    deadline = time.monotonic() + START_S
    while time.monotonic() < deadline and process.poll() is None:
        try:
            urllib.request.urlopen(url, timeout=30).close()
        except OSError:
            time.sleep(0.2)
        else:
            return
    pytest.fail(f"The server did not start within {START_S} s:\n{log.read_text()}")


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

    def write(self, name: str, *cells: str) -> None:
        """Put a notebook with these cells into the learner's folder."""
        (self.folder / name).write_text(notebook(*cells), encoding="utf-8")

    def ask(self, path: str, method: str = "GET") -> bytes:
        """Call the server's own interface."""
        headers = {"Authorization": f"token {self.token}"}
        request = urllib.request.Request(f"{self.url}{path}", method=method, headers=headers)
        with urllib.request.urlopen(request, timeout=30) as response:
            return response.read()

    def sessions(self) -> list[dict[str, Any]]:
        """The notebooks that have a kernel."""
        return list(json.loads(self.ask("/api/sessions")))

    def stop_kernel(self, name: str) -> None:
        """Shut the kernel of a notebook down, so that it is opened as by a new user."""
        for session in self.sessions():
            if session["path"] == name:
                self.ask(f"/api/sessions/{session['id']}", "DELETE")


def open_notebook(page: Page, lab: Lab, name: str) -> None:
    """Open a notebook in a workspace of its own, and wait for its kernel."""
    page.goto(f"{lab.url}/lab/workspaces/desk/tree/{name}?reset&token={lab.token}")
    page.get_by_role("tab", name=Path(name).name).wait_for()
    wait_for_kernel(page)


def wait_for_kernel(page: Page) -> None:
    """Wait until it has nothing to do. An `expect` reads the whole page each time that it is not so."""
    page.locator("#jp-main-statusbar").get_by_text(f"{KERNEL} | Idle").wait_for(timeout=RUN_MS)


def press_run_all(page: Page) -> None:
    page.get_by_role("menuitem", name="Run", exact=True).click()
    page.get_by_role("menuitem", name="Run All Cells", exact=True).click()


def run_all(page: Page) -> Locator:
    """Run a notebook from the top to its end, and return its first player."""
    press_run_all(page)
    player = page.get_by_role("region", name=re.compile("^Player: ")).first
    player.wait_for(timeout=RUN_MS)
    expect(page.locator(".jp-InputPrompt").get_by_text("[*]:", exact=True)).to_have_count(0, timeout=RUN_MS)
    wait_for_kernel(page)
    expect(page.get_by_text("Traceback (most recent call last)")).to_have_count(0)
    player.evaluate("element => element.scrollIntoView({block: 'start'})")
    return player


def hold_focus(page: Page, target: Locator) -> None:
    """Put the focus there as a user would who looks: a notebook takes it once more, a little after a run."""
    for _ in range(20):
        target.focus()
        page.wait_for_timeout(300)
        if target.evaluate("element => element === document.activeElement"):
            return
    pytest.fail("The focus does not stay in the widget.")


#: What the user of a `Desk` set for “Clear Outputs of All Cells”: JupyterLab has no keys for it.
CLEAR_KEYS: Final = "Control+Alt+O"
#: Out of a projector.
LEAVE: Final = "document.fullscreenElement && document.exitFullscreen()"
#: What JupyterLab's own keys would change: cells, what is in them and when they ran, a mode, a dialog.
STATE: Final = """() => ({
  cells: [...document.querySelectorAll(".jp-Notebook .jp-Cell")].map(
    (cell) => [
      cell.className.match(/jp-(Code|Markdown|Raw)Cell/)?.[0],
      cell.classList.contains("jp-mod-active"),
      cell.querySelector(".jp-InputPrompt")?.textContent,
    ]),
  dialogs: document.querySelectorAll(".jp-Dialog").length,
  editing: document.querySelectorAll(".jp-Notebook.jp-mod-editMode").length,
  tabs: document.querySelectorAll("#jp-main-dock-panel .lm-TabBar-tab").length,
  errors: document.querySelectorAll(".jp-RenderedText[data-mime-type*=stderr]").length,
})"""


class Desk:
    """A notebook in JupyterLab, whose cells are run one at a time: each test begins with a fresh widget.

    Attributes:
        wrong: what went wrong in a script of a widget.
    """

    def __init__(self, page: Page, names: Sequence[str]) -> None:
        self.page = page
        self.names = list(names)
        self.wrong: list[str] = []
        page.on("pageerror", self._note)

    def _note(self, error: object) -> None:
        # The scripts of JupyterLab itself are files of its server; those of a widget come with its model.
        stack = str(getattr(error, "stack", ""))
        if "/static/" not in stack:
            self.wrong.append(f"{error}\n{stack}")

    def run(self, name: str, *, alone: bool = False) -> Locator:
        """Run a cell as a user does, and return what it shows.

        Args:
            alone: take away before what the cells showed. What is in a page costs time at every look at it.
        """
        cell = self.page.locator(".jp-Notebook .jp-Cell").nth(self.names.index(name))
        prompt = cell.locator(".jp-InputPrompt")
        cell.locator(".cm-content").focus()
        if alone:
            self.page.keyboard.press(CLEAR_KEYS)
        before = prompt.text_content()
        self.page.keyboard.press("Control+Enter")
        self.page.wait_for_function(
            "([prompt, before]) => prompt.textContent !== before && /\\[\\d+\\]/.test(prompt.textContent)",
            arg=[prompt.element_handle(), before],
            timeout=RUN_MS,
        )
        return cell.locator(".jp-OutputArea-output").last

    def state(self) -> object:
        """What JupyterLab's own keys would have changed."""
        return self.page.evaluate(STATE)

    def leave(self) -> None:
        """Put away what a failed test left behind."""
        self.page.evaluate(LEAVE)


class AnyDesk(Protocol):
    """What a `Desk` has, and a `PlainDesk`."""

    page: Page
    wrong: list[str]

    def run(self, name: str, *, alone: bool = False) -> Locator: ...

    def state(self) -> object: ...

    def leave(self) -> None: ...


def shower(desk: AnyDesk, *, typed: bool = False) -> Iterator[Callable[[str], Locator]]:
    """Shows widgets, one at a time, and sees at the end that nothing else happened. Whatever goes wrong in
    one fails the test.

    Args:
        typed: at the end, check the keys of the last one.
    """
    states: list[object] = []
    every: list[Locator] = []

    def show(name: str) -> Locator:
        shown = desk.run(name, alone=True)
        shown.locator("[role=region]").first.wait_for()
        states.append(desk.state())
        every.append(shown)
        return shown

    yield show
    if typed:
        assert isinstance(desk, Desk)
        check_keys(desk, every[-1])
    assert [desk.state()] == states[-1:]
    desk.leave()
    assert desk.wrong == []


#: Keys that JupyterLab takes where the focus is in a notebook: for cells, their kind, undo, and the kernel.
NOTEBOOK_KEYS: Final = ("b", "a", "d", "d", "m", "x", "z", "0", "0", "Escape")
#: Enough where all of them are tried at another place: whether a key gets through is a matter of the place.
#: No widget takes it itself, nor does it close what is open.
FEW_KEYS: Final = ("m",)
#: And those that run a cell, where they press nothing themselves.
RUN_KEYS: Final = ("Control+Enter", "Shift+Enter")
PRESSED: Final = re.compile("^(button|summary|a|checkbox|radio|menuitem) ")


def check_keys(desk: Desk, shown: Locator) -> None:
    """Type Tab, and what JupyterLab has for itself, at one of each place in a widget that may be another to
    it. That the Tab key goes through all is tested with the accessibility.

    Before that, see that nothing of JupyterLab's covers a control: the mouse is at work in a plain page.
    """
    page, before = desk.page, None

    def settle() -> None:
        # What was typed may have been a wish, and what comes back for it is new in the widget.
        expect(shown.locator("[aria-busy=true]")).to_have_count(0)

    settle()
    covered = page.evaluate("root => ledger.covered(root)", shown.element_handle())
    assert not covered, f"Something covers: {covered}"
    found = page.evaluate("root => ledger.places(root)", shown.element_handle())
    # What is typed into a field, or at a row, may take a link away.
    places = sorted(found, key=lambda place: not PRESSED.match(place))

    def focus_at(place: str) -> None:
        settle()
        assert page.evaluate("place => ledger.focusAt(place)", place), f"It cannot have the focus: {place}"

    for place in places:
        focus_at(place)
        # With the focus the cell of the widget is the active one.
        before = before or desk.state()
        page.keyboard.press("Tab")
        assert page.evaluate("ledger.hasMovedOn()"), f"The Tab key does not get away from: {place}"
        # The keys of a widget are among all of them, and may take away what is in view.
        keys = NOTEBOOK_KEYS if place == places[-1] else FEW_KEYS
        for key in keys if PRESSED.match(place) else (*keys, *RUN_KEYS):
            # A key may have moved it on: then the next one is for what has it now.
            if key in RUN_KEYS or key == keys[0]:
                focus_at(place)
            page.keyboard.press(key)
        assert desk.state() == before, f"A key went to the notebook at: {place}"
    settle()
    page.evaluate("ledger.focusLast()")
    page.keyboard.press("Tab")
    inside = page.evaluate("ledger.inside()")
    assert not inside, f"The focus never comes out, it is at: {inside}"


@contextmanager
def at_desk(browser: Browser, lab: Lab, file: str, first: str, cells: Mapping[str, str]) -> Iterator[Desk]:
    """Open a notebook whose cells are named, and run its first one.

    Args:
        first: what the other cells need.
        cells: the source of each of the others, by name.
    """
    lab.set("apputils-extension/themes", theme="JupyterLab Light")
    clear = {"command": "notebook:clear-all-cell-outputs", "selector": ".jp-Notebook", "args": {}}
    keys = CLEAR_KEYS.replace("Control", "Ctrl").replace("+", " ")
    lab.set("shortcuts-extension/shortcuts", shortcuts=[clear | {"keys": [keys]}])
    lab.write(file, first, *cells.values())
    context = browser.new_context(
        viewport={"width": 1400, "height": 1000},
        reduced_motion="reduce",
        permissions=PERMISSIONS,
    )
    context.set_default_timeout(WAIT_MS)
    context.route("https://**/*", elsewhere)
    context.add_init_script(LEDGER)
    page = context.new_page()
    desk = Desk(page, ["", *cells])
    open_notebook(page, lab, file)
    desk.run("")
    # A kernel answers, and on a machine that is busy it may take its time.
    expect.set_options(timeout=WAIT_MS)
    yield desk
    expect.set_options(timeout=5_000)
    context.close()
    lab.stop_kernel(file)
