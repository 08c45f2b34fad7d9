"""The semantic result: what a tool found, of which kind it is, and how it would like to be shown."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any, Literal

from antiphon._json import clean
from antiphon.errors import ContentError
from antiphon.results.nested import inside
from antiphon.results.plain import Whole, kept

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
    """How a result would like to be shown. Hints for people's screens: they never cost a model a token.

    `max_height` is in lines. `priority` orders results, higher first; `field_types` says how to format fields.
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
        object.__setattr__(self, "language", clean(self.language))
        object.__setattr__(self, "field_types", {clean(name): kind for name, kind in self.field_types.items()})

    @property
    def hidden(self) -> bool:
        """Whether the result is not for people's eyes."""
        return self.preferred_view == "hidden"


@dataclass(frozen=True, slots=True)
class Location:
    """A place a result speaks of: a file, and perhaps a line."""

    path: str
    line: int | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "path", clean(self.path))


@dataclass(frozen=True, slots=True)
class Result(Whole):
    """What a tool returns besides plain values: `Result("git.status", data, summary="3 modified")`.

    `data` may be any value; it is kept as plain JSON data, in which results stay results. `summary` is the one line
    every display can show.
    `title` and `locations` are for editors (ACP), `audience` says who it is meant for (MCP).
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
        object.__setattr__(self, "data", kept(self.data))
        object.__setattr__(self, "levels", 1 + max((each.levels for _, each in inside(self.data)), default=0))
        for name in ("summary", "mime_type", "title"):
            object.__setattr__(self, name, clean(getattr(self, name)))
        for who in self.audience:
            if who not in AUDIENCES:
                raise ContentError(f"an audience is 'user' or 'assistant', not {who!r}")

    @property
    def is_error(self) -> bool:
        """Whether this result says that something failed."""
        return self.kind == "error"

    @property
    def brief(self) -> str:
        """What stands for the result where there is no room for it."""
        return f"[{self.kind}: {self.summary}]" if self.summary else f"[{self.kind}]"

    def to_json(self) -> dict[str, Any]:
        """The result in our one documented schema."""
        from antiphon.results.storage import to_json

        return to_json(self)

    @classmethod
    def from_json(cls, data: object) -> Result:
        """A result from JSON: our own schema, its spelling with underscores, or the flat shapes of old."""
        from antiphon.results.storage import from_json

        return from_json(data)
