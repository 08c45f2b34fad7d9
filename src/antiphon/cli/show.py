"""`antiphon show`: show a session, one of its steps, or a file."""

from __future__ import annotations

import os
import sys
from collections import deque
from pathlib import Path
from typing import TYPE_CHECKING

import click

from antiphon._base.escape import escape_unprintable
from antiphon.cli.completers import SESSION_PARAM
from antiphon.cli.listing import one_line, truncate_title
from antiphon.cli.output import print_document_json, print_message
from antiphon.cli.sessions import SessionEntry, Sessions, open_sessions
from antiphon.cli.telling import format_session_columns, iter_next_steps, make_session_json, make_step_json
from antiphon.errors import NotReadyError

if TYPE_CHECKING:
    from antiphon.durable import EffectEntry

#: How many steps are shown without `--all`.
_MAX_STEPS = 200


@click.command()
@click.argument("what", metavar="SESSION[:STEP]|FILE", default="last", type=SESSION_PARAM)
@click.option("--full", is_flag=True, help="Expand results, reasoning and the system text.")
@click.option("--steps", "with_steps", is_flag=True, help="Show the steps of a chat instead of its messages.")
@click.option("--all", "whole", is_flag=True, help="Show all steps, not only the last 200.")
@click.option("--source", is_flag=True, help="Print the program as it was executed.")
@click.option("--agent", metavar="NAME", help="Show the messages of an agent of a team: pm, architect, coder-1 …")
@click.option("--result-kind", metavar="KIND", help="Show only results of this kind, expanded; a pattern: 'git.*'.")
@click.option("--compare", metavar="SESSION", type=SESSION_PARAM, help="Show the steps in which two sessions differ.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON: everything, or a list of results.")
def show(
    what: str,
    full: bool,
    with_steps: bool,
    whole: bool,
    source: bool,
    agent: str | None,
    result_kind: str | None,
    compare: str | None,
    as_json: bool,
) -> None:
    """Show a session, one of its steps, or a saved file.

    A FILE holds a history in any format of `antiphon check`, recorded exchanges with models, or results of tools. Exit
    code: 0 shown, 1 no such result, or the compared sessions differ.
    """
    _check_options(source, agent, result_kind, compare)
    if _is_file(what):
        if wrong := "--source" * source or "--agent" * (agent is not None) or "--compare" * (compare is not None):
            raise click.UsageError(f"`{wrong}` is for sessions, and {what} is a file")
        _show_file(what, full, result_kind, as_json)
        return
    with open_sessions() as sessions:
        found, step = sessions.resolve(what)
        if compare is not None:
            sys.exit(_show_differences(sessions, found, sessions.find(compare), as_json))
        if source:
            _print_source(sessions, found)
        elif agent is not None:
            _show_agent(found, agent, full)
        elif result_kind is not None:
            sys.exit(_show_results(sessions, found, result_kind, as_json))
        elif step is not None:
            _show_step(sessions, found, step, as_json)
        elif as_json:
            _print_json(sessions, found)
        else:
            _show_session(sessions, found, full, with_steps, whole)


def _check_options(source: bool, agent: str | None, kind: str | None, compare: str | None) -> None:
    given = {"--source": source, "--agent": agent, "--result-kind": kind, "--compare": compare}
    flags = [flag for flag, value in given.items() if value]
    if len(flags) > 1:
        raise click.UsageError(f"`{flags[0]}` and `{flags[1]}` show different things; use one of them")


def _is_file(what: str) -> bool:
    """Return whether an argument means a file: one that exists, or a path rather than an address."""
    if os.path.exists(what):
        return True
    return ":" not in what and (os.sep in what or Path(what).suffix.lower() in (".json", ".jsonl", ".txt", ".bin"))


def _show_file(path: str, full: bool, kind: str | None, as_json: bool) -> None:
    from antiphon.cli.shown_files import describe_missing_kind, load_content, print_content, select_results

    found = load_content(path)
    chosen = select_results(found, kind)
    if as_json:
        print_document_json(found.to_json() if kind is None else [each.to_json() for each in chosen])
    else:
        print_content(found, full, kind)
    if kind is not None and not chosen:
        print_message(describe_missing_kind(found, kind))
        sys.exit(1)


def _show_session(sessions: Sessions, found: SessionEntry, full: bool, with_steps: bool, whole: bool) -> None:
    from antiphon.terminal.transcript import TranscriptPrinter

    if found.kind == "team":
        _show_team(found)
        return
    out = TranscriptPrinter(full=full)
    models = ", ".join(found.models)
    columns = (*format_session_columns(sessions, found), models, truncate_title(one_line(found.title)))
    out.title(" · ".join(part for part in columns if part))
    if found.conversation is not None and not with_steps:
        out.conversation(sessions.store.load(found.id))
    else:
        _print_steps(sessions, found, full, whole)
    if found.run is not None:
        for line in iter_next_steps(sessions.journal, found.run.id, is_shown=True):
            click.echo(escape_unprintable(line))


