"""Plan mode, the list of steps, skills, and notifications of a chat."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from antiphon.cli.chat_front.notification import ABSENT_SECONDS, Notifier, format_notification
from antiphon.config.trust import find_project, record_trust_decision
from antiphon.fakes import Answer, Fake, call
from tests.cli.chatting import GPT, Start, chat_starter
from tests.cli.talking import tools_sent
from tests.terminal.emulator import Emulator

PLAN = "# Plan\n\n1. Write `a.txt`."


@pytest.fixture
def fake() -> Iterator[Fake]:
    with Fake() as fake:
        yield fake


@pytest.fixture
def start(fake: Fake, tmp_path: Path) -> Iterator[Start]:
    yield from chat_starter(fake, tmp_path)


class TestPlanMode:
    def test_it_only_reads_until_the_person_agrees(self, fake: Fake, start: Start, tmp_path: Path) -> None:
        fake.play(call("write_file", path="a.txt", content="x"), call("submit_plan", plan=PLAN))
        fake.play(call("write_file", path="a.txt", content="x"), "Written.")
        chat = start("-m", GPT, "--tools", "all", "--plan", "--yes")
        chat.expect("plan mode: only tools that change nothing")
        chat.shows("· plan mode")
        chat.send("Make a.\r")
        chat.expect("write_file")
        chat.expect("Write a.txt.")
        chat.expect("Carry out this plan? [y]es, [n]o, or what to change: ")
        assert not (tmp_path / "a.txt").exists()
        chat.send("y\r")
        chat.expect("I agree. Carry out the plan.")
        chat.expect("Written.")
        assert (tmp_path / "a.txt").read_text() == "x"
        assert "write_file" not in tools_sent(fake, 0)
        assert {"read_file", "submit_plan"} < set(tools_sent(fake, 0))
        assert "write_file" in tools_sent(fake, -1)
        assert "submit_plan" not in tools_sent(fake, -1)
        assert "Plan mode is on" in str(fake.requests[0].body)

    def test_another_answer_changes_the_plan(self, fake: Fake, start: Start) -> None:
        fake.play(call("submit_plan", plan=PLAN), call("submit_plan", plan="# Better"))
        chat = start("-m", GPT, "--tools", "all")
        chat.expect("› ")
        chat.send("/plan\r")
        chat.expect("plan mode: only")
        chat.send("Make a.\r")
        chat.expect("or what to change: ")
        chat.send("Use b instead.\r")
        chat.expect("Better")
        chat.expect("or what to change: ")
        chat.send("\r")
        chat.expect("gpt-5 › ")
        chat.send("/plan off\r")
        chat.expect("plan mode is off")
        assert "Use b instead." in str(fake.requests[1].body)
        assert "write_file" not in tools_sent(fake, 1)

    def test_a_plan_is_agreed_to_by_a_command_too(self, fake: Fake, start: Start) -> None:
        fake.play("I would write a.", "Written.")
        chat = start("-m", GPT, "--tools", "all", "--plan")
        chat.expect("gpt-5 › ")
        chat.send("Make a.\r")
        chat.expect("I would write a.")
        chat.expect("gpt-5 › ")
        chat.send("/plan go\r")
        chat.expect("Written.")
        assert "I agree. Carry out the plan." in str(fake.requests[1].body)
        assert "write_file" in tools_sent(fake, 1)


def test_the_list_of_steps_is_drawn(fake: Fake, start: Start) -> None:
    items = [
        {"text": "Read", "state": "done"},
        {"text": "Write\nit", "state": "active"},
        {"text": "Test", "state": "open"},
    ]
    fake.play(call("write_todos", items=items), "Done.")
    chat = start("-m", GPT, "--tools", "all")
    chat.expect("› ")
    chat.send("Go.\r")
    shown = chat.expect("Done.")
    assert "1 of 3 done" in shown
    for text in ("Read", "Write it", "Test"):
        assert text in shown


class TestSkills:
    @pytest.fixture(autouse=True)
    def written(self, tmp_path: Path) -> None:
        (tmp_path / ".git").mkdir()
        skill = tmp_path / ".claude" / "skills" / "release"
        skill.mkdir(parents=True)
        head = "---\nname: release\ndescription: >\n  Make a release\n  of the package.\n---\n"
        (skill / "SKILL.md").write_text(f"{head}Tag it first.\n")
        (skill / "notes.txt").write_text("More.\n")

    def test_those_of_a_trusted_repository_are_read_when_needed(
        self, fake: Fake, start: Start, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / ".config"))
        record_trust_decision(find_project(tmp_path), True)
        fake.play(call("read_skill", name="release"), call("read_skill", name="release", file="notes.txt"))
        fake.play(call("read_skill", name="release", file="../../../a"), "Tagged.")
        chat = start("-m", GPT)
        chat.expect("skills: release")
        chat.expect("› ")
        chat.send("Release.\r")
        chat.expect("Tagged.")
        told = next(tool for tool in fake.requests[0].body["tools"] if tool["name"] == "read_skill")["description"]
        assert "- release: Make a release of the package." in told
        assert "Tag it first." not in str(fake.requests[0].body)
        assert "Tag it first." in str(fake.requests[1].body)
        assert "More." in str(fake.requests[2].body)
        assert "has no text file" in str(fake.requests[3].body)

    def test_those_of_others_are_not_there(self, fake: Fake, start: Start) -> None:
        fake.play("Hello.")
        chat = start("-m", GPT, "--tools", "read")
        chat.expect("gpt-5 › ")
        chat.send("Hi.\r")
        chat.expect("Hello.")
        assert "read_skill" not in tools_sent(fake)
        assert "skills:" not in chat.seen


class TestNotification:
    def test_it_comes_only_after_a_while_without_input(self) -> None:
        screen, now = Emulator(), [0.0]
        notifier = Notifier(screen, {"TERM": "xterm"}, lambda: now[0])
        notifier.notify("done")
        now[0] = ABSENT_SECONDS
        notifier.notify("done")
        notifier.note_input()
        notifier.notify("done")
        assert screen.pieces == ["\a"]

    @pytest.mark.parametrize(
        ("environment", "expected"),
        [
            ({"TERM": "xterm-256color"}, "\a"),
            ({"TERM": "xterm-256color", "TERM_PROGRAM": "iTerm.app"}, "\x1b]9;done\x07\a"),
            ({"TERM": "xterm-256color", "VTE_VERSION": "7600"}, "\x1b]777;notify;antiphon;done\x07\a"),
            ({"TERM": "tmux-256color", "TERM_PROGRAM": "WezTerm"}, "\a"),
        ],
    )
    def test_terminals_that_show_messages_get_one(self, environment: dict[str, str], expected: str) -> None:
        assert format_notification("done", environment) == expected

    @pytest.mark.parametrize(("options", "rings"), [((), True), (("--no-notify",), False)])
    def test_the_bell_rings_for_a_long_answer(
        self, fake: Fake, start: Start, options: tuple[str, ...], rings: bool
    ) -> None:
        fake.play(Answer("Done.", delay=ABSENT_SECONDS + 1))
        chat = start("-m", GPT, *options)
        chat.expect("gpt-5 › ")
        chat.send("Go.\r")
        chat.expect("Done.")
        chat.expect("gpt-5 › ")
        assert ("\a" in chat.obeyed) == rings
