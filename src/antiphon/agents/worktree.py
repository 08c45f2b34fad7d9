"""The files of a task: made, committed, brought up to date, merged and removed, whatever happened in between.

Each step can be repeated after an end at any moment. A directory of files is made beside and then renamed, so it is
whole if it is there. `.at/TASK` says which commit the files belong to; while they go on to the next one it says both,
and whoever comes next brings that to its end.
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

from antiphon.agents.git import Git, RepositoryError, author
from antiphon.agents.merging import Clash, holds, marked_files, merge_trees, shown
from antiphon.agents.repository import Workplace, check_name, read_whole, write_whole
from antiphon.tools.sandbox import UNWALKED

#: A file that grew beyond this is a mistake more often than a change, and would be in the user's repository for good.
LARGEST_FILE = 50_000_000
#: A process that is being ended may still write into what is removed.
_ATTEMPTS = 5

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Worktree:
    """The files of a task, at `path`."""

    work: Workplace
    task: str

    @property
    def path(self) -> str:
        """The directory; there is no `.git` in it."""
        return self.work.path(self.task)

    @property
    def branch(self) -> str:
        """The branch its commits go to."""
        return self.work.branch(self.task)


@dataclass(frozen=True, slots=True)
class Committed:
    """The commit that holds all that is in the files, but for `left_out`: too large, or nothing git can hold.

    `new` is false if nothing had changed since the commit before.
    """

    id: str
    new: bool
    left_out: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Rebased:
    """The task is at `head`, which holds all of the team's branch at `onto`."""

    head: str
    onto: str


@dataclass(frozen=True, slots=True)
class Conflict:
    """Changes that cannot be brought together: `theirs` were merged before, up to `onto`; `ours` are the task's."""

    onto: str
    files: tuple[Clash, ...]


@dataclass(frozen=True, slots=True)
class Merged:
    """The team's branch holds the commit, and is at `head`."""

    head: str


@dataclass(frozen=True, slots=True)
class Moved:
    """The team's branch is at `head`, which the commit does not hold: rebase, and test again."""

    head: str


@dataclass(frozen=True, slots=True)
class Marked:
    """Marks of conflicts are left in these files."""

    files: tuple[str, ...]


def begin_task(work: Workplace, task: str) -> Worktree:
    """The files of a task: as they were left, else those of its branch, else of a new branch where the team's is."""
    check_name(task, "task")
    if task == "main":
        raise RepositoryError("`main` is the branch of the team itself; name the task otherwise")
    worktree = Worktree(work, task)
    with work.lock(task) as held:
        if work.find(worktree.branch) is None:
            if _is_directory(worktree.path):
                raise RepositoryError(f"the branch `{worktree.branch}` is gone, its files are still in {worktree.path}")
            work.move(held, task, work.head(), None)
        if _is_directory(worktree.path):
            _settle(worktree, held)
        else:
            _make(worktree, held)
    return worktree


def commit(worktree: Worktree, message: str, by: str) -> Committed:
    """Commit all that is in the files, with `by` as author."""
    work = worktree.work
    with work.lock(worktree.task) as held:
        head = _settle(worktree, held)
        git = work.files(worktree.task, held)
        tree, left_out = _snapshot(worktree, git, head)
        if tree == git.tell("rev-parse", f"{head}^{{tree}}"):
            return Committed(head, False, left_out)
        said = message.replace("\0", "").strip() or "(no message)"
        given = (said + "\n").encode("utf-8", "replace")
        made = git.tell("commit-tree", tree, "-p", head, given=given, variables=author(by))
        _go_on(worktree, held, head, made, files=False)
        return Committed(made, True, left_out)


def snapshot(worktree: Worktree) -> str:
    """A commit of all that is in the files, on no branch; that of the branch, where nothing has changed."""
    with worktree.work.lock(worktree.task) as held:
        head = _settle(worktree, held)
        git = worktree.work.files(worktree.task, held)
        tree, _ = _snapshot(worktree, git, head)
        if tree == git.tell("rev-parse", f"{head}^{{tree}}"):
            return head
        return git.tell("commit-tree", tree, "-p", head, given=f"{worktree.task} as it was left\n".encode())


def ignored(worktree: Worktree) -> tuple[str, ...]:
    """Name what is in the files and git is told to ignore: no commit of the task has it."""
    with worktree.work.lock(worktree.task) as held:
        git = worktree.work.files(worktree.task, held)
        said = git.tell("ls-files", "-z", "-o", "-i", "--exclude-standard", "--directory")
    names = (name.rstrip("/") for name in said.split("\0") if name)
    return tuple(name for name in names if not UNWALKED.intersection(name.split("/")))


