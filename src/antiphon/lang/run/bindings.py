"""What compiled modules call: asking, history, declarations and the built-in functions, for one module of a run."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from types import ModuleType
from typing import TYPE_CHECKING, Any, cast

from antiphon.effects.door import place, privately
from antiphon.effects.values import AskPerson, CallTool, Print, ReadClock, ReadEnvironment, RunPython, Said, Sleep
from antiphon.lang.check.types import TEXT, Type
from antiphon.lang.compile.code import Code
from antiphon.lang.run import asking, concurrency, context
from antiphon.lang.run.errors import VibeError
from antiphon.lang.run.execution import Execution
from antiphon.lang.run.fitting import as_type
from antiphon.lang.run.members import python_attribute
from antiphon.lang.run.models import ModelValue
from antiphon.lang.run.people import read_answer, wanted_words
from antiphon.lang.run.questions import answered
from antiphon.lang.run.receivers import call_method
from antiphon.lang.run.threads import Pending
from antiphon.lang.run.tooling import VibeTool
from antiphon.lang.run.values import described, from_python, kind_of, plain, text, unwrap
from antiphon.session.result import AIResult

if TYPE_CHECKING:
    from antiphon.lang.run.history import History
    from antiphon.tools import CanonicalCall, Tool


@dataclass(slots=True)
class Module:
    """A module of a run: what its code calls `_vrt`."""

    execution: Execution
    code: Code
    importer: Callable[[str, str], Any]
    #: What whoever runs the program gives for variables of its top level.
    inputs: dict[str, Any] = field(default_factory=dict[str, Any])

    def ask(self, site: int, prompt: str, model: ModelValue | None) -> AIResult:
        """`do`, `vibe`."""
        return asking.ask(self.execution, self.code.sites[site], prompt, model, 2)

    def ask_human(self, site: int, prompt: str) -> Any:
        """`ask`: the answer as the type that is wanted, asked for again if it does not fit."""
        wanted: Type = self.code.sites[site].wanted or TEXT
        question = prompt
        for _ in range(5):
            answer = self._asked(question)
            value, fault = read_answer(answer, wanted)
            if not fault:
                return value
            question = f"{prompt}\n({fault})"
        raise VibeError("V0924", f"no usable answer to {prompt[:80]!r}: {wanted_words(wanted)} is wanted")

    def _asked(self, question: str) -> str:
        host, title = self.execution.host, self.execution.title

        def ask() -> Said:
            return answered(host.port, question, "question", question, title)

        said: Said = self.execution.perform(AskPerson("question", question), ask)
        return said.text

    def start_ask(self, site: int, prompt: str, model: ModelValue | None) -> Pending:
        """`async let x = do …`."""
        around = context.variables(2, False, self.execution.state.around)
        chosen = self.code.sites[site]
        return concurrency.start(self.execution, lambda: asking.ask(self.execution, chosen, prompt, model, 2), around)

    def start(self, wanted: Type, function: Callable[..., Any], *arguments: Any) -> Pending:
        """`async let x = f(…)`."""
        around = context.variables(2, False, self.execution.state.around)
        return concurrency.start(self.execution, lambda: as_type(function(*arguments), wanted), around)

    def gather(self, body: Callable[[Any], list[Any]], items: Iterable[Any]) -> list[Any]:
        """`async for`."""
        around = context.variables(2, False, self.execution.state.around)
        return concurrency.gather(self.execution, body, items, around)

    # History

    def enter(self) -> tuple[History, History, ModelValue | None]:
        """A function that asks begins."""
        state = self.execution.state
        mark = state.history, state.base, state.model
        state.base = state.history
        return mark

    def leave(self, mark: tuple[History, History, ModelValue | None]) -> None:
        """It ends, and its history with it."""
        state = self.execution.state
        state.history, state.base, _ = mark

    def mark(self) -> History:
        """What has happened up to now."""
        return self.execution.state.history

    def forget(self, mark: History) -> None:
        """Drop what happened since."""
        self.execution.state.history = mark

    def compress(self, mark: History, how: str | None, model: ModelValue | None) -> None:
        """Sum up what happened since."""
        asking.compress(self.execution, mark, how, model)

    # Declarations

    def model(self, label: str, settings: dict[str, Any]) -> ModelValue:
        """`model m = { … }`: from now on it is in force."""
        value = ModelValue(label, plain_settings(settings))
        self.execution.state.model = value
        return value

    def tool(self, number: int, function: Callable[..., Any]) -> VibeTool:
        """`tool name(…) { … }`."""
        return VibeTool(self.code.tools[number], function, self.execution.run_tool)

    def call(self, function: Any, *arguments: Any) -> Any:
        """Call a tool, or a function that is not of the language."""
        from antiphon.tools import Tool

        if isinstance(function, VibeTool):
            # What it does to the world are effects of its own.
            return function.function(*arguments)
        given = [plain(each) for each in arguments]
        if isinstance(function, Tool):
            return self._call_tool(cast(Tool, function), given)
        if not callable(function):
            raise VibeError("V0902", f"{kind_of(function)} cannot be called")
        called, name = cast(Callable[..., Any], function), str(getattr(function, "__name__", "the function"))
        return self._call_python(called, f"{getattr(function, '__module__', '')}.{name}", given, {})

    def call_member(self, value: Any, name: str, *arguments: Any) -> Any:
        """`date.today()`: what a class or a module of Python has is called as its functions are."""
        return self.call_member_named(value, name, {}, *arguments)

    def call_member_named(self, value: Any, name: str, named: dict[str, Any], *arguments: Any) -> Any:
        """The same with arguments that have names, which methods of Python alone take: `day.replace(year: 2027)`."""
        by_name = {each: plain(given) for each, given in named.items()}
        if not isinstance(value, type | ModuleType):
            return call_method(value, name, *arguments, **by_name)
        called = python_attribute(value, name)
        if not callable(called):
            raise VibeError("V0902", f"`{name}` of `{value.__name__}` cannot be called", f"write `.{name}`")
        return self._call_python(called, f"{value.__name__}.{name}", [plain(each) for each in arguments], by_name)

    def _call_python(self, called: Callable[..., Any], name: str, given: list[Any], named: dict[str, Any]) -> Any:
        last = name.rpartition(".")[2]
        told = [described(given), described(named)] if named else described(given)
        return self.execution.perform(RunPython(name, told), lambda: from_python(called(*given, **named), f"`{last}`"))

    def call_named(self, function: Any, named: dict[str, Any], *arguments: Any) -> Any:
        """The same, with arguments that have names."""
        from antiphon.tools import Tool

        if isinstance(function, VibeTool):
            return function.function(*arguments, **function.by_python_name(named))
        given, by_name = [plain(each) for each in arguments], {name: plain(each) for name, each in named.items()}
        if isinstance(function, Tool):
            return self._call_tool(cast(Tool, function), given, by_name)
        if not callable(function):
            raise VibeError("V0902", f"{kind_of(function)} cannot be called")
        called, name = cast(Callable[..., Any], function), str(getattr(function, "__name__", "the function"))
        return self._call_python(called, f"{getattr(function, '__module__', '')}.{name}", given, by_name)

    def function(self, function: Any, returns: Type) -> Callable[..., Any]:
        """A tool, or a function that is not of the language, as a function; what it gives is looked at."""
        return lambda *arguments: as_type(self.call(function, *arguments), returns)

    def python(self, function: Callable[..., Any], *arguments: Any) -> Any:
        """`py(a) { … }`: values go in and come out as Python's own."""
        return self._python(function, arguments, is_harmless=False)

    def pure_python(self, function: Callable[..., Any], *arguments: Any) -> Any:
        """`pure py(a) { … }`: it may be run twice."""
        return self._python(function, arguments, is_harmless=True)

    def _python(self, function: Callable[..., Any], arguments: Iterable[Any], *, is_harmless: bool) -> Any:
        given = [plain(each) for each in arguments]
        effect = RunPython(self.code.python_sources[function.__name__], described(given), is_harmless)
        return self.execution.perform(effect, lambda: from_python(function(*given)))

    def privately(self) -> AbstractContextManager[None]:
        """What is done in it is done for a private variable."""
        return privately()

    def _call_tool(self, tool: Tool, given: list[Any], named: dict[str, Any] | None = None) -> Any:
        """What a tool gives to programs; else the text that a model would see of its result."""
        from antiphon.conversation import ToolCall
        from antiphon.tools import canonicalize

        names = list(tool.spec.parameters.get("properties", {}))
        if len(given) > len(names):
            raise VibeError("V0912", f"`{tool.name}` expects at most {len(names)} arguments, got {len(given)}")
        if unknown := next((each for each in named or {} if each not in names), ""):
            raise VibeError("V0912", f"`{tool.name}` has no parameter `{unknown}`", f"it has {', '.join(names)}")
        call = ToolCall.read("call", tool.name, dict(zip(names, given, strict=False)) | (named or {}))
        canonical = canonicalize(tool, call)
        again = "harmless" if tool.read_only or tool.idempotent else "unsure"
        said: list[Any] = self.execution.perform(
            CallTool(tool.name, described(call.arguments), again), lambda: self._executed(canonical), canonical
        )
        return said[0] if said[1:] != ["asks"] else self._asked(said[0])

    def _executed(self, call: CanonicalCall) -> list[Any]:
        """What the tool gives; or what it asks, with a mark that it does."""
        from antiphon.conversation import Conversation
        from antiphon.session.portal import portal
        from antiphon.tools import Finish, Pause
        from antiphon.tools.execution import execute_call

        tool = call.tool
        if tool.data is not None:
            return [from_python(portal().run(_data(call)))]
        try:
            result = portal().run(execute_call(call, Conversation(), key=_key())).result
        except Pause as needed:
            return [str(needed), "asks"]
        except Finish as end:
            return [text(from_python(end.value))]
        if result.is_error:
            raise VibeError("V0917", f"the tool `{tool.name}` failed: {result.text}")
        return [result.text]

    def imported(self, number: int) -> Any:
        """A name from another module."""
        each = self.code.imports[number]
        return self.importer(each.path, each.name)

    def input(self, name: str) -> Any:
        """What whoever runs the program gives: looked at before it began, and the program's own to change."""
        return self.inputs[name]

    # What programs call by name

    def print(self, *values: Any) -> None:
        """`print`."""
        self._print(" ".join(map(text, values)))

    def _print(self, said: str) -> None:
        self.execution.prints.append(said)
        self.execution.perform(Print(said), lambda: self.execution.host.write(said))

    def note(self, *values: Any) -> None:
        """`note`: printed, and shown to the models asked from here on."""
        said = " ".join(map(text, values))
        self._print(said)
        state = self.execution.state
        state.history = state.history.said(said if said.strip() else "(an empty line)")

    def answers(self, script: list[Any]) -> None:
        """`answers`, in tests: what the models will say."""
        if self.execution.host.play is None:
            raise VibeError("V0929", "`answers` works in tests only", "run it with `antiphon test`")
        self.execution.host.play(plain(script))

    def env(self, name: str, default: str | None = None) -> str:
        """`env`."""
        value = self.execution.perform(ReadEnvironment(name), lambda: self.execution.host.variable(name))
        if value is None:
            value = default
        if value is None:
            raise VibeError(
                "V0926", f"the environment variable `{name}` is not set", f'`env("{name}", "")` has a default'
            )
        return value

    def now(self) -> str:
        """`now`."""
        return self.execution.perform(ReadClock(), self.execution.host.clock)

    def sleep(self, seconds: float) -> None:
        """`sleep`."""
        wait = max(0, unwrap(seconds))
        self.execution.perform(Sleep(wait), lambda: self.execution.host.sleep(wait))


async def _data(call: CanonicalCall) -> Any:
    from antiphon.tools import ToolFailure
    from antiphon.tools.threads import called

    assert call.tool.data is not None
    try:
        if call.problem:
            raise ToolFailure(call.problem)
        return await called(call.tool.data, **call.values)
    except ToolFailure as error:
        raise VibeError("V0917", f"the tool `{call.tool.name}` failed: {error}") from None


def _key() -> str:
    """The name of what is being done now among all that was ever done, where that is written down."""
    where = place()
    return f"{where.run}/{where.node.last}" if where.run else ""


def plain_settings(settings: dict[str, Any]) -> dict[str, Any]:
    """A model's settings; its tools stay what they are."""
    return {name: value if name == "tools" else plain(value) for name, value in settings.items()}
