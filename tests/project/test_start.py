"""What a process that imports mcpsim does not have to wait for."""

from __future__ import annotations

import sys

from tests.project.conftest import Run

PROGRAM = """
import sys
import mcpsim.course.exercises
print(sorted({"IPython", "anywidget", "ipywidgets", "jsonschema", "mcp_types.methods"} & sys.modules.keys()))
import mcpsim
print(mcpsim.Player.__name__, mcpsim.Bench.__name__, "ipywidgets" in sys.modules)
"""


def test_widgets_schemas_and_the_models_of_bodies_are_imported_where_they_are_used(run: Run) -> None:
    done = run(sys.executable, "-c", PROGRAM)
    assert done.stdout == "[]\nPlayer Bench True\n"


def test_a_name_that_is_not_there_is_told_as_always(run: Run) -> None:
    done = run(sys.executable, "-c", "import mcpsim\nmcpsim.nothing")
    assert done.stdout.endswith("AttributeError: module 'mcpsim' has no attribute 'nothing'\n")
