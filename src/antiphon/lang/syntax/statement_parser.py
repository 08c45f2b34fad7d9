"""Reading statements, and going on after one that cannot be read."""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar

from antiphon.lang.syntax import nodes as n
from antiphon.lang.syntax.cursor import MAX_CHAIN, MAX_DEPTH, Unreadable
from antiphon.lang.syntax.declaration_parser import DeclarationParser
from antiphon.lang.syntax.diagnostics import Label
from antiphon.lang.syntax.tokens import ASSIGNMENTS

#: How many loops and `try` may stand inside each other in one function; Python itself takes 20.
_MAX_LOOPS = 16
#: How high the tree of one statement may be.
_MAX_HEIGHT = MAX_CHAIN + 5 * MAX_DEPTH
#: Words that begin a statement, or would in another language, and are names elsewhere.
_SOFT_STARTS = frozenset(("private", "async", "model", "type", "tool", "test", "var", "def", "fn", "func"))
_LOOP_MODES = frozenset(("verbose", "forget", "compress"))
#: What to say where two things stand side by side, by the first of them.
_ADVICE = {
    "print": "call it: `print(…)`",
    "class": "there are no classes: declare a `type`, or return an object from a `function`",
    "switch": "use `if` and `else if`",
    "match": "use `if` and `else if`",
    "new": "there are no classes: write the object itself, `{ … }`",
    "await": "leave it out: a program waits for each answer by itself",
    "async": "`async` stands before `let`, `const` and `for`",
    "lambda": "declare a `function` with a name",
    "private": "`private` stands before `let` and `const`",
    "delete": "assign `null`",
}


