"""Hardened git subprocesses for a team: no configuration of the repository can run another program.

There are two kinds. *The user's repository* is used only to look up and move refs, with every setting
overridden that starts programs. *The team's own store* is used to read, compare, merge and write files.
It shares the user's objects and none of the configuration, so filters, drivers, hooks and monitors do
not exist there.
"""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import IO

from antiphon.errors import AntiphonError
from antiphon.tools.builtin.git import SAFE_GIT_SETTINGS, make_git_environment
from antiphon.tools.process_runner import find_program

_TIME_LIMIT = 600.0
_LOCK_ERROR = re.compile(r"Unable to create '(.+\.lock)': File exists", re.DOTALL)
_COMMITTER = {"NAME": "antiphon team", "EMAIL": "team@localhost"}


class RepositoryError(AntiphonError):
    """Raised when a git operation fails; the message says what to do about it."""


@dataclass(frozen=True, slots=True)
class GitResult:
    """The result of a git command. `errors` is a message for people."""

    code: int
    output: bytes
    errors: str

    @property
    def text(self) -> str:
        """The output without its final line break; undecodable bytes are kept as surrogates."""
        return os.fsdecode(self.output.removesuffix(b"\n"))


@dataclass(frozen=True, slots=True)
class GitRunner:
    """Git bound to one directory and environment. The caller may hold a lock.

    Git inherits the descriptor, so the lock stays held until a git process that outlived its caller ends. A
    stale `.lock` file below `own_prefixes` therefore belongs to a process that is gone.
    """

    cwd: str
    variables: Mapping[str, str]
    own: tuple[str, ...] = ()
    held: int | None = None

    def ask(self, *command: str | bytes, given: bytes = b"", variables: Mapping[str, str] | None = None) -> GitResult:
        """Run a git command and return its result, also when it failed."""
        said = self._run(command, given, variables or {})
        found = _LOCK_ERROR.search(said.errors)
        if not found or self.held is None or not found[1].startswith(self.own):
            return said
        with suppress(FileNotFoundError):
            os.unlink(found[1])
        return self._run(command, given, variables or {})

    def tell(self, *command: str | bytes, given: bytes = b"", variables: Mapping[str, str] | None = None) -> str:
        """Run a git command and return its output; raise `RepositoryError` if it fails."""
        said = self.ask(*command, given=given, variables=variables)
        if said.code:
            raise RepositoryError(f"git {os.fsdecode(command[0])} failed: {said.errors or f'exit code {said.code}'}")
        return said.text

    def read(self, *command: str, most: int) -> tuple[bytes, int]:
        """Return the first bytes that a git command prints, and the total number of bytes."""
        with self._start(command, {}) as process:
            assert process.stdout is not None
            first, total = _read_first_bytes(process.stdout, most)
            errors = process.stderr.read().decode("utf-8", "replace").strip() if process.stderr else ""
        if process.returncode:
            raise RepositoryError(f"git {command[0]} failed: {errors}")
        return first, total

    def _run(self, command: tuple[str | bytes, ...], given: bytes, variables: Mapping[str, str]) -> GitResult:
        with self._start(command, variables) as process:
            try:
                output, errors = process.communicate(given, timeout=_TIME_LIMIT)
            except subprocess.TimeoutExpired:
                process.kill()
                raise RepositoryError(
                    f"git {os.fsdecode(command[0])} did not finish within {_TIME_LIMIT:g} s"
                ) from None
            except BaseException:
                process.kill()
                raise
        return GitResult(process.returncode, output, _format_git_errors(errors))

    def _start(self, command: tuple[str | bytes, ...], variables: Mapping[str, str]) -> subprocess.Popen[bytes]:
        where = find_program("git")
        if where is None:
            raise RepositoryError("git is not installed here; a team works in a git repository")
        try:
            return subprocess.Popen(
                [where, "--no-pager", *command],
                cwd=self.cwd,
                env={**self.variables, **variables},
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                # Ctrl-C in the terminal must not kill a git command halfway.
                start_new_session=True,
                pass_fds=() if self.held is None else (self.held,),
            )
        except FileNotFoundError:
            raise RepositoryError(f"there is no directory {self.cwd!r}") from None
        except OSError as error:
            raise RepositoryError(f"git could not be started in {self.cwd!r}: {error.strerror}") from None


def git_in_user_repository(cwd: str, directory: str | None = None) -> GitRunner:
    """Return a `GitRunner` for the user's repository that contains `cwd`, or for a given git directory."""
    at = {} if directory is None else {"GIT_DIR": directory}
    return GitRunner(cwd, make_git_environment(_git_settings()) | _identity_environment() | at)


def git_in_team_store(store: str, objects: str, tree: str, index: str, own: tuple[str, ...]) -> GitRunner:
    """Return a `GitRunner` for the team's own store, which shares the user's objects, and a directory of
    files.
    """
    return GitRunner(
        tree,
        make_git_environment(_git_settings())
        | _identity_environment()
        | {
            "GIT_DIR": store,
            "GIT_OBJECT_DIRECTORY": objects,
            "GIT_WORK_TREE": tree,
            "GIT_INDEX_FILE": index,
            "GIT_CONFIG_GLOBAL": os.devnull,
            "GIT_CONFIG_NOSYSTEM": "1",
            "GIT_NO_REPLACE_OBJECTS": "1",
            # Excluded files are named by pathspec patterns.
            "GIT_LITERAL_PATHSPECS": "0",
        },
        own,
    )


def author_environment(name: str) -> dict[str, str]:
    """Return the environment variables that set the author of a commit; the committer is the team."""
    plain = " ".join(re.sub(r"[<>\x00-\x1f\x7f]", " ", name).split()).encode("utf-8", "replace").decode()
    mail = re.sub(r"[^A-Za-z0-9._-]+", "-", plain).strip("-.") or "agent"
    return {"GIT_AUTHOR_NAME": plain.strip(" .,:;\"'") or "agent", "GIT_AUTHOR_EMAIL": f"{mail}@localhost"}


def _git_settings() -> dict[str, str]:
    return {**SAFE_GIT_SETTINGS, "commit.gpgSign": "false", "gc.auto": "0", "maintenance.auto": "false"}


def _identity_environment() -> dict[str, str]:
    return {f"GIT_{who}_{what}": value for who in ("AUTHOR", "COMMITTER") for what, value in _COMMITTER.items()}


def _read_first_bytes(stream: IO[bytes], most: int) -> tuple[bytes, int]:
    kept, total = bytearray(), 0
    while data := stream.read(65536):
        kept += data[: max(0, most - total)]
        total += len(data)
    return bytes(kept), total


def _format_git_errors(errors: bytes) -> str:
    """Return git's error output as one line that names the cause first."""
    lines = [line.strip() for line in errors.decode("utf-8", "replace").splitlines()]
    told = [line for line in lines if line and not line.startswith(("hint:", "warning:"))]
    return "; ".join(line.removeprefix("fatal: ").removeprefix("error: ") for line in told[:4])
