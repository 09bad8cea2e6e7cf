"""Servers that use what the current revision has deprecated."""

from __future__ import annotations

from typing import Final

from mcpsim.course.misbehaving.base import Misbehaviour
from mcpsim.course.servers import travel_desk
from mcpsim.course.stories.asking import ask_for_folders, ask_the_model, rooted, writing
from mcpsim.server import Server


def independent_desk() -> Server:
    """A travel desk that has what the other one asks its client for."""
    desk = Server("travel-desk")

    @desk.tool()
    def write_postcard(city: str) -> str:
        """Write a postcard."""
        return f"Greetings from {city}."

    @desk.tool()
    def pack_documents(folder: str = "file:///srv/travel") -> str:
        """Look into a folder, which may be an argument."""
        return folder

    return desk


DEPRECATED: Final[tuple[Misbehaviour, ...]] = (
    Misbehaviour(
        "server-lets-the-client-write",
        "server",
        "sampling-use-is-deprecated",
        "The server asks for sampling, which is deprecated.",
        ask_the_model,
        travel_desk,
        "modern",
        "stdio",
        clients=writing,
        good_server=independent_desk,
    ),
    Misbehaviour(
        "server-asks-for-the-folders",
        "server",
        "roots-use-is-deprecated",
        "The server asks for roots, which are deprecated.",
        ask_for_folders,
        travel_desk,
        "modern",
        "stdio",
        clients=rooted,
        good_server=independent_desk,
    ),
)
