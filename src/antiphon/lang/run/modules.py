"""Modules: found, read, checked and compiled once; run once in each run."""

from __future__ import annotations

from collections.abc import Callable, Set
from dataclasses import dataclass, field
from pathlib import Path
from threading import Lock
from typing import Any

from antiphon._files import open_named_file
from antiphon._suggestions import nearest
from antiphon.lang.analysis import analyse
from antiphon.lang.check.symbols import Exports
from antiphon.lang.compile import compile_program
from antiphon.lang.compile.code import Code
from antiphon.lang.compile.naming import MAIN
from antiphon.lang.pyfiles import Files, python_files
from antiphon.lang.run import system
from antiphon.lang.run.bindings import Module
from antiphon.lang.run.errors import ImportFailed, VibeError
from antiphon.lang.run.execution import Execution
from antiphon.lang.run.foreign import PythonModules, python_exports, system_exports, system_tool, untrusted_tool
from antiphon.lang.run.prelude import module_globals
from antiphon.lang.run.values import own
from antiphon.lang.syntax import nodes as n
from antiphon.lang.syntax.collector import without_collector
from antiphon.lang.syntax.diagnostics import Diagnostic, ProgramErrors
from antiphon.lang.syntax.habits import MODULES
from antiphon.lang.syntax.source import Source

#: Opens the MCP server of a name, and gives its tools by their names.
Servers = Callable[[str], dict[str, Any]]
#: Nobody writes more; what is larger is no program, or has no end.
MOST_BYTES = 10_000_000


#: Code is made once, whichever thread is the first to want it.
_MAKING = Lock()


@dataclass(slots=True, eq=False, repr=False)
class Compiled:
    """A module that was checked; its code is made when it is wanted, which checking does not."""

    source: Source
    exports: Exports
    diagnostics: list[Diagnostic]
    #: The Python files of all modules, as they were read.
    python: dict[Path, Files]
    #: What must be given to it, if it is a program and no module.
    inputs: list[str]
    #: Its tree, if it is sound, up to when there is code.
    _tree: n.Program | None
    _for_tests: bool
    _code: Code | None = None

    @property
    def code(self) -> Code | None:
        """Its code, if it is sound."""
        with _MAKING:
            if self._tree is not None:
                with without_collector():
                    self._code = compile_program(self._tree, self.source, for_tests=self._for_tests)
                self._tree = None
        return self._code

    @property
    def is_sound(self) -> bool:
        """Whether there is code."""
        return self._tree is not None or self._code is not None


