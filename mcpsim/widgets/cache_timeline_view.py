"""What a cache timeline shows, as plain data: who kept what for how long, and who was served from where.

Pure functions. What a cache keeps is told by the recording itself: a client or gateway with a cache says
what it remembers. A trace from elsewhere says nothing of it: there a bar is what the hints allow.

https://modelcontextprotocol.io/specification/2026-07-28/server/utilities/caching
"""

from __future__ import annotations

import html
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple, cast

from mcpsim.eras.pages import spec_url
from mcpsim.messages import ErrorResponse, Notification, Request, Response
from mcpsim.recording import Event, Frame, Recording, events
from mcpsim.utilities.caching import (
    CACHEABLE,
    LISTS_OF,
    READ,
    RESOURCE_UPDATED,
    RETRY_MEMBERS,
    in_ms,
    in_words,
)
from mcpsim.widgets.passing import Passing, passing_of
from mcpsim.widgets.reading import Call, Conversation, headers_of, read
from mcpsim.widgets.text import clock, duration, lane_name, one_line

MAX_LANES: Final = 30
MAX_MOMENTS: Final = 500
MAX_LABEL: Final = 90
MAX_CONTENT: Final = 60
_TICKS: Final = 6
# Some 30,000 years, in milliseconds: no result is fresh for longer.
_LONGEST_MS: Final = 10**15

# Where an answer comes from: the sign and the words for it.
OWN: Final = "own"
SHARED: Final = "shared"
GATEWAY: Final = "gateway"
SERVER: Final = "server"
NOBODY: Final = "nobody"
SOURCES: Final[Mapping[str, str]] = {
    OWN: "own cache",
    SHARED: "a cache shared by the clients",
    GATEWAY: "the gateway's cache",
    SERVER: "the server",
    NOBODY: "nobody, or an error",
}

RULES: Final = (
    "A result is fresh while now < the time when it was received + `ttlMs`. Then it is stale, and the "
    "client SHOULD ask again when it next needs it. A notification makes it stale at once. A public result "
    "MAY be served to any user; a private one MUST NOT be shared across authorization contexts. A time to "
    "live is a hint: what is fresh may be out of date."
)

# In these words clients and gateways note that they answer from their cache.
_FRESH: Final = re.compile(r"(\S+) is answered from the cache: fresh for another ([\d.]+) ms\.")
_STALE: Final = re.compile(r"(\S+) is answered from the cache, stale, because of: (.*)", re.DOTALL)
_SPOILED: Final = re.compile(r"(notifications/\S+): \d+ cached results? (?:is|are) stale from now on\.")
_OF_GATEWAY: Final = re.compile(r"(\S+) is answered from the cache: the result is ")

_Key = tuple[str, str]


class Mark(NamedTuple):
    """Something else that happened: a time in microseconds, and what, in a sentence."""

    at_us: int
    text: str


@dataclass(slots=True)
class _Entry:
    """A result that is kept, or may be.

    Attributes:
        cache: the lane of whoever has the cache, or the name of a cache that several share.
        holder: whose it is, where it is private; otherwise "".
        owner: the row in which it is shown.
    """

    cache: str
    holder: str
    owner: str
    key: _Key
    words: str
    scope: str
    start_us: int
    fresh_until_us: int
    kept: bool
    content: str
    stale_us: int
    why_stale: str = ""
    end_us: int | None = None


@dataclass(slots=True)
class _Ask:
    """Somebody needed a result."""

    who: str
    key: _Key
    at_us: int
    source: str = NOBODY
    text: str = ""


