"""Run a repository's tests in a sandbox and report how they ended.

The sandbox has a copy of the task's files, an empty home directory, installed programs and no network.
When the tests end or are killed, none of their processes or files remain.
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

from antiphon._base.user_dirs import user_home
from antiphon.team.diffs import classify_file
from antiphon.team.known_test_runners import RunnerSummary, find_named_runner, parse_runner_summary
from antiphon.team.sandbox_paths import find_hidden_paths, find_readable_paths, find_system_links, find_tool_homes
from antiphon.tools.file_sandbox import SKIPPED_DIRECTORIES
from antiphon.tools.process_runner import ProcessResult, make_scrubbed_environment, run_process
from antiphon.tools.secret_files import looks_like_secret

CheckResult = Literal["passed", "failed", "cut short", "timed out", "out of memory", "could not start"]

NO_SANDBOX_MESSAGE = (
    "tests are run in user namespaces, without a network and without your files, and this system does not allow that "
    "({}); allow them (`sysctl user.max_user_namespaces kernel.unprivileged_userns_clone "
    "kernel.apparmor_restrict_unprivileged_userns` shows what forbids them), or run tests with all that you may do: "
    "`--no-sandbox`"
)
#: Runs as a separate program that imports nothing else of this package.
_SANDBOX_PROGRAM = "import sys; sys.path.append(sys.argv.pop(1)); from sandboxed_process.namespaces import main; main()"
_EXTRA_SECONDS = 15.0
#: Installed dependencies in the user's checkout that git does not track; tests need them.
_VENV_NAMES, _NODE_MODULES = (".venv", "venv"), "node_modules"
_QUIET_ENVIRONMENT = {"TERM": "dumb", "PAGER": "cat", "GIT_PAGER": "cat", "GIT_TERMINAL_PROMPT": "0"}
_SANDBOX_TEMP_DIR = "/tmp"
#: Suffixes of file names that look like secrets and are none.
_HARMLESS_SUFFIXES = (
    *(".py", ".pyi", ".js", ".mjs", ".cjs", ".jsx", ".ts", ".tsx", ".go", ".rs", ".rb", ".java", ".kt", ".c", ".h"),
    *(".example", ".sample", ".template", ".dist", ".md", ".rst"),
)


@dataclass(frozen=True, slots=True)
class CheckReport:
    """The result of a test run. `output` has its beginning and end, with a note about omitted text.

    `code` is `None` if the tests were killed or did not start. `runner` and `count` come from the closing
    summary of a known test runner, if it printed one.
    """

    command: str
    why: CheckResult
    code: int | None
    output: str
    dropped: int
    seconds: float
    runner: str = ""
    count: int | None = None

    @property
    def passed(self) -> bool:
        """True if the tests ran to the end and none failed."""
        return self.why == "passed"


async def run_sandboxed_tests(
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
    """Run a shell command on a copy of a directory in a sandbox, and return how it ended.

    Dependencies installed in the user's `checkout` are readable. Exit code 0 counts as success only with
    the closing summary of `runner`, or of the runner that the command names. Paths in `without` are not
    copied. `memory` limits processes, shared memory and written files together. Without `sandbox`, the
    command runs in the directory itself with all rights of the user. Cancellation leaves nothing behind.
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
            ended, finished = await _run_supervised(order, home, os.path.realpath(temporary), most)
        except (OSError, ValueError) as error:
            ended = {"why": "unstarted", "text": f"the tests could not be started: {error}"}
    if ended["why"] == "no sandbox":
        ended |= {"text": NO_SANDBOX_MESSAGE.format(ended["text"])}
    return _make_report(order, ended, finished, runner or find_named_runner(command), time.monotonic() - began)


def sandbox_problem() -> str | None:
    """Return why this system cannot sandbox tests and what to do about it; `None` if it can."""
    with tempfile.TemporaryDirectory() as empty:
        report = asyncio.run(run_sandboxed_tests(empty, "true", seconds=30))
    return None if report.passed else report.output


