"""Thousands of fault plans over the built-in stories, outside of pytest.

    python tests/properties/many_plans.py 10000 [--seed 1] [--minutes 20]

Prints how many were played, how they ended, and each distinct failure once, with the smallest plan that shows
it. The exit status is 1 where there was a failure.
"""

from __future__ import annotations

import argparse
import sys
import time
import traceback
from collections import Counter
from pathlib import Path
from random import Random

sys.path.insert(0, str(Path(__file__).parents[2]))

from tests.support.plans import Plan, played


def failure_of(plan: Plan) -> tuple[str, str, str] | None:
    """What went wrong: a short name of it, one line, and the whole; None where nothing did."""
    try:
        played(plan)
    except Exception as error:
        lines = str(error).splitlines() or [""]
        where = traceback.extract_tb(error.__traceback__)[-1]
        # An assertion says by its first words what is broken; anything else, by where it came from.
        what = lines[0].split(":")[0] if isinstance(error, AssertionError) else f"{where.name}:{where.lineno}"
        return f"{type(error).__name__} {what}", lines[0], traceback.format_exc()
    return None


def smallest(plan: Plan, name: str) -> Plan:
    """The plan with everything left out that the failure does not need."""
    for smaller in plan.smaller():
        found = failure_of(smaller)
        if found is not None and found[0] == name:
            return smallest(smaller, name)
    return plan


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("plans", type=int, help="how many plans to play")
    parser.add_argument("--seed", type=int, default=1, help="where the plans are drawn from")
    parser.add_argument("--minutes", type=float, default=60.0, help="stop after that long")
    parser.add_argument("--verbose", action="store_true", help="print the whole of each failure")
    given = parser.parse_args()
    random = Random(given.seed)
    endings: Counter[str] = Counter()
    failures: dict[str, tuple[Plan, str, str]] = {}
    begun = time.monotonic()
    for number in range(1, given.plans + 1):
        plan = Plan.drawn(random)
        try:
            endings[played(plan)] += 1
        except Exception:
            found = failure_of(plan)
            name, line, whole = found or ("another time it went well", "", "")
            endings[f"FAILED: {name}"] += 1
            if name not in failures:
                failures[name] = (smallest(plan, name), line, whole)
                print(f"after {number}: {name}\n  {failures[name][0]}\n  {line[:600]}", flush=True)
                if given.verbose:
                    print(whole, flush=True)
        if time.monotonic() - begun > given.minutes * 60:
            break
    print(f"{sum(endings.values())} plans, seed {given.seed}, {time.monotonic() - begun:.0f} s")
    for ending, count in endings.most_common():
        print(f"{count:8} {ending}")
    print(f"{len(failures)} distinct failures")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
