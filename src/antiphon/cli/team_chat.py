"""`antiphon team chat`: read the messages of a team and post to it."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable
from typing import TYPE_CHECKING

from antiphon.cli.output import is_terminal, print_message
from antiphon.cli.team_told import format_message
from antiphon.cli.team_views import print_lines
from antiphon.errors import AntiphonError

if TYPE_CHECKING:
    from antiphon.team import Team

_PROMPT = "> "
_POLL_SECONDS = 0.3


def chat_with_team(team: Team, channel: str | None, limit: int, follow: bool) -> None:
    """Print the messages, post what is typed or piped in, and print new messages."""
    news = _MessageFeed(team, channel)
    news.show(limit)
    if not team.is_running() and team.state.ended is None:
        print_message(f"team {team.id} is not running; resume it with `antiphon resume {team.id}`")
    if is_terminal(sys.stdin) and is_terminal(sys.stdout):
        _chat_interactively(team, channel, news)
        return
    for line in sys.stdin:
        if line.strip():
            team.say_line(line.strip(), channel)
            news.show()
    while follow and team.is_running():
        time.sleep(_POLL_SECONDS)
        news.show()


class _MessageFeed:
    """The messages not printed yet."""

    def __init__(self, team: Team, channel: str | None) -> None:
        self._team = team
        self._names = (channel,) if channel else ("product", "development")
        self._last = 0

    def new(self, limit: int | None = None) -> list[str]:
        """Return the new messages as lines."""
        found = [m for name in self._names for m in self._team.channel(name).messages(self._last, limit)]
        found = sorted(found, key=lambda each: each.id)
        self._last = found[-1].id if found else self._last
        found = found if limit is None else found[len(found) - min(limit, len(found)) :]
        return [format_message(each) for each in found]

    def show(self, limit: int | None = None) -> None:
        """Print the new messages."""
        if lines := self.new(limit):
            print_lines("\n".join(lines))


def _chat_interactively(team: Team, channel: str | None, news: _MessageFeed) -> None:
    from antiphon.cli.chat_front.line_editor import LineEditor

    print_message("Ctrl-D quits; `@coder-1 text` is for coder-1, `#12 text` answers question 12")
    reader = LineEditor()
    with _BackgroundPrinter(news.new):
        while True:
            try:
                line = reader.read_message(_PROMPT)
            except KeyboardInterrupt:
                print_lines("")
                return
            if line is None:
                return
            try:
                if line.strip():
                    team.say_line(line.strip(), channel)
                    news.new()
            except AntiphonError as error:
                print_message(str(error))


class _BackgroundPrinter:
    """Prints new messages above the input line while nothing is typed in it."""

    def __init__(self, new: Callable[[], list[str]]) -> None:
        self._new = new
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._follow, daemon=True)

    def __enter__(self) -> None:
        self._thread.start()

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._thread.join()

    def _follow(self) -> None:
        while not self._over.wait(_POLL_SECONDS):
            if not _typed_text() and (lines := self._new()):
                sys.stdout.write("\r\x1b[K" + "\n".join(lines) + f"\n{_PROMPT}")
                sys.stdout.flush()


def _typed_text() -> str:
    try:
        import readline
    except ImportError:
        return ""
    return readline.get_line_buffer()
