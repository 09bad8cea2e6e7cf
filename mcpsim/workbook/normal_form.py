"""The one form in which notebooks are stored, and what is wrong with a notebook that is stored otherwise.

A stored notebook shows its reader what running it shows, so a difference between two versions must be a
difference that somebody meant. The normal form therefore has no timings, no version numbers, no widget state,
and one spelling of the JSON: the one that JupyterLab writes. Nothing here runs a notebook.
"""

from __future__ import annotations

import hashlib
import json
import re
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import groupby
from pathlib import Path
from typing import Any, Final, cast

from mcpsim.workbook.folders import WorkbookError

KERNELSPEC: Final = {"display_name": "Python 3 (ipykernel)", "language": "python", "name": "python3"}
LANGUAGE_INFO: Final = {
    "file_extension": ".py",
    "mimetype": "text/x-python",
    "name": "python",
    "pygments_lexer": "ipython3",
}
WIDGET_VIEW: Final = "application/vnd.jupyter.widget-view+json"
MAY_RAISE: Final = "raises-exception"

# What editors leave behind in the metadata of a cell, and what no reader of the file needs.
_NOISE: Final = frozenset(
    {"ExecuteTime", "autoscroll", "collapsed", "execution", "scrolled", "trusted", "vscode"}
)
_CELL_ID: Final = re.compile(r"[a-zA-Z0-9_-]{1,64}")
_ADDRESS: Final = re.compile(r"\b0x[0-9a-fA-F]{8,}\b|\bat 0x[0-9a-fA-F]{4,}|ipykernel_\d+")
# The words by which a cell asks nbval not to compare it, as tags and as comments.
_UNCOMPARED_TAGS: Final = ("nbval-skip", "nbval-ignore-output")
_UNCOMPARED_COMMENT: Final = re.compile(
    r"#\s*(NBVAL_SKIP|(NBVAL|PYTEST_VALIDATE)_IGNORE_OUTPUT)", re.IGNORECASE
)

_Json = dict[str, Any]


class NotebookProblem(WorkbookError):
    """A notebook cannot be read, run, or brought into the normal form. The text names the cell."""


def read_notebook(content: bytes) -> dict[str, Any]:
    """Read a notebook of format 4.

    Raises:
        NotebookProblem: the content is not such a notebook.
    """
    try:
        notebook: Any = json.loads(content)
    except (ValueError, RecursionError) as error:
        raise NotebookProblem(f"this is not a notebook, because it is not JSON: {error}") from error
    match notebook:
        case {"nbformat": 4, "cells": [*cells], "metadata": dict()}:
            for position, cell in enumerate(cells, 1):
                if not _is_cell(cell):
                    raise NotebookProblem(
                        f"cell {position} is not a cell: it needs a `cell_type`, a `source`, an object "
                        "`metadata` and, in a code cell, a list of complete `outputs`"
                    )
            return cast(_Json, notebook)
        case _:
            raise NotebookProblem(
                "this is not a notebook of format 4: a JSON object with `nbformat` 4, a list `cells` and an "
                "object `metadata`"
            )


def _is_cell(cell: Any) -> bool:
    match cell:
        case {"cell_type": "code", "source": source, "metadata": dict(), "outputs": [*outputs]}:
            return _is_text(source) and all(_is_output(output) for output in outputs)
        case {"cell_type": "markdown" | "raw", "source": source, "metadata": dict()}:
            return _is_text(source)
        case _:
            return False


def _is_output(output: Any) -> bool:
    match output:
        case {"output_type": "stream", "name": "stdout" | "stderr", "text": text}:
            return _is_text(text)
        case {"output_type": "error", "ename": str(), "evalue": str()}:
            return True
        case {"output_type": "display_data" | "execute_result", "data": dict(), "metadata": dict()}:
            values = cast("dict[str, _Json]", output)["data"].items()
            return all(_is_json_mime(mime) or _is_text(value) for mime, value in values)
        case _:
            return False


def _is_text(text: Any) -> bool:
    return isinstance(text, str) or (
        isinstance(text, list) and all(isinstance(line, str) for line in cast("list[Any]", text))
    )


def code_cells(notebook: Mapping[str, Any]) -> Iterator[tuple[int, dict[str, Any]]]:
    """The code cells, each with its position among all cells, counted from 1."""
    for position, cell in enumerate(notebook["cells"], 1):
        if cell["cell_type"] == "code":
            yield position, cell


