"""Peers that misbehave in opening, versions and capabilities, pings, and on the standard streams."""

from __future__ import annotations

from typing import Final

from mcpsim.course.misbehaving.base import Misbehaviour
from mcpsim.course.misbehaving.handshakes import HANDSHAKES, SESSIONS
from mcpsim.course.misbehaving.versions import STREAMS, VERSIONS

LIFECYCLE: Final[tuple[Misbehaviour, ...]] = (*HANDSHAKES, *SESSIONS, *VERSIONS, *STREAMS)
