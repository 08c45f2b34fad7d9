"""Test runner: find `test` blocks, and run each on a program whose top level is only declared."""

from __future__ import annotations

import re
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn, Protocol

from antiphon._base.files import open_named_file
from antiphon.effects.pipeline import Middleware
from antiphon.effects.types import CallTool
from antiphon.lang.codegen.code_object import ModuleCode
from antiphon.lang.codegen.compiler import MAIN_FUNCTION
from antiphon.lang.runtime.errors import ImportFailed, ProgramAborted, VibeError
from antiphon.lang.runtime.execution import ProgramExecution
from antiphon.lang.runtime.host import Host
from antiphon.lang.runtime.modules import MAX_PROGRAM_BYTES, ModuleInstances, ModuleLoader, read_program_source
from antiphon.lang.runtime.recursion import run_with_deep_stack
from antiphon.lang.runtime.tracebacks import translate_error
from antiphon.lang.syntax.source import Source

if TYPE_CHECKING:
    from antiphon.effects import EffectCall, HumanAnswer
    from antiphon.session import ModelProtocol, Question

_TEST_BLOCK = re.compile(rb"\btest\s*[\"'`]")
_FILE_ENDING = re.compile(r"(\.test)?\.vibe$")


class OfflineMiddleware(Middleware):
    """Middleware of tests that forbids network access."""

    def before(self, step: EffectCall) -> None:
        """Raise V0946 if the effect would reach the network."""
        if isinstance(step.effect, CallTool) and step.effect.tool.startswith(("http.", "fetch_url")):
            hint = "put what is done with an answer into a function, and test that with an answer of your own"
            raise VibeError("V0946", f"no test reaches a network, and this one called `{step.effect.tool}`", hint)


class ScriptedModels(Protocol):
    """Scripted models and people of a test.

    `missing` lists what was asked and not scripted; `unused` returns what was scripted and not asked for.
    """

    missing: list[str]

    def unused(self) -> list[str]: ...
    def play(self, steps: list[Any]) -> None: ...
    def answer(self, question: Question) -> HumanAnswer: ...
    def default_model(self) -> str: ...
    def connect(self, name: str, **given: Any) -> ModelProtocol: ...


@dataclass(frozen=True, slots=True)
class VibeTest:
    """A `test` block: its title, its Python function and its line."""

    name: str
    function: str
    line: int


@dataclass(slots=True)
class TestResult:
    """The outcome of a test; `error` and `missing` say why it failed, `prints` is its output."""

    test: VibeTest
    seconds: float
    error: VibeError | None = None
    missing: list[str] = field(default_factory=list[str])
    prints: list[str] = field(default_factory=list[str])

    @property
    def passed(self) -> bool:
        """Return True if nothing failed and no scripted answer was missing or unused."""
        return self.error is None and not self.missing


@dataclass(slots=True)
class VibeTestSuite:
    """The tests of one file, in the order in which they are written."""

    modules: ModuleLoader
    code: ModuleCode
    recording: Path | None

    @property
    def source(self) -> Source:
        """Return the file's source text."""
        return self.code.source

    @property
    def tests(self) -> list[VibeTest]:
        """Return all tests."""
        return [VibeTest(name, function, self.source.line_number(start)) for name, function, start in self.code.tests]

    def run(self, test: VibeTest, cast: ScriptedModels) -> TestResult:
        """Run one test with its own variables and history, and with these scripted models."""
        host = Host(
            write=lambda _: None,
            connect=cast.connect,
            default_model=cast.default_model,
            people=cast.answer,
            play=cast.play,
            performers=(OfflineMiddleware(),),
        )
        execution = ProgramExecution(host, title=test.name)
        result = TestResult(test, 0, missing=cast.missing, prints=execution.prints)
        began = time.perf_counter()
        try:
            with execution.active():
                space = ModuleInstances(self.modules, execution, _reject_server).start(self.code)
                run_with_deep_stack(space[MAIN_FUNCTION])
                run_with_deep_stack(space[test.function])
                execution.finish()
                result.missing += cast.unused()
        except (Exception, ProgramAborted) as error:
            result.error = translate_error(error)
        result.seconds = time.perf_counter() - began
        return result


def _reject_server(name: str) -> NoReturn:
    hint = "move what you test into a module that does not import from it"
    raise ImportFailed("V0606", f"no test starts the MCP server `{name}`", hint)


def load_tests(path: str, *, replay: str | None = None) -> VibeTestSuite:
    """Load the tests of a file; raise `ProgramErrors` if it has errors.

    Its recording is the one given, or the one beside it (`NAME.recording.jsonl`).
    """
    modules = ModuleLoader()
    main = modules.add(read_program_source(path), for_tests=True)
    modules.raise_errors()
    assert main.code is not None
    beside = Path(_FILE_ENDING.sub("", path) + ".recording.jsonl")
    recording = Path(replay) if replay is not None else beside if beside.is_file() else None
    return VibeTestSuite(modules, main.code, recording)


def may_have_tests(path: str) -> bool:
    """Return True if a file may contain tests: by its name, or by a quick search without parsing."""
    if path.endswith(".test.vibe"):
        return True
    try:
        with open_named_file(path) as file:
            return _TEST_BLOCK.search(file.read(MAX_PROGRAM_BYTES)) is not None
    except OSError:
        return False
