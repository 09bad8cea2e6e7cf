"""Every widget, for everybody: axe-core, the keyboard alone, what is announced, motion, zoom, narrow columns.

A widget is taken through what it can show, in both themes of JupyterLab, in VS Code's and in none.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final

import anyio
import pytest
from playwright.sync_api import Browser, Locator, Page, expect

from mcpsim import Context, Server, widgets
from mcpsim.course import MISBEHAVING, STORIES, basket_shop, bench
from mcpsim.widgets.base import Picture
from mcpsim.widgets.standalone import standalone_html
from tests.browser.in_page import SETTLED, Shown, Stage, settle
from tests.live.npm import installed

AXE: Final = "4.14.1"
THEMES: Final = ("light", "dark")

State = tuple[str, Callable[[Page], None]]


def press(*keys: str) -> Callable[[Page], None]:
    def act(page: Page) -> None:
        for key in keys:
            page.keyboard.press(key)

    return act


def click(name: str | re.Pattern[str], *, times: int = 1, role: Any = "button") -> Callable[[Page], None]:
    def act(page: Page) -> None:
        for _ in range(times):
            page.get_by_role(role, name=name, exact=isinstance(name, str)).first.click()

    return act


def in_player(*keys: str) -> Callable[[Page], None]:
    """Keys for the player, wherever the focus was."""

    def act(page: Page) -> None:
        page.locator(".mcpsim-player").first.focus()
        press(*keys)(page)

    return act


def then(*acts: Callable[[Page], None]) -> Callable[[Page], None]:
    def act(page: Page) -> None:
        for each in acts:
            each(page)

    return act


def nothing(page: Page) -> None:
    """As it is at first."""


def choose(name: str) -> Callable[[Page], None]:
    """An entry of the player's menu."""

    def act(page: Page) -> None:
        page.get_by_role("button", name="More", exact=True).click()
        page.locator("[role=menu] [role^=menuitem]").filter(has_text=name).first.click()

    return act


def fill(role: Any, name: str, value: str, *keys: str) -> Callable[[Page], None]:
    def act(page: Page) -> None:
        field = page.get_by_role(role, name=name).first
        field.fill(value)
        for key in keys:
            field.press(key)

    return act


def select(name: str, value: str) -> Callable[[Page], None]:
    return lambda page: page.get_by_role("combobox", name=name).first.select_option(value) and None


def wait(text: str | re.Pattern[str]) -> Callable[[Page], None]:
    return lambda page: expect(page.get_by_text(text).first).to_be_visible()


FORM: Final = {
    "type": "object",
    "properties": {
        "name": {"type": "string", "title": "Your name", "minLength": 3, "description": "As on the ticket."},
        "mail": {"type": "string", "format": "email"},
        "day": {"type": "string", "format": "date"},
        "bags": {"type": "integer", "minimum": 0, "maximum": 3, "default": 1},
        "agree": {"type": "boolean"},
        "colour": {"type": "string", "enum": ["red", "green"]},
        "meals": {"type": "array", "items": {"type": "string", "enum": ["lunch", "dinner"]}, "maxItems": 1},
    },
    "required": ["name", "agree"],
}


def player(story: str) -> Callable[[], Picture]:
    return lambda: widgets.Player(STORIES[story].play())


def misbehaving() -> Picture:
    return widgets.Player(MISBEHAVING["server-forgets-jsonrpc"].play())


def reports() -> Server:
    server = Server("reports")

    @server.tool()
    async def export(context: Context) -> str:
        """Build a report."""
        for part in range(1, 4):
            await anyio.sleep(0.1)
            await context.report_progress(part, 3, f"Part {part}")
        return "report.pdf"

    return server


