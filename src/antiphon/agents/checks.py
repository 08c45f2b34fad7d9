"""The tests of a repository, run by the machine: nobody's word is taken for it that they pass.

They see the files of a task, a home and a `/tmp` of their own, and the rest of the system read-only; no network, no
variables or files that look like secrets. When they end, or must be ended, nothing they started is left.
"""

from __future__ import annotations

import asyncio
import json
import os
import re
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from antiphon._places import user_directory, user_home
from antiphon.agents import confined
from antiphon.tools.processes import Finished, program, run, scrubbed
from antiphon.tools.sandbox import Roots
from antiphon.tools.secrets import SECRET_DIRECTORIES, looks_secret
from antiphon.tools.tool import ToolFailure

Why = Literal["passed", "failed", "timed out", "out of memory", "could not start"]
Way = Literal["namespaces", "bwrap", "none"]

#: Ways to run tests; the first that the system allows is taken.
CONFINED: tuple[Way, ...] = ("namespaces", "bwrap")
#: For somebody who trusts what is tested with all that he may do himself.
UNCONFINED: tuple[Way, ...] = ("none",)

NO_SANDBOX = (
    "tests are run without a network and with read-only files, and this system allows neither namespaces nor `bwrap` "
    "({}); install bubblewrap or allow user namespaces, or run them with all that you may do: `--no-sandbox`"
)
_MOST_READ = 1_000_000
_LATE = 15.0
_PLACEHOLDER = "no test specified"
_TARGET = re.compile(r"^(?:[\w./-]+[ \t]+)*test(?:[ \t]+[\w./-]+)*[ \t]*::?(?![:=])", re.MULTILINE)
_PYTEST = {
    "pytest.ini": "",
    ".pytest.ini": "",
    "pyproject.toml": r"^\[tool\.pytest",
    "setup.cfg": r"^\[tool:pytest\]",
    "tox.ini": r"^\[pytest\]",
}
#: What is installed in the user's checkout and is not in git; tests need it.
_INSTALLED = (".venv", "venv", "node_modules")
#: Where tools are that look for themselves in a home.
_TOOLS = {
    "PYENV_ROOT": ".pyenv",
    "PYTHONUSERBASE": ".local",
    "RBENV_ROOT": ".rbenv",
    "NVM_DIR": ".nvm",
    "ASDF_DATA_DIR": ".asdf",
    "RUSTUP_HOME": ".rustup",
    "CARGO_HOME": ".cargo",
    "GOPATH": "go",
}
_QUIET = {"TERM": "dumb", "PAGER": "cat", "GIT_PAGER": "cat", "GIT_TERMINAL_PROMPT": "0"}
_PRIVATE = (
    *sorted(SECRET_DIRECTORIES),
    ".config/gh",
    ".config/gcloud",
    ".config/git",
    ".mozilla",
    ".cargo/credentials.toml",
)
#: Sockets by which a program gets others to do what it may not.
_SERVICES = ("/run/docker.sock", "/run/podman", "/run/containerd", "/run/dbus", "/run/user", "/run/systemd")


@dataclass(frozen=True, slots=True)
class CheckReport:
    """How tests ended. `output` has the beginning and the end of what they said, and says what is left out between.

    `code` is none where they were ended, or did not begin.
    """

    command: str
    why: Why
    code: int | None
    output: str
    dropped: int
    seconds: float

    @property
    def passed(self) -> bool:
        """Whether they ran to their end and found nothing."""
        return self.why == "passed"


def find_command(tree: str | os.PathLike[str]) -> str | None:
    """The command that runs the tests of a directory, if it is plain what that would be."""
    files = Roots([tree])
    if any(_TARGET.search(_read(files, name)) for name in ("GNUmakefile", "makefile", "Makefile")):
        return "make test"
    if any(_has(files, name, pattern) for name, pattern in _PYTEST.items()) or _has_tests(files):
        return f"{'python' if program('python') else 'python3'} -m pytest"
    return "npm test" if _has_script(_read(files, "package.json")) else None


