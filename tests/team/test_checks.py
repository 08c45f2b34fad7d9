"""Tests that the machine runs: found, confined, limited, and nothing of them left."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import platform
import pty
import resource
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import zlib
from pathlib import Path

import pytest

from antiphon.team import sandboxed_tests as checks
from antiphon.team.known_test_runners import detect_test_command
from antiphon.team.sandbox_paths import find_readable_paths
from antiphon.team.sandboxed_tests import CheckReport, sandbox_problem


def run_sandboxed_tests(tree: str | Path, command: str, **options: object) -> CheckReport:
    return asyncio.run(checks.run_sandboxed_tests(tree, command, **options))  # type: ignore[arg-type]


PROBLEM = sandbox_problem()
pytestmark = pytest.mark.skipif(os.name != "posix", reason="tests are run by a POSIX shell")
confined = pytest.mark.skipif(PROBLEM is not None, reason=str(PROBLEM))
every_way = pytest.mark.parametrize(
    "sandbox", [pytest.param(True, marks=confined, id="sandbox"), pytest.param(False, id="no-sandbox")]
)


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    root = tmp_path / "tree"
    root.mkdir()
    return root


def check(tree: Path, code: str, sandbox: bool = True, **options: object) -> CheckReport:
    """Run Python in a directory; the interpreter is that of these tests."""
    (tree / "check.py").write_text(code)
    return run_sandboxed_tests(tree, f"{sys.executable} check.py", sandbox=sandbox, **options)  # type: ignore[arg-type]


@pytest.fixture
def sleep(tmp_path: Path) -> str:
    """A command that takes long and is that of one test alone, of all that run at once."""
    return f"sleep 600.{zlib.crc32(str(tmp_path).encode())}"


def alive(mark: str) -> bool:
    found = subprocess.run(["ps", "-eo", "args"], capture_output=True, text=True, check=True).stdout
    return any(mark in line for line in found.splitlines())


# How they end


@every_way
def test_a_report_says_how_the_tests_ended(tree: Path, sandbox: bool):
    passed = run_sandboxed_tests(tree, "echo fine; echo also >&2", sandbox=sandbox)
    assert (passed.passed, passed.why, passed.code, passed.output) == (True, "passed", 0, "fine\nalso\n")
    failed = run_sandboxed_tests(tree, "echo oh; exit 3", sandbox=sandbox)
    assert (failed.passed, failed.why, failed.code, failed.output) == (False, "failed", 3, "oh\n")
    killed = run_sandboxed_tests(tree, "kill -SEGV $$", sandbox=sandbox)
    assert (killed.why, killed.code) == ("failed", -signal.SIGSEGV)
    absent = run_sandboxed_tests(tree, "no-such-program", sandbox=sandbox)
    assert (absent.why, absent.code) == ("could not start", 127)
    assert "no-such-program" in absent.output
    assert passed.command == "echo fine; echo also >&2"


@every_way
def test_tests_that_do_not_end_are_ended(tree: Path, sandbox: bool, sleep: str):
    report = run_sandboxed_tests(tree, f"echo begun; trap '' TERM; {sleep}", seconds=2, sandbox=sandbox)
    assert (report.why, report.code, report.output) == ("timed out", None, "begun\n")
    assert 2 <= report.seconds < 100
    assert not alive(sleep)


@every_way
def test_tests_that_take_too_much_memory_are_ended(tree: Path, sandbox: bool):
    code = "import time\nkept = [bytearray(b'x' * 10_000_000) for _ in range(60)]\ntime.sleep(30)"
    assert check(tree, code, sandbox, memory=300_000_000).why == "out of memory"
    several = "import os, time\n[os.fork() for _ in range(3)]\nkept = bytearray(b'x' * 60_000_000)\ntime.sleep(30)"
    assert check(tree, several, sandbox, memory=300_000_000).why == "out of memory"
    assert check(tree, "bytearray(b'x' * 60_000_000)", sandbox, memory=300_000_000).passed


@every_way
def test_endless_output_is_bounded_with_its_beginning_and_its_end(tree: Path, sandbox: bool):
    report = run_sandboxed_tests(tree, "echo first; yes | head -c 1000000; echo last", most=1000, sandbox=sandbox)
    assert report.passed
    assert report.output.startswith("first\ny\n")
    assert report.output.endswith("y\nlast\n")
    assert report.dropped == 1_000_011 - 1000
    assert f"[… {report.dropped:,} bytes left out …]" in report.output
    assert run_sandboxed_tests(tree, "yes", seconds=1, most=1000, sandbox=sandbox).why == "timed out"


@every_way
def test_nothing_is_left_running(tree: Path, sandbox: bool, sleep: str):
    daemon = (
        "import os, time\n"
        "if os.fork(): os._exit(0)\n"
        "os.setsid()\n"
        "if os.fork(): os._exit(0)\n"
        f"os.execvp('sleep', {sleep.split()})\n"
    )
    report = check(tree, daemon, sandbox)
    assert report.passed
    assert not alive(sleep)


@every_way
def test_tests_end_with_whoever_asked_for_them(tree: Path, sandbox: bool, sleep: str):
    child = os.fork()
    if child == 0:
        try:
            run_sandboxed_tests(tree, sleep, sandbox=sandbox)
        finally:
            os._exit(0)
    until = time.monotonic() + 20
    while not alive(sleep) and time.monotonic() < until:
        time.sleep(0.02)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    until = time.monotonic() + 20
    while alive(sleep) and time.monotonic() < until:
        time.sleep(0.05)
    assert not alive(sleep)


@every_way
def test_tests_that_are_cancelled_leave_nothing(tree: Path, sandbox: bool, sleep: str):
    async def cancelled() -> None:
        running = asyncio.ensure_future(checks.run_sandboxed_tests(tree, sleep, sandbox=sandbox))
        while not alive(sleep):
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
def test_a_report_cannot_be_forged_by_the_tests(tree: Path, sandbox: bool):
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
    if not sandbox and os.geteuid() == 0:
        pytest.skip("nothing is kept from root")
    report = check(tree, code, sandbox)
    assert (report.why, report.code) == ("failed", 1)


def test_a_lost_keeper_is_no_success(tree: Path):
    report = run_sandboxed_tests(tree, "kill -9 $PPID; sleep 0.1", sandbox=False)
    assert report.why == "failed"
    assert "looked after them" in report.output


@every_way
def test_no_core_is_dumped(tree: Path, sandbox: bool):
    soft, hard = resource.getrlimit(resource.RLIMIT_CORE)
    if hard == 0:
        pytest.skip("none is dumped on this system")
    resource.setrlimit(resource.RLIMIT_CORE, (hard, hard))
    try:
        assert run_sandboxed_tests(tree, "ulimit -c", sandbox=sandbox).output == "0\n"
    finally:
        resource.setrlimit(resource.RLIMIT_CORE, (soft, hard))


# What they can reach


@confined
def test_only_their_own_files_can_be_written(tree: Path, tmp_path: Path):
    (tmp_path / "mine").write_text("mine")
    code = (
        "import os, tempfile\n"
        f"for path in ({str(tmp_path / 'mine')!r}, '/etc/new', '/new', '/dev/new', '/usr/new', '/run/new'):\n"
        "    try: open(path, 'w'); print('WROTE', path)\n"
        "    except OSError: pass\n"
        "open('here', 'w').write('x')\n"
        "open(os.path.expanduser('~/there'), 'w')\n"
        "tempfile.TemporaryFile(); open('/tmp/x', 'w'); open('/dev/null', 'w'); open('/dev/shm/x', 'w')\n"
        "print(os.getcwd())\n"
    )
    before = set(os.listdir("/tmp"))
    report = check(tree, code, checkout=tmp_path)
    assert report.output.replace(f"WROTE {tmp_path / 'mine'}\n", "") == f"{tree}\n"
    assert (tmp_path / "mine").read_text() == "mine"
    # They run on a copy: what they leave behind is nobody's work.
    assert os.listdir(tree) == ["check.py"]
    assert "x" not in set(os.listdir("/tmp")) - before


@confined
def test_files_are_copied_as_they_are(tree: Path):
    (tree / "run").write_text("#!/bin/sh\necho ran\n")
    (tree / "run").chmod(0o755)
    os.utime(tree / "run", (1_000_000_000, 1_000_000_000))
    (tree / "link").symlink_to("run")
    (tree / "dead").symlink_to("/nowhere")
    (tree / "empty").mkdir()
    (tree / "shut").mkdir()
    (tree / "shut" / "inner").write_text("inner\n")
    (tree / "shut").chmod(0o555)
    os.mkfifo(tree / "pipe")
    report = run_sandboxed_tests(tree, "./link; stat -c %Y run; readlink dead; ls; cat shut/inner; stat -c %a shut")
    assert report.output == "ran\n1000000000\n/nowhere\ndead\nempty\nlink\nrun\nshut\ninner\n555\n"


@confined
def test_what_confines_them_cannot_be_undone(tree: Path, tmp_path: Path):
    outside = tmp_path / "checkout" / "written"
    outside.parent.mkdir()
    undo = f"mount -o remount,bind,rw / ; mount -o remount,bind,rw {outside.parent} ; umount -l /tmp ; touch {outside}"
    assert run_sandboxed_tests(tree, undo, checkout=outside.parent).why == "failed"
    # In a namespace of their own they could mount what has no limit.
    inner = run_sandboxed_tests(tree, "unshare -rm true")
    assert not inner.passed
    assert "unshare failed" in inner.output
    assert not outside.exists()


@confined
def test_they_are_no_root_and_have_no_powers_whoever_starts_them(tree: Path):
    code = (
        "import os\n"
        "print(os.getuid(), os.geteuid(), os.getgid(), os.getgroups())\n"
        "print([line for line in open('/proc/self/status') if line.startswith('Cap') and int(line.split()[1], 16)])\n"
        "print(os.uname().nodename)\n"
    )
    assert check(tree, code).output.splitlines()[1:] == ["[]", "sandbox"]
    ids = check(tree, code).output.splitlines()[0]
    assert ids.startswith("1000 1000 1000 ")
    if os.geteuid() == 0:
        assert ids.endswith("[]")
        # Outside they are nobody: what is root's alone is not theirs.
        assert run_sandboxed_tests(tree, "cat /proc/self/uid_map").output.split() == ["1000", "65534", "1"]


@confined
def test_settings_of_the_kernel_are_neither_written_nor_named(tree: Path):
    code = (
        "import glob, os, socket\n"
        "places = ['/proc/sys/kernel/hostname', '/proc/sys/kernel/core_pattern', '/proc/sys/kernel/panic',\n"
        "          '/proc/sys/vm/drop_caches', '/proc/sysrq-trigger', '/proc/self/oom_score_adj', '/dev/kmsg',\n"
        "          '/dev/kvm', '/dev/mem', '/dev/fuse', '/dev/net/tun', '/dev/loop-control']\n"
        "for place in places:\n"
        "    try: os.close(os.open(place, os.O_WRONLY)); print('OPENED', place)\n"
        "    except OSError: pass\n"
        "try: socket.sethostname('x'); print('NAMED')\n"
        "except OSError: pass\n"
        "print(sorted(os.listdir('/dev')), len(open('/proc/kallsyms').read()), os.path.exists('/sys'))\n"
    )
    before = Path("/proc/sys/kernel/hostname").read_text()
    devices = ["fd", "full", "null", "random", "shm", "stderr", "stdin", "stdout", "tty", "urandom", "zero"]
    assert check(tree, code).output == f"{devices} 0 False\n"
    assert Path("/proc/sys/kernel/hostname").read_text() == before


@confined
def test_nothing_of_the_terminal_or_of_the_first_process_is_reached(tree: Path):
    code = (
        "import os\n"
        "for place in ('environ', 'mem', 'maps', 'root/etc', 'cwd/.', 'fd', 'task/1/environ'):\n"
        "    try: os.listdir(f'/proc/1/{place}'); print('READ', place)\n"
        "    except NotADirectoryError:\n"
        "        try: open(f'/proc/1/{place}', 'rb').read(1); print('READ', place)\n"
        "        except OSError: print('no')\n"
        "    except OSError: print('no')\n"
        "try: os.open('/dev/tty', os.O_RDWR); print('TERMINAL')\n"
        "except OSError: print('no')\n"
        "print([name for name in map(os.readlink, (f'/proc/self/fd/{each}' for each in (0, 1, 2))) if '/' in name])\n"
    )
    (tree / "check.py").write_text(code)
    script = [sys.executable, "-c", SCRIPT, str(tree), f"{sys.executable} check.py"]
    process, terminal = pty.fork()
    if not process:
        os.execv(sys.executable, script)
    shown = b""
    with contextlib.suppress(OSError):
        while piece := os.read(terminal, 4096):
            shown += piece
    os.close(terminal)
    os.waitpid(process, 0)
    assert json.loads(shown) == ["passed", "no\n" * 8 + "['/dev/null']\n"]


@confined
def test_there_is_no_network_but_a_loopback(tree: Path):
    code = (
        "import socket\n"
        "server = socket.create_server(('127.0.0.1', 0))\n"
        "socket.create_connection(server.getsockname()); print('loop')\n"
        "print([name for _, name in socket.if_nameindex()])\n"
        "try: socket.create_connection(('192.0.2.1', 80), 1)\n"
        "except OSError as error: print(error.errno)\n"
    )
    assert check(tree, code).output == "loop\n['lo']\n101\n"


@confined
def test_sockets_outside_are_not_reached(tree: Path, tmp_path: Path):
    with tempfile.TemporaryDirectory(dir="/var/tmp") as elsewhere, contextlib.ExitStack() as stack:
        checkout = tmp_path / "checkout"
        checkout.mkdir()
        places = [tmp_path / "a", Path(elsewhere, "b"), checkout / "c"]
        if os.geteuid() == 0:
            places.append(Path(f"/run/antiphon-{os.getpid()}.sock"))
        for place in (*map(str, places), "\0antiphon-outside"):
            server = stack.enter_context(socket.socket(socket.AF_UNIX))
            server.bind(place)
            server.listen()
            if place.startswith("/run"):
                stack.callback(os.unlink, place)
        code = (
            "import socket\n"
            f"for place in {[*map(str, places), chr(0) + 'antiphon-outside']}:\n"
            "    try: socket.socket(socket.AF_UNIX).connect(place); print('REACHED', place)\n"
            "    except OSError: print('no')\n"
        )
        assert check(tree, code, checkout=checkout).output == "no\n" * (len(places) + 1)


#: A file that calls the kernel by number, with those of `add_key`, `request_key` and `keyctl`.
KERNEL = """
import ctypes, platform
ADD_KEY, REQUEST_KEY, KEYCTL = (248, 249, 250) if platform.machine() == "x86_64" else (217, 218, 219)
libc = ctypes.CDLL(None, use_errno=True)
def call(*arguments):
    return libc.syscall(*[ctypes.c_long(each) if isinstance(each, int) else each for each in arguments])
