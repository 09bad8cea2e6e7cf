"""The built-in stories: short flows that the lessons, the tests and `mcpsim run` play.

A story is an async function that plays the client's part, or the host's.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from mcpsim.course.stories.asking import ASKING
from mcpsim.course.stories.basics import BASICS
from mcpsim.course.stories.carrying import CARRYING
from mcpsim.course.stories.failing import FAILING
from mcpsim.course.stories.keeping import KEEPING
from mcpsim.course.stories.listening import LISTENING
from mcpsim.course.stories.offering import OFFERING
from mcpsim.course.stories.pages import PAGES
from mcpsim.course.stories.story import Story, text_of
from mcpsim.course.stories.working import WORKING

STORIES: Final[Mapping[str, Story]] = {
    story.name: story
    for story in (*BASICS, *OFFERING, *PAGES, *KEEPING, *WORKING, *ASKING, *LISTENING, *CARRYING, *FAILING)
}

__all__ = ["STORIES", "Story", "text_of"]
