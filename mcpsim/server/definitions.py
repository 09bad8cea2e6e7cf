"""The check of what a list is going to show, before anybody is shown it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final, cast

from pydantic import BaseModel, ValidationError

from mcpsim.errors import FramingError, RegistrationError
from mcpsim.messages import is_reserved_meta_key, is_valid_meta_key, write_json
from mcpsim.messages.envelopes import show_text
from mcpsim.utilities.elicitation import is_timestamp

# https://modelcontextprotocol.io/specification/2026-07-28/basic/index#icons
_ICON: Final = re.compile(r"https?://.|data:.", re.IGNORECASE)


def check_definition(whose: str, definition: Mapping[str, Any], model: type[BaseModel]) -> None:
    """Check a definition against the protocol's own type of it.

    Args:
        whose: who it belongs to, for the error.
        definition: as it would go on the wire in the latest revision.
        model: the official model of such a definition.

    Raises:
        RegistrationError: JSON cannot carry it, or a member has a value that it cannot have.
    """
    try:
        written = write_json(definition)
    except FramingError as error:
        raise RegistrationError(f"{whose}: its definition cannot be sent. {error}") from None
    try:
        model.model_validate_json(written, strict=True)
    except ValidationError as error:
        fault = error.errors(include_url=False, include_input=False)[0]
        where = ".".join(map(str, fault["loc"])) or "definition"
        raise RegistrationError(f"{whose}: {where}: {fault['msg']}.") from None
    size = definition.get("size")
    if isinstance(size, int) and size < 0:
        raise RegistrationError(f"{whose}: size: a size is 0 bytes or more, not {size}.")
    for icon in cast("list[Mapping[str, str]]", definition.get("icons", [])):
        if not _ICON.match(icon["src"]):
            raise RegistrationError(
                f"{whose}: icons: the address of an image begins with https:, http: or data:, not "
                f"{show_text(icon['src'])}."
            )
    annotations: Mapping[str, Any] = definition.get("annotations", {})
    modified = annotations.get("lastModified")
    if isinstance(modified, str) and not is_timestamp(modified):
        raise RegistrationError(
            f"{whose}: annotations.lastModified: a moment is written like 2026-07-28T10:30:00Z, not "
            f"{show_text(modified)}."
        )
    for key in cast("Mapping[str, Any]", definition.get("_meta", {})):
        if not is_valid_meta_key(key) or is_reserved_meta_key(key):
            why = "is kept for the protocol" if is_valid_meta_key(key) else "has not the form of one"
            raise RegistrationError(f"{whose}: _meta: the key {key!r} {why}; take one like example.com/name.")
