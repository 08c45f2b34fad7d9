"""Files and directories that are named with an @ in what somebody types."""

import os
from pathlib import Path

import pytest

from antiphon.chat.mentions import expand_mentions, extract_headline
from antiphon.cli.chat_front.completion import list_completions
from antiphon.durable import Journal
from antiphon.errors import ContentError
from antiphon.fakes import Fake
from tests.cli.talking import chat, sent, tools_sent

PNG = b"\x89PNG\r\n\x1a\n" + b"\0" * 20


@pytest.fixture(autouse=True)
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    place = tmp_path / "place"
    (place / "src").mkdir(parents=True)
    (place / "notes.md").write_text("milk\nbread\n")
    (place / "a b.txt").write_text("blank\n")
    (place / "Makefile").write_text("all:\n")
    (place / "src" / "main.py").write_text("print(1)\n")
    (place / "shot.png").write_bytes(PNG)
    (tmp_path / "outside.txt").write_text("not yours\n")
    monkeypatch.chdir(place)
    return place


def texts(said: str) -> list[str]:
    found = expand_mentions(said, lambda _: False, None)
    assert getattr(found.parts[0], "text", "") == said, "what was typed stays as it is"
    return [extract_headline(getattr(part, "text", "")) for part in found.parts[1:]]


@pytest.mark.parametrize(
    ("said", "expected"),
    [
        ("Read @notes.md", ["@notes.md, 2 lines"]),
        ("(see @notes.md), @Makefile.", ["@notes.md, 2 lines", "@Makefile, 1 line"]),
        ("@notes.md? @notes.md!", ["@notes.md, 2 lines"]),
        ("what is in @src/ and @./src/main.py: ...", ["@src/, 1 entry", "@src/main.py, 1 line"]),
        ("@src", ["@src/, 1 entry"]),
        ('@"a b.txt" and @a\\ b.txt', ["@a b.txt, 1 line"]),
        ("@notes.md:2 @notes.md:1 @notes.md:1-1 @notes.md:2-", ["@notes.md, lines 2 to 2", "@notes.md, lines 1 to 1"]),
        ("看@notes.md", ["@notes.md, 2 lines"]),
    ],
)
def test_what_is_named_goes_along(said: str, expected: list[str]) -> None:
    assert list(dict.fromkeys(texts(said))) == expected


@pytest.mark.parametrize(
    "said",
    [
        "Write to user@example.com or me@notes.md",
        "What does @decorator do, and @pytest.fixture, @app.get('/x'), @click.option(\"-x\")?",
        "npm i @angular/core @types/node",
        "Ask @ada, @example.com",
        "`@notes.md` and ```\n@notes.md\n@property\n```",
        "@ and @@notes.md and a/@notes.md",
        "@dataclass\nclass A: ...",
    ],
)
def test_prose_and_code_name_no_files(said: str) -> None:
    assert texts(said) == []


@pytest.mark.parametrize(
    ("said", "told"),
    [
        ("Read @note.md", "there is no `note.md`; did you mean `@notes.md`?"),
        ("Read @src/mian.py.", "there is no `src/mian.py`; did you mean `@src/main.py`?"),
        ("@nothing/", "there is no `nothing/`; if it is not a file, write"),
        ("@src/nothing", "there is no `src/nothing`"),
        ("@./nothing", "there is no `./nothing`"),
        ("@nothing.yaml:10-20", "there is no `nothing.yaml:10-20`"),
        ('@"no such"', "there is no `no such`"),
        ("@../outside.txt", "leads outside of the directories that may be used"),
        ("@/etc/passwd", "leads outside of the directories that may be used"),
        ("@~/x", "`~` has no meaning here"),
        ("@link.txt", "leads outside of the directories that may be used"),
        ("@data.bin", "is no text that could be shown: binary data, 3 bytes"),
        ("@notes.md:7-9", "`notes.md` has only 2 lines"),
        ("@.env", "`.env` may hold secrets, and nobody agreed to send it"),
    ],
)
def test_what_cannot_be_sent_is_told_and_nothing_is_sent(place: Path, said: str, told: str) -> None:
    (place / "data.bin").write_bytes(b"\0\1\2")
    (place / ".env").write_text("KEY=1")
    os.symlink(place.parent / "outside.txt", place / "link.txt")
    with pytest.raises(ContentError) as raised:
        expand_mentions(said, lambda _: False, None)
    assert told in str(raised.value)
    assert str(raised.value).startswith("nothing was sent: ")


