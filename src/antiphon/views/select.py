"""Selection of a view for a result: by its kind, preferred view, MIME type or shape, and at last as a tree."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import islice
from math import isfinite
from typing import Any, cast

from antiphon.conversation import Conversation, Image, MediaPart, ToolResult
from antiphon.errors import AntiphonError
from antiphon.results import Result, error
from antiphon.results import image as image_result
from antiphon.results import text as text_result
from antiphon.results.nested import (
    format_path,
    has_only_results,
    iter_nested_results,
    replace_nested_results,
    wrap_nested_results,
)
from antiphon.results.protocols import MCP_KIND
from antiphon.views import diffs as changes
from antiphon.views import images as pictures
from antiphon.views import tables as records
from antiphon.views import texts as writing
from antiphon.views import trees as nodes
from antiphon.views.data_window import (
    DEFAULT_CHARACTERS,
    DEFAULT_ROWS,
    Window,
    count_text_lines,
    iter_lines,
    make_json_cell,
    strip_media_type,
    truncate_text,
)
from antiphon.views.mcp_results import VALUE_KIND, unpack_mcp_result
from antiphon.views.types import Inner, View, ViewBody
from antiphon.views.validated_fields import InvalidField

#: How much of the data is read to describe a result without a summary.
_MAX_JSON_GIST, _MAX_GIST_LINE, _MAX_GIST_SCAN = 200, 400, 4000
_DIFF_MEDIA_TYPES = ("text/x-diff", "text/x-patch")

BodyBuilder = Callable[[Result, Window], ViewBody]


def view(value: object, *, start: int = 0, rows: int = DEFAULT_ROWS, characters: int = DEFAULT_CHARACTERS) -> View:
    """Return the view of a result, of a tool result, or of any other value.

    It holds at most `rows` rows from the row `start` on, each with at most `characters` characters; nested
    results share the rows. If there is `more`, the next part begins at `start + rows`.
    """
    part = Window(start, rows, characters)
    line, result = headline(value), to_result(value)
    if line.is_hidden:
        return line
    body, unfit = build_body(result, part)
    # If there are only nested results, these are the rows; else they appear with the first window.
    found = list(iter_inner_results(result)) if body is None or not start else []
    kept = part.of(found)
    share = part.shared(len(kept)).rows
    seen = tuple(Inner(truncate_text(name), view(each, rows=share, characters=characters)) for name, each in kept)
    return replace(line, body=body, unfit=unfit, inside=seen, more_inside=part.more(len(found)))


def headline(value: object) -> View:
    """Return the collapsed view: everything that fits in one line, and no body."""
    result = to_result(value)
    display = result.display
    gist, more = ("", 0) if display.hidden else _make_gist(result)
    failed = _has_failed(result) or (isinstance(value, ToolResult) and value.is_error)
    return View(
        result.kind,
        truncate_text(result.title or get_changed_path(result), DEFAULT_CHARACTERS),
        truncate_text(result.summary, DEFAULT_CHARACTERS),
        gist,
        more,
        "failed" if failed else "done",
        display.hidden,
        display.collapsed,
        display.max_height,
        display.priority if display.priority is not None and isfinite(display.priority) else None,
    )


def build_body(result: Result, part: Window) -> tuple[ViewBody | None, str]:
    """Return the body of a result without nested results, and why it does not match its kind, if so."""
    unfit, blocks = "", unpack_mcp_result(result)
    if len(blocks) == 1:
        return build_body(blocks[0], part)
    if blocks or has_only_results(result.data):
        return None, unfit
    alone = replace_inner_results(result)
    for is_own, make in _iter_builders(alone):
        try:
            return make(alone, part), unfit
        except InvalidField as problem:
            unfit = str(problem) if is_own else unfit
    return None, unfit


def replace_inner_results(result: Result) -> Result:
    """Return the result with a short text in place of each nested result."""
    return result if result.levels == 1 else replace(result, data=_without_nested_data(result))


def iter_inner_results(result: Result) -> Iterator[tuple[str, Result]]:
    """Yield the nested results with the names of their places; items of a plain list have no name."""
    if len(blocks := unpack_mcp_result(result)) > 1:
        yield from (("", block) for block in blocks)
    for path, each in iter_nested_results(result.data) if result.levels > 1 else ():
        yield format_path(path) if any(isinstance(key, str) for key in path) else "", each


def list_display_results(answer: ToolResult, conversation: Conversation | None = None) -> list[Result]:
    """Return what people see of a tool result: its semantic value, or its text and images as results.

    Text that was truncated for the model is complete here if the conversation stored it.
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
    return found + [_make_media_result(each) for each in answer.parts if isinstance(each, MediaPart)]


def _make_media_result(part: MediaPart) -> Result:
    if isinstance(part, Image):
        return image_result(base64=part.data, url=part.url, mime_type=part.media_type)
    return text_result(f"[{part.description}]")


