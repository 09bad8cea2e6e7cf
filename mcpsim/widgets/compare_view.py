"""Two recordings side by side, aligned by what the story did. Pure: recordings in, plain JSON out.

First the requests of both are aligned: those that ask for the same thing, and then by who asks, the method
and what it names. Then everything else is aligned by the request that it belongs to, and by what it says: so
a progress message stands beside the one of the same call that says the same, and an answer beside the answer.
What only one of them has stands alone, and so does a copy that a fault made.
"""

from __future__ import annotations

import json
from bisect import bisect_left
from collections.abc import Hashable, Iterator, Mapping, Sequence
from html import escape
from typing import Any, Final, NamedTuple, cast

from mcpsim.errors import MalformedMessage
from mcpsim.messages import Notification, Request, Response, read_json
from mcpsim.recording import Frame, Recording, events
from mcpsim.widgets.differences import Difference, differences
from mcpsim.widgets.passing import Passing, passing_of
from mcpsim.widgets.reading import Call, Conversation, headers_of, read
from mcpsim.widgets.steps import Step, Steps, steps_of
from mcpsim.widgets.text import duration, one_line
from mcpsim.widgets.threads import Place, is_retry, threads_of
from mcpsim.widgets.view import player_data

SAME: Final = "same"
DIFFERS: Final = "differs"
ONLY: Final = "only"
#: In both, but in another order: what stands here for one of them stands elsewhere for the other.
MOVED: Final = "moved"

#: How many differences of two messages are shown.
MAX_CHANGES: Final = 40
#: How many edits the exact alignment of requests looks for, before it takes them by their number instead.
MAX_EDITS: Final = 1_000
#: The same among the steps that belong to one request.
MAX_GROUP_EDITS: Final = 200
MAX_NAMED: Final = 6

#: What of a message says which one it is, and nothing about what it says.
_IDS: Final = frozenset(
    {
        ("id",),
        ("params", "progressToken"),
        ("params", "requestId"),
        ("params", "_meta", "progressToken"),
        ("params", "_meta", "io.modelcontextprotocol/subscriptionId"),
        ("result", "_meta", "io.modelcontextprotocol/subscriptionId"),
    }
)
#: The same among the members of params and of results, with the notes of a session or an era.
_ONLY_IDS: Final = frozenset({"_meta", "progressToken", "requestId"})
_KEPT: Final = (
    *("n", "time", "kind", "label", "short", "gist", "from", "to", "what", "rule", "fate", "took", "json"),
    *("raw", "copy_of", "changed", "pins", "era"),
)


class Pair(NamedTuple):
    """One row: a step of each side, or of one.

    Attributes:
        left, right: numbers of steps, from 1; 0 where this side has none here.
        elsewhere: where the side that is 0 has it in another order, the number of its step; otherwise 0.
    """

    left: int
    right: int
    elsewhere: int = 0


def align(left: Recording, right: Recording, *, forced: int = 0) -> tuple[Pair, ...]:
    """Align the steps of two recordings. Every step of each is in one row, and in order.

    The time it takes grows nearly linearly with the number of steps.

    Args:
        forced: so many steps from the first are the same ones in both, whatever they look like.
    """
    sides = (_Side(left), _Side(right))
    named = _named_calls(*sides)
    keys = [side.keys(calls, forced) for side, calls in zip(sides, named, strict=True)]
    return tuple(_rows(*_paired(sides, keys)))


def _paired(
    sides: tuple[_Side, _Side], keys: Sequence[Sequence[Hashable]]
) -> tuple[list[Hashable], list[Hashable]]:
    """The same keys, each in a side once, and in both where two steps belong together.

    Of several steps with one key those that say the same belong together; what stands between two such pairs
    is paired in order.
    """
    groups: tuple[dict[Hashable, list[int]], dict[Hashable, list[int]]] = ({}, {})
    for group, side in zip(groups, keys, strict=True):
        for n, key in enumerate(side):
            group.setdefault(key, []).append(n)
    found: tuple[list[Hashable], list[Hashable]] = (
        [("left", n) for n in range(len(keys[0]))],
        [("right", n) for n in range(len(keys[1]))],
    )
    for key, left in groups[0].items():
        right = groups[1].get(key, [])
        if not right:
            continue
        if len(left) == len(right) == 1:
            both = [(0, 0)]
        else:
            says = [[side.says(n) for n in places] for side, places in zip(sides, (left, right), strict=True)]
            both = with_gaps(common(*says, most=MAX_GROUP_EDITS), len(left), len(right))
        for here, there in both:
            found[0][left[here]] = found[1][right[there]] = ("both", left[here])
    return found


