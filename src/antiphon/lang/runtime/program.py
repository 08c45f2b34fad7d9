"""Programs: loaded once, run any number of times, with exported functions callable from Python."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from os import PathLike
from pathlib import Path
from typing import Any, Literal, cast

from antiphon.errors import OptionError
from antiphon.lang.codegen.code_object import ModuleCode, ProgramInput
from antiphon.lang.codegen.compiler import MAIN_FUNCTION
from antiphon.lang.runtime.builtins_table import MISSING_ARGUMENT
from antiphon.lang.runtime.errors import ProgramAborted, VibeError
from antiphon.lang.runtime.execution import ProgramExecution
from antiphon.lang.runtime.host import Host, PromptShown
from antiphon.lang.runtime.human_questions import is_suspended_error
from antiphon.lang.runtime.inputs import check_inputs
from antiphon.lang.runtime.modules import CheckedModule, ModuleInstances, ModuleLoader, ServerOpener, decode_source
from antiphon.lang.runtime.recursion import run_with_deep_stack
from antiphon.lang.runtime.tools_and_types import make_parameter, to_python_type
from antiphon.lang.runtime.tracebacks import translate_error
from antiphon.lang.runtime.type_conversion import convert_to_type, describe_mismatch
from antiphon.lang.runtime.values import from_python, to_plain_value, unwrap_answer
from antiphon.lang.syntax.diagnostics import Diagnostic, ProgramErrors
from antiphon.lang.syntax.source import Source, extract_first_comment
from antiphon.lang.typecheck import types as t


@dataclass(slots=True)
class Report:
    """The outcome of a run; `error` says why it failed."""

    outcome: Literal["done", "failed", "interrupted"]
    value: Any = None
    prints: list[str] = field(default_factory=list[str])
    usage: dict[str, Any] = field(default_factory=dict[str, Any])
    error: VibeError | None = None
    #: The value as an AI result with its tool calls, if it is the answer of a model.
    result: Any = None
    #: Computes `variables` at the first access.
    found: Callable[[], dict[str, Any]] = field(default=dict, repr=False, compare=False)
    _variables: dict[str, Any] | None = field(default=None, repr=False, compare=False)

    @property
    def variables(self) -> dict[str, Any]:
        """Return the top-level variables that are not private."""
        if self._variables is None:
            self._variables = self.found()
        return self._variables


@dataclass(slots=True)
class Program:
    """A checked and compiled program, made by `load`."""

    modules: ModuleLoader
    main: CheckedModule
    _live: ModuleInstances | None = None
    #: The code for runs that override top-level variables, by the names of those.
    _given: dict[frozenset[str], ModuleCode] = field(
        default_factory=dict[frozenset[str], ModuleCode], repr=False, compare=False
    )
    _start_lock: Any = field(default_factory=threading.RLock, repr=False, compare=False)

    @property
    def source(self) -> Source:
        """Return its source text."""
        return self.main.source

    @property
    def warnings(self) -> list[Diagnostic]:
        """Return the checker's warnings."""
        return [each for each in self.main.diagnostics if each.severity == "warning"]

    @property
    def code(self) -> ModuleCode:
        """Return its compiled code."""
        assert self.main.code is not None
        return self.main.code

    @property
    def inputs(self) -> dict[str, ProgramInput]:
        """Return its declared inputs by name."""
        return {name: each for name, each in self.code.inputs.items() if each.is_input}

    @property
    def description(self) -> str:
        """Return the text of the comment at its top."""
        return extract_first_comment(self.source.text)

    def run(
        self,
        host: Host | None = None,
        *,
        arguments: Iterable[str] = (),
        servers: ServerOpener | None = None,
        **inputs: Any,
    ) -> Report:
        """Run the program with these `inputs`, which override top-level variables if it declares none.

        An error of the program is raised as a `VibeError`; Ctrl-C passes through.
        """
        outcome = self.attempt(host, arguments=arguments, servers=servers, inputs=inputs)
        if outcome.outcome == "interrupted":
            raise KeyboardInterrupt
        if outcome.error is not None:
            raise outcome.error
        return outcome

    def attempt(
        self,
        host: Host | None = None,
        *,
        arguments: Iterable[str] = (),
        servers: ServerOpener | None = None,
        inputs: dict[str, Any] | None = None,
    ) -> Report:
        """Run the program and return a report; errors and Ctrl-C are part of it and not raised."""
        return run_with_deep_stack(lambda: self._attempt(host or default_host(), arguments, servers, inputs))

    def _attempt(
        self, host: Host, arguments: Iterable[str], servers: ServerOpener | None, inputs: dict[str, Any] | None
    ) -> Report:
        execution = ProgramExecution(host, inputs, arguments, Path(self.source.name).name)
        instances = ModuleInstances(self.modules, execution, servers)
        code = self.main.code
        assert code is not None
        outcome = Report("done", prints=execution.prints)
        try:
            with execution.active():
                execution.inputs = check_inputs(code, inputs or {})
                outcome.result = instances.execute(self._get_code_for(execution.inputs), execution.inputs)
                execution.finish()
            outcome.value = to_plain_value(outcome.result)
        except KeyboardInterrupt:
            outcome.outcome = "interrupted"
        except (Exception, ProgramAborted) as error:
            if _is_debugger_quit(error):
                raise
            if is_suspended_error(error):
                execution.settle()
            outcome.outcome, outcome.error = "failed", translate_error(error)
        finally:
            execution.abandon()
            outcome.found = lambda: self._variables(instances)
            outcome.usage = execution.usage()
            execution.end(outcome.value, outcome.error, outcome.outcome)
        return outcome

    def _get_code_for(self, inputs: dict[str, Any]) -> ModuleCode:
        """Return the code for these inputs; overridden variables need code of their own."""
        names = frozenset(name for name in inputs if not self.code.inputs[name].is_input)
        if names and names not in self._given:
            self._given[names] = self.modules.compile_with_inputs(self.source, names)
        return self._given[names] if names else self.code

    def _variables(self, instances: ModuleInstances) -> dict[str, Any]:
        code = self.main.code
        space = _read_live_globals(instances.globals.get(self.source.name, {}))
        if code is None:
            return {}
        shown = {n: each for n, each in code.names.items() if each.kind in ("let", "const") and not each.is_private}
        out: dict[str, Any] = {}
        for name, symbol in shown.items():
            if symbol.python in space:
                value = space[symbol.python]
                if t.has_function(symbol.type):
                    # Functions belong to the run, which has ended.
                    continue
                if hasattr(value, "done") and hasattr(value, "result"):
                    value = value.value
                try:
                    out[name] = to_plain_value(unwrap_answer(value))
                except VibeError as error:
                    out[name] = f"({error.message})"
        return out

    # From Python

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return self.exported(name)

    def exported(self, name: str) -> Any:
        """Return an exported function as a Python callable, or an exported variable; the top level runs once."""
        symbol = self.main.exports.names.get(name)
        if symbol is None:
            given = ", ".join(self.main.exports.names) or "nothing"
            raise AttributeError(f"{Path(self.source.name).name} exports no `{name}`; it exports {given}")
        live = self.start()
        value = live.globals[self.source.name][symbol.python]
        if symbol.kind in ("function", "tool"):
            function = getattr(value, "function", value)
            return _make_python_callable(
                lambda *given: live.execution.run_separately(lambda: function(*given)), name, symbol.type
            )
        return to_plain_value(value)

    def start(self) -> ModuleInstances:
        """Run the top level once, for callers of its exports."""
        with self._start_lock:
            if self._live is None:
                live = ModuleInstances(
                    self.modules, ProgramExecution(default_host(), title=Path(self.source.name).name)
                )
                code = self.main.code
                assert code is not None
                try:
                    run_with_deep_stack(lambda: live.execute(code, check_inputs(code, {})))
                except (Exception, ProgramAborted) as error:
                    raise translate_error(error) from None
                self._live = live
            return self._live


