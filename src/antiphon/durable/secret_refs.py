"""References to secrets in the journal: they replace values of the environment and are resolved when read.

A reference holds the name of the variable and a keyed hash of its value. A reader of the journal learns no value, and
a variable whose value has changed is noticed.
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
from antiphon.storage.secret_matcher import (
    SECRET_FORMS,
    SHORT_LENGTH,
    SecretMatcher,
    is_matchable,
    make_secret_matcher,
    map_json,
)

if TYPE_CHECKING:
    from antiphon.conversation import Turn
    from antiphon.durable.encryption import JournalCipher

#: The prefix of JSON texts with references.
REFERENCES_MARK = "~"
#: Variables that are no secrets; their values are written as they are.
_PUBLIC_VARIABLES = re.compile(
    "HOME|PATH|PWD|OLDPWD|USER|LOGNAME|USERNAME|SHELL|LANG|LANGUAGE|TZ|TERM|HOSTNAME|TMPDIR|TEMP|TMP|EDITOR|"
    "PAGER|DISPLAY|LC_.*"
)
_DELIMITER = "\x1a"
_REFERENCE = re.compile(f"{_DELIMITER}(?:{_DELIMITER}|([a-z])([0-9a-f]{{16}})([^{_DELIMITER}]*){_DELIMITER})")
_NUMBER_FORM = "n"


class SecretMissing(AntiphonError):
    """A reference to an environment variable whose value has changed since."""

    def __init__(self, name: str) -> None:
        super().__init__(f"the environment variable {name!r} has another value now")
        self.name = name


class SecretRefs:
    """Replaces known secret values by references, and resolves references."""

    def __init__(self, seal: JournalCipher, sought: SecretMatcher | None = None) -> None:
        self._cipher = seal
        self._matcher = sought or SecretMatcher({})

    def copy(self) -> SecretRefs:
        """Return a copy that can be extended independently."""
        return SecretRefs(self._cipher, self._matcher)

    def add(self, name: str, value: str) -> None:
        """Replace this value by a reference from now on."""
        known = self._matcher.values
        if is_matchable(value) and value not in known:
            self._matcher = make_secret_matcher({**known, value: name})

    def hash(self, value: str) -> str:
        """Return a keyed hash of a value, to compare it later."""
        return self._cipher.hash(f"environment {value}")

    def insert_references(self, text: str) -> str:
        """Return a text of JSON with references in place of secret values."""
        sought = self._matcher
        if not any(form in text for form in sought.quick):
            return text
        found: list[str] = []
        data = map_json(json.loads(text), lambda each: self._replace_leaf(each, sought, found))
        return REFERENCES_MARK + dump_ascii_json(data) if found else text

    def contains_secret(self, effect: Effect, text: str) -> bool:
        """Return whether an effect contains a secret value. `text` is its JSON without the turns of a request."""
        sought = self._matcher
        if any(form in text for form in sought.quick):
            return True
        return (
            bool(sought.quick)
            and isinstance(effect, AskModel)
            and any(_has_secret(each, sought) for each in effect.turns)
        )

    def _replace_leaf(self, leaf: Any, sought: SecretMatcher, found: list[str]) -> Any:
        assert sought.pattern is not None
        if not isinstance(leaf, str):
            text = dump_ascii_json({"": leaf})[4:-1]
            if isinstance(leaf, bool | None) or text not in sought.values or len(text) < SHORT_LENGTH:
                return leaf
            found.append(text)
            return self._format_reference(_NUMBER_FORM, sought.values[text], text)

        def refer(match: re.Match[str]) -> str:
            form, value = sought.forms[match[0]]
            found.append(value)
            return self._format_reference(form, sought.values[value], value)

        pieces: list[str] = []
        end = 0
        for match in sought.pattern.finditer(leaf):
            pieces += (leaf[end : match.start()].replace(_DELIMITER, 2 * _DELIMITER), refer(match))
            end = match.end()
        return "".join([*pieces, leaf[end:].replace(_DELIMITER, 2 * _DELIMITER)])

    def _format_reference(self, form: str, name: str, value: str) -> str:
        return f"{_DELIMITER}{form}{self.hash(value)[:16]}{quote(name, safe='')}{_DELIMITER}"

    def find_safe_end(self, text: str) -> int:
        """Return the length of the part of a growing text that cannot be the beginning of a secret value."""
        forms, pattern = self._matcher.forms, self._matcher.pattern
        if pattern is None:
            return len(text)
        ends = range(max(0, len(text) - max(map(len, forms))), len(text))
        end = next((at for at in ends if any(form.startswith(text[at:]) for form in forms)), len(text))
        # Do not cut a complete value that overlaps the beginning of another.
        inside = (match.start() for match in pattern.finditer(text) if match.start() < end < match.end())
        return next(inside, end)

    def parse_with_values(self, text: str, what: str) -> dict[str, Any]:
        """The object in a text of JSON, with the values where there were references; `NotThere` says which is gone."""
        return _parse_json(text, what, self._restore_leaf)

    def _restore_leaf(self, leaf: Any) -> Any:
        if not isinstance(leaf, str) or _DELIMITER not in leaf:
            return leaf
        whole = _REFERENCE.fullmatch(leaf)
        if whole is not None and whole[1] == _NUMBER_FORM:
            return json.loads(self._find_value(whole))
        return _REFERENCE.sub(
            lambda match: SECRET_FORMS[match[1]](self._find_value(match)) if match[1] else _DELIMITER, leaf
        )

    def _find_value(self, reference: re.Match[str]) -> str:
        import os

        name = unquote(reference[3])
        # With concurrency, the step that reads the variable may not have been replayed yet.
        known = [value for value, each in self._matcher.values.items() if each == name]
        for value in (*known, os.environ.get(name)):
            if value is not None and self.hash(value)[:16] == reference[2]:
                return value
        raise SecretMissing(name)


def parse_redacted_json(text: str, what: str) -> dict[str, Any]:
    """Parse a JSON object, with names of variables in place of secret values."""
    return _parse_json(text, what, _name_references)


def is_public_variable(name: str) -> bool:
    """Return whether a variable of this name holds no secret."""
    return _PUBLIC_VARIABLES.fullmatch(name) is not None


def _parse_json(text: str, what: str, change: Callable[[Any], Any]) -> dict[str, Any]:
    try:
        data = json.loads(text.removeprefix(REFERENCES_MARK))
        found = map_json(data, change) if text.startswith(REFERENCES_MARK) else data
    except (ValueError, RecursionError, KeyError) as error:
        raise StoreError(f"the database is damaged: {what} is not JSON: {error}") from None
    if not isinstance(found, dict):
        raise StoreError(f"the database is damaged: {what} is not a JSON object")
    return cast(dict[str, Any], found)


def _name_references(leaf: Any) -> Any:
    if not isinstance(leaf, str) or _DELIMITER not in leaf:
        return leaf
    return _REFERENCE.sub(lambda match: f"[${unquote(match[3])}]" if match[1] else _DELIMITER, leaf)


_HAS_SECRET = DerivedKey[tuple[SecretMatcher, bool]]("withheld")


def _has_secret(turn: Turn, sought: SecretMatcher) -> bool:
    """Return whether a turn contains a secret value. The answer is cached."""
    known = turn.derived.get(_HAS_SECRET)
    if known is None or known[0] is not sought:
        text = dump_ascii_json(turn_to_json(turn))
        known = turn.derived.set(_HAS_SECRET, (sought, any(form in text for form in sought.quick)))
    return known[1]
