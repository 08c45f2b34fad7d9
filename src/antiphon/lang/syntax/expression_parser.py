"""Reading expressions, by the binding powers of their operators (a Pratt parser)."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import ClassVar, cast

from antiphon.lang.syntax import nodes as n
from antiphon.lang.syntax.cursor import MAX_CHAIN, MAX_DEPTH, Unreadable
from antiphon.lang.syntax.tokens import FOREIGN_VALUES, RESERVED
from antiphon.lang.syntax.type_parser import TypeParser

#: How tightly each operator binds. `?` is read only to say that there is none.
_POWERS = {
    "?": 0,
    "=>": 0,
    "??": 1,
    "or": 2,
    "and": 3,
    "..": 6,
    "+": 7,
    "-": 7,
    "*": 8,
    "/": 8,
    "%": 8,
    "**": 10,
} | dict.fromkeys(("==", "!=", "<", "<=", ">", ">="), 5)
_NOT, _COMPARISON, _RANGE, _ADDITIVE, _UNARY, _POWER = 4, 5, 6, 7, 9, 10
#: Powers whose operators make no plain left-leaning `Binary`.
_SPECIAL = frozenset((0, _COMPARISON, _RANGE, _POWER))
_POSTFIX = frozenset((".", "(", "["))
#: Operators that go on with the line before when they begin one.
_GOING_ON = frozenset(("??", "and", "or"))
_AFTER = frozenset(("{", *_POWERS))
_CONTEXTS = frozenset(("default", "local", "none"))
_PYTHON_NAMES = re.compile(r"\s*(?:([^\W\d]\w*)\s*(,|\Z)|\Z)")


class ExpressionParser(TypeParser):
    """The part of the parser that reads expressions."""

    def block(self) -> n.Block:
        """A block of statements, which the whole parser can read."""
        raise NotImplementedError

    def loop_body(self) -> n.Block:
        """The block of a loop."""
        raise NotImplementedError

    def expression(self, level: int = 0) -> n.Expr:
        """An expression of operators that bind at least as tightly as `level`."""
        kinds = self.kinds
        start = self.starts[self.at]
        left = self.operand()
        chain = 0
        while True:
            at = self.at
            kind = kinds[at]
            power = _POWERS.get(kind, -1)
            if power < level or (at in self.fresh and not self.nested and kind not in _GOING_ON):
                return left
            chain += 1
            if chain > MAX_CHAIN:
                self.too_long(at)
            if power in _SPECIAL:
                left = self._special(left, start, power)
            else:
                self.at = at + 1
                right = self.expression(power + 1)
                left = n.Binary(start, self.ends[self.at - 1], kind, left, right, self.starts[at])

    def operand(self) -> n.Expr:
        """What operators stand between: a name, a literal, a bracket or a prefix form, and what follows on it."""
        at = self.at
        kind = self.kinds[at]
        node: n.Expr
        if kind == "name":
            self.at = at + 1
            node = n.Name(self.starts[at], self.ends[at], self.values[at])
            if node.name == "async" and self.kinds[at + 1] == "for":
                return self._async_for()
        elif kind == "text":
            self.at = at + 1
            start, value = self.starts[at], self.values[at]
            node = n.TextLit(start, self.ends[at], [value] if value else [], self.text[start])
        elif kind == "number":
            self.at = at + 1
            node = n.NumberLit(self.starts[at], self.ends[at], self.number_value(at))
        elif kind in self._prefix:
            node = self._prefix[kind](self)
        else:
            return self._no_operand()
        if self.kinds[self.at] in _POSTFIX:
            return self._postfix(node, self.starts[at])
        return node

    def _postfix(self, node: n.Expr, start: int) -> n.Expr:
        kinds = self.kinds
        chain = 0
        while True:
            chain += 1
            if chain > MAX_CHAIN:
                self.too_long(self.at)
            at = self.at
            kind = kinds[at]
            if kind == ".":
                self.at = at + 1
                if kinds[at + 1] != "name" and at + 1 in self.fresh:
                    self.unexpected("a member name after `.`")
                name = self.word("a member name after `.`")
                node = n.Member(start, self.ends[name], node, self.values[name], self.starts[name])
            elif kind not in _POSTFIX or (at in self.fresh and not self.nested):
                return node
            elif kind == "(":
                arguments = self.listed(")", self.expression)
                node = n.Call(start, self.ends[self.at - 1], node, arguments)
            else:
                node = self._index(node, start)

    def _index(self, node: n.Expr, start: int) -> n.Expr:
        opener, depth, nested = self.at, self.depth, self.nested
        if depth >= MAX_DEPTH:
            self.too_deep(opener)
        self.depth, self.nested, self.at = depth + 1, True, opener + 1
        parts: list[n.Expr | None] = []
        try:
            parts = self._index_parts()
            if self.kinds[self.at] == "]":
                self.at += 1
            else:
                self.unclosed(opener, "]")
        except Unreadable:
            self.leave(opener)
            parts = parts or [n.BadExpr(self.ends[opener], self.starts[self.at - 1])]
        self.depth, self.nested = depth, nested
        end = self.ends[self.at - 1]
        if len(parts) == 1:
            return n.Index(start, end, node, cast(n.Expr, parts[0]))
        first, last, step = (*parts, None)[:3]
        return n.Slice(start, end, node, first, last, step)

    def _index_parts(self) -> list[n.Expr | None]:
        parts: list[n.Expr | None] = [None if self.kinds[self.at] == ":" else self.expression()]
        while self.kinds[self.at] == ":" and len(parts) < 3:
            self.at += 1
            parts.append(None if self.kinds[self.at] in ("]", ":") else self.expression())
        return parts

    def _special(self, left: n.Expr, start: int, power: int) -> n.Expr:
        """Operators that are not simply left-leaning, and signs of other languages."""
        at = self.at
        kind = self.kinds[at]
        self.at = at + 1
        if power == 0:
            return self._choice(left, start, at)
        if power == _POWER:
            right = self._deeper(at, _UNARY)
            return n.Binary(start, self.ends[self.at - 1], kind, left, right, self.starts[at])
        right = self.expression(power + 1)
        if power == _RANGE:
            node = n.Range(start, self.ends[self.at - 1], left, right)
        else:
            node = n.Binary(start, self.ends[self.at - 1], kind, left, right, self.starts[at])
        if _POWERS.get(self.kinds[self.at]) == power and (self.nested or self.at not in self.fresh):
            return self._chain(node, right, start, power)
        return node

    def _chain(self, node: n.Expr, middle: n.Expr, start: int, power: int) -> n.Expr:
        """`a < b < c`, which is read as `a < b and b < c`, and `a..b..c`, which means nothing."""
        at = self.at
        kind = self.kinds[at]
        hint = "write `a < b and b < c`" if power == _COMPARISON else "a range has two ends"
        self.report("V0113", f"`{kind}` cannot follow another in one chain", at, hint)
        self.at = at + 1
        right = self.expression(power + 1)
        end = self.ends[self.at - 1]
        if power == _RANGE:
            return n.BadExpr(start, end)
        # The middle stands in the tree once: twice in each of many such would take those who walk it for ever.
        again = n.BadExpr(middle.start, middle.end)
        return n.Binary(start, end, "and", node, n.Binary(middle.start, end, kind, again, right, self.starts[at]))

    def _choice(self, left: n.Expr, start: int, at: int) -> n.Expr:
        """`c ? a : b`, which is not of this language."""
        if self.kinds[at] == "=>":
            # The lexer has complained of it.
            raise Unreadable
        if self.kinds[self.at] == "." and self.ends[at] == self.starts[self.at]:
            self.report("V0109", "there is no `?.` here", at, "compare with `null`, or use `??`")
            return self._postfix(left, start)
        self.report("V0109", "there is no `? :` here", at, "use `if` and `else`, with a variable declared before")
        if self.depth >= MAX_DEPTH:
            self.too_deep(at)
        self.depth += 1
        self.expression(1)
        if self.kinds[self.at] == ":":
            self.at += 1
            self.expression()
        self.depth -= 1
        return n.BadExpr(start, self.ends[self.at - 1])

    def begins_with_object(self) -> bool:
        """Whether the `{` here begins an object of an expression, and not the block that should follow one."""
        after = self.partner(self.at) + 1
        return after > 0 and after not in self.fresh and (self.kinds[after] in _POSTFIX or self.kinds[after] in _AFTER)

    def _deeper(self, at: int, level: int) -> n.Expr:
        """An operand that belongs to the sign at `at`."""
        if self.depth >= MAX_DEPTH:
            self.too_deep(at)
        self.depth += 1
        node = self.expression(level)
        self.depth -= 1
        return node

    # Prefix forms and literals

    def _negative(self) -> n.Expr:
        at = self.at
        self.at = at + 1
        operand = self._deeper(at, _UNARY)
        return n.Unary(self.starts[at], self.ends[self.at - 1], "-", operand)

    def _not(self) -> n.Expr:
        at = self.at
        self.at = at + 1
        operand = self._deeper(at, _NOT)
        return n.Unary(self.starts[at], self.ends[self.at - 1], "not", operand)

    def _exclamation(self) -> n.Expr:
        at = self.at
        self.report("V0109", "there is no `!` here", at, "write `not`")
        self.at = at + 1
        operand = self._deeper(at, _UNARY)
        return n.Unary(self.starts[at], self.ends[self.at - 1], "not", operand)

    def _boolean(self) -> n.Expr:
        at = self.at
        self.at = at + 1
        return n.BoolLit(self.starts[at], self.ends[at], self.kinds[at] == "true")

    def _null(self) -> n.Expr:
        at = self.at
        self.at = at + 1
        return n.NullLit(self.starts[at], self.ends[at])

    def _foreign_value(self) -> n.Expr:
        at = self.at
        right = FOREIGN_VALUES[self.kinds[at]]
        self.report("V0110", f"there is no `{self.kinds[at]}` here", at, f"write `{right}`")
        self.at = at + 1
        if right == "null":
            return n.NullLit(self.starts[at], self.ends[at])
        return n.BoolLit(self.starts[at], self.ends[at], right == "true")

    def _parenthesis(self) -> n.Expr:
        opener, depth, nested = self.at, self.depth, self.nested
        if depth >= MAX_DEPTH:
            self.too_deep(opener)
        self.depth, self.nested, self.at = depth + 1, True, opener + 1
        try:
            node = self.expression()
            if self.kinds[self.at] == ")":
                self.at += 1
            else:
                self.unclosed(opener, ")")
        except Unreadable:
            self.leave(opener)
            node = n.BadExpr(self.starts[opener], self.ends[self.at - 1])
        self.depth, self.nested = depth, nested
        return node

    def _array(self) -> n.Expr:
        start = self.starts[self.at]
        items = self.listed("]", self.expression)
        return n.ArrayLit(start, self.ends[self.at - 1], items)

    def object(self) -> n.ObjectLit:
        """An object literal."""
        start = self.starts[self.at]
        entries = self.listed("}", self._entry, by_line=True)
        return n.ObjectLit(start, self.ends[self.at - 1], entries)

    def _entry(self) -> n.Entry:
        at = self.at
        kind = self.kinds[at]
        start, key = self.starts[at], self.values[at]
        if kind == "text":
            self.at = at + 1
        elif kind == "quote":
            key = self.plain_text("a key")
        else:
            self.word("a key")
        if self.kinds[self.at] == ":":
            self.at += 1
            value = self.expression()
            return n.Entry(start, self.ends[self.at - 1], key, value, kind == "text")
        if kind != "name":
            self.unexpected("`:` and a value")
        end = self.ends[at]
        return n.Entry(start, end, key, n.Name(start, end, key), False, True)

    def _text_with_holes(self) -> n.Expr:
        opener = self.at
        quote = self.values[opener]
        parts: list[str | n.Hole] = []
        self.at = opener + 1
        while (kind := self.kinds[self.at]) != "endquote":
            if kind == "piece":
                parts.append(self.values[self.at])
                self.at += 1
            else:
                parts.append(self._hole())
        self.at += 1
        return n.TextLit(self.starts[opener], self.ends[self.at - 1], parts, quote)

    def _hole(self) -> n.Hole:
        opener, depth, nested = self.at, self.depth, self.nested
        if depth >= MAX_DEPTH:
            self.too_deep(opener)
        self.depth, self.nested, self.at = depth + 1, True, opener + 1
        try:
            if self.kinds[self.at] == "}hole":
                hint = "write an expression in it, or `\\${` for the two signs themselves"
                self.report("V0125", "there is nothing in this `${}`", opener, hint)
                raise Unreadable
            value = self.expression()
            if self.kinds[self.at] != "}hole":
                self.unexpected("`}`")
            self.at += 1
        except Unreadable:
            self.leave(opener)
            value = n.BadExpr(self.ends[opener], self.starts[self.at - 1])
        self.depth, self.nested = depth, nested
        return n.Hole(self.starts[opener], self.ends[self.at - 1], value, self.kinds[opener] == "${")

    # Asking, Python, and loops that gather

    def _ask_model(self) -> n.Expr:
        at = self.at
        self.at = at + 1
        prompt = self._deeper(at, _ADDITIVE)
        node = n.Ask(self.starts[at], self.ends[self.at - 1], "do" if self.kinds[at] == "do" else "vibe", prompt)
        if self._is_name_here() and self.values[self.at] not in _CONTEXTS:
            self._take_model(node)
        if self._is_name_here() and self.values[self.at] in _CONTEXTS:
            node.context = cast(n.Context, self.values[self.at])
            node.end = self.ends[self.at]
            self.at += 1
        return node

    def _is_name_here(self) -> bool:
        return self.kinds[self.at] == "name" and self.at not in self.fresh

    def _take_model(self, node: n.Ask) -> None:
        at = self.at
        node.end = self.ends[at]
        if self.values[at] == "model":
            node.says_model = True
        else:
            node.model = n.Name(self.starts[at], self.ends[at], self.values[at])
        self.at = at + 1

    def _ask_human(self) -> n.Expr:
        at = self.at
        self.at = at + 1
        prompt = self._deeper(at, _ADDITIVE)
        return n.AskHuman(self.starts[at], self.ends[self.at - 1], prompt)

    def _python(self) -> n.Expr:
        at = self.at
        part = self.tokens.python[at]
        self.at = at + 1
        names: list[n.Name] = []
        place = part.names_start
        while place < part.names_end:
            match = _PYTHON_NAMES.match(self.text, place, part.names_end)
            if match is None or (match[1] or "") in RESERVED:
                hint = "give it values by name, as in `py(a, b) { … }`"
                self.report_span("V0101", "expected names between the parentheses of `py`", place, part.names_end, hint)
                break
            if match[1]:
                names.append(n.Name(match.start(1), match.end(1), match[1]))
            place = match.end()
        return n.PyBlock(self.starts[at], self.ends[at], names, self.values[at], part.code_start)

    def _async_for(self) -> n.Expr:
        """`async for x in xs { … }`; the `async` is taken already."""
        start = self.starts[self.at - 1]
        self.at += 1
        name = self.name("the name of each item")
        self.expect("in", "`in` and what to go through")
        iterable = self._deeper(name, 0)
        body = self.loop_body()
        return n.AsyncFor(start, body.end, self.values[name], iterable, body, self.starts[name])

    def _no_operand(self) -> n.Expr:
        """No expression begins here: say so, or what was meant."""
        at, kinds = self.at, self.kinds
        before = kinds[at - 1] if at else ""
        if kinds[at] == "." and kinds[at + 1] == "number" and self.ends[at] == self.starts[at + 1]:
            self.report("V0106", "a number does not begin with `.`", at, f"write `0.{self.values[at + 1]}`")
            self.at = at + 2
            return n.NumberLit(self.starts[at], self.ends[at + 1], 0)
        plus = kinds[at] == "+" == before and self.ends[at - 1] == self.starts[at]
        minus = at > 1 and before == "-" == kinds[at - 2] and self.ends[at - 2] == self.starts[at - 1]
        if plus or minus:
            sign = "+" if plus else "-"
            index = at - 1 if plus else at - 2
            self.report("V0109", f"there is no `{sign}{sign}` here", index, f"write `{sign}= 1`")
            raise Unreadable
        hint = "a function is declared on its own, with a name" if kinds[at] == "function" else ""
        return self.unexpected("an expression", hint)

    _prefix: ClassVar[dict[str, Callable[[ExpressionParser], n.Expr]]] = {
        "-": _negative,
        "not": _not,
        "!": _exclamation,
        "true": _boolean,
        "false": _boolean,
        "null": _null,
        "(": _parenthesis,
        "[": _array,
        "{": object,
        "quote": _text_with_holes,
        "do": _ask_model,
        "vibe": _ask_model,
        "ask": _ask_human,
        "py": _python,
    } | dict.fromkeys(FOREIGN_VALUES, _foreign_value)
