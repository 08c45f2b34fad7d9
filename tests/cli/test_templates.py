"""Templates: questions under a name, with their model, tools, options and type."""

from __future__ import annotations

import json
import stat
import tomllib
from pathlib import Path
from typing import Any

import click
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from antiphon.cli import cli
from antiphon.cli.completers import OPTION_PARAM, TEMPLATE_PARAM
from antiphon.config.templates import PromptTemplate, parse_template
from antiphon.fakes import Fake, call
from tests.cli.asking import ask, said
from tests.cli.talking import chat, tools_sent
from tests.lang_unit.commands import antiphon

pytestmark = pytest.mark.usefixtures("fake")


def own(name: str) -> Path:
    return Path("../config/antiphon/templates") / f"{name}.toml"


def test_what_was_asked_once_is_asked_again_by_its_name(fake: Fake) -> None:
    saved = ask("Review this as $who:\n\n$input", "-s", "Be $how.", "-m", "openai/gpt-5-mini", "--tools", "read",
                "-o", "max_tokens=9", "-p", "how=brief", "--save", "review")  # fmt: skip
    assert (saved.code, saved.out, fake.requests) == (0, "", [])
    assert "use it with `antiphon ask -t review -p who=…`" in saved.err
    fake.play(call("now"), "Fine.")
    assert ask("-t", "review", "-p", "who=$poet", input="x = $1\n").out == "Fine.\n"
    body = fake.requests[0].body
    assert (body["model"], body["instructions"], body["max_output_tokens"]) == ("gpt-5-mini", "Be brief.", 9)
    assert "read_file" in [tool["name"] for tool in body["tools"]]
    assert said(fake, 0) == "Review this as $poet:\n\nx = $1"


def test_what_is_said_this_once_comes_before_the_template(fake: Fake) -> None:
    ask("Sum up.", "-s", "A.", "-m", "openai/gpt-5-mini", "--tools", "read", "-o", "max_tokens=9", "--save", "short")
    fake.play("Fine.")
    ran = ask("This.", "-t", "short", "-m", "openai/gpt-5", "-s", "B.", "--tools", "none", "-o", "max_tokens=7")
    body = fake.requests[0].body
    assert (ran.code, body["model"], body["instructions"], body["max_output_tokens"]) == (0, "gpt-5", "B.", 7)
    assert "tools" not in body
    # Without `$input`, what is asked stands behind it.
    assert said(fake) == "Sum up.\n\nThis."


def test_tools_of_ones_own_are_saved_too(fake: Fake, monkeypatch: pytest.MonkeyPatch) -> None:
    Path("mine.py").write_text('def double(n: int) -> int:\n    """Twice."""\n    return 2 * n\n')
    assert ask("Double $input.", "--tool", "mine.py:double", "--save", "double").code == 0
    Path("elsewhere").mkdir()
    monkeypatch.chdir("elsewhere")
    fake.play(call("double", n=4), "8")
    assert ask("-t", "double", "4", "-y").out == "8\n"
    Path("other.py").write_text('def halve(n: int) -> int:\n    """Half."""\n    return n // 2\n')
    fake.play("2")
    ask("-t", "double", "4", "--tool", "other.py")
    assert tools_sent(fake) == ["halve"]
    assert "gone.py" in ask("Go.", "--tool", "gone.py", "--save", "x").err


@pytest.mark.parametrize(
    ("flags", "answer", "printed"),
    [
        (["--returns", "{n: number}"], '{"n": 3}', '{"n":3}\n'),
        (["--schema", "n.json"], '{"n": 3}', '{"n":3}\n'),
        (["-x"], "Here:\n```\nn = 3\n```", "n = 3\n"),
    ],
)
def test_the_type_of_the_answer_is_saved_too(
    fake: Fake, monkeypatch: pytest.MonkeyPatch, flags: list[str], answer: str, printed: str
) -> None:
    schema = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}
    Path("n.json").write_text(json.dumps(schema))
    assert ask("Count.", *flags, "--save", "count").code == 0
    # A file is found from wherever it is asked.
    Path("elsewhere").mkdir()
    monkeypatch.chdir("elsewhere")
    fake.play(answer, "x")
    assert ask("-t", "count").out == printed
    assert ask("-t", "count", "--returns", "text").out == '"x"\n'


