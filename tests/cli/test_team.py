"""`antiphon team`, through the command: a played team, real git, real tests."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from antiphon.durable import Journal
from antiphon.fakes import Fail, Fake, call
from tests.cli.team_roles import MODEL, git, make_repository, serving
from tests.cli.terminal import Terminal
from tests.forks import Forked
from tests.lang_unit.commands import antiphon

MAIN = "import sys; sys.argv[0] = 'antiphon'; from antiphon.cli import main; main()"


@pytest.fixture(autouse=True)
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("ANTIPHON_DB", str(tmp_path / "logs" / "logs.db"))
    monkeypatch.setenv("ANTIPHON_MODEL", MODEL)
    monkeypatch.setenv("OPENAI_API_KEY", "sk-of-nobody")
    # Plugins of ours are no part of a tiny repository, and take long to load.
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    made = make_repository(tmp_path / "repository")
    monkeypatch.chdir(made)
    return made


@pytest.fixture(autouse=True)
def fake(monkeypatch: pytest.MonkeyPatch) -> Iterator[Fake]:
    with serving() as fake:
        point(monkeypatch, fake)
        yield fake


def point(monkeypatch: pytest.MonkeyPatch, fake: Fake) -> None:
    monkeypatch.setenv("OPENAI_BASE_URL", fake.base_url("openai"))


def status() -> dict[str, Any]:
    return json.loads(antiphon("show", "last", "--json").out)


def question() -> int:
    (found,) = status()["questions"]
    return found["id"]


def begun(*words: str) -> subprocess.Popen[str]:
    return Forked("team", *words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)


def until(child: subprocess.Popen[str], text: str) -> str:
    """What a process prints up to a line with this in it."""
    read = ""
    assert child.stdout is not None
    for line in child.stdout:
        read += line
        if text in line:
            return read
    raise AssertionError(f"{text!r} is not in {read!r}")


class TestWorking:
    def test_from_a_question_to_a_branch(self, repository: Path):
        ran = antiphon("team", "Mend", "add")
        team = status()["id"]
        assert ran.code == 3
        assert re.search(r"^#\d+ @pm asks: Which numbers should it add\?$", ran.out, re.MULTILINE)
        assert f'antiphon answer {team}:{question()} "..."' in ran.err
        assert f"resume it with `antiphon resume {team}`" in ran.err
        assert f"tests: {(shutil.which('python') and 'python') or 'python3'} -m pytest" in ran.err
        assert f"model: {MODEL}" in ran.err

        answered = antiphon("answer", f"last:{question()}", "all", "of", "them")
        assert (answered.code, f"antiphon resume {team}" in answered.err) == (0, True)
        ran = antiphon("resume")
        assert (ran.code, "Is this what you want?" in ran.err, "`yes` accepts it" in ran.err) == (3, True, True)
        ran = antiphon("answer", f"last:{question()}", "yes", "--resume")
        assert ran.code == 0
        assert f"git merge antiphon/{team}/main" in ran.out
        assert "return a + b" in git(repository, "show", f"antiphon/{team}/main:calc.py")
        # What is the user's is as it was.
        assert git(repository, "status", "--short", "--branch") == "## main"
        assert "return a - b" in (repository / "calc.py").read_text(encoding="utf-8")

        shown = antiphon("show").out
        assert "1. Mend add  merged  @coder-1" in shown
        assert re.search(r"@coder-1  2 turns, 3 requests, \$0\.\d+", shown)
        assert "$0.0000" not in shown
        assert antiphon("team", "diff", "1").out == antiphon("team", "diff").out
        assert "+    return a + b" in antiphon("team", "diff", "1").out
        assert "My plan: change calc.py" in antiphon("show", "--agent", "coder-1").out
        again = antiphon("resume")
        assert (again.code, "is already done" in again.err, "git merge" in again.out) == (0, True, True)
        assert status()["tasks"][0]["state"] == "merged"

    def test_alone(self, repository: Path):
        ran = antiphon("team", "--solo", "Mend add")
        assert ran.code == 0
        assert "@coder hands in: submit_work" in ran.out
        assert "return a + b" in git(repository, "show", f"{status()['branch']}:calc.py")
        assert {each["agent"] for each in status()["costs"]} == {"@coder"}

    def test_nothing_merged_is_told_by_the_exit_code(self, monkeypatch: pytest.MonkeyPatch):
        def gives_up(_: str, __: set[str]) -> Any:
            return "I do not know how."

        with serving({"@coder": gives_up}) as fake:
            point(monkeypatch, fake)
            assert antiphon("team", "--solo", "Mend add").code == 3
            assert "gets no further" in status()["questions"][0]["text"]
            ran = antiphon("answer", f"last:{question()}", "drop", "--resume")
        assert (ran.code, "Nothing was merged." in ran.out) == (1, True)

    def test_coders_and_limits_of_flags_come_before_the_file(self, repository: Path):
        (repository / "team.toml").write_text('[team]\ncoders = 3\n[limits]\ncost = 1.5\n[tests]\ncommand = "true"\n')
        assert antiphon("trust", "--yes").code == 0
        ran = antiphon("team", "--coders", "2", "Mend add")
        assert "limits: $1.5 in total" in ran.err
        assert "tests: true\n" in ran.err
        shown = antiphon("show", "--agent", "nobody")
        assert (shown.code, "pm, architect, coder-1, coder-2\n" in shown.err) == (2, True)

    def test_a_fork_goes_another_way_from_a_message(self):
        antiphon("team", "Mend add")
        asked = question()
        antiphon("answer", f"last:{asked}", "these", "--resume")
        first = status()["id"]
        # With the next one, its turn is over.
        made = antiphon("resume", "--fork", "last", "--at", str(asked + 1), "--no-run")
        assert (made.code, "is a fork of" in made.err) == (0, True)
        other = status()
        assert other["id"] != first
        assert [each["text"] for each in other["questions"]] == ["Which numbers should it add?"]
        ran = antiphon("answer", f"last:{question()}", "those", "--resume")
        assert (ran.code, "Is this what you want?" in ran.out) == (3, True)
        assert "these" not in antiphon("team", "chat", "-n", "100", input="").out


class TestWaiting:
    def test_an_answer_is_given_once_and_to_what_was_asked(self):
        antiphon("team", "Mend add")
        number = str(question())
        assert antiphon("answer", f"last:{number}", "one").code == 0
        again = antiphon("answer", f"last:{number}", "two")
        assert (again.code, f"question {number} has its answer already: one" in again.err) == (2, True)
        strange = antiphon("answer", "last:4711", "x")
        assert (strange.code, "is not open" in strange.err) == (2, True)

    def test_a_limit_in_requests_waits_and_is_raised(self):
        ran = antiphon("team", "--solo", "--max-requests", "1", "Mend add")
        team = status()["id"]
        assert ran.code == 4
        assert "the limit of 1 requests for all of it is reached" in ran.err
        assert f"antiphon resume {team} --max-requests N" in ran.err
        assert antiphon("resume").code == 4
        assert antiphon("resume", "last", "--max-requests", "50").code == 0

    def test_a_limit_in_dollars_waits_and_is_raised(self):
        ran = antiphon("team", "--solo", "--max-cost", "0.0001", "Mend add")
        assert (ran.code, "--max-cost USD` raises the limit" in ran.err) == (4, True)
        assert "the limit of $0.0001 for all of it is reached" in antiphon("show").out
        assert antiphon("resume", "last", "--max-cost", "5").code == 0

    def test_a_price_that_is_not_known_is_said_and_not_shown_as_nothing(self):
        ran = antiphon("team", "--solo", "--max-cost", "1", "-m", "openai-chat/unheard-of", "Mend add")
        assert ran.code == 0
        assert "the price of openai-chat/unheard-of is unknown" in ran.err
        shown = antiphon("show").out
        assert "the cost of @coder is unknown" in shown
        assert "$0" not in shown

    def test_a_rate_limit_says_until_when(self, monkeypatch: pytest.MonkeyPatch):
        def tired(_: str, __: set[str]) -> Any:
            return Fail(429, retry_after=7200)

        with serving({"@coder": tired}) as fake:
            point(monkeypatch, fake)
            ran = antiphon("team", "--solo", "Mend add")
        assert ran.code == 3
        assert re.search(r"until \d{4}-\d\d-\d\d \d\d:\d\d; resume it with `antiphon resume", ran.err)

    def test_a_provider_that_fails_leaves_the_team_as_it_is(self, monkeypatch: pytest.MonkeyPatch, fake: Fake):
        def shut(_: str, __: set[str]) -> Any:
            return Fail(401)

        with serving({"@coder": shut}) as other:
            point(monkeypatch, other)
            ran = antiphon("team", "--solo", "Mend add")
        assert (ran.code, "stopped with an error; resume it with `antiphon resume" in ran.err) == (1, True)
        point(monkeypatch, fake)
        assert antiphon("resume").code == 0


class TestTerminal:
    def test_who_sits_there_is_asked_and_sees_what_is_done(self, repository: Path):
        env = {**os.environ, "TERM": "xterm-256color"}
        with Terminal("team", "Mend add", env=env, cwd=repository) as terminal:
            terminal.expect("@pm asks (#")
            terminal.expect("Which numbers should it add?")
            terminal.expect("> ")
            terminal.send("all of them\n")
            shown = terminal.expect("type yes to accept it")
            assert "add must add." in shown  # As Markdown: the marks are gone.
            terminal.expect("> ")
            terminal.send("yes\n")
            terminal.expect("1. Mend add")
            terminal.expect("git merge antiphon/")
            assert terminal.ends() == 0
        assert "return a + b" in git(repository, "show", f"{status()['branch']}:calc.py")

    def test_what_is_not_answered_stays_open(self, repository: Path):
        with Terminal("team", "Mend add", env=dict(os.environ), cwd=repository) as terminal:
            terminal.expect("press Enter to leave it open")
            terminal.expect("> ")
            terminal.send("\n")
            terminal.expect("left open")
            assert terminal.ends() == 3
        assert question()

    def test_talking_in_a_terminal(self, repository: Path):
        antiphon("team", "Mend add")
        with Terminal("team", "chat", env=dict(os.environ), cwd=repository) as terminal:
            terminal.expect("Which numbers should it add?")
            terminal.expect("> ")
            antiphon("team", "chat", "development", input="somebody else says this\n")
            terminal.expect("@human to @architect: somebody else says this")
            terminal.send("@nobody hello\n")
            terminal.expect("there is nobody called")
            terminal.expect("> ")
            terminal.send(f"#{question()} all of them\n")
            terminal.expect("all of them")
            terminal.expect("> ")
            terminal.send("\x04")
            assert terminal.ends() == 0
        assert status()["questions"] == []


class TestLeaving:
    def test_interrupted_and_gone_on_with(self, monkeypatch: pytest.MonkeyPatch):
        with serving(seconds=0.3) as fake:
            point(monkeypatch, fake)
            child = begun("--solo", "Mend add")
            until(child, "@coder works")
            child.send_signal(signal.SIGINT)
            out, _ = child.communicate(timeout=30)
            assert child.returncode == 130
            assert f"interrupted; resume it with `antiphon resume {status()['id']}`" in out
            assert not status()["running"]
            assert antiphon("resume").code == 0

    def test_killed_and_gone_on_with(self, monkeypatch: pytest.MonkeyPatch, repository: Path):
        with serving(seconds=0.3) as fake:
            point(monkeypatch, fake)
            child = begun("--solo", "Mend add")
            until(child, "@coder works")
            child.kill()
            child.wait()
            assert antiphon("resume").code == 0
        assert git(repository, "log", "--format=%s", f"main..{status()['branch']}") == "Mend add"

    def test_two_processes_one_team(self, monkeypatch: pytest.MonkeyPatch):
        with serving(seconds=1.5) as fake:
            point(monkeypatch, fake)
            child = begun("--solo", "Mend add")
            until(child, "@coder works")
            assert status()["running"]
            assert "running; 1 coding" in antiphon("show").out
            second = antiphon("resume")
            assert (second.code, "is running in another process" in second.err) == (2, True)
            assert "stops at its next step" in antiphon("stop", "last").err
            out, _ = child.communicate(timeout=30)
        assert (child.returncode, "was stopped; resume it with `antiphon resume" in out) == (130, True)
        assert "is not running" in antiphon("stop", "last").err

    def test_a_running_team_is_not_stopped_for_good(self):
        antiphon("team", "Mend add")
        team = status()["id"]
        running = Journal().resume(team)
        said = antiphon("stop", "--final", "last")
        assert (said.code, f"first stop it with `antiphon stop {team}`" in said.err) == (2, True)
        running.finish("interrupted")
        assert "is stopped for good" in antiphon("stop", "--final", "last").err


class TestTalking:
    def test_lines_are_said_and_what_is_new_is_printed(self):
        antiphon("team", "Mend add")
        said = antiphon("team", "chat", "product", input="Be quick.\n\n@coder-1 use plus\n")
        assert said.code == 0
        assert re.search(r"^#\d+ @human to @pm: Be quick\.$", said.out, re.MULTILINE)
        # Coders do not hear that channel, so it is said where they do.
        assert "use plus" not in said.out
        assert re.search(r"@human to @coder-1: use plus", antiphon("team", "chat", "development", input="").out)
        assert "is not running" in said.err

    def test_to_nobody_is_told(self):
        antiphon("team", "Mend add")
        said = antiphon("team", "chat", input="@coder-9 hello\n")
        assert (said.code, "there are: @human, @pm, @architect, @coder-1" in said.err) == (2, True)

    def test_a_channel_that_is_none(self):
        antiphon("team", "Mend add")
        assert antiphon("team", "chat", "devlopment").code == 2


class TestMistakes:
    @pytest.mark.parametrize(
        ("text", "said"),
        [
            ("[team]\ncoder = 2\n", "`coder` in [team] is not known; did you mean `coders`?"),
            ("[team]\ncoders = 0\n", "is a whole number above 0, not 0"),
            ("[limit]\ncost = 2\n", "did you mean `limits`?"),
            ("[limits]\ncost = 'much'\n", "an amount of US dollars"),
            ("[team\n", "cannot be read"),
            ("[roles.boss]\n", "there are: pm, architect, coder"),
        ],
    )
    def test_in_the_file_are_told_before_anything_is_done(self, repository: Path, text: str, said: str):
        (repository / "team.toml").write_text(text)
        ran = antiphon("team", "Mend add")
        assert (ran.code, ran.out, said in ran.err) == (2, "", True)
        assert git(repository, "branch", "--list", "antiphon/*") == ""

    def test_a_model_that_nobody_has(self, repository: Path):
        ran = antiphon("team", "-m", "openay/gpt-5", "Mend add")
        assert (ran.code, "openay" in ran.err) == (2, True)
        assert git(repository, "branch", "--list", "antiphon/*") == ""

    def test_no_repository(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
        monkeypatch.chdir(tmp_path)
        ran = antiphon("team", "Mend add")
        assert (ran.code, "is not in a git repository; `git init`" in ran.err) == (2, True)
        ran = antiphon("team", "chat")
        assert (ran.code, "is not in a git repository" in ran.err) == (2, True)

    def test_where_nothing_is_to_be_saved(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
        monkeypatch.setenv("ANTIPHON_DB", "off")
        ran = antiphon("team", "--solo", "Mend add")
        assert (ran.code, "antiphon --db FILE team" in ran.err) == (2, True)
        assert antiphon("--db", str(tmp_path / "here.db"), "team", "--solo", "Mend add").code == 0

    def test_no_team_yet(self):
        for words in (("chat",), ("diff",)):
            ran = antiphon("team", *words, input="")
            assert (ran.code, 'start one with `antiphon team "…"`' in ran.err) == (2, True), words

    def test_tests_that_cannot_be_confined_are_refused(self, repository: Path):
        inside = 'echo 0 > /proc/sys/user/max_user_namespaces && exec "$@"'
        command = ["unshare", "-Ur", "sh", "-c", inside, "sh", sys.executable, "-c", MAIN, "team", "Mend add"]
        if not shutil.which("unshare") or subprocess.run(["unshare", "-Ur", "true"]).returncode:
            pytest.skip("this system cannot be made one without namespaces")
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert (done.returncode, "--no-sandbox" in done.stderr) == (2, True)
        assert git(repository, "branch", "--list", "antiphon/*") == ""

    def test_init_writes_a_file_that_holds_and_never_overwrites(self, repository: Path):
        from antiphon.team import TeamSettings
        from antiphon.team.settings import read_team_file

        (repository / "below").mkdir()
        assert antiphon("team", "init", "--repo", "below").code == 0
        assert read_team_file(repository / "team.toml") == TeamSettings()
        (repository / "team.toml").write_text("[team]\ncoders = 2\n")
        again = antiphon("team", "init")
        assert (again.code, "exists and was not changed" in again.err) == (2, True)
        assert (repository / "team.toml").read_text() == "[team]\ncoders = 2\n"


class TestRepositories:
    def test_a_dirty_tree_is_told_of_and_left(self, repository: Path):
        (repository / "calc.py").write_text("broken(\n")
        ran = antiphon("team", "--solo", "Mend add")
        assert (ran.code, "1 file with changes that are not committed" in ran.err) == (0, True)
        assert (repository / "calc.py").read_text() == "broken(\n"

    def test_no_commits_and_no_tests(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
        def writes(read: str, _: set[str]) -> Any:
            done = '"role": "tool"' in read
            return (
                call("submit_work", summary="Say hello") if done else call("write_file", path="a.txt", content="hi\n")
            )

        empty = make_repository(tmp_path / "empty", {})
        with serving({"@coder": writes}) as fake:
            point(monkeypatch, fake)
            ran = antiphon("team", "--solo", "--repo", str(empty), "Say hello")
        assert ran.code == 0
        assert "there are no commits yet" in ran.err
        assert "tests: none found" in ran.err
        assert "No tests were run" in ran.out

    def test_nothing_that_is_said_is_obeyed(self, monkeypatch: pytest.MonkeyPatch):
        evil = "\x1b]0;owned\x07\x1b[2J\u202e"

        def hostile(_: str, __: set[str]) -> Any:
            return call("create_tasks", tasks=[{"title": f"Mend{evil}", "spec": evil}])

        def asks(read: str, _: set[str]) -> Any:
            if "Which" not in read:
                return call("chat_ask_user", question=f"Which{evil}\nantiphon: done")
            return call("submit_spec", title=f"T{evil}", text=evil)

        def writes(_: str, tools: set[str]) -> Any:
            return call("chat_ask_user", question=f"{evil}?") if "submit_work" in tools else f"plan{evil}"

        with serving({"@pm": asks, "@architect": hostile, "@coder": writes}) as fake:
            point(monkeypatch, fake)
            seen = [antiphon("team", f"Mend{evil}")]
            for said in ("x", "yes"):
                seen.append(antiphon("answer", f"last:{question()}", said, "--resume"))
        seen += [antiphon("team", "chat", input=""), antiphon("show")]
        seen += [antiphon("show", "--agent", "pm"), antiphon("list")]
        for ran in seen:
            assert not re.search(r"[\x1b\x07\u202e]", ran.out + ran.err)
            assert not re.search(r"^antiphon: done", ran.out + ran.err, re.MULTILINE)


class TestRuns:
    def test_a_team_is_a_run_with_turns_in_it(self):
        antiphon("team", "Mend add")
        team = status()["id"]
        assert re.search(rf"^{team}  waiting  .*  team .*Mend add$", antiphon("list").out, re.MULTILINE)
        assert f"team {team}: Mend add" in antiphon("show", team).out
        assert f"{team}.1" in antiphon("list", "--in", team).out
        assert "chat_ask_user" in antiphon("show", f"{team}.1").out
        turn = antiphon("resume", f"{team}.1")
        assert (turn.code, f"antiphon resume {team}" in turn.err) == (2, True)
        told = antiphon("answer", f"{team}.1", "x")
        assert (told.code, f"antiphon show {team}" in told.err) == (2, True)
        antiphon("answer", f"last:{question()}", "x")
        gone_on = antiphon("resume", team)
        assert (gone_on.code, "Is this what you want?" in gone_on.out) == (3, True)

    def test_what_is_removed_is_gone_with_all_that_was_said(self):
        from antiphon.team import Channel

        antiphon("team", "--solo", "Mend add")
        team = status()["id"]
        place = os.environ["ANTIPHON_DB"]
        assert Channel(f"{team}/log", place).messages()
        time.sleep(0.01)
        assert antiphon("delete", "--older", "0h", "--yes").code == 0
        assert Channel(f"{team}/log", place).messages() == []
        assert antiphon("show").code == 2
