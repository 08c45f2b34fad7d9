"""What a program reaches beyond the models its user has: what one should know before one runs another's program."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import Field, fields
from typing import Any, cast

from antiphon.lang import nodes as n
from antiphon.lang.parser import parse
from antiphon.lang.source import Source

#: Tools that start something or send something, and the bundle that has them.
_POWERS = {
    "runShell": "runs commands",
    "fetchUrl": "fetches pages",
    "allTools": "may run commands and fetch pages",
}


def reach(source: Source) -> list[str]:
    """In words, one each: Python, addresses, keys and variables, servers, commands. The program is read, not run."""
    program, _ = parse(source)
    return list(dict.fromkeys(said for node in _nodes(program) for said in _said(node, source)))


def _nodes(tree: Any) -> Iterator[Any]:
    # No recursion: whoever wrote the program chose how deep it is.
    pending = [tree]
    while pending:
        node = pending.pop()
        yield node
        # Of a call of `env` the name says nothing more; anywhere else it does.
        parts = [node.arguments] if _reads_environment(node) else [_part(node, each) for each in fields(node)]
        pending += [each for part in reversed(parts) for each in reversed(part) if isinstance(each, n.Node)]


def _part(node: Any, field: Field[Any]) -> list[Any]:
    """What a field of a node holds, if it is of the text: what was found out about it is not."""
    value: Any = getattr(node, field.name) if field.compare else None
    return cast("list[Any]", value) if isinstance(value, list) else [value]


def _reads_environment(node: Any) -> bool:
    return isinstance(node, n.Call) and isinstance(node.callee, n.Name) and node.callee.name == "env"


def _said(node: Any, source: Source) -> Iterator[str]:
    match node:
        case n.PyBlock():
            yield "runs Python that is written in it"
        case n.Import(path=path) if path.startswith("py:") or path.endswith(".py"):
            yield f"runs Python: {path}"
        case n.Import(path=path) if path.startswith("mcp:"):
            yield f"uses the MCP server {path.removeprefix('mcp:')}"
        case n.Import(path="system/tools", names=names):
            yield from (_POWERS[each.name] for each in names if each.name in _POWERS)
        case n.Call(arguments=[first, *_]) if _reads_environment(node):
            yield f"reads the environment variable {_text(first, source)}"
        case n.Name(name="env"):
            yield "reads the environment"
        case n.ModelDecl(settings=settings):
            yield from _model(settings, source)
        case _:
            return


def _model(settings: n.ObjectLit, source: Source) -> Iterator[str]:
    for entry in settings.entries:
        is_plain = isinstance(entry.value, n.TextLit) and all(isinstance(part, str) for part in entry.value.parts)
        said = _text(entry.value, source)
        if entry.key == "url" or (entry.key == "provider" and ("://" in said or not is_plain)):
            yield f"sends prompts to {said}"
        elif entry.key == "apiKey":
            yield "sends prompts with a key of its own"


def _text(node: Any, source: Source) -> str:
    """What a text says; of one that is put together when it runs, how."""
    if isinstance(node, n.TextLit) and all(isinstance(part, str) for part in node.parts):
        return "".join(part for part in node.parts if isinstance(part, str))
    return f"`{source.text[node.start : node.end]}`"
