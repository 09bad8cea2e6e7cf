"""The cache timeline without a browser: what is kept, until when, and who is served from where."""

from __future__ import annotations

import json
from typing import Any

import pytest

from mcpsim import Client, Gateway, Recording, StreamableHttp, simulate
from mcpsim.course import STORIES
from mcpsim.course.servers import price_list
from mcpsim.course.stories.keeping import read
from mcpsim.utilities.caching import Cache
from mcpsim.widgets.cache_timeline import CacheTimeline
from mcpsim.widgets.cache_timeline_view import Mark, timeline_data

S = 1_000_000
# Of another purpose than caching, and against the rules.
LAWFUL = [name for name, one in STORIES.items() if not one.breaks and name != "version-from-the-future"]


def of(name: str) -> dict[str, Any]:
    return timeline_data(STORIES[name].play().recording)


def row(data: Any, who: str, lane: int = 0) -> dict[str, Any]:
    return next(row for row in data["lanes"][lane]["rows"] if row["who"] == who)


def sources(data: Any, who: str, lane: int = 0) -> list[str]:
    return [tick["source"] for tick in row(data, who, lane)["ticks"]]


def bars(data: Any, who: str, lane: int = 0) -> list[tuple[float, float, float]]:
    """When each result came, got stale, and went away, in seconds."""
    found = row(data, who, lane)["bars"]
    return [(bar["start_us"] / S, bar["stale_us"] / S, bar["end_us"] / S) for bar in found]


def texts(data: Any) -> list[str]:
    return [one["text"] for one in data["moments"]]


# ------------------------------------------------------------------------------------- any recording


def test_fresh_then_stale() -> None:
    data = of("fresh-then-stale")
    assert [lane["label"] for lane in data["lanes"]] == ["resources/read price://paper"]
    assert sources(data, "client") == ["server", "own", "server"]
    first, second = bars(data, "client")
    assert first == (0.04, 30.04, 35.08)
    assert second[:1] == (35.08,)
    assert row(data, "client")["bars"][1]["goes_on"]
    assert "From now on it is stale in client's cache." in texts(data)
    assert [one["at_us"] for one in data["moments"]] == sorted(one["at_us"] for one in data["moments"])


def test_a_notification_makes_it_stale_at_once() -> None:
    data = of("told-that-it-changed")
    assert bars(data, "client")[0] == (0.08, 0.12, 0.16)
    assert row(data, "client")["bars"][0]["why_stale"] == "notifications/resources/updated"
    assert [bar["content"] for bar in row(data, "client")["bars"]] == ["4 a pack", "5 a pack"]


def test_each_page_has_a_lane_and_a_clock_of_its_own() -> None:
    data = of("each-page-by-itself")
    assert len(data["lanes"]) == 3
    assert [sources(data, "client", lane) for lane in range(3)] == [
        ["server", "server"],
        ["server", "own"],
        ["server", "own"],
    ]
    assert data["lanes"][0]["label"] == "resources/list"
    assert data["lanes"][1]["label"].startswith("resources/list page at ")
    assert row(data, "client", 2)["bars"][0]["content"] == "1 resource"


def test_what_is_dropped_and_what_is_an_error() -> None:
    recording = STORIES["wrong-page-drops-all"]
    assert recording.breaks == ("pagination-cursor-is-opaque",)
    data = of("wrong-page-drops-all")
    assert bars(data, "client")[0] == (0.04, 0.12, 0.12)
    assert "It is dropped from client's cache." in texts(data)
    assert sources(data, "client", 2) == ["nobody"]
    assert row(data, "client", 2)["ticks"][0]["text"] == "error -32602"


def test_stale_is_better_than_nothing() -> None:
    data = of("stale-but-better-than-nothing")
    assert sources(data, "client") == ["server", "own"]
    assert row(data, "client")["ticks"][1]["text"] == "stale"
    assert any(text.startswith("client takes the stale result from its own cache: ") for text in texts(data))


def test_a_gateway_serves_the_public_result_and_not_the_private_one() -> None:
    data = of("for-everybody-or-for-one")
    assert [lane["label"] for lane in data["lanes"]] == [
        "resources/read price://paper",
        "resources/read balance://mine",
    ]
    assert (sources(data, "ada"), sources(data, "ben")) == (["server"], ["gateway"])
    assert (sources(data, "ada", 1), sources(data, "ben", 1)) == (["server"], ["server"])
    assert [row["who"] for row in data["lanes"][0]["rows"]] == ["ada", "ben", "gateway"]
    gateway = data["lanes"][1]["rows"][-1]
    assert [row["who"] for row in data["lanes"][1]["rows"]] == ["ada", "ben", "gateway"]
    assert gateway["bars"] == gateway["ticks"] == []
    assert gateway["note"] == "keeps nothing of this: a private result is for one user alone"
    assert bars(data, "ada") == []


