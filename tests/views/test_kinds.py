"""What is to be seen of each kind, and how it is chosen."""

from __future__ import annotations

from typing import Any

import pytest

from antiphon import results, views
from antiphon.conversation import Conversation, ToolResult
from antiphon.conversation import Image as ImagePart
from antiphon.conversation import Text as TextPart
from antiphon.errors import OptionError
from antiphon.results import Display, Location, Result
from antiphon.views import (
    Branch,
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
    Output,
    Question,
    Status,
    Table,
    Text,
    Tree,
    headline,
    view,
)
from antiphon.views.cost_format import format_cost
from tests.terminal.cases import CASES, NEW, OLD, PIXEL


def body(value: Any, **part: int) -> Any:
    return view(value, **part).body


# Each kind


def test_a_text_is_lines():
    assert body(results.text("a\r\nb\n\nc\n")) == Text(("a", "b", "", "c"))
    assert body(results.text("")) == Text(())


def test_a_text_is_markdown_or_code_when_it_says_so():
    assert body(results.text("# a", markdown=True)) == Markdown(("# a",))
    assert body(results.text("a", preferred_view="markdown")) == Markdown(("a",))
    assert body(results.text("x = 1", language="python")) == Code(("x = 1",), "python")
    assert body(results.text("x", preferred_view="text", language="python")) == Text(("x",))


def test_a_file_has_numbers_from_where_it_begins():
    assert body(results.file_content("a/b.py", "x\ny\n")) == Code(("x", "y"), "python", "a/b.py", 1)
    part = Result("file_content", {"content": "x\ny"}, locations=(Location("a"), Location("a", 41)))
    assert body(part).first == 41
    assert body(part, start=1) == Code(("y",), first=42, start=1)


def test_a_file_before_and_after_is_its_hunks():
    seen = body(results.diff("a.txt", "one\ntwo\nthree\n", "one\n2\nthree\nfour\n"))
    lines = (
        Line(" ", "one", 1, 1),
        Line("-", "two", 2),
        Line("+", "2", None, 2),
        Line(" ", "three", 3, 3),
        Line("+", "four", None, 4),
    )
    assert seen == Diff((Hunk("@@ -1,3 +1,4 @@", lines),), "a.txt", "changed", 2, 1, is_paired=True)


def test_what_changed_nothing_says_so():
    assert body(results.diff("a", "x\n", "x\n")) == Diff((), "a", "unchanged", 0, 0)
    assert body(results.diff("a", "x\n", "x")) == Diff((), "a", "line_ends", 0, 0)


def test_a_new_file_is_all_new():
    lines = (Line("+", "x", None, 1), Line("+", "y", None, 2))
    assert body(results.diff("a", None, "x\ny\n")) == Diff((Hunk("", lines),), "a", "new", 2, 0)
    overwritten = Result("diff", {"path": "a", "modified": "x\ny", "isNew": False})
    assert body(overwritten) == Diff((Hunk("", lines),), "a", "changed", 2, 0)


def test_hunks_that_are_given_are_seen():
    given = {"oldStart": 7, "oldLines": 2, "newStart": 8, "newLines": 1, "lines": [" x", "-y"]}
    lines = (Line(" ", "x", 7, 8), Line("-", "y", 8))
    assert body(Result("diff", {"path": "a", "hunks": [given]})) == Diff((Hunk("@@ -7,2 +8,1 @@", lines),), "a")
    broken = view(Result("diff", {"hunks": [{"lines": 3}]}))
    assert broken.unfit == "a hunk has a list `lines`"
    assert isinstance(broken.body, Tree)


GIT = """diff --git a/x b/x
--- a/x
+++ b/x
@@ -1,2 +1,2 @@ def f():
 same
--- old
+++ new
\\ No newline at end of file
diff --git a/y b/y
@@ -5 +5 @@
-p
+q"""


def test_a_diff_that_came_as_text_is_read():
    seen = body(Result("git.diff", {"content": GIT, "truncated": True}, mime_type="text/x-diff"))
    about = tuple(Line("", line) for line in GIT.split("\n")[:3])
    first = (
        Line(" ", "same", 1, 1),
        Line("-", "-- old", 2),
        Line("+", "++ new", None, 2),
        Line("", "\\ No newline at end of file"),
        Line("", "diff --git a/y b/y"),
    )
    second = (Line("-", "p", 5), Line("+", "q", None, 5))
    hunks = (Hunk("", about), Hunk("@@ -1,2 +1,2 @@ def f():", first), Hunk("@@ -5 +5 @@", second))
    assert seen == Diff(hunks, is_complete=False)


