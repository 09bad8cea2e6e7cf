"""Runs nbgrader as a teacher does, in a folder of its own, and prints what came of it as JSON.

python nbgrader_course.py release ASSIGNMENT ...
python nbgrader_course.py grade ASSIGNMENT
"""

from __future__ import annotations

import json
import sys

from nbgrader.api import Gradebook
from nbgrader.apps import NbGraderAPI
from traitlets.config import PyFileConfigLoader


def course() -> NbGraderAPI:
    """The course in the current folder, with the settings of its `nbgrader_config.py`."""
    return NbGraderAPI(config=PyFileConfigLoader("nbgrader_config.py").load_config())


def release(names: list[str]) -> None:
    """Make the learners' versions."""
    api = course()
    for name in names:
        made = api.generate_assignment(name)
        assert made["success"], made


def grade(name: str) -> dict[str, dict[str, float]]:
    """Grade what was submitted: for each student the points of each check."""
    api = course()
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
    verb, *names = sys.argv[1:]
    print(json.dumps(release(names) if verb == "release" else grade(names[0])))
