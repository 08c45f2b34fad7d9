"""`antiphon logs`: list, search, show, export and remove saved conversations."""

from __future__ import annotations

import json
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from datetime import datetime
from typing import TYPE_CHECKING, Any

import click

from antiphon.cli.completers import CONVERSATION_PARAM
from antiphon.cli.listing import ListingGroup, format_updated, one_line, parse_time, print_entries
from antiphon.cli.output import exit_without_result, print_document_json, print_message
from antiphon.cli.prompts import confirm
from antiphon.cli.style import format_noun_count
from antiphon.errors import NotSavedError

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem
    from click.types import ChoiceInfoDict

    from antiphon.storage import ConversationEntry, Store


class _WritableFormat(click.ParamType[str]):
    """A format that can be written; the formats are imported only when the option is used."""

    name = "format"

    def _make_choice(self) -> click.Choice[str]:
        from antiphon.formats import WRITABLE_FORMATS

        return click.Choice(WRITABLE_FORMATS)

    def to_info_dict(self) -> ChoiceInfoDict[str]:
        return self._make_choice().to_info_dict()

    def get_metavar(self, param: click.Parameter, ctx: click.Context) -> str | None:
        return self._make_choice().get_metavar(param, ctx)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        return self._make_choice().convert(value, param, ctx)

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
        return self._make_choice().shell_complete(ctx, param, incomplete)


@click.group(cls=ListingGroup)
def logs() -> None:
    """List, search, show and export saved conversations.

    Without a command, the newest are listed. ID may be shortened; `last` is the newest. Exit code: 0 done,
    1 nothing found, 2 an error.
    """


def _add_filter_options(command: Callable[..., None]) -> Callable[..., None]:
    """Add the options of `list` and `search`."""
    for option in (
        click.option("--json", "as_json", is_flag=True, help="Print JSON."),
        click.option(
            "--since",
            type=parse_time,
            metavar="AGE",
            help="Changed within this time (12h, 30d, 6w) or since this date.",
        ),
        click.option("--model", help="Part of the name of a model."),
        click.option(
            "-n", "--limit", type=click.IntRange(1), default=20, show_default=True, help="The maximum number."
        ),
    ):
        command = option(command)
    return command


@logs.command("list")
@_add_filter_options
def list_(limit: int, model: str | None, since: datetime | None, as_json: bool) -> None:
    """List conversations, newest first."""
    with _open_store() as store:
        found = store.list(limit, model=model, since=since)
        print_entries(found, as_json)
        if not found:
            narrowed = model is not None or since is not None
            exit_without_result(
                "no saved conversation matches" if narrowed else f"no conversation is saved in {store.path}"
            )


@logs.command(context_settings={"ignore_unknown_options": True})
@click.argument("words", nargs=-1, required=True)
@_add_filter_options
def search(words: tuple[str, ...], limit: int, model: str | None, since: datetime | None, as_json: bool) -> None:
    """List the conversations that contain all these words.

    Words match from their beginning; '"quoted words"' match as a phrase. Tool calls and results are searched,
    reasoning is not.
    """
    query = " ".join(words)
    if not query.strip('" \t\n'):
        raise click.UsageError("name words to search for")
    with _open_store() as store:
        found = store.list(limit, query=query, model=model, since=since)
        print_entries(found, as_json)
        if not found:
            exit_without_result(f"no saved conversation contains {query!r}")


@logs.command()
@click.argument("id", default="last", type=CONVERSATION_PARAM)
@click.option("--full", is_flag=True, help="Expand results, reasoning and the system text.")
@click.option("--json", "as_json", is_flag=True, help="Print everything as JSON.")
def show(id: str, full: bool, as_json: bool) -> None:
    """Show the conversation with this ID, or the last one."""
    with _open_store() as store:
        if as_json:
            print_document_json(store.export(id))
            return
        entry = store.find(id)
        conversation = store.load(entry.id)
    from antiphon.terminal.transcript import TranscriptPrinter

    out = TranscriptPrinter(full=full)
    out.title(" · ".join(part for part in (entry.id, format_updated(entry), ", ".join(entry.models)) if part))
    out.conversation(conversation)


@logs.command()
@click.argument("id", type=CONVERSATION_PARAM)
@click.argument("file", type=click.Path(), default="-")
@click.option("--to", "format", type=_WritableFormat(), default="antiphon", show_default=True, help="The format.")
def export(id: str, file: str, format: str) -> None:
    """Write a conversation to FILE, or to standard output.

    For formats of providers, open calls are answered as interrupted. Such changes, and data that the format
    cannot hold, are reported on standard error.
    """
    from antiphon.cli.convert import print_conversion_warnings
    from antiphon.conversation.serialization import write_file_atomically
    from antiphon.formats import write

    with _open_store() as store:
        conversation = store.load(id)
    if format != "antiphon":
        conversation, changes = conversation.repair()
        for change in changes:
            print_message(str(change))
    written = write(conversation, format)
    print_conversion_warnings(written)
    if file == "-":
        print_document_json(written.data)
    else:
        write_file_atomically(file, json.dumps(written.data, ensure_ascii=False, indent=2).encode() + b"\n")


@logs.command()
@click.argument("ids", nargs=-1, metavar="[ID]...")
@click.option(
    "--older-than",
    type=parse_time,
    metavar="AGE",
    help="Remove those not changed for this long (30d, 6w) or since this date.",
)
@click.option("--yes", is_flag=True, help="Remove without asking.")
def remove(ids: tuple[str, ...], older_than: datetime | None, yes: bool) -> None:
    """Permanently remove conversations with these IDs, or old ones."""
    if bool(ids) == (older_than is not None):
        raise click.UsageError("name conversations, or use `--older-than 30d`")
    with _open_store() as store:
        if older_than is not None:
            chosen = [entry for entry in store.list() if entry.updated < older_than]
        else:
            chosen = list({entry.id: entry for entry in map(store.find, ids)}.values())
        if not chosen:
            exit_without_result("no saved conversation is that old")
        if not yes:
            _confirm(chosen)
        store.remove(*(entry.id for entry in chosen))
    click.echo(f"removed {format_noun_count(len(chosen), 'conversation')}", err=True)


@logs.command()
def path() -> None:
    """Print the path of the conversation store."""
    with _open_store() as store:
        click.echo(str(store.path))
        if not store.is_saving:
            print_message("`ANTIPHON_LOGS` disables saving")


@contextmanager
def _open_store() -> Generator[Store]:
    """Open the user's store; exit with code 1 if a named conversation does not exist."""
    from antiphon.storage import Store

    try:
        with Store() as store:
            yield store
    except NotSavedError as error:
        exit_without_result(str(error))


def _confirm(entries: Sequence[ConversationEntry]) -> None:
    shown = entries[:10]
    for entry in shown:
        click.echo(f"  {one_line(entry.id)}  {format_updated(entry)}  {one_line(entry.title)}", err=True)
    if len(entries) > len(shown):
        click.echo(f"  … and {len(entries) - len(shown)} more", err=True)
    try:
        agreed = confirm(f"Permanently remove {format_noun_count(len(entries), 'conversation')}?")
    except click.Abort:
        click.echo(err=True)
        agreed = False
    if not agreed:
        exit_without_result("nothing was removed; use `--yes` to remove without asking")
