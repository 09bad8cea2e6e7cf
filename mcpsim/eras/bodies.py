"""The official models of what messages carry, by method and revision.

To import them takes as long as a quarter of mcpsim. So that is done when the first body is read, and who
reads none begins sooner.
"""

from __future__ import annotations


def models():
    """The module `mcp_types.methods`."""
    from mcp_types import methods

    return methods