@dataclass(slots=True)
class _Timeline:
    recording: Recording
    conversation: Conversation
    passing: Passing
    imported: bool
    shared: Mapping[str, str]
    asks: list[_Ask] = field(default_factory=list[_Ask])
    entries: list[_Entry] = field(default_factory=list[_Entry])
    # What every cache has now; of a private result, whose it is belongs to the key.
    open: dict[str, dict[tuple[_Key, str], _Entry]] = field(
        default_factory=dict[str, dict[tuple[_Key, str], _Entry]]
    )
    moments: list[tuple[int, str, str]] = field(default_factory=list[tuple[int, str, str]])
    keys: dict[_Key, str] = field(default_factory=dict[_Key, str])
    by_call: dict[int, _Ask] = field(default_factory=dict[int, _Ask])
    clients: dict[str, str] = field(default_factory=dict[str, str])
    # The last notification that came to each gateway.
    heard: dict[str, Notification] = field(default_factory=dict[str, Notification])
    tokens: dict[str, str] = field(default_factory=dict[str, str])
    # The scopes of what passed through a gateway, by request and the gateway's lane.
    passed: dict[tuple[_Key, str], set[str]] = field(default_factory=dict[tuple[_Key, str], set[str]])

    # ------------------------------------------------------------------------------------- reading

    def read(self) -> None:
        frames = {frame.number: frame for frame in self.recording.frames}
        for index, event in enumerate(self.recording.events):
            frame = frames.get(event.frame)
            if event.kind == events.SENT and frame is not None:
                self._sent(frame)
            elif event.kind == events.DELIVERED and frame is not None:
                self._delivered(index, event, frame)
            elif event.kind == events.NOTE:
                self._noted(event)
            elif event.kind == events.STATE:
                self._remembered(event)
        for entry in self.entries:
            until = entry.end_us if entry.end_us is not None else self.last_us
            if entry.kept and not entry.why_stale and entry.start_us < entry.fresh_until_us <= until:
                text = f"From now on it is stale in {self._place(entry)}."
                self._tell(entry.fresh_until_us, entry.key, text)

    @property
    def last_us(self) -> int:
        return max((at_us for at_us, _, _ in self.moments), default=0)

    def _tell(self, at_us: int, key: _Key | None, text: str) -> None:
        self.moments.append((at_us, "" if key is None else self.keys[key], text))

    def _sent(self, frame: Frame) -> None:
        call = self.conversation.readings[frame.number].call
        if call is None or call.frame != frame.number or not _is_cacheable(call):
            return
        if frame.sender in self.passing.gateways:
            return
        who = self._client(frame)
        key = self._key(call.request)
        ask = _Ask(who, key, frame.sent_us)
        self.asks.append(ask)
        self.by_call[frame.number] = ask
        self._tell(frame.sent_us, key, f"{who} asks.")

    def _client(self, frame: Frame) -> str:
        """The lane of a client; whose principal it acts for is kept beside it."""
        who = lane_name(frame.sender)
        given = headers_of(frame.head).get("authorization", "").removeprefix("Bearer ").strip()
        if who not in self.clients:
            # The token itself may be a secret: it is only said who has the same.
            name = "" if not given or given == frame.sender else f"principal {len(self.tokens) + 1}"
            self.clients[who] = self.tokens.setdefault(given, name) if given else ""
        return who

    def _key(self, request: Request) -> _Key:
        params = {name: value for name, value in (request.params or {}).items() if name != "_meta"}
        key = (request.method, json.dumps(params, sort_keys=True, default=str))
        if key not in self.keys:
            cursor = params.get("cursor")
            what = params.get("uri") if "uri" in params else None if cursor is None else f"page at {cursor!r}"
            self.keys[key] = one_line(f"{request.method} {what}" if what else request.method, MAX_LABEL)
        return key

    def _delivered(self, index: int, event: Event, frame: Frame) -> None:
        message = frame.parsed
        if isinstance(message, Notification):
            if frame.receiver in self.passing.gateways:
                # Whether it listens is its own business: one that does says so.
                self.heard[lane_name(frame.receiver)] = message
            else:
                self._invalidate(event.at_us, self._cache_of(frame.receiver), message)
            return
        call = self.conversation.readings[frame.number].call
        if call is None or not _is_cacheable(call) or not isinstance(message, Response | ErrorResponse):
            return
        if call.sender != frame.receiver:
            return
        ask = self.by_call.get(call.frame)
        if isinstance(message, ErrorResponse):
            if ask is not None and not ask.text:
                ask.text = one_line(f"error {message.code}", MAX_CONTENT)
                self._tell(event.at_us, ask.key, f"{ask.who} gets an error: {message.code}.")
            return
        self._answered(index, event, frame, call, message.result, ask)

    def _answered(
        self,
        index: int,
        event: Event,
        frame: Frame,
        call: Call,
        result: Mapping[str, Any],
        ask: _Ask | None,
    ) -> None:
        key = self._key(call.request)
        content = _content(result)
        if ask is not None:
            # That a gateway answers by itself it said itself, before it did so.
            source = "" if ask.source == GATEWAY else " from the server"
            ask.source = GATEWAY if ask.source == GATEWAY else SERVER
            ask.text = content
            self._tell(event.at_us, key, f"{ask.who} gets the answer{source}{_quoted(content)}.")
        retry = not RETRY_MEMBERS.isdisjoint(call.request.params or {})
        if retry or result.get("resultType", "complete") != "complete":
            return
        entry = self._entry(event, frame, call, result, key, content)
        if frame.receiver in self.passing.gateways:
            self.passed.setdefault((key, lane_name(frame.receiver)), set()).add(entry.scope)
        entry.kept = self._keeps(index, entry)
        if entry.kept or (self.imported and entry.fresh_until_us > entry.start_us):
            self._store(entry, lane_name(frame.receiver))
            verb = "keeps it" if entry.kept else "may keep it"
            told = f"{lane_name(frame.receiver)} {verb}: {entry.words}."
            if entry.scope == "private" and frame.receiver in self.passing.gateways:
                told += " A private result MUST NOT be in a cache for everybody."
            self._tell(event.at_us, key, told)

    def _entry(
        self, event: Event, frame: Frame, call: Call, result: Mapping[str, Any], key: _Key, content: str
    ) -> _Entry:
        ttl: Any = result.get("ttlMs")
        whole = isinstance(ttl, int) and not isinstance(ttl, bool)
        ttl_ms = min(max(cast("int", ttl), 0), _LONGEST_MS) if whole else 0
        scope = "public" if result.get("cacheScope") == "public" else "private"
        fresh_until = event.at_us + ttl_ms * 1000
        words = f"{scope}, fresh for {duration(ttl_ms * 1000)}" if ttl_ms else f"{scope}, stale at once"
        who = lane_name(frame.receiver)
        cache = self.shared.get(who, who)
        holder = who if scope == "private" else ""
        owner = f"{cache}, for {who}" if cache != who and holder else cache
        return _Entry(
            cache,
            holder,
            owner,
            key,
            words,
            scope,
            event.at_us,
            fresh_until,
            False,
            content,
            fresh_until,
        )

    def _keeps(self, index: int, entry: _Entry) -> bool:
        """Whether its owner says, at this very time, that it remembers the result."""
        for event in self.recording.events[index + 1 :]:
            if event.at_us != entry.start_us:
                return False
            if event.kind == events.STATE and self._cache_of(event.party) == entry.cache:
                rows = _rows(event)
                until = in_ms(entry.fresh_until_us / 1000)
                if any(row.startswith(self._prefix(entry)) and until in row for row in rows):
                    return True
        return False

    def _prefix(self, entry: _Entry) -> str:
        params: dict[str, Any] = json.loads(entry.key[1])
        row = {
            "method": entry.key[0],
            "params": params,
            "scope": entry.scope,
            "fresh_until_ms": 0,
            "state": "fresh",
        }
        return in_words(row).partition(", fresh until")[0]

    def _cache_of(self, party: str) -> str:
        who = lane_name(party)
        return self.shared.get(who, who)

    def _place(self, entry: _Entry) -> str:
        own = entry.cache not in self.shared.values()
        return f"{entry.owner}'s cache" if own else f"the {entry.owner}"

    def _store(self, entry: _Entry, who: str) -> None:
        kept = self.open.setdefault(entry.cache, {})
        # What this principal could be given before is out of date now, whatever its scope.
        for holder in ("", who):
            old = kept.pop((entry.key, holder), None)
            if old is not None:
                old.end_us = entry.start_us
        kept[(entry.key, entry.holder)] = entry
        self.entries.append(entry)

    def _invalidate(self, at_us: int, cache: str, message: Notification) -> None:
        lists = LISTS_OF.get(message.method, ())
        uri = (message.params or {}).get("uri") if message.method == RESOURCE_UPDATED else None
        for entry in self.open.get(cache, {}).values():
            concerned = entry.key[0] in lists or (
                uri is not None and entry.key[0] == READ and json.loads(entry.key[1]).get("uri") == uri
            )
            if concerned and at_us < entry.stale_us:
                entry.stale_us = at_us
                entry.why_stale = message.method
                text = f"{message.method}: it is stale at once in {self._place(entry)}."
                self._tell(at_us, entry.key, text)

    def _noted(self, event: Event) -> None:
        text: Any = (event.detail or {}).get("text")
        if not isinstance(text, str):
            return
        who = lane_name(event.party)
        if (found := _OF_GATEWAY.match(text)) is not None:
            frame = self.conversation.openings.get(event.exchange)
            ask = self.by_call.get(frame.number) if frame is not None else None
            if ask is not None:
                ask.source = GATEWAY
                text = f"{who} answers {ask.who} from its cache. The server does not hear of it."
                self._tell(event.at_us, ask.key, text)
        elif (found := _SPOILED.match(text)) is not None:
            message = self.heard.get(who)
            if message is not None and message.method == found[1]:
                self._invalidate(event.at_us, self._cache_of(event.party), message)
        elif (found := _FRESH.match(text)) is not None:
            self._served(event, who, found[1], round(float(found[2]) * 1000))
        elif (found := _STALE.match(text)) is not None:
            asked = (one for one in reversed(self.asks) if one.who == who and one.key[0] == found[1])
            ask = next(asked, None)
            if ask is not None:
                ask.source, ask.text = OWN, "stale"
                why = one_line(found[2], 120)
                self._tell(event.at_us, ask.key, f"{who} takes the stale result from its own cache: {why}")

    def _served(self, event: Event, who: str, method: str, left_us: int) -> None:
        """A client took a fresh result from its cache: which one, the time that is left says."""
        gateways = {lane_name(name) for name in self.passing.gateways}
        mine = self._cache_of(who)
        fitting = [
            entry
            for cache, kept in self.open.items()
            if cache not in gateways
            for entry in kept.values()
            if entry.key[0] == method
            and entry.holder in ("", who)
            and abs(entry.fresh_until_us - event.at_us - left_us) <= 1
        ]
        entry = next((one for one in fitting if one.cache == mine), fitting[0] if fitting else None)
        if entry is None:
            return
        source = OWN if entry.cache == who else SHARED
        self.clients.setdefault(who, "")
        self.asks.append(_Ask(who, entry.key, event.at_us, source, entry.content))
        where = "its own cache" if source == OWN else f"the {mine}"
        if entry.cache != mine:
            # Two clients of a recording that were given the same cache, which nobody here was told of.
            where = f"the cache of {entry.cache}"
        self._tell(
            event.at_us,
            entry.key,
            f"{who} takes it from {where}"
            f"{_quoted(entry.content)}: fresh for another {duration(left_us)}. Nothing is sent.",
        )

    def _remembered(self, event: Event) -> None:
        # The end of a connection says nothing of the cache.
        if not event.detail:
            return
        cache, who = self._cache_of(event.party), lane_name(event.party)
        rows = _rows(event)
        kept = self.open.get(cache, {})
        # Of what is private, everybody tells of their own alone.
        told_of = [one for one in kept.values() if one.kept and one.holder in ("", who)]
        for entry in told_of:
            if not any(row.startswith(self._prefix(entry)) for row in rows):
                entry.end_us = event.at_us
                del kept[(entry.key, entry.holder)]
                self._tell(event.at_us, entry.key, f"It is dropped from {self._place(entry)}.")

    # ------------------------------------------------------------------------------------- what comes out

    def data(self, marks: Sequence[Mark]) -> dict[str, Any]:
        for mark in marks:
            self.moments.append((mark.at_us, "", mark.text))
        # Stable: what happens at one time stays in its order.
        self.moments.sort(key=lambda moment: moment[0])
        end_us = max(round(self.last_us * 1.06), 1)
        keys = list(self.keys)[:MAX_LANES]
        there = {ask.source for ask in self.asks}
        return {
            "lanes": [self._lane(key, end_us) for key in keys],
            "more": max(0, len(self.keys) - MAX_LANES),
            "end_us": end_us,
            "axis": [[at_us, clock(at_us)] for at_us in _axis(end_us)],
            "marks": [[mark.at_us, mark.text] for mark in marks],
            "moments": [
                {"at_us": at_us, "at": clock(at_us), "lane": lane, "text": text}
                for at_us, lane, text in self.moments[:MAX_MOMENTS]
            ],
            "sources": [[name, text] for name, text in SOURCES.items() if name in there],
            "imported": self.imported,
            "rules": RULES,
            "urls": [spec_url("modern", "server/utilities/caching")],
        }

    def _lane(self, key: _Key, end_us: int) -> dict[str, Any]:
        rows = [
            self._row(key, who, "client", end_us)
            for who in self.clients
            if any(ask.who == who and ask.key == key for ask in self.asks)
        ]
        # Caches that are no client's own: those of gateways, and those that clients share.
        others = dict.fromkeys(entry.owner for entry in self.entries if entry.key == key)
        rows += [self._row(key, who, "gateway", end_us) for who in others if who not in self.clients]
        for (passed, who), scopes in self.passed.items():
            # What a trace from elsewhere says nothing of may have been kept.
            if passed == key and who not in others and not self.imported:
                why = ": a private result is for one user alone" if scopes == {"private"} else ""
                rows.append(self._row(key, who, "gateway", end_us, f"keeps nothing of this{why}"))
        return {"label": self.keys[key], "rows": rows}

    def _row(self, key: _Key, who: str, kind: str, end_us: int, note: str = "") -> dict[str, Any]:
        principal = self.clients.get(who, "")
        return {
            "who": who,
            "principal": principal,
            "kind": kind,
            "note": note,
            "ticks": [
                {"at_us": ask.at_us, "at": clock(ask.at_us), "source": ask.source, "text": ask.text}
                for ask in self.asks
                if ask.who == who and ask.key == key
            ],
            "bars": [
                _bar(entry, end_us) for entry in self.entries if entry.owner == who and entry.key == key
            ],
        }


