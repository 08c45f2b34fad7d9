"""Parsing of declarations: inputs, results, models, types and imports."""

from __future__ import annotations

from antiphon.lang.syntax import nodes as n
from antiphon.lang.syntax.foreign_syntax.table import EQUIVALENT_MODULES, PYTHON_MODULE_HINTS
from antiphon.lang.syntax.parser.blocks import skip_indented_block
from antiphon.lang.syntax.parser.cursor import Cursor
from antiphon.lang.syntax.parser.types import parse_description, parse_plain_text, parse_type
from antiphon.lang.syntax.parser.variables import parse_value


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
