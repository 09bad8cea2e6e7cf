"""jsonschema is imported without the grammar that it hardly ever needs, and checks as ever."""

from __future__ import annotations

import subprocess
import sys

CODE = """
import sys
from mcpsim.utilities.jsonschema_import import SLOW, import_jsonschema

import_jsonschema()
import jsonschema
print(SLOW in sys.modules)
checker = jsonschema.FormatChecker()
iri = jsonschema.Draft202012Validator({"format": "iri"}, format_checker=checker)
print([iri.is_valid(text) for text in sys.argv[1:]])
print(SLOW in sys.modules, sys.modules[SLOW].__spec__ is not None)
import_jsonschema()
"""


def said(code: str, *words: str) -> list[str]:
    done = subprocess.run(
        [sys.executable, "-c", code, *words], capture_output=True, encoding="utf-8", timeout=120, check=True
    )
    return done.stdout.splitlines()


def test_the_grammar_is_imported_when_a_format_needs_it() -> None:
    assert said(CODE, "https://example.org/café", "no address") == ["False", "[True, False]", "True True"]


def test_neither_a_wrong_result_nor_a_call_with_wrong_arguments_imports_the_grammar() -> None:
    code = """
import sys
from mcpsim import simulate
from mcpsim.client.structured import OutputSchema
from mcpsim.course import help_desk

def imported():
    return [name in sys.modules for name in ("jsonschema", "rfc3987_syntax")]

print(imported())
fault = OutputSchema({"properties": {"count": {"type": "integer"}}}).fault_in({"count": "two"})
print(fault, imported())

async def story(client):
    return (await client.call_tool("add_hours", {"first": "two", "second": 3})).is_error

run = simulate(story, server=help_desk())
print(run.value, run.audit().broken, imported())
"""
    assert said(code) == [
        "[False, False]",
        "count: 'two' is not of type 'integer' [True, False]",
        "True () [True, False]",
    ]
