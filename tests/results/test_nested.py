"""Results inside values and inside one another; the JSON that results travel in, and the shapes of old."""

import asyncio
import json
from dataclasses import dataclass
from io import StringIO
from typing import Any

import pytest
from pydantic import BaseModel
from rich.console import Console

from antiphon import results
from antiphon.conversation import Conversation, Image, ToolCall, ToolResult
from antiphon.errors import FormatError
from antiphon.results import Display, Result, to_model_text
from antiphon.results.model_text import collect_images
from antiphon.results.nested import iter_nested_results
from antiphon.results.protocols import from_mcp, to_mcp
from antiphon.terminal import Context, make_renderable, print_result, register_renderer
from antiphon.tools import as_tool, execute

ROWS = results.table([{"city": "Oslo"}], collapsed=True, priority=7, preferred_view="tree")
CHANGE = results.diff("a.py", "x\n", "y\n", language="python")


def ran(value: Any) -> ToolResult:
    made = as_tool(lambda: value, name="f")
    return asyncio.run(execute(made, ToolCall("c1", "f"), Conversation())).result


def printed(result: Result, **settings: Any) -> str:
    console = Console(file=StringIO(), width=80, color_system=None)
    console.print(make_renderable(result, **settings), end="")
    return console.file.getvalue()  # type: ignore[attr-defined]


class Model(BaseModel):
    found: Any
    other: int = 3


@dataclass
class Report:
    found: Any


VALUES = {
    "list": [ROWS, CHANGE],
    "tuple": (ROWS, CHANGE),
    "dict": {"rows": ROWS, "change": CHANGE, "n": 3},
    "deep": {"x": [{"y": [ROWS, (CHANGE,)]}]},
    "dataclass": Report({"both": [ROWS, CHANGE]}),
    "model": Model(found=[ROWS, CHANGE]),
    "mixed": [Report(ROWS), Model(found={"it": CHANGE}), "text"],
}


@pytest.mark.parametrize("value", VALUES.values(), ids=VALUES)
def test_the_model_reads_the_texts_of_results_in_a_value_and_no_hints(value: Any):
    result = ran(value)
    assert to_model_text(ROWS) in result.text
    assert to_model_text(CHANGE) in result.text
    for hint in ("collapsed", "priority", "referred", "display", "mime", "python", "kind"):
        assert hint not in result.text


@pytest.mark.parametrize("value", VALUES.values(), ids=VALUES)
def test_people_see_the_views_of_results_in_a_value(value: Any):
    semantic = ran(value).semantic
    assert semantic is not None
    assert [each for _, each in iter_nested_results(semantic.data)] == [ROWS, CHANGE]
    assert semantic.summary == "1 row; +1 -1 lines"
    assert "1 row; +1 -1 lines" in printed(semantic)
    opened = printed(semantic, full=True)
    assert "Oslo" in opened
    assert "- x" in opened or "-x" in opened
    assert "mime" not in opened


@pytest.mark.parametrize("value", VALUES.values(), ids=VALUES)
def test_programs_get_the_data(value: Any):
    data = json.dumps(results.data_of(value))
    assert '"rows": [{"city": "Oslo"}]' in data
    assert '"kind"' not in data


def test_the_model_reads_what_else_is_in_a_value_with_results():
    assert (
        ran({"n": 3, "rows": results.text("hi", summary="a word")}).text
        == '{"n":3,"rows":"[text: a word]"}\n\nrows: hi'
    )
    assert ran({"rows": results.text("a\nb")}).text == "rows:\na\nb"


def test_images_in_results_in_a_value_reach_the_model():
    result = ran([results.image(base64="aGk=", alt="a cat"), results.text("seen")])
    assert result.parts[1] == Image("aGk=", "image/png")
    assert result.text == "[image: a cat]\n\nseen"


def test_results_inside_results_come_back_as_results_and_nothing_else_does():
    outer = Result("suite", {"a/b~": [ROWS], "like": {"kind": "table", "data": 1}}, "two")
    again = Result.from_json(json.loads(json.dumps(outer.to_json())))
    assert again == outer
    assert again.data["a/b~"][0] == ROWS
    assert again.data["like"] == {"kind": "table", "data": 1}
    assert from_mcp(to_mcp(outer)) == outer
    assert to_mcp(outer)["structuredContent"]["a/b~"][0]["kind"] == "table"


