"""What a program reaches beyond the models its user has: what one should know before one runs another's program."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TypeGuard

from antiphon.lang.pyfiles import Files, python_files
from antiphon.lang.syntax import nodes as n
from antiphon.lang.syntax.parser import parse
from antiphon.lang.syntax.source import Source

_RUNS = "runs commands"
#: Tools that start something, send something or touch files, and the bundles that have them.
_POWERS = {
    **dict.fromkeys(("readFile", "listFiles", "globFiles", "grepFiles"), "reads files where it is run"),
    **dict.fromkeys(("gitStatus", "gitDiff", "gitLog"), "reads the repository where it is run"),
    **dict.fromkeys(("writeFile", "editFile"), "writes files where it is run"),
    "runShell": _RUNS,
    "fetchUrl": "fetches pages",
    "readonlyTools": "may read files where it is run",
    "allTools": "may read and write files where it is run, run commands and fetch pages",
}


#: The same of the other modules of the system.
_SYSTEM_POWERS: dict[str, dict[str, str]] = {
    "system/files": {
        **dict.fromkeys(("readText", "readLines", "readBytes", "exists", "list"), "reads files of this machine"),
        **dict.fromkeys(
            ("writeText", "appendText", "copy", "move", "remove"), "writes, moves or removes files of this machine"
        ),
    },
    "system/http": dict.fromkeys(("get", "post", "request"), "sends requests to addresses it chooses"),
    "system/process": {"run": _RUNS},
    "system/tools": _POWERS,
}


def reach(source: Source, python: Mapping[Path, Files] | None = None) -> list[str]:
    """In words, one each: Python, addresses, keys and variables, servers, commands. The program is read, not run.

    `python` holds the Python files that were read with it already, by the first of them.
    """
    program, _ = parse(source)
    nodes = list(n.walk(program, _parts))
    said = (each for node in nodes for each in _said(node, source, python or {}))
    return list(dict.fromkeys([*said, *_commands(nodes, source)]))


def _commands(nodes: Sequence[n.Node], source: Source) -> Iterator[str]:
    """Yield which commands a program runs, as it is written, and the files of theirs that are beside it.

    Trust in a command is trust in the program as it is: what is put together when it runs may come from any line.
    """
    imports = (node for node in nodes if isinstance(node, n.Import) and node.path in _SYSTEM_POWERS)
    powers = ((each, _SYSTEM_POWERS[node.path].get(each.name)) for node in imports for each in node.names)
    aliases = {each.alias or each.name for each, power in powers if power == _RUNS}
    if not aliases:
        return
    from antiphon.config.pins import UNPINNABLE, TooManyPins, pinned_by_command

    calls = [each for each in nodes if isinstance(each, n.Call) and isinstance(each.callee, n.Name)]
    texts = [
        source.text[each.arguments[0].start : each.arguments[-1].end]
        for each in calls
        if each.arguments and isinstance(each.callee, n.Name) and each.callee.name in aliases
    ]
    yield from (f"runs the command {text}" for text in texts)
    yield f"runs commands as it is written now ({_fingerprint([source.text.encode(errors='replace')])})"
    try:
        pins = pinned_by_command(texts, _directories(source))
    except TooManyPins:
        yield UNPINNABLE
        return
    for path in pins:
        yield f"runs {path.name} as it is now ({_fingerprint([path.read_bytes()])})"


def _directories(source: Source) -> list[Path]:
    """Return where a program's commands may find files: beside it, and above it in its repository."""
    here = Path(source.name).resolve().parent
    above = [here, *here.parents]
    top = next((at for at, each in enumerate(above) if (each / ".git").exists()), 0)
    return above[: top + 1]


def _parts(node: n.Node) -> Sequence[n.Node]:
    # Of a call of `env` the name says nothing more; anywhere else it does.
    return node.arguments if _reads_environment(node) else n.children(node)


def _reads_environment(node: n.Node) -> TypeGuard[n.Call]:
    return isinstance(node, n.Call) and isinstance(node.callee, n.Name) and node.callee.name == "env"


def _said(node: n.Node, source: Source, python: Mapping[Path, Files]) -> Iterator[str]:
    match node:
        case n.PyBlock(code=code):
            yield f"runs Python that is written in it ({_fingerprint([code.encode(errors='replace')])})"
        case n.Import(path=path) if path.endswith(".py"):
            file = (Path(source.name).parent / path).resolve()
            files = python[file] if file in python else python_files(file)
            yield f"runs Python: {path} ({_fingerprint(files.values())})"
        case n.Import(path=path) if path.startswith("py:"):
            yield f"runs Python: {path}"
        case n.Import(path=path) if path.startswith("mcp:"):
            yield f"uses the MCP server {path.removeprefix('mcp:')}"
        case n.Import(path=path, names=names) if path in _SYSTEM_POWERS:
            powers = _SYSTEM_POWERS[path]
            yield from (powers[each.name] for each in names if powers.get(each.name, _RUNS) != _RUNS)
        case n.Call(arguments=[first, *_]) if _reads_environment(node):
            yield f"reads the environment variable {_text(first, source)}"
        case n.Name(name="env"):
            yield "reads the environment"
        case n.ModelDecl(settings=settings):
            yield from _model(settings, source)
        case _:
            return


def _fingerprint(contents: Iterable[bytes]) -> str:
    """What Python says is part of what is trusted: when it says something else, so does this."""
    # Only what has Python in it needs it, and it takes long to load.
    import hashlib

    digest = hashlib.sha256()
    for content in contents:
        digest.update(hashlib.sha256(content).digest())
    return digest.hexdigest()[:24]


def _model(settings: n.ObjectLit, source: Source) -> Iterator[str]:
    for entry in settings.entries:
        if isinstance(entry, n.Spread):
            continue
        is_plain = isinstance(entry.value, n.TextLit) and all(isinstance(part, str) for part in entry.value.parts)
        said = _text(entry.value, source)
        if entry.key == "url" or (entry.key == "provider" and ("://" in said or not is_plain)):
            yield f"sends prompts to {said}"
        elif entry.key == "name" and not is_plain:
            yield f"asks a model that is named when it runs: {said}"
        elif entry.key == "name" and said.lower().endswith(".gguf"):
            yield f"loads a model from the file {said}"
        elif entry.key == "apiKey":
            yield "sends prompts with a key of its own"


def _text(node: n.Expr, source: Source) -> str:
    """What a text says; of one that is put together when it runs, how."""
    if isinstance(node, n.TextLit) and all(isinstance(part, str) for part in node.parts):
        return "".join(part for part in node.parts if isinstance(part, str))
    return f"`{source.text[node.start : node.end]}`"
