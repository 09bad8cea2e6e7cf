"""The benches of the built-in stories: which knobs matter to which story, as a table.

bench("fresh-then-stale")           # in a notebook: knobs, a player that follows, and the last runs
bench("fresh-then-stale").play(ttl_ms=5_000)        # one run, as of `simulate`
bench("mcpsim:fresh-then-stale?ttl_ms=5000#4")      # the same bench as somebody else saw it
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from difflib import get_close_matches
from functools import lru_cache, partial
from typing import Any, Final

from mcpsim.course.benches.peers import NO_FAULT, eras_part, faults_part, messages_of, transport_part
from mcpsim.course.benches.results import (
    archive_ttl_part,
    cache_part,
    endpoint_part,
    gateway_part,
    page_size_part,
    price_ttl_part,
)
from mcpsim.course.benches.stage import Part, stage_of
from mcpsim.course.benches.users import (
    can_ask_part,
    cancel_before_it_begins,
    cancel_crosses_the_answer,
    folders_part,
    form_part,
    own_stop_part,
    report_stopped,
    sampling_part,
    stop_part,
    visit_part,
)
from mcpsim.course.stories import STORIES, Story
from mcpsim.recording.run import Run
from mcpsim.simulation.knobs import BenchPlan, Setting, Settings, Values, insist, settle
from mcpsim.simulation.link_text import is_link_text, read_link, settings_of

#: How many runs a bench keeps, so that looking at one again takes no time.
_KEPT: Final = 16

_SEAT: Final = ("seat", "a seat")
_DAY: Final = ("day", "the day")
_CONSENT: Final = ("agreed", "a consent")

#: What a story has beside the eras, the transport and the faults.
PARTS: Final[Mapping[str, tuple[Part, ...]]] = {
    "report-with-progress": (stop_part(600),),
    "report-stopped": (own_stop_part(report_stopped, 500, 2_000),),
    "three-pages": (page_size_part(),),
    "two-lists-in-pages": (page_size_part(),),
    # With all on one page there is no cursor to send elsewhere.
    "cursor-made-up": (page_size_part(6),),
    "list-grows-between-pages": (page_size_part(),),
    "fresh-then-stale": (cache_part(), price_ttl_part()),
    "told-that-it-changed": (cache_part(), price_ttl_part()),
    "each-page-by-itself": (cache_part(), archive_ttl_part(40_000), page_size_part()),
    "stale-but-better-than-nothing": (cache_part(stale_if_error=True), price_ttl_part()),
    "what-is-never-kept": (cache_part(), archive_ttl_part(0, "private")),
    "wrong-page-drops-all": (cache_part(), archive_ttl_part(40_000), page_size_part()),
    "for-everybody-or-for-one": (price_ttl_part(scopes=True), gateway_part(cache=True)),
    "two-reports-at-once": (stop_part(800),),
    "progress-without-a-total": (stop_part(1_000),),
    "kept-waiting-by-progress": (stop_part(2_000),),
    "never-longer-than-the-maximum": (stop_part(3_000),),
    "answer-took-too-long": (stop_part(1_000),),
    "cancel-crosses-the-answer": (own_stop_part(cancel_crosses_the_answer, 530, 1_000),),
    "cancel-before-it-begins": (own_stop_part(cancel_before_it_begins, 100, 1_000),),
    "one-question": (form_part(_SEAT),),
    "two-rounds": (form_part(_DAY, _CONSENT),),
    "two-questions-at-once": (form_part(_DAY, _SEAT),),
    "user-declines": (form_part(_SEAT, default="decline"),),
    "user-dismisses": (form_part(_SEAT, default="cancel"),),
    "visit-a-page": (visit_part(),),
    "ask-the-model": (sampling_part(),),
    "ask-for-folders": (folders_part(),),
    "nobody-to-ask": (can_ask_part(),),
    "stream-is-lost": (stop_part(600),),
    "stream-is-resumed": (endpoint_part("retry_ms", "Wait before resuming", 0, 5_000, 300, "ms"),),
    "quiet-stream-is-kept-alive": (
        endpoint_part("keep_alive_s", "A comment after so much silence", 5, 60, 15, "s"),
    ),
    "any-replica-will-do": (gateway_part(replicas=3),),
    "answer-goes-to-another-replica": (gateway_part(replicas=2), form_part(_DAY, _CONSENT)),
    "session-at-the-wrong-replica": (gateway_part(sticky=False, replicas=2, most=2),),
    "sessions-that-stick": (gateway_part(sticky=True, replicas=2, most=2),),
}

_SERVER_ERAS: Final[Mapping[tuple[str, ...], tuple[str, ...]]] = {
    # A modern client does not hear of the legacy versions of a server, nor the other way round.
    ("modern",): ("both", "legacy"),
    ("legacy",): ("both", "modern"),
}
_OWN_SERVER_ERAS: Final[Mapping[str, tuple[str, ...]]] = {
    # These two learn which versions there are.
    "ask-what-it-is": ("both", "modern", "legacy"),
    "version-from-the-future": ("both", "modern", "legacy"),
    "ping-both-ways": ("legacy", "modern"),
}


#: Knobs that change nothing of what a story says of itself.
_SAYS_THE_SAME: Final = frozenset({"era", "server_era", "transport", "latency_ms"})


def bench(name: str) -> BenchPlan:
    """The bench of a built-in story. In a notebook it is shown with its knobs, a player, and the last runs.

    Its `play` gives a run for any setting of the knobs: `bench("three-pages").play(page_size=2)`.

    Args:
        name: as `mcpsim stories` lists it; or a link text, such as "mcpsim:three-pages?page_size=2#5": then
            the knobs stand as it says, and it begins at that step.

    Raises:
        LookupError: there is no such story; the text names similar ones.
        ValueError: the link text is none, or its knobs cannot stand so.
    """
    if is_link_text(name):
        link = read_link(name)
        plan = bench(link.story)
        settings = settings_of(link, plan.knobs)
        return replace(plan, play=partial(plan.play, **settings), settings=settings, step=link.step)
    if name not in STORIES:
        near = get_close_matches(name, STORIES, n=3)
        meant = f" Did you mean {' or '.join(near)}?" if near else ""
        raise LookupError(f"There is no story {name!r}.{meant} `mcpsim stories` lists them.")
    story = STORIES[name]
    peers, own = _peers(story), (transport_part(story), *PARTS.get(story.name, ()))

    @lru_cache(maxsize=_KEPT)
    def kept(settings: tuple[tuple[str, Setting], ...]) -> Run:
        turned = {name for name, value in settings if value != usual[name]} - _SAYS_THE_SAME
        return _played(story, parts, dict(settings), turned=bool(turned))

    def messages(settings: Settings) -> Values:
        faultless = {**settings, "fault": NO_FAULT, "message": ""}
        return messages_of(kept(_key(faultless)), story.faults)

    faults = faults_part(messages)
    # The transport before what sets up its endpoint, the servers before what makes them of an era.
    parts = (*own, peers, faults)
    knobs = tuple(knob for part in (peers, *own, faults) for knob in part.knobs)
    usual = {knob.name: knob.default for knob in knobs}

    def play(**given: Any) -> Run:
        settings = settle(knobs, given)
        insist(knobs, given, settings)
        if settings["fault"] == NO_FAULT:
            settings["message"] = ""
        return kept(_key(settings))

    return BenchPlan(name, story.what.rstrip("."), play, knobs, find=bench)


def _peers(story: Story) -> Part:
    usual = _SERVER_ERAS.get(story.eras, ("both", "modern", "legacy"))
    return eras_part(story, _OWN_SERVER_ERAS.get(story.name, usual))


def _key(settings: Settings) -> tuple[tuple[str, Setting], ...]:
    return tuple(sorted(settings.items()))


def _played(story: Story, parts: tuple[Part, ...], settings: Settings, *, turned: bool) -> Run:
    way: Any = settings.get("transport", story.ways[0])
    stage = stage_of(story, way)
    for part in parts:
        stage = part.apply(stage, settings)
    if turned:
        # The story's sentence tells of its own settings: "three on a page".
        stage = replace(stage, what=f"The story {story.name}, as the knobs stand")
    return stage.play()