def test_a_table_has_typed_and_aligned_columns():
    rows = [{"n": 1, "s": "x", "c": None}, {"n": 2.5, "s": True, "c": {"a": [1]}, "other": 1}]
    columns: list[Any] = [
        "n",
        {"key": "s", "label": "S", "type": "date", "align": "center"},
        {"key": "c", "type": "odd"},
    ]
    seen = body(results.table(rows, columns, field_types={"n": "number", "c": "url"}))
    assert seen.columns == (
        Column("n", "n", "number", "right", is_numeric=True),
        Column("s", "S", "date", "center"),
        Column("c", "c"),
    )
    assert seen.rows == ((1, "x", None), (2.5, True, Json('{"a": [1]}')))


def test_columns_of_truth_values_are_not_numeric():
    (column,) = body(results.table([{"ok": True}, {"ok": False}])).columns
    assert (column.is_numeric, column.align) == (False, "left")


@pytest.mark.parametrize(
    ("cost", "said"),
    [
        (None, ""), (0, ""), (0.00005, "<$0.0001"), (0.0001, "$0.0001"), (0.09994, "$0.0999"), (0.1, "$0.10"),
        (0.456, "$0.46"), (1234.5, "$1,234.50"),
    ],
)  # fmt: skip
def test_a_cost_has_the_digits_that_matter(cost: float | None, said: str):
    assert format_cost(cost) == said


def test_a_table_without_columns_has_those_of_its_rows():
    seen = body(Result("table", {"rows": [{"a": 1}, {"b": 2}]}))
    assert [column.key for column in seen.columns] == ["a", "b"]
    assert seen.rows == ((1, None), (None, 2))
    assert view(Result("table", {"rows": []})).unfit == "a table has columns"


def test_no_row_of_a_table_is_passed_over():
    seen = view(Result("table", {"columns": [{"key": "a"}], "rows": [{"a": 1}, "not a row"]}))
    assert seen.unfit == "the rows of a table are objects"
    assert isinstance(seen.body, Tree)
    late = [{"a": 1}] * 150 + ["not a row"]
    assert isinstance(body(late), Tree)


def test_a_directory_has_its_directories_first():
    entries: list[dict[str, Any]] = [
        {"name": "b", "type": "file", "size": 3, "modified": "2025-01-01"},
        {"name": "a", "type": "directory"},
        {"name": "l", "type": "symlink"},
    ]
    seen = body(results.file_list("src", entries, truncated=True))
    found = (Entry("a", "directory"), Entry("b", "file", 3, "2025-01-01"), Entry("l", "symlink"))
    assert seen == Files("src", found, is_complete=False)
    assert body(Result("file_list", {"entries": ["x"]})).entries == (Entry("x"),)


def test_a_status_of_git_is_its_branch_and_files():
    data = {"branch": "main", "ahead": 2, "behind": True, "modified": ["m", "c"], "conflicted": ["c"], "staged": ["s"]}
    files = (Changed("staged", "s"), Changed("modified", "m"), Changed("conflicted", "c"))
    assert body(Result("git.status", data | {"untracked": 3})) == Status("main", 2, 0, files)
    assert body(Result("git.status", {"truncated": True})) == Status("", is_complete=False)


def test_an_image_is_its_data_with_what_can_be_said_of_it():
    assert body(results.image(base64=PIXEL, alt="red")) == Image("image/png", PIXEL, "", "red", 69, 1, 1)
    assert body(results.image(url="https://example.com/a.gif", mime_type="image/gif")) == Image(
        "image/gif", url="https://example.com/a.gif"
    )
    embedded = results.image(url=f"data:image/png;base64,{PIXEL}")
    assert (body(embedded).data, body(embedded).url) == (PIXEL, "")
    assert body(Result("x", "https://example.com/a", mime_type="image/png")).url == "https://example.com/a"


def test_what_a_command_printed_is_seen_with_how_it_ended():
    seen = view(results.terminal("make", "\x1b[31mx\x1b[0m\n", exit_code=2, dropped=7))
    assert seen.body == Output("make", ("\x1b[31mx\x1b[0m",), exit_code=2, dropped=7)
    assert seen.state == "failed"
    assert view(results.terminal("make", "x", exit_code=0)).state == "done"


