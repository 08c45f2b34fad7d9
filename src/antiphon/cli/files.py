"""Histories in files: our own, or those of the four APIs."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from antiphon._json import loads
from antiphon.conversation import AssistantTurn, Change, Conversation, Native
from antiphon.conversation.storage import FORMAT, from_json, read_bytes, to_json, write_atomically
from antiphon.wire import APIS, Target, detect, wire
from antiphon.wire.shape import obj

#: What a format is called on the command line.
FORMATS = {
    "openai": "openai-chat",
    "anthropic": "anthropic",
    "responses": "openai-responses",
    "gemini": "gemini",
    "antiphon": "antiphon",
}
_LISTS = {"openai-responses": "input", "gemini": "contents"}


@dataclass(frozen=True, slots=True)
class History:
    """A file with a history in it: what it says, and what repairing it changes."""

    path: Path
    format: str
    data: Any
    text: bytes
    conversation: Conversation
    changes: list[Change]

    @classmethod
    def load(cls, path: str, format: str | None) -> History:
        """Read a file; its format is recognised unless it is named."""
        text = read_bytes(path)
        data = loads(text, path)
        if format is None:
            format = "antiphon" if obj(data).get("format") == FORMAT else detect(data)
        if format == "antiphon":
            (conversation, changes), last = from_json(data), ""
        else:
            model = obj(data).get("model")
            target = Target(APIS[format], format, model if isinstance(model, str) else "")
            reading = wire(format).read(data, target.origin)
            conversation, changes, last = reading.conversation, reading.changes, reading.last
        repaired, more = conversation.repair()
        if last:
            more = [replace(change, where=last) for change in more]
        return cls(Path(path), format, data, text, repaired, [*changes, *more])

    @property
    def format_name(self) -> str:
        """What the format is called on the command line."""
        return next(name for name, api in FORMATS.items() if api == self.format)

    def rewrite(self) -> Path:
        """Put the repaired history in the file's place, in the format it had, and return where the old one is now."""
        backup = _unused(self.path)
        write_atomically(backup, self.text)
        indent = 2 if b"\n" in self.text.strip() else None
        text = json.dumps(self._repaired(), ensure_ascii=False, indent=indent)
        write_atomically(self.path, text.encode() + (b"\n" if self.text.endswith(b"\n") else b""))
        return backup

    def _repaired(self) -> Any:
        data = as_format(self.conversation, self.format)
        if self.format == "antiphon":
            return data
        key = _LISTS.get(self.format, "messages")
        top = obj(self.data)
        return {**top, key: data[key]} if top else data[key]


def as_format(conversation: Conversation, format: str) -> dict[str, Any]:
    """The conversation in a format's shape, opaque data included where it belongs to that format."""
    if format == "antiphon":
        return to_json(conversation)
    return wire(format).history(conversation, _target(conversation, format))


def _target(conversation: Conversation, api: str) -> Target:
    """The origin of the newest opaque data of this API: what came from there goes back there."""
    for turn in reversed(conversation.turns):
        pieces = (*turn.parts, *turn.results) if isinstance(turn, AssistantTurn) else turn.parts
        for piece in reversed(pieces):
            native: Native | None = getattr(piece, "native", None)
            if native and native.origin.api == api:
                return Target(native.origin.provider, api, native.origin.model)
    return Target(APIS[api], api, "")


def _unused(path: Path) -> Path:
    backup = path.with_name(path.name + ".bak")
    number = 1
    while backup.exists():
        number += 1
        backup = path.with_name(f"{path.name}.bak{number}")
    return backup
