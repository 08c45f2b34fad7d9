"""The user's repository, and the branches and worktrees of a team.

In the user's repository a team writes only objects and its own refs. `antiphon/TEAM/main` holds
finished work, `antiphon/TEAM/TASK` one task, and `refs/antiphon/TEAM/base` the starting commit. Files
are edited in a directory elsewhere that the user's git does not know. That directory has no `.git` that
could be damaged or followed.
"""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass, replace

from antiphon.team.git import GitRunner, RepositoryError, git_in_team_store, git_in_user_repository
from antiphon.tools.builtin.git import SAFE_GIT_SETTINGS, disable_filters, make_git_environment
from antiphon.tools.file_sandbox import SKIPPED_DIRECTORIES

#: The first version that can merge without a checkout.
_OLDEST_GIT = (2, 38)
_BRANCH_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,63}")
_HASH = re.compile(r"[0-9a-f]{40}|[0-9a-f]{64}")
_MAX_REF_BYTES = 100
_OPERATIONS_IN_PROGRESS = {
    "rebase-merge": "a rebase",
    "rebase-apply": "a rebase",
    "MERGE_HEAD": "a merge",
    "CHERRY_PICK_HEAD": "a cherry-pick",
    "REVERT_HEAD": "a revert",
    "BISECT_LOG": "a bisection",
}
#: A file that was being written when its process was killed.
_HALF_WRITTEN = f".{'[0-9a-f]' * 16}.tmp"
#: Leftovers of tests and tools that a repository may forget to ignore; `venv` may be a symlink.
_IGNORED_PATTERNS = (
    *sorted(SKIPPED_DIRECTORIES - {".git"}),
    "venv",
    "*.pyc",
    ".coverage",
    ".hypothesis",
    ".DS_Store",
    _HALF_WRITTEN,
)


@dataclass(frozen=True, slots=True)
class Repository:
    """A repository as the user left it.

    `head` is `None` before the first commit, and `branch` is `None` with a detached HEAD. `notes` tell the
    user what a team will not see or touch.
    """

    top: str
    directory: str
    head: str | None
    branch: str | None
    notes: tuple[str, ...]

    @staticmethod
    def find(path: str | os.PathLike[str] = ".") -> Repository:
        """Return the repository that contains a directory; raise `RepositoryError` if a team cannot work there."""
        where = os.path.realpath(path)
        git = git_in_user_repository(where)
        found = re.search(r"(\d+)\.(\d+)", version := git.tell("version"))
        if not found or (int(found[1]), int(found[2])) < _OLDEST_GIT:
            raise RepositoryError(f"a team needs git 2.38 or newer, and this is {version!r}")
        top = _find_top(git, where)
        directory = git.tell("rev-parse", "--path-format=absolute", "--git-common-dir")
        said = git.ask("symbolic-ref", "--quiet", "HEAD")
        ref = None if said.code else said.text
        head = _find_head(git, ref)
        branch = ref and ref.removeprefix("refs/heads/")
        return Repository(top, os.path.realpath(directory), head, branch, tuple(_iter_notes(git, top, head, branch)))


@dataclass(frozen=True, slots=True)
class TeamWorkspace:
    """The branches of a team in a repository, and its directory of worktrees."""

    repository: Repository
    team: str
    place: str

    @property
    def main(self) -> str:
        """The branch with the finished work of the team."""
        return self.branch("main")

    def branch(self, task: str) -> str:
        """Return the branch of a task."""
        return f"antiphon/{self.team}/{task}"

    def path(self, *parts: str) -> str:
        """Return a path in the team's directory."""
        return os.path.join(self.place, *parts)

    def refs(self, held: int | None = None) -> GitRunner:
        """Return git for looking up and moving refs."""
        directory = self.repository.directory
        own = (os.path.join(directory, "refs", "heads", "antiphon", self.team, ""),)
        return replace(git_in_user_repository(directory, directory), own=own, held=held)

    def files(self, task: str = "", held: int | None = None) -> GitRunner:
        """Return git for the files of a task, or for objects alone."""
        tree = self.path(task) if task else self.place
        objects = os.path.join(self.repository.directory, "objects")
        index = self.path(".index", task or "none")
        return replace(git_in_team_store(self.path(".store"), objects, tree, index, (self.place,)), held=held)

    def find(self, ref: str) -> str | None:
        """Return the commit of a branch or a full ref name; `None` if there is none."""
        full = ref if ref.startswith("refs/") else f"refs/heads/{ref}"
        if loose := _read_loose_ref(os.path.join(self.repository.directory, full)):
            return loose
        said = self.refs().ask("rev-parse", "--verify", "--quiet", "--end-of-options", f"{full}^{{commit}}")
        return None if said.code else said.text

    def head(self, task: str = "main") -> str:
        """Return the commit of a task's branch; raise `RepositoryError` if the branch is gone."""
        found = self.find(self.branch(task))
        if found is None:
            raise RepositoryError(f"there is no branch `{self.branch(task)}`; somebody may have deleted it")
        return found

    def move(self, held: int, task: str, new: str | None, old: str | None) -> bool:
        """Move, create (`old` is `None`) or delete (`new` is `None`) a branch.

        Return False if the branch is not at `old`. Raise `RepositoryError` if the user has checked it out.
        """
        name = self.branch(task)
        if old is not None and (where := self._find_checkout(name)):
            raise RepositoryError(
                f"`{name}` is checked out at {where}, and would change there; switch to another branch, "
                f"for example with `git -C {where} switch --detach`"
            )
        return self.point(held, f"refs/heads/{name}", new, old)

    def point(self, held: int, ref: str, new: str | None, old: str | None) -> bool:
        """Move, create or delete a ref; return False if it is not at `old`."""
        change = ["-d", ref] if new is None else ["-m", "antiphon", ref, new]
        said = self.refs(held).ask("update-ref", "--no-deref", *change, old or "0" * len(new or ""))
        if not said.code:
            return True
        if self.find(ref) == old:
            raise RepositoryError(_explain_ref_failure(ref, said.errors))
        return False

    def _find_checkout(self, name: str) -> str | None:
        listed = self.refs().tell("worktree", "list", "--porcelain", "-z").split("\0\0")
        held = [entry.split("\0")[0] for entry in listed if f"branch refs/heads/{name}" in entry.split("\0")]
        return held[0].removeprefix("worktree ") if held else None

    @contextmanager
    def lock(self, name: str) -> Generator[int, None, None]:
        """Hold the lock of a task, or of `main`, against threads and other processes."""
        import fcntl

        try:
            os.makedirs(self.path(".locks"), exist_ok=True)
            with open(self.path(".locks", name), "ab") as file:
                fcntl.flock(file, fcntl.LOCK_EX)
                yield file.fileno()
        except OSError as error:
            raise RepositoryError(f"{error.filename or self.place}: {error.strerror}") from None


