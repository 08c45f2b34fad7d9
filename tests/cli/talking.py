"""A chat and an ask in this process, line by line; the fixture `fake` is there in place of OpenAI."""

import json
from pathlib import Path
from typing import Any

from click.testing import CliRunner, Result

from antiphon.cli import cli
from antiphon.config.trust import find_project, record_trust_decision
from antiphon.fakes import Fake


def chat(*lines: str, arguments: tuple[str, ...] = ()) -> str:
    """What a chat prints to which these lines are said."""
    result = run("chat", *arguments, said="\n".join(lines))
    assert result.exit_code == 0, result.output or repr(result.exception)
    return result.stdout


def run(*arguments: str, said: str = "") -> Result:
    """A command with this on its standard input; errors of ours are results, as they are in a shell."""
    return CliRunner().invoke(cli, [*arguments], input=said)


def sent(fake: Fake, number: int = -1) -> str:
    """All that a model was sent with a request, its tools apart."""
    return json.dumps([fake.requests[number].body.get(each) for each in ("instructions", "input")])


def tools_sent(fake: Fake, number: int = -1) -> list[str]:
    """Return the names of the tools that a model may call with a request, without the one that reads on in results.

    A tool that was turned off stays declared, and is not among those that are allowed.
    """
    body = fake.requests[number].body
    choice: Any = body.get("tool_choice")
    if choice == "none":
        return []
    allowed = choice["tools"] if isinstance(choice, dict) and choice.get("type") == "allowed_tools" else None
    tools: list[dict[str, Any]] = body.get("tools", []) if allowed is None else allowed
    return [tool["name"] for tool in tools if tool["name"] != "read_result"]


def trusted_repository(place: Path) -> Path:
    """Make this directory a repository that the user trusts."""
    (place / ".git").mkdir(exist_ok=True)
    record_trust_decision(find_project(place), True)
    return place
