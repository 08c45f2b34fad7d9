"""Semantic results: kind, data, summary, MIME type and display hints; what models read of them.

The innermost room: it knows neither models nor terminals. `Result` is recognised by its type; JSON from outside comes
in through `Result.from_json`.
"""

from antiphon._public import publish
from antiphon.results import mapping
from antiphon.results.face import face
from antiphon.results.kinds import (
    diff,
    error,
    file_content,
    file_list,
    image,
    question,
    structured,
    table,
    terminal,
    text,
)
from antiphon.results.nested import data_of
from antiphon.results.plain import plain
from antiphon.results.result import Display, Location, Result
from antiphon.results.storage import SCHEMA

__all__ = [
    "SCHEMA",
    "Display",
    "Location",
    "Result",
    "data_of",
    "diff",
    "error",
    "face",
    "file_content",
    "file_list",
    "image",
    "mapping",
    "plain",
    "question",
    "structured",
    "table",
    "terminal",
    "text",
]

publish(globals())
