"""One canonical call: what is judged, shown, kept as *always*, run and recorded is the same value."""

from __future__ import annotations

import os
from enum import Enum
from pathlib import Path
from typing import Any

import pytest

from antiphon import Session
from antiphon.conversation import ToolCall
from antiphon.effects import HumanAnswer
from antiphon.fakes import Fake, call
from antiphon.session import NeedsHuman, Question
from antiphon.terminal import Person
from antiphon.tools import Policy, Rule, Tool, ToolDefinitionError, Toolset, as_tool, renamed, tool
from antiphon.tools.builtin import file_tools, shell_tool


def read(path: str) -> str:
    """Read a file."""
    return f"read {path}"


def decide(made: Any, *rules: Rule, **arguments: Any) -> str:
    found = as_tool(made)
    return Policy(rules).decide(ToolCall("c", found.name, arguments), found)


def run(made: Any, policy: Policy | None = None, answer: Any = False, **arguments: Any) -> tuple[list[Question], Any]:
    """Return what a person is asked when a model makes a call, and the record of the call."""
    found, asked = as_tool(made), list[Question]()

    def people(question: Question) -> Any:
        asked.append(question)
        return answer

    with Fake([call(found.name, **arguments), "done"]) as fake:
        result = Session(fake.connect("openai/gpt-5.4"), [found], policy=policy, people=people).vibe("Go.")
    return asked, result.tool_calls[0]


TEMPORARY = Rule("allow", "read", {"path": "/tmp/*"})
NEVER = Rule("deny", "read", {"path": "/etc/*"})


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "work").mkdir()
    monkeypatch.chdir(tmp_path / "work")
    return tmp_path / "work"


