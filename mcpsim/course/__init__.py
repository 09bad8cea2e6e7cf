"""What the lessons and exercises use: sample servers, stories, ways to show a run, checks."""

from mcpsim.course.archive import recorded
from mcpsim.course.benches import bench
from mcpsim.course.misbehaving import MISBEHAVING
from mcpsim.course.servers import basket_shop, help_desk, old_desk, picky_desk
from mcpsim.course.showing import phase_table, show, side_by_side
from mcpsim.course.stories import STORIES, Story, text_of
from mcpsim.transports.http import Headers

__all__ = [
    "MISBEHAVING",
    "STORIES",
    "Headers",
    "Story",
    "basket_shop",
    "bench",
    "help_desk",
    "old_desk",
    "phase_table",
    "picky_desk",
    "recorded",
    "show",
    "side_by_side",
    "text_of",
]
