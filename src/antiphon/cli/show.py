"""`antiphon show`: a conversation, a recording or a result, as people read them."""

from __future__ import annotations

import sys
from dataclasses import dataclass, field
from typing import Any, cast

import click

from antiphon._json import loads, pruned
from antiphon._printable import printable
from antiphon._shape import arr, obj
from antiphon.cli.colours import echo_json
from antiphon.cli.files import load_history
from antiphon.cli.recordings import Recorded, conversations, is_exchange, read_exchanges
from antiphon.conversation.storage import FORMAT, read_bytes, to_json
from antiphon.errors import FormatError, MalformedJSONError
from antiphon.formats import History
from antiphon.results import Result


@dataclass(frozen=True, slots=True)
class _Found:
    """What a file holds: one of these."""

    history: History | None = None
    recorded: list[Recorded] = field(default_factory=list[Recorded])
    results: list[Result] = field(default_factory=list[Result])

    def all_results(self) -> list[Result]:
        """The results in it, also those of calls."""
        from antiphon.render.show import calls_with_results

        talks = [each.conversation for each in self.recorded] + ([self.history.conversation] if self.history else [])
        return [*self.results, *(each for talk in talks for _, found in calls_with_results(talk) for each in found)]

    def data(self) -> Any:
        """All of it as JSON, in our own schemas."""
        if self.history:
            return to_json(self.history.conversation)
        if self.recorded:
            return [to_json(each.conversation) for each in self.recorded]
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
        from antiphon.render.safe import is_utf8
        from antiphon.views.stream import json_text

        data = found.data() if kind is None else [each.to_json() for each in chosen]
        echo_json(json_text(data, indent=2, ascii=not is_utf8(sys.stdout.encoding or "")))
    else:
        _print(found, full, kind)
    if kind is not None and not chosen:
        click.echo(f"antiphon: {printable(_nothing(found, kind))}", err=True)
        sys.exit(1)


def _load(path: str) -> _Found:
    text = read_bytes(path)
    try:
        data = loads(text, path)
    except MalformedJSONError as error:
        if (results := _deep_results(text)) is not None:
            return _Found(results=results)
        entries = read_exchanges(text, path)
        return _Found(recorded=_conversations(entries, path)) if entries is not None else _lines(path, error)
    if is_exchange(data):
        return _Found(recorded=_conversations([cast(dict[str, Any], data)], path))
    if _is_result(data):
        return _Found(results=[_result(data, path)])
    if arr(data) and all(map(_is_result, arr(data))):
        from antiphon.render import ordered

        return _Found(results=list(ordered([_result(each, path) for each in arr(data)])))
    try:
        return _Found(history=load_history(path))
    except FormatError as error:
        if obj(data).get("format") == FORMAT:
            raise FormatError(f"{path}: {error}") from None
        raise FormatError(f"{path} is no conversation, no recording and no result: {error}") from None


def _deep_results(text: bytes) -> list[Result] | None:
    """A result whose data is too deep to be read as a whole: what can be drawn of it, and its summary."""
    try:
        data = loads(pruned(text.decode()), "the file")
        return [Result.from_json(data)] if _is_result(data) else None
    except (UnicodeDecodeError, MalformedJSONError, FormatError):
        return None


def _lines(path: str, error: MalformedJSONError) -> _Found:
    try:
        return _Found(history=load_history(path))
    except MalformedJSONError:
        known = "a recording nor a session, which have a line of JSON for each thing that happened"
        raise FormatError(f"{error}; nor is it {known}") from None


def _conversations(entries: list[dict[str, Any]], path: str) -> list[Recorded]:
    try:
        return conversations(entries)
    except FormatError as error:
        raise FormatError(f"{path}: {error}") from None


def _is_result(data: object) -> bool:
    # Messages of pydantic-ai have a kind as well, and parts.
    return isinstance(obj(data).get("kind"), str) and obj(data).keys().isdisjoint(("format", "parts"))


def _result(data: object, path: str) -> Result:
    try:
        return Result.from_json(data)
    except FormatError as error:
        raise FormatError(f"{path}: {error}") from None


def _chosen(found: _Found, kind: str | None) -> list[Result]:
    from fnmatch import fnmatchcase

    return [each for each in found.all_results() if fnmatchcase(each.kind, kind)] if kind is not None else []


def _print(found: _Found, full: bool, kind: str | None) -> None:
    from antiphon.render.show import Show

    out = Show(full=full, kind=kind)
    out.results(found.results)
    if found.history:
        for change in found.history.findings:
            click.echo(f"antiphon: {printable(str(change))}", err=True)
        out.conversation(found.history.conversation)
    for each in found.recorded:
        if kind is None:
            out.title(_title(each))
            for note in each.notes:
                out.note(note)
        out.conversation(each.conversation)


def _title(recorded: Recorded) -> str:
    numbers = recorded.exchanges
    which = f"exchange {numbers[0]}" if len(numbers) == 1 else f"{len(numbers)} exchanges"
    return " · ".join(part for part in (which, recorded.api, recorded.model) if part)


def _nothing(found: _Found, kind: str) -> str:
    from antiphon.render.show import kinds

    there = kinds(found.all_results())
    listed = ", ".join(f"{name} ({count})" for name, count in sorted(there.items()))
    return f"there is no result of kind {kind!r}; " + (f"there are: {listed}" if listed else "there are none at all")
