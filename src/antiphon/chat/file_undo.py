"""Undo of a chat's messages together with the files that their calls changed."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass

from antiphon.chat.chat import Chat
from antiphon.conversation import AssistantTurn, ToolCall, Turn
from antiphon.tools import Tool
from antiphon.tools.canonical_call import canonicalize
from antiphon.tools.file_changes import FileHistory, RestoredFiles, is_too_large_to_undo, record_changes


@dataclass(frozen=True, slots=True)
class UndoneMessages:
    """The texts of removed messages, newest first, what became of the files, and the calls whose effects stay."""

    texts: tuple[str, ...]
    files: RestoredFiles
    lasting_calls: tuple[ToolCall, ...] = ()


class FileUndo:
    """The history of changed files of a chat, with the position before each message of this process."""

    def __init__(self, chat: Chat) -> None:
        self._chat = chat
        self._history = FileHistory()
        self._positions: list[int] = []

    def recording(self) -> AbstractContextManager[None]:
        """Record the changes by tools of runs that start inside the block."""
        return record_changes(self._history)

    def note_message(self, *, replaced: int = 0) -> None:
        """Note that a message was sent. If it replaces one, undoing it undoes the changes of that one too."""
        count = self._chat.message_count
        known = len(self._positions)
        position = self._positions[-replaced] if 0 < replaced <= known else self._history.position
        self._positions[count - 1 :] = [position]

    def undo(self, count: int = 1) -> UndoneMessages:
        """Remove messages and restore files."""
        self._positions = self._positions[: self._chat.message_count]
        known = min(count, len(self._positions))
        before = self._chat.conversation.turns
        taken = self._chat.undo(count)
        if not taken:
            return UndoneMessages((), RestoredFiles())
        removed = before[len(self._chat.conversation.turns) :]
        report = RestoredFiles()
        if known:
            report = self._history.undo(self._positions[-known])
            del self._positions[-known:]
        return UndoneMessages(tuple(taken), report, self._find_lasting_calls(removed, known == len(taken)))

    def describe_lasting(self, call: ToolCall, tool: Tool) -> str:
        """Return why a call cannot be undone, or an empty string."""
        if not _changes_something(tool):
            return ""
        if not tool.is_undoable:
            return "/undo cannot take this back"
        targets = canonicalize(tool, call).targets.values()
        is_large = any(is_too_large_to_undo(target.real) for target in targets)
        return "/undo cannot take this back: the file is too large to keep" if is_large else ""

    def _find_lasting_calls(self, removed: Sequence[Turn], is_complete: bool) -> tuple[ToolCall, ...]:
        """Return the calls whose effects stay. Without a complete history, changes of files do too."""
        tools = {tool.name: tool for tool in self._chat.session.tools if isinstance(tool, Tool)}
        return tuple(
            call
            for turn in removed
            if isinstance(turn, AssistantTurn)
            for call in turn.calls
            if _has_run(turn, call)
            and (tool := tools.get(call.name)) is not None
            and _changes_something(tool)
            and not (tool.is_undoable and is_complete)
        )


def _changes_something(tool: Tool) -> bool:
    return not tool.read_only and (tool.destructive or tool.needs_approval or tool.is_shell)


def _has_run(turn: AssistantTurn, call: ToolCall) -> bool:
    return any(result.call_id == call.id and not result.is_error for result in turn.results)
