"""Peers that misbehave in Streamable HTTP and stdio: heads, streams, sessions."""

from __future__ import annotations

from typing import Final

from mcpsim.course.misbehaving.base import Misbehaviour

HTTP: Final[tuple[Misbehaviour, ...]] = ()
