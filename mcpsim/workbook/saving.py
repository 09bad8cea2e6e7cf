"""What JupyterLab stores when a learner saves a notebook.

A player that is shown by a kernel is stored beside its still picture. Without that kernel, on the next day,
JupyterLab prefers the player, does not find it, and shows an error where the picture could stand. So only the
picture is stored. What runs in the page is not touched.
"""

from __future__ import annotations

from typing import Any

from mcpsim.workbook.normal_form import LANGUAGE_INFO, WIDGET_VIEW


def store_still_pictures(model: dict[str, Any], **_: Any) -> None:
    """A `pre_save_hook` of Jupyter's contents manager: changes the notebook that is about to be written.

    It also takes out what JupyterLab adds to the metadata by itself, so that a notebook which was opened and
    not changed stays the same file.
    """
    if model.get("type") != "notebook" or not model.get("content"):
        return
    content: dict[str, Any] = model["content"]
    for cell in content.get("cells", []):
        for output in cell.get("outputs", []):
            data = output.get("data", {})
            if "text/html" in data:
                data.pop(WIDGET_VIEW, None)
    metadata = content.get("metadata", {})
    metadata.pop("widgets", None)
    if metadata.get("language_info", {}).get("name") == LANGUAGE_INFO["name"]:
        metadata["language_info"] = dict(LANGUAGE_INFO)
