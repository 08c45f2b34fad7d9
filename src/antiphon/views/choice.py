"""How a result is seen: by its kind, else its preferred view, its MIME type, its shape, and at last as a tree."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import islice
from math import isfinite
from typing import Any, cast

from antiphon.conversation import Conversation, Image, ToolResult
from antiphon.errors import AntiphonError
from antiphon.results import Result, error
from antiphon.results import image as image_result
from antiphon.results import text as text_result
from antiphon.results.mapping import MCP
from antiphon.results.nested import gathered, inside, is_all_results, label, replaced
from antiphon.views import changes, nodes, pictures, records, writing
from antiphon.views.data import Body, Inner, View
from antiphon.views.fields import Unfit
from antiphon.views.foreign import VALUE, unpacked
from antiphon.views.part import CHARACTERS, ROWS, Part, count_lines, forwards, json_cell, media_type, piece

#: How much of the data is looked at to say what a result without a summary is about.
_GIST, _LINE, _LOOKED_AT = 200, 400, 4000
_DIFFS = ("text/x-diff", "text/x-patch")

Maker = Callable[[Result, Part], Body]


def view(value: object, *, start: int = 0, rows: int = ROWS, characters: int = CHARACTERS) -> View:
    """What is to be seen of a result, of the result of a call, or of any other value.

    At most so many `rows` are in it, from the row `start` on, with so many `characters` in each; results inside share
    the rows. Where there is `more`, the next part begins at `start + rows`.
    """
    part = Part(start, rows, characters)
    line, result = headline(value), result_of(value)
    if line.is_hidden:
        return line
    body, unfit = body_of(result, part)
    # Where there is nothing but results, these are the rows; else they are seen beside the first part.
    found = list(labelled(result)) if body is None or not start else []
    kept = part.of(found)
    share = part.shared(len(kept)).rows
    seen = tuple(Inner(piece(name), view(each, rows=share, characters=characters)) for name, each in kept)
    return replace(line, body=body, unfit=unfit, inside=seen, more_inside=part.more(len(found)))


def headline(value: object) -> View:
    """The view of what is folded away: all that is said of it in a line, and no body."""
    result = result_of(value)
    display = result.display
    gist, more = ("", 0) if display.hidden else _said_first(result)
    failed = _has_failed(result) or (isinstance(value, ToolResult) and value.is_error)
    return View(
        result.kind,
        piece(result.title or changed_file(result), CHARACTERS),
        piece(result.summary, CHARACTERS),
        gist,
        more,
        "failed" if failed else "done",
        display.hidden,
        display.collapsed,
        display.max_height,
        display.priority if display.priority is not None and isfinite(display.priority) else None,
    )


def body_of(result: Result, part: Part) -> tuple[Body | None, str]:
    """What is seen when a result is opened, without those inside it; and why not what its kind promises."""
    unfit, blocks = "", unpacked(result)
    if len(blocks) == 1:
        return body_of(blocks[0], part)
    if blocks or is_all_results(result.data):
        return None, unfit
    alone = without_inner(result)
    for is_own, make in _ways(alone):
        try:
            return make(alone, part), unfit
        except Unfit as problem:
            unfit = str(problem) if is_own else unfit
    return None, unfit


def without_inner(result: Result) -> Result:
    """The result with a word for each of those inside it."""
    return result if result.levels == 1 else replace(result, data=_own_data(result))


def labelled(result: Result) -> Iterator[tuple[str, Result]]:
    """The results inside a result, with the names of their places; the places of a plain list have none."""
    if len(blocks := unpacked(result)) > 1:
        yield from (("", block) for block in blocks)
    for path, each in inside(result.data) if result.levels > 1 else ():
        yield label(path) if any(isinstance(key, str) for key in path) else "", each


def results_of(answer: ToolResult, conversation: Conversation | None = None) -> list[Result]:
    """What people see of the result of a call: what the tool returned, or its text and images as results.

    Text that was cut for the model is whole here where the conversation kept it.
    """
    if answer.semantic is not None:
        return [answer.semantic]
    said = answer.text
    if answer.handle and conversation is not None:
        try:
            said = conversation.whole(answer.handle)
        except AntiphonError:
            said = answer.text
    found = [error(said)] if answer.is_error else [text_result(said)] if said else []
    images = [each for each in answer.parts if isinstance(each, Image)]
    return found + [image_result(base64=each.data, url=each.url, mime_type=each.media_type) for each in images]


def result_of(value: object) -> Result:
    """A value as the result that it would be."""
    if isinstance(value, Result):
        return value
    if isinstance(value, ToolResult):
        found = results_of(value)
        return found[0] if len(found) == 1 else gathered(found) or text_result("")
    return gathered(value) or Result(VALUE, value)


# The chain


def _ways(result: Result) -> Iterator[tuple[bool, Maker]]:
    """Ways to see a result, the best first, and whether it is that of its kind. The last one takes any data."""
    if result.kind in KINDS:
        yield True, KINDS[result.kind]
    if result.data is None:
        return
    wanted = (result.display.preferred_view or "", _by_mime_type(result.mime_type), _by_shape(result.data), "tree")
    for name in dict.fromkeys(wanted):
        if name in _VIEWS:
            yield False, _VIEWS[name]


def _by_mime_type(mime_type: str) -> str:
    kind = media_type(mime_type)
    if kind == "text/markdown":
        return "markdown"
    if kind in _DIFFS:
        return "diff"
    if kind in writing.LANGUAGES:
        return "code"
    if kind.startswith("text/"):
        return "text"
    if kind.startswith("image/"):
        return "image"
    return "tree" if kind == "application/json" or kind.endswith("+json") else ""


def _by_shape(data: object) -> str:
    return "table" if records.is_tabular(data) else "text" if isinstance(data, str) else "tree"


def _structured(result: Result, part: Part) -> Body:
    """A tree whose branches open and close, or the JSON itself."""
    return (writing.raw if result.display.preferred_view == "raw" else nodes.tree)(result, part)


#: The kinds that have a look of their own. What a function says of itself is what is seen, in words.
KINDS: dict[str, Maker] = {
    "text": writing.text,
    "diff": changes.diff,
    "file_content": writing.file_content,
    "file_list": records.file_list,
    "table": records.table,
    "image": pictures.image,
    "structured": _structured,
    "terminal": writing.terminal,
    "error": writing.error,
    "question": writing.question,
    "git.status": records.git_status,
}
_VIEWS: dict[str, Maker] = {
    "text": writing.plain,
    "markdown": writing.markdown,
    "code": writing.code,
    "diff": changes.any_diff,
    "table": records.any_table,
    "tree": nodes.tree,
    "image": pictures.image,
    "raw": writing.raw,
}


# The line


def _own_data(result: Result) -> Any:
    """The data with a word for each of the results inside."""
    return result.data if result.levels == 1 else replaced(result.data, lambda each: each.brief)


def _has_failed(result: Result) -> bool:
    given: object = result.data
    data = cast(dict[str, Any], given) if isinstance(given, dict) else {}
    if result.kind == "terminal":
        return data.get("exitCode") not in (None, 0)
    return result.is_error or (result.kind == MCP and data.get("isError") is True)


def changed_file(result: Result) -> str:
    """Return the path of the file that a diff changes; "" where it names none."""
    given: object = result.data
    data = cast(dict[str, Any], given) if result.kind == "diff" and isinstance(given, dict) else {}
    path = data.get("path")
    return path if isinstance(path, str) else ""


def _said_first(result: Result) -> tuple[str, int]:
    """How a result begins; one of an MCP server with its first block. A diff is named, and its data is not text."""
    if result.kind == "diff" and isinstance(result.data, dict):
        return "" if changed_file(result) else "a change of a file without a name", 0
    first = next(iter(unpacked(result)), result)
    return (first.summary, 0) if first is not result and first.summary else _gist(_own_data(first))


def _gist(data: object) -> tuple[str, int]:
    """What can be said in a line of a result that has no summary, and how many lines follow it."""
    if isinstance(data, dict):
        fields = cast(dict[str, Any], data)
        data = next((fields[key] for key in ("message", "question", "content", "text") if key in fields), fields)
    if not isinstance(data, str):
        if data is None:
            return "", 0
        written = json_cell(data, _GIST)
        return written.text + "…" * written.cut, 0
    looked_at = data[:_LOOKED_AT].strip()
    first = "".join(islice(forwards(looked_at), 1))
    return first[:_LINE], count_lines(data) - 1 if count_lines(looked_at) > 1 else 0
