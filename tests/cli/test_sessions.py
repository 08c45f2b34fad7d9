"""`list`, `show`, `export` and `delete` as a person uses them with chats."""

import json
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from antiphon import Store
from antiphon.cli import cli
from antiphon.conversation import Conversation, Reasoning, Text, ToolCall
from antiphon.errors import AntiphonError
from antiphon.wire import Usage, read


@pytest.fixture(autouse=True)
def path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("ANTIPHON_DB", str(tmp_path / "logs.db"))
    return tmp_path / "logs.db"


def run_command(*arguments: str | Path, input: str | None = None, columns: int = 0) -> Result:
    environment = {"COLUMNS": str(columns)} if columns else {}
    done = CliRunner().invoke(cli, [*map(str, arguments)], input=input, env=environment)
    if isinstance(done.exception, AntiphonError):
        done.exit_code, done.stderr_bytes = 2, f"{done.stderr}antiphon: {done.exception}\n".encode()
    elif done.exception and not isinstance(done.exception, SystemExit):
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
    command = [sys.executable, "-m", "antiphon", *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=60, encoding="utf-8", **more)  # type: ignore


def test_a_line_each_the_newest_first():
    first = save("one", usage=Usage(1000, 234), cost=0.0125)
    second = save("what\x1b[31m is\nthat?", "an answer")
    # Wide enough for a date as well, should midnight pass in between.
    done = run_command("list", columns=120)
    assert done.exit_code == 0
    lines = done.stdout.splitlines()
    assert [line.split()[0] for line in lines] == [second, first]
    assert lines[0].endswith(r"  what\x1b[31m is that?")
    assert lines[1].endswith("chat  1 message  $0.0125  one")
    assert run_command("list", columns=120).stdout == done.stdout
    assert len(run_command("list", "-n", "1").stdout.splitlines()) == 1


def test_what_cost_nothing_has_no_price():
    save("one", usage=Usage(10, 2), cost=0.0)
    assert run_command("list", columns=120).stdout.endswith("chat  1 message  one\n")


@pytest.mark.parametrize("columns", [20, 40, 80, 120])
def test_lines_fit_the_terminal(columns: int):
    save("数据库" * 30, usage=Usage(1, 1), cost=1.0, model="x" * 100)
    save("word " * 30)
    for line in run_command("list", columns=columns).stdout.splitlines():
        assert len(line) + sum(char in "数据库" for char in line) <= columns
        assert line.endswith("…")


def test_nothing_saved_is_told(path: Path):
    for arguments in (["list"], ["list", "x"], ["show"], ["export", "last"], ["delete", "--older", "1d"]):
        done = run_command(*arguments)
        assert (done.exit_code, done.stdout) == (2 if arguments[-1] in ("show", "last") else 1, "")
        assert done.stderr.startswith("antiphon: ")
    done = run_command("list", "--json")
    assert (done.exit_code, json.loads(done.stdout)) == (1, [])
    assert not path.exists()


def test_lists_can_be_narrowed(path: Path):
    old = save("old one")
    save("new one", model="openai/gpt-x")
    connection = sqlite3.connect(path)
    connection.execute("UPDATE sessions SET updated = updated - 864000 WHERE id = ?", (old,))
    connection.commit()
    connection.close()
    assert "old" not in run_command("list", "--since", "9d").stdout
    assert "old" in run_command("list", "--since", "2w").stdout
    assert "old" not in run_command("list", "--model", "GPT").stdout
    assert run_command("list", "--model", "nosuch").exit_code == 1
    assert run_command("list", "--since", "2999-01-01").exit_code == 1
    for bad in ("x", "9", "999999999d", "2026-13-01", "", "0001-01-01"):
        assert run_command("list", "--since", bad).exit_code in (0, 2), bad
    assert "expected an age such as 30d" in run_command("list", "--since", "x").stderr


def test_search_shows_where_the_words_are():
    save("hello", "It rains in \x9b31m Oslo today")
    save("rain")
    done = run_command("list", "rain", "oslo")
    assert done.exit_code == 0
    line, excerpt = done.stdout.splitlines()
    assert line.endswith("hello")
    assert excerpt == r"    It rains in \x9b31m Oslo today"
    assert len(run_command("list", "rain").stdout.splitlines()) == 4
    (found,) = json.loads(run_command("list", "oslo", "--json").stdout)
    assert found["excerpt"] == "It rains in \x9b31m Oslo today"
    for arguments, code in ((["snow"], 1), (["-x"], 2), (["NEAR("], 1), (['"'], 2), (["*", "--", "-n"], 1)):
        assert run_command("list", *arguments).exit_code == code, arguments


