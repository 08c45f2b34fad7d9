"""`antiphon show`: a conversation, a recording or a result, as people read them."""

from __future__ import annotations

import sys
from dataclasses import dataclass, field
from typing import Any, cast

import click

from antiphon._base.escape import escape_unprintable
from antiphon._base.json import load_json, prune_deep_json
from antiphon._base.json_access import as_array, as_object
from antiphon.cli.history_files import load_history_file
from antiphon.cli.recordings import RecordedConversation, is_exchange, read_exchanges, rebuild_conversations
from antiphon.cli.style import echo_json
from antiphon.conversation.serialization import FORMAT, conversation_to_json, read_file_bytes
from antiphon.errors import FormatError, MalformedJSONError
from antiphon.formats import History
from antiphon.results import Result


@dataclass(frozen=True, slots=True)
class _Found:
    """What a file holds: one of these."""

    history: History | None = None
    recorded: list[RecordedConversation] = field(default_factory=list[RecordedConversation])
    results: list[Result] = field(default_factory=list[Result])

    def all_results(self) -> list[Result]:
        """The results in it, also those of calls."""
        from antiphon.terminal.transcript import iter_calls_with_results

        talks = [each.conversation for each in self.recorded] + ([self.history.conversation] if self.history else [])
        return [
            *self.results,
            *(each for talk in talks for _, found in iter_calls_with_results(talk) for each in found),
        ]

    def data(self) -> Any:
        """All of it as JSON, in our own schemas."""
        if self.history:
            return conversation_to_json(self.history.conversation)
        if self.recorded:
            return [conversation_to_json(each.conversation) for each in self.recorded]
        shown = [result.to_json() for result in self.results]
        return shown[0] if len(shown) == 1 else shown


@click.command()
@click.argument("file", type=click.Path())
@click.option("--full", is_flag=True, help="Open everything: results, reasoning, the system text.")
@click.option("--kind", help="Show only results of this kind, opened; a pattern such as 'git.*'.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON: the whole, or with --kind a list of results.")
def show(file: str, full: bool, kind: str | None, as_json: bool) -> None:
    """Show a saved conversation, a recording, or a tool's result.

    FILE is a conversation of Antiphon, a history that `antiphon doctor` knows, a recording of exchanges, or a result
    (JSON with a `kind`). Each call is a line; errors are open. Exit code: 0
    shown, 1 there is no result of that kind, 2 the file cannot be read.
    """
    found = _load(file)
    chosen = _chosen(found, kind)
    if as_json:
        from antiphon.terminal.sanitizer import is_unicode_encoding
        from antiphon.views.stream import format_safe_json

        data = found.data() if kind is None else [each.to_json() for each in chosen]
        echo_json(format_safe_json(data, indent=2, ascii=not is_unicode_encoding(sys.stdout.encoding or "")))
    else:
        _print(found, full, kind)
    if kind is not None and not chosen:
        click.echo(f"antiphon: {escape_unprintable(_nothing(found, kind))}", err=True)
        sys.exit(1)


def _load(path: str) -> _Found:
    text = read_file_bytes(path)
    try:
        data = load_json(text, path)
    except MalformedJSONError as error:
        if (results := _deep_results(text)) is not None:
            return _Found(results=results)
        entries = read_exchanges(text, path)
        return _Found(recorded=_conversations(entries, path)) if entries is not None else _lines(path, error)
    if is_exchange(data):
        return _Found(recorded=_conversations([cast(dict[str, Any], data)], path))
    if _is_result(data):
        return _Found(results=[_result(data, path)])
    if as_array(data) and all(map(_is_result, as_array(data))):
        from antiphon.terminal import ordered

        return _Found(results=list(ordered([_result(each, path) for each in as_array(data)])))
    try:
        return _Found(history=load_history_file(path))
    except FormatError as error:
        if as_object(data).get("format") == FORMAT:
            raise FormatError(f"{path}: {error}") from None
        raise FormatError(f"{path} is no conversation, no recording and no result: {error}") from None


def _deep_results(text: bytes) -> list[Result] | None:
    """A result whose data is too deep to be read as a whole: what can be drawn of it, and its summary."""
    try:
        data = load_json(prune_deep_json(text.decode()), "the file")
        return [Result.from_json(data)] if _is_result(data) else None
    except (UnicodeDecodeError, MalformedJSONError, FormatError):
        return None


def _lines(path: str, error: MalformedJSONError) -> _Found:
    try:
        return _Found(history=load_history_file(path))
    except MalformedJSONError:
        known = "a recording nor a session, which have a line of JSON for each thing that happened"
        raise FormatError(f"{error}; nor is it {known}") from None


def _conversations(entries: list[dict[str, Any]], path: str) -> list[RecordedConversation]:
    try:
        return rebuild_conversations(entries)
    except FormatError as error:
        raise FormatError(f"{path}: {error}") from None


def _is_result(data: object) -> bool:
    # Messages of pydantic-ai have a kind as well, and parts.
    return isinstance(as_object(data).get("kind"), str) and as_object(data).keys().isdisjoint(("format", "parts"))


def _result(data: object, path: str) -> Result:
    try:
        return Result.from_json(data)
    except FormatError as error:
        raise FormatError(f"{path}: {error}") from None


def _chosen(found: _Found, kind: str | None) -> list[Result]:
    from fnmatch import fnmatchcase

    return [each for each in found.all_results() if fnmatchcase(each.kind, kind)] if kind is not None else []


def _print(found: _Found, full: bool, kind: str | None) -> None:
    from antiphon.terminal.transcript import TranscriptPrinter

    out = TranscriptPrinter(full=full, kind=kind)
    out.results(found.results)
    if found.history:
        for change in found.history.findings:
            click.echo(f"antiphon: {escape_unprintable(str(change))}", err=True)
        out.conversation(found.history.conversation)
    for each in found.recorded:
        if kind is None:
            out.title(_title(each))
            for note in each.notes:
                out.note(note)
        out.conversation(each.conversation)


def _title(recorded: RecordedConversation) -> str:
    numbers = recorded.exchanges
    which = f"exchange {numbers[0]}" if len(numbers) == 1 else f"{len(numbers)} exchanges"
    return " · ".join(part for part in (which, recorded.api, recorded.model) if part)


def _nothing(found: _Found, kind: str) -> str:
    from antiphon.terminal.transcript import count_kinds

    there = count_kinds(found.all_results())
    listed = ", ".join(f"{name} ({count})" for name, count in sorted(there.items()))
    return f"there is no result of kind {kind!r}; " + (f"there are: {listed}" if listed else "there are none at all")
