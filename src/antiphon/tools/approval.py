"""Who must allow a call: policies that decide by tool and argument, and the people they ask."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from typing import Literal

from antiphon._json import dumps
from antiphon.conversation import ToolCall
from antiphon.tools.tool import Tool

Action = Literal["ask", "allow", "deny"]


@dataclass(frozen=True, slots=True)
class Rule:
    """What happens to calls of the tools that match `tool`, if their arguments match too.

    Patterns are those of file names: `Rule("allow", "run_shell", {"command": "git *"})`. Arguments that are no text are
    matched as JSON.
    """

    action: Action
    tool: str = "*"
    arguments: Mapping[str, str] = field(default_factory=dict[str, str])

    def matches(self, call: ToolCall) -> bool:
        """Whether this rule speaks of the call."""
        if not fnmatchcase(call.name, self.tool):
            return False
        given = call.arguments
        return all(name in given and fnmatchcase(_text(given[name]), glob) for name, glob in self.arguments.items())


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

    Destructive tools and those wrapped by `requiring_approval` need it; the rest are allowed.
    """

    rules: tuple[Rule, ...] = ()

    def decide(self, call: ToolCall, tool: Tool) -> Action:
        """What to do with a call."""
        for rule in self.rules:
            if rule.matches(call):
                return rule.action
        return "ask" if tool.needs_approval or tool.destructive else "allow"

    def remembering(self, call: ToolCall, allowed: bool) -> Policy:
        """This policy with the same decision for calls of the same tool with the same arguments."""
        exact = {name: _escaped(_text(value)) for name, value in call.arguments.items()}
        return Policy((Rule("allow" if allowed else "deny", call.name, exact), *self.rules))


def _escaped(text: str) -> str:
    return "".join(f"[{char}]" if char in "*?[" else char for char in text)


#: Every call is allowed: for runs that somebody else keeps safe.
ALLOW_ALL = Policy((Rule("allow"),))