def restore(worktree: Worktree) -> None:
    """Let the files be as last committed: what is in none of its commits is gone, but for what is ignored."""
    with worktree.work.lock(worktree.task) as held:
        head = _settle(worktree, held)
        git = worktree.work.files(worktree.task, held)
        _repaired(worktree, git, head, lambda: git.tell("read-tree", "--reset", "-u", head))
        git.tell("clean", "-ffdq")


def rebase(worktree: Worktree, *, marking: bool = False) -> Rebased | Conflict:
    """Bring what the team has merged meanwhile into a task, by a merge: no commit is written anew.

    At a conflict nothing is changed. With `marking` the files then get both sides between git's usual marks, in a
    commit of the task, for whoever is to resolve them; the marks must be gone before `merge`.
    """
    work = worktree.work
    with work.lock(worktree.task) as held:
        head = _settle(worktree, held)
        git = work.files(worktree.task, held)
        if _snapshot(worktree, git, head)[0] != git.tell("rev-parse", f"{head}^{{tree}}"):
            raise RepositoryError(
                f"the files of `{worktree.task}` have changes that are not committed; commit them first"
            )
        onto = work.head()
        if holds(git, head, onto):
            return Rebased(head, onto)
        if holds(git, onto, head):
            _go_on(worktree, held, head, onto)
            return Rebased(onto, onto)
        tree, clashes = merge_trees(git, worktree.task, onto, head)
        if clashes and not marking:
            return Conflict(onto, clashes)
        said = f"Bring {worktree.task} together with what was merged before\n".encode()
        made = git.tell("commit-tree", tree, "-p", onto, "-p", head, given=said)
        _go_on(worktree, held, head, made)
        return Conflict(onto, clashes) if clashes else Rebased(made, onto)


def merge(work: Workplace, tested: str) -> Merged | Moved | Marked:
    """Let the team's branch be at a commit that was found good, if that holds all that the branch does."""
    with work.lock("main") as held:
        git = work.files()
        head = work.head()
        if holds(git, head, tested):
            return Merged(head)
        if not holds(git, tested, head):
            return Moved(head)
        if marked := marked_files(git, head, tested):
            return Marked(marked)
        return Merged(tested) if work.move(held, "main", tested, head) else Moved(work.head())


def remove_task(work: Workplace, task: str, *, keep_branch: bool = True) -> None:
    """Remove the files of a task, whatever they have become, and its branch if it is not to be kept."""
    check_name(task, "task")
    with work.lock(task) as held:
        if os.path.lexists(work.path(task)):
            os.rename(work.path(task), work.path(".gone", f"{task}.{secrets.token_hex(4)}"))
        for name in (".index", ".at"):
            for end in ("", ".lock", ".new"):
                _unlink(work.path(name, task + end))
        _remove(work.path(".making", task))
        for gone in os.listdir(work.path(".gone")):
            if gone.partition(".")[0] == task:
                # What cannot be removed is out of the way, and is tried again by the next sweep.
                with suppress(RepositoryError):
                    _remove(work.path(".gone", gone))
        if not keep_branch and (head := work.find(work.branch(task))):
            work.move(held, task, None, head)


def sweep(work: Workplace, alive: Collection[str] = ()) -> tuple[str, ...]:
    """Remove what tasks that are not alive have left: their files, and their branches if all in them is merged."""
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
        merged = head is not None and holds(work.files(), main, head)
        remove_task(work, task)
        if merged:
            # One that the user looks at stays.
            with suppress(RepositoryError):
                remove_task(work, task, keep_branch=False)
    return tuple(task for task in ended if task in left)


def _settle(worktree: Worktree, held: int) -> str:
    """The commit the files belong to, once a step that was broken off is done."""
    work, task = worktree.work, worktree.task
    if not _is_directory(worktree.path):
        raise RepositoryError(f"the files of `{task}` are gone; `begin_task` gets them back as last committed")
    at = read_whole(work.path(".at", task)).decode().split()
    head = work.head(task)
    if len(at) > 1:
        _go_on(worktree, held, at[0], at[1], files=len(at) == 2)
        return at[1]
    if [head] != at:
        was = at[0][:12] if at else "nowhere"
        raise RepositoryError(
            f"somebody else has moved the branch `{worktree.branch}` from {was} to {head[:12]}, and the files of the "
            f"task do not follow; move it back with `git branch -f {worktree.branch} {was}`, or take the task anew"
        )
    return head


