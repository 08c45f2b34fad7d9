"""Imports, as the checker sees them."""

from __future__ import annotations

from antiphon.lang.analysis import analyse
from antiphon.lang.syntax import nodes
from antiphon.lang.syntax.source import Source
from antiphon.lang.typecheck import check_program
from antiphon.lang.typecheck.symbols import ModuleExports
from antiphon.lang.typecheck.types import JSON, NUMBER, widen_type
from tests.lang_unit.checking import checked, every

LIBRARY = """
export type Person { name: text }
export model fast = { name: "x" }
export const count = 0
export const limit = 3
export function double(x: number): number { return x * 2 }
// Looks.
export tool look(a: text): text { return a }
const hidden = 1
"""


def library(path: str) -> ModuleExports:
    """One module that is sound, one that is not, and one of which little is known."""
    if path == "./lib.vibe":
        return checked(LIBRARY)[1].exports
    return (
        ModuleExports(complete=False)
        if path == "py:math"
        else ModuleExports(problem=f"no module `{path}`", hint="look again")
    )


def found(text: str) -> list[str]:
    """What is wrong with a program that may import the library."""
    diagnostics = analyse(Source("test.vibe", text), imports=library).diagnostics
    return [f"{each.code} {each.message}" + (f" ({each.hint})" if each.hint else "") for each in diagnostics]


def test_what_is_imported_is_what_it_was() -> None:
    text = """
import { Person, fast, limit, double as twice, look } from "./lib.vibe"
let p: Person = { name: "Ada" }
model m = { name: "y", tools: [look] }
print(twice(limit), do "x" fast, p.name, look("a"))
"""
    assert found(text) == []
    program, _ = checked(text, library)
    kinds = [each.symbol.kind for each in every(program, nodes.ImportName)]
    assert kinds == ["type", "model", "const", "function", "tool"]


def test_imported_functions_and_types_are_checked() -> None:
    assert found('import { double } from "./lib.vibe"\ndouble("x")') == [
        "V0301 expected `number` for `x`, found `text`"
    ]
    assert found('import { Person } from "./lib.vibe"\nlet p: Person = {}\nprint(p)') == [
        "V0312 the field `name` of `Person` is missing "
        "(write `name: …` in it; a field that may be absent is declared with `?`)"
    ]


def test_an_imported_variable_cannot_be_assigned() -> None:
    assert found('import { count } from "./lib.vibe"\ncount = 3') == [
        "V0702 `count` is imported and never used (remove it from the import)",
        "V0401 `count` is a constant, and cannot be assigned (declare it with `let` to assign it again)",
    ]


def test_an_unknown_name_of_a_known_module_is_an_error() -> None:
    text = 'import { duble, hidden } from "./lib.vibe"\nprint(duble(1), hidden)'
    assert found(text) == [
        "V0602 `./lib.vibe` has no `duble` (did you mean `double`?)",
        "V0602 `./lib.vibe` has no `hidden` (it gives `Person`, `double`, `look`, `fast`, `count`, `limit`)",
    ]


def test_nothing_is_said_of_names_that_are_not_known_before_the_program_runs() -> None:
    assert found('import { sqrt, pi } from "py:math"\nprint(sqrt(pi, 3, "x"), pi.anything)') == []


def test_a_problem_is_told_at_the_path() -> None:
    text = 'import { a } from "./nowhere.vibe"'
    source = Source("test.vibe", text)
    [one] = analyse(source, imports=library).diagnostics
    assert (one.code, one.message, one.hint) == ("V0601", "no module `./nowhere.vibe`", "look again")
    assert text[one.start : one.end] == '"./nowhere.vibe"'


def test_unused_imports_are_warned_of() -> None:
    assert found('import { limit, double } from "./lib.vibe"\nprint(limit)') == [
        "V0702 `double` is imported and never used (remove it from the import)"
    ]


def test_exports_carry_types() -> None:
    names = library("./lib.vibe").names
    assert widen_type(names["count"].type) == NUMBER
    assert "hidden" not in names
    program, result = checked('import { a } from "./x.vibe"\nprint(a)')
    assert result.scope.names["a"].type == JSON
    assert check_program(program, Source("again", "")).diagnostics == []
