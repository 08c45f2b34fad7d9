"""Forms of servers (elicitation): their fields, the questions about them, and the values of the answers."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, cast

from antiphon._base.json_access import as_array, as_object, as_string
from antiphon.tools.mcp.limited_schema import LimitedSchema
from antiphon.tools.tool import ToolFailure

_MAX_FIELDS = 20
_MAX_CHOICES = 100
_MAX_WORDS = 500
_TYPES = {"string": "text", "integer": "a whole number", "number": "a number", "boolean": "yes or no"}
#: What a form must not ask for: servers have links for it.
_SECRET = re.compile(
    r"pass(word|phrase|wd|code)|secret|api[\s_-]?key|private[\s_-]?key|(access|auth|bearer|refresh)[\s_-]?token|"
    r"credential|seed[\s_-]?phrase|mnemonic|\bcvv\b|\bpin\b|one[\s_-]?time[\s_-]?code|\botp\b",
    re.IGNORECASE,
)
_YES, _NO = ("y", "yes", "true"), ("n", "no", "false")


@dataclass(frozen=True, slots=True)
class FormField:
    """A field of a form."""

    name: str
    schema: Mapping[str, Any]
    is_required: bool

    @property
    def choices(self) -> dict[str, str]:
        """The allowed texts and their titles; empty if any value is allowed."""
        schema = as_object(self.schema.get("items")) if self.schema.get("type") == "array" else self.schema
        listed = as_array(schema.get("oneOf")) or as_array(schema.get("anyOf"))
        if listed:
            options = [as_object(each) for each in listed]
            return {as_string(each.get("const")): as_string(each.get("title")) for each in options}
        values, titles = as_array(schema.get("enum")), as_array(schema.get("enumNames"))
        return {
            as_string(each): as_string(titles[number]) if number < len(titles) else ""
            for number, each in enumerate(values)
        }

    def describe(self) -> str:
        """Return a line about the field: its name, what it means, and what may be answered."""
        said = [as_string(self.schema.get(key)) for key in ("title", "description")]
        kind = as_string(self.schema.get("type"))
        if choices := self.choices:
            shown = ", ".join(f"{value} ({title})" if title else value for value, title in choices.items())
            expected = f"{'any of, separated by commas' if kind == 'array' else 'one of'}: {shown}"
        else:
            expected = _TYPES.get(kind, "text")
            if bounds := [f"{word} {self.schema[key]}" for key, word in _BOUNDS.items() if key in self.schema]:
                expected += f", {', '.join(bounds)}"
        if "default" in self.schema:
            expected += f"; empty: {_write(self.schema['default'])}"
        elif not self.is_required:
            expected += "; may be empty"
        return _shorten(f"`{self.name}`{''.join(f' – {each}' for each in said if each)} ({expected})")

    def read(self, answer: str) -> tuple[Any, str]:
        """Return the value of an answer, None if it is left out, and what is wrong with it."""
        text = answer.strip()
        if not text and ("default" in self.schema or not self.is_required):
            return self.schema.get("default"), ""
        value = self._convert(text)
        if value is None:
            return None, f"{text[:60]!r} is not {_TYPES.get(as_string(self.schema.get('type')), 'possible')}"
        return value, LimitedSchema(self.schema).find_problem(value)

    def _convert(self, text: str) -> Any:
        kind = self.schema.get("type")
        named = {title.lower(): value for value, title in self.choices.items() if title}
        if kind == "array":
            return [named.get(each.strip().lower(), each.strip()) for each in text.split(",") if each.strip()]
        if kind == "boolean":
            return text.lower() in _YES if text.lower() in (*_YES, *_NO) else None
        if kind in ("integer", "number"):
            return _parse_number(text, is_whole=kind == "integer")
        return text if text in self.choices else named.get(text.lower(), text)


_BOUNDS = {"minimum": "at least", "maximum": "at most", "minLength": "length at least", "maxLength": "length at most",
           "format": "as"}  # fmt: skip


def parse_form(schema: Mapping[str, Any]) -> list[FormField]:
    """Return the fields of a form. Raise a ToolFailure if a person should not be asked."""
    properties = as_object(schema.get("properties"))
    required = [each for each in as_array(schema.get("required")) if isinstance(each, str)]
    if len(properties) > _MAX_FIELDS:
        raise ToolFailure(f"its form has more than {_MAX_FIELDS} fields")
    fields = [FormField(name, as_object(each), name in required) for name, each in properties.items()]
    for field in fields:
        kind = field.schema.get("type")
        if kind not in (*_TYPES, "array") or (kind == "array" and not field.choices):
            raise ToolFailure(f"the field `{_shorten(field.name)}` of its form is neither a simple value nor a choice")
        if len(field.choices) > _MAX_CHOICES:
            raise ToolFailure(f"the field `{_shorten(field.name)}` of its form has more than {_MAX_CHOICES} choices")
        if found := _SECRET.search(f"{field.name} {as_string(field.schema.get('title'))}"):
            raise ToolFailure(f"its form asks for a secret ({found[0]}), which servers must not ask for in this way")
    return fields


def _parse_number(text: str, *, is_whole: bool) -> int | float | None:
    if len(text) > 30:
        return None
    try:
        value = float(text)
        if is_whole:
            return int(text)
    except ValueError:
        return None
    return value if abs(value) < float("inf") else None


def _write(value: object) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return ", ".join(map(str, cast("list[object]", value))) if isinstance(value, list) else str(value)


def _shorten(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= _MAX_WORDS else f"{line[:_MAX_WORDS]}…"
