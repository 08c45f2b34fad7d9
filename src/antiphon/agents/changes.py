"""What was changed, for whoever reviews it or takes it: files, a diff, and how to go on from there."""

from __future__ import annotations

import re
import sys
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Literal

from antiphon.agents.merging import shown
from antiphon.agents.repository import Workplace

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
        "pytest.toml",
        ".pytest.toml",
        "tox.ini",
        "noxfile.py",
        "setup.cfg",
        "pyproject.toml",
        ".coveragerc",
        "sitecustomize.py",
        "usercustomize.py",
        "*.pth",
        "entry_points.txt",
    ),
    *("makefile", "gnumakefile", "*.mk", "justfile", ".justfile", "taskfile.y*ml", "rakefile"),
    *("package.json", "jest.config.*", "vitest.config.*", "karma.conf.*", ".mocharc*", ".npmrc", ".pnpmfile.cjs"),
    *(".yarnrc", ".yarnrc.yml", "vite.config.*", "babel.config.*", ".babelrc*", "bunfig.toml", "deno.json*", ".rspec"),
    *("build.rs", "cargo.toml", "go.work", "cmakelists.txt", "build.gradle*", "pom.xml", "phpunit.xml*"),
    *(".env", ".env.*"),
)
#: Modules that run tests, or are imported before them wherever they are found.
_RUNNERS = frozenset(
    ("pytest", "_pytest", "pluggy", "iniconfig", "py", "unittest", "doctest", "xdist", "coverage", "nose", "nox", "tox")
) | {"sitecustomize", "usercustomize"}
#: Words by which code, or a new test, could decide how the run that it is part of ends; tests skip themselves rightly.
_MEDDLING: dict[Role, re.Pattern[str]] = {
    "test": re.compile(
        r"\b(?:_pytest|pytest_plugins|pytest_[a-z]+_[a-z]+|pytest\.exit|os\._exit|process\.(?:exit|reallyExit))\b"
        r"|/proc/|\d pass(?:ed|ing)\b"
    )
}
_MEDDLING["code"] = re.compile(rf"{_MEDDLING['test'].pattern}|\b(?:pytest\.(?:skip|xfail|importorskip)|SkipTest)\b")
#: More than this is not looked at for them.
_MEDDLING_SIZE = 20_000_000
#: The modes of files whose content can be shown: plain ones, programs, and links.
_BLOBS = ("100644", "100755", "120000")
#: A file that has a zero among its first bytes is no text.
_LOOKED = 8000
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
class Contents:
    """A file before and after a change, `None` where there was or is none; or why neither is shown."""

    path: str
    status: Status
    role: Role
    before: str | None = None
    after: str | None = None
    unseen: Literal["", "binary", "large", "submodule"] = ""


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
    return _between(work, since or start(work, task), work.head(task))


def diff(work: Workplace, task: str, since: str | None = None, most: int = 200_000) -> Diff:
    """The same as text, of at most so many bytes."""
    return diff_between(work, since or start(work, task), work.head(task), most)


def diff_between(work: Workplace, old: str, new: str, most: int = 200_000) -> Diff:
    """What differs between two commits, as text."""
    command = ("diff-tree", "-p", "-r", "-M", *_PLAIN, old, new)
    first, size = work.files().read(*command, most=most)
    if size <= most:
        return Diff(first.decode("utf-8", "replace"), size, False)
    whole = first[: first.rfind(b"\n") + 1].decode("utf-8", "replace")
    return Diff(f"{whole}[cut: the first {len(whole):,} characters of a diff of {size:,} bytes]\n", size, True)


def contents_between(work: Workplace, old: str, new: str, most: int) -> list[Contents]:
    """The files that differ between two commits, with what was and is in them, of which at most so many bytes."""
    command = ("diff-tree", "-r", "-z", "--raw", "--no-abbrev", "--no-renames", *_PLAIN, old, new)
    fields = work.files().ask(*command).output.split(b"\0")[:-1]
    files = [(head.decode().split(), name) for head, name in zip(fields[::2], fields[1::2], strict=True)]
    wanted = [id for head, _ in files for mode, id in ((head[0][1:], head[2]), (head[1], head[3])) if mode in _BLOBS]
    found = _blobs(work, wanted, most)
    return [_contents(head, shown(name), found) for head, name in files]