async def run_checks(
    tree: str | os.PathLike[str],
    command: str,
    *,
    seconds: float = 600.0,
    memory: int = 4 << 30,
    ways: Sequence[Way] = CONFINED,
    checkout: str | os.PathLike[str] | None = None,
    most: int = 200_000,
) -> CheckReport:
    """Run a command of the shell in a directory, confined, and say how it ended; cancelled, nothing of it is left.

    What is installed in the user's `checkout` (a virtual environment, packages of node) is there for it to read.
    """
    began = time.monotonic()
    where = os.path.realpath(tree)
    home = None if checkout is None else os.path.realpath(checkout)
    ended: dict[str, Any] = {}
    finished = None
    problems: list[str] = []
    with tempfile.TemporaryDirectory(prefix="antiphon-checks-", ignore_cleanup_errors=True) as temporary:
        order = {"command": command, "tree": where, "seconds": seconds, "memory": memory, "hidden": sorted(_hidden())}
        try:
            _lend(where, home)
            for way in ways:
                ended, finished = await _attempt(way, order, home, os.path.realpath(temporary), most)
                if ended["why"] != "no sandbox":
                    break
                problems.append(f"{way}: {ended['text']}")
            else:
                ended = {"why": "unstarted", "text": NO_SANDBOX.format("; ".join(problems))}
        except (OSError, ValueError) as error:
            ended = {"why": "unstarted", "text": f"the tests could not be started: {error}"}
    return _report(command, ended, finished, time.monotonic() - began)


def sandbox_problem() -> str | None:
    """Why tests cannot be confined on this system, and what to do; none if they can."""
    with tempfile.TemporaryDirectory() as empty:
        report = asyncio.run(run_checks(empty, "true", seconds=30))
    return None if report.passed else report.output


async def _attempt(
    way: Way, order: dict[str, Any], checkout: str | None, temporary: str, most: int
) -> tuple[dict[str, Any], Finished | None]:
    """Run tests in one way: what the keeper says of how they ended, and what they said."""
    bwrap = program("bwrap")
    if way != "none" and sys.platform != "linux":
        return {"why": "no sandbox", "text": "only Linux has it"}, None
    if way == "bwrap" and bwrap is None:
        return {"why": "no sandbox", "text": "it is not installed"}, None
    tree, seconds = order["tree"], order["seconds"]
    os.makedirs(os.path.join(temporary, "home"), exist_ok=True)
    environment = _environment(tree, temporary if way == "none" else "/tmp")
    reader, writer = os.pipe()
    with open(reader, "rb") as report, open(writer, "wb") as sink:
        places = _places(tree, checkout, temporary, environment)
        order |= {"report": writer, "namespaces": way == "namespaces", "places": places, "writable": ["/tmp", tree]}
        keeper = [sys.executable, "-I", "-S", str(confined.__file__), json.dumps(order)]
        running = run(
            [*_bwrap(str(bwrap), order), *keeper] if way == "bwrap" else keeper,
            environment=environment,
            timeout=seconds + _LATE,
            cwd=tree,
            first=most // 2,
            last=most - most // 2,
            merged=True,
            descriptors=[writer],
        )
        finished = await running
        sink.close()
        said = report.read().splitlines()
    if finished.timed_out:
        return {"why": "timed out"}, finished
    return (json.loads(said[-1]) if said else {"why": "no sandbox", "text": finished.output.strip()[:500]}), finished


def _report(command: str, ended: Mapping[str, Any], finished: Finished | None, seconds: float) -> CheckReport:
    output, dropped = (finished.output, finished.dropped) if finished else ("", 0)
    code: int | None = ended.get("code")
    why: Why
    match ended["why"]:
        case "ended" if code == 0:
            why = "passed"
        case "ended":
            # The shell's own codes for a command that is not there or is no program.
            why = "could not start" if code in (126, 127) else "failed"
        case "timed out" | "out of memory" as limit:
            why = limit
        case "lost":
            why, output = "failed", f"{output}\n[the tests ended the program that looked after them]"
        case _:
            why, output = "could not start", str(ended["text"])
    return CheckReport(command, why, code, output, dropped, seconds)


