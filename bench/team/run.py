"""Whether a team gets small work done, what that takes, and one agent alone beside it.

python bench/team/run.py                                      scripted answers: conformance only
python bench/team/run.py --model anthropic/claude-sonnet-5
python bench/team/run.py --model local/0.5b --stories bug,feature --minutes 5 --requests 30
"""

from __future__ import annotations

import argparse
import asyncio
import os
import sys
import tempfile
import time
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import median
from typing import Any

sys.path[:0] = [str(Path(__file__).resolve().parent), str(Path(__file__).resolve().parents[2] / "src")]

from plays import play  # noqa: E402
from stories import TESTS, Story, judge, make_repository, stories  # noqa: E402

from antiphon import AntiphonError, connect  # noqa: E402
from antiphon.durable import Journal  # noqa: E402
from antiphon.fakes import Fake  # noqa: E402
from antiphon.session import Event, RequestEnded  # noqa: E402
from antiphon.team import ChannelMessage, Team, TeamSettings  # noqa: E402

MODES = ("team", "solo")
ROLES = ("pm", "architect", "coder")
#: So often the human answers; then it is given up.
_ANSWERS = 8
CONFORMANCE = """\
Conformance only: the answers are scripted from the solutions of the stories. This shows that teams, git, tests and
hidden checks work together, and says nothing about any model. Tokens and cost are those of the script.
"""


@dataclass(slots=True)
class Attempt:
    """One story, tried once. `fault` is why it is not resolved; nothing, if it is. A cost of none is not known."""

    story: str
    mode: str
    fault: str = ""
    requests: int = 0
    tokens: int = 0
    cost: float | None = 0.0
    minutes: float = 0.0

    def watch(self, _: str, event: Event) -> None:
        """Count what is asked."""
        if isinstance(body := event.body, RequestEnded):
            self.requests += 1
            self.tokens += (body.usage.input_tokens or 0) + (body.usage.output_tokens or 0)
            if not body.failed:
                self.cost = None if self.cost is None or body.cost is None else self.cost + body.cost


def main() -> None:
    given = _options()
    # The tests of the stories are run by whichever `python` comes first.
    os.environ["PATH"] = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    print(f"model: {given.model}\n" if given.model else CONFORMANCE, flush=True)
    attempts: list[Attempt] = []
    print(f"| story | as | resolved | requests | tokens | cost | minutes |\n|{'---|' * 7}")
    for story in (_bounded(each, given) for each in stories(given.stories)):
        for mode in given.only or MODES:
            for _ in range(given.times):
                attempts.append(tried(story, mode, given.model, sandbox=given.sandbox))
                print(_row(attempts[-1]), flush=True)
    print(f"\n{told(attempts)}")
    if not given.model and any(each.fault for each in attempts):
        sys.exit("a scripted story is not resolved")


def _options() -> Any:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", help="for all roles; without one, scripted answers")
    parser.add_argument("--stories", type=lambda text: text.split(","), help="names of stories, with commas")
    parser.add_argument("--only", action="append", choices=MODES, help="only as a team, or alone")
    parser.add_argument("--times", type=int, default=1, help="how often each is tried")
    parser.add_argument("--minutes", type=float, help="for each attempt, in place of what the stories allow")
    parser.add_argument("--requests", type=int, help="the same for requests")
    parser.add_argument("--cost", type=float, help="the same for US dollars")
    parser.add_argument("--no-sandbox", dest="sandbox", action="store_false", help="run tests unconfined")
    return parser.parse_args()


def _bounded(story: Story, given: Any) -> Story:
    named = {"minutes": given.minutes, "requests": given.requests, "cost": given.cost}
    return replace(story, **{name: value for name, value in named.items() if value is not None})


# An attempt


def tried(story: Story, mode: str, model: str | None, *, sandbox: bool = True) -> Attempt:
    """Let a team, or one agent, do what a story asks for, and judge what came of it."""
    attempt, began = Attempt(story.name, mode), time.monotonic()
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as home, _model(story, mode, model) as asked:
        repository = make_repository(story, Path(home, story.repository))
        settings = TeamSettings(
            coders=story.coders,
            solo=mode == "solo",
            cost=story.cost,
            task_cost=story.cost,
            requests=story.requests,
            command=TESTS,
            seconds=60,
            sandbox=sandbox,
        )
        journal, models = Journal(Path(home, "journal.db")), dict.fromkeys(ROLES, asked)
        team = Team.begin(story.prompt, repository, settings, journal=journal, models=models)
        fault = asyncio.run(_worked(team, story, attempt.watch))
        attempt.minutes = (time.monotonic() - began) / 60
        attempt.fault = fault or judge(story, repository, team.state.head, sandbox=sandbox)
    return attempt


