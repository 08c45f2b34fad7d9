"""`antiphon logs` as a person uses it."""

import json
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from antiphon.cli import cli
from antiphon.conversation import Conversation, Reasoning, Text, ToolCall
from antiphon.errors import StoreError
from antiphon.storage import Store
from antiphon.wire import Usage, read


@pytest.fixture(autouse=True)
def path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("ANTIPHON_LOGS", str(tmp_path / "logs.db"))
    return tmp_path / "logs.db"


def logs(*arguments: str | Path, input: str | None = None, columns: int = 0) -> Result:
    environment = {"COLUMNS": str(columns)} if columns else {}
    done = CliRunner().invoke(cli, ["logs", *map(str, arguments)], input=input, env=environment)
    if done.exception and not isinstance(done.exception, SystemExit):
        raise done.exception
    return done


def save(text: str, answer: str = "", **more: object) -> str:
    conversation = Conversation("Be brief.")
    conversation.add_user(text)
    if answer:
        conversation.add_assistant(answer)
    with Store() as store:
        return store.save(conversation, **{"model": "anthropic/claude-x", "command": "chat", **more})  # type: ignore[arg-type]


def run(*arguments: str, **more: object) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "antiphon", "logs", *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=60, encoding="utf-8", **more)  # type: ignore


def test_a_line_each_the_newest_first():
    first = save("one", usage=Usage(1000, 234), cost=0.0125)
    second = save("what\x1b[31m is\nthat?", "an answer")
    # Wide enough for a date as well, should midnight pass in between.
    done = logs(columns=120)
    assert done.exit_code == 0
    lines = done.stdout.splitlines()
    assert [line.split()[0] for line in lines] == [second, first]
    assert lines[0].endswith(r"  what\x1b[31m is that?")
    assert "claude-x" in lines[1]
    assert lines[1].endswith("1 turn  1.2k tok  $0.0125  one")
    assert logs("list", columns=120).stdout == done.stdout
    assert len(logs("-n", "1").stdout.splitlines()) == 1


def test_what_cost_nothing_has_no_price():
    save("one", usage=Usage(10, 2), cost=0.0)
    assert logs(columns=120).stdout.endswith("1 turn  12 tok  one\n")


@pytest.mark.parametrize("columns", [20, 40, 80, 120])
def test_lines_fit_the_terminal(columns: int):
    save("数据库" * 30, usage=Usage(1, 1), cost=1.0, model="x" * 100)
    save("word " * 30)
    for line in logs(columns=columns).stdout.splitlines():
        assert len(line) + sum(char in "数据库" for char in line) <= columns
        assert line.endswith("…")


def test_nothing_saved_is_told(path: Path):
    for arguments in ([], ["search", "x"], ["show"], ["export", "last"], ["remove", "--older-than", "1d"]):
        done = logs(*arguments)
        assert (done.exit_code, done.stdout) == (1, "")
        assert done.stderr.startswith("antiphon: ")
    done = logs("--json")
    assert (done.exit_code, json.loads(done.stdout)) == (1, [])
    assert not path.exists()


def test_lists_can_be_narrowed(path: Path):
    old = save("old one")
    save("new one", model="openai/gpt-x")
    connection = sqlite3.connect(path)
    connection.execute("UPDATE sessions SET updated = updated - 864000 WHERE id = ?", (old,))
    connection.commit()
    connection.close()
    assert "old" not in logs("--since", "9d").stdout
    assert "old" in logs("--since", "2w").stdout
    assert "old" not in logs("--model", "GPT").stdout
    assert logs("--model", "nosuch").exit_code == 1
    assert logs("--since", "2999-01-01").exit_code == 1
    for bad in ("x", "9", "999999999d", "2026-13-01", "", "0001-01-01"):
        assert logs("--since", bad).exit_code in (0, 2), bad
    assert "expected an age such as 30d" in logs("--since", "x").stderr


def test_search_shows_where_the_words_are():
    save("hello", "It rains in \x9b31m Oslo today")
    save("rain")
    done = logs("search", "rain", "oslo")
    assert done.exit_code == 0
    line, excerpt = done.stdout.splitlines()
    assert line.endswith("hello")
    assert excerpt == r"    It rains in \x9b31m Oslo today"
    assert len(logs("search", "rain").stdout.splitlines()) == 4
    (found,) = json.loads(logs("search", "oslo", "--json").stdout)
    assert found["excerpt"] == "It rains in \x9b31m Oslo today"
    for arguments, code in ((["snow"], 1), (["-x"], 1), (["NEAR("], 1), (['"'], 2), ([], 2), (["*", "--", "-n"], 1)):
        assert logs("search", *arguments).exit_code == code, arguments


