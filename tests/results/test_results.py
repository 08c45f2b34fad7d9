"""The semantic result: its fields, its JSON, the old shapes, and what the model reads."""

import asyncio
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from antiphon import results
from antiphon.conversation import Conversation, Image, ToolCall
from antiphon.conversation import serialization as storage
from antiphon.errors import AntiphonError, ContentError, FormatError
from antiphon.results import Display, Location, Result, to_model_text
from antiphon.tools import as_tool, execute
from tests.strategies import any_text, json_values

locations = st.builds(Location, st.text("ab/", max_size=4), st.none() | st.integers(0, 9))
FILE = {"path": "a", "content": "x", "size": 1}
KINDS = ["text", "diff", "file_content", "file_list", "table", "image", "terminal", "error", "x.y"]
ENTRIES = [{"name": "a", "type": "directory"}, {"name": "b.py", "type": "file", "size": 1200}]
HUNK = "a.py: +1 -1 lines\n@@ -1,3 +1,3 @@\n one\n-two\n+2\n three"
ROOT = Path(__file__).parent.parent.parent


class TestFields:
    @pytest.mark.parametrize("kind", ["text", "git.status", "my_plugin.custom_type", "a1.b2.c3"])
    def test_kinds_are_open(self, kind: str):
        assert Result(kind, 1).kind == kind

    @pytest.mark.parametrize("kind", ["", "Text", "1a", "a..b", ".a", "a.", "a-b", "a b", "a\n", None, 3])
    def test_by_a_pattern(self, kind: Any):
        with pytest.raises(ContentError, match="a kind is lowercase words"):
            Result(kind)

    @pytest.mark.parametrize(
        ("hints", "message"),
        [
            ({"preferred_view": "hologram"}, "`preferred_view` is one of text, markdown"),
            ({"max_height": 0}, "`max_height` is a number of lines"),
            ({"field_types": {"a": "color"}}, "the type of field 'a' is one of string"),
        ],
    )
    def test_hints_are_checked_where_they_are_written(self, hints: dict[str, Any], message: str):
        with pytest.raises(ContentError, match=message):
            Display(**hints)

    def test_data_becomes_plain_whatever_it_is(self):
        @dataclass
        class Point:
            x: int

        cycle: dict[str, Any] = {"a": 1}
        cycle["self"] = cycle
        data = Result("structured", {"p": Point(1), "c": cycle, "n": float("nan"), "b": b"abc", 3: {"x"}}).data
        assert data == {"p": {"x": 1}, "c": {"a": 1, "self": "…"}, "n": "nan", "b": "3 bytes", "3": ["x"]}
        json.dumps(data, allow_nan=False)

    def test_depth_is_bounded(self):
        deep: Any = 1
        for _ in range(100_000):
            deep = [deep]
        assert json.dumps(Result("structured", deep).data).count("[") == 60


