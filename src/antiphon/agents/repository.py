"""The user's repository, and the branches and directory that a team has beside it.

Nothing of the user's is written but objects and refs of the team's own: `antiphon/TEAM/main` that holds what is done,
`antiphon/TEAM/TASK` for each task, and `refs/antiphon/TEAM/base`, where it began. Files are worked on in a directory
elsewhere that git at the user's repository knows nothing of; there is no `.git` in it that could be broken or followed.
"""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass, replace

from antiphon.agents.git import Git, RepositoryError, at_store, at_user
from antiphon.tools.builtin.git import SETTINGS, hardened
from antiphon.tools.sandbox import UNWALKED

#: Merging without a checkout came with this version.
_OLDEST_GIT = (2, 38)
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,63}")
_HASH = re.compile(r"[0-9a-f]{40}|[0-9a-f]{64}")
_MOST_IN_A_REF = 100
_UNDER_WAY = {
    "rebase-merge": "a rebase",
    "rebase-apply": "a rebase",
    "MERGE_HEAD": "a merge",
    "CHERRY_PICK_HEAD": "a cherry-pick",
    "REVERT_HEAD": "a revert",
    "BISECT_LOG": "a bisection",
}
#: A file that was being written when its process was killed.
_HALF_WRITTEN = f".{'[0-9a-f]' * 16}.tmp"
#: What tests and tools leave behind, where nobody thought of ignoring it; `venv` may be a link.
_IGNORED = (*sorted(UNWALKED - {".git"}), "venv", "*.pyc", ".coverage", ".hypothesis", ".DS_Store", _HALF_WRITTEN)


@dataclass(frozen=True, slots=True)
class Repository:
    """A repository as its user left it. `head` is `None` before the first commit, `branch` when none is checked out.

    `notes` are sentences for him on what a team will not see or touch.
    """

    top: str
    directory: str
    head: str | None
    branch: str | None
    notes: tuple[str, ...]

    @staticmethod
    def find(path: str | os.PathLike[str] = ".") -> Repository:
        """The repository that a directory is in; a `RepositoryError` says what to do where a team cannot work."""
        where = os.path.realpath(path)
        git = at_user(where)
        _check_version(git)
        top = _top(git, where)
        directory = git.tell("rev-parse", "--path-format=absolute", "--git-common-dir")
        said = git.ask("symbolic-ref", "--quiet", "HEAD")
        ref = None if said.code else said.text
        head = _head(git, ref)
        branch = ref and ref.removeprefix("refs/heads/")
        return Repository(top, os.path.realpath(directory), head, branch, tuple(_notes(git, top, head, branch)))