def with_gaps(pairs: Sequence[tuple[int, int]], left: int, right: int) -> list[tuple[int, int]]:
    """The pairs, and in order what stands between two of them on both sides.

    Args:
        pairs: places that grow on both sides.
        left, right: how many places there are on each side.
    """
    found: list[tuple[int, int]] = []
    at = (0, 0)
    for here, there in (*pairs, (left, right)):
        found.extend(zip(range(at[0], here), range(at[1], there), strict=False))
        if here < left:
            found.append((here, there))
        at = (here + 1, there + 1)
    return found


def _rows(left: Sequence[Hashable], right: Sequence[Hashable]) -> Iterator[Pair]:
    places = {key: n for n, key in enumerate(right)}
    both = [(n, places[key]) for n, key in enumerate(left) if key in places]
    aligned = _increasing(both)
    elsewhere_left = dict(both)
    elsewhere_right = {there: here for here, there in both}
    at_left = at_right = 0
    for here, there in (*aligned, (len(left), len(right))):
        for n in range(at_left, here):
            yield Pair(n + 1, 0, elsewhere_left.get(n, -1) + 1)
        for n in range(at_right, there):
            yield Pair(0, n + 1, elsewhere_right.get(n, -1) + 1)
        if here < len(left):
            yield Pair(here + 1, there + 1)
        at_left, at_right = here + 1, there + 1


