"""The tree: which nodes there are, and that nobody who has a table of them forgets one."""

from __future__ import annotations

from typing import get_args

import pytest

from antiphon.lang.syntax import nodes as n
from antiphon.lang.syntax.parser.source_parser import parse_source
from antiphon.lang.syntax.source import Source
from tests.lang_unit.programs import program_text

KINDS = get_args(n.Expr | n.Statement | n.TypeNode | n.Part)


def test_every_node_is_an_expression_a_statement_a_type_or_a_part():
    classes = {each for each in vars(n).values() if isinstance(each, type) and issubclass(each, n.Node)}
    assert classes - {n.Node, n.TypedNode, n.NamingNode} == set(KINDS)


def test_a_table_that_forgets_a_node_is_refused():
    whole = dict.fromkeys(get_args(n.Expr), "something")
    n.require_all(whole, n.Expr)
    del whole[n.AsyncFor]
    with pytest.raises(NotImplementedError, match="AsyncFor"):
        n.require_all(whole, n.Expr)


def test_a_walk_goes_through_a_tree_in_the_order_of_the_text():
    program, _ = parse_source(Source("t", 'let a = f(b, [c, d.e])\nif a { print("${g} h") }\n'))
    found = [each.name for each in n.walk(program) if isinstance(each, n.Name)]
    assert found == ["f", "b", "c", "d", "a", "print", "g"]


def test_a_deep_tree_can_be_walked():
    program, _ = parse_source(Source("t", "x" + " + x" * 900))
    assert sum(isinstance(each, n.Name) for each in n.walk(program)) == 901


def test_the_parts_of_a_node_are_all_nodes_in_its_fields():
    for seed in range(40):
        program, _ = parse_source(Source("t", program_text(seed, 6)))
        for node in n.walk(program):
            fields = (getattr(node, name) for name in type(node).own)
            held = (each for field in fields for each in (field if isinstance(field, list) else [field]))
            assert n.children(node) == [each for each in held if isinstance(each, n.Node)]
