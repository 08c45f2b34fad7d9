"""Diffs between commits of a team's repository: changed files, contents, and a summary of the branch."""

from __future__ import annotations

import re
import sys
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Literal

from antiphon.team.merge import decode_file_name
from antiphon.team.repository import TeamWorkspace

ChangeStatus = Literal["added", "modified", "deleted", "other kind"]
FileRole = Literal["code", "test", "test setup"]

_STATUS_BY_LETTER: dict[str, ChangeStatus] = {"A": "added", "M": "modified", "D": "deleted", "T": "other kind"}
_TEST_DIRECTORIES = frozenset(("test", "tests", "testing", "__tests__", "spec", "specs", "__snapshots__", "testdata"))
_TEST_FILE_PATTERNS = (
    "test_*",
    "*_test.*",
    "*_tests.*",
    "*.test.*",
    "*.spec.*",
    "*_spec.*",
    "*Test.*",
    "*Tests.*",
    "*Spec.*",
)
#: Files that decide which tests run and how; some have other settings too.
_TEST_SETUP_PATTERNS = (
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
#: Modules that run tests, or that Python imports before them from wherever they are found.
_RUNNER_MODULES = frozenset(
    ("pytest", "_pytest", "pluggy", "iniconfig", "py", "unittest", "doctest", "xdist", "coverage", "nose", "nox", "tox")
) | {"sitecustomize", "usercustomize"}
#: Words by which code or a new test could decide the result of its own test run; a test may skip itself.
_SUSPICIOUS_PATTERNS: dict[FileRole, re.Pattern[str]] = {
    "test": re.compile(
        r"\b(?:_pytest|pytest_plugins|pytest_[a-z]+_[a-z]+|pytest\.exit|os\._exit|process\.(?:exit|reallyExit))\b"
        r"|/proc/|\d pass(?:ed|ing)\b"
    )
}
_SUSPICIOUS_PATTERNS["code"] = re.compile(
    rf"{_SUSPICIOUS_PATTERNS['test'].pattern}|\b(?:pytest\.(?:skip|xfail|importorskip)|SkipTest)\b"
)
#: Larger diffs are not scanned for suspicious patterns.
_MAX_SCANNED_BYTES = 20_000_000
#: Git modes of files with readable content: regular files, executables and symlinks.
_BLOB_MODES = ("100644", "100755", "120000")
#: A file with a NUL among its first bytes is binary.
_BINARY_PROBE_BYTES = 8000
_DIFF_OPTIONS = (
    "--no-color",
    "--no-ext-diff",
    "--no-textconv",
    "--src-prefix=a/",
    "--dst-prefix=b/",
    "--submodule=short",
)


@dataclass(frozen=True, slots=True)
class ChangedFile:
    """A changed file with its line counts.

    `added` and `deleted` are `None` for binary files. `role` follows from the file name.
    """

    path: str
    status: ChangeStatus
    added: int | None
    deleted: int | None
    role: FileRole


@dataclass(frozen=True, slots=True)
class TextDiff:
    """A unified diff, truncated to the requested size.

    `size` is the full size in bytes. A truncated `text` ends with a note; binary files are only named.
    """

    text: str
    size: int
    cut: bool


@dataclass(frozen=True, slots=True)
class FileVersions:
    """The contents of a file before and after a change.

    A side is `None` where the file does not exist. `omitted_reason` says why neither side is available.
    """

    path: str
    status: ChangeStatus
    role: FileRole
    before: str | None = None
    after: str | None = None
    unseen: Literal["", "binary", "large", "submodule"] = ""


@dataclass(frozen=True, slots=True)
class CommitInfo:
    """One commit of a branch summary."""

    id: str
    author: str
    subject: str


@dataclass(frozen=True, slots=True)
class BranchSummary:
    """The work of a team since `base`, with commands that let the user inspect, merge or delete its branch."""

    branch: str
    base: str
    head: str
    commits: tuple[CommitInfo, ...]
    changes: tuple[ChangedFile, ...]
    commands: tuple[tuple[str, str], ...]


def list_task_changes(work: TeamWorkspace, task: str, since: str | None = None) -> tuple[ChangedFile, ...]:
    """Return the files that a task changed since a commit, or since it branched off."""
    return _changes_between(work, since or find_branch_point(work, task), work.head(task))


def diff_between(work: TeamWorkspace, old: str, new: str, most: int = 200_000) -> TextDiff:
    """Return the unified diff between two commits, truncated to `most` bytes."""
    command = ("diff-tree", "-p", "-r", "-M", *_DIFF_OPTIONS, old, new)
    first, size = work.files().read(*command, most=most)
    if size <= most:
        return TextDiff(first.decode("utf-8", "replace"), size, False)
    whole = first[: first.rfind(b"\n") + 1].decode("utf-8", "replace")
    return TextDiff(f"{whole}[cut: the first {len(whole):,} characters of a diff of {size:,} bytes]\n", size, True)


def file_versions_between(work: TeamWorkspace, old: str, new: str, most: int) -> list[FileVersions]:
    """Return the files that differ between two commits, with their contents up to `most` bytes in all."""
    command = ("diff-tree", "-r", "-z", "--raw", "--no-abbrev", "--no-renames", *_DIFF_OPTIONS, old, new)
    fields = work.files().ask(*command).output.split(b"\0")[:-1]
    files = [(head.decode().split(), name) for head, name in zip(fields[::2], fields[1::2], strict=True)]
    wanted = [
        id for head, _ in files for mode, id in ((head[0][1:], head[2]), (head[1], head[3])) if mode in _BLOB_MODES
    ]
    found = _read_blobs(work, wanted, most)
    return [_make_file_versions(head, decode_file_name(name), found) for head, name in files]


def _make_file_versions(head: list[str], path: str, found: dict[str, bytes | None]) -> FileVersions:
    old, new = ((head[0][1:], head[2]), (head[1], head[3]))
    status, role = _STATUS_BY_LETTER[head[4][0]], classify_file(path)
    if "160000" in (old[0], new[0]):
        return FileVersions(path, status, role, unseen="submodule")
    both = [found[id] if mode in _BLOB_MODES else b"" for mode, id in (old, new)]
    if None in both:
        return FileVersions(path, status, role, unseen="large")
    before, after = [each or b"" for each in both]
    if b"\0" in before[:_BINARY_PROBE_BYTES] + after[:_BINARY_PROBE_BYTES]:
        return FileVersions(path, status, role, unseen="binary")
    return FileVersions(path, status, role, _decode_blob(before, old[0]), _decode_blob(after, new[0]))


def _decode_blob(content: bytes, mode: str) -> str | None:
    return content.decode("utf-8", "backslashreplace") if mode in _BLOB_MODES else None


def _read_blobs(work: TeamWorkspace, ids: list[str], most: int) -> dict[str, bytes | None]:
    """Return the contents of blobs by id; `None` for a blob that exceeds the remaining `most` bytes."""
    git, named = work.files(), "".join(f"{each}\n" for each in ids).encode()
    lines = [line.split() for line in git.tell("cat-file", "--batch-check", given=named).splitlines()]
    taken: list[str] = []
    for id, line in zip(ids, lines, strict=True):
        # A partial clone reports no size for a blob that it does not have.
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


def summarize_branch(work: TeamWorkspace) -> BranchSummary:
    """Return the commits and changed files on the team's branch."""
    base = work.find(f"refs/antiphon/{work.team}/base") or work.head()
    head = work.head()
    said = work.files().tell("log", "--format=%H%x00%an%x00%s", "--no-show-signature", f"{base}..{head}")
    commits = tuple(
        CommitInfo(*line.split("\0"))
        for line in said.encode("utf-8", "surrogateescape").decode("utf-8", "replace").split("\n")
        if line
    )
    return BranchSummary(
        work.main, base, head, commits, _changes_between(work, base, head), branch_commands(work.main, base)
    )


def classify_file(path: str) -> FileRole:
    """Return whether a path is code, a test or test setup, judged by its name."""
    *directories, name = path.split("/")
    if any(fnmatchcase(name.casefold(), pattern) for pattern in _TEST_SETUP_PATTERNS):
        return "test setup"
    in_tests = any(directory.casefold() in _TEST_DIRECTORIES for directory in directories)
    return "test" if in_tests or any(fnmatchcase(name, pattern) for pattern in _TEST_FILE_PATTERNS) else "code"


def find_shadowed_module(path: str) -> Literal["", "runner", "library"]:
    """Return whether a new file shadows a module: one of a test runner, one of the standard library, or none."""
    *directories, name = path.split("/")
    if name == "__init__.py" and directories:
        name = f"{directories.pop()}.py"
    is_imported = not directories or directories == ["src"] or directories[-1].casefold() in _TEST_DIRECTORIES
    module, dot, ending = name.partition(".")
    if not is_imported or not dot or ending.rpartition(".")[2] not in ("py", "so", "pyc"):
        return ""
    return "runner" if module in _RUNNER_MODULES else "library" if module in sys.stdlib_module_names else ""


def find_suspicious_changes(work: TeamWorkspace, task: str) -> tuple[str, ...]:
    """Return the files to which a task added words that can decide how its tests end.

    Each entry names the file and the first such word.
    """
    found: list[str] = []
    for file in file_versions_between(work, find_branch_point(work, task), work.head(task), _MAX_SCANNED_BYTES):
        is_marked = file.role == "test setup" or (file.role == "test" and file.status != "added")
        before = set((file.before or "").splitlines())
        added = "\n".join(line for line in (file.after or "").splitlines() if line not in before)
        if not is_marked and (word := _SUSPICIOUS_PATTERNS[file.role].search(added)):
            found.append(f"{file.path} ({word[0]})")
    return tuple(found)


def find_branch_point(work: TeamWorkspace, task: str) -> str:
    """Return the commit at which a task branched off the team's branch."""
    return work.files().tell("merge-base", work.head(), work.head(task))


def _changes_between(work: TeamWorkspace, old: str, new: str) -> tuple[ChangedFile, ...]:
    said = work.files().ask("diff-tree", "-r", "-z", "--raw", "--numstat", "--no-renames", *_DIFF_OPTIONS, old, new)
    fields = said.output.split(b"\0")[:-1]
    statuses: dict[bytes, ChangeStatus] = {}
    lines: dict[bytes, tuple[int | None, int | None]] = {}
    position = 0
    while position < len(fields):
        field = fields[position]
        if field.startswith(b":"):
            statuses[fields[position + 1]] = _STATUS_BY_LETTER[field.decode().split()[4][0]]
            position += 2
        else:
            added, deleted, name = field.split(b"\t", 2)
            lines[name] = _parse_count(added), _parse_count(deleted)
            position += 1
    return tuple(
        ChangedFile(
            decode_file_name(name), status, *lines.get(name, (None, None)), classify_file(decode_file_name(name))
        )
        for name, status in statuses.items()
    )


def _parse_count(field: bytes) -> int | None:
    return None if field == b"-" else int(field)


def branch_commands(branch: str, base: str) -> tuple[tuple[str, str], ...]:
    """Return the git commands that inspect, merge or delete a team's branch, each with a label."""
    return (
        ("look at it", f"git diff {base[:12]}...{branch}"),
        ("take it", f"git merge {branch}"),
        ("throw it away", f"git branch -D {branch}"),
    )
