"""Results and runs as data that says what is to be seen: what a terminal, a page and an editor draw is the same.

`view(result)` is plain, frozen and bounded data with a JSON form; `RunViews` takes the events of a run and is its
state. This room knows every room up to the session, and
nothing of who draws: no widths, no colours, no clock.
"""

from typing import TYPE_CHECKING

from antiphon._public import lazy

if TYPE_CHECKING:
    from antiphon.views.choice import (
        headline,
        results_of,
        view,
    )
    from antiphon.views.codec import (
        view_from_json,
        view_json,
        view_schema,
    )
    from antiphon.views.data import (
        Body,
        Branch,
        Cell,
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
        Node,
        Output,
        Piece,
        Question,
        Scalar,
        Status,
        Table,
        Text,
        Tree,
        View,
    )
    from antiphon.views.fields import (
        Unfit,
    )
    from antiphon.views.run import (
        RunningCall,
        RunView,
        RunViews,
    )
    from antiphon.views.stream import (
        event_json,
        event_line,
        final_json,
        record_json,
    )

_HOMES = {
    "Body": "data",
    "Branch": "data",
    "Cell": "data",
    "Changed": "data",
    "Code": "data",
    "Column": "data",
    "Cut": "data",
    "Diff": "data",
    "Entry": "data",
    "Failure": "data",
    "Files": "data",
    "Hunk": "data",
    "Image": "data",
    "Inner": "data",
    "Json": "data",
    "Leaf": "data",
    "Line": "data",
    "Markdown": "data",
    "Node": "data",
    "Output": "data",
    "Piece": "data",
    "Question": "data",
    "RunView": "run",
    "RunViews": "run",
    "RunningCall": "run",
    "Scalar": "data",
    "Status": "data",
    "Table": "data",
    "Text": "data",
    "Tree": "data",
    "Unfit": "fields",
    "View": "data",
    "event_json": "stream",
    "event_line": "stream",
    "final_json": "stream",
    "headline": "choice",
    "record_json": "stream",
    "results_of": "choice",
    "view": "choice",
    "view_from_json": "codec",
    "view_json": "codec",
    "view_schema": "codec",
}

__all__ = [
    "Body",
    "Branch",
    "Cell",
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
    "Json",
    "Leaf",
    "Line",
    "Markdown",
    "Node",
    "Output",
    "Piece",
    "Question",
    "RunView",
    "RunViews",
    "RunningCall",
    "Scalar",
    "Status",
    "Table",
    "Text",
    "Tree",
    "Unfit",
    "View",
    "event_json",
    "event_line",
    "final_json",
    "headline",
    "record_json",
    "results_of",
    "view",
    "view_from_json",
    "view_json",
    "view_schema",
]

__getattr__ = lazy(__name__, _HOMES)
