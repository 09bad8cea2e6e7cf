"""Peers that misbehave in named ways: each breaks one rule, and the audit says which.

    from mcpsim.course import MISBEHAVING
    run = MISBEHAVING["server-answers-twice"].play()
    print(run.audit())

`play_well()` plays the same with a peer that does it right, and the audit does not name that rule. Each has a
name, the party that misbehaves, one sentence that says how, and the rule. `mcpsim misbehaving` lists them.

How to add one: see `mcpsim.course.misbehaving.base`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from mcpsim.course.misbehaving.asking import ASKING
from mcpsim.course.misbehaving.base import Misbehaviour, Party, collected
from mcpsim.course.misbehaving.caching import CACHING
from mcpsim.course.misbehaving.declaring import DECLARING
from mcpsim.course.misbehaving.deprecated import DEPRECATED
from mcpsim.course.misbehaving.entries import ENTRIES
from mcpsim.course.misbehaving.features import FEATURES
from mcpsim.course.misbehaving.gateways import GATEWAYS
from mcpsim.course.misbehaving.http import HTTP
from mcpsim.course.misbehaving.http_checks import HTTP_CHECKS
from mcpsim.course.misbehaving.http_lasting import HTTP_LASTING
from mcpsim.course.misbehaving.http_resuming import HTTP_RESUMING
from mcpsim.course.misbehaving.lifecycle import LIFECYCLE
from mcpsim.course.misbehaving.lines import LINES
from mcpsim.course.misbehaving.messages import MESSAGES
from mcpsim.course.misbehaving.pagination import PAGINATION
from mcpsim.course.misbehaving.patterns import PATTERNS
from mcpsim.course.misbehaving.provoked import PROVOKED
from mcpsim.course.misbehaving.stopping import STOPPING, STOPPING_TASKS
from mcpsim.course.misbehaving.tasks import TASKS
from mcpsim.course.misbehaving.tasks_and_lists import TASKS_AND_LISTS
from mcpsim.course.misbehaving.tasks_and_questions import TASKS_AND_QUESTIONS

#: By topic, in the order of the lessons.
TOPICS: Final[Mapping[str, tuple[Misbehaviour, ...]]] = {
    "messages": (*MESSAGES, *LINES),
    "beginning and end": (*LIFECYCLE, *DECLARING, *STOPPING),
    "HTTP": (*HTTP, *HTTP_CHECKS, *HTTP_LASTING, *HTTP_RESUMING),
    "progress, cancellation, subscriptions, logs": PATTERNS,
    "questions to the client": (*ASKING, *DEPRECATED),
    "tools, resources, prompts, completion": (*FEATURES, *ENTRIES),
    "pages": PAGINATION,
    "caching": (*CACHING, *GATEWAYS),
    "tasks": (*TASKS, *STOPPING_TASKS, *TASKS_AND_LISTS, *TASKS_AND_QUESTIONS),
    "what the other side does wrong": PROVOKED,
}
MISBEHAVING: Final[Mapping[str, Misbehaviour]] = collected(*TOPICS.values())

__all__ = ["MISBEHAVING", "TOPICS", "Misbehaviour", "Party"]
