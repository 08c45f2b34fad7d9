"""History files: detect their format, read them into a conversation, validate, repair and write them.

This package knows the formats of the APIs, of frameworks and of programs, and applies the
rules. It does no network or terminal I/O: it takes bytes and returns values, issues and bytes.
"""

from __future__ import annotations

from antiphon._base.lazy_exports import publish_exports
from antiphon.formats.history import (
    READ_ONLY_FORMATS,
    READABLE_FORMATS,
    WRITABLE_FORMATS,
    History,
    Written,
    load,
    parse_histories,
    validate_histories,
    write,
)
from antiphon.formats.issue import Finding
from antiphon.formats.validate import ValidationResult

__all__ = [
    "READABLE_FORMATS",
    "READ_ONLY_FORMATS",
    "WRITABLE_FORMATS",
    "Finding",
    "History",
    "ValidationResult",
    "Written",
    "load",
    "parse_histories",
    "validate_histories",
    "write",
]

publish_exports(globals())
