"""The stand-in for a language model."""

from __future__ import annotations

from typing import Any

import pytest

from mcpsim.course import ScriptedModel, ToolUse


def test_it_says_what_stands_in_its_script_and_knows_what_it_read() -> None:
    model = ScriptedModel(ToolUse("add", {"a": 1}), lambda text: f"It is {text}.", "Goodbye.")
    assert model.reads("What is 1 and 2?") == ToolUse("add", {"a": 1})
    assert model.reads("3") == "It is 3."
    assert model.reads("Thanks") == "Goodbye."
    assert model.has_read == ["What is 1 and 2?", "3", "Thanks"]


def test_two_models_share_nothing() -> None:
    turns = ("One.", "Two.")
    first, second = ScriptedModel(*turns), ScriptedModel(*turns)
    first.reads("a")
    assert (second.reads("b"), second.has_read) == ("One.", ["b"])


def test_the_end_of_a_script_is_said() -> None:
    with pytest.raises(LookupError, match=r"no turn left\. It has just read: 'Hello'"):
        ScriptedModel().reads("Hello")


@pytest.mark.parametrize("turn", [None, 1, b"text", ["add"]])
def test_a_turn_is_a_text_or_a_use_of_a_tool(turn: Any) -> None:
    with pytest.raises(TypeError, match="A turn is a text, a ToolUse, or a function"):
        ScriptedModel("Hello", turn)