def test_a_text_that_goes_along_is_what_a_template_is_about(fake: Fake) -> None:
    Path("main.py").write_text("x = 1\n")
    Path("chart.png").write_bytes(bytes.fromhex("89504e470d0a1a0a") + b"rest")
    ask("Review $input as a poet.", "--save", "review")
    fake.play("Fine.", "Fine.")
    assert ask("-t", "review", "-a", "main.py").out == "Fine.\n"
    assert said(fake) == "Review main.py:\n```\nx = 1\n``` as a poet."
    assert ask("-t", "review", "-a", "chart.png").out == "Fine.\n"


# In a chat


def test_a_chat_begins_by_a_template(fake: Fake) -> None:
    Path("notes.md").write_text("milk\n")
    ask("As $who: $input, not @notes.md", "-s", "Be $who.", "-m", "openai/gpt-5-mini", "--tools", "read", "-o",
        "max_tokens=9", "-p", "who=brief", "--save", "review")  # fmt: skip
    fake.play("A.", "B.")
    shown = chat("/cost", "See @gone.md", "See @notes.md", "And then?", arguments=("-t", "review", "-p", "who=kind"))
    assert "template review: your first message is its $input" in shown
    body = fake.requests[0].body
    assert (body["model"], body["instructions"], body["max_output_tokens"]) == ("gpt-5-mini", "Be kind.", 9)
    assert "read_file" in tools_sent(fake)
    # What was not sent is not what was said first, and of what is sent only what was typed names files.
    assert said(fake, 0) == "As kind: See @notes.md, not @notes.md@notes.md, 1 line:\n```\nmilk\n```"
    assert said(fake, 1) == "And then?"
    assert chat("/system", arguments=("-t", "review", "-s", "C.")).count("system: C.") == 1


def test_a_template_that_needs_nothing_is_asked_at_once(fake: Fake) -> None:
    ask("Sum up the day.", "--save", "day")
    ask("-s", "Be brief.", "--save", "brief")
    fake.play("A.", "B.", "C.")
    shown = chat("Thanks.", arguments=("-t", "day"))
    assert shown.index("Sum up the day.") < shown.index("A.") < shown.index("B.")
    assert [said(fake, 0), said(fake, 1)] == ["Sum up the day.", "Thanks."]
    assert "Sum" not in chat("Hi.", arguments=("-t", "brief"))
    assert (said(fake), fake.requests[-1].body["instructions"]) == ("Hi.", "Be brief.")


CHATS = [
    (["-t", "reviw"], "there is no template `reviw`; did you mean `review`?"),
    (["-t", "review"], "template `review` needs `-p who=…`"),
    (["-t", "review", "-p", "whoo=b"], "template `review` has no `$whoo`; did you mean `who`?"),
    (["-t", "review", "-p", "who"], "`-p` takes NAME=VALUE, not 'who'"),
    (["-p", "who=a"], "name it with `--template`"),
    (["-t", "count"], "template `count` returns a value of its type, which a chat cannot; use `antiphon ask -t count`"),
    (["-t", "code"], "template `code` returns a code block"),
    (["-t", "about"], "template `about` uses `$input` in its system text"),
    (["-t", "hot"], "did you mean `temperature`?"),
]


def test_a_template_that_a_chat_cannot_begin_by_is_told(fake: Fake) -> None:
    for name, *arguments in (
        ("review", "As $who: $input"),
        ("count", "Count.", "--returns", "number"),
        ("code", "Write.", "-x"),
        ("about", "Go.", "-s", "You know of $input."),
    ):
        assert ask(*arguments, "--save", name).code == 0
    own("hot").write_text("prompt = 'a'\n[options]\ntmperature = 1\n")
    for arguments, told in CHATS:
        ran = antiphon("chat", *arguments, input="Hi.\n")
        assert (ran.code, ran.out, fake.requests) == (2, "", [])
        assert told in ran.err


# What is wrong

