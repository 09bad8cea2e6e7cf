"""Errors as they were raised, without the groups that task groups put around them."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager

from mcpsim.recording.run import single


@contextmanager
def plain_errors() -> Generator[None]:
    """Raise what is in a group of one by itself."""
    try:
        yield
    except BaseExceptionGroup as group:
        error = single(group)
        if error is group:
            raise
        raise error from error.__cause__
