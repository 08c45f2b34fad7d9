"""Looking at a git repository that may be hostile: what its configuration would run is not run.

The configuration of the user and the system is trusted, the repository's own is not. Everything that could start a
program in the commands used here is overridden: the monitor of files, hooks, pagers, drivers of diffs, checks of
signatures, fetching of missing objects, and filters, whose names must be looked up first.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Any

from antiphon.conversation import ToolResult
from antiphon.tools.builtin import porcelain
from antiphon.tools.faces import shown
from antiphon.tools.processes import Finished, program, run, scrubbed
from antiphon.tools.tool import Tool, ToolFailure, as_tool

_TIME_LIMIT = 30.0
#: What a model is shown, and what a program is given, in characters.
_MOST_SHOWN, _MOST = 36_000, 50_000_000
#: What could start a program, overridden; a repository's filters come to it once their names are known.
SETTINGS = {
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
    # A directory that only looks like a repository may come with the files of another.
    "safe.bareRepository": "explicit",
    "status.submoduleSummary": "false",
}
_VARIABLES = {
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_LITERAL_PATHSPECS": "1",
    "GIT_ALLOW_PROTOCOL": "none",
    "GIT_NO_LAZY_FETCH": "1",
    "GIT_PAGER": "cat",
    "LC_ALL": "C.UTF-8",
}


def git_tools(root: str | os.PathLike[str] = ".") -> list[Tool]:
    """`git_status`, `git_diff` and `git_log` for a directory, of which nothing outside of it is shown."""
    repository = _Repository(os.path.realpath(root))

    async def git_status() -> ToolResult:
        """The branch, and which files were changed, added, deleted or are not tracked."""
        said = await repository.status()
        return shown(said.noted(said.text), porcelain.status(said.text, said.cut))

    async def state() -> dict[str, Any]:
        said = whole(await repository.status(_MOST))
        found = porcelain.status(said.text, said.cut).data
        return {**found, "conflicted": found.get("conflicted", [])}

    async def git_diff(staged: bool = False, path: str | None = None) -> ToolResult:
        """The changes that are not committed, as a diff. Those of files that look like secrets are only named.

        Args:
            staged: Show what is staged for the next commit, not what is not.
            path: Only changes of this file or directory.
        """
        said = await repository.diff(staged, path)
        nothing = "nothing is staged" if staged else "there are no changes that are not staged"
        return shown(said.noted(said.text) or nothing, porcelain.changes(said.text, said.cut, nothing))

    async def patch(staged: bool = False, path: str | None = None) -> str:
        text = whole(await repository.diff(staged, path, _MOST)).text
        return f"{text}\n" if text else ""

    async def git_log(count: int = 20, path: str | None = None) -> ToolResult:
        """The newest commits: hash, date, author and subject.

        Args:
            count: How many commits to show.
            path: Only commits that changed this file or directory.
        """
        said = await repository.log(count, path)
        nothing = "no commit changed it" if said is not None else "there are no commits yet"
        said = said or _Said("", False)
        commits = porcelain.commits(said.text, said.cut)
        text = "\n".join("{hash} {date} {author}: {subject}".format_map(commit) for commit in commits)
        return shown(said.noted(text) or nothing, porcelain.log(commits, nothing))

    async def commits(count: int = 20, path: str | None = None) -> list[dict[str, str]]:
        said = await repository.log(count, path, _MOST)
        return porcelain.commits(whole(said).text, False) if said is not None else []

    return [
        as_tool(git_status, read_only=True, data=state),
        as_tool(git_diff, read_only=True, paths=(), data=patch),
        as_tool(git_log, read_only=True, paths=(), data=commits),
    ]


@dataclass(frozen=True, slots=True)
class _Said:
    """What git printed; `cut` says that there was more."""

    text: str
    cut: bool
    withheld: tuple[str, ...] = ()

    def without_secrets(self) -> _Said:
        """The same diff without files that look like secrets."""
        text, names = porcelain.without_secrets(self.text)
        return _Said(text, self.cut, tuple(names))

    def noted(self, text: str) -> str:
        """A text made of it, with a note for the model on what is not in it."""
        notes = ["[cut: there is more; name a path]"] if self.cut else []
        notes += [f"[not shown, it looks like a secret: {name}]" for name in self.withheld]
        return "\n".join([text, *notes] if text else notes)


def whole(said: _Said) -> _Said:
    """What a program is given, which takes no part for the whole."""
    if said.cut:
        raise ToolFailure(f"git says more than {_MOST:,} characters; name a path")
    return said


class _Repository:
    """The repository a directory is in, as seen from there."""

    def __init__(self, root: str) -> None:
        self._root = root

    async def status(self, most: int = _MOST_SHOWN) -> _Said:
        """The branch and the files."""
        # Looking into submodules would use their own configuration.
        return await self._ask(["status", "--short", "--branch", "--ignore-submodules=dirty"], None, most)

    async def diff(self, staged: bool, path: str | None, most: int = _MOST_SHOWN) -> _Said:
        """The changes, without those of files that look like secrets."""
        options = ["--no-ext-diff", "--no-textconv", "--no-color", "--ignore-submodules=dirty", "--submodule=short"]
        # The names of files are read from it, whatever the repository would like to have before them.
        options += ["--src-prefix=a/", "--dst-prefix=b/"]
        options += ["--cached"] if staged else []
        return (await self._ask(["diff", *options], path, most)).without_secrets()

    async def log(self, count: int, path: str | None, most: int = _MOST_SHOWN) -> _Said | None:
        """The newest commits; nothing, where there is none yet."""
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

    async def _ask(self, command: list[str], path: str | None, most: int) -> _Said:
        """What git says to a command about a path, or about all that is in the directory."""
        settings = dict(SETTINGS)
        whole = await self._top(settings) == self._root
        # Without a path the log has commits that change no file, too.
        command = [*command, "--"] if path is None and whole else [*command, "--", self._relative(path)]
        for name in await self._filters(settings):
            settings |= {f"{name}.clean": "", f"{name}.smudge": "", f"{name}.process": "", f"{name}.required": "false"}
        finished = await self._git(settings, *command, most=most)
        if finished.code and not finished.dropped:
            raise ToolFailure(f"git: {_first_line(finished)}")
        return _Said(finished.output.rstrip(), bool(finished.dropped))

    async def _top(self, settings: dict[str, str]) -> str:
        finished = await self._git(settings, "rev-parse", "--show-toplevel")
        if finished.code:
            said = _first_line(finished)
            raise ToolFailure("this is not a git repository" if "not a git repository" in said else f"git: {said}")
        top = os.path.realpath(finished.output.removesuffix("\n"))
        if os.path.commonpath([top, self._root]) != top:
            raise ToolFailure("this repository says that its files are somewhere else; it is not looked at")
        return top

    async def _filters(self, settings: dict[str, str]) -> set[str]:
        """The filters that the repository's own configuration defines."""
        finished = await self._git(settings, "config", "--list", "--show-scope", "--name-only", "--null")
        if finished.code:
            raise ToolFailure(f"git: {_first_line(finished)}")
        fields = finished.output.split("\0")
        pairs = zip(fields[::2], fields[1::2], strict=False)
        keys = [key for scope, key in pairs if scope not in ("system", "global", "command")]
        return {key.rpartition(".")[0] for key in keys if key.startswith("filter.")}

    async def _git(self, settings: dict[str, str], *command: str, most: int = 1_000_000) -> Finished:
        git = program("git")
        if git is None:
            raise ToolFailure("git is not installed here")
        try:
            return await run(
                [git, "--no-pager", *command],
                cwd=self._root,
                environment=hardened(settings),
                timeout=_TIME_LIMIT,
                first=most,
            )
        except OSError as error:
            raise ToolFailure(f"git could not be started: {error.strerror}") from None

    def _relative(self, path: str | None) -> str:
        """A path of the model's as git takes it; it may be of a file that is gone."""
        if path is None:
            return "."
        if "\0" in path or not path.strip():
            raise ToolFailure("the path is empty or has a NUL character in it")
        inside = os.path.relpath(os.path.join(self._root, path), self._root)
        if inside.split(os.sep)[0] == "..":
            raise ToolFailure(f"`{path}` leads outside of the directory that may be used")
        return inside


def hardened(settings: dict[str, str]) -> dict[str, str]:
    """The environment for git with these settings, and with nothing else that was meant for another git.

    Settings go by variables, because names of filters may hold what the command line cannot.
    """
    kept = {name: value for name, value in scrubbed().items() if not name.startswith("GIT_")}
    numbered = {"GIT_CONFIG_COUNT": str(len(settings))}
    for number, (name, value) in enumerate(settings.items()):
        numbered |= {f"GIT_CONFIG_KEY_{number}": name, f"GIT_CONFIG_VALUE_{number}": value}
    return kept | _VARIABLES | numbered


def _first_line(finished: Finished) -> str:
    if finished.timed_out:
        return f"it did not finish within {_TIME_LIMIT:g} seconds"
    said = finished.errors.strip().splitlines()
    return said[0].removeprefix("fatal: ") if said else f"it failed with exit code {finished.code}"