@dataclass(frozen=True, slots=True)
class Workplace:
    """A team's branches in a repository, and its directory."""

    repository: Repository
    team: str
    place: str

    @property
    def main(self) -> str:
        """The branch that holds what the team has done."""
        return self.branch("main")

    def branch(self, task: str) -> str:
        """The branch of a task."""
        return f"antiphon/{self.team}/{task}"

    def path(self, *parts: str) -> str:
        """A path in the directory of the team."""
        return os.path.join(self.place, *parts)

    def refs(self, held: int | None = None) -> Git:
        """Git for looking up and moving branches."""
        directory = self.repository.directory
        own = (os.path.join(directory, "refs", "heads", "antiphon", self.team, ""),)
        return replace(at_user(directory, directory), own=own, held=held)

    def files(self, task: str = "", held: int | None = None) -> Git:
        """Git for the files of a task, or for none."""
        tree = self.path(task) if task else self.place
        objects = os.path.join(self.repository.directory, "objects")
        index = self.path(".index", task or "none")
        return replace(at_store(self.path(".store"), objects, tree, index, (self.place,)), held=held)

    def find(self, ref: str) -> str | None:
        """The commit a branch, or a full name of a ref, is at."""
        full = ref if ref.startswith("refs/") else f"refs/heads/{ref}"
        if loose := _loose(os.path.join(self.repository.directory, full)):
            return loose
        said = self.refs().ask("rev-parse", "--verify", "--quiet", "--end-of-options", f"{full}^{{commit}}")
        return None if said.code else said.text

    def head(self, task: str = "main") -> str:
        """The commit the branch of a task is at, which there must be."""
        found = self.find(self.branch(task))
        if found is None:
            raise RepositoryError(f"there is no branch `{self.branch(task)}`; somebody may have deleted it")
        return found

    def move(self, held: int, task: str, new: str | None, old: str | None) -> bool:
        """Move a branch from where it is thought to be, make it (`old` is none) or delete it; or it is elsewhere."""
        name = self.branch(task)
        if old is not None and (where := self._checked_out(name)):
            raise RepositoryError(
                f"`{name}` is checked out at {where}, and would change there; switch to another branch, "
                f"for example with `git -C {where} switch --detach`"
            )
        return self.point(held, f"refs/heads/{name}", new, old)

    def point(self, held: int, ref: str, new: str | None, old: str | None) -> bool:
        """The same for a ref that nobody checks out."""
        change = ["-d", ref] if new is None else ["-m", "antiphon", ref, new]
        said = self.refs(held).ask("update-ref", "--no-deref", *change, old or "0" * len(new or ""))
        if not said.code:
            return True
        if self.find(ref) == old:
            raise RepositoryError(_in_the_way(ref, said.errors))
        return False

    def _checked_out(self, name: str) -> str | None:
        listed = self.refs().tell("worktree", "list", "--porcelain", "-z").split("\0\0")
        held = [entry.split("\0")[0] for entry in listed if f"branch refs/heads/{name}" in entry.split("\0")]
        return held[0].removeprefix("worktree ") if held else None

    @contextmanager
    def lock(self, name: str) -> Generator[int, None, None]:
        """Hold what belongs to a task (or `main`): nobody else is at it, in this process or another."""
        import fcntl

        try:
            os.makedirs(self.path(".locks"), exist_ok=True)
            with open(self.path(".locks", name), "ab") as file:
                fcntl.flock(file, fcntl.LOCK_EX)
                yield file.fileno()
        except OSError as error:
            raise RepositoryError(f"{error.filename or self.place}: {error.strerror}") from None


def begin(repository: Repository, team: str, place: str | os.PathLike[str]) -> Workplace:
    """The workplace of a team, made or found again, with `antiphon/TEAM/main` where the user's HEAD was when it began.

    A repository without commits gets an empty first one, on the team's branch alone. `place` is a directory outside of
    the user's files; each team has one of its own in it.
    """
    check_name(team, "team")
    root = os.path.realpath(place)
    for his in (repository.top, repository.directory):
        if os.path.commonpath([root, his]) == his:
            raise RepositoryError(f"{root} lies in the repository at {his}; a team needs a directory outside of it")
    work = Workplace(repository, team, os.path.join(root, team))
    with work.lock("main") as held:
        _claim(work)
        _make_store(work)
        base = work.find(f"refs/antiphon/{team}/base")
        if base is None:
            base = work.find(work.main) or repository.head or _first_commit(work)
            work.point(held, f"refs/antiphon/{team}/base", base, None)
        if work.find(work.main) is None:
            work.move(held, "main", base, None)
    return work


def check_name(name: str, what: str) -> None:
    """Names become parts of branches and of paths."""
    if not _NAME.fullmatch(name):
        raise RepositoryError(f"{name!r} cannot name a {what}: at most 64 letters, digits, `-` and `_`")


def _loose(path: str) -> str | None:
    """The commit in the file of a ref, which counts before all others. Agents ask often, and git is slow to start.

    What has none, because it is packed or is kept in another format, leads elsewhere or is not there, is asked of git.
    """
    try:
        with open(os.open(path, os.O_RDONLY | os.O_NOFOLLOW), encoding="ascii") as file:
            said = file.read(_MOST_IN_A_REF).removesuffix("\n")
    except (OSError, ValueError):
        return None
    return said if _HASH.fullmatch(said) else None


