"""`test` blocks: found, and run one by one, each on a program that has only been declared."""

from __future__ import annotations

import re
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn, Protocol

from antiphon._files import open_named_file
from antiphon.effects.door import Performer
from antiphon.effects.values import CallTool
from antiphon.lang.compile.code import Code
from antiphon.lang.compile.naming import MAIN
from antiphon.lang.run.depth import deeply
from antiphon.lang.run.errors import ImportFailed, Stopped, VibeError
from antiphon.lang.run.execution import Execution
from antiphon.lang.run.host import Host
from antiphon.lang.run.modules import MOST_BYTES, Instances, Modules, read_source
from antiphon.lang.run.traces import translated
from antiphon.lang.syntax.source import Source

if TYPE_CHECKING:
    from antiphon.effects import Outcome, Said, Step
    from antiphon.session import Asks, Question

_BLOCK = re.compile(rb"\btest\s*[\"'`]")
_ENDING = re.compile(r"(\.test)?\.vibe$")


class Offline(Performer):
    """Stands in the door of a test: it reaches no network."""

    def before(self, step: Step) -> None:
        """Refuse what would be asked of another machine."""
        if isinstance(step.effect, CallTool) and step.effect.tool.startswith(("http.", "fetch_url")):
            hint = "put what is done with an answer into a function, and test that with an answer of your own"
            raise VibeError("V0946", f"no test reaches a network, and this one called `{step.effect.tool}`", hint)

    def after(self, step: Step, outcome: Outcome) -> None:
        """What was done, was done."""


class Cast(Protocol):
    """Who answers in a test: models and humans that play a script. `missing` is what was asked and not scripted,
    `unused` what was scripted and not asked for.
    """

    missing: list[str]

    def unused(self) -> list[str]: ...
    def play(self, steps: list[Any]) -> None: ...
    def answer(self, question: Question) -> Said: ...
    def default_model(self) -> str: ...
    def connect(self, name: str, **given: Any) -> Asks: ...


@dataclass(frozen=True, slots=True)
class Test:
    """A `test` block: what it is called, its Python function, and its line."""

    name: str
    function: str
    line: int


@dataclass(slots=True)
class TestResult:
    """How a test went; `prints` is what it printed, `error` and `missing` say why it failed."""

    test: Test
    seconds: float
    error: VibeError | None = None
    missing: list[str] = field(default_factory=list[str])
    prints: list[str] = field(default_factory=list[str])

    @property
    def passed(self) -> bool:
        """Whether nothing failed, and the answers were just those that were wanted."""
        return self.error is None and not self.missing


@dataclass(slots=True)
class Suite:
    """The tests of one file, in the order in which they are written."""

    modules: Modules
    code: Code
    recording: Path | None

    @property
    def source(self) -> Source:
        """The file's text."""
        return self.code.source

    @property
    def tests(self) -> list[Test]:
        """All of them."""
        return [Test(name, function, self.source.line_of(start)) for name, function, start in self.code.tests]

    def run(self, test: Test, cast: Cast) -> TestResult:
        """Run one, with its own variables and history, and with these who answer."""
        host = Host(
            write=lambda _: None,
            connect=cast.connect,
            default_model=cast.default_model,
            people=cast.answer,
            play=cast.play,
            performers=(Offline(),),
        )
        execution = Execution(host, title=test.name)
        result = TestResult(test, 0, missing=cast.missing, prints=execution.prints)
        began = time.perf_counter()
        try:
            with execution.active():
                space = Instances(self.modules, execution, _no_servers).start(self.code)
                deeply(space[MAIN])
                deeply(space[test.function])
                execution.finish()
                result.missing += cast.unused()
        except (Exception, Stopped) as error:
            result.error = translated(error)
        result.seconds = time.perf_counter() - began
        return result


def _no_servers(name: str) -> NoReturn:
    hint = "move what you test into a module that does not import from it"
    raise ImportFailed("V0606", f"no test starts the MCP server `{name}`", hint)


def load_tests(path: str, *, replay: str | None = None) -> Suite:
    """The tests of a file; `ProgramErrors` says why it cannot be run.

    Its recording is the one given, or the one beside it (`NAME.recording.jsonl`).
    """
    modules = Modules()
    main = modules.add(read_source(path), for_tests=True)
    modules.raise_errors()
    assert main.code is not None
    beside = Path(_ENDING.sub("", path) + ".recording.jsonl")
    recording = Path(replay) if replay is not None else beside if beside.is_file() else None
    return Suite(modules, main.code, recording)


def may_have_tests(path: str) -> bool:
    """Whether it is worth reading the file as a program: a test is more than its name, but never less than the word."""
    if path.endswith(".test.vibe"):
        return True
    try:
        with open_named_file(path) as file:
            return _BLOCK.search(file.read(MOST_BYTES)) is not None
    except OSError:
        return False
