"""The written grammar and the parser agree."""

from __future__ import annotations

import pytest

from antiphon.lang.syntax import nodes
from antiphon.lang.syntax.parser.source_parser import parse_source
from antiphon.lang.syntax.source import Source
from tests.lang_unit.grammar import Sentences, read_grammar

ABSTRACT = {nodes.Node, nodes.TypedNode, nodes.NamingNode, nodes.BadExpr, nodes.BadStatement}


def classes_in(value: object) -> set[type]:
    """The classes of all nodes of a tree."""
    found: set[type] = set()
    waiting = [value]
    while waiting:
        each = waiting.pop()
        if isinstance(each, nodes.Node):
            found.add(type(each))
            waiting += [getattr(each, name) for name in each.given]
        elif isinstance(each, list):
            waiting += each
    return found


def program(seed: int) -> str:
    """Ten statements, so that what stands beside each other is met too."""
    sentences = [Sentences(seed * 10 + each, size=60) for each in range(10)]
    return "".join(f"{each.rule('statement')} {each.rule('end')} " for each in sentences)


def test_every_rule_is_reached_from_the_program():
    rules = read_grammar()
    reached, waiting = set[str](), ["program"]
    while waiting:
        name = waiting.pop()
        if name not in reached:
            reached.add(name)
            waiting += rules[name].names()
    assert reached == rules.keys()


@pytest.mark.parametrize("seed", range(200))
def test_the_parser_accepts_what_the_grammar_makes(seed: int):
    source = Source("sentence", program(seed))
    assert [each.render(source) for each in parse_source(source)[1]] == []


@pytest.mark.parametrize(
    "rule",
    ["statement", "expression_statement", "if", "match", "match_value", "tool", "destructuring", "import", "export"],
)
def test_the_parser_accepts_each_rule_alone(rule: str):
    for seed in range(30):
        source = Source("sentence", Sentences(seed, size=100).rule(rule))
        assert [each.render(source) for each in parse_source(source)[1]] == []


def test_sentences_of_the_grammar_make_every_node():
    found: set[type] = set()
    for seed in range(200):
        found |= classes_in(parse_source(Source("sentence", program(seed)))[0])
        found |= classes_in(
            parse_source(Source("sentence", f"while a {{ }} {Sentences(seed, size=20).rule('loop_mode')}"))[0]
        )
        found |= classes_in(
            parse_source(Source("sentence", f"match a {{ {Sentences(seed, size=20).rule('case')} }}"))[0]
        )
    known = {each for each in vars(nodes).values() if isinstance(each, type) and issubclass(each, nodes.Node)}
    assert known - ABSTRACT == found
