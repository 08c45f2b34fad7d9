"""The history of changed files: what tools changed is restored byte for byte, and nothing else is touched."""

import os
import random
import stat
from pathlib import Path

import pytest

from antiphon.tools import Tool
from antiphon.tools.builtin import file_tools
from antiphon.tools.file_changes import FileHistory, record_changes
from tests.tools.calls import Failed, call

SESSIONS = 500
NAMES = ("a.txt", "b.bin", "src/c.py", "src/deep/d.md", "new/e/f.txt", "new/g", "link", "é ü.txt", "run.sh")


def picture(root: Path) -> dict[str, tuple[int, bytes]]:
    """All that is below a directory: each mode, and what is in it."""
    found: dict[str, tuple[int, bytes]] = {}
    for path in sorted(root.rglob("*")):
        mode = path.lstat().st_mode
        data = os.fsencode(path.readlink()) if path.is_symlink() else path.read_bytes() if path.is_file() else b""
        found[str(path.relative_to(root))] = mode, data
    return found


def fill(root: Path, chance: random.Random) -> None:
    for name in chance.sample(NAMES[:4] + NAMES[7:], chance.randint(1, 5)):
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        ends = chance.choice(["\n", "\r\n", ""])
        data = chance.randbytes(50) if name.endswith(".bin") else ends.join(chance.choices("xyz\u00e9", k=9)).encode()
        path.write_bytes(data)
        path.chmod(chance.choice([0o644, 0o600, 0o755, 0o664]))
    if chance.random() < 0.5:
        (root / "link").symlink_to(chance.choice(["a.txt", "src/c.py", "nowhere"]))


def change(tools: list[Tool], chance: random.Random) -> None:
    """Write or edit some file; not every attempt is possible."""
    path = chance.choice(NAMES)
    try:
        if chance.random() < 0.5:
            call(tools, "write_file", path=path, content="".join(chance.choices("xyz\n", k=chance.randint(0, 20))))
        else:
            every = chance.random() < 0.5
            call(tools, "edit_file", path=path, old=chance.choice("xyz"), new=chance.choice(["", "xx", "\n", "ß"]),
                 replace_all=every)  # fmt: skip
    except Failed:
        pass


def test_every_state_of_generated_sessions_is_restored_byte_for_byte(tmp_path: Path) -> None:
    changed = 0
    for seed in range(SESSIONS):
        chance, root = random.Random(seed), tmp_path / str(seed)
        root.mkdir()
        fill(root, chance)
        tools, history = file_tools([root]), FileHistory()
        states = [(history.position, picture(root))]
        with record_changes(history):
            for _ in range(chance.randint(1, 6)):
                for _ in range(chance.randint(1, 4)):
                    change(tools, chance)
                states.append((history.position, picture(root)))
        changed += states[-1][1] != states[0][1]
        for position, state in sorted(
            chance.sample(states, 2) if len(states) > 2 else states, key=lambda each: -each[0]
        ):
            assert history.undo(position).kept == []
            assert picture(root) == state, f"session {seed} is not as it was at {position}"
    assert changed > SESSIONS * 0.8


@pytest.fixture
def history(tmp_path: Path) -> FileHistory:
    (tmp_path / "a.txt").write_text("one\n")
    return FileHistory()


def test_a_file_that_changed_since_is_kept(history: FileHistory, tmp_path: Path) -> None:
    tools = file_tools([tmp_path])
    with record_changes(history):
        call(tools, "write_file", path="a.txt", content="two\n")
        call(tools, "write_file", path="b.txt", content="new\n")
        call(tools, "write_file", path="c/d.txt", content="new\n")
    (tmp_path / "a.txt").write_text("mine\n")
    (tmp_path / "b.txt").unlink()
    (tmp_path / "c" / "mine.txt").write_text("mine")
    report = history.undo(0)
    assert report.kept == [("a.txt", "something else has changed it since"), ("b.txt", "it is gone")]
    assert (report.restored, report.removed) == ([], ["c/d.txt"])
    assert (tmp_path / "a.txt").read_text() == "mine\n"
    assert (tmp_path / "c" / "mine.txt").exists()
    assert history.undo(0).kept == []


def test_a_change_in_between_is_not_lost(history: FileHistory, tmp_path: Path) -> None:
    tools = file_tools([tmp_path])
    with record_changes(history):
        call(tools, "write_file", path="a.txt", content="two\n")
        (tmp_path / "a.txt").write_text("mine\n")
        call(tools, "edit_file", path="a.txt", old="mine", new="theirs")
    assert history.undo(0).kept == [("a.txt", "something else has changed it since")]
    assert (tmp_path / "a.txt").read_text() == "theirs\n"


def test_a_changed_mode_counts_as_a_change(history: FileHistory, tmp_path: Path) -> None:
    with record_changes(history):
        call(file_tools([tmp_path]), "write_file", path="a.txt", content="two\n")
    (tmp_path / "a.txt").chmod(0o777)
    assert history.undo(0).kept
    assert stat.S_IMODE((tmp_path / "a.txt").stat().st_mode) == 0o777


def test_a_link_put_in_place_of_a_file_is_not_followed(history: FileHistory, tmp_path: Path) -> None:
    outside = tmp_path / "outside.txt"
    outside.write_text("two\n")
    root = tmp_path / "root"
    root.mkdir()
    (root / "a.txt").write_text("one\n")
    with record_changes(history):
        call(file_tools([root]), "write_file", path="a.txt", content="two\n")
    (root / "a.txt").unlink()
    (root / "a.txt").symlink_to(outside)
    assert history.undo(0).kept
    assert outside.read_text() == "two\n"


def test_nothing_is_recorded_without_a_history(history: FileHistory, tmp_path: Path) -> None:
    call(file_tools([tmp_path]), "write_file", path="a.txt", content="two\n")
    assert history.position == 0
