"""The tests of a repository, run by the machine: nobody's word is taken for it that they pass.

They run in a system made from nothing: a copy of the files of a task, an empty home, and of the rest only programs and
what is installed. There is no network. When they end, or must be ended, nothing they started or wrote is left.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
import tempfile
import time
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from antiphon._places import user_home
from antiphon.agents.changes import role_of
from antiphon.agents.readable import hidden_places, readable_places, system_links, tool_homes
from antiphon.agents.runners import RunSummary, named_runner, read_summary
from antiphon.tools.processes import Finished, run, scrubbed
from antiphon.tools.sandbox import UNWALKED
from antiphon.tools.secrets import looks_secret

Why = Literal["passed", "failed", "cut short", "timed out", "out of memory", "could not start"]

NO_SANDBOX = (
    "tests are run in user namespaces, without a network and without your files, and this system does not allow that "
    "({}); allow them (`sysctl user.max_user_namespaces kernel.unprivileged_userns_clone "
    "kernel.apparmor_restrict_unprivileged_userns` shows what forbids them), or run tests with all that you may do: "
    "`--no-sandbox`"
)
#: A program of its own, which imports nothing of ours.
_CONFINED = "import sys; sys.path.append(sys.argv.pop(1)); from confined.namespaces import main; main()"
_LATE = 15.0
#: What is installed in the user's checkout and is not in git; tests need it.
_ENVIRONMENTS, _PACKAGES = (".venv", "venv"), "node_modules"
_QUIET = {"TERM": "dumb", "PAGER": "cat", "GIT_PAGER": "cat", "GIT_TERMINAL_PROMPT": "0"}
_SANDBOX_TEMPORARY = "/tmp"
#: Ends of names that look like those of secrets and are none.
_HARMLESS = (
    *(".py", ".pyi", ".js", ".mjs", ".cjs", ".jsx", ".ts", ".tsx", ".go", ".rs", ".rb", ".java", ".kt", ".c", ".h"),
    *(".example", ".sample", ".template", ".dist", ".md", ".rst"),
)


@dataclass(frozen=True, slots=True)
class CheckReport:
    """How tests ended. `output` has the beginning and the end of what they said, and says what is left out between.

    `code` is none where they were ended, or did not begin. `runner` and `count` are those of the closing summary, if
    a known runner has printed one.
    """

    command: str
    why: Why
    code: int | None
    output: str
    dropped: int
    seconds: float
    runner: str = ""
    count: int | None = None

    @property
    def passed(self) -> bool:
        """Tell whether they ran to their end and found nothing."""
        return self.why == "passed"


async def run_checks(
    tree: str | os.PathLike[str],
    command: str,
    *,
    seconds: float = 600.0,
    memory: int = 4 << 30,
    sandbox: bool = True,
    checkout: str | os.PathLike[str] | None = None,
    runner: str = "",
    without: Collection[str] = (),
    most: int = 200_000,
) -> CheckReport:
    """Run a command of the shell on a copy of a directory, confined, and say how it ended.

    What is installed in the user's `checkout` (a virtual environment, packages of node) is there for it to read. Exit
    code 0 is a success only with the closing summary of its `runner`, or of the one that the command names. Paths that
    it is to run `without` are not copied. `memory` is for processes, for what they share and for all they write.
    Without a `sandbox`, the command runs in the directory itself, with all that the user may do. Cancelled, nothing of
    it is left.
    """
    began = time.monotonic()
    where = os.path.realpath(tree)
    home = None if checkout is None else os.path.realpath(checkout)
    finished = None
    with tempfile.TemporaryDirectory(prefix="antiphon-checks-", ignore_cleanup_errors=True) as temporary:
        order: dict[str, Any] = {"command": command, "tree": where, "seconds": seconds, "memory": memory}
        order |= {"sandbox": sandbox, "without": [*without]}
        try:
            os.listdir(where)
            ended, finished = await _attempt(order, home, os.path.realpath(temporary), most)
        except (OSError, ValueError) as error:
            ended = {"why": "unstarted", "text": f"the tests could not be started: {error}"}
    if ended["why"] == "no sandbox":
        ended |= {"text": NO_SANDBOX.format(ended["text"])}
    return _report(order, ended, finished, runner or named_runner(command), time.monotonic() - began)


def sandbox_problem() -> str | None:
    """Return why tests cannot be confined on this system, and what to do; none if they can."""
    with tempfile.TemporaryDirectory() as empty:
        report = asyncio.run(run_checks(empty, "true", seconds=30))
    return None if report.passed else report.output


async def _attempt(
    order: dict[str, Any], checkout: str | None, temporary: str, most: int
) -> tuple[dict[str, Any], Finished | None]:
    """Run tests: what the keeper says of how they ended, and what they said."""
    tree, seconds = order["tree"], order["seconds"]
    if order["sandbox"]:
        if sys.platform != "linux":
            return {"why": "no sandbox", "text": "only Linux has them"}, None
        environment = _environment(tree, checkout, _SANDBOX_TEMPORARY)
        order |= _view(tree, checkout, environment, order["without"])
    else:
        _lend(tree, checkout)
        os.mkdir(os.path.join(temporary, "home"))
        environment = _environment(tree, checkout, temporary)
    reader, writer = os.pipe()
    order |= {"report": writer}
    with open(reader, "rb") as report, open(writer, "wb") as sink:
        finished = await run(
            [sys.executable, "-I", "-S", "-c", _CONFINED, str(Path(__file__).parent), json.dumps(order)],
            environment=environment,
            timeout=seconds + _LATE,
            cwd=tree,
            first=most // 2,
            last=most - most // 2,
            merged=True,
            descriptors=[writer],
        )
        sink.close()
        said = report.read().splitlines()
    if finished.timed_out:
        return {"why": "timed out"}, finished
    return (json.loads(said[-1]) if said else {"why": "no sandbox", "text": finished.output.strip()[-500:]}), finished


def _report(
    order: Mapping[str, Any], ended: Mapping[str, Any], finished: Finished | None, runner: str, seconds: float
) -> CheckReport:
    output, dropped = (finished.output, finished.dropped) if finished else ("", 0)
    code: int | None = ended.get("code")
    summary = read_summary(output, runner)
    why: Why
    match ended["why"]:
        case "ended" if code == 0:
            why, note = _judge(summary, runner)
            output += note
        case "ended":
            # The shell's own codes for a command that is not there or is no program.
            why = "could not start" if code in (126, 127) else "failed"
        case "timed out" | "out of memory" as limit:
            why = limit
        case "lost":
            why, output = "failed", f"{output}\n[the tests ended the program that looked after them]"
        case _:
            why, output = "could not start", str(ended["text"])
    if withheld := order.get("withheld"):
        output = f"[not shown to the tests, as they look like secrets: {', '.join(withheld)}]\n{output}"
    counted = (summary.runner, summary.count) if summary else ("", None)
    return CheckReport(order["command"], why, code, output, dropped, seconds, *counted)


def _judge(summary: RunSummary | None, runner: str) -> tuple[Why, str]:
    """Return what exit code 0 is worth, and what is to be said of it: whoever ends a runner early can choose it."""
    if summary is None and runner:
        return "cut short", f"\n[exit code 0, but {runner} has not printed its closing summary: it was ended early]"
    if summary is not None and summary.failed:
        return "failed", f"\n[exit code 0, but {summary.runner} counts {summary.failed} failed]"
    return "passed", ""


def _environment(tree: str, checkout: str | None, temporary: str) -> dict[str, str]:
    """The user's own, without secrets, with another home, and with the files of the task before those installed."""
    kept = {name: value for name, value in scrubbed().items() if not name.startswith(("GIT_", "XDG_", "SSH_"))}
    kept = tool_homes(_home()) | kept
    found = [
        os.path.join(tree, name, part)
        for name, part in (*((each, "bin") for each in _ENVIRONMENTS), (_PACKAGES, ".bin"))
        if any(os.path.isdir(os.path.join(top, name, part)) for top in (tree, checkout) if top)
    ]
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


