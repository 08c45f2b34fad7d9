"""Whether something is asked or said that only a tool could know.

A small model has no feeling for what it cannot know: it answers "what does notes.txt say?" from nothing, as gladly as
"what is 2 + 2?". So that is not left to it: words decide, and those of the tools decide which words count.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from antiphon._shape import arr, obj, string

_ENDINGS = (
    "txt|md|rst|py|pyi|js|mjs|ts|tsx|jsx|json|jsonl|toml|ya?ml|csv|tsv|html?|css|sh|bash|c|h|cc|cpp|hpp|rs|go|java|kt|rb|"
    "php|swift|lua|sql|ini|cfg|conf|env|log|xml|lock|pdf|ipynb|tex|vibe|svg|png|jpe?g|gguf|gitignore"
)
#: A path, a file's name, or a file that everybody calls by its first name.
_NAME = re.compile(
    rf"(?:(?:^|[\s\"'`(<@])(?:~|\.{{1,2}})?(?:/?[\w.-]+/)+[\w.-]*|\b[\w-]+\.(?:{_ENDINGS})\b|(?:^|\s)\.env\b"
    r"|\b(?:README|LICEN[CS]E|CHANGELOG|CONTRIBUTING|AUTHORS|Makefile|Dockerfile|TODO|FIXME)S?\b)"
)
#: A name that only code has: `free_berths`, `MAX_ITEMS`, `withTax`.
_IDENTIFIER = re.compile(r"\b(?:[A-Za-z]+_\w+|[a-z]+[A-Z]\w+)\b")
_FENCED = re.compile(r"(?:\S+:\n)?(?P<fence>`{3,}).*?(?:(?P=fence)|\Z)", re.DOTALL)
#: Where something new is wanted, nothing need be looked at, unless it is named.
_MAKING = re.compile(
    r"^\W*(?:please|can you|could you|and|now)?\W*"
    r"(?:write|compose|draft|invent|make up|translate|calculate|compute|say)\b",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class _Subject:
    """Something to look at: the words of tools that can, of requests that want it, and of answers that claim to have.

    `names` says whether paths and names of code are of this subject.
    """

    tools: re.Pattern[str]
    asked: re.Pattern[str]
    claimed: re.Pattern[str]
    names: bool = False


def _words(pattern: str) -> re.Pattern[str]:
    return re.compile(rf"\b(?:{pattern})\b", re.IGNORECASE)


_SUBJECTS = (
    _Subject(
        _words("files?|folders?|director(?:y|ies)"),
        _words(
            "files?|folders?|subfolders?|director(?:y|ies)|(?:this|the|our|my) (?:project|package|code|codebase|"
            "program|app|application|server|script|tests?|module|config(?:uration)?|settings|docs|documentation|notes|data)|"
            "code ?base|source code|in the (?:code|docs|tests)|repo(?:sitory)?|dependenc(?:y|ies)|licen[cs]e|defined|"
            "according to|here"
        ),
        _words(
            "the (?:file|folder|director(?:y|ies)|code|project|readme|document|function|script)|(?:this|your) (?:file|"
            "folder|directory|project|code|repository)|files? (?:is|are|in|named|called|contains?)|I (?:have |'ve )?"
            "(?:read|looked|checked|searched|opened|listed|found)"
        ),
        names=True,
    ),
    _Subject(
        _words("git|commits?|repository"),
        _words("git|commits?|committed|uncommitted|staged|untracked|branch(?:es)?|last change|(?:I|was|were) changed"),
        _words("commits?|(?:the|your) (?:branch|repository)|uncommitted"),
    ),
    _Subject(
        _words("current (?:date|time)"),
        _words(
            "what time|the time|what day|which day|today|what date|the date|right now|which year is it|what year is it"
        ),
        _words("(?:today|it) is|the (?:time|date) is|current (?:time|date)"),
    ),
)


def must_look(request: str, tools: list[dict[str, Any]]) -> bool:
    """Whether a request is about something that one of the tools can see, and nobody knows without."""
    given = _FENCED.search(request) is not None
    said = _FENCED.sub(" ", request)
    for subject in _of(tools):
        if subject.names and (_NAME.search(said) or _IDENTIFIER.search(said)):
            return True
        if not given and not _MAKING.search(said) and subject.asked.search(said):
            return True
    return False


def claims(answer: str, tools: list[dict[str, Any]]) -> bool:
    """Whether an answer speaks of what one of the tools can see, as if it had been seen."""
    return any(subject.claimed.search(answer) or (subject.names and _NAME.search(answer)) for subject in _of(tools))


def _of(tools: list[dict[str, Any]]) -> list[_Subject]:
    text = " ".join(_spoken(tool) for tool in tools)
    return [subject for subject in _SUBJECTS if subject.tools.search(text)]


def _spoken(tool: dict[str, Any]) -> str:
    """The words of a tool, those of its name apart."""
    return f"{string(tool.get('name')).replace('_', ' ')} {string(tool.get('description'))}"


def is_backed(messages: list[dict[str, Any]]) -> bool:
    """Whether a tool was called since the user last said something."""
    for message in reversed(messages):
        if message.get("role") == "user":
            return False
        if message.get("role") == "tool" or arr(message.get("tool_calls")):
            return True
    return False


def last_request(messages: list[dict[str, Any]]) -> str:
    """What the user said last."""
    content = next((m.get("content") for m in reversed(messages) if m.get("role") == "user"), "")
    if isinstance(content, str):
        return content
    return "\n\n".join(string(obj(part).get("text")) for part in arr(content))


#: So much of an answer is looked at before it is handed on: small models claim things in their first sentences.
_HELD = 400


class Held:
    """The pieces of an answer that no call backs, held back until it is plain that it claims nothing."""

    def __init__(self, is_claim: Callable[[str], bool]) -> None:
        self._is_claim = is_claim
        self._pieces: list[dict[str, Any]] = []
        self._said = ""
        self._is_over = False

    def take(self, piece: dict[str, Any]) -> list[dict[str, Any]] | None:
        """What can be handed on now; nothing at all (`None`) where it must be asked again."""
        if self._is_over or "prompt_progress" in piece:
            return [piece]
        self._pieces.append(piece)
        choice = obj(next(iter(arr(piece.get("choices"))), None))
        delta = obj(choice.get("delta"))
        self._said += string(delta.get("content"))
        is_call = bool(arr(delta.get("tool_calls"))) or self._said.lstrip().startswith('{"tool"')
        is_whole = bool(choice.get("finish_reason")) or len(self._said) > _HELD or "error" in piece
        if not is_call and not is_whole:
            return []
        if not is_call and self._is_claim(self._said):
            return None
        self._is_over = True
        return self._pieces