class StatementParser(DeclarationParser):
    """The whole parser."""

    _loops = 0
    #: Closing braces that have no opening one because it is missing and has been complained of.
    _owed = 0

    def program(self) -> n.Program:
        """The tree of the whole text."""
        statements: list[n.Statement] = []
        while True:
            statements += self._statements()
            if self.kinds[self.at] == "end":
                break
            self._stray()
        return n.Program(0, len(self.text), statements, self.tokens.comments)

    def only_type(self) -> n.TypeNode:
        """The type that the whole text is."""
        self.nested = True
        try:
            node = self.type_()
            if self.kinds[self.at] != "end":
                self.unexpected("the end of the type")
        except Unreadable:
            return n.TypeName(0, len(self.text), "json")
        return node

    # Lists of statements

    def _statements(self) -> list[n.Statement]:
        """Statements up to a closing brace or the end."""
        kinds, fresh = self.kinds, self.fresh
        out: list[n.Statement] = []
        while True:
            first = self.at
            kind = kinds[first]
            if kind == "}" or kind == "end":
                if kind == "end" or not self._owed:
                    return out
                self._owed -= 1
                self.at = first + 1
                continue
            if kind == ";":
                self.at = first + 1
                continue
            depth, loops = self.depth, self._loops
            try:
                statement = self.statement()
                at = self.at
                if at - first > MAX_CHAIN:
                    self._check_height(statement)
                out.append(statement)
                if at not in fresh and kinds[at] != ";" and kinds[at] != "}":
                    self._run_on()
            except Unreadable:
                self.depth, self.nested, self._loops = depth, False, loops
                self.recover(first)
                out.append(n.BadStatement(self.starts[first], max(self.ends[self.at - 1], self.starts[first])))

    def _check_height(self, statement: n.Statement) -> None:
        """Long chains inside each other make a tree too high for those who walk it. Blocks count on their own."""
        place = _part_beyond(statement, _MAX_HEIGHT)
        if place is not None:
            hint = "split it: put a part of it into a variable"
            self.report_span("V0116", "the chains in this are too long together", place.start, place.end, hint)
            raise Unreadable

    def _run_on(self) -> None:
        """Something follows a statement on its line."""
        at = self.at
        if self.kinds[at] in (")", "]"):
            self._stray()
            return
        hint = "put each statement on its own line, or a `;` between them"
        if self.kinds[at - 1] == "name" and self.values[at - 1] in _ADVICE:
            hint = _ADVICE[self.values[at - 1]]
        elif self.values[at] == "finally":
            hint = "there is no `finally`: what stands after the `catch` block runs either way"
        elif self.kinds[at] == ":":
            hint = "a `{` that begins a statement begins a block; an object stands in parentheses there"
        elif self.kinds[at] == "=":
            hint = "`=` assigns, and is a statement; `==` compares"
        self.report("V0127", f"expected the end of the statement, found {self.found()}", at, hint)
        raise Unreadable

    def _stray(self) -> None:
        """A closing bracket that closes nothing."""
        value = self.values[self.at]
        if self._owed and value == "}":
            self._owed -= 1
        else:
            self.report("V0108", f"this `{value}` closes nothing", self.at, "remove it, or add what opens it")
        self.at += 1

    def block(self) -> n.Block:
        opener, depth, nested = self.at, self.depth, self.nested
        if self.kinds[opener] != "{":
            return self._block_without_brace()
        if depth >= MAX_DEPTH:
            self.too_deep(opener)
        self.depth, self.nested, self.at = depth + 1, False, opener + 1
        statements = self._statements()
        if self.kinds[self.at] == "}":
            self.at += 1
        else:
            label = Label(self.starts[opener], self.ends[opener], "opened here")
            message = "expected `}` to close a block, found the end of the file"
            self.report("V0107", message, self.at, "add the missing `}`", (label,))
        self.depth, self.nested = depth, nested
        return n.Block(self.starts[opener], self.ends[self.at - 1], statements)

    def _block_without_brace(self) -> n.Block:
        at = self.at
        hint = "a block stands in `{` and `}`"
        self.report("V0101", f"expected `{{`, found {self.found()}", at, hint)
        if self.kinds[at] in ("end", "}"):
            return n.Block(self.starts[at], self.starts[at], [])
        if self.kinds[at] == ":":
            self.recover(at)
            raise Unreadable
        if at not in self.fresh:
            statement = self.statement()
            return n.Block(statement.start, statement.end, [statement])
        if self.has_stray_brace(at):
            self._owed += 1
        return n.Block(self.starts[at], self.starts[at], [])

    def function_body(self) -> n.Block:
        loops, self._loops = self._loops, 0
        body = self.block()
        self._loops = loops
        return body

    def loop_body(self) -> n.Block:
        """A block of which Python allows only so many in one function."""
        self._loops += 1
        if self._loops == _MAX_LOOPS + 1:
            hint = "put the inner ones into a function of their own"
            self.report("V0117", f"more than {_MAX_LOOPS} loops and `try` stand inside each other", self.at, hint)
        body = self.block()
        self._loops -= 1
        return body

    # Statements

    def statement(self) -> n.Statement:
        """One statement, without what ends it."""
        at = self.at
        kind = self.kinds[at]
        handler = self._starts.get(kind)
        if handler is not None:
            return handler(self)
        if kind == "name" and self.values[at] in _SOFT_STARTS:
            declared = self._soft_statement(self.values[at])
            if declared is not None:
                return declared
        start = self.starts[at]
        target = self.expression()
        at = self.at
        if self.kinds[at] in ASSIGNMENTS and at not in self.fresh:
            return self._assign(target, start)
        return n.ExprStatement(start, self.ends[at - 1], target)

    def _assign(self, target: n.Expr, start: int) -> n.Statement:
        at = self.at
        if not isinstance(target, n.Name | n.Member | n.Index):
            message = "this cannot be assigned to"
            hint = "assign to a name, a member or an index"
            if not isinstance(target, n.BadExpr):
                self.report_span("V0114", message, target.start, target.end, hint)
            self.at = at + 1
            value = self.value()
            return n.BadStatement(start, value.end)
        self.at = at + 1
        value = self.value()
        return n.Assign(start, self.ends[self.at - 1], target, self.kinds[at], value)

    def _variable(self) -> n.Statement:
        return self.variable(self.starts[self.at])

    def _function(self) -> n.Statement:
        return self.function(self.starts[self.at])

    def _soft_statement(self, word: str, start: int = -1, exported: bool = False) -> n.Statement | None:
        """A statement that begins with a word which is a name elsewhere; `None` if it is a name here."""
        at = self.at
        start = start if start >= 0 else self.starts[at]
        follows = self.kinds[at + 1] if at + 1 not in self.fresh else ""
        if word in ("private", "async"):
            return self._modified(start, exported)
        if word == "test":
            return self._test(start) if follows in ("text", "quote") else None
        if follows != "name" and not (word == "var" and follows == "{"):
            return None
        if word == "tool":
            return self.function(start, True, exported)
        if word == "model":
            return self.model(start, exported)
        if word == "type":
            return self.type_declaration(start, exported)
        right = "let" if word == "var" else "function"
        self.report("V0110", f"there is no `{word}` here", at, f"write `{right}`")
        return self.variable(start, exported=exported) if word == "var" else self.function(start, False, exported)

    def _modified(self, start: int, exported: bool) -> n.Statement | None:
        """`private` and `async`, in either order, before `let` or `const`."""
        at, seen = self.at, set[str]()
        while self.values[at] in ("private", "async") and self.kinds[at] == "name" and self.values[at] not in seen:
            seen.add(self.values[at])
            at += 1
        if self.kinds[at] not in ("let", "const") or at in self.fresh:
            return None
        self.at = at
        return self.variable(start, "private" in seen, "async" in seen, exported)

    def _export(self) -> n.Statement:
        start = self.starts[self.at]
        self.at += 1
        kind = self.kinds[self.at]
        if kind in ("let", "const"):
            return self.variable(start, exported=True)
        if kind == "function":
            return self.function(start, exported=True)
        if kind == "name" and self.values[self.at] in _SOFT_STARTS and self.values[self.at] != "test":
            declared = self._soft_statement(self.values[self.at], start, True)
            if declared is not None:
                return declared
        expected = "`let`, `const`, `function`, `tool`, `model` or `type`"
        self.report(
            "V0122", f"expected {expected} after `export`, found {self.found()}", self.at, "export a declaration"
        )
        raise Unreadable

    def _condition(self) -> n.Expr:
        """What `if` and `while` ask. After a mistake in it the block is read all the same."""
        first, depth, nested = self.at, self.depth, self.nested
        try:
            if self.kinds[first] == "{" and not self.begins_with_object():
                self.unexpected("an expression before the block")
            node = self.expression()
            if self.kinds[self.at] == "=":
                self.report("V0112", "`=` assigns; a condition compares", self.at, "write `==`")
                self.at += 1
                right = self.expression()
                return n.Binary(node.start, right.end, "==", node, right, node.end)
            return node
        except Unreadable:
            self.depth, self.nested = depth, nested
            return self._skip_to_block(first)

    def _skip_to_block(self, first: int) -> n.Expr:
        at = self.at
        while self.kinds[at] not in ("{", "}", "end") and (at not in self.fresh or at == first):
            at += 1
        if self.kinds[at] != "{":
            raise Unreadable
        self.at = at
        return n.BadExpr(self.starts[first], max(self.starts[first], self.ends[at - 1]))

    def _if(self) -> n.Statement:
        root = self._one_if()
        last = root
        for _ in range(MAX_CHAIN):
            kind = self.kinds[self.at]
            if kind == "name" and self.values[self.at] in ("elif", "elseif"):
                self.report("V0110", f"there is no `{self.values[self.at]}` here", self.at, "write `else if`")
            elif kind != "else":
                break
            else:
                self.at += 1
                if self.kinds[self.at] != "if":
                    last.otherwise = self.block()
                    break
            last.otherwise = last = self._one_if()
        else:
            self.too_long(self.at)
        node: n.Block | n.If | None = root
        while isinstance(node, n.If):
            node.end = self.ends[self.at - 1]
            node = node.otherwise
        return root

    def _one_if(self) -> n.If:
        start = self.starts[self.at]
        self.at += 1
        condition = self._condition()
        then = self.block()
        return n.If(start, then.end, condition, then)

    def _for(self) -> n.Statement:
        start = self.starts[self.at]
        self.at += 1
        name = self.name("the name of each item", "write `for item in items { … }`")
        self.expect("in", "`in` and what to go through", "write `for item in items { … }`")
        iterable = self._condition()
        body = self.loop_body()
        mode = self._loop_mode()
        return n.For(start, self.ends[self.at - 1], self.values[name], iterable, body, mode, self.starts[name])

    def _while(self) -> n.Statement:
        start = self.starts[self.at]
        self.at += 1
        condition = self._condition()
        body = self.loop_body()
        mode = self._loop_mode()
        return n.While(start, self.ends[self.at - 1], condition, body, mode)

    def _loop_mode(self) -> n.LoopMode | None:
        at = self.at
        word = self.values[at]
        if word not in _LOOP_MODES or at in self.fresh:
            return None
        self.at = at + 1
        mode = n.LoopMode(self.starts[at], self.ends[at], word)
        if word == "compress" and self.kinds[self.at] == "(" and self.at not in self.fresh:
            self._take_mode_arguments(mode, self.listed(")", self.expression))
            mode.end = self.ends[self.at - 1]
        return mode

    def _take_mode_arguments(self, mode: n.LoopMode, arguments: list[n.Expr]) -> None:
        """How to sum up, and the model; where there is only one of them, a name is the model."""
        last = arguments[-1] if arguments else None
        if isinstance(last, n.Name):
            mode.model = last
            arguments = arguments[:-1]
        if len(arguments) == 1:
            mode.how = arguments[0]
        elif arguments:
            message = "`compress` takes how to sum up, and then a model"
            hint = 'write `compress("how", model)`'
            self.report_span("V0101", message, arguments[1].start, arguments[1].end, hint)

    def _break(self) -> n.Statement:
        self.at += 1
        return n.Break(self.starts[self.at - 1], self.ends[self.at - 1])

    def _continue(self) -> n.Statement:
        self.at += 1
        return n.Continue(self.starts[self.at - 1], self.ends[self.at - 1])

    def _return(self) -> n.Statement:
        at = self.at
        self.at = at + 1
        if at + 1 in self.fresh or self.kinds[at + 1] in (";", "}"):
            return n.Return(self.starts[at], self.ends[at])
        value = self.expression()
        return n.Return(self.starts[at], self.ends[self.at - 1], value)

    def _throw(self) -> n.Statement:
        start = self.starts[self.at]
        self.at += 1
        value = self.expression()
        return n.Throw(start, self.ends[self.at - 1], value)

    def _yield(self) -> n.Statement:
        start = self.starts[self.at]
        self.at += 1
        value = self.expression()
        return n.Yield(start, self.ends[self.at - 1], value)

    def _try(self) -> n.Statement:
        start = self.starts[self.at]
        self.at += 1
        body = self.loop_body()
        self.expect("catch", "`catch` and a block", "write `try { … } catch error { … }`")
        name, name_start = None, 0
        if self.kinds[self.at] != "{":
            at = self.name("a name for the error", "write `catch error { … }`")
            name, name_start = self.values[at], self.starts[at]
        handler = self.loop_body()
        return n.Try(start, handler.end, body, name, handler, name_start)

    def _test(self, start: int) -> n.Statement:
        self.at += 1
        name = self.plain_text("the name of a test")
        body = self.function_body()
        return n.Test(start, body.end, name, body)

    def _lost_part(self) -> n.Statement:
        word = self.kinds[self.at]
        before = "if" if word == "else" else "try"
        self.report(
            "V0101", f"this `{word}` has no `{before}` before it", self.at, f"it follows the `}}` of `{before}`"
        )
        raise Unreadable

    def _stray_statement(self) -> n.Statement:
        at = self.at
        self._stray()
        return n.BadStatement(self.starts[at], self.ends[at])

    _starts: ClassVar[dict[str, Callable[[StatementParser], n.Statement]]] = {
        "let": _variable,
        "const": _variable,
        "if": _if,
        "for": _for,
        "while": _while,
        "break": _break,
        "continue": _continue,
        "return": _return,
        "throw": _throw,
        "yield": _yield,
        "try": _try,
        "function": _function,
        "import": DeclarationParser.import_,
        "export": _export,
        "{": block,
        "else": _lost_part,
        "catch": _lost_part,
        ")": _stray_statement,
        "]": _stray_statement,
    }


def _part_beyond(node: n.Node, limit: int) -> n.Node | None:
    """A part that more than `limit` others stand around, if there is one. Blocks in the node do not count."""
    level = [node]
    for _ in range(limit):
        level = [part for each in level for part in n.children(each) if not isinstance(part, n.Block)]
        if not level:
            return None
    return level[0]
