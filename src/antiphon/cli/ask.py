"""`antiphon ask`: one question, one answer, for people and for scripts."""

from __future__ import annotations

import sys
from collections.abc import Generator, Sequence
from contextlib import ExitStack, closing
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import click

from antiphon._printable import printable
from antiphon.cli.colours import faint
from antiphon.cli.completing import CONVERSATION, MODEL, OPTION, TEMPLATE
from antiphon.cli.configured import configuration
from antiphon.cli.pairs import pairs
from antiphon.cli.talk.choosing import chosen, tool_options
from antiphon.cli.talk.loading import get_ready
from antiphon.cli.talk.printing import (
    Written,
    drop_output,
    is_terminal,
    print_exactly,
    print_json,
    print_text,
    tell,
)
from antiphon.errors import AntiphonError

if TYPE_CHECKING:
    from antiphon.cli.talk.question import Question
    from antiphon.conversation import UserPart
    from antiphon.journal import RunEntry
    from antiphon.render import Person
    from antiphon.session import AIResult, Event
    from antiphon.store.talk import Talk
    from antiphon.talks.attachments import Attachment
    from antiphon.talks.keeping import TalkJournal
    from antiphon.talks.opening import Wishes

_WAITING, _NO_ANSWER, _MISTAKE, _INTERRUPTED = 3, 1, 2, 130
#: What prints something else than the text of the answer: of these at most one, and not as it comes.
_FORMS = {"returns": "--returns", "schema": "--schema", "extract": "--extract"}


@dataclass(frozen=True, slots=True)
class _Wanted:
    """What is asked, and how the answer is to be given."""

    text: str
    attachments: Sequence[Attachment]
    returns: Any
    as_json: bool
    stream: bool | None
    extract: bool = False
    usage: bool = False
    #: A run that is gone on with, in place of a question.
    run: str = ""

    @property
    def is_text(self) -> bool:
        """Whether the answer is printed as it was said."""
        return self.returns is None and not self.as_json and not self.extract


@click.command()
@click.argument("prompt", nargs=-1)
@click.option("-m", "--model", type=MODEL, help="The model, such as anthropic/claude-sonnet-5 or local/0.5b.")
@click.option("-s", "--system", metavar="TEXT", help="What the model is told before everything else.")
@click.option(
    "-a",
    "--attach",
    "attached",
    multiple=True,
    metavar="PATH|URL|-",
    type=click.Path(),
    help="Send this along: text, an image, a PDF; `-` is standard input.",
)
@click.option(
    "-t", "--template", type=TEMPLATE, metavar="NAME", help="Ask by a template; `antiphon templates` has them."
)
@click.option("-p", "--param", "params", multiple=True, metavar="NAME=VALUE", help="What `$NAME` is in the template.")
@click.option(
    "-o",
    "--option",
    "options",
    type=OPTION,
    multiple=True,
    metavar="NAME=VALUE",
    help="What goes along with every request: temperature=0, max_tokens=500, extra.seed=42.",
)
@tool_options("none, or those of the conversation that is continued")
@click.option("-r", "--returns", metavar="TYPE", help="Print JSON of this type: '{name: text, age: number}', 'text[]'.")
@click.option(
    "--schema",
    metavar="FILE[:NAME]",
    type=click.Path(),
    help="Print JSON of the type that person.json (JSON Schema), models.py:Person or types.vibe:Person is.",
)
@click.option("-x", "--extract", is_flag=True, help="Print the first code block of the answer, and nothing else.")
@click.option(
    "--json", "as_json", is_flag=True, help="Print one object: value, tool calls, usage, cost, model, outcome, id."
)
@click.option("--usage", is_flag=True, help="Say on standard error what the answer took: tokens and cost.")
@click.option("--stream/--no-stream", default=None, help="Print the answer as it comes. [default: in a terminal]")
@click.option("-c", "--continue", "go_on", is_flag=True, help="Go on with what was asked last.")
@click.option(
    "--resume", metavar="ID", type=CONVERSATION, help="Go on with this conversation; `antiphon logs` lists them."
)
@click.option("--no-log", is_flag=True, help="Save nothing.")
@click.option("--no-journal", is_flag=True, help="With tools: do not write down what they do while it is done.")
@click.option("-y", "--yes", is_flag=True, help="Allow every tool call without asking.")
@click.option("--max-turns", type=click.IntRange(1), metavar="N", help="At most so many requests.")
@click.option("--max-cost", type=click.FloatRange(0, min_open=True), metavar="USD", help="No request beyond this cost.")
@click.option("--save", metavar="NAME", help="Ask nothing: save all of this as a template, for `-t NAME`.")
def ask(prompt: tuple[str, ...], **given: Any) -> None:
    """Ask a model once, and print its answer.

    What comes by standard input is put behind PROMPT, or is the prompt. Exit code: 0 answered, 1 no answer, 2 a mistake
    in what was given or set, 3 a tool call waits for a human, 130 interrupted.
    """
    _check_together(given)
    as_json = bool(given["as_json"])
    try:
        code = _save(prompt, given) if given["save"] is not None else _ask(prompt, given)
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


