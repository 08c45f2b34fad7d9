"""The capabilities of a program beyond the user's models, to review before running another person's program."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TypeGuard

from antiphon.lang.python_files import PythonSources, collect_python_files
from antiphon.lang.syntax import nodes as n
from antiphon.lang.syntax.parser.source_parser import parse_source
from antiphon.lang.syntax.source import Source

_RUNS_COMMANDS = "runs commands"
#: Capabilities of tools that start processes, send data or access files, and of the bundles that contain them.
_TOOL_CAPABILITIES = {
    **dict.fromkeys(("readFile", "listFiles", "globFiles", "grepFiles"), "reads files where it is run"),
    **dict.fromkeys(("gitStatus", "gitDiff", "gitLog"), "reads the repository where it is run"),
    **dict.fromkeys(("writeFile", "editFile"), "writes files where it is run"),
    "runShell": _RUNS_COMMANDS,
    "fetchUrl": "fetches pages",
    "readonlyTools": "may read files where it is run",
    "allTools": "may read and write files where it is run, run commands and fetch pages",
}


#: The capabilities of the functions of each system module.
_SYSTEM_CAPABILITIES: dict[str, dict[str, str]] = {
    "system/files": {
        **dict.fromkeys(("readText", "readLines", "readBytes", "exists", "list"), "reads files of this machine"),
        **dict.fromkeys(
            ("writeText", "appendText", "copy", "move", "remove"), "writes, moves or removes files of this machine"
        ),
    },
    "system/http": dict.fromkeys(("get", "post", "request"), "sends requests to addresses it chooses"),
    "system/process": {"run": _RUNS_COMMANDS},
    "system/tools": _TOOL_CAPABILITIES,
}


def describe_capabilities(source: Source, python: Mapping[Path, PythonSources] | None = None) -> list[str]:
    """Return one phrase per capability of a program: Python, addresses, keys, variables, servers, commands.

    It parses the program and runs nothing.

    `python` maps the first of a program's Python files to all files that were already read with it.
    """
    program, _ = parse_source(source)
    nodes = list(n.walk(program, _visited_children))
    said = (each for node in nodes for each in _describe_node(node, source, python or {}))
    return list(dict.fromkeys([*said, *_describe_commands(nodes, source)]))


def list_model_settings(source: Source) -> list[dict[str, str]]:
    """Return the settings of each model that a program declares, as far as they are plain texts."""
    program, _ = parse_source(source)
    declared = [node.settings.entries for node in n.walk(program) if isinstance(node, n.ModelDecl)]
    plain = [
        [(each.key, n.get_plain_text(each.value)) for each in entries if isinstance(each, n.ObjectEntry)]
        for entries in declared
    ]
    return [{key: text for key, text in pairs if text is not None} for pairs in plain]


def _describe_commands(nodes: Sequence[n.Node], source: Source) -> Iterator[str]:
    """Yield the commands that a program runs, and the files beside it that these commands name.

    Trust in a command is trust in the program's whole text: a command built at run time may come from any line.
    """
    imports = (node for node in nodes if isinstance(node, n.Import) and node.path in _SYSTEM_CAPABILITIES)
    powers = ((each, _SYSTEM_CAPABILITIES[node.path].get(each.name)) for node in imports for each in node.names)
    aliases = {each.alias or each.name for each, power in powers if power == _RUNS_COMMANDS}
    if not aliases:
        return
    from antiphon.config.pinned_files import UNPINNABLE, TooManyPins, find_pinned_by_command

    calls = [each for each in nodes if isinstance(each, n.Call) and isinstance(each.callee, n.Name)]
    texts = [
        source.text[each.arguments[0].start : each.arguments[-1].end]
        for each in calls
        if each.arguments and isinstance(each.callee, n.Name) and each.callee.name in aliases
    ]
    yield from (f"runs the command {text}" for text in texts)
    yield f"runs commands as it is written now ({_fingerprint([source.text.encode(errors='replace')])})"
    try:
        pins = find_pinned_by_command(texts, _command_directories(source))
    except TooManyPins:
        yield UNPINNABLE
        return
    for path in pins:
        yield f"runs {path.name} as it is now ({_fingerprint([path.read_bytes()])})"


def _command_directories(source: Source) -> list[Path]:
    """Return where a program's commands may find files: in its directory, and above it in its repository."""
    here = Path(source.name).resolve().parent
    above = [here, *here.parents]
    top = next((at for at, each in enumerate(above) if (each / ".git").exists()), 0)
    return above[: top + 1]


def _visited_children(node: n.Node) -> Sequence[n.Node]:
    # The name `env` in a call is reported with its argument; elsewhere it is reported by itself.
    return node.arguments if _is_env_call(node) else n.children(node)


def _is_env_call(node: n.Node) -> TypeGuard[n.Call]:
    return isinstance(node, n.Call) and isinstance(node.callee, n.Name) and node.callee.name == "env"


def _describe_node(node: n.Node, source: Source, python: Mapping[Path, PythonSources]) -> Iterator[str]:
    match node:
        case n.PyBlock(code=code):
            yield f"runs Python that is written in it ({_fingerprint([code.encode(errors='replace')])})"
        case n.Import(path=path) if path.endswith(".py"):
            file = (Path(source.name).parent / path).resolve()
            files = python[file] if file in python else collect_python_files(file)
            yield f"runs Python: {path} ({_fingerprint(files.values())})"
        case n.Import(path=path) if path.startswith("py:"):
            yield f"runs Python: {path}"
        case n.Import(path=path) if path.startswith("mcp:"):
            yield f"uses the MCP server {path.removeprefix('mcp:')}"
        case n.Import(path=path, names=names) if path in _SYSTEM_CAPABILITIES:
            powers = _SYSTEM_CAPABILITIES[path]
            yield from (powers[each.name] for each in names if powers.get(each.name, _RUNS_COMMANDS) != _RUNS_COMMANDS)
        case n.Call(arguments=[first, *_]) if _is_env_call(node):
            yield f"reads the environment variable {_describe_text(first, source)}"
        case n.Name(name="env"):
            yield "reads the environment"
        case n.ModelDecl(settings=settings):
            yield from _describe_model(settings, source)
        case _:
            return


def _fingerprint(contents: Iterable[bytes]) -> str:
    """Return a hash of file contents: trust covers the content, so changed content changes the phrase."""
    # Imported late: only programs with Python or commands need it, and it is slow to load.
    import hashlib

    digest = hashlib.sha256()
    for content in contents:
        digest.update(hashlib.sha256(content).digest())
    return digest.hexdigest()[:24]


def _describe_model(settings: n.ObjectLit, source: Source) -> Iterator[str]:
    for entry in settings.entries:
        if isinstance(entry, n.Spread):
            continue
        is_plain = n.get_plain_text(entry.value) is not None
        said = _describe_text(entry.value, source)
        if entry.key == "url" or (entry.key == "provider" and ("://" in said or not is_plain)):
            yield f"sends prompts to {said}"
        elif entry.key == "name" and not is_plain:
            yield f"asks a model that is named when it runs: {said}"
        elif entry.key == "name" and said.lower().endswith(".gguf"):
            yield f"loads a model from the file {said}"
        elif entry.key == "apiKey":
            yield "sends prompts with a key of its own"


def _describe_text(node: n.Expr, source: Source) -> str:
    """Return the value of a constant text, or the source of one that is built at run time."""
    text = n.get_plain_text(node)
    return text if text is not None else f"`{source.text[node.start : node.end]}`"
