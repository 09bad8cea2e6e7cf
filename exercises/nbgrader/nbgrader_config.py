"""What nbgrader has to know of the exercises. Copy this folder to where your course shall be."""

import os

c = get_config()  # noqa: F821

c.CourseDirectory.course_id = "mcp"

# An answer cell begins with a starter, so that nothing has to stand in place of the solution.
c.ClearSolutions.code_stub = {"python": ""}

# A check gives up on a loop without an end after ten seconds, and is called twice.
c.Execute.timeout = 120

# Grading is not learning: the learner's overview stays as it is.
os.environ["MCPSIM_PROGRESS"] = "off"
