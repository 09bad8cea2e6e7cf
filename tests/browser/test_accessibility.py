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
from playwright.sync_api import Browser, BrowserContext, Locator, Page, expect

from mcpsim import Context, Server, widgets
from mcpsim.course import MISBEHAVING, STORIES, basket_shop, bench
from mcpsim.widgets.base import Picture
from mcpsim.widgets.standalone import standalone_html
from tests.browser.in_page import Shown
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

#: Everything that a user can go to with the Tab key: what is not, is gone to with the arrows from there.
STOPS: Final = """() => [...document.querySelectorAll(
    "a[href], button, input, select, textarea, summary, [tabindex], [contenteditable]")]
  .filter(one => one.tabIndex >= 0 && !one.disabled && one.checkVisibility({ visibilityProperty: true }))"""

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


def theme_style(theme: str) -> str:
    """The colours of JupyterLab in one of its themes."""
    folder = Path(sys.prefix) / "share" / "jupyter" / "lab" / "themes" / "@jupyterlab"
    return (folder / f"theme-{theme}-extension" / "index.css").read_text(encoding="utf-8")


@pytest.fixture
def contexts(browser: Browser) -> Iterator[Callable[..., BrowserContext]]:
    opened: list[BrowserContext] = []

    def open_context(**options: Any) -> BrowserContext:
        context = browser.new_context(**({"reduced_motion": "reduce"} | options))
        context.set_default_timeout(5_000)
        opened.append(context)
        return context

    yield open_context
    for context in opened:
        context.close()


def show(context: BrowserContext, widget: Picture, *, body: str = "", style: str = "") -> Page:
    """The widget between two buttons, in a page whose body has these attributes."""
    page = context.new_page()
    shown = Shown(page, widget)
    page.expose_function("kernel", shown.kernel)
    text = shown.html()
    if body:
        text = text.replace('<body data-jp-theme-light="true"', f"<body {body}")
    text = text.replace("background: #fff;", f"background: var(--jp-layout-color1, Canvas); }} {style} x {{")
    text = text.replace('<div id="here">', '<button>before</button><div id="here">')
    text = text.replace("</div></main>", "</div><button>after</button></main>")
    page.set_content(text)
    page.locator("[role=region]").first.wait_for()
    return page


def found(page: Page, axe: str, **options: Any) -> list[str]:
    """What axe-core finds in the widget."""
    if not page.evaluate("'axe' in window"):
        page.evaluate(axe)
    result = page.evaluate(
        """options => axe.run({ include: [["#here"]] }, { resultTypes: ["violations"], ...options })""",
        options,
    )
    return [
        f"{violation['id']}: {node['html'][:200]} {node['failureSummary']}"
        for violation in result["violations"]
        for node in violation["nodes"]
    ]


#: The rules of axe-core for what a theme and a size change. All others are about the same elements in both.
LOOKS: Final = {
    "runOnly": {"type": "rule", "values": ["color-contrast", "link-in-text-block", "target-size"]}
}


def settle(page: Page) -> None:
    """Wait until what the last act changed is laid out, and what watches sizes has seen it."""
    page.evaluate("new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))")


def moving(page: Page) -> int:
    """How many animations and transitions run."""
    running = "document.getAnimations().filter(one => one.playState === 'running').length"
    return int(page.evaluate(running))


def name_of(walk: str) -> str:
    return re.split(r"[: ]", walk)[0]


def test_every_widget_is_here() -> None:
    every = {
        name
        for name in widgets.__all__
        if isinstance(thing := getattr(widgets, name), type) and issubclass(thing, Picture)
    }
    assert {name_of(walk) for walk in WALKS} == every


#: How it is looked at: at its full width and in 900 pixels, and at 200 % of a screen of 1400 pixels.
SIZES: Final[dict[str, list[dict[str, Any]]]] = {
    "light": [{"width": 1200, "height": 900}, {"width": 900, "height": 900}],
    "dark": [{"width": 700, "height": 600, "deviceScaleFactor": 2}],
}


