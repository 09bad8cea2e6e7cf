"""What a player does where its user wants to know what would have happened otherwise."""

from __future__ import annotations

from contextlib import redirect_stdout
from io import StringIO
from typing import Any

import traitlets

from mcpsim.errors import McpSimError
from mcpsim.recording import Recording
from mcpsim.recording.run import Run
from mcpsim.simulation.branching import Branch, Change, branch, why_not_again
from mcpsim.widgets.bench_view import error_text
from mcpsim.widgets.branch_view import branch_data, change_of, choices_data, events_before

NO_RUN = "Only the recording is here, not the run: a recording does not say how its story is played again."


class Branching(traitlets.HasTraits):
    """The part of a player that plays its run again with a change, for its user or for a cell.

    Attributes:
        run: the run that is played, where there is one.
    """

    # From the browser: {"n": which wish of the browser it is, "step": after which step}, and where one was
    # chosen {"change": see `change_of`}.
    branch_asked: Any = traitlets.Dict().tag(sync=True)
    # To the browser: `n` of what it answers to, `error`, and `choices_data` or `branch_data`.
    branch_shown: Any = traitlets.Dict().tag(sync=True)
    # Why this run can not be played again, or "".
    no_branch: Any = traitlets.Unicode("").tag(sync=True)

    run: Run | None = None
    _recording: Recording
    _findings: bool = True

    def branch(self, step: int, change: Change) -> Branch:
        """Play the run again, the same up to a step, and then with one change.

        Args:
            step: the step after which the change comes; 0 for before the first.
            change: see `mcpsim.simulation.branching`.

        Raises:
            ValueError: there is no such step, or the change is not possible there; the text says why.
            McpSimError: the run cannot be played again.
        """
        return branch(self._branchable(), events_before(self._recording, step), change)

    def _branchable(self) -> Run:
        run = self.run
        if run is None or run.recording is not self._recording:
            raise McpSimError(NO_RUN)
        refused = why_not_again(run)
        if refused:
            raise McpSimError(refused)
        return run

    @traitlets.observe("data")
    def _on_data(self, change: Any) -> None:
        # A bench may begin without a run, and have one when a knob is turned.
        self._say_whether_again()

    def _say_whether_again(self) -> None:
        try:
            self._branchable()
        except McpSimError as error:
            self.no_branch = str(error)
        else:
            self.no_branch = ""

    @traitlets.observe("branch_asked")
    def _on_branch_asked(self, change: Any) -> None:
        wish: Any = change["new"]
        n: Any = wish.get("n", 0)
        told: dict[str, Any] = {"n": n if isinstance(n, int) else 0, "error": ""}
        try:
            told |= self._branched(wish)
        except (Exception, KeyboardInterrupt) as error:
            # An error here would be lost: ipywidgets shows none. And whoever interrupts a kernel still waits.
            told["error"] = str(error) if isinstance(error, ValueError | McpSimError) else error_text(error)
        self.branch_shown = told

    def _branched(self, wish: Any) -> dict[str, Any]:
        step: Any = wish.get("step")
        if not isinstance(step, int) or isinstance(step, bool):
            raise ValueError("A change comes after a step, which is a whole number.")
        self._branchable()
        if wish.get("change") is None:
            return {"form": choices_data(self._recording, step)}
        change, note = change_of(wish["change"])
        # Nobody would see it: what is printed outside of a cell goes to the log of the notebook.
        with redirect_stdout(StringIO()) as printed:
            found = self.branch(step, change)
        return {"branch": branch_data(found, step, note, printed.getvalue(), findings=self._findings)}
