"""Give a learner a copy of the workbook, and later versions of it, without touching what the learner wrote.

Beside the copy lies a manifest: for each file, the SHA-256 of the version that the learner was last given.
A file that still has that digest was not touched and may be replaced. Any other file is the learner's: it
stays, and a newer version is put beside it under another name, once.

A notebook that was only run counts as touched. Its outputs may be what the learner wants to keep.
"""

from __future__ import annotations

import enum
import hashlib
import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any, Final, cast

from mcpsim.workbook.folders import Source, WorkbookError

MANIFEST: Final = ".mcpsim-workbook.json"
MANIFEST_FORMAT: Final = 1


class Outcome(enum.Enum):
    """What was done about one file; the value is how the summary says it."""

    COPIED = "copied"
    UPDATED = "updated, you had not changed it"
    SAME = "up to date"
    KEPT = "kept, it is yours"
    BESIDE = "kept, it is yours; the new version is beside it"

    @property
    def short(self) -> str:
        """The first word or words, as a summary counts them."""
        return self.value.partition(",")[0].partition(";")[0]


@dataclass(frozen=True, slots=True)
class Copied:
    """What was done about one file.

    Attributes:
        name: the file, relative to the learner's folder.
        outcome: what was done.
        beside: for `Outcome.BESIDE`, the file that holds the new version; otherwise None.
    """

    name: PurePosixPath
    outcome: Outcome
    beside: PurePosixPath | None = None

    @property
    def shipped(self) -> PurePosixPath | None:
        """The file in the learner's folder that is as it was shipped; None where there is no such file."""
        return self.beside if self.outcome in (Outcome.KEPT, Outcome.BESIDE) else self.name

    def __str__(self) -> str:
        return f"{self.name}: {self.outcome.value}{f', as {self.beside.name}' if self.beside else ''}"


def copy_workbook(source: Source, folder: Path) -> tuple[Copied, ...]:
    """Copy the workbook into `folder`, or bring an older copy up to date.

    A file that the learner deleted is copied again. Copying twice changes nothing the second time.

    Args:
        source: the workbook as shipped.
        folder: the learner's folder; created where it does not exist.

    Returns:
        One row a shipped file, in order.

    Raises:
        WorkbookError: the folder cannot be made, read or written, or something that is not a file has the
            name of a lesson.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        given = _read_manifest(folder)
        try:
            return tuple(_copy_file(source.root / name, folder, name, given) for name in source.files())
        finally:
            # Also after a failure half-way: what was copied must not look like the learner's next time.
            _write_manifest(folder, given)
    except (OSError, _NotAFile) as error:
        raise WorkbookError(
            f"The workbook cannot be copied to {folder}: {error}. Name another folder: mcpsim lab FOLDER"
        ) from error


class _NotAFile(Exception):
    pass


def _copy_file(shipped: Path, folder: Path, name: PurePosixPath, given: dict[str, str]) -> Copied:
    content = shipped.read_bytes()
    digest = _digest(content)
    outcome = _decide(_current_digest(folder / name), digest, given.get(str(name)))
    beside = None
    if outcome in (Outcome.COPIED, Outcome.UPDATED):
        _write(folder / name, content)
    elif outcome is Outcome.BESIDE:
        beside = _free_name(folder, name, digest)
        _write(folder / beside, content)
    given[str(name)] = digest
    return Copied(name, outcome, beside)


def _decide(current: str | None, shipped: str, last_given: str | None) -> Outcome:
    if current is None:
        return Outcome.COPIED
    if current == shipped:
        return Outcome.SAME
    if current == last_given:
        return Outcome.UPDATED
    return Outcome.KEPT if shipped == last_given else Outcome.BESIDE


def _free_name(folder: Path, name: PurePosixPath, digest: str) -> PurePosixPath:
    """The first of NAME.new, NAME.new2, ... that is not there, or already holds this very content."""
    number = 1
    while True:
        candidate = name.with_name(f"{name.stem}.new{number if number > 1 else ''}{name.suffix}")
        if _current_digest(folder / candidate) in (None, digest):
            return candidate
        number += 1


def _current_digest(path: Path) -> str | None:
    if not path.exists():
        return None
    if not path.is_file():
        raise _NotAFile(f"{path} is not a file")
    return _digest(path.read_bytes())


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def _read_manifest(folder: Path) -> dict[str, str]:
    """The manifest. Where it is missing or damaged, it is empty: then every file counts as the learner's."""
    try:
        manifest: Any = json.loads((folder / MANIFEST).read_bytes())
    except (FileNotFoundError, ValueError, RecursionError):
        return {}
    if not isinstance(manifest, dict):
        return {}
    files = cast("dict[str, Any]", manifest).get("files")
    if not isinstance(files, dict):
        return {}
    rows = cast("dict[str, Any]", files)
    return {name: digest for name, digest in rows.items() if isinstance(digest, str)}


def _write_manifest(folder: Path, given: Mapping[str, str]) -> None:
    manifest = {
        "about": "What mcpsim copied here, so that it can tell your changes from its own. Leave it in place.",
        "format": MANIFEST_FORMAT,
        "files": dict(sorted(given.items())),
    }
    _write(folder / MANIFEST, (json.dumps(manifest, indent=1) + "\n").encode())


def _write(path: Path, content: bytes) -> None:
    """Write all of the file or nothing: a full disk must not leave half a notebook."""
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(f".{path.name}.part")
    try:
        part.write_bytes(content)
        os.replace(part, path)
    finally:
        part.unlink(missing_ok=True)
