"""The servers of the lessons. Each call makes a new one, so that a learner may change it freely.

All of them take the settings of `Server`, such as `era="legacy"` or `ttl_ms=60_000`.
"""

from mcpsim.course.servers.archive import archive
from mcpsim.course.servers.desks import basket_shop, help_desk, old_desk, picky_desk
from mcpsim.course.servers.notices import notice_board
from mcpsim.course.servers.prices import price_list
from mcpsim.course.servers.regions import region_desk
from mcpsim.course.servers.travel import travel_desk
from mcpsim.course.servers.workshop import workshop
from mcpsim.course.servers.writing import writing_desk

__all__ = [
    "archive",
    "basket_shop",
    "help_desk",
    "notice_board",
    "old_desk",
    "picky_desk",
    "price_list",
    "region_desk",
    "travel_desk",
    "workshop",
    "writing_desk",
]
