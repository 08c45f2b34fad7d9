"""A printed transcript of a saved conversation: speakers, texts, and each call as one line."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from fnmatch import fnmatchcase

from rich.console import Console

from antiphon.conversation import (
    AssistantTurn,
    Audio,
    Chat,
    Conversation,
    Document,
    File,
    Image,
    OpaquePart,
    Reasoning,
    ServerCall,
    ServerResult,
    Text,
    ToolCall,
    ToolResult,
    UserTurn,
    Video,
)
from antiphon.conversation.interruption import INTERRUPTED_TEXT, is_after_interruption
from antiphon.conversation.parts import collect_sources
from antiphon.results import Result, image
from antiphon.terminal.render_context import make_console
from antiphon.terminal.scrollback import Scrollback, make_expanded, make_markdown
from antiphon.terminal.state_lines import (
    StateLine,
    first_safe_line,
    format_tool_call,
    has_failed_result,
    summarize_tool_result,
)
from antiphon.terminal.theme import ACCENT
from antiphon.views import list_display_results
from antiphon.views.server_tools import format_plain_sources, format_server_call, list_server_results


class TranscriptPrinter:
    """Prints conversations and results. `full` expands everything; `kind` selects results by pattern."""

    def __init__(self, console: Console | None = None, *, full: bool = False, kind: str | None = None) -> None:
        self._scrollback = Scrollback(console if console is not None else make_console())
        self._full = full
        self._kind = kind
        self._who = ""

    def conversation(self, conversation: Conversation) -> None:
        """Print every turn, or the matching results."""
        if self._kind is not None:
            self._print_matching(conversation)
            return
        self._who = ""
        if conversation.system:
            self._print_speaker("system")
            if self._full:
                self._scrollback.paragraph(conversation.system.strip(), "dim", 1)
            else:
                self._scrollback.separate("text")
                self._scrollback.open(conversation.system.strip(), 0, "dim", limit=3)
        for turn in conversation.turns:
            if isinstance(turn, UserTurn):
                self._user(turn)
            else:
                self._print_assistant_turn(turn, conversation)

    def results(self, results: Iterable[Result]) -> None:
        """Print results on their own."""
        for result in results:
            if self._matches_kind(result):
                self._scrollback.separate("text")
                # A result on its own was requested explicitly, so it is always expanded.
                self._scrollback.put(make_expanded(result, full=self._full or self._kind is not None, header=True))

    def title(self, text: str) -> None:
        """Print a line that introduces what follows."""
        self._scrollback.paragraph(first_safe_line(text, self._scrollback.console.encoding), "bold")

    def note(self, text: str) -> None:
        """Print a remark about what could not be displayed."""
        self._scrollback.paragraph(text, "yellow")

    # Turns

    def _print_speaker(self, who: str) -> None:
        if who == self._who:
            return
        self._who = who
        self._scrollback.paragraph(who, f"bold {ACCENT}")
        self._scrollback.follow()

    def _user(self, turn: UserTurn) -> None:
        if is_after_interruption(turn):
            self._scrollback.paragraph(INTERRUPTED_TEXT, "yellow", 1)
        for part in turn.visible_parts:
            self._print_speaker(part.author if isinstance(part, Chat) else "user")
            match part:
                case Text(text) | Chat(_, text):
                    self._said(text)
                case Image():
                    self._scrollback.separate("text")
                    shown = image(base64=part.data, url=part.url, mime_type=part.media_type)
                    self._scrollback.put(make_expanded(shown), 1)
                case Document() | Audio() | Video() | File():
                    self._scrollback.paragraph(f"[{part.description}]", "dim", 1)
                case OpaquePart():
                    self._print_opaque_part(part)

    def _print_assistant_turn(self, turn: AssistantTurn, conversation: Conversation) -> None:
        self._print_speaker("assistant")
        results = {result.call_id: result for result in turn.results}
        for part in turn.parts:
            match part:
                case Text(text):
                    self._said(text)
                case Reasoning(text):
                    self._thought(text)
                case ToolCall():
                    self._call(part, results.get(part.id), conversation)
                case ServerCall():
                    found = list_server_results(part, turn)
                    told = found[0].summary if found else ""
                    self._scrollback.line(StateLine("done", format_server_call(part), told, indent=2))
                    for each in found if self._full else ():
                        self._scrollback.put(make_expanded(each, full=True), 2)
                case ServerResult():
                    pass
                case OpaquePart():
                    self._print_opaque_part(part)
        if listed := format_plain_sources(collect_sources(turn.parts)):
            self._scrollback.paragraph(listed, "dim", 1)

    def _said(self, text: str) -> None:
        if text.strip():
            self._scrollback.separate("text")
            self._scrollback.put(make_markdown(text), 1)

    def _thought(self, text: str) -> None:
        if self._full and text.strip():
            self._scrollback.paragraph(text.strip(), "dim italic", 1)
        elif text.strip():
            self._scrollback.line(StateLine("thought", text, indent=2))

    def _print_opaque_part(self, part: OpaquePart) -> None:
        kind = part.native.data.get("type")
        what = f"[{part.native.origin.provider}: {kind if isinstance(kind, str) else 'its own data'}]"
        self._scrollback.line(StateLine("thought", f"{what} {part.text}", indent=2))

    # Calls

    def _call(self, call: ToolCall, result: ToolResult | None, conversation: Conversation) -> None:
        head = format_tool_call(call)
        if result is None:
            self._scrollback.line(StateLine("open", head, "no result yet", indent=2))
            return
        found = list_display_results(result, conversation)
        open_ones = [
            each
            for each in found
            if not each.display.hidden and (self._full or each.is_error or each.display.collapsed is False)
        ]
        told = "" if open_ones and result.is_error else summarize_tool_result(result)
        self._scrollback.line(StateLine("failed" if has_failed_result(result) else "done", head, told, indent=2))
        for each in open_ones:
            self._scrollback.put(make_expanded(each, full=self._full), 2)

    # One kind only

    def _print_matching(self, conversation: Conversation) -> None:
        for call, results in iter_calls_with_results(conversation):
            wanted = [each for each in results if self._matches_kind(each)]
            if wanted:
                failed = any(each.is_error for each in wanted)
                self._scrollback.line(StateLine("failed" if failed else "done", format_tool_call(call)))
            for each in wanted:
                self._scrollback.put(make_expanded(each), 1)

    def _matches_kind(self, result: Result) -> bool:
        return self._kind is None or fnmatchcase(result.kind, self._kind)


def iter_calls_with_results(conversation: Conversation) -> Iterator[tuple[ToolCall, list[Result]]]:
    """Yield every answered call with its results for display."""
    for turn in conversation.turns:
        if isinstance(turn, AssistantTurn):
            results = {result.call_id: result for result in turn.results}
            for call in turn.calls:
                if call.id in results:
                    yield call, list_display_results(results[call.id], conversation)


def count_kinds(results: Iterable[Result]) -> Counter[str]:
    """Return how many results there are of each kind."""
    return Counter(result.kind for result in results)
