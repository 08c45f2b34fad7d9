"""What is known of a text that is being written."""

from __future__ import annotations

from antiphon.lang.analysis import Analysis, analyse
from antiphon.lang.syntax import nodes as n
from antiphon.lang.syntax.source import Source
from antiphon.lang.typecheck.types import NUMBER

TEXT = """let total = 0
function add(amount: number): number {
  let sum = total + amount
  for amount in [1, 2] { sum += amount }
  return sum
}
total = add(2)
"""


def analysed(text: str = TEXT) -> Analysis:
    return analyse(Source("t.vibe", text))


def test_all_names_of_a_text_are_found_in_order():
    found = [(each.name, each.kind) for each in analysed().symbols()]
    assert found == [
        ("total", "let"),
        ("add", "function"),
        ("amount", "parameter"),
        ("sum", "let"),
        ("amount", "loop"),
    ]


def test_the_inner_of_two_names_is_seen_in_its_block_only():
    known = analysed()
    inside = {each.name: each.kind for each in known.symbols_visible_at(TEXT.index("sum += amount"))}
    assert inside == {"total": "let", "add": "function", "amount": "loop", "sum": "let"}
    after = {each.name: each.kind for each in known.symbols_visible_at(TEXT.index("return"))}
    assert after["amount"] == "parameter"
    assert {each.name for each in known.symbols_visible_at(len(TEXT) - 1)} == {"total", "add"}


def test_a_name_is_known_where_it_is_declared_and_where_it_is_used():
    known = analysed()
    declared = known.symbol_at(TEXT.index("total"))
    assert declared is not None
    assert known.symbol_at(TEXT.rindex("total")) is declared
    assert [each.start for each in known.find_uses(declared)] == [TEXT.index("total +"), TEXT.rindex("total")]
    assert known.symbol_at(TEXT.index("[1")) is None


def test_the_type_at_a_place_is_that_of_its_node():
    node = analysed().node_at(TEXT.index("amount\n"))
    assert isinstance(node, n.Name)
    assert node.type == NUMBER


def test_a_half_written_text_still_says_what_it_can():
    text = "let first = 1\nlet second = )\nprint(first)\nlet third = (frist\n"
    known = analysed(text)
    assert not known.is_compilable
    assert known.diagnostics
    assert [each.name for each in known.symbols()][:2] == ["first", "second"]
    assert known.symbol_at(text.index("first)")) is known.symbols()[0]


def test_warnings_leave_a_text_sound():
    known = analysed('import { a } from "py:math"\n')
    assert known.diagnostics
    assert known.is_compilable


def test_nothing_is_anywhere_in_an_empty_text():
    known = analysed("")
    assert (known.symbols(), known.symbol_at(0), known.node_at(0)) == ([], None, known.program)
