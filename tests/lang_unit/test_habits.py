"""Habits from other languages: each is told once, with what to write, and the rest of the program is judged."""

from __future__ import annotations

from pathlib import Path

import pytest

from antiphon.lang.analysis import analyse
from antiphon.lang.formatter import format_source
from antiphon.lang.runtime.system import SYSTEM_MODULES, load_system_functions
from antiphon.lang.syntax.foreign_syntax.table import (
    FOREIGN_STATEMENTS,
    FOREIGN_TYPES,
    GLOBAL_NAME_HINTS,
    METHOD_HINTS,
    SYSTEM_EXPORTS,
)
from antiphon.lang.syntax.parser.source_parser import parse_source
from antiphon.lang.syntax.source import Source
from antiphon.lang.syntax.tokens import RESERVED_WORDS
from antiphon.lang.typecheck import check_program
from antiphon.lang.typecheck.methods import (
    ARRAY_METHODS,
    BUILTINS,
    MAP_METHODS,
    NUMBER_METHODS,
    OBJECT_METHODS,
    TEXT_METHODS,
)
from antiphon.lang.typecheck.types import TYPES_BY_NAME
from tests.lang_unit.checking import codes, messages
from tests.lang_unit.harness import ran

HABITS = """\
const a = (7 // 2) + 1 → floor()
const x = JSON.parse("{}") → parseJson
const n = parseInt("5") → toNumber()
const d = new Date() → now()
const m = new Map<text, number>() → { [text]: number }
const a: Array<number> = [1] → number[]
const a: Array<string | null> = ["a"] → (text | null)[]
const a: Promise<Dict[str, List[int]]> = {} → { [text]: number[] }
const a: number | undefined = 1 → null
do { print(1) } while (true) → while true
console.log("x") → print(
for i in range(3) { print(i) } → for i in 3
print(str(5)) → toString()
print(int("5")) → toNumber()
print(f"{args}") → leave out the `f`
switch (1) { case 1: print(1) } → match value
print(Math.max(1, 2)) → [a, b].max()
import os → py:os
print(2 ^ 3) → **
const xs = [x * 2 for x in [1, 2]] → map(x => …)
print([1].map(x => x) if args == [] else [2]) → condition ? a : b
print(1 !== 2) → !=
const t = "x"; t.push("y") → a text never changes
if args == []: print(1) → write `if
print "hello" → print(…)
var y = 1 → let
interface P { name: text } → type
class A { x() { } } → there are no classes
async function f() { return 1 } → leave it out
const f = lambda a, b: a + b → =>
for (let i = 0; i < 3; i++) { print(i) } → for i in 3
for x of [1] { print(x) } → in
try { print(1) } catch (e) { print(e) } → catch error
try { print(1) } except e { print(e) } → catch error
throw new TypeError("bad") → throw "what is wrong"
raise ValueError("bad") → throw "what is wrong"
print(typeof args) → is text
export default function f() { return 1 } → export function
from os import path → import { path } from "py:os"
x = 5 → let x = 5
enum Color { Red } → type Color
static const z = 1 → leave it out
function f(x?: number) { return x } → number | null
function f(...xs) { return xs } → number[]
function f(x: number) -> number { return x } → :
print("%s" % "x") → braces
print("a" * 3) → repeat
const g = function(x) { return x } → =>
"""


@pytest.mark.parametrize("line", HABITS.splitlines())
def test_a_habit_is_told_once_with_what_to_write_and_the_rest_is_judged(line: str):
    text, _, right = line.partition(" → ")
    found = [
        each for each in analyse(Source("a.vibe", f"{text}\nprint(nowhere)\n")).diagnostics if each.severity == "error"
    ]
    assert len(found) == 2, [each.message for each in found]
    assert right in found[0].hint
    assert found[1].message == "there is no `nowhere` here"


def test_blocks_of_python_are_read_by_their_lines_and_told_of_once():
    text = "for x in [1, 2]:\n    if x == 1:\n        print(x)\n    else:\n        print(no)\nprint(x)\n"
    assert codes(text) == ["V0109", "V0201", "V0201"]


def test_names_that_a_foreign_statement_declares_are_known_after_it():
    text = "class Dog:\n    pass\nimport numpy as np\nconst d = Dog()\nlet e: Dog = np.zeros(3)\nprint(d, e)\n"
    assert codes(text) == ["V0110", "V0101"]


