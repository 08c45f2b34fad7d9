"""Tests that the machine runs: found, confined, limited, and nothing of them left."""

from __future__ import annotations

import asyncio
import os
import resource
import signal
import subprocess
import sys
import time
import zlib
from pathlib import Path

import pytest

from antiphon.agents import checks
from antiphon.agents.checks import CONFINED, UNCONFINED, CheckReport, Way, find_command, sandbox_problem


def run_checks(tree: str | Path, command: str, **options: object) -> CheckReport:
    return asyncio.run(checks.run_checks(tree, command, **options))  # type: ignore[arg-type]


PROBLEM = sandbox_problem()
pytestmark = pytest.mark.skipif(os.name != "posix", reason="tests are run by a POSIX shell")
confined = pytest.mark.skipif(PROBLEM is not None, reason=str(PROBLEM))

HAVE_BWRAP = run_checks("/", "true", ways=["bwrap"]).passed
EVERY_WAY = [
    pytest.param(("namespaces",), marks=confined),
    pytest.param(("bwrap",), marks=pytest.mark.skipif(not HAVE_BWRAP, reason="bwrap is not installed")),
    pytest.param(UNCONFINED, id="none"),
]
CONFINED_WAYS = EVERY_WAY[:2]
every_way = pytest.mark.parametrize("ways", EVERY_WAY)
every_confined_way = pytest.mark.parametrize("ways", CONFINED_WAYS)


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    root = tmp_path / "tree"
    root.mkdir()
    return root


def check(tree: Path, code: str, ways: tuple[Way, ...] = CONFINED, **options: object) -> CheckReport:
    """Run Python in a directory; the interpreter is that of these tests."""
    (tree / "check.py").write_text(code)
    return run_checks(tree, f"{sys.executable} check.py", ways=ways, **options)  # type: ignore[arg-type]


@pytest.fixture
def sleep(tmp_path: Path) -> str:
    """A command that takes long and is that of one test alone, of all that run at once."""
    return f"sleep 600.{zlib.crc32(str(tmp_path).encode())}"


def alive(mark: str) -> bool:
    found = subprocess.run(["ps", "-eo", "args"], capture_output=True, text=True, check=True).stdout
    return any(mark in line for line in found.splitlines())


# How they end


@every_way
def test_a_report_says_how_the_tests_ended(tree: Path, ways: tuple[Way, ...]):
    passed = run_checks(tree, "echo fine; echo also >&2", ways=ways)
    assert (passed.passed, passed.why, passed.code, passed.output) == (True, "passed", 0, "fine\nalso\n")
    failed = run_checks(tree, "echo oh; exit 3", ways=ways)
    assert (failed.passed, failed.why, failed.code, failed.output) == (False, "failed", 3, "oh\n")
    killed = run_checks(tree, "kill -SEGV $$", ways=ways)
    assert (killed.why, killed.code) == ("failed", -signal.SIGSEGV)
    absent = run_checks(tree, "no-such-program", ways=ways)
    assert (absent.why, absent.code) == ("could not start", 127)
    assert "no-such-program" in absent.output
    assert passed.command == "echo fine; echo also >&2"


@every_way
def test_tests_that_do_not_end_are_ended(tree: Path, ways: tuple[Way, ...], sleep: str):
    report = run_checks(tree, f"echo begun; trap '' TERM; {sleep}", seconds=2, ways=ways)
    assert (report.why, report.code, report.output) == ("timed out", None, "begun\n")
    assert 2 <= report.seconds < 100
    assert not alive(sleep)


@every_way
def test_tests_that_take_too_much_memory_are_ended(tree: Path, ways: tuple[Way, ...]):
    code = "import time\nkept = [bytearray(b'x' * 10_000_000) for _ in range(60)]\ntime.sleep(30)"
    assert check(tree, code, ways, memory=300_000_000).why == "out of memory"
    several = "import os, time\n[os.fork() for _ in range(3)]\nkept = bytearray(b'x' * 60_000_000)\ntime.sleep(30)"
    assert check(tree, several, ways, memory=300_000_000).why == "out of memory"
    assert check(tree, "bytearray(b'x' * 60_000_000)", ways, memory=300_000_000).passed


