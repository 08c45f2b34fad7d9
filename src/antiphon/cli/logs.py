"""`antiphon logs`: the conversations of before, listed, searched, shown, exported and removed."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from datetime import datetime
from typing import TYPE_CHECKING, Any, NoReturn

import click

from antiphon._base.escape import escape_unprintable
from antiphon.cli.completers import CONVERSATION_PARAM
from antiphon.cli.listing import ListingGroup, moment, one_line, print_entries, when
from antiphon.cli.prompts import confirm
from antiphon.cli.style import echo_json
from antiphon.errors import NotSavedError

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

    from antiphon.storage import ConversationEntry, Store


class _WritableFormat(click.ParamType[str]):
    """A format that can be written; the list is not worth its import to a command that only lists."""

    name = "format"

    def _make_choice(self) -> click.Choice[str]:
        from antiphon.formats import WRITABLE_FORMATS

        return click.Choice(WRITABLE_FORMATS)

    def get_metavar(self, param: click.Parameter, ctx: click.Context) -> str | None:
        return self._make_choice().get_metavar(param, ctx)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        return self._make_choice().convert(value, param, ctx)

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
        return self._make_choice().shell_complete(ctx, param, incomplete)


@click.group(cls=ListingGroup)
def logs() -> None:
    """List, search, show and export saved conversations.

    Without a command, the newest are listed. ID may be shortened, and `last` is the newest. Exit code: 0 done, 1 there
    is nothing, 2 an error.
    """


def _listing(command: Callable[..., None]) -> Callable[..., None]:
    """The options of everything that lists."""
    for option in (
        click.option("--json", "as_json", is_flag=True, help="Print JSON."),
        click.option(
            "--since", type=moment, metavar="AGE", help="Changed in this time (12h, 30d, 6w) or since this date."
        ),
        click.option("--model", help="A part of a model's name."),
        click.option("-n", "--limit", type=click.IntRange(1), default=20, show_default=True, help="How many."),
    ):
        command = option(command)
    return command


@logs.command("list")
@_listing
def list_(limit: int, model: str | None, since: datetime | None, as_json: bool) -> None:
    """List conversations, the newest first."""
    with _opened() as store:
        found = store.list(limit, model=model, since=since)
        print_entries(found, as_json)
        if not found:
            narrowed = model is not None or since is not None
            _nothing("no saved conversation is like that" if narrowed else f"nothing is saved in {store.path}")


@logs.command(context_settings={"ignore_unknown_options": True})
@click.argument("words", nargs=-1, required=True)
@_listing
def search(words: tuple[str, ...], limit: int, model: str | None, since: datetime | None, as_json: bool) -> None:
    """List the conversations in which all these words are said.

    The beginning of a word is enough; '"quoted words"' are found as a phrase. Tool calls and their results are searched
    as well, the models' reasoning is not.
    """
    query = " ".join(words)
    if not query.strip('" \t\n'):
        raise click.UsageError("there are no words to search for")
    with _opened() as store:
        found = store.list(limit, query=query, model=model, since=since)
        print_entries(found, as_json)
        if not found:
            _nothing(f"no saved conversation has {query!r} in it")


@logs.command()
@click.argument("id", default="last", type=CONVERSATION_PARAM)
@click.option("--full", is_flag=True, help="Open everything: results, reasoning, the system text.")
@click.option("--json", "as_json", is_flag=True, help="Print all that is known of it as JSON.")
def show(id: str, full: bool, as_json: bool) -> None:
    """Show a conversation: the last, or the one with this ID."""
    with _opened() as store:
        if as_json:
            _print_json(store.export(id))
            return
        entry = store.find(id)
        conversation = store.load(entry.id)
    from antiphon.terminal.transcript import TranscriptPrinter

    out = TranscriptPrinter(full=full)
    out.title(" · ".join(part for part in (entry.id, when(entry), ", ".join(entry.models)) if part))
    out.conversation(conversation)


@logs.command()
@click.argument("id", type=CONVERSATION_PARAM)
@click.argument("file", type=click.Path(), default="-")
@click.option("--to", "format", type=_WritableFormat(), default="antiphon", show_default=True, help="The shape.")
def export(id: str, file: str, format: str) -> None:
    """Write a conversation to FILE, or to standard output.

    Open calls are answered as interrupted where the shape belongs to a provider; that is told on standard error, and
    so is what the shape has no place for.
    """
    from antiphon.cli.convert import tell_losses
    from antiphon.conversation.serialization import write_file_atomically
    from antiphon.formats import write

    with _opened() as store:
        conversation = store.load(id)
    if format != "antiphon":
        conversation, changes = conversation.repair()
        for change in changes:
            click.echo(f"antiphon: {escape_unprintable(str(change))}", err=True)
    written = write(conversation, format)
    tell_losses(written)
    if file == "-":
        _print_json(written.data)
    else:
        write_file_atomically(file, json.dumps(written.data, ensure_ascii=False, indent=2).encode() + b"\n")


@logs.command()
@click.argument("ids", nargs=-1, metavar="[ID]...")
@click.option(
    "--older-than", type=moment, metavar="AGE", help="Those not changed for this long (30d, 6w) or since this date."
)
@click.option("--yes", is_flag=True, help="Do not ask.")
def remove(ids: tuple[str, ...], older_than: datetime | None, yes: bool) -> None:
    """Remove conversations for good: those with these IDs, or the old ones."""
    if bool(ids) == (older_than is not None):
        raise click.UsageError("name conversations, or say `--older-than 30d`")
    with _opened() as store:
        if older_than is not None:
            chosen = [entry for entry in store.list() if entry.updated < older_than]
        else:
            chosen = list({entry.id: entry for entry in map(store.find, ids)}.values())
        if not chosen:
            _nothing("no saved conversation is that old")
        if not yes:
            _confirm(chosen)
        store.remove(*(entry.id for entry in chosen))
    click.echo(f"removed {_conversations(len(chosen))}", err=True)


@logs.command()
def path() -> None:
    """Print where the conversations are kept."""
    with _opened() as store:
        click.echo(str(store.path))
        if not store.is_saving:
            click.echo("antiphon: saving is turned off by `ANTIPHON_LOGS`", err=True)


@contextmanager
def _opened() -> Generator[Store]:
    """The user's store; to name a conversation that is not there is no error but an empty result."""
    from antiphon.storage import Store

    try:
        with Store() as store:
            yield store
    except NotSavedError as error:
        _nothing(str(error))


def _print_json(data: object) -> None:
    from antiphon.terminal.sanitizer import is_unicode_encoding
    from antiphon.views.stream import format_safe_json

    echo_json(format_safe_json(data, indent=2, ascii=not is_unicode_encoding(sys.stdout.encoding or "")))


def _nothing(reason: str) -> NoReturn:
    click.echo(f"antiphon: {escape_unprintable(reason)}", err=True)
    sys.exit(1)


def _confirm(entries: Sequence[ConversationEntry]) -> None:
    shown = entries[:10]
    for entry in shown:
        click.echo(f"  {one_line(entry.id)}  {when(entry)}  {one_line(entry.title)}", err=True)
    if len(entries) > len(shown):
        click.echo(f"  … and {len(entries) - len(shown)} more", err=True)
    try:
        agreed = confirm(f"Remove {_conversations(len(entries))} for good?")
    except click.Abort:
        click.echo(err=True)
        agreed = False
    if not agreed:
        _nothing("nothing was removed; `--yes` removes without asking")


def _conversations(count: int) -> str:
    return "1 conversation" if count == 1 else f"{count} conversations"
