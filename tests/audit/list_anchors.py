"""List the pages of the specification and the anchors on them.

    python tests/audit/list_anchors.py FOLDER > tests/audit/anchors.txt

The folder is `docs/specification` of a checkout of the specification. An anchor is the slug of a heading.
Prints the list that `test_anchors.py` holds the rules against.
"""

from __future__ import annotations

import re
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Final

REVISIONS: Final = ("2026-07-28", "2025-11-25")
HEADING: Final = re.compile(r"#{1,6} +(.+)")
LINK: Final = re.compile(r"\[([^\]]*)\]\([^)]*\)")


def slug(heading: str) -> str:
    """The anchor of a heading: lower case, without marks, with hyphens for spaces."""
    words = LINK.sub(r"\1", heading).replace("`", "").strip().lower()
    return re.sub(r"[\s-]+", "-", re.sub(r"[^a-z0-9\s-]", "", words)).strip("-")


def headings(text: str) -> Iterator[str]:
    """The headings of a page, without what looks like one inside a block of code."""
    fence = ""
    for line in text.splitlines():
        mark = re.match(r"\s*(`{3,}|~{3,})", line)
        if mark and (not fence or line.strip().startswith(fence)):
            fence = "" if fence else mark[1]
            continue
        found = None if fence else HEADING.fullmatch(line)
        if found:
            yield found[1]


def anchors(text: str) -> Iterator[str]:
    """The anchors of a page: one that is there already gets a number."""
    seen: Counter[str] = Counter()
    for heading in headings(text):
        name = slug(heading)
        seen[name] += 1
        yield name if seen[name] == 1 else f"{name}-{seen[name]}"


def main() -> None:
    """Print."""
    folder = Path(sys.argv[1])
    places: set[str] = set()
    for revision in REVISIONS:
        for path in (folder / revision).rglob("*.mdx"):
            page = path.relative_to(folder).as_posix().removesuffix(".mdx")
            places.add(page)
            places.update(f"{page}#{anchor}" for anchor in anchors(path.read_text(encoding="utf-8")))
    print("\n".join(sorted(places)))


if __name__ == "__main__":
    main()
