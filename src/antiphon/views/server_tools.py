"""Views of provider tools: a search, a page, executed code, and the sources of an answer."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, cast

from antiphon.conversation import AssistantTurn, Citation, ServerCall, ServerResult
from antiphon.results import Result, structured, table, terminal, text

ServerToolKind = Literal["search", "page", "code", "tool"]
_KIND_BY_TOOL: dict[str, ServerToolKind] = {
    "web_search": "search",
    "file_search": "search",
    "x_search": "search",
    "maps": "search",
    "web_fetch": "page",
    "code_execution": "code",
    "shell": "code",
}


#: The input fields that describe a call, the best first.
_TITLE_FIELDS = ("query", "queries", "url", "code", "command", "prompt")


def get_server_call_kind(call: ServerCall) -> ServerToolKind:
    """Return the kind of a provider's call for display."""
    return _KIND_BY_TOOL.get(call.tool, "tool")


def format_server_call(call: ServerCall) -> str:
    """Return a one-line title of a call: its tool and the first text of its input."""
    given = call.input
    words: object = next((given[name] for name in _TITLE_FIELDS if given.get(name)), "")
    said = "; ".join(map(str, cast(list[object], words))) if isinstance(words, list) else str(words)
    server = f" {given['server']}.{given.get('tool', '')}" if given.get("server") else ""
    return f"{call.tool}{server}: {said}" if said else f"{call.tool}{server}"


def find_server_result(call: ServerCall, turn: AssistantTurn) -> ServerResult | None:
    """Return the result of a provider's call, if there is one."""
    results = (part for part in turn.parts if isinstance(part, ServerResult))
    return next((result for result in results if result.call_id == call.id), None)


def list_server_results(call: ServerCall, turn: AssistantTurn) -> list[Result]:
    """Return the results of a provider's call: sources as a table, code with its output, other texts as they
    are.
    """
    result = find_server_result(call, turn)
    if result is None:
        return []
    found: list[Result] = []
    if result.sources:
        rows = [{"title": source.title, "url": source.url} for source in result.sources]
        found.append(table(rows, summary=f"{len(rows)} source{'s' if len(rows) > 1 else ''}"))
    if get_server_call_kind(call) == "code":
        code = call.input.get("code") or call.input.get("command") or ""
        found.append(terminal(str(code), result.text))
    elif result.text:
        found.append(text(result.text))
    if result.files:
        found.append(structured({"files": list(result.files)}))
    return found


def format_plain_sources(sources: Sequence[Citation]) -> str:
    """Return sources as a numbered list in plain text; "" for none."""
    lines = [f"{number}. {' '.join(source.name.split())}" for number, source in enumerate(sources, 1)]
    return "\n".join(["Sources:", *lines]) if lines else ""


def format_markdown_sources(sources: Sequence[Citation]) -> str:
    """Return sources as a numbered list in Markdown; "" for none. Only web addresses become links."""
    lines = [f"{number}. {_format_source(source)}" for number, source in enumerate(sources, 1)]
    return "\n".join(["Sources:", "", *lines]) if lines else ""


def _format_source(source: Citation) -> str:
    title = " ".join(source.title.split())
    for sign in "\\[]<>*_`":
        title = title.replace(sign, f"\\{sign}")
    is_web = source.url.startswith(("http://", "https://")) and not set(source.url) & set("<> \n")
    address = f"<{source.url}>" if is_web else ""
    return " ".join(filter(None, (title, address))) or "a source"