def cell_source(cell: Mapping[str, Any]) -> str:
    """The text of a cell, which a file may hold as one string or as a list of lines."""
    return _joined(cell["source"])


def cell_tags(cell: Mapping[str, Any]) -> Sequence[str]:
    """The tags of a cell."""
    tags: Any = cell["metadata"].get("tags", [])
    return cast("list[str]", tags) if isinstance(tags, list) else []


def normal_form(notebook: Mapping[str, Any]) -> str:
    """Write a notebook in the normal form. The notebook itself is not changed.

    Execution counts stay as they are: only running a notebook may say that a cell was run.

    Raises:
        NotebookProblem: an output shows a widget without a still picture (`text/html`), or holds a value that
            JSON cannot carry.
    """
    cells: list[_Json] = []
    taken: set[str] = set()
    for position, cell in enumerate(notebook["cells"], 1):
        cells.append(_cell(cell, position, taken))
    metadata = {key: value for key, value in notebook["metadata"].items() if key != "widgets"}
    normal = {
        "cells": cells,
        "metadata": metadata | {"kernelspec": KERNELSPEC, "language_info": LANGUAGE_INFO},
        "nbformat": 4,
        "nbformat_minor": 5,
    }
    try:
        text = json.dumps(normal, ensure_ascii=False, indent=1, sort_keys=True, allow_nan=False) + "\n"
        text.encode()
    except ValueError as error:
        raise NotebookProblem(f"an output cannot be stored as JSON in UTF-8: {error}") from error
    return text


def problems(content: bytes, paths: Sequence[str] | None = None) -> tuple[str, ...]:
    """Say what is wrong with a notebook as it is stored; nothing, if it may be stored so.

    Args:
        content: the bytes of the file.
        paths: the folders that must not show in an output; those of this machine if not given.

    Returns:
        One sentence a problem, without the name of the file.
    """
    try:
        notebook = read_notebook(content)
    except NotebookProblem as error:
        return (str(error),)
    found = [sentence for rule in _RULES for sentence in rule(notebook)]
    found.extend(machine_traces(notebook, machine_paths() if paths is None else paths))
    try:
        normal = normal_form(notebook)
    except NotebookProblem as error:
        found.append(str(error))
    else:
        if normal.encode() != content:
            found.append("it is not stored in the normal form")
    return tuple(found)


def machine_paths() -> tuple[str, ...]:
    """The folders of this machine that would tell a reader where a notebook was run."""
    system = {Path("/"), Path("/usr"), Path("/usr/local")}
    found = (
        Path.home(),
        Path.cwd(),
        Path(sys.prefix),
        Path(tempfile.gettempdir()),
        Path(__file__).parents[2],
    )
    spellings = {
        spelling
        for path in found
        for known in (path, path.resolve())
        if known not in system and known != Path(known.anchor)
        for spelling in (str(known), known.as_posix(), str(known).replace("\\", "\\\\"))
    }
    return tuple(sorted(spellings))


def machine_traces(notebook: Mapping[str, Any], paths: Sequence[str]) -> Iterator[str]:
    """Name the cells whose outputs hold a memory address, or one of the folders `paths`."""
    folders = [re.compile(rf"(?<!\w){re.escape(path)}(?![\w-])") for path in paths]
    for position, cell in code_cells(notebook):
        for text in _strings(cell["outputs"]):
            for pattern in (_ADDRESS, *folders):
                if found := pattern.search(text):
                    yield (
                        f"cell {position} shows {found.group()!r}, which another machine or another run "
                        "shows otherwise"
                    )


def _uncounted(notebook: _Json) -> Iterator[str]:
    for expected, (position, cell) in enumerate(code_cells(notebook), 1):
        count = cell.get("execution_count")
        if count is None:
            yield f"code cell {position} was not run: it has no execution count, so nothing would compare it"
        elif count != expected:
            yield f"code cell {position} has the execution count {count}; a run from the top gives {expected}"


def _empty(notebook: _Json) -> Iterator[str]:
    for position, cell in code_cells(notebook):
        if not cell_source(cell).strip():
            yield f"code cell {position} is empty"


def _widget_state(notebook: _Json) -> Iterator[str]:
    if "widgets" in notebook["metadata"]:
        yield "it holds widget state (`metadata.widgets`), which hides the still pictures"


