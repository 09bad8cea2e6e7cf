"""Tell Jupyter that it may show the workbook's own pictures before anything was run.

Jupyter cleans the stored HTML of a notebook that it does not trust, and of the still pictures only the
words are left. Trust is given to a notebook only where it is, byte for byte, what the project ships: other
notebooks come from strangers, whose HTML must not run because somebody put a file into a folder.
"""

from __future__ import annotations

import hashlib
import importlib
import subprocess
from collections.abc import Iterable
from pathlib import Path, PurePosixPath
from typing import Any

from mcpsim.workbook.folders import FOLDERS, Source


def pristine(source: Source) -> frozenset[PurePosixPath]:
    """The files of the workbook that are as the project ships them.

    In an installed wheel these are all. In a checkout they are those that git has committed so; without git,
    none.
    """
    files = frozenset(source.files())
    if not source.is_checkout:
        return files
    committed = _committed(source.root)
    return frozenset(
        name for name in files if committed.get(name) == _blob((source.root / name).read_bytes())
    )


def trust(notebooks: Iterable[Path]) -> None:
    """Let Jupyter trust these notebooks as they are now. What is not a notebook is left alone."""
    # These come with an extra.
    nbformat: Any = importlib.import_module("nbformat")
    sign: Any = importlib.import_module("nbformat.sign")
    notary = sign.NotebookNotary()
    for path in notebooks:
        if path.suffix == ".ipynb":
            notary.sign(nbformat.read(path, as_version=4))


def _committed(root: Path) -> dict[PurePosixPath, str]:
    """The workbook's files in the last commit, each with git's name for its content."""
    command = ["git", "-C", str(root), "ls-tree", "-r", "-z", "HEAD", "--", *FOLDERS]
    try:
        listed = subprocess.run(command, capture_output=True, check=True, encoding="utf-8", timeout=30).stdout
    except (OSError, subprocess.SubprocessError, UnicodeDecodeError):
        return {}
    rows = (row.partition("\t") for row in listed.split("\0") if row)
    return {PurePosixPath(name): fields.split()[2] for fields, _, name in rows}


def _blob(content: bytes) -> str:
    return hashlib.sha1(b"blob %d\0%b" % (len(content), content), usedforsecurity=False).hexdigest()
