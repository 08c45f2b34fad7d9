"""The classes of views: a `View` with a headline for a result, and a body of one of the types.

Every class has a JSON form (`codec`). Text is unescaped: the renderer sanitizes it. Sizes are bounded: if
something is left out, `more` says how much, and `start` how much precedes it.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

ViewState = Literal["done", "failed"]
ColumnAlign = Literal["left", "center", "right"]
LineMark = Literal["+", "-", " ", ""]
DiffChange = Literal["changed", "new", "unchanged", "line_ends"]
FileType = Literal["file", "directory", "symlink", ""]
FileState = Literal["staged", "modified", "conflicted", "untracked"]


@dataclass(frozen=True, slots=True)
class Cut:
    """A truncated text; `more` characters follow."""

    type: Literal["cut"] = field(default="cut", init=False, repr=False)
    text: str
    more: int


@dataclass(frozen=True, slots=True)
class Json:
    """A list or an object as one line of JSON; with `cut`, only the beginning of it."""

    type: Literal["json"] = field(default="json", init=False, repr=False)
    text: str
    cut: bool = False


#: Text of one line, complete or truncated.
MaybeTruncated = str | Cut
#: A plain value; a text may be truncated.
ScalarValue = None | bool | int | float | str | Cut
#: A cell of a table.
CellValue = ScalarValue | Json


@dataclass(frozen=True, slots=True)
class Text:
    """Lines of text, to be wrapped between words."""

    type: Literal["text"] = field(default="text", init=False, repr=False)
    lines: tuple[MaybeTruncated, ...]
    start: int = 0
    more: int = 0


@dataclass(frozen=True, slots=True)
class Markdown:
    """Lines of Markdown."""

    type: Literal["markdown"] = field(default="markdown", init=False, repr=False)
    lines: tuple[MaybeTruncated, ...]
    start: int = 0
    more: int = 0


@dataclass(frozen=True, slots=True)
class Code:
    """Lines of code. `first` is the number of the first line if line numbers are to be shown.

    With `at_least`, the omitted lines were not all counted.
    """

    type: Literal["code"] = field(default="code", init=False, repr=False)
    lines: tuple[MaybeTruncated, ...]
    language: str = ""
    path: MaybeTruncated = ""
    first: int | None = None
    start: int = 0
    more: int = 0
    at_least: bool = False


@dataclass(frozen=True, slots=True)
class Line:
    """A line of a diff with its numbers in the old and the new file. Without a mark it is a header of other
    lines.
    """

    mark: LineMark
    text: MaybeTruncated
    old: int | None = None
    new: int | None = None


@dataclass(frozen=True, slots=True)
class Hunk:
    """Adjacent lines of a diff."""

    heading: MaybeTruncated
    lines: tuple[Line, ...]


@dataclass(frozen=True, slots=True)
class Diff:
    """The changes of a file. A row is a heading, or a line next to its replacement.

    `more` counts lines, `more_rows` rows; if the lines cannot be shown side by side, `is_paired` is false.
    For a diff in text form, the total numbers of added and removed lines are unknown.
    """

    type: Literal["diff"] = field(default="diff", init=False, repr=False)
    hunks: tuple[Hunk, ...]
    path: MaybeTruncated = ""
    change: DiffChange = "changed"
    added: int | None = None
    removed: int | None = None
    is_paired: bool = False
    is_complete: bool = True
    start: int = 0
    more: int = 0
    more_rows: int = 0


@dataclass(frozen=True, slots=True)
class Column:
    """A column of a table. `type` is a field type, if given; `is_numeric` says that its values are numbers."""

    key: MaybeTruncated
    label: MaybeTruncated
    type: str = ""
    align: ColumnAlign = "left"
    is_numeric: bool = False


@dataclass(frozen=True, slots=True)
class Table:
    """Rows of cells, in the order of the columns."""

    type: Literal["table"] = field(default="table", init=False, repr=False)
    columns: tuple[Column, ...]
    rows: tuple[tuple[CellValue, ...], ...]
    more_columns: int = 0
    start: int = 0
    more: int = 0


@dataclass(frozen=True, slots=True)
class Leaf:
    """A plain value in a tree, by key or index; `format` is a field type, if given."""

    type: Literal["leaf"] = field(default="leaf", init=False, repr=False)
    key: MaybeTruncated | int | None
    value: ScalarValue
    format: str = ""


@dataclass(frozen=True, slots=True)
class Branch:
    """A list or an object in a tree; `more` of its direct children are left out."""

    type: Literal["branch"] = field(default="branch", init=False, repr=False)
    key: MaybeTruncated | int | None
    shape: Literal["object", "list"]
    nodes: tuple[TreeNode, ...] = ()
    more: int = 0


TreeNode = Leaf | Branch


@dataclass(frozen=True, slots=True)
class Tree:
    """Data of any shape, the first nodes in reading order. `start` counts direct children of the root.

    `more` rows are left out on all levels together; with `at_least`, they were not all counted.
    """

    type: Literal["tree"] = field(default="tree", init=False, repr=False)
    root: TreeNode
    start: int = 0
    more: int = 0
    at_least: bool = False


@dataclass(frozen=True, slots=True)
class Image:
    """An image by its base64 data or its URL; one that is too large has neither, but its size in bytes."""

    type: Literal["image"] = field(default="image", init=False, repr=False)
    media_type: MaybeTruncated
    data: str = ""
    url: MaybeTruncated = ""
    alt: MaybeTruncated = ""
    size: int | None = None
    width: int | None = None
    height: int | None = None


@dataclass(frozen=True, slots=True)
class Entry:
    """A file by its name in its directory."""

    name: MaybeTruncated
    type: FileType = ""
    size: int | float | None = None
    modified: CellValue = None


@dataclass(frozen=True, slots=True)
class Files:
    """The entries of a directory, directories first."""

    type: Literal["files"] = field(default="files", init=False, repr=False)
    path: MaybeTruncated
    entries: tuple[Entry, ...]
    is_complete: bool = True
    start: int = 0
    more: int = 0


@dataclass(frozen=True, slots=True)
class Changed:
    """A file in a git status."""

    state: FileState
    path: MaybeTruncated


@dataclass(frozen=True, slots=True)
class Status:
    """The status of a git working tree: its branch, the distance from its upstream, and the changed files."""

    type: Literal["status"] = field(default="status", init=False, repr=False)
    branch: MaybeTruncated
    ahead: int = 0
    behind: int = 0
    files: tuple[Changed, ...] = ()
    is_complete: bool = True
    start: int = 0
    more: int = 0


@dataclass(frozen=True, slots=True)
class Output:
    """The output of a command: its first and last lines, `more` between them; `dropped` characters were not
    stored.
    """

    type: Literal["output"] = field(default="output", init=False, repr=False)
    command: MaybeTruncated
    lines: tuple[MaybeTruncated, ...]
    tail: tuple[MaybeTruncated, ...] = ()
    exit_code: CellValue = None
    dropped: int = 0
    start: int = 0
    more: int = 0


@dataclass(frozen=True, slots=True)
class Failure:
    """An error message with details."""

    type: Literal["failure"] = field(default="failure", init=False, repr=False)
    message: Text
    details: Text | Tree | None = None


@dataclass(frozen=True, slots=True)
class Question:
    """A question, its options, and the answer if there is one."""

    type: Literal["question"] = field(default="question", init=False, repr=False)
    question: Text
    options: tuple[MaybeTruncated, ...] = ()
    more_options: int = 0
    answer: MaybeTruncated | None = None


ViewBody = Text | Markdown | Code | Diff | Table | Tree | Image | Files | Status | Output | Failure | Question


@dataclass(frozen=True, slots=True)
class Inner:
    """The view of a nested result; `label` names its place, if that has a name."""

    label: MaybeTruncated
    view: View


@dataclass(frozen=True, slots=True)
class View:
    """The view of a result: a headline, and a body when it is expanded.

    `gist` is the beginning of the data, for results without a summary; `gist_lines` lines follow it. `unfit`
    says why the data does not match its kind and has another view. Without a body there is only the headline,
    and nested results.
    """

    kind: str
    title: MaybeTruncated = ""
    summary: MaybeTruncated = ""
    gist: str = ""
    gist_lines: int = 0
    state: ViewState = "done"
    is_hidden: bool = False
    collapsed: bool | None = None
    max_height: int | None = None
    priority: float | None = None
    unfit: str = ""
    body: ViewBody | None = None
    inside: tuple[Inner, ...] = ()
    more_inside: int = 0
