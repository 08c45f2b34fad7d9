"""Nothing outside of the roots can be reached, and failures say so without showing what is there."""

from __future__ import annotations

import ctypes
import os
import socket
import stat
import threading
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from antiphon.conversation import ToolCall
from antiphon.tools import Policy, ToolFailure
from antiphon.tools import file_sandbox as sandbox
from antiphon.tools.builtin import file_tools
from antiphon.tools.file_sandbox import SandboxRoots

SECRET = b"the secret"


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """A root with files, beside a file and a directory that are none of its business."""
    root = tmp_path / "root"
    (root / "sub").mkdir(parents=True)
    (root / "a.txt").write_bytes(b"alpha")
    (root / "sub" / "b.txt").write_bytes(b"beta")
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "secret.txt").write_bytes(SECRET)
    (tmp_path / "secret.txt").write_bytes(SECRET)
    return root


@pytest.fixture(params=["held", "by name"])
def way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Both ways to confine: by descriptors, and for platforms without them."""
    if request.param == "by name":
        monkeypatch.setattr(sandbox, "_HAS_DIR_FD", False)
    return request.param


def read(roots: SandboxRoots, path: str) -> bytes:
    with roots.locate(path) as place, place.open() as stream:
        return stream.read()


def write(roots: SandboxRoots, path: str, content: bytes = b"new") -> None:
    with roots.locate(path, writing=True) as place:
        place.replace(content)


def refused(roots: SandboxRoots, path: str, words: str | None = None) -> str:
    with pytest.raises(ToolFailure, match=words) as reading:
        read(roots, path)
    with pytest.raises(ToolFailure):
        write(roots, path)
    return str(reading.value)


@pytest.mark.usefixtures("way")
class TestReach:
    def test_paths_inside_are_found_however_they_are_written(self, tree: Path) -> None:
        roots = SandboxRoots([tree])
        for path in ("a.txt", "./a.txt", "sub/../a.txt", "sub//..//a.txt", str(tree / "a.txt"), "../root/a.txt"):
            assert read(roots, path) == b"alpha", path

    @pytest.mark.parametrize(
        "path",
        [
            "../secret.txt",
            "sub/../../secret.txt",
            "../outside/secret.txt",
            "/etc/passwd",
            "/",
            "..",
            "../..",
            "/proc/self/mem",
        ],
    )
    def test_paths_outside_are_refused(self, tree: Path, path: str) -> None:
        assert path in refused(SandboxRoots([tree]), path)

    def test_links_that_lead_outside_are_refused(self, tree: Path) -> None:
        (tree / "file").symlink_to(tree.parent / "secret.txt")
        (tree / "relative").symlink_to("../secret.txt")
        (tree / "dir").symlink_to(tree.parent / "outside")
        (tree / "sub" / "chain").symlink_to("../dir")
        (tree / "dangling").symlink_to(tree.parent / "not there yet")
        for path in (
            "file",
            "relative",
            "dir/secret.txt",
            "dir/new.txt",
            "sub/chain/secret.txt",
            "dangling",
            "dir/x/y",
        ):
            message = refused(SandboxRoots([tree]), path, "outside")
            assert str(tree.parent) not in message
        assert sorted(os.listdir(tree.parent / "outside")) == ["secret.txt"]
        assert not (tree.parent / "not there yet").exists()

    def test_links_that_stay_inside_are_followed(self, tree: Path) -> None:
        (tree / "link").symlink_to("sub/b.txt")
        (tree / "absolute").symlink_to(tree / "sub")
        roots = SandboxRoots([tree])
        assert read(roots, "link") == b"beta"
        assert read(roots, "absolute/b.txt") == b"beta"
        write(roots, "link", b"changed")
        assert (tree / "link").is_symlink()
        assert (tree / "sub" / "b.txt").read_bytes() == b"changed"

    def test_links_in_a_circle_fail(self, tree: Path) -> None:
        (tree / "one").symlink_to("two")
        (tree / "two").symlink_to("one")
        refused(SandboxRoots([tree]), "one")

    def test_hard_links_are_files_like_any_other(self, tree: Path) -> None:
        os.link(tree / "a.txt", tree / "hard")
        assert read(SandboxRoots([tree]), "hard") == b"alpha"

    @pytest.mark.parametrize("path", ["", "  ", "a\0b", "~", "~/x", "~root/x", "x" * 300, "y/" * 3000, "\ud800"])
    def test_names_that_are_none_are_refused(self, tree: Path, path: str) -> None:
        refused(SandboxRoots([tree]), path)

    def test_what_is_no_file_is_refused_without_waiting(
        self, tree: Path, tmp_path_factory: pytest.TempPathFactory
    ) -> None:
        os.mkfifo(tree / "pipe")
        refused(SandboxRoots([tree]), "pipe", "not a file")
        short = tmp_path_factory.mktemp("s")
        with socket.socket(socket.AF_UNIX) as listener:
            listener.bind(os.path.relpath(short / "socket"))
            refused(SandboxRoots([short]), "socket", "not a file")

    def test_directories_and_files_are_not_taken_for_each_other(self, tree: Path) -> None:
        roots = SandboxRoots([tree])
        assert "is a directory" in refused(roots, "sub")
        refused(roots, "a.txt/x")
        with pytest.raises(ToolFailure, match="not a directory"), roots.locate("a.txt") as place:
            list(place.walk())

    def test_what_is_missing_is_said_to_be(self, tree: Path) -> None:
        for path in ("none.txt", "none/x.txt"):
            with pytest.raises(ToolFailure, match=f"there is no `{path}`"):
                read(SandboxRoots([tree]), path)

    def test_nothing_is_left_open(self, tree: Path) -> None:
        (tree / "out").symlink_to("/")
        roots = SandboxRoots([tree, tree / "sub"])
        before = len(os.listdir("/dev/fd"))
        for path in ("a.txt", "b.txt", "sub/../a.txt", "none", "none/none", "out/etc/passwd", "../x", "sub"):
            for _ in range(3):
                with suppress(ToolFailure):
                    read(roots, path)
        assert len(os.listdir("/dev/fd")) == before


@pytest.mark.usefixtures("way")
class TestWriting:
    def test_parents_are_made(self, tree: Path) -> None:
        write(SandboxRoots([tree]), "x/y/z.txt")
        assert (tree / "x" / "y" / "z.txt").read_bytes() == b"new"

    def test_the_mode_is_kept(self, tree: Path) -> None:
        (tree / "a.txt").chmod(0o750)
        write(SandboxRoots([tree]), "a.txt")
        assert stat.S_IMODE((tree / "a.txt").stat().st_mode) == 0o750

    def test_a_write_that_fails_leaves_everything_as_it_was(self, tree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        def full(_: int) -> None:
            raise OSError(28, "No space left on device")

        monkeypatch.setattr(os, "fsync", full)
        with pytest.raises(ToolFailure, match="no space"):
            write(SandboxRoots([tree]), "a.txt")
        assert (tree / "a.txt").read_bytes() == b"alpha"
        assert sorted(os.listdir(tree)) == ["a.txt", "sub"]

    def test_a_file_changed_since_it_was_seen_is_not_overwritten(self, tree: Path) -> None:
        with SandboxRoots([tree]).locate("a.txt") as place:
            seen = place.status
            (tree / "a.txt").write_bytes(b"somebody else's")
            with pytest.raises(ToolFailure, match="changed"):
                place.replace(b"mine", seen)
        assert (tree / "a.txt").read_bytes() == b"somebody else's"

    @pytest.mark.parametrize("path", [".git", ".git/config", "sub/.git/hooks/pre-commit", ".GIT/config", "link/config"])
    def test_git_itself_is_not_written(self, tree: Path, path: str) -> None:
        (tree / ".git").mkdir()
        (tree / "link").symlink_to(".git")
        with pytest.raises(ToolFailure, match="by git alone"):
            write(SandboxRoots([tree]), path)
        assert not (tree / "sub" / ".git").exists()


@pytest.mark.usefixtures("way")
class TestSeveralRoots:
    def test_relative_paths_are_looked_for_in_each(self, tree: Path) -> None:
        other = tree.parent / "other"
        (other / "deep").mkdir(parents=True)
        (other / "a.txt").write_bytes(b"other alpha")
        (other / "c.txt").write_bytes(b"gamma")
        roots = SandboxRoots([tree, other])
        assert read(roots, "a.txt") == b"alpha"
        assert read(roots, "c.txt") == b"gamma"
        assert read(roots, "../other/c.txt") == b"gamma"
        write(roots, "deep/new.txt")
        assert (other / "deep" / "new.txt").exists()
        write(roots, "fresh/new.txt")
        assert (tree / "fresh" / "new.txt").exists()

    def test_what_is_shown_can_be_used(self, tree: Path) -> None:
        other = tree.parent / "other"
        other.mkdir()
        for name in ("a.txt", "c.txt"):
            (other / name).write_bytes(b"other " + name.encode())
        roots = SandboxRoots([tree, other])
        for path, shown in (
            (other / "c.txt", "c.txt"),
            (other / "a.txt", str(other / "a.txt")),
            (tree / "a.txt", "a.txt"),
        ):
            with roots.locate(str(path)) as place:
                assert place.shown == shown
            assert read(roots, shown) == path.read_bytes()

    def test_a_root_may_be_named_by_a_link(self, tree: Path) -> None:
        (tree.parent / "alias").symlink_to(tree)
        roots = SandboxRoots([tree.parent / "alias"])
        assert read(roots, str(tree.parent / "alias" / "a.txt")) == b"alpha"
        assert read(roots, str(tree / "a.txt")) == b"alpha"

    def test_a_root_that_is_none_is_an_error_at_once(self, tree: Path) -> None:
        with pytest.raises(NotADirectoryError):
            SandboxRoots([tree / "a.txt"])
        with pytest.raises(ValueError):
            SandboxRoots([])


def test_walking_shows_links_and_does_not_follow_them(tree: Path) -> None:
    (tree / "out").symlink_to(tree.parent)
    (tree / "node_modules").mkdir()
    (tree / "node_modules" / "x").touch()
    with SandboxRoots([tree]).locate(".") as place:
        found = {"/".join(entry.parts): entry.kind for entry in place.walk()}
    assert found == {
        "a.txt": "file", "node_modules": "directory", "out": "link", "sub": "directory", "sub/b.txt": "file"
    }  # fmt: skip


def exchange(one: Path, other: Path) -> None:
    """Swap two names in a single step where the system can, so that there is no moment without them."""
    try:
        exchanged = ctypes.CDLL(None).renameat2(-100, os.fsencode(one), -100, os.fsencode(other), 2) == 0
    except AttributeError:
        exchanged = False
    if not exchanged:
        aside = one.with_name("aside")
        os.rename(one, aside)
        os.rename(other, one)
        os.rename(aside, other)


@pytest.fixture
def swappable(tree: Path) -> Path:
    """A root with a directory and a file, and links to the outside that can take their places."""
    (tree / "dir").mkdir()
    (tree / "dir" / "secret.txt").write_bytes(b"harmless")
    (tree / "file.txt").write_bytes(b"harmless")
    (tree / "to_dir").symlink_to("../outside")
    (tree / "to_file").symlink_to("../secret.txt")
    os.mkfifo(tree / "to_pipe")
    return tree


@pytest.mark.parametrize(("name", "other"), [("dir", "to_dir"), ("file.txt", "to_file"), ("file.txt", "to_pipe")])
@pytest.mark.parametrize("moment", range(12))
def test_a_link_swapped_in_at_any_moment_leads_nowhere(
    swappable: Path, monkeypatch: pytest.MonkeyPatch, name: str, other: str, moment: int
) -> None:
    calls = 0

    def watched(function: Callable[..., object]) -> Callable[..., object]:
        def called(*arguments: object, **named: object) -> object:
            nonlocal calls
            try:
                return function(*arguments, **named)
            finally:
                calls += 1
                if calls == moment:
                    exchange(swappable / name, swappable / other)

        return called

    path = "dir/secret.txt" if name == "dir" else name
    roots = SandboxRoots([swappable])
    with monkeypatch.context() as patch:
        patch.setattr(sandbox, "_HAS_DIR_FD", True)
        for function in ("open", "stat", "readlink", "fstat", "rename", "replace"):
            patch.setattr(os, function, watched(getattr(os, function)))
        with suppress(ToolFailure):
            assert read(roots, path) == b"harmless"
        with suppress(ToolFailure):
            write(roots, path)
    assert (swappable.parent / "secret.txt").read_bytes() == SECRET
    assert (swappable.parent / "outside" / "secret.txt").read_bytes() == SECRET
    assert os.listdir(swappable.parent / "outside") == ["secret.txt"]


@pytest.mark.skipif(not hasattr(ctypes.CDLL(None), "renameat2"), reason="names cannot be swapped in a single step")
def test_links_swapped_in_all_the_time_lead_nowhere(swappable: Path) -> None:
    stop = threading.Event()

    def hammer() -> None:
        while not stop.is_set():
            exchange(swappable / "dir", swappable / "to_dir")
            exchange(swappable / "file.txt", swappable / "to_file")

    thread = threading.Thread(target=hammer)
    thread.start()
    roots = SandboxRoots([swappable])
    counts = {"read": 0, "refused": 0}
    try:
        for turn in range(1500):
            try:
                assert read(roots, ("dir/secret.txt", "file.txt")[turn % 2]) == b"harmless"
                counts["read"] += 1
                if turn % 10 == 0:
                    write(roots, f"dir/new{turn}.txt")
            except ToolFailure:
                counts["refused"] += 1
    finally:
        stop.set()
        thread.join()
    assert all(counts.values()), "the race was never met"
    assert os.listdir(swappable.parent / "outside") == ["secret.txt"]
    assert (swappable.parent / "secret.txt").read_bytes() == SECRET


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=150, deadline=None)
@given(
    st.lists(
        st.sampled_from(["..", ".", "", "sub", "a.txt", "out", "in", "up", "root", "secret.txt", "/", "~"]), max_size=7
    )
)
def test_no_path_reads_a_secret(tree: Path, steps: list[str]) -> None:
    for name, target in (("out", ".."), ("in", "sub"), ("sub/up", "../..")):
        if not (tree / name).is_symlink():
            (tree / name).symlink_to(target)
    with suppress(ToolFailure):
        assert read(SandboxRoots([tree]), "/".join(steps)) in (b"alpha", b"beta")


@pytest.mark.parametrize(
    "name",
    [
        ".env~", ".env.bak", "#.env#", "id_rsa.bak", "id_rsa.old~", "id_ed25519.1", "server.key.orig", ".id_rsa.swp",
        "token", "TOKEN.txt", "tokens.json", "passwords.txt", "password", "passwords.csv.bak", "secrets copy",
        "credentials (1)",
    ],
)  # fmt: skip
def test_copies_and_plain_names_of_secrets_are_known(name: str, tmp_path: Path) -> None:
    (tmp_path / name).write_text("x")
    assert SandboxRoots([tmp_path]).is_secret_path(name)


@pytest.mark.parametrize(
    "name",
    [
        ".config/gh/hosts.yml", ".config/gcloud/x.db", ".netrc", ".npmrc", ".pypirc", ".docker/config.json",
        ".aws/config", ".kube/config", ".m2/settings.xml", "home/.gradle/gradle.properties", ".terraform.d/a.json",
        ".cargo/credentials.toml", ".gem/credentials", ".subversion/auth/svn.simple/a", ".mozilla/firefox/a/prefs.js",
        ".config/google-chrome/Default/History", ".local/share/keyrings/login.keyring",
        "Library/Application Support/gh/hosts.yml",
        "Login Data", "cookies.txt", "wp-config.php", ".curlrc",
    ],
)  # fmt: skip
def test_files_of_programs_with_passwords_are_secret(name: str, tmp_path: Path) -> None:
    (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
    (tmp_path / name).write_text("x")
    read, *_ = file_tools([tmp_path])
    assert Policy().decide(ToolCall("c", "read_file", {"path": name}), read) == "ask"


@pytest.mark.parametrize(
    "name",
    [
        "token.py",
        "tokens.rs",
        "password.go",
        "tokenizer.json",
        "notes.bak",
        "a~",
        "envelope",
        ".config/nvim/init.lua",
        "settings.xml",
    ],
)
def test_code_about_secrets_is_none(name: str, tmp_path: Path) -> None:
    (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
    (tmp_path / name).write_text("x")
    assert not SandboxRoots([tmp_path]).is_secret_path(name)