def test_results_too_deep_in_one_another_are_named():
    deep = Result("a", 1, "the innermost")
    for number in range(3000):
        deep = Result("a", [deep], f"level {number}")
    assert to_model_text(deep).startswith("level 2999")
    assert "level 2999" in printed(deep, full=True)
    assert Result.from_json(json.loads(json.dumps(deep.to_json()))) == deep


def test_what_is_written_is_the_seeds_own_spelling_and_both_are_read():
    display = Display("tree", "json", True, 5, 2, {"first_seen": "date"})
    result = Result("git.status", {"preferred_view": 1, "mime_type": 2}, "clean", "application/json", display)
    hints = {"preferredView": "tree", "language": "json", "collapsed": True, "maxHeight": 5, "priority": 2}
    assert result.to_json() == {
        "kind": "git.status",
        "data": {"preferred_view": 1, "mime_type": 2},
        "summary": "clean",
        "mimeType": "application/json",
        "display": {**hints, "fieldTypes": {"first_seen": "date"}},
    }
    old = {"kind": "a", "data": 1, "mime_type": "text/plain", "display": {"preferred_view": "raw", "max_height": 2}}
    assert Result.from_json(old) == Result("a", 1, "", "text/plain", Display("raw", max_height=2))
    properties = results.SCHEMA["properties"]
    assert properties["mime_type"] == {"type": "string", "deprecated": True}
    known = properties["display"]["properties"]
    assert {"preferredView", "preferred_view", "maxHeight", "max_height", "fieldTypes", "field_types"} <= set(known)


def test_the_flat_listing_of_old_becomes_entries():
    flat = {"kind": "file_list", "success": True, "path": "/src", "files": ["a.ts", "lib/"], "count": 2}
    result = Result.from_json(flat)
    entries = [{"name": "a.ts"}, {"name": "lib", "type": "directory"}]
    assert result.data == {"path": "/src", "count": 2, "success": True, "entries": entries}
    assert to_model_text(result).splitlines()[1:] == ["a.ts", "lib/"]
    assert "lib/" in printed(result, full=True)
    assert Result.from_json(flat | {"count": 9}).data["truncated"] is True


@pytest.mark.parametrize(
    "data",
    [
        {"kind": "pod", "name": "web-1"},
        {"kind": "text", "words": 3},
        {"kind": "file_list", "files": ["a"], "total": 1},
        {"kind": "diff", "path": "a"},
        {"kind": "file_content", "path": "a", "content": 3},
        {"kind": "text"},
        {"kind": "json"},
    ],
)
def test_ordinary_data_with_a_kind_is_not_lifted(data: dict[str, Any]):
    with pytest.raises(FormatError, match="has its fields in `data`"):
        Result.from_json(data)


def test_a_long_listing_is_cut():
    def entries(count: int) -> list[dict[str, Any]]:
        return [{"name": f"f{n}", "type": "file"} for n in range(count)]

    assert to_model_text(results.file_list("d", entries(205))).splitlines()[200:] == ["f199", "… and 5 more"]
    assert to_model_text(results.file_list("d", entries(200))).endswith("f199")


def test_an_integer_too_long_to_write_is_described():
    for number, bits in ((2**1000, 1001), (-(2**1000), 1001), (10**5000, 16610)):
        assert Result("a", number).data == f"an integer of {bits} bits"
    assert Result("a", 2**1000 - 1).data == 2**1000 - 1


@pytest.mark.parametrize(("priority", "sent"), [(0, True), (1, True), (-0.1, False), (1.1, False), (9, False)])
def test_a_priority_that_mcp_does_not_know_is_not_sent(priority: float, sent: bool):
    result = results.text("x", priority=priority)
    (block,) = to_mcp(result)["content"]
    assert ("annotations" in block) == sent
    assert from_mcp(to_mcp(result)).display.priority == priority


