"""Exercise: repair the broken ones of the twelve messages."""

from __future__ import annotations

from typing import Any, Final, cast

from mcpsim.course.exercises.exercise import Passed, Task
from mcpsim.course.exercises.learner import Learner
from mcpsim.course.exercises.plain import filled_in, require_complete
from mcpsim.course.exercises.set_01_messages.twelve import (
    BROKEN,
    REQUESTS,
    TWELVE,
    Specimen,
)
from mcpsim.course.exercises.showing import show
from mcpsim.course.exercises.tables import rows
from mcpsim.course.exercises.verdict import NotYet, Rule
from mcpsim.errors import McpSimError
from mcpsim.messages import (
    ErrorResponse,
    Message,
    Notification,
    Request,
    Response,
    read_message,
    to_object,
    write_json,
)

_SHAPES: Final[dict[type[Message], str]] = {
    Request: "a request",
    Notification: "a notification",
    Response: "a result response",
    ErrorResponse: "an error response",
}
_READ_IT: Final = "`mcpsim.read_message` says what it is now, or what is wrong with it."
_LEAVE_THE_REST: Final = "Repair what is broken, and leave the rest as it was."
_SAME_ID: Final = Rule('1 and "1" are two ids: a string and an integer are never the same.', REQUESTS)


def grade(answer: object, learner: Learner) -> Passed:
    """Read each repaired message and compare it with what its sender meant."""
    given = filled_in(answer, BROKEN, "repaired")
    for letter, value in given.items():
        _compare(letter, _read(letter, value), TWELVE[letter])
    require_complete(given, BROKEN)
    return Passed("All five are read as what their senders meant, each with the id that it should have.")


def _read(letter: str, value: object) -> Message:
    specimen = TWELVE[letter]
    try:
        return read_message(_bytes(letter, value))
    except McpSimError as error:
        raise NotYet(f"{letter}: {getattr(error, 'message', error)}", specimen.rule, _READ_IT) from None


def _bytes(letter: str, value: object) -> bytes:
    match value:
        case bytes():
            return bytes(value)
        case str():
            return str.encode(value, "utf-8", "surrogatepass")
        case dict():
            return write_json(cast("dict[str, Any]", value))
        case _:
            raise NotYet(
                f"{letter}: {show(value)} is no message.", look="Give the repaired message as bytes: b'{…}'."
            )


def _compare(letter: str, message: Message, specimen: Specimen) -> None:
    meant = specimen.meant
    if meant is None:
        return
    if type(message) is not type(meant):
        raise NotYet(
            f"{letter} is {_SHAPES[type(message)]} now. It should be {_SHAPES[type(meant)]}: "
            f"{specimen.task}.",
            specimen.rule,
            _READ_IT,
        )
    now, wanted = to_object(message), to_object(meant)
    if (type(now["id"]), now["id"]) != (type(wanted["id"]), wanted["id"]):
        raise NotYet(
            f"{letter} has the id {show(now['id'])}. It should be {specimen.task}.", _SAME_ID, _LEAVE_THE_REST
        )
    for member, value in wanted.items():
        if now.get(member) != value:
            raise NotYet(
                f"{letter}: `{member}` is {show(now.get(member))}. It should be {specimen.task}.",
                specimen.rule,
                _LEAVE_THE_REST,
            )
    if now.keys() != wanted.keys():
        extra = ", ".join(sorted(now.keys() - wanted.keys()))
        raise NotYet(f"{letter} has `{extra}`, which it did not have before.", look=_LEAVE_THE_REST)


_TABLE: Final = rows((letter, TWELVE[letter].task) for letter in BROKEN)

TASK: Final = Task(
    name="repair",
    title="Repair the broken ones",
    text=f"""\
Five of the twelve are no messages. Repair them, so that each is read as what its sender meant. Change as
little as you can. Write each as bytes; a string is taken as its UTF-8 bytes.

| message | what its sender meant |
|---|---|
{_TABLE}""",
    answer="repaired",
    starter="""\
repaired = {
    "E": ...,
    "G": ...,
    "H": ...,
    "I": ...,
    "L": ...,
}""",
    hints=(
        "`mcpsim.read_message` says what is wrong with a message. Try it on each of the five.",
        "E and H need one change each, and G and I need something taken away. "
        '`twelve["E"].replace(b"null", b"11")` is a short way to write such a change.',
        "A bytes literal of Python takes ASCII only. Write L as a string: `'…\"Café\"…'.encode()` makes "
        "UTF-8.",
    ),
    solution=(
        """\
twelve = ex.twelve
repaired = {
    "E": twelve["E"].replace(b"null", b"11"),
    "G": twelve["G"].replace(b'"result":{},', b""),
    "H": twelve["H"].replace(b",}", b"}"),
    "I": twelve["I"].strip(b"[]"),
    "L": twelve["L"].decode("latin-1").encode("utf-8"),
}""",
    ),
    why="Each has one fault. For L the bytes have to change although the text stays the same: an é has one "
    "byte in Latin-1 and two in UTF-8.",
    grade=grade,
    pages=(
        ("messages", "basic/index#messages"),
        ("encoding", "basic/transports/index#messages"),
    ),
)