def write_whole(path: str, content: bytes) -> None:
    """Write a file so that it is there as a whole or as it was."""
    temporary = f"{path}.new"
    with open(temporary, "wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
    os.replace(temporary, path)


def read_whole(path: str) -> bytes:
    """A file, empty if there is none."""
    try:
        with open(path, "rb") as file:
            return file.read()
    except FileNotFoundError:
        return b""


def _check_version(git: Git) -> None:
    found = re.search(r"(\d+)\.(\d+)", said := git.tell("version"))
    if not found or (int(found[1]), int(found[2])) < _OLDEST_GIT:
        raise RepositoryError(f"a team needs git 2.38 or newer, and this is {said!r}")


def _top(git: Git, where: str) -> str:
    said = git.ask("rev-parse", "--show-toplevel")
    if said.code:
        raise RepositoryError(_no_repository(where, said.errors))
    top = os.path.realpath(said.text)
    if os.path.commonpath([top, where]) != top:
        raise RepositoryError(f"the repository at {where} says that its files are in {top}; a team does not work there")
    return top


def _no_repository(where: str, errors: str) -> str:
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


def _head(git: Git, ref: str | None) -> str | None:
    said = git.ask("rev-parse", "--verify", "--quiet", "HEAD^{commit}")
    if not said.code:
        return said.text
    if ref is not None and git.ask("show-ref", "--verify", "--quiet", ref).code:
        return None
    raise RepositoryError(f"HEAD of {git.cwd} leads to no commit; `git fsck` may say why")


def _notes(git: Git, top: str, head: str | None, branch: str | None) -> Generator[str]:
    at = git.tell("rev-parse", "--absolute-git-dir")
    changed = _changed(git)
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
            for name, what in _UNDER_WAY.items()
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


def _changed(git: Git) -> int:
    """How many files differ from HEAD or are not tracked; filters that the repository defines are not run."""
    keys = git.tell("config", "--list", "--name-only", "--null").split("\0")
    settings = dict(SETTINGS)
    for name in {key.rpartition(".")[0] for key in keys if key.startswith("filter.")}:
        settings |= {f"{name}.clean": "", f"{name}.smudge": "", f"{name}.process": "", f"{name}.required": "false"}
    said = git.tell(
        "status", "--porcelain", "-z", "--no-renames", "--ignore-submodules=dirty", variables=hardened(settings)
    )
    return said.count("\0")


def _in_the_way(ref: str, errors: str) -> str:
    found = re.search(r"'(refs/heads/[^']+)' exists; cannot create", errors)
    if found:
        name = found[1].removeprefix("refs/heads/")
        return f"your branch `{name}` is in the way of `{ref}`; rename it with `git branch -m {name} NEW-NAME`"
    if found := re.search(r"Unable to create '(.+\.lock)': File exists", errors):
        return f"{ref} cannot be changed while {found[1]} is there; remove that file if no git is running"
    return f"{ref} cannot be changed: {errors}"


def _claim(work: Workplace) -> None:
    """Two repositories in which a team has the same name must not share a directory."""
    mine = os.fsencode(work.repository.directory)
    claimed = read_whole(work.path(".repository")) or mine
    if claimed != mine:
        other = os.fsdecode(claimed)
        raise RepositoryError(f"{work.place} belongs to the team `{work.team}` of {other}; give this team another name")
    write_whole(work.path(".repository"), mine)


def _make_store(work: Workplace) -> None:
    for name in (".index", ".at", ".making", ".gone"):
        os.makedirs(work.path(name), exist_ok=True)
    store, making = work.path(".store"), work.path(".making", ".store")
    git = work.refs()
    if not os.path.isdir(store):
        shutil.rmtree(making, ignore_errors=True)
        form = f"--object-format={git.tell('rev-parse', '--show-object-format')}"
        outside = {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1"}
        at_user(work.place).tell("init", "--quiet", "--bare", "--template=", form, making, variables=outside)
        os.makedirs(os.path.join(making, "info"), exist_ok=True)
        os.rename(making, store)
    directory = work.repository.directory
    ignored = read_whole(os.path.join(directory, "info", "exclude")) + "\n".join(["", *_IGNORED, ""]).encode()
    write_whole(os.path.join(store, "info", "exclude"), ignored)
    if os.path.exists(os.path.join(directory, "shallow")):
        write_whole(os.path.join(store, "shallow"), read_whole(os.path.join(directory, "shallow")))
    for key in ("core.excludesFile", "core.sharedRepository"):
        said = git.ask("config", "--type=path" if key == "core.excludesFile" else "--no-type", "--get", key)
        if not said.code and said.text:
            at_user(store, store).tell("config", "--file", os.path.join(store, "config"), key, said.text)


def _first_commit(work: Workplace) -> str:
    """The same empty commit for every team, so that what two of them did can be merged."""
    git = work.files()
    when = {f"GIT_{who}_DATE": "2000-01-01T00:00:00Z" for who in ("AUTHOR", "COMMITTER")}
    return git.tell("commit-tree", git.tell("mktree"), given=b"Begin\n", variables=when)