@dataclass(slots=True, eq=False, repr=False)
class Modules:
    """The modules of a program. Nothing is run here."""

    #: Somebody else's program: it has no Python, and nothing from outside of the directory of its first module.
    untrusted: bool = False
    compiled: dict[str, Compiled] = field(default_factory=dict[str, Compiled])
    #: The Python files that are imported, each with those it imports itself.
    python: dict[Path, Files] = field(default_factory=dict[Path, Files])
    _loading: list[str] = field(default_factory=list[str])
    _inside: Path | None = None

    def load(self, path: str | Path) -> Compiled:
        """The module in a file."""
        real = str(Path(path).resolve())
        if self.untrusted:
            self._check_inside(Path(path), real)
        known = self.compiled.get(real)
        return known if known is not None else self.add(read_source(path, real))

    def _check_inside(self, path: Path, real: str) -> None:
        self._inside = self._inside or path.parent.resolve()
        if not Path(real).is_relative_to(self._inside):
            hint = "--untrusted allows the directory of the program alone"
            raise VibeError("V0601", f"{path} leads out of {self._inside}", hint)

    def add(self, source: Source, *, for_tests: bool = False) -> Compiled:
        """A module from its text; `for_tests` leaves out what its top level does."""
        # A text that came from nowhere is where we are.
        self._inside = self._inside or Path(source.name).parent.resolve()
        self._loading.append(source.name)
        try:
            with without_collector():
                return self._add(source, for_tests)
        finally:
            self._loading.pop()

    def _add(self, source: Source, for_tests: bool) -> Compiled:
        text = analyse(source, imports=lambda path: self.exports(path, source), untrusted=self.untrusted)
        inputs = [each.name for each in text.program.statements if isinstance(each, n.Input)]
        tree = text.program if text.is_sound else None
        compiled = Compiled(source, text.exports, text.diagnostics, self.python, inputs, tree, for_tests)
        self.compiled[source.name] = compiled
        return compiled

    def given(self, source: Source, names: Set[str]) -> Code:
        """The code of a program that starts with other values of these variables than their declarations say."""
        with without_collector():
            text = analyse(source, imports=lambda path: self.exports(path, source), untrusted=self.untrusted)
            return compile_program(text.program, source, given=names)

    def exports(self, path: str, importer: Source) -> Exports:
        """What a module gives to the one that imports it."""
        if not _can_name_a_file(path):
            return Exports(problem="there is no module with such a name")
        if path == "system/tools":
            return system_exports()
        if path.startswith(system.PREFIX):
            return _system_exports(path)
        if path.startswith("py:"):
            return Exports(complete=False)
        if path.startswith("mcp:"):
            return Exports(complete=False)
        file = located(path, importer)
        if path.endswith(".py"):
            first = file.resolve()
            if first not in self.python:
                self.python[first] = python_files(first)
            return python_exports(first, path, self.python[first])
        if not path.endswith(".vibe"):
            return Exports(problem=f"there is no module `{path}`", hint=_what_to_import(path))
        return self._vibe_exports(path, file)

    def _vibe_exports(self, path: str, file: Path) -> Exports:
        real = str(file.resolve())
        if real in self._loading:
            circle = [*self._loading[self._loading.index(real) :], real]
            return Exports(
                problem=f"modules import one another: {' → '.join(Path(each).name for each in circle)}", code="V0604"
            )
        try:
            module = self.load(file)
        except VibeError as error:
            return Exports(problem=error.message, hint=_beside(path, file) or error.hint)
        if not module.is_sound:
            count = sum(each.severity == "error" for each in module.diagnostics)
            return Exports(problem=f"`{path}` has {count} error{'s' * (count != 1)}", code="V0605")
        if module.inputs:
            names = ", ".join(f"`{name}`" for name in module.inputs)
            hint = "move what others use into a file of its own, and import that from both"
            return Exports(
                problem=f"`{path}` is a program with inputs ({names}), and no module", code="V0610", hint=hint
            )
        return module.exports

    def problems(self) -> list[tuple[Source, Diagnostic]]:
        """Everything found in all modules, the imported ones first."""
        return [(module.source, each) for module in self.compiled.values() for each in module.diagnostics]

    def raise_errors(self) -> None:
        """Raise what is wrong, if anything is; else there is code of all modules."""
        wrong = [(source, each) for source, each in self.problems() if each.severity == "error"]
        if wrong or not all(each.code for each in self.compiled.values()):
            raise ProgramErrors(wrong)


@dataclass(slots=True, eq=False, repr=False)
class Instances:
    """The modules of one run, each with its globals."""

    modules: Modules
    execution: Execution
    servers: Servers | None = None
    globals: dict[str, dict[str, Any]] = field(default_factory=dict[str, dict[str, Any]])
    values: dict[str, Any] = field(default_factory=dict[str, Any])
    python: PythonModules = field(default_factory=PythonModules)

    def start(self, code: Code, inputs: dict[str, Any] | None = None) -> dict[str, Any]:
        """The globals of a module, with its functions defined and nothing of its top level run."""
        name = code.source.name
        module = Module(self.execution, code, lambda path, given: self.imported(path, given, code), inputs or {})
        space = self.globals[name] = module_globals(code, module)
        assert code.main is not None
        exec(code.main, space)
        return space

    def execute(self, code: Code, inputs: dict[str, Any] | None = None) -> Any:
        """Run a module's top level; gives its value. `inputs` replace initial values."""
        return self.start(code, inputs)[MAIN]()

    def imported(self, path: str, name: str, importer: Code) -> Any:
        """What an imported name stands for; its module is run if it has not been."""
        if path == "system/tools":
            host = self.execution.host
            return untrusted_tool(name, host.directory) if host.untrusted else system_tool(name)
        if (module := system.module_of(path)) is not None:
            return system.bound(self.execution, module, name)
        if path.startswith("mcp:"):
            return self._server_tool(path.removeprefix("mcp:"), name)
        if path.startswith("py:") or path.endswith(".py"):
            file = located(path, importer.source) if path.endswith(".py") else None
            return self.python.get(path, file and file.resolve(), name, self.modules.python)
        real = str(located(path, importer.source).resolve())
        space = self.globals.get(real)
        if space is None:
            compiled = self.modules.load(real)
            assert compiled.code is not None
            self.execute(compiled.code)
            space = self.globals[real]
        code: Code = space["_vcode"]
        symbol = code.names[name]
        value = space[symbol.python]
        return own(value) if symbol.kind == "const" else value

    def _server_tool(self, server: str, name: str) -> Any:
        if self.servers is None:
            raise ImportFailed("V0606", f"there is no MCP server `{server}` here")
        if server not in self.values:
            self.values[server] = self.servers(server)
        tools: dict[str, Any] = self.values[server]
        if name not in tools:
            given = ", ".join(list(tools)[:12]) or "none"
            raise ImportFailed("V0606", f"the server `{server}` has no tool `{name}`", f"it has: {given}")
        return tools[name]


