"""Print the changes of a team and the conversations of its agents."""

from __future__ import annotations

from typing import TYPE_CHECKING

from antiphon.errors import NotReadyError
from antiphon.terminal import make_console
from antiphon.terminal.scrollback import Scrollback
from antiphon.terminal.transcript import TranscriptPrinter

if TYPE_CHECKING:
    from antiphon.team import Team

_STYLES = {"+": "green", "-": "red", "@": "cyan", "d": "bold"}


def show_diff(text: str) -> None:
    """Print a diff for people."""
    page = Scrollback(make_console())
    for line in text.splitlines():
        style = "" if line.startswith(("+++", "---")) else _STYLES.get(line[:1], "")
        page.console.print(page.text(line, style))


def show_log(team: Team, agent: str, full: bool) -> None:
    """Print the conversations of an agent."""
    name = f"@{agent.removeprefix('@')}"
    agents = [each for each in team.state.members if each != "@human"]
    if name not in agents:
        there = ", ".join(each.removeprefix("@") for each in agents)
        raise NotReadyError(f"team {team.id} has no agent {agent!r}; its agents are {there}")
    found = team.conversations(name)
    if not found:
        raise NotReadyError(f"{name} has not finished a turn yet")
    show = TranscriptPrinter(full=full)
    for thread, conversation in found.items():
        show.title(f"{name}, {thread}" if len(found) > 1 else name)
        show.conversation(conversation)