def test_what_is_never_kept_has_no_bar() -> None:
    data = of("what-is-never-kept")
    assert [row["who"] for row in data["lanes"][0]["rows"]] == ["client"]
    # With a time to live of 0 it is kept, and stale from the first moment on.
    assert all(start == stale for start, stale, _ in bars(data, "client"))


def test_a_trace_from_elsewhere_shows_what_the_hints_allow() -> None:
    trace = STORIES["fresh-then-stale"].play().recording.to_interchange()
    data = timeline_data(Recording.from_interchange(trace))
    assert data["imported"]
    assert [bar["kept"] for bar in row(data, "client")["bars"]] == [False, False]
    assert "client may keep it: public, fresh for 30 s." in texts(data)


def test_tokens_are_told_apart_and_never_shown() -> None:
    async def both(ada: Client, ben: Client, eve: Client) -> None:
        """Three clients, two tokens."""
        for client in (ada, ben, eve):
            await read(client, "price://paper")

    tokens = {"ada": "s3cret-one", "ben": "s3cret-two", "eve": "s3cret-one"}
    clients = {name: Client(name, principal=token) for name, token in tokens.items()}
    run = simulate(both, server=price_list(), client=clients, transport=StreamableHttp())
    data = timeline_data(run.recording)
    assert "s3cret" not in json.dumps(data)
    assert [row["principal"] for row in data["lanes"][0]["rows"]] == [
        "principal 1",
        "principal 2",
        "principal 1",
    ]


def test_a_cache_that_two_clients_share_without_saying_so() -> None:
    async def both(ada: Client, ben: Client) -> None:
        """Two clients with one cache."""
        for client in (ada, ben):
            await read(client, "price://paper")

    cache = Cache()
    clients = {name: Client(name, cache=cache) for name in ("ada", "ben")}
    data = timeline_data(simulate(both, server=price_list(), client=clients).recording)
    assert sources(data, "ben") == ["shared"]
    assert any(text.startswith("ben takes it from the cache of ada (4 a pack)") for text in texts(data))


def test_a_gateway_that_keeps_what_is_private_is_told_of() -> None:
    async def story(ada: Client) -> None:
        """Read what is private."""
        await ada.read_resource("balance://mine")

    gateway = Gateway(may_share=lambda result: True)
    run = simulate(
        story,
        server=price_list(),
        client={"ada": Client(principal="ada")},
        gateway=gateway,
        transport=StreamableHttp(),
    )
    data = timeline_data(run.recording)
    assert (
        "gateway keeps it: private, fresh for 30 s. A private result MUST NOT be in a cache for everybody."
        in texts(data)
    )


def test_legacy_results_are_not_kept() -> None:
    async def story(client: Client) -> None:
        """List the tools."""
        await client.list_tools()

    data = timeline_data(simulate(story, server=price_list(), era="legacy").recording)
    assert data["lanes"] == []


def test_other_marks_stand_among_the_moments() -> None:
    data = timeline_data(STORIES["fresh-then-stale"].play().recording, [Mark(5 * S, "It rains.")])
    assert {"at_us": 5 * S, "at": "5 s", "lane": "", "text": "It rains."} in data["moments"]


@pytest.mark.parametrize("name", LAWFUL)
def test_every_story_can_be_shown(name: str) -> None:
    data = of(name)
    assert json.loads(json.dumps(data)) == data
    for lane in data["lanes"]:
        for each in lane["rows"]:
            for bar in each["bars"]:
                assert 0 <= bar["start_us"] <= bar["stale_us"] <= bar["end_us"] <= data["end_us"]


@pytest.mark.parametrize(
    ("hints", "stale_s"),
    [
        ({"ttlMs": 5_000}, 5.0),
        ({"ttlMs": -5}, 0),
        ({"ttlMs": "many"}, 0),
        ({"ttlMs": True}, 0),
        ({}, 0),
        ({"ttlMs": 10**40}, None),
    ],
)
def test_hints_as_they_come(hints: dict[str, Any], stale_s: float | None) -> None:
    def line(sender: str, at_ms: int, message: dict[str, Any]) -> bytes:
        row = {"from": sender, "t_ms": at_ms, "message": {"jsonrpc": "2.0", "id": 1, **message}}
        return json.dumps(row).encode() + b"\n"

    meta = {"io.modelcontextprotocol/protocolVersion": "2026-07-28"}
    result = {"resultType": "complete", "tools": [], "a\u202e": 1, **hints}
    trace = line("client", 0, {"method": "tools/list", "params": {"_meta": meta}})
    trace += line("server", 0, {"result": result})
    trace += line("client", 9_000, {"id": 2, "method": "tools/list", "params": {"_meta": meta}})
    data = timeline_data(Recording.from_interchange(trace))
    if stale_s == 0:
        assert bars(data, "client") == []
    else:
        ((start, stale, end),) = bars(data, "client")
        assert (start, stale) == (0.0, end if stale_s is None else stale_s)