WRONG = [
    (["-t", "reviw"], "there is no template `reviw`; did you mean `review`?"),
    (["-t", "../x"], "a template name has letters, digits"),
    (["-t", "review"], "template `review` needs `-p who=…`"),
    (["-t", "review", "-p", "who=a", "-p", "whoo=b"], "template `review` has no `$whoo`; did you mean `who`?"),
    (["-t", "review", "-p", "who"], "`-p` takes NAME=VALUE, not 'who'"),
    (["-t", "review", "-p", "who=a"], "template `review` needs a prompt"),
    (["-p", "who=a", "Go."], "name it with `--template`"),
    (["Costs $5.", "--save", "x"], "`$5.` is not a placeholder: write `$$` for a dollar"),
    (["--save", "x"], "a template needs a prompt or a system text"),
    (["Go.", "--save", "x/y"], "a template name has letters"),
    (["Go.", "--save", "x", "-m", "nobody/m"], "nobody"),
    (["Go.", "--save", "x", "--schema", "gone.json"], "cannot read 'gone.json'"),
    (["Go.", "--save", "x", "--returns", "{a: txt}"], "--returns"),
    (["Go.", "--save", "x", "-o", "tmperature=1"], "did you mean `temperature`?"),
    (["Go.", "--save", "x", "-p", "a=b"], "the template has no `$a`"),
    (["Go.", "--save", "x", "-t", "review"], "`--save` makes a new template"),
    (["Go.", "--save", "x", "-o", "extra.a=null"], "cannot contain `null`"),
]


def test_what_cannot_be_asked_or_saved_is_told(fake: Fake) -> None:
    ask("As $who: $input", "--save", "review")
    for arguments, told in WRONG:
        ran = ask(*arguments)
        assert (ran.code, ran.out, fake.requests) == (2, "", [])
        assert told in ran.err
    assert not own("x").exists()


def test_names_of_templates_and_options_are_completed() -> None:
    ask("Review $input.", "--save", "review")
    command = click.Context(cli)
    for kind, begun, offered in (
        (TEMPLATE_PARAM, "re", "review"),
        (OPTION_PARAM, "temp", "temperature="),
        (OPTION_PARAM, "e", "extra."),
    ):
        found = kind.shell_complete(command, click.Option(["-x"]), begun)
        assert [each.value for each in found] == [offered]


