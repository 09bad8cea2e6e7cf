"""Progress: the token that asks for it, the values that come, and when they stop."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final, NamedTuple, cast

from mcpsim.audit.building import Key, key_of
from mcpsim.audit.model import Call, Connection, Item, Side, Trace
from mcpsim.audit.once import once
from mcpsim.audit.order import ON_ITS_WAY_MS, burst, hides_requests, is_later_by, is_one_stream, ways_with
from mcpsim.audit.rule import (
    ALL,
    MUST,
    NOTE,
    SHOULD,
    Found,
    Rule,
    each,
    notifications,
    requests,
)
from mcpsim.audit.same_ids import in_flight_together
from mcpsim.eras.revisions import PROGRESS_MESSAGE_REVISIONS, Era
from mcpsim.messages.meta import PROGRESS_TOKEN
from mcpsim.recording.words import show

PROGRESS_METHOD: Final = "notifications/progress"
FLOW: Final[Mapping[Era, str]] = {
    "modern": "basic/patterns/progress#progress-flow",
    "legacy": "basic/utilities/progress#progress-flow",
}
BEHAVIOR: Final[Mapping[Era, str]] = {
    "modern": "basic/patterns/progress#behavior-requirements",
    "legacy": "basic/utilities/progress#behavior-requirements",
}
NOTES: Final[Mapping[Era, str]] = {
    "modern": "basic/patterns/progress#implementation-notes",
    "legacy": "basic/utilities/progress#implementation-notes",
}

#: What counts as a flood; the specification gives no number.
FLOOD: Final = 200
FLOOD_MS: Final = 1_000.0

_OTHER: Final[Mapping[Side, Side]] = {"client": "server", "server": "client"}


def is_number(value: object) -> bool:
    """Whether a JSON value is a number."""
    return isinstance(value, int | float) and not isinstance(value, bool)


def _token_type(item: Item) -> Iterator[Found]:
    if PROGRESS_TOKEN not in item.meta:
        return
    token = item.meta[PROGRESS_TOKEN]
    if isinstance(token, str) or (isinstance(token, int) and not isinstance(token, bool)):
        return
    if isinstance(token, float):
        if not token.is_integer():
            yield Found(
                item,
                f"The progress token {show(token)} is not whole. The page wants a string or an integer; the"
                " schema takes any number.",
                hint="Use a string or an integer.",
                level=NOTE,
            )
        return
    yield Found(
        item,
        f"The progress token is {show(token)}. It must be a string or an integer.",
        hint="Leave `progressToken` out where no progress is wanted.",
    )


def is_active(call: Call, at: Item) -> bool:
    """Whether its asker still waits for its answer at this place."""
    ends = [call.answer, call.cancelled]
    exchange = call.request.exchange
    if exchange is not None and exchange.closed is not None:
        ends.append(exchange.closed)
    return all(end is None or end.index >= at.index for end in ends)


class Clash(NamedTuple):
    """Two requests that are in progress at the same time, with the same token."""

    before: Call
    after: Call
    key: Key


@once
def _clashes(connection: Connection) -> tuple[Clash, ...]:
    return tuple(_find_clashes(connection))


def _find_clashes(connection: Connection) -> Iterator[Clash]:
    latest: dict[Key, Call] = {}
    for call in connection.calls:
        request = call.request
        key = key_of(request.sender, request.meta.get(PROGRESS_TOKEN))
        if key is None or request.disturbed:
            continue
        before = latest.get(key)
        latest[key] = call
        if before is None or before.request.id == request.id or before.request.index == request.index:
            continue
        if before.request.session is not request.session or before.principal != call.principal:
            # Two clients in one trace.
            continue
        closed = connection.closed
        if closed is not None and before.request.index < closed.index < request.index:
            # The server was started again in between.
            continue
        if is_active(before, request):
            yield Clash(before, call, key)


def _unique(connection: Connection) -> Iterator[Found]:
    # A trace of one side alone has no answers.
    heard = {call.asked_by for call in connection.calls if call.answer is not None}
    for before, after, key in _clashes(connection):
        request = after.request
        answered = before.answer is not None or any(one.index > request.index for one in before.notifications)
        if not answered and after.asked_by not in heard:
            continue
        sure = "" if answered else " It has no answer; perhaps nobody waits for one any more."
        yield Found(
            request,
            f"The progress token {show(key[2])} belongs to the request {show(before.request.id)} of row"
            f" {before.request.index}, which is still in progress.{sure}",
            hint="Use another token for each request, such as its id.",
            level=None if answered else SHOULD,
        )


def _rises(connection: Connection) -> Iterator[Found]:
    # Where two requests share a token, nobody can tell whose progress it is.
    shared = {clash.key for clash in _clashes(connection)}
    for call in connection.calls:
        if call.notifications:
            key = key_of(call.asked_by, call.request.meta.get(PROGRESS_TOKEN))
            if key not in shared:
                yield from _rises_for(call)


def _rises_for(call: Call) -> Iterator[Found]:
    before: Item | None = None
    seen: set[str] = set()
    for item in call.progress:
        if item.disturbed or item.sender == call.asked_by or not is_number(item.params.get("progress")):
            continue
        if item.sse_id is not None:
            # A stream that is resumed may bring an event once more.
            if item.sse_id in seen:
                continue
            seen.add(item.sse_id)
        value = item.params["progress"]
        if before is not None and is_one_stream(before, item) and not value > before.params["progress"]:
            last = show(before.params["progress"])
            what = (
                f"stays at {last}"
                if value == before.params["progress"]
                else f"goes from {last} to {show(value)}"
            )
            yield Found(
                item,
                f"The progress of the request {show(call.request.id)} {what}. Each value must be greater than"
                " the one before.",
                hint="Send only values that rise; words can change in `message`.",
            )
        before = item


def _readable(item: Item) -> Iterator[Found]:
    message = item.params.get("message")
    if isinstance(message, str) and not any(character.isalnum() for character in message):
        yield Found(
            item,
            f"The message of this progress is {show(message)}, which tells a reader nothing.",
            hint="Say in words what is being done, or leave `message` out.",
        )


@once
def _token_uses(connection: Connection) -> tuple[tuple[Item, Call | None], ...]:
    return tuple(_find_token_uses(connection)) if PROGRESS_METHOD in connection.occurs else ()


def _find_token_uses(connection: Connection) -> Iterator[tuple[Item, Call | None]]:
    """Each progress notification, and the last request before it of the other side that has its token."""
    tokens: dict[Key, Call] = {}
    for item in connection.items:
        if item.kind == "request":
            key = key_of(item.sender, item.meta.get(PROGRESS_TOKEN))
            if key is not None and item.call is not None:
                tokens[key] = item.call
        elif item.kind == "notification" and item.method == PROGRESS_METHOD:
            key = key_of(_OTHER[item.sender], item.params.get(PROGRESS_TOKEN))
            if key is None:
                continue
            # The request whose stream it comes in goes before one of the same token elsewhere.
            own = () if item.exchange is None or item.sender == "client" else item.exchange.calls
            same = (call for call in own if key_of("client", call.request.meta.get(PROGRESS_TOKEN)) == key)
            yield item, next(same, None) or tokens.get(key)


def _unknown_token(trace: Trace) -> Iterator[Found]:
    for way in ways_with(trace, (PROGRESS_METHOD,)):
        if not any(connection.began_late for connection in way):
            yield from _unknown_token_on(way)


def _unknown_token_on(way: tuple[Connection, ...]) -> Iterator[Found]:
    unknown = [item for connection in way for item, call in _token_uses(connection) if call is None]
    if not unknown:
        return
    given = {
        key_of(call.asked_by, call.request.meta.get(PROGRESS_TOKEN))
        for connection in way
        for call in connection.calls
    }
    hidden = {side for side in _OTHER if hides_requests(way, side)}
    for item in unknown:
        token = item.params[PROGRESS_TOKEN]
        other: Side = _OTHER[item.sender]
        # Without the handshake, the trace began later than the session.
        if item.era == "legacy" and item.session is None:
            continue
        # Over HTTP the request may be on another connection.
        if other in hidden or (item.is_http and key_of(other, token) in given):
            continue
        twin: object = str(token) if not isinstance(token, str) else None
        if isinstance(token, str) and token.isdecimal() and len(token) < 16:
            twin = int(token)
        hint = "Use the token of the request as it came, and send nothing for a request without one."
        if twin is not None and key_of(other, twin) in given:
            hint = f"The token that was given is {show(twin)}. Send it back in the type in which it came."
        yield Found(
            item,
            f"The {item.party} reports progress for the token {show(token)}, which no request"
            f" of the {item.other} has brought.",
            hint=hint,
        )


def task_of(call: Call) -> Mapping[str, Any] | None:
    """The task that a legacy request has become, or None."""
    task = call.result.get("task")
    return cast("dict[str, Any]", task) if isinstance(task, dict) else None


def _after_completion(connection: Connection) -> Iterator[Found]:
    shared = {clash.key for clash in _clashes(connection)}
    for item, call in _token_uses(connection):
        if shared and key_of(_OTHER[item.sender], item.params[PROGRESS_TOKEN]) in shared:
            continue
        if call is None or call.answer is None or call.answer.index >= item.index:
            continue
        answer = call.answer
        if answer.disturbed or task_of(call) is not None or call in in_flight_together(connection):
            continue
        # What two streams bring may have overtaken each other on the way to the client.
        ordered = item.sender == "client" or is_one_stream(answer, item)
        if not ordered and not is_later_by(ON_ITS_WAY_MS, answer, item):
            continue
        yield Found(
            item,
            f"The request {show(call.request.id)} was answered in row {answer.index}"
            f"{'' if ordered else ', long ago'}, and its progress still goes on.",
            hint="Send the last progress before the answer.",
            level=None if ordered else SHOULD,
        )


def _flood(connection: Connection) -> Iterator[Found]:
    for side in ("client", "server"):
        items = (
            item
            for item in connection.items
            if item.kind == "notification" and item.method == PROGRESS_METHOD and item.sender == side
        )
        found = burst(items, FLOOD, FLOOD_MS)
        if found is not None:
            yield Found(
                found,
                f"The {found.party} has sent {FLOOD} progress notifications within a second, which probably"
                " is more than anybody can show.",
                hint="Send a few a second at most; what counts is the last value.",
                level=NOTE,
            )


def _falsy_is_silent(connection: Connection) -> Iterator[Found]:
    silent: dict[tuple[str, str], list[Call]] = {}
    heard: set[tuple[str, str]] = set()
    for call in connection.calls:
        token = call.request.meta.get(PROGRESS_TOKEN)
        if key_of("client", token) is None or call.asked_by != "client":
            continue
        subject = call.method, show(call.request.params.get("name", call.request.params.get("uri")))
        if call.progress:
            if not token:
                return
            heard.add(subject)
        elif not token and call.answer is not None and call.answer.kind == "response":
            silent.setdefault(subject, []).append(call)
    for subject, several in silent.items():
        if subject not in heard or several[0].answer is None:
            continue
        call = several[0]
        yield Found(
            several[0].answer,
            f"Of the calls of {subject[0]} {subject[1]}, only those with the progress token"
            f" {show(call.request.meta[PROGRESS_TOKEN])} get no progress. That is allowed; most likely the"
            f" {call.connection.server} tests whether the token is true, and not whether it is there.",
            hint="Ask whether `progressToken` is in `_meta`: 0 and an empty text are tokens too.",
        )


PROGRESS: Final[tuple[Rule, ...]] = (
    Rule(
        "progress-token-is-string-or-integer",
        MUST,
        "sender",
        ALL,
        FLOW,
        "A progress token is a string or an integer.",
        on=requests(needs=(PROGRESS_TOKEN,)),
        check=_token_type,
    ),
    Rule(
        "progress-token-is-unique",
        MUST,
        "sender",
        ALL,
        FLOW,
        "No two requests that are in progress at the same time have the same progress token.",
        on=each(Connection, needs=(PROGRESS_TOKEN,)),
        check=_unique,
    ),
    Rule(
        "progress-rises",
        MUST,
        "sender",
        ALL,
        FLOW,
        "Each progress notification of a request has a greater value than the one before.",
        on=each(Connection, needs=(PROGRESS_METHOD,)),
        check=_rises,
    ),
    Rule(
        "progress-message-is-readable",
        SHOULD,
        "sender",
        PROGRESS_MESSAGE_REVISIONS,
        FLOW,
        "The message of a progress notification tells people something.",
        on=notifications(PROGRESS_METHOD),
        check=_readable,
    ),
    Rule(
        "progress-names-a-token",
        MUST,
        "sender",
        ALL,
        BEHAVIOR,
        "Progress is reported only for a token that a request has brought.",
        on=each(Trace, needs=(PROGRESS_METHOD,)),
        check=_unknown_token,
    ),
    Rule(
        "progress-stops-at-completion",
        MUST,
        "sender",
        ALL,
        NOTES,
        "After its answer a request has no more progress.",
        on=each(Connection, needs=(PROGRESS_METHOD,)),
        check=_after_completion,
    ),
    Rule(
        "progress-is-no-flood",
        SHOULD,
        "sender",
        ALL,
        NOTES,
        "Progress is reported at a bounded rate.",
        on=each(Connection, needs=(PROGRESS_METHOD,)),
        check=_flood,
    ),
    Rule(
        "progress-token-need-not-be-true",
        NOTE,
        "server",
        ALL,
        BEHAVIOR,
        "The token 0 and the empty token are tokens like any other.",
        on=each(Connection, needs=(PROGRESS_METHOD,)),
        check=_falsy_is_silent,
    ),
)