# ------------------------------------------------------------------------------------- the example


def test_the_example_is_lawful_and_the_same_in_every_run() -> None:
    widget = CacheTimeline()
    assert widget.still_text() == CacheTimeline().still_text()
    assert widget.run is not None
    assert not widget.run.audit().findings
    assert sources(widget.shown, "ada") == ["server", "own", "own", "server"]
    # What is fresh may be out of date.
    assert [tick["text"] for tick in row(widget.shown, "ada")["ticks"]] == ["4 a pack"] * 3 + ["5 a pack"]
    assert "<script" not in widget.still_html()
    assert repr(widget).startswith("CacheTimeline(ttl_ms=30000, cache_scope='public'")


@pytest.mark.parametrize(
    ("settings", "ada", "ben"),
    [
        ({"ttl_ms": 0}, ["server"] * 4, ["server"] * 3),
        ({"told": True}, ["server", "own", "server", "own"], ["server", "own", "server"]),
        ({"caches": "none"}, ["server"] * 4, ["server"] * 3),
        (
            {"caches": "none", "gateway": True},
            ["server", "gateway", "gateway", "gateway"],
            ["gateway", "gateway", "server"],
        ),
        ({"caches": "none", "gateway": True, "cache_scope": "private"}, ["server"] * 4, ["server"] * 3),
        ({"caches": "shared"}, ["server", "shared", "shared", "shared"], ["shared", "shared", "server"]),
        (
            {"caches": "shared", "cache_scope": "private"},
            ["server", "shared", "shared", "server"],
            ["server", "shared", "server"],
        ),
    ],
)
def test_the_knobs(settings: dict[str, Any], ada: list[str], ben: list[str]) -> None:
    widget = CacheTimeline(**settings)
    assert (sources(widget.shown, "ada"), sources(widget.shown, "ben")) == (ada, ben)


def test_a_shared_cache_has_a_row_and_private_results_have_one_each() -> None:
    assert [row["who"] for row in CacheTimeline(caches="shared").shown["lanes"][0]["rows"]] == [
        "ada",
        "ben",
        "shared cache",
    ]
    private = CacheTimeline(caches="shared", cache_scope="private").shown["lanes"][0]["rows"]
    assert [row["who"] for row in private[2:]] == ["shared cache, for ada", "shared cache, for ben"]


def test_the_gateway_hears_what_ada_is_told() -> None:
    widget = CacheTimeline(gateway=True, told=True)
    # She asks again, and the gateway asks the server.
    assert sources(widget.shown, "ada")[2] == "server"
    assert row(widget.shown, "ada")["ticks"][2]["text"] == "5 a pack"
    assert "notifications/resources/updated: it is stale at once in gateway's cache." in widget.still_text()
    kept, anew = row(widget.shown, "gateway")["bars"]
    assert kept["stale_us"] == 20_020_000
    assert anew["content"] == "5 a pack"
    assert widget.recording.audit().findings == ()


@pytest.mark.parametrize(
    ("wish", "why"),
    [
        ({}, "There is nothing like None to do here."),
        ({"do": "turn"}, "There is nothing like 'turn' to do here."),
        ({"do": "turn", "settings": {"x": 1}}, "There is no knob 'x'."),
        ({"do": "turn", "settings": {"ttl_ms": -1}}, "ttlMs is a whole number from 0 to 120000 ms, not -1."),
    ],
)
def test_a_wish_that_makes_no_sense_is_told(wish: dict[str, Any], why: str) -> None:
    widget = CacheTimeline()
    before = widget.recording
    widget.asked = {"n": 1, **wish}
    assert widget.error.startswith(why)
    assert widget.recording is before


def test_a_recording_has_no_knobs() -> None:
    run = STORIES["fresh-then-stale"].play()
    widget = CacheTimeline(run)
    assert widget.run is run
    assert widget.shown["knobs"] == []
    with pytest.raises(ValueError, match="it has no knobs"):
        widget.turn(ttl_ms=1_000)
    with pytest.raises(ValueError, match="Only the example has settings"):
        CacheTimeline(run.recording, ttl_ms=1_000)
    assert repr(widget) == f"CacheTimeline({run.recording!r})"


def test_turning_a_knob_leaves_the_others() -> None:
    widget = CacheTimeline(told=True)
    widget.turn(ttl_ms=5_000)
    assert (widget.settings["told"], widget.settings["ttl_ms"]) == (True, 5_000)
