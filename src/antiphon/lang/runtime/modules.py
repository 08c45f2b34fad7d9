"""Modules: located, parsed, checked and compiled once; executed once in each run."""

from __future__ import annotations

from collections.abc import Callable, Set
from dataclasses import dataclass, field
from pathlib import Path
from threading import Lock
from typing import Any

from antiphon._base.did_you_mean import suggest_name
from antiphon._base.files import open_named_file
from antiphon._base.gc_pause import gc_paused
from antiphon.lang.analysis import analyse
from antiphon.lang.codegen import compile_program
from antiphon.lang.codegen.code_object import ModuleCode
from antiphon.lang.codegen.compiler import MAIN_FUNCTION
from antiphon.lang.python_files import PythonSources, collect_python_files
from antiphon.lang.runtime import system
from antiphon.lang.runtime.builtins_table import make_module_globals
from antiphon.lang.runtime.errors import ImportFailed, VibeError
from antiphon.lang.runtime.execution import ProgramExecution
from antiphon.lang.runtime.module_api import ModuleRuntime
from antiphon.lang.runtime.python_interop import (
    PythonModuleCache,
    get_system_tool,
    get_untrusted_tool,
    make_system_tool_exports,
    read_python_exports,
)
from antiphon.lang.runtime.values import copy_value
from antiphon.lang.syntax import nodes as n
from antiphon.lang.syntax.diagnostics import Diagnostic, ProgramErrors
from antiphon.lang.syntax.foreign_syntax.table import EQUIVALENT_MODULES
from antiphon.lang.syntax.source import Source
from antiphon.lang.typecheck.symbols import ModuleExports

#: Opens the MCP server with a name, and returns its tools by name.
ServerOpener = Callable[[str], dict[str, Any]]
#: A larger file is no program, or a device without end.
MAX_PROGRAM_BYTES = 10_000_000


#: Each module is compiled once, by the first thread that needs its code.
_COMPILE_LOCK = Lock()


@dataclass(slots=True, eq=False, repr=False)
class CheckedModule:
    """A checked module; it is compiled when its code is first needed."""

    source: Source
    exports: ModuleExports
    diagnostics: list[Diagnostic]
    #: The Python files of all modules, with the text that was read.
    python: dict[Path, PythonSources]
    #: The names of its inputs; a module with inputs is a program and cannot be imported.
    inputs: list[str]
    #: Its tree, if it has no errors, until it is compiled.
    _tree: n.Program | None
    _for_tests: bool
    _code: ModuleCode | None = None

    @property
    def code(self) -> ModuleCode | None:
        """Return its code, or None if it has errors."""
        with _COMPILE_LOCK:
            if self._tree is not None:
                with gc_paused():
                    self._code = compile_program(self._tree, self.source, for_tests=self._for_tests)
                self._tree = None
        return self._code

    @property
    def is_compilable(self) -> bool:
        """Return True if it has no errors."""
        return self._tree is not None or self._code is not None


