"""What is seen of the results of the built-in tools, and of those of MCP servers."""

from __future__ import annotations

import asyncio
import subprocess
from pathlib import Path
from typing import Any

import pytest

from antiphon import views
from antiphon.conversation import Conversation, ToolCall
from antiphon.results import Result
from antiphon.results.protocols import from_mcp
from antiphon.tools import execute
from antiphon.tools.builtin import all_tools
from antiphon.tools.process_runner import find_program
from antiphon.views import headline, view
from tests.terminal.cases import CASES, PIXEL


def seen(root: Path, name: str, **arguments: Any) -> views.View:
    tool = next(tool for tool in all_tools(root) if tool.name == name)
    answer = asyncio.run(execute(tool, ToolCall("c1", name, arguments), Conversation())).result
    return view(answer)


@pytest.fixture
def place(tmp_path: Path) -> Path:
    (tmp_path / "a.py").write_text("one\ntwo\n")
    (tmp_path / "sub").mkdir()
    return tmp_path


@pytest.mark.parametrize(
    ("name", "arguments", "type_"),
    [
        ("read_file", {"path": "a.py"}, "code"),
        ("write_file", {"path": "b.py", "content": "x\n"}, "diff"),
        ("edit_file", {"path": "a.py", "old": "two", "new": "2"}, "diff"),
        ("list_files", {}, "files"),
        ("glob_files", {"pattern": "*.py"}, "files"),
        ("grep_files", {"pattern": "two"}, "table"),
        ("run_shell", {"command": "echo hi"}, "output"),
        ("read_file", {"path": "missing"}, "failure"),
    ],
)
def test_every_built_in_tool_is_seen_as_what_it_is(place: Path, name: str, arguments: dict[str, Any], type_: str):
    found = seen(place, name, **arguments)
    assert found.body is not None
    assert (found.body.type, found.unfit) == (type_, "")


@pytest.mark.skipif(find_program("git") is None, reason="there is no git")
def test_git_is_seen_as_status_diff_and_log(place: Path):
    def git(*command: str) -> None:
        settings = ("-c", "user.name=a", "-c", "user.email=a@b")
        subprocess.run(["git", *settings, *command], cwd=place, check=True, capture_output=True)

    git("init", "-b", "main")
    git("add", "a.py")
    git("commit", "-m", "first")
    (place / "a.py").write_text("one\n2\n")
    status, diff, log = (seen(place, name).body for name in ("git_status", "git_diff", "git_log"))
    assert status == views.Status("main", files=(views.Changed("modified", "a.py"),))
    assert isinstance(diff, views.Diff)
    assert [(line.mark, line.text, line.old, line.new) for line in diff.hunks[-1].lines] == [
        (" ", "one", 1, 1),
        ("-", "two", 2, None),
        ("+", "2", None, 2),
    ]
    assert isinstance(log, views.Table)
    assert [row[3] for row in log.rows] == ["first"]


def test_no_kind_that_has_a_look_of_its_own_is_only_a_tree():
    for name, result in CASES.items():
        body = view(result).body
        if result.kind != "structured" and not name.startswith(("custom", "kind_with")):
            assert not isinstance(body, views.Tree) or result.display.hidden, name


# MCP


def content(*blocks: dict[str, Any], **more: Any) -> views.View:
    return view(from_mcp({"content": list(blocks), **more}))


SAID = {"type": "text", "text": "first\nsecond"}
PICTURE = {"type": "image", "data": PIXEL, "mimeType": "image/png"}


def test_the_text_of_an_mcp_server_is_text():
    seen = content(SAID)
    assert (seen.kind, seen.summary, seen.state, seen.body) == (
        "mcp.result",
        "first",
        "done",
        views.Text(("first", "second")),
    )
    assert content(SAID, isError=True).state == "failed"


def test_several_blocks_are_seen_each_as_itself():
    link = {"type": "resource_link", "uri": "file:///a", "name": "a"}
    seen = content(SAID, PICTURE, link)
    assert seen.body is None
    assert [each.view.body.type for each in seen.inside if each.view.body] == ["text", "image", "tree"]


def test_structured_content_is_seen_by_its_shape_and_once():
    rows = [{"a": 1}, {"a": 2}]
    seen = content({"type": "text", "text": '[{"a": 1}, {"a": 2}]'}, structuredContent=rows)
    assert isinstance(seen.body, views.Table)
    both = content(SAID, structuredContent=rows)
    assert [each.view.body.type for each in both.inside if each.view.body] == ["text", "table"]


def test_what_is_no_content_is_a_tree():
    assert isinstance(view(from_mcp({"content": 3})).body, views.Tree)
    assert isinstance(content({"type": "image", "data": ""}).body, views.Tree)


def test_the_text_of_a_resource_is_seen_by_its_type():
    seen = content({"type": "resource", "resource": {"uri": "ui://a", "mimeType": "text/html", "text": "<p>hi"}})
    assert seen.body == views.Code(("<p>hi",), "html")
    assert content({"type": "resource", "resource": {"uri": "file:///a", "text": "plain"}}).body == views.Text(
        ("plain",)
    )
    assert isinstance(content({"type": "resource", "resource": {"uri": "file:///a", "blob": "AAAA"}}).body, views.Tree)


def test_a_line_about_blocks_says_what_the_first_says():
    assert headline(Result("mcp.result", {"content": [SAID, PICTURE]})).gist == "first"
    assert headline(Result("mcp.result", {"content": [PICTURE, SAID]})).gist == "image"


@pytest.mark.parametrize("kind", ["text", "acme.note"])
@pytest.mark.parametrize("mime_type", ["text/html", "Text/HTML; charset=utf-8", "application/xml;x=y"])
def test_text_of_a_language_is_code_in_it(kind: str, mime_type: str):
    seen = view(Result(kind, {"content": "<p>"}, mime_type=mime_type)).body
    assert isinstance(seen, views.Code)
    assert seen.language in ("html", "xml")


def test_what_is_said_beside_a_type_does_not_matter():
    assert isinstance(view(Result("text", {"content": "# a"}, mime_type="text/markdown; x=y")).body, views.Markdown)
