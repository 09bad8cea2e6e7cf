"""JSON-RPC messages, one a line, without anything that says who sent them, or with a short sign before each.

Known signs are arrows (`->`, `<-`, `>>>`, `<<<`), words (`send`, `recv`, `out`, `in`) and names (`client:`,
`from server`, `c2s`). A name says who sent the message. An arrow or a word does not, as long as it is not
known whose log it is: that is told by the messages whose method only one side may send.

The same for messages that were written over several lines, for a file that is one array of messages, and for
lines that are objects with the message as one member beside others, such as `direction` and `timestamp`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple, cast

from mcpsim.errors import RecordingError
from mcpsim.recording.readers.bodies import Body, is_jsonrpc, message_of
from mcpsim.recording.readers.directions import OTHER, Directions, Side, sender_of
from mcpsim.recording.readers.log_lines import MAX_PREFIX, several, split_at_message, where
from mcpsim.recording.readers.model import Format, Found
from mcpsim.recording.readers.source import NOT_JSON, Source, shown
from mcpsim.recording.readers.times import Clock, stamp_ms

NAME: Final = "json-rpc"

_CLIENT: Final = r"(?:client|c|editor|host)"
_SERVER: Final = r"(?:server|s)"
_TO: Final = r"[\s_-]*(?:-+>|=+>|→|2|to)[\s_-]*"
_FLAGS: Final = re.IGNORECASE | re.ASCII
# The first that is found says it.
_NAMED: Final[Sequence[tuple[re.Pattern[str], Side]]] = (
    (re.compile(rf"\b{_CLIENT}{_TO}{_SERVER}\b|\bfrom[ _-]client\b|\bto[ _-]server\b", _FLAGS), "client"),
    (re.compile(rf"\b{_SERVER}{_TO}{_CLIENT}\b|\bfrom[ _-]server\b|\bto[ _-]client\b", _FLAGS), "server"),
    (re.compile(r"\b(?:client|stdin)\b", _FLAGS), "client"),
    (re.compile(r"\b(?:server|stdout)\b", _FLAGS), "server"),
)
OUT: Final = "out"
IN: Final = "in"
_SIGNS: Final[Sequence[tuple[re.Pattern[str], str]]] = (
    (re.compile(r"-+>|=+>|→|⇒|>+\s*$"), OUT),
    (re.compile(r"<-+|<=+|←|⇐|<+\s*$"), IN),
    (re.compile(r"\b(?:send(?:ing)?|sent|out(?:going|bound)?|tx|write|wrote)\b", _FLAGS), OUT),
    (re.compile(r"\b(?:recv|receiv(?:e|ed|ing)|in(?:coming|bound)?|rx|read)\b", _FLAGS), IN),
)
_OPPOSITES: Final[Mapping[str, str]] = {OUT: IN, IN: OUT, "client": "server", "server": "client"}
# A sign of direction is meant as one only if hardly any message contradicts it.
_TRUSTED: Final = 0.9


class _Line(NamedTuple):
    where: str
    prefix: str
    body: Body


def _claims(source: Source) -> int:
    if source.document is not NOT_JSON:
        several = _array(source)
        return sum(map(is_jsonrpc, several)) if several else int(is_jsonrpc(source.document))
    # With something before them, messages are what any log has: a known one is the better guess.
    return source.objects(lambda value: _message_in(value) is not None) or int(
        any(b'"jsonrpc"' in line for _, line in source.lines)
    )


def _array(source: Source) -> list[Any]:
    """The messages of a file that is one array of them. An array of two may be a batch, but then the file
    would hold nothing else."""
    document = source.document
    return cast("list[Any]", document) if isinstance(document, list) else []


def _message_in(value: Any) -> tuple[str, Any] | None:
    """The message of a line, and what stands beside it as a text. A message alone has nothing beside it."""
    if is_jsonrpc(value):
        return "", value
    members = cast("dict[str, Any]", value).items() if isinstance(value, dict) else ()
    inner = [one for _, one in members if is_jsonrpc(one)]
    if len(inner) != 1:
        return None
    beside = " ".join(f"{name} {one}" for name, one in members if isinstance(one, str))
    return beside[:MAX_PREFIX], inner[0]


def _read(source: Source, found: Found) -> None:
    several_lines = source.document is NOT_JSON and not _one_a_line(source)
    messages = list(_messages(source, found, several_lines=several_lines))
    signs = [_sign(line.prefix) for line in messages]
    meaning = _meaning(messages, signs)
    directions = Directions()
    clock = Clock()
    said = guessed = 0
    for line, sign in zip(messages, signs, strict=True):
        side = meaning.get(sign)
        told = directions.tell(line.body.value, side)
        said += side is not None
        guessed += not told.sure
        row = {"from": told.side, **clock.row(stamp_ms(line.prefix)), **line.body.part}
        found.add(row, line.where)
    _explain(found, len(messages), said, guessed, signs, meaning)


def _one_a_line(source: Source) -> bool:
    return any(
        split_at_message(line) and line.rstrip()[-1:] in b"}]" and b'"jsonrpc"' in line
        for _, line in source.lines
    )


def _messages(source: Source, found: Found, *, several_lines: bool) -> Iterator[_Line]:
    if source.document is not NOT_JSON:
        for number, value in enumerate(_array(source) or [source.document], start=1):
            if is_jsonrpc(value):
                yield _Line(f"entry {number}", "", Body({"message": value}, value))
            else:
                found.skip(f"entry {number}", "It is no JSON-RPC message.")
        return
    for number, text in source.blocks if several_lines else source.lines:
        split = split_at_message(text)
        if split is None:
            found.skip(where(number), f"There is no JSON-RPC message in {shown(text)}.")
            continue
        prefix, text = split
        try:
            body = message_of(text, is_message=lambda value: _message_in(value) is not None)
        except RecordingError as error:
            found.skip(where(number), str(error))
            continue
        beside = _message_in(body.value)
        if beside is not None and beside[1] is not body.value:
            prefix, body = beside[0], Body({"message": beside[1]}, beside[1])
        yield _Line(where(number), prefix, body)


def _sign(prefix: str) -> str:
    """What stands before a message: "client", "server", "out", "in", or ""."""
    for pattern, side in _NAMED:
        if pattern.search(prefix):
            return side
    for pattern, sign in _SIGNS:
        if pattern.search(prefix):
            return sign
    return ""


def _meaning(messages: Sequence[_Line], signs: Sequence[str]) -> Mapping[str, Side]:
    """Which side each sign stands for; nothing for a sign that the messages contradict."""
    votes: dict[str, dict[Side, int]] = {}
    for line, sign in zip(messages, signs, strict=True):
        side = sender_of(line.body.value)
        if sign and side is not None:
            of_sign = votes.setdefault(sign, {"client": 0, "server": 0})
            of_sign[side] += 1
    meaning: dict[str, Side] = {}
    for sign, counts in votes.items():
        side = max(counts, key=counts.__getitem__)
        if counts[side] >= _TRUSTED * sum(counts.values()):
            meaning[sign] = side
    for sign, opposite in _OPPOSITES.items():
        if sign in signs and sign not in votes:
            if opposite in meaning:
                meaning[sign] = OTHER[meaning[opposite]]
            elif sign == "client" or sign == "server":
                meaning[sign] = sign
    for sign, opposite in _OPPOSITES.items():
        if sign in meaning and meaning.get(opposite) == meaning[sign]:
            # Both stand before messages of one side: they are no directions.
            del meaning[sign], meaning[opposite]
    return meaning


def _explain(
    found: Found, count: int, said: int, guessed: int, signs: Sequence[str], meaning: Mapping[str, Side]
) -> None:
    for sign, words in ((OUT, "an arrow or a word for sending"), (IN, "an arrow or a word for receiving")):
        if sign in meaning:
            found.note(f"Messages with {words} before them were taken for the {meaning[sign]}'s.")
    ignored = sorted({sign for sign in signs if sign and sign not in meaning})
    if ignored:
        found.note("What stands before the messages does not tell who sent them, and was not used.")
    inferred = count - said
    if not inferred:
        return
    text = (
        "Directions were inferred: nothing in the file says who sent "
        f"{several(inferred, 'message', 'messages')}, so methods and ids had to tell."
    )
    if guessed:
        text += f" For {guessed} of them they could not, and the direction is a guess."
    found.note(text)


PLAIN: Final = Format(NAME, "JSON-RPC messages, one a line", _claims, _read)