class TestJson:
    @given(
        st.builds(
            Result,
            st.sampled_from(["text", "table", "git.status"]),
            json_values,
            any_text,
            any_text,
            st.builds(
                Display,
                st.sampled_from([None, "tree", "hidden"]),
                any_text,
                st.sampled_from([None, True, False]),
                st.none() | st.integers(1, 9),
                st.none() | st.integers(0, 9),
                st.dictionaries(any_text, st.sampled_from(["date", "url"]), max_size=2),
            ),
            any_text,
            st.lists(st.builds(Location, st.text("ab/", max_size=4), st.none() | st.integers(0, 9)), max_size=2).map(
                tuple
            ),
            st.sampled_from([(), ("user",), ("user", "assistant")]),
        )
    )
    @settings(max_examples=100)
    def test_out_and_in_again_is_the_same(self, result: Result):
        again = Result.from_json(json.loads(json.dumps(result.to_json())))
        assert again == result

    def test_the_camel_case_of_the_seed(self):
        given_json = {
            "kind": "git.status",
            "data": {"branch": "main"},
            "summary": "clean",
            "mimeType": "application/json",
            "display": {"preferredView": "tree", "collapsed": True, "maxHeight": 5, "fieldTypes": {"when": "date"}},
        }
        result = Result.from_json(given_json)
        assert result.mime_type == "application/json"
        assert result.display == Display("tree", "", True, 5, None, {"when": "date"})

    @pytest.mark.parametrize(
        ("flat", "kind", "data"),
        [
            (
                {"kind": "diff", "path": "a", "modified": "y", "isNew": False, "bytesWritten": 1, "summary": "s"},
                "diff",
                {"path": "a", "modified": "y", "isNew": False, "bytesWritten": 1},
            ),
            ({"kind": "file_content", **FILE}, "file_content", FILE),
            ({"kind": "text", "content": "x"}, "text", {"content": "x"}),
            ({"kind": "json", "value": [1]}, "structured", [1]),
        ],
    )
    def test_the_flat_shapes_of_old(self, flat: dict[str, Any], kind: str, data: Any):
        result = Result.from_json(flat)
        assert (result.kind, result.data, result.summary) == (kind, data, flat.get("summary", ""))

    def test_unknown_hints_are_for_somebody_else(self):
        result = Result.from_json(
            {"kind": "text", "data": "x", "display": {"preferredView": "3d", "sparkle": 1, "hidden": True}}
        )
        assert result.display == Display("hidden")

    @given(json_values)
    @settings(max_examples=100)
    def test_any_json_reads_or_is_refused_in_our_own_words(self, value: Any):
        for shape in (value, {"kind": "text", "data": value, "display": value}, {"kind": "diff", "locations": value}):
            try:
                Result.from_json(shape)
            except FormatError:
                continue

    def test_the_schema_is_published(self):
        published = json.loads((ROOT / "docs" / "result.schema.json").read_text())
        assert published == results.SCHEMA


class TestTheModelsFace:
    @pytest.mark.parametrize(
        ("result", "text"),
        [
            (results.text("hello", collapsed=True), "hello"),
            (results.diff("a.py", "one\ntwo\nthree\n", "one\n2\nthree\n"), HUNK),
            (results.diff("new.py", None, "a\nb"), "new.py: new file, 2 lines"),
            (results.file_content("a.txt", "hi"), "a.txt\nhi"),
            (
                results.file_list(
                    "src", [{"name": "a", "type": "directory"}, {"name": "b.py", "type": "file", "size": 1200}]
                ),
                "src: 2 entries\na/\nb.py  1,200 bytes",
            ),
            (results.table([{"a": 1, "b": "x"}, {"a": None, "b": [2]}]), "2 rows\na | b\n1 | x\n | [2]"),
            (results.image(url="https://x/y.png", alt="a cat"), "[image: a cat]"),
            (results.terminal("ls", "a\nb\n", exit_code=0), "a\nb"),
            (results.terminal("false", "", exit_code=1), "[exit code 1]"),
            (results.error("it broke", details={"at": 3}), 'it broke\n{"at":3}'),
            (results.question("Which?", answer="This"), "This"),
            (results.structured({"a": [1]}, summary="one thing"), 'one thing\n{"a":[1]}'),
            (Result("git.status", {"branch": "main"}, "clean"), 'clean\n{"branch":"main"}'),
        ],
    )
    def test_is_made_from_the_kind(self, result: Result, text: str):
        assert to_model_text(result) == text

    def test_a_long_table_is_its_head_and_a_count(self):
        lines = to_model_text(results.table([{"n": n} for n in range(1000)])).splitlines()
        assert lines[0] == "1,000 rows"
        assert lines[-1] == "… 950 more of 1,000 rows"
        assert len(lines) == 53

    def test_hints_cost_nothing(self):
        data = {"a": 1}
        hinted = Result("x", data, "s", "application/json", Display("tree", "json", True, 5, 9, {"a": "number"}))
        assert to_model_text(hinted) == to_model_text(Result("x", data, "s"))

    @given(
        json_values,
        st.sampled_from(KINDS),
    )
    @settings(max_examples=150)
    def test_any_data_in_any_kind_has_a_face(self, data: Any, kind: str):
        keys = ("content", "path", "entries", "rows", "columns", "original", "modified", "message", "output")
        assert isinstance(to_model_text(Result(kind, data)), str)
        assert isinstance(to_model_text(Result(kind, dict.fromkeys(keys, data))), str)