def _check_together(given: dict[str, Any]) -> None:
    """Refuse what cannot be meant together."""
    forms = [flag for name, flag in _FORMS.items() if given[name]]
    if len(forms) > 1:
        raise click.UsageError(f"`{forms[0]}` and `{forms[1]}` print different things; give one of them")
    if given["extract"] and given["as_json"]:
        raise click.UsageError("`--extract` prints a code block, `--json` the whole result; give one of them")
    if given["stream"] and (forms or given["as_json"]):
        told = forms[0] if forms else "--json"
        raise click.UsageError(f"`--stream` prints text as it comes; `{told}` prints what is complete")
    if given["go_on"] and given["resume"] is not None:
        raise click.UsageError("`--continue` is the last question, `--resume` another; give one of them")
    if given["params"] and given["template"] is None and given["save"] is None:
        raise click.UsageError("`--param` fills in a template; `--template` names one")
    if given["save"] is not None and (given["template"] is not None or given["attached"] or given["go_on"]):
        raise click.UsageError("`--save` makes a new template: without `--template`, `--attach` and `--continue`")


def _said(given: dict[str, Any]) -> Question:
    """What the command line says of a question besides its words."""
    from antiphon.cli.talk.question import Question
    from antiphon.talks.options import read_options

    names = ("model", "system", "tools", "own", "mcp", "returns", "schema", "extract")
    return Question(**{name: given[name] for name in names}, options=read_options(given["options"]))


def _ask(prompt: tuple[str, ...], given: dict[str, Any]) -> int:
    from antiphon.cli.talk.question import asked, templated, wanted_type, whole
    from antiphon.config.templates import find_template
    from antiphon.session import Limits
    from antiphon.talks.opening import Wishes
    from antiphon.talks.options import check_options

    question, name = _said(given), given["template"] or ""
    template = find_template(configuration(), name) if given["template"] is not None else None
    question = asked(question, prompt, given["attached"])
    if template is not None:
        question = templated(question, template, name, pairs(given["params"], "-p"))
        check_options(question.options)
    question = whole(question)
    wanted = wanted_type(question.returns, question.schema)
    only, more = chosen(question.tools, question.own, question.mcp)
    goes_on = given["go_on"] or given["resume"] is not None
    limits = Limits(turns=given["max_turns"] or Limits().turns, cost=given["max_cost"])
    about = {
        "returns": question.returns,
        "schema": question.schema,
        "options": dict(question.options),
        "extract": question.extract,
        "yes": given["yes"],
    }
    wishes = Wishes(
        "ask",
        question.model,
        question.system,
        given["go_on"],
        given["resume"],
        given["yes"],
        not given["no_log"],
        limits,
        bool(only or more or (goes_on and only is None)) and not given["no_journal"],
        about,
        tools=only,
        more=more,
        options=question.options,
    )
    return _asked(
        wishes,
        _Wanted(
            question.text,
            question.attachments,
            wanted,
            given["as_json"],
            given["stream"],
            question.extract,
            given["usage"],
        ),
    )


def _save(prompt: tuple[str, ...], given: dict[str, Any]) -> int:
    from antiphon.cli.talk.saving import save

    save(_said(given), prompt, pairs(given["params"], "-p"), given["save"])
    return 0


