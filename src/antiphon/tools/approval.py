"""Who must allow a call: policies that decide by tool and argument, and what people decided once for all."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from typing import Any, Literal

from antiphon._json import dumps
from antiphon.conversation import ToolCall
from antiphon.tools.tool import Tool

Action = Literal["ask", "allow", "deny"]


@dataclass(frozen=True, slots=True)
class Rule:
    """What happens to calls of the tools that match `tool`, if their arguments match too.

    Patterns are those of file names: `Rule("allow", "run_shell", {"command": "git *"})`. Arguments are matched as the
    tool will get them, defaults among them; those that are no text are matched as JSON.
    """

    action: Action
    tool: str = "*"
    arguments: Mapping[str, str] = field(default_factory=dict[str, str])

    def matches(self, name: str, arguments: Mapping[str, Any]) -> bool:
        """Whether this rule speaks of such a call."""
        return fnmatchcase(name, self.tool) and all(
            key in arguments and fnmatchcase(_text(arguments[key]), glob) for key, glob in self.arguments.items()
        )


def _text(value: object) -> str:
    return value if isinstance(value, str) else dumps(value)


@dataclass(frozen=True, slots=True)
class Standing:
    """What was decided once for all: about a tool, or about the very same call where `arguments` says which."""

    allowed: bool
    tool: str
    arguments: str | None = None

    def __str__(self) -> str:
        return f"{self.tool}({self.arguments})" if self.arguments is not None else self.tool


def standing(call: ToolCall, tool: Tool | None, allowed: bool = True) -> Standing:
    """What an *always* covers: the tool, where it is one that asks whatever it is given.

    Of a shell, which can do anything, of a tool that asks about some arguments only, and of one that is not known, it
    covers the very same call.
    """
    asks_anyway = tool is not None and (tool.asks_about is None or tool.needs_approval or tool.destructive)
    is_tool = asks_anyway and call.name != _SHELL
    return Standing(allowed, call.name, None if is_tool else identity(call)[1])


_SHELL = "run_shell"


class Policy:
    """Rules in order: the first that matches decides. Without one, tools that need approval are asked about.

    Destructive tools and those wrapped by `requiring_approval` need it, and those that read files do for files that
    look like secrets; the rest are allowed. What people decide once for all comes before the rules and holds for all
    who share the policy, until it is revoked.
    """

    def __init__(self, rules: Iterable[Rule] = ()) -> None:
        self.rules = tuple(rules)
        self._standing: dict[tuple[str, str | None], Standing] = {}

    @property
    def decided(self) -> tuple[Standing, ...]:
        """What was decided once for all."""
        return tuple(self._standing.values())

    def decide(self, call: ToolCall, tool: Tool) -> Action:
        """What to do with a call."""
        if self._standing:
            known = self._standing.get((call.name, None)) or self._standing.get(identity(call))
            if known is not None:
                return "allow" if known.allowed else "deny"
        given = call.arguments
        if any(rule.arguments for rule in self.rules):
            given = tool.arguments.converted(given)
        for rule in self.rules:
            if rule.matches(call.name, given):
                return rule.action
        return "ask" if tool.wants_approval(call.arguments) else "allow"

    def always(self, decided: Standing) -> None:
        """Decide once for all."""
        self._standing = {**self._standing, (decided.tool, decided.arguments): decided}

    def revoke(self, decided: Standing) -> None:
        """Ask again from now on."""
        self._standing = {key: each for key, each in self._standing.items() if each != decided}

    def __repr__(self) -> str:
        return f"Policy({list(self.rules)!r})"


def identity(call: ToolCall) -> tuple[str, str]:
    """What two calls that ask for the same have in common, however their arguments are spelled."""
    return call.name, json.dumps(call.arguments, sort_keys=True)


#: Every call is allowed: for runs that somebody else keeps safe.
ALLOW_ALL = Policy([Rule("allow")])
