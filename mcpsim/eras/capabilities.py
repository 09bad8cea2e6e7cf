"""What a capabilities object declares, and what it lacks. The same in both eras.

https://modelcontextprotocol.io/specification/2026-07-28/basic/index#meta
https://modelcontextprotocol.io/specification/2025-11-25/basic/lifecycle#capability-negotiation
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

from mcpsim.messages import is_valid_meta_key


def declares(capabilities: Mapping[str, Any], path: str) -> bool:
    """Whether a capabilities object declares `path`, such as "tools" or "tools.listChanged".

    A group is declared by an object, however empty; a sub-capability by `true` or an object.
    """
    value: Any = capabilities
    for part in path.split("."):
        if not isinstance(value, Mapping) or part not in value:
            return False
        value = value[part]  # pyright: ignore[reportUnknownVariableType]
    return value is True or isinstance(value, Mapping)


def check_extensions(capabilities: Mapping[str, Any]) -> None:
    """Check the names of the extensions that a capabilities object declares.

    Raises:
        ValueError: one has not the form of a `_meta` key with a prefix, or its settings are no object.

    https://modelcontextprotocol.io/specification/2026-07-28/basic/versioning#extension-negotiation
    """
    extensions: Any = capabilities.get("extensions", {})
    if not isinstance(extensions, Mapping):
        raise ValueError("The extensions of a capabilities object are an object: settings by name.")
    for name, settings in cast("Mapping[str, Any]", extensions).items():
        if not is_valid_meta_key(name) or "/" not in name:
            raise ValueError(f"An extension is named like com.example/thing, not {name!r}.")
        if not isinstance(settings, Mapping):
            raise ValueError(f"The settings of the extension {name} must be an object; an empty one will do.")


def missing_capabilities(required: Mapping[str, Any], declared: Mapping[str, Any]) -> dict[str, Any]:
    """The part of `required` that `declared` lacks, in the shape of a capabilities object.

    A capability is declared by an object, however empty, or by `true`.
    """
    missing: dict[str, Any] = {}
    for name, wanted in required.items():
        have = declared.get(name)
        if isinstance(have, Mapping) and isinstance(wanted, Mapping):
            inner = missing_capabilities(
                cast("Mapping[str, Any]", wanted), _effective(name, cast("Mapping[str, Any]", have))
            )
            if inner:
                missing[name] = inner
        elif have is not True and not isinstance(have, Mapping):
            missing[name] = wanted
    return missing


def _effective(name: str, declared: Mapping[str, Any]) -> Mapping[str, Any]:
    # An elicitation capability that names no mode means form mode.
    # https://modelcontextprotocol.io/specification/2026-07-28/client/elicitation#capabilities
    if name == "elicitation" and not declared:
        return {"form": {}}
    return declared
