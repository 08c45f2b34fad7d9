"""Running a team from the command line: it works, and meanwhile it is shown, and whoever sits here is asked."""

from __future__ import annotations

import sys
import threading
from typing import TYPE_CHECKING

from antiphon.cli.talk.printing import is_terminal, tell
from antiphon.cli.team_told import how_to_go_on, set_in
from antiphon.cli.team_views import Lines, Moving, is_moving, write
from antiphon.errors import AntiphonError, NotReadyError
from antiphon.session.portal import CancelScope

if TYPE_CHECKING:
    from antiphon.agents import Team, TeamState
    from antiphon.cli.team_asking import Human

#: How often it is looked what is new, in seconds.
_OFTEN = 0.2
DONE, NOTHING, FAILED, WAITS, INTERRUPTED = 0, 1, 2, 3, 130


def carry_on(team: Team) -> int:
    """Let a team work as far as it goes, and tell what came of it; gives the exit code."""
    from antiphon.agents import Team

    seen = Team.open(team.id, team.journal)
    human = _human()
    view = Moving(seen, team) if is_moving() else Lines(seen.state.last)
    try:
        is_stopped = _shift(team, seen, view, human)
    except KeyboardInterrupt:
        view.close()
        tell(f"interrupted; `antiphon team resume {team.id}` goes on where it is")
        return INTERRUPTED
    except AntiphonError as error:
        view.close()
        tell(set_in(str(error)))
        tell(f"team {team.id} is left as it is; `antiphon team resume {team.id}` goes on")
        return FAILED
    finally:
        view.close()
    if is_stopped:
        tell(f"team {team.id} was stopped; `antiphon team resume {team.id}` goes on")
        return WAITS
    return _ending(seen, is_told=isinstance(view, Lines))


def go_on_with(team: Team) -> int:
    """Go on with a team that was left, with the models it has; gives the exit code."""
    from antiphon.agents import Team
    from antiphon.cli.team_found import cast

    if team.state.ended is not None:
        tell(f"team {team.id} is done already")
        write(summary(team))
        return DONE
    if team.is_running():
        raise NotReadyError(
            f"team {team.id} is at work in another process; `antiphon team chat` talks to it, "
            "`antiphon team stop` has it leave off"
        )
    return carry_on(Team.open(team.id, team.journal, models=cast(team.state.settings)))


def _shift(team: Team, seen: Team, view: Lines | Moving, human: Human | None) -> bool:
    """Work until nothing can be done, or nobody answers what is asked; whether somebody has stopped it."""
    while True:
        since = seen.state.last
        worked, answered = _worked(team, seen, view, human)
        if worked.ended or worked.stopped_at > since:
            return worked.ended is None
        if human is not None:
            answered = _ask(seen, view, human) or answered
        # Somebody may have spoken while it was about to leave.
        if not answered and seen.state.last <= worked.last:
            return False


def _worked(team: Team, seen: Team, view: Lines | Moving, human: Human | None) -> tuple[TeamState, bool]:
    """Let it work, and meanwhile show and ask; how it stands then, and whether something was answered."""
    work = _Work(team, view)
    answered = False
    try:
        while not work.is_over(_OFTEN):
            _look(seen, view)
            if human is not None:
                answered = _ask(seen, view, human) or answered
    except BaseException:
        work.cancel()
        raise
    _look(seen, view)
    return work.outcome(), answered


def _look(seen: Team, view: Lines | Moving) -> None:
    seen.refresh()
    for message in seen.messages(view.last):
        view.take(message)


def _ask(seen: Team, view: Lines | Moving, human: Human) -> bool:
    new = [each for number, each in seen.state.questions.items() if number not in human.skipped]
    if not new:
        return False
    with view.quiet():
        answered = [human.answered(seen, each) for each in new]
    return any(answered)


class _Work:
    """A team at work in a thread of its own, which can be told to leave off."""

    def __init__(self, team: Team, view: Lines | Moving) -> None:
        self._team, self._view = team, view
        self._scope = CancelScope()
        self._state: TeamState | None = None
        self._error: BaseException | None = None
        self._thread = threading.Thread(target=self._run, name="team", daemon=True)
        self._thread.start()

    def is_over(self, seconds: float) -> bool:
        """Wait a moment; whether it has left off."""
        self._thread.join(seconds)
        return not self._thread.is_alive()

    def cancel(self) -> None:
        """Have it leave off where it is."""
        self._scope.cancel()
        self._thread.join()

    def outcome(self) -> TeamState:
        """How it stands; or why it could not go on."""
        if self._error is not None:
            raise self._error
        assert self._state is not None
        return self._state

    def _run(self) -> None:
        try:
            with self._scope.active():
                self._state = self._team.work(self._view.watch)
        except BaseException as error:
            self._error = error


def _human() -> Human | None:
    """Whoever sits here, if somebody does."""
    if not (is_terminal(sys.stdin) and is_terminal(sys.stdout)):
        return None
    from antiphon.cli.team_asking import Human

    return Human()


def _ending(team: Team, *, is_told: bool) -> int:
    state = team.state
    if state.ended is not None:
        if not is_told:
            write(summary(team))
        return DONE if state.ended.merged else NOTHING
    tell(f"team {team.id} waits{' for you' * bool(state.questions)}")
    for line in how_to_go_on(team):
        tell(set_in(line))
    return WAITS


def summary(team: Team) -> str:
    """What a team that is done says of it."""
    from antiphon._printable import printable

    last = [each for each in team.channel("product").messages(limit=20) if each.author == "@team"]
    return printable(last[-1].text) if last else "done"
