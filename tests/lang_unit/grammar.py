"""Reads `grammar.txt` and makes sentences from it."""

from __future__ import annotations

import random
import re
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import antiphon.lang
from antiphon.lang.syntax.tokens import RESERVED_WORDS

GRAMMAR = Path(antiphon.lang.__file__).parent / "syntax" / "grammar.txt"
_TOKEN = re.compile(r"""\(\*.*?\*\)|"[^"]*"|'[^']*'|\?[^?]*\?|\w+|[=|;\[\](){}]|\s+""", re.DOTALL)
_SOFT = {"private", "async", "model", "type", "tool", "test", "default", "local", "none", "py", "verbose", "forget"}
_SOFT |= {"pure", "compress", "var", "def", "fn", "func", "elif", "elseif", "as", "from", "input", "returns", "match"}
#: What the special sequences of the grammar stand for.
_SPECIAL = {
    "Python code, whose own tokenizer finds the brace that ends it": (" return {'a': \"}\"} ", "\n  x = 1 # }\n"),
    "a letter of any script, or _": ("a", "b", "x", "Z", "_", "é", "名"),
    "one of 0 to 9": tuple("0123456789"),
    "one of 1 to 9": tuple("123456789"),
    "one of a to f, or A to F": tuple("abcdefABCDEF"),
    'any character but " \\ { $ and the end of a line': ("a", " ", "'", "}", "ü", "/", "#"),
    "any character but ' \\ { $ and the end of a line": ("a", " ", '"', "}", "ü", "/", "#"),
    "any character but ` \\ { and $": ("a", " ", '"', "}", "\n", "/", "#"),
    "the end of a line": ("\n", "\n  // a comment\n", "\r\n"),
}
#: What the grammar says in words.
_CONDITIONS = {
    "NAME": lambda text: text not in RESERVED_WORDS | _SOFT and text.isidentifier(),
    "field_type": lambda text: not text.startswith("{"),
    "returned": lambda text: text[0] not in "|-(",
    "matched": lambda text: text[0] not in "([{-",
    "target": lambda text: not text.startswith(("{", "match ")) and "?." not in text,
    "lambda_value": lambda text: not text.startswith("{"),
    "expression_statement": lambda text: not text.startswith(("{", "match ")),
    "TEXT": lambda text: text[0] == "`" or not re.search(r"[\r\n]", text),
    "ESCAPE": lambda text: not text.startswith("\\u") or _is_character(text),
}


def _is_character(escape: str) -> bool:
    code = int(escape[3:-1], 16)
    return len(escape) < 12 and code < 0x110000 and not 0xD800 <= code < 0xE000


@dataclass
class Part:
    """A piece of a rule: its kind and what belongs to it."""

    kind: str
    value: str = ""
    parts: tuple[Part, ...] = ()

    def names(self) -> set[str]:
        """The rules it refers to."""
        own = {self.value} if self.kind == "rule" else set[str]()
        return own.union(*(each.names() for each in self.parts))


@cache
def read_grammar() -> dict[str, Part]:
    """The rules of the grammar, by name."""
    text = GRAMMAR.read_text(encoding="utf-8")
    assert "".join(_TOKEN.findall(text)) == text, "the grammar has a sign that is none of its notation"
    tokens = [each for each in _TOKEN.findall(text) if not each.isspace() and not each.startswith("(*")]
    rules: dict[str, Part] = {}
    while tokens:
        name, equals = tokens.pop(0), tokens.pop(0)
        assert equals == "=", name
        assert name not in rules, name
        rules[name] = _choice(tokens)
        assert tokens.pop(0) == ";", name
    return rules


def _choice(tokens: list[str]) -> Part:
    options = [_sequence(tokens)]
    while tokens[0] == "|":
        tokens.pop(0)
        options.append(_sequence(tokens))
    return Part("choice", parts=tuple(options))


def _sequence(tokens: list[str]) -> Part:
    parts: list[Part] = []
    while tokens[0] not in ("|", ";", ")", "]", "}"):
        parts.append(_item(tokens))
    return Part("sequence", parts=tuple(parts))


def _item(tokens: list[str]) -> Part:
    token = tokens.pop(0)
    if token in "([{":
        inner = _choice(tokens)
        assert tokens.pop(0) == {"(": ")", "[": "]", "{": "}"}[token]
        return Part({"(": "choice", "[": "optional", "{": "repeat"}[token], parts=(inner,))
    if token[0] in "\"'":
        return Part("text", token[1:-1])
    if token[0] == "?":
        return Part("special", token[1:-1].strip())
    return Part("rule", token)


class Sentences:
    """Makes random sentences of about `size` rules: when these are used up, everything is made as short as can be."""

    def __init__(self, seed: int, size: int = 400) -> None:
        self._random = random.Random(seed)
        self._rules = read_grammar()
        self._left = size
        self._shortest = _shortest()

    def rule(self, name: str) -> str:
        """A sentence of this rule."""
        while True:
            self._left -= 1
            text = self._make(self._rules[name], "" if name.isupper() else " ")
            if name not in _CONDITIONS or _CONDITIONS[name](text):
                return text

    def _make(self, part: Part, space: str) -> str:
        if part.kind == "text":
            return part.value
        if part.kind == "special":
            return self._random.choice(_SPECIAL[part.value])
        if part.kind == "rule":
            return self.rule(part.value)
        if part.kind == "choice":
            return self._make(self._option(part.parts), space)
        if part.kind == "sequence":
            return space.join(filter(None, [self._make(each, space) for each in part.parts]))
        made: list[str] = []
        while self._left > 0 and self._random.random() < 0.4 and (part.kind == "repeat" or not made):
            made.append(self._make(part.parts[0], space))
        return space.join(filter(None, made))

    def _option(self, options: tuple[Part, ...]) -> Part:
        if self._left > 0:
            return self._random.choice(options)
        return min(options, key=lambda each: _height(each, self._shortest))


def _height(part: Part, heights: dict[str, float]) -> float:
    if part.kind in ("text", "special", "optional", "repeat"):
        return 0
    if part.kind == "rule":
        return heights.get(part.value, float("inf")) + 1
    each = [_height(inner, heights) for inner in part.parts] or [0]
    return min(each) if part.kind == "choice" else max(each)


@cache
def _shortest() -> dict[str, float]:
    """How few rules inside each other each rule can do with."""
    rules = read_grammar()
    heights: dict[str, float] = {}
    for _ in rules:
        heights = {name: _height(part, heights) for name, part in rules.items()}
    return heights
