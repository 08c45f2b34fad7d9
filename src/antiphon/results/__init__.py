"""Semantic tool results: kind, data, summary, MIME type and display hints, and their text for models.

This package depends on neither models nor terminals. A `Result` is recognized by its type; JSON from
outside is read by `Result.from_json`.
"""

from antiphon._base.lazy_exports import publish_exports
from antiphon.results import protocols as mapping
from antiphon.results.factories import (
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
from antiphon.results.model_text import to_model_text
from antiphon.results.nested import data_of
from antiphon.results.plain_json import to_plain_json
from antiphon.results.result import Display, Location, Result
from antiphon.results.serialization import SCHEMA

__all__ = [
    "SCHEMA",
    "Display",
    "Location",
    "Result",
    "data_of",
    "diff",
    "error",
    "file_content",
    "file_list",
    "image",
    "mapping",
    "question",
    "structured",
    "table",
    "terminal",
    "text",
    "to_model_text",
    "to_plain_json",
]

publish_exports(globals())
