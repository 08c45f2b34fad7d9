"""Approval of tool calls: policies that decide by tool and argument, and standing decisions of people."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from typing import Literal

from antiphon._base.did_you_mean import hint_arguments
from antiphon.conversation import ToolCall
from antiphon.tools.canonical_call import CanonicalCall, canonicalize
from antiphon.tools.rule_matching import ShellCommand, argument_matches, parse_call_commands
from antiphon.tools.tool import Tool

PolicyAction = Literal["ask", "allow", "deny"]
#: For the commands of one line, the strictest action wins.
_STRICTNESS: dict[PolicyAction, int] = {"allow": 0, "ask": 1, "deny": 2}


@dataclass(frozen=True, slots=True)
class Rule:
    """A rule for calls of the tools that match `tool`, if their arguments match too.

    Patterns are file name patterns: `Rule("allow", "read_*", {"path": "src/*"})`. They match the canonical
    call: converted, with defaults, with paths resolved. Values that are not text match as JSON. For a shell,
    patterns match word by word with each command of a line, and a last `*` stands for any further words:
    `Rule("allow", "run_shell", {"command": "git log *"})`.
    """

    action: PolicyAction
    tool: str = "*"
    arguments: Mapping[str, str] = field(default_factory=dict[str, str])

    def __post_init__(self) -> None:
        if self.action not in _STRICTNESS:
            raise ValueError(f"the action of a rule is 'ask', 'allow' or 'deny', not {self.action!r:.60}")

    def matches(self, call: CanonicalCall, command: ShellCommand | None = None) -> bool:
        """Return whether this rule applies to a call, or to one command of the line that the call runs."""
        return fnmatchcase(call.name, self.tool) and all(
            argument_matches(call, name, glob, strictly=self.action == "allow", command=command)
            for name, glob in self.arguments.items()
        )

    def names(self, command: ShellCommand) -> bool:
        """Return whether this rule restricts the argument that holds a command's line."""
        return command.argument in self.arguments


@dataclass(frozen=True, slots=True)
class StandingDecision:
    """A decision for all later calls of a tool, or of the same call only if `arguments` is set.

    With `commands`, it is for lines of which each command begins with the words of one of these patterns, and
    whose other arguments are `others`. It holds for the tool as it was described then: a server may describe
    another one under the same name.
    """

    allowed: bool
    tool: str
    arguments: str | None = None
    definition: str = field(default="", repr=False)
    commands: tuple[str, ...] = ()
    others: str = field(default="", repr=False)

    def __str__(self) -> str:
        if self.commands:
            return f"{self.tool}({', '.join(self.commands)})"
        return f"{self.tool}({self.arguments})" if self.arguments is not None else self.tool


def make_standing_decision(call: CanonicalCall | ToolCall, allowed: bool = True) -> StandingDecision:
    """Return the decision that an *always* answer makes: for the whole tool if the tool asks for every call.

    For a shell, for a tool that asks about some arguments only, and for an unknown tool, it covers the same
    call only.
    """
    if isinstance(call, ToolCall):
        return StandingDecision(allowed, *identify_call(call))
    tool = call.tool
    asks_anyway = tool.asks_about is None or tool.needs_approval or tool.destructive
    is_whole_tool = asks_anyway and not tool.is_shell
    return StandingDecision(
        allowed, call.name, None if is_whole_tool else identify_call(call.call)[1], _hash_definition(tool)
    )


def offer_command_decision(call: CanonicalCall) -> StandingDecision | None:
    """Return a decision for all lines with the same commands, whatever their arguments, if it can be offered.

    It cannot for a line with redirections, substitutions, or programs that start others.
    """
    # Imported here, because only shells need it.
    from antiphon.tools.command_prefixes import describe_other_arguments, find_command_prefixes, find_line_argument

    commands, argument = find_command_prefixes(call), find_line_argument(call)
    if not commands or argument is None:
        return None
    others = describe_other_arguments(call, argument)
    return StandingDecision(True, call.name, None, _hash_definition(call.tool), commands, others)


def _hash_definition(tool: Tool) -> str:
    spec, said = tool.spec, (tool.read_only, tool.destructive, tool.needs_approval, tool.is_shell)
    text = json.dumps([spec.description, spec.parameters, said], sort_keys=True, default=str)
    return hashlib.sha256(text.encode(errors="replace")).hexdigest()[:24]