def test_an_error_is_its_message_and_its_details():
    seen = view(results.error("No.\nNever.", details={"code": 3}))
    tree = Tree(Branch(None, "object", (Leaf("code", 3),)))
    assert (seen.state, seen.body) == ("failed", Failure(Text(("No.", "Never.")), tree))
    assert body(results.error("No.", details="a\nb")) == Failure(Text(("No.",)), Text(("a", "b")))
    assert body(results.error("No.")) == Failure(Text(("No.",)))


def test_a_question_has_options_and_an_answer():
    seen = body(results.question("Which?", options=["a", "b"], answer="b"))
    assert seen == Question(Text(("Which?",)), ("a", "b"), 0, "b")
    assert body(results.question("Which?")) == Question(Text(("Which?",)))


def test_other_data_is_a_tree():
    data = {"a": [1, {}], "b": "x", "when": 0}
    seen = body(results.structured(data, field_types={"when": "date"}))
    items = Branch("a", "list", (Leaf(0, 1), Branch(1, "object")))
    assert seen == Tree(Branch(None, "object", (items, Leaf("b", "x"), Leaf("when", 0, "date"))))
    assert body(results.structured(7)) == Tree(Leaf(None, 7))


def test_raw_data_is_its_json():
    assert body(results.structured({"a": [1, "é"]}, preferred_view="raw")) == Code(
        ("{", '  "a": [', "    1,", '    "é"', "  ]", "}"), "json"
    )


# The choice


@pytest.mark.parametrize(
    ("result", "expected"),
    [
        (Result("a.b", "x: 1", "", "text/markdown", Display("code", "yaml")), Code(("x: 1",), "yaml")),
        (Result("a.b", "x", "", "text/markdown; charset=utf-8"), Markdown(("x",))),
        (Result("a.b", "x", "", "text/html"), Code(("x",), "html")),
        (Result("a.b", "x", "", "Text/Plain"), Text(("x",))),
        (Result("a.b", {"text": "x"}, "", "text/csv"), Text(("x",))),
        (Result("a.b", [1], "", "application/vnd.x+json"), Tree(Branch(None, "list", (Leaf(0, 1),)))),
        (Result("a.b", "x", "", "application/zip"), Text(("x",))),
        (Result("a.b", "-x", "", "", Display("diff")), Diff((Hunk("", (Line("-", "x"),)),))),
        (Result("a.b", [1], "", "text/plain", Display("table")), Tree(Branch(None, "list", (Leaf(0, 1),)))),
        (Result("a.b", None, "only this"), None),
    ],
)
def test_a_kind_nobody_knows_is_seen_by_its_hints_its_type_and_its_shape(result: Result, expected: Any):
    seen = view(result)
    assert (seen.body, seen.unfit) == (expected, "")


def test_the_kind_goes_before_the_hints():
    assert isinstance(body(Result("git.status", {"branch": "main"}, display=Display("tree"))), Status)


def test_data_that_is_not_what_its_kind_promises_is_seen_in_another_way():
    seen = view(Result("table", "a, b"))
    assert (seen.body, seen.unfit) == (Text(("a, b",)), "the data of a table is an object")
    nothing = view(Result("table", None, "s"))
    assert (nothing.body, nothing.unfit, nothing.summary) == (None, "the data of a table is an object", "s")


def test_any_value_has_a_view():
    assert view("a\nb") == views.View("value", gist="a", gist_lines=1, body=Text(("a", "b")))
    assert isinstance(body([{"a": 1}]), Table)
    assert body(None) is None
    assert body({"a": object}) == Tree(Branch(None, "object", (Leaf("a", "<class 'object'>"),)))


def test_the_result_of_a_call_is_what_the_tool_returned_or_its_text():
    table = results.table([{"a": 1}])
    assert view(ToolResult("c", "a\n1", semantic=table)) == view(table)
    assert body(ToolResult("c", "said")) == Text(("said",))
    failed = view(ToolResult("c", "broken", is_error=True))
    assert (failed.state, failed.body) == ("failed", Failure(Text(("broken",))))
    assert view(ToolResult("c", "no", is_error=True, semantic=results.text("no"))).state == "failed"
    mixed = view(ToolResult("c", (TextPart("see"), ImagePart(PIXEL, "image/png"))))
    assert mixed.body is None
    assert [type(inner.view.body) for inner in mixed.inside] == [Text, Image]
    assert body(ToolResult("c", "")) == Text(())


