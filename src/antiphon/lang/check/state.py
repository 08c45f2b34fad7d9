"""What the checker knows while it goes through a program, and how it reports what is wrong."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

from antiphon._suggestions import nearest
from antiphon.lang.check.fitting import assignable
from antiphon.lang.check.notation import general, shown
from antiphon.lang.check.scopes import Scope
from antiphon.lang.check.symbols import Exports, Kind, Symbol
from antiphon.lang.check.types import JSON, MODEL, Alias, Literal, Object, Simple, Type, has_literals, is_larger, plain
from antiphon.lang.syntax.diagnostics import Diagnostic, Label, Severity
from antiphon.lang.syntax.nodes import (
    ArrayLit,
    Ask,
    AskHuman,
    AsyncFor,
    Binary,
    Block,
    Call,
    Conditional,
    Expr,
    Function,
    Lambda,
    Match,
    Name,
    Node,
    ObjectLit,
    Range,
    Return,
    Statement,
    Test,
    TypeDecl,
    Unary,
)
from antiphon.lang.syntax.source import Source

#: Finds the type of an expression; the last is the type its place wants, if any.
ExprRule = Callable[["Checker", Any, Type | None], Type]
#: Checks a statement; true if nothing after it can be reached.
StatementRule = Callable[["Checker", Any], bool]
EXPRESSIONS: dict[type, ExprRule] = {}
STATEMENTS: dict[type, StatementRule] = {}
#: Looking for what was meant takes time; a program with so many mistakes gets no more of it.
MOST_SUGGESTIONS = 100
#: What has no value before its declaration has run.
VARIABLES = frozenset(("let", "const", "model"))
#: Declared in the whole block, so never out of reach; nor is a test, which is run by itself.
HOISTED: frozenset[type] = frozenset((Function, TypeDecl))
_REACHED: frozenset[type] = HOISTED | {Test}
#: What has the type that is wanted, whatever its branches are.
_CHOICES = frozenset((Conditional, Match))
#: Types whose values cannot change.
_SCALAR = frozenset((Simple, Literal))
#: Words that mean something behind a prompt, where a model is named.
NO_MODELS = frozenset(("default", "local", "none", "model", "with"))
#: Expressions whose types are made of those of others, and how many parts one may have besides those written out.
_COMPOSED: frozenset[type] = frozenset((ArrayLit, ObjectLit, Conditional, Match, Binary, Call, Lambda, AsyncFor))
MOST_PARTS = 1_000
#: What is worth a warning where nothing uses it.
_WARNED = frozenset(("let", "const", "function"))
#: A narrowed value: the variable, and the members and items after it; an item may be that at a variable.
Path = tuple[Symbol, tuple[str | int | Symbol, ...]]


@dataclass(slots=True, eq=False, repr=False)
class Frame:
    """The function or `async for` that is being checked; for the module itself, `node` is `None`."""

    node: Any = None
    parent: Frame | None = None
    #: What it was declared to return.
    returns: Type | None = None
    is_async_for: bool = False
    #: Whether it is called where it stands, and runs with what is around it.
    is_now: bool = False
    #: For each loop around the place, whether a `break` leaves it.
    loops: list[bool] = field(default_factory=list[bool])
    #: In an `async for`: what is yielded, and what is wanted to be.
    yields: Type | None = None
    wanted: Type | None = None
    #: In a function without a name: what is returned, where nobody says what that must be.
    given: Type | None = None

    @property
    def title(self) -> str:
        """What it is called in messages."""
        name = getattr(self.node, "name", "")
        return f"`{name}`" if name else "the program" if self.node is None else "the function"


@dataclass(slots=True, eq=False, repr=False)
class Checker:
    """One check of one program."""

    source: Source
    module: Scope
    imports: Callable[[str], Exports] | None = None
    untrusted: bool = False
    in_repl: bool = False
    scope: Scope = field(init=False)
    frame: Frame = field(default_factory=Frame)
    diagnostics: list[Diagnostic] = field(default_factory=list[Diagnostic])
    #: What is known of values by the conditions that led here, with the number of changes at that time.
    narrowed: dict[Path, tuple[int, Type]] = field(default_factory=dict[Path, tuple[int, Type]])
    #: The same at the end of the block that was checked last.
    left: dict[Path, tuple[int, Type]] = field(default_factory=dict[Path, tuple[int, Type]])
    #: How often a variable was assigned, or a member of some name changed, so far.
    assignments: dict[Symbol | str, int] = field(default_factory=dict[Symbol | str, int])
    #: What pieces of the program may change, by the ids of their nodes; and what may change at any time.
    effects: dict[int, tuple[Any, Any]] = field(default_factory=dict[int, tuple[Any, Any]])
    reassigned: frozenset[str] | None = None
    concurrent: Any = None
    anything: Any = None
    tools: list[Any] | None = None
    #: Values that are handed to functions as json, with the function and which of its parameters takes them.
    handed: list[tuple[Expr, Symbol, int]] = field(default_factory=list[tuple[Expr, Symbol, int]])
    #: What is put together of values of several types: arrays, `+`, and of which one is taken.
    mixed: list[Expr] = field(default_factory=list[Expr])
    #: Calls of functions of the language, with the function that each is a part of; and what is declared.
    early: list[tuple[Name, Symbol, Any]] = field(default_factory=list[tuple[Name, Symbol, Any]])
    variables: list[Symbol] = field(default_factory=list[Symbol])
    #: Warnings about unused variables, which a model may yet be shown.
    unread: list[Diagnostic] = field(default_factory=list[Diagnostic])
    shows_variables: bool = False
    #: What was declared in blocks that have ended.
    closed: dict[str, Symbol] = field(default_factory=dict[str, Symbol])
    in_test: bool = False
    #: The name a `{path}` in a string begins with, which may not be meant as one.
    path_root: Expr | None = None
    imported: list[Symbol] = field(default_factory=list[Symbol])
    imported_types: set[Symbol] = field(default_factory=set[Symbol])
    #: Module-level symbols of earlier checks, which may be declared again.
    earlier: frozenset[Symbol] = frozenset()
    #: Declared types that are not known yet; true while one is being looked at.
    aliases: dict[Symbol, bool] = field(default_factory=dict[Symbol, bool])
    open_aliases: int = 0
    #: The declared type that is being looked at.
    defined: Symbol | None = None
    #: Object types whose fields are still to be read, and names of types inside of these.
    unfilled: list[tuple[Object | Alias, Any]] = field(default_factory=list[tuple[Object | Alias, Any]])
    _texts: dict[str, Literal] = field(default_factory=dict[str, Literal])
    _numbers: dict[float, Literal] = field(default_factory=dict[float, Literal])
    _suggestions: int = 0

    def __post_init__(self) -> None:
        self.scope = self.module
        self.earlier = frozenset(self.module.names.values())

    # The tree

    def expr(self, node: Expr, wanted: Type | None = None) -> Type:
        """The type of an expression, which is noted on it."""
        type_ = EXPRESSIONS[type(node)](self, node, wanted)
        if type(node) in _COMPOSED and type(type_) not in _SCALAR:
            type_ = self._bounded(node, type_)
        node.type = type_
        return type_

    def _bounded(self, node: Expr, type_: Type) -> Type:
        """Return a type that can be followed: types made of types made of types could grow without end."""
        if not is_larger(type_, MOST_PARTS + len(self.source.text)):
            return type_
        hint = "declare a type for it: `const x: T = …`, or `json`"
        self.report("V0364", "the type of this has too many parts to be followed", node, hint)
        return JSON

    def want(self, node: Expr, wanted: Type, name: str) -> Type:
        """The type of an expression that must fit a place, which has its value then; `name` is what it is called."""
        type_ = self.fit(node, wanted, name)
        if (type_ is not wanted or type(node) in _CHOICES) and type(type_) not in _SCALAR:
            from antiphon.lang.check.settling import check_shared

            check_shared(self, node, type_, wanted)
        return type_

    def fit(self, node: Expr, wanted: Type, name: str) -> Type:
        """The type of an expression whose value must fit a place, which takes a copy of it or only reads it."""
        type_ = self.expr(node, wanted)
        if type_ is not wanted and not assignable(type_, wanted):
            self.mismatch(node, type_, wanted, name)
        return type_

    def block(self, block: Block, symbols: Iterable[Symbol] = ()) -> bool:
        """Check a block in a scope of its own; true if its end cannot be reached."""
        outer = self.scope
        self.scope = Scope({}, outer, block.start, block.end, block.statements, [])
        for each in symbols:
            self.declare(each)
        narrowed = self.narrowed
        self.narrowed = dict(narrowed) if narrowed else {}
        ends = self.statements(block.statements)
        self._warn_unused(self.scope)
        self.left = self.narrowed
        self.scope, self.narrowed = outer, narrowed
        return ends

    def statements(self, statements: list[Statement]) -> bool:
        """Check the statements of the current scope; true if what comes after them cannot be reached."""
        if not HOISTED.isdisjoint(map(type, statements)):
            from antiphon.lang.check.declarations import hoist

            hoist(self, statements)
        ends = warned = False
        before: Statement | None = None
        for each in statements:
            if ends and not warned and type(each) not in _REACHED:
                warned = True
                self.warn("V0701", "this code cannot be reached", each, _unreached_hint(before))
            if STATEMENTS[type(each)](self, each):
                ends, before = True, each
        if self.scope.waiting:
            from antiphon.lang.check.functions import check_body

            for function in self.scope.waiting:
                check_body(self, function)
            self.scope.waiting.clear()
        return ends

    @property
    def running(self) -> Any:
        """The function that runs what is being checked; the module itself is `None`."""
        frame = self.frame
        while (frame.is_now or frame.is_async_for) and frame.parent is not None:
            frame = frame.parent
        return frame.node

    # Names

    def symbol(
        self, name: str, kind: Kind, type_: Type, start: int, since: int, *, private: bool = False, node: Any = None
    ) -> Symbol:
        """A symbol that belongs to the current scope."""
        scope = self.scope
        end, until = start + len(name), scope.end
        is_global = scope is self.module
        return Symbol(
            name, kind, type_, start, end, since, until, private, False, is_global, False, self.frame.node, node=node
        )

    def declare(self, symbol: Symbol) -> None:
        """Make a name known; one that the scope knows already is an error."""
        names = self.scope.names
        first = names.get(symbol.name)
        if first is not None and first not in self.earlier:
            where = (Label(first.start, first.end, "it is first declared here"),)
            message = f"`{symbol.name}` is declared twice"
            self.report("V0203", message, symbol, "give one of them another name", where)
        names[symbol.name] = symbol
        if symbol.name in NO_MODELS:
            self._check_model_name(symbol)
        if symbol.kind in VARIABLES:
            self.variables.append(symbol)

    def _check_model_name(self, symbol: Symbol) -> None:
        """Report a model that could not be asked: behind a prompt, its name is a word of the language."""
        is_imported = symbol.kind == "import" or isinstance(symbol.node, Symbol)
        if plain(symbol.type) is not MODEL and not (is_imported and symbol.type is JSON):
            return
        message = f"a model cannot be called `{symbol.name}`: behind a prompt, that word means something else"
        hint = f"give it another name, as `{symbol.name}Model`"
        if is_imported:
            hint = f"import it under another name: `{symbol.name} as {symbol.name}Model`"
        self.report("V0422", message, symbol, hint)

    def is_outside_async_for(self, symbol: Symbol) -> bool:
        """Whether the variable lives outside the `async for` this place is in."""
        frame: Frame | None = self.frame
        while frame is not None and frame.node is not symbol.owner:
            if frame.is_async_for:
                return True
            frame = frame.parent
        return False

    def nearest(self, name: str, known: Iterable[str]) -> str | None:
        """The known name that was probably meant."""
        if self._suggestions >= MOST_SUGGESTIONS:
            return None
        self._suggestions += 1
        return nearest(name, known)

    def meant(self, name: str, known: Iterable[str]) -> str:
        """A hint with the known name that was probably meant; empty where there is none."""
        found = self.nearest(name, known)
        return f"did you mean `{found}`?" if found else ""

    # Literals, each made once

    def text_literal(self, value: str) -> Type:
        """The type of just this text."""
        found = self._texts.get(value)
        if found is None:
            found = self._texts[value] = Literal(value)
        return found

    def number_literal(self, value: int | float) -> Type:
        """The type of just this number."""
        if type(value) is float:
            # As keys, 1 and 1.0 are the same.
            return Literal(value)
        found = self._numbers.get(value)
        if found is None:
            found = self._numbers[value] = Literal(value)
        return found

    # Reports

    def report(
        self,
        code: str,
        message: str,
        where: Node | Symbol | tuple[int, int],
        hint: str = "",
        labels: tuple[Label, ...] = (),
        severity: Severity = "error",
        is_habit: bool = False,
    ) -> None:
        """Note that something is wrong."""
        start, end = where if isinstance(where, tuple) else (where.start, where.end)
        self.diagnostics.append(Diagnostic(code, message, start, end, hint, labels, severity, is_habit))

    def warn(self, code: str, message: str, where: Node | Symbol | tuple[int, int], hint: str = "") -> None:
        """Note that something is probably not meant."""
        self.report(code, message, where, hint, severity="warning")

    def mismatch(self, node: Node, found: Type, wanted: Type, name: str) -> None:
        """Report a value that does not fit its place."""
        from antiphon.lang.check.remedies import remedy

        place = f" for `{name}`" if name else ""
        # The literal itself matters only where literals are wanted.
        what = shown(found) if has_literals(wanted) else general(found)
        message = f"expected `{shown(wanted)}`{place}, found `{what}`"
        hint = remedy(self, node, found, wanted)
        if name == "returns" and not hint:
            hint = f"give what is declared, or declare `returns {what}`"
        self.report("V0301", message, node, hint)

    def text_of(self, node: Node) -> str:
        """How a node is written, if that is short."""
        text = self.source.text[node.start : node.end]
        return text if len(text) <= 40 and "\n" not in text else "x"

    def object_text_of(self, node: Node) -> str:
        """How a node is written where a member follows."""
        text = self.text_of(node)
        return f"({text})" if isinstance(node, Binary | Unary | Range | Ask | AskHuman) and text != "x" else text

    def warn_unused_imports(self) -> None:
        """Warn of imported names that the module does not use."""
        for each in self.imported:
            if not each.used and not each.name.startswith("_"):
                self.warn("V0702", f"`{each.name}` is imported and never used", each, "remove it from the import")

    def _warn_unused(self, scope: Scope) -> None:
        self.closed.update(scope.names)
        for each in scope.names.values():
            if each.used or each.exported or each.kind not in _WARNED or each.name.startswith("_"):
                continue
            what = "assigned but never read" if each.assigned else "never used"
            hint = f"remove it, or call it `_{each.name}`"
            message = f"`{each.name}` is {what}"
            found = Diagnostic("V0702", message, each.start, each.end, hint, severity="warning")
            shows = each.kind in ("let", "const") and not each.is_private
            (self.unread if shows else self.diagnostics).append(found)


def _unreached_hint(before: Statement | None) -> str:
    """What to write where a statement ends a block before its end."""
    if isinstance(before, Return) and before.value is None:
        return "what is returned stands on the line of `return`"
    return "remove it, or what leaves the block before it"
