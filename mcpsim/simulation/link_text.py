"""A view of a bench as one line of text, to be sent to somebody and pasted back.

    mcpsim:three-pages?era=legacy&page_size=2&fault=drop&message=2%20resources/list#12

The name of a built-in story, the knobs that matter and do not stand at their default, and the step. It is no
address of a machine. Where the same story and the same knobs are, the text gives the same view, because the
same settings give the same run.

`=`, `&`, `#`, `%`, spaces and whatever is no ASCII stand as percent codes of their UTF-8 bytes.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, Final
from urllib.parse import quote, unquote

from mcpsim.simulation.knobs import OFF, ON, Knob, Setting, Settings, insist, settle

SCHEME: Final = "mcpsim:"
MAX_LENGTH: Final = 2_000
#: What a number stands for that there is none of.
NONE: Final = "none"

_EXAMPLE: Final = "mcpsim:three-pages?page_size=2#5"
_LINK: Final = re.compile(r"mcpsim:(?P<story>[^?#]+)(?:\?(?P<knobs>[^#]*))?(?:#(?P<step>.*))?", re.DOTALL)
_STEP: Final = re.compile(r"0|[1-9][0-9]{0,6}")
_NUMBER: Final = re.compile(r"-?(?:0|[1-9][0-9]{0,14})(?:\.[0-9]{1,15})?")
_PLAIN: Final = "/:,~"
_CODED: Final = re.compile(r"(?:[A-Za-z0-9_.~/:,!$'()*+;@-]|%[0-9A-Fa-f]{2})*")


@dataclass(frozen=True, slots=True)
class LinkText:
    """What a link text says.

    Attributes:
        story: the name of the story.
        knobs: the value of each knob that it names, as it stands there, decoded.
        step: the step to show, from 0 (before the first); None where it does not say.
    """

    story: str
    knobs: Mapping[str, str]
    step: int | None = None


def is_link_text(text: str) -> bool:
    """Whether a text means to be a link text."""
    return text.lstrip().startswith(SCHEME)


def write_link(story: str, knobs: Iterable[Knob], settings: Settings, step: int | None = None) -> str:
    """The link text of a view.

    Args:
        story: the name of the story.
        knobs: what can be turned.
        settings: where it stands. What does not matter beside the others is left out.
        step: the step that is shown, from 0 (before the first); None to leave it out.
    """
    told = [
        f"{_coded(knob.name)}={_coded(_value_text(knob, settings[knob.name]))}"
        for knob in knobs
        if knob.matters(settings) and settings[knob.name] != knob.default
    ]
    query = f"?{'&'.join(told)}" if told else ""
    return f"{SCHEME}{_coded(story)}{query}{'' if step is None else f'#{step}'}"


def _value_text(knob: Knob, value: Setting) -> str:
    if knob.kind == "switch":
        return ON if value else OFF
    if value is None:
        return NONE
    return format(Decimal(str(value)), "f") if isinstance(value, float) else str(value)


def _coded(text: str) -> str:
    return quote(text, safe=_PLAIN)


def read_link(text: str) -> LinkText:
    """Read a link text. Spaces around it do not count.

    Raises:
        ValueError: it is none; the text says what is wrong with it.
    """
    text = text.strip()
    if len(text) > MAX_LENGTH:
        raise ValueError(f"A link text has at most {MAX_LENGTH:,} characters, and this has {len(text):,}.")
    found = _LINK.fullmatch(text)
    if found is None:
        raise ValueError(f"{text!r:.60} is no link text. One is {_EXAMPLE!r}.")
    step = found["step"]
    if step is not None and not _STEP.fullmatch(step):
        raise ValueError(
            f"In a link text the number of a step stands after #, such as #5, and not {step!r:.40}."
        )
    knobs: dict[str, str] = {}
    for pair in found["knobs"].split("&") if found["knobs"] is not None else ():
        name, equals, value = pair.partition("=")
        if not name or not equals:
            raise ValueError(f"In a link text a knob stands as name=value, and not as {pair!r:.60}.")
        name = _decoded(name)
        if name in knobs:
            raise ValueError(f"The link text names {name!r:.60} twice.")
        knobs[name] = _decoded(value)
    return LinkText(_decoded(found["story"]), knobs, None if step is None else int(step))


def _decoded(text: str) -> str:
    if not _CODED.fullmatch(text):
        raise ValueError(f"{text!r:.60} in the link text holds a character that has to be a percent code.")
    try:
        return unquote(text, errors="strict")
    except UnicodeDecodeError:
        raise ValueError(f"The percent codes in {text!r:.60} are no text in UTF-8.") from None


def settings_of(link: LinkText, knobs: Iterable[Knob]) -> dict[str, Setting]:
    """Where the knobs of its story stand, as the link text says.

    Raises:
        ValueError: it names a knob that is not there, or that changes nothing beside the others, or says that
            a knob stands where it cannot.
    """
    by_name = {knob.name: knob for knob in knobs}
    given: dict[str, Any] = {
        name: _value(by_name[name], text) if name in by_name else text for name, text in link.knobs.items()
    }
    settings = settle(by_name.values(), given)
    for name in given:
        knob = by_name[name]
        if not knob.matters(settings):
            raise ValueError(
                f"{knob.label} changes nothing beside the other settings of the link text: leave {name} out."
            )
    insist(by_name.values(), given, settings)
    return settings


def _value(knob: Knob, text: str) -> Setting:
    if knob.kind == "switch":
        # Anything else is no position of a switch, and is told so where it is checked.
        return {ON: True, OFF: False}.get(text, text)
    if knob.kind == "number":
        if text == NONE and knob.none:
            return None
        if not _NUMBER.fullmatch(text):
            return text
        return float(text) if "." in text else int(text)
    return text


def check_step(step: int | None, last: int) -> int:
    """The step that a link text means.

    Args:
        step: what it says; None for the first step.
        last: how many steps there are.

    Raises:
        ValueError: there are not so many.
    """
    if step is None:
        return min(1, last)
    if step > last:
        raise ValueError(f"The link text says step {step:,}, and with these knobs there are {last:,} steps.")
    return step
