"""Who must allow a call: policies that decide by tool and argument, and the people they ask."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Mapping
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
class Decision:
    """The answer to an approval request.

    A denial's `reason` is told to the model. `remember` makes it hold for the same call for the rest of the run.
    """

    allowed: bool
    reason: str = ""
    remember: bool = False


@dataclass(frozen=True, slots=True)
class ApprovalRequest:
    """A call that waits for somebody to allow it."""

    call: ToolCall
    tool: Tool


Approver = Callable[[ApprovalRequest], Decision | bool | Awaitable[Decision | bool]]


@dataclass(frozen=True, slots=True)
class Policy:
    """Rules in order: the first that matches decides. Without one, tools that need approval are asked about.

    Destructive tools and those wrapped by `requiring_approval` need it, and those that read files do for files that
    look like secrets; the rest are allowed.
    """

    rules: tuple[Rule, ...] = ()
    #: What was decided before about the very same calls; it comes before the rules.
    remembered: Mapping[tuple[str, str], Action] = field(default_factory=dict[tuple[str, str], Action])

    def decide(self, call: ToolCall, tool: Tool) -> Action:
        """What to do with a call."""
        if self.remembered and (known := self.remembered.get(identity(call))):
            return known
        given = call.arguments
        if any(rule.arguments for rule in self.rules):
            given = tool.arguments.converted(given)
        for rule in self.rules:
            if rule.matches(call.name, given):
                return rule.action
        return "ask" if tool.wants_approval(call.arguments) else "allow"

    def remembering(self, call: ToolCall, allowed: bool) -> Policy:
        """This policy with the same decision for calls of the same tool with the same arguments."""
        return Policy(self.rules, {**self.remembered, identity(call): "allow" if allowed else "deny"})


def identity(call: ToolCall) -> tuple[str, str]:
    """What two calls that ask for the same have in common, however their arguments are spelled."""
    return call.name, json.dumps(call.arguments, sort_keys=True)


#: Every call is allowed: for runs that somebody else keeps safe.
ALLOW_ALL = Policy((Rule("allow"),))