def test_text_that_was_cut_for_the_model_is_whole_where_the_conversation_kept_it():
    conversation = Conversation()
    conversation.keep("h1", "all of it")
    cut = ToolResult("c", "all", handle="h1")
    assert [each.data["content"] for each in views.list_display_results(cut, conversation)] == ["all of it"]
    assert [each.data["content"] for each in views.list_display_results(cut, Conversation())] == ["all"]
    assert [each.data["content"] for each in views.list_display_results(cut)] == ["all"]


# The line


def test_the_line_says_what_the_result_is_about():
    seen = headline(results.terminal("make", "x\n", exit_code=1, collapsed=True, max_height=3, priority=2))
    assert (seen.kind, seen.title, seen.summary, seen.state) == ("terminal", "make", "exit 1, 1 line", "failed")
    assert (seen.collapsed, seen.max_height, seen.priority, seen.body) == (True, 3, 2, None)


def test_a_result_without_a_summary_says_how_it_begins():
    seen = headline(results.text("\n  first\nsecond\nthird"))
    assert (seen.gist, seen.gist_lines) == ("first", 3)
    assert headline({"a": 1}).gist == '{"a": 1}'
    assert headline({"a": "x" * 500}).gist.endswith("x…")


def test_of_what_is_hidden_there_is_only_the_line():
    seen = view(results.text("secret", summary="internal", preferred_view="hidden"))
    assert seen == views.View("text", summary="internal", is_hidden=True)


def test_the_beginning_of_a_view_is_its_line():
    for result in CASES.values():
        seen, line = view(result), headline(result)
        assert (seen.kind, seen.title, seen.summary, seen.gist) == (line.kind, line.title, line.summary, line.gist)


# Results inside


def test_results_inside_are_seen_as_themselves():
    inner = results.text("x", summary="a word")
    seen = view({"n": 3, "deep": [inner]})
    assert seen.inside == (Inner("deep[0]", view(inner)),)
    words = Branch("deep", "list", (Leaf(0, "[text: a word]"),))
    assert seen.body == Tree(Branch(None, "object", (Leaf("n", 3), words)))
    listed = view([inner, results.error("no")])
    assert listed.body is None
    assert [(each.label, each.view.kind) for each in listed.inside] == [("", "text"), ("", "error")]


def test_results_inside_share_the_rows():
    seen = view([results.text(OLD), results.text(OLD)], rows=10)
    assert [each.view.body.more for each in seen.inside if isinstance(each.view.body, Text)] == [15, 15]
    many = view([results.text("x", summary=str(n)) for n in range(9)], rows=4)
    assert (len(many.inside), many.more_inside) == (4, 5)
    rest = view([results.text("x", summary=str(n)) for n in range(9)], start=8, rows=4)
    assert [each.view.summary for each in rest.inside] == ["8"]
    assert view({"a": [results.text("x")], "b": 1}, start=1).inside == ()


# Parts


@pytest.mark.parametrize("wrong", [{"start": -1}, {"rows": 0}, {"characters": 0}])
def test_a_part_that_cannot_be_is_an_error(wrong: dict[str, int]):
    with pytest.raises(OptionError, match="must be at least"):
        view("x", **wrong)


@pytest.mark.parametrize("rows", [1, 2, 3, 7, 100])
def test_parts_one_after_the_other_are_the_whole(rows: int):
    changed = [f"line {n}" for n in range(60)]
    for n in (3, 4, 5, 30, 50):
        changed[n] = "changed"
    del changed[40:44]
    cases: list[Result] = [
        results.text(OLD),
        results.table([{"n": n} for n in range(20)]),
        results.file_list("d", [{"name": str(n), "type": "file"} for n in range(20)]),
        results.diff("d", "\n".join(f"line {n}" for n in range(60)), "\n".join(changed)),
        results.diff("d", OLD, NEW),
        Result("git.diff", GIT, mime_type="text/x-diff"),
        Result("git.status", {"staged": ["a", "b"], "untracked": ["c", "d"]}),
        results.structured([str(n) for n in range(20)]),
    ]
    for result in cases:
        whole, found = body(result, rows=1000), list[Any]()
        for start in range(0, 1000, rows):
            part = body(result, start=start, rows=rows)
            found += _items(part)
            if not getattr(part, "more_rows", part.more):
                break
        assert _sorted(found) == _sorted(_items(whole)), result.kind


