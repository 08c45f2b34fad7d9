"""Git tools that are safe in a hostile repository: programs named in its configuration are not run.

The configuration of the user and the system is trusted, the repository's own is not. Everything in it that
could start a program is overridden: file monitors, hooks, pagers, diff drivers, signature checks, lazy
fetching, and filters, whose names must be looked up first.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from antiphon.conversation import ToolResult
from antiphon.tools.builtin import git_output as porcelain
from antiphon.tools.dual_result import make_dual_result
from antiphon.tools.process_runner import ProcessResult, find_program, make_scrubbed_environment, run_process
from antiphon.tools.tool import Tool, ToolFailure, as_tool

_TIMEOUT_SECONDS = 30.0
#: Limits in characters for models and for programs.
_MAX_SHOWN, _MAX_DATA = 36_000, 50_000_000
#: What could start a program, overridden; a repository's filters come to it once their names are known.
SAFE_GIT_SETTINGS = {
    "core.fsmonitor": "false",
    "core.hooksPath": os.devnull,
    "core.pager": "cat",
    "core.editor": "false",
    "core.sshCommand": "false",
    "core.gitProxy": "",
    "core.askPass": "false",
    "core.alternateRefsCommand": "false",
    "core.quotePath": "false",
    "color.status": "false",
    "color.ui": "false",
    "credential.helper": "",
    "diff.external": "",
    "diff.submodule": "short",
    "gpg.program": "false",
    "gpg.ssh.program": "false",
    "gpg.x509.program": "false",
    "log.showSignature": "false",
    "protocol.allow": "never",
    # A directory that only looks like a bare repository may be part of the files of another.
    "safe.bareRepository": "explicit",
    "status.submoduleSummary": "false",
}
_SAFE_GIT_VARIABLES = {
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_LITERAL_PATHSPECS": "1",
    "GIT_ALLOW_PROTOCOL": "none",
    "GIT_NO_LAZY_FETCH": "1",
    "GIT_PAGER": "cat",
    "LC_ALL": "C.UTF-8",
}


def git_tools(root: str | os.PathLike[str] = ".") -> list[Tool]:
    """Return `git_status`, `git_diff` and `git_log` for a directory; they show nothing outside of it."""
    repository = _Repository(os.path.realpath(root))

    async def git_status() -> ToolResult:
        """The branch, and which files were changed, added, deleted or are not tracked."""
        said = await repository.status()
        return make_dual_result(said.noted(said.text), porcelain.parse_status(said.text, said.cut))

    async def read_status() -> dict[str, Any]:
        said = require_complete(await repository.status(_MAX_DATA))
        found = porcelain.parse_status(said.text, said.cut).data
        return {**found, "conflicted": found.get("conflicted", [])}

    async def git_diff(staged: bool = False, path: str | None = None) -> ToolResult:
        """The changes that are not committed, as a diff. Those of files that look like secrets are only named.

        Args:
            staged: Show what is staged for the next commit, not what is not.
            path: Only changes of this file or directory.
        """
        said = await repository.diff(staged, path)
        nothing = "nothing is staged" if staged else "there are no changes that are not staged"
        return make_dual_result(said.noted(said.text) or nothing, porcelain.parse_diff(said.text, said.cut, nothing))

    async def read_patch(staged: bool = False, path: str | None = None) -> str:
        text = require_complete(await repository.diff(staged, path, _MAX_DATA)).text
        return f"{text}\n" if text else ""

    async def git_log(count: int = 20, path: str | None = None) -> ToolResult:
        """The newest commits: hash, date, author and subject.

        Args:
            count: How many commits to show.
            path: Only commits that changed this file or directory.
        """
        said = await repository.log(count, path)
        nothing = "no commit changed it" if said is not None else "there are no commits yet"
        said = said or _GitOutput("", False)
        commits = porcelain.parse_commits(said.text, said.cut)
        text = "\n".join("{hash} {date} {author}: {subject}".format_map(commit) for commit in commits)
        return make_dual_result(said.noted(text) or nothing, porcelain.make_log_result(commits, nothing))

    async def read_commits(count: int = 20, path: str | None = None) -> list[dict[str, str]]:
        said = await repository.log(count, path, _MAX_DATA)
        return porcelain.parse_commits(require_complete(said).text, False) if said is not None else []

    return [
        as_tool(git_status, read_only=True, is_cooperative=True, data=read_status),
        as_tool(git_diff, read_only=True, is_cooperative=True, paths=(), data=read_patch),
        as_tool(git_log, read_only=True, is_cooperative=True, paths=(), data=read_commits),
    ]


@dataclass(frozen=True, slots=True)
class _GitOutput:
    """Output of git; `cut` says that there was more."""

    text: str
    cut: bool
    withheld: tuple[str, ...] = ()

    def noted(self, text: str) -> str:
        """Return a text with notes for the model on what was left out."""
        notes = ["[cut: there is more; name a path]"] if self.cut else []
        notes += [f"[not shown, it looks like a secret: {name}]" for name in self.withheld]
        return "\n".join([text, *notes] if text else notes)


def require_complete(said: _GitOutput) -> _GitOutput:
    """Return the output for a program. Raise a ToolFailure if it is truncated."""
    if said.cut:
        raise ToolFailure(f"git says more than {_MAX_DATA:,} characters; name a path")
    return said


class _Repository:
    """The git repository that contains a directory, as seen from there."""

    def __init__(self, root: str) -> None:
        self._root = root

    async def status(self, most: int = _MAX_SHOWN) -> _GitOutput:
        """Return the branch and the changed files."""
        # Inspecting submodules would use their own configuration.
        return await self._ask(["status", "--short", "--branch", "--ignore-submodules=dirty"], None, most)

    async def diff(self, staged: bool, path: str | None, most: int = _MAX_SHOWN) -> _GitOutput:
        """Return the changes, without those of files that look like secrets."""
        options = ["--no-ext-diff", "--no-textconv", "--no-color", "--ignore-submodules=dirty", "--submodule=short"]
        # File names are parsed from the output, so the repository must not change the prefixes.
        options += ["--src-prefix=a/", "--dst-prefix=b/"]
        options += ["--cached"] if staged else []
        said = await self._ask(["diff", *options], path, most)
        text, names = porcelain.strip_secret_files(said.text)
        return _GitOutput(text, said.cut, tuple(names))

    async def log(self, count: int, path: str | None, most: int = _MAX_SHOWN) -> _GitOutput | None:
        """Return the newest commits; `None` if there are none yet."""
        if not 1 <= count <= 500:
            raise ToolFailure("`count` is between 1 and 500")
        options = [f"--max-count={count}", "--no-show-signature", "--no-notes", "--no-color", "--encoding=UTF-8"]
        options += [f"--format={porcelain.LOG_FORMAT}", "--date=short"]
        try:
            return await self._ask(["log", *options], path, most)
        except ToolFailure as failure:
            if "does not have any commits yet" not in str(failure):
                raise
            return None

    async def _ask(self, command: list[str], path: str | None, most: int) -> _GitOutput:
        """Run a git command on a path, or on the whole directory, and return its output."""
        settings = dict(SAFE_GIT_SETTINGS)
        whole = await self._find_top_level(settings) == self._root
        # Without a path the log has commits that change no file, too.
        command = [*command, "--"] if path is None and whole else [*command, "--", self._to_relative_path(path)]
        settings |= disable_filters(await self._list_own_keys(settings))
        finished = await self._git(settings, *command, most=most)
        if finished.code and not finished.dropped:
            raise ToolFailure(f"git: {_format_git_error(finished)}")
        return _GitOutput(finished.output.rstrip(), bool(finished.dropped))

    async def _find_top_level(self, settings: dict[str, str]) -> str:
        finished = await self._git(settings, "rev-parse", "--show-toplevel")
        if finished.code:
            said = _format_git_error(finished)
            raise ToolFailure("this is not a git repository" if "not a git repository" in said else f"git: {said}")
        top = os.path.realpath(finished.output.removesuffix("\n"))
        if os.path.commonpath([top, self._root]) != top:
            raise ToolFailure("this repository says that its files are somewhere else; it is not looked at")
        return top

    async def _list_own_keys(self, settings: dict[str, str]) -> list[str]:
        """Return the keys that the repository's own configuration sets."""
        finished = await self._git(settings, "config", "--list", "--show-scope", "--name-only", "--null")
        if finished.code:
            raise ToolFailure(f"git: {_format_git_error(finished)}")
        fields = finished.output.split("\0")
        pairs = zip(fields[::2], fields[1::2], strict=False)
        return [key for scope, key in pairs if scope not in ("system", "global", "command")]

    async def _git(self, settings: dict[str, str], *command: str, most: int = 1_000_000) -> ProcessResult:
        git = find_program("git")
        if git is None:
            raise ToolFailure("git is not installed here")
        try:
            return await run_process(
                [git, "--no-pager", *command],
                cwd=self._root,
                environment=make_git_environment(settings),
                timeout=_TIMEOUT_SECONDS,
                first=most,
            )
        except OSError as error:
            raise ToolFailure(f"git could not be started: {error.strerror}") from None

    def _to_relative_path(self, path: str | None) -> str:
        """Return the model's path relative to the root. The file need not exist."""
        if path is None:
            return "."
        if "\0" in path or not path.strip():
            raise ToolFailure("the path is empty or has a NUL character in it")
        inside = os.path.relpath(os.path.join(self._root, path), self._root)
        if inside.split(os.sep)[0] == "..":
            raise ToolFailure(f"`{path}` leads outside of the directory that may be used")
        return inside


