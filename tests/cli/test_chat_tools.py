"""Tools of one's own, those of a trusted repository, and those a conversation had before; its instructions too."""

import os
import sys
from pathlib import Path

import pytest

from antiphon import Store
from antiphon.chat.mcp_servers import resolve_mcp_server
from antiphon.config.trust import find_project, record_trust_decision
from antiphon.errors import AntiphonError
from antiphon.facts import Facts, register_model
from antiphon.facts.statements import forget_stated_facts
from antiphon.fakes import Fake, call
from antiphon.tools.user_tools import load_user_tools
from tests.cli.talking import chat, run, sent, tools_sent, trusted_repository

SEARCH = '''
from __future__ import annotations
from dataclasses import dataclass

print("loaded")

@dataclass
class Hit:
    title: str

def search(query: str, limit: int = 3) -> list[Hit]:
    """Search the notes.

    Args:
        query: Words to look for.
    """
    return [Hit(f"{query} {number}") for number in range(limit)]

def _hidden() -> str: ...
'''
MARKED = """
from antiphon import tool
from pathlib import Path

@tool(read_only=True)
def weather(city: str) -> str:
    "The weather of a city."
    return f"Rain in {city}"

def helper(x): ...
"""
#: A server in a few lines: one that is made of ours takes a second to start.
SERVER = """
import json, sys

TOOL = {"name": "double", "inputSchema": {"type": "object", "properties": {"number": {"type": "integer"}}}}
INFO = {"protocolVersion": "2025-06-18", "capabilities": {"tools": {}}, "serverInfo": {"name": "d", "version": "1"}}

for line in sys.stdin:
    asked = json.loads(line)
    if "id" in asked:
        given = asked.get("params", {}).get("arguments", {})
        answers = {
            "initialize": INFO,
            "tools/list": {"tools": [TOOL]},
            "tools/call": {"content": [{"type": "text", "text": str(2 * given.get("number", 0))}]},
        }
        print(json.dumps({"jsonrpc": "2.0", "id": asked["id"], "result": answers.get(asked["method"], {})}), flush=True)
"""


@pytest.fixture(autouse=True)
def place(fake: Fake, tmp_path: Path) -> Path:  # noqa: ARG001
    place = tmp_path / "work"
    (place / "mytools.py").write_text(SEARCH)
    (place / "marked.py").write_text(MARKED)
    return place


class TestOwn:
    def test_a_function_of_a_file_is_called_by_the_model(self, fake: Fake) -> None:
        fake.play(call("search", query="tea", limit=1), "Found tea.")
        done = run("ask", "Find tea.", "--tool", "mytools.py:search", "--json")
        assert done.exit_code == 0, done.output
        assert '"value":"Found tea."' in done.stdout
        assert "loaded" not in done.stdout, "what a file prints is no part of the answer"
        assert tools_sent(fake, 0) == ["search"]
        assert "Words to look for." in str(fake.requests[0].body["tools"])
        assert "tea 0" in sent(fake)

    def test_all_of_a_file_are_its_functions_or_what_is_marked(self, fake: Fake) -> None:
        fake.play("A.", "B.")
        run("ask", "a", "--tool", "mytools.py")
        assert tools_sent(fake) == ["search"]
        chat("b", arguments=("--tool", "marked.py", "--tools", "read"))
        assert tools_sent(fake)[-1] == "weather"
        assert {"read_file", "helper"} & set(tools_sent(fake)) == {"read_file"}

    @pytest.mark.parametrize(
        ("named", "content", "told"),
        [
            ("nothing.py", None, "there is no file 'nothing.py'"),
            (
                "mytools.py:serach",
                None,
                "there is no function `serach` in mytools.py; did you mean `mytools.py:search`?",
            ),
            ("mytools.py:", None, "`--tool` takes a Python file, or a function of one"),
            ("search", None, "`--tool` takes a Python file, or a function of one"),
            ("x.py", "def f(:", "x.py cannot be loaded: line 1: "),
            ("x.py", "import nothing_of_this_name", "x.py cannot be loaded: line 1: ModuleNotFoundError"),
            ("x.py", "\ndef f():\n  return 1 / 0\nf()", "line 3: ZeroDivisionError: division by zero"),
            ("x.py", "raise SystemExit(3)", "x.py cannot be loaded: line 1: SystemExit: 3"),
            ("x.py", "_y = 1", "x.py has no tools: no public function, and nothing marked with `@tool`"),
            ("x.py:y", "y = 1", "x.py: a tool is a function, not int"),
            ("x.py:f", "def f(*rest): ...", "x.py: `f` cannot be a tool"),
        ],
    )
    def test_a_mistake_is_told(self, place: Path, named: str, content: str | None, told: str) -> None:
        if content is not None:
            (place / "x.py").write_text(content)
        with pytest.raises(AntiphonError) as raised:
            load_user_tools(named)
        assert told in str(raised.value)
        sys.modules.pop("x", None)

    def test_what_lies_beside_a_file_is_found_and_hides_nothing(self, place: Path) -> None:
        (place / "beside_of_mine.py").write_text("WORD = 'near'")
        (place / "json.py").write_text("raise ValueError('not this one')")
        (place / "y.py").write_text(
            "import json\nfrom beside_of_mine import WORD\ndef f() -> str:\n  'F.'\n  return json.dumps(WORD)"
        )
        (tool,) = load_user_tools("y.py")
        assert tool() == '"near"'


