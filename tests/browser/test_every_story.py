"""Every built-in story, stepped to its end and back: the page shows the same at a step both ways.

One page is loaded for all: the data of its model are changed, as a bench does it. What is compared is what is
written, and not where it stands.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest
from playwright.sync_api import Browser, Page

from mcpsim import Stdio, StreamableHttp
from mcpsim.course import STORIES
from mcpsim.widgets import player_data, scripts

TRANSPORTS: dict[str, Any] = {"stdio": Stdio, "http": StreamableHttp}
# A story in each of its eras, and over each of its transports by turns.
PLAYED = [
    (name, era, story.ways[(number + place) % len(story.ways)])
    for number, (name, story) in enumerate(STORIES.items())
    for place, era in enumerate(story.eras)
]

# All of a picture is in view, so that all of it is drawn.
STYLE = """
.mcpsim-player .mcpsim-body { height: 30000px !important; max-height: none !important; }
/* What is in a pane is read and not looked at: it need not be laid out. */
.mcpsim-player .mcpsim-pane { content-visibility: hidden; }
"""

SCRIPT = """
const values = { data: null, cursor: 0, playing: false, speed: 1 };
const listeners = new Map();
const model = {
    get: name => values[name],
    set(name, value) {
        if (values[name] === value) return;
        values[name] = value;
        for (const each of [...(listeners.get(`change:${name}`) || [])]) each();
    },
    save_changes() {},
    on: (event, each) => listeners.set(event, [...(listeners.get(event) || []), each]),
    off: (event, each) => listeners.set(event, listeners.get(event).filter(one => one !== each)),
};
const one = selector => document.querySelector(`.mcpsim-player ${selector}`);
const all = selector => [...document.querySelectorAll(`.mcpsim-player ${selector}`)];
const press = key =>
    one('').dispatchEvent(new KeyboardEvent('keydown', { key, bubbles: true, cancelable: true }));

// All is in view, and as large as it was at first: nothing is scrolled, and nothing is measured again. That
// would lay all out, at each step and in each pane.
let sizes = new Map();
for (const name of ['clientWidth', 'clientHeight']) {
    const real = Object.getOwnPropertyDescriptor(Element.prototype, name).get;
    Object.defineProperty(Element.prototype, name, { get() {
        if (!sizes.has(this)) sizes.set(this, {});
        return sizes.get(this)[name] ??= real.call(this);
    } });
}
for (const name of ['scrollTop', 'scrollLeft']) {
    Object.defineProperty(Element.prototype, name, { get: () => 0, set() {} });
}
for (const name of ['scrollTo', 'scrollIntoView']) Element.prototype[name] = () => {};
Object.defineProperty(HTMLElement.prototype, 'offsetTop', { get: () => 0 });

// An element as text, whatever the order in which its attributes were set.
const written = node => [
    ...[...node.attributes].map(each => `${each.name}="${each.value}"`).sort(),
    node.innerHTML,
].join(' ');

// What a reader can see, each part by itself.
function seen({ table }) {
    const slider = one('input[type=range]');
    const found = {
        narration: one('.mcpsim-narration').innerHTML,
        slider: `${slider.value} ${slider.getAttribute('aria-valuetext')}`,
        number: one('.mcpsim-goto input').value,
    };
    if (table) {
        found.table = one('.mcpsim-table').innerHTML;
        return found;
    }
    found.rows = all('.mcpsim-list > *').map(written).join('');
    found.heads = one('.mcpsim-heads').innerHTML;
    for (const what of ['arrow', 'bar', 'wait']) {
        // The arrow of the step at hand is drawn last, over all others.
        found[what] = all(`.mcpsim-drawing .mcpsim-${what}`).map(written).sort().join('');
    }
    for (const tab of all('[role=tab]')) {
        tab.click();
        const pane = document.getElementById(tab.getAttribute('aria-controls'));
        found[`pane ${tab.textContent.replace('changed', '')}`] = pane.innerHTML;
        found[`tab ${tab.textContent.replace('changed', '')}`] = tab.innerHTML;
    }
    return found;
}

const SWITCHES = { 'Hide next': 'h', Table: 't' };
function turn(name, on) {
    const button = all('.mcpsim-tools button').find(each => each.textContent === name);
    if (button.getAttribute('aria-pressed') === String(on)) return;
    sizes = new Map();
    press(SWITCHES[name]);
    sizes = new Map();
}