def resume_ask(entry: RunEntry, as_json: bool, place: str | None = None) -> int:
    """Go on with what was asked, here; gives the exit code. `place` is the journal, if it is not the user's own."""
    from antiphon._shape import obj
    from antiphon.cli.talk.question import wanted_type
    from antiphon.talks.opening import Wishes
    from antiphon.talks.toolbox import Chosen

    about = entry.begun_as
    returns = wanted_type(about.get("returns"), about.get("schema"))
    conversation = about.get("conversation") or None
    kept = {name: about.get(name) for name in ("returns", "schema", "options", "extract", "yes")}
    wishes = Wishes(
        entry.kind, about.get("model"), None, False, conversation, bool(about.get("yes")), True, None, True, kept,
        place, tools=Chosen.read(about), options=obj(about.get("options")),
    )  # fmt: skip
    extract = bool(about.get("extract"))
    return _asked(wishes, _Wanted("", [], returns, as_json, None, extract, run=entry.id))


def _asked(wishes: Wishes, wanted: _Wanted) -> int:
    from antiphon.talks.opening import choose_tools, open_talk
    from antiphon.talks.toolbox import Toolbox

    with ExitStack() as stack:
        opened = open_talk(wishes, configuration(), stack, tell)
        talk, person = opened.talk, _person(stack)
        # A model that cannot be given what goes along is not even loaded.
        message = [] if wanted.run else _parts(talk, wanted)
        used = choose_tools(wishes, opened, Toolbox(configuration(), stack, tell))
        wishes.about.update(used.to_json())
        if is_terminal(sys.stderr):
            is_kept = bool(used) and opened.entry is not None and wishes.tools is None
            told = f"model: {talk.session.model.name} ({opened.why})" + (
                f"; tools: {used}, as before" if is_kept else ""
            )
            click.echo(faint(printable(told)) + "\n", err=True)
        return _answered(talk, wanted, message, person, opened.journal)


def _answered(
    talk: Talk, wanted: _Wanted, message: list[UserPart], person: Person | None, kept: TalkJournal | None
) -> int:
    from antiphon.session import Waiting

    before = talk.conversation.fork()
    try:
        get_ready(talk.session.model)
        result = _followed(talk, wanted, message, person)
    except BaseException as error:
        # A conversation that goes on is left as it was before the question, unless it waits for somebody; of a new one,
        # the log keeps what was said.
        if before.turns and not isinstance(error, Waiting):
            talk.go_back(before)
        if not isinstance(error, AntiphonError):
            raise
        return _without_answer(error, talk, wanted, kept)
    finally:
        if wanted.usage:
            _tell_usage(talk)
    if wanted.as_json:
        from antiphon.views.stream import final_json

        print_json({**final_json(result), "id": talk.id or None})
    elif result.value is not None and wanted.returns is not None:
        from antiphon.results import plain

        print_json(plain(result.value))
    return _extracted(result, talk) if wanted.extract else 0


def _extracted(result: AIResult, talk: Talk) -> int:
    """Print the first code block; an answer without one is not lost."""
    from antiphon.render.parsing import first_code

    said = str(result.value)
    code = first_code(said)
    if code is not None:
        print_exactly(code)
        return 0
    where = f"`antiphon logs show {talk.id}` shows it" if talk.id else "it is nowhere saved, so here it is:\n" + said
    tell(f"there is no code block in the answer; {where}")
    return _NO_ANSWER


def _tell_usage(talk: Talk) -> None:
    from antiphon.render.lines import spent
    from antiphon.render.status import total

    used = spent(*total(talk.used))
    tell(f"{talk.session.model.name}: {', '.join(used) or 'what it took is not known'}")


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


def _followed(talk: Talk, wanted: _Wanted, message: list[UserPart], person: Person | None) -> AIResult:
    """Let it happen, shown as there is somebody to see it; text is printed, values are not."""
    from antiphon.cli.talk.screen import Screen
    from antiphon.render import console

    events = talk.resume(wanted.run, wanted.returns) if wanted.run else talk.send(message, wanted.returns)
    is_text = wanted.is_text
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


def _parts(talk: Talk, wanted: _Wanted) -> list[UserPart]:
    """The message: what goes along, in the form in which the model takes it, and the words."""
    from antiphon.conversation import Text
    from antiphon.talks.attachments import part_for

    target = getattr(talk.session.model, "target", None)
    found = [part_for(each, target) for each in wanted.attachments]
    return [*(each for each in found if each is not None), Text(wanted.text)]


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
