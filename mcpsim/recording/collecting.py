"""Letting the garbage collector wait."""

from __future__ import annotations

import gc
from collections.abc import Generator
from contextlib import contextmanager


@contextmanager
def without_collecting() -> Generator[None]:
    """Let the garbage collector wait: what is read of a trace is one large graph that lives until the end,
    and to go through it again and again finds nothing, and takes longer than the reading."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()
