"""The cache against the caching page, and against a model: a dictionary and a clock."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from mcpsim.messages import CLIENT_CAPABILITIES, CLIENT_INFO, LOG_LEVEL, PROTOCOL_VERSION
from mcpsim.utilities.caching import CACHEABLE, Cache, in_words

CHANGED = {
    "notifications/tools/list_changed": {"tools/list"},
    "notifications/prompts/list_changed": {"prompts/list"},
    "notifications/resources/list_changed": {"resources/list", "resources/templates/list"},
}


def hinted(ttl_ms: Any = 1000, scope: Any = "public", **members: Any) -> dict[str, Any]:
    return {"resultType": "complete", "ttlMs": ttl_ms, "cacheScope": scope, **members}


def is_fresh(cache: Cache, method: str, params: Any, now_ms: float, principal: str = "") -> bool | None:
    """None where there is nothing."""
    entry = cache.get(method, params, now_ms, principal)
    return None if entry is None else entry.is_fresh(now_ms)


def test_the_cacheable_methods() -> None:
    assert {
        "server/discover",
        "tools/list",
        "prompts/list",
        "resources/list",
        "resources/templates/list",
        "resources/read",
    } == CACHEABLE


def test_fresh_until_the_ttl_is_over_and_not_at_that_moment() -> None:
    cache = Cache()
    cache.store("tools/list", None, hinted(300), now_ms=1000.1)
    asked = [1000.1, 1300, 1300.099, 1300.1, 1300.2]
    assert [is_fresh(cache, "tools/list", None, at) for at in asked] == [True, True, True, False, False]
    # 0.1 + 0.2 is more than 0.3 in floating point.
    cache.store("tools/list", None, hinted(1), now_ms=0.7)
    assert is_fresh(cache, "tools/list", None, 1.699) is True
    assert is_fresh(cache, "tools/list", None, 1.7) is False


@pytest.mark.parametrize("ttl_ms", [0, -1, -(10**30), None, "100", 5.5, True, [1], {}])
def test_a_ttl_that_is_absent_or_no_good_counts_as_zero(ttl_ms: Any) -> None:
    cache = Cache()
    result = hinted(ttl_ms)
    if ttl_ms is None:
        del result["ttlMs"]
    cache.store("tools/list", None, result, now_ms=5)
    assert is_fresh(cache, "tools/list", None, 5) is False


def test_a_ttl_beyond_every_double() -> None:
    cache = Cache()
    cache.store("tools/list", None, hinted(10**400), now_ms=5)
    assert is_fresh(cache, "tools/list", None, 1e14) is True
    assert cache.snapshot(1e14)[0]["fresh_until_ms"] > 1e14


@pytest.mark.parametrize("scope", [None, "private", "shared", "Public", 1, True, ["public"]])
def test_every_scope_but_public_is_private(scope: Any) -> None:
    cache = Cache()
    result = hinted(1000, scope)
    if scope is None:
        del result["cacheScope"]
    cache.store("tools/list", None, result, 0, "ann")
    assert is_fresh(cache, "tools/list", None, 0, "ann") is True
    assert is_fresh(cache, "tools/list", None, 0, "ben") is None
    assert is_fresh(cache, "tools/list", None, 0) is None


def test_public_results_are_everybodys() -> None:
    cache = Cache()
    cache.store("tools/list", None, hinted(1000, "public", n=1), 0, "ann")
    entry = cache.get("tools/list", None, 0, "ben")
    assert entry is not None
    assert (entry.result["n"], entry.principal) == (1, "")


def test_a_result_takes_the_place_of_the_one_before_whatever_their_scopes() -> None:
    for before in ("public", "private"):
        for after in ("public", "private"):
            cache = Cache()
            cache.store("tools/list", None, hinted(1000, before, n=1), 0, "ann")
            cache.store("tools/list", None, hinted(0, after, n=2), 1, "ann")
            entry = cache.get("tools/list", None, 2, "ann")
            assert entry is not None
            assert (entry.result["n"], entry.is_fresh(2)) == (2, False)


def test_a_public_result_for_somebody_else_is_better_than_a_stale_one_of_ones_own() -> None:
    cache = Cache()
    cache.store("tools/list", None, hinted(1, "private", n=1), 0, "ann")
    cache.store("tools/list", None, hinted(1000, "public", n=2), 5, "ben")
    found = [cache.get("tools/list", None, at, "ann") for at in (5, 10)]
    assert [entry.result["n"] for entry in found if entry is not None] == [2, 2]


def test_what_was_received_in_the_future_is_stale() -> None:
    """A cache that is kept for another run meets a clock that begins again."""
    cache = Cache()
    cache.store("tools/list", None, hinted(1000, "public"), 60_000, "ann")
    entry = cache.get("tools/list", None, 40, "ann")
    assert entry is not None
    assert [entry.is_fresh(at) for at in (0, 59_999, 60_000, 60_999, 61_000)] == [
        False,
        False,
        True,
        True,
        False,
    ]


# The key


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (None, {"cursor": ""}),
        ({"cursor": ""}, {"cursor": "a"}),
        ({"uri": "file:///a"}, {"uri": "file:///A"}),
        ({"x": 1}, {"x": "1"}),
        ({"x": 1}, {"x": 1.0}),
        ({"x": 1}, {"x": True}),
        ({"x": None}, {}),
        ({"x": {"a": 1}}, {"x": {"a": 2}}),
        ({"x": [1, 2]}, {"x": [2, 1]}),
        ({"_meta": {PROTOCOL_VERSION: "2026-07-28"}}, {"_meta": {PROTOCOL_VERSION: "2027-01-01"}}),
        ({"_meta": {CLIENT_CAPABILITIES: {}}}, {"_meta": {CLIENT_CAPABILITIES: {"roots": {}}}}),
        ({"_meta": {"com.example/tenant": 1}}, {"_meta": {"com.example/tenant": 2}}),
    ],
    ids=str,
)
def test_requests_that_differ_share_nothing(one: Any, other: Any) -> None:
    cache = Cache()
    cache.store("resources/read", one, hinted(n=1), 0)
    assert cache.get("resources/read", other, 0) is None
    assert cache.get("resources/list", one, 0) is None
    cache.store("resources/read", other, hinted(n=2), 0)
    kept = [cache.get("resources/read", params, 0) for params in (one, other)]
    assert [entry.result["n"] for entry in kept if entry is not None] == [1, 2]


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (None, {}),
        (None, {"_meta": {}}),
        ({"a": 1, "b": {"c": 1, "d": 2}}, {"b": {"d": 2, "c": 1}, "a": 1}),
        ({"_meta": {"progressToken": 1}}, {"_meta": {"progressToken": 2}}),
        ({"_meta": {LOG_LEVEL: "debug"}}, {}),
        ({"_meta": {CLIENT_INFO: {"name": "a", "version": "1"}}}, {"_meta": {"traceparent": "00-1"}}),
    ],
    ids=str,
)
def test_what_is_about_one_request_only_is_no_part_of_the_key(one: Any, other: Any) -> None:
    cache = Cache()
    cache.store("resources/read", one, hinted(), 0)
    assert is_fresh(cache, "resources/read", other, 0) is True


# What is never kept


@pytest.mark.parametrize(
    ("method", "params", "result"),
    [
        ("resources/read", {"uri": "a", "inputResponses": {}}, hinted()),
        ("resources/read", {"uri": "a", "requestState": "s"}, hinted()),
        ("resources/read", {"uri": "a"}, {**hinted(), "resultType": "input_required"}),
        ("resources/read", {"uri": "a"}, {**hinted(), "resultType": "later"}),
        ("resources/read", {"uri": "a"}, {**hinted(), "resultType": None}),
        ("tools/call", {"name": "a"}, hinted()),
        ("prompts/get", {"name": "a"}, hinted()),
        ("completion/complete", None, hinted()),
        ("x/y", None, hinted()),
        ("", None, hinted()),
    ],
    ids=str,
)
def test_what_is_not_kept(method: str, params: Any, result: Any) -> None:
    cache = Cache()
    assert cache.store(method, params, result, 0) is None
    assert len(cache) == 0


def test_a_retry_is_never_answered_from_the_cache() -> None:
    cache = Cache()
    cache.store("resources/read", {"uri": "a"}, hinted(), 0)
    assert cache.get("resources/read", {"uri": "a", "requestState": "s"}, 0) is None
    assert cache.get("resources/read", {"uri": "a", "inputResponses": {}}, 0) is None


def test_no_result_type_means_complete() -> None:
    cache = Cache()
    assert cache.store("tools/list", None, {"ttlMs": 5, "tools": []}, 0) is not None


# Notifications


@pytest.mark.parametrize("notification", sorted(CHANGED))
def test_a_list_changed_spoils_every_page_of_its_lists_and_no_other(notification: str) -> None:
    cache = Cache()
    for method in sorted(CACHEABLE):
        for params in (None, {"cursor": "b"}):
            cache.store(method, params, hinted(scope="private"), 0, "ann")
            cache.store(method, params, hinted(scope="private"), 0, "ben")
    spoiled = cache.invalidate(notification)
    assert {entry.method for entry in spoiled} == CHANGED[notification]
    assert len(spoiled) == 4 * len(CHANGED[notification])
    stale = {entry.method for entry in cache.entries() if not entry.is_fresh(1)}
    assert stale == CHANGED[notification]
    assert cache.invalidate(notification) == ()


def test_an_update_spoils_the_one_resource() -> None:
    cache = Cache()
    for uri in ("file:///a", "file:///b"):
        cache.store("resources/read", {"uri": uri}, hinted(), 0)
    cache.store("resources/list", None, hinted(), 0)
    (spoiled,) = cache.invalidate("notifications/resources/updated", {"uri": "file:///a"})
    assert spoiled.params["uri"] == "file:///a"
    assert is_fresh(cache, "resources/read", {"uri": "file:///a"}, 1) is False
    assert is_fresh(cache, "resources/read", {"uri": "file:///b"}, 1) is True
    assert is_fresh(cache, "resources/list", None, 1) is True


@pytest.mark.parametrize(
    ("method", "params"),
    [
        ("notifications/resources/updated", None),
        ("notifications/resources/updated", {"uri": 5}),
        ("notifications/resources/updated", {"uri": ["file:///a"]}),
        ("notifications/message", {"uri": "file:///a"}),
        ("", None),
    ],
    ids=str,
)
def test_other_notifications_spoil_nothing(method: str, params: Any) -> None:
    cache = Cache()
    cache.store("resources/read", {"uri": "file:///a"}, hinted(), 0)
    assert cache.invalidate(method, params) == ()


def test_a_result_that_a_change_overtook_is_kept_as_stale() -> None:
    cache = Cache()
    asked_at = cache.changes("tools/list")
    cache.invalidate("notifications/tools/list_changed")
    cache.store("tools/list", None, hinted(), 0, asked_at=asked_at)
    assert is_fresh(cache, "tools/list", None, 0) is False
    cache.store("tools/list", None, hinted(), 0, asked_at=cache.changes("tools/list"))
    assert is_fresh(cache, "tools/list", None, 0) is True
    assert cache.changes("no/such") == 0


def test_a_spoiled_result_is_fresh_again_when_a_new_one_came() -> None:
    cache = Cache()
    cache.store("tools/list", None, hinted(n=1), 0)
    cache.invalidate("notifications/tools/list_changed")
    cache.store("tools/list", None, hinted(n=2), 1)
    assert is_fresh(cache, "tools/list", None, 2) is True


# Bounds, and looking in


def test_pages_are_dropped_together() -> None:
    cache = Cache()
    cache.store("tools/list", None, hinted(), 0)
    cache.store("tools/list", {"cursor": "b"}, hinted(scope="private"), 0, "ann")
    cache.store("prompts/list", None, hinted(), 0)
    assert cache.drop_pages("tools/list") == 2
    assert [entry.method for entry in cache.entries()] == ["prompts/list"]
    assert cache.drop_pages("tools/list") == 0


def test_the_least_recently_used_result_goes_first() -> None:
    cache = Cache(max_entries=2)
    cache.store("resources/read", {"uri": "a"}, hinted(), 0)
    cache.store("resources/read", {"uri": "b"}, hinted(), 1)
    cache.get("resources/read", {"uri": "a"}, 2)
    cache.store("resources/read", {"uri": "c"}, hinted(), 3)
    assert [entry.params["uri"] for entry in cache.entries()] == ["a", "c"]
    assert repr(cache) == "<Cache: 2 of at most 2 results>"
    cache.clear()
    assert len(cache) == 0


@pytest.mark.parametrize("size", [0, -1])
def test_a_cache_for_nothing(size: int) -> None:
    with pytest.raises(ValueError, match="at least 1"):
        Cache(size)


def test_the_rows_for_a_picture_name_no_principal() -> None:
    cache = Cache()
    meta = {"_meta": {PROTOCOL_VERSION: "2026-07-28"}}
    cache.store("tools/list", meta, hinted(100), 5)
    cache.store("tools/list", {"cursor": "b", **meta}, hinted(10, "private"), 6, "secret-ann")
    cache.store("resources/read", {"uri": "a"}, hinted(100, "private"), 7, "secret-ben")
    cache.invalidate("notifications/resources/updated", {"uri": "a"})
    rows = cache.snapshot(50)
    assert [(row["method"], row["params"], row["scope"], row["state"]) for row in rows] == [
        ("tools/list", {}, "public", "fresh"),
        ("tools/list", {"cursor": "b"}, "private", "stale"),
        ("resources/read", {"uri": "a"}, "private", "invalidated"),
    ]
    assert rows[0]["received_ms"] == 5
    assert rows[0]["fresh_until_ms"] == 105
    assert "secret" not in str(rows)
    assert [row["method"] for row in cache.snapshot(50, "secret-ben")] == ["tools/list", "resources/read"]


# Against a model

METHODS = ("tools/list", "resources/list", "resources/templates/list", "resources/read", "tools/call")
PRINCIPALS = ("", "ann", "ben")
CURSORS = (None, "", "b")


class CacheAgainstDictionary(RuleBasedStateMachine):
    """The model keeps what each principal was told, and a cache must never say anything else."""

    @initialize(size=st.sampled_from([1, 3, 1000]))
    def begin(self, size: int) -> None:
        self.cache = Cache(size)
        self.now_ms = 0
        self.count = 0
        # Who was told: (method, cursor, principal or None for everybody) -> (number, fresh until, spoiled).
        self.told: dict[tuple[str, Any, str | None], tuple[int, int, bool]] = {}

    @rule(ms=st.integers(0, 15))
    def wait(self, ms: int) -> None:
        self.now_ms += ms

    @rule(
        method=st.sampled_from(METHODS),
        cursor=st.sampled_from(CURSORS),
        principal=st.sampled_from(PRINCIPALS),
        ttl_ms=st.integers(-5, 30),
        scope=st.sampled_from(["public", "private"]),
        retry=st.booleans(),
        asks_for_input=st.booleans(),
        overtaken=st.booleans(),
    )
    def answer(
        self,
        method: str,
        cursor: Any,
        principal: str,
        ttl_ms: int,
        scope: str,
        retry: bool,
        asks_for_input: bool,
        overtaken: bool,
    ) -> None:
        self.count += 1
        params = {} if cursor is None else {"cursor": cursor}
        if retry:
            params["requestState"] = "s"
        result = hinted(ttl_ms, scope, n=self.count)
        if asks_for_input:
            result["resultType"] = "input_required"
        asked_at = self.cache.changes(method) - 1 if overtaken else None
        self.cache.store(method, params, result, self.now_ms, principal, asked_at=asked_at)
        if retry or asks_for_input or method == "tools/call":
            return
        self.told.pop((method, cursor, principal), None)
        self.told.pop((method, cursor, None), None)
        owner = None if scope == "public" else principal
        self.told[(method, cursor, owner)] = (self.count, self.now_ms + max(ttl_ms, 0), overtaken)

    @rule(notification=st.sampled_from(sorted(CHANGED)))
    def change(self, notification: str) -> None:
        self.cache.invalidate(notification)
        for key, (number, until, _) in list(self.told.items()):
            if key[0] in CHANGED[notification]:
                self.told[key] = (number, until, True)

    @rule(method=st.sampled_from(METHODS))
    def refuse_a_cursor(self, method: str) -> None:
        self.cache.drop_pages(method)
        self.told = {key: value for key, value in self.told.items() if key[0] != method}

    @rule(
        method=st.sampled_from(METHODS),
        cursor=st.sampled_from(CURSORS),
        principal=st.sampled_from(PRINCIPALS),
    )
    def look(self, method: str, cursor: Any, principal: str) -> None:
        params = None if cursor is None else {"cursor": cursor}
        entry = self.cache.get(method, params, self.now_ms, principal)
        known = [self.told.get((method, cursor, owner)) for owner in (principal, None)]
        right = {one[0]: one for one in known if one is not None}
        if entry is None:
            # Only a cache that had to throw something away forgets.
            assert not right or self.cache.max_entries <= self.count
            return
        _, until, spoiled = right[entry.result["n"]]
        fresh = self.now_ms < until and not spoiled
        assert entry.is_fresh(self.now_ms) is fresh
        if not fresh and self.cache.max_entries > self.count:
            assert not any(self.now_ms < one[1] and not one[2] for one in right.values())

    @invariant()
    def is_bounded(self) -> None:
        if hasattr(self, "cache"):
            assert len(self.cache) <= self.cache.max_entries


CacheAgainstDictionary.TestCase.settings = settings(max_examples=60, stateful_step_count=30, deadline=None)
TestAgainstAModel = CacheAgainstDictionary.TestCase


# In words


def test_what_is_kept_is_told_in_words() -> None:
    cache = Cache()
    result = {"ttlMs": 1500, "cacheScope": "public", "tools": []}
    cache.store("tools/list", {"cursor": "a", "_meta": {}}, result, 0.25)

    def told(now_ms: float) -> str:
        (row,) = cache.snapshot(now_ms)
        return in_words(row)

    assert told(1) == "tools/list cursor 'a': public, fresh until 1500.25 ms"
    assert told(1500.25) == "tools/list cursor 'a': public, stale since 1500.25 ms"
    cache.invalidate("notifications/tools/list_changed", None)
    assert told(1) == "tools/list cursor 'a': public, invalidated"
