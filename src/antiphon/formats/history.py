"""A history in a file: recognised, read, and written in any of the shapes that can be written."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from importlib import import_module
from typing import Any, cast

from antiphon.conversation import AssistantTurn, Conversation, Native
from antiphon.conversation.storage import from_json, to_json
from antiphon.errors import FormatError
from antiphon.formats.checkup import LISTS, Checkup, check_history, examine, read_body
from antiphon.formats.document import Document, parse
from antiphon.formats.finding import Finding
from antiphon.formats.losses import losses
from antiphon.formats.mending import mend
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


def load(text: bytes, what: str, format: str | None = None) -> History:
    """Read a file's text; its format is recognised unless it is named."""
    found = load_all(text, what, format)
    if len(found) > 1:
        raise FormatError(f"{what} holds {len(found)} histories; `antiphon doctor` checks them, the rest takes one")
    return found[0]


def load_all(text: bytes, what: str, format: str | None = None) -> list[History]:
    """The histories of a file: one, or as many as there are requests in it, a line or an item of a list each."""
    document = parse(text, what)
    name, inner = "", document
    try:
        name, inner = recognise(document)
    except FormatError:
        if rows := _rows(document, format):
            return rows
        if format is None:
            raise
    # Where a person says what it is, it may be wrapped as it is recognised, or be the whole.
    wrapped = format is None or (format != "antiphon" and (name == format or isinstance(inner.body, list)))
    return [_history(inner if wrapped else document, format or name)]


def check_all(histories: list[History], provider: str | None = None) -> tuple[list[Checkup], bytes]:
    """What is wrong with each history of a file, and the file with all of them repaired."""
    checkups = [history.checked(provider) for history in histories]
    first = histories[0]
    if len(histories) > 1:
        word = "line {}" if first.document.lines else "item {}"
        checkups = [
            _placed(checkup, history, word.format(number))
            for number, (checkup, history) in enumerate(zip(checkups, histories, strict=True), first.document.lines)
        ]
    bodies = [(history.document, checkup.body) for history, checkup in zip(histories, checkups, strict=True)]
    return checkups, first.document.with_bodies(bodies)


def _placed(checkup: Checkup, history: History, where: str) -> Checkup:
    """A checkup that says in which of a file's histories its findings are."""
    findings = [
        each if each in history.document.findings else replace(each, where=f"{where}, {each.where}".rstrip(", "))
        for each in checkup.findings
    ]
    violations = [replace(each, param=f"{where}, {each.param}".rstrip(", ")) for each in checkup.violations]
    return replace(checkup, findings=findings, violations=violations)


def _rows(document: Document, format: str | None) -> list[History]:
    try:
        found = [recognise(row) for row in document.rows()]
    except FormatError:
        return []
    rows = [_history(row, name) for name, row in found if format in (None, name)]
    return rows if len(rows) == len(found) else []


def _history(document: Document, format: str) -> History:
    reading = _reading(document.body, format)
    findings = [*document.findings, *map(Finding.of, reading.changes)]
    return History(format, document, reading.conversation, findings, reading.rest)


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
    # It is to be sent as it is: with Gemini, for one, what ends with the model's answer would be refused.
    mended = map(str, mend(data, format, check_history(data, format)))
    return Written(data, [*losses(conversation, target, rest or {}), *mended], check_history(data, format))


def _target(conversation: Conversation, api: str) -> Target:
    """The origin of the newest opaque data of this API: what came from there goes back there."""
    for turn in reversed(conversation.turns):
        pieces = (*turn.parts, *turn.results) if isinstance(turn, AssistantTurn) else turn.parts
        for piece in reversed(pieces):
            native: Native | None = getattr(piece, "native", None)
            if native and native.origin.api == api:
                return Target(native.origin.provider, api, native.origin.model)
    return Target(APIS[api], api, "")


__all__ = ["LISTS", "READ", "READ_ONLY", "WRITTEN", "History", "Written", "check_all", "load", "load_all", "write"]
