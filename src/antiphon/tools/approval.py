"""Who must allow a call: policies that decide by tool and argument, and what people decided once for all."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from typing import Literal

from antiphon.conversation import ToolCall
from antiphon.tools.canonical import CanonicalCall, canonicalize
from antiphon.tools.rules import Command, commands_of, matches
from antiphon.tools.tool import Tool

Action = Literal["ask", "allow", "deny"]
#: The stricter of two decisions about the commands of one line wins.
_STRICTNESS: dict[Action, int] = {"allow": 0, "ask": 1, "deny": 2}


@dataclass(frozen=True, slots=True)
class Rule:
    """What happens to calls of the tools that match `tool`, if their arguments match too.

    Patterns are those of file names: `Rule("allow", "read_*", {"path": "src/*"})`. They are matched with the canonical
    call: converted, with defaults, with paths resolved; what is no text is matched as JSON. Of a shell, patterns are
    matched word by word with each command of a line, and a last `*` stands for any further words:
    `Rule("allow", "run_shell", {"command": "git log *"})`.
    """

    action: Action
    tool: str = "*"
    arguments: Mapping[str, str] = field(default_factory=dict[str, str])

    def __post_init__(self) -> None:
        if self.action not in _STRICTNESS:
            raise ValueError(f"the action of a rule is 'ask', 'allow' or 'deny', not {self.action!r:.60}")

    def matches(self, call: CanonicalCall, command: Command | None = None) -> bool:
        """Return whether this rule speaks of a call, or of one command of the line that the call runs."""
        return fnmatchcase(call.name, self.tool) and all(
            matches(call, name, glob, strictly=self.action == "allow", command=command)
            for name, glob in self.arguments.items()
        )

    def names(self, command: Command) -> bool:
        """Return whether this rule speaks of some commands of the line in an argument."""
        return command.argument in self.arguments


@dataclass(frozen=True, slots=True)
class Standing:
    """What was decided once for all: about a tool, or about the very same call where `arguments` says which.

    It holds for the tool as it was described then: a server may describe another one under the same name.
    """

    allowed: bool
    tool: str
    arguments: str | None = None
    definition: str = field(default="", repr=False)

    def __str__(self) -> str:
        return f"{self.tool}({self.arguments})" if self.arguments is not None else self.tool


def standing(call: CanonicalCall | ToolCall, allowed: bool = True) -> Standing:
    """Return what an *always* covers: the tool, where it is one that asks whatever it is given.

    Of a shell, which can do anything, of a tool that asks about some arguments only, and of one that is not known, it
    covers the very same call.
    """
    if isinstance(call, ToolCall):
        return Standing(allowed, *identity(call))
    tool = call.tool
    asks_anyway = tool.asks_about is None or tool.needs_approval or tool.destructive
    is_whole_tool = asks_anyway and not tool.is_shell
    return Standing(allowed, call.name, None if is_whole_tool else identity(call.call)[1], _definition(tool))


def _definition(tool: Tool) -> str:
    """Return a hash of what a tool says of itself."""
    spec, said = tool.spec, (tool.read_only, tool.destructive, tool.needs_approval, tool.is_shell)
    text = json.dumps([spec.description, spec.parameters, said], sort_keys=True, default=str)
    return hashlib.sha256(text.encode(errors="replace")).hexdigest()[:24]


class Policy:
    """Rules in order: the first that matches decides. Without one, tools that need approval are asked about.

    Destructive tools and those wrapped by `requiring_approval` need it, and those that read files do for files that
    look like secrets; the rest are allowed. Of a shell, every command of a line is decided about, and the strictest
    decision holds. What people decide once for all comes before the rules and holds for all who share the policy,
    until it is revoked.
    """

    def __init__(self, rules: Iterable[Rule] = ()) -> None:
        self.rules = tuple(rules)
        for rule in self.rules:
            if not isinstance(rule, Rule):  # pyright: ignore[reportUnnecessaryIsInstance]
                raise TypeError(f"the rules of a policy are `Rule`s, not {rule!r:.60}")
        self._standing: dict[tuple[str, str | None], Standing] = {}

    @property
    def decided(self) -> tuple[Standing, ...]:
        """What was decided once for all."""
        return tuple(self._standing.values())

    def decide(self, call: ToolCall, tool: Tool) -> Action:
        """Return what to do with a call of a tool."""
        return self.judge(canonicalize(tool, call))

    def judge(self, call: CanonicalCall) -> Action:
        """Return what to do with a canonical call."""
        if self._standing:
            known = self._standing.get((call.name, None)) or self._standing.get(identity(call.call))
            if known is not None and not known.allowed:
                return "deny"
            if known is not None and known.definition in ("", _definition(call.tool)):
                return "allow"
        if not call.tool.is_shell or not self.rules:
            return self._decide(call)
        return max((self._decide(call, each) for each in commands_of(call)), key=lambda each: _STRICTNESS[each])

    def _decide(self, call: CanonicalCall, command: Command | None = None) -> Action:
        is_guarded = False
        for rule in self.rules:
            if rule.matches(call, command):
                return "ask" if rule.action == "allow" and is_guarded else rule.action
            # A program whose name is yet to be computed may be the one that a rule before speaks of.
            is_guarded |= rule.action != "allow" and command is not None and command.is_computed and rule.names(command)
        cannot_tell = command is not None and command.words is None
        return "ask" if cannot_tell or call.wants_approval else "allow"

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
