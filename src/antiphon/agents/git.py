"""Git as a team calls it: by its program, with nothing of a repository's configuration that could run another.

There are two ways to call it. *At the user's repository* only names of commits are looked up and moved, and everything
that starts programs there is overridden. *At a store of our own* files are read, compared, merged and written: it has
the user's objects and none of his configuration, so filters, drivers, hooks and monitors that he or somebody hostile
has set up do not exist there.
"""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import IO

from antiphon.errors import AntiphonError
from antiphon.tools.builtin.git import SETTINGS, hardened
from antiphon.tools.processes import program

_TIME_LIMIT = 600.0
_LOCKED = re.compile(r"Unable to create '(.+\.lock)': File exists", re.DOTALL)
_WHO = {"NAME": "antiphon team", "EMAIL": "team@localhost"}


class RepositoryError(AntiphonError):
    """What could not be done in a git repository, and what to do about it."""


@dataclass(frozen=True, slots=True)
class Said:
    """What git answered. `errors` are for people."""

    code: int
    output: bytes
    errors: str

    @property
    def text(self) -> str:
        """The output without its last line break; names keep bytes that are no text."""
        return os.fsdecode(self.output.removesuffix(b"\n"))


@dataclass(frozen=True, slots=True)
class Git:
    """Git at one place. `held` is the descriptor of a lock that whoever is at work there holds.

    Git inherits it: a lock is free only when also a git that outlived its caller has ended. What was locked below
    `own` is then left from a process that is gone.
    """

    cwd: str
    variables: Mapping[str, str]
    own: tuple[str, ...] = ()
    held: int | None = None

    def ask(self, *command: str | bytes, given: bytes = b"", variables: Mapping[str, str] | None = None) -> Said:
        """What git says to a command, also when that is that it failed."""
        said = self._run(command, given, variables or {})
        found = _LOCKED.search(said.errors)
        if not found or self.held is None or not found[1].startswith(self.own):
            return said
        with suppress(FileNotFoundError):
            os.unlink(found[1])
        return self._run(command, given, variables or {})

    def tell(self, *command: str | bytes, given: bytes = b"", variables: Mapping[str, str] | None = None) -> str:
        """The same for a command that must not fail."""
        said = self.ask(*command, given=given, variables=variables)
        if said.code:
            raise RepositoryError(f"git {os.fsdecode(command[0])} failed: {said.errors or f'exit code {said.code}'}")
        return said.text

    def read(self, *command: str, most: int) -> tuple[bytes, int]:
        """The first bytes of what git prints, and how many it prints in all."""
        with self._start(command, {}) as process:
            assert process.stdout is not None
            first, total = _first(process.stdout, most)
            errors = process.stderr.read().decode("utf-8", "replace").strip() if process.stderr else ""
        if process.returncode:
            raise RepositoryError(f"git {command[0]} failed: {errors}")
        return first, total

    def holding(self, descriptor: int) -> Git:
        """The same while a lock is held."""
        return replace(self, held=descriptor)

    def _run(self, command: tuple[str | bytes, ...], given: bytes, variables: Mapping[str, str]) -> Said:
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
        return Said(process.returncode, output, _plain(errors))

    def _start(self, command: tuple[str | bytes, ...], variables: Mapping[str, str]) -> subprocess.Popen[bytes]:
        where = program("git")
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
                # An interrupt from the terminal is for us, not for a git in the middle of something.
                start_new_session=True,
                pass_fds=() if self.held is None else (self.held,),
            )
        except FileNotFoundError:
            raise RepositoryError(f"there is no directory {self.cwd!r}") from None
        except OSError as error:
            raise RepositoryError(f"git could not be started in {self.cwd!r}: {error.strerror}") from None


def at_user(cwd: str, directory: str | None = None) -> Git:
    """Git at the user's repository, as found from a directory, or at a git directory that was found before."""
    at = {} if directory is None else {"GIT_DIR": directory}
    return Git(cwd, hardened(_settings()) | _identity() | at)


def at_store(store: str, objects: str, tree: str, index: str, own: tuple[str, ...]) -> Git:
    """Git at a store of our own, whose objects are the user's, for the files in a directory."""
    return Git(
        tree,
        hardened(_settings())
        | _identity()
        | {
            "GIT_DIR": store,
            "GIT_OBJECT_DIRECTORY": objects,
            "GIT_WORK_TREE": tree,
            "GIT_INDEX_FILE": index,
            "GIT_CONFIG_GLOBAL": os.devnull,
            "GIT_CONFIG_NOSYSTEM": "1",
            "GIT_NO_REPLACE_OBJECTS": "1",
            # Files that are left out are named by patterns.
            "GIT_LITERAL_PATHSPECS": "0",
        },
        own,
    )


def author(name: str) -> dict[str, str]:
    """The variables that make somebody the author of a commit; its committer is the team."""
    plain = " ".join(re.sub(r"[<>\x00-\x1f\x7f]", " ", name).split()).encode("utf-8", "replace").decode()
    mail = re.sub(r"[^A-Za-z0-9._-]+", "-", plain).strip("-.") or "agent"
    return {"GIT_AUTHOR_NAME": plain.strip(" .,:;\"'") or "agent", "GIT_AUTHOR_EMAIL": f"{mail}@localhost"}


def _settings() -> dict[str, str]:
    return {**SETTINGS, "commit.gpgSign": "false", "gc.auto": "0", "maintenance.auto": "false"}


def _identity() -> dict[str, str]:
    return {f"GIT_{who}_{what}": value for who in ("AUTHOR", "COMMITTER") for what, value in _WHO.items()}


def _first(stream: IO[bytes], most: int) -> tuple[bytes, int]:
    kept, total = bytearray(), 0
    while data := stream.read(65536):
        kept += data[: max(0, most - total)]
        total += len(data)
    return bytes(kept), total


def _plain(errors: bytes) -> str:
    """Git's complaint, as one line that names what is wrong first."""
    lines = [line.strip() for line in errors.decode("utf-8", "replace").splitlines()]
    told = [line for line in lines if line and not line.startswith(("hint:", "warning:"))]
    return "; ".join(line.removeprefix("fatal: ").removeprefix("error: ") for line in told[:4])