@contextmanager
def _model(story: Story, mode: str, name: str | None) -> Generator[Any]:
    if name is not None:
        yield connect(name)
        return
    with Fake(play(story, solo=mode == "solo"), strict=False) as fake:
        yield fake.connect("anthropic/claude-sonnet-5")


async def _worked(team: Team, story: Story, watch: Callable[[str, Event], object]) -> str:
    """Let it work to its end; why it did not come to one."""
    asked = ""
    try:
        async with asyncio.timeout(story.minutes * 60):
            for _ in range(_ANSWERS):
                state = await team.arun(watch)
                if state.ended is not None:
                    return "" if state.ended.merged else f"nothing was merged: {asked}"
                if not state.questions:
                    return "; ".join(turn.paused.why for turn in state.turns.values() if turn.paused) or "it stopped"
                for number, question in list(state.questions.items()):
                    asked = question.text
                    team.answer(number, _answer(question, story))
            return f"the human was asked {_ANSWERS} times, at last: {asked}"
    except TimeoutError:
        return f"not done after {story.minutes:g} minutes, in {team.refresh().phase}"
    except AntiphonError as error:
        return f"{type(error).__name__}: {_line(str(error))}"


def _answer(question: ChannelMessage, story: Story) -> str:
    """What the human says: a specification is good, a task that gets no further is given up."""
    about = str(question.data.get("about", "")).partition(":")[0]
    return {"spec": "yes", "task": "drop"}.get(about, story.answer)


# Telling


def told(attempts: Sequence[Attempt]) -> str:
    """What all attempts come to, as a team beside alone. Failures count in what an accepted change takes."""
    modes = [mode for mode in MODES if any(each.mode == mode for each in attempts)]
    columns = [[each for each in attempts if each.mode == mode] for mode in modes]
    lines = [
        ("resolved@1", [f"{_resolved(each)}/{len(each)}" for each in columns]),
        ("requests per accepted change", [_per_accepted(each, "requests") for each in columns]),
        ("tokens per accepted change", [_per_accepted(each, "tokens") for each in columns]),
        ("cost per accepted change", [_per_accepted(each, "cost") for each in columns]),
        *(
            (f"{name} of an attempt, min/median/max", [_spread(each, name) for each in columns])
            for name in ("requests", "tokens", "cost", "minutes")
        ),
    ]
    head = [f"| | {' | '.join(modes)} |", f"|{'---|' * (len(modes) + 1)}"]
    return "\n".join([*head, *(f"| {name} | {' | '.join(values)} |" for name, values in lines)])


def _row(attempt: Attempt) -> str:
    resolved = "yes" if not attempt.fault else f"no: {_line(attempt.fault)}"
    used = [_figure(name, getattr(attempt, name)) for name in ("requests", "tokens", "cost", "minutes")]
    return f"| {attempt.story} | {attempt.mode} | {resolved} | {' | '.join(used)} |"


def _resolved(attempts: Sequence[Attempt]) -> int:
    return sum(not each.fault for each in attempts)


def _per_accepted(attempts: Sequence[Attempt], name: str) -> str:
    values = [getattr(each, name) for each in attempts]
    if not _resolved(attempts):
        return "none was accepted"
    return _figure(name, None if None in values else sum(values) / _resolved(attempts))


def _spread(attempts: Sequence[Attempt], name: str) -> str:
    values = [getattr(each, name) for each in attempts]
    if None in values:
        return "not known"
    return " / ".join(_figure(name, each(values)) for each in (min, median, max))


def _figure(name: str, value: float | None) -> str:
    if value is None:
        return "not known"
    return {"cost": f"${value:.4f}", "minutes": f"{value:.1f}"}.get(name, f"{value:,.0f}")


def _line(text: str) -> str:
    return " ".join(text.replace("|", "/").split())[:160]


if __name__ == "__main__":
    main()