def to_result(value: object) -> Result:
    """Convert any value to a result."""
    if isinstance(value, Result):
        return value
    if isinstance(value, ToolResult):
        found = list_display_results(value)
        return found[0] if len(found) == 1 else wrap_nested_results(found) or text_result("")
    return wrap_nested_results(value) or Result(VALUE_KIND, value)


# The chain


def _iter_builders(result: Result) -> Iterator[tuple[bool, BodyBuilder]]:
    """Yield builders for a result, the best first, and whether each is that of its kind. The last accepts
    any data.
    """
    if result.kind in BODY_BUILDERS_BY_KIND:
        yield True, BODY_BUILDERS_BY_KIND[result.kind]
    if result.data is None:
        return
    wanted = (
        result.display.preferred_view or "",
        _select_by_mime_type(result.mime_type),
        _select_by_shape(result.data),
        "tree",
    )
    for name in dict.fromkeys(wanted):
        if name in _BUILDERS_BY_VIEW_NAME:
            yield False, _BUILDERS_BY_VIEW_NAME[name]


def _select_by_mime_type(mime_type: str) -> str:
    kind = strip_media_type(mime_type)
    if kind == "text/markdown":
        return "markdown"
    if kind in _DIFF_MEDIA_TYPES:
        return "diff"
    if kind in writing.LANGUAGE_BY_MEDIA_TYPE:
        return "code"
    if kind.startswith("text/"):
        return "text"
    if kind.startswith("image/"):
        return "image"
    return "tree" if kind == "application/json" or kind.endswith("+json") else ""


def _select_by_shape(data: object) -> str:
    return "table" if records.is_tabular(data) else "text" if isinstance(data, str) else "tree"


def _build_structured_body(result: Result, part: Window) -> ViewBody:
    """A tree whose branches open and close, or the JSON itself."""
    return (writing.build_raw_body if result.display.preferred_view == "raw" else nodes.build_tree_body)(result, part)


#: Builders for known kinds. Their docstrings describe the kind's view to users (`page_description`).
BODY_BUILDERS_BY_KIND: dict[str, BodyBuilder] = {
    "text": writing.build_text_body,
    "diff": changes.build_diff_body,
    "file_content": writing.build_file_content_body,
    "file_list": records.build_file_list_body,
    "table": records.build_table_body,
    "image": pictures.build_image_body,
    "structured": _build_structured_body,
    "terminal": writing.build_terminal_body,
    "error": writing.build_error_body,
    "question": writing.build_question_body,
    "git.status": records.build_git_status_body,
}
_BUILDERS_BY_VIEW_NAME: dict[str, BodyBuilder] = {
    "text": writing.build_plain_body,
    "markdown": writing.build_markdown_body,
    "code": writing.build_code_body,
    "diff": changes.build_any_diff_body,
    "table": records.build_any_table_body,
    "tree": nodes.build_tree_body,
    "image": pictures.build_image_body,
    "raw": writing.build_raw_body,
}


# The line


def _without_nested_data(result: Result) -> Any:
    """Return the data with a short text in place of each nested result."""
    return (
        result.data if result.levels == 1 else replace_nested_results(result.data, lambda each: each.placeholder_text)
    )


def _has_failed(result: Result) -> bool:
    given: object = result.data
    data = cast(dict[str, Any], given) if isinstance(given, dict) else {}
    if result.kind == "terminal":
        return data.get("exitCode") not in (None, 0)
    return result.is_error or (result.kind == MCP_KIND and data.get("isError") is True)


def get_changed_path(result: Result) -> str:
    """Return the path of the file that a diff changes; "" if it names none."""
    given: object = result.data
    data = cast(dict[str, Any], given) if result.kind == "diff" and isinstance(given, dict) else {}
    path = data.get("path")
    return path if isinstance(path, str) else ""


def _make_gist(result: Result) -> tuple[str, int]:
    """Return the beginning of a result; for an MCP result that of its first block. A diff has none, only its
    path.
    """
    if result.kind == "diff" and isinstance(result.data, dict):
        return "" if get_changed_path(result) else "a change of a file without a name", 0
    first = next(iter(unpack_mcp_result(result)), result)
    return (first.summary, 0) if first is not result and first.summary else _summarize_data(_without_nested_data(first))


def _summarize_data(data: object) -> tuple[str, int]:
    """Return one line for a result without a summary, and how many lines follow it."""
    if isinstance(data, dict):
        fields = cast(dict[str, Any], data)
        data = next((fields[key] for key in ("message", "question", "content", "text") if key in fields), fields)
    if not isinstance(data, str):
        if data is None:
            return "", 0
        written = make_json_cell(data, _MAX_JSON_GIST)
        return written.text + "…" * written.cut, 0
    looked_at = data[:_MAX_GIST_SCAN].strip()
    first = "".join(islice(iter_lines(looked_at), 1))
    return first[:_MAX_GIST_LINE], count_text_lines(data) - 1 if count_text_lines(looked_at) > 1 else 0
