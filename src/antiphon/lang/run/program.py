"""A program: loaded once, run as often as wanted, its exported functions callable from Python."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from os import PathLike
from pathlib import Path
from typing import Any, Literal

from antiphon.lang.check.types import AI, BOOLEAN, NUMBER, Alias, Array, Type, has_function
from antiphon.lang.check.types import Callable as Signature
from antiphon.lang.compile.code import Code, Given
from antiphon.lang.compile.naming import MAIN
from antiphon.lang.run.depth import deeply
from antiphon.lang.run.errors import Stopped, VibeError
from antiphon.lang.run.execution import Execution
from antiphon.lang.run.fitting import as_type, misfit
from antiphon.lang.run.host import Host, PromptShown
from antiphon.lang.run.inputs import checked
from antiphon.lang.run.modules import Compiled, Instances, Modules, Servers, source_of
from antiphon.lang.run.prelude import MISSING
from antiphon.lang.run.questions import is_waiting
from antiphon.lang.run.traces import translated
from antiphon.lang.run.values import from_python, plain, unwrap
from antiphon.lang.syntax.diagnostics import Diagnostic, ProgramErrors
from antiphon.lang.syntax.source import Source, first_comment


@dataclass(slots=True)
class Report:
    """How a run went; `error` says why it failed."""

    outcome: Literal["done", "failed", "interrupted"]
    value: Any = None
    prints: list[str] = field(default_factory=list[str])
    usage: dict[str, Any] = field(default_factory=dict[str, Any])
    error: VibeError | None = None
    #: The same value with its tool calls, where it is the answer of a model.
    result: Any = None
    #: What makes the variables, for whoever looks at them.
    found: Callable[[], dict[str, Any]] = field(default=dict, repr=False, compare=False)
    _variables: dict[str, Any] | None = field(default=None, repr=False, compare=False)

    @property
    def variables(self) -> dict[str, Any]:
        """Those of the top level that are not private."""
        if self._variables is None:
            self._variables = self.found()
        return self._variables


@dataclass(slots=True)
class Program:
    """A checked and compiled program, made by `load`."""

    modules: Modules
    main: Compiled
    _live: Instances | None = None
    #: The code for runs that give variables of the top level other values, by the names of those.
    _given: dict[frozenset[str], Code] = field(default_factory=dict[frozenset[str], Code], repr=False, compare=False)
    _starting: Any = field(default_factory=threading.RLock, repr=False, compare=False)

    @property
    def source(self) -> Source:
        """Its text."""
        return self.main.source

    @property
    def warnings(self) -> list[Diagnostic]:
        """What the checker warned of."""
        return [each for each in self.main.diagnostics if each.severity == "warning"]

    @property
    def code(self) -> Code:
        """What was compiled of it."""
        assert self.main.code is not None
        return self.main.code

    @property
    def inputs(self) -> dict[str, Given]:
        """What it declares to be given from outside, by name."""
        return {name: each for name, each in self.code.inputs.items() if each.is_input}

    @property
    def description(self) -> str:
        """What the comment at its top says."""
        return first_comment(self.source.text)

    def run(
        self, host: Host | None = None, *, arguments: Iterable[str] = (), servers: Servers | None = None, **inputs: Any
    ) -> Report:
        """Run it with these `inputs`, or, where it declares none, other first values of variables of the top level.

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
        servers: Servers | None = None,
        inputs: dict[str, Any] | None = None,
    ) -> Report:
        """Run it, and tell how it went; errors of the program, and Ctrl-C, are part of the answer."""
        return deeply(lambda: self._attempt(host or default_host(), arguments, servers, inputs))

    def _attempt(
        self, host: Host, arguments: Iterable[str], servers: Servers | None, inputs: dict[str, Any] | None
    ) -> Report:
        execution = Execution(host, inputs, arguments, Path(self.source.name).name)
        instances = Instances(self.modules, execution, servers)
        code = self.main.code
        assert code is not None
        outcome = Report("done", prints=execution.prints)
        try:
            with execution.active():
                execution.inputs = checked(code, inputs or {})
                outcome.result = instances.execute(self._code_for(execution.inputs), execution.inputs)
                execution.finish()
            outcome.value = plain(outcome.result)
        except KeyboardInterrupt:
            outcome.outcome = "interrupted"
        except (Exception, Stopped) as error:
            if _is_left(error):
                raise
            if is_waiting(error):
                execution.settle()
            outcome.outcome, outcome.error = "failed", translated(error)
        finally:
            execution.abandon()
            outcome.found = lambda: self._variables(instances)
            outcome.usage = execution.usage()
            execution.end(outcome.value, outcome.error, outcome.outcome)
        return outcome

    def _code_for(self, inputs: dict[str, Any]) -> Code:
        """What was compiled of it, for these inputs: variables that are given are not what their declarations say."""
        names = frozenset(name for name in inputs if not self.code.inputs[name].is_input)
        if names and names not in self._given:
            self._given[names] = self.modules.given(self.source, names)
        return self._given[names] if names else self.code

    def _variables(self, instances: Instances) -> dict[str, Any]:
        code = self.main.code
        space = _live(instances.globals.get(self.source.name, {}))
        if code is None:
            return {}
        shown = {n: each for n, each in code.names.items() if each.kind in ("let", "const") and not each.is_private}
        out: dict[str, Any] = {}
        for name, symbol in shown.items():
            if symbol.python in space:
                value = space[symbol.python]
                if has_function(symbol.type):
                    # Functions belong to the run, which is over.
                    continue
                if hasattr(value, "done") and hasattr(value, "result"):
                    value = value.value
                try:
                    out[name] = plain(unwrap(value))
                except VibeError as error:
                    out[name] = f"({error.message})"
        return out

    # From Python

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return self.exported(name)

    def exported(self, name: str) -> Any:
        """An exported function, ready to be called, or the value of an exported variable; the top level is run once."""
        symbol = self.main.exports.names.get(name)
        if symbol is None:
            given = ", ".join(self.main.exports.names) or "nothing"
            raise AttributeError(f"{Path(self.source.name).name} exports no `{name}`; it exports {given}")
        live = self.start()
        value = live.globals[self.source.name][symbol.python]
        if symbol.kind in ("function", "tool"):
            function = getattr(value, "function", value)
            return _callable(lambda *given: live.execution.apart(lambda: function(*given)), name, symbol.type)
        return plain(value)

    def start(self) -> Instances:
        """Run the top level, for those who want what it exports; once."""
        with self._starting:
            if self._live is None:
                live = Instances(self.modules, Execution(default_host(), title=Path(self.source.name).name))
                code = self.main.code
                assert code is not None
                try:
                    deeply(lambda: live.execute(code, checked(code, {})))
                except (Exception, Stopped) as error:
                    raise translated(error) from None
                self._live = live
            return self._live


