"""Runs nbgrader as a teacher does, in a folder of its own, and prints as JSON what each student got.

python nbgrader_course.py GRADED ASSIGNMENT ...

releases the assignments, and then grades what was submitted for one of them. Only that one is written into
the gradebook: for the others it is as with `nbgrader generate_assignment --no-db`.
"""

from __future__ import annotations

import json
import sys
from typing import Any

# The parsers of addresses in here, which no notebook needs, take longer to make than nbgrader to import.
sys.modules["rfc3987_syntax"] = None  # pyright: ignore[reportArgumentType]

from nbgrader.api import Gradebook  # noqa: E402
from nbgrader.apps import NbGraderAPI  # noqa: E402
from sqlalchemy import event  # noqa: E402
from sqlalchemy.engine import Engine  # noqa: E402
from traitlets.config import PyFileConfigLoader  # noqa: E402


@event.listens_for(Engine, "connect")
def do_not_wait_for_the_disk(connection: Any, record: object) -> None:
    """The course is gone when the tests are done."""
    connection.execute("PRAGMA synchronous = OFF")


def course(*, with_gradebook: bool) -> NbGraderAPI:
    """The course in the current folder, with the settings of its `nbgrader_config.py`."""
    config = PyFileConfigLoader("nbgrader_config.py").load_config()
    config.GenerateAssignment.no_database = not with_gradebook
    config.SaveCells.enabled = with_gradebook
    return NbGraderAPI(config=config)


def release(api: NbGraderAPI, names: list[str]) -> None:
    """Make the learners' versions."""
    for name in names:
        made = api.generate_assignment(name)
        assert made["success"], made


def grade(api: NbGraderAPI, name: str) -> dict[str, dict[str, float]]:
    """Grade what was submitted: for each student the points of each check."""
    students = sorted(api.get_submitted_students(name))
    for student in students:
        done = api.autograde(name, student)
        assert done["success"], done
    with Gradebook(api.coursedir.db_url, api.coursedir.course_id) as book:
        return {
            student: {
                graded.name: graded.score
                for notebook in book.find_submission(name, student).notebooks
                for graded in notebook.grades
            }
            for student in students
        }


if __name__ == "__main__":
    graded, *names = sys.argv[1:]
    api = course(with_gradebook=True)
    release(api, [graded])
    release(course(with_gradebook=False), [name for name in names if name != graded])
    print(json.dumps(grade(api, graded)))
