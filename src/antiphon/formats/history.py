"""History files: detect, read, validate and write them in every supported format, with warnings of what is lost."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from importlib import import_module
from typing import Any, cast

from antiphon.conversation import (
    AssistantTurn,
    Conversation,
    OpaquePart,
    ProviderPayload,
    Reasoning,
    ServerCall,
    ToolCall,
)
from antiphon.conversation.serialization import conversation_from_json, conversation_to_json
from antiphon.errors import FormatError
from antiphon.formats.detect import detect_document
from antiphon.formats.document import HistoryDocument, parse_document
from antiphon.formats.fixes import fix_violations
from antiphon.formats.issue import Finding
from antiphon.formats.validate import (
    ValidationResult,
    find_history_violations,
    read_repaired,
    validate_body,
)
from antiphon.wire import APIS, Target, wire
from antiphon.wire.history_reader import ReadHistory
from antiphon.wire.rules import Violation

#: Formats that can be written: the APIs by name, and our own.
WRITABLE_FORMATS = (*APIS, "antiphon")
#: Formats that can only be read: programs and frameworks, each with a module of its name.
READ_ONLY_FORMATS = ("pydantic-ai", "langchain", "vercel", "claude-code", "codex")
READABLE_FORMATS = (*WRITABLE_FORMATS, *READ_ONLY_FORMATS)


@dataclass(frozen=True, slots=True)
class History:
    """A history read from a file, with the issues that reading found."""

    format: str
    document: HistoryDocument
    reading: ReadHistory

    @property
    def conversation(self) -> Conversation:
        """The conversation in the file."""
        return self.reading.conversation

    @property
    def rest(self) -> dict[str, Any]:
        """The request's other fields."""
        return self.reading.rest

    @property
    def findings(self) -> list[Finding]:
        """The issues of the file and of its messages."""
        return [*self.document.findings, *map(Finding.of, self.reading.changes)]

    def checked(self, provider: str | None = None) -> ValidationResult:
        """Return the issues of the history. Formats that belong to no API have only the rules of
        conversations.
        """
        if self.format not in APIS:
            body = conversation_to_json(self.conversation) if self.format == "antiphon" else self.document.body
            return ValidationResult(self.findings, [], body, self.conversation)
        found = validate_body(self.document.body, self.format, provider, self.reading)
        return ValidationResult(
            [*self.document.findings, *found.findings], found.violations, found.body, found.conversation
        )


def load(text: bytes, what: str, format: str | None = None) -> History:
    """Read a file's text. Detect its format unless `format` names it."""
    found = parse_histories(text, what, format)
    if len(found) > 1:
        raise FormatError(f"{what} has {len(found)} histories; only `antiphon check` accepts more than one")
    return found[0]


def parse_histories(text: bytes, what: str, format: str | None = None) -> list[History]:
    """Return the histories of a file: one, or one for each line or list entry that holds a request."""
    document = parse_document(text, what)
    name, inner = "", document
    try:
        name, inner = detect_document(document)
    except FormatError:
        if rows := _read_rows(document, format):
            return rows
        if format is None:
            raise
    # If the caller names the format, the history may be wrapped as detected, or be the whole file.
    wrapped = format is None or (format != "antiphon" and (name == format or isinstance(inner.body, list)))
    found = inner if wrapped else document
    return [History(format or name, found, _read_body(found.body, format or name))]


def validate_histories(histories: list[History], provider: str | None = None) -> tuple[list[ValidationResult], bytes]:
    """Return the validation result of each history of a file, and the file with all of them repaired."""
    checkups = [history.checked(provider) for history in histories]
    first = histories[0]
    if len(histories) > 1:
        word = "line {}" if first.document.lines else "item {}"
        checkups = [
            _add_location(checkup, history, word.format(number))
            for number, (checkup, history) in enumerate(zip(checkups, histories, strict=True), first.document.lines)
        ]
        return checkups, first.document.replace_rows(
            (history.document, checkup.body) for history, checkup in zip(histories, checkups, strict=True)
        )
    return checkups, first.document.replace_body(checkups[0].body)


def _add_location(checkup: ValidationResult, history: History, where: str) -> ValidationResult:
    """Return a validation result whose issues name the history within the file."""
    of_file = set(history.document.findings)
    findings = [
        each if each in of_file else replace(each, where=f"{where}, {each.where}".rstrip(", "))
        for each in checkup.findings
    ]
    violations = [replace(each, param=f"{where}, {each.param}".rstrip(", ")) for each in checkup.violations]
    return replace(checkup, findings=findings, violations=violations)