#: What a path and one step of it may take, in bytes, on every system there is.
_LONGEST, _LONGEST_STEP = 1000, 255


def _can_name_a_file(path: str) -> bool:
    try:
        encoded = path.encode()
    except UnicodeEncodeError:
        return False
    steps = encoded.split(b"/")
    return b"\0" not in encoded and len(encoded) <= _LONGEST and all(len(each) <= _LONGEST_STEP for each in steps)


def _what_to_import(path: str) -> str:
    """What to write for a path that names nothing here."""
    if path == "system":
        return '`print`, `env`, `now` and `sleep` are always there; `uuid` and `random` are in "system/random"'
    if ours := MODULES.get(path):
        return f'write `from "{ours}"`'
    stem, dot, ending = path.rpartition(".")
    if dot and ending in ("js", "ts", "mjs", "jsx", "tsx"):
        return f'write it in Python or Vibe: `from "{stem}.py"`, `from "{stem}.vibe"`'
    if path.startswith((".", "/")):
        return f'write its ending too: `from "{path}.vibe"`, or `.py`'
    if ":" in path:
        return 'a module is a file, `"./file.vibe"`, or of Python, `"py:name"`, or of the system, `"system/files"`'
    return f'write `from "py:{path}"` for a module of Python, `from "./{path}.vibe"` for one of your own'


def _beside(path: str, file: Path) -> str:
    """Which file was likely meant by one that is not there."""
    if file.exists() or not file.parent.is_dir():
        return ""
    near = nearest(file.name, sorted(each.name for each in file.parent.glob("*.vibe")))
    return f"did you mean `{path.removesuffix(file.name)}{near}`?" if near else "paths begin at the file that imports"


def _system_exports(path: str) -> Exports:
    if (module := system.module_of(path)) is not None:
        return system.exports(module)
    known = [f"{system.PREFIX}{each}" for each in ("tools", *system.MODULES)]
    near = nearest(path, known)
    hint = f"did you mean `{near}`?" if near else f"there are {', '.join(known)}"
    hint = _what_to_import(path) if path in MODULES else hint
    return Exports(problem=f"there is no module `{path}`", hint=hint)


def located(path: str, importer: Source) -> Path:
    """Where an imported file is: relative to the file that imports it."""
    return Path(importer.name).parent / path


def read_source(path: str | Path, name: str | None = None) -> Source:
    """The text of a file; a `VibeError` says why it cannot be read."""
    file = Path(path)
    try:
        with open_named_file(file) as opened:
            # A device may have no end.
            data = opened.read(MOST_BYTES + 1)
    except (OSError, ValueError) as error:
        message = f"cannot read {file}: {getattr(error, 'strerror', None) or error}"
        raise VibeError("V0601", message, _file_meant(file)) from None
    return source_of(data, name or str(file.resolve()))


def _file_meant(file: Path) -> str:
    """Which file was likely meant by one that cannot be read; empty where nobody can say."""
    try:
        known = [] if file.exists() else sorted(each.name for each in file.parent.glob("*.vibe"))
    except (OSError, ValueError):
        return ""
    near = f"{file.name}.vibe" if f"{file.name}.vibe" in known else nearest(file.name, known)
    return f"did you mean `{file.parent / near}`?" if near else ""


def source_of(data: bytes, name: str) -> Source:
    """The text of some bytes; a `VibeError` says where they are no UTF-8."""
    if len(data) > MOST_BYTES:
        raise VibeError("V0601", f"{name} is too large: a program has at most {MOST_BYTES // 1_000_000} MB")
    try:
        return Source(name, data.decode())
    except UnicodeDecodeError as error:
        line = data[: error.start].count(b"\n") + 1
        raise VibeError("V0607", f"{name} is no UTF-8: byte {error.start} in line {line}", "save it as UTF-8") from None
