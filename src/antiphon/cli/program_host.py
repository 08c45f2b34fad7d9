"""The host of a program run from the command line: output, models, human input and MCP servers."""

from __future__ import annotations

import os
import sys
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any

from antiphon.cli.configuration import current_configuration
from antiphon.config import default_model
from antiphon.lang.runtime.errors import ImportFailed
from antiphon.lang.runtime.host import Host

if TYPE_CHECKING:
    from antiphon.cli.progress import ProgramProgress
    from antiphon.effects import HumanAnswer
    from antiphon.session import Event, Question


class TerminalFrontend:
    """Shows progress on standard error, if that is a terminal, and asks the user questions."""

    def __init__(self, *, has_human: bool) -> None:
        self._progress: ProgramProgress | None = None
        self.people = self._answer if has_human and sys.stdin.isatty() and sys.stderr.isatty() else None
        self.watch = self._show if sys.stderr.isatty() else None

    def close(self) -> None:
        """Stop showing progress."""
        if self._progress is not None:
            self._progress.close()

    def _show(self, event: Event) -> None:
        from antiphon.cli.progress import ProgramProgress

        self._progress = self._progress or ProgramProgress()
        self._progress.show(event)

    def _answer(self, question: Question) -> HumanAnswer:
        from antiphon.terminal import Person

        if self._progress is None:
            return Person().answer(question)
        with self._progress.quiet():
            return Person().answer(question)


def make_terminal_host(terminal: TerminalFrontend, *, model: str | None = None, **settings: Any) -> Host:
    """Return the host of a program that runs in a terminal."""
    configured, watch = current_configuration(), terminal.watch
    host = Host(
        default_model=lambda: default_model(configured, model).model,
        people=terminal.people,
        configuration=configured,
        **settings,
    )
    if watch is not None:
        # A prompt that is only printed needs no progress display.
        host.watch = lambda event: None if host.show_prompt else watch(event)
    return host


def escape_unencodable_output() -> None:
    """Make standard output escape characters that its encoding lacks, instead of failing."""
    reconfigure = getattr(sys.stdout, "reconfigure", None)
    if reconfigure is not None:
        reconfigure(errors="backslashreplace")


def write_line(text: str) -> None:
    """Print a line at once; control sequences are neutralized if standard output is a terminal."""
    if sys.stdout.isatty() and not (text.isascii() and text.isprintable()):
        from antiphon.terminal.sanitizer import sanitize_text

        text = sanitize_text(text, sys.stdout.encoding or "utf-8")
    try:
        # One write: threads may print at the same time.
        sys.stdout.write(f"{text}\n")
        sys.stdout.flush()
    except BrokenPipeError:
        exit_on_closed_pipe()


def exit_on_closed_pipe() -> None:
    """Exit silently because the reader closed the pipe."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    raise SystemExit(141)


class ConfiguredMcpServers:
    """The configured MCP servers; each is started when a program first imports from it.

    An untrusted program needs permission to start one, and approval for each call of its tools.
    """

    def __init__(self, host: Host) -> None:
        self._host = host
        self._open = ExitStack()

    def __call__(self, name: str) -> dict[str, Any]:
        """Return the tools of a server by name, starting it if necessary."""
        from antiphon.config.trust import format_trust_advice
        from antiphon.session import entered
        from antiphon.tools import Toolset
        from antiphon.tools.mcp import McpTools

        configured = self._host.configured()
        known = {server.name: server for server in configured.mcp_servers()}
        if name not in known:
            there = f"there are: {', '.join(known)}" if known else "add it to `mcp.json` or `antiphon.toml`"
            raise ImportFailed(
                "V0606", f"MCP server `{name}` is not configured", format_trust_advice(configured.project) or there
            )
        server = known[name]
        if self._host.distrust is not None:
            started = " ".join([server.command, *server.args]).strip() or server.url
            self._host.distrust.allow(f"use the MCP server `{name}`", f" ({started})")
        found = self._open.enter_context(entered(McpTools([server], prefix=False))).tools
        return {tool.name: tool for tool in (Toolset(found).requiring_approval() if self._host.untrusted else found)}

    def close(self) -> None:
        """Stop the servers."""
        self._open.close()
