"""Many cases in one test: where they take no time, a test of its own for each of thousands costs more."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager


@contextmanager
def case(*names: object) -> Generator[None]:
    """Whatever fails within the block tells the names of the case as well."""
    try:
        yield
    except BaseException as error:
        error.add_note(f"The case: {', '.join(map(str, names))}")
        raise