@every_way
def test_endless_output_is_bounded_with_its_beginning_and_its_end(tree: Path, ways: tuple[Way, ...]):
    report = run_checks(tree, "echo first; yes | head -c 1000000; echo last", most=1000, ways=ways)
    assert report.passed
    assert report.output.startswith("first\ny\n")
    assert report.output.endswith("y\nlast\n")
    assert report.dropped == 1_000_011 - 1000
    assert f"[… {report.dropped:,} bytes left out …]" in report.output
    assert run_checks(tree, "yes", seconds=1, most=1000, ways=ways).why == "timed out"


@every_way
def test_nothing_is_left_running(tree: Path, ways: tuple[Way, ...], sleep: str):
    daemon = (
        "import os, time\n"
        "if os.fork(): os._exit(0)\n"
        "os.setsid()\n"
        "if os.fork(): os._exit(0)\n"
        f"os.execvp('sleep', {sleep.split()})\n"
    )
    report = check(tree, daemon, ways)
    assert report.passed
    assert not alive(sleep)


@every_way
def test_tests_end_with_whoever_asked_for_them(tree: Path, ways: tuple[Way, ...], sleep: str):
    child = os.fork()
    if child == 0:
        try:
            run_checks(tree, f"touch begun; {sleep}", ways=ways)
        finally:
            os._exit(0)
    until = time.monotonic() + 20
    while not (tree / "begun").exists() and time.monotonic() < until:
        time.sleep(0.02)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    until = time.monotonic() + 20
    while alive(sleep) and time.monotonic() < until:
        time.sleep(0.05)
    assert not alive(sleep)


@every_way
def test_tests_that_are_cancelled_leave_nothing(tree: Path, ways: tuple[Way, ...], sleep: str):
    async def cancelled() -> None:
        running = asyncio.ensure_future(checks.run_checks(tree, f"touch begun; {sleep}", ways=ways))
        while not (tree / "begun").exists():
            await asyncio.sleep(0.02)
        running.cancel()
        with pytest.raises(asyncio.CancelledError):
            await running

    asyncio.run(cancelled())
    until = time.monotonic() + 20
    while alive(sleep) and time.monotonic() < until:
        time.sleep(0.05)
    assert not alive(sleep)


@every_way
def test_a_report_cannot_be_forged_by_the_tests(tree: Path, ways: tuple[Way, ...]):
    code = (
        "import os\n"
        "for process in (os.getppid(), 'self'):\n"
        "    for number in range(3, 40):\n"
        "        try:\n"
        "            with open(f'/proc/{process}/fd/{number}', 'wb') as sink:\n"
        '                sink.write(b\'{"why": "ended", "code": 0}\')\n'
        "        except OSError: pass\n"
        "os._exit(1)\n"
    )
    if ways == UNCONFINED and os.geteuid() == 0:
        pytest.skip("nothing is kept from root")
    report = check(tree, code, ways)
    assert (report.why, report.code) == ("failed", 1)


def test_a_lost_keeper_is_no_success(tree: Path):
    report = run_checks(tree, "kill -9 $PPID; sleep 0.1", ways=UNCONFINED)
    assert report.why == "failed"
    assert "looked after them" in report.output


@every_way
def test_no_core_is_dumped(tree: Path, ways: tuple[Way, ...]):
    soft, hard = resource.getrlimit(resource.RLIMIT_CORE)
    if hard == 0:
        pytest.skip("none is dumped on this system")
    resource.setrlimit(resource.RLIMIT_CORE, (hard, hard))
    try:
        assert run_checks(tree, "ulimit -c", ways=ways).output == "0\n"
    finally:
        resource.setrlimit(resource.RLIMIT_CORE, (soft, hard))


# What they can reach


@every_confined_way
def test_only_their_own_files_can_be_written(tree: Path, tmp_path: Path, ways: tuple[Way, ...]):
    (tmp_path / "mine").write_text("mine")
    code = (
        "import os, tempfile\n"
        f"for path in ({str(tmp_path / 'mine')!r}, {str(tmp_path / 'new')!r}, '/etc/new'):\n"
        "    try: open(path, 'w'); print('WROTE', path)\n"
        "    except OSError: pass\n"
        "open('here', 'w').write('x')\n"
        "open(os.path.expanduser('~/there'), 'w')\n"
        "tempfile.TemporaryFile(); open('/tmp/x', 'w'); open('/dev/null', 'w'); open('/dev/shm/x', 'w')\n"
        "print(os.getcwd())\n"
    )
    before = set(os.listdir("/tmp"))
    report = check(tree, code, ways, checkout=tmp_path)
    assert report.output == f"{tree}\n"
    assert (tmp_path / "mine").read_text() == "mine"
    assert (tree / "here").read_text() == "x"
    assert "x" not in set(os.listdir("/tmp")) - before