def test_show_is_for_people_and_programs():
    conversation = Conversation("Be brief.")
    conversation.add_user("What is the *weather*?")
    conversation.add_assistant(
        [Reasoning("thinking\nhard"), Text("Look:"), ToolCall("c1", "weather", {"city": "Oslo"})]
    )
    conversation.add_tool_result("c1", "Rain\nand wind")
    with Store() as store:
        id = store.save(conversation, model="m", command="chat")
    shown = logs("show").stdout
    assert id in shown
    assert 'weather(city="Oslo")' in shown
    assert "and wind" not in shown
    assert "and wind" in logs("show", id[:7], "--full").stdout
    data = json.loads(logs("show", "last", "--json").stdout)
    assert (data["id"], data["turns"], len(data["conversation"]["turns"])) == (id, 2, 2)
    missing = logs("show", "nosuch")
    assert (missing.exit_code, missing.stderr) == (
        1,
        "antiphon: there is no saved conversation 'nosuch'; `antiphon logs` lists them\n",
    )


@pytest.mark.parametrize("format", ["antiphon", "anthropic", "openai-chat", "openai-responses", "gemini"])
def test_exports_are_what_others_read(format: str, tmp_path: Path):
    conversation = Conversation("Be brief.")
    conversation.add_user("hi é")
    conversation.add_assistant([ToolCall("c1", "f")])
    with Store() as store:
        store.save(conversation, model="m", command="chat")
    printed = logs("export", "last", "--to", format)
    assert printed.exit_code == 0
    written = logs("export", "last", tmp_path / "out.json", "--to", format)
    assert (written.exit_code, written.stdout) == (0, "")
    assert json.loads(printed.stdout) == json.loads((tmp_path / "out.json").read_bytes())
    if format == "antiphon":
        assert Conversation.load(tmp_path / "out.json") == conversation
    else:
        assert "answered as interrupted" in printed.stderr
        reading = read(json.loads(printed.stdout))
        assert reading.changes == []
        assert [turn.text for turn in reading.conversation.turns] == ["hi é", ""]


def test_an_export_that_cannot_be_written(tmp_path: Path):
    save("hi")
    done = run("export", "last", str(tmp_path))
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)
    assert done.stderr.startswith("antiphon: cannot write")


def test_remove_asks_first():
    first, second, third = save("one"), save("two"), save("three")
    for answer in ("n\n", "", "\n"):
        done = logs("remove", first, input=answer)
        assert done.exit_code == 1
        assert "nothing was removed" in done.stderr
    assert len(logs().stdout.splitlines()) == 3
    assert logs("remove", first, first, input="y\n").exit_code == 0
    assert logs("remove", second, "nosuch", "--yes").exit_code == 1
    assert len(logs().stdout.splitlines()) == 2
    assert logs("remove", second, third, "--yes").stderr == "removed 2 conversations\n"
    assert logs().exit_code == 1


def test_remove_the_old_ones(path: Path):
    save("new")
    old = [save(f"old {number}") for number in range(12)]
    connection = sqlite3.connect(path)
    connection.executemany("UPDATE sessions SET updated = 1e9 WHERE id = ?", [(id,) for id in old])
    connection.commit()
    connection.close()
    asked = logs("remove", "--older-than", "30d", input="n\n")
    assert "… and 2 more" in asked.stderr
    assert "Permanently remove 12 conversations?" in asked.stderr
    assert logs("remove", "--older-than", "30d", "--yes").exit_code == 0
    assert [line.split()[-1] for line in logs().stdout.splitlines()] == ["new"]
    assert logs("remove", "--older-than", "30d", "--yes").exit_code == 1
    for wrong in ([], ["last", "--older-than", "1d"], ["--older-than", "soon"]):
        assert logs("remove", *wrong, "--yes").exit_code == 2


def test_the_path_is_told(path: Path, monkeypatch: pytest.MonkeyPatch):
    assert logs("path").stdout == f"{path}\n"
    monkeypatch.setenv("ANTIPHON_LOGS", "off")
    assert "disables saving" in logs("path").stderr


def test_a_bad_store_is_told_in_a_line(path: Path):
    path.write_text("no database " * 100)
    for arguments in ([], ["search", "x"], ["show"], ["remove", "x", "--yes"]):
        with pytest.raises(StoreError):
            logs(*arguments)
    done = run()
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1)
    assert done.stderr.startswith(f"antiphon: {path} is not a database;")


def test_a_terminal_without_unicode_is_no_crash(monkeypatch: pytest.MonkeyPatch):
    save("数据 …", "ok")
    monkeypatch.setenv("PYTHONIOENCODING", "ascii")
    for arguments in ([], ["search", "数据"], ["show"], ["show", "--json"], ["export", "last"], ["--json"]):
        done = run(*arguments)
        assert (done.returncode, done.stderr) == (0, ""), arguments


def test_listing_loads_nothing_heavy():
    save("hi")
    code = (
        "import sys; from antiphon.cli import cli\ntry: cli(['logs'])\nexcept SystemExit: pass\n"
        "print([name for name in ('rich', 'pydantic', 'httpx2') if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "[]"