class TestPaths:
    @pytest.mark.parametrize("path", ["/tmp/../etc/passwd", "/tmp/x/../../etc/passwd", "/etc/./passwd", "//etc/passwd"])
    def test_no_spelling_of_a_path_passes_a_rule_that_denies_it(self, path: str):
        assert decide(read, TEMPORARY, NEVER, path=path) == "deny"

    def test_a_link_is_judged_by_where_it_leads(self, here: Path):
        (here / "notes.md").symlink_to("/etc/passwd")
        (here / "docs").mkdir()
        allowed = Rule("allow", "read", {"path": "*.md"}), Rule("ask")
        assert decide(read, *allowed, path="notes.md") == "ask"
        assert decide(read, NEVER, path="notes.md") == "deny"
        assert decide(read, *allowed, path="docs/a.md") == "allow"
        (here / "secret").mkdir()
        (here / "docs" / "in").symlink_to(here / "secret")
        rules = Rule("deny", "read", {"path": "secret/*"}), Rule("allow", "read", {"path": "docs/*"}), Rule("ask")
        assert decide(read, *rules, path="docs/in/x") == "deny"
        assert decide(read, *rules, path="docs/../secret/x") == "deny"
        assert decide(read, *rules, path=str(here / "docs" / "a")) == "allow"
        assert decide(read, Rule("deny", "read", {"path": "docs/in/*"}), path="secret/x") == "deny"

    def test_a_link_stays_denied_by_its_own_name(self, here: Path):
        (here / "prod.env").symlink_to("values")
        assert decide(read, Rule("deny", "read", {"path": "*.env"}), path="prod.env") == "deny"

    def test_a_text_that_is_no_declared_path_is_not_allowed_by_its_spelling(self):
        def fetch(where: str) -> str:
            return where

        rules = Rule("allow", "fetch", {"where": "/tmp/*"}), Rule("ask")
        assert decide(fetch, *rules, where="/tmp/a") == "allow"
        assert decide(fetch, *rules, where="/tmp/../etc/passwd") == "ask"
        web = Rule("allow", "fetch", {"where": "https://example.com/a/*"}), Rule("ask")
        assert decide(fetch, *web, where="https://example.com/a/b") == "allow"
        assert decide(fetch, *web, where="https://example.com/a/../b") == "ask"

    def test_every_path_of_a_list_counts(self):
        def read_all(paths: list[Path]) -> str:
            return str(paths)

        rules = Rule("deny", "read_all", {"paths": "/etc/*"}), Rule("allow", "read_all", {"paths": "/tmp/*"})
        assert decide(read_all, *rules, paths=["/tmp/a", "/tmp/../etc/x"]) == "deny"
        assert decide(read_all, *rules, Rule("ask"), paths=["/tmp/a", "/var/x"]) == "ask"
        assert decide(read_all, *rules, Rule("ask"), paths=["/tmp/a", "/tmp/b"]) == "allow"

    def test_what_runs_and_what_is_recorded_is_what_was_judged(self, here: Path):
        (here / "link").symlink_to("real.txt")
        for given, real in {"a/../b.txt": "b.txt", "./.env": ".env", "link": "real.txt", "/tmp/../etc": "/etc"}.items():
            _, record = run(read, path=given)
            assert (record.args, record.result) == ({"path": real}, f"read {real}")

    def test_a_text_that_only_looks_like_a_path_is_left_alone(self):
        for text in ("a.b", "data//x", "https://x//y/../z", "two\nlines/../x", "", "~/x"):
            assert run(read, path=text)[1].result == f"read {text}"
        plain = tool(paths=())(read)
        assert run(plain, path="a/../b")[1].result == "read a/../b"

    def test_the_approval_shows_where_a_link_leads(self, here: Path):
        (here / "new.md").symlink_to("Makefile")
        writes = next(each for each in file_tools(["."]) if each.name == "write_file")
        (question,), _ = run(writes, answer=True, path="new.md", content="x")
        assert question.call is not None
        assert question.call.arguments["path"] == "Makefile"
        assert "`new.md` leads to `Makefile`" in question.text
        assert (here / "Makefile").read_text() == "x"

    def test_a_file_with_other_hard_links_is_asked_about(self, here: Path):
        outside = here.parent / "outside"
        outside.write_text("hunter2")
        for name in ("notes.txt", "node_modules/a/notes.txt"):
            (here / name).parent.mkdir(parents=True, exist_ok=True)
            os.link(outside, here / name)
        (here / "plain.txt").write_text("plain")
        read_file, *_ = file_tools(["."])
        (question,), record = run(read_file, answer=False, path="notes.txt")
        assert question.text.endswith(" `notes.txt` has other hard links: it may also be a file elsewhere.")
        assert question.notes == "`notes.txt` has other hard links: it may also be a file elsewhere."
        assert record.result is None or "hunter2" not in record.result
        said: list[str] = []
        Person(lambda _: "n", lambda text: said.append(text.plain)).answer(question)
        assert said[0].endswith(f"\n{question.notes}")
        for name in ("plain.txt", "node_modules/a/notes.txt"):
            assert not run(read_file, answer=False, path=name)[0]
        for made in (read_file, as_tool(read)):
            rule = Rule("allow", "*", {"path": f"{here}/*"}), Rule("ask")
            assert decide(made, *rule, path="notes.txt") == "ask"
            assert decide(made, *rule, path="plain.txt") == "allow"
            assert decide(made, Rule("deny", "*", {"path": "secret/*"}), Rule("allow"), path="notes.txt") == "allow"

    def test_what_was_allowed_is_asked_again_when_it_leads_elsewhere(self, here: Path):
        (here / "new.md").symlink_to("one")
        made = next(each for each in file_tools(["."]) if each.name == "write_file")
        with Fake([call("write_file", path="new.md", content="x")]) as fake:
            session = Session(fake.connect("openai/gpt-5.4"), [made])
            with pytest.raises(NeedsHuman):
                session.vibe("Go.")
            session.allow(session.pending_questions[0].id)
            (here / "new.md").unlink()
            (here / "new.md").symlink_to("two")
            with pytest.raises(NeedsHuman) as waiting:
                session.resume()
        assert "`new.md` leads to `two`" in str(waiting.value)
        assert not (here / "one").exists()
        assert not (here / "two").exists()


class Mode(Enum):
    SOFT = "soft"
    HARD = "hard"


