"""What the lessons and exercises use: sample servers, stories, ways to show a run, checks."""

from mcpsim.course.archive import recorded
from mcpsim.course.benches import bench
from mcpsim.course.chart import Chart
from mcpsim.course.evidence import found_trace, numbered
from mcpsim.course.judging import judge
from mcpsim.course.lessons import LESSONS, Lesson
from mcpsim.course.misbehaving import MISBEHAVING
from mcpsim.course.model import ScriptedModel, ToolUse
from mcpsim.course.overview import progress
from mcpsim.course.reference import error_index, method_index
from mcpsim.course.servers import (
    basket_shop,
    help_desk,
    notice_board,
    old_desk,
    picky_desk,
    travel_desk,
    workshop,
    writing_desk,
)
from mcpsim.course.showing import phase_table, show, side_by_side
from mcpsim.course.staff_desk import staff_desk
from mcpsim.course.stories import STORIES, Story, text_of
from mcpsim.transports.http import Headers

__all__ = [
    "LESSONS",
    "MISBEHAVING",
    "STORIES",
    "Chart",
    "Headers",
    "Lesson",
    "ScriptedModel",
    "Story",
    "ToolUse",
    "basket_shop",
    "bench",
    "error_index",
    "found_trace",
    "help_desk",
    "judge",
    "method_index",
    "notice_board",
    "numbered",
    "old_desk",
    "phase_table",
    "picky_desk",
    "progress",
    "recorded",
    "show",
    "side_by_side",
    "staff_desk",
    "text_of",
    "travel_desk",
    "workshop",
    "writing_desk",
]
