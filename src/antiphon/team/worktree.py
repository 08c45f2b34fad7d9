"""The worktree of a task: create, commit, update, merge and remove it.

Each operation can be repeated after an interruption. A directory is prepared elsewhere and then
renamed, so an existing one is complete. `.at/TASK` names the commit of the files. During a move to
another commit it names both, and the next operation finishes the move.
"""

from __future__ import annotations

import os
import secrets
import shutil
import stat
from collections.abc import Callable, Collection
from contextlib import suppress
from dataclasses import dataclass
from typing import TypeVar

from antiphon.team.git import GitRunner, RepositoryError, author_environment
from antiphon.team.merge import ConflictingFile, contains_commit, decode_file_name, find_conflict_markers, merge_trees
from antiphon.team.repository import TeamWorkspace, check_branch_name, read_or_empty, write_atomically
from antiphon.tools.file_sandbox import SKIPPED_DIRECTORIES

#: A larger file is probably a mistake, and would stay in the user's repository for good.
MAX_FILE_BYTES = 50_000_000
#: A process that is being killed may still write into a directory while it is removed.
_REMOVE_ATTEMPTS = 5

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Worktree:
    """The files of a task, at `path`."""

    work: TeamWorkspace
    task: str

    @property
    def path(self) -> str:
        """The directory of the files; it has no `.git`."""
        return self.work.path(self.task)

    @property
    def branch(self) -> str:
        """The branch that receives its commits."""
        return self.work.branch(self.task)


@dataclass(frozen=True, slots=True)
class CommitResult:
    """The commit with all files, except those in `left_out`: too large, or unsupported by git.

    `is_new` is False if nothing had changed since the previous commit.
    """

    id: str
    new: bool
    left_out: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class UpdatedTask:
    """The task is at `head`, which includes the team's branch at `onto`."""

    head: str
    onto: str


@dataclass(frozen=True, slots=True)
class MergeConflict:
    """Conflicting changes: `theirs` were merged before, up to `onto`; `ours` are those of the task."""

    onto: str
    files: tuple[ConflictingFile, ...]


@dataclass(frozen=True, slots=True)
class BranchMerged:
    """The team's branch includes the commit and is at `head`."""

    head: str


@dataclass(frozen=True, slots=True)
class BranchMoved:
    """The team's branch is at `head`, which the commit does not include: update and test again."""

    head: str


@dataclass(frozen=True, slots=True)
class MarkersLeft:
    """Conflict markers are left in these files."""

    files: tuple[str, ...]


def open_worktree(work: TeamWorkspace, task: str) -> Worktree:
    """Return the worktree of a task, creating its files and its branch if necessary."""
    check_branch_name(task, "task")
    if task == "main":
        raise RepositoryError("`main` is the branch of the team itself; name the task otherwise")
    worktree = Worktree(work, task)
    with work.lock(task) as held:
        if work.find(worktree.branch) is None:
            if _is_directory(worktree.path):
                raise RepositoryError(f"the branch `{worktree.branch}` is gone, its files are still in {worktree.path}")
            work.move(held, task, work.head(), None)
        if _is_directory(worktree.path):
            _finish_interrupted_move(worktree, held)
        else:
            _create_files(worktree, held)
    return worktree


def commit_worktree(worktree: Worktree, message: str, by: str) -> CommitResult:
    """Commit all files, with `by` as author."""
    work = worktree.work
    with work.lock(worktree.task) as held:
        head = _finish_interrupted_move(worktree, held)
        git = work.files(worktree.task, held)
        tree, left_out = _write_tree(worktree, git, head)
        if tree == git.tell("rev-parse", f"{head}^{{tree}}"):
            return CommitResult(head, False, left_out)
        said = message.replace("\0", "").strip() or "(no message)"
        given = (said + "\n").encode("utf-8", "replace")
        made = git.tell("commit-tree", tree, "-p", head, given=given, variables=author_environment(by))
        _move_to_commit(worktree, held, head, made, files=False)
        return CommitResult(made, True, left_out)


def snapshot_worktree(worktree: Worktree) -> str:
    """Return a commit of all files that is on no branch; the branch's own commit if nothing has changed."""
    with worktree.work.lock(worktree.task) as held:
        head = _finish_interrupted_move(worktree, held)
        git = worktree.work.files(worktree.task, held)
        tree, _ = _write_tree(worktree, git, head)
        if tree == git.tell("rev-parse", f"{head}^{{tree}}"):
            return head
        return git.tell("commit-tree", tree, "-p", head, given=f"{worktree.task} as it was left\n".encode())


def list_ignored_files(worktree: Worktree) -> tuple[str, ...]:
    """Return the files that git ignores; no commit of the task includes them."""
    with worktree.work.lock(worktree.task) as held:
        git = worktree.work.files(worktree.task, held)
        said = git.tell("ls-files", "-z", "-o", "-i", "--exclude-standard", "--directory")
    names = (name.rstrip("/") for name in said.split("\0") if name)
    return tuple(name for name in names if not SKIPPED_DIRECTORIES.intersection(name.split("/")))