async def _run_supervised(
    order: dict[str, Any], checkout: str | None, temporary: str, most: int
) -> tuple[dict[str, Any], ProcessResult | None]:
    """Run the tests and return the supervisor's report and the finished process."""
    tree, seconds = order["tree"], order["seconds"]
    if order["sandbox"]:
        if sys.platform != "linux":
            return {"why": "no sandbox", "text": "only Linux has them"}, None
        environment = _build_environment(tree, checkout, _SANDBOX_TEMP_DIR)
        order |= _sandbox_view(tree, checkout, environment, order["without"])
    else:
        for name, source in list(_iter_borrowed(tree, checkout)):
            os.symlink(source, os.path.join(tree, name))
        os.mkdir(os.path.join(temporary, "home"))
        environment = _build_environment(tree, checkout, temporary)
    reader, writer = os.pipe()
    order |= {"report": writer}
    with open(reader, "rb") as report, open(writer, "wb") as sink:
        finished = await run_process(
            [sys.executable, "-I", "-S", "-c", _SANDBOX_PROGRAM, str(Path(__file__).parent), json.dumps(order)],
            environment=environment,
            timeout=seconds + _EXTRA_SECONDS,
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


def _make_report(
    order: Mapping[str, Any], ended: Mapping[str, Any], finished: ProcessResult | None, runner: str, seconds: float
) -> CheckReport:
    output, dropped = (finished.output, finished.dropped) if finished else ("", 0)
    code: int | None = ended.get("code")
    summary = parse_runner_summary(output, runner)
    why: CheckResult
    match ended["why"]:
        case "ended" if code == 0:
            why, note = _judge_exit_zero(summary, runner)
            output += note
        case "ended":
            # The shell's exit codes for a missing or non-executable command.
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


def _judge_exit_zero(summary: RunnerSummary | None, runner: str) -> tuple[CheckResult, str]:
    """Return the result for exit code 0, and a note: a run that was ended early may also exit with 0."""
    if summary is None and runner:
        return "cut short", f"\n[exit code 0, but {runner} has not printed its closing summary: it was ended early]"
    if summary is not None and summary.failed:
        return "failed", f"\n[exit code 0, but {summary.runner} counts {summary.failed} failed]"
    return "passed", ""


def _build_environment(tree: str, checkout: str | None, temporary: str) -> dict[str, str]:
    """Return the user's environment without secrets, with another home and the task's files first on the path."""
    kept = {
        name: value
        for name, value in make_scrubbed_environment().items()
        if not name.startswith(("GIT_", "XDG_", "SSH_"))
    }
    kept = find_tool_homes(str(user_home())) | kept
    found = [
        os.path.join(tree, name, part)
        for name, part in (*((each, "bin") for each in _VENV_NAMES), (_NODE_MODULES, ".bin"))
        if any(os.path.isdir(os.path.join(top, name, part)) for top in (tree, checkout) if top)
    ]
    kept["PATH"] = os.pathsep.join([*found, kept.get("PATH", os.defpath)])
    if found and not found[0].endswith(".bin"):
        kept["VIRTUAL_ENV"] = os.path.dirname(found[0])
    if any(os.path.lexists(os.path.join(tree, name)) for name in ("pyproject.toml", "setup.py", "setup.cfg")):
        # The project may be installed from the user's checkout, and that copy must not be tested instead.
        own = [path for path in (os.path.join(tree, "src"), tree) if os.path.isdir(path)]
        kept["PYTHONPATH"] = os.pathsep.join([*own, *filter(None, [kept.get("PYTHONPATH")])])
    # Python reuses byte code of a file with the same size that was changed within the same second.
    kept["PYTHONDONTWRITEBYTECODE"] = "1"
    own_places = {"HOME": os.path.join(temporary, "home"), "TMPDIR": temporary}
    return kept | _QUIET_ENVIRONMENT | own_places | {"GIT_CEILING_DIRECTORIES": os.path.dirname(tree)}


def _sandbox_view(
    tree: str, checkout: str | None, environment: dict[str, str], without: Collection[str]
) -> dict[str, Any]:
    """Return the paths visible in the sandbox besides the tested files, and the files withheld from it."""
    lent = dict(_iter_borrowed(tree, checkout, without))
    environments = [lent[name] for name in _VENV_NAMES if name in lent]
    private = [path for path in (tree, checkout) if path]
    places = find_readable_paths(str(user_home()), environment, private, environments)
    if _NODE_MODULES in lent:
        # Relative links among packages must resolve to the tested files.
        places[os.path.join(tree, _NODE_MODULES)] = lent[_NODE_MODULES]
    links = {os.path.join(tree, name): lent[name] for name in _VENV_NAMES if name in lent}
    return {
        "places": places,
        "hidden": find_hidden_paths(str(user_home()), private, places),
        "links": find_system_links() | links,
        "withheld": sorted(set(_iter_secret_files(tree)).difference(without)),
    }


def _iter_borrowed(tree: str, checkout: str | None, without: Collection[str] = ()) -> Iterator[tuple[str, str]]:
    """Yield dependencies that are installed in the checkout and not in the tested directory."""
    for name in (*_VENV_NAMES, _NODE_MODULES) if checkout else ():
        source = os.path.join(str(checkout), name)
        if os.path.isdir(source) and (name in without or not os.path.lexists(os.path.join(tree, name))):
            yield name, os.path.realpath(source)


def _iter_secret_files(tree: str) -> Iterator[str]:
    """Yield files that look like secrets, except tests, samples and source code."""
    for directory, directories, names in os.walk(tree):
        directories[:] = [each for each in directories if each not in SKIPPED_DIRECTORIES]
        for name in names:
            path = os.path.relpath(os.path.join(directory, name), tree)
            is_harmless = name.endswith(_HARMLESS_SUFFIXES) or classify_file(path) == "test"
            if not is_harmless and looks_like_secret(path.split(os.sep)):
                yield path
