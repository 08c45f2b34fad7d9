"""The runtime interface of compiled modules: model calls, history, declarations and built-in functions."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from types import ModuleType
from typing import TYPE_CHECKING, Any, cast

from antiphon.effects.pipeline import child_context, current_context, private_effects
from antiphon.effects.types import AskPerson, CallTool, HumanAnswer, Print, ReadClock, ReadEnvironment, RunPython, Sleep
from antiphon.lang.codegen.code_object import ModuleCode
from antiphon.lang.runtime.concurrency import gather_iterations, start_async
from antiphon.lang.runtime.errors import VibeError
from antiphon.lang.runtime.execution import PendingValue, ProgramExecution
from antiphon.lang.runtime.human_questions import ask_human_now, describe_wanted_type, parse_human_answer
from antiphon.lang.runtime.members import get_python_attribute
from antiphon.lang.runtime.methods import call_method
from antiphon.lang.runtime.model_calls import ask_model, compress_history
from antiphon.lang.runtime.models import ModelValue
from antiphon.lang.runtime.tools_and_types import VibeTool
from antiphon.lang.runtime.type_conversion import convert_to_type
from antiphon.lang.runtime.values import (
    describe_for_effect,
    from_python,
    get_kind_name,
    to_plain_value,
    to_text,
    unwrap_answer,
)
from antiphon.lang.runtime.visible_variables import collect_frames
from antiphon.lang.typecheck import types as t
from antiphon.session.result import AIResult

if TYPE_CHECKING:
    from antiphon.lang.runtime.history import ProgramHistory
    from antiphon.tools import CallHost, CanonicalCall, Tool


@dataclass(slots=True)
class ModuleRuntime:
    """The runtime of one module in a run; generated code calls its methods through `_vrt`."""

    execution: ProgramExecution
    code: ModuleCode
    importer: Callable[[str, str], Any]
    #: The values the caller passes for inputs and top-level variables.
    inputs: dict[str, Any] = field(default_factory=dict[str, Any])

    def ask(self, site: int, prompt: str, model: ModelValue | None) -> AIResult:
        """Run `do` or `vibe`."""
        return ask_model(self.execution, self.code.ask_sites[site], prompt, model, 2)

    def ask_human(self, site: int, prompt: str) -> Any:
        """Run `ask`: return the answer as the wanted type, and ask again if it does not fit."""
        wanted: t.Type = self.code.ask_sites[site].wanted or t.TEXT
        question = prompt
        for _ in range(5):
            answer = self._ask_person(question)
            value, fault = parse_human_answer(answer, wanted)
            if not fault:
                return value
            question = f"{prompt}\n({fault})"
        raise VibeError("V0924", f"no usable answer to {prompt[:80]!r}: expected {describe_wanted_type(wanted)}")

    def _ask_person(self, question: str) -> str:
        host, title = self.execution.host, self.execution.title

        def ask() -> HumanAnswer:
            return ask_human_now(host.port, question, "question", question, title)

        said: HumanAnswer = self.execution.perform(AskPerson("question", question), ask)
        return said.text

    def start_ask(self, site: int, prompt: str, model: ModelValue | None) -> PendingValue:
        """Run `async let x = do …`."""
        around = collect_frames(2, False, self.execution.state.around)
        chosen = self.code.ask_sites[site]
        return start_async(self.execution, lambda: ask_model(self.execution, chosen, prompt, model, 2), around)

    def start_call(self, wanted: t.Type, function: Callable[..., Any], *arguments: Any) -> PendingValue:
        """Run `async let x = f(…)`."""
        around = collect_frames(2, False, self.execution.state.around)
        return start_async(self.execution, lambda: convert_to_type(function(*arguments), wanted), around)

    def gather(self, body: Callable[[Any], list[Any]], items: Iterable[Any]) -> list[Any]:
        """Run `async for` and return the yielded values."""
        around = collect_frames(2, False, self.execution.state.around)
        return gather_iterations(self.execution, body, items, around)

    # History

    def enter_function(self) -> tuple[ProgramHistory, ProgramHistory, ModelValue | None]:
        """Begin the history of a function that asks a model, and return a mark for `leave_function`."""
        state = self.execution.state
        mark = state.history, state.base, state.model
        state.base = state.history
        return mark

    def leave_function(self, mark: tuple[ProgramHistory, ProgramHistory, ModelValue | None]) -> None:
        """Discard the history of a function when it returns."""
        state = self.execution.state
        state.history, state.base, _ = mark

    def mark_history(self) -> ProgramHistory:
        """Return the current history, as a mark for `forget` and `compress`."""
        return self.execution.state.history

    def forget(self, mark: ProgramHistory) -> None:
        """Discard the history since a mark."""
        self.execution.state.history = mark

    def compress(self, mark: ProgramHistory, how: str | None, model: ModelValue | None) -> None:
        """Summarize the history since a mark."""
        compress_history(self.execution, mark, how, model)

    # Declarations

    def declare_model(self, label: str, settings: dict[str, Any]) -> ModelValue:
        """Declare `model m = { … }`, which is the current model from now on."""
        value = ModelValue(label, unwrap_settings(settings))
        self.execution.state.model = value
        return value

    def declare_tool(self, number: int, function: Callable[..., Any]) -> VibeTool:
        """Declare `tool name(…) { … }`."""
        return VibeTool(self.code.tools[number], function, self.execution.run_tool)

    def call(self, function: Any, *arguments: Any) -> Any:
        """Call a tool, or a Python function."""
        if isinstance(function, VibeTool):
            # Without a further frame: calls of tools may nest deeply.
            return function.function(*arguments)
        return self.call_named(function, {}, *arguments)

    def call_member(self, value: Any, name: str, *arguments: Any) -> Any:
        """Call a method of a value; of a Python class or module, as an effect: `date.today()`."""
        return self.call_member_named(value, name, {}, *arguments)

    def call_member_named(self, value: Any, name: str, named: dict[str, Any], *arguments: Any) -> Any:
        """Call a method with named arguments, which only Python methods accept: `day.replace(year: 2027)`."""
        by_name = {each: to_plain_value(given) for each, given in named.items()}
        if not isinstance(value, type | ModuleType):
            return call_method(value, name, *arguments, **by_name)
        called = get_python_attribute(value, name)
        if not callable(called):
            raise VibeError("V0902", f"`{name}` of `{value.__name__}` cannot be called", f"write `.{name}`")
        return self._call_python(
            called, f"{value.__name__}.{name}", [to_plain_value(each) for each in arguments], by_name
        )

    def _call_python(self, called: Callable[..., Any], name: str, given: list[Any], named: dict[str, Any]) -> Any:
        last = name.rpartition(".")[2]
        told = [describe_for_effect(given), describe_for_effect(named)] if named else describe_for_effect(given)
        return self.execution.perform(RunPython(name, told), lambda: from_python(called(*given, **named), f"`{last}`"))

    def call_named(self, function: Any, named: dict[str, Any], *arguments: Any) -> Any:
        """Call a tool or a Python function with named arguments."""
        from antiphon.tools import Tool

        if isinstance(function, VibeTool):
            # The effects inside the tool are recorded on their own.
            return function.function(*arguments, **function.rename_arguments(named))
        given = [to_plain_value(each) for each in arguments]
        by_name = {name: to_plain_value(each) for name, each in named.items()}
        if isinstance(function, Tool):
            return self._call_tool(cast(Tool, function), given, by_name)
        if not callable(function):
            raise VibeError("V0902", f"{get_kind_name(function)} cannot be called")
        called, name = cast(Callable[..., Any], function), str(getattr(function, "__name__", "the function"))
        return self._call_python(called, f"{getattr(function, '__module__', '')}.{name}", given, by_name)

    def wrap_function(self, function: Any, returns: t.Type) -> Callable[..., Any]:
        """Wrap a tool or a Python function as a function whose result is type-checked."""
        return lambda *arguments: convert_to_type(self.call(function, *arguments), returns)

    def run_python(self, function: Callable[..., Any], is_pure: bool, *arguments: Any) -> Any:
        """Run `py(a) { … }` with plain values; a `pure py` block may safely run twice."""
        given = [to_plain_value(each) for each in arguments]
        effect = RunPython(self.code.python_sources[function.__name__], describe_for_effect(given), is_pure)
        return self.execution.perform(effect, lambda: from_python(function(*given)))

    def private_effects(self) -> AbstractContextManager[None]:
        """Mark the effects inside the block as private: they belong to a private variable."""
        return private_effects()

    def _call_tool(self, tool: Tool, given: list[Any], named: dict[str, Any] | None = None) -> Any:
        """Return a tool's value for programs, or else the text of its result that a model would see."""
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
            CallTool(tool.name, describe_for_effect(call.arguments), again),
            lambda: self._executed(canonical),
            canonical,
        )
        return said[0] if said[1:] != ["asks"] else self._ask_person(said[0])

    def _executed(self, call: CanonicalCall) -> list[Any]:
        """Return what the tool returns, or its question followed by the mark "asks"."""
        from antiphon.conversation import Conversation
        from antiphon.session.sync_bridge import get_event_loop_thread
        from antiphon.tools import FinishRun, NeedsHumanInput
        from antiphon.tools.execution import execute_call

        tool, host = call.tool, self._make_call_host()
        if tool.data is not None:
            return [from_python(get_event_loop_thread().run(_call_data_function(call, host)))]
        try:
            work = execute_call(call, Conversation(), key=_make_idempotency_key(), host=host)
            result = get_event_loop_thread().run(work).result
        except NeedsHumanInput as needed:
            return [str(needed), "asks"]
        except FinishRun as end:
            return [to_text(from_python(end.value))]
        if result.is_error:
            raise VibeError("V0917", f"the tool `{tool.name}` failed: {result.text}")
        return [result.text]

    def _make_call_host(self) -> CallHost:
        from antiphon.session.call_host import PersonCallHost

        where = current_context()
        inside = child_context(f"{where.node.last}/") if where.performers else where
        return PersonCallHost(inside, self.execution.host.port, self.execution.title)

    def import_name(self, number: int) -> Any:
        """Return the value of a name imported from another module."""
        each = self.code.imports[number]
        return self.importer(each.path, each.name)

    # Built-in functions

    def print(self, *values: Any) -> None:
        """Implement `print`."""
        self._print(" ".join(map(to_text, values)))

    def _print(self, said: str) -> None:
        self.execution.prints.append(said)
        self.execution.perform(Print(said), lambda: self.execution.host.write(said))

    def note(self, *values: Any) -> None:
        """Implement `note`: print text and add it to the history that models see."""
        said = " ".join(map(to_text, values))
        self._print(said)
        state = self.execution.state
        state.history = state.history.add_text(said if said.strip() else "(an empty line)")

    def answers(self, script: list[Any]) -> None:
        """Implement `answers` of tests: script the replies of models."""
        if self.execution.host.play is None:
            raise VibeError("V0929", "`answers` works in tests only", "run it with `antiphon test`")
        self.execution.host.play(to_plain_value(script))

    def env(self, name: str, default: str | None = None) -> str:
        """Implement `env`."""
        value = self.execution.perform(ReadEnvironment(name), lambda: self.execution.host.variable(name))
        if value is None:
            value = default
        if value is None:
            raise VibeError(
                "V0926", f"the environment variable `{name}` is not set", f'`env("{name}", "")` has a default'
            )
        return value

    def now(self) -> str:
        """Implement `now`."""
        return self.execution.perform(ReadClock(), self.execution.host.clock)

    def sleep(self, seconds: float) -> None:
        """Implement `sleep`."""
        wait = max(0, unwrap_answer(seconds))
        self.execution.perform(Sleep(wait), lambda: self.execution.host.sleep(wait))


async def _call_data_function(call: CanonicalCall, host: CallHost) -> Any:
    from antiphon.conversation import Conversation
    from antiphon.tools import InvalidArguments, ToolFailure
    from antiphon.tools.execution import make_call_arguments
    from antiphon.tools.worker_threads import call_function

    assert call.tool.data is not None
    try:
        arguments = make_call_arguments(call, Conversation(), None, _make_idempotency_key(), host)
        return await call_function(call.tool.data, **arguments)
    except (ToolFailure, InvalidArguments) as error:
        raise VibeError("V0917", f"the tool `{call.tool.name}` failed: {error}") from None


def _make_idempotency_key() -> str:
    """Return a unique key of the current effect if it is journaled; else an empty string."""
    where = current_context()
    return f"{where.run}/{where.node.last}" if where.run else ""


def unwrap_settings(settings: dict[str, Any]) -> dict[str, Any]:
    """Return a model's settings as plain values; its tools stay as they are."""
    return {name: value if name == "tools" else to_plain_value(value) for name, value in settings.items()}
