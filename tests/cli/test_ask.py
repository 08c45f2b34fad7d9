"""`antiphon ask` in scripts and pipes."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from antiphon import Store
from antiphon.cli import cli
from antiphon.errors import ConfigurationError, ContentError, OptionError
from antiphon.fakes import Answer, Fail, Fake, call
from antiphon.lang.syntax.diagnostics import ProgramErrors
from tests.cli.terminal import Terminal

PIXEL = bytes.fromhex("89504e470d0a1a0a") + b"rest"


@pytest.fixture(autouse=True)
def place(fake: Fake, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:  # noqa: ARG001
    monkeypatch.chdir(tmp_path)


def ask(*arguments: str, input: str | bytes = "") -> Result:
    result = CliRunner().invoke(cli, ["ask", *arguments], input=input)
    if result.exception and not isinstance(result.exception, SystemExit):
        raise result.exception
    return result


def sent(fake: Fake, request: int = -1) -> str:
    """What the user said in a request."""
    turn = fake.requests[request].body["input"][-1]["content"]
    return turn if isinstance(turn, str) else "".join(part.get("text", "") for part in turn)


def test_the_answer_alone_is_on_standard_output(fake: Fake) -> None:
    fake.play("**Bold** is the answer.")
    result = ask("What", "is it?")
    assert (result.exit_code, result.stdout, result.stderr) == (0, "**Bold** is the answer.\n", "")
    assert sent(fake) == "What is it?"


@pytest.mark.parametrize(
    ("words", "input", "expected"),
    [
        (["Why?"], "line one\nline two\n", "Why?\n\nline one\nline two"),
        ([], "A question.\n", "A question."),
        ([], "\ufeffcaf\u00e9\n", "caf\u00e9"),
    ],
)
def test_standard_input_is_put_behind_the_prompt(
    fake: Fake, words: list[str], input: str | bytes, expected: str
) -> None:
    fake.play("Because.")
    assert ask(*words, input=input).exit_code == 0
    assert sent(fake) == expected


def test_standard_input_in_another_encoding_is_told_of(fake: Fake) -> None:
    fake.play("Because.")
    result = ask("Why?", input="a\ncaf\u00e9\n".encode("latin-1"))
    assert sent(fake) == "Why?\n\na\ncaf\ufffd"
    assert "not UTF-8 at line 2" in result.stderr


def test_without_a_question_nothing_is_asked(fake: Fake) -> None:
    with pytest.raises(OptionError, match="the prompt is empty"):
        ask(input=" \n")
    assert not fake.requests


def test_standard_input_that_is_no_text_is_not_sent(fake: Fake) -> None:
    for data, kind in ((PIXEL, "a PNG image"), (b"%PDF-1.7", "a PDF document"), (b"a\0b", "binary data")):
        with pytest.raises(ContentError, match=f"standard input is {kind}, not UTF-8 text; attach images"):
            ask("What is it?", input=data)
    assert not fake.requests


def test_files_go_along_as_text_or_images(fake: Fake, tmp_path: Path) -> None:
    (tmp_path / "a.md").write_text("```\ncode\n```\n")
    (tmp_path / "b.png").write_bytes(PIXEL)
    fake.play("Seen.")
    ask("Look.", "-a", "a.md", "-a", "b.png")
    assert sent(fake) == "Look.\n\na.md:\n````\n```\ncode\n```\n````"
    assert "image/png" in json.dumps(fake.requests[0].body["input"])


def test_a_file_that_cannot_be_sent_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "data.bin").write_bytes(b"\0\xff")
    for name, reason in (("none.txt", "No such file"), (".", "directory"), ("data.bin", "neither text")):
        with pytest.raises(ContentError, match=reason):
            ask("Look.", "-a", name)


@pytest.mark.parametrize(
    ("written", "given", "printed"),
    [
        ("{name: text, age: number}", {"name": "Ada", "age": 36}, '{"name":"Ada","age":36}'),
        ("text[]", {"value": ["a", "b"]}, '["a","b"]'),
        ("number", {"value": 2.5}, "2.5"),
        ('"spam" | "ham"', {"value": "ham"}, '"ham"'),
        ("{tags: text[], note?: text}", {"tags": []}, '{"tags":[]}'),
    ],
)
def test_a_typed_answer_is_json(fake: Fake, written: str, given: dict[str, object], printed: str) -> None:
    fake.play(json.dumps(given))
    result = ask("Extract.", "--returns", written)
    assert (result.exit_code, result.stdout) == (0, f"{printed}\n")


def test_a_typed_answer_that_never_fits_is_no_answer(fake: Fake) -> None:
    fake.play(*["no"] * 4)
    result = ask("Extract.", "-r", "{age: number}", "--json")
    assert result.exit_code == 1
    printed = json.loads(result.stdout)
    assert (printed["value"], printed["outcome"]) == (None, "wrong")
    assert "age" in printed["detail"]


@pytest.mark.parametrize("written", ["{name: string}", "{name: text", "  ", "text text"])
def test_a_type_that_is_none_is_told_before_anything_is_asked(fake: Fake, written: str) -> None:
    with pytest.raises((ProgramErrors, OptionError), match="--returns"):
        ask("Extract.", "--returns", written)
    assert not fake.requests


def test_the_whole_result_as_one_object(fake: Fake) -> None:
    fake.play(call("now"), Answer("Noon.", usage=(10, 2)))
    printed = json.loads(ask("When?", "--json", "--tools", "read").stdout)
    assert printed["value"] == "Noon."
    assert printed["model"] == "openai/gpt-5"
    assert printed["outcome"] == "done"
    assert printed["usage"]["output_tokens"] >= 2
    assert printed["cost"] > 0
    assert [each["tool"] for each in printed["tool_calls"]] == ["now"]
    assert printed["id"] == Store().find("last").id


@pytest.mark.parametrize(
    ("step", "code", "told"),
    [
        (Answer("I will not.", stop="refusal"), 1, "refused: I will not."),
        (Answer("Half an ans", stop="length"), 1, "truncated: cut off"),
        (call("run_shell", command="true"), 3, "waiting: a person is needed: `run_shell`"),
        (Fail(400, "no"), 1, "openai answered 400: no"),
        (Fail(401), 2, "check the key"),
        (Fail(404), 2, "check the model's name"),
    ],
)
def test_exit_codes_say_how_it_went(fake: Fake, step: Answer | Fail, code: int, told: str) -> None:
    fake.play(step)
    result = ask("Do it.", "--tools", "all")
    assert (result.exit_code, told in result.stderr) == (code, True), result.stderr
    assert result.stderr.count("\n") == 1


def test_half_an_answer_is_not_lost(fake: Fake) -> None:
    half = Answer("Half an ans", stop="length")
    fake.play(half, half, half, "All of it.", half)
    assert ask("a").stderr.endswith(f"; `antiphon show {Store().find('last').id}` shows it\n")
    assert "Half an ans" in CliRunner().invoke(cli, ["show", "last"]).stdout
    assert ask("a", "--no-save").stderr.endswith("it is not saved; this is the text:\nHalf an ans\n")
    streamed = ask("a", "--stream")
    assert (streamed.stdout, streamed.stderr.count("\n"), "shows it" in streamed.stderr) == ("Half an ans\n", 1, False)
    ask("b")
    # A conversation that goes on is as it was before.
    assert "this is the text:\nHalf an ans\n" in ask("c", "--continue").stderr


def test_limits_are_kept(fake: Fake) -> None:
    fake.play(*[call("now")] * 2)
    result = ask("Go.", "--tools", "read", "--max-turns", "2")
    assert (result.exit_code, result.stderr) == (4, "antiphon: limit: the limit of 2 requests is reached\n")
    assert len(fake.requests) == 2
    fake.play(call("now"))
    assert "limit of $1e-06 is reached" in ask("Go.", "--tools", "read", "--max-cost", "0.000001").stderr
    assert len(fake.requests) == 3


def test_a_text_is_streamed_when_that_is_asked_for(fake: Fake) -> None:
    fake.play(Answer("Let me see.", [call("now")]), "It is noon.")
    assert ask("When?", "--stream", "--tools", "read").stdout == "Let me see.\nIt is noon.\n"
    assert ask("When?", "--stream", "--json").exit_code == 2


def test_questions_follow_each_other(fake: Fake) -> None:
    fake.play("A.", Fail(400, "no"), "C.")
    ask("a")
    assert ask("b", "--continue").exit_code == 1
    ask("c", "--continue", "--system", "Be brief.")
    assert [turn.text for turn in Store().load("last").turns] == ["a", "A.", "c", "C."]
    assert fake.requests[-1].body["instructions"] == "Be brief."
    assert len(Store().list()) == 1


@pytest.mark.parametrize("reason", ["it cannot be loaded", "it does not fit", "the image is refused"])
def test_a_question_without_an_answer_takes_back_nothing_but_itself(fake: Fake, tmp_path: Path, reason: str) -> None:
    fake.play("A.", "B.")
    ask("a")
    ask("b", "--continue")
    (tmp_path / "mine.gguf").write_bytes(b"no model")
    (tmp_path / "a.png").write_bytes(PIXEL)
    if reason == "it cannot be loaded":
        result = ask("c", "--continue", "--model", "local/mine.gguf")
    elif reason == "it does not fit":
        fake.play(*[Fail(400, "prompt is too long: 9000 tokens > 10 maximum")])
        result = ask("c", "--continue")
    else:
        fake.play(Fail(400, "no"))
        result = ask("c", "--continue", "--attach", "a.png")
    assert result.exit_code
    assert [turn.text for turn in Store().load("last").turns] == ["a", "A.", "b", "B."]


def test_of_a_new_question_that_got_no_value_the_log_keeps_what_was_said(fake: Fake) -> None:
    fake.play(*["I cannot say."] * 4)
    assert ask("How many?", "--returns", "number").exit_code == 1
    entry = Store().find("last")
    assert entry.title == "How many?"
    assert "I cannot say." in [turn.text for turn in Store().load(entry.id).turns]


@pytest.mark.parametrize(
    "arguments",
    [
        ["a", "--model", "nobody/m"],
        ["a", "--model", "local/none.gguf"],
        ["a", "--returns", "{name: txt}"],
        ["a", "--continue"],
        ["a", "--attach", "none"],
        [],
    ],
)
def test_whatever_goes_wrong_json_is_one_object(arguments: list[str]) -> None:
    result = ask(*arguments, "--json")
    printed = json.loads(result.stdout)
    assert (result.exit_code, printed["outcome"], printed["value"]) == (2, "error", None)
    assert printed["detail"] in result.stderr


def test_without_a_log_nothing_is_saved(fake: Fake, tmp_path: Path) -> None:
    fake.play("A.")
    assert json.loads(ask("a", "--no-save", "--json").stdout)["id"] is None
    assert not (tmp_path / "logs.db").exists()


def test_no_key_is_a_mistake(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_API_KEY")
    with pytest.raises(ConfigurationError, match="no key for openai"):
        ask("a")


def test_what_no_encoding_has_is_escaped(fake: Fake) -> None:
    fake.play("caf\u00e9 \u2713")
    env = os.environ | {"PYTHONIOENCODING": "ascii"}
    command = [sys.executable, "-m", "antiphon", "ask", "a"]
    done = subprocess.run(command, env=env, capture_output=True, stdin=subprocess.DEVNULL, check=True)
    assert done.stdout == b"caf\\xe9 \\u2713\n"


@pytest.mark.parametrize("ending", ["| head -c 1 >&2", ">&-", "<&-", ">/dev/full"])
def test_closed_streams_make_no_traceback(fake: Fake, ending: str) -> None:
    fake.play("word " * 50_000)
    script = f"{sys.executable} -m antiphon ask hello {ending}"
    done = subprocess.run(["sh", "-c", script], capture_output=True, stdin=subprocess.DEVNULL, timeout=60)
    assert b"Traceback" not in done.stderr
    assert b"Exception" not in done.stderr
    assert done.stderr.count(b"\n") <= 1


def in_terminal(tmp_path: Path, *arguments: str) -> Terminal:
    env = os.environ | {"TERM": "xterm-256color", "LANG": "C.UTF-8", "COLUMNS": "", "HOME": str(tmp_path)}
    return Terminal("ask", *arguments, env=env, cwd=tmp_path)


def test_in_a_terminal_the_model_is_shown_and_the_answer_is_markdown(fake: Fake, tmp_path: Path) -> None:
    fake.play("- **one**\n- two\n")
    with in_terminal(tmp_path, "List.") as terminal:
        terminal.expect("model: openai/gpt-5 (ANTIPHON_MODEL)")
        terminal.expect(" • one")
        assert terminal.ends() == 0


def test_in_a_terminal_what_is_printed_whole_is_not_shown_before(fake: Fake, tmp_path: Path) -> None:
    fake.play("Only once:\n\n```\nn = 3\n```\n")
    with in_terminal(tmp_path, "Write.", "-x") as terminal:
        terminal.expect("n = 3")
        assert terminal.ends() == 0
        assert terminal.seen.count("n = 3") == 1
        assert "Only once" not in terminal.seen


def test_in_a_terminal_calls_are_asked_about(fake: Fake, tmp_path: Path) -> None:
    fake.play(call("write_file", path="a.txt", content="x"), "Written.")
    with in_terminal(tmp_path, "Write.", "--tools", "all", "--json") as terminal:
        terminal.expect("May `write_file` run?")
        terminal.expect("[a]lways (write_file):")
        terminal.send("y\n")
        terminal.expect('"value": "Written."')
        assert terminal.ends() == 0


def test_ctrl_c_ends_it_at_once(fake: Fake, tmp_path: Path) -> None:
    fake.play(Answer("Late.", delay=30))
    with in_terminal(tmp_path, "Wait.") as terminal:
        terminal.expect("waiting")
        terminal.send("\x03")
        assert terminal.ends() == 130
        assert "Traceback" not in terminal.seen
    fake.reset()  # whether it was asked before the interruption is a matter of time


def test_what_waits_is_asked_about_by_the_chat_that_it_names(fake: Fake, tmp_path: Path) -> None:
    fake.play(call("write_file", path="a.txt", content="x"), "Written.")
    done = ask("Write.", "--tools", "all")
    assert done.exit_code == 3
    (command,) = re.findall("`antiphon (resume .*?)` asks you", done.stderr)
    env = os.environ | {"TERM": "xterm-256color", "LANG": "C.UTF-8", "COLUMNS": "", "HOME": str(tmp_path)}
    with Terminal(*command.split(), env=env, cwd=tmp_path) as terminal:
        terminal.expect("May `write_file` run?")
        terminal.expect("[a]lways (write_file):")
        terminal.send("y\n")
        terminal.expect("Written.")
        assert (tmp_path / "a.txt").read_text() == "x"


def test_what_waits_is_not_given_up_because_its_tools_are_not_chosen(fake: Fake, tmp_path: Path) -> None:
    fake.play(call("write_file", path="a.txt", content="x"))
    ask("Write.", "--tools", "all")
    env = os.environ | {"TERM": "xterm-256color", "LANG": "C.UTF-8", "COLUMNS": "", "HOME": str(tmp_path)}
    with Terminal("chat", "--tools", "none", "--resume", "last", env=env, cwd=tmp_path) as terminal:
        terminal.expect("the open calls need `write_file`")
        terminal.expect("gpt-5")
        terminal.send("/tools all\n")
        terminal.expect("gpt-5")
        terminal.send("/go\n")
        terminal.expect("[a]lways (write_file):")
        terminal.send("\x03")
        terminal.expect("stopped")
        terminal.expect("gpt-5")
