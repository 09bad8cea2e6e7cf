"""The bench as a Jupyter widget: knobs, a player that follows them, and a table of the last runs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import traitlets

from mcpsim.recording import Recording
from mcpsim.recording.run import Run
from mcpsim.simulation.knobs import BenchPlan, Knob, Play, Setting, Settings, insist, settle
from mcpsim.simulation.link_text import check_step, read_link, write_link
from mcpsim.widgets import scripts
from mcpsim.widgets.bench_view import (
    COLUMNS,
    MAX_ROWS,
    Row,
    error_text,
    knobs_data,
    place,
    row_of,
    rows_data,
    runs_html,
    runs_text,
    sentence,
    settings_text,
    turned,
)
from mcpsim.widgets.player import Player
from mcpsim.widgets.steps import steps_of
from mcpsim.widgets.text import one_line
from mcpsim.widgets.view import MAX_AUDITED, MAX_STEPS


class Bench(Player):
    """Plays a story again whenever a knob is turned: `Bench(play, knobs)` as the last line of a cell.

    Everything happens in one round trip: the browser says where the knobs stand, and gets the run, the table
    and what there is to choose now. The player keeps its step where both runs are the same up to it, and goes
    to the first different one otherwise. An error of the story, or of the play function, is shown as text.

    Args:
        play: gives a run for a value of each knob, by keyword. An error of the story should be in the run's
            `error`, as `simulate(..., check=False)` does it, so that the player can show how far it came.
        knobs: what can be turned; see `Knob`.
        title: what the bench is about; the title of its first run by default.
        name: the name of its story, for link texts; "" where it has none that others would know.
        settings: where the knobs stand in the beginning; at their defaults, where it does not say.
        step: the step to begin at, from 0 (before the first); None for the first.
        find: gives the plan of a link text, so that one can be pasted; None where none can.

    Attributes:
        settings: where the knobs stand, by name.
        rows: what the last runs came to, the newest first.
        run: the run that is shown; None where there was none yet.
        error: why there is no run for these settings, or "".

    Raises:
        ValueError: two knobs have the same name, or there is no such step.
    """

    _esm = scripts.script((*scripts.PLAYER, "bench"), "{ initialize, render: renderBench }")
    _css = scripts.style(*scripts.PLAYER_STYLES, "bench")

    # From the browser: {"n": which change of the browser it is, "settings": where the knobs stand}, or
    # "link" in place of "settings": a link text to open.
    asked: Any = traitlets.Dict().tag(sync=True)
    # To the browser: `n` of what it answers to, `title`, `knobs`, `rows`, `columns`, `status`, `error`, and
    # whether it `opens` link texts.
    shown: Any = traitlets.Dict().tag(sync=True)

    def __init__(
        self,
        play: Play,
        knobs: Sequence[Knob],
        *,
        title: str = "",
        name: str = "",
        settings: Settings | None = None,
        step: int | None = None,
        find: Callable[[str], BenchPlan] | None = None,
    ) -> None:
        names = [knob.name for knob in knobs]
        twice = [name for name in names if names.count(name) > 1]
        if twice:
            raise ValueError(f"There are two knobs of the name {twice[0]!r}.")
        self._play = play
        self._knobs = tuple(knobs)
        self._title = title
        self._story: str = name
        self._find = find
        # Why the last link text was not opened, or "".
        self._refused = ""
        self._rows: list[Row] = []
        self.run: Run | None = None
        self.settings: dict[str, Setting] = {knob.name: knob.default for knob in knobs}
        self.error = self._try(lambda: settle(self._knobs, settings or {}))
        # The first run before the comm opens: so the browser gets it once.
        super().__init__(self.run.recording if self.run else Recording({"title": title or "Bench"}, ()))
        self._title = one_line(title or str(self.data["title"]), 200)
        self.cursor = check_step(step, self.steps)
        self._add_row()
        self._show()

    @classmethod
    def of(cls, plan: BenchPlan) -> Bench:
        """The bench of a plan, such as `mcpsim.course.bench("three-pages")`."""
        return cls(
            plan.play,
            plan.knobs,
            title=plan.title,
            name=plan.name,
            settings=plan.settings,
            step=plan.step,
            find=plan.find,
        )

    @property
    def rows(self) -> tuple[Row, ...]:
        """What the last runs came to, the newest first."""
        return tuple(reversed(self._rows))

    def turn(self, **settings: Setting) -> None:
        """Turn some knobs, as a user would: the others stay where they are.

        Args:
            settings: the new value of each knob, by its name.

        Raises:
            ValueError: there is no such knob, or it cannot stand there.
        """
        settled = settle(self._knobs, {**self.settings, **settings})
        insist(self._knobs, settings, settled)
        self._follow(self._try(lambda: settled))

    def link_text(self) -> str:
        """The view as one line of text: the story, its knobs and the step; "" where the story has no name.

        `open_link` and `mcpsim.course.bench` give it back. See `mcpsim.simulation.link_text`.
        """
        return f"{self.link}#{self.cursor}" if self.link else ""

    def open_link(self, text: str) -> None:
        """Show what a link text says, also of another story; then the table of runs begins anew.

        Raises:
            ValueError: it is no link text, its knobs cannot stand so, or there is no such step.
            LookupError: there is no such story.
        """
        if self._find is None:
            raise ValueError("This bench knows no other stories, and opens no link texts.")
        read_link(text)
        plan = self._find(text)
        run = plan.play(**plan.settings)
        step = check_step(plan.step, min(MAX_STEPS, len(steps_of(run.recording).all)))
        with self.hold_sync():
            if plan.name != self._story:
                self._play, self._knobs, self._find = plan.play, plan.knobs, plan.find
                self._story, self._title = plan.name, one_line(plan.title, 200)
                self._rows = []
            settled = dict(plan.settings) or settle(self._knobs, {})
            self._follow(self._try(lambda: settled))
            self.cursor = step

    @traitlets.observe("asked")
    def _on_asked(self, change: Any) -> None:
        # What comes from a browser may be anything, and an error here would be lost: nobody sees it.
        asked = change["new"]
        if isinstance(asked.get("link"), str):
            try:
                self.open_link(asked["link"])
            except Exception as error:
                self._refused = str(error.args[0]) if isinstance(error, LookupError) else str(error)
                self._show()
            return
        self._follow(self._try(lambda: settle(self._knobs, dict(asked["settings"]))))

    def _try(self, settled: Callable[[], dict[str, Setting]]) -> str:
        """Play with these settings. Returns why there is no run, or ""."""
        try:
            # Where values depend on a run, finding them out can fail as a run can.
            self.settings = settled()
            self.run = self._play(**self.settings)
        except Exception as error:
            return error_text(error)
        return ""

    def _follow(self, error: str) -> None:
        """Let the player and the table follow the run, in one message to the browser."""
        self.error, self._refused = error, ""
        with self.hold_sync():
            if self.run is not None and not error:
                before = self._told()
                data = self._data_of(self.run.recording)
                cursor = place(before, self._told(data), int(self.cursor))
                self._recording = self.run.recording
                self.playing = False
                self.data = data
                self.cursor = cursor
                self._add_row()
            self._show()

    def _told(self, data: dict[str, Any] | None = None) -> Sequence[dict[str, Any]]:
        """All steps of the run, also where the browser does not have them yet."""
        found = data or self.data
        return self.pieces.told if len(found["steps"]) < self.pieces.count else found["steps"]

    def _add_row(self) -> None:
        before = self._rows[-1] if self._rows else None
        # What does not matter beside the others may stand elsewhere, and it is the same run.
        if self.run is None or (
            before is not None and not turned(self._knobs, before.settings, self.settings)
        ):
            return
        audited = len(self.run.recording.frames) <= MAX_AUDITED
        levels = [one["level"] for one in self.pieces.findings()["findings"]] if audited else None
        row = row_of(self.run, self._knobs, self.settings, levels=levels, before=before)
        # One more than is shown, to compare with.
        self._rows = [*self._rows, row][-MAX_ROWS - 1 :]

    def _show(self) -> None:
        before = self._rows[-2] if len(self._rows) > 1 else None
        ended = self.run.error if self.run is not None else None
        told = "" if self.error or ended is None else f"The story ended with an error. {error_text(ended)}"
        if self._refused:
            told = f"The link text was not opened. {one_line(self._refused, 400)}"
        elif self.error:
            told = f"There is no run for these settings. {self.error}"
        known = self._find is not None and self._story
        self.link = write_link(self._story, self._knobs, self.settings) if known else ""
        self.shown = {
            "n": self.asked.get("n", 0),
            "title": self._title,
            "knobs": self._knobs_data(),
            "rows": rows_data(self._rows),
            "columns": [column.heading for column in COLUMNS],
            "status": sentence(self._rows[-1], before) if self._rows and not self.error else "",
            "error": told,
            "opens": self._find is not None,
        }

    def _knobs_data(self) -> list[dict[str, Any]]:
        try:
            return knobs_data(self._knobs, self.settings)
        except Exception:
            # The values of a knob come from a run, and there is none. The others can still be turned.
            known = [replace(knob, values={}) if callable(knob.values) else knob for knob in self._knobs]
            return knobs_data(known, self.settings)

    def __repr__(self) -> str:
        """The same text in every run: nbval compares it."""
        settings = ", ".join(f"{name}={value!r}" for name, value in self.settings.items())
        return f"Bench({self._title!r}{', ' if settings else ''}{settings})"

    def still_text(self) -> str:
        """Where the knobs stand, the last runs, and the transcript."""
        table = runs_text(self._rows)
        told = [self._title, settings_text(self._knobs, self.settings), table, self.error]
        return "\n".join(part for part in told if part) + f"\n\n{super().still_text()}"

    def still_html(self) -> str:
        """The diagram, and the last runs."""
        return super().still_html() + runs_html(self._rows)


def bench_bundle(plan: BenchPlan) -> dict[str, Any]:
    """The mime bundle that shows a plan in a notebook: a bench, a still picture, and its text."""
    bundle, _ = Bench.of(plan)._repr_mimebundle_()  # pyright: ignore[reportPrivateUsage]
    return bundle
