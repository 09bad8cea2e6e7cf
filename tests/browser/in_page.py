"""A small widget in a plain page: the widget in Python and its view are the real ones.

What is between them, a kernel's comm, is a function that the page calls.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Final

from playwright.sync_api import Browser, Locator, Page, ViewportSize, expect

from mcpsim.widgets.base import Picture
from mcpsim.widgets.standalone import json_in_html

#: Until what the last act changed is laid out, and what watches sizes and scrolling has seen it.
SETTLED: Final = "new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))"


def settle(page: Page) -> None:
    """Wait until what the last act changed is laid out, and what watches sizes and scrolling has seen it."""
    page.evaluate(SETTLED)


GLUE = """
const values = JSON.parse(document.getElementById("state").textContent);
const listeners = new Map();
const changed = new Set();
const put = (state) => {
  const differs = (name) => JSON.stringify(values[name]) !== JSON.stringify(state[name]);
  const news = Object.keys(state).filter(differs);
  Object.assign(values, state);
  for (const name of news) for (const each of [...(listeners.get(`change:${name}`) || [])]) each();
};
// As a notebook does it: one message is under way, and what changes meanwhile goes with the next one. The
// test says when the answer comes.
let slow = null;
window.slowly = () => {
  let [next, answer] = [null, null];
  const send = () => {
    answer = window.kernel(JSON.stringify(next));
    next = null;
  };
  slow = { save(state) { next = { ...next, ...state }; if (!answer) send(); } };
  window.answer = async () => {
    if (!answer) return;
    const state = JSON.parse(await answer);
    put(state);
    answer = null;
    if (next) send();
  };
};
const model = {
  get: (name) => values[name],
  set(name, value) { changed.add(name); put({ [name]: value }); },
  save_changes() {
    const state = Object.fromEntries([...changed].map((name) => [name, values[name]]));
    changed.clear();
    if (slow) return slow.save(state);
    window.kernel(JSON.stringify(state)).then((answer) => put(JSON.parse(answer)));
  },
  send(content) {
    window.told(JSON.stringify(content)).then((answers) => {
      for (const answer of JSON.parse(answers)) {
        for (const each of [...(listeners.get("msg:custom") || [])]) each(answer);
      }
    });
  },
  on(event, callback) { listeners.set(event, [...(listeners.get(event) || []), callback]); },
  off(event, callback) { listeners.set(event, listeners.get(event).filter((each) => each !== callback)); },
};
window.made = made;
const forget = made.initialize ? made.initialize({ model }) : () => {};
const leave = made.render({ model, el: document.getElementById("here") });
window.again = (el) => made.render({ model, el });
window.leave = () => {
  leave();
  forget();
};
// As JupyterLab does it where a kernel is restarted: what is sent after that is dropped.
window.restarted = () => {
  model.save_changes = () => changed.clear();
  model.send = () => {};
  for (const each of [...(listeners.get("comm_live_update") || [])]) each();
};
window.listening = () => [...listeners.values()].flat().length;
"""
OF_WIDGETS = ("layout", "tabbable", "tooltip")


class Shown:
    """A widget in a page.

    Attributes:
        trips: what the browser sent, in order.
        answers: whether messages that are no state are answered.
    """

    def __init__(self, page: Page, widget: Picture) -> None:
        self.page = page
        self.widget = widget
        self.trips: list[dict[str, Any]] = []
        self.answers = True
        synced = widget.traits(sync=True)
        self.names = [name for name in synced if not name.startswith("_") and name not in OF_WIDGETS]

    def kernel(self, text: str) -> str:
        """What a kernel does with a message of the browser: set the state, and tell what is changed."""
        state = json.loads(text)
        self.trips.append(state)
        before = {name: getattr(self.widget, name) for name in self.names}
        self.widget.set_state(state)
        after = {name: getattr(self.widget, name) for name in self.names}
        return json.dumps({name: after[name] for name in self.names if after[name] != before[name]})

    def told(self, text: str) -> str:
        """What a kernel does with a message that is no state: the widget's answers."""
        answers: list[Any] = []
        self.widget.send = lambda content, buffers=None: answers.append(content)  # type: ignore[method-assign]
        self.widget._handle_custom_msg(json.loads(text), [])
        return json.dumps(answers if self.answers else [])

    def html(self, *, dark: bool | None = False, above: str = "") -> str:
        """The page.

        Args:
            dark: whether the theme of JupyterLab is a dark one; None is a page without a theme.
            above: what stands above the widget, as HTML.
        """
        script = str(self.widget._esm).replace("export default", "const made =")
        state = json_in_html({name: getattr(self.widget, name) for name in self.names})
        ground = {True: "#111", False: "#fff", None: "Canvas"}[dark]
        style = f"body {{ margin: 0; padding: 12px; background: {ground}; }}"
        theme = "" if dark is None else f' data-jp-theme-light="{str(not dark).lower()}"'
        if dark is None:
            style += " :root { color-scheme: light dark; }"
        return (
            f'<!doctype html><html lang="en"><head><title>Widget</title>'
            f"<style>{self.widget._css}{style}</style></head>"
            f'<body{theme}><main>{above}<div id="here"></div></main>'
            f'<script type="application/json" id="state">{state}</script>'
            f'<script type="module">{script}{GLUE}</script></body></html>'
        )

    def button(self, name: str) -> Locator:
        return self.page.get_by_role("button", name=name, exact=True)

    @property
    def status(self) -> Locator:
        return self.page.get_by_role("status")

    @property
    def alert(self) -> Locator:
        return self.page.get_by_role("alert")

    def press(self, *keys: str) -> None:
        for key in keys:
            self.page.keyboard.press(key)

    def settle(self) -> None:
        """Wait for the answer to the last wish."""
        expect(self.page.locator(".mcpsim-acting")).to_have_attribute("aria-busy", "false")

    def is_narrow_enough(self) -> bool:
        """Whether nothing stands out of the page at the side."""
        wide = "document.documentElement.scrollWidth > document.documentElement.clientWidth"
        return not self.page.evaluate(wide)

    def slowly(self) -> None:
        """From now on, answer where the test says so."""
        self.page.evaluate("window.slowly()")

    def answer(self) -> None:
        """Let the answer come to the message that is under way."""
        self.page.evaluate("window.answer()")

    def restart(self) -> None:
        """Restart the kernel."""
        self.page.evaluate("window.restarted()")

    def second(self) -> Locator:
        """One more view of the widget, below the first."""
        self.page.evaluate(
            """() => {
              const here = document.createElement("section");
              document.querySelector("main").append(here);
              window.again(here);
            }"""
        )
        return self.page.locator("section")

    def leave(self) -> int:
        """Take the view away. Returns how many of its listeners are left."""
        self.page.evaluate("window.leave()")
        return int(self.page.evaluate("window.listening()"))