def _read_rows(document: HistoryDocument, format: str | None) -> list[History]:
    try:
        found = [detect_document(row) for row in document.rows()]
    except FormatError:
        return []
    rows = [History(name, row, _read_body(row.body, name)) for name, row in found if format in (None, name)]
    return rows if len(rows) == len(found) else []


def _read_body(body: Any, format: str) -> ReadHistory:
    if format in APIS:
        return read_repaired(body, format)
    if format == "antiphon":
        conversation, changes = conversation_from_json(body)
        reading = ReadHistory(conversation, changes, {})
    else:
        module = import_module(f"antiphon.formats.{format.replace('-', '_')}")
        reading = cast(Callable[[Any], ReadHistory], module.read)(body)
    repaired, more = reading.conversation.repair()
    return ReadHistory(repaired, [*reading.changes, *more], reading.rest, reading.last)


@dataclass(frozen=True, slots=True)
class Written:
    """A conversation in a format's shape, with what was lost and what the API would still reject."""

    data: dict[str, Any]
    losses: list[str]
    violations: list[Violation]


def write(conversation: Conversation, format: str, rest: dict[str, Any] | None = None) -> Written:
    """Return the conversation in a format's shape. Provider payloads are kept if they belong to that
    format.
    """
    if format == "antiphon":
        fields = [name for name, value in (rest or {}).items() if value is not None and name != "model"]
        lost = f"request: {', '.join(fields)}: a conversation has no place for them; left out"
        return Written(conversation_to_json(conversation), [lost] if fields else [], [])
    target = _find_target(conversation, format)
    data = wire(format).history(conversation, target)
    # The result must be sendable: Gemini, for example, rejects contents that end with the model's answer.
    mended = map(str, fix_violations(data, format, find_history_violations(data, format)))
    return Written(
        data,
        [*find_conversion_losses(conversation, target, rest or {}), *mended],
        find_history_violations(data, format),
    )


def _find_target(conversation: Conversation, api: str) -> Target:
    """Return the target of the newest payload of this API, so that payloads go back to their origin."""
    for turn in reversed(conversation.turns):
        pieces = (*turn.parts, *turn.results) if isinstance(turn, AssistantTurn) else turn.parts
        for piece in reversed(pieces):
            native: ProviderPayload | None = getattr(piece, "native", None)
            if native and native.origin.api == api:
                return Target(native.origin.provider, api, native.origin.model)
    return Target(APIS[api].owner, api, "")


def find_conversion_losses(conversation: Conversation, target: Target, rest: dict[str, Any]) -> Iterator[str]:
    """Yield a warning for everything that the target format omits or expresses differently."""
    fields = [name for name, value in rest.items() if value is not None and name != "model"]
    if fields:
        names = ", ".join(f"`{name}`" for name in fields)
        yield f"request: {names}: a history has no place for the other fields of a request; left out"
    for tool in conversation.tools:
        if tool.is_provider_defined and not _is_same_api(tool.native, target):
            yield f"tools: `{tool.name}` is run by its provider, which is another; left out"
    for number, turn in enumerate(conversation.turns, 1):
        results = turn.results if isinstance(turn, AssistantTurn) else ()
        for part in (*turn.parts, *(piece for result in results for piece in result.parts)):
            if reason := _describe_loss(part, target):
                yield f"turn {number}: {reason}"
        if any(result.semantic is not None for result in results):
            yield f"turn {number}: what its results show to people; left out, their text stays"


def _describe_loss(part: object, target: Target) -> str:
    match part:
        case Reasoning(native=None):
            return f"reasoning that nobody signed: {part.text[:40]!r}; left out"
        case Reasoning(native=ProviderPayload(origin=origin)) if (
            origin != target.origin or not APIS[target.api].history.holds_reasoning
        ):
            return f"reasoning that only {origin.model or origin.provider} can read; left out"
        case OpaquePart(native=native) if not _is_same_api(native, target):
            if part.text:
                return f"{part.text[:60]!r} stands for a block that only {native.origin.provider or 'its API'} knows"
            return f"a block that only {native.origin.provider or 'its API'} knows; left out"
        case ServerCall(native=ProviderPayload() as native) if not _is_same_api(native, target):
            return f"a call of `{part.tool}`, which only {native.origin.provider or 'its provider'} runs; left out"
        case ToolCall(problem=str() as problem):
            return f"call {part.id!r} was never good: {problem}; its arguments stay as they are"
        case _:
            return ""


def _is_same_api(native: ProviderPayload | None, target: Target) -> bool:
    return native is not None and (native.origin.api, native.origin.provider) == (target.api, target.provider)