def test_words_of_other_languages_are_names_where_they_are_used_so():
    text = "".join(
        f"let {word} = 1\n{word} = {word} + 1\nprint({word}, {{ {word}: 1 }})\n"
        for word in FOREIGN_STATEMENTS
        if word != "print" and word not in BUILTINS
    )
    assert messages(text) == []


def test_a_comment_that_is_a_number_after_a_value_is_warned_of():
    assert codes("const n = 7 // 2\nprint(n) // 7\nprint([n, // 1\n  2])\n") == ["V0708"]


def test_nothing_that_exists_is_called_foreign():
    assert not GLOBAL_NAME_HINTS.keys() & (BUILTINS.keys() | RESERVED_WORDS)
    assert not FOREIGN_TYPES.keys() & TYPES_BY_NAME.keys()
    tables = {
        "text": TEXT_METHODS,
        "array": ARRAY_METHODS,
        "map": MAP_METHODS,
        "object": OBJECT_METHODS,
        "number": NUMBER_METHODS,
    }
    for kind, table in tables.items():
        assert not METHOD_HINTS[kind].keys() & table.keys(), kind


def test_what_upstream_writes_means_the_same_here():
    text = """let private token = "s3cret"
function sign(private key: text, name: text) {
  return do "Sign for {name}" default
}
print(sign(token, "Ann"), "a\\}b")
"""
    went = ran(text, "signed")
    assert went.prints == ["signed a}b"]
    assert "s3cret" not in went.prompts[0]
    assert 'name (text): "Ann"' in went.prompts[0]


def test_an_async_do_on_its_own_is_waited_for_at_the_end():
    went = ran('async do "Warm up" none\nprint("first")\n', "warm")
    assert went.prints == ["first"]
    assert "Warm up" in went.prompts[0]
    assert went.outcome.error is None
    assert ran('async do "Warm up"\n', {"error": "no"}).outcome.error is not None


def test_the_lines_of_a_tool_describe_its_parameters():
    text = """tool weather(city: text, days: number = 1): text
  @description "The weather"
  @param city "Where it is"
{ return city }
model m = { name: "claude-sonnet-5", tools: [weather] }
print(do "Hi" m)
"""
    went = ran(text, "hi")
    assert "Where it is" in str(went.fake.requests[0].body)


def test_fmt_writes_private_before_the_binder():
    text = 'let private x = 1\nconst   private {a: text} = x\nlet private = 3\nasync let private y = do "x"\n'
    right = 'private let x = 1\nprivate const {a: text} = x\nlet private = 3\nasync private let y = do "x"\n'
    assert format_source(Source("a.vibe", text)) == right
    assert format_source(Source("a.vibe", right)) == right


@pytest.mark.parametrize("part", ["await ", "static ", "if x: ", "if x then ", "new ", "lambda x: ", "x if x else "])
def test_habits_inside_each_other_end_in_a_diagnostic(part: str):
    assert codes(f"{part * 3000}x\n")
    assert codes(f"const a: {'Array<' * 3000}number{'>' * 3000} = []\n")


SNIPPETS = Path(__file__).parent.parent / "lang" / "habits" / "snippets.txt"


def test_no_program_is_sound_because_several_mistakes_are_told_as_one():
    lines = [each for each in SNIPPETS.read_text("utf-8").splitlines() if not each.startswith(("----", "===="))]
    for first in range(0, len(lines) - 7, 7):
        source = Source("a.vibe", "\n".join(lines[first : first + 7]) + "\n")
        program, unread = parse_source(source)
        found = [*unread, *check_program(program, source).diagnostics]
        assert analyse(source).is_compilable == all(each.severity != "error" for each in found)


@pytest.mark.parametrize("pattern", ["/ab+c/gi", r"/^\d+$/", '/[/"]/', "/a|b/u"])
def test_a_regular_expression_is_told_of_as_a_whole(pattern: str):
    assert codes(f'const found = {pattern}.test("x")\nprint(found)\n') == ["V0109"]
    assert codes("const a = 6\nconst b = 3\nprint(a / b / 2)\n") == []


def test_a_name_of_the_system_that_is_not_imported_is_told_where_it_is():
    assert {module: [*load_system_functions(module)] for module in SYSTEM_MODULES} == {
        module: names.split() for module, names in SYSTEM_EXPORTS.items() if module != "tools"
    }
    assert messages("print(readText('a'))")[0].endswith('(write `import { readText } from "system/files"`)')
    assert messages("print(runShell('ls'))")[0].endswith('(write `import { runShell } from "system/tools"`)')
