"""Run a team from the command line: show its progress and ask the user its questions."""

from __future__ import annotations

import sys
import threading
from typing import TYPE_CHECKING

from antiphon.cli.output import is_terminal, print_message
from antiphon.cli.team_told import indent_lines, iter_next_steps
from antiphon.cli.team_views import LiveTeamView, TeamLines, can_redraw, print_lines
from antiphon.errors import AntiphonError, NotReadyError
from antiphon.session.sync_bridge import CancelScope

if TYPE_CHECKING:
    from antiphon.cli.team_asking import TeamHuman
    from antiphon.team import Team, TeamState

#: Seconds between two polls for new messages.
_POLL_SECONDS = 0.2
EXIT_DONE, EXIT_NOTHING_MERGED, EXIT_FAILED, EXIT_WAITING, EXIT_LIMIT, EXIT_INTERRUPTED = 0, 1, 1, 3, 4, 130


def run_team(team: Team) -> int:
    """Run a team as far as possible, report the result, and return the exit code."""
    from antiphon.team import Team

    seen = Team.open(team.id, team.journal)
    human = _find_human()
    view = LiveTeamView(seen, team) if can_redraw() else TeamLines(seen.state.last)
    try:
        is_stopped = _run_until_blocked(team, seen, view, human)
    except KeyboardInterrupt:
        view.close()
        print_message(f"interrupted; resume it with `antiphon resume {team.id}`")
        return EXIT_INTERRUPTED
    except AntiphonError as error:
        view.close()
        print_message(indent_lines(str(error)))
        print_message(f"team {team.id} stopped with an error; resume it with `antiphon resume {team.id}`")
        return EXIT_FAILED
    finally:
        view.close()
    if is_stopped:
        print_message(f"team {team.id} was stopped; resume it with `antiphon resume {team.id}`")
        return EXIT_INTERRUPTED
    return _report_ending(seen, is_told=isinstance(view, TeamLines))


def resume_team_here(team: Team) -> int:
    """Resume a suspended team with its models, and return the exit code."""
    from antiphon.cli.team_found import connect_roles
    from antiphon.team import Team

    if team.state.ended is not None:
        print_message(f"team {team.id} is already done")
        print_lines(closing_summary(team))
        return EXIT_DONE
    if team.is_running():
        raise NotReadyError(
            f"team {team.id} is running in another process; post to it with `antiphon team chat`, "
            f"or stop it with `antiphon stop {team.id}`"
        )
    return run_team(Team.open(team.id, team.journal, models=connect_roles(team.state.settings)))


def _run_until_blocked(team: Team, seen: Team, view: TeamLines | LiveTeamView, human: TeamHuman | None) -> bool:
    """Run until no work is left or nobody answers; return whether the team was stopped."""
    while True:
        since = seen.state.last
        worked, answered = _run_once(team, seen, view, human)
        if worked.ended or worked.stopped_at > since:
            return worked.ended is None
        if human is not None:
            answered = _ask_open_questions(seen, view, human) or answered
        # A message may have arrived while the team was being suspended.
        if not answered and seen.state.last <= worked.last:
            return False


def _run_once(
    team: Team, seen: Team, view: TeamLines | LiveTeamView, human: TeamHuman | None
) -> tuple[TeamState, bool]:
    """Run the team, display messages and ask questions; return its state, and whether any were answered."""
    work = _TeamThread(team, view)
    answered = False
    try:
        while not work.is_over(_POLL_SECONDS):
            _show_new_messages(seen, view)
            if human is not None:
                answered = _ask_open_questions(seen, view, human) or answered
    except BaseException:
        work.cancel()
        raise
    _show_new_messages(seen, view)
    return work.outcome(), answered


def _show_new_messages(seen: Team, view: TeamLines | LiveTeamView) -> None:
    seen.refresh()
    for message in seen.messages(view.last):
        view.take(message)


def _ask_open_questions(seen: Team, view: TeamLines | LiveTeamView, human: TeamHuman) -> bool:
    new = [each for number, each in seen.state.questions.items() if number not in human.skipped]
    if not new:
        return False
    with view.quiet():
        answered = [human.ask(seen, each) for each in new]
    return any(answered)


class _TeamThread:
    """A team running in its own thread, which can be cancelled."""

    def __init__(self, team: Team, view: TeamLines | LiveTeamView) -> None:
        self._team, self._view = team, view
        self._scope = CancelScope()
        self._state: TeamState | None = None
        self._error: BaseException | None = None
        self._thread = threading.Thread(target=self._run, name="team", daemon=True)
        self._thread.start()

    def is_over(self, seconds: float) -> bool:
        """Wait for some seconds; return whether the thread has ended."""
        self._thread.join(seconds)
        return not self._thread.is_alive()

    def cancel(self) -> None:
        """Cancel the run and wait for its end."""
        self._scope.cancel()
        self._thread.join()

    def outcome(self) -> TeamState:
        """Return the state of the team, or raise the error that ended the run."""
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


def _find_human() -> TeamHuman | None:
    """Return the user at the terminal, if there is one."""
    if not (is_terminal(sys.stdin) and is_terminal(sys.stdout)):
        return None
    from antiphon.cli.team_asking import TeamHuman

    return TeamHuman()


def _report_ending(team: Team, *, is_told: bool) -> int:
    state = team.state
    if state.ended is not None:
        if not is_told:
            print_lines(closing_summary(team))
        return EXIT_DONE if state.ended.merged else EXIT_NOTHING_MERGED
    print_message(f"team {team.id} waits{' for you' * bool(state.questions)}")
    for line in iter_next_steps(team):
        print_message(indent_lines(line))
    is_limited = any(turn.paused is not None and turn.paused.over == "cap" for turn in state.turns.values())
    return EXIT_LIMIT if is_limited and not state.questions else EXIT_WAITING


def closing_summary(team: Team) -> str:
    """Return the last message of a finished team."""
    from antiphon._base.escape import escape_unprintable

    last = [each for each in team.channel("product").messages(limit=20) if each.author == "@team"]
    return escape_unprintable(last[-1].text) if last else "done"