def _environment(tree: str, temporary: str) -> dict[str, str]:
    """The user's own, without secrets, with another home, and with the files of the task before those installed."""
    kept = {name: value for name, value in scrubbed().items() if not name.startswith(("GIT_", "XDG_", "SSH_"))}
    kept |= {
        name: os.path.join(_home(), where)
        for name, where in _TOOLS.items()
        if name not in kept and os.path.isdir(os.path.join(_home(), where))
    }
    programs = [os.path.join(tree, name, part) for name, part in zip(_INSTALLED, ("bin", "bin", ".bin"), strict=True)]
    found = [path for path in programs if os.path.isdir(path)]
    kept["PATH"] = os.pathsep.join([*found, kept.get("PATH", os.defpath)])
    if found and not found[0].endswith(".bin"):
        kept["VIRTUAL_ENV"] = os.path.dirname(found[0])
    if any(os.path.lexists(os.path.join(tree, name)) for name in ("pyproject.toml", "setup.py", "setup.cfg")):
        # The project itself may be installed from the user's checkout, and must not be tested in its place.
        own = [path for path in (os.path.join(tree, "src"), tree) if os.path.isdir(path)]
        kept["PYTHONPATH"] = os.pathsep.join([*own, *filter(None, [kept.get("PYTHONPATH")])])
    # Python takes byte code for that of a file of the same size that was changed in the same second.
    kept["PYTHONDONTWRITEBYTECODE"] = "1"
    own_places = {"HOME": os.path.join(temporary, "home"), "TMPDIR": temporary}
    return kept | _QUIET | own_places | {"GIT_CEILING_DIRECTORIES": os.path.dirname(tree)}


def _lend(tree: str, checkout: str | None) -> None:
    for name in _INSTALLED if checkout else ():
        source = os.path.join(str(checkout), name)
        if os.path.isdir(source) and not os.path.lexists(os.path.join(tree, name)):
            os.symlink(os.path.realpath(source), os.path.join(tree, name))


def _places(tree: str, checkout: str | None, temporary: str, environment: Mapping[str, str]) -> dict[str, str]:
    """What is put where: a `/tmp` of their own, and in it again what lies below the real one and is needed."""
    programs = [os.path.dirname(path) for path in environment["PATH"].split(os.pathsep)]
    libraries = environment.get("PYTHONPATH", "").split(os.pathsep)
    needed = [
        path for path in (checkout, sys.prefix, os.path.dirname(str(confined.__file__)), *programs, *libraries) if path
    ]
    # A link may lead from below it to elsewhere, or from elsewhere to there.
    named = {*map(os.path.abspath, needed), *map(os.path.realpath, needed)}
    below = {path for path in named if path.startswith("/tmp/") and os.path.isdir(path)}
    outer = sorted(path for path in below if not _within(path, below - {path}))
    return {"/tmp": temporary, **{path: path for path in outer}, tree: tree}


def _within(path: str, others: set[str]) -> bool:
    return any(path.startswith(other + os.sep) for other in others)


def _hidden() -> Iterator[str]:
    home = _home()
    yield from (path for name in _PRIVATE if os.path.lexists(path := os.path.join(home, name)))
    yield from (str(path) for what in ("config", "data") if (path := user_directory(what)).is_dir())
    yield from (path for path in _SERVICES if os.path.exists(path))
    if os.path.isdir(home):
        with os.scandir(home) as entries:
            yield from (entry.path for entry in entries if entry.is_file() and looks_secret((entry.name,)))


def _bwrap(bwrap: str, order: Mapping[str, Any]) -> list[str]:
    command = [bwrap, "--die-with-parent", "--unshare-user", "--unshare-net", "--unshare-pid", "--unshare-ipc"]
    # Started by root, it would leave its powers to what it starts.
    command += ["--cap-drop", "ALL", "--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc"]
    for place in order["hidden"]:
        command += ["--tmpfs", place] if os.path.isdir(place) else ["--ro-bind", os.devnull, place]
    for place, source in order["places"].items():
        command += ["--bind" if place in order["writable"] else "--ro-bind", source, place]
    return [*command, "--"]


def _home() -> str:
    return str(user_home())


def _read(files: Roots, name: str) -> str:
    try:
        with files.locate(name) as place, place.open() as file:
            return file.read(_MOST_READ).decode("utf-8", "replace")
    except ToolFailure:
        return ""


def _has(files: Roots, name: str, pattern: str) -> bool:
    if pattern:
        return bool(re.search(pattern, _read(files, name), re.MULTILINE))
    return os.path.isfile(os.path.join(files.paths[0], name))


def _has_tests(files: Roots) -> bool:
    top = Path(files.paths[0])
    return any(
        True
        for pattern in ("test_*.py", "tests/test_*.py", "tests/*/test_*.py", "test/test_*.py")
        for _ in top.glob(pattern)
    )


def _has_script(package: str) -> bool:
    try:
        script = json.loads(package)["scripts"]["test"]
    except (ValueError, KeyError, TypeError):
        return False
    return isinstance(script, str) and bool(script.strip()) and _PLACEHOLDER not in script
