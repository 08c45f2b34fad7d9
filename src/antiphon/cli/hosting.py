"""The world of a program that is run from the command line: its output, its models, its humans, its servers."""

from __future__ import annotations

import os
import sys
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any

from antiphon.cli.configured import configuration
from antiphon.config import default_model
from antiphon.lang.run.errors import ImportFailed
from antiphon.lang.run.host import Host

if TYPE_CHECKING:
    from antiphon.cli.progress import Progress
    from antiphon.effects import Said
    from antiphon.session import Event, Question


class Terminal:
    """Shows on standard error what models do, if that is a terminal, and puts questions to whoever sits there."""

    def __init__(self, *, has_human: bool) -> None:
        self._progress: Progress | None = None
        self.people = self._answer if has_human and sys.stdin.isatty() and sys.stderr.isatty() else None
        self.watch = self._show if sys.stderr.isatty() else None

    def close(self) -> None:
        """Nothing is shown any more."""
        if self._progress is not None:
            self._progress.close()

    def _show(self, event: Event) -> None:
        from antiphon.cli.progress import Progress

        self._progress = self._progress or Progress()
        self._progress.show(event)

    def _answer(self, question: Question) -> Said:
        from antiphon.render import Person

        if self._progress is None:
            return Person().answer(question)
        with self._progress.quiet():
            return Person().answer(question)


def terminal_host(terminal: Terminal, *, model: str | None = None, **settings: Any) -> Host:
    """The host of a program that is run from the command line."""
    configured, watch = configuration(), terminal.watch
    host = Host(
        default_model=lambda: default_model(configured, model).model,
        people=terminal.people,
        configuration=configured,
        **settings,
    )
    if watch is not None:
        # A question that is only to be seen is no work that could fail.
        host.watch = lambda event: None if host.show_prompt else watch(event)
    return host


def prepare_output() -> None:
    """Whatever a program prints, the encoding of standard output is no reason to fail."""
    reconfigure = getattr(sys.stdout, "reconfigure", None)
    if reconfigure is not None:
        reconfigure(errors="backslashreplace")


def write_line(text: str) -> None:
    """Print a line at once. What a terminal would obey is made harmless there; elsewhere it is data."""
    if sys.stdout.isatty() and not (text.isascii() and text.isprintable()):
        from antiphon.render.safe import safe

        text = safe(text, sys.stdout.encoding or "utf-8")
    try:
        # In one piece: threads may print at the same time.
        sys.stdout.write(f"{text}\n")
        sys.stdout.flush()
    except BrokenPipeError:
        leave_pipe()


def leave_pipe() -> None:
    """The reader of our output has had enough: end, without a word about it."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    raise SystemExit(141)


class ConfiguredServers:
    """The MCP servers of the configuration: each is started when a program first imports from it.

    What is about to happen is told, and refused where it may not. A program that is not trusted asks before
    each call of what it finds there.
    """

    def __init__(self, host: Host) -> None:
        self._host = host
        self._open = ExitStack()

    def __call__(self, name: str) -> dict[str, Any]:
        """The tools of a server, by their own names."""
        from antiphon.config.trust import advice
        from antiphon.session import entered
        from antiphon.tools import requiring_approval
        from antiphon.tools.mcp import McpTools

        configured = self._host.configured()
        known = {server.name: server for server in configured.mcp_servers()}
        if name not in known:
            there = f"there are: {', '.join(known)}" if known else "`mcp.json` or `antiphon.toml` has them"
            raise ImportFailed("V0606", f"no MCP server `{name}` is configured", advice(configured.project) or there)
        server = known[name]
        if self._host.distrust is not None:
            started = " ".join([server.command, *server.args]).strip() or server.url
            self._host.distrust.allow(f"use the MCP server `{name}`", f" ({started})")
        found = self._open.enter_context(entered(McpTools([server], prefix=False))).tools
        return {tool.name: tool for tool in (requiring_approval(found) if self._host.untrusted else found)}

    def close(self) -> None:
        """Stop them."""
        self._open.close()
