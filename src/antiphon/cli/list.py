"""`antiphon list`: list or search sessions."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from typing import TYPE_CHECKING

import click

from antiphon._base.escape import escape_unprintable
from antiphon.cli.completers import SESSION_PARAM
from antiphon.cli.listing import align_rows, one_line, parse_time, print_encodable_line, truncate_title
from antiphon.cli.options import JSON_OPTION
from antiphon.cli.output import exit_without_result, print_ascii_json
from antiphon.cli.sessions import SessionEntry, Sessions, open_sessions
from antiphon.cli.telling import describe_session, format_session_columns, make_session_json
from antiphon.views.session_words import KINDS, STATES, Kind, State

if TYPE_CHECKING:
    from antiphon.durable import Journal

#: How many open questions of teams are read.
_MAX_QUESTIONS = 100


@click.command("list")
@click.argument("words", nargs=-1)
@click.option("--kind", type=click.Choice(KINDS), help="Only sessions of this kind.")
@click.option(
    "--state",
    type=click.Choice(STATES),
    help="Only sessions in this state; `waiting` includes rows of batches, and prints the questions.",
)
@click.option("--model", help="Only sessions that used a model with this in its name.")
@click.option(
    "--since", type=parse_time, metavar="AGE", help="Changed within this time (12h, 30d, 6w) or since this date."
)
@click.option("--in", "parent", metavar="ID", type=SESSION_PARAM, help="List the rows of a batch, or a team's turns.")
@click.option("-n", "--limit", type=click.IntRange(1), default=20, show_default=True, help="The maximum number.")
@JSON_OPTION
def list_(
    words: tuple[str, ...],
    kind: Kind | None,
    state: State | None,
    model: str | None,
    since: datetime | None,
    parent: str | None,
    limit: int,
    as_json: bool,
) -> None:
    """List sessions, newest first, or those that contain all WORDS.

    Words match from their beginning; '"quoted words"' match as a phrase. Messages, steps and results are searched,
    reasoning is not. Exit code: 0 found, 1 nothing found.
    """
    query = " ".join(words)
    if words and not query.strip('" \t\n'):
        raise click.UsageError("name words to search for")
    if parent is not None and (words or kind or model or since):
        raise click.UsageError("`--in` lists the parts of one session; it takes only `--state`, `-n` and `--json`")
    with open_sessions() as sessions:
        place = sessions.describe_place()
        if parent is not None:
            found = sessions.children(sessions.find(parent), state)[:limit]
        else:
            since_ = None if since is None else since.timestamp()
            found = sessions.list(limit, kind=kind, state=state, model=model, since=since_, query=query or None)
            if state == "waiting":
                found = list(_add_waiting_children(sessions, found))[:limit]
        if as_json:
            print_ascii_json([make_session_json(each) for each in found])
        else:
            _print_sessions(sessions, found, with_questions=state == "waiting")
    if not found:
        is_narrowed = bool(words or kind or state or model or since or parent)
        exit_without_result(
            f"no session contains {query!r}"
            if query
            else "no session matches"
            if is_narrowed
            else f"there are no sessions in {place} yet; `antiphon chat` or `antiphon run` starts one"
        )


def _add_waiting_children(sessions: Sessions, found: list[SessionEntry]) -> Iterator[SessionEntry]:
    for each in found:
        yield each
        if each.kind == "batch":
            yield from sessions.children(each, "waiting")


def _print_sessions(sessions: Sessions, found: list[SessionEntry], *, with_questions: bool) -> None:
    rows = [(format_session_columns(sessions, each), describe_session(sessions, each)) for each in found]
    posts = _team_questions(sessions.journal) if with_questions else {}
    for each, line in zip(found, align_rows(rows, (False, False, False, False, True, True)), strict=True):
        print_encodable_line(line)
        if each.excerpt:
            pieces = each.excerpt.split_pieces()
            shown = (click.style(escape_unprintable(text), bold=is_found) for text, is_found in pieces if text)
            print_encodable_line("    " + "".join(shown))
        if with_questions:
            asked = [(f"{each.id}:{path}", text) for path, text in each.list_questions()]
            for address, text in [*asked, *posts.get(each.id, [])]:
                print_encodable_line(f"    {one_line(address)}  {truncate_title(one_line(text))}")


def _team_questions(journal: Journal) -> dict[str, list[tuple[str, str]]]:
    """Return the open questions of teams, with their addresses, by team."""
    from antiphon.team.queries import open_team_questions

    found: dict[str, list[tuple[str, str]]] = {}
    for each in open_team_questions(journal, _MAX_QUESTIONS):
        found.setdefault(each.team, []).append((f"{each.team}:{each.message.id}", each.message.text))
    return found
