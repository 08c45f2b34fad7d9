"""What may be read at all is checked, compiled and run, however long its chains are and however deep it goes."""

import pytest

from antiphon.lang.run.program import Host, loads
from antiphon.lang.syntax.cursor import MAX_CHAIN, MAX_DEPTH

VALUES = "let a: json = 1\nlet o: json = null\nlet f = (x: json) => x\n"
LONG, DEEP = MAX_CHAIN - 5, MAX_DEPTH - 5
PROGRAMS = {
    "operators": "print(" + " + ".join(["a"] * LONG) + ")",
    "defaults": "print(" + " ?? ".join(["a"] * LONG) + ")",
    "methods": "print([1]" + ".copy()" * (LONG // 2) + ")",
    "functions": "print([1]" + ".map(x => x)" * 100 + ".length)",
    "changes": "let xs = [2, 1]\nprint(xs" + ".sort().reverse()" * (LONG // 4) + ")",
    "optional members": "print(o" + "?.a" * LONG + ")",
    "conditions": "if a == 2 { print(1) }" + " else if a == 3 { print(2) }" * LONG + " else { print(3) }",
    "operators in arrays": "print(" + "[" * DEEP + " + ".join(["a"] * LONG) + "]" * DEEP + ")",
    "operators in calls": "print(" + "f(" * DEEP + " + ".join(["a"] * LONG) + ")" * DEEP + ")",
    "operators in blocks": "if a == 1 {\n" * DEEP + "print(" + " + ".join(["a"] * LONG) + ")\n" + "}\n" * DEEP,
    "operators in functions": "let h = "
    + "() => {\nreturn " * (DEEP // 2)
    + " + ".join(["a"] * LONG)
    + "}" * (DEEP // 2),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_long_and_deep_programs_run(name: str):
    program = loads(VALUES + PROGRAMS[name])
    error = program.attempt(Host(write=lambda _: None)).error
    assert error is None, error


def test_a_value_that_goes_several_ways_is_followed_in_each():
    loops = "for {a, b} in xs {\n" * 3 + "print(a, b)\n" + "}\n" * 3
    chain = "xs" + ".filter(x => x.a > 0).sortBy(x => x.b)" * 30
    function = "function f(ys: { a: number, b: number }[]) { print(ys) }"
    loads(f"let xs = [{{ a: 1, b: 2 }}]\n{function}\nf({chain})\n{loops}")
