"""Count the words MUST, SHOULD and their kin in the pages of the specification.

    python tests/audit/count_words.py FOLDER

The folder is `docs/specification` of a checkout of the specification. Prints the table that
`test_coverage.py` holds the coverage against.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Final

# A line may break within a keyword.
WORDS: Final = re.compile(r"\b(MUST\s+NOT|MUST|SHALL\s+NOT|SHALL|REQUIRED|SHOULD\s+NOT|SHOULD|RECOMMENDED)\b")
# Authorization is left out; the page of the schema repeats the comments of schema.ts, which the models of
# mcp-types carry.
LEFT_OUT: Final = ("basic/authorization", "schema.mdx", "architecture")
REVISIONS: Final = ("2026-07-28", "2025-11-25")


def main() -> None:
    """Print."""
    folder = Path(sys.argv[1])
    for revision in REVISIONS:
        for path in sorted((folder / revision).rglob("*.mdx")):
            page = path.relative_to(folder / revision).as_posix()
            if page.startswith(LEFT_OUT):
                continue
            count = len(WORDS.findall(path.read_text(encoding="utf-8")))
            if count:
                print(f'    "{revision}/{page.removesuffix(".mdx")}": {count},')


if __name__ == "__main__":
    main()
