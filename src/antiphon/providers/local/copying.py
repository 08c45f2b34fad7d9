"""Answers whose texts and numbers come from a text: no grammar lets through what does not occur in it.

A text is a row of words of the source, and a number is one that stands there in digits. Choices, such as `Literal`,
and booleans are free, and so are dates and other texts of a form: they are seldom written as the form wants them.
"""

from __future__ import annotations

import re
from typing import Any

from antiphon._json import dumps
from antiphon._shape import arr, obj, string
from antiphon.providers.local.schemas import LAYOUT, bounded

_NUMBER = re.compile(r"(?<![\w.])-?\d{1,15}(?:[.,]\d{1,6})*")
_GROUPED = re.compile(r"(\d)[,'\u2019](?=\d{3}(?!\d))")
#: Nothing that JSON would escape: a row of words could begin or end in the middle of an escape.
_UNQUOTABLE = re.compile(r'[\s"\\\x00-\x1f\x7f]+')


def copying_grammar(schema: dict[str, Any], source: str) -> str:
    """Return the text by which the runtime holds a model to a schema and its values to a source."""
    return _Rules(bounded(schema), source).text()


class _Rules:
    """Writes a rule for each part of a schema that has copied values in it."""

    def __init__(self, schema: dict[str, Any], source: str) -> None:
        self._schema = schema
        self._numbers = numbers_in(source)
        self._words = " ".join(_UNQUOTABLE.split(source)).strip()
        self._lines: dict[str, str] = {}

    def text(self) -> str:
        start = self._rule(self._schema)
        for name, each in obj(self._schema.get("$defs")).items():
            self._lines[_named(name)] = self._rule(obj(each))
        copied = f"COPIED: %regex {dumps({'substring_words': self._words})}" if self._words else "COPIED: /[ ]?/"
        rules = [f"{name}: {rule}" for name, rule in self._lines.items()]
        return "\n".join([f"%llguidance {{}}\nstart: {start}", *rules, copied])

    def _rule(self, schema: dict[str, Any]) -> str:
        """Return what stands for a schema in a rule."""
        if name := string(schema.get("$ref")).removeprefix("#/$defs/"):
            return _named(name)
        if options := arr(schema.get("anyOf")):
            return f"({' | '.join(self._rule(obj(each)) for each in options)})"
        match schema.get("type"):
            case "string" if "pattern" not in schema and "format" not in schema:
                return r'"\"" COPIED "\""'
            case "integer" | "number" as kind:
                return self._number(schema, kind == "integer")
            case "array" if obj(schema.get("items")):
                return self._array(schema)
            case "object" if obj(schema.get("properties")) and "patternProperties" not in schema:
                return self._object(schema)
            case _:
                return self._free(schema)

    def _free(self, schema: dict[str, Any]) -> str:
        defs = obj(self._schema.get("$defs"))
        whole = {**schema, "$defs": defs} if defs and "$ref" in dumps(schema) else schema
        return f"%json {dumps({'x-guidance': LAYOUT, **whole})}"

    def _number(self, schema: dict[str, Any], is_whole: bool) -> str:
        known = [each for each in self._numbers if not is_whole or each == int(each)]
        # A number may be told in words; and an answer must be possible.
        return f"%json {dumps({'enum': known})}" if known else self._free(schema)

    def _array(self, schema: dict[str, Any]) -> str:
        item, least, most = self._rule(obj(schema["items"])), schema.get("minItems", 0), schema["maxItems"]
        if not most:
            return '"[]"'
        several = f'{item} (", " {item}){{{max(least - 1, 0)},{most - 1}}}'
        return f'"[" {several} "]"' if least else f'"[" ({several})? "]"'

    def _object(self, schema: dict[str, Any]) -> str:
        needed, parts = arr(schema.get("required")), list[str]()
        for name, each in obj(schema["properties"]).items():
            key = dumps(f"{', ' if parts else ''}{dumps(name)}: ")
            part = f"{key} {self._rule(obj(each))}"
            if name not in needed and not parts:
                return self._free(schema)
            parts.append(part if name in needed else f"({part})?")
        rule = f"object_{len(self._lines)}"
        self._lines[rule] = f'"{{" {" ".join(parts)} "}}"'
        return rule


def numbers_in(source: str) -> list[int | float]:
    """Return the numbers that stand in a text, in order; `1,200` and `1'200` are 1200, and `3,5` is 3.5 as well."""
    plain = _GROUPED.sub(r"\1", source)
    found: dict[int | float, None] = {}
    for text in _NUMBER.findall(source) + _NUMBER.findall(plain):
        for written in (text, text.replace(",", "."), text.replace(".", ""), text.replace(",", "")):
            if re.fullmatch(r"-?\d+(?:\.\d+)?", written):
                value = float(written)
                found[int(value) if value == int(value) else value] = None
    return list(found)


def _named(name: str) -> str:
    return f"def_{name.encode().hex()}"
