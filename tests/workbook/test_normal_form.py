"""The form in which notebooks are stored, and what the guard says about others."""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import nbformat
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcpsim.workbook import NotebookProblem, normal_form, problems
from mcpsim.workbook.normal_form import WIDGET_VIEW, machine_paths, read_notebook


def stored(notebook: dict[str, Any]) -> bytes:
    return normal_form(notebook).encode()


def stream(text: str, name: str = "stdout") -> dict[str, Any]:
    return {"output_type": "stream", "name": name, "text": text}


def display(**data: Any) -> dict[str, Any]:
    return {"output_type": "display_data", "metadata": {}, "data": data}


def test_it_is_what_jupyterlab_writes(make: SimpleNamespace) -> None:
    run = make.code(
        "1", execution_count=1, outputs=[stream("a\nb\u2028c\n"), display(**{"text/html": "<b>\n</b>"})]
    )
    text = normal_form(make.notebook(make.text("# é\n\nText"), run))
    node = nbformat.reads(text, as_version=4)
    nbformat.validate(node)
    assert nbformat.writes(node) + "\n" == text


def test_the_normal_form_of_a_normal_form_is_itself(make: SimpleNamespace) -> None:
    text = normal_form(
        make.notebook(make.text("a"), make.code("b"), make.code("b"), kernelspec={"name": "other"})
    )
    assert normal_form(json.loads(text)) == text


def test_it_keeps_no_versions_timings_and_widget_state(make: SimpleNamespace) -> None:
    cell = make.code("1")
    cell["metadata"] = {
        "execution": {"shell.execute_reply": "2026-01-01"},
        "scrolled": True,
        "tags": ["kept"],
    }
    notebook = make.notebook(cell, widgets={"state": {}}, language_info={"version": "3.11.7"}, title="kept")
    normal = json.loads(normal_form(notebook))
    assert normal["cells"][0]["metadata"] == {"tags": ["kept"]}
    assert normal["metadata"].keys() == {"kernelspec", "language_info", "title"}
    assert "version" not in json.dumps(normal["metadata"])


def test_ids_are_kept_made_where_missing_and_never_twice(make: SimpleNamespace) -> None:
    cells = [
        make.code("a", id="first"),
        make.code("b", id="first"),
        make.code("b"),
        make.code("b", id="not valid"),
    ]
    first = [cell["id"] for cell in json.loads(normal_form(make.notebook(*cells)))["cells"]]
    assert first[0] == "first"
    assert len(set(first)) == 4
    moved = [make.text("new above"), *json.loads(normal_form(make.notebook(*cells)))["cells"]]
    assert [cell["id"] for cell in json.loads(normal_form(make.notebook(*moved)))["cells"]][1:] == first


def test_printed_text_is_one_output_whatever_its_pieces(make: SimpleNamespace) -> None:
    in_pieces = [
        stream("a"),
        stream("!", "stderr"),
        stream("b\n"),
        display(**{"text/plain": "x"}),
        stream("c"),
    ]
    in_one = [stream("ab\n"), stream("!", "stderr"), display(**{"text/plain": "x"}), stream("c")]
    forms = {normal_form(make.notebook(make.code("1", outputs=outputs))) for outputs in (in_pieces, in_one)}
    assert len(forms) == 1


def test_a_widget_is_stored_as_its_still_picture(make: SimpleNamespace) -> None:
    view = {WIDGET_VIEW: {"model_id": "random"}, "text/html": "<figure>", "text/plain": "Player()"}
    (cell,) = json.loads(normal_form(make.notebook(make.code("1", outputs=[display(**view)]))))["cells"]
    assert cell["outputs"][0]["data"] == {"text/html": ["<figure>"], "text/plain": ["Player()"]}


def test_a_widget_without_a_still_picture_is_refused(make: SimpleNamespace) -> None:
    view = {WIDGET_VIEW: {"model_id": "random"}, "text/plain": "Slider()"}
    with pytest.raises(NotebookProblem, match="cell 2 shows a widget without a still picture"):
        normal_form(make.notebook(make.text("a"), make.code("1", outputs=[display(**view)])))


def test_an_error_is_stored_without_paths_and_colours(make: SimpleNamespace) -> None:
    error = {
        "output_type": "error",
        "ename": "Stuck",
        "evalue": "no",
        "traceback": ["\x1b[31m/home/x\x1b[0m"],
    }
    (cell,) = json.loads(normal_form(make.notebook(make.code("1", outputs=[error]))))["cells"]
    assert cell["outputs"] == [error | {"traceback": ["Stuck: no"]}]


@pytest.mark.parametrize("value", [float("nan"), "\ud800"])
def test_what_json_cannot_carry_is_refused(make: SimpleNamespace, value: Any) -> None:
    with pytest.raises(NotebookProblem, match="cannot be stored"):
        normal_form(make.notebook(make.code("1", outputs=[display(**{"application/json": value})])))


def test_a_notebook_that_was_run_has_no_problems(make: SimpleNamespace) -> None:
    cells = make.text("a"), make.code("1", execution_count=1), make.code("2", execution_count=2)
    assert problems(stored(make.notebook(*cells))) == ()