def _items(seen: Any) -> list[Any]:
    if isinstance(seen, Diff):
        return [line for hunk in seen.hunks for line in hunk.lines]
    if isinstance(seen, Tree):
        return list(seen.root.nodes) if isinstance(seen.root, Branch) else []
    names = {Text: "lines", Table: "rows", Files: "entries", Status: "files"}
    return list(getattr(seen, names[type(seen)]))


def _sorted(items: list[Any]) -> list[Any]:
    # Lines of a stretch stand beside each other in parts, and one after the other in the whole.
    return sorted(items, key=repr) if items and isinstance(items[0], Line) else items


def test_what_is_left_out_of_a_diff_is_counted_in_lines_and_in_rows():
    seen = body(results.diff("a", OLD, NEW), rows=4)
    whole = body(results.diff("a", OLD, NEW))
    lines = sum(1 + len(hunk.lines) for hunk in whole.hunks)
    assert sum(1 + len(hunk.lines) for hunk in seen.hunks) + seen.more == lines
    # A heading, two lines that stayed, and one beside the line that takes its place.
    assert [line.mark for line in seen.hunks[0].lines] == [" ", " ", "-", "+"]
    assert (seen.more, seen.more_rows) == (13, 13)
    before = body(results.diff("a", OLD, NEW), rows=3)
    assert (before.more, before.more_rows) == (15, 14)


def test_of_a_command_the_end_is_seen_too():
    seen = body(results.terminal("x", OLD), rows=3)
    assert (seen.lines, seen.more) == (("line 1", "line 2", "line 3"), 14)
    assert seen.tail == ("line 18", "line 19", "line 20")
    assert body(results.terminal("x", OLD), rows=15).tail == tuple(f"line {n}" for n in range(16, 21))
    assert body(results.terminal("x", OLD), rows=20).tail == ()


def test_an_error_with_a_long_message_still_has_details():
    seen = body(results.error(OLD, details=OLD), rows=5)
    assert (seen.message.more, len(seen.details.lines), seen.details.more) == (15, 1, 19)
    behind = body(results.error("a\nb", details=OLD), start=3, rows=5)
    assert behind.message == Text((), 3)
    assert behind.details == Text(tuple(f"line {n}" for n in range(2, 7)), 1, 14)


def test_options_come_after_the_question():
    seen = body(results.question("a\nb", options=list("xyz"), answer="z"), rows=3)
    assert (seen.options, seen.more_options, seen.answer) == (("x",), 2, "z")
    assert body(results.question("a\nb", options=list("xyz")), rows=2).more_options == 3


def test_a_tree_is_seen_in_reading_order():
    seen = body(results.structured({"a": {str(n): n for n in range(50)}, "b": 1}), rows=4).root
    assert [node.key for node in seen.nodes] == ["a"]
    assert ([node.key for node in seen.nodes[0].nodes], seen.nodes[0].more, seen.more) == (["0", "1", "2"], 47, 1)
    # A list of few plain values may be drawn in a line: it is one row at least.
    deep = body(results.structured({"a": {str(n): [n, [n]] for n in range(50)}, "b": [1]}), rows=4)
    assert (deep.more, deep.at_least) == (148, True)
    plain = body(results.structured({"a": {str(n): {"x": n} for n in range(50)}, "b": []}), rows=4)
    assert (plain.more, plain.at_least) == (98, False)
    short = body(results.structured([[1, 2, 3], [4, 5, 6]]), rows=2).root
    assert [len(node.nodes) for node in short.nodes] == [3, 3]


def test_a_long_text_is_cut_and_says_so():
    assert body("x" * 30, characters=20) == Text((Cut("x" * 20, 10),))
    row = body([{"a": "x" * 60, "b": ["y" * 60]}], characters=80).rows[0]
    assert row == (Cut("x" * 40, 20), Json('["' + "y" * 38, cut=True))
    leaf = body({"k" * 300: "v" * 30}, characters=20).root.nodes[0]
    assert leaf == Leaf(Cut("k" * 200, 100), Cut("v" * 20, 10))
