"""A compiled module: its code object, and what the run needs to know besides."""

from __future__ import annotations

import ast
import warnings
from dataclasses import dataclass, field
from types import CodeType
from typing import Any, Literal

from antiphon.lang.check.symbols import Symbol
from antiphon.lang.check.types import Type
from antiphon.lang.syntax.nodes import Context, Function, PyBlock
from antiphon.lang.syntax.pyblock import dedented
from antiphon.lang.syntax.source import Source

#: Before a name that Python cannot have or that means something to the compiler; programs' own names never begin so.
MANGLED = "_vn_"


@dataclass(frozen=True, slots=True)
class Site:
    """A place in the program where a model or the human is asked."""

    kind: Literal["do", "vibe", "ask"]
    #: How much is shown besides the prompt; without a word, the history of the function alone.
    context: Context | None
    wanted: Type | None
    start: int
    end: int
    #: Whether the word `model` asks for the default model, whatever was used before.
    says_model: bool = False
    #: The fields of the answer that go to private variables; all of it, if the empty name is among them.
    hidden: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Variable:
    """A variable as a model may be shown it: what Python calls it, and the part of the source where it is in scope."""

    python: str
    name: str
    type: Type
    since: int
    until: int
    is_private: bool


@dataclass(frozen=True, slots=True)
class ImportedName:
    """A name that a module takes from another, and what it is called here."""

    path: str
    name: str
    symbol: Symbol
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Given:
    """What whoever runs a program may give it: an input, or else a variable of the top level."""

    name: str
    type: Type
    #: Where it is declared.
    start: int
    end: int
    is_private: bool = False
    description: str = ""
    is_input: bool = False
    is_required: bool = False
    #: What an input is where nothing is given.
    default: Any = None


@dataclass(slots=True)
class Code:
    """What compiling a module gives."""

    source: Source
    main: CodeType | None = None
    types: list[Type] = field(default_factory=list[Type])
    sites: list[Site] = field(default_factory=list[Site])
    #: The functions made of `py` blocks, by their names.
    python: dict[str, CodeType] = field(default_factory=dict[str, CodeType])
    python_sources: dict[str, str] = field(default_factory=dict[str, str])
    #: The variables of each Python function, by its name and first line.
    scopes: dict[tuple[str, int], list[Variable]] = field(default_factory=dict[tuple[str, int], list[Variable]])
    tools: list[Function] = field(default_factory=list[Function])
    imports: list[ImportedName] = field(default_factory=list[ImportedName])
    #: `test` blocks: what they are called, the Python function, where they stand.
    tests: list[tuple[str, str, int]] = field(default_factory=list[tuple[str, str, int]])
    #: What may be given from outside, by name.
    inputs: dict[str, Given] = field(default_factory=dict[str, Given])
    #: What the program says that it gives.
    returns: Type | None = None
    #: The names declared at the top level.
    names: dict[str, Symbol] = field(default_factory=dict[str, Symbol])
    _type_names: dict[int, str] = field(default_factory=dict[int, str])

    @property
    def has_python(self) -> bool:
        """Whether Python is in it: blocks, or what it imports."""
        return bool(self.python) or any(
            each.path.endswith(".py") or each.path.startswith("py:") for each in self.imports
        )

    def type_name(self, type_: Type) -> str:
        """The name under which the running module finds a type."""
        known = self._type_names.get(id(type_))
        if known is None:
            known = self._type_names[id(type_)] = f"_vt{len(self.types)}"
            self.types.append(type_)
        return known

    def add_site(self, site: Site) -> int:
        """The number of a new site."""
        self.sites.append(site)
        return len(self.sites) - 1

    def add_python(self, source: Source, node: PyBlock) -> str:
        """Compile a `py` block to a function; gives its name."""
        name = f"_vpy{len(self.python)}"
        text, skipped = dedented(node.code)
        with warnings.catch_warnings():
            # What Python suspects is told when it happens, at its place in the program.
            warnings.simplefilter("ignore")
            return self._add_python(name, text, skipped, source, node)

    def _add_python(self, name: str, text: str, skipped: int, source: Source, node: PyBlock) -> str:
        tree = ast.parse(text)
        line = source.line_of(node.code_start)
        ast.increment_lineno(tree, line - 1 + skipped)
        parameters = [ast.arg(each.name, lineno=line, col_offset=0) for each in node.parameters]
        arguments = ast.arguments([], parameters, None, [], [], None, [])
        body = tree.body or [ast.Pass(lineno=line, col_offset=0)]
        function = ast.FunctionDef(name, arguments, body, [], lineno=line, col_offset=0)
        self.python_sources[name] = text
        self.python[name] = compile(ast.Module([function], []), source.name, "exec", dont_inherit=True)
        return name
