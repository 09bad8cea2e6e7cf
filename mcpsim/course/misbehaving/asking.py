"""Peers that misbehave in questions to the client: elicitation, sampling, roots, multi round-trip."""

from __future__ import annotations

from typing import Final

from mcpsim.course.misbehaving.answering import ANSWERING
from mcpsim.course.misbehaving.base import Misbehaviour
from mcpsim.course.misbehaving.questioning import QUESTIONING
from mcpsim.course.misbehaving.retrying import RETRYING
from mcpsim.course.misbehaving.sampling import SAMPLING
from mcpsim.course.misbehaving.visits import VISITS

ASKING: Final[tuple[Misbehaviour, ...]] = (*QUESTIONING, *VISITS, *SAMPLING, *RETRYING, *ANSWERING)
