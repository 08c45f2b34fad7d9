"""Whatever the text, the parser answers: no exception, spans inside the text, the same each time, in linear time."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from antiphon.lang.syntax import nodes
from antiphon.lang.syntax.diagnostics import Diagnostic
from antiphon.lang.syntax.parser.source_parser import is_incomplete_source, parse_source, parse_type_source
from antiphon.lang.syntax.source import Source
from tests.effort import calls_of
from tests.lang_unit.grammar import Sentences

WORDS = "let const x y do vibe function tool f type if else for in while try catch return async private not and import"
SIGNS = '= ( ) { } [ ] " \' ` ${ {x} \\ py(x){ , : . ; ? 1 .. + - ** ?? == < | @description # // /* */ "a"'
PIECES = st.sampled_from([*re.split(" ", WORDS), *re.split(" ", SIGNS), "\n", "\r\n"])


def check(text: str) -> None:
    source = Source("fuzz", text)
    tree, diagnostics = parse_source(source)
    check_spans(tree, len(text))
    for each in diagnostics:
        check_diagnostic(each, len(text))
        each.render(source)
    assert parse_source(source) == (tree, diagnostics)
    is_incomplete_source(text)
    parse_type_source(source)


def check_spans(tree: nodes.Node, size: int) -> None:
    waiting: list[object] = [tree]
    while waiting:
        each = waiting.pop()
        if isinstance(each, list):
            waiting += each
        elif isinstance(each, nodes.Node):
            assert 0 <= each.start <= each.end <= size, each
            waiting += [getattr(each, name) for name in each.given]


def check_diagnostic(diagnostic: Diagnostic, size: int) -> None:
    assert 0 <= diagnostic.start <= diagnostic.end <= size, diagnostic
    for label in diagnostic.labels:
        assert 0 <= label.start <= label.end <= size


@given(st.text())
def test_any_text_is_answered(text: str):
    check(text)


@given(st.binary())
def test_any_bytes_are_answered(data: bytes):
    check(data.decode("utf-8", errors="replace"))


@given(st.lists(PIECES).map(" ".join) | st.lists(PIECES).map("".join))
def test_any_pieces_of_programs_are_answered(text: str):
    check(text)


@given(st.integers(0, 500), st.integers(0, 10_000), PIECES)
def test_a_program_with_one_piece_put_in_or_cut_off_is_answered(seed: int, place: int, piece: str):
    text = "\n".join(Sentences(seed * 3 + each, size=40).rule("statement") for each in range(3))
    place %= len(text) + 1
    check(text[:place] + piece + text[place:])
    check(text[:place])


@pytest.mark.parametrize(
    "piece",
    [
        "(",
        '"${',
        "{",
        "py(){",
        "a.",
        "/*",
        "1+",
        "if x {\n",
        "`${\n",
        "try{",
        "(\n",
        " ",
        "if x\n",
        "{a[",
        "// a\n",
        'py(){"""}\n',
    ],
    ids=repr,
)
def test_effort_grows_with_the_text_and_no_faster(piece: str):
    def effort(size: int) -> int:
        source = Source("long", piece * (size // len(piece)))
        return calls_of(lambda: parse_source(source))

    effort(100)
    assert effort(40_000) < 3 * effort(20_000)
