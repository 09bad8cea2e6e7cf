"""The knobs of a bench, as data: what of a story can be turned, and how far.

A bench plays a story again whenever one of its knobs is turned. Nothing here knows how it is shown.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Literal, TypeAlias

from mcpsim.recording.run import Run

Setting: TypeAlias = str | int | float | bool | None
Settings: TypeAlias = Mapping[str, Setting]
Values: TypeAlias = Mapping[str, str]
Kind: TypeAlias = Literal["choice", "number", "switch"]
Play: TypeAlias = Callable[..., Run]

ON: Final = "on"
OFF: Final = "off"


@dataclass(frozen=True, slots=True)
class Knob:
    """One thing that can be turned. Make one with `Knob.choice`, `Knob.number` or `Knob.switch`.

    Attributes:
        name: the keyword argument of the play function that it sets.
        label: what people read beside it.
        kind: "choice" (one of `values`), "number" (from `low` to `high`, in steps of `step`) or "switch".
        default: what it stands at in the beginning. A choice whose values depend on the other settings
            begins with the first of them.
        values: what there is to choose (strings), each with its text; or a function of the other settings
            that says so.
        low, high, step, unit: of a number, in this unit.
        none: what None means for a number, such as "never"; "" where it has to be a number.
        only: the settings with which it matters: for each other knob that is named here, these values.
        group: the heading under which it stands, or "".
        hint: one sentence more for people, or "".
    """

    name: str
    label: str
    kind: Kind
    default: Setting
    values: Values | Callable[[Settings], Values] = field(default_factory=dict[str, str])
    low: float = 0
    high: float = 0
    step: float = 1
    unit: str = ""
    none: str = ""
    only: Mapping[str, tuple[Setting, ...]] = field(default_factory=dict[str, "tuple[Setting, ...]"])
    group: str = ""
    hint: str = ""

    @classmethod
    def choice(
        cls,
        name: str,
        label: str,
        values: Values | Callable[[Settings], Values],
        *,
        default: str | None = None,
        **more: Any,
    ) -> Knob:
        """A choice of one value.

        Args:
            name, label: as of the class.
            values: the text of each value; or a function of the other settings that returns that.
            default: the first of them, where it is not given.
            more: `only`, `group`, `hint`.

        Raises:
            ValueError: there is nothing to choose, or the default is not among it.
        """
        if callable(values):
            return cls(name, label, "choice", "" if default is None else default, values, **more)
        if not values:
            raise ValueError(f"The knob {name!r} has no values.")
        first = next(iter(values)) if default is None else default
        if first not in values:
            raise ValueError(f"The knob {name!r} begins at {first!r}, which is none of its values.")
        return cls(name, label, "choice", first, dict(values), **more)

    @classmethod
    def number(
        cls,
        name: str,
        label: str,
        low: float,
        high: float,
        *,
        default: float | None,
        step: float = 1,
        unit: str = "",
        none: str = "",
        **more: Any,
    ) -> Knob:
        """A number between two others.

        Args:
            name, label: as of the class.
            low, high: the least and the greatest value, in `unit`.
            default: what it begins at; None only with `none`.
            step: by how much one press of a key changes it.
            unit: such as "ms", or "".
            none: what it means that there is no number, such as "never"; "" where there has to be one.
            more: `only`, `group`, `hint`.

        Raises:
            ValueError: the bounds are not in order, or the default is not within them.
        """
        if not (math.isfinite(low) and math.isfinite(high) and low < high and step > 0):
            raise ValueError(f"The knob {name!r} has to go up from {low} to {high}, in steps of {step}.")
        knob = cls(
            name, label, "number", default, low=low, high=high, step=step, unit=unit, none=none, **more
        )
        knob.check(default)
        return knob

    @classmethod
    def switch(cls, name: str, label: str, *, default: bool = False, **more: Any) -> Knob:
        """Something that is on or off.

        Args:
            name, label, default: as of the class.
            more: `only`, `group`, `hint`.
        """
        return cls(name, label, "switch", default, **more)

    def matters(self, settings: Settings) -> bool:
        """Whether it changes anything beside these settings of the other knobs."""
        return all(settings.get(name) in values for name, values in self.only.items())

    def choices(self, settings: Settings) -> Values:
        """What there is to choose beside these settings; empty for a knob of another kind."""
        return self.values(settings) if callable(self.values) else self.values

    def check(self, value: object) -> None:
        """Check a value, but for that of a choice that depends on the other settings.

        Raises:
            ValueError: the knob cannot stand there; the text says where it can.
        """
        if self.kind == "switch":
            if not isinstance(value, bool):
                raise ValueError(f"{self.label} is on or off (True or False), not {value!r:.60}.")
        elif self.kind == "number":
            self._check_number(value)
        elif not callable(self.values) and not _is_among(value, self.values):
            known = ", ".join(repr(one) for one in self.values)
            raise ValueError(f"{self.label} is one of {known}, not {value!r:.60}.")

    def _check_number(self, value: object) -> None:
        if value is None and self.none:
            return
        if (
            isinstance(value, (int, float))
            and not isinstance(value, bool)
            and self.low <= value <= self.high
            and (float(value).is_integer() or not float(self.step).is_integer())
        ):
            return
        kind = "whole number" if float(self.step).is_integer() else "number"
        unit = f" {self.unit}" if self.unit else ""
        none = f", or None for {self.none!r}" if self.none else ""
        raise ValueError(
            f"{self.label} is a {kind} from {self.low:g} to {self.high:g}{unit}{none}, not {value!r:.60}."
        )

    def text(self, value: Setting, settings: Settings) -> str:
        """A value for people."""
        if self.kind == "switch":
            return ON if value else OFF
        if self.kind == "choice":
            return self.choices(settings).get(str(value), str(value))
        if value is None:
            return self.none
        return f"{value:,} {self.unit}".rstrip() if isinstance(value, (int, float)) else str(value)


@dataclass(frozen=True, slots=True, repr=False)
class BenchPlan:
    """What a bench is made of. In a notebook it is shown as a bench.

    Attributes:
        name: what it is called in code.
        title: what it shows, in a few words.
        play: plays the story with a value for each knob, by keyword; a knob that is not named stands at its
            default. An error of the story is in the run's `error`.
        knobs: what can be turned, in the order in which it is shown.
        settings: where they stand in the beginning, where that is not at their defaults; see
            `mcpsim.simulation.link_text`.
        step: the step to show first, from 0 (before the first); None for the first.
        find: gives the plan of another story, by its name or by a link text; None where there is no other.
    """

    name: str
    title: str
    play: Play
    knobs: tuple[Knob, ...]
    settings: Settings = field(default_factory=dict[str, Setting])
    step: int | None = None
    find: Callable[[str], BenchPlan] | None = None

    def __repr__(self) -> str:
        return f"<Bench of {self.name!r}: {', '.join(knob.name for knob in self.knobs)}>"


def settle(knobs: Iterable[Knob], given: Mapping[str, Any]) -> dict[str, Setting]:
    """Where every knob stands: at what is given, or at its default.

    A choice that depends on the other settings, and has no such value beside them, stands at the first that
    it has. Where it does not matter, it keeps its value.

    Raises:
        ValueError: a knob cannot stand there, or there is no such knob; the text says what there is.
    """
    all_of_them = tuple(knobs)
    unknown = [name for name in given if name not in {knob.name for knob in all_of_them}]
    if unknown:
        known = ", ".join(knob.name for knob in all_of_them) or "none at all"
        raise ValueError(f"There is no knob {unknown[0]!r:.60}. The knobs are: {known}.")
    settings: dict[str, Setting] = {knob.name: given.get(knob.name, knob.default) for knob in all_of_them}
    for knob in all_of_them:
        value = settings[knob.name]
        knob.check(value)
        if isinstance(value, float) and value.is_integer():
            settings[knob.name] = int(value)
    for knob in all_of_them:
        if callable(knob.values) and knob.matters(settings):
            values = knob.values(settings)
            if not _is_among(settings[knob.name], values):
                settings[knob.name] = next(iter(values), knob.default)
    return settings


def insist(knobs: Iterable[Knob], given: Mapping[str, Any], settings: Settings) -> None:
    """Every knob stands where somebody who wrote it down has put it, and was not set to something else.

    Args:
        knobs: all of them.
        given: what was written down.
        settings: what `settle` made of it.

    Raises:
        ValueError: a choice has no such value beside the other settings; the text says what there is.
    """
    for knob in knobs:
        if knob.name in given and knob.matters(settings) and settings[knob.name] != given[knob.name]:
            known = ", ".join(repr(one) for one in knob.choices(settings)) or "nothing"
            raise ValueError(f"{knob.label} is one of {known:.200}, not {given[knob.name]!r:.60}.")


def _is_among(value: object, values: Values) -> bool:
    return isinstance(value, str) and value in values
