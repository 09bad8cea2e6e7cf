"""Shows runs and recordings as players in a notebook.

The rooms below know nothing of widgets. So IPython is told, once, how to show their objects.
"""

from __future__ import annotations

import sys
from typing import Any, cast

from mcpsim.recording import Recording
from mcpsim.recording.run import Run
from mcpsim.widgets.player import display_bundle


def register() -> None:
    """Tell the running IPython, if there is one, to show a Run or a Recording as a player."""
    ipython = sys.modules.get("IPython")
    shell = cast("Any", ipython).get_ipython() if ipython is not None else None
    if shell is None:
        return
    formatter = shell.display_formatter.mimebundle_formatter
    formatter.for_type(Run, _show_run)
    formatter.for_type(Recording, _show_recording)


def _show_run(run: Run, **_: Any) -> dict[str, Any]:
    return display_bundle(run.recording)


def _show_recording(recording: Recording, **_: Any) -> dict[str, Any]:
    return display_bundle(recording)
