"""The usual twists. Each function makes what `simulate(twist=...)` and `Misbehaviour(twist=...)` take.

`on_message` is the general one: it is told what each thing on the wire is, and an answer comes with the
method of the request that it answers. All others are made of it. A function that is handed a message, params
or a result may change it in place, or return another one. An empty method name stands for any method.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, Literal, cast

from mcpsim.transports.http import EVENT_STREAM_TYPE, HttpHead, HttpRequest
from mcpsim.transports.twists import MakeTwist, Outgoing, Twist, several

Json = dict[str, Any]
Edit = Callable[[Json], "Json | None"]
Kind = Literal["request", "notification", "result", "error", "other"]


@dataclass(frozen=True, slots=True)
class Letter:
    """One thing that is about to be sent, read.

    Attributes:
        out: as the twist gets it.
        kind: what it is; "other" for what is no message, as a GET or a `202 Accepted`.
        method: its own; for an answer that of the request; "" where there is none.
        message: the message; {} where it is none.
        request: for an answer, the request as it was sent; otherwise {}.
    """

    out: Outgoing
    kind: Kind
    method: str
    message: Json
    request: Json


class _Reading:
    """Reads what is sent, and remembers the requests for their answers."""

    def __init__(self) -> None:
        self._asked: dict[tuple[str, str, int, str], Json] = {}

    def read(self, one: Outgoing) -> Letter:
        message = one.message
        if message is None:
            return Letter(one, "other", "", {}, {})
        id = message.get("id")
        if one.method:
            if "id" not in message:
                return Letter(one, "notification", one.method, message, {})
            return Letter(one, "request", one.method, message, {})
        kind: Kind = "result" if "result" in message else "error" if "error" in message else "other"
        request = self._asked.get((one.receiver, one.sender, one.connection, repr(id)), {})
        return Letter(one, kind, str(request.get("method", "")), message, request)

    def remember(self, sent: Iterable[Outgoing]) -> None:
        for one in sent:
            message = one.message
            if message is not None and one.method and "id" in message:
                self._asked[(one.sender, one.receiver, one.connection, repr(message["id"]))] = message


def on_message(change: Callable[[Letter], Any], *kinds: Kind, method: str = "") -> MakeTwist:
    """Ask `change` about each thing of these kinds (of any), and of this method.

    Args:
        change: without state; returns what a twist returns: None, one or several of `letter.out`.
    """
    return with_memory(lambda: change, *kinds, method=method)


def with_memory(
    make_change: Callable[[], Callable[[Letter], Any]], *kinds: Kind, method: str = ""
) -> MakeTwist:
    """As `on_message`, with a function that is made anew for each run, and so may remember things."""

    def make() -> Twist:
        reading, change = _Reading(), make_change()

        def twist(one: Outgoing) -> Any:
            letter = reading.read(one)
            wanted = (not kinds or letter.kind in kinds) and (not method or letter.method == method)
            given = change(letter) if wanted else None
            if given is not None and not isinstance(given, Outgoing):
                given = tuple(cast("Iterable[Outgoing]", given))
            reading.remember(several(given, one))
            return given

        return twist

    return make


# --- Which of them -----------------------------------------------------------------------------------


def on_nth(nth: int, make: MakeTwist) -> MakeTwist:
    """Only the nth time, from 1, that the twist would change something."""
    return _counted(lambda time: time == nth, make)


def from_nth(nth: int, make: MakeTwist) -> MakeTwist:
    """From the nth time on, from 1, that the twist would change something."""
    return _counted(lambda time: time >= nth, make)


def _counted(wanted: Callable[[int], bool], make: MakeTwist) -> MakeTwist:
    def make_counted() -> Twist:
        inner, times = make(), 0

        def twist(one: Outgoing) -> Any:
            nonlocal times
            given = inner(one)
            if given is None:
                return None
            times += 1
            return given if wanted(times) else None

        return twist

    return make_counted


def only_from(lane: str, make: MakeTwist) -> MakeTwist:
    """Only what this lane sends: for a twist that would also fit what others send."""

    def make_one() -> Twist:
        inner = make()

        def twist(one: Outgoing) -> Any:
            # Asked all the same: it may have to remember what others send.
            given = inner(one)
            return given if one.sender == lane else None

        return twist

    return make_one


def one_after_the_other(*makes: MakeTwist) -> MakeTwist:
    """Several twists: each gets what the one before gave out."""

    def make() -> Twist:
        inner = [one() for one in makes]

        def twist(one: Outgoing) -> Any:
            given: tuple[Outgoing, ...] = (one,)
            changed = False
            for ask in inner:
                after: list[Outgoing] = []
                for each in given:
                    answered = ask(each)
                    changed = changed or answered is not None
                    after += several(answered, each)
                given = tuple(after)
            return given if changed else None

        return twist

    return make


# --- What is in a message ----------------------------------------------------------------------------


def change_message(method: str, edit: Edit, *kinds: Kind) -> MakeTwist:
    """Change the requests and notifications of a method (or what `kinds` says)."""

    def change(letter: Letter) -> Any:
        edited = edit(letter.message)
        return letter.out.with_message(letter.message if edited is None else edited)

    return on_message(change, *(kinds or ("request", "notification")), method=method)


def change_params(method: str, edit: Edit) -> MakeTwist:
    """Change the params of the requests and notifications of a method; {} where there are none."""
    return change_message(method, _inside("params", edit))


def change_answer(method: str, edit: Edit) -> MakeTwist:
    """Change the answers to a method, results and errors: the whole message."""
    return change_message(method, edit, "result", "error")


def change_result(method: str, edit: Edit) -> MakeTwist:
    """Change the results of a method."""
    return change_message(method, _inside("result", edit), "result")


def change_error(method: str, edit: Edit) -> MakeTwist:
    """Change the errors that answer a method: the member `error`."""
    return change_message(method, _inside("error", edit), "error")


def _inside(member: str, edit: Edit) -> Edit:
    def edit_message(message: Json) -> None:
        held = message.get(member)
        inner = cast("Json", held) if isinstance(held, dict) else {}
        edited = edit(inner)
        message[member] = inner if edited is None else edited

    return edit_message


def set_in_params(method: str, *path: str, to: Any) -> MakeTwist:
    """Set one member of params, such as "cursor", or "_meta", "progressToken"."""
    return change_params(method, lambda params: _set(params, path, to))


def set_in_result(method: str, *path: str, to: Any) -> MakeTwist:
    """Set one member of the result, such as "ttlMs"."""
    return change_result(method, lambda result: _set(result, path, to))


def without_in_params(method: str, *path: str) -> MakeTwist:
    """Leave one member of params out."""
    return change_params(method, lambda params: _leave_out(params, path))


def without_in_result(method: str, *path: str) -> MakeTwist:
    """Leave one member of the result out."""
    return change_result(method, lambda result: _leave_out(result, path))


def _set(value: Json, path: tuple[str, ...], to: Any) -> None:
    for name in path[:-1]:
        value = value.setdefault(name, {})
    value[path[-1]] = to


def _leave_out(value: Json, path: tuple[str, ...]) -> None:
    for name in path[:-1]:
        value = value.get(name, {})
    value.pop(path[-1], None)


# --- More and fewer messages -------------------------------------------------------------------------


def dropped(method: str, *kinds: Kind) -> MakeTwist:
    """Do not send the requests and notifications of a method (or what `kinds` says)."""
    return on_message(lambda letter: (), *(kinds or ("request", "notification")), method=method)


def unanswered(method: str) -> MakeTwist:
    """Do not answer a method. On stdio the asker waits for as long as it has patience."""
    return dropped(method, "result", "error")


def twice(method: str, *kinds: Kind) -> MakeTwist:
    """Send the answers to a method twice (or what `kinds` says).

    Over HTTP our client stops reading at the answer: let the story use `client.send_raw`, which reads on.
    """

    def change(letter: Letter) -> Any:
        return _together(letter.out, after=[letter.message])

    return on_message(change, *(kinds or ("result", "error")), method=method)


def add_before(method: str, more: Callable[[Letter], Json], *kinds: Kind) -> MakeTwist:
    """Send one more message before each answer to a method (or what `kinds` says).

    An HTTP response that would be plain JSON becomes an event stream.
    """

    def change(letter: Letter) -> Any:
        return _together(letter.out, before=[more(letter)])

    return on_message(change, *(kinds or ("result", "error")), method=method)


def add_after(method: str, more: Callable[[Letter], Json], *kinds: Kind) -> MakeTwist:
    """Send one more message after each answer to a method (or what `kinds` says). As `twice`."""

    def change(letter: Letter) -> Any:
        return _together(letter.out, after=[more(letter)])

    return on_message(change, *(kinds or ("result", "error")), method=method)


def _together(out: Outgoing, before: Iterable[Json] = (), after: Iterable[Json] = ()) -> list[Outgoing]:
    if isinstance(out.head, HttpHead):
        out = out.with_header("Content-Type", EVENT_STREAM_TYPE)
    first = [out.beside(message) for message in before]
    last = [out.beside(message) for message in after]
    if first and isinstance(out.head, HttpHead):
        # The head goes with whatever comes first.
        first[0] = first[0].with_head(out.head)
        out = out.with_head(None)
    return [*first, out, *last]


# --- Heads -------------------------------------------------------------------------------------------


def request_header(name: str, value: str | None, method: str = "") -> MakeTwist:
    """Set a header of the HTTP requests that carry a method (any request, without one), or leave it out."""

    def change(letter: Letter) -> Any:
        out = letter.out
        return out.with_header(name, value) if isinstance(out.head, HttpRequest) else None

    return on_message(change, method=method)


def response_header(name: str, value: str | None, method: str = "") -> MakeTwist:
    """Set a header of the HTTP responses that answer a method (any response, without one)."""

    def change(letter: Letter) -> Any:
        out = letter.out
        return out.with_header(name, value) if isinstance(out.head, HttpHead) else None

    return on_message(change, method=method)


def response_status(status: int, method: str = "", *kinds: Kind) -> MakeTwist:
    """Set the HTTP status of the responses that answer a method (any response, without one)."""

    def change(letter: Letter) -> Any:
        out = letter.out
        return out.with_status(status) if isinstance(out.head, HttpHead) else None

    return on_message(change, *kinds, method=method)


def raw_bytes(method: str, rewrite: Callable[[bytes], bytes], *kinds: Kind, framed: bool = True) -> MakeTwist:
    """Rewrite the bytes of the answers to a method (or what `kinds` says).

    Args:
        framed: whether the transport's framing is put around them; otherwise they go out as they are.
    """

    def change(letter: Letter) -> Any:
        data = rewrite(letter.out.data)
        return letter.out.with_data(data) if framed else letter.out.with_raw(data)

    return on_message(change, *(kinds or ("result", "error")), method=method)