"""


@confined
@pytest.mark.skipif(platform.machine() not in ("x86_64", "aarch64"), reason="its numbers of calls are not known here")
def test_keys_of_the_session_are_not_read(tree: Path):
    (tree / "check.py").write_text(
        f"{KERNEL}\nkey = call(REQUEST_KEY, b'user', b'antiphon-key', 0, 0)\nread = ctypes.create_string_buffer(9)\n"
        "call(KEYCTL, 11, key, read, 9)\nprint('key', read.value.decode())\n"
    )
    # In a new session keyring, so that none is left in that of whoever runs these tests.
    planted = (
        f"{KERNEL}\ncall(KEYCTL, 1, 0)\nkey = call(ADD_KEY, b'user', b'antiphon-key', b'hush', 4, -3)\n"
        f"exec(open({str(tree / 'check.py')!r}).read())\n"
    )
    script = [sys.executable, "-c", planted + SCRIPT, str(tree), f"{sys.executable} check.py"]
    done = subprocess.run(script, capture_output=True, text=True, check=True)
    before, inside = done.stdout.splitlines()
    if before != "key hush":
        pytest.skip("this kernel keeps no keys")
    assert json.loads(inside) == ["passed", "key \n"]


@confined
def test_sockets_that_are_in_no_network_namespace_are_refused(tree: Path):
    code = (
        "import errno, socket\n"
        "for family in (socket.AF_VSOCK, socket.AF_PACKET, 38):\n"
        "    try: socket.socket(family, socket.SOCK_STREAM); print('OPENED', family)\n"
        "    except OSError as error: print(error.errno == errno.EAFNOSUPPORT)\n"
        "for family in (socket.AF_UNIX, socket.AF_INET, socket.AF_INET6): socket.socket(family).close()\n"
        "print([name for _, name in socket.if_nameindex()])\n"
    )
    assert check(tree, code).output == "True\nTrue\nTrue\n['lo']\n"


@confined
@pytest.mark.skipif(not os.access("/usr/local/etc", os.W_OK), reason="nothing can be put below /usr/local/etc")
def test_settings_of_the_administrator_are_not_read(tree: Path):
    with tempfile.NamedTemporaryFile(dir="/usr/local/etc", suffix="rc") as file:
        file.write(b"hush")
        file.flush()
        os.chmod(file.name, 0o644)
        assert run_sandboxed_tests(
            tree, f"cat {file.name} 2>/dev/null; ls -A /usr/local/etc; ls /usr/bin/env"
        ).output == ("/usr/bin/env\n")


@confined
def test_the_kernel_ends_them_first_where_memory_is_short(tree: Path):
    assert run_sandboxed_tests(tree, "cat /proc/self/oom_score_adj").output == "1000\n"


@confined
def test_other_processes_are_neither_seen_nor_ended(tree: Path):
    report = check(tree, f"import os, glob\nprint(len(glob.glob('/proc/[0-9]*')) < 6)\nos.kill({os.getpid()}, 9)")
    assert report.output.startswith("True\n")
    assert "ProcessLookupError" in report.output


#: Where programs keep what lets one in; and where people put it themselves.
CREDENTIALS = (
    *(".ssh/id_ed25519", ".netrc", ".aws/credentials", ".config/gh/hosts.yml", ".config/gcloud/credentials.db"),
    *(".cargo/credentials.toml", ".cargo/config.toml", ".npmrc", ".pypirc", ".docker/config.json", ".kube/config"),
    *(".config/hub", ".config/rclone/rclone.conf", ".config/doctl/config.yaml", ".m2/settings.xml", ".gem/credentials"),
    *(".gradle/gradle.properties", ".terraform.d/credentials.tfrc.json", ".config/op/config", ".bash_history"),
    *(".local/share/keyrings/login.keyring", ".local/share/antiphon/runs.db", ".config/antiphon/keys.json"),
    *(".mozilla/firefox/x/logins.json", ".config/google-chrome/Default/Cookies", ".thunderbird/x/key4.db"),
    *(".git-credentials", ".gitconfig", ".env", "notes.txt", "Documents/passwords.txt", "work/other/.env", ".rclone"),
    *(
        ".local/state/token",
        ".cache/token",
        ".local/etc/token",
        ".pyenv/.git/config",
        "go/.netrc",
        ".wine/x",
        "bin/../x",
    ),
)


@confined
def test_nothing_of_the_home_is_read(monkeypatch: pytest.MonkeyPatch):
    with tempfile.TemporaryDirectory(dir="/var/tmp") as top:
        home = Path(top, "home")
        tree = home / ".local" / "share" / "antiphon" / "teams" / "tree"
        checkout = home / "work" / "mine"
        for place in (tree, checkout, home / ".local" / "bin", home / ".cargo" / "bin"):
            place.mkdir(parents=True)
        places = [home / name for name in CREDENTIALS] + [checkout / ".env", checkout / "config" / "secrets.yml"]
        for place in places:
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_text("hush")
        tool = home / ".local" / "bin" / "tool"
        tool.write_text("#!/bin/sh\necho tool\n")
        tool.chmod(0o755)
        monkeypatch.setenv("HOME", str(home))
        monkeypatch.delenv("XDG_DATA_HOME", raising=False)
        monkeypatch.setenv("PATH", f"{home}/bin:{home}/.local/bin:{checkout}:{home}:{os.environ['PATH']}")
        monkeypatch.setenv("PYTHONPATH", f"{checkout}:{home}")
        monkeypatch.setenv("OPENAI_API_KEY", "hush")
        monkeypatch.setenv("SSH_AUTH_SOCK", "/hush")
        command = f"cat {' '.join(map(str, places))} 2>/dev/null; env; ls -a ~; tool; touch written"
        report = run_sandboxed_tests(tree, command, checkout=checkout)
        assert report.passed
        assert "hush" not in report.output
        assert "HOME=/tmp/home\n" in report.output
        assert report.output.endswith(".\n..\ntool\n")


@confined
@pytest.mark.skipif(not os.access("/usr/src", os.W_OK), reason="nothing can be put below /usr")
def test_a_checkout_below_what_may_be_read_is_hidden():
    with tempfile.TemporaryDirectory(dir="/usr/src") as top:
        os.chmod(top, 0o755)
        tree, checkout = Path(top, "checkout", "tree"), Path(top, "checkout")
        (checkout / ".venv" / "bin").mkdir(parents=True)
        tree.mkdir()
        (checkout / ".env").write_text("hush")
        (tree / "mine").write_text("mine\n")
        command = f"ls -A {checkout}; cat mine {checkout}/.env; ls {checkout}/.venv; ls /usr/bin/env"
        report = run_sandboxed_tests(tree, command, checkout=checkout)
        assert report.output.replace(f"cat: {checkout}/.env: No such file or directory\n", "") == (
            ".venv\ntree\nmine\nbin\n/usr/bin/env\n"
        )


@confined
def test_secrets_among_the_files_are_withheld_and_that_is_said(tree: Path):
    for name in (".env", "deploy/server.pem", "secrets.py", "tests/key.pem", ".env.example"):
        (tree / name).parent.mkdir(exist_ok=True)
        (tree / name).write_text(name)
    report = run_sandboxed_tests(tree, "find . -type f | sort")
    assert report.output.splitlines() == [
        "[not shown to the tests, as they look like secrets: .env, deploy/server.pem]",
        *("./.env.example", "./secrets.py", "./tests/key.pem"),
    ]


# What they may take


@confined
@pytest.mark.parametrize(
    "code",
    [
        "import mmap, time\nkept = mmap.mmap(-1, 600_000_000)\nfor at in range(0, 600_000_000, 4096): kept[at] = 1",
        "import os, time\nkept = os.memfd_create('x')\nfor _ in range(600): os.write(kept, b'x' * 1_000_000)",
        (
            "import ctypes\nlibc = ctypes.CDLL(None)\nlibc.shmat.restype = ctypes.c_void_p\n"
            "key = libc.shmget(0, ctypes.c_size_t(600_000_000), 0o1600)\n"
            "at = libc.shmat(key, None, 0)\nctypes.memset(ctypes.c_void_p(at), 1, 600_000_000)\n"
            "libc.shmdt(ctypes.c_void_p(at))"
        ),
        (
            "import os, socket\nheld = [socket.socketpair() for _ in range(30)]\n"
            "for one, _ in held:\n"
            "    file = os.memfd_create('x')\n    os.write(file, b'x' * 20_000_000)\n"
            "    socket.send_fds(one, [b'x'], [file])\n    os.close(file)"
        ),
        (
            "import ctypes\nlibc = ctypes.CDLL(None)\nmessage = ctypes.create_string_buffer(8008)\n"
            "ctypes.c_long.from_buffer(message).value = 1\n"
            "while (queue := libc.msgget(0, 0o1600)) >= 0:\n"
            "    while libc.msgsnd(queue, message, 8000, 0o4000) == 0: pass"
        ),
        (
            "kept = bytearray(b'x' * 150_000_000)\n"
            "with open('/dev/shm/x', 'wb') as file:\n    for _ in range(200): file.write(b'x' * 1_000_000)"
        ),
    ],
    ids=["mapped", "memfd", "system-v", "memfd-on-its-way", "messages", "files-and-memory"],
)
def test_shared_memory_counts(tree: Path, code: str):
    assert check(tree, f"{code}\nimport time\ntime.sleep(30)\n", memory=300_000_000).why in ("out of memory", "failed")


@confined
def test_shared_memory_is_counted_once(tree: Path):
    code = (
        "import mmap, os, time\nkept = mmap.mmap(-1, 100_000_000)\n"
        "for at in range(0, 100_000_000, 4096): kept[at] = 1\n"
        "for _ in range(2): os.fork()\n"
        "sum(kept[at] for at in range(0, 100_000_000, 4096))\ntime.sleep(1)\n"
    )
    assert check(tree, code, memory=300_000_000).passed


@confined
def test_all_that_is_written_has_one_limit(tree: Path):
    code = (
        "import os\ntotal = 0\n"
        "for number, place in enumerate(['/tmp', '/dev/shm', '/var/tmp', '.', os.path.expanduser('~')] * 20):\n"
        "    try:\n"
        "        with open(f'{place}/{number}', 'wb', 0) as file: total += file.write(b'x' * 5_000_000)\n"
        "    except OSError as error: last = error.errno\n"
        "print(total <= 100_000_000, last)\n"
    )
    # It may be ended for its memory while it prints.
    assert "True 28\n".startswith(check(tree, code, memory=100_000_000).output)
    (tree / "large").write_bytes(b"x" * 3_000_000)
    report = run_sandboxed_tests(tree, "true", memory=2_000_000)
    assert (report.why, "take more than 2,000,000 bytes" in report.output) == ("could not start", True)


@confined
def test_processes_are_limited(tree: Path):
    code = (
        "import os, time\n"
        "for _ in range(20_000):\n"
        "    try:\n"
        "        if os.fork() == 0: time.sleep(30); os._exit(0)\n"
        "    except OSError: print('no more', flush=True); time.sleep(30)\n"
    )
    assert check(tree, code, seconds=60).why == "out of memory"


# Who starts them


ORDINARY = 54321
SCRIPT = """
import asyncio, json, sys
from antiphon.team.sandboxed_tests import run_sandboxed_tests
report = asyncio.run(run_sandboxed_tests(sys.argv[1], sys.argv[2]))
print(json.dumps([report.why, report.output]))
"""


def as_somebody(tree: Path, command: str) -> list[str]:
    """Run checks as a user without any rights, with an interpreter that this one can use."""
    sites = [path for path in sys.path if path.endswith("site-packages")]
    variables = {"PATH": os.defpath, "PYTHONPATH": os.pathsep.join([str(Path(checks.__file__).parents[2]), *sites])}
    user: dict[str, object] = {"user": ORDINARY, "group": ORDINARY, "extra_groups": []} if os.geteuid() == 0 else {}
    for interpreter in (sys.executable, "/usr/bin/python3"):
        script = [interpreter, "-c", SCRIPT, str(tree), command]
        with contextlib.suppress(OSError, subprocess.CalledProcessError):
            return json.loads(subprocess.check_output(script, env=variables, cwd="/", **user))  # type: ignore[call-overload]
    pytest.skip("no interpreter here can be used by an ordinary user")


@confined
def test_an_ordinary_user_is_confined_the_same_way():
    with tempfile.TemporaryDirectory(dir="/var/tmp") as top:
        os.chmod(top, 0o755)
        Path(top, "mine").write_text("mine\n")
        command = "id -u; cat mine; ls -a ~ | wc -l; touch /etc/x /x; echo 1 > /proc/sys/kernel/panic; unshare -U true"
        why, output = as_somebody(Path(top), command)
        assert why == "failed"
        assert output.startswith("1000\nmine\n2\n")
        assert output.count("Read-only file system") == 3


@confined
def test_where_namespaces_are_forbidden_nothing_is_run_and_the_way_out_is_named(tree: Path):
    if not shutil.which("unshare"):
        pytest.skip("this system cannot be made one without namespaces")
    inside = 'echo 0 > /proc/sys/user/max_user_namespaces && exec "$@"'
    script = [sys.executable, "-c", SCRIPT, str(tree), "echo RUN"]
    done = subprocess.run(
        ["unshare", "-Ur", "sh", "-c", inside, "sh", *script], capture_output=True, text=True, check=True
    )
    why, output = json.loads(done.stdout)
    assert why == "could not start"
    assert "`--no-sandbox`" in output
    assert "user.max_user_namespaces" in output
    assert "RUN" not in output


def test_without_a_sandbox_secrets_are_still_not_told(tree: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("ANTHROPIC_API_KEY", "hush")
    # These lead to a home, or a repository, that is not theirs.
    for name in ("GIT_DIR", "XDG_CONFIG_HOME", "SSH_ASKPASS"):
        monkeypatch.setenv(name, "/hush")
    report = run_sandboxed_tests(tree, "env; touch ~/x $TMPDIR/y", sandbox=False)
    assert report.passed
    assert "hush" not in report.output


def test_a_directory_that_is_gone_is_said(tree: Path):
    report = run_sandboxed_tests(tree / "gone", "true")
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
    report = run_sandboxed_tests(tree, "from-ven; .venv/bin/from-ven; from-node", checkout=checkout)
    assert report.output.count("Read-only file system") == 3
    assert f"{tree}/.venv/bin/from-ven\n" in report.output
    assert f"{tree}/node_modules/.bin/from-node\n" in report.output


@every_way
def test_the_code_of_the_task_is_tested_and_not_that_of_the_checkout(
    tree: Path, tmp_path: Path, sandbox: bool, monkeypatch: pytest.MonkeyPatch
):
    checkout = tmp_path / "checkout"
    for root in (tree, checkout):
        (root / "src").mkdir(parents=True)
        (root / "src" / "thing_under_test.py").write_text(f"print({root.name!r})\n")
        (root / "pyproject.toml").write_text("")
    monkeypatch.setenv("PYTHONPATH", str(checkout / "src"))
    assert (
        run_sandboxed_tests(
            tree, f"{sys.executable} -c 'import thing_under_test'", sandbox=sandbox, checkout=checkout
        ).output
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
    found = detect_test_command(tree)
    assert (found and found.removeprefix("python3 -m ").removeprefix("python -m ")) == command


def test_a_link_to_outside_is_not_read_for_the_command(tree: Path, tmp_path: Path):
    (tmp_path / "Makefile").write_text("test:\n\tx\n")
    (tree / "Makefile").symlink_to(tmp_path / "Makefile")
    assert detect_test_command(tree) is None


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
    failed = run_sandboxed_tests(tree, command)
    assert failed.why == "failed"
    assert "assert 5 == 6" in failed.output
    # Of the same size and maybe in the same second, for which Python would take the byte code of before.
    (tree / "src" / "thing.py").write_text("def twice(n): return n * 2\n")
    assert run_sandboxed_tests(tree, command).passed
    assert not list(tree.rglob("*.pyc"))


def test_tools_beside_a_checkout_are_read_though_their_names_begin_alike(tmp_path: Path) -> None:
    for name in ("checkout", "checkout-tools/bin", "home"):
        (tmp_path / name).mkdir(parents=True)
    tools = str(tmp_path / "checkout-tools" / "bin")
    found = find_readable_paths(str(tmp_path / "home"), {"PATH": tools}, [str(tmp_path / "checkout")], [])
    assert tools in found