def disable_filters(keys: Iterable[str]) -> dict[str, str]:
    """Return the settings with which the filters among these keys of a configuration run no program."""
    filters = {key.rpartition(".")[0] for key in keys if key.startswith("filter.")}
    ends = {"clean": "", "smudge": "", "process": "", "required": "false"}
    return {f"{name}.{end}": value for name in filters for end, value in ends.items()}


def make_git_environment(settings: dict[str, str]) -> dict[str, str]:
    """Return the environment for git with these settings, without any other git variables.

    Settings are passed by variables, because filter names may contain characters that the command line cannot
    express.
    """
    kept = {name: value for name, value in make_scrubbed_environment().items() if not name.startswith("GIT_")}
    numbered = {"GIT_CONFIG_COUNT": str(len(settings))}
    for number, (name, value) in enumerate(settings.items()):
        numbered |= {f"GIT_CONFIG_KEY_{number}": name, f"GIT_CONFIG_VALUE_{number}": value}
    return kept | _SAFE_GIT_VARIABLES | numbered


def _format_git_error(finished: ProcessResult) -> str:
    if finished.timed_out:
        return f"it did not finish within {_TIMEOUT_SECONDS:g} seconds"
    said = finished.errors.strip().splitlines()
    return said[0].removeprefix("fatal: ") if said else f"it failed with exit code {finished.code}"
