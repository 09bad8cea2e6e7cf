"""Threads: steps that belong together over several requests.

The rounds of a question, the pages of a list, and all that a subscription brings. Each message that the wire
carries stands alone, so a thread is found by what its messages repeat: the request state, the cursor, the id
of the subscription.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from mcpsim.eras.pages import MODERN
from mcpsim.messages import Request, Response
from mcpsim.recording import Recording
from mcpsim.widgets.passing import Passing
from mcpsim.widgets.reading import Call, Conversation, params_of

ROUNDS: Final = "rounds"
PAGES: Final = "pages"
SUBSCRIPTION: Final = "subscription"

LISTS: Final = frozenset({"tools/list", "resources/list", "resources/templates/list", "prompts/list"})


@dataclass(slots=True)
class Thread:
    """Several requests that are one conversation.

    Attributes:
        kind: "rounds", "pages" or "subscription".
        call: the request that it began with.
        parts: how many rounds or pages there are; 1 for a subscription.
        ended: whether the last of them is here: a final result, or a page without `nextCursor`.
    """

    kind: str
    call: Call
    parts: int = 1
    ended: bool = False


@dataclass(frozen=True, slots=True)
class Place:
    """Where a request stands in its thread.

    Attributes:
        part: which round or page, from 1.
        before: the `input_required` result that this request answers; None where there is none.
        exact: whether the request brings back what that result gave: the same `requestState`, or none.
    """

    thread: Thread
    part: int
    before: Mapping[str, Any] | None = None
    exact: bool = True


def threads_of(recording: Recording, conversation: Conversation, passing: Passing) -> dict[int, Place]:
    """The place of each request that belongs to a thread, by the number of its frame."""
    finder = _Finder(conversation, passing)
    for frame in recording.frames:
        call = conversation.readings[frame.number].call
        if call is None or call.frame in passing.origins:
            continue
        if isinstance(frame.parsed, Request) and call.frame == frame.number:
            finder.asked(call)
        elif isinstance(frame.parsed, Response):
            finder.answered(call, frame.parsed.result)
    for number, origin in passing.origins.items():
        if origin in finder.places:
            finder.places[number] = finder.places[origin]
    return finder.places


def is_retry(request: Request) -> bool:
    """Whether the request brings back what an `input_required` result gave."""
    params = request.params or {}
    return "inputResponses" in params or "requestState" in params


# Sender, method and the state; and the same without the state, for one that was changed or that nobody gave.
_State = tuple[str, str, str]


@dataclass(slots=True)
class _Finder:
    conversation: Conversation
    passing: Passing
    places: dict[int, Place] = field(default_factory=dict[int, Place])
    states: dict[_State, tuple[Place, Mapping[str, Any]]] = field(
        default_factory=dict[_State, tuple[Place, Mapping[str, Any]]]
    )
    latest: dict[_State, tuple[Place, Mapping[str, Any]]] = field(
        default_factory=dict[_State, tuple[Place, Mapping[str, Any]]]
    )
    cursors: dict[_State, Place] = field(default_factory=dict[_State, Place])

    def asked(self, call: Call) -> None:
        request = call.request
        params = request.params or {}
        if request.method == "subscriptions/listen":
            self.places[call.frame] = Place(Thread(SUBSCRIPTION, call), 1)
        elif call.era == MODERN and is_retry(request):
            self._retried(call, params)
        elif request.method in LISTS and isinstance(params.get("cursor"), str):
            before = self.cursors.get((call.sender, request.method, params["cursor"]))
            if before is not None:
                self._place(call, before.thread, before.part + 1)

    def _retried(self, call: Call, params: Mapping[str, Any]) -> None:
        state = params.get("requestState")
        who = (call.sender, call.request.method)
        found = self.states.get((*who, state)) if isinstance(state, str) else None
        known = found or self.latest.get((*who, _name(params)))
        if known is None:
            return
        place, result = known
        exact = found is not None or (state is None and "requestState" not in result)
        self._place(call, place.thread, place.part + 1, result, exact=exact)

    def _place(
        self,
        call: Call,
        thread: Thread,
        part: int,
        before: Mapping[str, Any] | None = None,
        *,
        exact: bool = True,
    ) -> None:
        self.places[call.frame] = Place(thread, part, before, exact)
        if part > thread.parts:
            thread.parts, thread.ended = part, False

    def answered(self, call: Call, result: Mapping[str, Any]) -> None:
        place = self.places.get(call.frame)
        method = call.request.method
        if result.get("resultType") == "input_required":
            place = place or self._begin(call, ROUNDS)
            state = result.get("requestState")
            if isinstance(state, str):
                self.states[call.sender, method, state] = (place, result)
            self.latest[call.sender, method, _name(params_of(call.request))] = (place, result)
        elif isinstance(result.get("nextCursor"), str) and method in LISTS:
            place = place or self._begin(call, PAGES)
            self.cursors[call.sender, method, result["nextCursor"]] = place
        elif place is not None and place.part == place.thread.parts:
            place.thread.ended = True

    def _begin(self, call: Call, kind: str) -> Place:
        place = self.places[call.frame] = Place(Thread(kind, call), 1)
        return place


def _name(params: Mapping[str, Any]) -> str:
    return str(params.get("name", params.get("uri", "")))
