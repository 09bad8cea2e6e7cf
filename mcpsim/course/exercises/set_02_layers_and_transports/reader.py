"""Exercise: cut what a pipe brings into messages, and skip what is none."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from random import Random
from typing import Any, Final, cast

from mcpsim.course.exercises.exercise import Passed, Task
from mcpsim.course.exercises.learner import Learner, is_placeholder
from mcpsim.course.exercises.plain import items_of
from mcpsim.course.exercises.set_02_layers_and_transports.rules import ONE_LINE, ONLY_MESSAGES, STDIO, UTF_8
from mcpsim.course.exercises.showing import name_of, show
from mcpsim.course.exercises.verdict import NotAttempted, NotYet, Rule
from mcpsim.messages import ErrorResponse, Notification, Request, Response, to_object

SEEDS: Final = (1, 2, 3, 4)

Json = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Stream:
    """What a pipe brings.

    Attributes:
        what: what is special about it, to follow the words "a stream".
        lines: each line with its newline, or without where it is the last; and whether it is a message.
        rule: what decides.
        look: what to look at where it is read otherwise.
        sizes: how long its pieces are; None for each line by itself.
    """

    what: str
    lines: tuple[tuple[bytes, bool], ...]
    rule: Rule
    look: str
    sizes: tuple[int, int] | None

    @property
    def messages(self) -> list[Json]:
        """The messages in it, as objects."""
        return [json.loads(line) for line, is_message in self.lines if is_message]

    def pieces(self, rng: Random) -> list[bytes]:
        """The bytes of it, cut by chance."""
        if self.sizes is None:
            return [line for line, _ in self.lines]
        data = b"".join(line for line, _ in self.lines)
        pieces: list[bytes] = []
        while data:
            size = rng.randint(*self.sizes)
            pieces.append(data[:size])
            data = data[size:]
        return pieces


_MIDDLE: Final = (
    "A piece may end anywhere, and bring several lines at once. Keep the rest until its newline comes."
)
_BYTES: Final = (
    "Cut the bytes at the newlines first, and decode whole lines. Only the byte 0x0A ends a line; Python's "
    "`splitlines` knows more ends than that."
)
_SKIP: Final = "Try to read each line. Where that fails, or it is no message, go on with the next one."
_REST: Final = "A line is whole when its newline is there."


def streams(seed: int) -> Iterator[Stream]:
    """Streams of every kind, the simple ones first."""
    rng = Random(f"streams:{seed}")
    yield Stream("of two messages, each in a piece", _good(rng, 2), ONE_LINE, _SKIP, None)
    yield Stream("of three messages in one piece", _good(rng, 3), ONE_LINE, _MIDDLE, (10**6, 10**6))
    yield Stream("of messages cut into short pieces", _good(rng, 4), ONE_LINE, _MIDDLE, (1, 30))
    yield Stream(
        "with letters of several bytes and unusual spaces",
        (*_letters(rng), *_good(rng, 1)),
        UTF_8,
        _BYTES,
        (7, 40),
    )
    yield Stream("in pieces of one byte", (*_good(rng, 1), *_letters(rng)), ONE_LINE, _MIDDLE, (1, 1))
    yield Stream(
        "with a line for people in it", (_noise(rng), *_good(rng, 2)), ONLY_MESSAGES, _SKIP, (20, 60)
    )
    yield Stream(
        "with JSON that is no message",
        (*_good(rng, 1), *_other_json(rng), *_good(rng, 1)),
        ONLY_MESSAGES,
        _SKIP,
        (20, 60),
    )
    yield Stream(
        "with bytes that are not UTF-8",
        ((b"caf\xe9 is open\n", False), *_good(rng, 2)),
        UTF_8,
        _SKIP,
        (20, 60),
    )
    yield Stream(
        "that ends in the middle of a message", (*_good(rng, 2), _half(rng)), ONE_LINE, _REST, (20, 60)
    )
    yield Stream("with nothing in it", (), ONE_LINE, _REST, (1, 1))


def _line(message: Any, rng: Random) -> bytes:
    spaced = rng.random() < 0.5
    text = json.dumps(message, ensure_ascii=False, separators=None if spaced else (",", ":"))
    return text.encode() + b"\n"


def _message(rng: Random, text: str) -> Json:
    id = rng.randrange(1, 10_000)
    kinds: tuple[Callable[[], Json], ...] = (
        lambda: {"id": id, "result": {"resultType": "complete", "content": [{"type": "text", "text": text}]}},
        lambda: {"method": "notifications/message", "params": {"level": "info", "data": text}},
        lambda: {"id": id, "error": {"code": -32602, "message": text}},
    )
    return {"jsonrpc": "2.0", **rng.choice(kinds)()}


def _good(rng: Random, count: int) -> tuple[tuple[bytes, bool], ...]:
    texts = ("two\nlines", "done", 'a "word"', f"ticket {rng.randrange(1_000)}", "tab\tand {brace}")
    return tuple((_line(_message(rng, rng.choice(texts)), rng), True) for _ in range(count))


def _letters(rng: Random) -> tuple[tuple[bytes, bool], ...]:
    # U+2028 and U+0085 may stand in a JSON string, and str.splitlines takes them for the end of a line.
    texts = ("Büro\u2028zwei", "naïve\u0085café", "日本語 ☕ 𝄞")
    return tuple((_line(_message(rng, text), rng), True) for text in rng.sample(texts, 3))


def _noise(rng: Random) -> tuple[bytes, bool]:
    return rng.choice(
        [b"help-desk is ready\n", b"WARNING: slow\n", b"loading... 100 %\n", b"{not json}\n", b"\n"]
    ), False


def _other_json(rng: Random) -> tuple[tuple[bytes, bool], ...]:
    others: tuple[Any, ...] = (
        {"level": "info", "event": "found"},
        [1, 2],
        42,
        "ready",
        None,
        {"id": 1, "result": {}},
    )
    return tuple((_line(other, rng), False) for other in rng.sample(others, 4))


def _half(rng: Random) -> tuple[bytes, bool]:
    line = _line(_message(rng, "done"), rng)
    # With all of its braces it is JSON, and still no line.
    return (line[:-1] if rng.random() < 0.5 else line[: len(line) // 2]), False


def grade(answer: object, learner: Learner) -> Passed:
    """Call the function with streams of every kind."""
    seen = 0
    for seed in SEEDS:
        rng = Random(f"pieces:{seed}")
        for stream in streams(seed):
            pieces = stream.pieces(rng)
            on = f"a stream {stream.what}: {show(pieces)}"
            value = learner.call(answer, list(pieces), on=on, rule=stream.rule)
            if is_placeholder(value):
                raise NotAttempted
            _compare(answer, value, stream, pieces)
            seen += 1
    return Passed(
        f"{seen} streams, cut in many ways: every message was found once, in order, and nothing else.",
        ONE_LINE,
    )


def _compare(answer: object, value: object, stream: Stream, pieces: list[bytes]) -> None:
    items = items_of(value)
    if items is None:
        raise NotYet(
            f"{name_of(answer)} returned {show(value)}.", look="Return a list of the messages, in order."
        )
    found = [_object(item) for item in items]
    if found == stream.messages:
        return
    raise NotYet(
        f"A stream {stream.what}, in {len(pieces)} pieces: {show(pieces)}. It has {len(stream.messages)} "
        f"messages; {name_of(answer)} returned {_said(items, found, stream)}.",
        stream.rule,
        stream.look,
    )


def _said(items: list[Any], found: list[Any], stream: Stream) -> str:
    if len(items) != len(stream.messages):
        return f"{len(items)}: {show(items)}"
    place = next(n for n, (one, other) in enumerate(zip(found, stream.messages, strict=True)) if one != other)
    return f"{show(items[place])} as message {place + 1}, which is {show(stream.messages[place])}"


def _object(item: object) -> Any:
    """What was returned for a message: as an object, as mcpsim reads it, or as its text or bytes."""
    if isinstance(item, Request | Notification | Response | ErrorResponse):
        return to_object(item)
    if isinstance(item, dict):
        return dict(cast("Json", item))
    if isinstance(item, str | bytes):
        try:
            return json.loads(item)
        except ValueError:
            return None
    return None


TASK: Final = Task(
    name="reader",
    title="Read a pipe",
    text="""\
