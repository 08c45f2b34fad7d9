"""`antiphon show` on every kind of file it knows, and on those it does not."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click
import pytest
from click.testing import CliRunner
from click.testing import Result as Outcome
from rich.cells import cell_len

from antiphon.cli.show import show
from antiphon.conversation import (
    Chat,
    Conversation,
    Image,
    Origin,
    ProviderPayload,
    Reasoning,
    Text,
    ToolCall,
    ToolResult,
)
from antiphon.errors import AntiphonError
from antiphon.fakes import Answer, Fail, Fake, call
from antiphon.providers import Retry
from antiphon.results import Result, diff, file_list, table, text
from antiphon.session import Session
from tests.cli.test_commands import HISTORIES

WIDTH = 60


def invoke(*arguments: str | Path, width: int = WIDTH) -> Outcome:
    return CliRunner().invoke(show, [str(argument) for argument in arguments], env={"COLUMNS": str(width)})


def shown(*arguments: str | Path, width: int = WIDTH) -> str:
    outcome = invoke(*arguments, width=width)
    assert outcome.exit_code == 0, outcome.output
    assert "--json" in arguments or all(cell_len(line) <= width for line in outcome.stdout.splitlines())
    return "\n".join(line.rstrip() for line in outcome.stdout.splitlines())


def saved(path: Path, data: Any) -> Path:
    path.write_text(data if isinstance(data, str) else json.dumps(data))
    return path


@pytest.fixture
def conversation() -> Conversation:
    talk = Conversation("Be brief.")
    talk.add_user("What is the *weather*?")
    calls = [ToolCall("c1", "weather", {"city": "Oslo"}), ToolCall("c2", "rows"), ToolCall("c3", "edit")]
    talk.add_assistant([Reasoning("I should\nlook it up."), Text("Let me look."), *calls])
    rows = table([{"city": "Oslo", "rain": 3}, {"city": "Bergen", "rain": 9}])
    talk.add_tool_results(
        [
            ToolResult("c1", "Rain\nand wind"),
            ToolResult("c2", "…", semantic=rows),
            ToolResult("c3", "no such file\nat all", is_error=True),
        ]
    )
    talk.add_assistant("It **rains**.")
    talk.add_user([Chat("coder-2", "Thanks."), Image(url="https://example.com/a.png")])
    return talk


@pytest.fixture
def file(conversation: Conversation, tmp_path: Path) -> Path:
    conversation.save(tmp_path / "talk.json")
    return tmp_path / "talk.json"


class TestConversations:
    def test_turns_and_one_line_for_each_call(self, file: Path):
        output = shown(file)
        assert output.startswith(
            "system\n"
            "  Be brief.\n"
            "\n"
            "user\n"
            "  What is the weather?\n"
            "\n"
            "assistant\n"
            "  ∴ I should\n"
            "\n"
            "  Let me look.\n"
            "\n"
            '  ✓ weather(city="Oslo")  Rain (+1 line)\n'
            "  ✓ rows()  2 rows\n"
            "  ✗ edit()\n"
            "    no such file\n"
            "    at all\n"
            "\n"
            "  It rains.\n"
            "\n"
            "@coder-2\n"
            "  Thanks.\n"
            "\n"
            "user\n"
        )

    def test_full_opens_everything(self, file: Path):
        output = shown(file, "--full")
        assert "look it up." in output
        assert "and wind" in output
        assert "Bergen" in output

    def test_what_was_cut_for_the_model_is_whole_for_people(self, conversation: Conversation, tmp_path: Path):
        conversation.add_assistant([ToolCall("c9", "read")])
        conversation.keep("result:c9", "beginning\nmiddle\nend")
        conversation.add_tool_results([ToolResult("c9", "beginning", handle="result:c9")])
        conversation.save(tmp_path / "talk.json")
        assert "middle" in shown(tmp_path / "talk.json", "--full")

    def test_only_one_kind(self, file: Path):
        output = shown(file, "--result-kind", "tab*")
        assert output.startswith("✓ rows()\n")
        assert "Bergen" in output
        assert "weather" not in output
        assert "no such file" in shown(file, "--result-kind", "error")

    def test_a_kind_that_is_not_there(self, file: Path):
        outcome = invoke(file, "--result-kind", "git.*")
        assert outcome.exit_code == 1
        assert outcome.stdout == ""
        message = "there is no result of kind 'git.*'; there are: error (1), table (1), text (1)"
        assert message in outcome.stderr

    def test_json(self, file: Path):
        assert json.loads(shown(file, "--json")) == json.loads(file.read_text())
        (rows,) = json.loads(shown(file, "--json", "--result-kind", "table"))
        assert Result.from_json(rows).data["rows"][1] == {"city": "Bergen", "rain": 9}

    @pytest.mark.parametrize("width", [20, 40, 120])
    def test_any_width(self, file: Path, width: int):
        shown(file, width=width)
        shown(file, "--full", width=width)

    def test_a_call_that_waits_for_its_result_is_told_as_interrupted(self, tmp_path: Path):
        talk = Conversation()
        talk.add_user("hi")
        talk.add_assistant([ToolCall("c1", "f")])
        talk.save(tmp_path / "c.json")
        outcome = invoke(tmp_path / "c.json")
        assert "✗ f()" in outcome.stdout
        assert "has no result; it is answered as interrupted" in outcome.stderr

    @pytest.mark.parametrize("name", HISTORIES)
    def test_histories_of_others(self, name: str, tmp_path: Path):
        path = saved(tmp_path / "h.json", HISTORIES[name])
        output = shown(path)
        assert "user\n  hi\n" in output
        assert "✗ f(a=1)\n    " in output
        assert output.endswith("user\n  never mind")
        assert json.loads(shown(path, "--json"))["format"] == "antiphon/conversation"

    def test_what_only_one_provider_knows_is_named(self, tmp_path: Path):
        search = {"type": "server_tool_use", "id": "s1", "name": "web_search", "input": {"query": "x"}}
        history = [{"role": "user", "content": "hi"}, {"role": "assistant", "content": [search]}]
        assert "web_search: x" in shown(saved(tmp_path / "h.json", {"system": "s", "messages": history}))


class TestResults:
    def test_one_result(self, tmp_path: Path):
        path = saved(tmp_path / "r.json", table([{"a": 1, "b": "x"}]).to_json())
        assert re.search(r"1.*x", shown(path))
        assert json.loads(shown(path, "--json"))["kind"] == "table"
        assert "1" in shown(path, "--result-kind", "table")
        assert invoke(path, "--result-kind", "text").exit_code == 1

    def test_the_shapes_of_old(self, tmp_path: Path):
        flat = {"kind": "diff", "path": "a.txt", "original": "x\n", "modified": "y\n", "isNew": False}
        path = saved(tmp_path / "r.json", flat)
        output = shown(path)
        assert "x" in output
        assert "y" in output
        assert json.loads(shown(path, "--json"))["data"]["path"] == "a.txt"

    def test_several_by_their_priority(self, tmp_path: Path):
        low, high = text("below"), text("above", priority=5)
        output = shown(saved(tmp_path / "r.json", [low.to_json(), high.to_json()]))
        assert output.index("above") < output.index("below")

    def test_all_kinds(self, tmp_path: Path):
        entries = file_list("src", [{"name": "a.py", "type": "file"}])
        for result in (entries, diff("a.py", "x", "y"), Result("my.own", {"deep": [1, 2]})):
            assert shown(saved(tmp_path / "r.json", result.to_json()))


@pytest.fixture(scope="module")
def fake() -> Iterator[Fake]:
    with Fake() as served:
        yield served


class TestRecordings:
    @pytest.mark.parametrize(
        "model", ["anthropic/claude-sonnet-5", "openai-chat/gpt-4o", "openai/gpt-5", "google/gemini-3-pro"]
    )
    @pytest.mark.parametrize("stream", [False, True])
    def test_exchanges_of_one_run_are_one_conversation(self, fake: Fake, model: str, stream: bool, tmp_path: Path):
        def weather(city: str) -> str:
            """The weather."""
            return f"Rain in {city}"

        fake.reset()
        fake.play(Answer("Let me look.", [call("weather", city="Oslo")]), "It rains.")
        path = tmp_path / "run.jsonl"
        session = Session(fake.connect(model, record=path), [weather])
        if stream:
            with session.stream("Weather?") as events:
                list(events)
        else:
            session.vibe("Weather?")
        output = shown(path)
        assert output.startswith("2 exchanges · ")
        assert model.rpartition("/")[2] in output.splitlines()[0]
        assert output.count("Weather?") == 1
        assert '  ✓ weather(city="Oslo")  Rain in Oslo\n' in output
        assert output.endswith("\n  It rains.")
        (whole,) = json.loads(shown(path, "--json"))
        assert len(whole["turns"]) == 3

    def test_a_question_that_is_asked_anew_is_a_conversation_of_its_own(self, fake: Fake, tmp_path: Path):
        fake.reset()
        fake.play("One.", "Two.", "One.")
        path = tmp_path / "run.jsonl"
        model = fake.connect("anthropic/claude-sonnet-5", record=path)
        session = Session(model)
        session.chat("first")
        session.chat("second")
        Session(model).chat("first")
        assert [len(each["turns"]) for each in json.loads(shown(path, "--json"))] == [4, 2]

    def test_failures_are_told_and_other_conversations_kept_apart(self, fake: Fake, tmp_path: Path):
        fake.reset()
        fake.play(Fail(529, "Overloaded"), "One.", "Two.")
        path = tmp_path / "run.jsonl"
        model = fake.connect("anthropic/claude-sonnet-5", record=path, retry=Retry(attempts=2, first_wait=0.01))
        Session(model).chat("first")
        Session(model).chat("second")
        output = shown(path)
        assert "exchange 1 has no answer: status 529, Overloaded" in output
        assert [line for line in output.splitlines() if "anthropic" in line] == [
            "2 exchanges · anthropic · claude-sonnet-5",
            "exchange 3 · anthropic · claude-sonnet-5",
        ]
        assert output.index("One.") < output.index("second")

    def test_a_recording_of_one_exchange(self, fake: Fake, tmp_path: Path):
        fake.reset()
        fake.play("Hi.")
        Session(fake.connect("openai/gpt-5", record=tmp_path / "r")).chat("Hello.")
        assert shown(tmp_path / "r").endswith("assistant\n  Hi.")

    def test_a_recording_that_breaks_off(self, tmp_path: Path):
        good = {"path": "/v1/messages", "request": {"messages": []}, "status": 200, "response": ""}
        path = saved(tmp_path / "r", json.dumps(good) + '\n{"path": "/v1/mess')
        assert "line 2 is not JSON" in failure(path)
        saved(path, json.dumps(good) + '\n{"path": 1}')
        assert "line 2 is not an exchange" in failure(path)


def failure(path: Path) -> str:
    outcome = invoke(path)
    assert isinstance(outcome.exception, AntiphonError), "the group makes this exit code 2"
    return str(outcome.exception)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", "is not JSON"),
        ("hello\nworld\n", "is not JSON"),
        ("3", "is not a history, replay file or result"),
        ('{"a": 1}', "is not a history, replay file or result"),
        ('{"kind": "Not A Kind", "data": 1}', "a result has a `kind` such as"),
        ('{"format": "antiphon/conversation", "version": 9}', "this release reads versions 1 and 2"),
        ('{"kind": "text", "data": {}, "display": {"language": 3}}', "`display.language` is 3"),
    ],
)
def test_files_that_are_none_of_these(content: str, message: str, tmp_path: Path):
    assert message in failure(saved(tmp_path / "f.json", content))


def test_no_such_file(tmp_path: Path):
    assert "No such file" in failure(tmp_path / "none")


def test_what_a_file_holds_is_shown_not_obeyed(tmp_path: Path):
    hostile = "\x1b]0;owned\x07\u202e[bold]x[/bold]\x9b2J &#x202e;"
    talk = Conversation(hostile)
    native = ProviderPayload(Origin(hostile, "anthropic", hostile), {"type": hostile})
    talk.add_user([hostile, Chat("x", hostile)])
    talk.add_assistant([Reasoning(hostile, native), Text(hostile), ToolCall("c1", "f", {hostile: hostile})])
    talk.add_tool_results([ToolResult("c1", hostile, semantic=text(hostile, summary=hostile))])
    talk.save(tmp_path / "c.json")
    for options in ([], ["--full"], ["--result-kind", "text"], ["--json"]):
        output = shown(tmp_path / "c.json", *options)
        assert not re.search("[\x00-\x09\x0b-\x1f\x7f-\x9f\u202e]", output)
        assert "owned" in output


def test_it_is_a_command_of_its_name():
    assert isinstance(show, click.Command)
    assert show.name == "show"


@pytest.mark.parametrize(("before", "after"), [("[", "]"), ('{"a":', "}"), ('[{"]": ', "}]")])
def test_a_result_too_deep_to_read_shows_its_summary(tmp_path: Path, before: str, after: str):
    path = tmp_path / "deep.json"
    deep = before * 3000 + '"]}"' + after * 3000
    path.write_text(f'{{"kind": "x.deep", "summary": "deep as a well", "data": {deep}, "title": "well"}}')
    result = invoke(path)
    assert result.exit_code == 0, result.output
    assert "deep as a well" in result.output