def test_show_is_for_people_and_programs():
    conversation = Conversation("Be brief.")
    conversation.add_user("What is the *weather*?")
    conversation.add_assistant(
        [Reasoning("thinking\nhard"), Text("Look:"), ToolCall("c1", "weather", {"city": "Oslo"})]
    )
    conversation.add_tool_result("c1", "Rain\nand wind")
    with Store() as store:
        id = store.save(conversation, model="m", command="chat")
    shown = run_command("show").stdout
    assert id in shown
    assert 'weather(city="Oslo")' in shown
    assert "and wind" not in shown
    assert "and wind" in run_command("show", id[:7], "--full").stdout
    data = json.loads(run_command("show", "last", "--json").stdout)
    assert (data["id"], data["turns"], len(data["conversation"]["turns"])) == (id, 2, 2)
    missing = run_command("show", "nosuch")
    told = "antiphon: there is no session 'nosuch'; `antiphon list` lists them\n"
    assert (missing.exit_code, missing.stderr) == (2, told)


@pytest.mark.parametrize("format", ["antiphon", "anthropic", "openai-chat", "openai-responses", "gemini"])
def test_exports_are_what_others_read(format: str, tmp_path: Path):
    conversation = Conversation("Be brief.")
    conversation.add_user("hi é")
    conversation.add_assistant([ToolCall("c1", "f")])
    with Store() as store:
        store.save(conversation, model="m", command="chat")
    printed = run_command("export", "last", "--format", format)
    assert printed.exit_code == 0
    written = run_command("export", "last", tmp_path / "out.json", "--format", format)
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
        done = run_command("delete", first, input=answer)
        assert done.exit_code == 1
        assert "nothing was deleted" in done.stderr
    assert len(run_command("list").stdout.splitlines()) == 3
    assert run_command("delete", first, first, input="y\n").exit_code == 0
    assert run_command("delete", second, "nosuch", "--yes").exit_code == 2
    assert len(run_command("list").stdout.splitlines()) == 2
    assert run_command("delete", second, third, "--yes").stderr == "deleted 2 sessions\n"
    assert run_command("list").exit_code == 1


def test_remove_the_old_ones(path: Path):
    save("new")
    old = [save(f"old {number}") for number in range(12)]
    connection = sqlite3.connect(path)
    connection.executemany("UPDATE sessions SET updated = 1e9 WHERE id = ?", [(id,) for id in old])
    connection.commit()
    connection.close()
    asked = run_command("delete", "--older", "30d", input="n\n")
    assert "… and 2 more" in asked.stderr
    assert "Permanently delete 12 sessions?" in asked.stderr
    assert run_command("delete", "--older", "30d", "--yes").exit_code == 0
    assert [line.split()[-1] for line in run_command("list").stdout.splitlines()] == ["new"]
    assert run_command("delete", "--older", "30d", "--yes").exit_code == 1
    for wrong in ([], ["last", "--older", "1d"], ["--older", "soon"]):
        assert run_command("delete", *wrong, "--yes").exit_code == 2


def test_the_places_are_told(path: Path, monkeypatch: pytest.MonkeyPatch):
    assert f"sessions  {path}\n" in run_command("setup", "paths").stdout
    monkeypatch.setenv("ANTIPHON_DB", "off")
    assert json.loads(run_command("setup", "paths", "--json").stdout)["sessions"] == "off"


def test_where_saving_is_off_nothing_is_found(path: Path):
    save("hi", "ok")
    done = run_command("--db", "off", "list")
    assert (done.exit_code, done.stdout) == (1, "")
    assert "saving is off" in run_command("--db", "off", "show", "last").stderr
    assert "hi" in run_command("--db", path, "list").stdout


def test_a_bad_store_is_told_in_a_line(path: Path):
    path.write_text("no database " * 100)
    for arguments in (["list"], ["list", "x"], ["show"], ["delete", "x", "--yes"], ["answer", "last", "yes"]):
        done = run_command(*arguments)
        assert (done.exit_code, done.stdout, done.stderr.count("\n")) == (2, "", 1)
        assert done.stderr.startswith(f"antiphon: {path} is not a database;")


def test_a_terminal_without_unicode_is_no_crash(monkeypatch: pytest.MonkeyPatch):
    save("数据 …", "ok")
    monkeypatch.setenv("PYTHONIOENCODING", "ascii")
    for arguments in (["list"], ["list", "数据"], ["show"], ["show", "--json"], ["export", "last"], ["list", "--json"]):
        done = run(*arguments)
        assert (done.returncode, done.stderr) == (0, ""), arguments


def test_listing_loads_nothing_heavy():
    save("hi")
    code = (
        "import sys; from antiphon.cli import cli\ntry: cli(['list'])\nexcept SystemExit: pass\n"
        "print([name for name in ('rich', 'pydantic', 'httpx2') if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "[]"