def _bar(entry: _Entry, end_us: int) -> dict[str, Any]:
    end = entry.end_us if entry.end_us is not None else end_us
    return {
        "start_us": entry.start_us,
        "stale_us": min(entry.stale_us, end),
        "end_us": end,
        # Whether it is fresh beyond the end of the picture.
        "goes_on": entry.end_us is None and entry.stale_us > end_us,
        "fresh_until": clock(entry.fresh_until_us),
        "scope": entry.scope,
        "words": entry.words,
        "kept": entry.kept,
        "why_stale": entry.why_stale,
        "content": entry.content,
    }


def _is_cacheable(call: Call) -> bool:
    return call.era == "modern" and call.request.method in CACHEABLE


def _rows(event: Event) -> list[str]:
    rows: Any = (event.detail or {}).get("cache")
    return [row for row in cast("list[Any]", rows) if isinstance(row, str)] if isinstance(rows, list) else []


_SINGULAR: Final[Mapping[str, str]] = {
    "tools": "tool",
    "resources": "resource",
    "resourceTemplates": "resource template",
    "prompts": "prompt",
}


def _content(result: Mapping[str, Any]) -> str:
    """What a result says, in few words: a text, or how many members a list has."""
    contents: Any = result.get("contents")
    if isinstance(contents, list) and contents:
        first: Any = cast("list[Any]", contents)[0]
        text: Any = cast("Mapping[str, Any]", first).get("text") if isinstance(first, Mapping) else None
        return one_line(text if isinstance(text, str) else "(binary)", MAX_CONTENT)
    for name in _SINGULAR:
        members: Any = result.get(name)
        if isinstance(members, list):
            count = len(cast("list[Any]", members))
            return f"{count} {name if count != 1 else _SINGULAR[name]}"
    return ""


