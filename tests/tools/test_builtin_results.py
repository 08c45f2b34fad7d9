"""What people see of the built-in tools, beside the text that the model reads."""

from __future__ import annotations

import asyncio
import subprocess
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from antiphon.conversation import Conversation, ToolCall, ToolResult
from antiphon.results import Display, Location, Result
from antiphon.tools import Tool, execute
from antiphon.tools.builtin import all_tools, ask_user_tool, git_tools, now, shell_tool
from antiphon.tools.builtin import file_diffs as changes
from antiphon.tools.builtin import git_output as porcelain
from antiphon.tools.builtin import search_results as findings
from antiphon.tools.process_runner import find_program


def answer(tools: list[Tool], name: str, /, **arguments: Any) -> ToolResult:
    tool = next(tool for tool in tools if tool.name == name)
    result = asyncio.run(execute(tool, ToolCall("c1", name, arguments), Conversation())).result
    assert result.call_id == "c1"
    return result


def seen(root: Path, name: str, /, **arguments: Any) -> Result:
    """The result of a built-in tool that works on a directory."""
    result = answer(all_tools(root), name, **arguments)
    assert not result.is_error, result.text
    assert result.semantic is not None
    assert Result.from_json(result.semantic.to_json()) == result.semantic
    return result.semantic


