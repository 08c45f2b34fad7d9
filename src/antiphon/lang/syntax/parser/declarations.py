"""Parsing of declarations: variables, patterns, inputs, results, models, types and imports."""

from __future__ import annotations

from antiphon.lang.syntax import nodes as n
from antiphon.lang.syntax.foreign_syntax.around_names import (
    report_missing_colon,
    skip_optional_field_mark,
    skip_optional_parameter_mark,
    skip_type_before_name,
)
from antiphon.lang.syntax.foreign_syntax.table import EQUIVALENT_MODULES, PYTHON_MODULE_HINTS
from antiphon.lang.syntax.parser.blocks import skip_indented_block
from antiphon.lang.syntax.parser.cursor import Cursor, SyntaxErrorReported
from antiphon.lang.syntax.parser.expressions import parse_expression
from antiphon.lang.syntax.parser.types import parse_description, parse_plain_text, parse_type
from antiphon.lang.syntax.tokens import WORD_KINDS


def parse_input_declaration(c: Cursor, start: int, private: bool = False) -> n.Input:
    """Parse `input name: type = default "description"`; its keyword is the current token."""
    c.at += 1
    name = c.name("the name of the input")
    node = n.Input(start, c.ends[name], c.values[name], None, None, "", private, c.starts[name])
    if c.kinds[c.at] == ":":
        c.at += 1
        node.declared = parse_type(c)
    node.description = parse_description(c)
    if c.kinds[c.at] == "=" and c.at not in c.fresh:
        if node.description:
            hint = f'write `input {node.name}: … = … "{node.description[:40]}"`'
            c.report("V0128", "the description of an input stands last, behind its default", c.at - 1, hint)
        c.at += 1
        node.default = parse_value(c)
        node.description = parse_description(c) or node.description
    node.end = c.ends[c.at - 1]
    return node


def parse_returns_declaration(c: Cursor, start: int) -> n.Returns:
    """Parse `returns type`; its keyword is the current token."""
    c.at += 1
    declared = parse_type(c)
    return n.Returns(start, declared.end, declared)


def parse_model_declaration(c: Cursor, start: int, exported: bool = False) -> n.ModelDecl:
    """Parse `model name = { … }`; its keyword is the current token."""
    c.at += 1
    name = c.name("the name of the model")
    c.expect("=", "`=` and the settings of the model", 'write `model m = { name: "…" }`')
    settings = parse_value(c)
    if not isinstance(settings, n.ObjectLit):
        settings = _recover_settings(c, settings)
    return n.ModelDecl(start, c.ends[c.at - 1], c.values[name], settings, exported, c.starts[name])


def _recover_settings(c: Cursor, value: n.Expr) -> n.ObjectLit:
    """Return the settings that were likely meant by another value: a text is the name of the model."""
    start, end = value.start, value.end
    if not isinstance(value, n.BadExpr):
        c.report_span("V0124", "a model is declared by its settings", start, end, 'write `{ name: "…" }`')
    if not isinstance(value, n.TextLit):
        value = n.BadExpr(start, end)
    return n.ObjectLit(start, end, [n.ObjectEntry(start, end, "name", value)])


def parse_type_declaration(c: Cursor, start: int, exported: bool = False) -> n.TypeDecl | n.BadStatement:
    """Parse `type Name { … }` or `type Name = …`; its keyword is the current token."""
    c.at += 1
    name = c.name("the name of the type")
    if c.values[c.at] in ("struct", "interface") and c.kinds[c.at + 1] == "{":
        c.report("V0109", f"there is no `{c.values[c.at]}` here", c.at, "write `type Name { field: text }`")
        c.at += 1
    if c.kinds[c.at] == "=":
        c.at += 1
    elif c.kinds[c.at] != "{":
        hint = "write out all fields: what has them fits" if c.values[c.at] in ("extends", "implements") else ""
        hint = "types have no parameters; declare a `type` for each use" if c.kinds[c.at] in ("<", "[") else hint
        if c.kinds[c.at] in ("(", ":"):
            c.report("V0109", "there are no classes here", c.at, "write `type Name { field: text, other: number }`")
            skip_indented_block(c, name - 1)
            c.lost.add(c.values[name])
            return n.BadStatement(start, c.ends[c.at - 1])
        c.fail_unexpected("`{` and the fields, or `=` and a type", hint)
    declared = parse_type(c)
    return n.TypeDecl(start, declared.end, c.values[name], declared, exported, c.starts[name])


def parse_import(c: Cursor) -> n.Import | n.BadStatement:
    """Parse `import { a, b as c } from "path"`."""
    start = c.starts[c.at]
    c.at += 1
    if c.kinds[c.at] != "{":
        return _parse_foreign_import(c)
    names = c.listed("}", _parse_import_name)
    if c.values[c.at] != "from":
        c.fail_unexpected("`from` and a path", 'write `import { name } from "./file.vibe"`')
    c.at += 1
    if c.kinds[c.at] == "name":
        c.fail_unexpected("a string: the path of a module", _hint_quoted_path(c))
    path_start = c.starts[c.at]
    path = parse_plain_text(c, "the path of a module")
    return n.Import(start, c.ends[c.at - 1], names, path, path_start)


