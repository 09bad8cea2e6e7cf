"""Open the workbook in JupyterLab."""

from __future__ import annotations

import importlib
import importlib.util
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from mcpsim.workbook.folders import FIRST_LESSON, Source, WorkbookError
from mcpsim.workbook.saving import store_still_pictures


def require_lab(source: Source) -> None:
    """Raise where JupyterLab is missing.

    Args:
        source: the workbook; a checkout is installed in another way than a wheel.

    Raises:
        WorkbookError: JupyterLab is not installed; the text holds the command that installs it.
    """
    if importlib.util.find_spec("jupyterlab") is None:
        package = '-e ".[lab]"' if source.is_checkout else '"mcpsim[lab]"'
        raise WorkbookError(
            "JupyterLab is not installed in this environment. Install it, then try again: "
            f"python -m pip install {package}"
        )


def lab_arguments(folder: Path, *, browser: bool, extra: Sequence[str] = ()) -> list[str]:
    """The arguments for JupyterLab: the folder is its root, and the first lesson is its start page.

    Args:
        folder: the folder that holds `notebooks` and `exercises`.
        browser: whether to open a web browser.
        extra: more arguments for JupyterLab; they come last, so that they win.
    """
    hook = f"{store_still_pictures.__module__}.{store_still_pictures.__name__}"
    arguments = [f"--ServerApp.root_dir={folder.resolve()}", f"--ContentsManager.pre_save_hook={hook}"]
    if (folder / FIRST_LESSON).is_file():
        arguments.append(f"--LabApp.default_url=/lab/tree/{FIRST_LESSON}")
    if not browser:
        arguments.append("--no-browser")
    return [*arguments, *extra]


def open_lab(folder: Path, *, browser: bool, extra: Sequence[str] = ()) -> None:
    """Run JupyterLab in this process until the user stops it.

    Args:
        folder: the folder that holds `notebooks` and `exercises`.
        browser: whether to open a web browser.
        extra: more arguments for JupyterLab.
    """
    # JupyterLab comes with an extra, and has no type hints.
    labapp: Any = importlib.import_module("jupyterlab.labapp")
    labapp.main(lab_arguments(folder, browser=browser, extra=extra))