@dataclass(slots=True, eq=False, repr=False)
class ModuleLoader:
    """The loader of a program's modules. It runs nothing."""

    #: An untrusted program has no Python, and imports nothing from outside of its first module's directory.
    untrusted: bool = False
    compiled: dict[str, CheckedModule] = field(default_factory=dict[str, CheckedModule])
    #: The imported Python files, each with the files it imports itself.
    python: dict[Path, PythonSources] = field(default_factory=dict[Path, PythonSources])
    _loading: list[str] = field(default_factory=list[str])
    _inside: Path | None = None

    def load(self, path: str | Path) -> CheckedModule:
        """Return the module in a file."""
        real = str(Path(path).resolve())
        if self.untrusted:
            self._check_allowed(Path(path), real)
        known = self.compiled.get(real)
        return known if known is not None else self.add(read_program_source(path, real))

    def _check_allowed(self, path: Path, real: str) -> None:
        self._inside = self._inside or path.parent.resolve()
        if not Path(real).is_relative_to(self._inside):
            hint = "--untrusted allows the directory of the program alone"
            raise VibeError("V0601", f"{path} leads out of {self._inside}", hint)

    def add(self, source: Source, *, for_tests: bool = False) -> CheckedModule:
        """Add a module from its source; `for_tests` leaves out what its top level does."""
        # A text without a file belongs to the current directory.
        self._inside = self._inside or Path(source.name).parent.resolve()
        self._loading.append(source.name)
        try:
            with gc_paused():
                return self._add(source, for_tests)
        finally:
            self._loading.pop()

    def _add(self, source: Source, for_tests: bool) -> CheckedModule:
        text = analyse(source, imports=lambda path: self.exports(path, source), untrusted=self.untrusted)
        inputs = [each.name for each in text.program.statements if isinstance(each, n.Input)]
        tree = text.program if text.is_compilable else None
        compiled = CheckedModule(source, text.exports, text.diagnostics, self.python, inputs, tree, for_tests)
        self.compiled[source.name] = compiled
        return compiled

    def compile_with_inputs(self, source: Source, names: Set[str]) -> ModuleCode:
        """Compile a program whose top-level variables of these names get their values from outside."""
        with gc_paused():
            text = analyse(source, imports=lambda path: self.exports(path, source), untrusted=self.untrusted)
            return compile_program(text.program, source, given=names)

    def exports(self, path: str, importer: Source) -> ModuleExports:
        """Return the exports of an imported module."""
        if not _is_valid_path(path):
            return ModuleExports(problem="there is no module with such a name")
        if path == "system/tools":
            return make_system_tool_exports()
        if path.startswith(system.SYSTEM_PREFIX):
            if (module := system.parse_system_path(path)) is not None:
                return system.make_system_exports(module)
            known = [f"{system.SYSTEM_PREFIX}{each}" for each in ("tools", *system.SYSTEM_MODULES)]
            near = suggest_name(path, known)
            hint = f"did you mean `{near}`?" if near else f"there are {', '.join(known)}"
            hint = _hint_module(path) if path in EQUIVALENT_MODULES else hint
            return ModuleExports(problem=f"there is no module `{path}`", hint=hint)
        if path.startswith("py:"):
            return ModuleExports(complete=False)
        if path.startswith("mcp:"):
            return ModuleExports(complete=False)
        file = resolve_import_path(path, importer)
        if path.endswith((".py", ".vibe")) and _is_link_to_other_kind(file):
            return ModuleExports(problem=f"`{path}` is a link to a file that is no module")
        if path.endswith(".py"):
            first = file.resolve()
            if first not in self.python:
                self.python[first] = collect_python_files(first)
            return read_python_exports(first, path, self.python[first])
        if not path.endswith(".vibe"):
            return ModuleExports(problem=f"there is no module `{path}`", hint=_hint_module(path))
        return self._resolve_vibe_exports(path, file)

    def _resolve_vibe_exports(self, path: str, file: Path) -> ModuleExports:
        real = str(file.resolve())
        if real in self._loading:
            circle = [*self._loading[self._loading.index(real) :], real]
            return ModuleExports(
                problem=f"modules import one another: {' → '.join(Path(each).name for each in circle)}", code="V0604"
            )
        try:
            module = self.load(file)
        except VibeError as error:
            return ModuleExports(problem=error.message, hint=_hint_nearby_file(path, file) or error.hint)
        if not module.is_compilable:
            count = sum(each.severity == "error" for each in module.diagnostics)
            return ModuleExports(problem=f"`{path}` has {count} error{'s' * (count != 1)}", code="V0605")
        if module.inputs:
            names = ", ".join(f"`{name}`" for name in module.inputs)
            hint = "move what others use into a file of its own, and import that from both"
            return ModuleExports(
                problem=f"`{path}` is a program with inputs ({names}), and no module", code="V0610", hint=hint
            )
        return module.exports

    def list_problems(self) -> list[tuple[Source, Diagnostic]]:
        """Return the diagnostics of all modules, those of imported ones first."""
        return [(module.source, each) for module in self.compiled.values() for each in module.diagnostics]

    def raise_errors(self) -> None:
        """Raise `ProgramErrors` if a module has errors; else compile all modules."""
        wrong = [(source, each) for source, each in self.list_problems() if each.severity == "error"]
        if wrong or not all(each.code for each in self.compiled.values()):
            raise ProgramErrors(wrong)


@dataclass(slots=True, eq=False, repr=False)
class ModuleInstances:
    """The module instances of one run, each with its globals."""

    modules: ModuleLoader
    execution: ProgramExecution
    servers: ServerOpener | None = None
    globals: dict[str, dict[str, Any]] = field(default_factory=dict[str, dict[str, Any]])
    values: dict[str, Any] = field(default_factory=dict[str, Any])
    python: PythonModuleCache = field(default_factory=PythonModuleCache)

    def start(self, code: ModuleCode, inputs: dict[str, Any] | None = None) -> dict[str, Any]:
        """Return the globals of a module with its functions defined, without running its top level."""
        name = code.source.name
        module = ModuleRuntime(
            self.execution, code, lambda path, given: self.import_name(path, given, code), inputs or {}
        )
        space = self.globals[name] = make_module_globals(code, module)
        assert code.main is not None
        exec(code.main, space)
        return space

    def execute(self, code: ModuleCode, inputs: dict[str, Any] | None = None) -> Any:
        """Run a module's top level and return its value; `inputs` replace initial values."""
        return self.start(code, inputs)[MAIN_FUNCTION]()

    def import_name(self, path: str, name: str, importer: ModuleCode) -> Any:
        """Return the value of an imported name; its module runs first if it has not yet."""
        if path == "system/tools":
            host = self.execution.host
            return get_untrusted_tool(name, host.directory) if host.untrusted else get_system_tool(name)
        if (module := system.parse_system_path(path)) is not None:
            return system.bind_system_function(self.execution, module, name)
        if path.startswith("mcp:"):
            server = path.removeprefix("mcp:")
            if self.servers is None:
                raise ImportFailed("V0606", f"there is no MCP server `{server}` here")
            if server not in self.values:
                self.values[server] = self.servers(server)
            tools: dict[str, Any] = self.values[server]
            if name not in tools:
                given = ", ".join(list(tools)[:12]) or "none"
                raise ImportFailed("V0606", f"the server `{server}` has no tool `{name}`", f"it has: {given}")
            return tools[name]
        if path.startswith("py:") or path.endswith(".py"):
            file = resolve_import_path(path, importer.source) if path.endswith(".py") else None
            return self.python.get(path, file and file.resolve(), name, self.modules.python)
        real = str(resolve_import_path(path, importer.source).resolve())
        space = self.globals.get(real)
        if space is None:
            compiled = self.modules.load(real)
            assert compiled.code is not None
            self.execute(compiled.code)
            space = self.globals[real]
        code: ModuleCode = space["_vcode"]
        symbol = code.names[name]
        value = space[symbol.python]
        return copy_value(value) if symbol.kind == "const" else value