def _hint_quoted_path(c: Cursor) -> str:
    """Return the hint for a path without quotes."""
    end = c.at
    while end + 1 not in c.fresh and c.kinds[end + 1] not in (";", "end"):
        end += 1
    path = c.text[c.starts[c.at] : c.ends[end]]
    ours = path if "/" in path or ":" in path or "." in path else EQUIVALENT_MODULES.get(path, f"py:{path}")
    return f'it stands in quotes: `from "{ours}"`'


def _parse_foreign_import(c: Cursor) -> n.BadStatement:
    """Report an import of another language, such as `import os` or `import x from "y"`; its names count as declared."""
    at = c.at
    after = c.kinds[at + 1] if at + 1 not in c.fresh else ""
    if c.values[at] == "type" and after == "{":
        hint = "leave out `type`: types are imported as all other names"
    elif c.kinds[at] == "name" and (after != "name" or c.values[at + 1] == "as") and c.kinds[at + 2] != "{":
        word = c.values[at]
        names = f'names of Python are imported one by one: `import {{ name }} from "py:{word}"`'
        hint = f"{PYTHON_MODULE_HINTS[word]}; {names}" if word in PYTHON_MODULE_HINTS else names
    else:
        path, is_written = _find_equivalent_module(c)
        name = c.values[at] if c.kinds[at] == "name" and is_written else "name"
        hint = f'write `import {{ {name} }} from "{path}"`'
    c.report("V0101", f"expected `{{` and the names to import, found {c.found()}", at, hint)
    first = c.at - 1
    c.skip_statement(first)
    return n.BadStatement(c.starts[first], max(c.starts[first], c.ends[c.at - 1]))


def _find_equivalent_module(c: Cursor) -> tuple[str, bool]:
    """Return the module that a foreign import means here, and whether it is the one that is written."""
    at = c.at
    while c.kinds[at] not in ("text", "end") and at + 1 not in c.fresh:
        at += 1
    path = c.values[at] if c.kinds[at] == "text" else ""
    is_ours = path.startswith(("py:", "mcp:", "system/")) or path.endswith((".vibe", ".py"))
    return path if is_ours else EQUIVALENT_MODULES.get(path, "./file.vibe"), is_ours


def _parse_import_name(c: Cursor) -> n.ImportName:
    name = c.name("a name to import")
    node = n.ImportName(c.starts[name], c.ends[name], c.values[name], None, c.starts[name])
    if c.values[c.at] == "as" and c.kinds[c.at] == "name":
        c.at += 1
        alias = c.name("the name to use here")
        node.alias, node.alias_start, node.end = c.values[alias], c.starts[alias], c.ends[alias]
    return node


def parse_variable(
    c: Cursor, start: int, private: bool = False, asynchronous: bool = False, exported: bool = False
) -> n.Statement:
    """Parse `let` or `const`, whose keyword is the current token."""
    is_const = c.kinds[c.at] == "const"
    c.at += 1
    if is_private_modifier(c) and not private:
        private = True
        c.at += 1
    if c.kinds[c.at] in ("{", "["):
        pattern = parse_pattern(c)
        value = _parse_pattern_value(c)
        return n.Destructure(start, c.ends[c.at - 1], is_const, pattern, value, private, asynchronous, exported)
    if c.kinds[c.at] == "(":
        c.fail_unexpected("a name", "fields are taken with `const {name: text} = …`, items with `const [a, b] = …`")
    name = parse_declared_name(c)
    declared = value = None
    depth = c.depth
    try:
        declared = parse_declared_type(c, name)
        if c.kinds[c.at] == "=" and c.at not in c.fresh:
            c.at += 1
            value = parse_expression(c)
    except SyntaxErrorReported:
        value = _recover_value(c, name, depth)
    end = c.ends[c.at - 1]
    starts = c.starts
    return n.Let(start, end, is_const, c.values[name], declared, value, private, asynchronous, exported, starts[name])


def parse_declared_name(c: Cursor, what: str = "a name") -> int:
    """Parse the name of a variable; report and skip a type or `mut` before it."""
    skip_type_before_name(c)
    return c.name(what)


def parse_declared_type(c: Cursor, name: int) -> n.TypeNode | None:
    """Parse the type after the name of a variable or a parameter, if there is one."""
    skip_optional_parameter_mark(c, name)
    if report_missing_colon(c, name):
        return parse_type(c)
    if c.kinds[c.at] != ":":
        return None
    c.at += 1
    declared = parse_type(c)
    skip_optional_parameter_mark(c, name)
    return declared


def is_private_modifier(c: Cursor) -> bool:
    """Return True if the current word is the modifier `private`, and not a name itself."""
    at = c.at
    follows = c.kinds[at + 1] in ("name", "{", "[") and at + 1 not in c.fresh
    return c.values[at] == "private" and c.kinds[at] == "name" and follows


