"""Grammars whose texts and numbers must occur in a source text.

A text is a sequence of words of the source, and a number is one that the source has in digits.
Choices such as `Literal`, booleans, dates and other formatted texts are free, because sources
seldom write them in that form.
"""

from __future__ import annotations

import re
from typing import Any

from antiphon._base.json import dump_json
from antiphon._base.json_access import as_array, as_object, as_string
from antiphon.local.grammar import JSON_LAYOUT, bound_schema

_NUMBER = re.compile(r"(?<![\w.])-?\d{1,15}(?:[.,]\d{1,6})*")
_GROUPED_DIGITS = re.compile(r"(\d)[,'\u2019](?=\d{3}(?!\d))")
#: Characters that JSON escapes: a sequence of words could begin or end inside an escape.
_ESCAPED_CHARACTERS = re.compile(r'[\s"\\\x00-\x1f\x7f]+')


def build_source_grammar(schema: dict[str, Any], source: str) -> str:
    """Return the grammar that restricts a model to a schema, and its values to a source."""
    return _GrammarRules(bound_schema(schema), source).text()


class _GrammarRules:
    """Builder of a rule for each part of a schema that has copied values."""

    def __init__(self, schema: dict[str, Any], source: str) -> None:
        self._schema = schema
        self._numbers = extract_numbers(source)
        self._words = " ".join(_ESCAPED_CHARACTERS.split(source)).strip()
        self._lines: dict[str, str] = {}

    def text(self) -> str:
        start = self._build_rule(self._schema)
        for name, each in as_object(self._schema.get("$defs")).items():
            self._lines[_make_rule_name(name)] = self._build_rule(as_object(each))
        copied = f"COPIED: %regex {dump_json({'substring_words': self._words})}" if self._words else "COPIED: /[ ]?/"
        rules = [f"{name}: {rule}" for name, rule in self._lines.items()]
        return "\n".join([f"%llguidance {{}}\nstart: {start}", *rules, copied])

    def _build_rule(self, schema: dict[str, Any]) -> str:
        """Return the expression for a schema in a rule."""
        if name := as_string(schema.get("$ref")).removeprefix("#/$defs/"):
            return _make_rule_name(name)
        if options := as_array(schema.get("anyOf")):
            return f"({' | '.join(self._build_rule(as_object(each)) for each in options)})"
        match schema.get("type"):
            case "string" if "pattern" not in schema and "format" not in schema:
                return r'"\"" COPIED "\""'
            case "integer" | "number" as kind:
                return self._number(schema, kind == "integer")
            case "array" if as_object(schema.get("items")):
                return self._array(schema)
            case "object" if as_object(schema.get("properties")) and "patternProperties" not in schema:
                return self._object(schema)
            case _:
                return self._free(schema)

    def _free(self, schema: dict[str, Any]) -> str:
        defs = as_object(self._schema.get("$defs"))
        whole = {**schema, "$defs": defs} if defs and "$ref" in dump_json(schema) else schema
        return f"%json {dump_json({'x-guidance': JSON_LAYOUT, **whole})}"

    def _number(self, schema: dict[str, Any], is_whole: bool) -> str:
        known = [each for each in self._numbers if not is_whole or each == int(each)]
        # The source may spell a number in words, and some answer must be possible.
        return f"%json {dump_json({'enum': known})}" if known else self._free(schema)

    def _array(self, schema: dict[str, Any]) -> str:
        item, least, most = self._build_rule(as_object(schema["items"])), schema.get("minItems", 0), schema["maxItems"]
        if not most:
            return '"[]"'
        several = f'{item} (", " {item}){{{max(least - 1, 0)},{most - 1}}}'
        return f'"[" {several} "]"' if least else f'"[" ({several})? "]"'

    def _object(self, schema: dict[str, Any]) -> str:
        needed, parts = as_array(schema.get("required")), list[str]()
        for name, each in as_object(schema["properties"]).items():
            key = dump_json(f"{', ' if parts else ''}{dump_json(name)}: ")
            part = f"{key} {self._build_rule(as_object(each))}"
            if name not in needed and not parts:
                return self._free(schema)
            parts.append(part if name in needed else f"({part})?")
        rule = f"object_{len(self._lines)}"
        self._lines[rule] = f'"{{" {" ".join(parts)} "}}"'
        return rule


def extract_numbers(source: str) -> list[int | float]:
    """Return the numbers in a text, in order. `1,200` and `1'200` are 1200, and `3,5` is also 3.5."""
    plain = _GROUPED_DIGITS.sub(r"\1", source)
    found: dict[int | float, None] = {}
    for text in _NUMBER.findall(source) + _NUMBER.findall(plain):
        for written in (text, text.replace(",", "."), text.replace(".", ""), text.replace(",", "")):
            if re.fullmatch(r"-?\d+(?:\.\d+)?", written):
                value = float(written)
                found[int(value) if value == int(value) else value] = None
    return list(found)


def _make_rule_name(name: str) -> str:
    return f"def_{name.encode().hex()}"