MENU: Final = ("the menu", click("More"))
STEPPING: Final = [
    ("at the first step", nothing),
    ("in the middle", in_player("ArrowRight", "ArrowRight", "ArrowRight")),
    ("raw bytes", in_player("Alt+2")),
    ("memory", in_player("Alt+3")),
    ("what is beside the memory", in_player("Alt+4")),
    ("at the end", in_player("End")),
    ("before the first step", in_player("Home")),
]
SWITCHES: Final = [
    ("hiding what comes", in_player("ArrowRight", "h")),
    ("help", in_player("h", "?")),
    ("a table", in_player("Escape", "t")),
    ("a table that hides", in_player("h")),
    ("find", then(in_player("h", "t", "/"), fill("searchbox", "Find method, id or text", "tools"))),
    ("filtered", then(click(re.compile("request$"), role="checkbox"))),
    ("nothing found", fill("searchbox", "Find method, id or text", "no such text")),
    ("folded", then(press("Escape"), in_player("Shift+C"))),
    ("the menu", then(in_player("Shift+C"), click("More"))),
    ("to scale", then(press("Escape"), choose("Time to scale"))),
    ("a link text", choose("Copy link text")),
    ("predict", in_player("s", "Home", "q")),
    ("a prediction", press("1")),
    ("another prediction", then(press("2"))),
    ("on a projector", then(in_player("q", "p"), wait("Leave"))),
    ("a message on a projector", press("j")),
]

#: What is shown, and what it is taken through, one after the other.
WALKS: Final[dict[str, tuple[Callable[[], Picture], list[State]]]] = {
    "Player: rounds": (player("two-rounds"), [*STEPPING, *SWITCHES]),
    "Player: pages on HTTP": (player("argument-in-a-header"), STEPPING[1:3]),
    "Player: subscriptions": (player("two-subscriptions"), [*STEPPING[:2], ("folded", in_player("Shift+C"))]),
    "Player: a handshake": (player("ping-both-ways"), STEPPING[3:6]),
    "Player: findings": (
        misbehaving,
        [("at first", nothing), ("a finding", in_player("f")), ("a table", in_player("t"))],
    ),
    "Player: branch": (
        player("first-call"),
        [
            ("what can be changed", then(in_player("ArrowRight", "b"), wait("What shall happen"))),
            ("what cannot", lambda page: page.locator("summary").first.click()),
            ("another choice", lambda page: page.get_by_role("radio").nth(1).check()),
            ("side by side", then(click("Play again with this change"), wait(re.compile("^Back to")))),
        ],
    ),
    "Bench": (
        lambda: widgets.Bench.of(bench("fresh-then-stale")),
        [
            ("at first", nothing),
            ("a run more", then(fill("spinbutton", "Latency", "100", "Enter"), wait("Latency: 20 ms"))),
            ("a fault", then(select("What goes wrong", "cut"), wait("The story ended with an error"))),
            ("a wrong link text", then(fill("textbox", "Link text to open", "nonsense"), click("Open"))),
        ],
    ),
    "MessageLab": (
        widgets.MessageLab,
        [
            ("at first", nothing),
            ("a template", click("tools/list")),
            ("sent", then(click("Send"), wait(re.compile("answered with a result")))),
            ("broken", then(fill("textbox", "Message", "{"), click("Send"))),
        ],
    ),
    "MessageLab on HTTP": (
        lambda: widgets.MessageLab(basket_shop, transport="http"),
        [("at first", nothing), ("sent", then(click("tools/list"), click("Send")))],
    ),
    "MessageLab: a session": (
        lambda: widgets.MessageLab(era="legacy"),
        [("at first", nothing), ("asked", then(click("initialize"), click("Send")))],
    ),
    "ElicitationForm": (
        lambda: widgets.ElicitationForm(FORM, server="travel-desk"),
        [
            ("at first", nothing),
            ("with faults", click("Accept")),
            (
                "answered",
                then(fill("textbox", "Your name", "Ann Lee"), select("agree", "yes (true)"), click("Accept")),
            ),
        ],
    ),
    "PaginationExplorer": (
        widgets.PaginationExplorer,
        [("at first", nothing), ("a page", click("First page")), ("two pages", click("Next page"))],
    ),
    "CacheTimeline": (
        widgets.CacheTimeline,
        [("at first", nothing), ("a moment", click("Next", times=3))],
    ),
    "ProgressBars": (
        lambda: widgets.ProgressBars(reports, ["export"]),
        [("at first", nothing), ("some steps", click("Step", times=4))],
    ),
    "EraMatrix": (
        widgets.EraMatrix,
        [
            ("at first", nothing),
            ("a pair that fails", lambda page: page.get_by_text("✗ fails").first.click()),
        ],
    ),
    "ErrorMap": (
        widgets.ErrorMap,
        [
            ("at first", nothing),
            ("an error", click("-32022 UnsupportedProtocolVersion")),
            ("of one era", lambda page: page.get_by_label("Era").first.select_option("legacy") and None),
        ],
    ),
    "Layers": (
        widgets.Layers,
        [
            ("at first", nothing),
            ("in the other era", lambda page: page.get_by_label("Era").select_option("legacy") and None),
        ],
    ),
    "Comparison": (
        lambda: widgets.Comparison(
            bench("first-call").play(era="legacy"), bench("first-call").play(era="modern")
        ),
        [
            ("at first", nothing),
            ("a row", lambda page: page.locator("[role=region]").first.press("ArrowDown")),
        ],
    ),
}