def parse_value(c: Cursor) -> n.Expr:
    """Parse an assigned value. If it is unreadable, the rest of the statement is kept."""
    first, depth = c.at, c.depth
    try:
        return parse_expression(c)
    except SyntaxErrorReported:
        return _recover_value(c, first, depth)


def _recover_value(c: Cursor, first: int, depth: int) -> n.BadExpr:
    c.depth, c.nested = depth, False
    c.skip_statement(first)
    return n.BadExpr(c.starts[first], max(c.starts[first], c.ends[c.at - 1]))


def _parse_pattern_value(c: Cursor) -> n.Expr:
    if c.kinds[c.at] == ":":
        hint = "write the types in it: `const {name: text, age: number} = …`"
        c.report("V0109", "a pattern has no type behind it", c.at, hint)
        raise SyntaxErrorReported
    if c.kinds[c.at] != "=":
        c.fail_unexpected("`=` and what to take apart", "write `const {name: text} = …`")
    c.at += 1
    return parse_value(c)


def parse_pattern(c: Cursor) -> n.Pattern | n.ArrayPattern:
    """Parse `{ name: text }` or `[a, b]`, which destructures a value."""
    if c.kinds[c.at] == "{":
        return _parse_object_pattern(c)
    start = c.starts[c.at]
    items = c.listed("]", _parse_pattern_item)
    return n.ArrayPattern(start, c.ends[c.at - 1], items)


def _parse_pattern_item(c: Cursor) -> n.PatternItem:
    if c.kinds[c.at] == "...":
        hint = "take the rest as a slice: `const rest = xs[1:]`"
        c.report("V0151", "a pattern has a name for each item, and none for the rest", c.at, hint)
        c.at += 1
    name = c.name("a name")
    declared = None
    if c.kinds[c.at] == ":":
        c.at += 1
        declared = parse_type(c)
    return n.PatternItem(c.starts[name], c.ends[c.at - 1], c.values[name], declared)


def _parse_object_pattern(c: Cursor) -> n.Pattern:
    start = c.starts[c.at]
    fields = c.listed("}", _parse_pattern_field, by_line=True)
    return n.Pattern(start, c.ends[c.at - 1], fields)


def _parse_pattern_field(c: Cursor) -> n.PatternField:
    if c.kinds[c.at] == "...":
        return _parse_rest_field(c)
    at = c.at
    start = c.starts[at]
    private = c.values[at] == "private" and c.kinds[at + 1] in WORD_KINDS and at + 1 not in c.fresh
    c.at += private
    before = skip_type_before_name(c)
    name = c.word("a field name")
    field = n.PatternField(start, c.ends[name], c.values[name], before, is_private=private)
    field.name_start = c.starts[name]
    skip_optional_field_mark(c, name)
    if report_missing_colon(c, name):
        field.declared = parse_type(c)
    elif c.kinds[c.at] == ":":
        c.at += 1
        if _is_nested_pattern(c):
            field.nested = _parse_object_pattern(c)
        else:
            field.declared = parse_type(c)
        skip_optional_field_mark(c, name)
    _skip_field_alias(c, field)
    if field.nested is None and c.kinds[name] != "name":
        c.report_reserved_word(name, "a name")
    field.description = parse_description(c)
    if c.kinds[c.at] == "=":
        c.at += 1
        field.default = parse_expression(c)
        field.description = parse_late_description(c, "a field", field.name) or field.description
    field.end = c.ends[c.at - 1]
    return field


def _parse_rest_field(c: Cursor) -> n.PatternField:
    """Report and parse `...rest`, which is JavaScript's pattern for the other fields."""
    hint = "name each field that is needed; the others stay in the object"
    c.report("V0151", "a pattern has a name for each field, and none for the rest", c.at, hint)
    name = c.at + 1
    c.at = name + (c.kinds[name] == "name")
    start, end = c.starts[name], c.ends[c.at - 1]
    return n.PatternField(start, end, c.values[name], n.TypeName(start, end, "json"), name_start=start)


def _skip_field_alias(c: Cursor, field: n.PatternField) -> None:
    """Report and skip `name as other`: a field cannot be renamed in a pattern."""
    if c.values[c.at] != "as" or c.kinds[c.at + 1] != "name":
        return
    other = c.values[c.at + 1]
    hint = f"for another name write `const {other} = x.{field.name}`"
    c.report("V0109", "a field keeps its name in a pattern", c.at, hint)
    c.lost.add(other)
    c.at += 2
    if field.declared is None:
        field.declared = n.TypeName(field.start, field.end, "json")


def parse_late_description(c: Cursor, what: str, name: str) -> str:
    """Parse and report a description after a default, which only an input has there."""
    at = c.at
    text = parse_description(c)
    if text:
        c.report(
            "V0128", f"the description of {what} stands before its default", at, f'write `{name}: … "{text[:40]}" = …`'
        )
    return text


def _is_nested_pattern(c: Cursor) -> bool:
    if c.kinds[c.at] != "{" or c.kinds[c.at + 1] == "[":
        return False
    closer = c.matching_bracket(c.at)
    return closer < 0 or c.kinds[closer + 1] not in ("[", "|")
