"""Keep what checks said, beside the learner's notebooks, from one day to the next.

Written is only where a learner works: in the kernel of a notebook whose folder is the workbook's `exercises`.
Tests, graders and `mcpsim notebooks` set the environment variable MCPSIM_PROGRESS to "off".
"""

from __future__ import annotations

import contextlib
import json
import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, cast

from mcpsim.course.exercises.verdict import Outcome

FILE: Final = "progress.json"
FORMAT: Final = 1
SWITCH: Final = "MCPSIM_PROGRESS"

_ABOUT: Final = "What the checks of your exercises said. Delete this file to begin again."

Verdicts = Mapping[str, Mapping[str, str]]


@dataclass(frozen=True, slots=True)
class Kept:
    """What a file holds.

    Attributes:
        verdicts: by lesson and exercise; what this version does not know is in it too.
        problem: why the file cannot be used, as a sentence, or "".
    """

    verdicts: Verdicts = field(default_factory=dict[str, Mapping[str, str]])
    problem: str = ""

    def outcome(self, lesson: str, exercise: str) -> Outcome:
        """What the file says of one exercise."""
        said = self.verdicts.get(lesson, {}).get(exercise)
        return next((outcome for outcome in Outcome if outcome == said), Outcome.NOT_ATTEMPTED)


def keep(lesson: str, exercise: str, outcome: Outcome) -> None:
    """Keep a verdict, where a learner works and there is something new to keep. What passed once has passed.

    A file that cannot be read stays as it is. A folder that cannot be written is no reason to fail a check.
    """
    if outcome is Outcome.NOT_ATTEMPTED or not (is_on() and _in_kernel()):
        return
    with contextlib.suppress(OSError):
        folder = Path.cwd()
        if not is_exercises(folder, lesson):
            return
        kept = read(folder)
        if kept.problem or kept.outcome(lesson, exercise) in (Outcome.PASSED, outcome):
            return
        of_lesson = {**kept.verdicts.get(lesson, {}), exercise: str(outcome)}
        _write(folder, {**kept.verdicts, lesson: of_lesson})


def kept_here(lesson: str) -> Kept:
    """What is kept where this learner works; nothing where nothing is, or where it cannot be used."""
    if is_on() and _in_kernel():
        folder = Path.cwd()
        if is_exercises(folder, lesson):
            return read(folder)
    return Kept()


def read(folder: Path) -> Kept:
    """What is kept in a folder; nothing where there is no file."""
    try:
        content: Any = json.loads((folder / FILE).read_bytes())
    except FileNotFoundError:
        return Kept()
    except OSError as error:
        return Kept(problem=f"`{FILE}` cannot be read: {error.strerror}.")
    except (ValueError, RecursionError):
        return _damaged("it is not JSON")
    if not isinstance(content, dict):
        return _damaged("it is not a JSON object")
    table = cast("dict[str, Any]", content)
    if table.get("format") != FORMAT:
        return _damaged(f"its `format` is not {FORMAT}")
    lessons = table.get("exercises")
    if not isinstance(lessons, dict) or not all(map(_is_row, cast("dict[str, Any]", lessons).values())):
        return _damaged("`exercises` is not an object of objects of texts")
    return Kept(cast("Verdicts", lessons))


def is_on() -> bool:
    """Whether verdicts are kept and shown at all."""
    return os.environ.get(SWITCH, "").lower() != "off"


def is_exercises(folder: Path, lesson: str) -> bool:
    """Whether this is the folder `exercises` of a workbook, with the notebooks of this lesson."""
    name = f"{lesson}.ipynb"
    return (folder / name).is_file() and (folder / "solutions" / name).is_file()


def _in_kernel() -> bool:
    # Not imported: where nobody has, there is no kernel.
    ipython: Any = sys.modules.get("IPython")
    shell: Any = ipython.get_ipython() if ipython is not None else None
    return getattr(shell, "kernel", None) is not None


def _is_row(value: Any) -> bool:
    return isinstance(value, dict) and all(
        isinstance(one, str) for one in cast("dict[str, Any]", value).values()
    )


def _damaged(why: str) -> Kept:
    return Kept(
        problem=f"`{FILE}` is damaged: {why}. It stays as it is, and nothing is kept. Repair it, or delete "
        "it to begin again."
    )


def _write(folder: Path, verdicts: Verdicts) -> None:
    """Write all of the file or nothing."""
    lessons = {lesson: dict(sorted(row.items())) for lesson, row in sorted(verdicts.items())}
    content = {"about": _ABOUT, "format": FORMAT, "exercises": lessons}
    part = folder / f".{FILE}.{os.getpid()}.part"
    try:
        text = json.dumps(content, ensure_ascii=False, indent=1) + "\n"
        # Half of a surrogate pair, which somebody may have written into it, stays what it is: an escape.
        part.write_bytes(text.encode("utf-8", "backslashreplace"))
        os.replace(part, folder / FILE)
    finally:
        part.unlink(missing_ok=True)