def open_workspace(repository: Repository, team: str, place: str | os.PathLike[str]) -> TeamWorkspace:
    """Return the workspace of a team, creating it if necessary.

    `antiphon/TEAM/main` starts at the user's HEAD. A repository without commits gets an empty first commit,
    on the team's branch only. `place` is a directory outside the user's files; each team has its own
    subdirectory in it.
    """
    check_branch_name(team, "team")
    root = os.path.realpath(place)
    for his in (repository.top, repository.directory):
        if os.path.commonpath([root, his]) == his:
            raise RepositoryError(f"{root} lies in the repository at {his}; a team needs a directory outside of it")
    work = TeamWorkspace(repository, team, os.path.join(root, team))
    with work.lock("main") as held:
        _claim_directory(work)
        _make_store(work)
        base = work.find(f"refs/antiphon/{team}/base")
        if base is None:
            base = work.find(work.main) or repository.head or _make_first_commit(work)
            work.point(held, f"refs/antiphon/{team}/base", base, None)
        if work.find(work.main) is None:
            work.move(held, "main", base, None)
    return work


def check_branch_name(name: str, what: str) -> None:
    """Raise `RepositoryError` unless a name can be part of a branch and of a path."""
    if not _BRANCH_NAME.fullmatch(name):
        raise RepositoryError(f"{name!r} cannot name a {what}: at most 64 letters, digits, `-` and `_`")


def _read_loose_ref(path: str) -> str | None:
    """Return the commit in a loose ref file, without starting git, which is slow.

    Return `None` for refs that are packed, symbolic, missing or stored in another format; git resolves
    those.
    """
    try:
        with open(os.open(path, os.O_RDONLY | os.O_NOFOLLOW), encoding="ascii") as file:
            said = file.read(_MAX_REF_BYTES).removesuffix("\n")
    except (OSError, ValueError):
        return None
    return said if _HASH.fullmatch(said) else None


