"""Cut the body of a response stream into its server-sent events, and lose no byte.

The client's reader throws away what means nothing to it, such as comments and events that are too large. A
recording has to show just that, so the observer cuts by itself.
"""

from __future__ import annotations

import re
from typing import Final

from mcpsim.live.lines import Cutter

# A blank line ends an event. The first line end is atomic: a CRLF is no CR and a LF.
_END_OF_EVENT: Final = re.compile(rb"(?>\r\n|\n|\r)(?:\r\n|\n|\r)")
_LONGEST_END: Final = 4


class SseCutter(Cutter):
    """Cuts a byte stream into events, each with the blank line that ends it, however it was chopped."""

    def feed(self, chunk: bytes) -> list[bytes]:
        """Take the next bytes; give the events, and the comments between them, that are now complete."""
        seen = max(0, len(self._held) - _LONGEST_END)
        self._held += chunk
        pieces: list[bytes] = []
        begin = 0
        while (end := _END_OF_EVENT.search(self._held, max(begin, seen))) is not None:
            pieces.append(bytes(self._held[begin : end.end()]))
            begin = end.end()
        del self._held[:begin]
        if len(self._held) >= self._max_bytes:
            pieces.append(self.finish())
        return pieces