@pytest.mark.parametrize("walk", WALKS)
def test_axe_finds_nothing_and_nothing_breaks(
    contexts: Callable[..., BrowserContext], axe: str, walk: str
) -> None:
    make, states = WALKS[walk]
    context = contexts(viewport={"width": 1200, "height": 900})
    page = show(context, make(), body='data-jp-theme-light="true"')
    for theme in THEMES:
        page.add_style_tag(content=theme_style(theme)).evaluate(
            "(one, theme) => { one.dataset.theme = theme; }", theme
        )
    session = context.new_cdp_session(page)
    wrong: list[str] = []

    def look(theme: str, size: dict[str, Any]) -> None:
        page.evaluate(
            """theme => {
              document.body.dataset.jpThemeLight = String(theme === "light");
              for (const one of document.querySelectorAll("style[data-theme]")) {
                one.disabled = one.dataset.theme !== theme;
              }
            }""",
            theme,
        )
        # Also where the page fills the screen, and its window cannot be resized.
        session.send("Emulation.setDeviceMetricsOverride", {"deviceScaleFactor": 1, "mobile": False, **size})
        settle(page)

    for state, act in states:
        look("light", SIZES["light"][0])
        act(page)
        settle(page)
        assert moving(page) == 0
        for theme, sizes in SIZES.items():
            for place, size in enumerate(sizes):
                if place or theme != "light":
                    look(theme, size)
                if not place:
                    asked = {} if theme == "light" else LOOKS
                    wrong += [f"{state}, {theme}: {each}" for each in found(page, axe, **asked)]
                broken = page.evaluate(BROKEN)
                wrong += [f"{state}, {theme}, {size['width']} pixels: {each}" for each in broken]
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
def test_every_text_stands_out_in_every_place(
    contexts: Callable[..., BrowserContext], axe: str, walk: str
) -> None:
    make, states = WALKS[walk]
    page = show(contexts(viewport={"width": 1200, "height": 900}), make(), body="class=plain")
    states[0][1](page)
    own = page.add_style_tag(content="/* of the place */")
    only = {"runOnly": {"type": "rule", "values": ["color-contrast"]}}
    for place, (classes, scheme, style) in PLACES.items():
        page.emulate_media(color_scheme=scheme)
        page.evaluate("classes => { document.body.className = classes; }", classes)
        own.evaluate("(one, style) => { one.textContent = style; }", style)
        settle(page)
        assert found(page, axe, **only) == [], place
        # The widget goes with the place around it.
        ground = page.locator(".mcpsim-ui").first.evaluate("one => getComputedStyle(one).backgroundColor")
        red = int(re.findall(r"\d+", ground)[0])
        assert (red < 80) if "dark" in place else (red > 200), (place, ground)


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


#: What can be pressed, and is neither on the way of the Tab key nor an entry that the arrows go to.
ALONE: Final = """() => [...document.querySelectorAll("#here :is(button, input, select, textarea)")]
  .filter(one => one.tabIndex < 0 && one.checkVisibility({ visibilityProperty: true }))
  .filter(one => !one.closest("[role=tablist], [role=menu], [role=listbox], [role=toolbar]"))
  .map(one => one.outerHTML.slice(0, 200))"""


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


@pytest.mark.parametrize("walk", WALKS)
def test_the_tab_key_goes_through_all_and_comes_out(
    contexts: Callable[..., BrowserContext], walk: str
) -> None:
    """And the focus can always be seen. What the Tab key skips is an entry of something that it goes to."""
    make, states = WALKS[walk]
    page = show(contexts(viewport={"width": 1000, "height": 900}), make(), body='data-jp-theme-light="true"')
    page.evaluate(WATCHED)
    for place, (state, act) in enumerate(states):
        act(page)
        settle(page)
        alone = page.evaluate(ALONE)
        assert alone == [], state
        # Going through all takes its time: at every third state, and at the end.
        if place % 3 and place < len(states) - 1:
            continue
        if state in ("the menu", "on a projector", "a message on a projector"):
            # A menu closes when it is left; a projector hides the page, and the buttons around the widget.
            continue
        reachable = page.evaluate(f"""() => {{
          const stops = ({STOPS})().filter(one => one.closest("#here"));
          stops.forEach((one, i) => {{ one.dataset.stop = i; }});
          // Of a group of radio buttons one stands for all.
          const name = one => one.type === "radio" ? `radio ${{one.name}}` : one.dataset.stop;
          return stops.map(one => [one.dataset.stop, name(one), one.outerHTML.slice(0, 200)]);
        }}""")
        names = {stop: name for stop, name, _ in reachable}
        places = {name: text for _, name, text in reachable}
        there = tab_through(page, "before", "Tab", "after")
        for stop in there:
            assert stop["seen"], f"{state}: the focus is not seen at {stop['html']}"
            assert stop["inside"], f"{state}: out of view: {stop['html']}"
        gone_to = {names.get(stop["mark"]) for stop in there}
        missing = set(names.values()) - gone_to
        assert missing == set(), (state, [places[name] for name in missing])
        back = tab_through(page, "after", "Shift+Tab", "before")
        assert {names.get(stop["mark"]) for stop in back} == gone_to, state
        page.evaluate("document.querySelectorAll('[data-stop]').forEach(one => { delete one.dataset.stop; })")


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
    contexts: Callable[..., BrowserContext], walk: str, place: str, acts: list[Callable[[Page], None]]
) -> None:
    """A live region that is there before, and stays the same element: only its text changes."""
    page = show(contexts(viewport={"width": 1200, "height": 900}), WALKS[walk][0](), body="class=plain")
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


def test_without_a_wish_for_calm_there_is_motion(contexts: Callable[..., BrowserContext]) -> None:
    """So that the tests above, which find none, would find it."""
    page = show(contexts(reduced_motion="no-preference"), WALKS["Player: rounds"][0](), body="class=plain")
    in_player("ArrowRight")(page)
    assert moving(page) > 0


def test_the_page_without_a_kernel_has_no_faults(contexts: Callable[..., BrowserContext], axe: str) -> None:
    page = contexts(viewport={"width": 1200, "height": 900}).new_page()
    page.set_content(standalone_html(STORIES["two-rounds"].play().recording))
    page.locator(".mcpsim-player").wait_for()
    page.evaluate(axe)
    assert page.evaluate("axe.run('main').then(found => found.violations.map(one => one.id))") == []