def restore_worktree(worktree: Worktree) -> None:
    """Reset the files to the last commit; ignored files are kept."""
    with worktree.work.lock(worktree.task) as held:
        head = _finish_interrupted_move(worktree, held)
        git = worktree.work.files(worktree.task, held)
        _with_index(worktree, git, head, lambda: git.tell("read-tree", "--reset", "-u", head))
        git.tell("clean", "-ffdq")


def update_from_main(worktree: Worktree, *, marking: bool = False) -> UpdatedTask | MergeConflict:
    """Merge the team's branch into a task; no commit is rewritten.

    A conflict changes nothing. With `marking`, a commit of the task then holds both sides between conflict
    markers, which must be resolved before `fast_forward_main`.
    """
    work = worktree.work
    with work.lock(worktree.task) as held:
        head = _finish_interrupted_move(worktree, held)
        git = work.files(worktree.task, held)
        if _write_tree(worktree, git, head)[0] != git.tell("rev-parse", f"{head}^{{tree}}"):
            raise RepositoryError(
                f"the files of `{worktree.task}` have changes that are not committed; commit them first"
            )
        onto = work.head()
        if contains_commit(git, head, onto):
            return UpdatedTask(head, onto)
        if contains_commit(git, onto, head):
            _move_to_commit(worktree, held, head, onto)
            return UpdatedTask(onto, onto)
        tree, clashes = merge_trees(git, worktree.task, onto, head)
        if clashes and not marking:
            return MergeConflict(onto, clashes)
        said = f"Bring {worktree.task} together with what was merged before\n".encode()
        made = git.tell("commit-tree", tree, "-p", onto, "-p", head, given=said)
        _move_to_commit(worktree, held, head, made)
        return MergeConflict(onto, clashes) if clashes else UpdatedTask(made, onto)


def fast_forward_main(work: TeamWorkspace, tested: str) -> BranchMerged | BranchMoved | MarkersLeft:
    """Move the team's branch forward to a tested commit, if that commit includes the whole branch."""
    with work.lock("main") as held:
        git = work.files()
        head = work.head()
        if contains_commit(git, head, tested):
            return BranchMerged(head)
        if not contains_commit(git, tested, head):
            return BranchMoved(head)
        if marked := find_conflict_markers(git, head, tested):
            return MarkersLeft(marked)
        return BranchMerged(tested) if work.move(held, "main", tested, head) else BranchMoved(work.head())


def remove_worktree(work: TeamWorkspace, task: str, *, keep_branch: bool = True) -> None:
    """Remove the files of a task, and its branch unless `keep_branch` is set."""
    check_branch_name(task, "task")
    with work.lock(task) as held:
        if os.path.lexists(work.path(task)):
            os.rename(work.path(task), work.path(".gone", f"{task}.{secrets.token_hex(4)}"))
        for name in (".index", ".at"):
            for end in ("", ".lock", ".new"):
                _unlink_if_exists(work.path(name, task + end))
        _remove_path(work.path(".making", task))
        for gone in os.listdir(work.path(".gone")):
            if gone.partition(".")[0] == task:
                # Leftovers are already out of the way; the next cleanup tries again.
                with suppress(RepositoryError):
                    _remove_path(work.path(".gone", gone))
        if not keep_branch and (head := work.find(work.branch(task))):
            work.move(held, task, None, head)


def remove_stale_worktrees(work: TeamWorkspace, alive: Collection[str] = ()) -> tuple[str, ...]:
    """Remove the worktrees of tasks that are not `alive`, and their branches if they are merged."""
    prefix = f"refs/heads/{work.branch('')}"
    listed = work.refs().tell("for-each-ref", "--format=%(refname)", prefix)
    branches = {name.removeprefix(prefix) for name in listed.splitlines()} - {"main"}
    left = {name for name in os.listdir(work.path()) if not name.startswith(".")}
    left |= {
        name.partition(".")[0] for part in (".making", ".gone", ".index", ".at") for name in os.listdir(work.path(part))
    }
    ended = sorted((left | branches) - {"", "main", "none"} - set(alive))
    main = work.head()
    for task in ended:
        head = work.find(work.branch(task))
        merged = head is not None and contains_commit(work.files(), main, head)
        remove_worktree(work, task)
        if merged:
            # A branch that the user has checked out stays.
            with suppress(RepositoryError):
                remove_worktree(work, task, keep_branch=False)
    return tuple(task for task in ended if task in left)


def _finish_interrupted_move(worktree: Worktree, held: int) -> str:
    """Finish an interrupted move, and return the commit of the files."""
    work, task = worktree.work, worktree.task
    if not _is_directory(worktree.path):
        raise RepositoryError(f"the files of `{task}` are gone; `begin_task` gets them back as last committed")
    at = read_or_empty(work.path(".at", task)).decode().split()
    head = work.head(task)
    if len(at) > 1:
        _move_to_commit(worktree, held, at[0], at[1], files=len(at) == 2)
        return at[1]
    if [head] != at:
        was = at[0][:12] if at else "nowhere"
        raise RepositoryError(
            f"somebody else has moved the branch `{worktree.branch}` from {was} to {head[:12]}, and the files of the "
            f"task do not follow; move it back with `git branch -f {worktree.branch} {was}`, or take the task anew"
        )
    return head


