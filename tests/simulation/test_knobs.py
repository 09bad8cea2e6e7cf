"""Knobs: what each kind can stand at, and where all of them stand together."""

from __future__ import annotations

from typing import Any

import pytest

from mcpsim.simulation.knobs import Knob, Settings, Values, settle

COLOUR = Knob.choice("colour", "Colour", {"red": "as red as it gets", "blue": "blue"})
SIZE = Knob.number("size", "Size", 1, 10, default=3, unit="ms")
STOP = Knob.number("stop", "Stop", 0, 100, default=None, none="never")
SHARE = Knob.number("share", "Share", 0, 1, default=0.5, step=0.1)
LOUD = Knob.switch("loud", "Loud", only={"colour": ("red",)})


def shades(settings: Settings) -> Values:
    return {f"{tone} {settings['colour']}": tone for tone in ("dark", "light")}


SHADE = Knob.choice("shade", "Shade", shades, only={"loud": (True,)})
KNOBS = (COLOUR, SIZE, STOP, LOUD, SHADE)


def test_untouched_they_stand_at_their_defaults() -> None:
    assert settle(KNOBS, {}) == {"colour": "red", "size": 3, "stop": None, "loud": False, "shade": ""}


def test_a_choice_that_depends_on_others_stands_at_the_first_that_there_is() -> None:
    assert settle(KNOBS, {"loud": True})["shade"] == "dark red"
    assert settle(KNOBS, {"loud": True, "shade": "light red"})["shade"] == "light red"
    assert settle(KNOBS, {"loud": True, "colour": "blue", "shade": "light red"})["shade"] == "dark blue"
    # Where it does not matter, nobody asks what there is.
    assert settle(KNOBS, {"shade": "light red"})["shade"] == "light red"


def test_a_choice_of_nothing_stands_at_its_default() -> None:
    nothing = Knob.choice("which", "Which", lambda settings: {})
    assert settle([nothing], {"which": "one"}) == {"which": ""}


def test_a_knob_matters_beside_some_settings() -> None:
    assert COLOUR.matters({})
    assert LOUD.matters({"colour": "red"})
    assert not LOUD.matters({"colour": "blue"})


def test_a_browser_sends_whole_numbers_as_it_likes() -> None:
    settled = settle([SIZE], {"size": 4.0})
    assert settled == {"size": 4}
    assert type(settled["size"]) is int
    assert settle([SHARE], {"share": 0.3}) == {"share": 0.3}


@pytest.mark.parametrize(
    ("given", "text"),
    [
        ({"colour": "green"}, "Colour is one of 'red', 'blue', not 'green'."),
        ({"colour": ["red"]}, "Colour is one of 'red', 'blue', not ['red']."),
        ({"size": 0}, "Size is a whole number from 1 to 10 ms, not 0."),
        ({"size": 2.5}, "Size is a whole number from 1 to 10 ms, not 2.5."),
        ({"size": True}, "Size is a whole number from 1 to 10 ms, not True."),
        ({"size": None}, "Size is a whole number from 1 to 10 ms, not None."),
        ({"size": float("nan")}, "Size is a whole number from 1 to 10 ms, not nan."),
        ({"stop": "soon"}, "Stop is a whole number from 0 to 100, or None for 'never', not 'soon'."),
        ({"loud": 1}, "Loud is on or off (True or False), not 1."),
        ({"taste": 1}, "There is no knob 'taste'. The knobs are: colour, size, stop, loud, shade."),
    ],
)
def test_what_a_knob_cannot_be_is_refused_with_what_it_can(given: dict[str, Any], text: str) -> None:
    with pytest.raises(ValueError) as raised:  # noqa: PT011
        settle(KNOBS, given)
    assert str(raised.value) == text


@pytest.mark.parametrize(
    "make",
    [
        lambda: Knob.choice("colour", "Colour", {}),
        lambda: Knob.choice("colour", "Colour", {"red": "red"}, default="blue"),
        lambda: Knob.number("size", "Size", 3, 1, default=2),
        lambda: Knob.number("size", "Size", 0, float("inf"), default=2),
        lambda: Knob.number("size", "Size", 0, 1, default=2),
        lambda: Knob.number("size", "Size", 0, 1, default=None),
        lambda: Knob.number("size", "Size", 0, 1, default=1, step=0),
    ],
)
def test_a_knob_that_makes_no_sense_is_not_made(make: Any) -> None:
    with pytest.raises(ValueError, match=r"Size|size|colour"):
        make()


@pytest.mark.parametrize(
    ("knob", "value", "text"),
    [
        (COLOUR, "red", "as red as it gets"),
        (COLOUR, "gone", "gone"),
        (SIZE, 1, "1 ms"),
        (Knob.number("ttl", "TTL", 0, 90_000, default=0, unit="ms"), 60_000, "60,000 ms"),
        (STOP, None, "never"),
        (LOUD, True, "on"),
        (LOUD, False, "off"),
    ],
)
def test_a_value_for_people(knob: Knob, value: Any, text: str) -> None:
    assert knob.text(value, {}) == text