let made = false;
function walk(data, how) {
    if (!made) {
        values.data = data;
        initialize({ model });
        render({ model, el: document.getElementById('here') });
        made = true;
    }
    model.set('cursor', 0);
    turn('Table', how.table);
    turn('Hide next', how.hiding);
    // Drawn anew as it is looked at, so that nothing is left of the way before.
    sizes = new Map();
    model.set('data', { ...data });
    const last = data.steps.length;
    const there = [seen(how)];
    const wrong = [];
    const plain = text => text.replaceAll('`', '');
    for (let n = 1; n <= last; n++) {
        press('ArrowRight');
        const step = data.steps[n - 1];
        if (model.get('cursor') !== n) wrong.push(`the cursor is at ${model.get('cursor')}, not at ${n}`);
        if (one('.mcpsim-what').textContent !== plain(step.what)) wrong.push(`step ${n} is told as another`);
        const later = all('[data-step]').filter(each => Number(each.dataset.step) > n);
        const visible = { visibilityProperty: true, opacityProperty: true };
        if (how.hiding && later.some(each => each.checkVisibility(visible))) {
            wrong.push(`at step ${n} what comes next can be seen`);
        }
        there.push(seen(how));
    }
    const rows = all(how.table ? '.mcpsim-table [data-step]' : '.mcpsim-list [data-step]');
    const drawn = new Set(rows.map(each => each.dataset.step)).size;
    if (drawn !== last) wrong.push(`${drawn} of ${last} steps are drawn`);
    press('ArrowRight');
    if (model.get('cursor') !== last) wrong.push('there is a step after the last');
    for (let n = last; n >= 0; n--) {
        const back = seen(how);
        for (const [part, text] of Object.entries(there[n])) {
            if (text === back[part]) continue;
            let at = 0;
            while (text[at] === back[part][at]) at++;
            const cut = each => each.slice(Math.max(0, at - 120), at + 80);
            wrong.push(`step ${n}: ${part}: there …${cut(text)}… and back …${cut(back[part])}…`);
        }
        // A walk in which two steps look the same would prove nothing.
        if (n < last && there[n].narration === there[n + 1].narration) {
            wrong.push(`steps ${n} and ${n + 1} look alike`);
        }
        press('ArrowLeft');
    }
    if (model.get('cursor') !== 0) wrong.push('the way back does not end before the first step');
    return wrong;
}

// Everything in one task: nothing is painted meanwhile.
window.walks = (text, ways) => {
    const data = JSON.parse(text);
    return ways.map(how => walk(data, how).slice(0, 5));
};
window.ready = true;
"""


@pytest.fixture(scope="module")
def walked(browser: Browser) -> Iterator[Page]:
    context = browser.new_context(viewport={"width": 1400, "height": 900}, reduced_motion="reduce")
    page = context.new_page()
    wrong: list[str] = []
    page.on("pageerror", lambda error: wrong.append(str(error)))
    # That something is drawn in a pane that is not laid out is only a warning.
    page.on("console", lambda message: wrong.append(message.text) if message.type == "error" else None)
    style = scripts.style(*scripts.PLAYER_STYLES)
    page.set_content(
        f'<!doctype html><html lang="en"><title>Stories</title><style>{style}{STYLE}</style>'
        '<main id="here"></main></html>'
    )
    page.add_script_tag(type="module", content=scripts.script(scripts.PLAYER) + SCRIPT)
    page.wait_for_function("window.ready")
    yield page
    context.close()
    assert wrong == []


def test_every_story_there_and_back(walked: Page) -> None:
    """Each play as it is, and of each story one play hiding what comes and one as a table."""
    wrong: dict[str, list[str]] = {}
    seen: set[str] = set()
    for name, era, way in PLAYED:
        data = player_data(STORIES[name].play(era=era, transport=TRANSPORTS[way]()).recording)
        ways = [{"hiding": False, "table": False}]
        if name not in seen:
            ways += [{"hiding": True, "table": False}, {"hiding": False, "table": True}]
        seen.add(name)
        found = walked.evaluate("([text, ways]) => window.walks(text, ways)", [json.dumps(data), ways])
        wrong |= {f"{name}, {era}, {way}, {how}": each for how, each in zip(ways, found, strict=True) if each}
    assert len(seen) == len(STORIES)
    assert wrong == {}