def _print_steps(sessions: Sessions, found: SessionEntry, full: bool, whole: bool) -> None:
    from antiphon.terminal.run_log import EffectPrinter
    from antiphon.terminal.transcript import TranscriptPrinter

    count = 0
    shown: deque[EffectEntry] = deque(maxlen=None if whole else _MAX_STEPS)
    for each in sessions.steps(found):
        shown.append(each)
        count += 1
    if count > len(shown):
        click.echo(f"… {count - len(shown):,} earlier steps; `--all` shows them")
    EffectPrinter(full=full).effects(shown)
    partial = found.run.begun_as.get("interrupted") if found.run is not None and found.conversation is None else None
    if partial:
        from antiphon.conversation.interruption import INTERRUPTED_TEXT
        from antiphon.results import text

        TranscriptPrinter().results([text(str(partial), summary=INTERRUPTED_TEXT, markdown=True)])


def _show_step(sessions: Sessions, found: SessionEntry, step: str, as_json: bool) -> None:
    """Show a step and those inside it."""
    from antiphon.terminal.run_log import EffectPrinter

    if found.kind == "team":
        _show_team_message(found, step, as_json)
        return
    inside = [each for each in sessions.steps(found) if each.path == step or each.path.startswith(f"{step}/")]
    if not inside:
        raise NotReadyError(f"session {found.id} has no step {step!r}; `antiphon show {found.id} --steps` lists them")
    if as_json:
        shown = [make_step_json(each) for each in inside]
        print_document_json(shown[0] if len(shown) == 1 else shown)
    else:
        EffectPrinter(full=True).effects(inside)


def _print_json(sessions: Sessions, found: SessionEntry) -> None:
    if found.kind == "team":
        from antiphon.cli.team_found import find_team
        from antiphon.cli.team_told import make_status_json

        print_document_json({**make_session_json(found), **make_status_json(find_team(found.id))})
        return
    data = make_session_json(found)
    if found.conversation is not None:
        from antiphon.conversation.serialization import conversation_to_json

        data["conversation"] = conversation_to_json(sessions.store.load(found.id))
    if found.run is not None:
        data["steps"] = [make_step_json(each) for each in sessions.steps(found)]
    print_document_json(data)


def _print_source(sessions: Sessions, found: SessionEntry) -> None:
    from antiphon.programs.launch_spec import load_launch_spec

    if found.run is None or found.kind not in ("program", "batch"):
        raise NotReadyError(f"session {found.id} is a {found.kind}; only programs and batches have a source")
    click.echo(load_launch_spec(found.run, sessions.journal).source, nl=False)


def _show_results(sessions: Sessions, found: SessionEntry, kind: str, as_json: bool) -> int:
    from antiphon.cli.recordings import RecordedConversation
    from antiphon.cli.shown_files import FileContent, describe_missing_kind, print_content, select_results

    conversation = sessions.load_conversation(found)
    if conversation is None:
        raise NotReadyError(f"session {found.id} is a {found.kind}; only chats have results to choose from")
    content = FileContent(recorded=[RecordedConversation(conversation, "", "", [])])
    chosen = select_results(content, kind)
    if as_json:
        print_document_json([each.to_json() for each in chosen])
    else:
        print_content(content, False, kind)
    if not chosen:
        print_message(describe_missing_kind(content, kind))
    return 0 if chosen else 1


def _show_differences(sessions: Sessions, first: SessionEntry, second: SessionEntry, as_json: bool) -> int:
    from antiphon.cli.differing import make_difference_json, print_differences
    from antiphon.durable.run_diff import find_differences

    found = list(find_differences(sessions.steps(first), sessions.steps(second)))
    if as_json:
        print_document_json([make_difference_json(each) for each in found])
    else:
        print_differences(found)
    return 1 if found else 0


# Teams


def _show_team(found: SessionEntry) -> None:
    from antiphon.cli.team_found import find_team
    from antiphon.cli.team_told import indent_lines, iter_status_lines
    from antiphon.cli.team_views import print_lines

    print_lines("\n".join(indent_lines(line) for line in iter_status_lines(find_team(found.id))))


def _show_agent(found: SessionEntry, agent: str, full: bool) -> None:
    from antiphon.cli.team_found import find_team
    from antiphon.cli.team_looking import show_log

    if found.kind != "team":
        raise NotReadyError(f"session {found.id} is a {found.kind}; `--agent` is for teams")
    show_log(find_team(found.id), agent, full)


def _show_team_message(found: SessionEntry, step: str, as_json: bool) -> None:
    from antiphon.cli.team_found import find_team
    from antiphon.cli.team_told import format_message
    from antiphon.cli.team_views import print_lines

    message = next((each for each in find_team(found.id).messages() if str(each.id) == step), None)
    if message is None:
        raise NotReadyError(f"team {found.id} has no message {step!r}; `antiphon team chat` shows its messages")
    if as_json:
        known = {"id": message.id, "kind": message.kind, "author": message.author, "to": message.to}
        print_document_json({**known, "text": message.text, "reply_to": message.reply_to})
    else:
        print_lines(format_message(message))