class TestFiles:
    def test_a_file_is_its_lines_in_its_language(self, tmp_path: Path) -> None:
        (tmp_path / "a.py").write_text("one\ntwo\nthree\n")
        whole = seen(tmp_path, "read_file", path=str(tmp_path / "a.py"))
        assert (whole.kind, whole.summary, whole.display.language) == ("file_content", "a.py, 3 lines", "python")
        assert whole.data == {"path": "a.py", "content": "one\ntwo\nthree\n", "size": 14}
        part = seen(tmp_path, "read_file", path="a.py", start_line=2, end_line=2)
        assert (part.data["content"], part.summary) == ("two\n", "a.py, lines 2 to 2")
        assert part.locations == (Location("a.py", 2),)

    def test_notes_for_the_model_are_no_part_of_the_file(self, tmp_path: Path) -> None:
        (tmp_path / "a.txt").touch()
        assert seen(tmp_path, "read_file", path="a.txt").data["content"] == ""
        assert seen(tmp_path, "read_file", path="a.txt").summary == "a.txt, empty"

    def test_a_new_file_and_one_overwritten_are_diffs(self, tmp_path: Path) -> None:
        made = seen(tmp_path, "write_file", path="x/a.py", content="one\n")
        assert made.data == {"path": "x/a.py", "modified": "one\n", "isNew": True}
        assert (made.kind, made.summary) == ("diff", "new file, 1 line")
        written = seen(tmp_path, "write_file", path="x/a.py", content="one\ntwo\n")
        assert written.data == {"path": "x/a.py", "original": "one\n", "modified": "one\ntwo\n", "isNew": False}
        assert written.summary == "+1 -0 lines"

    @pytest.mark.parametrize(
        ("before", "why"),
        [(b"\x89PNG\r\n\x1a\n", "a PNG image"), (b"a\0b", "binary data"), (b"x" * 1_000_001, "1,000,001 bytes")],
    )
    def test_what_cannot_be_shown_is_overwritten_all_the_same(self, tmp_path: Path, before: bytes, why: str) -> None:
        (tmp_path / "f").write_bytes(before)
        result = seen(tmp_path, "write_file", path="f", content="a\nb")
        assert result.data == {"path": "f", "modified": "a\nb", "isNew": False}
        assert result.summary == f"now 2 lines; the old content is not shown: {why}"
        assert (tmp_path / "f").read_text() == "a\nb"

    def test_a_file_that_cannot_be_read_can_be_written(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        def refused(_: object) -> Any:
            raise PermissionError(13, "no")

        (tmp_path / "f").write_text("old")
        monkeypatch.setattr(changes.SandboxPath, "open", refused)
        result = seen(tmp_path, "write_file", path="f", content="new")
        assert result.summary.endswith("it cannot be read")
        assert (tmp_path / "f").read_text() == "new"

    def test_an_edit_is_a_diff_at_its_line(self, tmp_path: Path) -> None:
        (tmp_path / "a.txt").write_bytes(b"one\r\ntwo\r\n")
        result = seen(tmp_path, "edit_file", path="a.txt", old="two", new="2\n3")
        assert result.data["original"] == "one\r\ntwo\r\n"
        assert result.data["modified"] == "one\r\n2\r\n3\r\n"
        assert (result.summary, result.locations) == ("+2 -1 lines", (Location("a.txt", 2),))

    def test_of_a_large_file_only_the_piece_is_kept(self, tmp_path: Path) -> None:
        (tmp_path / "a.txt").write_text("filler\n" * 200_000 + "old\n")
        result = seen(tmp_path, "edit_file", path="a.txt", old="old", new="new")
        assert (result.data["original"], result.data["modified"]) == ("old", "new")
        assert result.summary.startswith("replaced in 1 place; only")
        assert result.locations == (Location("a.txt", 200_001),)


class TestFindings:
    def test_a_directory_has_types_and_sizes(self, tmp_path: Path) -> None:
        (tmp_path / "sub").mkdir()
        (tmp_path / "sub" / "b.txt").write_text("b")
        (tmp_path / "a.txt").write_text("aaa")
        (tmp_path / "l").symlink_to("a.txt")
        result = seen(tmp_path, "list_files", depth=2)
        assert (result.kind, result.data["path"], result.summary) == ("file_list", ".", "4 entries")
        assert result.data["entries"] == [
            {"name": "a.txt", "type": "file", "size": 3},
            {"name": "l", "type": "symlink"},
            {"name": "sub", "type": "directory"},
            {"name": "sub/b.txt", "type": "file"},
        ]
        below = seen(tmp_path, "glob_files", pattern="*.txt", path="sub")
        assert below.data == {"path": "sub", "entries": [{"name": "b.txt", "type": "file", "size": 1}]}

    def test_a_listing_says_that_it_is_cut_or_empty(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        assert seen(tmp_path, "list_files").summary == "the directory is empty"
        assert seen(tmp_path, "glob_files", pattern="*.x").summary == "no file matches `*.x`"
        monkeypatch.setattr(findings, "_MAX_LISTED", 2)
        for name in "abc":
            (tmp_path / name).touch()
        result = seen(tmp_path, "list_files")
        assert (result.data["truncated"], result.summary) == (True, "2 of 3 entries")

    def test_matches_are_a_table(self, tmp_path: Path) -> None:
        (tmp_path / "sub").mkdir()
        (tmp_path / "sub" / "a:1.txt").write_text("no\nneedle: x\nneedle\n")
        result = seen(tmp_path, "grep_files", pattern="needle", path="sub")
        assert (result.kind, result.summary) == ("table", "2 matches")
        assert [column["key"] for column in result.data["columns"]] == ["file", "line", "text"]
        assert result.data["rows"][0] == {"file": "sub/a:1.txt", "line": 2, "text": "needle: x"}
        assert result.display.field_types["file"] == "path"
        few = seen(tmp_path, "grep_files", pattern="needle", max_matches=1)
        assert (len(few.data["rows"]), few.summary) == (1, "the first 1 matches; there are more")
        none = seen(tmp_path, "grep_files", pattern="nothing")
        assert (none.data["rows"], none.summary) == (
            [],
            "no line matches `nothing`; files that look like secrets are not searched",
        )


def test_what_is_too_long_for_the_model_is_cut_and_people_see_it_whole(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("needle and more\n" * 5_000)
    tool = next(tool for tool in all_tools(tmp_path) if tool.name == "grep_files")
    call = ToolCall("c1", "grep_files", {"pattern": "needle", "max_matches": 5_000})
    done = asyncio.run(execute(tool, call, Conversation()))
    result = done.result
    assert len(result.text) < tool.output_limit + 200
    assert done.kept[result.handle].count("\n") == 4_999
    assert result.semantic is not None
    assert len(result.semantic.data["rows"]) == 5_000


class TestShell:
    def test_a_command_with_its_output_and_its_end(self, tmp_path: Path) -> None:
        result = seen(tmp_path, "run_shell", command="echo one; echo two >&2; exit 3")
        assert (result.kind, result.summary, result.title) == ("terminal", "exit 3, 2 lines", result.data["command"])
        assert (result.data["output"], result.data["exitCode"]) == ("one\ntwo", 3)
        killed = seen(tmp_path, "run_shell", command="kill -SEGV $$")
        assert (killed.data["exitCode"], killed.summary) == (-11, "ended by SIGSEGV, 0 lines")

    def test_what_was_dropped_is_counted(self, tmp_path: Path) -> None:
        result = answer([shell_tool(tmp_path, output_limit=100)], "run_shell", command="seq 1 1000").semantic
        assert result is not None
        assert result.data["dropped"] == len("\n".join(map(str, range(1, 1001)))) + 1 - 100

    def test_a_command_that_was_ended_is_an_error(self, tmp_path: Path) -> None:
        result = answer([shell_tool(tmp_path, timeout=0.2)], "run_shell", command="sleep 90")
        assert (result.is_error, result.semantic) == (True, None)


def test_a_question_has_its_answer() -> None:
    result = answer([ask_user_tool(str.upper)], "ask_user", question="why?")
    assert result.semantic is not None
    assert (result.semantic.kind, result.semantic.data) == ("question", {"question": "why?", "answer": "WHY?"})


def test_the_time_is_text() -> None:
    result = answer([now], "now")
    assert result.semantic is not None
    assert result.semantic.data == {"content": result.text}
    assert result.semantic.summary == result.text


@pytest.mark.skipif(find_program("git") is None, reason="git is not installed")
class TestGit:
    @pytest.fixture
    def repository(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
        monkeypatch.setenv("HOME", str(tmp_path))
        monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(tmp_path / "gitconfig"))
        settings = (
            "[user]\n name = Ann: B\n email = a@example.org\n[init]\n defaultBranch = main\n[color]\n ui = always\n"
        )
        (tmp_path / "gitconfig").write_text(settings)
        root = tmp_path / "repository"
        root.mkdir()
        self.git(root, "init", "-q")
        for name in ("a.txt", "b.txt", "-- c.txt"):
            (root / name).write_text("-- one\ntwo\n")
        self.git(root, "add", ".")
        self.git(root, "commit", "-qm", "First: a")
        return root

    def git(self, where: Path, *command: str) -> None:
        subprocess.run(["git", *command], cwd=where, check=True, capture_output=True)

    def test_a_clean_status_is_collapsed(self, repository: Path) -> None:
        result = seen(repository, "git_status")
        assert result.data == {
            "branch": "main", "ahead": 0, "behind": 0, "staged": [], "modified": [], "untracked": []
        }  # fmt: skip
        assert (result.kind, result.summary, result.display) == ("git.status", "clean", Display("tree", collapsed=True))

    def test_a_status_has_its_files_in_groups(self, repository: Path) -> None:
        self.git(repository, "config", "color.status", "always")
        (repository / "a.txt").write_text("staged\n")
        self.git(repository, "mv", "--", "-- c.txt", "moved to.txt")
        self.git(repository, "add", "a.txt")
        (repository / "a.txt").write_text("and changed\n")
        (repository / "b.txt").unlink()
        (repository / "ü \t.txt").touch()
        result = seen(repository, "git_status")
        assert sorted(result.data["staged"]) == ["a.txt", "moved to.txt"]
        assert (result.data["modified"], result.data["untracked"]) == (["a.txt", "b.txt"], ["ü \t.txt"])
        assert (result.summary, result.display.collapsed) == ("2 staged, 2 modified, 1 untracked", False)

    def test_how_far_a_branch_is_from_the_other(self, repository: Path) -> None:
        self.git(repository, "branch", "other")
        self.git(repository, "commit", "-q", "--allow-empty", "-m", "Second")
        self.git(repository, "branch", "-u", "other")
        assert seen(repository, "git_status").data["ahead"] == 1
        self.git(repository, "checkout", "-q", "--detach")
        assert seen(repository, "git_status").data["branch"] == ""

    def test_conflicts_are_seen(self, repository: Path) -> None:
        self.git(repository, "checkout", "-qb", "other")
        for branch in ("other", "main"):
            self.git(repository, "checkout", "-q", branch)
            (repository / "a.txt").write_text(f"{branch}\n")
            self.git(repository, "commit", "-qam", branch)
        subprocess.run(["git", "merge", "other"], cwd=repository, capture_output=True, check=False)
        result = seen(repository, "git_status")
        assert (result.data["modified"], result.data["conflicted"]) == (["a.txt"], ["a.txt"])
        assert result.summary == "1 modified, 1 in conflict"

    def test_a_diff_is_counted(self, repository: Path) -> None:
        (repository / "a.txt").write_text("++ 1\ntwo\n")
        (repository / "b.txt").write_text("-- one\ntwo\nthree\n")
        result = seen(repository, "git_diff")
        assert (result.kind, result.summary) == ("git.diff", "+2 -1 lines in 2 files")
        assert result.data["content"].startswith("diff --git a/a.txt b/a.txt")
        assert (result.display.preferred_view, result.display.language) == ("diff", "diff")
        nothing = seen(repository, "git_diff", staged=True)
        assert (nothing.data, nothing.summary) == ({"content": ""}, "nothing is staged")

    def test_a_cut_diff_says_so(self, repository: Path) -> None:
        (repository / "a.txt").write_text("long line\n" * 20_000)
        result = seen(repository, "git_diff")
        assert result.data["truncated"] is True
        assert "[cut" not in result.data["content"]
        assert result.summary.endswith("lines in 1 file, and more")

    def test_the_log_is_a_table(self, repository: Path) -> None:
        result = seen(repository, "git_log")
        (row,) = result.data["rows"]
        assert (result.kind, row["author"], row["subject"]) == ("table", "Ann: B", "First: a")
        text = answer(git_tools(repository), "git_log").text
        assert text == f"{row['hash']} {row['date']} Ann: B: First: a"

    def test_a_repository_without_commits(self, tmp_path: Path, repository: Path) -> None:
        assert repository
        (tmp_path / "new").mkdir()
        self.git(tmp_path / "new", "init", "-q")
        assert seen(tmp_path / "new", "git_status").data["branch"] == "main"
        log = seen(tmp_path / "new", "git_log")
        assert (log.data["rows"], log.summary) == ([], "there are no commits yet")


class TestPorcelain:
    @pytest.mark.parametrize(
        ("line", "expected"),
        [
            ("main", ("main", 0, 0)),
            ("a/b-1.x...origin/a/b-1.x", ("a/b-1.x", 0, 0)),
            ("main...origin/main [ahead 1, behind 22]", ("main", 1, 22)),
            ("main...origin/main [behind 3]", ("main", 0, 3)),
            ("main...origin/main [gone]", ("main", 0, 0)),
            ("No commits yet on main", ("main", 0, 0)),
            ("No commits yet on main...origin/main [gone]", ("main", 0, 0)),
            ("HEAD (no branch)", ("", 0, 0)),
        ],
    )
    def test_branches(self, line: str, expected: tuple[str, int, int]) -> None:
        data = porcelain.parse_status(f"## {line}", cut=False).data
        assert (data["branch"], data["ahead"], data["behind"]) == expected

    @pytest.mark.parametrize(
        ("line", "group", "path"),
        [
            (' M "a b"', "modified", "a b"),
            (r'?? "q\"\\\t\303\244"', "untracked", 'q"\\\tä'),
            ('R  "old name" -> new', "staged", "new"),
            ('R  old -> "new name"', "staged", "new name"),
            ("?? a->b", "untracked", "a->b"),
            ('?? "x -> y"', "untracked", "x -> y"),
        ],
    )
    def test_paths(self, line: str, group: str, path: str) -> None:
        assert porcelain.parse_status(line, cut=False).data[group] == [path]

    def test_the_line_where_it_was_cut_is_left_out(self) -> None:
        data = porcelain.parse_status("## main\n?? a\n?? half of a na", cut=True).data
        assert (data["untracked"], data["truncated"]) == (["a"], True)
        assert porcelain.parse_commits("1\x002020-01-01\0A\0s\n2\x002020", cut=True) == [
            {"hash": "1", "date": "2020-01-01", "author": "A", "subject": "s"}
        ]

    @given(st.text(alphabet=st.sampled_from('#?MRU "\\->.[]\n\0ahead 1ä7'), max_size=60), st.booleans())
    def test_nothing_that_git_may_print_is_an_error(self, text: str, cut: bool) -> None:
        for result in (porcelain.parse_status(text, cut), porcelain.parse_diff(text, cut, "nothing")):
            assert result.summary
        porcelain.make_log_result(porcelain.parse_commits(text, cut), "nothing")
