"""The world of a program that is run from the command line: its output, its models, its humans, its servers."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any

from antiphon.lang.run.effects import AskModel, Effect, Host
from antiphon.lang.run.errors import ImportFailed

if TYPE_CHECKING:
    from antiphon.cli.progress import Progress
    from antiphon.session import Event
    from antiphon.tools import ApprovalRequest, Decision


class TerminalHost(Host):
    """Shows on standard error what models do, if that is a terminal, and puts questions to whoever sits there."""

    def __init__(self, *, has_human: bool, model: str | None = None, **settings: Any) -> None:
        super().__init__(**settings)
        self.default_model = lambda: _default_model(model)
        self._progress: Progress | None = None
        if has_human and sys.stdin.isatty() and sys.stderr.isatty():
            self.human = self._answer
            self.approve = self._approve

    def perform(self, effect: Effect) -> Any:
        """Do it; while a model is asked, show so."""
        if not isinstance(effect, AskModel) or self.show_prompt or not sys.stderr.isatty():
            return super().perform(effect)
        from antiphon.cli.progress import Progress

        self._progress = self._progress or Progress()
        self.on_event = self._show
        with self._progress.asking(effect):
            return super().perform(effect)

    def close(self) -> None:
        """Nothing is shown any more."""
        if self._progress is not None:
            self._progress.close()

    def _show(self, event: Event) -> None:
        assert self._progress is not None
        self._progress.show(event)

    def _answer(self, question: str) -> str:
        from antiphon.render.people import answer_in_terminal

        return self._quietly(lambda: answer_in_terminal(question))

    def _approve(self, request: ApprovalRequest) -> Decision:
        from antiphon.render.people import approve_in_terminal

        return self._quietly(lambda: approve_in_terminal(request))

    def _quietly(self, ask: Callable[[], Any]) -> Any:
        if self._progress is None:
            return ask()
        with self._progress.quiet():
            return ask()


def _default_model(model: str | None) -> str:
    from antiphon.config import default_model

    return default_model(model).model


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

    The host is told what is about to happen, and raises where it may not. A program that is not trusted asks before
    each call of what it finds there.
    """

    def __init__(self, host: Host) -> None:
        self._host = host
        self._open = ExitStack()

    def __call__(self, name: str) -> dict[str, Any]:
        """The tools of a server, by their own names."""
        from antiphon.config import load_config
        from antiphon.config.trust import advice, find_project
        from antiphon.session import entered
        from antiphon.tools import requiring_approval
        from antiphon.tools.mcp import McpTools

        known = {server.name: server for server in load_config().mcp_servers()}
        if name not in known:
            there = f"there are: {', '.join(known)}" if known else "`mcp.json` or `antiphon.toml` has them"
            raise ImportFailed("V0606", f"no MCP server `{name}` is configured", advice(find_project()) or there)
        server = known[name]
        self._host.allow(
            f"use the MCP server `{name}`", f" ({' '.join([server.command, *server.args]).strip() or server.url})"
        )
        found = self._open.enter_context(entered(McpTools([server], prefix=False))).tools
        return {tool.name: tool for tool in (requiring_approval(found) if self._host.untrusted else found)}

    def close(self) -> None:
        """Stop them."""
        self._open.close()