def _is_debugger_quit(error: BaseException) -> bool:
    """Return True if the user quit the debugger, which is no error of the program."""
    debugger = sys.modules.get("bdb")
    return debugger is not None and isinstance(error, debugger.BdbQuit)


def _read_live_globals(space: dict[str, Any]) -> dict[str, Any]:
    """Return the globals of a module with the current values of variables that its functions share."""
    main = space.get(MAIN_FUNCTION)
    if main is None or main.__closure__ is None:
        return space
    cells = zip(main.__code__.co_freevars, main.__closure__, strict=True)
    return {**space, **{name: cell.cell_contents for name, cell in cells if name in space}}


def _make_python_callable(function: Callable[..., Any], name: str, signature: Any) -> Callable[..., Any]:
    """Wrap a function of the language for Python: arguments are checked, and errors are the program's own."""
    known = signature if isinstance(signature, t.CallableType) else None

    def called(*args: Any, **named: Any) -> Any:
        given = list(args)
        if known is not None:
            given += [named.pop(each, MISSING_ARGUMENT) for each in known.names[len(given) :]]
            most = len(known.parameters)
            if named or len(given) > most or MISSING_ARGUMENT in given[: known.required]:
                raise TypeError(_describe_bad_arguments(name, known, given, named))
            given = [
                each if each is MISSING_ARGUMENT else _convert_python_argument(each, type_, parameter)
                for each, type_, parameter in zip(given, known.parameters, known.names, strict=False)
            ]
        try:
            return unwrap_answer(run_with_deep_stack(lambda: function(*given)))
        except (Exception, ProgramAborted) as error:
            raise translate_error(error) from None

    called.__name__ = called.__qualname__ = name
    if known is not None:
        from inspect import Signature as PythonSignature

        parameters = [
            make_parameter(each, _make_annotation(type_))
            for each, type_ in zip(known.names, known.parameters, strict=False)
        ]
        called.__signature__ = PythonSignature(parameters, return_annotation=_make_annotation(known.returns))  # type: ignore[attr-defined]
    return called


