"""Standing decisions about commands by their first words: what they are offered for, and what they cover."""

import pytest

from antiphon.conversation import ToolCall
from antiphon.tools import Policy, Rule, Tool, as_tool
from antiphon.tools.approval import offer_command_decision
from antiphon.tools.builtin import shell_tool
from antiphon.tools.canonical_call import CanonicalCall, canonicalize


def line(command: str, tool: Tool | None = None, **more: str) -> CanonicalCall:
    found = tool or shell_tool()
    return canonicalize(found, ToolCall("c", found.name, {"command": command, **more}))


def offered(command: str) -> tuple[str, ...]:
    decision = offer_command_decision(line(command))
    return () if decision is None else decision.commands


def decide(granted: str, asked: str, *rules: Rule) -> str:
    policy = Policy(rules)
    decision = offer_command_decision(line(granted))
    assert decision is not None
    policy.always(decision)
    return policy.judge(line(asked))


@pytest.mark.parametrize(
    ("command", "commands"),
    [
        ("git diff --stat src", ("git diff *",)),
        ("git log -3 2>&1 | head -5", ("git log *", "head *")),
        ("ls && ls -l", ("ls *",)),
        ("npm run lint:fix -- --quiet", ("npm run lint:fix *",)),
        ("cargo test parser", ("cargo test *",)),
        ("grep -rn 'a b' src", ("grep *",)),
    ],
)
def test_it_is_offered_for_the_commands_of_a_line(command: str, commands: tuple[str, ...]) -> None:
    assert offered(command) == commands


@pytest.mark.parametrize(
    "command",
    [
        *("git push", "git -C .. diff", "git -c core.pager=sh diff", "git diff --output=x", "git config x y", "git"),
        *("ls > out", "ls $HOME", "ls `id`", "ls $(id)", "ls &", "(ls)", "X=1 ls", "ls <(id)", "if true; then ls; fi"),
        *("env ls", "sudo ls", "xargs ls", "find . -delete", "sh -c ls", "bash x", "python x.py", "timeout 5 ls"),
        *("rm a", "tee a", "curl x", "./ls", "/bin/ls", "npm run", "npm install x", "uniq a b", "make test"),
        *("cat .env", "cat ../x", "cat /etc/passwd", "grep -f/etc/passwd x", "ls ~", "cat *", "grep --file=../x y"),
        *("ls; rm a", "ls | sh", "ls\nrm a", "sort -o a b", "sort --out a b", "ls;cat a;head a;tail a", "", "# ls"),
    ],
)
def test_it_is_not_offered_for_anything_else(command: str) -> None:
    assert offered(command) == ()


@pytest.mark.parametrize("asked", ["git diff", "git diff --stat a/b", "git  diff x | git diff", "'git' \"diff\" x"])
def test_a_decision_covers_the_same_commands_with_other_arguments(asked: str) -> None:
    assert decide("git diff src", asked) == "allow"


@pytest.mark.parametrize(
    "asked",
    [
        *("git status", "git diff; git status", "git diff | sh", "git diff > x", "git diff $(id)", "git -C x diff"),
        *("git diff --output=x", "git diff --ext-diff", "git diff ../x", "git diff /etc/passwd", "git diff .env"),
        *("git diff *.py", "sudo git diff", "env git diff", "X=1 git diff", "git diff &", "/usr/bin/git diff"),
        *("git diff\nrm a", "gitdiff", "git 'diff x'", "git diff --out=x", "git diff `id`"),
    ],
)
def test_a_decision_covers_nothing_else(asked: str) -> None:
    assert decide("git diff src", asked) == "ask"


def test_rules_come_before_a_decision() -> None:
    rule = Rule("deny", "run_shell", {"command": "git diff --stat *"})
    assert decide("git diff src", "git diff --stat x", rule) == "deny"
    assert decide("git diff src", "git diff --stat x", Rule("ask", "run_shell", rule.arguments)) == "ask"
    assert decide("git diff src", "git diff x", rule) == "allow"


def test_a_decision_holds_for_the_same_other_arguments() -> None:
    def execute(command: str, cwd: str = ".") -> str:
        """Run a command."""
        return command + cwd

    tool = as_tool(execute, destructive=True)
    assert tool.is_shell
    policy, decision = Policy(), offer_command_decision(line("ls", tool, cwd="a"))
    assert decision is not None
    policy.always(decision)
    assert policy.judge(line("ls -l", tool, cwd="a")) == "allow"
    assert policy.judge(line("ls -l", tool, cwd="b")) == "ask"


def test_a_decision_ends_when_the_tool_changes_or_it_is_revoked() -> None:
    policy, decision = Policy(), offer_command_decision(line("ls"))
    assert decision is not None
    policy.always(decision)
    policy.always(decision)
    assert [str(each) for each in policy.decided] == ["run_shell(ls *)"]
    assert policy.judge(line("ls", shell_tool(allow=["ls *"]))) == "ask"
    policy.revoke_standing_decision(policy.decided[0])
    assert policy.judge(line("ls")) == "ask"


def test_nothing_is_offered_for_a_tool_that_is_no_shell() -> None:
    def save(text: str) -> str:
        """Save a text."""
        return text

    tool = as_tool(save, destructive=True)
    assert offer_command_decision(canonicalize(tool, ToolCall("c", "save", {"text": "ls"}))) is None
