"""`mcpsim misbehaving`: the peers that misbehave, one a line, by party and topic."""

from __future__ import annotations

import argparse
from typing import Final, get_args

from mcpsim.cli.command import Command
from mcpsim.course.misbehaving import TOPICS, Party


def _declare(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--party", choices=get_args(Party), help="only those of this kind (default: all)")


def _run(options: argparse.Namespace) -> int:
    # The rules are many, and few commands need them.
    from mcpsim.audit.rules import RULES

    levels = {rule.id: rule.level for rule in RULES}
    width = max(len(one.name) for some in TOPICS.values() for one in some)
    for party in get_args(Party) if options.party is None else (options.party,):
        for topic, some in TOPICS.items():
            chosen = [one for one in some if one.party == party]
            if chosen:
                print(f"# {party}: {topic}")
            for one in chosen:
                print(f"{one.name:{width}}  {one.sentence} ({one.rule}, {levels[one.rule]})")
    return 0


MISBEHAVING: Final = Command("misbehaving", "List the peers that misbehave.", _declare, _run)