def _contents(head: list[str], path: str, found: dict[str, bytes | None]) -> Contents:
    old, new = ((head[0][1:], head[2]), (head[1], head[3]))
    status, role = _STATUS[head[4][0]], role_of(path)
    if "160000" in (old[0], new[0]):
        return Contents(path, status, role, unseen="submodule")
    both = [found[id] if mode in _BLOBS else b"" for mode, id in (old, new)]
    if None in both:
        return Contents(path, status, role, unseen="large")
    before, after = [each or b"" for each in both]
    if b"\0" in before[:_LOOKED] + after[:_LOOKED]:
        return Contents(path, status, role, unseen="binary")
    return Contents(path, status, role, _text(before, old[0]), _text(after, new[0]))


def _text(content: bytes, mode: str) -> str | None:
    return content.decode("utf-8", "backslashreplace") if mode in _BLOBS else None


def _blobs(work: Workplace, ids: list[str], most: int) -> dict[str, bytes | None]:
    """What is in files, by their ids; nothing, where all of them together would be too large."""
    git, named = work.files(), "".join(f"{each}\n" for each in ids).encode()
    lines = [line.split() for line in git.tell("cat-file", "--batch-check", given=named).splitlines()]
    taken: list[str] = []
    for id, line in zip(ids, lines, strict=True):
        # Of what is not here, as in a clone that has only a part, there is no size.
        if line[-1].isdigit() and int(line[-1]) <= most:
            taken.append(id)
            most -= int(line[-1])
    output = git.ask("cat-file", "--batch", given="".join(f"{each}\n" for each in taken).encode()).output
    found: dict[str, bytes | None] = dict.fromkeys(ids)
    for id in taken:
        head, _, output = output.partition(b"\n")
        size = int(head.split()[2])
        found[id], output = output[:size], output[size + 1 :]
    return found


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
    return Summary(work.main, base, head, commits, _between(work, base, head), commands(work.main, base))


def role_of(path: str) -> Role:
    """What a file is for, by its name."""
    *directories, name = path.split("/")
    if any(fnmatchcase(name.casefold(), pattern) for pattern in _SETUP):
        return "test setup"
    in_tests = any(directory.casefold() in _TEST_DIRECTORIES for directory in directories)
    return "test" if in_tests or any(fnmatchcase(name, pattern) for pattern in _TESTS) else "code"


def shadowed(path: str) -> Literal["", "runner", "library"]:
    """Tell whose module a new file would be imported in place of: that of a test runner, or one of Python's own."""
    *directories, name = path.split("/")
    if name == "__init__.py" and directories:
        name = f"{directories.pop()}.py"
    is_imported = not directories or directories == ["src"] or directories[-1].casefold() in _TEST_DIRECTORIES
    module, dot, ending = name.partition(".")
    if not is_imported or not dot or ending.rpartition(".")[2] not in ("py", "so", "pyc"):
        return ""
    return "runner" if module in _RUNNERS else "library" if module in sys.stdlib_module_names else ""


def meddling(work: Workplace, task: str) -> tuple[str, ...]:
    """Name the files to which a task has added words that could decide how its tests end, each with the first."""
    found: list[str] = []
    for file in contents_between(work, start(work, task), work.head(task), _MEDDLING_SIZE):
        is_marked = file.role == "test setup" or (file.role == "test" and file.status != "added")
        before = set((file.before or "").splitlines())
        added = "\n".join(line for line in (file.after or "").splitlines() if line not in before)
        if not is_marked and (word := _MEDDLING[file.role].search(added)):
            found.append(f"{file.path} ({word[0]})")
    return tuple(found)


def start(work: Workplace, task: str) -> str:
    """Where a task left the team's branch."""
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


def commands(branch: str, base: str) -> tuple[tuple[str, str], ...]:
    """What can be done with the branch of a team, and how."""
    return (
        ("look at it", f"git diff {base[:12]}...{branch}"),
        ("take it", f"git merge {branch}"),
        ("throw it away", f"git branch -D {branch}"),
    )
