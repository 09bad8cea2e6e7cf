"""The lessons, in order: one table for the index, the references and the learner's overview."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True)
class Lesson:
    """One lesson.

    Attributes:
        name: the notebook's name without its ending: number and topic.
        title: what it is called.
        asks: the questions that it answers.
        exercises: whether there is a set of exercises with the same name.
    """

    name: str
    title: str
    asks: str
    exercises: bool = True

    @property
    def number(self) -> str:
        """Two digits."""
        return self.name[:2]

    @property
    def file(self) -> str:
        """The notebook's file, beside the other lessons."""
        return f"{self.name}.ipynb"


LESSONS: Final = (
    Lesson(
        "00_start_here", "Start here", "What is MCP for? How do I play a run, and change it?", exercises=False
    ),
    Lesson(
        "01_messages",
        "Messages",
        "What is a request, a notification, a response? What is an id? What if it is broken?",
    ),
    Lesson(
        "02_layers_and_transports",
        "Layers and transports",
        "How does one call become bytes on stdio, or an HTTP exchange?",
    ),
    Lesson(
        "03_handshake",
        "The handshake",
        "How does a legacy session open, what does it agree on, and how does it end?",
    ),
    Lesson(
        "04_stateless",
        "Stateless",
        "What does a modern request carry, and what happens when a part is wrong?",
    ),
    Lesson(
        "05_eras_side_by_side",
        "The eras side by side",
        "What was removed, replaced, renumbered? Which clients and servers understand each other?",
    ),
    Lesson("06_pagination", "Pagination", "How is a long list read in pages, and what if it changes?"),
    Lesson("07_caching", "Caching", "How long is a result fresh, and who may be served from it?"),
    Lesson("08_progress", "Progress", "How does a long call say how far it is?"),
    Lesson(
        "09_cancellation_and_timeouts",
        "Cancellation and timeouts",
        "How is a call stopped, and what if the answer is already on its way?",
    ),
    Lesson(
        "10_multi_round_trip",
        "Multi round-trip requests",
        "What if the server needs something first: of the user, of the model, of the client?",
    ),
    Lesson(
        "11_subscriptions",
        "Subscriptions and change",
        "How does a client hear that something has changed?",
    ),
    Lesson("12_errors", "Errors", "What kinds of error are there, and who reads which?"),
    Lesson(
        "13_one_tool_call",
        "One tool call, whole",
        "What happens between a user's wish and the model's answer?",
    ),
    Lesson(
        "14_stateless_at_scale",
        "Stateless at scale",
        "What does it mean to have many servers, and to lose one?",
    ),
    Lesson("15_wire_forensics", "Wire forensics", "What does a trace of somebody else's traffic tell?"),
    Lesson("16_capstone", "Capstone", "Can you build a server and a client that others can talk to?"),
)