def _quoted(content: str) -> str:
    return f" ({content})" if content else ""


def _axis(end_us: int) -> Iterator[int]:
    """Round times, about as many as can be read."""
    step = 1
    while end_us / step > _TICKS:
        step = step * 2 if str(step)[0] in "15" else step * 5 // 2
    yield from range(0, end_us + 1, step)


def timeline_data(
    recording: Recording, marks: Sequence[Mark] = (), *, shared: Mapping[str, str] | None = None
) -> dict[str, Any]:
    """The caches of a recording over virtual time, as plain JSON values.

    Args:
        recording: any; only modern results can be kept.
        marks: what else happened, that the recording does not hold.
        shared: for the lane of each client that shares its cache with others, the name of that cache.

    Returns:
        `lanes`: one for each request that can be kept, with a row for each client that asked and for each
        gateway that it passed; each row has `ticks` (who asked and was served from where), `bars` (what was
        kept) and `note` (why there is nothing to be seen of a gateway, or ""). `moments`: everything that
        happened, in order. Times are in microseconds.
    """
    conversation = read(recording)
    imported = recording.header.get("source") == "import"
    timeline = _Timeline(recording, conversation, passing_of(recording, conversation), imported, shared or {})
    timeline.read()
    return timeline.data(marks)


def timeline_text(data: Mapping[str, Any]) -> str:
    """What happened, as text."""
    lines = [str(data["title"])]
    if not data["lanes"]:
        lines.append("Nothing in this recording can be kept.")
    for lane in data["lanes"]:
        lines.append(lane["label"])
        for row in lane["rows"]:
            told = [f"{tick['at']} from {SOURCES[tick['source']]}" for tick in row["ticks"]]
            told += [
                f"kept {clock(bar['start_us'])} to {clock(bar['end_us'])} ({bar['words']})"
                for bar in row["bars"]
            ]
            if told:
                lines.append(f"  {row['who']}: {'; '.join(told)}")
    return "\n".join([*lines, *(_line(one) for one in data["moments"])])


def _line(moment: Mapping[str, str]) -> str:
    where = f"{moment['lane']}: " if moment["lane"] else ""
    return f"{moment['at']}: {where}{moment['text']}"


def timeline_html(data: Mapping[str, Any]) -> str:
    """What happened, as a table that runs nothing."""
    rows = "".join(
        f'<tr><th scope="row">{html.escape(one["at"])}</th><td>{html.escape(one["lane"])}</td>'
        f"<td>{html.escape(one['text'])}</td></tr>"
        for one in data["moments"]
    )
    return (
        f"<table><caption>{html.escape(data['title'])}</caption><thead><tr>"
        '<th scope="col">Virtual time</th><th scope="col">Request</th><th scope="col">What happened</th>'
        f"</tr></thead><tbody>{rows}</tbody></table>"
    )
