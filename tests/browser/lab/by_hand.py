"""One use of a page written once and done twice: by mouse and by keyboard. A ledger in the page says of every
control that was there whether it was used: nobody keeps a list of them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Final, Literal

from playwright.sync_api import Locator, Page, expect

By = Literal["mouse", "keyboard"]

#: What listens, before anything else is in the page.
LEDGER: Final = """(() => {
  const CONTROL = "a[href], button, input, select, textarea, summary, [role=option], [role=tab], "
    + "[role^=menuitem], [role=slider], [contenteditable=true]";
  // What a widget listens to for clicks is a control too, whatever it is made of.
  const clicked = new WeakSet();
  const listen = EventTarget.prototype.addEventListener;
  EventTarget.prototype.addEventListener = function (type, ...rest) {
    if (/^(click|dblclick|mousedown|pointerdown)$/.test(type) && this instanceof Element) clicked.add(this);
    return listen.call(this, type, ...rest);
  };
  let now = null;

  // A list, or what holds other controls, listens for what is in it.
  const holds = (one) => one.matches("[role=listbox], [role=region], :has(button)");
  const isControl = (one) => one.matches(CONTROL) || (clicked.has(one) && !holds(one));
  const controlOf = (target) => {
    const label = target.closest?.("label");
    if (label && label.control) return label.control;
    let one = target;
    while (one instanceof Element && !isControl(one) && one.tabIndex < 0) one = one.parentElement;
    return one instanceof Element && now.root.contains(one) ? one : null;
  };
  const textOf = (one) => [
    one.getAttribute("aria-label"),
    one.labels?.[0]?.textContent,
    one.textContent,
    one.title,
  ].find((text) => text?.trim()) || "";
  const roleOf = (one) => one.getAttribute("role") || (one.matches("input") ? one.type : one.localName);
  const nameOf = (one) => {
    const alike = Object.entries(now.alike).find(([selector]) => one.matches(selector));
    if (alike) return alike[1];
    // A box is there to be scrolled.
    if (!isControl(one)) return "box";
    if (one.matches("a[href]")) return "link";
    const role = roleOf(one);
    if (role === "option") return "option";
    return `${role} ${textOf(one).trim().replace(/\\s+/g, " ").replace(/[\\d,.]+/g, "#").slice(0, 60)}`;
  };
  const within = (one, selector) => Boolean(selector && one.closest(selector));
  const belongs = (one) => (!now.inside || within(one, now.inside)) && !within(one, now.outside);
  const seen = (one) => one.checkVisibility({ visibilityProperty: true });
  const focusable = (root) => [...root.querySelectorAll("*")].filter(
    (one) => one.tabIndex >= 0 && !one.matches(":disabled, [role=region], [inert] *, [inert]") && seen(one));
  const look = () => {
    for (const one of now.root.querySelectorAll("*")) {
      const box = one.tabIndex >= 0 && one.getAttribute("role") !== "region";
      if ((isControl(one) || box) && belongs(one) && seen(one)) now.seen.add(nameOf(one));
    }
  };
  const note = (used, target) => {
    const one = now && controlOf(target);
    if (one) used.add(nameOf(one));
  };
  const before = (event) => {
    if (!now) return;
    look();
    const { type, target } = event;
    if (type === "click" && event.isTrusted && event.pointerType === "mouse") note(now.mouse, target);
    // The list of a select opens outside of the page: a choice from it is all that comes.
    if (type === "change" && target.matches("select") && !event.isTrusted) note(now.mouse, target);
    const typed = type === "keydown" && !/^(Tab|Shift|Control|Alt|Meta)$/.test(event.key);
    if (typed && event.isTrusted) note(now.keyboard, target);
  };
  for (const type of ["click", "change", "keydown"]) listen.call(window, type, before, true);

  window.ledger = {
    begin(root, inside, outside, alike) {
      const none = { seen: new Set(), mouse: new Set(), keyboard: new Set() };
      now = { root, inside, outside, alike, ...none };
    },
    // What JupyterLab makes no difference between: all that have the same role, and the mark for it or not.
    places(root) {
      const mark = (one) => one.hasAttribute("data-lm-suppress-shortcuts") ? "marked" : "not marked";
      const place = (one) => `${roleOf(one)} ${mark(one)}`;
      const found = () => new Map(focusable(root).map((one) => [place(one), one]));
      let now = found();
      let last = null;
      // A form that is sent may take away the other places: here it is a matter of where a key goes.
      listen.call(root, "submit", (event) => {
        event.preventDefault();
        event.stopPropagation();
      }, true);
      Object.assign(window.ledger, {
        focusAt(name) {
          if (!now.get(name)?.isConnected || !seen(now.get(name))) now = found();
          last = now.get(name);
          last?.focus();
          return Boolean(last) && document.activeElement === last;
        },
        focusLast() {
          last = focusable(root).at(-1);
          last.focus();
        },
        hasMovedOn: () => document.activeElement !== last,
        inside() {
          const one = document.activeElement;
          return root.contains(one) ? one.outerHTML.slice(0, 160) : "";
        },
      });
      return [...now.keys()];
    },
    // The controls that a mouse would not come to: something else is there.
    covered(root) {
      const free = (one) => {
        one.scrollIntoView({ block: "center", inline: "nearest", behavior: "instant" });
        const { x, y, width, height } = one.getClientRects()[0];
        const top = document.elementFromPoint(x + width / 2, y + height / 2);
        const label = [...(one.labels || [])].some((each) => each.contains(top));
        return top && (one.contains(top) || label);
      };
      const there = (one) => one.getClientRects().length && seen(one) && !one.closest("[inert]");
      const covered = [...root.querySelectorAll(CONTROL)].filter((one) => there(one) && !free(one));
      return covered.map((one) => one.outerHTML.slice(0, 160));
    },
    end() {
      look();
      const found = { seen: [...now.seen], mouse: [...now.mouse], keyboard: [...now.keyboard] };
      now = null;
      return found;
    },
  };
})();"""


class Hand:
    """A user who has a mouse alone, or a keyboard alone; text is written with both."""

    def __init__(self, page: Page, by: By) -> None:
        self.page = page
        self.by: By = by

    @property
    def has_mouse(self) -> bool:
        return self.by == "mouse"

    @contextmanager
    def every_control(
        self,
        root: Locator,
        *,
        inside: str = "",
        outside: str = "",
        alike: Mapping[str, str] | None = None,
        not_by_key: tuple[str, ...] = (),
    ) -> Iterator[None]:
        """Fail if a control that is there meanwhile is not used.

        Args:
            root: what the widget is in.
            inside, outside: selectors of the part that it is about.
            alike: names for those that are many of one kind, by selector.
            not_by_key: what is there for the mouse alone, because a key does it elsewhere.
        """
        element = root.element_handle()
        self.page.evaluate(
            "([root, ...more]) => ledger.begin(root, ...more)", [element, inside, outside, alike or {}]
        )
        yield
        found = {name: set(every) for name, every in self.page.evaluate("ledger.end()").items()}
        assert found["seen"], "There was no control."
        # A box scrolls under the mouse by itself.
        free = {"box"} if self.has_mouse else set(not_by_key)
        unused = sorted(found["seen"] - found[self.by] - free)
        assert not unused, f"Not used by {self.by}: {unused}"

    def press(self, target: Locator, key: str = "Enter") -> None:
        if self.has_mouse:
            target.click()
        else:
            target.focus()
            self.page.keyboard.press(key)

    def tick(self, box: Locator) -> None:
        """Turn a box to tick, or choose a radio button."""
        self.press(box, "Space")

    def choose(self, select: Locator, label: str) -> None:
        if self.has_mouse:
            select.select_option(label=label)
            return
        select.focus()
        labels = select.get_by_role("option").all_inner_texts()
        by = labels.index(label) - int(select.evaluate("one => one.selectedIndex"))
        for _ in range(abs(by)):
            self.page.keyboard.press("ArrowDown" if by > 0 else "ArrowUp")

    def write(self, field: Locator, text: str, *keys: str) -> None:
        """Write into a field, in place of what is in it."""
        # Each key takes its time, and the first few are as good as all of them.
        typed = 0 if self.has_mouse else 3
        if self.has_mouse:
            field.click()
        else:
            field.focus()
        self.page.keyboard.press("Control+A")
        self.page.keyboard.type(text[:typed])
        self.page.keyboard.insert_text(text[typed:])
        for key in keys:
            self.page.keyboard.press(key)

    def one_more(self, number: Locator) -> None:
        """One step up with the small arrow of a number, or with its key."""
        if not self.has_mouse:
            self.press(number, "ArrowUp")
            return
        number.hover()
        box = number.bounding_box()
        assert box is not None
        number.click(position={"x": box["width"] - 9, "y": box["height"] / 3})

    def slide(self, slider: Locator, share: float, keys: tuple[str, ...]) -> None:
        """Press the track at a share of its width, or these keys."""
        if self.has_mouse:
            box = slider.bounding_box()
            assert box is not None
            slider.click(position={"x": box["width"] * share, "y": box["height"] / 2})
            return
        slider.focus()
        for key in keys:
            self.page.keyboard.press(key)

    def scroll(self, box: Locator) -> None:
        """Scroll a box: nothing else happens in it."""
        if self.has_mouse:
            box.hover()
            self.page.mouse.wheel(0, 20)
        else:
            self.press(box, "ArrowDown")

    def follow(self, link: Locator) -> None:
        """Open a link to the specification, in a page of its own, and come back."""
        with self.page.context.expect_page() as opened:
            self.press(link)
        expect(opened.value).to_have_url(re.compile("^https://modelcontextprotocol.io/specification/"))
        opened.value.close()
        self.page.bring_to_front()