#: Whether nothing of a page is replaced that a test can replace for good.
NEW: Final = """[setTimeout, performance.now, document.execCommand]
  .every((one) => String(one).includes("[native code]"))
  && !Object.getOwnPropertyNames(navigator).length && navigator.onLine"""


class Stage:
    """A page in which one thing after the other is shown: to open a page costs more than to show something.

    Attributes:
        page: wide enough for the player to stand beside its panel, and without motion.
        shown: the widget that is in it now; what another one still says is not heard.
    """

    SIZE: Final[ViewportSize] = {"width": 1400, "height": 900}

    def __init__(self, browser: Browser) -> None:
        context = browser.new_context(viewport=self.SIZE, reduced_motion="reduce")
        context.set_default_timeout(10_000)
        self.page = context.new_page()
        self.shown: Shown | None = None
        self.page.expose_function("kernel", lambda text: self.shown.kernel(text) if self.shown else "{}")
        self.page.expose_function("told", lambda text: self.shown.told(text) if self.shown else "[]")

    def clear(self) -> None:
        """Make it as it was when it was new, whatever was done in the page that is left now."""
        self.shown = None
        for other in self.page.context.pages:
            if other != self.page:
                other.close()
        self.page.goto("about:blank")
        self.page.emulate_media(color_scheme="light", reduced_motion="reduce")
        self.page.mouse.move(0, 0)
        if self.page.viewport_size != self.SIZE:
            self.page.set_viewport_size(self.SIZE)
        assert self.page.evaluate(NEW), "The test left something in the page: it has to ask for `fresh`."

    def close(self) -> None:
        self.page.context.close()


@contextmanager
def listening(page: Page, **heard: Callable[[Any], object]) -> Iterator[None]:
    """Listen to events of a page, by their names, for as long as this lasts."""
    for event, listener in heard.items():
        page.on(event, listener)  # type: ignore[call-overload]
    yield
    for event, listener in heard.items():
        page.remove_listener(event, listener)


def opener(stage: Stage, shown_as: type[Shown] = Shown) -> Iterator[Callable[..., Any]]:
    """Shows widgets in a page, as what `shown_as` makes of them. Whatever goes wrong in it fails the test."""
    wrong: list[str] = []

    def open_page(widget: Picture, **more: Any) -> Shown:
        stage.shown = shown = shown_as(stage.page, widget)
        stage.page.set_content(shown.html(**more))
        stage.page.locator("[role=region]").first.wait_for()
        return shown

    with listening(
        stage.page,
        pageerror=lambda error: wrong.append(str(error)),
        console=lambda message: wrong.append(message.text),
    ):
        yield open_page
    assert wrong == []
