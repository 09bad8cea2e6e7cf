"""What the lessons and exercises use: sample servers, stories, checks."""

from mcpsim.course.servers import basket_shop, help_desk, old_desk, picky_desk
from mcpsim.course.stories import STORIES, Story, text_of

__all__ = ["STORIES", "Story", "basket_shop", "help_desk", "old_desk", "picky_desk", "text_of"]