@every_confined_way
def test_what_confines_them_cannot_be_undone(tree: Path, tmp_path: Path, ways: tuple[Way, ...]):
    outside = tmp_path / "checkout" / "written"
    outside.parent.mkdir()
    undo = f"mount -o remount,bind,rw / ; mount -o remount,bind,rw {outside.parent} ; umount -l /tmp ; touch {outside}"
    assert run_checks(tree, undo, ways=ways, checkout=outside.parent).why == "failed"
    assert not run_checks(tree, f"unshare -rm sh -c '{undo}'", ways=ways, checkout=outside.parent).passed
    assert not outside.exists()


@every_confined_way
def test_there_is_no_network_but_a_loopback(tree: Path, ways: tuple[Way, ...]):
    code = (
        "import socket\n"
        "server = socket.create_server(('127.0.0.1', 0))\n"
        "socket.create_connection(server.getsockname()); print('loop')\n"
        "print([name for _, name in socket.if_nameindex()])\n"
        "try: socket.create_connection(('192.0.2.1', 80), 1)\n"
        "except OSError as error: print(error.errno)\n"
    )
    assert check(tree, code, ways).output == "loop\n['lo']\n101\n"


@every_confined_way
def test_other_processes_are_neither_seen_nor_ended(tree: Path, ways: tuple[Way, ...]):
    report = check(tree, f"import os, glob\nprint(len(glob.glob('/proc/[0-9]*')) < 6)\nos.kill({os.getpid()}, 9)", ways)
    assert report.output.startswith("True\n")
    assert "ProcessLookupError" in report.output


@every_confined_way
def test_secrets_are_out_of_reach(tmp_path: Path, ways: tuple[Way, ...], monkeypatch: pytest.MonkeyPatch):
    home = Path("/var/tmp") / tmp_path.name
    tree = home / ".local" / "share" / "antiphon" / "teams" / "tree"
    tree.mkdir(parents=True)
    try:
        (home / ".ssh").mkdir()
        (home / ".ssh" / "id").write_text("hush")
        (home / ".netrc").write_text("hush")
        (home / ".local" / "share" / "antiphon" / "runs.db").write_text("hush")
        (home / "plain").write_text("plain")
        monkeypatch.setenv("HOME", str(home))
        monkeypatch.delenv("XDG_DATA_HOME")
        monkeypatch.setenv("OPENAI_API_KEY", "hush")
        monkeypatch.setenv("SSH_AUTH_SOCK", "/hush")
        report = run_checks(
            tree,
            f"cat {home}/.ssh/id {home}/.netrc {home}/.local/share/antiphon/runs.db; env; cat {home}/plain",
            ways=ways,
        )
        assert report.output.endswith("plain")
        assert "hush" not in report.output
        assert "HOME=/tmp/home" in report.output
        assert run_checks(tree, "touch written", ways=ways).passed
        assert (tree / "written").exists()
    finally:
        subprocess.run(["rm", "-r", str(home)], check=True)