@pytest.mark.parametrize(
    "arguments",
    [
        ["Use the key sk-ant-api03-abcdefghijklmnopqrstuvwxyz0123456789"],
        ["Go.", "-s", "My password is hunter2-of-this-machine."],
        ["Go.", "-o", "extra.api_key=abc"],
        ["Go. $a", "-p", "a=ghp_abcdefghijklmnopqrstuvwxyz0123456789"],
    ],
)
def test_secrets_are_not_saved(arguments: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOME_PASSWORD", "hunter2-of-this-machine")
    ran = ask(*arguments, "--save", "x")
    assert (ran.code, "the template was not saved: it contains" in ran.err) == (2, True), ran.err
    assert "hunter2" not in ran.err
    assert not own("x").exists()


def test_templates_are_listed_shown_and_removed() -> None:
    assert antiphon("templates").code == 1
    ask("Review:\n$input", "--save", "review", "-o", "extra.a.b=[1]")
    ask("-s", "Be brief.", "--save", "brief")
    assert antiphon("templates").out == "brief   Be brief.\nreview  Review:\n"
    listed = json.loads(antiphon("templates", "list", "--json").out)
    assert [(each["name"], each["placeholders"]) for each in listed] == [("brief", []), ("review", ["input"])]
    shown = antiphon("templates", "show", "review").out
    assert tomllib.loads(shown) == {"prompt": "Review:\n$input", "options": {"extra": {"a": {"b": [1]}}}}
    assert stat.S_IMODE(own("review").stat().st_mode) == 0o600
    assert "replaced" in ask("Other.", "--save", "review").err
    assert "removed" in antiphon("templates", "remove", "review").out
    assert "there is no template `review`" in antiphon("templates", "remove", "review").err


FILES = [
    ("prompt = ", "is not valid TOML"),
    ("promt = 'a'", "did you mean `prompt`?"),
    ("prompt = 3", "`prompt` is a text, not 3"),
    ("prompt = 'a'\ntool = 'a.py'", "`tool` is a list, not 'a.py'"),
    ("prompt = 'a'\nmcp = [1]", "are lists of texts"),
    ("prompt = 'a'\ntools = 'some'", "`tools` is one of none, read, all"),
    ("prompt = '$'", "is not a placeholder"),
    ("prompt = 'a'\nreturns = 'text'\nschema = 'a.json'", "keep one of them"),
    ("prompt = 'a'\n[options]\ntmperature = 1", "did you mean `temperature`?"),
    ("prompt = 'a'\n[defaults]\nb = 1", "`defaults` are texts"),
]


def test_a_file_that_is_wrong_is_told(fake: Fake) -> None:
    own("mine").parent.mkdir(parents=True)
    for text, told in FILES:
        own("mine").write_text(text)
        ran = ask("Go.", "-t", "mine")
        assert (ran.code, fake.requests, told in ran.err) == (2, [], True), ran.err


def test_the_templates_of_a_project_count_once_it_is_trusted(fake: Fake) -> None:
    Path(".git").mkdir()
    Path("n.json").write_text('{"type": "integer"}')
    Path("models.py").write_text("raise SystemExit\n")
    Path("antiphon.toml").write_text(
        '[templates.review]\nprompt = "Theirs: $input"\nmodel = "openai/gpt-5-mini"\ntools = "all"\n'
        '[templates.count]\nprompt = "Count."\nschema = "n.json"\n'
        '[templates.runs]\nprompt = "Run."\nschema = "models.py:A"\n'
    )
    ask("Mine: $input", "--save", "review")
    fake.play("Fine.", "Fine.", "3")
    ask("it", "-t", "review")
    assert said(fake) == "Mine: it"
    assert "there is no template `count`" in ask("-t", "count").err
    trusted = antiphon("trust", "--yes").out
    assert "template review: a prompt with the tools `all`, for `-t review`" in trusted
    assert "model openai/gpt-5-mini: prompts go to" in trusted
    ask("it", "-t", "review")
    assert (said(fake), fake.requests[-1].body["model"]) == ("Theirs: it", "gpt-5-mini")
    assert ask("-t", "count").out == "3\n"
    assert "would run Python" in ask("-t", "runs").err
    assert "review  Theirs: $input  (antiphon.toml)" in antiphon("templates").out
    assert "belongs to the project: delete it in" in antiphon("templates", "remove", "count").err
    Path("antiphon.toml").write_text('[templates.count]\nprompt = "Changed."\n')
    assert "there is no template `count`" in ask("-t", "count").err
    Path("antiphon.toml").write_text('[templates.count]\nprompt = "Changed."\ntool = ["models.py"]\n')
    assert "a project's template must not have `tool` or `mcp`" in antiphon("trust", "--yes").err


@pytest.mark.parametrize("place", ["../outside.json", "ABSOLUTE", "~/outside.json", "link.json"])
def test_a_projects_template_names_no_schema_outside_of_it(
    fake: Fake, place: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    project = tmp_path / "project"
    (project / ".git").mkdir(parents=True)
    monkeypatch.chdir(project)
    monkeypatch.setenv("HOME", str(tmp_path))
    outside = tmp_path / "outside.json"
    outside.write_text('{"type": "integer", "description": "private"}')
    Path("link.json").symlink_to(outside)
    named = place.replace("ABSOLUTE", str(outside))
    Path("antiphon.toml").write_text(f'[templates.count]\nprompt = "Count."\nschema = "{named}"\n')
    assert antiphon("trust", "--yes").code == 0
    ran = ask("-t", "count")
    assert (ran.code, fake.requests) == (2, [])
    assert "is outside the project" in ran.err


_TEXTS = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=20) | st.sampled_from(
    ['"""', 'a\\\n"', "\n", "\x7f\n'"]
)
_DATA: Any = st.recursive(
    st.booleans() | st.integers(-(2**60), 2**60) | st.floats(allow_nan=False, allow_infinity=False) | _TEXTS,
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(_TEXTS, inner, max_size=2),
    max_leaves=4,
)


@settings(max_examples=30)
@given(_TEXTS, _TEXTS, st.dictionaries(_TEXTS, _DATA, max_size=3), st.dictionaries(_TEXTS, _TEXTS, max_size=2))
def test_a_template_that_is_written_is_read_again(
    prompt: str, system: str, extra: dict[str, Any], defaults: dict[str, str]
) -> None:
    prompt, system = prompt.replace("$", "$$"), system.replace("$", "$$")
    made = PromptTemplate(prompt, system, options={"extra": extra, "stop": ["a"]}, defaults=defaults, extract=True)
    assert parse_template(tomllib.loads(made.to_toml()), Path()) == made
