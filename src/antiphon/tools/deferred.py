"""Deferred tools: the model searches for them, and calls them through one tool.

The declarations stay the same however many tools there are, so requests stay small and begin with the one before.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Annotated, Any, cast

from antiphon.conversation import ToolCall
from antiphon.tools.tool import Tool, ToolFailure, as_tool

_WORD = re.compile(r"[A-Z]?[a-z]+|[A-Z]+|\d+|[^\W\d_]+")
#: How often a word in the name of a tool counts.
_NAME_WEIGHT = 3
_MAX_FOUND = 20


class _Index:
    """The words of tools, for a search by relevance (BM25)."""

    def __init__(self, tools: Sequence[Tool]) -> None:
        self._tools = tools

    @cached_property
    def _words(self) -> list[Counter[str]]:
        return [_count_words(tool) for tool in self._tools]

    @cached_property
    def _rarity(self) -> dict[str, float]:
        found = Counter(word for words in self._words for word in words)
        return {word: math.log(1 + (len(self._words) - count + 0.5) / (count + 0.5)) for word, count in found.items()}

    def search(self, query: str, limit: int) -> list[Tool]:
        """Return the most relevant tools, the best first."""
        wanted = set(_split_words(query))
        mean = sum(words.total() for words in self._words) / max(len(self._words), 1)
        scores = [
            (sum(self._score(words, word, mean) for word in wanted if word in words), -place)
            for place, words in enumerate(self._words)
        ]
        return [self._tools[-place] for score, place in sorted(scores, reverse=True)[:limit] if score > 0]

    def _score(self, words: Counter[str], word: str, mean: float) -> float:
        count = words[word]
        return self._rarity[word] * count * 2.2 / (count + 1.2 * (0.25 + 0.75 * words.total() / mean))


def _split_words(text: str) -> list[str]:
    """Return the words of a text or a name, without a plural `s`."""
    words = [word.lower() for word in _WORD.findall(text)]
    return [word[:-1] if len(word) > 3 and word.endswith("s") else word for word in words]


def _count_words(tool: Tool) -> Counter[str]:
    words = Counter(_split_words(tool.name) * _NAME_WEIGHT)
    words.update(_split_words(tool.spec.description))
    for name, about in cast("dict[str, Any]", tool.spec.parameters.get("properties", {})).items():
        words.update(_split_words(name))
        if isinstance(about, dict):
            words.update(_split_words(str(cast("dict[str, Any]", about).get("description", ""))))
    return words


@dataclass(frozen=True, slots=True)
class DeferredCall:
    """The function of the tool that calls deferred tools. A session runs the named tool instead of it."""

    tools: Mapping[str, Tool] = field(repr=False)
    search_name: str

    def __call__(
        self,
        name: Annotated[str, "The name of a tool that the search found."],
        arguments: Annotated[dict[str, Any], "Its arguments, which fit its parameters."],
    ) -> str:
        """Call a tool that the search found."""
        del arguments
        if name in self.tools:
            raise ToolFailure(f"`{name}` can be called in sessions only")
        raise ToolFailure(f"there is no tool `{name[:100]}`; find one with `{self.search_name}`")

    def resolve(self, call: ToolCall) -> tuple[ToolCall, Tool] | None:
        """Return the call of the named tool, or None if there is no such tool or the call is malformed."""
        name, arguments = call.arguments.get("name"), call.arguments.get("arguments", {})
        if not isinstance(name, str) or name not in self.tools or not isinstance(arguments, dict):
            return None
        return ToolCall(call.id, name, cast("dict[str, Any]", arguments)), self.tools[name]


def make_deferred_tools(tools: Sequence[Tool], name: str = "") -> list[Tool]:
    """Return the two tools that stand for these: one searches them, and the other calls them."""
    if not tools:
        return []
    index = _Index(tools)

    def search_tools(
        query: Annotated[str, "Words that describe what to do."],
        limit: Annotated[int, "How many tools to return, from 1 to 20."] = 5,
    ) -> list[dict[str, Any]]:
        if not 1 <= limit <= _MAX_FOUND:
            raise ToolFailure(f"`limit` is a number from 1 to {_MAX_FOUND}")
        found = index.search(query, limit)
        if not found:
            raise ToolFailure("no tool fits; search with other words")
        return [
            {"name": each.name, "description": each.spec.description, "parameters": each.spec.parameters}
            for each in found
        ]

    about = f" of `{name}`" if name else ""
    said = f"Search {len(tools):,} more tools{about} by words. Tools that are found are called with `call_tool`."
    return [
        as_tool(search_tools, description=said, read_only=True),
        as_tool(DeferredCall({each.name: each for each in tools}, "search_tools"), name="call_tool"),
    ]


def find_called_tool(call: ToolCall, tools: Mapping[str, Tool]) -> tuple[ToolCall, Tool] | None:
    """Return a call and its tool, or None. The call of a deferred tool is that of the tool itself."""
    tool = tools.get(call.name)
    if tool is None:
        return None
    function: Callable[..., Any] = tool.function
    return (function.resolve(call) if isinstance(function, DeferredCall) else None) or (call, tool)