@hint_arguments(
    {name: f"write `Policy([Rule('{name}', 'TOOL')])`" for name in ("allow", "deny", "ask")},
    "Policy([Rule('allow', 'TOOL')])",
)
class Policy:
    """Rules in order: the first that matches decides. Without one, tools that need approval are asked about.

    Destructive tools and those of `Toolset.requiring_approval` need it. Tools that read files need it for
    files that look like secrets. All others are allowed. For a shell, each command of a line is decided
    separately, and the strictest decision holds. Standing decisions come before the rules and hold for all
    who share the policy, until revoked. Those about commands come after the rules.
    """

    def __init__(self, rules: Iterable[Rule] = ()) -> None:
        if isinstance(rules, Rule | str):
            raise TypeError(f"the rules of a policy are a list: `Policy([Rule('allow', 'read_*')])`, not {rules!r:.60}")
        self.rules = tuple(rules)
        for rule in self.rules:
            if not isinstance(rule, Rule):  # pyright: ignore[reportUnnecessaryIsInstance]
                raise TypeError(f"the rules of a policy are `Rule`s, not {rule!r:.60}")
        self._standing: dict[tuple[str, str | None], StandingDecision] = {}
        self._commands: tuple[StandingDecision, ...] = ()

    @property
    def decided(self) -> tuple[StandingDecision, ...]:
        """All standing decisions."""
        return (*self._standing.values(), *self._commands)

    def decide(self, call: ToolCall, tool: Tool) -> PolicyAction:
        """Return the action for a call of a tool."""
        return self.judge(canonicalize(tool, call))

    def judge(self, call: CanonicalCall) -> PolicyAction:
        """Return the action for a canonical call."""
        if self._standing:
            known = self._standing.get((call.name, None)) or self._standing.get(identify_call(call.call))
            if known is not None and not known.allowed:
                return "deny"
            if known is not None and known.definition in ("", _hash_definition(call.tool)):
                return "allow"
        if not call.tool.is_shell or not (self.rules or self._commands):
            return self._decide(call)
        return max((self._decide(call, each) for each in parse_call_commands(call)), key=lambda each: _STRICTNESS[each])

    def _decide(self, call: CanonicalCall, command: ShellCommand | None = None) -> PolicyAction:
        is_guarded = False
        for rule in self.rules:
            if rule.matches(call, command):
                return "ask" if rule.action == "allow" and is_guarded else rule.action
            # A program whose name is computed at run time may be the one that an earlier rule names.
            is_guarded |= rule.action != "allow" and command is not None and command.is_computed and rule.names(command)
        if command is not None and self._is_covered(call, command):
            return "allow"
        cannot_tell = command is not None and command.words is None
        return "ask" if cannot_tell or call.needs_approval else "allow"

    def _is_covered(self, call: CanonicalCall, command: ShellCommand) -> bool:
        """Return whether a standing decision about commands covers this one."""
        if not self._commands:
            return False
        from antiphon.tools.command_prefixes import describe_other_arguments, is_covered

        others, definition = describe_other_arguments(call, command.argument), _hash_definition(call.tool)
        return any(
            (each.tool, each.others, each.definition) == (call.name, others, definition)
            and any(is_covered(command, pattern) for pattern in each.commands)
            for each in self._commands
        )

    def always(self, decided: StandingDecision) -> None:
        """Store a standing decision."""
        if decided.commands:
            self._commands = tuple(dict.fromkeys((*self._commands, decided)))
            return
        self._standing = {**self._standing, (decided.tool, decided.arguments): decided}

    def revoke_standing_decision(self, decided: StandingDecision) -> None:
        """Remove a standing decision, so that such calls are asked about again."""
        self._standing = {key: each for key, each in self._standing.items() if each != decided}
        self._commands = tuple(each for each in self._commands if each != decided)

    def __repr__(self) -> str:
        return f"Policy({list(self.rules)!r})"


def identify_call(call: ToolCall) -> tuple[str, str]:
    """Return a key that is equal for calls of the same tool with equal arguments, in whatever order."""
    return call.name, json.dumps(call.arguments, sort_keys=True)


#: A policy that allows every call, for runs that are isolated in another way.
ALLOW_ALL = Policy([Rule("allow")])
