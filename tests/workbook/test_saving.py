"""What JupyterLab stores of a player: the picture, and not a reference to a kernel that will be gone."""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any

from mcpsim.workbook.normal_form import LANGUAGE_INFO, WIDGET_VIEW
from mcpsim.workbook.saving import store_still_pictures

PLAYER = {WIDGET_VIEW: {"model_id": "1"}, "text/html": "<figure></figure>", "text/plain": "a run"}
OTHER_WIDGET = {WIDGET_VIEW: {"model_id": "2"}, "text/plain": "IntSlider(value=0)"}


def saved(*data: dict[str, Any], **metadata: Any) -> dict[str, Any]:
    outputs = [{"output_type": "display_data", "data": dict(one), "metadata": {}} for one in data]
    cells = [
        {"cell_type": "code", "source": "run", "outputs": outputs},
        {"cell_type": "markdown", "source": ""},
    ]
    model = {"type": "notebook", "content": {"cells": cells, "metadata": metadata}}
    store_still_pictures(model, path="a.ipynb", contents_manager=None)
    return model["content"]


def test_a_player_is_stored_as_its_picture() -> None:
    (output,) = saved(PLAYER)["cells"][0]["outputs"]
    assert output["data"] == {"text/html": "<figure></figure>", "text/plain": "a run"}


def test_a_widget_without_a_picture_stays_what_it_is() -> None:
    (output,) = saved(OTHER_WIDGET)["cells"][0]["outputs"]
    assert output["data"] == OTHER_WIDGET


def test_metadata_that_jupyterlab_adds_is_not_stored() -> None:
    content = saved(language_info={"name": "python", "version": "3.11.7"}, widgets={"state": {}}, mine=1)
    assert content["metadata"] == {"language_info": dict(LANGUAGE_INFO), "mine": 1}


def test_another_language_is_left_alone() -> None:
    info = {"name": "julia", "version": "1.11"}
    assert saved(language_info=info)["metadata"] == {"language_info": info}


def test_files_and_folders_are_left_alone() -> None:
    for model in ({"type": "file", "content": "text"}, {"type": "directory", "content": None}):
        before = copy.deepcopy(model)
        store_still_pictures(model)
        assert model == before


def test_a_lesson_that_was_opened_and_saved_is_the_same_lesson(project: Path) -> None:
    path = project / "notebooks" / "00_start_here.ipynb"
    content = json.loads(path.read_text(encoding="utf-8"))
    content["metadata"]["language_info"] |= {"version": "3.11.7", "nbconvert_exporter": "python"}
    store_still_pictures({"type": "notebook", "content": content})
    text = json.dumps(content, ensure_ascii=False, indent=1, sort_keys=True) + "\n"
    assert text == path.read_text(encoding="utf-8")
