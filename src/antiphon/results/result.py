"""The semantic result of a tool: its kind, its data and hints for its display."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any, Literal

from antiphon._base.json import sanitize_unicode
from antiphon.errors import ContentError
from antiphon.results.nested import iter_nested_results
from antiphon.results.plain_json import NestableResult, to_plain_json_with_results

#: Lowercase words, dots between namespaces: `table`, `git.status`, `mycompany.report`.
KIND = re.compile(r"[a-z][a-z0-9_]*(\.[a-z][a-z0-9_]*)*\Z")

View = Literal["text", "markdown", "code", "diff", "table", "tree", "image", "raw", "hidden"]
FieldType = Literal["string", "number", "boolean", "date", "url", "path"]
Audience = Literal["user", "assistant"]

VIEWS: tuple[str, ...] = ("text", "markdown", "code", "diff", "table", "tree", "image", "raw", "hidden")
FIELD_TYPES: tuple[str, ...] = ("string", "number", "boolean", "date", "url", "path")
AUDIENCES: tuple[str, ...] = ("user", "assistant")


@dataclass(frozen=True, slots=True)
class Display:
    """Hints for the display of a result on screens. They never cost a model a token.

    `max_height` is in lines. `priority` orders results, higher first. `field_types` tells how to format
    fields.
    """

    preferred_view: View | None = None
    language: str = ""
    collapsed: bool | None = None
    max_height: int | None = None
    priority: float | None = None
    field_types: dict[str, FieldType] = field(default_factory=dict[str, FieldType])

    def __post_init__(self) -> None:
        if self.preferred_view is not None and self.preferred_view not in VIEWS:
            raise ContentError(f"`preferred_view` is one of {', '.join(VIEWS)}, not {self.preferred_view!r}")
        if self.max_height is not None and (not isinstance(self.max_height, int) or self.max_height < 1):
            raise ContentError(f"`max_height` is a number of lines, not {self.max_height!r}")
        for name, kind in self.field_types.items():
            if kind not in FIELD_TYPES:
                raise ContentError(f"the type of field {name!r} is one of {', '.join(FIELD_TYPES)}, not {kind!r}")
        object.__setattr__(self, "language", sanitize_unicode(self.language))
        object.__setattr__(
            self, "field_types", {sanitize_unicode(name): kind for name, kind in self.field_types.items()}
        )

    @property
    def hidden(self) -> bool:
        """True if the result must not be shown to people."""
        return self.preferred_view == "hidden"


@dataclass(frozen=True, slots=True)
class Location:
    """A position that a result refers to: a file, and optionally a line."""

    path: str
    line: int | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "path", sanitize_unicode(self.path))


@dataclass(frozen=True, slots=True)
class Result(NestableResult):
    """A tool result with meaning: `Result("git.status", data, summary="3 modified")`.

    `data` may be any value. It is stored as plain JSON data, in which nested results stay results. `summary`
    is the one line that every display can show. `title` and `locations` are for editors (ACP), `audience`
    names the intended readers (MCP).
    """

    kind: str
    data: Any = None
    summary: str = ""
    mime_type: str = ""
    display: Display = field(default_factory=Display)
    title: str = ""
    locations: tuple[Location, ...] = ()
    audience: tuple[Audience, ...] = ()
    levels: int = field(default=1, init=False, compare=False, repr=False)

    def __post_init__(self) -> None:
        if not isinstance(self.kind, str) or not KIND.match(self.kind):
            raise ContentError(
                f"a kind is lowercase words with dots between namespaces, such as 'git.status', not {self.kind!r}"
            )
        object.__setattr__(self, "data", to_plain_json_with_results(self.data))
        object.__setattr__(
            self, "levels", 1 + max((each.levels for _, each in iter_nested_results(self.data)), default=0)
        )
        for name in ("summary", "mime_type", "title"):
            object.__setattr__(self, name, sanitize_unicode(getattr(self, name)))
        for who in self.audience:
            if who not in AUDIENCES:
                raise ContentError(f"an audience is 'user' or 'assistant', not {who!r}")

    @property
    def is_error(self) -> bool:
        """True if this result reports a failure."""
        return self.kind == "error"

    @property
    def placeholder_text(self) -> str:
        """A short text that replaces the result if there is no space for it."""
        return f"[{self.kind}: {self.summary}]" if self.summary else f"[{self.kind}]"

    def to_json(self) -> dict[str, Any]:
        """Return the result in the documented JSON schema."""
        from antiphon.results.serialization import semantic_result_to_json

        return semantic_result_to_json(self)

    @classmethod
    def from_json(cls, data: object) -> Result:
        """Read a result from JSON: the documented schema, its snake_case spelling, or the older flat shapes."""
        from antiphon.results.serialization import semantic_result_from_json

        return semantic_result_from_json(data)