def _view(tree: str, checkout: str | None, environment: dict[str, str], without: Collection[str]) -> dict[str, Any]:
    """Return the paths to show in the sandbox besides the files to test, and the files to withhold."""
    lent = dict(_lent(tree, checkout, without))
    environments = [lent[name] for name in _ENVIRONMENTS if name in lent]
    private = [path for path in (tree, checkout) if path]
    places = readable_places(_home(), environment, private, environments)
    if _PACKAGES in lent:
        # Links among packages lead to the files to test from here.
        places[os.path.join(tree, _PACKAGES)] = lent[_PACKAGES]
    links = {os.path.join(tree, name): lent[name] for name in _ENVIRONMENTS if name in lent}
    return {
        "places": places,
        "hidden": hidden_places(_home(), private, places),
        "links": system_links() | links,
        "withheld": sorted(set(_withheld(tree)).difference(without)),
    }


def _lent(tree: str, checkout: str | None, without: Collection[str] = ()) -> Iterator[tuple[str, str]]:
    """Name what is installed in the checkout and not in the directory itself."""
    for name in (*_ENVIRONMENTS, _PACKAGES) if checkout else ():
        source = os.path.join(str(checkout), name)
        if os.path.isdir(source) and (name in without or not os.path.lexists(os.path.join(tree, name))):
            yield name, os.path.realpath(source)


def _lend(tree: str, checkout: str | None) -> None:
    for name, source in list(_lent(tree, checkout)):
        os.symlink(source, os.path.join(tree, name))


def _withheld(tree: str) -> Iterator[str]:
    """Name files that look like secrets; those of tests, samples and code are what they are called after."""
    for directory, directories, names in os.walk(tree):
        directories[:] = [each for each in directories if each not in UNWALKED]
        for name in names:
            path = os.path.relpath(os.path.join(directory, name), tree)
            is_harmless = name.endswith(_HARMLESS) or role_of(path) == "test"
            if not is_harmless and looks_secret(path.split(os.sep)):
                yield path


def _home() -> str:
    return str(user_home())
