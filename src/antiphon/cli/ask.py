"""`antiphon ask`: one question, one answer, for people and for scripts."""

from __future__ import annotations

import sys
from collections.abc import Generator
from contextlib import ExitStack, closing
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import click

from antiphon._printable import printable
from antiphon.cli.colours import faint
from antiphon.cli.completing import MODEL
from antiphon.cli.configured import configuration
from antiphon.cli.talk.choosing import chosen, tool_options
from antiphon.cli.talk.loading import check_images, get_ready
from antiphon.cli.talk.printing import Written, drop_output, is_terminal, print_json, print_text, tell
from antiphon.errors import AntiphonError

if TYPE_CHECKING:
    from antiphon.conversation import Image
    from antiphon.journal import RunEntry
    from antiphon.render import Person
    from antiphon.session import AIResult, Event
    from antiphon.store.talk import Talk
    from antiphon.talks.keeping import TalkJournal
    from antiphon.talks.opening import Wishes

_WAITING, _NO_ANSWER, _MISTAKE, _INTERRUPTED = 3, 1, 2, 130


@dataclass(frozen=True, slots=True)
class _Wanted:
    """What is asked, and how the answer is to be given."""

    text: str
    images: list[Image]
    returns: Any
    as_json: bool
    stream: bool | None
    #: A run that is gone on with, in place of a question.
    run: str = ""


@click.command()
@click.argument("prompt", nargs=-1)
@click.option("-m", "--model", type=MODEL, help="The model, such as anthropic/claude-sonnet-5 or local/0.5b.")
@click.option("-r", "--returns", metavar="TYPE", help="Print JSON of this type: '{name: text, age: number}', 'text[]'.")
@click.option(
    "--json", "as_json", is_flag=True, help="Print one object: value, tool calls, usage, cost, model, outcome, id."
)
@click.option("-s", "--system", metavar="TEXT", help="What the model is told before everything else.")
@tool_options("none, or those of the conversation that is continued")
@click.option("-f", "--file", "files", multiple=True, metavar="FILE", help="Send this file along: text or an image.")
@click.option("--stream/--no-stream", default=None, help="Print the answer as it comes. [default: in a terminal]")
@click.option("-c", "--continue", "go_on", is_flag=True, help="Go on with what was asked last.")
@click.option("--no-log", is_flag=True, help="Save nothing.")
@click.option("--no-journal", is_flag=True, help="With tools: do not write down what they do while it is done.")
@click.option("-y", "--yes", is_flag=True, help="Allow every tool call without asking.")
@click.option("--max-turns", type=click.IntRange(1), metavar="N", help="At most so many requests.")
@click.option("--max-cost", type=click.FloatRange(0, min_open=True), metavar="USD", help="No request beyond this cost.")
def ask(
    prompt: tuple[str, ...],
    model: str | None,
    returns: str | None,
    as_json: bool,
    system: str | None,
    tools: str | None,
    own: tuple[str, ...],
    mcp: tuple[str, ...],
    files: tuple[str, ...],
    stream: bool | None,
    go_on: bool,
    no_log: bool,
    no_journal: bool,
    yes: bool,
    max_turns: int | None,
    max_cost: float | None,
) -> None:
    """Ask a model once, and print its answer.

    What comes by standard input is put behind PROMPT, or is the prompt. Exit code: 0 answered, 1 no answer, 2 a mistake
    in what was given or set, 3 a tool call waits for a human, 130 interrupted.
    """
    if stream and (returns is not None or as_json):
        raise click.UsageError("`--stream` prints text as it comes; `--returns` and `--json` print what is complete")
    from antiphon.cli.talk.question import question, wanted_type
    from antiphon.session import Limits
    from antiphon.talks.opening import Wishes

    try:
        wanted = None if returns is None else wanted_type(returns)
        limits = Limits(turns=max_turns or Limits().turns, cost=max_cost)
        about = {"returns": returns, "yes": yes}
        only, more = chosen(tools, own, mcp)
        journal = bool(only or more or (go_on and only is None)) and not no_journal
        wishes = Wishes(
            "ask", model, system, go_on, None, yes, not no_log, limits, journal, about, tools=only, more=more
        )
        code = _asked(wishes, _Wanted(*question(prompt, files), wanted, as_json, stream))
    except KeyboardInterrupt:
        tell("interrupted")
        code = _INTERRUPTED
        if as_json:
            print_json(_failed("interrupted"))
    except AntiphonError as error:
        if not as_json:
            raise
        tell(str(error))
        print_json(_failed(str(error)))
        code = _MISTAKE
    except BrokenPipeError:
        raise
    except OSError as error:
        tell(f"the answer cannot be written: {error.strerror or error}")
        drop_output()
        code = _NO_ANSWER
    sys.exit(code)


def resume_ask(entry: RunEntry, as_json: bool, place: str | None = None) -> int:
    """Go on with what was asked, here; gives the exit code. `place` is the journal, if it is not the user's own."""
    from antiphon.cli.talk.question import wanted_type
    from antiphon.talks.opening import Wishes
    from antiphon.talks.toolbox import Chosen

    about = entry.begun_as
    returns = None if about.get("returns") is None else wanted_type(about["returns"])
    conversation = about.get("conversation") or None
    kept = {name: about.get(name) for name in ("returns", "yes")}
    wishes = Wishes(
        entry.kind, about.get("model"), None, False, conversation, bool(about.get("yes")), True, None, True, kept,
        place, tools=Chosen.read(about),
    )  # fmt: skip
    return _asked(wishes, _Wanted("", [], returns, as_json, None, entry.id))