@pytest.mark.parametrize("header", [True, False])
def test_the_summary_is_shown_whatever_happens_to_the_data(header: bool):
    @register_renderer("test.broken")
    def broken(_: Result, __: Context) -> str:
        raise RecursionError

    assert "all is lost" in printed(Result("test.broken", None, "all is lost"), full=True, header=header)
    assert "all is lost" in printed(Result("test.nothing", None, "all is lost"), full=True, header=header)
    console = Console(file=StringIO(), width=80, color_system=None)
    print_result(Result("test.broken", {"a": 1}, "all is lost"), console)
    assert "all is lost" in console.file.getvalue()  # type: ignore[attr-defined]


def test_a_value_with_results_is_told_by_their_summaries_in_short_and_not_by_what_is_hidden():
    hidden = Result("x.y", 1, "unseen", display=Display("hidden"))
    told = ran([results.table([{"a": 1}], summary="x" * 150), hidden, results.table([], summary="y" * 150)]).semantic
    assert told is not None
    assert told.summary == ("x" * 150 + "; " + "y" * 150)[:200]


def test_what_is_empty_beside_results_is_told():
    assert '"rest":[]' in to_model_text(results.structured({"rows": ROWS, "rest": []}))
    assert '"rest":{}' in to_model_text(results.structured({"rows": ROWS, "rest": {}}))


@pytest.mark.parametrize("key", ["a/b", "a~b", "~1", "~01", "~0/", "", "/"])
def test_whatever_the_key_of_a_result_it_comes_back_as_one(key: str):
    outer = results.structured({key: ROWS, "other": [1]})
    assert Result.from_json(json.loads(json.dumps(outer.to_json()))) == outer


def test_no_other_key_is_taken_for_that_of_a_result():
    own = {"kind": "x.y", "data": 1}
    outer = results.structured({"a/b": ROWS, "a~1b": own, "a~b": CHANGE, "a~0b": own})
    assert Result.from_json(json.loads(json.dumps(outer.to_json()))) == outer


def test_results_of_somebody_else_that_are_too_deep_in_one_another_stay_data():
    given: dict[str, Any] = {"kind": "x.y", "data": 1}
    for _ in range(20):
        given = {"kind": "x.y", "data": {"in": given}, "nested": ["/in"]}
    result = Result.from_json(given)
    depth = 0
    while isinstance(result, Result) and isinstance(result.data, dict):
        result, depth = result.data["in"], depth + 1
    assert depth == 8
    assert isinstance(result, dict)
    assert result["kind"] == "x.y"


@pytest.mark.parametrize("word", [1, "yes", "true", {}, None, False])
def test_only_true_hides_a_result(word: Any):
    assert not Result.from_json({"kind": "x.y", "data": 1, "display": {"hidden": word}}).display.hidden
    assert Result.from_json({"kind": "x.y", "data": 1, "display": {"hidden": True}}).display.hidden


@pytest.mark.parametrize("line", [True, "3", 3.5, None])
def test_a_line_is_a_number(line: Any):
    (place,) = Result.from_json({"kind": "x.y", "data": 1, "locations": [{"path": "a", "line": line}]}).locations
    assert place.line is None


def test_a_diff_that_would_take_long_is_described():
    many = "line\n" * 19_990
    assert "@@" in to_model_text(results.diff("a", "other\n", "line\n" * 9))
    for old, new in (("other\n" * 20, many), (many, "other\n" * 20)):
        assert "@@" not in to_model_text(results.diff("a", old, new))


def test_what_replaces_nothing_has_no_hunks():
    assert to_model_text(results.diff("a", "", "x\ny\n")) == "a: +2 -0 lines"


def test_long_cells_of_a_table_are_cut_and_in_one_line():
    text = to_model_text(results.table([{"a": "x\n" * 500}]))
    assert text.splitlines()[-1] == "x " * 100


def test_an_image_is_shown_once_whatever_is_inside_it():
    small = results.image(base64="c21hbGw=")
    outer = Result("image", {"base64": "aGk=", "thumb": small})
    assert collect_images(outer) == [("aGk=", "image/png", "")]
    assert collect_images(Result("x.y", [outer, small])) == [("aGk=", "image/png", ""), ("c21hbGw=", "image/png", "")]
