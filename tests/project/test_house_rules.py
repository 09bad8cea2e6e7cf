"""Rules of the project that no tool knows."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from mcpsim.workbook import find_notebooks, find_source
from mcpsim.workbook.normal_form import cell_source, code_cells, read_notebook

REVISIONS = {"2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25", "2026-07-28"}

Nodes = Iterator[ast.AST]


def names_a_revision(tree: ast.Module) -> Nodes:
    return (node for node in ast.walk(tree) if isinstance(node, ast.Constant) and node.value in REVISIONS)


def asks_for_an_address_or_a_hash(tree: ast.Module) -> Nodes:
    """Calls of `id` anywhere, and of `hash` outside `__hash__`: both differ from run to run."""
    allowed = {
        inner
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef) and node.name == "__hash__"
        for inner in ast.walk(node)
    }
    for node in ast.walk(tree):
        match node:
            case ast.Call(func=ast.Name(id="id" | "hash")) if node not in allowed:
                yield node


def counts_at_module_level(tree: ast.Module) -> Nodes:
    for statement in tree.body:
        match statement:
            case ast.Assign(value=ast.Call(func=function)) | ast.AnnAssign(value=ast.Call(func=function)):
                if ast.unparse(function).rpartition(".")[2] == "count":
                    yield statement


# Each rule, and the folder in which it does not hold.
RULES: tuple[tuple[Callable[[ast.Module], Nodes], str | None], ...] = (
    (names_a_revision, "eras"),
    (asks_for_an_address_or_a_hash, None),
    (counts_at_module_level, None),
)


def test_no_module_breaks_a_rule(project: Path) -> None:
    found: list[str] = []
    for path in sorted((project / "mcpsim").rglob("*.py")):
        place = path.relative_to(project)
        # To read a module takes longer than to look for everything in it.
        tree = ast.parse(path.read_text(encoding="utf-8"))
        for find, allowed_in in RULES:
            if place.parts[1] != allowed_in:
                found += [f"{place}:{getattr(node, 'lineno', '?')} {find.__name__}" for node in find(tree)]
    assert found == []


@pytest.mark.parametrize(
    ("find", "source"),
    [
        (names_a_revision, 'if version == "2025-11-25": pass'),
        (asks_for_an_address_or_a_hash, "name = id(task)"),
        (asks_for_an_address_or_a_hash, "def f(x): return hash(x)"),
        (counts_at_module_level, "ids = itertools.count(1)"),
        (counts_at_module_level, "ids: Iterator[int] = count()"),
    ],
)
def test_the_rule_sees_what_breaks_it(find: Callable[[ast.Module], Nodes], source: str) -> None:
    assert len(list(find(ast.parse(source)))) == 1


def imported_names(source: str) -> Iterator[str]:
    for node in ast.walk(ast.parse(source)):
        match node:
            case ast.Import(names=names):
                yield from (alias.name for alias in names)
            case ast.ImportFrom(module=module):
                yield module or ""


def test_lessons_import_only_the_public_names() -> None:
    inner = [
        f"{path.name}, cell {position}: {name}"
        for path in find_notebooks([], find_source())
        for position, cell in code_cells(read_notebook(path.read_bytes()))
        for name in imported_names(cell_source(cell))
        if name.split(".")[0] == "mcpsim" and name not in ("mcpsim", "mcpsim.course")
    ]
    assert inner == []


def test_the_top_of_the_package_has_few_names_and_none_that_says_too_little() -> None:
    import mcpsim

    assert len(mcpsim.__all__) <= 45
    assert [name for name in mcpsim.__all__ if not hasattr(mcpsim, name)] == []
    # What makes questions is asked for at the Context.
    for name in ("form", "url", "sampling", "roots"):
        assert not hasattr(mcpsim, name)
        assert callable(getattr(mcpsim.Context, name))
