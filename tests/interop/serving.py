"""A server in a process of its own, on HTTP."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from threading import Timer

START_S = 60.0


@contextmanager
def serving(command: Sequence[str]) -> Iterator[str]:
    """Run a server that prints its address as its first line, and give the address."""
    with subprocess.Popen(command, stdout=subprocess.PIPE, encoding="utf-8") as process:
        # A killed process ends the line that is waited for.
        patience = Timer(START_S, process.kill)
        patience.start()
        try:
            assert process.stdout is not None
            line = process.stdout.readline().strip()
            assert line.startswith("http://"), f"{' '.join(command)} did not say its address, but {line!r}."
            yield line
        finally:
            patience.cancel()
            process.terminate()
