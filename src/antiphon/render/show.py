"""A saved conversation on paper: who speaks, what they say, and each call in a line with its result folded away."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from fnmatch import fnmatchcase

from rich.console import Console

from antiphon.conversation import (
    AssistantTurn,
    Chat,
    Conversation,
    Foreign,
    Image,
    Reasoning,
    ServerCall,
    ServerResult,
    Text,
    ToolCall,
    ToolResult,
    UserTurn,
)
from antiphon.conversation.interruption import INTERRUPTED, follows_interruption
from antiphon.conversation.parts import sources_of
from antiphon.render.context import console as make_console
from antiphon.render.lines import StateLine, call_head, has_failed, one_line, summary
from antiphon.render.scroll import Scroll, markdown, opened
from antiphon.render.style import ACCENT
from antiphon.results import Result, image
from antiphon.views import results_of
from antiphon.views.server_tools import list_plain_sources, results_of_call, title_of_call


class Show:
    """Prints conversations and results. `full` opens everything; `kind` is a pattern for the results to see, alone."""

    def __init__(self, console: Console | None = None, *, full: bool = False, kind: str | None = None) -> None:
        self._scroll = Scroll(console if console is not None else make_console())
        self._full = full
        self._kind = kind
        self._who = ""

    def conversation(self, conversation: Conversation) -> None:
        """Print every turn, or the results that are asked for."""
        if self._kind is not None:
            self._matching(conversation)
            return
        self._who = ""
        if conversation.system:
            self._heading("system")
            self._aside(conversation.system)
        for turn in conversation.turns:
            if isinstance(turn, UserTurn):
                self._user(turn)
            else:
                self._assistant(turn, conversation)

    def results(self, results: Iterable[Result]) -> None:
        """Print results that stand for themselves."""
        for result in results:
            if self._wants(result):
                self._scroll.stand_apart("text")
                # A result that stands for itself is what was asked for: it is never folded away.
                self._scroll.put(opened(result, full=self._full or self._kind is not None, header=True))

    def title(self, text: str) -> None:
        """Print a line that says what follows."""
        self._scroll.stand_apart("text")
        self._scroll.put(self._scroll.text(one_line(text, self._scroll.console.encoding), "bold"))

    def note(self, text: str) -> None:
        """Print a remark about what could not be shown."""
        self._scroll.stand_apart("text")
        self._scroll.put(self._scroll.text(text, "yellow"))

    # Turns

    def _heading(self, who: str) -> None:
        """Who speaks; not said again while the same one goes on."""
        if who == self._who:
            return
        self._who = who
        self._scroll.stand_apart("text")
        self._scroll.put(self._scroll.text(who, f"bold {ACCENT}"))
        self._scroll.follow()

    def _user(self, turn: UserTurn) -> None:
        if follows_interruption(turn):
            self._scroll.stand_apart("text")
            self._scroll.put(self._scroll.text(INTERRUPTED, "yellow"), 1)
        for part in turn.visible_parts:
            self._heading(part.author if isinstance(part, Chat) else "user")
            match part:
                case Text(text) | Chat(_, text):
                    self._said(text)
                case Image():
                    self._picture(part)
                case Foreign():
                    self._foreign(part)

    def _assistant(self, turn: AssistantTurn, conversation: Conversation) -> None:
        self._heading("assistant")
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
                    self._server_call(part, turn)
                case ServerResult():
                    pass
                case Foreign():
                    self._foreign(part)
        if listed := list_plain_sources(sources_of(turn.parts)):
            self._scroll.stand_apart("text")
            self._scroll.put(self._scroll.text(listed, "dim"), 1)

    def _said(self, text: str) -> None:
        if text.strip():
            self._scroll.stand_apart("text")
            self._scroll.put(markdown(text), 1)

    def _thought(self, text: str) -> None:
        if self._full and text.strip():
            self._scroll.stand_apart("text")
            self._scroll.put(self._scroll.text(text.strip(), "dim italic"), 1)
        elif text.strip():
            self._scroll.line(StateLine("thought", text, indent=2))

    def _aside(self, text: str) -> None:
        """Text that matters less than what is said."""
        self._scroll.stand_apart("text")
        if self._full:
            self._scroll.put(self._scroll.text(text.strip(), "dim"), 1)
        else:
            self._scroll.open(text.strip(), 0, "dim", limit=3)

    def _picture(self, part: Image) -> None:
        shown = image(base64=part.data, url=part.url, mime_type=part.media_type)
        self._scroll.stand_apart("text")
        self._scroll.put(opened(shown), 1)

    def _foreign(self, part: Foreign) -> None:
        kind = part.native.data.get("type")
        what = f"[{part.native.origin.provider}: {kind if isinstance(kind, str) else 'its own data'}]"
        self._scroll.line(StateLine("thought", f"{what} {part.text}", indent=2))

    # Calls

    def _server_call(self, call: ServerCall, turn: AssistantTurn) -> None:
        found = results_of_call(call, turn)
        told = found[0].summary if found else ""
        self._scroll.line(StateLine("done", title_of_call(call), told, indent=2))
        for each in found if self._full else ():
            self._scroll.put(opened(each, full=True), 2)

    def _call(self, call: ToolCall, result: ToolResult | None, conversation: Conversation) -> None:
        head = call_head(call)
        if result is None:
            self._scroll.line(StateLine("open", head, "no result yet", indent=2))
            return
        found = results_of(result, conversation)
        open_ones = [each for each in found if self._opens(each)]
        told = "" if open_ones and result.is_error else summary(result)
        self._scroll.line(StateLine("failed" if has_failed(result) else "done", head, told, indent=2))
        for each in open_ones:
            self._scroll.put(opened(each, full=self._full), 2)

    def _opens(self, result: Result) -> bool:
        return not result.display.hidden and (self._full or result.is_error or result.display.collapsed is False)

    # One kind only

    def _matching(self, conversation: Conversation) -> None:
        for call, results in calls_with_results(conversation):
            wanted = [each for each in results if self._wants(each)]
            if wanted:
                failed = any(each.is_error for each in wanted)
                self._scroll.line(StateLine("failed" if failed else "done", call_head(call)))
            for each in wanted:
                self._scroll.put(opened(each), 1)

    def _wants(self, result: Result) -> bool:
        return self._kind is None or fnmatchcase(result.kind, self._kind)


def calls_with_results(conversation: Conversation) -> Iterator[tuple[ToolCall, list[Result]]]:
    """Every answered call with what people are shown of its result."""
    for turn in conversation.turns:
        if isinstance(turn, AssistantTurn):
            results = {result.call_id: result for result in turn.results}
            for call in turn.calls:
                if call.id in results:
                    yield call, results_of(results[call.id], conversation)


def kinds(results: Iterable[Result]) -> Counter[str]:
    """How many results there are of each kind."""
    return Counter(result.kind for result in results)
