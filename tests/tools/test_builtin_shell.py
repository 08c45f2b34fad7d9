"""The shell tool: bounded in time and output, nothing left behind, no secrets, and only what is allowed."""

from __future__ import annotations

import asyncio
import os
import subprocess
import time
from pathlib import Path

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from antiphon.tools import ToolFailure
from antiphon.tools.builtin import shell_tool
from antiphon.tools.process_runner import is_secret_variable, make_scrubbed_environment
from antiphon.tools.shell_parsing import check_allowed_commands, parse_simple_commands
from tests.tools.calls import Failed, acall, call

needs_proc = pytest.mark.skipif(not os.path.isdir("/proc/self"), reason="looks at /proc")


def sh(root: Path, command: str, **settings: object) -> str:
    return call([shell_tool(root, **settings)], "run_shell", command=command)  # type: ignore[arg-type]


def alive(mark: str) -> list[str]:
    """The processes that still run with this mark in their environment or command line."""
    found: list[str] = []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            line = (process / "cmdline").read_bytes().decode(errors="replace")
        except OSError:
            continue
        if mark in line:
            found.append(line)
    return found


def gone(mark: str) -> bool:
    ends = time.monotonic() + 60
    while alive(mark):
        if time.monotonic() > ends:
            return False
        time.sleep(0.02)
    return True


class TestRunning:
    def test_output_and_errors_come_in_order_with_the_exit_code(self, tmp_path: Path) -> None:
        assert sh(tmp_path, "echo one; echo two >&2; echo three; exit 3") == "one\ntwo\nthree\n[exit code 3]"
        assert sh(tmp_path, "true") == "(no output)\n[exit code 0]"
        assert sh(tmp_path, "kill -SEGV $$").endswith("[ended by SIGSEGV]")

    def test_it_starts_in_its_directory_and_nobody_types(self, tmp_path: Path) -> None:
        assert sh(tmp_path, "pwd -P; cat") == f"{tmp_path.resolve()}\n[exit code 0]"

    def test_what_is_no_utf_8_is_replaced(self, tmp_path: Path) -> None:
        assert sh(tmp_path, r"printf 'a\377b'") == "a�b\n[exit code 0]"

    def test_empty_and_impossible_commands_are_refused(self, tmp_path: Path) -> None:
        for command in ("", "  ", "echo a\0b"):
            with pytest.raises(Failed, match=r"empty|NUL"):
                sh(tmp_path, command)

    def test_it_asks_by_default(self, tmp_path: Path) -> None:
        tool = shell_tool(tmp_path)
        assert tool.destructive
        assert not tool.concurrent

    def test_much_output_is_bounded_while_it_runs(self, tmp_path: Path) -> None:
        text = sh(tmp_path, "echo first; head -c 200000000 /dev/zero | tr '\\0' x; echo; echo last", output_limit=1_000)
        assert text.startswith("first\n")
        assert text.endswith("last\n[exit code 0]")
        assert "bytes left out" in text
        assert len(text) < 1_200


@needs_proc
class TestEnding:
    def test_a_time_out_ends_the_grandchildren_too(self, tmp_path: Path) -> None:
        mark = "139.0417"
        command = f"echo begun; (trap '' TERM; sleep {mark}; sleep {mark}) & sh -c 'sleep {mark}; true' & sleep {mark}"
        said = ""
        for seconds in (0.4, 4.0, 40.0):
            with pytest.raises(Failed, match=f"after {seconds:g} seconds") as caught:
                sh(tmp_path, command, timeout=seconds)
            assert gone(mark)
            if "begun" in (said := str(caught.value)):
                break
        assert said.endswith("Until then it said:\nbegun")

    def test_a_cancelled_call_leaves_nothing(self, tmp_path: Path) -> None:
        mark = "139.0418"

        async def cancelled() -> None:
            task = asyncio.create_task(
                acall(
                    [shell_tool(tmp_path)], "run_shell", command=f"trap '' TERM; sleep {mark} & touch up; sleep {mark}"
                )
            )
            while not (tmp_path / "up").exists():
                await asyncio.sleep(0.01)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task

        asyncio.run(cancelled())
        assert gone(mark)

    def test_cancelled_at_any_moment_of_its_start_it_leaves_nothing(self, tmp_path: Path) -> None:
        mark = "139.0427"

        async def cancelled(turns: int) -> None:
            command = f"sleep {mark} & sleep {mark}"
            task = asyncio.create_task(acall([shell_tool(tmp_path)], "run_shell", command=command))
            for _ in range(turns):
                await asyncio.sleep(0)
            # The program goes on meanwhile; our own loop does not.
            time.sleep(0.02)
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)

        for turns in range(12):
            asyncio.run(cancelled(turns))
        assert gone(mark)

    def test_a_child_that_holds_the_output_does_not_hold_us(self, tmp_path: Path) -> None:
        mark = "139.0419"
        began = time.monotonic()
        assert sh(tmp_path, f"sleep {mark} & echo done") == "done\n[exit code 0]"
        assert time.monotonic() - began < 60
        assert gone(mark)

    def test_nothing_stays_in_the_background(self, tmp_path: Path) -> None:
        mark = "139.0420"
        sh(tmp_path, f"sleep {mark} >/dev/null 2>&1 &")
        assert gone(mark)

    def test_no_zombies_and_no_open_files_are_left(self, tmp_path: Path) -> None:
        sh(tmp_path, "true")
        before = {*os.listdir("/proc/self/fd")}
        for _ in range(2):
            sh(tmp_path, "sleep 9 & true")
        # What other tests of this process have left may be closed meanwhile, and its number be that of the listing.
        opened = {*os.listdir("/proc/self/fd")} - before
        assert [each for each in opened if os.path.exists(f"/proc/self/fd/{each}")] == []
        try:
            # Other tests of this process may have a browser or a server running.
            ended = os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)
        except ChildProcessError:
            ended = None
        assert ended is None