class TestInTools:
    def run(self, value: Any, **settings: Any):
        made = as_tool(lambda: value, name="f", **settings)
        return asyncio.run(execute(made, ToolCall("c1", "f"), Conversation())).result

    def test_both_faces_are_kept(self):
        result = self.run(results.diff("a.py", "x\n", "y\n", collapsed=True))
        assert result.text.startswith("a.py: +1 -1 lines")
        assert result.semantic is not None
        assert result.semantic.data["modified"] == "y\n"

    def test_errors_say_so(self):
        assert self.run(results.error("no")).is_error

    def test_an_image_is_an_image(self):
        result = self.run(results.image(base64="aGk=", alt="a cat"))
        assert result.parts[1] == Image("aGk=", "image/png")
        assert self.run(results.image(base64="aGk=", mime_type="image/svg+xml")).text == "[image: image]"

    def test_under_a_limit_with_a_handle_to_the_whole(self):
        result = self.run(results.text("line\n" * 100), output_limit=50)
        assert result.handle == "result:c1"
        assert result.semantic is not None
        assert len(result.semantic.data["content"]) == 500

    def test_it_is_saved_with_the_conversation(self):
        conversation = Conversation()
        conversation.add_user("hi")
        conversation.add_assistant_tool_calls([ToolCall("c1", "f")])
        conversation.add_tool_results([self.run(results.table([{"a": 1}]))])
        loaded, _ = storage.conversation_from_json(json.loads(json.dumps(storage.conversation_to_json(conversation))))
        assert loaded == conversation
        assert loaded.turns[1].results[0].semantic.kind == "table"  # type: ignore[union-attr]

    def test_a_dict_with_a_kind_is_just_a_dict(self):
        assert self.run({"kind": "text", "data": "x"}).semantic is None


def test_broken_semantics_in_a_file_are_named():
    conversation = Conversation()
    conversation.add_user("hi")
    conversation.add_assistant_tool_calls([ToolCall("c1", "f")])
    conversation.add_tool_result("c1", "x")
    data = storage.conversation_to_json(conversation)
    data["turns"][1]["results"][0]["semantic"] = {"kind": "Bad Kind"}
    with pytest.raises(AntiphonError, match="turn 2, result 1: `semantic`: a result has a `kind`"):
        storage.conversation_from_json(data)


@pytest.mark.parametrize(
    ("kind", "data"),
    [
        ("table", {"columns": ["name"], "rows": [["Oslo"]]}),
        ("table", {"rows": [{"name": "Oslo"}]}),
        ("table", {"columns": [{"name": "name"}], "rows": [{"name": "Oslo"}]}),
        ("text", {"text": "Oslo"}),
        ("diff", {"patch": "Oslo"}),
        ("file_content", {"path": "a", "text": "Oslo"}),
        ("file_list", {"path": "a", "entries": ["Oslo"]}),
        ("terminal", {"stdout": "Oslo"}),
        ("error", {"reason": "Oslo"}),
        ("question", {"asked": "Oslo"}),
        ("image", {"file": "Oslo"}),
    ],
)
def test_data_that_is_not_of_its_kind_is_shown_whole(kind: str, data: dict[str, Any]):
    told = to_model_text(Result(kind, data, "Found."))
    assert told.startswith("Found.\n")
    assert "Oslo" in told
