"""What a chat can be told besides messages, line by line from a pipe."""

import re
from pathlib import Path

import pytest
from click.testing import CliRunner
from rich.text import Text

from antiphon import Store
from antiphon.cli import cli
from antiphon.conversation import Conversation, ToolCall
from antiphon.errors import ConfigurationError, NotSavedError, StoreError
from antiphon.fakes import Answer, Fail, Fake, call, echo
from antiphon.session import Question
from antiphon.terminal import Person


@pytest.fixture(autouse=True)
def place(fake: Fake, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:  # noqa: ARG001
    monkeypatch.chdir(tmp_path)


def chat(*lines: str, arguments: tuple[str, ...] = ()) -> str:
    result = CliRunner().invoke(cli, ["chat", *arguments], input="\n".join(lines))
    if result.exception and not isinstance(result.exception, SystemExit):
        raise result.exception
    assert result.exit_code == 0
    return result.stdout


def last() -> list[str]:
    return [turn.text for turn in Store().load("last").turns]


def test_messages_are_taken_back_one_or_several(fake: Fake) -> None:
    fake.play("A.", "B.", "C.")
    shown = chat("a", "b", "c", "/undo", "/undo 7", "/undo", "/undo 0")
    assert "removed 1 message, from: c" in shown
    assert "removed 2 messages, from: a" in shown
    assert "there is no message to remove" in shown
    assert "expected a number from 1, not '0'" in shown
    assert last() == []


def test_what_a_resumed_chat_said_before_can_be_taken_back(fake: Fake) -> None:
    fake.play("A.", "B.", "C.")
    chat("a", "b")
    chat("/undo", "c", arguments=("--continue",))
    assert last() == ["a", "A.", "c", "C."]


def test_undo_keeps_a_system_text_that_was_set_since(fake: Fake) -> None:
    fake.play("A.", "B.")
    shown = chat("a", "/system Be brief.", "/undo", "/system", "b", '/system ""')
    assert shown.count("system: Be brief.") == 2
    assert "system: (none)" in shown
    assert fake.requests[1].body["instructions"] == "Be brief."


def test_a_fork_leaves_the_first_conversation_as_it_was(fake: Fake) -> None:
    fake.play("A.", "B.")
    assert "this chat is not saved" in chat("/fork", "a", "/fork", "b")
    newest, first = Store().list()
    assert newest.parent == first.id
    assert (newest.turns, first.turns) == (4, 2)


def test_a_refusal_is_shown_once_and_called_so(fake: Fake) -> None:
    fake.play(Answer("I will not.", stop="refusal"), Answer("Half an ans", stop="length"))
    shown = chat("a", "b")
    assert (shown.count("I will not."), "\nrefused\n" in shown) == (1, True)
    assert "not complete: cut off by the token limit" in shown


def test_a_conversation_is_saved_to_a_file_but_not_over_another(fake: Fake, tmp_path: Path) -> None:
    fake.play("A.")
    (tmp_path / "mine.txt").write_text("mine")
    shown = chat("a", "/save talk.json", "/save mine.txt", "/save", "/save no/such/place.json")
    assert "mine.txt exists and was not changed" in shown
    assert "`/save` needs a file name" in shown
    assert "cannot write" in shown
    assert [turn.text for turn in Conversation.load(tmp_path / "talk.json").turns] == ["a", "A."]
    assert (tmp_path / "mine.txt").read_text() == "mine"


def test_results_are_opened_in_full(fake: Fake, tmp_path: Path) -> None:
    (tmp_path / "long.txt").write_text("".join(f"line {number}\n" for number in range(100)))
    fake.play(call("read_file", path="long.txt"), call("now"), "Read.")
    shown = chat("/show", "read", "/show 1", "/show 3", arguments=("--tools", "read"))
    assert "no tool has been called yet" in shown
    assert '1 of 2: read_file(path="long.txt")' in shown
    assert "line 99" in shown
    assert "there are 2 results, not 3" in shown


def test_tools_are_changed_in_mid_conversation(fake: Fake) -> None:
    fake.play("A.", "B.")
    shown = chat("/tools", "a", "/tools read", "b", "/tools some")
    assert "tools: none\n" in shown
    assert "tools: read\n" in shown
    assert "`/tools` takes none, read, all, or `on NAME` and `off NAME`, not 'some'" in shown
    assert "tools" not in fake.requests[0].body
    assert "read_file" in str(fake.requests[1].body["tools"])


def test_the_cost_of_all_answers_is_summed(fake: Fake) -> None:
    fake.play(Answer("A.", usage=(100, 10)), Answer("B.", usage=(200, 20)))
    shown = chat("/cost", "a", "b", "/cost")
    assert "no request was sent since the start" in shown
    assert "since the start: 2 answers, 300 in, 30 out" in shown


def test_an_unknown_command_is_told_and_not_sent(fake: Fake) -> None:
    shown = chat("/udno", "/etc/passwd", "/help")
    assert "there is no command `/udno`; did you mean `/undo`?" in shown
    assert "there is no command `/etc/passwd`; `/help` lists them" in shown
    assert "/retry" in shown
    assert not fake.requests


def test_the_models_that_could_be_used_are_listed(fake: Fake) -> None:
    fake.play(echo)
    shown = chat("/model", "/model anthropic/claude-sonnet-5", "hello")
    assert "model: openai/gpt-5\n" in shown
    assert "openai/gpt-6.1-sol  (OPENAI_API_KEY in the environment)" in shown
    assert "no key for anthropic: `antiphon setup keys set anthropic`" in shown
    assert "You said: hello" in shown, "the model is still the one before"
    assert len(fake.requests) == 1


def test_a_failure_is_a_line_and_the_message_can_be_asked_again(fake: Fake) -> None:
    fake.play(Fail(400, "no such thing\nat all"), Answer("", stop="refusal"), "Now.")
    shown = chat("a", "/retry", "/retry")
    assert "openai answered 400: no such thing\\nat all" in shown
    assert "; /retry asks again" in shown
    assert "refused" in shown
    assert last() == ["a", "Now."]


def test_a_call_that_nobody_can_allow_is_told(fake: Fake) -> None:
    fake.play(call("run_shell", command="true"), "Well.")
    assert "stopped: a person is needed: `run_shell`" in chat("go", "y", arguments=("--tools", "all"))
    assert len(fake.requests) == 2, "the second line was a message, not an answer"


def test_with_yes_calls_just_run(fake: Fake, tmp_path: Path) -> None:
    fake.play(call("write_file", path="a.txt", content="x"), "Written.")
    chat("go", arguments=("--tools", "all", "--yes"))
    assert (tmp_path / "a.txt").read_text() == "x"


def test_without_a_log_nothing_is_saved(fake: Fake, tmp_path: Path) -> None:
    fake.play("A.")
    assert "saved" not in chat("a", arguments=("--no-save",))
    assert not (tmp_path / "logs.db").exists()


def test_a_database_that_cannot_be_written_is_an_error_at_the_start(
    fake: Fake, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("ANTIPHON_DB", str(tmp_path / "file" / "logs.db"))
    fake.play("A.", "B.")
    with pytest.raises(StoreError, match=r"cannot be opened.*`--db off` saves nothing"):
        chat("a", "b")
    assert fake.requests == []
    shown = chat("a", "b", arguments=("--no-save",))
    assert ("B." in shown, "is saved" in shown) == (True, False)


def test_a_chat_is_resumed_by_its_id_with_its_model(fake: Fake, monkeypatch: pytest.MonkeyPatch) -> None:
    fake.play("A.", "B.")
    chat("a")
    (entry,) = Store().list()
    monkeypatch.setenv("ANTIPHON_MODEL", "local/135m")
    shown = chat("b", arguments=("--resume", entry.id))
    assert "model: openai/gpt-5" in shown
    assert f"continuing {entry.id}, 2 turns: a" in shown
    assert last() == ["a", "A.", "b", "B."]


def test_a_chat_that_went_back_to_its_first_model_goes_on_with_that(fake: Fake) -> None:
    fake.play("A.", "B.", "C.")
    chat("a", "/model openai/gpt-5.5", "b", "/model openai/gpt-5", "c")
    assert Store().find("last").models == ("openai/gpt-5.5", "openai/gpt-5")
    assert "model: openai/gpt-5 (conversation" in chat(arguments=("--continue",))


def test_a_model_without_its_key_is_an_error_and_no_other_takes_its_place(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_API_KEY")
    with pytest.raises(
        ConfigurationError, match=r"no key for openai.*comes from ANTIPHON_MODEL; `--model` names another"
    ):
        chat("a")


def test_there_must_be_something_to_continue() -> None:
    with pytest.raises(NotSavedError, match="no saved `antiphon chat` to continue"):
        chat(arguments=("--continue",))
    assert CliRunner().invoke(cli, ["chat", "--continue", "--resume", "x"]).exit_code == 2


def test_a_server_that_a_repository_names_is_not_started_unasked(fake: Fake, tmp_path: Path) -> None:
    fake.play("Hello.")
    (tmp_path / "antiphon.toml").write_text(f'[mcp.evil]\ncommand = "touch"\nargs = ["{tmp_path}/started"]\n')
    result = CliRunner().invoke(cli, ["chat", "--tools", "all", "-y"], input="hi")
    assert "antiphon.toml" in result.stderr
    assert "not trusted, and ignored; review and trust it with `antiphon setup trust`" in result.stderr
    assert not (tmp_path / "started").exists()


def test_the_name_of_an_argument_cannot_pass_for_a_question_of_ours() -> None:
    forged = ToolCall("c1", "run_shell", {"command": "true", "a\n  path": "x", "body": "one\ntwo"})
    shown: list[Text] = []
    Person(lambda _: "n", shown.append).answer(Question("c1", "approval", "", call=forged))
    lines = ["  | command: true", "  | a\\n  path: x", "  | body:", "  |   one", "  |   two"]
    assert "".join(map(str, shown)).strip().split("\n") == ["May `run_shell` run?", *lines]


def test_an_answer_cannot_take_over_the_terminal(fake: Fake) -> None:
    fake.play("\x1b]0;evil\x07 and \x1b[2J", Fail(400, "\x1b[2Jgone"))
    shown = chat("a", "b")
    assert "\x1b" not in shown
    assert "\\x1b[2J" in shown


# Answers that do not come to their end


LONG = "One two three four five six seven eight nine ten. " * 40


@pytest.mark.parametrize(
    ("model", "events"),
    [("openai/gpt-5", 7), ("anthropic/claude-sonnet-5", 7), ("google/gemini-3-pro-preview", 2)],
)
def test_an_answer_that_broke_off_stays_and_is_continued(
    fake: Fake, monkeypatch: pytest.MonkeyPatch, model: str, events: int
) -> None:
    for name, api in (("ANTHROPIC", "anthropic"), ("GEMINI", "gemini"), ("GOOGLE_GEMINI", "gemini")):
        monkeypatch.setenv(f"{name}_BASE_URL", fake.base_url(api))
        monkeypatch.setenv(f"{name}_API_KEY", "sk-secret-key")
    fake.play(Answer(LONG, cut_after=events), "And the rest.", "Yes.")
    shown = chat("Count.", "/go", "All of it?", arguments=("-m", model))
    assert "the partial answer is kept: /go continues it" in " ".join(shown.split())
    question, begun, *_ = last()
    assert (question, begun[:7], begun in LONG) == ("Count.", "One two", True)
    assert "And the rest." in last()
    first, continued, after = (str(each.body) for each in fake.requests)
    assert (begun in first, begun in continued, begun in after) == (False, True, True)
    assert "Continue your answer exactly where it was interrupted" in continued
    assert not any(each.rejected for each in fake.requests)


def test_an_answer_that_broke_off_is_marked_where_it_is_shown(fake: Fake) -> None:
    fake.play(Answer(LONG, cut_after=7))
    chat("Count.")
    for command in (("show", "last"), ("show", "last")):
        shown = CliRunner().invoke(cli, [*command]).stdout
        assert "One two three" in shown
        assert "This answer was interrupted before its end." in shown


def test_messages_that_failed_do_not_go_along_with_the_next(fake: Fake) -> None:
    fake.play(*[Fail(400, "no")] * 3, "Here.")
    shown = chat("first", "second", "third", "fourth")
    assert last() == ["fourth", "Here."]
    assert "the previous message had no answer and is not sent: first" in " ".join(shown.split())
    assert [word in str(fake.requests[-1].body) for word in ("first", "second", "third", "fourth")] == [False] * 3 + [
        True
    ]


@pytest.mark.parametrize("word", ["exit", "quit", " Exit "])
def test_a_word_that_leaves_shells_leaves_the_chat(fake: Fake, word: str) -> None:
    fake.play("Hello.")
    chat("Hello.", word, "More.")
    assert len(fake.requests) == 1


@pytest.mark.parametrize("status", [429, 529])
def test_a_request_that_is_sent_again_is_told_with_its_reason(fake: Fake, status: int) -> None:
    fake.play(Fail(status, "too much", retry_after=0.01), Fail(status, "too much", retry_after=0.01), "Here.")
    shown = " ".join(chat("Hello.").split())
    assert len(fake.requests) == 3
    assert shown.count(f"openai answered {status}: too much") == 2
    assert "attempt 2 of 5 in 0." in shown
    assert "attempt 3 of 5 in 0." in shown
    assert last() == ["Hello.", "Here."]


def test_a_new_conversation_knows_nothing_of_the_one_before(fake: Fake) -> None:
    fake.play("A.", "B.")
    shown = chat("a", "/new", "b", arguments=("--system", "Be brief."))
    newest, first = Store().list()
    assert f"new conversation; the one before is saved as {first.id}" in shown
    assert (newest.turns, first.turns, newest.parent) == (2, 2, None)
    assert fake.requests[1].body["instructions"] == "Be brief."
    assert "a" not in [part["content"] for part in fake.requests[1].body["input"]]


def test_clear_begins_a_new_conversation_too(fake: Fake) -> None:
    fake.play("A.", "B.")
    assert "new conversation" in chat("a", "/clear", "b")
    assert last() == ["b", "B."]


def test_older_turns_are_summarized_when_wished(fake: Fake) -> None:
    fake.play("One. " * 300, "Two. " * 300, "Three.", "They counted to two.", "Four.")
    shown = chat("a", "b", "c", "/compact the numbers", "d")
    asked = fake.requests[3].body
    assert "Above all, keep what concerns: the numbers" in asked["instructions"]
    assert "Two. Two." in str(asked["input"])
    _, first = Store().list()
    shown = shown.replace("\n", " ")
    found = re.search(r"3 turns summarized; of (\d+) tokens (\d+) are left", shown)
    assert found
    assert int(found[1]) > 5 * int(found[2])
    assert f"the full conversation is saved as {first.id}" in shown
    assert first.turns == 6
    assert "They counted to two." in last()[0]
    assert last()[-2:] == ["d", "Four."]
    assert "Two. Two." not in str(fake.requests[4].body)


def test_there_must_be_something_to_summarize(fake: Fake) -> None:
    fake.play("One.")
    assert chat("/compact", "a", "/compact").count("there is nothing to summarize yet") == 2
    assert len(fake.requests) == 1


def test_a_summary_that_fails_changes_nothing(fake: Fake) -> None:
    fake.play("One. " * 300, "Two.", Fail(400, "no"), "Three.")
    shown = chat("a", "b", "/compact", "c")
    assert "openai answered 400: no" in shown
    assert [turn for turn in last() if len(turn) == 1] == ["a", "b", "c"]


def test_a_message_is_changed_in_a_copy(fake: Fake) -> None:
    fake.play("A.", "B.", "C.")
    shown = chat("/edit", "a", "b", "/edit 3", "/edit 2", "x")
    assert shown.count("there is no message to edit") == 2
    assert last() == ["x", "C."]
    newest, first = Store().list()
    assert (newest.parent, first.turns) == (first.id, 4)


def test_a_command_ends_the_change_of_a_message(fake: Fake) -> None:
    fake.play("A.", "B.")
    assert "the message was not changed" in chat("a", "/edit", "/cost", "b")
    assert last() == ["a", "A.", "b", "B."]


def test_what_fills_the_context_is_listed(fake: Fake) -> None:
    fake.play(call("read_file", path="long.txt"), Answer("Read.", usage=(39_000, 1_000)))
    shown = chat("/context", "read", "/context", arguments=("--tools", "read"))
    assert "context 10% of 400k: 40,000 tokens" in shown
    for part in ("tools", "messages", "answers and calls", "results of calls", "free"):
        assert f"  {part}" in shown


def test_only_an_answer_or_its_code_can_be_copied(fake: Fake) -> None:
    fake.play("No code.")
    shown = chat("/copy", "a", "/copy all", "/copy code")
    assert "there is no answer to copy" in shown
    assert "`/copy code` its last code block, not 'all'" in shown
    assert "the last answer has no code block" in shown


def test_a_chat_is_left_by_each_word_for_it(fake: Fake) -> None:
    for word in ("/exit", "/quit", "exit", "quit", "Exit "):
        chat(word, "a")
    assert not fake.requests
