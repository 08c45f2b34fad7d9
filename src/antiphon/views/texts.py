"""Text views: plain text, Markdown, code, command output, errors and questions."""

from __future__ import annotations

from itertools import islice
from typing import Any, cast

from antiphon.results import Result
from antiphon.results.factories import guess_language as language_of
from antiphon.views.data_window import (
    Window,
    count_text_lines,
    iter_json_lines,
    iter_lines_reversed,
    strip_media_type,
    truncate_text,
)
from antiphon.views.trees import MAX_COUNTED_ROWS, build_value_tree
from antiphon.views.types import Code, Failure, Markdown, Output, Question, Text
from antiphon.views.validated_fields import find_text, read_count, require_content, require_object_data, require_text

#: Languages by MIME type.
LANGUAGE_BY_MEDIA_TYPE = {
    "text/html": "html",
    "text/css": "css",
    "text/javascript": "javascript",
    "text/x-python": "python",
    "application/xml": "xml",
    "text/xml": "xml",
    "application/x-sh": "bash",
    "application/yaml": "yaml",
    "application/toml": "toml",
    "application/javascript": "javascript",
    "application/sql": "sql",
}


def build_text_body(result: Result, part: Window) -> Text | Markdown | Code:
    """The text in paragraphs, as Markdown or as code when the hints say so."""
    wanted, kind = result.display.preferred_view, strip_media_type(result.mime_type)
    if wanted == "markdown" or (wanted is None and kind == "text/markdown"):
        return build_markdown_body(result, part)
    is_code = wanted is None and (result.display.language or kind in LANGUAGE_BY_MEDIA_TYPE)
    return build_code_body(result, part) if wanted == "code" or is_code else build_plain_body(result, part)


def build_plain_body(result: Result, part: Window) -> Text:
    """Build a view of text as it is."""
    return build_lines(require_content(result.data), part)


def build_lines(content: str, part: Window) -> Text:
    """Return the visible lines of a text."""
    return Text(part.lines(content), part.start, part.more(count_text_lines(content)))


def build_markdown_body(result: Result, part: Window) -> Markdown:
    """Build a view of text as Markdown."""
    content = require_content(result.data)
    return Markdown(part.lines(content), part.start, part.more(count_text_lines(content)))


def build_code_body(result: Result, part: Window) -> Code:
    """Build a view of text as code, in the language of the hints or of the MIME type."""
    content = require_content(result.data)
    language = result.display.language or LANGUAGE_BY_MEDIA_TYPE.get(strip_media_type(result.mime_type), "")
    return Code(part.lines(content), language, start=part.start, more=part.more(count_text_lines(content)))


def build_raw_body(result: Result, part: Window) -> Code:
    """Build a view of the data as JSON."""
    lines = islice(iter_json_lines(result.data, part.characters), part.start, None)
    seen = tuple(islice(lines, part.rows))
    more = sum(1 for _ in islice(lines, MAX_COUNTED_ROWS + 1))
    return Code(seen, "json", start=part.start, more=min(more, MAX_COUNTED_ROWS), at_least=more > MAX_COUNTED_ROWS)


def build_file_content_body(result: Result, part: Window) -> Code:
    """The file with line numbers and the colours of its language."""
    data = require_object_data(result.data, "a file")
    content, path = require_text(data, "content", "a file"), find_text(data, "path")
    first = next((at.line for at in result.locations if at.line is not None and 0 < at.line < 10**9), 1)
    language = result.display.language or language_of(path)
    more = part.more(count_text_lines(content))
    return Code(part.lines(content), language, truncate_text(path), first + part.start, part.start, more)


def build_terminal_body(result: Result, part: Window) -> Output:
    """The command, what it printed, and its exit code."""
    data = require_object_data(result.data, "what a terminal showed")
    output = require_text(data, "output", "what a terminal showed")
    left = part.more(count_text_lines(output))
    # The end shows how the command ended, so it is included even if the middle is not.
    tail = [part.piece(line) for line in islice(iter_lines_reversed(output), min(left, part.rows))]
    return Output(
        part.piece(find_text(data, "command")),
        part.lines(output),
        tuple(reversed(tail)),
        part.cell(data.get("exitCode")),
        read_count(data, "dropped"),
        part.start,
        left - len(tail),
    )


def build_error_body(result: Result, part: Window) -> Failure:
    """What went wrong, and the details."""
    data = require_object_data(result.data, "an error")
    message, details = require_text(data, "message", "an error"), cast(object, data.get("details"))
    said = build_lines(message, part)
    # If the message fills the window, still show the first of the details.
    rest = part.after(count_text_lines(message)) or part.shared(part.rows)
    if details is None:
        return Failure(said)
    return Failure(said, build_lines(details, rest) if isinstance(details, str) else build_value_tree(details, rest))


def build_question_body(result: Result, part: Window) -> Question:
    """The question, its options, and the answer once there is one."""
    data = require_object_data(result.data, "a question")
    asked, answer = require_text(data, "question", "a question"), data.get("answer")
    given: object = data.get("options")
    options = cast(list[Any], given) if isinstance(given, list) else []
    rest = part.after(count_text_lines(asked))
    seen = tuple(part.piece(str(option)) for option in rest.of(options)) if rest else ()
    more = rest.more(len(options)) if rest else len(options)
    return Question(build_lines(asked, part), seen, more, part.piece(answer) if isinstance(answer, str) else None)
