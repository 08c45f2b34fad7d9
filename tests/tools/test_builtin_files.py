"""Reading, writing and editing files as a model does."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from antiphon.conversation import Conversation, ToolCall
from antiphon.tools import Policy, execute
from antiphon.tools.builtin import file_tools
from tests.tools.calls import Failed, call


def ask(root: Path, name: str, /, **arguments: object) -> str:
    return call(file_tools([root]), name, **arguments)


class TestReading:
    @pytest.mark.parametrize(
        "name", [".env", ".env.local", "prod.env", ".ssh/config", ".netrc", "ID_RSA", "a.pem", ".git/config", "link"]
    )
    def test_what_looks_like_a_secret_is_asked_about(self, tmp_path: Path, name: str) -> None:
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        (tmp_path / ".env").write_text("KEY=hunter2")
        if name == "link":
            path.symlink_to(".env")
        else:
            path.write_text("KEY=hunter2")
        (tmp_path / "a.txt").write_text("KEY=harmless")
        tools = {each.name: each for each in file_tools([tmp_path])}
        for tool in ("read_file", "grep_files"):
            call = ToolCall("1", tool, {"path": name, "pattern": "KEY"})
            assert Policy().decide(call, tools[tool]) == "ask"
            assert Policy().decide(ToolCall("1", tool, {"path": "a.txt"}), tools[tool]) == "allow"
        call_all = ToolCall("1", "grep_files", {"pattern": "KEY"})
        result = asyncio.run(execute(tools["grep_files"], call_all, Conversation())).result
        found, left_out = result.text.splitlines()
        assert found == "a.txt:1:KEY=harmless"
        assert left_out.startswith("[not searched, because they may hold secrets: ")
        assert ".env" in left_out

    @pytest.mark.parametrize(
        ("path", "said"),
        [
            ("settings.toml", "did you mean `config/settings.toml`?"),
            ("src/settings.toml", "did you mean `config/settings.toml`?"),
            ("readme", "did you mean `README.md` or `docs/readme.txt`?"),
            ("config/setings.toml", "did you mean `config/settings.toml`?"),
        ],
    )
    def test_a_path_with_nothing_at_it_says_what_may_be_meant(self, tmp_path: Path, path: str, said: str) -> None:
        for name in ("config/settings.toml", "docs/readme.txt", "README.md", ".git/settings.toml"):
            (tmp_path / name).parent.mkdir(exist_ok=True)
            (tmp_path / name).write_text("x = 1")
        for tool, more in (("read_file", {}), ("edit_file", {"old": "1", "new": "2"})):
            with pytest.raises(Failed) as failed:
                ask(tmp_path, tool, path=path, **more)
            assert str(failed.value) == f"there is no `{path}`; {said}"
        with pytest.raises(Failed, match=r"there is no `entirely/else`$"):
            ask(tmp_path, "read_file", path="entirely/else")

    def test_a_small_file_is_its_text_and_nothing_else(self, tmp_path: Path) -> None:
        (tmp_path / "a.txt").write_text("one\ntwo\n")
        assert ask(tmp_path, "read_file", path="a.txt") == "one\ntwo\n"

    @pytest.mark.parametrize(
        ("start", "end", "expected"),
        [
            (2, 3, "[lines 2 to 3; more from start_line=4]\ntwo\nthree\n"),
            (4, None, "[lines 4 to 5]\nfour\nfive"),
            (5, 99, "[lines 5 to 5]\nfive"),
            (1, 5, "one\ntwo\nthree\nfour\nfive"),
        ],
    )
    def test_ranges_say_what_they_are(self, tmp_path: Path, start: int, end: int | None, expected: str) -> None:
        (tmp_path / "a.txt").write_text("one\ntwo\nthree\nfour\nfive")
        assert ask(tmp_path, "read_file", path="a.txt", start_line=start, end_line=end) == expected

    @pytest.mark.parametrize(
        ("start", "end", "words"), [(0, None, "from 1"), (3, 2, "not before"), (7, None, "only 2 lines")]
    )
    def test_ranges_that_are_none_are_explained(self, tmp_path: Path, start: int, end: int | None, words: str) -> None:
        (tmp_path / "a.txt").write_text("one\ntwo")
        with pytest.raises(Failed, match=words):
            ask(tmp_path, "read_file", path="a.txt", start_line=start, end_line=end)

    def test_a_long_file_can_be_read_on_to_its_end(self, tmp_path: Path) -> None:
        whole = "".join(f"line {number} ä\n" for number in range(1, 9_000))
        (tmp_path / "long.txt").write_text(whole)
        read, start = "", 1
        while start:
            note, _, text = ask(tmp_path, "read_file", path="long.txt", start_line=start).partition("\n")
            read += text
            start = int(note.partition("start_line=")[2].rstrip("]") or 0)
        assert read == whole

    def test_only_as_much_is_read_as_needed(self, tmp_path: Path) -> None:
        with open(tmp_path / "sparse.txt", "wb") as stream:
            stream.write(b"start\n" * 2_000)
            stream.truncate(1 << 42)
        assert ask(tmp_path, "read_file", path="sparse.txt", end_line=2).endswith("start\nstart\n")

    def test_a_line_too_long_is_cut_and_the_next_can_be_read(self, tmp_path: Path) -> None:
        (tmp_path / "min.js").write_text("é" * 100_000 + "\nnext\n")
        text = ask(tmp_path, "read_file", path="min.js")
        assert text.startswith("[lines 1 to 1; more from start_line=2; line 1 is too long")
        assert "�" not in text
        assert ask(tmp_path, "read_file", path="min.js", start_line=2) == "[lines 2 to 2]\nnext\n"

    def test_what_is_no_utf_8_is_noted(self, tmp_path: Path) -> None:
        (tmp_path / "latin.txt").write_bytes("café\n".encode("latin-1"))
        assert ask(tmp_path, "read_file", path="latin.txt").startswith("[not all of it is UTF-8")
        (tmp_path / "own.txt").write_text("a � of its own")
        assert ask(tmp_path, "read_file", path="own.txt") == "a � of its own"

    @pytest.mark.parametrize(
        ("content", "kind"),
        [
            (b"\x89PNG\r\n\x1a\n", "PNG image"),
            (b"\x7fELF...", "program"),
            (b"a\0b", "binary"),
            ("hi".encode("utf-16"), "UTF-16"),
        ],
    )
    def test_what_is_no_text_is_described(self, tmp_path: Path, content: bytes, kind: str) -> None:
        (tmp_path / "x").write_bytes(content)
        with pytest.raises(Failed, match=rf"{kind}.*{len(content)} bytes"):
            ask(tmp_path, "read_file", path="x")

    def test_an_empty_file_is_said_to_be(self, tmp_path: Path) -> None:
        (tmp_path / "x").touch()
        assert ask(tmp_path, "read_file", path="x") == "[the file is empty]"


class TestWriting:
    def test_files_are_made_and_replaced(self, tmp_path: Path) -> None:
        assert ask(tmp_path, "write_file", path="x/new.txt", content="ä\n") == "Created x/new.txt: 1 line, 3 bytes"
        assert ask(tmp_path, "write_file", path="x/new.txt", content="b\r\nc") == "Wrote x/new.txt: 2 lines, 4 bytes"
        assert (tmp_path / "x" / "new.txt").read_bytes() == b"b\r\nc"

    def test_text_that_no_file_can_hold_is_refused(self, tmp_path: Path) -> None:
        tools = {tool.name: tool for tool in file_tools([tmp_path])}
        with pytest.raises(Exception, match="surrogate"):
            tools["write_file"]("x", "\ud800")
        assert not (tmp_path / "x").exists()

    def test_they_ask_before_they_change_anything(self, tmp_path: Path) -> None:
        for tool in file_tools([tmp_path]):
            writes = tool.name in ("write_file", "edit_file")
            assert (tool.destructive, tool.read_only, tool.concurrent) == (writes, not writes, not writes)


class TestEditing:
    def edit(self, root: Path, before: bytes, old: str, new: str, **arguments: object) -> bytes:
        (root / "f").write_bytes(before)
        ask(root, "edit_file", path="f", old=old, new=new, **arguments)
        return (root / "f").read_bytes()

    def fails(self, root: Path, before: bytes, old: str, new: str) -> str:
        with pytest.raises(Failed) as failed:
            self.edit(root, before, old, new)
        assert (root / "f").read_bytes() == before
        return str(failed.value)

    def test_the_one_match_is_replaced(self, tmp_path: Path) -> None:
        assert self.edit(tmp_path, "größe = 1\nb = 2".encode(), "größe = 1", "größe = 3") == "größe = 3\nb = 2".encode()
        assert self.edit(tmp_path, b"no end", "end", "newline") == b"no newline"
        assert self.edit(tmp_path, b"gone\nkept", "gone\n", "") == b"kept"

    def test_several_matches_are_counted_and_named(self, tmp_path: Path) -> None:
        message = self.fails(tmp_path, b"x\ny\nx\n\nx\n", "x", "z")
        assert "3 times, in lines 1, 3, 5" in message
        assert "2 times" in self.fails(tmp_path, b"aaa", "aa", "b")

    def test_all_are_replaced_on_demand(self, tmp_path: Path) -> None:
        assert self.edit(tmp_path, b"x\ny\nx\n", "x", "xx", replace_all=True) == b"xx\ny\nxx\n"
        assert "3 replacements, in lines 1, 2, 3" in ask(
            tmp_path, "edit_file", path="f", old="\n", new=";\n", replace_all=True
        )

    def test_a_missing_match_is_explained(self, tmp_path: Path) -> None:
        assert "`old` is not in `f`" in self.fails(tmp_path, b"abc", "x", "y")
        assert "line 2 differs from it only in white space" in self.fails(
            tmp_path, b"def f():\n\tpass\n", "    pass", "go"
        )

    def test_edits_that_are_none_are_refused(self, tmp_path: Path) -> None:
        assert "empty" in self.fails(tmp_path, b"abc", "", "x")
        assert "the same" in self.fails(tmp_path, b"abc", "b", "b")

    def test_line_ends_stay_as_they_are(self, tmp_path: Path) -> None:
        assert self.edit(tmp_path, b"a\r\nb\r\nc\r\n", "a\nb", "x\ny\nz") == b"x\r\ny\r\nz\r\nc\r\n"
        assert self.edit(tmp_path, b"a\r\nb\r\n", "b", "b\nc") == b"a\r\nb\r\nc\r\n"
        assert self.edit(tmp_path, b"a\r\nb\r\nc\nd\n", "c\nd", "e\nf") == b"a\r\nb\r\ne\nf\n"
        assert self.edit(tmp_path, b"a\nb\n", "a\r\nb", "c\r\nd") == b"c\nd\n"

    def test_bytes_that_are_no_text_survive(self, tmp_path: Path) -> None:
        assert self.edit(tmp_path, b"caf\xe9 = 1\n", "= 1", "= 2") == b"caf\xe9 = 2\n"

    @settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=60, deadline=None)
    @given(
        st.text("ab \né", max_size=12),
        st.text("ab \né", min_size=1, max_size=4),
        st.text("ab\n", max_size=4),
        st.booleans(),
    )
    @example("ab\nab", "b\n", "", True)
    def test_an_edit_is_a_replacement_or_nothing(
        self, tmp_path: Path, text: str, old: str, new: str, crlf: bool
    ) -> None:
        ends = "\r\n" if crlf and "\n" in text else "\n"
        before = text.replace("\n", ends).encode()
        try:
            after = self.edit(tmp_path, before, old, new)
        except Failed:
            assert (tmp_path / "f").read_bytes() == before
            matches = sum(text.startswith(old, place) for place in range(len(text)))
            assert matches != 1 or old == new
        else:
            assert after.decode() == text.replace(old, new).replace("\n", ends)

    def test_a_file_changed_meanwhile_is_left_alone(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        from antiphon.tools.builtin import files
        from antiphon.tools.builtin import text_files as texts

        (tmp_path / "f").write_text("mine")

        def slow(*arguments: object) -> object:
            (tmp_path / "f").write_text("somebody else's")
            return texts.replace_text(*arguments)  # type: ignore[arg-type]

        monkeypatch.setattr(files, "replace_text", slow)
        with pytest.raises(Failed, match="changed by somebody else"):
            ask(tmp_path, "edit_file", path="f", old="mine", new="yours")
        assert (tmp_path / "f").read_text() == "somebody else's"


def test_escapes_are_error_results(tmp_path: Path) -> None:
    (tmp_path / "root").mkdir()
    (tmp_path / "secret").write_text("old")
    for name, arguments in {
        "read_file": {},
        "write_file": {"content": "x"},
        "edit_file": {"old": "old", "new": "x"},
    }.items():
        with pytest.raises(Failed, match="outside"):
            ask(tmp_path / "root", name, path="../secret", **arguments)
    assert (tmp_path / "secret").read_text() == "old"


@pytest.mark.parametrize("path", [".git/config", "sub/.git/hooks/pre-commit", ".GIT/config", "link/config"])
def test_files_of_git_are_read_but_not_written(tmp_path: Path, path: str) -> None:
    (tmp_path / ".git").mkdir()
    (tmp_path / "link").symlink_to(".git")
    (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
    (tmp_path / path).write_text("old")
    for tool, more in (("write_file", {"content": "new"}), ("edit_file", {"old": "old", "new": "new"})):
        with pytest.raises(Failed, match="is written by git alone"):
            ask(tmp_path, tool, path=path, **more)
    assert (tmp_path / path).read_text() == "old"
    assert ask(tmp_path, "read_file", path=path) == "old"