class TestAsksAbout:
    def test_it_is_called_with_the_arguments_it_names(self):
        guarded = as_tool(read, asks_about=lambda path: path == ".env")
        assert [decide(guarded, path=path) for path in (".env", "./.env", "x/../.env", "a.txt")] == ["ask"] * 3 + [
            "allow"
        ]

        def move(source: str, target: str, force: bool = False) -> str:
            return f"{source} {target} {force}"

        both = as_tool(move, asks_about=lambda target, source: target == source)
        assert decide(both, source="a", target="a") == "ask"
        assert decide(as_tool(move, asks_about=lambda **given: given["force"]), source="a", target="b") == "allow"

    def test_it_sees_converted_values_and_defaults(self):
        def reset(mode: Mode = Mode.HARD, force: bool = True) -> str:
            return f"{mode} {force}"

        hard = as_tool(reset, asks_about=lambda mode: mode is Mode.HARD)
        assert [decide(hard), decide(hard, mode="hard"), decide(hard, mode="soft")] == ["ask", "ask", "allow"]
        forced = as_tool(reset, asks_about=lambda force: force is True)
        assert [decide(forced, force=each) for each in ("true", 1, "yes", True, 0)] == ["ask"] * 4 + ["allow"]
        assert decide(forced) == "ask"

    def test_one_that_cannot_be_called_is_told_of_at_once(self):
        with pytest.raises(ToolDefinitionError, match="takes `file`, but the tool's parameters are `path`"):
            as_tool(read, asks_about=lambda file: file == 1)
        with pytest.raises(ToolDefinitionError, match="is a function of its arguments"):
            as_tool(read, asks_about=True)  # type: ignore[arg-type]

    def test_one_that_fails_asks(self):
        assert decide(as_tool(read, asks_about=lambda path: path.name == "x"), path="x") == "ask"

    def test_what_cannot_run_is_not_asked_about(self):
        asked, record = run(tool(destructive=True)(read), answer=True, file="x")
        assert asked == []
        assert "do not fit" in record.error


def run_shell(command: str) -> str:
    """Run a command."""
    return command


GIT = Rule("allow", "*", {"command": "git log *"})


class TestShells:
    made = shell_tool()

    def test_every_command_of_a_line_must_be_allowed(self):
        assert decide(self.made, GIT, command="git log HEAD") == "allow"
        assert decide(self.made, GIT, command="git log @ && git log HEAD | git log x") == "allow"
        for more in ("; rm -rf ~", " && rm x", " | sh", "\nrm x", " $(rm x)", " `rm x`", " > ~/.bashrc", " & rm x"):
            assert decide(self.made, GIT, command=f"git log HEAD{more}") == "ask"
        both = GIT, Rule("allow", "*", {"command": "ls *"})
        assert decide(self.made, *both, command="git log HEAD; ls -l") == "allow"

    def test_one_command_that_is_denied_denies_the_line(self):
        rules = Rule("deny", "*", {"command": "rm *"}), Rule("allow", "*", {"command": "*"})
        for line in ("rm x", "ls; rm x", "ls && /bin/rm x", "echo $(rm x)", "ls\nrm -rf ~", "(rm x)"):
            assert decide(self.made, *rules, command=line) == "deny", line
        assert decide(self.made, *rules, command="ls; echo $(date)") == "allow"

    def test_what_cannot_be_taken_apart_is_asked_about(self):
        harmless = tool(is_shell=True)(run_shell)
        assert decide(harmless, GIT, command="git log $(x)") == "ask"
        assert decide(harmless, GIT, command="git log x") == "allow"

    def test_a_list_of_words_is_one_command(self):
        def start(command: list[str]) -> str:
            return command[0]

        assert decide(start, GIT, Rule("ask"), command=["git", "log", "; rm x"]) == "allow"
        assert decide(start, GIT, Rule("ask"), command=["rm", "x"]) == "ask"

    @pytest.mark.parametrize(
        "shell",
        [renamed(made, "terminal"), *Toolset([made]).prefixed("my_"), tool(destructive=True)(run_shell), made],
        ids=lambda each: each.name,
    )
    def test_an_always_allows_the_same_line_alone(self, shell: Tool):
        policy = Policy()
        run(shell, policy, HumanAnswer(allowed=False, always=True), command="ls")
        assert [each.arguments for each in policy.decided] == ['{"command": "ls"}']
        asked, _ = run(shell, policy, False, command="rm -rf ~")
        assert len(asked) == 1

    def test_being_a_shell_is_declared(self):
        def type_in(line: str) -> str:
            return line

        assert tool(is_shell=True)(type_in).is_shell
        assert not as_tool(type_in).is_shell
        assert not tool(is_shell=False)(run_shell).is_shell