def _is_left(error: BaseException) -> bool:
    """Whether whoever debugs the program has had enough; that is no error of it."""
    debugger = sys.modules.get("bdb")
    return debugger is not None and isinstance(error, debugger.BdbQuit)


def _live(space: dict[str, Any]) -> dict[str, Any]:
    """The globals of a module, with the variables of its top level that functions share and may still have changed."""
    main = space.get(MAIN)
    if main is None or main.__closure__ is None:
        return space
    cells = zip(main.__code__.co_freevars, main.__closure__, strict=True)
    return {**space, **{name: cell.cell_contents for name, cell in cells if name in space}}


def _callable(function: Callable[..., Any], name: str, signature: Any) -> Callable[..., Any]:
    """A function of the language for Python: arguments are checked, errors are the program's own."""
    known = signature if isinstance(signature, Signature) else None

    def called(*args: Any, **named: Any) -> Any:
        given = list(args)
        if known is not None:
            given += [named.pop(each, MISSING) for each in known.names[len(given) :]]
            most = len(known.parameters)
            if named or len(given) > most or MISSING in given[: known.required]:
                raise TypeError(_misgiven(name, known, given, named))
            given = [
                each if each is MISSING else _argument(each, type_, parameter)
                for each, type_, parameter in zip(given, known.parameters, known.names, strict=False)
            ]
        try:
            return unwrap(deeply(lambda: function(*given)))
        except (Exception, Stopped) as error:
            raise translated(error) from None

    called.__name__ = called.__qualname__ = name
    if known is not None:
        from inspect import Signature as PythonSignature

        from antiphon.lang.run.tooling import parameter

        parameters = [
            parameter(each, _annotation(type_)) for each, type_ in zip(known.names, known.parameters, strict=False)
        ]
        called.__signature__ = PythonSignature(parameters, return_annotation=_annotation(known.returns))  # type: ignore[attr-defined]
    return called


def _argument(value: Any, wanted: Type, name: str) -> Any:
    value = unwrap(from_python(value))
    if fault := misfit(value, wanted, name):
        raise VibeError("V0902", fault)
    return as_type(value, wanted)


def _misgiven(name: str, known: Signature, given: list[Any], named: Mapping[str, Any]) -> str:
    """What is wrong with the number or the names of arguments."""
    if named:
        return f"{name}() has no parameter {', '.join(map(repr, named))}; it has {', '.join(known.names) or 'none'}"
    if len(given) > len(known.parameters):
        return f"{name}() takes {len(known.parameters)} ({', '.join(known.names)}), got {len(given)}"
    missing = [each for each, value in zip(known.names, given[: known.required], strict=False) if value is MISSING]
    return f"{name}() is not given {', '.join(missing)}"


def _annotation(type_: Type) -> Any:
    """A type as people write it in Python."""
    from antiphon.lang.run.tooling import python_type

    inner = type_.inner if isinstance(type_, AI) else type_
    if isinstance(inner, Array) and not isinstance(inner.inner, Alias):
        return list[_annotation(inner.item)]  # type: ignore[misc]
    return float if inner == NUMBER else bool if inner == BOOLEAN else python_type(inner)


def default_host() -> Host:
    """What runs a program that nobody has special wishes for."""
    return Host()


def load(path: str | PathLike[str], *, untrusted: bool = False) -> Program:
    """Load a program; `ProgramErrors` says all that is wrong with it.

    One that is `untrusted` has no Python, and imports nothing from outside of its directory; run it with a `Host` that
    knows so too.
    """
    modules = Modules(untrusted)
    main = modules.load(Path(path))
    modules.raise_errors()
    return Program(modules, main)


def run(path: str | PathLike[str], **inputs: Any) -> Report:
    """Load a program and run it with these `inputs`."""
    return load(path).run(**inputs)


def loads(text: str | bytes, name: str = "<program>", *, untrusted: bool = False) -> Program:
    """Load a program from its text."""
    modules = Modules(untrusted)
    main = modules.add(source_of(text, name) if isinstance(text, bytes) else Source(name, text))
    modules.raise_errors()
    return Program(modules, main)


__all__ = ["Host", "Program", "ProgramErrors", "PromptShown", "Report", "load", "loads", "run"]
