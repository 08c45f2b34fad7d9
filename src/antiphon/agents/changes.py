"""What was changed, for whoever reviews it or takes it: files, a diff, and how to go on from there."""

from __future__ import annotations

from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Literal

from antiphon.agents.repository import Workplace
from antiphon.agents.worktree import shown

Status = Literal["added", "modified", "deleted", "other kind"]
Role = Literal["code", "test", "test setup"]

_STATUS: dict[str, Status] = {"A": "added", "M": "modified", "D": "deleted", "T": "other kind"}
_TEST_DIRECTORIES = frozenset(("test", "tests", "testing", "__tests__", "spec", "specs", "__snapshots__", "testdata"))
_TESTS = ("test_*", "*_test.*", "*_tests.*", "*.test.*", "*.spec.*", "*_spec.*", "*Test.*", "*Tests.*", "*Spec.*")
#: Files that decide which tests are run and how; some hold other things, too.
_SETUP = (
    *(
        "conftest.py",
        "pytest.ini",
        ".pytest.ini",
        "tox.ini",
        "noxfile.py",
        "setup.cfg",
        "pyproject.toml",
        ".coveragerc",
    ),
    *("makefile", "gnumakefile", "package.json", "jest.config.*", "vitest.config.*", "karma.conf.*", ".mocharc*"),
)
_PLAIN = ("--no-color", "--no-ext-diff", "--no-textconv", "--src-prefix=a/", "--dst-prefix=b/", "--submodule=short")


@dataclass(frozen=True, slots=True)
class Change:
    """A file that was changed. Lines are counted for text only; `role` is told by its name."""

    path: str
    status: Status
    added: int | None
    deleted: int | None
    role: Role


@dataclass(frozen=True, slots=True)
class Diff:
    """A unified diff, of which `text` has at most what was asked for and says so; files that are no text are named."""

    text: str
    size: int
    cut: bool


@dataclass(frozen=True, slots=True)
class Commit:
    """A commit in a summary."""

    id: str
    author: str
    subject: str


@dataclass(frozen=True, slots=True)
class Summary:
    """What a team has done since it began at `base`, and the commands by which its user looks at it and takes it."""

    branch: str
    base: str
    head: str
    commits: tuple[Commit, ...]
    changes: tuple[Change, ...]
    commands: tuple[tuple[str, str], ...]


def changes(work: Workplace, task: str, since: str | None = None) -> tuple[Change, ...]:
    """The files that the commits of a task changed, since a commit or since it left the team's branch."""
    return _between(work, since or _start(work, task), work.head(task))


def diff(work: Workplace, task: str, since: str | None = None, most: int = 200_000) -> Diff:
    """The same as text, of at most so many bytes."""
    return diff_between(work, since or _start(work, task), work.head(task), most)


def diff_between(work: Workplace, old: str, new: str, most: int = 200_000) -> Diff:
    """What differs between two commits, as text."""
    command = ("diff-tree", "-p", "-r", "-M", *_PLAIN, old, new)
    first, size = work.files().read(*command, most=most)
    if size <= most:
        return Diff(first.decode("utf-8", "replace"), size, False)
    whole = first[: first.rfind(b"\n") + 1].decode("utf-8", "replace")
    return Diff(f"{whole}[cut: the first {len(whole):,} characters of a diff of {size:,} bytes]\n", size, True)


def summary(work: Workplace) -> Summary:
    """What is on the branch of a team."""
    base = work.find(f"refs/antiphon/{work.team}/base") or work.head()
    head = work.head()
    said = work.files().tell("log", "--format=%H%x00%an%x00%s", "--no-show-signature", f"{base}..{head}")
    commits = tuple(
        Commit(*line.split("\0"))
        for line in said.encode("utf-8", "surrogateescape").decode("utf-8", "replace").split("\n")
        if line
    )
    return Summary(work.main, base, head, commits, _between(work, base, head), _commands(work, base))


def role_of(path: str) -> Role:
    """What a file is for, by its name."""
    *directories, name = path.split("/")
    if any(fnmatchcase(name.casefold(), pattern) for pattern in _SETUP):
        return "test setup"
    in_tests = any(directory.casefold() in _TEST_DIRECTORIES for directory in directories)
    return "test" if in_tests or any(fnmatchcase(name, pattern) for pattern in _TESTS) else "code"


def _start(work: Workplace, task: str) -> str:
    return work.files().tell("merge-base", work.head(), work.head(task))


def _between(work: Workplace, old: str, new: str) -> tuple[Change, ...]:
    said = work.files().ask("diff-tree", "-r", "-z", "--raw", "--numstat", "--no-renames", *_PLAIN, old, new)
    fields = said.output.split(b"\0")[:-1]
    statuses: dict[bytes, Status] = {}
    lines: dict[bytes, tuple[int | None, int | None]] = {}
    position = 0
    while position < len(fields):
        field = fields[position]
        if field.startswith(b":"):
            statuses[fields[position + 1]] = _STATUS[field.decode().split()[4][0]]
            position += 2
        else:
            added, deleted, name = field.split(b"\t", 2)
            lines[name] = _count(added), _count(deleted)
            position += 1
    return tuple(
        Change(shown(name), status, *lines.get(name, (None, None)), role_of(shown(name)))
        for name, status in statuses.items()
    )


def _count(field: bytes) -> int | None:
    return None if field == b"-" else int(field)


def _commands(work: Workplace, base: str) -> tuple[tuple[str, str], ...]:
    main = work.main
    return (
        ("look at it", f"git diff {base[:12]}...{main}"),
        ("take it", f"git merge {main}"),
        ("throw it away", f"git branch -D {main}"),
    )