class TestServers:
    def test_a_server_is_started_by_its_command(self, fake: Fake, place: Path) -> None:
        (place / "doubles.py").write_text(SERVER)
        fake.play(call("doubles_double", number=21), "42.", call("doubles_double", number=21))
        shown = run("ask", "Twice 21?", "--mcp", f"{sys.executable} doubles.py", "--yes")
        assert shown.stdout == "42.\n", shown.output
        assert tools_sent(fake, 0) == ["doubles_double"]
        assert "42" in sent(fake)
        # What does not say that it only reads is asked about, and here is nobody to ask.
        assert run("ask", "Twice 21?", "--mcp", f"{sys.executable} doubles.py").exit_code == 3

    @pytest.mark.parametrize(
        ("given", "name", "command"),
        [
            ("npx -y @scope/server-files@1.2 /tmp", "server-files", "npx"),
            ("uvx mcp-server-git --repository .", "mcp-server-git", "uvx"),
            ("python3.13 -m weather.server", "weather", "python3.13"),
            ("/opt/my\\ tools/serve.py", "serve", "/opt/my tools/serve.py"),
            ("https://example.com/mcp", "example_com", ""),
        ],
    )
    def test_a_server_is_called_after_what_is_started(
        self, given: str, name: str, command: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr("shutil.which", lambda each: each)
        server = resolve_mcp_server(given, {})
        assert (server.name, server.command) == (name, command)

    def test_a_server_that_is_not_there_is_told(self, place: Path) -> None:
        (place / "config").mkdir()
        done = run("ask", "a", "--mcp", "nosuchserver")
        assert done.exit_code != 0
        assert "there is no MCP server `nosuchserver`, and no command of that name" in str(done.exception)


class TestTurning:
    def test_single_tools_are_turned_on_and_off(self, fake: Fake) -> None:
        fake.play("A.", "B.", "C.")
        shown = chat(
            "/tools on write_file", "a", "/tools off git_* now", "b", "/tools on writ_file", "/tools none", "c",
            arguments=("--tools", "read", "--tool", "mytools.py"),
        )  # fmt: skip
        assert {"write_file", "search", "now", "git_log"} <= {*tools_sent(fake, 0)}
        assert {"write_file", "search", "now", "git_log"} & {*tools_sent(fake, 1)} == {"write_file", "search"}
        assert tools_sent(fake, 2) == ["search"]
        assert "there is no tool `writ_file`; did you mean `write_file`?" in shown
        assert "✓ write_file" in shown
        assert "  now  " in shown

    def test_all_there_is_is_listed(self) -> None:
        shown = chat("/tools", arguments=("--tool", "mytools.py:search"))
        assert "✓ search              Search the notes." in shown
        assert "mytools.py:search" in shown
        assert "    run_shell" in shown


class TestContinuing:
    def test_a_tool_that_was_turned_off_is_not_missed(self, fake: Fake) -> None:
        fake.play("A.", "B.")
        chat("a", "/tools off now", arguments=("--tools", "read"))
        shown = chat("b", arguments=("--continue",))
        assert "tools: read without now, as before" in shown
        assert "no longer available" not in shown
        assert "now" not in tools_sent(fake)

    def test_a_chat_goes_on_with_its_tools(self, fake: Fake) -> None:
        fake.play("A.", "B.", "C.")
        chat("/tools off now", "a", arguments=("--tools", "read", "--tool", "mytools.py:search"))
        shown = chat("b", arguments=("--continue",))
        assert "tools: read, mytools.py:search without now, as before" in " ".join(shown.split())
        assert tools_sent(fake, 1) == tools_sent(fake, 0)
        assert "search" in tools_sent(fake, 1)
        chat("c", arguments=("--continue", "--tools", "none"))
        assert tools_sent(fake, 2) == []

    def test_what_was_chosen_last_counts_though_nothing_was_said_with_it(self, fake: Fake) -> None:
        fake.play("A.", "B.")
        chat("a", "/tools none", "/tools on now", arguments=("--tools", "all", "--tool", "mytools.py"))
        shown = " ".join(chat("b", arguments=("--continue",)).split())
        assert "tools: mytools.py, now, as before" in shown
        assert "no longer" not in shown
        assert tools_sent(fake) == ["now", "search"]

    def test_an_ask_goes_on_with_its_tools(self, fake: Fake) -> None:
        fake.play("A.", "B.", "C.")
        run("ask", "a", "--tools", "read")
        run("ask", "b", "--continue", "--tool", "mytools.py")
        assert tools_sent(fake, 1) == [*tools_sent(fake, 0), "search"]
        run("ask", "c")
        assert tools_sent(fake, 2) == []

    def test_what_is_gone_is_named(self, fake: Fake, place: Path) -> None:
        fake.play("A.", "B.")
        chat("a", arguments=("--tools", "read", "--tool", "mytools.py"))
        (place / "mytools.py").unlink()
        shown = " ".join(chat("b", arguments=("--continue",)).split())
        assert "are no longer available: there is no file" in shown
        assert "tools of this conversation that are no longer available: search" in shown
        assert {"read_file", "search"} & {*tools_sent(fake)} == {"read_file"}

    def test_where_nobody_wrote_down_how_they_were_chosen_the_built_in_ones_stay(self, fake: Fake) -> None:
        fake.play("A.", "B.")
        chat("a", arguments=("--tools", "read"))
        with Store() as store, store.database.write_transaction() as connection:
            connection.execute("UPDATE sessions SET tools = NULL")
        chat("b", arguments=("--continue",))
        assert {*tools_sent(fake, 1)} == {*tools_sent(fake, 0)}

    def test_a_fork_has_the_tools_of_what_it_is_a_fork_of(self, fake: Fake) -> None:
        fake.play("A.")
        chat("a", arguments=("--tools", "read"))
        with Store() as store:
            other = store.find(store.fork("last"))
        assert (other.tools or {})["tools"] == "read"


class TestRepository:
    def test_in_a_trusted_repository_a_chat_can_read(self, fake: Fake, place: Path) -> None:
        fake.play("A.", "B.")
        trusted_repository(place)
        first = chat("a").partition("\n")[0]
        assert first == "model: openai/gpt-5 (ANTIPHON_MODEL); tools: read (you trust this repository)"
        assert "read_file" in tools_sent(fake)
        assert "write_file" not in tools_sent(fake)
        assert "tools: none" in chat("b", arguments=("--tools", "none"))
        assert tools_sent(fake) == []

    def test_elsewhere_it_is_told_how_to_get_them(self, fake: Fake, place: Path) -> None:
        fake.play("1", "2", "3")
        told = "tools: none `--tools read` lets the model read this directory"
        shown = " ".join(chat("a").split())
        assert told in shown
        assert "antiphon setup trust" not in shown
        (place / ".git").mkdir()
        assert f"{told}; `antiphon setup trust` allows it for every chat in this repository" in " ".join(
            chat("b").split()
        )
        record_trust_decision(find_project(), False)
        assert told in " ".join(chat("c").split())
        assert tools_sent(fake) == []

    def test_a_changed_configuration_takes_them_away(self, fake: Fake, place: Path) -> None:
        fake.play("1")
        trusted_repository(place)
        (place / "antiphon.toml").write_text('model = "gpt-5"\n')
        assert "tools: none" in chat("a")
        assert tools_sent(fake) == []


class TestInstructions:
    @pytest.fixture(autouse=True)
    def written(self, place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        (place / "AGENTS.md").write_text("Use tabs.\n```\ncode\n```\n")
        (place / "ANTIPHON.md").write_text("Use four blanks.\n")
        (place / "deep").mkdir()
        (place / "deep" / "AGENTS.md").write_text("Here, use two.\n")
        monkeypatch.chdir(place / "deep")

    def test_those_of_a_trusted_repository_are_sent_and_said(self, fake: Fake, place: Path) -> None:
        fake.play("A.")
        trusted_repository(place)
        shown = chat("a", "/system", arguments=("--system", "Be brief."))
        for line in (
            "instructions: AGENTS.md, 4 lines",
            "instructions: ANTIPHON.md, 1 line",
            "instructions: deep/AGENTS.md, 1 line",
        ):
            assert shown.count(f"{line}\n") == 2
        assert "system: Be brief.\n" in shown
        system = fake.requests[0].body["instructions"]
        places = [system.index(each) for each in ("Be brief.", "Use tabs.", "Use four blanks.", "Here, use two.")]
        assert places == sorted(places), "what counts more comes later"
        assert Store().load("last").system == system, "they are a part of what is saved"

    def test_a_file_for_another_program_counts_once(self, fake: Fake, place: Path) -> None:
        fake.play("1")
        (place / "CLAUDE.md").symlink_to("AGENTS.md")
        (place / "deep" / "CLAUDE.md").write_text("Here, use three.\n")
        trusted_repository(place)
        shown = chat("a")
        assert "instructions: CLAUDE.md" not in shown
        assert "instructions: deep/CLAUDE.md, 1 line\n" in shown
        system = fake.requests[0].body["instructions"]
        assert system.count("Use tabs.") == 1
        assert system.index("Here, use three.") < system.index("Here, use two.")

    def test_those_of_others_are_not(self, fake: Fake, place: Path) -> None:
        fake.play("1", "2")
        (place / ".git").mkdir()
        assert "AGENTS.md" not in chat("a")
        assert "instructions" not in fake.requests[0].body
        trusted_repository(place)
        assert "AGENTS.md" not in chat("b", arguments=("--no-instructions",))
        assert "instructions" not in fake.requests[1].body

    def test_a_chat_that_goes_on_keeps_those_it_had(self, fake: Fake, place: Path) -> None:
        trusted_repository(place)
        fake.play("1", "2", "3", "4")
        chat("a")
        (place / "AGENTS.md").write_text("Use nothing.\n")
        assert "instructions: AGENTS.md, 4 lines\n" in chat("b", "/system Be long.", "c", arguments=("--continue",))
        assert fake.requests[1].body["instructions"] == fake.requests[0].body["instructions"]
        # A change of the system text is appended: what was sent before stays as it was.
        assert fake.requests[2].body["instructions"] == fake.requests[0].body["instructions"]
        told = [each["content"] for each in fake.requests[2].body["input"] if each.get("role") == "developer"]
        assert [each.endswith(f"Be long.\n\n{fake.requests[0].body['instructions']}") for each in told] == [True]
        shown = chat("d", arguments=("--continue", "--no-instructions"))
        assert "AGENTS.md" not in shown
        told = [each["content"] for each in fake.requests[3].body["input"] if each.get("role") == "developer"]
        assert told[-1].endswith("\n\nBe long.")

    def test_a_link_out_of_the_repository_leads_nowhere(self, fake: Fake, place: Path) -> None:
        fake.play("1")
        (place.parent / "private.md").write_text("The secret.\n")
        (place / "AGENTS.md").unlink()
        (place / "AGENTS.md").symlink_to(place.parent / "private.md")
        trusted_repository(place)
        assert "instructions: AGENTS.md" not in chat("a")
        assert "The secret." not in sent(fake)

    @pytest.mark.parametrize("hard", [True, False])
    def test_a_link_to_a_secret_is_no_instruction(self, fake: Fake, place: Path, hard: bool) -> None:
        fake.play("1")
        (place / ".env").write_text("NAME=the-secret\n")
        (place / "AGENTS.md").unlink()
        if hard:
            os.link(place / ".env", place / "AGENTS.md")
        else:
            (place / "AGENTS.md").symlink_to(".env")
        trusted_repository(place)
        assert "instructions: AGENTS.md" not in chat("a")
        assert "the-secret" not in sent(fake)

    def test_those_that_leave_a_model_no_room_are_left_out_and_that_is_said(
        self,
        place: Path,
        fake: Fake,
        request: pytest.FixtureRequest,
    ) -> None:
        fake.play("1")
        register_model("openai/*", Facts(context=8192))
        request.addfinalizer(forget_stated_facts)
        (place / "AGENTS.md").write_text("many words\n" * 3000)
        trusted_repository(place)
        shown = " ".join(chat("a").split())
        assert (
            "ignored AGENTS.md, ANTIPHON.md, deep/AGENTS.md: too long for openai/gpt-5, whose context has 8,192"
            in shown
        )
        assert "instructions" not in fake.requests[0].body

    def test_a_long_one_is_cut_and_that_is_said(self, place: Path, fake: Fake) -> None:
        fake.play("1")
        (place / "AGENTS.md").write_text("word " * 9 + "\n" + "x" * 45 + "\n" * 40_000)
        trusted_repository(place)
        assert " lines of a longer file\n" in chat("a")
        assert len(sent(fake)) < 100_000