def write_atomically(path: str, content: bytes) -> None:
    """Write a file atomically: it has either its old or its new content."""
    temporary = f"{path}.new"
    with open(temporary, "wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
    os.replace(temporary, path)


def read_or_empty(path: str) -> bytes:
    """Return the content of a file; empty if it does not exist."""
    try:
        with open(path, "rb") as file:
            return file.read()
    except FileNotFoundError:
        return b""


def _find_top(git: GitRunner, where: str) -> str:
    said = git.ask("rev-parse", "--show-toplevel")
    if said.code:
        raise RepositoryError(_explain_no_repository(where, said.errors))
    top = os.path.realpath(said.text)
    if os.path.commonpath([top, where]) != top:
        raise RepositoryError(f"the repository at {where} says that its files are in {top}; a team does not work there")
    return top


def _explain_no_repository(where: str, errors: str) -> str:
    if "dubious ownership" in errors or "unsafe repository" in errors:
        return (
            f"the repository at {where} belongs to another user; if you trust it, say so with "
            f"`git config --global --add safe.directory {where}`"
        )
    if ".git" in where.split(os.sep):
        return f"{where} is inside of git's own directory; name the directory with your files"
    if "bare repository" in errors:
        return f"{where} is a bare repository, which has no files to work on; `git clone` it and name the clone"
    if "not a git repository" in errors:
        return f"{where} is not in a git repository; `git init` there makes one, or name another with `--repo`"
    return f"the repository at {where} cannot be used: {errors}"


def _find_head(git: GitRunner, ref: str | None) -> str | None:
    said = git.ask("rev-parse", "--verify", "--quiet", "HEAD^{commit}")
    if not said.code:
        return said.text
    if ref is not None and git.ask("show-ref", "--verify", "--quiet", ref).code:
        return None
    raise RepositoryError(f"HEAD of {git.cwd} leads to no commit; `git fsck` may say why")


def _iter_notes(git: GitRunner, top: str, head: str | None, branch: str | None) -> Generator[str]:
    at = git.tell("rev-parse", "--absolute-git-dir")
    changed = _count_uncommitted(git)
    if head is None:
        yield "there are no commits yet: the team begins with an empty one of its own"
    if changed:
        files = "1 file" if changed == 1 else f"{changed:,} files"
        yield f"{files} with changes that are not committed: the team does not see them"
    if head is not None and branch is None:
        yield f"no branch is checked out: the team begins at {head[:12]}"
    yield from sorted(
        {
            f"{what} is under way: the team begins at HEAD"
            for name, what in _OPERATIONS_IN_PROGRESS.items()
            if os.path.lexists(os.path.join(at, name))
        }
    )
    if head is None:
        return
    if not git.ask("cat-file", "-e", f"{head}:.gitmodules").code:
        yield "there are submodules: their directories are empty for the team, and are left as they are"
    if "filter=" in git.ask("cat-file", "blob", f"{head}:.gitattributes").text:
        yield "some files go through a filter (such as Git LFS): the team sees them as they are stored"
    if git.tell("rev-parse", "--is-shallow-repository") == "true":
        yield f"the history of {top} is cut off (a shallow clone): the team works on what is there"


def _count_uncommitted(git: GitRunner) -> int:
    """Return how many files differ from HEAD or are untracked, without running the repository's filters."""
    keys = git.tell("config", "--list", "--name-only", "--null").split("\0")
    variables = make_git_environment(SAFE_GIT_SETTINGS | disable_filters(keys))
    options = ("--porcelain", "-z", "--no-renames", "--ignore-submodules=dirty")
    return git.tell("status", *options, variables=variables).count("\0")


def _explain_ref_failure(ref: str, errors: str) -> str:
    found = re.search(r"'(refs/heads/[^']+)' exists; cannot create", errors)
    if found:
        name = found[1].removeprefix("refs/heads/")
        return f"your branch `{name}` is in the way of `{ref}`; rename it with `git branch -m {name} NEW-NAME`"
    if found := re.search(r"Unable to create '(.+\.lock)': File exists", errors):
        return f"{ref} cannot be changed while {found[1]} is there; remove that file if no git is running"
    return f"{ref} cannot be changed: {errors}"


def _claim_directory(work: TeamWorkspace) -> None:
    """Raise `RepositoryError` if the directory belongs to a team of the same name in another repository."""
    mine = os.fsencode(work.repository.directory)
    claimed = read_or_empty(work.path(".repository")) or mine
    if claimed != mine:
        other = os.fsdecode(claimed)
        raise RepositoryError(f"{work.place} belongs to the team `{work.team}` of {other}; give this team another name")
    write_atomically(work.path(".repository"), mine)


def _make_store(work: TeamWorkspace) -> None:
    for name in (".index", ".at", ".making", ".gone"):
        os.makedirs(work.path(name), exist_ok=True)
    store, making = work.path(".store"), work.path(".making", ".store")
    git = work.refs()
    if not os.path.isdir(store):
        shutil.rmtree(making, ignore_errors=True)
        form = f"--object-format={git.tell('rev-parse', '--show-object-format')}"
        outside = {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1"}
        git_in_user_repository(work.place).tell(
            "init", "--quiet", "--bare", "--template=", form, making, variables=outside
        )
        os.makedirs(os.path.join(making, "info"), exist_ok=True)
        os.rename(making, store)
    directory = work.repository.directory
    ignored = (
        read_or_empty(os.path.join(directory, "info", "exclude")) + "\n".join(["", *_IGNORED_PATTERNS, ""]).encode()
    )
    write_atomically(os.path.join(store, "info", "exclude"), ignored)
    if os.path.exists(os.path.join(directory, "shallow")):
        write_atomically(os.path.join(store, "shallow"), read_or_empty(os.path.join(directory, "shallow")))
    for key in ("core.excludesFile", "core.sharedRepository"):
        said = git.ask("config", "--type=path" if key == "core.excludesFile" else "--no-type", "--get", key)
        if not said.code and said.text:
            git_in_user_repository(store, store).tell("config", "--file", os.path.join(store, "config"), key, said.text)


def _make_first_commit(work: TeamWorkspace) -> str:
    """Create an empty commit that is identical for every team, so that their work can be merged."""
    git = work.files()
    when = {f"GIT_{who}_DATE": "2000-01-01T00:00:00Z" for who in ("AUTHOR", "COMMITTER")}
    return git.tell("commit-tree", git.tell("mktree"), given=b"Begin\n", variables=when)