def _errors(notebook: _Json) -> Iterator[str]:
    for position, cell in code_cells(notebook):
        for output in cell["outputs"]:
            if output["output_type"] == "error" and MAY_RAISE not in cell_tags(cell):
                yield (
                    f"cell {position} ends in {output['ename']}: {output['evalue']}; if that is meant, "
                    f"give it the tag {MAY_RAISE}"
                )


def _uncompared(notebook: _Json) -> Iterator[str]:
    for position, cell in code_cells(notebook):
        if any(tag in _UNCOMPARED_TAGS for tag in cell_tags(cell)) or _UNCOMPARED_COMMENT.search(
            cell_source(cell)
        ):
            yield f"cell {position} asks the tests not to compare its output"


_RULES: Final[tuple[Callable[[_Json], Iterator[str]], ...]] = (
    _uncounted,
    _empty,
    _widget_state,
    _errors,
    _uncompared,
)


def _cell(cell: _Json, position: int, taken: set[str]) -> _Json:
    normal = {key: value for key, value in cell.items() if key in ("attachments", "cell_type")}
    normal["id"] = _cell_id(cell, taken)
    normal["metadata"] = {key: value for key, value in cell["metadata"].items() if key not in _NOISE}
    normal["source"] = _lines(cell["source"])
    if cell["cell_type"] == "code":
        count = cell.get("execution_count")
        normal["execution_count"] = count
        normal["outputs"] = list(_outputs(cell["outputs"], position, count))
    return normal


def _cell_id(cell: _Json, taken: set[str]) -> str:
    """The cell's own id; where it has none, or another cell has the same, one made from what it says."""
    cell_id: Any = cell.get("id")
    repeat = 0
    while not isinstance(cell_id, str) or not _CELL_ID.fullmatch(cell_id) or cell_id in taken:
        seed = f"{cell['cell_type']}\n{repeat}\n{cell_source(cell)}"
        cell_id = hashlib.sha256(seed.encode("utf-8", "surrogatepass")).hexdigest()[:8]
        repeat += 1
    taken.add(cell_id)
    return cell_id


def _outputs(outputs: Sequence[_Json], position: int, count: Any) -> Iterator[_Json]:
    # A kernel sends what is printed in pieces whose number depends on the speed of the machine.
    for is_stream, group in groupby(outputs, lambda output: output["output_type"] == "stream"):
        if is_stream:
            yield from _streams(list(group))
        else:
            yield from (_output(output, position, count) for output in group)


def _streams(pieces: Sequence[_Json]) -> Iterator[_Json]:
    for name in sorted({piece["name"] for piece in pieces}, reverse=True):  # stdout before stderr
        text = "".join(_joined(piece["text"]) for piece in pieces if piece["name"] == name)
        yield {"name": name, "output_type": "stream", "text": _lines(text)}


def _output(output: _Json, position: int, count: Any) -> _Json:
    kind = output["output_type"]
    if kind == "error":
        # The traceback holds the paths of this machine, and terminal colours.
        name, value = output["ename"], output["evalue"]
        return {"output_type": kind, "ename": name, "evalue": value, "traceback": [f"{name}: {value}"]}
    data = {mime: _mime_value(mime, value) for mime, value in output["data"].items() if mime != WIDGET_VIEW}
    if WIDGET_VIEW in output["data"] and "text/html" not in data:
        raise NotebookProblem(
            f"cell {position} shows a widget without a still picture (`text/html`): readers without a kernel "
            "would see nothing"
        )
    metadata = {key: value for key, value in output.get("metadata", {}).items() if key != WIDGET_VIEW}
    normal: _Json = {"output_type": kind, "data": data, "metadata": metadata}
    return normal | {"execution_count": count} if kind == "execute_result" else normal


def _mime_value(mime: str, value: Any) -> Any:
    return value if _is_json_mime(mime) else _lines(value)


def _is_json_mime(mime: str) -> bool:
    return mime == "application/json" or (mime.startswith("application/") and mime.endswith("+json"))


def _joined(text: Any) -> str:
    return text if isinstance(text, str) else "".join(cast("list[str]", text))


def _lines(text: Any) -> list[str]:
    return _joined(text).splitlines(keepends=True)


def _strings(value: Any) -> Iterator[str]:
    match value:
        case str():
            yield value
        case list():
            for item in cast("list[Any]", value):
                yield from _strings(item)
        case dict():
            for item in cast("dict[str, Any]", value).values():
                yield from _strings(item)
        case _:
            return