def _convert_python_argument(value: Any, wanted: t.Type, name: str) -> Any:
    value = unwrap_answer(from_python(value))
    if fault := describe_mismatch(value, wanted, name):
        raise VibeError("V0902", fault)
    return convert_to_type(value, wanted)


def _describe_bad_arguments(name: str, known: t.CallableType, given: list[Any], named: Mapping[str, Any]) -> str:
    """Return what is wrong with the number or the names of arguments."""
    if named:
        return f"{name}() has no parameter {', '.join(map(repr, named))}; it has {', '.join(known.names) or 'none'}"
    if len(given) > len(known.parameters):
        return f"{name}() takes {len(known.parameters)} ({', '.join(known.names)}), got {len(given)}"
    missing = [
        each for each, value in zip(known.names, given[: known.required], strict=False) if value is MISSING_ARGUMENT
    ]
    return f"{name}() is not given {', '.join(missing)}"


def _make_annotation(type_: t.Type) -> Any:
    """Convert a type to the annotation that people write in Python."""
    inner = type_.inner if isinstance(type_, t.AIResultType) else type_
    if isinstance(inner, t.Array) and not isinstance(inner.inner, t.TypeReference):
        return list[_make_annotation(inner.item)]  # type: ignore[misc]
    return float if inner == t.NUMBER else bool if inner == t.BOOLEAN else to_python_type(inner)


def default_host() -> Host:
    """Return the host of programs that are run without one."""
    return Host()


def load(path: str | PathLike[str], *, untrusted: bool = False) -> Program:
    """Load a program; raise `ProgramErrors` with all its errors.

    An `untrusted` program has no Python, and imports nothing from outside of its directory; run it with a
    `Host` that is `untrusted` too.
    """
    modules = ModuleLoader(untrusted)
    main = modules.load(Path(path))
    modules.raise_errors()
    return Program(modules, main)


def run(path: str | PathLike[str], **inputs: Any) -> Report:
    """Load a program and run it with these `inputs`."""
    return load(path).run(**inputs)


def loads(text: str | bytes, name: str = "<program>", *, untrusted: bool = False) -> Program:
    """Load a program from its text."""
    if not isinstance(cast(object, text), str | bytes):
        raise OptionError(f"a program is a text, not {type(text).__name__}; `load(PATH)` reads one from a file")
    modules = ModuleLoader(untrusted)
    main = modules.add(decode_source(text, name) if isinstance(text, bytes) else Source(name, text))
    modules.raise_errors()
    return Program(modules, main)


__all__ = ["Host", "Program", "ProgramErrors", "PromptShown", "Report", "load", "loads", "run"]
