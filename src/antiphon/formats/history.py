"""A history in a file: recognised, read, and written in any of the shapes that can be written."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from typing import Any, cast

from antiphon.conversation import AssistantTurn, Conversation, Native
from antiphon.conversation.storage import from_json, to_json
from antiphon.errors import FormatError
from antiphon.formats.checkup import LISTS, Checkup, check_history, examine, read_body
from antiphon.formats.document import Document, parse
from antiphon.formats.finding import Finding
from antiphon.formats.losses import losses
from antiphon.formats.recognition import recognise
from antiphon.wire import APIS, Target, wire
from antiphon.wire.reading import Reading
from antiphon.wire.rules import Violation

#: What can be written: the APIs by their names, and our own.
WRITTEN = (*APIS, "antiphon")
#: What can be read besides: programs and frameworks, each with a module of its name.
READ_ONLY = ("pydantic-ai", "langchain", "vercel", "claude-code", "codex")
READ = (*WRITTEN, *READ_ONLY)


@dataclass(frozen=True, slots=True)
class History:
    """What a file says, and what reading it changed."""

    format: str
    document: Document
    conversation: Conversation
    findings: list[Finding]
    #: The request's other fields.
    rest: dict[str, Any]

    def checked(self, provider: str | None = None) -> Checkup:
        """What is wrong with the history. Formats that belong to no API have no rules but those of conversations."""
        if self.format not in APIS:
            body = to_json(self.conversation) if self.format == "antiphon" else self.document.body
            return Checkup(self.findings, [], body, self.conversation)
        found = examine(self.document.body, self.format, provider)
        return Checkup([*self.document.findings, *found.findings], found.violations, found.body, found.conversation)

    def rewritten(self, checkup: Checkup) -> bytes:
        """The file with the repaired history in it."""
        if self.format in READ_ONLY:
            raise FormatError(
                f"a history of {self.format} can be read but not written;"
                f" `antiphon convert FILE --to {WRITTEN[0]}` writes it, repaired, in another shape"
            )
        return self.document.with_body(checkup.body)


def load(text: bytes, what: str, format: str | None = None) -> History:
    """Read a file's text; its format is recognised unless it is named."""
    document = parse(text, what)
    if format is None:
        format, document = recognise(document)
    elif format in APIS or format in READ_ONLY:
        document = _named(document, format)
    reading = _reading(document.body, format)
    findings = [*document.findings, *map(Finding.of, reading.changes)]
    return History(format, document, reading.conversation, findings, reading.rest)


def _named(document: Document, format: str) -> Document:
    """Where the history is that a person says is there: wrapped as it is recognised, or the whole."""
    try:
        found, inner = recognise(document)
    except FormatError:
        return document
    return inner if found == format or isinstance(inner.body, list) else document


def _reading(body: Any, format: str) -> Reading:
    if format in APIS:
        return read_body(body, format)
    if format == "antiphon":
        conversation, changes = from_json(body)
        reading = Reading(conversation, changes, {})
    else:
        module = import_module(f"antiphon.formats.{format.replace('-', '_')}")
        reading = cast(Callable[[Any], Reading], module.read)(body)
    repaired, more = reading.conversation.repair()
    return Reading(repaired, [*reading.changes, *more], reading.rest, reading.last)


@dataclass(frozen=True, slots=True)
class Written:
    """A conversation in a format's shape, what did not come along, and what the API would still reject."""

    data: dict[str, Any]
    losses: list[str]
    violations: list[Violation]


def write(conversation: Conversation, format: str, rest: dict[str, Any] | None = None) -> Written:
    """The conversation in a format's shape; opaque data comes along where it belongs to that format."""
    if format == "antiphon":
        fields = [name for name, value in (rest or {}).items() if value is not None and name != "model"]
        lost = f"request: {', '.join(fields)}: a conversation has no place for them; left out"
        return Written(to_json(conversation), [lost] if fields else [], [])
    target = _target(conversation, format)
    data = wire(format).history(conversation, target)
    return Written(data, list(losses(conversation, target, rest or {})), check_history(data, format))


def _target(conversation: Conversation, api: str) -> Target:
    """The origin of the newest opaque data of this API: what came from there goes back there."""
    for turn in reversed(conversation.turns):
        pieces = (*turn.parts, *turn.results) if isinstance(turn, AssistantTurn) else turn.parts
        for piece in reversed(pieces):
            native: Native | None = getattr(piece, "native", None)
            if native and native.origin.api == api:
                return Target(native.origin.provider, api, native.origin.model)
    return Target(APIS[api], api, "")


__all__ = ["LISTS", "READ", "READ_ONLY", "WRITTEN", "History", "Written", "load", "write"]
