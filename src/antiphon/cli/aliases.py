"""Short forms: `map` for `run --rows`, `fork` for `resume --fork`, `approve` and `deny` for `answer`; and `rename`."""

from __future__ import annotations

from typing import Any

import click

from antiphon.cli.answer import give_answer
from antiphon.cli.completers import FILE_PARAM, SESSION_PARAM
from antiphon.cli.resume import resume
from antiphon.cli.run import run
from antiphon.errors import NotReadyError

_PASSED_ON: dict[str, object] = {"ignore_unknown_options": True, "help_option_names": []}


def _forward(context: click.Context, command: click.Command, arguments: list[str]) -> None:
    with command.make_context(command.name, arguments, parent=context.parent) as own:
        command.invoke(own)


def _run_rows(**given: Any) -> None:
    assert run.callback is not None
    run.callback(**given, args=(), flags={})


#: The same as `run PROGRAM --rows ROWS`.
map_ = click.Command(
    "map",
    callback=_run_rows,
    params=[
        click.Argument(["file"], metavar="PROGRAM", type=FILE_PARAM),
        click.Argument(["rows"], type=FILE_PARAM),
        *(each for each in run.params if each.name not in ("file", "args", "rows")),
    ],
    help="Run a program for every row of a file; the same as `run PROGRAM --rows ROWS`.",
)


@click.command(context_settings=_PASSED_ON, add_help_option=False)
@click.argument("rest", nargs=-1, type=click.UNPROCESSED)
@click.pass_context
def fork(context: click.Context, rest: tuple[str, ...]) -> None:
    """Continue a copy of a session; the same as `resume --fork`."""
    _forward(context, resume, ["--fork", *rest])


@click.command()
@click.argument("session", metavar="SESSION[:STEP]", type=SESSION_PARAM)
@click.option("--always", is_flag=True, help="Approve all such calls of this session.")
@click.option("--resume", "is_resumed", is_flag=True, help="Then resume the session here, and wait for it.")
def approve(session: str, always: bool, is_resumed: bool) -> None:
    """Approve a tool call; the same as `answer SESSION yes`."""
    give_answer(session, ("yes",), always, None, is_resumed, is_decision=True)


@click.command()
@click.argument("session", metavar="SESSION[:STEP]", type=SESSION_PARAM)
@click.option("--reason", metavar="TEXT", help="The reason, which the model reads.")
@click.option("--resume", "is_resumed", is_flag=True, help="Then resume the session here, and wait for it.")
def deny(session: str, reason: str | None, is_resumed: bool) -> None:
    """Deny a tool call; the same as `answer SESSION no`."""
    give_answer(session, ("no",), False, reason, is_resumed, is_decision=True)


@click.command()
@click.argument("session", metavar="SESSION", type=SESSION_PARAM)
@click.argument("name", nargs=-1)
@click.option("--clear", is_flag=True, help="Take its name away.")
def rename(session: str, name: tuple[str, ...], clear: bool) -> None:
    """Name a session. The name finds it, as its id does."""
    from antiphon.cli.output import print_message
    from antiphon.cli.sessions import open_sessions

    if clear and name:
        raise click.UsageError("`--clear` takes the name away, so it takes no NAME")
    if not clear and not " ".join(name).strip():
        raise click.UsageError(
            f"name it: `antiphon rename {session} NAME`; `antiphon rename {session} --clear` takes its name away"
        )
    with open_sessions() as sessions:
        found = sessions.find(session)
        if found.is_child:
            raise NotReadyError(f"{found.id} is a part of another session, which alone can have a name")
        named = sessions.store.rename(found.id, " ".join(name))
    print_message(f"session {found.id} is now {named!r}" if named else f"session {found.id} has no name now")
