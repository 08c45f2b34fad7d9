"""Show a file: a history, the recorded exchanges with a model, or results of tools."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, cast

from antiphon._base.json import load_json, prune_deep_json
from antiphon._base.json_access import as_array, as_object
from antiphon.cli.history_files import load_history_file
from antiphon.cli.output import print_message
from antiphon.cli.recordings import RecordedConversation, is_exchange, read_exchanges, rebuild_conversations
from antiphon.conversation.serialization import FORMAT, conversation_to_json, read_file_bytes
from antiphon.errors import FormatError, MalformedJSONError
from antiphon.formats import History
from antiphon.results import Result


@dataclass(frozen=True, slots=True)
class FileContent:
    """The content of a file: one of the fields is set."""

    history: History | None = None
    recorded: list[RecordedConversation] = field(default_factory=list[RecordedConversation])
    results: list[Result] = field(default_factory=list[Result])

    def list_results(self) -> list[Result]:
        """Return all results, including those of calls."""
        from antiphon.terminal.transcript import iter_calls_with_results

        talks = [each.conversation for each in self.recorded] + ([self.history.conversation] if self.history else [])
        return [
            *self.results,
            *(each for talk in talks for _, found in iter_calls_with_results(talk) for each in found),
        ]

    def to_json(self) -> Any:
        """Return the content as JSON data in our own schemas."""
        if self.history:
            return conversation_to_json(self.history.conversation)
        if self.recorded:
            return [conversation_to_json(each.conversation) for each in self.recorded]
        shown = [result.to_json() for result in self.results]
        return shown[0] if len(shown) == 1 else shown


def load_content(path: str) -> FileContent:
    """Return what a file holds."""
    text = read_file_bytes(path)
    try:
        data = load_json(text, path)
    except MalformedJSONError as error:
        if (results := _read_pruned_results(text)) is not None:
            return FileContent(results=results)
        entries = read_exchanges(text, path)
        return (
            FileContent(recorded=_rebuild_conversations(entries, path))
            if entries is not None
            else _load_json_lines(path, error)
        )
    if is_exchange(data):
        return FileContent(recorded=_rebuild_conversations([cast(dict[str, Any], data)], path))
    if _is_result(data):
        return FileContent(results=[_parse_result(data, path)])
    if as_array(data) and all(map(_is_result, as_array(data))):
        from antiphon.terminal import sort_results

        return FileContent(results=list(sort_results([_parse_result(each, path) for each in as_array(data)])))
    try:
        return FileContent(history=load_history_file(path))
    except FormatError as error:
        if as_object(data).get("format") == FORMAT:
            raise FormatError(f"{path}: {error}") from None
        raise FormatError(f"{path} is not a history, replay file or result: {error}") from None


def _read_pruned_results(text: bytes) -> list[Result] | None:
    """Return a result with deeply nested data, pruned to what can be displayed; `None` if it is not one."""
    try:
        data = load_json(prune_deep_json(text.decode()), "the file")
        return [Result.from_json(data)] if _is_result(data) else None
    except (UnicodeDecodeError, MalformedJSONError, FormatError):
        return None


def _load_json_lines(path: str, error: MalformedJSONError) -> FileContent:
    try:
        return FileContent(history=load_history_file(path))
    except MalformedJSONError:
        known = "a replay file or a history with one JSON object per line"
        raise FormatError(f"{error}; it is not {known} either") from None


def _rebuild_conversations(entries: list[dict[str, Any]], path: str) -> list[RecordedConversation]:
    try:
        return rebuild_conversations(entries)
    except FormatError as error:
        raise FormatError(f"{path}: {error}") from None


def _is_result(data: object) -> bool:
    # Messages of pydantic-ai have a kind as well, and parts.
    return isinstance(as_object(data).get("kind"), str) and as_object(data).keys().isdisjoint(("format", "parts"))


def _parse_result(data: object, path: str) -> Result:
    try:
        return Result.from_json(data)
    except FormatError as error:
        raise FormatError(f"{path}: {error}") from None


def select_results(found: FileContent, kind: str | None) -> list[Result]:
    """Return the results of a kind, which may be a pattern."""
    from fnmatch import fnmatchcase

    return [each for each in found.list_results() if fnmatchcase(each.kind, kind)] if kind is not None else []


def print_content(found: FileContent, full: bool, kind: str | None) -> None:
    """Print what a file holds; with a `kind`, only results of it."""
    from antiphon.terminal.transcript import TranscriptPrinter

    out = TranscriptPrinter(full=full, kind=kind)
    out.results(found.results)
    if found.history:
        for change in found.history.findings:
            print_message(str(change))
        out.conversation(found.history.conversation)
    for each in found.recorded:
        if kind is None:
            out.title(_format_title(each))
            for note in each.notes:
                out.note(note)
        out.conversation(each.conversation)


def _format_title(recorded: RecordedConversation) -> str:
    numbers = recorded.exchanges
    which = f"exchange {numbers[0]}" if len(numbers) == 1 else f"{len(numbers)} exchanges"
    return " · ".join(part for part in (which, recorded.api, recorded.model) if part)


def describe_missing_kind(found: FileContent, kind: str) -> str:
    """Return a message that no result has this kind, and which kinds there are."""
    from antiphon.terminal.transcript import count_kinds

    there = count_kinds(found.list_results())
    listed = ", ".join(f"{name} ({count})" for name, count in sorted(there.items()))
    return f"there is no result of kind {kind!r}; " + (f"there are: {listed}" if listed else "there are no results")
