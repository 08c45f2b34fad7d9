"""The data of an answer that is still being said: built from its text, and checked against its type."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import islice
from typing import Any, Literal, cast

from antiphon._base.json_stream import JsonStream
from antiphon.errors import MalformedJSONError
from antiphon.session.json_schema import is_valid_container, is_valid_value
from antiphon.session.output_type import OutputType

_MAX_DEPTH = 100
_FENCE = re.compile(r"```(?:json)?[ \t\r]*\n")
_MAX_FENCE = 40
#: Keywords of a schema that say nothing about which texts are valid.
_NEUTRAL_KEYWORDS = frozenset({"type", "title", "description", "default", "examples", "$comment", "deprecated"})
MISSING: Any = object()

Schema = Mapping[str, Any]
Container = dict[str, Any] | list[Any]


@dataclass(frozen=True, slots=True)
class _Level:
    """An open object or array, the number of its complete values, and the key of the one that follows."""

    container: Container
    count: int
    key: str | int | None


@dataclass(frozen=True, slots=True)
class Snapshot:
    """The part of a value that was said at one time. It refers to data that only grows."""

    levels: tuple[_Level, ...]
    #: The pieces of the open text and their number.
    text: tuple[list[str], int] | None = None
    #: The value that contains no open one.
    closed: Any = MISSING

    def build(self) -> Any:
        """Return a copy of the value."""
        value = _copy_json(self.closed) if self.text is None else "".join(islice(self.text[0], self.text[1]))
        for level in reversed(self.levels):
            value = _copy_level(level, value)
        return value


@dataclass(slots=True)
class _Frame:
    """An open object or array: its complete values, and the schemas that it may have."""

    container: Container
    schemas: tuple[Schema, ...]
    key: str | None = None
    #: True while the field that is being said is none of the type.
    is_skipped: bool = False


class _Misfit(Exception):
    """Raised for a value that does not fit the type."""


class AnswerBuilder:
    """Builds the data of an answer from its text. After text that does not fit, it stays as it was.

    Without an output type, the answer is text, or with `is_json` an object or an array.
    """

    def __init__(self, output: OutputType | None, *, is_json: bool = False) -> None:
        self._output = output
        self._schema: Schema = {} if output is None else output.schema
        self._defs: Schema = self._schema.get("$defs", {})
        self._checks = output is not None and not output.has_converters
        self._is_open = output is None or output.is_json_schema
        self._is_json = output is not None or is_json
        self._is_single = output is not None and output.single
        self._frames: list[_Frame] = []
        self._hidden_depth = 0
        self._text: list[str] | None = None
        self._text_schemas: tuple[Schema, ...] = ()
        self._is_text_shown: bool = False
        self._root: Any = MISSING
        #: The start of the text, until it is known whether it is JSON.
        self._start = ""
        self._stream: JsonStream | None = None
        self._is_stopped = self._is_plain = False
        #: True if an object around the value has it as its field `value`; not known before its first field.
        self._is_wrapped = self._is_undecided = False
        #: The items of an answer that is a list.
        self.root_list: list[Any] = []
        self.version: int = 0

    # Reading

    def feed(self, text: str) -> None:
        """Read the next piece of the answer."""
        if self._is_stopped:
            return
        if self._is_plain:
            self.add_text(text)
            return
        if self._stream is None:
            self._start += text
            text = self._begin()
        if self._stream is not None:
            self._read_json(self._stream, text)

    def finish(self) -> None:
        """End the text of the answer."""
        if self._is_plain and not self._is_stopped:
            assert self._text is not None
            self._root, self._text = "".join(self._text), None
        elif self._stream is not None and not self._is_stopped:
            self._read_json(self._stream, None)

    @property
    def is_done(self) -> bool:
        """True if all of the answer was read."""
        return self._root is not MISSING and not self._is_stopped

    def _begin(self) -> str:
        """Decide what the answer is, and return its first piece; stay undecided while the text may be either."""
        start = self._start.lstrip() if self._is_json else self._start
        if not start:
            return ""
        if start[0] in '{["`' and self._is_json and (self._output is not None or start[0] != '"'):
            if start[0] != "`":
                self._stream = JsonStream(self)
                return start
            if fence := _FENCE.match(start):
                self._stream = JsonStream(self)
                return start[fence.end() :]
            self._is_stopped = "\n" in start or len(start) > _MAX_FENCE
            return ""
        if self._output is None or (self._is_single and all(map(_is_plain_text, self._list_value_schemas()))):
            self._is_plain = self._is_text_shown = True
            self._text = []
            self.add_text(self._start)
        elif self._is_single:
            self._stream = JsonStream(self)
            return start
        else:
            self._is_stopped = True
        return ""

    def _read_json(self, stream: JsonStream, text: str | None) -> None:
        try:
            if text is None:
                stream.finish()
            else:
                stream.feed(text)
        except (MalformedJSONError, _Misfit):
            self._is_stopped = True

    # Snapshots

    @property
    def skipped(self) -> int:
        """The number of levels around the value: one if it is the field `value`."""
        return 1 if self._is_wrapped and self._frames else 0

    @property
    def is_visible(self) -> bool:
        """True if something of the value was said."""
        if self._root is not MISSING or self._is_undecided:
            return not self._is_undecided
        shown = self._frames[self.skipped :]
        first = self._frames[0].container if self._is_wrapped and self._frames else None
        return bool(shown) or (self._text is not None and self._is_text_shown) or bool(first)

    def snapshot(self) -> Snapshot:
        """Return what was said so far. Its cost does not depend on the length of the answer."""
        if self._root is not MISSING:
            value = self._root["value"] if self._is_wrapped else self._root
            return Snapshot((), None, value)
        is_text_open = self._text is not None
        last = len(self._frames) - 1
        levels = [
            _Level(each.container, len(each.container), _get_open_key(each, is_text_open or number < last))
            for number, each in enumerate(self._frames)
        ]
        if self._is_wrapped and len(levels) == 1 and isinstance(first := self._frames[0].container, dict) and first:
            # The value is complete, but not the object around it.
            return Snapshot((levels[0],), None, first["value"])
        shown = (self._text, len(self._text)) if self._text is not None and self._is_text_shown else None
        return Snapshot(tuple(levels), shown)

    # Parts of the JSON

    def open_container(self, kind: Literal["{", "["]) -> None:
        """Begin an object or an array."""
        if self._hidden_depth or (self._frames and self._frames[-1].is_skipped):
            self._hidden_depth += 1
            return
        container: Container = {} if kind == "{" else []
        if len(self._frames) >= _MAX_DEPTH:
            raise _Misfit
        found = tuple(each for each in self._list_schemas(kind) if _may_be(each, "object" if kind == "{" else "array"))
        if not found and self._checks:
            raise _Misfit
        if isinstance(container, list) and len(self._frames) == self._is_wrapped:
            self.root_list = container
        self._is_undecided = self._is_single and kind == "{" and not self._frames
        self._frames.append(_Frame(container, found))
        self.version += 1

    def close_container(self) -> None:
        """End the innermost object or array."""
        if self._hidden_depth:
            self._hidden_depth -= 1
            self._end_hidden()
            return
        if self._is_undecided:
            self._decide_wrapping(self._frames[0], "")
        frame = self._frames.pop()
        if self._checks and not any(is_valid_container(frame.container, each) for each in frame.schemas):
            raise _Misfit
        self._add(frame.container)

    def take_key(self, key: str) -> None:
        """Begin a field."""
        if self._hidden_depth:
            return
        frame = self._frames[-1]
        if len(self._frames) == 1 and self._output is not None:
            key = self._output.resolve_field_name(key)
            if self._is_undecided:
                self._decide_wrapping(frame, key)
        if key in frame.container or (self._is_wrapped and len(self._frames) == 1 and key != "value"):
            raise _Misfit
        frame.key = key
        frame.is_skipped = not self._is_known(frame, key)

    def open_text(self) -> None:
        """Begin a text."""
        if self._hidden_depth or (self._frames and self._frames[-1].is_skipped):
            return
        self._text_schemas = self._list_schemas('"')
        self._is_text_shown = all(map(_is_plain_text, self._text_schemas)) and bool(self._text_schemas)
        self._text = []
        self.version += self._is_text_shown

    def add_text(self, piece: str) -> None:
        """Continue a text."""
        if self._text is not None and piece:
            self._text.append(piece)
            self.version += self._is_text_shown

    def close_text(self) -> None:
        """End a text."""
        if self._text is None:
            self._end_hidden()
            return
        value, self._text = "".join(self._text), None
        self._check(value, self._text_schemas)
        self._add(value)

    def take_scalar(self, value: Any, token: str) -> None:
        """Take a number, a boolean or null."""
        if self._hidden_depth or (self._frames and self._frames[-1].is_skipped):
            self._end_hidden()
            return
        self._check(value, self._list_schemas(""))
        if self._output is not None and self._output.find_inexact_numbers(token):
            raise _Misfit
        self._add(value)

    def _check(self, value: Any, schemas: tuple[Schema, ...]) -> None:
        if self._checks and not any(is_valid_value(value, each, self._defs) for each in schemas):
            raise _Misfit

    def _add(self, value: Any) -> None:
        self.version += 1
        if not self._frames:
            self._root = value
            return
        frame = self._frames[-1]
        if isinstance(frame.container, list):
            frame.container.append(value)
            return
        assert frame.key is not None
        frame.container[frame.key], key = value, frame.key
        frame.key = None
        if self._checks and len(frame.schemas) > 1 and not isinstance(value, dict | list):
            frame.schemas = tuple(
                each
                for each in frame.schemas
                if any(is_valid_value(value, inner, self._defs) for inner in self._list_field_schemas(each, key))
            )

    def _end_hidden(self) -> None:
        if not self._hidden_depth and self._frames:
            self._frames[-1].key, self._frames[-1].is_skipped = None, False

    # Schemas

    def _decide_wrapping(self, frame: _Frame, key: str) -> None:
        """Decide by the first field whether an object is the value or contains it."""
        self._is_wrapped, self._is_undecided = key == "value", False
        frame.schemas = (
            (self._schema,)
            if self._is_wrapped
            else tuple(each for each in self._list_value_schemas() if _may_be(each, "object"))
        )
        if not frame.schemas and self._checks:
            raise _Misfit

    def _list_value_schemas(self) -> tuple[Schema, ...]:
        return tuple(self._list_alternatives(self._schema["properties"]["value"], _MAX_DEPTH))

    def _list_schemas(self, kind: str) -> tuple[Schema, ...]:
        """Return the schemas that the value which begins now may have."""
        if not self._frames:
            if self._output is None or (self._is_single and kind == "{"):
                return ({},)
            return self._list_value_schemas() if self._is_single else (self._schema,)
        frame = self._frames[-1]
        if isinstance(frame.container, dict):
            assert frame.key is not None
            return tuple(each for one in frame.schemas for each in self._list_field_schemas(one, frame.key))
        index = len(frame.container)
        return tuple(each for one in frame.schemas for each in self._list_item_schemas(one, index))

    def _is_known(self, frame: _Frame, key: str) -> bool:
        return any(True for one in frame.schemas for _ in self._list_field_schemas(one, key))

    def _list_field_schemas(self, schema: Schema, key: str) -> Iterator[Schema]:
        if (found := schema.get("properties", {}).get(key)) is not None:
            yield from self._list_alternatives(found, _MAX_DEPTH)
            return
        others = schema.get("additionalProperties", self._is_open or "properties" not in schema)
        if isinstance(others, Mapping):
            yield from self._list_alternatives(cast(Schema, others), _MAX_DEPTH)
        elif others or schema.get("patternProperties"):
            yield {}

    def _list_item_schemas(self, schema: Schema, index: int) -> Iterator[Schema]:
        first = schema.get("prefixItems", [])
        found = first[index] if index < len(first) else schema.get("items", {})
        if isinstance(found, Mapping):
            yield from self._list_alternatives(cast(Schema, found), _MAX_DEPTH)

    def _list_alternatives(self, schema: Schema, depth: int) -> Iterator[Schema]:
        """Yield the schemas without references and unions, one of which a value must fit."""
        if not depth:
            return
        if "$ref" in schema:
            named = self._defs.get(cast(str, schema["$ref"]).rpartition("/")[2], {})
            yield from self._list_alternatives(_merge(schema, named, "$ref"), depth - 1)
        elif word := next((word for word in ("anyOf", "oneOf") if word in schema), ""):
            for each in schema[word]:
                yield from self._list_alternatives(_merge(schema, each, word), depth - 1)
        elif "allOf" in schema:
            merged: Schema = schema
            for each in schema["allOf"]:
                merged = _merge(merged, each, "allOf")
            yield from self._list_alternatives(merged, depth - 1)
        else:
            yield schema


def _get_open_key(frame: _Frame, is_inside: bool) -> str | int | None:
    if isinstance(frame.container, list):
        return len(frame.container) if is_inside else None
    return None if frame.is_skipped else frame.key


def _merge(outer: Schema, inner: Schema, word: str) -> Schema:
    """Return a schema with the keywords of both, without the one that connects them."""
    merged = {**{key: value for key, value in outer.items() if key != word}, **inner}
    if "properties" in outer and "properties" in inner:
        merged["properties"] = {**outer["properties"], **inner["properties"]}
    return merged


def _may_be(schema: Schema, kind: str) -> bool:
    kinds = schema.get("type", kind)
    return kind == kinds or (isinstance(kinds, list) and kind in kinds)


def _is_plain_text(schema: Schema) -> bool:
    """Return whether any text is valid, so that each beginning of a text is one, too."""
    return schema.get("type", "string") == "string" and schema.keys() <= _NEUTRAL_KEYWORDS


def _copy_level(level: _Level, value: Any) -> Container:
    """Return a copy of a container as it was, with the value that was being said."""
    if isinstance(level.container, list):
        copied: list[Any] = [_copy_json(each) for each in islice(level.container, level.count)]
        return copied if value is MISSING else [*copied, value]
    fields = {key: _copy_json(each) for key, each in islice(level.container.items(), level.count)}
    return fields if value is MISSING or level.key is None else {**fields, str(level.key): value}


def _copy_json(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _copy_json(each) for key, each in cast("dict[str, Any]", value).items()}
    return [_copy_json(each) for each in cast("list[Any]", value)] if isinstance(value, list) else value
