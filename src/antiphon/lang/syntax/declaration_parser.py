"""Reading declarations: variables, patterns, functions, tools, models, types and imports."""

from __future__ import annotations

import re
from bisect import bisect_left

from antiphon.lang.syntax import nodes as n
from antiphon.lang.syntax.cursor import Unreadable
from antiphon.lang.syntax.expression_parser import ExpressionParser
from antiphon.lang.syntax.tokens import WORDS

_BETWEEN_LINES = re.compile(r"[ \t]*(?:\r\n|\r|\n)?[ \t]*")
_STARS = re.compile(r"^[ \t]*\*?[ \t]?", re.MULTILINE)


class DeclarationParser(ExpressionParser):
    """The part of the parser that reads declarations."""

    def function_body(self) -> n.Block:
        """The block of a function, in which loops are counted anew."""
        raise NotImplementedError

    # Variables

    def variable(
        self, start: int, private: bool = False, asynchronous: bool = False, exported: bool = False
    ) -> n.Statement:
        """`let` or `const`, whose word stands here."""
        is_const = self.kinds[self.at] == "const"
        self.at += 1
        if self.kinds[self.at] == "{":
            pattern = self._pattern()
            value = self._pattern_value()
            return n.Destructure(
                start, self.ends[self.at - 1], is_const, pattern, value, private, asynchronous, exported
            )
        name = self.name("a name")
        declared = value = None
        depth = self.depth
        try:
            if self.kinds[self.at] == ":":
                self.at += 1
                declared = self.type_()
            if self.kinds[self.at] == "=" and self.at not in self.fresh:
                self.at += 1
                value = self.expression()
        except Unreadable:
            value = self._unreadable_value(name, depth)
        end = self.ends[self.at - 1]
        starts = self.starts
        return n.Let(
            start, end, is_const, self.values[name], declared, value, private, asynchronous, exported, starts[name]
        )

    def value(self) -> n.Expr:
        """What is assigned. If it cannot be read, the rest of the statement counts all the same."""
        first, depth = self.at, self.depth
        try:
            return self.expression()
        except Unreadable:
            return self._unreadable_value(first, depth)

    def _unreadable_value(self, first: int, depth: int) -> n.BadExpr:
        self.depth, self.nested = depth, False
        self.recover(first)
        return n.BadExpr(self.starts[first], max(self.starts[first], self.ends[self.at - 1]))

    def _pattern_value(self) -> n.Expr:
        if self.kinds[self.at] != "=":
            self.unexpected("`=` and what to take apart")
        self.at += 1
        return self.value()

    def _pattern(self) -> n.Pattern:
        start = self.starts[self.at]
        fields = self.listed("}", self._pattern_field, by_line=True)
        return n.Pattern(start, self.ends[self.at - 1], fields)

    def _pattern_field(self) -> n.PatternField:
        at = self.at
        start = self.starts[at]
        private = self.values[at] == "private" and self.kinds[at + 1] in WORDS and at + 1 not in self.fresh
        self.at += private
        name = self.word("a field name")
        field = n.PatternField(start, self.ends[name], self.values[name], is_private=private)
        field.name_start = self.starts[name]
        if self.kinds[self.at] == ":":
            self.at += 1
            if self._is_nested_pattern():
                field.nested = self._pattern()
            else:
                field.declared = self.type_()
        if field.nested is None and self.kinds[name] != "name":
            self.reserved(name, "a name")
        field.description = self.description()
        if self.kinds[self.at] == "=":
            self.at += 1
            field.default = self.expression()
        field.end = self.ends[self.at - 1]
        return field

    def _is_nested_pattern(self) -> bool:
        if self.kinds[self.at] != "{":
            return False
        closer = self.partner(self.at)
        return closer < 0 or self.kinds[closer + 1] not in ("[", "|")

    # Functions and tools

    def function(self, start: int, is_tool: bool = False, exported: bool = False) -> n.Function:
        """`function` or `tool`, whose word stands here."""
        self.at += 1
        name = self.name("the name of the tool" if is_tool else "the name of the function")
        if self.kinds[self.at] != "(":
            self.unexpected("`(` and the parameters")
        parameters = self.listed(")", self._parameter)
        returns = None
        if self.kinds[self.at] == ":":
            self.at += 1
            returns = self.type_()
        description = self._description_lines(is_tool)
        body = self.function_body()
        node = n.Function(start, body.end, self.values[name], parameters, returns, body, is_tool, description, exported)
        node.doc = self._comment_above(start) if self.tokens.comments else ""
        node.name_start = self.starts[name]
        return node

    def _parameter(self) -> n.Parameter:
        name = self.name("the name of a parameter")
        declared = default = None
        if self.kinds[self.at] == ":":
            self.at += 1
            declared = self.type_()
        description = self.description()
        if self.kinds[self.at] == "=":
            self.at += 1
            default = self.expression()
        end = self.ends[self.at - 1]
        return n.Parameter(self.starts[name], end, self.values[name], declared, description, default)

    def _description_lines(self, is_tool: bool) -> str | None:
        description = None
        while self.kinds[self.at] == "@":
            at = self.at
            self.at = at + 1
            word = self.values[self.word("`description`")]
            text = self.plain_text("a description")
            description = text if is_tool and (description is None or word == "description") else description
            if word == "description" and is_tool:
                continue
            if word == "description":
                self.report("V0121", "only a tool has a `@description`", at, "write a comment above the function")
            else:
                self.report("V0121", f"a tool has no `@{word}`", at, _other_marker(word))
        return description

    def _comment_above(self, start: int) -> str:
        """The comment that ends on the line above: all `//` lines of it, or one `/* */`."""
        text, comments = self.text, self.tokens.comments
        index = bisect_left(comments, (start, 0)) - 1
        lines: list[str] = []
        while index >= 0 and self._stands_above(comments[index], start):
            first, last = comments[index]
            if text.startswith("/*", first):
                if not lines:
                    return _STARS.sub("", text[first + 2 : last].removesuffix("*/")).strip()
                break
            lines.append(text[first + 2 : last].removeprefix(" ").rstrip())
            start, index = first, index - 1
        return "\n".join(reversed(lines))

    def _stands_above(self, comment: tuple[int, int], start: int) -> bool:
        first, last = comment
        gap = _BETWEEN_LINES.match(self.text, last)
        while first and self.text[first - 1] in " \t":
            first -= 1
        return gap is not None and gap.end() == start and (not first or self.text[first - 1] in "\r\n\ufeff")

    # Models, types and modules

    def model(self, start: int, exported: bool = False) -> n.ModelDecl:
        """`model name = { … }`; the word stands here."""
        self.at += 1
        name = self.name("the name of the model")
        self.expect("=", "`=` and the settings of the model", 'write `model m = { name: "…" }`')
        settings = self.value()
        if not isinstance(settings, n.ObjectLit):
            settings = self._settings_of(settings)
        return n.ModelDecl(start, self.ends[self.at - 1], self.values[name], settings, exported, self.starts[name])

    def _settings_of(self, value: n.Expr) -> n.ObjectLit:
        """What was likely meant by something else than settings: the name of the model."""
        start, end = value.start, value.end
        if not isinstance(value, n.BadExpr):
            self.report_span("V0124", "a model is declared by its settings", start, end, 'write `{ name: "…" }`')
        if not isinstance(value, n.TextLit):
            value = n.BadExpr(start, end)
        return n.ObjectLit(start, end, [n.Entry(start, end, "name", value)])

    def type_declaration(self, start: int, exported: bool = False) -> n.TypeDecl:
        """`type Name { … }` or `type Name = …`; the word stands here."""
        self.at += 1
        name = self.name("the name of the type")
        if self.kinds[self.at] == "=":
            self.at += 1
        elif self.kinds[self.at] != "{":
            self.unexpected("`{` and the fields, or `=` and a type")
        declared = self.type_()
        return n.TypeDecl(start, declared.end, self.values[name], declared, exported, self.starts[name])

    def import_(self) -> n.Import:
        """`import { a, b as c } from "path"`."""
        start = self.starts[self.at]
        self.at += 1
        if self.kinds[self.at] != "{":
            self.unexpected("`{` and the names to import", 'write `import { name } from "./file.vibe"`')
        names = self.listed("}", self._import_name)
        if self.values[self.at] != "from":
            self.unexpected("`from` and a path")
        self.at += 1
        path_start = self.starts[self.at]
        path = self.plain_text("the path of a module")
        return n.Import(start, self.ends[self.at - 1], names, path, path_start)

    def _import_name(self) -> n.ImportName:
        name = self.name("a name to import")
        node = n.ImportName(self.starts[name], self.ends[name], self.values[name], None, self.starts[name])
        if self.values[self.at] == "as" and self.kinds[self.at] == "name":
            self.at += 1
            alias = self.name("the name to use here")
            node.alias, node.alias_start, node.end = self.values[alias], self.starts[alias], self.ends[alias]
        return node


def _other_marker(word: str) -> str:
    if word in ("param", "parameter", "arg"):
        return 'describe a parameter by a string after its type: `city: text "City name"`'
    return "write `@description`; it is the only one there is"
