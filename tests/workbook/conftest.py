"""Small notebooks to try the workbook's tools on."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

# A widget of the kind that lessons show: its repr and its still picture are the same in every run.
WIDGET = """\
import ipywidgets

class Still(ipywidgets.IntSlider):
    def __repr__(self):
        return "Still()"

    def _repr_mimebundle_(self, **options):
        bundle = super()._repr_mimebundle_(**options)
        return bundle | {"text/html": "<figure role='img' aria-label='still'></figure>"}

Still()"""


def code_cell(source: str, *tags: str, **fields: Any) -> dict[str, Any]:
    cell = {"cell_type": "code", "source": source, "metadata": {"tags": list(tags)} if tags else {}}
    return cell | {"execution_count": None, "outputs": []} | fields


def text_cell(source: str, **fields: Any) -> dict[str, Any]:
    return {"cell_type": "markdown", "source": source, "metadata": {}} | fields


def whole(*cells: dict[str, Any], **metadata: Any) -> dict[str, Any]:
    return {"nbformat": 4, "nbformat_minor": 4, "metadata": metadata, "cells": list(cells)}


@pytest.fixture
def make() -> SimpleNamespace:
    """Functions that build cells and notebooks as an author's editor might."""
    return SimpleNamespace(code=code_cell, text=text_cell, notebook=whole, widget=code_cell(WIDGET))


@pytest.fixture
def write_notebook(tmp_path: Path) -> Callable[..., Path]:
    """Write a notebook that was never run into the test's own folder."""

    def write(*cells: dict[str, Any], name: str = "sample.ipynb") -> Path:
        path = tmp_path / name
        path.write_text(json.dumps(whole(*cells)))
        return path

    return write
