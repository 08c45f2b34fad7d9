"""Reading types as they are written."""

from __future__ import annotations

from antiphon.lang.syntax import nodes as n
from antiphon.lang.syntax.cursor import MAX_CHAIN, MAX_DEPTH, Cursor
from antiphon.lang.syntax.numbers import BadNumber, read_number


class TypeParser(Cursor):
    """The part of the parser that reads types, and the plain strings that describe things."""

    def type_(self) -> n.TypeNode:
        """A type, which may be a union; it may begin with a `|`, as unions over several lines do."""
        if self.kinds[self.at] == "|":
            self.at += 1
        first = self._array_type()
        if self.kinds[self.at] != "|":
            return first
        options = [first]
        while self.kinds[self.at] == "|":
            self.at += 1
            options.append(self._array_type())
        return n.UnionType(first.start, options[-1].end, options)

    def _array_type(self) -> n.TypeNode:
        start = self.starts[self.at]
        item = self._single_type()
        chain = 0
        while self.kinds[self.at] == "[" and (self.nested or self.at not in self.fresh):
            chain += 1
            if chain > MAX_CHAIN:
                self.too_long(self.at)
            self.at += 1
            self.expect("]", "`]`", "an array of numbers is `number[]`")
            item = n.ArrayType(start, self.ends[self.at - 1], item)
        return item

    def _single_type(self) -> n.TypeNode:
        at = self.at
        kind, start, end = self.kinds[at], self.starts[at], self.ends[at]
        if kind == "name" or kind == "null":
            self.at = at + 1
            return n.TypeName(start, end, self.values[at])
        if kind == "text":
            self.at = at + 1
            return n.LiteralType(start, end, self.values[at])
        if kind == "true" or kind == "false":
            self.at = at + 1
            return n.LiteralType(start, end, kind == "true")
        if kind == "number" or (kind == "-" and self.kinds[at + 1] == "number"):
            return self._number_type(start)
        if kind == "{":
            fields = self.listed("}", self._type_field, by_line=True)
            return n.ObjectType(start, self.ends[self.at - 1], fields)
        if kind == "(":
            return self._type_in_parentheses(at)
        if kind == "quote":
            self.plain_text("a type")
            return n.LiteralType(start, self.ends[self.at - 1], "")
        return self._no_type()

    def _no_type(self) -> n.TypeNode:
        hint = "types are `text`, `number`, `boolean`, `json`, `prompt`, `model`, `T[]`, `{ … }` or a declared one"
        self.unexpected("a type", hint)

    def _number_type(self, start: int) -> n.LiteralType:
        negative = self.kinds[self.at] == "-"
        self.at += negative
        value = self.number_value(self.at)
        self.at += 1
        return n.LiteralType(start, self.ends[self.at - 1], -value if negative else value)

    def _type_in_parentheses(self, opener: int) -> n.TypeNode:
        depth, nested = self.depth, self.nested
        if depth >= MAX_DEPTH:
            self.too_deep(opener)
        self.depth, self.nested, self.at = depth + 1, True, opener + 1
        inner = self.type_()
        if self.kinds[self.at] != ")":
            self.unclosed(opener, ")")
        else:
            self.at += 1
        self.depth, self.nested = depth, nested
        return inner

    def _type_field(self) -> n.TypeField:
        name = self.key("a field name")
        name_end = self.ends[self.at - 1]
        optional = self.kinds[self.at] == "?"
        self.at += optional
        self.expect(":", "`:` and the type of the field")
        declared = self.type_()
        description = self.description()
        end = self.ends[self.at - 1]
        return n.TypeField(self.starts[name], end, self.values[name], declared, optional, description, name_end)

    def key(self, what: str) -> int:
        """Take a field's name, which may stand in quotes; its index."""
        if self.kinds[self.at] == "text":
            self.at += 1
            return self.at - 1
        return self.word(what)

    def description(self) -> str:
        """The string that may follow a type on its line, or nothing."""
        if self.kinds[self.at] in ("text", "quote") and self.at not in self.fresh:
            return self.plain_text("a description")
        return ""

    def plain_text(self, what: str) -> str:
        """Take a string that may have no holes, such as a path or a description."""
        at = self.at
        if self.kinds[at] == "text":
            self.at = at + 1
            return self.values[at]
        if self.kinds[at] != "quote":
            self.unexpected(f"a string: {what}")
        self.at = self.partner(at) + 1
        hint = "write `\\{` or `\\${` where you mean the sign itself"
        start, end = self.starts[at], self.ends[self.at - 1]
        self.report_span("V0120", f"{what} is fixed text and can have nothing put into it", start, end, hint)
        return ""

    def number_value(self, at: int) -> int | float:
        """The value of a number token."""
        try:
            return read_number(self.values[at])
        except BadNumber as error:
            self.report("V0106", str(error), at, error.hint)
            return 0