#: What is under the page's edge, cut, or under something else.
BROKEN: Final = """() => {
  const broken = [];
  const say = (what, one) => broken.push(`${what}: ${one.outerHTML.slice(0, 160)}`);
  const page = document.documentElement;
  if (page.scrollWidth > page.clientWidth) broken.push(`The page is ${page.scrollWidth} wide.`);
  const here = document.querySelector("#here");
  const controls = here.querySelectorAll("button, input, select, textarea, summary, a[href]");
  for (const one of controls) {
    if (!one.checkVisibility({ visibilityProperty: true, opacityProperty: true })) continue;
    if (one.matches("button") && one.scrollWidth > one.clientWidth + 1) say("Its text is cut", one);
    one.scrollIntoView({ block: "center", inline: "nearest", behavior: "instant" });
    const box = one.getClientRects()[0];
    if (!box || box.width < 2 || box.height < 2) { say("It has no size", one); continue; }
    const [x, y] = [box.x + box.width / 2, box.y + box.height / 2];
    const top = document.elementFromPoint(x, y);
    const label = one.labels && [...one.labels].some(label => label.contains(top));
    // An open menu is over what is behind it, and closes by itself.
    if (top && top.closest("[role=menu]")) continue;
    if (!top || !(one.contains(top) || top.contains(one) || label)) say("Something is over it", one);
  }
  scrollTo(0, 0);
  return broken;
}"""