Write the reader of a client. It is given the pieces that came out of a server's `stdout`, a list of `bytes`,
and returns the list of the messages in them, in order: each as the object that `json.loads` makes of it.

- A piece may hold half a line, or several. It may even end within a letter.
- A line that is no message is skipped: a line for people, an empty one, JSON that is not an object with
  `"jsonrpc": "2.0"`, bytes that are not UTF-8.
- What comes after the last newline is not a line yet. Leave it out.

You need not look at what is in a message: an object with `"jsonrpc": "2.0"` is enough here.""",
    answer="messages_in",
    starter='''\
import json


def messages_in(pieces):
    """The messages in the pieces that a pipe has brought, in order."""
    return ...''',
    hints=(
        "Two steps: first make whole lines of the pieces, then look at each line by itself.",
        'Work with bytes until a line is whole: a newline is the byte `b"\\n"`, and it is never a part of '
        'another letter in UTF-8. `.split(b"\\n")` leaves the rest after the last newline as its last item.',
        '`json.loads(line.decode("utf-8"))` raises a ValueError where the line is no JSON in UTF-8; a '
        "`UnicodeDecodeError` is one too. Then ask whether it is a dict, and what its `jsonrpc` says.",
    ),
    solution=(
        """\
import json


def message_of(line):
    try:
        found = json.loads(line.decode("utf-8"))
    except ValueError:
        return None
    is_message = isinstance(found, dict) and found.get("jsonrpc") == "2.0"
    return found if is_message else None""",
        """\
def messages_in(pieces):
    *lines, unfinished = b"".join(pieces).split(b"\\n")
    found = [message_of(line) for line in lines]
    return [message for message in found if message is not None]""",
    ),
    why="The newline is the only border that counts. Pieces are an accident of the pipe, and letters are "
    "read when the line is whole. A client that runs keeps the unfinished rest for the next piece.",
    grade=grade,
    pages=(("stdio", STDIO), ("encoding", "basic/transports/index#messages")),
    points=15,
)