class TestSecrets:
    SECRETS = (
        "OPENAI_API_KEY ANTHROPIC_API_KEY GEMINI_API_KEY GITHUB_TOKEN AWS_SECRET_ACCESS_KEY AWS_ACCESS_KEY_ID HF_TOKEN "
        "DB_PASSWORD MYSQL_PWD NPM_AUTH SSH_AUTH_SOCK GOOGLE_APPLICATION_CREDENTIALS my_apikey API_KEY_2 GH_PAT "
        "SESSION_COOKIE AZURE_STORAGE_CONNECTION_STRING PGPASSWORD DOCKER_AUTH_CONFIG SENTRY_DSN"
    )
    PLAIN = "PATH HOME LANG LC_ALL USER SHELL PWD OLDPWD TERM TMPDIR VIRTUAL_ENV TOKENIZERS_PARALLELISM KEYBOARD EDITOR"

    def test_names_that_look_like_secrets(self) -> None:
        assert [name for name in self.SECRETS.split() if not is_secret_variable(name)] == []
        assert [name for name in self.PLAIN.split() if is_secret_variable(name)] == []

    @pytest.mark.parametrize(
        "value",
        [
            "postgres://me:hunter2@db/x",
            "x sk-abcdefghijklmnopqrstu",
            "ghp_" + "a" * 30,
            "-----BEGIN RSA PRIVATE KEY-----",
            "sk_live_" + "a1" * 12,
            "rk_test_" + "a1" * 12,
            "whsec_" + "a1" * 12,
            "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.x",
        ],
    )
    def test_values_that_look_like_secrets(self, value: str) -> None:
        assert is_secret_variable("HARMLESS", value)

    def test_they_do_not_reach_commands(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("OPENAI_API_KEY", "do-not-tell")
        monkeypatch.setenv("DATABASE_URL", "mysql://u:do-not-tell@h/d")
        monkeypatch.setenv("FLAVOUR", "plain")
        text = sh(tmp_path, "env")
        assert "do-not-tell" not in text
        assert "FLAVOUR=plain" in text
        assert "PATH=" in text

    def test_programs_are_not_looked_for_where_the_command_runs(self) -> None:
        assert make_scrubbed_environment({"PATH": f".:bin::{os.sep}usr{os.sep}bin"}) == {"PATH": "/usr/bin"}


ALLOW = ("ls", "git log *", "cat docs/*", "grep *", "echo *", "head -n ? *")


class TestAllowing:
    @pytest.mark.parametrize(
        "line",
        [
            "ls",
            "git log",
            "git log --oneline -5 | head -n 3",
            "grep 'a|b; $(x)' *.txt 2>/dev/null && ls; ls || echo \"no; > rm\"",
            'grep "a\\.b\\$" x 2>&1 | grep -v y > /dev/null',
            "ls\nls\n",
            "echo a\\;b",
            "cat docs/a.txt",
            "'ls'",
        ],
    )
    def test_lines_of_allowed_commands_are(self, line: str) -> None:
        check_allowed_commands(line, ALLOW)

    @pytest.mark.parametrize(
        ("line", "words"),
        [
            ("rm -rf x", "`rm -rf x` is not among"),
            ("ls -l", "`ls -l` is not among"),
            ("ls; rm x", "`rm x`"),
            ("ls && rm x", "`rm x`"),
            ("ls || rm x", "`rm x`"),
            ("ls | rm x", "`rm x`"),
            ("ls\nrm x", "`rm x`"),
            ("ls & rm x", "background"),
            ("ls |& rm", "background"),
            ("echo $(rm x)", "substitutions"),
            ('echo "$(rm x)"', "substitutions"),
            ("echo `rm x`", "backticks"),
            ('echo "`rm x`"', "backticks"),
            ("echo ${x:-$(rm)}", "substitutions"),
            ("echo $'\\x3b'", "substitutions"),
            ("(rm x)", "parentheses"),
            ("echo() { rm x; }", "parentheses"),
            ("echo x > file", "redirections"),
            ("echo x>file", "redirections"),
            ("echo x >> ~/.bashrc", "redirections"),
            ("echo x 2>file", "redirections"),
            ("echo x >/dev/nullx", "redirections"),
            ("echo x >/dev/null/../../tmp/x", "redirections"),
            ("grep x < /etc/passwd", "redirections"),
            ("grep x <<< y", "redirections"),
            ("grep <(rm x)", "redirections"),
            ("echo x >&file", "redirections"),
            ("echo x >| file", "redirections"),
            ("PATH=. ls", "setting variables"),
            ("LD_PRELOAD=./x.so ls", "setting variables"),
            ("a[0]+=x ls", "setting variables"),
            ("{ rm x; }", "not allowed"),
            ("if true; then rm x; fi", "not allowed"),
            ("! rm x", "not allowed"),
            ("time rm x", "not allowed"),
            ("r\\m x", "`rm x`"),
            ("'r'm x", "`rm x`"),
            ("l?", "command's name"),
            ("/bin/r[m] x", "command's name"),
            ("{rm,x}", "command's name"),
            ("ls \\\nrm", "backslash"),
            ("ls # x", "comments"),
            ("ls\rrm", "not allowed"),
            ("ls\u00a0rm", "not allowed"),
            ("echo 'x", "never closed"),
            ('echo "x', "never closed"),
            ("cat docs/../../etc/passwd", "is not among"),
            ("cat docs/*", "is not among"),
            ("eval ls", "is not among"),
            ("exec ls", "is not among"),
            ("command rm", "is not among"),
            ("git -c core.pager=x log", "is not among"),
            (";", "empty"),
            ("", "empty"),
        ],
    )
    def test_everything_else_is_refused_and_named(self, line: str, words: str) -> None:
        with pytest.raises(ToolFailure, match=words):
            check_allowed_commands(line, ALLOW)

    def test_the_tool_refuses_before_it_runs(self, tmp_path: Path) -> None:
        with pytest.raises(Failed, match="`touch x` is not among the allowed commands: `ls`, `echo"):
            sh(tmp_path, "echo hi; touch x", allow=["ls", "echo *"])
        assert not (tmp_path / "x").exists()
        assert sh(tmp_path, "echo hi | cat", allow=["cat", "echo *"]) == "hi\n[exit code 0]"

    def test_the_model_is_told_what_is_allowed(self, tmp_path: Path) -> None:
        assert "git log *" in shell_tool(tmp_path, allow=["git log *"]).spec.description
        with pytest.raises(TypeError):
            shell_tool(tmp_path, allow="ls")

    @pytest.mark.skipif(not os.path.exists("/bin/bash"), reason="bash tells what it would run")
    @settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
    @given(
        st.lists(st.sampled_from([*"ab '\"\\|;&$`<>(){}#\n\t=*~!-2/", "2>&1", ">/dev/null", "&&", "||"]), max_size=12)
    )
    def test_the_shell_runs_no_command_that_was_not_seen(self, tmp_path: Path, pieces: list[str]) -> None:
        line = "".join(pieces)
        try:
            commands = parse_simple_commands(line)
        except ToolFailure:
            return
        assume(all(word.fixed for words in commands for word in words))
        (tmp_path / "ran").write_text("")
        listen = "command_not_found_handle() { printf '%s\\1' \"$@\" >&9; printf '\\2' >&9; }; exec 9>>ran\n"
        shell = ["/bin/bash", "--norc", "-c", listen + line]
        subprocess.run(shell, cwd=tmp_path, capture_output=True, stdin=subprocess.DEVNULL, env={"PATH": ""})
        for ran in (tmp_path / "ran").read_text().split("\2")[:-1]:
            assert ran.split("\1")[:-1] in [[word.text for word in words] for words in commands]
