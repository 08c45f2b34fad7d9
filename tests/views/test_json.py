"""Views as JSON: there and back without loss, in one schema, and small whatever the data is."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any, get_args

import jsonschema
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from antiphon import results, views
from antiphon.errors import FormatError
from antiphon.results import Result
from antiphon.views import ViewBody, view, view_from_json, view_json, view_schema
from antiphon.views.select import BODY_BUILDERS_BY_KIND
from tests.strategies import json_values, nested_results
from tests.terminal.cases import CASES

DOCS = Path(__file__).parent.parent.parent / "docs"
parts = st.fixed_dictionaries(
    {"start": st.integers(0, 5), "rows": st.integers(1, 30), "characters": st.integers(1, 100)}
)


@given(nested_results | json_values, parts)
@settings(max_examples=150, deadline=None)
def test_a_view_comes_back_from_json_as_it_was(value: Any, part: dict[str, int]):
    seen = view(value, **part)
    written = json.dumps(view_json(seen), allow_nan=False)
    again = view_from_json(json.loads(written))
    assert again == seen
    assert repr(again) == repr(seen)
    assert json.dumps(view_json(again)) == written


@given(nested_results, parts)
@settings(max_examples=100, deadline=None)
def test_views_follow_their_schema(value: Result, part: dict[str, int]):
    validator().validate(view_json(view(value, **part)))


def validator() -> Any:
    return jsonschema.Draft202012Validator(view_schema())


@pytest.mark.parametrize("name", CASES)
def test_a_case_follows_the_schema(name: str):
    validator().validate(view_json(view(CASES[name])))
    assert view_from_json(view_json(view(CASES[name]))) == view(CASES[name])


def test_names_are_in_camel_case_and_what_says_nothing_is_left_out():
    assert view_json(view(results.error("no\nreally", details=[1], collapsed=False, max_height=3))) == {
        "kind": "error",
        "summary": "no",
        "gist": "no",
        "gistLines": 1,
        "state": "failed",
        "collapsed": False,
        "maxHeight": 3,
        "body": {
            "type": "failure",
            "message": {"type": "text", "lines": ["no", "really"]},
            "details": {
                "type": "tree",
                "root": {
                    "type": "branch",
                    "key": None,
                    "shape": "list",
                    "nodes": [{"type": "leaf", "key": 0, "value": 1}],
                },
            },
        },
    }


@pytest.mark.parametrize(
    ("data", "said"),
    [
        ([], "the view must be an object, not list"),
        ({}, "the view has no `kind`"),
        ({"kind": 3}, "the view.kind must be string, not int 3"),
        ({"kind": "a", "state": "lost"}, "the view.state must be 'done' or 'failed', not str 'lost'"),
        ({"kind": "a", "gistLines": True}, "the view.gistLines must be integer, not bool True"),
        ({"kind": "a", "body": {"type": "poem"}}, "the view.body must have a `type` of text, markdown, .*, not 'poem'"),
        ({"kind": "a", "body": {"lines": []}}, "must have a `type` of .*, not None"),
        ({"kind": "a", "body": "text"}, "the view.body cannot be str 'text'"),
        ({"kind": "a", "body": {"type": "text"}}, "the view.body has no `lines`"),
        ({"kind": "a", "body": {"type": "text", "lines": "x"}}, "the view.body.lines must be a list, not str"),
        ({"kind": "a", "body": {"type": "text", "lines": ["x", 3]}}, r"the view.body.lines\[1\] cannot be int 3"),
        ({"kind": "a", "inside": [{"label": "x"}]}, r"the view.inside\[0\] has no `view`"),
        (
            {"kind": "a", "summary": {"type": "json", "text": ""}},
            "the view.summary must have a `type` of cut, not 'json'",
        ),
    ],
)
def test_json_that_is_no_view_is_an_error_that_says_where(data: Any, said: str):
    with pytest.raises(FormatError, match=said):
        view_from_json(data)


def test_what_nobody_knows_is_passed_over():
    assert view_from_json({"kind": "a", "later": 1, "body": {"type": "text", "lines": [], "x": 2}}) == views.View(
        "a", body=views.Text(())
    )


# The guide


def test_the_schema_in_the_documentation_is_the_real_one():
    published = json.loads((DOCS / "view.schema.json").read_text(encoding="utf-8"))
    assert published == view_schema()


def test_the_guide_lists_every_view_and_every_kind():
    guide = (DOCS / "results.md").read_text(encoding="utf-8")
    kinds, types = (
        [line for line in guide.partition(head)[2].partition("\n\n")[0].splitlines() if line.startswith("| `")]
        for head in ("| kind |", "| type |")
    )
    told = {line.split("|")[1].strip(" `"): line.split("|")[2] for line in types}
    fields = {kind: {name.strip(" `") for name in row.split(",")} for kind, row in told.items()}
    known = [view_schema()["$defs"][each.__name__]["properties"] for each in get_args(ViewBody)]
    assert fields == {each["type"]["const"]: set(each) - {"type"} for each in known}
    assert {line.split("|")[1].strip(" `") for line in kinds} == set(BODY_BUILDERS_BY_KIND)


# Bounds


LARGE: dict[str, Callable[[], Any]] = {
    "text": lambda: results.text("a line\n" * 1_000_000),
    "line": lambda: results.text("x" * 20_000_000, summary="s"),
    "markdown": lambda: results.text("# x\n" * 500_000, markdown=True),
    "table": lambda: results.table([{"n": n, "x": "y" * 50} for n in range(100_000)], summary="s"),
    "columns": lambda: [{f"k{n}": "v" * 100 for n in range(5000)}] * 3,
    "cell": lambda: [{"a": {"b": "x" * 20_000_000}}],
    "tree": lambda: {str(n): {"x": list(range(20))} for n in range(20_000)},
    "key": lambda: {"k" * 5_000_000: ["v" * 5_000_000] * 3},
    "raw": lambda: results.structured({str(n): "x" * 100 for n in range(100_000)}, summary="s", preferred_view="raw"),
    "raw text": lambda: results.structured({"x": "y" * 20_000_000}, summary="s", preferred_view="raw"),
    "log": lambda: results.terminal("c" * 5_000_000, "line\n" * 1_000_000, summary="s" * 5_000_000),
    "diff": lambda: Result("diff", {"path": "a", "original": "x\n" * 20_000, "modified": "y\n" * 20_000}),
    "new file": lambda: Result("diff", {"modified": "y\n" * 1_000_000}),
    "patch": lambda: Result("git.diff", "+x\n" * 1_000_000, mime_type="text/x-diff"),
    "hunks": lambda: Result("diff", {"hunks": [{"lines": ["+x" * 1000] * 100_000}]}),
    "files": lambda: results.file_list("d" * 5_000_000, [{"name": f"f{n}", "type": "file"} for n in range(100_000)]),
    "status": lambda: Result("git.status", {"branch": "b" * 5_000_000, "untracked": [str(n) for n in range(100_000)]}),
    "error": lambda: results.error("m\n" * 1_000_000, details=list(range(100_000))),
    "question": lambda: results.question("q\n" * 1_000_000, options=["o" * 100] * 10_000, answer="a" * 5_000_000),
    "image": lambda: Result("image", {"base64": "A" * 20_000_000, "alt": "x" * 5_000_000}, mime_type="image/png"),
    "inside": lambda: [results.text("x\n" * 100_000) for _ in range(300)],
    "deep inside": lambda: [[results.text("x\n" * 1000)] * 30 for _ in range(30)],
}


@cache
def large(name: str) -> Any:
    return LARGE[name]()


@pytest.mark.parametrize("name", LARGE)
def test_a_view_is_small_whatever_the_data_is(name: str):
    written = json.dumps(view_json(view(large(name), rows=50, characters=200)))
    assert len(written) < 300_000
    assert any(told in written for told in ('"more', '"cut"', '"size"'))


def test_how_much_is_left_out_is_told():
    @cache
    def more(name: str) -> Any:
        return view(large(name), rows=50, characters=200).body

    assert more("text").more == 999_950
    assert more("line").lines == (views.Cut("x" * 200, 19_999_800),)
    assert more("table").more == 99_950
    assert (len(more("columns").columns), more("columns").more_columns) == (1000, 4000)
    assert more("cell").rows == ((views.Json('{"b": "' + "x" * 193, cut=True),),)
    assert (more("tree").root.more, more("tree").more, more("tree").at_least) == (19_997, 10_000, True)
    assert (more("raw").more, more("raw").at_least) == (10_000, True)
    assert more("raw text").lines[1] == views.Cut('  "x": "' + "y" * 192, 19_999_809)
    assert (len(more("log").tail), more("log").more) == (50, 999_900)
    assert (more("diff").more, more("diff").more_rows) == (40_001 - 99, 20_001 - 50)
    assert (more("new file").more, more("patch").more, more("hunks").more) == (999_950, 999_950, 99_951)
    assert (more("files").more, more("status").more) == (99_950, 99_950)
    assert (more("image").data, more("image").size) == ("", 15_000_000)
    inside = view(large("inside"), rows=50)
    assert (len(inside.inside), inside.more_inside) == (50, 250)
    assert all(each.view.body == views.Text(("x",), 0, 99_999) for each in inside.inside)


@given(json_values, st.integers(1, 60))
def test_json_in_a_view_is_json(value: Any, limit: int):
    value = Result("x", value).data
    shown = view(Result("x", value, display=results.Display("raw"))).body
    if isinstance(shown, views.Code):
        assert "\n".join(map(str, shown.lines)) == json.dumps(value, ensure_ascii=False, indent=2)
    cell = view([{"a": [value]}], characters=limit).body
    assert isinstance(cell, views.Table)
    written = cell.rows[0][0]
    whole = json.dumps([value], ensure_ascii=False)
    assert isinstance(written, views.Json)
    assert (written.text == whole) if not written.cut else whole.startswith(written.text)
