"""Text in its looks: as it is, as Markdown, as code, and as what commands print, errors say and questions ask."""

from __future__ import annotations

from itertools import islice
from typing import Any, cast

from antiphon.results import Result
from antiphon.results.kinds import language as language_of
from antiphon.views.data import Code, Failure, Markdown, Output, Question, Text
from antiphon.views.fields import content_of, count_of, needed_text, object_of, text_of
from antiphon.views.nodes import COUNTED, any_tree
from antiphon.views.part import Part, backwards, count_lines, json_lines, media_type, piece

#: The languages that MIME types name.
LANGUAGES = {"text/html": "html", "text/css": "css", "text/javascript": "javascript", "text/x-python": "python",
             "application/xml": "xml", "text/xml": "xml", "application/x-sh": "bash", "application/yaml": "yaml",
             "application/toml": "toml", "application/javascript": "javascript", "application/sql": "sql"}  # fmt: skip


def text(result: Result, part: Part) -> Text | Markdown | Code:
    """The text in paragraphs, as Markdown or as code when the hints say so."""
    wanted, kind = result.display.preferred_view, media_type(result.mime_type)
    if wanted == "markdown" or (wanted is None and kind == "text/markdown"):
        return markdown(result, part)
    is_code = wanted is None and (result.display.language or kind in LANGUAGES)
    return code(result, part) if wanted == "code" or is_code else plain(result, part)


def plain(result: Result, part: Part) -> Text:
    """Text as it is."""
    return lines(content_of(result.data), part)


def lines(content: str, part: Part) -> Text:
    """The lines of a text."""
    return Text(part.lines(content), part.start, part.more(count_lines(content)))


def markdown(result: Result, part: Part) -> Markdown:
    """Text as Markdown."""
    content = content_of(result.data)
    return Markdown(part.lines(content), part.start, part.more(count_lines(content)))


def code(result: Result, part: Part) -> Code:
    """Text as code, in the language of the hints or of the MIME type."""
    content = content_of(result.data)
    language = result.display.language or LANGUAGES.get(media_type(result.mime_type), "")
    return Code(part.lines(content), language, start=part.start, more=part.more(count_lines(content)))


def raw(result: Result, part: Part) -> Code:
    """The JSON of the data."""
    lines = islice(json_lines(result.data, part.characters), part.start, None)
    seen = tuple(islice(lines, part.rows))
    more = sum(1 for _ in islice(lines, COUNTED + 1))
    return Code(seen, "json", start=part.start, more=min(more, COUNTED), at_least=more > COUNTED)


def file_content(result: Result, part: Part) -> Code:
    """The file with line numbers and the colours of its language."""
    data = object_of(result.data, "a file")
    content, path = needed_text(data, "content", "a file"), text_of(data, "path")
    first = next((at.line for at in result.locations if at.line is not None and 0 < at.line < 10**9), 1)
    language = result.display.language or language_of(path)
    more = part.more(count_lines(content))
    return Code(part.lines(content), language, piece(path), first + part.start, part.start, more)


def terminal(result: Result, part: Part) -> Output:
    """The command, what it printed, and its exit code."""
    data = object_of(result.data, "what a terminal showed")
    output = needed_text(data, "output", "what a terminal showed")
    left = part.more(count_lines(output))
    # The end says how it went: whoever has no room for all wants to see it.
    tail = [part.piece(line) for line in islice(backwards(output), min(left, part.rows))]
    return Output(
        part.piece(text_of(data, "command")),
        part.lines(output),
        tuple(reversed(tail)),
        part.cell(data.get("exitCode")),
        count_of(data, "dropped"),
        part.start,
        left - len(tail),
    )


def error(result: Result, part: Part) -> Failure:
    """What went wrong, and the details."""
    data = object_of(result.data, "an error")
    message, details = needed_text(data, "message", "an error"), cast(object, data.get("details"))
    said = lines(message, part)
    # Where the message takes all the room, there still are the first of the details.
    rest = part.after(count_lines(message)) or part.shared(part.rows)
    if details is None:
        return Failure(said)
    return Failure(said, lines(details, rest) if isinstance(details, str) else any_tree(details, rest))


def question(result: Result, part: Part) -> Question:
    """The question, its options, and the answer once there is one."""
    data = object_of(result.data, "a question")
    asked, answer = needed_text(data, "question", "a question"), data.get("answer")
    given: object = data.get("options")
    options = cast(list[Any], given) if isinstance(given, list) else []
    rest = part.after(count_lines(asked))
    seen = tuple(part.piece(str(option)) for option in rest.of(options)) if rest else ()
    more = rest.more(len(options)) if rest else len(options)
    return Question(lines(asked, part), seen, more, part.piece(answer) if isinstance(answer, str) else None)