def _go_on(worktree: Worktree, held: int, old: str, new: str, *, files: bool = True) -> None:
    """Let the branch go on from a commit to the next, and the files, unless they are what was committed."""
    work, task = worktree.work, worktree.task
    write_whole(work.path(".at", task), f"{old} {new}{'' if files else ' committed'}".encode())
    if files:
        git = work.files(task, held)
        _repaired(worktree, git, old, lambda: git.tell("read-tree", "--reset", "-u", new))
    if work.head(task) != new and not work.move(held, task, new, old):
        write_whole(work.path(".at", task), old.encode())
        _settle(worktree, held)
    write_whole(work.path(".at", task), new.encode())


def _make(worktree: Worktree, held: int) -> None:
    work, task = worktree.work, worktree.task
    making = work.path(".making", task)
    for path in (making, worktree.path, work.path(".index", task), work.path(".index", f"{task}.lock")):
        _remove(path)
    os.mkdir(making)
    head = work.head(task)
    git = work.files(task, held)
    Git(making, {**git.variables, "GIT_WORK_TREE": making}, git.own, held).tell("read-tree", "--reset", "-u", head)
    write_whole(work.path(".at", task), head.encode())
    os.rename(making, worktree.path)


def _repaired(worktree: Worktree, git: Git, head: str, step: Callable[[], T]) -> T:
    """What a step gives that needs the index; if that is lost or damaged, it is made anew."""
    index = worktree.work.path(".index", worktree.task)
    if os.path.exists(index):
        with suppress(RepositoryError):
            return step()
    _unlink(index)
    git.tell("read-tree", head)
    return step()


def _snapshot(worktree: Worktree, git: Git, head: str) -> tuple[str, tuple[str, ...]]:
    """The tree of all that is in the files, and the names of what is not in it."""
    tree, left = _repaired(worktree, git, head, lambda: _add(worktree, git))
    return tree, tuple(sorted(shown(name) for name in left))


def _add(worktree: Worktree, git: Git) -> tuple[str, list[bytes]]:
    changed = _changed(worktree, git)
    left = _added(worktree, git, changed) if changed else []
    links = git.tell("ls-files", "-z", "--stage").split("\0")
    submodules = [os.fsencode(each.partition("\t")[2]) for each in links if each.startswith("160000 ")]
    return git.tell("write-tree"), left + [name for name in submodules if _is_inhabited(worktree, name)]


def _added(worktree: Worktree, git: Git, changed: list[bytes]) -> list[bytes]:
    """Put what has changed into the index; what of it cannot be, or is too large."""
    large = [name for name in changed if _size(worktree, name) > LARGEST_FILE]
    excluded = [b":(exclude,top,literal)" + name for name in large]
    said = git.ask("add", "--all", "--ignore-errors", "--", ".", *excluded)
    if said.code > 1:
        raise RepositoryError(f"the files of `{worktree.task}` cannot be committed: {said.errors}")
    return _changed(worktree, git) if said.code or large else []


def _changed(worktree: Worktree, git: Git) -> list[bytes]:
    """Files that are not in the index as they are. Repositories among them become plain directories."""
    while True:
        names = os.fsencode(git.tell("ls-files", "-z", "-o", "-m", "--exclude-standard")).split(b"\0")[:-1]
        inner = [name for name in names if name.endswith(b"/")]
        if not inner:
            return names
        for name in inner:
            _remove(os.path.join(os.fsencode(worktree.path), name, b".git"))


def _is_directory(path: str) -> bool:
    with suppress(FileNotFoundError):
        return stat.S_ISDIR(os.lstat(path).st_mode)
    return False


def _size(worktree: Worktree, name: bytes) -> int:
    with suppress(OSError):
        return os.lstat(os.path.join(os.fsencode(worktree.path), name)).st_size
    return 0


def _is_inhabited(worktree: Worktree, name: bytes) -> bool:
    with suppress(OSError), os.scandir(os.path.join(os.fsencode(worktree.path), name)) as entries:
        return any(True for _ in entries)
    return False


def _unlink(path: str) -> None:
    with suppress(FileNotFoundError):
        os.unlink(path)


def _remove(path: str | bytes) -> None:
    """Remove what is there, of whatever kind; links are not followed, and what may not be written is made writable."""
    if not os.path.lexists(path):
        return
    if os.path.islink(path) or not os.path.isdir(path):
        os.unlink(path)
        return
    for _ in range(_ATTEMPTS):
        for directory, _, _ in os.walk(os.fsencode(path)):
            with suppress(OSError):
                os.chmod(directory, 0o700)
        shutil.rmtree(path, ignore_errors=True)
        if not os.path.lexists(path):
            return
    raise RepositoryError(f"{os.fsdecode(path)} cannot be removed; somebody else may own files in it")
