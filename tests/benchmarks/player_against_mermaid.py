"""How fast the player opens and steps, beside Mermaid drawing the same messages in the same page.

    python tests/benchmarks/player_against_mermaid.py [--messages 100 500] [--rounds 5] [--long 10000]

Both get what they are given as text (JSON, a Mermaid sequence diagram of `Recording.to_mermaid`), in one page
of Chromium, by turns; the best round counts. `open` is from the text to a finished layout. `step` is from one
message more to a finished layout: the player moves its cursor; Mermaid has no steps, so it draws the messages
so far once more. Each time ends when the browser has laid everything out, which is asked for; `shown` is the
time of opening up to the next frame, painting included.

Of a long recording (`--long`) only the player is measured, as a notebook shows it, from a run that nobody
has looked at. `python_ms` is the processor time from `Player(run)` to what the kernel sends, `kilobytes` how
much that is, and `page_ms` the time from that text to the frame that shows it. Then, while the other pieces
come, the slider is drawn through all of it, to another place in each frame (`--moves` times): `scrub_ms` is
the longest time between two frames, `scrub_work_ms` the longest that one move takes, and `absent` in how many
of the frames the step at hand had not come. `all_ms` is how long it takes until every piece has come.

Prints JSON: for each number of messages the milliseconds of both, and the ratios, Mermaid's time over ours.
Chromium is found as by the tests, and Mermaid comes from npm into the cache folder of the tests.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from pathlib import Path
from typing import Any, Final

from playwright.sync_api import Page, sync_playwright

from mcpsim import Client, Recording, Server, simulate
from mcpsim.widgets import Player, player_data, scripts
from mcpsim.widgets.player import piece_of

ROOT: Final = Path(__file__).parents[2]
sys.path.append(str(ROOT))

from tests.browser.chromium import find_chromium  # noqa: E402
from tests.live.npm import installed  # noqa: E402

MERMAID: Final = "12.3.0"
SIZES: Final = (100, 500)
LONG: Final = (10_000,)
# No multiple of 83, so that each move goes to another place.
MOVES: Final = 400
CACHE: Final = ROOT / ".pytest_cache" / "d" / "mcpsim-npm"

PAGE: Final = """<!doctype html><meta charset="utf-8"><style>%s</style>
<body style="margin:0;width:1300px"><div id="place"></div>"""

HARNESS: Final = """
const place = document.getElementById("place");
const laidOut = () => place.getBoundingClientRect().height + place.querySelectorAll("*").length;
const frame = () => new Promise((done) => requestAnimationFrame(() => setTimeout(done)));
function model(values) {
  const listeners = new Map();
  return {
    get: (name) => values[name],
    set(name, value) {
      values[name] = value;
      for (const callback of listeners.get(`change:${name}`) || []) callback();
    },
    save_changes() {},
    on: (event, callback) => listeners.set(event, [...(listeners.get(event) || []), callback]),
    off(event, callback) {
      listeners.set(event, (listeners.get(event) || []).filter((one) => one !== callback));
    },
  };
}
async function timed(action) {
  await frame();
  const begin = performance.now();
  const kept = await action();
  laidOut();
  const done = performance.now() - begin;
  await frame();
  return [done, performance.now() - begin, kept];
}
window.player = async (text, at) => {
  place.replaceChildren();
  const [open, shown, [shared, forget]] = await timed(async () => {
    const shared = model({ data: JSON.parse(text), cursor: 1, playing: false, speed: 1 });
    return [shared, render({ model: shared, el: place })];
  });
  shared.set("cursor", at - 1);
  const [step] = await timed(async () => shared.set("cursor", at));
  const read = [place.querySelector(".mcpsim-where").textContent, shared.get("data").steps.length];
  forget();
  return { open, shown, step, read };
};
window.mermaidDraws = async (text, part) => {
  place.replaceChildren();
  let number = 0;
  const draw = (text) => async () => {
    const { svg } = await mermaid.render(`drawing-${number++}`, text);
    place.innerHTML = svg;
  };
  const [open, shown] = await timed(draw(text));
  const read = place.querySelectorAll(".messageText").length;
  const [step] = await timed(draw(part));
  return { open, shown, step, read };
};
window.notebook = async (text, moves) => {
  place.replaceChildren();
  await frame();
  const heard = [];
  const begin = performance.now();
  const shared = model({ ...JSON.parse(text), playing: false, speed: 1, kernel: true });
  const on = shared.on;
  shared.on = (event, callback) => (event === "msg:custom" ? heard.push(callback) : on(event, callback));
  shared.send = async (wanted) => {
    const piece = JSON.parse(await window.told(JSON.stringify(wanted)));
    // A task of its own, as the message of a kernel is.
    setTimeout(() => { for (const each of heard) each(piece); });
  };
  initialize({ model: shared });
  render({ model: shared, el: place });
  laidOut();
  await frame();
  const page = performance.now() - begin;
  const slider = place.querySelector("input[type=range]");
  const last = Number(slider.max);
  let [longest, work, absent, frames, before] = [0, 0, 0, 0, performance.now()];
  const steps = () => shared.get("data").steps;
  for (let i = 0; i < moves; i++) {
    const at = Math.round((((i * 83) % moves) * last) / (moves - 1));
    const start = performance.now();
    slider.value = at;
    slider.dispatchEvent(new Event("input"));
    laidOut();
    work = Math.max(work, performance.now() - start);
    absent += at && steps()[at - 1].coming ? 1 : 0;
    await new Promise((done) => requestAnimationFrame(done));
    longest = Math.max(longest, performance.now() - before);
    before = performance.now();
  }
  while (steps().some(lacksBody) || shared.get("data").coming.length) await frame();
  const read = [place.querySelector(".mcpsim-where").textContent, steps().length];
  return { page, longest, work, absent, all: performance.now() - begin, read };
};
mermaid.initialize({ startOnLoad: false, maxTextSize: 1e8, maxEdges: 1e6 });
window.ready = true;
"""

desk = Server("desk", version="1.0.0")


@desk.tool()
def price(item: str) -> str:
    """Say what something costs."""
    return f"{item}: 12"


def recording_of(messages: int) -> Recording:
    """A run with so many messages: calls with their answers."""

    async def story(client: Client) -> None:
        for number in range(messages // 2):
            await client.call_tool("price", {"item": f"item {number}"})

    run = simulate(story, server=desk, era="modern", connect=False, event_limit=100 * messages)
    return run.recording


def part_of(diagram: str, messages: int) -> str:
    """The diagram up to so many messages."""
    kept: list[str] = []
    seen = 0
    for line in diagram.splitlines():
        arrow = "->>" in line
        if arrow and seen == messages:
            break
        seen += arrow
        kept.append(line)
    return "\n".join(kept)


def opened(page: Page, mermaid: Path) -> None:
    """Load both into one empty page."""
    page.set_content(PAGE % scripts.style(*scripts.PLAYER_STYLES))
    page.add_script_tag(path=mermaid)
    page.add_script_tag(content=scripts.script(scripts.PLAYER) + HARNESS, type="module")
    page.wait_for_function("window.ready")


def measure(page: Page, messages: int, rounds: int) -> dict[str, Any]:
    """The best times of both, in milliseconds."""
    recording = recording_of(messages)
    data, diagram = player_data(recording), recording.to_mermaid()
    text, at = json.dumps(data), len(data["steps"]) // 2
    part = part_of(diagram, at)
    ours: list[dict[str, Any]] = []
    theirs: list[dict[str, Any]] = []
    for _ in range(rounds):
        ours.append(page.evaluate("([text, at]) => player(text, at)", [text, at]))
        theirs.append(page.evaluate("([text, part]) => mermaidDraws(text, part)", [diagram, part]))
    # What was not drawn would be fast.
    assert ours[0]["read"][0].startswith(f"Step {at} of "), ours[0]
    assert ours[0]["read"][1] >= len(recording.frames), ours[0]
    assert theirs[0]["read"] >= len(recording.frames), theirs[0]
    found: dict[str, Any] = {}
    for name in ("open", "shown", "step"):
        best = min(one[name] for one in ours), min(one[name] for one in theirs)
        found |= {f"{name}_ms": best[0], f"mermaid_{name}_ms": best[1], f"{name}_ratio": best[1] / best[0]}
    return found


def measure_long(page: Page, messages: int, rounds: int, moves: int) -> dict[str, Any]:
    """What opening a long recording costs, and drawing the slider through it. The best of a few rounds."""
    shown: list[Player] = []
    page.expose_function(
        f"told{messages}", lambda text: json.dumps(piece_of(shown[-1].pieces, json.loads(text)))
    )
    page.evaluate(f"() => {{ window.told = window.told{messages}; }}")
    found: list[dict[str, Any]] = []
    for _ in range(rounds):
        # New each time: what was looked at before would be known already.
        recording = recording_of(messages)
        begin = time.process_time()
        player = Player(recording)
        player._repr_mimebundle_()
        text = json.dumps({"data": player.data, "cursor": player.cursor})
        python = time.process_time() - begin
        shown.append(player)
        one = page.evaluate("([text, moves]) => notebook(text, moves)", [text, moves])
        assert one["read"][1] == player.steps, one
        found.append(
            {
                "python_ms": 1_000 * python,
                "kilobytes": len(text) / 1_000,
                "page_ms": one["page"],
                "scrub_ms": one["longest"],
                "scrub_work_ms": one["work"],
                "absent": one["absent"],
                "all_ms": one["all"],
            }
        )
    return {name: min(one[name] for one in found) for name in found[0]}


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--messages", type=int, nargs="*", default=SIZES)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--long", type=int, nargs="*", default=LONG)
    parser.add_argument("--moves", type=int, default=MOVES)
    given = parser.parse_args()
    mermaid = installed(CACHE, "mermaid", MERMAID) / "dist" / "mermaid.min.js"
    with sync_playwright() as playwright:
        path = find_chromium()
        browser = playwright.chromium.launch(executable_path=path, args=["--no-sandbox", "--disable-gpu"])
        page = browser.new_page(viewport={"width": 1400, "height": 900}, reduced_motion="reduce")
        opened(page, mermaid)
        measure(page, 10, 1)
        found = {str(size): measure(page, size, given.rounds) for size in given.messages}
        found |= {
            str(size): measure_long(page, size, min(3, given.rounds), given.moves) for size in given.long
        }
        browser.close()
    print(json.dumps(found, indent=2))


if __name__ == "__main__":
    main()
