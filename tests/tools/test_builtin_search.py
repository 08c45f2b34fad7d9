"""Listing, globbing and grepping, with ripgrep and without."""

from __future__ import annotations

import os
import shutil
import stat
import time
from pathlib import Path

import pytest

from antiphon.tools.builtin import file_tools
from antiphon.tools.builtin import find as search
from antiphon.tools.builtin.grep_process import matches_glob
from tests.tools.calls import Failed, call


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    root = tmp_path / "root"
    for name, text in {
        "README.md": "Hello World\nsecond line\n",
        ".hidden": "hello hidden\n",
        "src/main.py": "def hello():\r\n    return 'world'\r\n",
        "src/deep/util.py": "# nothing\nHELLO = 1",
        "node_modules/lib/index.py": "hello\n",
        ".git/config": "hello\n",
    }.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_bytes(text.encode())
    (root / "image.bin").write_bytes(b"hello\0world\nhello\n")
    (tmp_path / "outside.txt").write_text("hello from outside\n")
    (root / "link.txt").symlink_to("../outside.txt")
    (root / "up").symlink_to("..")
    return root


@pytest.fixture(params=["ripgrep", "python"])
def engine(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    if request.param == "python":
        monkeypatch.setattr(search, "find_program", lambda _: None)
    elif shutil.which("rg") is None:
        pytest.skip("ripgrep is not installed")
    return request.param


def ask(root: Path, name: str, /, **arguments: object) -> list[str]:
    return call(file_tools([root]), name, **arguments).splitlines()


class TestListing:
    def test_one_level_sorted_and_marked(self, tree: Path) -> None:
        assert ask(tree, "list_files") == [
            ".git/", ".hidden", "README.md", "image.bin", "link.txt (link)", "node_modules/", "src/", "up (link)"
        ]  # fmt: skip

    def test_deeper_levels_have_paths_that_can_be_used(self, tree: Path) -> None:
        assert ask(tree, "list_files", path="src", depth=9) == ["src/deep/", "src/deep/util.py", "src/main.py"]
        assert "node_modules/lib/" not in ask(tree, "list_files", depth=9)
        assert ask(tree, "list_files", path="node_modules") == ["node_modules/lib/"]

    def test_many_entries_are_counted(self, tmp_path: Path) -> None:
        for number in range(1_010):
            (tmp_path / f"{number:04}").touch()
        lines = ask(tmp_path, "list_files")
        assert len(lines) == 1_001
        assert lines[-1] == "[1,000 of 1,010 shown; list a directory inside]"

    def test_nothing_is_said_in_words(self, tmp_path: Path) -> None:
        assert ask(tmp_path, "list_files") == ["[the directory is empty]"]

    @pytest.mark.parametrize(
        ("path", "words"), [("none", "there is no"), ("README.md", "not a directory"), ("up", "outside")]
    )
    def test_what_cannot_be_listed_is_explained(self, tree: Path, path: str, words: str) -> None:
        with pytest.raises(Failed, match=words):
            ask(tree, "list_files", path=path)


class TestGlobbing:
    def test_names_at_any_depth_and_paths_from_the_start(self, tree: Path) -> None:
        assert ask(tree, "glob_files", pattern="*.py") == ["src/deep/util.py", "src/main.py"]
        assert ask(tree, "glob_files", pattern="src/*.py") == ["src/main.py"]
        assert ask(tree, "glob_files", pattern="**/deep/*") == ["src/deep/util.py"]
        assert ask(tree, "glob_files", pattern="*.py", path="src/deep") == ["src/deep/util.py"]
        assert ask(tree, "glob_files", pattern="*.xyz") == ["[no file matches `*.xyz`]"]

    @pytest.mark.parametrize(
        ("path", "pattern", "fits"),
        [
            ("a/b/c.py", "*.py", True),
            ("a/b/c.py", "a/**/*.py", True),
            ("a/c.py", "a/**/*.py", True),
            ("a/b/c.py", "a/*.py", False),
            ("b/a/c.py", "a/*.py", False),
            ("a/b/c.py", "**", True),
            ("c.py", "*.{js,py}", True),
            ("a/c.py", "/c.py", False),
            ("c.py", "[!c].py", False),
            ("a/b", "a/**/b", True),
            ("x", "a/**", False),
        ],
    )
    def test_patterns(self, path: str, pattern: str, fits: bool) -> None:
        assert matches_glob(path.split("/"), pattern) is fits

    def test_no_pattern_takes_forever(self) -> None:
        began = time.process_time()
        matches_glob(["a" * 200] * 200, "**/" * 100 + "*a" * 50 + "b")
        matches_glob(["a"], "{a,b}" * 40)
        assert time.process_time() - began < 60


@pytest.mark.usefixtures("engine")
class TestGrepping:
    def test_matches_are_file_line_text(self, tree: Path) -> None:
        found = ask(tree, "grep_files", pattern="hello", ignore_case=True)
        assert sorted(found) == [
            ".hidden:1:hello hidden",
            "README.md:1:Hello World",
            "src/deep/util.py:2:HELLO = 1",
            "src/main.py:1:def hello():",
        ]
        assert ask(tree, "grep_files", pattern="HELLO") == ["src/deep/util.py:2:HELLO = 1"]

    def test_a_path_and_a_glob_narrow_it(self, tree: Path) -> None:
        assert ask(tree, "grep_files", pattern="hello", path="src") == ["src/main.py:1:def hello():"]
        assert ask(tree, "grep_files", pattern="nothing", path="src/deep/util.py") == ["src/deep/util.py:1:# nothing"]
        assert ask(tree, "grep_files", pattern="hello", glob="*.md", ignore_case=True) == ["README.md:1:Hello World"]
        for glob in ("src/*.py", "src/**/*.py", "*.{py,md}", "**/main.py"):
            assert "src/main.py:1:def hello():" in ask(tree, "grep_files", pattern="hello", glob=glob), glob
        assert "no line matches" in ask(tree, "grep_files", pattern="hello", glob="*.rs")[0]

    def test_what_other_engines_lack_works_too(self, tree: Path) -> None:
        assert ask(tree, "grep_files", pattern=r"(?<=def )hello") == ["src/main.py:1:def hello():"]
        assert ask(tree, "grep_files", pattern=r"hello\(\):$") == ["src/main.py:1:def hello():"]
        assert ask(tree, "grep_files", pattern=r"-hello")[0].startswith("no line matches")

    def test_only_so_many_matches_are_shown(self, tree: Path) -> None:
        (tree / "many.txt").write_text("needle\n" * 50)
        found = ask(tree, "grep_files", pattern="needle", max_matches=5)
        assert found[-1] == "[the first 5 matches; there are more]"
        assert len(found) == 6
        assert len(ask(tree, "grep_files", pattern="needle", max_matches=50)) == 50

    def test_what_was_not_searched_is_named(self, tree: Path) -> None:
        for name in (".env", "deep/id_rsa", "deep/.ssh/config"):
            (tree / name).parent.mkdir(parents=True, exist_ok=True)
            (tree / name).write_text("needle hunter2\n")
        (tree / "a.txt").write_text("needle\n")
        assert ask(tree, "grep_files", pattern="needle") == [
            "a.txt:1:needle",
            "[not searched, because they may hold secrets: .env, deep/.ssh/config, deep/id_rsa]",
        ]
        assert ask(tree, "grep_files", pattern="needle", glob="*.txt") == ["a.txt:1:needle"]
        (tree / "deep" / "b.txt").write_text("needle\n")
        assert ask(tree, "grep_files", pattern="needle", path="deep")[1].endswith(": deep/.ssh/config, deep/id_rsa]")
        for number in range(9):
            (tree / f"{number}.pem").write_text("needle")
        assert ask(tree, "grep_files", pattern="needle", path=".")[-1].endswith(", 3.pem and 7 more]")

    def test_copies_of_secrets_and_hard_links_are_not_searched(self, tree: Path) -> None:
        outside = tree.parent / "needles"
        outside.write_text("needle\n")
        for name in ("id_rsa.bak", ".config/gh/hosts.yml", ".SSH/config", "lib/.m2/settings.xml"):
            (tree / name).parent.mkdir(parents=True, exist_ok=True)
            (tree / name).write_text("needle hunter2\n")
        os.link(outside, tree / "linked.txt")
        os.link(outside, tree / "node_modules" / "linked.txt")
        (tree / "z.txt").write_text("needle\n")
        left = ".SSH/config, .config/gh/hosts.yml, id_rsa.bak, lib/.m2/settings.xml, linked.txt"
        shown = ["z.txt:1:needle", f"[not searched, because they may hold secrets: {left}]"]
        assert ask(tree, "grep_files", pattern="needle") == shown
        assert ask(tree, "grep_files", pattern="needle", max_matches=1)[0] == "z.txt:1:needle"
        assert ask(tree, "grep_files", pattern="needle", path=".config")[0].startswith("no line matches")
        assert ask(tree, "grep_files", pattern="needle", path="node_modules") == ["node_modules/linked.txt:1:needle"]

    def test_long_lines_are_cut(self, tree: Path) -> None:
        (tree / "min.js").write_text("needle" + "x" * 1_000_000)
        (line,) = ask(tree, "grep_files", pattern="needle")
        assert line.endswith("x…")
        assert len(line) < 400

    def test_a_pattern_that_is_none_is_explained(self, tree: Path) -> None:
        with pytest.raises(Failed, match="no regular expression"):
            ask(tree, "grep_files", pattern="(")

    def test_links_are_not_followed_and_the_outside_is_refused(self, tree: Path) -> None:
        assert not any("outside" in line for line in ask(tree, "grep_files", pattern="hello"))
        for path in ("link.txt", "up", ".."):
            with pytest.raises(Failed, match="outside"):
                ask(tree, "grep_files", pattern="hello", path=path)

    def test_odd_names(self, tree: Path) -> None:
        for name in ("-n", "a:1:b.txt", "ünï.txt", "with space"):
            (tree / name).write_text("needle\n")
            assert ask(tree, "grep_files", pattern="needle", path=name) == [f"{name}:1:needle"]
        assert len(ask(tree, "grep_files", pattern="needle")) == 4


def test_a_catastrophic_pattern_is_ended(tree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(search, "find_program", lambda _: None)
    monkeypatch.setattr(search, "_TIMEOUT_SECONDS", 0.5)
    (tree / "bomb.txt").write_text("a" * 40 + "!\n")
    began = time.monotonic()
    with pytest.raises(Failed, match="simpler pattern"):
        ask(tree, "grep_files", pattern="(a+)+$")
    assert time.monotonic() - began < 60


def test_lines_that_ripgrep_saw_outside_are_not_shown(tree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    stand_in = tree.parent / "rg"
    stand_in.write_text("#!/bin/sh\nprintf './link.txt\\0001:x\\n./up/outside.txt\\0001:x\\n./README.md\\0002:x\\n'\n")
    stand_in.chmod(stand_in.stat().st_mode | stat.S_IXUSR)
    monkeypatch.setattr(search, "find_program", lambda _: os.fspath(stand_in))
    assert ask(tree, "grep_files", pattern="anything") == ["README.md:2:second line"]
