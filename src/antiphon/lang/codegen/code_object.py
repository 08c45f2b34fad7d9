"""The result of compiling a module: its code object and the metadata that a run needs."""

from __future__ import annotations

import ast
import warnings
from dataclasses import dataclass, field
from types import CodeType
from typing import Any, Literal

from antiphon.lang.syntax.nodes import Context, Function, PyBlock
from antiphon.lang.syntax.python_block import dedent_code
from antiphon.lang.syntax.source import Source
from antiphon.lang.typecheck import types as t
from antiphon.lang.typecheck.symbols import Symbol

#: Prefix of names that Python does not allow or the compiler uses; names of programs never begin with it.
MANGLED_PREFIX = "_vn_"


@dataclass(frozen=True, slots=True)
class AskSite:
    """A place in the program where a model or the human is asked."""

    kind: Literal["do", "vibe", "ask"]
    #: What the model sees besides the prompt; None shows the history of the function alone.
    context: Context | None
    wanted: t.Type | None
    start: int
    end: int
    #: True if the word `model` alone selects the default model, whichever was used before.
    says_model: bool = False
    #: The fields of the answer that go to private variables; the empty name stands for all of it.
    hidden: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ScopeVariable:
    """A variable that a model may be shown: its Python name and the span of source where it is in scope."""

    python: str
    name: str
    type: t.Type
    since: int
    until: int
    is_private: bool


@dataclass(frozen=True, slots=True)
class ImportedName:
    """A name that a module imports from another, and its symbol here."""

    path: str
    name: str
    symbol: Symbol
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class ProgramInput:
    """A value that the caller may pass to a program: a declared input, or else a top-level variable."""

    name: str
    type: t.Type
    #: The span of its declaration.
    start: int
    end: int
    is_private: bool = False
    description: str = ""
    is_input: bool = False
    is_required: bool = False
    #: The value of an input that is not passed.
    default: Any = None


@dataclass(slots=True)
class ModuleCode:
    """The compiled code of a module and the metadata that its run needs."""

    source: Source
    main: CodeType | None = None
    types: list[t.Type] = field(default_factory=list[t.Type])
    ask_sites: list[AskSite] = field(default_factory=list[AskSite])
    #: The functions compiled from `py` blocks, by name.
    python: dict[str, CodeType] = field(default_factory=dict[str, CodeType])
    python_sources: dict[str, str] = field(default_factory=dict[str, str])
    #: The variables of each Python function, by its name and first line.
    scopes: dict[tuple[str, int], list[ScopeVariable]] = field(
        default_factory=dict[tuple[str, int], list[ScopeVariable]]
    )
    tools: list[Function] = field(default_factory=list[Function])
    imports: list[ImportedName] = field(default_factory=list[ImportedName])
    #: `test` blocks: title, name of the Python function, offset in the source.
    tests: list[tuple[str, str, int]] = field(default_factory=list[tuple[str, str, int]])
    #: The values that a caller may pass, by name.
    inputs: dict[str, ProgramInput] = field(default_factory=dict[str, ProgramInput])
    #: The type that the program declares with `returns`.
    returns: t.Type | None = None
    #: The names declared at the top level.
    names: dict[str, Symbol] = field(default_factory=dict[str, Symbol])
    _type_names: dict[int, str] = field(default_factory=dict[int, str])

    @property
    def has_python(self) -> bool:
        """Return True if the module contains or imports Python code."""
        return bool(self.python) or any(
            each.path.endswith(".py") or each.path.startswith("py:") for each in self.imports
        )

    def type_name(self, type_: t.Type) -> str:
        """Return the global name under which generated code finds a type."""
        known = self._type_names.get(id(type_))
        if known is None:
            known = self._type_names[id(type_)] = f"_vt{len(self.types)}"
            self.types.append(type_)
        return known

    def add_site(self, site: AskSite) -> int:
        """Add a site and return its number."""
        self.ask_sites.append(site)
        return len(self.ask_sites) - 1

    def add_python_block(self, source: Source, node: PyBlock) -> str:
        """Compile a `py` block to a function and return its name."""
        name = f"_vpy{len(self.python)}"
        text, skipped = dedent_code(node.code)
        with warnings.catch_warnings():
            # Python's warnings would name no position in the program; errors are reported when they happen.
            warnings.simplefilter("ignore")
            tree = ast.parse(text)
            line = source.line_number(node.code_start)
            ast.increment_lineno(tree, line - 1 + skipped)
            parameters = [ast.arg(each.name, lineno=line, col_offset=0) for each in node.parameters]
            arguments = ast.arguments([], parameters, None, [], [], None, [])
            body = tree.body or [ast.Pass(lineno=line, col_offset=0)]
            function = ast.FunctionDef(name, arguments, body, [], lineno=line, col_offset=0)
            self.python_sources[name] = text
            self.python[name] = compile(ast.Module([function], []), source.name, "exec", dont_inherit=True)
            return name