def raised(make: SimpleNamespace, *tags: str) -> dict[str, Any]:
    error = {"output_type": "error", "ename": "Stuck", "evalue": "no", "traceback": []}
    return make.code("1", *tags, execution_count=1, outputs=[error])


def test_an_error_that_is_meant_is_no_problem(make: SimpleNamespace) -> None:
    assert problems(stored(make.notebook(raised(make, "raises-exception")))) == ()


@pytest.mark.parametrize(
    ("build", "sentence"),
    [
        (lambda make: make.code("1"), "code cell 1 was not run"),
        (
            lambda make: make.code("1", execution_count=2),
            "has the execution count 2; a run from the top gives 1",
        ),
        (lambda make: make.code(" \n", execution_count=1), "code cell 1 is empty"),
        (raised, "cell 1 ends in Stuck: no"),
        (lambda make: make.code("1", "nbval-skip", execution_count=1), "not to compare"),
        (lambda make: make.code("1", "nbval-ignore-output", execution_count=1), "not to compare"),
        (lambda make: make.code("# NBVAL_IGNORE_OUTPUT\n1", execution_count=1), "not to compare"),
        (lambda make: make.code("1  # nbval_skip", execution_count=1), "not to compare"),
        (lambda make: make.code("1", execution_count=1, outputs=[stream("at 0x7f12ab")]), "'at 0x7f12ab'"),
        (
            lambda make: make.code("1", execution_count=1, outputs=[stream("/somewhere/here/x")]),
            "'/somewhere/here'",
        ),
    ],
)
def test_each_problem_is_named(make: SimpleNamespace, build: Any, sentence: str) -> None:
    (problem,) = problems(stored(make.notebook(build(make))), paths=["/somewhere/here"])
    assert sentence in problem


def test_widget_state_is_a_problem(make: SimpleNamespace) -> None:
    notebook = json.loads(normal_form(make.notebook(make.code("1", execution_count=1))))
    notebook["metadata"]["widgets"] = {}
    found = problems(json.dumps(notebook).encode())
    assert [sentence for sentence in found if "metadata.widgets" in sentence]
    assert [sentence for sentence in found if "normal form" in sentence]


def test_another_spelling_of_the_same_json_is_a_problem(make: SimpleNamespace) -> None:
    content = stored(make.notebook(make.code("1", execution_count=1)))
    assert problems(content.replace(b"\n", b"\r\n")) == ("it is not stored in the normal form",)


def test_a_name_that_only_begins_like_a_folder_of_the_machine_is_none(make: SimpleNamespace) -> None:
    cell = make.code("1", execution_count=1, outputs=[stream("/somewhere/hereafter, x/somewhere/here")])
    assert problems(stored(make.notebook(cell)), paths=["/somewhere/here"]) == ()


def test_the_folders_of_this_machine_are_known(project: Path) -> None:
    paths = machine_paths()
    assert str(Path.home()) in paths or Path.home() == Path(Path.home().anchor)
    assert str(project) in paths
    assert "/" not in paths


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"\xff",
        b"[]",
        b"null",
        b"{}",
        b'{"nbformat": 3, "cells": [], "metadata": {}}',
        b'{"nbformat": 4, "cells": [1], "metadata": {}}',
        b'{"nbformat": 4, "cells": [{"cell_type": "code", "source": "", "metadata": {}}], "metadata": {}}',
        b"[" * 100_000,
    ],
)
def test_what_is_no_notebook_is_one_problem(content: bytes) -> None:
    (problem,) = problems(content)
    assert "not a notebook" in problem or "is not a cell" in problem


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5) | st.just([]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=5,
)
OUTPUTS = st.lists(
    st.fixed_dictionaries(
        {"output_type": st.sampled_from(["stream", "error", "display_data", "execute_result"]) | JSON},
        optional={
            "name": st.sampled_from(["stdout", "stderr"]) | JSON,
            "text": JSON,
            "data": st.dictionaries(st.sampled_from(["text/html", WIDGET_VIEW, "image/png"]), JSON) | JSON,
            "metadata": st.just({}) | JSON,
            "ename": JSON,
            "evalue": JSON,
        },
    ),
    max_size=3,
)
CELLS = st.lists(
    st.fixed_dictionaries(
        {"cell_type": st.sampled_from(["code", "markdown"]) | JSON},
        optional={
            "source": JSON,
            "metadata": st.dictionaries(st.sampled_from(["tags", "execution"]), JSON) | JSON,
            "outputs": OUTPUTS | JSON,
            "execution_count": JSON,
            "id": JSON,
        },
    ),
    max_size=3,
)


@given(CELLS)
def test_no_notebook_crashes_the_guard(cells: list[Any]) -> None:
    notebook = {"nbformat": 4, "nbformat_minor": 5, "metadata": {}, "cells": cells}
    found = problems(json.dumps(notebook).encode())
    assert all(isinstance(sentence, str) for sentence in found)


@given(CELLS)
def test_the_normal_form_is_stable(cells: list[Any]) -> None:
    content = json.dumps({"nbformat": 4, "nbformat_minor": 5, "metadata": {}, "cells": cells}).encode()
    try:
        once = normal_form(read_notebook(content))
    except NotebookProblem:
        return
    assert normal_form(json.loads(once)) == once