#: The longest path, and part of a path, in bytes, that every system accepts.
_MAX_PATH_BYTES, _MAX_PATH_PART_BYTES = 1000, 255


def _is_valid_path(path: str) -> bool:
    try:
        encoded = path.encode()
    except UnicodeEncodeError:
        return False
    steps = encoded.split(b"/")
    return (
        b"\0" not in encoded
        and len(encoded) <= _MAX_PATH_BYTES
        and all(len(each) <= _MAX_PATH_PART_BYTES for each in steps)
    )


def _hint_module(path: str) -> str:
    """Return a hint what to write for a path that names no module."""
    if path == "system":
        return '`print`, `env`, `now` and `sleep` are always there; `uuid` and `random` are in "system/random"'
    if ours := EQUIVALENT_MODULES.get(path):
        return f'write `from "{ours}"`'
    stem, dot, ending = path.rpartition(".")
    if dot and ending in ("js", "ts", "mjs", "jsx", "tsx"):
        return f'write it in Python or Vibe: `from "{stem}.py"`, `from "{stem}.vibe"`'
    if path.startswith((".", "/")):
        return f'write its ending too: `from "{path}.vibe"`, or `.py`'
    if ":" in path:
        return 'a module is a file, `"./file.vibe"`, or of Python, `"py:name"`, or of the system, `"system/files"`'
    return f'write `from "py:{path}"` for a module of Python, `from "./{path}.vibe"` for one of your own'


def _hint_nearby_file(path: str, file: Path) -> str:
    """Return a hint which file was likely meant by a path that does not exist."""
    if file.exists() or not file.parent.is_dir():
        return ""
    near = suggest_name(file.name, sorted(each.name for each in file.parent.glob("*.vibe")))
    return f"did you mean `{path.removesuffix(file.name)}{near}`?" if near else "paths begin at the file that imports"


def resolve_import_path(path: str, importer: Source) -> Path:
    """Return the path of an imported file, relative to the file that imports it."""
    return Path(importer.name).parent / path


def read_program_source(path: str | Path, name: str | None = None) -> Source:
    """Read the text of a file; raise a `VibeError` if it cannot be read."""
    file = Path(path)
    if file.suffix == ".vibe" and _is_link_to_other_kind(file):
        raise VibeError("V0601", f"{file} is a link to a file that is no program")
    try:
        with open_named_file(file) as opened:
            # A device may have no end, so the read is limited.
            data = opened.read(MAX_PROGRAM_BYTES + 1)
    except (OSError, ValueError) as error:
        message = f"cannot read {file}: {getattr(error, 'strerror', None) or error}"
        raise VibeError("V0601", message, _hint_file(file)) from None
    return decode_source(data, name or str(file.resolve()))


def _is_link_to_other_kind(file: Path) -> bool:
    """Return whether a link leads to a file of another kind: messages would quote what nobody meant to show."""
    return file.resolve().suffix != file.suffix


def _hint_file(file: Path) -> str:
    """Return a hint which file was likely meant by one that cannot be read; empty if none is near."""
    if file.is_dir():
        return f"name a program in it, such as `{file / 'main.vibe'}`"
    try:
        if any(sign in file.name for sign in '(){}"\n'):
            return "a program is a file; `antiphon run -` reads one from standard input"
        known = [] if file.exists() else sorted(each.name for each in file.parent.glob("*.vibe"))
    except (OSError, ValueError):
        return ""
    near = f"{file.name}.vibe" if f"{file.name}.vibe" in known else suggest_name(file.name, known)
    return f"did you mean `{file.parent / near}`?" if near else ""


def decode_source(data: bytes, name: str) -> Source:
    """Decode bytes to a source text; raise a `VibeError` with the position if they are not UTF-8."""
    if len(data) > MAX_PROGRAM_BYTES:
        raise VibeError("V0601", f"{name} is too large: a program has at most {MAX_PROGRAM_BYTES // 1_000_000} MB")
    try:
        return Source(name, data.decode())
    except UnicodeDecodeError as error:
        line = data[: error.start].count(b"\n") + 1
        raise VibeError(
            "V0607", f"{name} is not UTF-8: byte {error.start} in line {line}", "save it as UTF-8"
        ) from None
