"""URIs by their characters, without asking anybody whether they lead anywhere.

https://modelcontextprotocol.io/specification/2026-07-28/server/resources#custom-uri-schemes
"""

from __future__ import annotations

import re
from typing import Final

# RFC 3986: a scheme, a colon, and nothing but the characters of URIs.
_URI: Final = re.compile(
    r"[A-Za-z][A-Za-z0-9+.\-]*+:(?:[A-Za-z0-9\-._~:/?#\[\]@!$&'()*+,;=]++|%[0-9A-Fa-f]{2})*+"
)


def is_uri(text: str) -> bool:
    """Whether a text is a URI by RFC 3986, as far as its characters and its scheme tell."""
    return _URI.fullmatch(text) is not None


def leads_up(uri: str) -> bool:
    """Whether a URI has a step upwards (`..`) in it, encoded or not, which may lead out of what it names.

    https://modelcontextprotocol.io/specification/2026-07-28/server/resources#security-considerations
    https://modelcontextprotocol.io/specification/2026-07-28/client/roots#security-considerations
    """
    path = uri.lower().replace("%2e", ".").replace("%2f", "/").replace("%5c", "/").replace("\\", "/")
    return ".." in path.split("/")