def test_without_a_sandbox_secrets_are_still_not_told(tree: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("ANTHROPIC_API_KEY", "hush")
    # These lead to a home, or a repository, that is not theirs.
    for name in ("GIT_DIR", "XDG_CONFIG_HOME", "SSH_ASKPASS"):
        monkeypatch.setenv(name, "/hush")
    report = run_checks(tree, "env; touch ~/x $TMPDIR/y", ways=UNCONFINED)
    assert report.passed
    assert "hush" not in report.output


def test_where_nothing_can_be_confined_nothing_is_run_and_the_way_out_is_named(
    tree: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("PATH", "/nowhere")
    report = run_checks(tree, "touch run", ways=["bwrap"])
    assert report.why == "could not start"
    assert "`--no-sandbox`" in report.output
    assert "bwrap: it is not installed" in report.output
    assert not (tree / "run").exists()


def test_a_directory_that_is_gone_is_said(tree: Path):
    report = run_checks(tree / "gone", "true")
    assert report.why == "could not start"
    assert "gone" in report.output


# What is installed


@confined
def test_what_is_installed_in_the_checkout_is_there_to_be_read(tree: Path, tmp_path: Path):
    checkout = tmp_path / "checkout"
    for name in (".venv/bin", "node_modules/.bin"):
        (checkout / name).mkdir(parents=True)
        program = checkout / name / f"from-{name[:4].strip('.')}"
        program.write_text("#!/bin/sh\necho $0; touch $0.written\n")
        program.chmod(0o755)
    report = run_checks(tree, "from-ven; .venv/bin/from-ven; from-node", checkout=checkout)
    assert report.output.count("Read-only file system") == 3
    assert f"{tree}/.venv/bin/from-ven\n" in report.output
    assert f"{tree}/node_modules/.bin/from-node\n" in report.output


@every_way
def test_the_code_of_the_task_is_tested_and_not_that_of_the_checkout(
    tree: Path, tmp_path: Path, ways: tuple[Way, ...], monkeypatch: pytest.MonkeyPatch
):
    checkout = tmp_path / "checkout"
    for root in (tree, checkout):
        (root / "src").mkdir(parents=True)
        (root / "src" / "thing_under_test.py").write_text(f"print({root.name!r})\n")
        (root / "pyproject.toml").write_text("")
    monkeypatch.setenv("PYTHONPATH", str(checkout / "src"))
    assert (
        run_checks(tree, f"{sys.executable} -c 'import thing_under_test'", ways=ways, checkout=checkout).output
        == "tree\n"
    )


# The command


@pytest.mark.parametrize(
    ("files", "command"),
    [
        ({}, None),
        ({"README.md": "make test"}, None),
        ({"Makefile": "all:\n\techo\ntest: all\n\tpytest\n"}, "make test"),
        ({"makefile": "check test:\n\tx\n"}, "make test"),
        ({"GNUmakefile": "test::\n\tx\n"}, "make test"),
        ({"Makefile": ".PHONY: test\nall:\n\ttest: x\n"}, None),
        ({"Makefile": "test := x\ntest ::= y\ntests: z\nlatest:\n"}, None),
        ({"Makefile": "build:\n", "pytest.ini": ""}, "pytest"),
        ({"pyproject.toml": "[project]\n[tool.pytest.ini_options]\n"}, "pytest"),
        ({"pyproject.toml": "[project]\n"}, None),
        ({"setup.cfg": "[tool:pytest]\n"}, "pytest"),
        ({"tox.ini": "[tox]\n"}, None),
        ({"tests/test_a.py": ""}, "pytest"),
        ({"tests/unit/test_a.py": ""}, "pytest"),
        ({"test_a.py": ""}, "pytest"),
        ({"tests/helper.py": ""}, None),
        ({"package.json": '{"scripts": {"test": "node --test"}}'}, "npm test"),
        ({"package.json": '{"scripts": {"test": "echo \\"Error: no test specified\\" && exit 1"}}'}, None),
        ({"package.json": '{"scripts": ["test"]}'}, None),
        ({"package.json": "{"}, None),
        ({"package.json": '{"scripts": {"test": "x"}}', "Makefile": "test:\n\tx\n"}, "make test"),
    ],
)
def test_the_command_is_found_where_it_is_plain(tree: Path, files: dict[str, str], command: str | None):
    for name, text in files.items():
        (tree / name).parent.mkdir(exist_ok=True, parents=True)
        (tree / name).write_text(text)
    found = find_command(tree)
    assert (found and found.removeprefix("python3 -m ").removeprefix("python -m ")) == command


def test_a_link_to_outside_is_not_read_for_the_command(tree: Path, tmp_path: Path):
    (tmp_path / "Makefile").write_text("test:\n\tx\n")
    (tree / "Makefile").symlink_to(tmp_path / "Makefile")
    assert find_command(tree) is None


@confined
def test_real_tests_of_pytest_are_run(tree: Path):
    (tree / "pyproject.toml").write_text("[tool.pytest.ini_options]\n")
    (tree / "src").mkdir()
    (tree / "src" / "thing.py").write_text("def twice(n): return n + 2\n")
    (tree / "tests").mkdir()
    (tree / "tests" / "test_thing.py").write_text(
        "from thing import twice\ndef test_twice(tmp_path): assert twice(3) == 6\n"
    )
    command = f"PYTEST_DISABLE_PLUGIN_AUTOLOAD=1 {sys.executable} -m pytest -q -p no:cacheprovider"
    failed = run_checks(tree, command)
    assert failed.why == "failed"
    assert "assert 5 == 6" in failed.output
    # Of the same size and maybe in the same second, for which Python would take the byte code of before.
    (tree / "src" / "thing.py").write_text("def twice(n): return n * 2\n")
    assert run_checks(tree, command).passed
    assert not list(tree.rglob("*.pyc"))
