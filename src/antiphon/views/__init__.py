"""Views: results and runs as display data, the same for a terminal, a page and an editor.

`view(result)` is plain, frozen and bounded data with a JSON form; `RunViews` folds the events of a run into
its state. This package knows every package up to the session, and nothing about rendering: no widths, no
colours, no clock.
"""

from typing import TYPE_CHECKING

from antiphon._base.lazy_exports import make_lazy_getattr

if TYPE_CHECKING:
    from antiphon.views.codec import view_from_json, view_json, view_schema
    from antiphon.views.run_state import RunningCall, RunView, RunViews
    from antiphon.views.select import headline, list_display_results, view
    from antiphon.views.stream import event_json, event_line, final_json, record_json
    from antiphon.views.types import (
        Branch,
        CellValue,
        Changed,
        Code,
        Column,
        Cut,
        Diff,
        Entry,
        Failure,
        Files,
        Hunk,
        Image,
        Inner,
        Json,
        Leaf,
        Line,
        Markdown,
        MaybeTruncated,
        Output,
        Question,
        ScalarValue,
        Status,
        Table,
        Text,
        Tree,
        TreeNode,
        View,
        ViewBody,
    )
    from antiphon.views.validated_fields import InvalidField

__all__ = [
    "Branch",
    "CellValue",
    "Changed",
    "Code",
    "Column",
    "Cut",
    "Diff",
    "Entry",
    "Failure",
    "Files",
    "Hunk",
    "Image",
    "Inner",
    "InvalidField",
    "Json",
    "Leaf",
    "Line",
    "Markdown",
    "MaybeTruncated",
    "Output",
    "Question",
    "RunView",
    "RunViews",
    "RunningCall",
    "ScalarValue",
    "Status",
    "Table",
    "Text",
    "Tree",
    "TreeNode",
    "View",
    "ViewBody",
    "event_json",
    "event_line",
    "final_json",
    "headline",
    "list_display_results",
    "record_json",
    "view",
    "view_from_json",
    "view_json",
    "view_schema",
]

_MODULE_BY_NAME = dict.fromkeys(__all__, "types") | {
    "InvalidField": "validated_fields",
    "RunView": "run_state",
    "RunViews": "run_state",
    "RunningCall": "run_state",
    "event_json": "stream",
    "event_line": "stream",
    "final_json": "stream",
    "headline": "select",
    "list_display_results": "select",
    "record_json": "stream",
    "view": "select",
    "view_from_json": "codec",
    "view_json": "codec",
    "view_schema": "codec",
}

__getattr__ = make_lazy_getattr(__name__, _MODULE_BY_NAME)
