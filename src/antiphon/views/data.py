"""What is to be seen, as plain values: a `View` with the line that stands for a result, and a body of one of the types.

Everything has a JSON form (`codec`). Text is as it came: whoever draws it makes it harmless. Sizes are bounded: where
something is left out, `more` says how much, and `start` how much was passed over before.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

State = Literal["done", "failed"]
Align = Literal["left", "center", "right"]
Mark = Literal["+", "-", " ", ""]
Change = Literal["changed", "new", "unchanged", "line_ends"]
FileType = Literal["file", "directory", "symlink", ""]
FileState = Literal["staged", "modified", "conflicted", "untracked"]


@dataclass(frozen=True, slots=True)
class Cut:
    """The beginning of a text; `more` characters follow."""

    type: Literal["cut"] = field(default="cut", init=False, repr=False)
    text: str
    more: int


@dataclass(frozen=True, slots=True)
class Json:
    """A list or an object where there is room for a line only: its JSON, or with `cut` the beginning of it."""

    type: Literal["json"] = field(default="json", init=False, repr=False)
    text: str
    cut: bool = False


#: Text of one line, whole or cut.
Piece = str | Cut
#: A plain value; a text may be cut.
Scalar = None | bool | int | float | str | Cut
#: What stands in a table.
Cell = Scalar | Json


@dataclass(frozen=True, slots=True)
class Text:
    """Lines of text, to be broken between words."""

    type: Literal["text"] = field(default="text", init=False, repr=False)
    lines: tuple[Piece, ...]
    start: int = 0
    more: int = 0


@dataclass(frozen=True, slots=True)
class Markdown:
    """Lines of Markdown."""

    type: Literal["markdown"] = field(default="markdown", init=False, repr=False)
    lines: tuple[Piece, ...]
    start: int = 0
    more: int = 0


@dataclass(frozen=True, slots=True)
class Code:
    """Lines of code. `first` is the number of the first line where numbers are to be seen.

    With `at_least`, what is left out was not counted to its end.
    """

    type: Literal["code"] = field(default="code", init=False, repr=False)
    lines: tuple[Piece, ...]
    language: str = ""
    path: Piece = ""
    first: int | None = None
    start: int = 0
    more: int = 0
    at_least: bool = False


@dataclass(frozen=True, slots=True)
class Line:
    """A line of a diff with its numbers in the old and the new file. Without a mark it is about the lines around it."""

    mark: Mark
    text: Piece
    old: int | None = None
    new: int | None = None


@dataclass(frozen=True, slots=True)
class Hunk:
    """Lines of a diff that are near to each other."""

    heading: Piece
    lines: tuple[Line, ...]


@dataclass(frozen=True, slots=True)
class Diff:
    """What was changed. A row is a heading, or a line beside the one that takes its place.

    `more` counts lines, `more_rows` rows; where the lines cannot be set side by side, `is_paired` is false. How many
    lines were added and removed in all is not known of a diff that came as text.
    """

    type: Literal["diff"] = field(default="diff", init=False, repr=False)
    hunks: tuple[Hunk, ...]
    path: Piece = ""
    change: Change = "changed"
    added: int | None = None
    removed: int | None = None
    is_paired: bool = False
    is_complete: bool = True
    start: int = 0
    more: int = 0
    more_rows: int = 0


@dataclass(frozen=True, slots=True)
class Column:
    """A column of a table. `type` is a field type, where one is given; `is_numeric` says what is in it."""

    key: Piece
    label: Piece
    type: str = ""
    align: Align = "left"
    is_numeric: bool = False


@dataclass(frozen=True, slots=True)
class Table:
    """Rows of cells, in the order of the columns."""

    type: Literal["table"] = field(default="table", init=False, repr=False)
    columns: tuple[Column, ...]
    rows: tuple[tuple[Cell, ...], ...]
    more_columns: int = 0
    start: int = 0
    more: int = 0


@dataclass(frozen=True, slots=True)
class Leaf:
    """A plain value in a tree, by its name or its place; `format` is a field type, where one is given."""

    type: Literal["leaf"] = field(default="leaf", init=False, repr=False)
    key: Piece | int | None
    value: Scalar
    format: str = ""


@dataclass(frozen=True, slots=True)
class Branch:
    """A list or an object in a tree; of what is directly in it, `more` are left out."""

    type: Literal["branch"] = field(default="branch", init=False, repr=False)
    key: Piece | int | None
    shape: Literal["object", "list"]
    nodes: tuple[Node, ...] = ()
    more: int = 0


Node = Leaf | Branch


@dataclass(frozen=True, slots=True)
class Tree:
    """Data of any shape, the first of it in reading order. `start` counts what is directly in the root.

    `more` rows are left out, on all levels together; with `at_least`, they were not counted to their end.
    """

    type: Literal["tree"] = field(default="tree", init=False, repr=False)
    root: Node
    start: int = 0
    more: int = 0
    at_least: bool = False


@dataclass(frozen=True, slots=True)
class Image:
    """An image by its base64 data or its address; one that is too large has neither, but its size in bytes."""

    type: Literal["image"] = field(default="image", init=False, repr=False)
    media_type: Piece
    data: str = ""
    url: Piece = ""
    alt: Piece = ""
    size: int | None = None
    width: int | None = None
    height: int | None = None


@dataclass(frozen=True, slots=True)
class Entry:
    """A file, by the name it has in its directory."""

    name: Piece
    type: FileType = ""
    size: int | float | None = None
    modified: Cell = None


@dataclass(frozen=True, slots=True)
class Files:
    """What is in a directory, directories first."""

    type: Literal["files"] = field(default="files", init=False, repr=False)
    path: Piece
    entries: tuple[Entry, ...]
    is_complete: bool = True
    start: int = 0
    more: int = 0


@dataclass(frozen=True, slots=True)
class Changed:
    """A file that git has something to say about."""

    state: FileState
    path: Piece


@dataclass(frozen=True, slots=True)
class Status:
    """A working tree of git: how far its branch is from the one it follows, and the files that differ."""

    type: Literal["status"] = field(default="status", init=False, repr=False)
    branch: Piece
    ahead: int = 0
    behind: int = 0
    files: tuple[Changed, ...] = ()
    is_complete: bool = True
    start: int = 0
    more: int = 0


@dataclass(frozen=True, slots=True)
class Output:
    """What a command printed: its first lines and its last, `more` between them; `dropped` characters were not kept."""

    type: Literal["output"] = field(default="output", init=False, repr=False)
    command: Piece
    lines: tuple[Piece, ...]
    tail: tuple[Piece, ...] = ()
    exit_code: Cell = None
    dropped: int = 0
    start: int = 0
    more: int = 0


@dataclass(frozen=True, slots=True)
class Failure:
    """What went wrong."""

    type: Literal["failure"] = field(default="failure", init=False, repr=False)
    message: Text
    details: Text | Tree | None = None


@dataclass(frozen=True, slots=True)
class Question:
    """What is asked, what can be chosen, and the answer once there is one."""

    type: Literal["question"] = field(default="question", init=False, repr=False)
    question: Text
    options: tuple[Piece, ...] = ()
    more_options: int = 0
    answer: Piece | None = None


Body = Text | Markdown | Code | Diff | Table | Tree | Image | Files | Status | Output | Failure | Question


@dataclass(frozen=True, slots=True)
class Inner:
    """The view of a result inside another; `label` names its place where that has a name."""

    label: Piece
    view: View


@dataclass(frozen=True, slots=True)
class View:
    """A result as it is to be seen: in a line, and opened.

    `gist` is how the data begins, for results without a summary; so many `gist_lines` follow it. `unfit` says why the
    data is not what its kind promises, and is seen in another way. Without a body there is the line, and the results
    inside.
    """

    kind: str
    title: Piece = ""
    summary: Piece = ""
    gist: str = ""
    gist_lines: int = 0
    state: State = "done"
    is_hidden: bool = False
    collapsed: bool | None = None
    max_height: int | None = None
    priority: float | None = None
    unfit: str = ""
    body: Body | None = None
    inside: tuple[Inner, ...] = ()
    more_inside: int = 0
