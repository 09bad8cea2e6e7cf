"""The rules, by topic."""

from __future__ import annotations

from typing import Final

from mcpsim.audit.rule import Rule
from mcpsim.audit.schema import SCHEMA

RULES: Final[tuple[Rule, ...]] = (*SCHEMA,)