def _increasing(pairs: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    """The longest part of the pairs in which both numbers grow; the first of them grows already."""
    ends: list[int] = []
    last: list[int] = []
    before: list[int] = []
    for n, (_, there) in enumerate(pairs):
        at = bisect_left(ends, there)
        before.append(last[at - 1] if at else -1)
        if at == len(ends):
            ends.append(there)
            last.append(n)
        else:
            ends[at], last[at] = there, n
    found: list[tuple[int, int]] = []
    n = last[-1] if last else -1
    while n >= 0:
        found.append(pairs[n])
        n = before[n]
    return found[::-1]


def _numbered(keys: Sequence[Hashable]) -> list[Hashable]:
    """The same keys, told apart by how often each came before."""
    counts: dict[Hashable, int] = {}
    found: list[Hashable] = []
    for key in keys:
        counts[key] = counts.get(key, 0) + 1
        found.append((key, counts[key]))
    return found


class _Side:
    """One recording, as it is aligned."""

    def __init__(self, recording: Recording) -> None:
        self.steps: Steps = steps_of(recording)
        self.conversation: Conversation = read(recording)
        self.passing: Passing = passing_of(recording, self.conversation)
        self.places: Mapping[int, Place] = threads_of(recording, self.conversation, self.passing)
        self.copies = {frame.number: frame.copy_of for frame in recording.frames if frame.copy_of}
        self.by_frame = {call.frame: call for call in self.conversation.calls}

    def root(self, call: Call) -> Call:
        """The request that a story made: not a copy, before a gateway, and the first of its rounds."""
        call = self.by_frame.get(self.copies.get(call.frame, call.frame), call)
        place = self.places.get(call.frame)
        if place is not None:
            return place.thread.call
        return self.by_frame.get(self.passing.origins.get(call.frame, call.frame), call)

    def roots(self) -> list[Call]:
        found: dict[int, Call] = {}
        for call in self.conversation.calls:
            root = self.root(call)
            found.setdefault(root.frame, root)
        return list(found.values())

    def keys(self, named: Mapping[int, Hashable], forced: int) -> list[Hashable]:
        return [
            ("forced", step.number) if step.number <= forced else self._key(step, named)
            for step in self.steps.all
        ]

    def says(self, n: int) -> Hashable:
        """What the step at this place says, beside what only tells which message it is."""
        frame = self.steps.all[n].frame
        return "" if frame is None else _says(frame)

    def _key(self, step: Step, named: Mapping[int, Hashable]) -> Hashable:
        # A copy that a fault made is never taken for the message that it doubles, nor for the next one.
        if step.frame is not None and step.frame.copy_of:
            return "copy", self._key_of_one(step, named)
        return self._key_of_one(step, named)

    def _key_of_one(self, step: Step, named: Mapping[int, Hashable]) -> Hashable:
        event, frame = step.event, step.frame
        detail = event.detail or {}
        if frame is None:
            if step.question is not None:
                return event.kind, event.party, step.question.who, step.question.method
            what = detail.get("text") or detail.get("what") or detail.get("name")
            closed = self.conversation.closings.get(step.index)
            about = named.get(self.root(closed).frame) if closed is not None else None
            return event.kind, event.party, event.peer, str(what), about
        reading = self.conversation.readings[frame.number]
        call = reading.call
        about = named.get(self.root(call).frame) if call is not None else None
        onward = frame.receiver if frame.number in self.passing.origins else ""
        way = (reading.from_server, frame.receiver if reading.from_server else frame.sender, onward)
        message = frame.parsed
        part = self.places[call.frame].part if call is not None and call.frame in self.places else 1
        if isinstance(message, Request):
            return "request", way, about or message.method, part
        if isinstance(message, Notification):
            return "notification", way, message.method, about
        if reading.kind in ("response", "error"):
            asks = isinstance(message, Response) and message.result.get("resultType") == "input_required"
            pages = isinstance(message, Response) and "nextCursor" in message.result
            return "answer", way, about, part if asks or pages else "last"
        return reading.kind, way, about


def _named_calls(left: _Side, right: _Side) -> tuple[dict[int, Hashable], dict[int, Hashable]]:
    """A name for each request that a story made: the same for two that are aligned."""
    calls = left.roots(), right.roots()
    names = [[_call_key(call) for call in side] for side in calls]
    exact = [
        [(key, _text(call.request.params)) for key, call in zip(*both, strict=True)]
        for both in zip(names, calls, strict=True)
    ]
    found: tuple[dict[int, Hashable], dict[int, Hashable]] = (
        {call.frame: ("left", call.frame) for call in calls[0]},
        {call.frame: ("right", call.frame) for call in calls[1]},
    )
    # First those that ask for the same thing; between them, those that ask for it with something else.
    pairs: list[tuple[int, int]] = []
    at = (0, 0)
    for here, there in (*common(*exact), (len(names[0]), len(names[1]))):
        between = common(names[0][at[0] : here], names[1][at[1] : there])
        pairs.extend((at[0] + first, at[1] + second) for first, second in between)
        if here < len(names[0]):
            pairs.append((here, there))
        at = (here + 1, there + 1)
    for number, (here, there) in enumerate(pairs):
        found[0][calls[0][here].frame] = found[1][calls[1][there].frame] = ("both", number)
    return found


def _call_key(call: Call) -> Hashable:
    params = call.request.params or {}
    ref: Any = params.get("ref")
    named: dict[str, Any] = cast("dict[str, Any]", ref) if isinstance(ref, dict) else params
    what = named.get("name", named.get("uri", named.get("cursor", "")))
    return call.sender, call.request.method, str(what)


def _says(frame: Frame) -> Hashable:
    if frame.head is not None and not frame.body.strip():
        return frame.head.get("method"), frame.head.get("status")
    message = frame.parsed
    if isinstance(message, Request | Notification):
        return _text(message.params)
    if isinstance(message, Response):
        return _text(message.result)
    return frame.body


def _text(members: Mapping[str, Any] | None) -> str:
    told = {key: value for key, value in (members or {}).items() if key not in _ONLY_IDS}
    try:
        return json.dumps(told, sort_keys=True)
    except (TypeError, ValueError, RecursionError):
        return repr(sorted(told))


def common(
    left: Sequence[Hashable], right: Sequence[Hashable], *, most: int = MAX_EDITS
) -> list[tuple[int, int]]:
    """The places of a longest common subsequence of both, in order.

    Where they differ in very much, equal items are taken by their number instead, which is nearly as good.

    Args:
        most: how many edits are very much.
    """
    start, end = 0, 0
    shorter = min(len(left), len(right))
    while start < shorter and left[start] == right[start]:
        start += 1
    while end < shorter - start and left[-1 - end] == right[-1 - end]:
        end += 1
    middle = _shortest_edit(left[start : len(left) - end], right[start : len(right) - end], most)
    return [
        *((n, n) for n in range(start)),
        *((start + here, start + there) for here, there in middle),
        *((len(left) - end + n, len(right) - end + n) for n in range(end)),
    ]


def _shortest_edit(left: Sequence[Hashable], right: Sequence[Hashable], most: int) -> list[tuple[int, int]]:
    # Myers: for each number of edits, how far one comes on each diagonal.
    limit = min(len(left) + len(right), most)
    middle = limit + 1
    furthest = [-1] * (2 * middle + 1)
    furthest[middle + 1] = 0
    trace: list[list[int]] = []
    wide, high = len(left), len(right)
    for edits in range(limit + 1):
        trace.append(furthest[middle - edits - 1 : middle + edits + 2])
        for diagonal in range(-edits, edits + 1, 2):
            at = middle + diagonal
            down = diagonal == -edits or (diagonal != edits and furthest[at - 1] < furthest[at + 1])
            x = furthest[at + 1] if down else furthest[at - 1] + 1
            y = x - diagonal
            while x < wide and y < high and left[x] == right[y]:
                x, y = x + 1, y + 1
            furthest[at] = x
            if x >= wide and y >= high:
                return _walk_back(trace, wide, high)
    places = {key: n for n, key in enumerate(_numbered(right))}
    both = [(n, places[key]) for n, key in enumerate(_numbered(left)) if key in places]
    return _increasing(both)


def _walk_back(trace: Sequence[Sequence[int]], x: int, y: int) -> list[tuple[int, int]]:
    found: list[tuple[int, int]] = []
    for edits in range(len(trace) - 1, -1, -1):
        furthest = trace[edits]
        diagonal = x - y
        # The middle of this part of the diagonals is that of number 0.
        at = edits + 1 + diagonal
        down = diagonal == -edits or (diagonal != edits and furthest[at - 1] < furthest[at + 1])
        before = diagonal + 1 if down else diagonal - 1
        from_x = furthest[edits + 1 + before]
        from_y = from_x - before
        while x > max(from_x, 0) and y > max(from_y, 0):
            x, y = x - 1, y - 1
            found.append((x, y))
        x, y = from_x, from_y
    return found[::-1]


# What is shown


def comparison_data(
    left: Recording, right: Recording, names: tuple[str, str] | None = None, *, forced: int = 0
) -> dict[str, Any]:
    """What a `Comparison` shows, as plain JSON values.

    Args:
        names: the headings of the two columns; found out by default.
        forced: as for `align`.

    Returns:
        `names`, `summary`; `left` and `right` (each `title`, `parties`, `steps`, `texts` and `findings`, as
        `player_data` has them); and `rows`: `left` and `right` (steps, or 0), `state` ("same", "differs",
        "only" or "moved"), `elsewhere` (a step of the other side, or 0), `later` (how much later the right
        one leaves or, if it leaves at the same time, arrives, for people, or "") and `changes` (a list of
        [where, before, after]).
    """
    called = names or names_of(left, right)
    sides = tuple(side_data(player_data(one)) for one in (left, right))
    # What the player leaves out of a very long recording is not here either.
    rows = [
        row
        for row in rows_data(left, right, align(left, right, forced=forced))
        if row["left"] <= len(sides[0]["steps"]) and row["right"] <= len(sides[1]["steps"])
    ]
    return {
        "names": list(called),
        "summary": summary(left, right, rows, called),
        "left": sides[0],
        "right": sides[1],
        "rows": rows,
    }


def side_data(data: Mapping[str, Any]) -> dict[str, Any]:
    """What a comparison needs of the player's data."""
    steps = [{key: step[key] for key in _KEPT if key in step} for step in data["steps"]]
    kept = {key: data[key] for key in ("title", "parties", "texts", "findings", "left_out")}
    return {**kept, "steps": steps}


def rows_data(left: Recording, right: Recording, pairs: Sequence[Pair]) -> list[dict[str, Any]]:
    """The rows of a comparison, as `comparison_data` describes them."""
    ours, theirs = steps_of(left).all, steps_of(right).all
    found: list[dict[str, Any]] = []
    for pair in pairs:
        row: dict[str, Any] = {
            "left": pair.left,
            "right": pair.right,
            "state": MOVED if pair.elsewhere else ONLY,
            "elsewhere": pair.elsewhere,
            "later": "",
            "changes": [],
        }
        if pair.left and pair.right:
            here, there = ours[pair.left - 1], theirs[pair.right - 1]
            row["changes"] = list(_changes(here, there))
            row["state"] = DIFFERS if row["changes"] else SAME
            row["later"] = _later(here, there)
        found.append(row)
    return found


def _later(here: Step, there: Step) -> str:
    """How much later the right one is: when it leaves or, where that is the same, when it arrives."""
    us, what = there.event.at_us - here.event.at_us, ""
    arrived = [one.frame and one.frame.arrived_us for one in (here, there)]
    if not us and arrived[0] is not None and arrived[1] is not None:
        us, what = arrived[1] - arrived[0], "arrives "
    return "" if not us else f"{what}{duration(abs(us))} {'later' if us > 0 else 'earlier'}"


def _changes(here: Step, there: Step) -> Iterator[list[str]]:
    if here.frame is None or there.frame is None:
        before, after = _detail(here), _detail(there)
        if before != after:
            yield ["what", before, after]
        return
    yield from _frame_changes(here.frame, there.frame)


def _detail(step: Step) -> str:
    detail = step.event.detail or {}
    if step.frame is not None:
        return "a message"
    told = [detail.get("text") or detail.get("what") or detail.get("name")]
    return one_line(
        " ".join(str(one) for one in (*told, detail.get("how"), detail.get("outcome")) if one), 120
    )


def _frame_changes(here: Frame, there: Frame) -> Iterator[list[str]]:
    if here.fate != there.fate or here.why != there.why:
        yield ["arrives", _fate(here), _fate(there)]
    before, after = here.head or {}, there.head or {}
    for key in ("method", "path", "status"):
        if before.get(key) != after.get(key):
            yield [f"HTTP {key}", str(before.get(key, "")), str(after.get(key, ""))]
    old, new = headers_of(here.head), headers_of(there.head)
    for name in dict.fromkeys((*old, *new)):
        if old.get(name) != new.get(name):
            yield [
                f"header {one_line(name, 60)}",
                one_line(old.get(name, ""), 90),
                one_line(new.get(name, ""), 90),
            ]
    yield from _body_changes(here.body, there.body, "")
    if (here.arrived_data != here.data) or (there.arrived_data != there.data):
        was = one_line(here.arrived_data.decode("utf-8", "replace"), 120)
        now = one_line(there.arrived_data.decode("utf-8", "replace"), 120)
        if was != now:
            yield ["as it arrives", was, now]


def _body_changes(before: bytes, after: bytes, where: str) -> Iterator[list[str]]:
    if before == after:
        return
    try:
        old, new = read_json(before) if before.strip() else None, read_json(after) if after.strip() else None
    except MalformedMessage:
        yield ["the message", *(one_line(one.decode("utf-8", "replace"), 120) for one in (before, after))]
        return
    found = [one for one in differences(old, new) if one.path not in _IDS]
    for one in found[:MAX_CHANGES]:
        yield [_path(one), one.before, one.after]
    if len(found) > MAX_CHANGES:
        yield [f"and {len(found) - MAX_CHANGES:,} more differences", "", ""]


def _path(one: Difference) -> str:
    path = ".".join(one_line(str(part), 60) for part in one.path) or "the message"
    return f"{path} ({one.name})" if one.name else path


def _fate(frame: Frame) -> str:
    if frame.fate == "delivered":
        return "arrives"
    return f"is lost: {one_line(frame.why, 80)}" if frame.fate == "dropped" else "is on the way at the end"


def names_of(left: Recording, right: Recording) -> tuple[str, str]:
    """What to call two recordings: by what tells them apart."""
    for key in ("era", "transport", "server_era"):
        told = [one_line(_word(one.header.get(key)), 60) for one in (left, right)]
        if told[0] and told[1] and told[0] != told[1]:
            return told[0], told[1]
    faulty = [bool(one.header.get("faults")) for one in (left, right)]
    if faulty[0] != faulty[1]:
        return ("with the fault", "without it") if faulty[0] else ("without the fault", "with it")
    if left.title != right.title:
        return one_line(left.title, 60), one_line(right.title, 60)
    return "first", "second"


def _word(value: Any) -> str:
    if isinstance(value, dict):
        return " and ".join(dict.fromkeys(str(one) for one in cast("dict[str, Any]", value).values()))
    return {"http": "Streamable HTTP"}.get(value, value) if isinstance(value, str) else ""


def summary(
    left: Recording, right: Recording, rows: Sequence[Mapping[str, Any]], names: tuple[str, str]
) -> str:
    """What a comparison comes to, in a few short sentences."""
    sides = (left, right)
    told = [
        f"{name}: {len(side.frames):,} message{'' if len(side.frames) == 1 else 's'}"
        for name, side in zip(names, sides, strict=True)
    ]
    parts = [", ".join(told) + "."]
    for name, side, key in zip(names, sides, ("left", "right"), strict=True):
        found = _only(side, [row[key] for row in rows if row[key] and row["state"] == ONLY])
        if found:
            parts.append(f"Only in {name}: {found}.")
    moved = sum(1 for row in rows if row["state"] == MOVED and row["left"])
    if moved:
        parts.append(f"In another order: {moved:,}.")
    differing = sum(1 for row in rows if row["state"] == DIFFERS)
    if differing:
        parts.append(
            "1 step is in both and differs."
            if differing == 1
            else f"{differing:,} steps are in both and differ."
        )
    if len(parts) == 1:
        parts.append("Only times differ." if any(row["later"] for row in rows) else "Nothing differs.")
    return " ".join(parts)


def _only(recording: Recording, numbers: Sequence[int]) -> str:
    if not numbers:
        return ""
    steps, conversation = steps_of(recording).all, read(recording)
    counts: dict[str, int] = {}
    for number in numbers:
        name = name_of(steps[number - 1], conversation)
        counts[name] = counts.get(name, 0) + 1
    told = [name if count == 1 else f"{name} ({count:,} times)" for name, count in counts.items()]
    more = len(told) - MAX_NAMED
    return ", ".join(told[:MAX_NAMED]) + (f" and {more:,} more" if more > 0 else "")


def name_of(step: Step, conversation: Conversation) -> str:
    """What a step is, without what tells it from others of its kind."""
    frame = step.frame
    if frame is None:
        if step.event.kind == events.CLOSED:
            return f"{step.event.party} closes {(step.event.detail or {}).get('what', '')}".rstrip()
        if step.question is not None:
            return f"a question to the {step.question.who}"
        return "a note" if step.event.kind == events.NOTE else "work that is stopped"
    message = frame.parsed
    if isinstance(message, Request) and is_retry(message):
        return f"{one_line(message.method, 60)} once more"
    if isinstance(message, Request | Notification):
        return one_line(message.method, 60)
    if isinstance(message, Response) and message.result.get("resultType") == "input_required":
        return "a result that asks for input"
    reading = conversation.readings[frame.number]
    about = one_line(reading.call.request.method, 60) if reading.call is not None else ""
    if reading.kind == "http":
        return f"HTTP {(frame.head or {}).get('status', (frame.head or {}).get('method', ''))}"
    return {"response": f"result of {about}", "error": f"error on {about}", "batch": "a batch"}.get(
        reading.kind, "what is not a message"
    )


# For readers without a kernel

MAX_ROWS: Final = 200
_SIGNS: Final = {SAME: "=", DIFFERS: "≠", ONLY: "◇", MOVED: "⇅"}
_WIDTH: Final = 46


def pairs_text(data: Mapping[str, Any]) -> str:
    """The rows of a comparison as text: the same comparison gives the same text."""
    names = data["names"]
    lines = [str(data["summary"]), "", f"{names[0]:<{_WIDTH}}    {names[1]}".rstrip()]
    for row in data["rows"][:MAX_ROWS]:
        left, right = (_line(data[side]["steps"], row[side]) for side in ("left", "right"))
        lines.append(f"{left:<{_WIDTH}} {_SIGNS[row['state']]}  {right}".rstrip())
    more = len(data["rows"]) - MAX_ROWS
    return "\n".join([*lines, *([f"… {more:,} more rows"] if more > 0 else [])])


def pairs_html(data: Mapping[str, Any]) -> str:
    """The rows of a comparison as a table, which runs nothing."""
    heads = "".join(
        f'<th scope="col">{escape(name)}</th>' for name in (data["names"][0], "", data["names"][1])
    )
    rows = "".join(_html_row(data, row) for row in data["rows"][:MAX_ROWS])
    more = len(data["rows"]) - MAX_ROWS
    left_out = f"<p>… {more:,} more rows</p>" if more > 0 else ""
    table = f"<table><thead><tr>{heads}</tr></thead><tbody>{rows}</tbody></table>"
    return f"<p>{escape(data['summary'])}</p>{table}{left_out}"


def _html_row(data: Mapping[str, Any], row: Mapping[str, Any]) -> str:
    left, right = (escape(_line(data[side]["steps"], row[side])) for side in ("left", "right"))
    words = {SAME: "the same", DIFFERS: "differs", ONLY: "only here", MOVED: "in another order"}[row["state"]]
    sign = f'<td title="{words}">{_SIGNS[row["state"]]}</td>'
    return f"<tr><td><bdi>{left}</bdi></td>{sign}<td><bdi>{right}</bdi></td></tr>"


def _line(steps: Sequence[Mapping[str, Any]], number: int) -> str:
    if not 0 < number <= len(steps):
        return ""
    step = steps[number - 1]
    route = f"{step['from']} → {step['to']}" if step["to"] else step["from"]
    lost = " (lost)" if step.get("fate") == "dropped" else ""
    return one_line(f"{route}: {step['label']}{lost}", _WIDTH)
