"""Shows runs and recordings as players in a notebook, and what a bench is made of as a bench.

The rooms below know nothing of widgets. So IPython is told, once, how to show their objects.
"""

from __future__ import annotations

import sys
from typing import Any, cast

from mcpsim.recording import Recording
from mcpsim.recording.run import Run
from mcpsim.simulation.knobs import BenchPlan
from mcpsim.widgets.bench import bench_bundle
from mcpsim.widgets.player import display_bundle


def register() -> None:
    """Tell the running IPython, if there is one, to show a Run or a Recording as a player, and a plan as a
    bench."""
    ipython = sys.modules.get("IPython")
    shell = cast("Any", ipython).get_ipython() if ipython is not None else None
    if shell is None:
        return
    formatter = shell.display_formatter.mimebundle_formatter
    formatter.for_type(Run, _show_run)
    formatter.for_type(Recording, _show_recording)
    formatter.for_type(BenchPlan, _show_bench)


def _show_run(run: Run, **_: Any) -> dict[str, Any]:
    return display_bundle(run)


def _show_recording(recording: Recording, **_: Any) -> dict[str, Any]:
    return display_bundle(recording)


def _show_bench(plan: BenchPlan, **_: Any) -> dict[str, Any]:
    return bench_bundle(plan)