def _move_to_commit(worktree: Worktree, held: int, old: str, new: str, *, files: bool = True) -> None:
    """Move the branch, and with `files` also the files, from one commit to the next."""
    work, task = worktree.work, worktree.task
    write_atomically(work.path(".at", task), f"{old} {new}{'' if files else ' committed'}".encode())
    if files:
        git = work.files(task, held)
        _with_index(worktree, git, old, lambda: git.tell("read-tree", "--reset", "-u", new))
    if work.head(task) != new and not work.move(held, task, new, old):
        write_atomically(work.path(".at", task), old.encode())
        _finish_interrupted_move(worktree, held)
    write_atomically(work.path(".at", task), new.encode())


def _create_files(worktree: Worktree, held: int) -> None:
    work, task = worktree.work, worktree.task
    making = work.path(".making", task)
    for path in (making, worktree.path, work.path(".index", task), work.path(".index", f"{task}.lock")):
        _remove_path(path)
    os.mkdir(making)
    head = work.head(task)
    git = work.files(task, held)
    GitRunner(making, {**git.variables, "GIT_WORK_TREE": making}, git.own, held).tell(
        "read-tree", "--reset", "-u", head
    )
    write_atomically(work.path(".at", task), head.encode())
    os.rename(making, worktree.path)


def _with_index(worktree: Worktree, git: GitRunner, head: str, step: Callable[[], T]) -> T:
    """Return the result of a step that needs the index; rebuild a lost or damaged index first."""
    index = worktree.work.path(".index", worktree.task)
    if os.path.exists(index):
        with suppress(RepositoryError):
            return step()
    _unlink_if_exists(index)
    git.tell("read-tree", head)
    return step()


def _write_tree(worktree: Worktree, git: GitRunner, head: str) -> tuple[str, tuple[str, ...]]:
    """Return the tree of all files, and the names of files left out of it."""
    tree, left = _with_index(worktree, git, head, lambda: _stage_all(worktree, git))
    return tree, tuple(sorted(decode_file_name(name) for name in left))


def _stage_all(worktree: Worktree, git: GitRunner) -> tuple[str, list[bytes]]:
    changed = _list_changed(worktree, git)
    left = _stage_changed(worktree, git, changed) if changed else []
    links = git.tell("ls-files", "-z", "--stage").split("\0")
    submodules = [os.fsencode(each.partition("\t")[2]) for each in links if each.startswith("160000 ")]
    return git.tell("write-tree"), left + [name for name in submodules if _has_entries(worktree, name)]


def _stage_changed(worktree: Worktree, git: GitRunner, changed: list[bytes]) -> list[bytes]:
    """Stage the changed files, and return those that are too large or cannot be staged."""
    large = [name for name in changed if _file_size(worktree, name) > MAX_FILE_BYTES]
    excluded = [b":(exclude,top,literal)" + name for name in large]
    said = git.ask("add", "--all", "--ignore-errors", "--", ".", *excluded)
    if said.code > 1:
        raise RepositoryError(f"the files of `{worktree.task}` cannot be committed: {said.errors}")
    return _list_changed(worktree, git) if said.code or large else []


def _list_changed(worktree: Worktree, git: GitRunner) -> list[bytes]:
    """Return files that differ from the index; nested repositories become plain directories."""
    while True:
        names = os.fsencode(git.tell("ls-files", "-z", "-o", "-m", "--exclude-standard")).split(b"\0")[:-1]
        inner = [name for name in names if name.endswith(b"/")]
        if not inner:
            return names
        for name in inner:
            _remove_path(os.path.join(os.fsencode(worktree.path), name, b".git"))


def _is_directory(path: str) -> bool:
    with suppress(FileNotFoundError):
        return stat.S_ISDIR(os.lstat(path).st_mode)
    return False


def _file_size(worktree: Worktree, name: bytes) -> int:
    with suppress(OSError):
        return os.lstat(os.path.join(os.fsencode(worktree.path), name)).st_size
    return 0


def _has_entries(worktree: Worktree, name: bytes) -> bool:
    with suppress(OSError), os.scandir(os.path.join(os.fsencode(worktree.path), name)) as entries:
        return any(True for _ in entries)
    return False


def _unlink_if_exists(path: str) -> None:
    with suppress(FileNotFoundError):
        os.unlink(path)


def _remove_path(path: str | bytes) -> None:
    """Remove a file or a directory tree, without following symlinks; make it writable if necessary."""
    if not os.path.lexists(path):
        return
    if os.path.islink(path) or not os.path.isdir(path):
        os.unlink(path)
        return
    for _ in range(_REMOVE_ATTEMPTS):
        for directory, _, _ in os.walk(os.fsencode(path)):
            with suppress(OSError):
                os.chmod(directory, 0o700)
        shutil.rmtree(path, ignore_errors=True)
        if not os.path.lexists(path):
            return
    raise RepositoryError(f"{os.fsdecode(path)} cannot be removed; somebody else may own files in it")
