"""Run notebooks from the top and compare them, byte for byte, with what is stored."""

from __future__ import annotations

import copy
import importlib
import os
import re
import tempfile
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from mcpsim.course.exercises.kept import SWITCH
from mcpsim.workbook.folders import FOLDERS, Source, WorkbookError
from mcpsim.workbook.normal_form import (
    NotebookProblem,
    code_cells,
    normal_form,
    problems,
    read_notebook,
)

CELL_TIMEOUT_S: Final = 300
_COLOURS: Final = re.compile(r"\x1b\[[0-9;]*m")


@dataclass(frozen=True, slots=True)
class Refreshed:
    """A notebook that was run.

    Attributes:
        path: the file.
        stored: its bytes before.
        fresh: its bytes in the normal form, with the outputs of this run.
    """

    path: Path
    stored: bytes
    fresh: bytes

    @property
    def is_current(self) -> bool:
        """Whether the file already holds what the run gave."""
        return self.stored == self.fresh


def find_notebooks(paths: Iterable[Path], source: Source) -> tuple[Path, ...]:
    """The notebooks that a user named: files, and all notebooks under folders; all of the workbook if none.

    Raises:
        WorkbookError: a path does not exist, or is a file but not a notebook.
    """
    found: list[Path] = []
    for path in tuple(paths) or tuple(source.root / folder for folder in FOLDERS):
        if path.is_dir():
            found.extend(
                notebook
                for notebook in sorted(path.rglob("*.ipynb"))
                if not any(part.startswith(".") for part in notebook.relative_to(path).parts)
            )
        elif path.is_file() and path.suffix == ".ipynb":
            found.append(path)
        else:
            raise WorkbookError(f"{path} is neither a notebook (.ipynb) nor a folder.")
    return tuple(dict.fromkeys(found))


def refresh(path: Path, notebook: Mapping[str, Any] | None = None) -> Refreshed:
    """Run a notebook from the top in a new kernel of this environment. The file itself is not written.

    Args:
        path: the notebook; its cells run in its folder.
        notebook: what the file shall hold instead of what it holds; the file need not be there then.

    Raises:
        NotebookProblem: it cannot be read; a cell raises without the tag `raises-exception`, is empty, or
            runs longer than 300 seconds; an output may not be stored.
        WorkbookError: the packages that run notebooks are not installed.
    """
    try:
        stored = path.read_bytes() if notebook is None or path.exists() else b""
        wanted = read_notebook(stored) if notebook is None else notebook
        fresh = normal_form(_run(wanted, path.parent)).encode()
    except OSError as error:
        raise NotebookProblem(f"{path}: it cannot be read: {error}") from error
    except NotebookProblem as error:
        raise NotebookProblem(f"{path}: {error}") from error
    if found := problems(fresh):
        raise NotebookProblem("\n".join(f"{path}: {sentence}" for sentence in found))
    return Refreshed(path, stored, fresh)


def _run(notebook: Mapping[str, Any], folder: Path) -> dict[str, Any]:
    """A copy of the notebook with the outputs of a run."""
    # These come with an extra.
    try:
        nbformat: Any = importlib.import_module("nbformat")
        nbclient: Any = importlib.import_module("nbclient")
        exceptions: Any = importlib.import_module("nbclient.exceptions")
        manager = _kernel_manager_class()
    except ImportError as error:
        raise WorkbookError(
            f'{error}. Install what runs notebooks, then try again: python -m pip install "mcpsim[lab]"'
        ) from error
    blank = copy.deepcopy(dict(notebook))
    for _, cell in code_cells(blank):
        cell["outputs"], cell["execution_count"] = [], None
    node = nbformat.reads(normal_form(blank), as_version=4)
    client = nbclient.NotebookClient(
        node,
        kernel_manager_class=manager,
        extra_arguments=["--log-level=ERROR"],
        timeout=CELL_TIMEOUT_S,
        store_widget_state=False,
        record_timing=False,
        resources={"metadata": {"path": str(folder)}},
    )
    with tempfile.TemporaryDirectory() as ipython_folder:
        # The author's own start-up files must not run: the reader does not have them.
        environment = os.environ | {"IPYTHONDIR": ipython_folder, SWITCH: "off"}
        try:
            client.execute(env=environment)
        except exceptions.CellExecutionError as error:
            raise NotebookProblem(f"a cell failed.\n{_COLOURS.sub('', str(error)).strip()}") from error
        except (exceptions.CellTimeoutError, exceptions.DeadKernelError) as error:
            raise NotebookProblem(str(error).strip()) from error
    return read_notebook(nbformat.writes(node).encode())


def _kernel_manager_class() -> Any:
    """Kernels of this very environment, whatever kernel the user has registered as `python3`."""
    manager: Any = importlib.import_module("jupyter_client.manager")
    kernelspec: Any = importlib.import_module("jupyter_client.kernelspec")
    ipykernel: Any = importlib.import_module("ipykernel.kernelspec")

    class Manager(manager.AsyncKernelManager):
        @property
        def kernel_spec(self) -> Any:
            return kernelspec.KernelSpec(resource_dir=ipykernel.RESOURCES, **ipykernel.get_kernel_dict())

    return Manager
