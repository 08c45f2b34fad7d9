"""A team's branches and files beside a repository of which nothing else may change."""

from __future__ import annotations

import hashlib
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from antiphon.team import worktree as worktrees
from antiphon.team.diffs import (
    TextDiff,
    classify_file,
    diff_between,
    find_branch_point,
    list_task_changes,
    summarize_branch,
)
from antiphon.team.git import RepositoryError
from antiphon.team.repository import Repository, TeamWorkspace, open_workspace
from antiphon.team.worktree import (
    BranchMerged,
    BranchMoved,
    CommitResult,
    MarkersLeft,
    MergeConflict,
    UpdatedTask,
    Worktree,
    commit_worktree,
    fast_forward_main,
    open_worktree,
    remove_stale_worktrees,
    remove_worktree,
    update_from_main,
)

pytestmark = pytest.mark.skipif(os.name != "posix", reason="a team needs locks and programs of POSIX systems")


@pytest.fixture(autouse=True)
def _settings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    config = "[user]\n\tname = User\n\temail = user@example.org\n[init]\n\tdefaultBranch = main\n"
    (tmp_path / ".gitconfig").write_text(config)
    for name in [name for name in os.environ if name.startswith("GIT_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", str(tmp_path))


def run_git(where: Path, *command: str) -> str:
    done = subprocess.run(["git", *command], cwd=where, check=True, capture_output=True)
    return done.stdout.decode("utf-8", "replace").removesuffix("\n")


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """A repository with a commit, and with something staged, changed, stashed and not tracked."""
    root = tmp_path / "home"
    root.mkdir()
    run_git(root, "init", "-q")
    (root / "a.py").write_text("one\ntwo\nthree\n")
    (root / "src").mkdir()
    (root / "src" / "b.py").write_text("b = 1\n")
    (root / "tests").mkdir()
    (root / "tests" / "test_b.py").write_text("assert True\n")
    (root / "run.sh").write_text("#!/bin/sh\n")
    (root / "run.sh").chmod(0o755)
    (root / "link").symlink_to("a.py")
    run_git(root, "add", ".")
    run_git(root, "commit", "-qm", "First")
    run_git(root, "branch", "other")
    (root / "a.py").write_text("stashed\n")
    run_git(root, "stash")
    (root / "src" / "b.py").write_text("b = 2\n")
    run_git(root, "add", "src")
    (root / "a.py").write_text("changed, not staged\n")
    (root / "mine.txt").write_text("not tracked\n")
    return root


@pytest.fixture
def place(tmp_path: Path) -> Path:
    return tmp_path / "teams"


@pytest.fixture
def work(home: Path, place: Path) -> TeamWorkspace:
    return open_workspace(Repository.find(home), "t", place)


def print_of(home: Path) -> dict[str, str]:
    """All that is the user's: every file but objects and what the team has of its own."""
    prints: dict[str, str] = {}
    for directory, _, names in os.walk(home):
        for name in names:
            path = Path(directory, name)
            relative = str(path.relative_to(home))
            if relative.startswith(".git/objects") or "antiphon" in relative:
                continue
            content = os.readlink(path).encode() if path.is_symlink() else path.read_bytes()
            prints[relative] = f"{path.lstat().st_mode:o} {hashlib.sha1(content).hexdigest()}"
    return prints


def write(worktree: Worktree, name: str, text: str) -> None:
    path = Path(worktree.path, name)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def files_of(home: Path, branch: str) -> list[str]:
    return run_git(home, "ls-tree", "-r", "--name-only", "-z", branch).split("\0")[:-1]


def text_diff(work: TeamWorkspace, task: str, most: int = 200_000) -> TextDiff:
    return diff_between(work, find_branch_point(work, task), work.head(task), most)


def content_of(home: Path, branch: str, name: str) -> str:
    return run_git(home, "cat-file", "blob", f"{branch}:{name}")


# The user's repository


def test_nothing_of_the_users_changes_whatever_a_team_does(home: Path, place: Path):
    before = print_of(home)
    work = open_workspace(Repository.find(home), "t", place)
    first, second = open_worktree(work, "one"), open_worktree(work, "two")
    write(first, "new.py", "n\n")
    write(first, "a.py", "one\ntwo\nfirst\n")
    write(second, "a.py", "one\ntwo\nsecond\n")
    one, two = commit_worktree(first, "One", "coder-1"), commit_worktree(second, "Two", "coder-2")
    assert fast_forward_main(work, one.id) == BranchMerged(one.id)
    assert fast_forward_main(work, two.id) == BranchMoved(one.id)
    assert isinstance(update_from_main(second), MergeConflict)
    assert isinstance(update_from_main(second, marking=True), MergeConflict)
    (
        list_task_changes(work, "two"),
        text_diff(work, "two"),
        summarize_branch(work),
    )
    remove_worktree(work, "one", keep_branch=False)
    remove_worktree(work, "two")
    remove_stale_worktrees(work)
    assert print_of(home) == before
    assert run_git(home, "status", "--porcelain").splitlines() == [" M a.py", "M  src/b.py", "?? mine.txt"]


def test_what_is_not_committed_is_not_seen_and_that_is_said(home: Path, work: TeamWorkspace):
    task = open_worktree(work, "one")
    assert Path(task.path, "a.py").read_text() == "one\ntwo\nthree\n"
    assert Path(task.path, "src", "b.py").read_text() == "b = 1\n"
    assert not Path(task.path, "mine.txt").exists()
    assert Repository.find(home).notes == ("3 files with changes that are not committed: the team does not see them",)


def test_modes_and_links_are_those_of_the_commit(work: TeamWorkspace):
    task = open_worktree(work, "one")
    assert os.access(Path(task.path, "run.sh"), os.X_OK)
    assert os.readlink(Path(task.path, "link")) == "a.py"
    assert not commit_worktree(task, "Nothing", "coder").new


def test_the_work_can_be_taken_by_the_commands_that_are_told(home: Path, work: TeamWorkspace):
    task = open_worktree(work, "one")
    write(task, "new.py", "n\n")
    fast_forward_main(work, commit_worktree(task, "Add something\n\nBecause.", "coder-1").id)
    told = summarize_branch(work)
    assert [(each.author, each.subject) for each in told.commits] == [("coder-1", "Add something")]
    assert [(each.path, each.status, each.added) for each in told.changes] == [("new.py", "added", 1)]
    for what, command in told.commands:
        if what != "throw it away":
            done = subprocess.run(command, shell=True, cwd=home, check=True, capture_output=True, text=True)
            assert "new.py" in done.stdout
    assert (home / "new.py").read_text() == "n\n"
    assert (
        run_git(home, "log", "-1", "--format=%an %ae %cn %ce")
        == "coder-1 coder-1@localhost antiphon team team@localhost"
    )


def test_a_repository_without_commits_gets_an_empty_first_one_that_teams_share(tmp_path: Path, place: Path):
    root = tmp_path / "empty"
    root.mkdir()
    run_git(root, "init", "-q")
    found = Repository.find(root)
    assert found.head is None
    assert found.branch == "main"
    before = print_of(root)
    one, two = open_workspace(found, "one", place), open_workspace(found, "two", place)
    assert one.head() == two.head()
    task = open_worktree(one, "x")
    assert not commit_worktree(task, "Nothing", "coder").new
    write(task, "a.py", "a\n")
    fast_forward_main(one, commit_worktree(task, "Add", "coder").id)
    assert print_of(root) == before
    run_git(root, "merge", "-q", "antiphon/one/main")
    assert (root / "a.py").read_text() == "a\n"


@pytest.mark.parametrize("kind", ["none", "bare", "inside", "version"])
def test_where_a_team_cannot_work_it_says_what_to_do(
    tmp_path: Path, home: Path, kind: str, monkeypatch: pytest.MonkeyPatch
):
    where, words = tmp_path, "git init"
    if kind == "bare":
        where, words = tmp_path / "bare", "git clone"
        run_git(tmp_path, "init", "-q", "--bare", "bare")
    if kind == "inside":
        where, words = home / ".git" / "objects", "inside of git's own directory"
    if kind == "version":
        (tmp_path / "bin").mkdir()
        (tmp_path / "bin" / "git").write_text("#!/bin/sh\necho git version 2.30.1\n")
        (tmp_path / "bin" / "git").chmod(0o755)
        monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:{os.environ['PATH']}")
        where, words = home, "2.38"
    with pytest.raises(RepositoryError, match=words):
        Repository.find(where)


def test_without_git_that_is_said(home: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("PATH", "/nowhere")
    with pytest.raises(RepositoryError, match="git is not installed"):
        Repository.find(home)


@pytest.mark.skipif(os.name != "posix" or os.geteuid() != 0, reason="only root can give files away")
def test_a_repository_of_another_user_is_not_worked_on_unless_he_says_so(home: Path):
    os.chown(home, 12345, 12345)
    os.chown(home / ".git", 12345, 12345)
    with pytest.raises(RepositoryError, match=r"git config --global --add safe\.directory"):
        Repository.find(home)


def test_any_state_of_the_users_tree_is_one_to_begin_from(home: Path, place: Path, tmp_path: Path):
    run_git(home, "reset", "-q", "--hard")
    run_git(home, "checkout", "-q", "--detach")
    found = Repository.find(home)
    assert found.branch is None
    assert any("no branch is checked out" in note for note in found.notes)
    (home / ".git" / "rebase-merge").mkdir()
    assert "a rebase is under way: the team begins at HEAD" in Repository.find(home).notes
    (home / ".git" / "rebase-merge").rmdir()
    run_git(home, "worktree", "add", "-q", str(tmp_path / "second"), "other")
    second = Repository.find(tmp_path / "second" / "src")
    assert (second.branch, second.top) == ("other", str(tmp_path / "second"))
    assert open_worktree(open_workspace(second, "t", place), "x").branch == "antiphon/t/x"
    assert run_git(home, "rev-parse", "antiphon/t/x")


def test_a_shallow_clone_and_one_with_submodules_are_worked_on(tmp_path: Path, home: Path, place: Path):
    run_git(home, "reset", "-q", "--hard")
    run_git(home, "commit", "-qm", "More", "--allow-empty")
    run_git(home, "-c", "protocol.file.allow=always", "submodule", "--quiet", "add", f"file://{home}", "inner")
    run_git(home, "commit", "-qm", "Inner")
    run_git(tmp_path, "clone", "-q", "--depth=1", f"file://{home}", "shallow")
    found = Repository.find(tmp_path / "shallow")
    assert found.notes[0].startswith("there are submodules")
    assert "shallow" in found.notes[1]
    work = open_workspace(found, "t", place)
    one, two = open_worktree(work, "one"), open_worktree(work, "two")
    assert not commit_worktree(one, "Nothing", "coder").new
    write(one, "x.py", "x\n")
    write(two, "y.py", "y\n")
    write(two, "inner/lost.py", "in a submodule\n")
    fast_forward_main(work, commit_worktree(one, "X", "coder").id)
    assert commit_worktree(two, "Y", "coder").left_out == ("inner",)
    assert isinstance(update_from_main(two), UpdatedTask)
    assert run_git(tmp_path / "shallow", "ls-tree", "antiphon/t/two", "inner").startswith("160000")


def test_a_branch_of_the_users_that_is_in_the_way_is_named(home: Path, place: Path):
    run_git(home, "branch", "antiphon")
    with pytest.raises(RepositoryError, match="git branch -m antiphon NEW-NAME"):
        open_workspace(Repository.find(home), "t", place)


def test_a_branch_that_the_user_looks_at_is_not_moved_under_his_feet(home: Path, work: TeamWorkspace):
    run_git(home, "reset", "-q", "--hard")
    run_git(home, "switch", "-q", work.main)
    task = open_worktree(work, "one")
    write(task, "x.py", "x\n")
    made = commit_worktree(task, "X", "coder")
    with pytest.raises(RepositoryError, match=r"is checked out at .*switch to another branch"):
        fast_forward_main(work, made.id)
    run_git(home, "switch", "-q", "main")
    assert fast_forward_main(work, made.id) == BranchMerged(made.id)


@pytest.mark.parametrize("name", ["", "a/b", "..", "-x", ".x", "a b", "x" * 65, "ä", "a\n"])
def test_names_that_are_no_part_of_a_branch_are_refused(home: Path, place: Path, work: TeamWorkspace, name: str):
    with pytest.raises(RepositoryError, match="cannot name a team"):
        open_workspace(Repository.find(home), name, place)
    with pytest.raises(RepositoryError, match="cannot name a task"):
        open_worktree(work, name)


def test_a_place_inside_of_the_repository_is_refused(home: Path):
    for inside in (home / "teams", home / ".git" / "teams"):
        with pytest.raises(RepositoryError, match="outside of it"):
            open_workspace(Repository.find(home), "t", inside)


def test_two_repositories_do_not_share_the_directory_of_a_team(tmp_path: Path, work: TeamWorkspace, place: Path):
    other = tmp_path / "other"
    other.mkdir()
    run_git(other, "init", "-q")
    with pytest.raises(RepositoryError, match="give this team another name"):
        open_workspace(Repository.find(other), work.team, place)


# Hostile repositories

TRAPS = """
[core]
    fsmonitor = {trap} fsmonitor
    hooksPath = {hooks}
    pager = {trap} pager
    editor = {trap} editor
    sshCommand = {trap} ssh
    gitProxy = {trap} proxy
    askPass = {trap} askpass
    alternateRefsCommand = {trap} alternate
    attributesFile = {attributes}
[commit]
    gpgSign = true
[gpg]
    program = {trap} gpg
[diff]
    external = {trap} external
[diff "evil"]
    command = {trap} command
    textconv = {trap} textconv
[merge]
    verifySignatures = true
[merge "evil"]
    driver = {trap} merge
[filter "evil"]
    clean = {trap} clean
    smudge = {trap} smudge
    required = true
[filter "evil=x.y"]
    process = {trap} process
    required = true
[alias]
    status = !{trap} alias
"""


def test_no_program_of_a_hostile_repository_is_run(home: Path, place: Path, tmp_path: Path):
    sprung, hooks = tmp_path / "sprung", tmp_path / "hooks"
    trap = tmp_path / "trap"
    trap.write_text(f'#!/bin/sh\necho "$0" "$@" >> {sprung}\n')
    trap.chmod(0o755)
    hooks.mkdir()
    for name in (
        "pre-commit",
        "post-commit",
        "post-checkout",
        "reference-transaction",
        "post-index-change",
        "post-merge",
    ):
        for directory in (hooks, home / ".git" / "hooks"):
            (directory / name).write_text(f"#!/bin/sh\necho {name} >> {sprung}\n")
            (directory / name).chmod(0o755)
    attributes = '*.py filter=evil diff=evil merge=evil\n"*.md" filter="evil=x.y"\n'
    (tmp_path / "attributes").write_text(attributes)
    run_git(home, "reset", "-q", "--hard")
    (home / ".gitattributes").write_text(attributes)
    (home / "x.md").write_text("x\n")
    run_git(home, "add", ".")
    run_git(home, "commit", "-qm", "Traps")
    sprung.unlink(missing_ok=True)
    with open(home / ".git" / "config", "a") as config:
        config.write(TRAPS.format(trap=trap, hooks=hooks, attributes=tmp_path / "attributes"))
    (home / ".git" / "info" / "attributes").write_text(attributes)
    (home / "a.py").write_text("eno\ntwo\nthree\n")

    work = open_workspace(Repository.find(home), "t", place)
    one, two = open_worktree(work, "one"), open_worktree(work, "two")
    for task in (one, two):
        write(task, "a.py", f"{task.task}\n")
        write(task, "x.md", f"{task.task}\n")
    fast_forward_main(work, commit_worktree(one, "One", "coder").id)
    commit_worktree(two, "Two", "coder")
    update_from_main(two)
    (
        text_diff(work, "two"),
        list_task_changes(work, "two"),
        summarize_branch(work),
    )
    remove_stale_worktrees(work)
    assert not sprung.exists(), sprung.read_text()
    assert "gpgsig" not in run_git(home, "cat-file", "commit", "antiphon/t/main")


def test_attributes_that_a_coder_writes_run_nothing(work: TeamWorkspace, tmp_path: Path):
    sprung = tmp_path / "sprung"
    (tmp_path / ".gitconfig").write_text(f'[filter "evil"]\n\tclean = touch {sprung}\n\trequired\n')
    task = open_worktree(work, "one")
    write(task, ".gitattributes", "* filter=evil diff=evil merge=evil\n")
    write(task, "x.py", "x\n")
    assert commit_worktree(task, "X", "coder").new
    assert not sprung.exists()


# What coders do to their files


def test_there_is_no_git_to_break_and_a_false_one_is_not_followed(home: Path, work: TeamWorkspace, tmp_path: Path):
    task = open_worktree(work, "one")
    assert not Path(task.path, ".git").exists()
    write(task, ".git", f"gitdir: {tmp_path}/elsewhere\n")
    write(task, "x.py", "x\n")
    first = commit_worktree(task, "X", "coder")
    Path(task.path, ".git").unlink()
    write(task, ".git/config", "[core]\n\tworktree = /etc\n\tfsmonitor = false\n")
    write(task, ".git/HEAD", "ref: refs/heads/main\n")
    second = commit_worktree(task, "Again", "coder")
    assert (first.new, second) == (True, CommitResult(first.id, False))
    assert "x.py" in files_of(home, task.branch)


def test_repositories_inside_become_plain_directories(home: Path, work: TeamWorkspace):
    task = open_worktree(work, "one")
    for name, with_commit in (("empty", False), ("full", True), ("empty/deeper", True), ("src", True)):
        inner = Path(task.path, name)
        inner.mkdir(exist_ok=True)
        run_git(inner, "init", "-q")
        if with_commit:
            run_git(inner, "commit", "-q", "--allow-empty", "-m", "x")
        write(task, f"{name}/f.py", "f\n")
    assert commit_worktree(task, "Nested", "coder").left_out == ()
    assert {"empty/f.py", "full/f.py", "empty/deeper/f.py", "src/f.py", "src/b.py"} <= set(files_of(home, task.branch))


def test_links_are_committed_as_links_and_never_followed(home: Path, work: TeamWorkspace, tmp_path: Path):
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "secret").write_text("secret\n")
    task = open_worktree(work, "one")
    Path(task.path, "out").symlink_to(outside)
    Path(task.path, "file").symlink_to(outside / "secret")
    commit_worktree(task, "Links", "coder")
    assert content_of(home, task.branch, "out") == str(outside)
    assert content_of(home, task.branch, "file") == str(outside / "secret")
    assert "secret\n" not in text_diff(work, "one").text.splitlines(keepends=True)
    # A directory that became a link is not written through when files are brought up to date.
    other = open_worktree(work, "two")
    write(other, "src/more.py", "more\n")
    fast_forward_main(work, commit_worktree(other, "More", "coder").id)
    for name in os.listdir(Path(task.path, "src")):
        Path(task.path, "src", name).unlink()
    Path(task.path, "src").rmdir()
    Path(task.path, "src").symlink_to(outside)
    commit_worktree(task, "Swap", "coder")
    update_from_main(task, marking=True)
    remove_worktree(work, "one")
    assert os.listdir(outside) == ["secret"]


NAMES = [b"new\nline", b'quo"te', b"back\\slash", b"\xff\xfe", "ü".encode(), b"tab\t", b":(top)x", b"-x", b" ", b"*"]


def test_odd_names_are_kept(home: Path, work: TeamWorkspace):
    task = open_worktree(work, "one")
    for name in NAMES:
        with open(os.path.join(os.fsencode(task.path), name), "wb") as file:
            file.write(name)
    assert commit_worktree(task, "Odd", "coder").left_out == ()
    listed = subprocess.run(
        ["git", "ls-tree", "-z", "--name-only", task.branch], cwd=home, capture_output=True, check=True
    ).stdout
    assert set(NAMES) <= set(listed.split(b"\0"))
    found = {change.path: change for change in list_task_changes(work, "one")}
    assert {"new\nline", "\\xff\\xfe", "ü", "-x"} <= set(found)
    assert found["new\nline"].added == 2
    remove_worktree(work, "one")
    assert Path(open_worktree(work, "one").path, "new\nline").exists()


def test_what_git_cannot_hold_is_left_out_and_named(home: Path, work: TeamWorkspace, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(worktrees, "MAX_FILE_BYTES", 1000)
    task = open_worktree(work, "one")
    write(task, "huge.bin", "x" * 1001)
    write(task, "a.py", "y" * 1001)
    write(task, ".GIT/x", "x")
    write(task, "fine.py", "x\n")
    os.mkfifo(Path(task.path, "pipe"))
    made = commit_worktree(task, "Large", "coder")
    assert made.left_out == (".GIT/x", "a.py", "huge.bin")
    assert commit_worktree(task, "Again", "coder") == CommitResult(made.id, False, made.left_out)
    assert {"fine.py", "a.py"} <= set(files_of(home, task.branch))
    assert content_of(home, task.branch, "a.py") == "one\ntwo\nthree"
    assert "huge.bin" not in files_of(home, task.branch)


def test_what_tests_leave_behind_and_what_the_user_ignores_is_not_committed(home: Path, place: Path, tmp_path: Path):
    (home / ".git" / "info" / "exclude").write_text("mine/\n")
    (tmp_path / "ignore").write_text("*.log\n")
    with open(tmp_path / ".gitconfig", "a") as config:
        config.write(f"[core]\n\texcludesFile = {tmp_path}/ignore\n")
    task = open_worktree(open_workspace(Repository.find(home), "t", place), "one")
    for name in ("src/__pycache__/b.pyc", ".pytest_cache/x", "mine/x", "y.log", "node_modules/x/index.js"):
        write(task, name, "x")
    assert not commit_worktree(task, "Nothing", "coder").new


def test_work_that_cannot_be_committed_is_an_error_with_gits_words(work: TeamWorkspace):
    task = open_worktree(work, "one")
    write(task, ".gitattributes", "*.py working-tree-encoding=no-such-thing\n")
    write(task, "x.py", "x\n")
    with pytest.raises(RepositoryError, match="no-such-thing"):
        commit_worktree(task, "X", "coder")
    Path(task.path, ".gitattributes").unlink()
    assert commit_worktree(task, "X", "coder").new


def test_files_that_are_gone_or_became_a_link_come_back_as_last_committed(work: TeamWorkspace, tmp_path: Path):
    task = open_worktree(work, "one")
    write(task, "x.py", "x\n")
    commit_worktree(task, "X", "coder")
    for become in (lambda: None, lambda: Path(task.path).symlink_to(tmp_path), lambda: Path(task.path).write_text("")):
        os.rename(task.path, tmp_path / "away")
        become()
        with pytest.raises(RepositoryError, match="`begin_task` gets them back"):
            commit_worktree(task, "Again", "coder")
        assert sorted(os.listdir(open_worktree(work, "one").path)) == ["a.py", "link", "run.sh", "src", "tests", "x.py"]
        subprocess.run(["rm", "-r", str(tmp_path / "away")], check=True)


@pytest.mark.parametrize("harm", [lambda path: path.write_bytes(b"garbage"), lambda path: path.unlink()])
def test_a_damaged_index_is_made_anew(home: Path, work: TeamWorkspace, harm: Callable[[Path], None]):
    (home / ".git" / "info" / "exclude").write_text("*.sh\n")
    work = open_workspace(work.repository, "t", Path(work.place).parent)
    one, two = open_worktree(work, "one"), open_worktree(work, "two")
    Path(one.path, "a.py").unlink()
    fast_forward_main(work, commit_worktree(one, "Without", "coder").id)
    harm(Path(work.path(".index", "two")))
    assert not commit_worktree(two, "Nothing", "coder").new
    harm(Path(work.path(".index", "two")))
    write(two, "y.py", "y\n")
    commit_worktree(two, "Y", "coder")
    harm(Path(work.path(".index", "two")))
    assert isinstance(update_from_main(two), UpdatedTask)
    assert sorted(files_of(home, two.branch)) == ["link", "run.sh", "src/b.py", "tests/test_b.py", "y.py"]
    assert not Path(two.path, "a.py").exists()


def test_the_author_is_the_agent_whatever_it_is_called(home: Path, work: TeamWorkspace):
    task = open_worktree(work, "one")
    for number, name in enumerate(["Coder <x>\n", "", "ü", "...", "a\0b"]):
        write(task, "n.py", str(number))
        commit_worktree(task, "N\0\ud800" if number else "", name)
    log = run_git(home, "log", "-5", "--format=%an <%ae>", task.branch).splitlines()
    assert log == [
        "a b <a-b@localhost>",
        "agent <agent@localhost>",
        "ü <agent@localhost>",
        "agent <agent@localhost>",
        "Coder x <Coder-x@localhost>",
    ]


# Changes


def test_changes_tell_tests_and_what_decides_on_them_from_code(work: TeamWorkspace):
    task = open_worktree(work, "one")
    write(task, "a.py", "one\n2\nthree\nfour\n")
    write(task, "tests/test_b.py", "")
    write(task, "conftest.py", "c\n")
    Path(task.path, "src", "b.py").unlink()
    Path(task.path, "image.png").write_bytes(b"\0\1\2")
    commit_worktree(task, "Much", "coder")
    found = {each.path: (each.status, each.added, each.deleted, each.role) for each in list_task_changes(work, "one")}
    assert found == {
        "a.py": ("modified", 2, 1, "code"),
        "tests/test_b.py": ("modified", 0, 1, "test"),
        "conftest.py": ("added", 1, 0, "test setup"),
        "src/b.py": ("deleted", 0, 1, "code"),
        "image.png": ("added", None, None, "code"),
    }


@pytest.mark.parametrize(
    ("path", "role"),
    [
        ("src/latest.py", "code"),
        ("src/contest/a.py", "code"),
        ("pkg/x_test.go", "test"),
        ("src/a.spec.ts", "test"),
        ("src/UserTest.java", "test"),
        ("test_a.py", "test"),
        ("Tests/data/x.json", "test"),
        ("Makefile", "test setup"),
        ("web/package.json", "test setup"),
    ],
)
def test_roles_are_told_by_names(path: str, role: str):
    assert classify_file(path) == role


def test_a_diff_names_what_is_no_text_and_says_where_it_is_cut(work: TeamWorkspace):
    task = open_worktree(work, "one")
    write(task, "a.py", "one\n2\nthree\n")
    Path(task.path, "image.png").write_bytes(b"\0\1\2" * 1000)
    commit_worktree(task, "Much", "coder")
    whole = text_diff(work, "one")
    assert "-two\n+2\n" in whole.text
    assert "Binary files /dev/null and b/image.png differ" in whole.text
    assert not whole.cut
    part = text_diff(work, "one", most=100)
    assert part.cut
    assert part.size == whole.size == len(whole.text)
    assert part.text.endswith(f"characters of a diff of {whole.size:,} bytes]\n")
    assert whole.text.startswith(part.text.partition("[cut")[0])
    assert len(part.text.partition("[cut")[0]) <= 100


def test_changes_are_those_of_the_task_also_after_others_and_after_its_merge(work: TeamWorkspace):
    one, two = open_worktree(work, "one"), open_worktree(work, "two")
    write(one, "x.py", "x\n")
    write(two, "y.py", "y\n")
    fast_forward_main(work, commit_worktree(one, "X", "coder").id)
    commit_worktree(two, "Y", "coder")
    rebased = update_from_main(two)
    assert isinstance(rebased, UpdatedTask)
    assert [each.path for each in list_task_changes(work, "two")] == ["y.py"]
    fast_forward_main(work, rebased.head)
    assert list_task_changes(work, "two") == ()
    assert [each.path for each in list_task_changes(work, "two", rebased.onto)] == ["y.py"]
    assert "x.py" not in diff_between(work, rebased.onto, work.head("two")).text


# Bringing work together


def test_tasks_side_by_side_are_merged_one_after_the_other(home: Path, work: TeamWorkspace):
    one, two = open_worktree(work, "one"), open_worktree(work, "two")
    write(one, "a.py", "one!\ntwo\nthree\n")
    write(two, "src/b.py", "b = 3\n")
    first, second = commit_worktree(one, "One", "coder"), commit_worktree(two, "Two", "coder")
    assert fast_forward_main(work, first.id) == BranchMerged(first.id)
    assert fast_forward_main(work, first.id) == BranchMerged(first.id)
    assert fast_forward_main(work, second.id) == BranchMoved(first.id)
    rebased = update_from_main(two)
    assert isinstance(rebased, UpdatedTask)
    assert rebased == UpdatedTask(rebased.head, first.id) == update_from_main(two)
    assert Path(two.path, "a.py").read_text() == "one!\ntwo\nthree\n"
    assert fast_forward_main(work, rebased.head) == BranchMerged(rebased.head)
    assert content_of(home, work.main, "a.py") == "one!\ntwo\nthree"
    assert content_of(home, work.main, "src/b.py") == "b = 3"
    assert not commit_worktree(two, "Nothing", "coder").new
    assert update_from_main(one) == UpdatedTask(rebased.head, rebased.head)
    assert Path(one.path, "src", "b.py").read_text() == "b = 3\n"


def test_a_conflict_shows_both_sides_and_leaves_all_as_it_was(work: TeamWorkspace):
    one, two = open_worktree(work, "one"), open_worktree(work, "two")
    write(one, "a.py", "one\nfirst\nthree\n")
    Path(one.path, "run.sh").unlink()
    write(two, "a.py", "one\nsecond\nthree\n")
    write(two, "run.sh", "#!/bin/bash\n")
    first, second = commit_worktree(one, "One", "coder"), commit_worktree(two, "Two", "coder")
    fast_forward_main(work, first.id)
    before = {path: path.read_bytes() for path in Path(two.path).rglob("*") if path.is_file()}
    found = update_from_main(two)
    assert isinstance(found, MergeConflict)
    assert found.onto == first.id
    assert {each.path: (each.base, each.theirs, each.ours) for each in found.files} == {
        "a.py": ("one\ntwo\nthree\n", "one\nfirst\nthree\n", "one\nsecond\nthree\n"),
        "run.sh": ("#!/bin/sh\n", None, "#!/bin/bash\n"),
    }
    assert {path: path.read_bytes() for path in Path(two.path).rglob("*") if path.is_file()} == before
    assert work.head("two") == second.id
    assert update_from_main(two) == found


def test_a_conflict_can_be_marked_in_the_files_and_is_merged_only_when_the_marks_are_gone(
    home: Path, work: TeamWorkspace
):
    one, two = open_worktree(work, "one"), open_worktree(work, "two")
    write(one, "a.py", "one\nfirst\nthree\n")
    write(two, "a.py", "one\nsecond\nthree\n")
    fast_forward_main(work, commit_worktree(one, "One", "coder").id)
    commit_worktree(two, "Two", "coder")
    assert isinstance(update_from_main(two, marking=True), MergeConflict)
    marked = Path(two.path, "a.py").read_text()
    assert "<<<<<<< before-two\nfirst\n=======\nsecond\n>>>>>>> two\n" in marked
    assert fast_forward_main(work, commit_worktree(two, "Nothing", "coder").id) == MarkersLeft(("a.py",))
    write(two, "a.py", "one\nfirst and second\nthree\n")
    resolved = commit_worktree(two, "Resolve", "coder")
    assert fast_forward_main(work, resolved.id) == BranchMerged(resolved.id)
    assert run_git(home, "merge-base", "--is-ancestor", "antiphon/t/one", work.main) == ""


def test_uncommitted_work_is_not_lost_in_a_rebase(work: TeamWorkspace):
    task = open_worktree(work, "one")
    write(task, "x.py", "x\n")
    with pytest.raises(RepositoryError, match="commit them first"):
        update_from_main(task)
    assert Path(task.path, "x.py").exists()


def test_a_branch_that_somebody_moved_is_not_written_over(home: Path, work: TeamWorkspace):
    task = open_worktree(work, "one")
    write(task, "x.py", "x\n")
    made = commit_worktree(task, "X", "coder")
    run_git(home, "branch", "-f", task.branch, "main")
    with pytest.raises(RepositoryError, match=f"git branch -f antiphon/t/one {made.id[:12]}"):
        commit_worktree(task, "Y", "coder")
    run_git(home, "branch", "-f", task.branch, made.id)
    assert not commit_worktree(task, "Y", "coder").new
    run_git(home, "branch", "-D", task.branch)
    with pytest.raises(RepositoryError, match="is gone"):
        open_worktree(work, "one")


def test_two_that_merge_at_once_both_arrive(home: Path, work: TeamWorkspace):
    tasks = [open_worktree(work, f"task-{number}") for number in range(4)]

    def go(task: Worktree) -> None:
        write(task, f"{task.task}.py", "x\n")
        commit_worktree(task, task.task, "coder")
        while True:
            rebased = update_from_main(task)
            assert isinstance(rebased, UpdatedTask)
            if isinstance(fast_forward_main(work, rebased.head), BranchMerged):
                return

    threads = [threading.Thread(target=go, args=(task,)) for task in tasks]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert {f"{task.task}.py" for task in tasks} <= set(files_of(home, work.main))


def test_a_branch_is_found_however_git_keeps_it(home: Path, work: TeamWorkspace):
    first = work.head()
    run_git(home, "pack-refs", "--all", "--prune")
    assert work.head() == first
    later = run_git(home, "commit-tree", "-p", first, "-m", "later", f"{first}^{{tree}}")
    run_git(home, "update-ref", f"refs/heads/{work.main}", later)
    assert work.head() == later
    run_git(home, "symbolic-ref", f"refs/heads/{work.main}", "refs/heads/main")
    assert work.head() == run_git(home, "rev-parse", "main")
    run_git(home, "symbolic-ref", "--delete", f"refs/heads/{work.main}")
    with pytest.raises(RepositoryError, match="somebody may have deleted it"):
        work.head()


def test_two_teams_on_one_repository_do_not_disturb_each_other(home: Path, place: Path):
    one, two = open_workspace(Repository.find(home), "one", place), open_workspace(Repository.find(home), "two", place)
    first, second = open_worktree(one, "x"), open_worktree(two, "x")
    write(first, "x.py", "first\n")
    write(second, "x.py", "second\n")
    fast_forward_main(one, commit_worktree(first, "X", "coder").id)
    commit_worktree(second, "X", "coder")
    assert remove_stale_worktrees(one) == ("x",)
    assert Path(second.path, "x.py").read_text() == "second\n"
    assert content_of(home, "antiphon/one/main", "x.py") == "first"
    assert content_of(home, "antiphon/two/x", "x.py") == "second"
    assert two.head() != one.head()


# Removing


def test_the_files_of_a_task_are_removed_whatever_they_have_become(home: Path, work: TeamWorkspace):
    task = open_worktree(work, "one")
    write(task, "deep/er/x.py", "x\n")
    for path in ("deep/er/x.py", "deep/er", "deep"):
        Path(task.path, path).chmod(0o400)
    os.mkfifo(Path(task.path, "pipe"))
    remove_worktree(work, "one")
    remove_worktree(work, "one")
    assert os.listdir(work.path(".gone")) == []
    assert not Path(task.path).exists()
    assert run_git(home, "rev-parse", task.branch)
    remove_worktree(work, "one", keep_branch=False)
    assert work.find(task.branch) is None


def test_a_sweep_removes_the_dead_keeps_the_living_and_loses_no_commit(home: Path, work: TeamWorkspace):
    for name in ("alive", "merged", "unmerged"):
        task = open_worktree(work, name)
        write(task, f"{name}.py", "x\n")
        made = commit_worktree(task, name, "coder")
        if name == "merged":
            fast_forward_main(work, made.id)
    run_git(home, "branch", "antiphon/other/x")
    assert remove_stale_worktrees(work, ["alive"]) == ("merged", "unmerged")
    assert sorted(name for name in os.listdir(work.place) if name[0] != ".") == ["alive"]
    branches = run_git(home, "branch", "--format=%(refname:short)").split()
    expected = ["antiphon/other/x", "antiphon/t/alive", "antiphon/t/main", "antiphon/t/unmerged", "main", "other"]
    assert sorted(branches) == expected
    assert remove_stale_worktrees(work, ["alive"]) == ()


def test_a_branch_that_the_user_looks_at_does_not_stop_a_sweep(home: Path, work: TeamWorkspace):
    one, two = open_worktree(work, "one"), open_worktree(work, "two")
    run_git(home, "reset", "-q", "--hard")
    run_git(home, "switch", "-q", one.branch)
    assert remove_stale_worktrees(work) == ("one", "two")
    assert work.find(one.branch) is not None
    assert work.find(two.branch) is None


def test_a_place_that_cannot_be_written_is_an_error_and_no_traceback(home: Path, tmp_path: Path, work: TeamWorkspace):
    (tmp_path / "file").write_text("")
    with pytest.raises(RepositoryError, match=r"file.*: (Not a directory|File exists)"):
        open_workspace(Repository.find(home), "t", tmp_path / "file")
    os.rename(work.path(".at"), work.path(".away"))
    with pytest.raises(RepositoryError, match="No such file or directory"):
        open_worktree(work, "one")


# Ends at any moment


def test_locks_of_the_dead_are_removed_and_those_of_others_are_named(home: Path, work: TeamWorkspace):
    task = open_worktree(work, "one")
    write(task, "x.py", "x\n")
    Path(work.path(".index", "one.lock")).write_text("")
    (home / ".git" / "refs" / "heads" / "antiphon" / "t" / "one.lock").write_text("")
    made = commit_worktree(task, "X", "coder")
    assert made.new
    (home / ".git" / "refs" / "heads" / "antiphon" / "t" / "main.lock").write_text("")
    assert fast_forward_main(work, made.id) == BranchMerged(made.id)
    (home / ".git" / "packed-refs.lock").write_text("")
    with pytest.raises(RepositoryError, match=r"packed-refs\.lock"):
        remove_worktree(work, "one", keep_branch=False)
    (home / ".git" / "packed-refs.lock").unlink()
    remove_worktree(work, "one", keep_branch=False)


EFFECTS = ("subprocess.Popen", "os.rename", "os.mkdir", "os.remove", "os.rmdir", "shutil.rmtree")


def story(home: Path, place: Path) -> None:
    """Two tasks from beginning to end; what is done is seen from what is there, as it would be from a journal."""
    work = open_workspace(Repository.find(home), "t", place)
    for name, text in (("one", "one!\ntwo\nthree\n"), ("two", "one\ntwo\nthree!\n")):
        task = open_worktree(work, name)
        write(task, "a.py", text) if work.head(name) == work.repository.head else None
        write(task, f"{name}.py", "x\n")
        commit_worktree(task, name, "coder")
    for name in ("one", "two"):
        rebased = update_from_main(open_worktree(work, name))
        assert isinstance(rebased, UpdatedTask)
        assert isinstance(fast_forward_main(work, rebased.head), BranchMerged)
    assert [each.author for each in summarize_branch(work).commits].count("coder") == 2
    remove_worktree(work, "one", keep_branch=False)
    remove_stale_worktrees(work)


def killed_at(number: int, home: Path, place: Path) -> bool:
    """Tell the story in a process that is killed before its so-manieth effect; whether it came so far."""
    child = os.fork()
    if child == 0:
        left = number

        def count(event: str, arguments: tuple[object, ...]) -> None:
            nonlocal left
            writes = event == "open" and isinstance(arguments[2], int) and arguments[2] & (os.O_WRONLY | os.O_RDWR)
            if event in EFFECTS or writes:
                left -= 1
                if left < 0:
                    os.kill(os.getpid(), signal.SIGKILL)

        sys.addaudithook(count)
        code = 1
        try:
            story(home, place)
            code = 0
        finally:
            os._exit(code)
    _, status = os.waitpid(child, 0)
    if os.WIFSIGNALED(status):
        assert os.WTERMSIG(status) == signal.SIGKILL
        return True
    assert os.waitstatus_to_exitcode(status) == 0
    return False


def test_an_end_at_any_effect_loses_and_doubles_nothing(home: Path, place: Path):
    before = print_of(home)
    ends = 0
    # Each end is a little later than the one before, and the next attempt goes on from what it left.
    for step in (1, 2, 3, 5, 8, 13, 21, 34, 40, 46, 52, 58, 64, 70, 75, 80, 85, 90, 95, 100, 105, 110, 115, 120):
        ends += killed_at(step, home, place)
    assert ends > 5
    story(home, place)
    assert print_of(home) == before
    assert content_of(home, "antiphon/t/main", "a.py") == "one!\ntwo\nthree!"
    assert {"one.py", "two.py"} <= set(files_of(home, "antiphon/t/main"))
    assert [name for name in os.listdir(place / "t") if name[0] != "."] == []
    assert run_git(home, "branch", "--format=%(refname:short)").split() == ["antiphon/t/main", "main", "other"]
    run_git(home, "fsck", "--strict")
