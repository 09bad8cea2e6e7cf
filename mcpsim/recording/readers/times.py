"""Points in time as logs write them, and as milliseconds since the first one."""

from __future__ import annotations

import re
from typing import Any, Final

from mcpsim.recording.importing import MAX_TIME_MS

_STAMP: Final = re.compile(
    r"(?P<year>\d{4})-(?P<month>\d\d)-(?P<day>\d\d)[T ](?P<hour>\d\d):(?P<minute>\d\d):(?P<second>\d\d)"
    r"(?:[.,](?P<part>\d{1,9}))?\s?(?P<zone>Z|[+-]\d\d:?\d\d)?",
    re.ASCII,
)
_DAY_MS: Final = 86_400_000


def stamp_ms(text: str) -> float | None:
    """The first time stamp in a text, as milliseconds since 1970; without a zone as if it were UTC. None
    where there is none."""
    match = _STAMP.search(text)
    if match is None:
        return None
    year, month, day, hour, minute, second = (int(match[number]) for number in range(1, 7))
    if not (1 <= month <= 12 and 1 <= day <= 31 and hour < 24 and minute < 60 and second <= 60):
        return None
    part = match["part"] or "0"
    ms = int(part) * 1000 / 10 ** len(part)
    seconds = (hour * 60 + minute) * 60 + second - _zone_seconds(match["zone"])
    return _days(year, month, day) * _DAY_MS + seconds * 1000 + ms


def _zone_seconds(zone: str | None) -> int:
    if zone is None or zone == "Z":
        return 0
    digits = zone[1:].replace(":", "")
    seconds = int(digits[:2]) * 3600 + int(digits[2:]) * 60
    return -seconds if zone[0] == "-" else seconds


def _days(year: int, month: int, day: int) -> int:
    """Days since 1970-01-01. (`datetime` belongs to the real world, which recordings do not know.)"""
    # Counted from March, so that the day of a leap year comes last.
    years = year - (month <= 2)
    day_of_year = (153 * ((month + 9) % 12) + 2) // 5 + day - 1
    return years * 365 + years // 4 - years // 100 + years // 400 + day_of_year - 719_468


class Clock:
    """Milliseconds since the first time that it was shown. A time before the one shown last (logs mix what
    several threads wrote) is left out."""

    def __init__(self) -> None:
        self._first: float | None = None
        self._last = 0.0

    def row(self, at_ms: float | None) -> dict[str, Any]:
        """The member of a row that says when: {} where that is not known."""
        if at_ms is None:
            return {}
        if self._first is None:
            self._first = at_ms
        since = round(at_ms - self._first, 3)
        if not self._last <= since <= MAX_TIME_MS:
            return {}
        self._last = since
        return {"t_ms": int(since) if since == int(since) else since}
