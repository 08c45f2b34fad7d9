"""What passes the check does not fail for its types; and what is right passes."""

from __future__ import annotations

from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from antiphon.lang.runtime.errors import VibeError
from antiphon.lang.runtime.program import Host, loads
from antiphon.lang.typecheck.type_printer import format_type
from tests.lang_unit import further_probes, more_probes, other_probes, probes, program_probes
from tests.lang_unit.checking import EXPRESSIONS, codes, every, messages, sound
from tests.lang_unit.harness import ran
from tests.lang_unit.probes import STOPPED
from tests.lang_unit.typed import Typed

TABLES = (probes, more_probes, further_probes, other_probes, program_probes)


def _all(name: str) -> list[object]:
    tables = [group for table in TABLES for group in getattr(table, name).items()]
    return [pytest.param(*each, id=f"{name} {at}") for name, group in tables for at, each in enumerate(group, 1)]


@pytest.mark.parametrize(("program", "code"), _all("REFUSED"))
def test_what_would_fail_for_its_types_is_refused(program: str, code: str) -> None:
    assert code in codes(program)


@pytest.mark.parametrize(("program", "prints"), _all("ACCEPTED"))
def test_what_is_right_passes_and_runs(program: str, prints: str) -> None:
    assert [each for each in codes(program) if each < "V07"] == []
    gone = ran(program)
    assert gone.outcome.error is None, gone.outcome.error.message
    assert "\n".join(gone.prints) == prints


@pytest.mark.parametrize(("program", "words"), STOPPED)
def test_json_is_looked_at_wherever_it_goes_into_a_type(program: str, words: str) -> None:
    assert [each for each in codes(program) if each < "V07"] == []
    error = ran(program).error
    assert (error.code, words in error.message) == ("V0902", True), error.message


WIDE = "type P { x: number, y: number }\nlet q = { x: 1, y: 2, name: 'a' }\nlet p: P = q\nlet k = 'name'\n"


@pytest.mark.parametrize("program", ["p[k] = 5", "p[k] += 5", "print(p[k])", "let ps = [p]\nprint(ps.sort(k))"])
def test_a_field_that_the_type_does_not_name_is_not_there_for_it(program: str) -> None:
    gone = ran(f"{WIDE}try {{ {program} }} catch e {{ print(e.code, q.name) }}")
    assert gone.prints == ["V0907 a"]


TREES = {
    "type Tree = { [text]: Tree }\nconst t: Tree = do 'Draw a tree'\nprint(t['a'].keys(), t)": '["b"] {"a":{"b":{}}}',
    "type Nest = Nest[]\nconst n: Nest = do 'Nest'\nprint(n.length, n)": "2 [[],[[]]]",
    "type Value = number | Value[]\nconst v: Value = do 'Say'\nprint(v is number, v)": "false [1,[2]]",
    "type F { size: number }\ntype D = { [text]: D | F }\nconst d: D = do 'List'\nprint(d.keys())": '["a","b"]',
}
GIVEN = ({"a": {"b": {}}}, [[], [[]]], [1, [2]], {"a": {"size": 1}, "b": {"c": {"size": 2}}})


@pytest.mark.parametrize(("program", "prints", "answer"), [*zip(TREES, TREES.values(), GIVEN, strict=True)])
def test_a_type_that_contains_itself_is_what_a_model_returns(program: str, prints: str, answer: object) -> None:
    assert ran(program, {"returns": answer}).prints == [prints]


def test_what_a_model_returns_is_looked_at_in_a_type_that_contains_itself() -> None:
    program = "type Tree = { [text]: Tree }\nconst t: Tree = do 'Draw a tree'\nprint(t)"
    gone = ran(program, {"returns": {"a": {"b": 1}}}, {"returns": {"a": {"b": {}}}})
    assert gone.prints == ['{"a":{"b":{}}}']


#: What a program ends with that fails for its types: of the others it may, for instance, miss an index.
OF_TYPES = {"V0902", "V0907", "V0908", "V0912", "V0915"}
seeds = st.integers(0, 2**48)


def types_hold(text: str) -> None:
    """That a program does not fail for its types, but where json goes into one, or has no such field."""
    error = loads(text, "typed.vibe").attempt(Host(write=lambda _: None)).error
    if error is not None and not (error.code in ("V0902", "V0907") and _json_is_at(text, error)):
        assert error.code not in OF_TYPES, f"{text}\n{error.render()}"


def _json_is_at(text: str, error: VibeError) -> bool:
    """Whether there is json in the place where a program ended."""
    here = error.frames[-1]
    there = [each for each in every(sound(text), EXPRESSIONS) if here.start <= each.start and each.end <= here.end]
    return any("json" in format_type(each.type) for each in there if each.type is not None)


@settings(max_examples=12, deadline=None)
@given(seeds)
def test_programs_that_are_right_in_their_types_pass_and_run(seed: int) -> None:
    text = Typed(Random(seed)).program()
    assert [each for each in codes(text) if each < "V07"] == [], f"{text}\n{messages(text)}"
    error = loads(text, "typed.vibe").attempt(Host(write=lambda _: None)).error
    assert error is None or error.code not in OF_TYPES, f"{text}\n{error.render()}"


@settings(max_examples=12, deadline=None)
@given(seeds)
def test_a_mistake_that_is_planted_in_a_right_program_is_found(seed: int) -> None:
    text = Typed(Random(seed)).wrong_program()
    assert [each for each in codes(text) if each < "V07"] != [], text


@settings(max_examples=15, deadline=None)
@given(seeds)
def test_what_passes_does_not_fail_for_its_types_however_it_came_about(seed: int) -> None:
    random = Random(seed)
    lines = Typed(random).program().splitlines()
    for _ in range(random.randint(1, 4)):
        _spoil(lines, random)
    text = "\n".join(lines)
    if not [each for each in codes(text) if each < "V07"]:
        types_hold(text)


def _spoil(lines: list[str], random: Random) -> None:
    """Take a line away, put it elsewhere, or take another name in it, or another type."""
    at = random.randrange(16, len(lines)) if len(lines) > 17 else 0
    names = ["g", *(f"v{i}" for i in range(1, 12))]
    match random.randrange(5):
        case 0:
            lines.insert(random.randrange(16, len(lines) + 1) if len(lines) > 16 else 0, lines[at])
        case 1:
            lines[at] = lines[at].replace("!= null", "== null")
        case 2:
            words = ("let ", "const ") if random.random() < 0.5 else ("const ", "let ")
            lines[at] = lines[at].replace(*words)
        case 3:
            lines[at] = lines[at].replace(".copy()", "").replace(" ?? ", " == ")
        case _:
            lines[at] = lines[at].replace(random.choice(names), random.choice(names))