def _asked(wishes: Wishes, wanted: _Wanted) -> int:
    from antiphon.talks.opening import choose_tools, open_talk
    from antiphon.talks.toolbox import Toolbox

    with ExitStack() as stack:
        opened = open_talk(wishes, configuration(), stack, tell)
        talk, person = opened.talk, _person(stack)
        used = choose_tools(wishes, opened, Toolbox(configuration(), stack, tell))
        wishes.about.update(used.to_json())
        if is_terminal(sys.stderr):
            told = f"model: {talk.session.model.name} ({opened.why})" + (f"; tools: {used}" if used else "")
            click.echo(faint(printable(told)) + "\n", err=True)
        return _answered(talk, wanted, person, opened.journal)


def _answered(talk: Talk, wanted: _Wanted, person: Person | None, kept: TalkJournal | None) -> int:
    from antiphon.session import Waiting

    before = talk.conversation.fork()
    try:
        if wanted.images:
            talk.conversation.add_user(wanted.images)
            # What it cannot see is refused before anything is fetched or computed.
            check_images(talk.conversation, talk.session.model)
        get_ready(talk.session.model)
        result = _followed(talk, wanted, person)
    except BaseException as error:
        # A conversation that goes on is left as it was before the question, unless it waits for somebody; of a new one,
        # the log keeps what was said.
        if before.turns and not isinstance(error, Waiting):
            talk.go_back(before)
        if not isinstance(error, AntiphonError):
            raise
        return _without_answer(error, talk, wanted, kept)
    if wanted.as_json:
        from antiphon.views.stream import final_json

        print_json({**final_json(result), "id": talk.id or None})
    elif result.value is not None and wanted.returns is not None:
        from antiphon.results import plain

        print_json(plain(result.value))
    return 0


def _without_answer(error: AntiphonError, talk: Talk, wanted: _Wanted, kept: TalkJournal | None) -> int:
    from antiphon.session import NoAnswer, ReturnError, Waiting

    said = str(error)
    if isinstance(error, NoAnswer) and not isinstance(error, ReturnError):
        said = f"{error.run.outcome}: {said}"
    if isinstance(error, Waiting) and talk.id:
        said = f"{said} (`antiphon chat --resume {talk.id}` asks you, and goes on)"
    if isinstance(error, Waiting) and kept is not None and kept.running is not None:
        said = f"{said}; run {kept.running.id}: `antiphon runs show {kept.running.id}` says how to go on"
    tell(said)
    if wanted.as_json:
        print_json(_failed(str(error), talk, error))
    return _code(error)


def _followed(talk: Talk, wanted: _Wanted, person: Person | None) -> AIResult:
    """Let it happen, shown as there is somebody to see it; text is printed, values are not."""
    from antiphon.cli.talk.screen import Screen
    from antiphon.render import console

    events = talk.resume(wanted.run, wanted.returns) if wanted.run else talk.send(wanted.text, wanted.returns)
    is_text = wanted.returns is None and not wanted.as_json
    in_terminal = is_terminal(sys.stdout)
    if is_text and in_terminal and wanted.stream is not False:
        Screen(console(), person).follow(talk, events)
        return talk.result()
    write = Written() if is_text and wanted.stream else None
    if write is not None:
        events = write.through(events)
    display = Screen(console(sys.stderr), person) if is_terminal(sys.stderr) else None
    try:
        if display:
            display.follow(talk, events, with_text=False)
        else:
            _drain(events)
        result = talk.result()
    finally:
        if write is not None:
            write.end()
    if write is None and is_text and result.value is not None:
        print_text(str(result.value))
    return result


def _drain(events: Generator[Event, None, None]) -> None:
    with closing(events):
        for _ in events:
            pass


def _failed(reason: str, talk: Talk | None = None, error: AntiphonError | None = None) -> dict[str, Any]:
    """What `--json` prints where there is no result at all; without a `talk` nothing was even asked."""
    from dataclasses import asdict

    from antiphon.render.status import total
    from antiphon.session import RunRecord

    known = {"value": None, "id": talk.id or None if talk else None}
    if error is not None and isinstance(error.run, RunRecord) and error.run.outcome != "failed":
        from antiphon.views.stream import record_json

        return {**record_json(error.run), **known}
    usage, cost = total(talk.used if talk else [])
    return {
        "outcome": "error",
        "detail": reason,
        "model": talk.session.model.name if talk else None,
        "usage": asdict(usage),
        "cost": cost,
        "tool_calls": [],
        **known,
    }


def _code(error: AntiphonError) -> int:
    """Whether the user has something to mend, or there just was no answer."""
    from antiphon import errors
    from antiphon.session import Waiting

    if isinstance(error, Waiting):
        return _WAITING
    mistakes = (
        errors.ConfigurationError,
        errors.OptionError,
        errors.WeightsError,
        errors.AuthenticationFailed,
        errors.NotFound,
    )
    return _MISTAKE if isinstance(error, mistakes) else _NO_ANSWER


def _person(stack: ExitStack) -> Person | None:
    """Whoever can see questions on standard error and has a keyboard, though standard input may be something else."""
    if not is_terminal(sys.stderr):
        return None
    from antiphon.render import Person

    source = sys.stdin
    if not is_terminal(source):
        try:
            source = stack.enter_context(open("/dev/tty", encoding="utf-8", errors="replace"))  # noqa: SIM115
        except OSError:
            return None

    def line(prompt: str) -> str:
        click.echo(printable(prompt), nl=False, err=True)
        return source.readline().strip()

    return Person(line, keyboard=source)