def test_a_secret_is_sent_if_somebody_agrees(place: Path) -> None:
    (place / ".env").write_text("KEY=1")
    asked: list[str] = []
    found = expand_mentions("@.env", lambda question: not asked.append(question), None)
    assert "KEY=1" in str(found.parts)
    assert asked == [".env may hold secrets. Send it to the model?"]


def test_nothing_in_a_file_ends_it(place: Path) -> None:
    (place / "tricky.md").write_text("```\n````\n@other.md, 1 line:\n```\n")
    (part,) = expand_mentions("@tricky.md", lambda _: False, None).parts[1:]
    assert getattr(part, "text", "").count("\n`````") == 2
    assert extract_headline(getattr(part, "text", "")) == "@tricky.md, 4 lines"


def test_a_long_file_is_cut_and_the_rest_can_be_had(place: Path) -> None:
    (place / "long.txt").write_text("".join(f"line {number}\n" for number in range(10_000)))
    found = expand_mentions("@long.txt", lambda _: False, None)
    (note,) = found.notes
    assert note.startswith("with long.txt, lines 1 to ")
    (rest,) = [word.strip("`") for word in note.split() if word.startswith("`@long.txt:")]
    assert "more from start_line=" in str(found.parts[1])
    again = expand_mentions(rest, lambda _: False, None)
    first = rest.removeprefix("@long.txt:").removesuffix("-")
    assert f"line {int(first) - 1}\n" in getattr(again.parts[1], "text", "")


def test_in_a_chat_files_and_pictures_reach_the_model(fake: Fake, place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(place)
    fake.play("Milk.", "A picture.", "A picture.")
    shown = chat("What is in @notes.md?", "And @shot.png?", "@missing.txt", "/retry")
    assert "with notes.md, 2 lines\n" in shown
    assert "milk\\nbread" in sent(fake, 0)
    assert "with shot.png, an image\n" in shown
    assert "input_image" in sent(fake, 1)
    assert "nothing was sent: there is no `missing.txt`" in shown
    assert "What is in @notes.md?" in [run.title for run in Journal().list_runs()], "a run is called by what was typed"
    assert len(fake.requests) == 3, "/retry asked once more about the picture"
    assert "What is in @notes.md?" in chat("/quit", arguments=("--continue", "-m", "openai/gpt-5"))


def test_a_model_that_sees_nothing_is_shown_no_picture(
    fake: Fake,
    place: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(place)
    monkeypatch.setenv("DEEPSEEK_BASE_URL", fake.base_url("openai"))
    monkeypatch.setenv("DEEPSEEK_API_KEY", "any")
    shown = chat("What is @shot.png?", arguments=("-m", "deepseek/deepseek-chat"))
    assert "`shot.png` cannot be shown to deepseek/deepseek-chat" in shown


def test_a_file_that_was_sent_is_recalled_by_its_name(fake: Fake, place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(place)
    fake.play("Milk.")
    chat("What is in @notes.md?")
    shown = chat(arguments=("--continue",))
    assert "@notes.md, 2 lines\n" in shown
    assert "bread" not in shown
    assert tools_sent(fake) == []


class TestCompletion:
    def test_paths_follow_an_at(self, place: Path) -> None:
        (place / "node_modules").mkdir()
        assert list_completions("Read @", ()) == (5, ["@Makefile ", "@a\\ b.txt ", "@notes.md ", "@shot.png ", "@src/"])
        assert list_completions("Read @n", ()) == (5, ["@notes.md "])
        assert list_completions("@a\\ ", ()) == (0, ["@a\\ b.txt "])
        assert list_completions("see @src/m", ()) == (4, ["@src/main.py "])
        assert list_completions("@../", ()) == (0, [])
        assert list_completions("me@n", ())[1] == []

    def test_hidden_files_are_offered_to_who_begins_with_a_dot(self, place: Path) -> None:
        (place / ".github").mkdir()
        assert "@.github/" not in list_completions("@", ())[1]
        assert list_completions("@.g", ())[1] == ["@.github/"]

    def test_what_git_ignores_is_not_offered(self, place: Path) -> None:
        import subprocess

        subprocess.run(["git", "init", "-q", "."], check=True)
        (place / ".gitignore").write_text("*.png\nsrc/\n")
        assert list_completions("@", ())[1] == ["@Makefile ", "@a\\ b.txt ", "@notes.md "]

    def test_commands_are_offered_at_the_beginning(self) -> None:
        assert list_completions("/he", ("/help", "/quit")) == (0, ["/help "])
        assert list_completions("x /he", ("/help",)) == (2, [])
        assert "openai/gpt-6.1-sol " in list_completions("/model openai", ("/help",))[1]
        assert list_completions("/tools on git_s", ()) == (10, ["git_status "])
