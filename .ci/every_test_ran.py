"""Read pytest's report (JUnit XML) and fail where a test was skipped, or a whole kind of tests did not run.

Prints the counts as the last line: "N passed, N failed, N skipped".
"""

from __future__ import annotations

import sys
import xml.etree.ElementTree as ElementTree
from collections import Counter
from pathlib import Path

KINDS = ("tests.browser", "notebooks", "exercises")


def main(report: Path) -> int:
    outcomes: Counter[str] = Counter()
    ran: Counter[str] = Counter()
    for case in ElementTree.parse(report).iter("testcase"):
        name = f"{case.get('classname')}::{case.get('name')}"
        outcome = next(
            (child.tag for child in case if child.tag in ("failure", "error", "skipped")), "passed"
        )
        outcomes[outcome] += 1
        ran.update(kind for kind in KINDS if name.startswith(kind) and outcome != "skipped")
        if outcome == "skipped":
            print(f"A skipped test is a failure here: {name}")
    missing = [kind for kind in KINDS if not ran[kind]]
    for kind in missing:
        print(f"No test of {kind} ran.")
    failed = outcomes["failure"] + outcomes["error"]
    print(f"{outcomes['passed']} passed, {failed} failed, {outcomes['skipped']} skipped")
    return 1 if missing or failed or outcomes["skipped"] or not outcomes["passed"] else 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