@pytest.fixture(scope="session")
def axe(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> str:
    """The text of axe-core."""
    kept: Any = getattr(request.config, "cache", None)
    cache = kept.mkdir("mcpsim-npm") if kept is not None else tmp_path_factory.mktemp("mcpsim-npm")
    return (installed(cache, "axe-core", AXE) / "axe.min.js").read_text(encoding="utf-8")


def load(page: Page, axe: str) -> None:
    """Have axe-core in the page, as it is when it is new: a walk sets which elements it looks at."""
    if not page.evaluate("'axe' in window"):
        page.evaluate(axe)
    page.evaluate("axe.reset()")


def theme_style(theme: str) -> str:
    """The colours of JupyterLab in one of its themes."""
    folder = Path(sys.prefix) / "share" / "jupyter" / "lab" / "themes" / "@jupyterlab"
    return (folder / f"theme-{theme}-extension" / "index.css").read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def warm(browser: Browser) -> Iterator[Stage]:
    """One page for all: what its browser has compiled, the views and axe-core, it need not compile again."""
    stage = Stage(browser)
    stage.page.set_default_timeout(5_000)
    yield stage
    stage.close()


@pytest.fixture
def stage(warm: Stage) -> Iterator[Stage]:
    yield warm
    warm.page.evaluate("window.leave && window.leave()")
    warm.shown = None
    warm.page.emulate_media(color_scheme="light", reduced_motion="reduce")
    warm.page.set_viewport_size(warm.SIZE)
    warm.page.mouse.move(0, 0)


def show(stage: Stage, widget: Picture, *, width: int = 1200, body: str = "class=plain") -> Page:
    """The widget between two buttons, in a page that is so wide and whose body has these attributes."""
    page = stage.page
    page.set_viewport_size({"width": width, "height": 900})
    stage.shown = shown = Shown(page, widget)
    text = shown.html()
    text = text.replace('<body data-jp-theme-light="true"', f"<body {body}")
    text = text.replace("background: #fff;", "background: var(--jp-layout-color1, Canvas);")
    text = text.replace('<div id="here">', '<button>before</button><div id="here">')
    text = text.replace("</div></main>", "</div><button>after</button></main>")
    page.set_content(text)
    page.locator("[role=region]").first.wait_for()
    page.evaluate("window.judged = {}")
    return page


#: Runs axe-core on the widget: the first time on all of it, then on what was not judged before as it is now.
#: That is an element with other attributes (whatever they count), other kinds of children, other colours or
#: another size, and all in it; and a target that is so small that it matters what is beside it. The contrast
#: takes most of the time: what in an element that is new was judged before need not be measured again.
JUDGE: Final = """async ([memory, whole, options]) => {
  const known = ((window.judged ??= {})[memory] ??= new Map());
  const here = document.querySelector("#here");
  const targets = "a, button, input, select, textarea, summary, [role=option], [role=tab], [tabindex]";
  const looks = ["color", "background-color", "font-size", "font-weight", "opacity", "visibility"];
  const drawn = new Set(["style", "d", "transform", "x", "y", "x1", "x2", "y1", "y2", "width", "height"]);
  const named = /^(id|for|href|aria-(\\w+by|controls|owns|activedescendant|details|errormessage))$/;
  const boxes = [...here.querySelectorAll(targets)].map(one => one.getBoundingClientRect());
  const beside = box => boxes
    .map(other => [other.x - box.x, other.y - box.y, other.width, other.height].map(Math.round))
    .filter(([x, y, width, height]) => width && x < 48 && y < 48 && x + width > -24 && y + height > -24);
  const roots = [], fresh = [];
  const look = (one, above, within) => {
    const style = getComputedStyle(one);
    if (style.display === "none") return;
    const box = one.getBoundingClientRect();
    const own = [above, one.localName];
    for (const { name, value } of one.attributes) {
      if (!drawn.has(name)) own.push(`${name}=${named.test(name) ? value : value.replace(/\\d+/g, "0")}`);
    }
    const texts = [...one.childNodes].filter(child => child.nodeType === Node.TEXT_NODE);
    own.push(Math.min(2, texts.map(text => text.data.trim()).join("").length));
    own.push([...new Set([...one.children].map(child => `${child.localName} ${child.role}`))].sort());
    own.push(looks.map(name => style.getPropertyValue(name)));
    own.push(Math.min(24, Math.floor(box.width)), Math.min(24, Math.floor(box.height)));
    if (Math.min(box.width, box.height) < 24 && one.matches(targets)) own.push(beside(box));
    const key = own.join("\\n");
    const asked = !known.has(key);
    if (asked) {
      known.set(key, known.size);
      fresh.push(one);
      if (!within) roots.push(one);
    }
    for (const child of one.children) look(child, known.get(key), within || asked);
  };
  const first = !known.size;
  look(here, -1, false);
  if (!whole && !roots.length) return [];
  fresh.forEach(one => one.setAttribute("data-fresh", ""));
  axe.configure({ rules: [{ id: "color-contrast", selector: first ? "*" : "[data-fresh]" }] });
  const include = whole ? [here] : roots;
  const { violations } = await axe.run({ include }, { resultTypes: ["violations"], ...options });
  fresh.forEach(one => one.removeAttribute("data-fresh"));
  return violations.flatMap(({ id, nodes }) =>
    nodes.map(({ html, failureSummary }) => `${id}: ${html.slice(0, 200)} ${failureSummary}`));
}"""


#: The rules of axe-core for what a theme and a size change. All others are about the same elements in both.
LOOKS: Final = {
    "runOnly": {"type": "rule", "values": ["color-contrast", "link-in-text-block", "target-size"]}
}


#: How it is looked at: at its full width and in 900 pixels, and at 200 % of a screen of 1400 pixels. And what
#: axe-core is asked.
VIEWS: Final[list[tuple[str, dict[str, int], dict[str, Any] | None]]] = [
    ("light", {"width": 1200, "height": 900, "deviceScaleFactor": 1}, {}),
    ("light", {"width": 900, "height": 900, "deviceScaleFactor": 1}, None),
    ("dark", {"width": 700, "height": 600, "deviceScaleFactor": 2}, LOOKS),
]

#: What can be pressed, and is neither on the way of the Tab key nor an entry that the arrows go to.
ALONE: Final = """() => [...document.querySelectorAll("#here :is(button, input, select, textarea)")]
  .filter(one => one.tabIndex < 0 && one.checkVisibility({ visibilityProperty: true }))
  .filter(one => !one.closest("[role=tablist], [role=menu], [role=listbox], [role=toolbar]"))
  .map(one => `No key goes to it: ${one.outerHTML.slice(0, 200)}`)"""

#: How many animations and transitions run.
MOVING: Final = "document.getAnimations().filter(one => one.playState === 'running').length"

THEMED: Final = f"""theme => {{
  document.body.dataset.jpThemeLight = String(theme === "light");
  for (const one of document.querySelectorAll("style[data-theme]")) {{
    one.disabled = one.dataset.theme !== theme;
  }}
  return {SETTLED};
}}"""

#: What is wrong in a theme: what axe-core finds, where it is asked, what is broken, what moves, and what no
#: key goes to.
WRONG: Final = f"""async ([theme, whole, options]) => {{
  await ({THEMED})(theme);
  const moving = {MOVING} ? ["Something moves."] : [];
  const found = options ? await ({JUDGE})([theme, whole, options]) : [];
  return [...moving, ...found, ...({BROKEN})(), ...({ALONE})()];
}}"""


def name_of(walk: str) -> str:
    return re.split(r"[: ]", walk)[0]


def test_every_widget_is_here() -> None:
    every = {
        name
        for name in widgets.__all__
        if isinstance(thing := getattr(widgets, name), type) and issubclass(thing, Picture)
    }
    assert {name_of(walk) for walk in WALKS} == every


#: Note what gets the focus, one after the other: whether it is seen, and where it is.
WATCHED: Final = """() => {
  window.stops = [];
  document.addEventListener("focusin", ({ target: one }) => {
    const style = getComputedStyle(one);
    const box = one.getBoundingClientRect();
    window.stops.push({
      mark: one.dataset.stop ?? one.textContent,
      seen: style.outlineStyle !== "none" && parseFloat(style.outlineWidth) >= 1,
      inside: box.bottom > 0 && box.top < innerHeight && box.right > 0 && box.left < innerWidth,
      html: one.outerHTML.slice(0, 200),
    });
  });
}"""

#: Mark everything that a user can go to with the Tab key: what is not, is gone to with the arrows from there.
#: Returns the mark, the name, the kind and the text of each.
STOPS: Final = """() => {
  window.focused = document.activeElement;
  const all = "a[href], button, input, select, textarea, summary, [tabindex], [contenteditable]";
  // Of a group of radio buttons one stands for all.
  const name = one => one.type === "radio" ? `radio ${one.name}` : one.dataset.stop;
  return [...document.querySelectorAll(`#here :is(${all})`)]
    .filter(one => one.tabIndex >= 0 && !one.disabled && one.checkVisibility({ visibilityProperty: true }))
    .map((one, place) => {
      one.dataset.stop = place;
      const kind = `${one.localName} ${one.className} ${one.role} ${one.type}`;
      return [one.dataset.stop, name(one), kind, one.outerHTML.slice(0, 200)];
    });
}"""

UNMARKED: Final = """() => {
  document.querySelectorAll("[data-stop]").forEach(one => { delete one.dataset.stop; });
  window.focused.focus();
}"""


def tab_through(page: Page, begin: str, key: str, end: str) -> list[dict[str, Any]]:
    """What has the focus, one after the other, from the button before or behind the widget to the other."""
    page.get_by_role("button", name=begin, exact=True).focus()
    page.evaluate("window.stops = []")
    stops: list[dict[str, Any]] = []
    for _ in range(20):
        for _ in range(10):
            page.keyboard.press(key)
        stops = page.evaluate("window.stops")
        marks = [stop["mark"] for stop in stops]
        if end in marks:
            return stops[: marks.index(end)]
    raise AssertionError(f"The focus never comes out: {[stop['html'] for stop in stops[-5:]]}")


def reached(page: Page, before: set[tuple[str, ...]], *, anyway: bool) -> list[str]:
    """What is wrong where the Tab key goes through all: nothing is, and the focus can always be seen.

    Args:
        before: the ways that were gone before, each as the kinds of its stops, in order. None is gone again;
            and none is gone back whose every kind of stop is in one of them.
        anyway: go it again nevertheless, since what is around the stops may look otherwise.
    """
    stops = page.evaluate(STOPS)
    names = {stop: name for stop, name, _, _ in stops}
    texts = {name: text for _, name, _, text in stops}
    kinds = tuple(kind for _, _, kind, _ in stops)
    wrong: list[str] = []
    if anyway or kinds not in before:
        there = tab_through(page, "before", "Tab", "after")
        wrong += [f"The focus is not seen: {stop['html']}" for stop in there if not stop["seen"]]
        wrong += [f"Out of view: {stop['html']}" for stop in there if not stop["inside"]]
        gone_to = {names.get(stop["mark"]) for stop in there}
        wrong += [f"The Tab key skips it: {texts[name]}" for name in set(texts) - gone_to]
        if not set(kinds) <= {kind for way in before for kind in way}:
            back = {names.get(stop["mark"]) for stop in tab_through(page, "after", "Shift+Tab", "before")}
            wrong += [f"Only on one way: {texts.get(name, name)}" for name in back ^ gone_to]
        before.add(kinds)
    page.evaluate(UNMARKED)
    return wrong


@pytest.mark.parametrize("walk", WALKS)
def test_nothing_is_wrong_on_the_way(stage: Stage, axe: str, walk: str) -> None:
    """Axe-core finds nothing, nothing breaks, and the Tab key goes through all and comes out.

    In the first state and in the last one all is judged, so that what refers to something else is judged with
    it; in each state between them, what was not judged before as it is now.
    """
    make, states = WALKS[walk]
    page = show(stage, make(), body='data-jp-theme-light="true"')
    load(page, axe)
    for theme in THEMES:
        page.add_style_tag(content=theme_style(theme)).evaluate(
            "(one, theme) => { one.dataset.theme = theme; }", theme
        )
    page.evaluate(WATCHED)
    session = page.context.new_cdp_session(page)
    wrong: list[str] = []
    ways: set[tuple[str, ...]] = set()

    def resize(size: dict[str, int]) -> None:
        # Also where the page fills the screen, and its window cannot be resized.
        session.send("Emulation.setDeviceMetricsOverride", {"mobile": False, **size})

    def begin() -> None:
        resize(VIEWS[0][1])
        page.evaluate(THEMED, VIEWS[0][0])

    begin()
    for number, (state, act) in enumerate(states):
        act(page)
        last = number == len(states) - 1
        for theme, size, asked in VIEWS:
            resize(size)
            for each in page.evaluate(WRONG, [theme, last, asked]):
                wrong.append(f"{state}, {theme}, {size['width']} pixels: {each}")
        begin()
        # Going through all takes its time: at every third state, and at the end. A menu closes when it is
        # left; a projector hides the page, and the buttons around the widget.
        if (number % 3 == 0 or last) and not re.search("the menu|on a projector", state):
            wrong.extend(f"{state}: {each}" for each in reached(page, ways, anyway=last))
    session.detach()
    assert wrong == []


#: Where a widget can stand: the classes of the body, what the system prefers, and what the place styles.
PLACES: Final[dict[str, tuple[str, Any, str]]] = {
    "a light page": ("plain", "light", ""),
    "a dark page": ("plain", "dark", ""),
    "VS Code, light": ("vscode-light", "dark", "body { background: #ffffff; color: #3b3b3b; }"),
    "VS Code, dark": ("vscode-dark", "light", "body { background: #1f1f1f; color: #cccccc; }"),
    "VS Code, dark high contrast": (
        "vscode-high-contrast",
        "light",
        "body { background: #000000; color: #ffffff; }",
    ),
    "VS Code, light high contrast": (
        "vscode-high-contrast vscode-high-contrast-light",
        "dark",
        "body { background: #ffffff; color: #292929; }",
    ),
}


@pytest.mark.parametrize("walk", ["Player: findings", "Bench", "MessageLab", "Comparison", "CacheTimeline"])
def test_every_text_stands_out_in_every_place(stage: Stage, axe: str, walk: str) -> None:
    make, states = WALKS[walk]
    page = show(stage, make())
    load(page, axe)
    states[0][1](page)
    own = page.add_style_tag(content="/* of the place */")
    only = {"runOnly": {"type": "rule", "values": ["color-contrast"]}}
    for place, (classes, scheme, style) in PLACES.items():
        page.emulate_media(color_scheme=scheme)
        page.evaluate("classes => { document.body.className = classes; }", classes)
        own.evaluate("(one, style) => { one.textContent = style; }", style)
        settle(page)
        assert page.evaluate(JUDGE, [place, False, only]) == [], place
        # The widget goes with the place around it.
        ground = page.locator(".mcpsim-ui").first.evaluate("one => getComputedStyle(one).backgroundColor")
        red = int(re.findall(r"\d+", ground)[0])
        assert (red < 80) if "dark" in place else (red > 200), (place, ground)


def live(page: Page, target: Locator) -> dict[str, Any]:
    """What Chromium tells a screen reader of an element."""
    session = page.context.new_cdp_session(page)
    handle = target.element_handle()
    handle.evaluate("one => { window.asked = one; }")
    found = session.send("Runtime.evaluate", {"expression": "window.asked"})
    answer = session.send(
        "Accessibility.getPartialAXTree",
        {"objectId": found["result"]["objectId"], "fetchRelatives": False},
    )
    session.detach()
    return {one["name"]: one["value"].get("value") for one in answer["nodes"][0]["properties"]}


@pytest.mark.parametrize(
    ("walk", "place", "acts"),
    [
        ("Player: rounds", ".mcpsim-narration", [in_player("ArrowRight"), in_player("End")]),
        ("Bench", ".mcpsim-status", [fill("spinbutton", "Latency", "100", "Enter")]),
        ("MessageLab", "[role=status]", [then(click("tools/list"), click("Send"))]),
        ("ElicitationForm", "[role=status]", [click("Decline")]),
        ("PaginationExplorer", "[role=status]", [click("First page"), click("Next page")]),
        ("CacheTimeline", "[role=status]", [click("Next"), click("Next")]),
        ("ProgressBars", "[role=status]", [click("Step", times=3)]),
        ("Comparison", ".mcpsim-pairs-told", [press("ArrowDown")]),
    ],
)
def test_what_happens_is_announced(
    stage: Stage, walk: str, place: str, acts: list[Callable[[Page], None]]
) -> None:
    """A live region that is there before, and stays the same element: only its text changes."""
    page = show(stage, WALKS[walk][0]())
    region = page.locator(place).first
    assert live(page, region)["live"] == "polite"
    assert live(page, region)["atomic"] is True
    region.evaluate("one => { window.told = one; }")
    if walk == "Comparison":
        page.get_by_role("option", selected=True).focus()
    for act in acts:
        before = region.inner_text()
        act(page)
        expect(region).not_to_have_text(before, use_inner_text=True)
        assert page.evaluate("window.told.isConnected")
        assert region.evaluate("one => one === window.told")
        assert region.inner_text().strip()


def test_without_a_wish_for_calm_there_is_motion(stage: Stage) -> None:
    """So that the tests above, which find none, would find it."""
    page = show(stage, WALKS["Player: rounds"][0]())
    page.emulate_media(reduced_motion="no-preference")
    in_player("ArrowRight")(page)
    assert page.evaluate(MOVING) > 0


def test_the_page_without_a_kernel_has_no_faults(stage: Stage, axe: str) -> None:
    page = stage.page
    page.set_content(standalone_html(STORIES["two-rounds"].play().recording))
    page.locator(".mcpsim-player").wait_for()
    load(page, axe)
    assert page.evaluate("axe.run('main').then(found => found.violations.map(one => one.id))") == []
