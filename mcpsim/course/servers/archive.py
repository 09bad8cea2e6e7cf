"""A server with long lists, for pages."""

from __future__ import annotations

from typing import Any

from mcpsim.server import Server

FIRST_YEAR = 2019
LAST_YEAR = 2025


def archive(**settings: Any) -> Server:
    """An archive with a report for each year, three on a page, and tools to file and to remove one.

    Args:
        settings: as for `Server`, such as `page_size=2` or `list_changed=True`.
    """
    settings.setdefault("page_size", 3)
    shelf = Server("archive", **settings)

    def put(year: int) -> None:
        @shelf.resource(f"report://{year}", name=f"report-{year}", mime_type="text/plain")
        def read() -> str:
            return f"The report of {year}."

    for year in range(FIRST_YEAR, LAST_YEAR + 1):
        put(year)

    @shelf.tool()
    def file_report(year: int) -> str:
        """File the report of a year."""
        put(year)
        return f"Filed {year}"

    @shelf.tool()
    def remove_report(year: int) -> str:
        """Remove the report of a year."""
        shelf.remove_resource(f"report://{year}")
        return f"Removed {year}"

    return shelf
