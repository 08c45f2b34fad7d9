"""Values of the environment, and keys, in what is written down: a reference stands for each, and is filled in again.

A reference has the name of the variable and a keyed hash of its value: whoever reads the journal learns neither, and a
variable that has another value by now is not taken for the one of then.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, cast
from urllib.parse import quote, unquote

from antiphon.conversation.derived import DerivedKey
from antiphon.conversation.serialization import turn_to_json
from antiphon.effects.codec import dump_ascii_json
from antiphon.effects.types import AskModel, Effect
from antiphon.errors import AntiphonError, StoreError
from antiphon.storage.withheld import FORMS, SHORT, Sought, is_sought, mapped, seek

if TYPE_CHECKING:
    from antiphon.conversation import Turn
    from antiphon.durable.seal import Seal

#: What a text of JSON begins with that has references.
REFERS = "~"
#: Where and as whom something runs: that stands everywhere and is no secret, so it is written down like all else.
_PLAIN = re.compile(
    "HOME|PATH|PWD|OLDPWD|USER|LOGNAME|USERNAME|SHELL|LANG|LANGUAGE|TZ|TERM|HOSTNAME|TMPDIR|TEMP|TMP|EDITOR|"
    "PAGER|DISPLAY|LC_.*"
)
_SIGN = "\x1a"
_REFERENCE = re.compile(f"{_SIGN}(?:{_SIGN}|([a-z])([0-9a-f]{{16}})([^{_SIGN}]*){_SIGN})")
_NUMBER = "n"


class NotThere(AntiphonError):
    """A value that something was written down without, and that the environment does not have any more."""

    def __init__(self, name: str) -> None:
        super().__init__(f"the environment variable {name!r} does not have the value of then")
        self.name = name


class Withheld:
    """What is not written down: values that are known by now, each with its name."""

    def __init__(self, seal: Seal, sought: Sought | None = None) -> None:
        self._seal = seal
        self._sought = sought or Sought({})

    def copy(self) -> Withheld:
        """The same, to learn more."""
        return Withheld(self._seal, self._sought)

    def learn(self, name: str, value: str) -> None:
        """From now on this value is not written down."""
        known = self._sought.values
        if is_sought(value) and value not in known:
            self._sought = seek({**known, value: name})

    def hash(self, value: str) -> str:
        """What tells whether a value is the one of then, to whoever has the key."""
        return self._seal.hash(f"environment {value}")

    # Out

    def out(self, text: str) -> str:
        """A text of JSON with references in place of the values."""
        sought = self._sought
        if not any(form in text for form in sought.quick):
            return text
        found: list[str] = []
        data = mapped(json.loads(text), lambda each: self._without(each, sought, found))
        return REFERS + dump_ascii_json(data) if found else text

    def covers(self, effect: Effect, text: str) -> bool:
        """Whether one of the values is part of what is asked for; `text` is all of it but the turns of a request."""
        sought = self._sought
        if any(form in text for form in sought.quick):
            return True
        return bool(sought.quick) and isinstance(effect, AskModel) and any(_held(each, sought) for each in effect.turns)

    def _without(self, leaf: Any, sought: Sought, found: list[str]) -> Any:
        assert sought.pattern is not None
        if not isinstance(leaf, str):
            text = dump_ascii_json({"": leaf})[4:-1]
            if isinstance(leaf, bool | None) or text not in sought.values or len(text) < SHORT:
                return leaf
            found.append(text)
            return self._reference(_NUMBER, sought.values[text], text)

        def refer(match: re.Match[str]) -> str:
            form, value = sought.forms[match[0]]
            found.append(value)
            return self._reference(form, sought.values[value], value)

        pieces: list[str] = []
        end = 0
        for match in sought.pattern.finditer(leaf):
            pieces += (leaf[end : match.start()].replace(_SIGN, 2 * _SIGN), refer(match))
            end = match.end()
        return "".join([*pieces, leaf[end:].replace(_SIGN, 2 * _SIGN)])

    def _reference(self, form: str, name: str, value: str) -> str:
        return f"{_SIGN}{form}{self.hash(value)[:16]}{quote(name, safe='')}{_SIGN}"

    def sure(self, text: str) -> int:
        """How much of a text that goes on can be told apart: its end may be where a value begins."""
        forms, pattern = self._sought.forms, self._sought.pattern
        if pattern is None:
            return len(text)
        ends = range(max(0, len(text) - max(map(len, forms))), len(text))
        end = next((at for at in ends if any(form.startswith(text[at:]) for form in forms)), len(text))
        # One that is there is not cut in two by what may be the next.
        inside = (match.start() for match in pattern.finditer(text) if match.start() < end < match.end())
        return next(inside, end)

    # In

    def filled(self, text: str, what: str) -> dict[str, Any]:
        """The object in a text of JSON, with the values where there were references; `NotThere` says which is gone."""
        return _read(text, what, self._filled)

    def _filled(self, leaf: Any) -> Any:
        if not isinstance(leaf, str) or _SIGN not in leaf:
            return leaf
        whole = _REFERENCE.fullmatch(leaf)
        if whole is not None and whole[1] == _NUMBER:
            return json.loads(self._value(whole))
        return _REFERENCE.sub(lambda match: FORMS[match[1]](self._value(match)) if match[1] else _SIGN, leaf)

    def _value(self, reference: re.Match[str]) -> str:
        import os

        name = unquote(reference[3])
        # Of what runs side by side, another part may be the one that reads it, and may not have come to it yet.
        known = [value for value, each in self._sought.values.items() if each == name]
        for value in (*known, os.environ.get(name)):
            if value is not None and self.hash(value)[:16] == reference[2]:
                return value
        raise NotThere(name)


def shown(text: str, what: str) -> dict[str, Any]:
    """The object in a text of JSON, with the names of variables in place of their values."""
    return _read(text, what, _named)


def is_plain(name: str) -> bool:
    """Whether what a variable of this name says is no secret."""
    return _PLAIN.fullmatch(name) is not None


def _read(text: str, what: str, change: Callable[[Any], Any]) -> dict[str, Any]:
    try:
        data = json.loads(text.removeprefix(REFERS))
        found = mapped(data, change) if text.startswith(REFERS) else data
    except (ValueError, RecursionError, KeyError) as error:
        raise StoreError(f"the journal is damaged: {what} is not JSON: {error}") from None
    if not isinstance(found, dict):
        raise StoreError(f"the journal is damaged: {what} is not a JSON object")
    return cast(dict[str, Any], found)


def _named(leaf: Any) -> Any:
    if not isinstance(leaf, str) or _SIGN not in leaf:
        return leaf
    return _REFERENCE.sub(lambda match: f"[${unquote(match[3])}]" if match[1] else _SIGN, leaf)


_WITHHELD = DerivedKey[tuple[Sought, bool]]("withheld")


def _held(turn: Turn, sought: Sought) -> bool:
    """Whether one of the values is part of what a model is shown in a turn; each is looked at once."""
    known = turn.derived.get(_WITHHELD)
    if known is None or known[0] is not sought:
        text = dump_ascii_json(turn_to_json(turn))
        known = turn.derived.set(_WITHHELD, (sought, any(form in text for form in sought.quick)))
    return known[1]
