"""Parts of the tools that Google runs itself, and citations from what stands beside an answer."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

from antiphon._json import dumps
from antiphon._shape import arr, number, obj, string
from antiphon.conversation import AssistantPart, Citation, Native, Origin, ServerCall, ServerResult, Text, short_id
from antiphon.wire.gemini.keys import camel_keys, kind_of, several
from antiphon.wire.server_tools import cite, shorten

_TOOLS = {"FILE_SEARCH": "file_search", "URL_CONTEXT": "web_fetch", "CODE_EXECUTION": "code_execution"}


def read_server_part(part: dict[str, Any], origin: Origin) -> ServerCall | ServerResult | None:
    """Return a part of a server tool; nothing for any other part."""
    kind, native = kind_of(part), Native(origin, part)
    data = obj(part.get(kind))
    id = string(data.get("id"))
    match kind:
        case "executableCode":
            given = {name: data[name] for name in ("language", "code") if data.get(name)}
            return ServerCall(id or short_id(dumps(data)), "code_execution", given, native=native)
        case "codeExecutionResult":
            text, outcome = string(data.get("output")), string(data.get("outcome"))
            failed = "" if outcome in ("", "OUTCOME_OK") else f"{outcome.removeprefix('OUTCOME_').lower()}: "
            return ServerResult(id, (), shorten(failed + text), (), native)
        case "toolCall":
            return ServerCall(id, _tool(data), obj(data.get("args")), native=native)
        case "toolResponse":
            return _read_response(data, id, native)
        case _:
            return None


def _tool(data: dict[str, Any]) -> str:
    kind = string(data.get("toolType"))
    return _TOOLS.get(kind, "web_search" if "SEARCH" in kind else "maps" if "MAPS" in kind else kind.lower())


def _read_response(data: dict[str, Any], id: str, native: Native) -> ServerResult:
    response = obj(data.get("response"))
    # Suggestions are a page to show, which says nothing to a model.
    shown = {name: value for name, value in response.items() if "suggestion" not in name.lower()}
    return ServerResult(id, (), shorten(dumps(shown)) if shown else "", (), native)


def pair_results(parts: Sequence[AssistantPart]) -> tuple[AssistantPart, ...]:
    """Return the parts with each result that names no call given to the call before it."""
    paired, last = list[AssistantPart](), ""
    for part in parts:
        if isinstance(part, ServerCall):
            last = part.id
        if isinstance(part, ServerResult) and not part.call_id:
            part = replace(part, call_id=last)
        paired.append(part)
    return tuple(paired)


def cite_texts(parts: Sequence[AssistantPart], candidate: dict[str, Any], origin: Origin) -> tuple[AssistantPart, ...]:
    """Return the parts with the sources that the candidate names on the texts that they support."""
    texts = [place for place, part in enumerate(parts) if isinstance(part, Text)]
    cited = list(parts)
    for place, citation in _citations(parts, texts, candidate):
        part = cited[place]
        if isinstance(part, Text) and citation not in part.citations:
            # Whose sources they are is to be known, so the part is kept as it came.
            native = part.native or Native(origin, {"text": part.text})
            cited[place] = replace(part, native=native, citations=(*part.citations, citation))
    return tuple(cited)


def _citations(
    parts: Sequence[AssistantPart], texts: list[int], candidate: dict[str, Any]
) -> Iterator[tuple[int, Citation]]:
    if not texts:
        return
    grounding = camel_keys(candidate.get("groundingMetadata"))
    chunks = [_chunk(camel_keys(chunk)) for chunk in several(grounding.get("groundingChunks"))]
    used: set[int] = set()
    for support in map(camel_keys, several(grounding.get("groundingSupports"))):
        segment = camel_keys(support.get("segment"))
        place, start, end = _place(parts, texts, segment)
        for index in arr(support.get("groundingChunkIndices")):
            if isinstance(index, int) and index < len(chunks) and chunks[index].name:
                used.add(index)
                yield place, replace(chunks[index], start=start, end=end)
    yield from ((texts[-1], chunk) for index, chunk in enumerate(chunks) if index not in used and chunk.name)
    for source in map(camel_keys, several(camel_keys(candidate.get("citationMetadata")).get("citationSources"))):
        if (found := cite(source)).name:
            yield texts[-1], found
    for page in map(camel_keys, several(camel_keys(candidate.get("urlContextMetadata")).get("urlMetadata"))):
        if url := string(page.get("retrievedUrl")):
            yield texts[-1], Citation(url)


def _chunk(chunk: dict[str, Any]) -> Citation:
    """Return the source that a chunk is: a page, a place, or a piece of a file."""
    kind = next(iter(chunk), "")
    data = camel_keys(chunk.get(kind))
    return cite({"title": string(data.get("fileSearchStore"))} | data, string(data.get("text")))


def _place(
    parts: Sequence[AssistantPart], texts: list[int], segment: dict[str, Any]
) -> tuple[int, int | None, int | None]:
    """Return the text that a segment lies in, and its characters; the API counts bytes."""
    said, quote = (texts[-1], string(segment.get("text")))
    for place in texts:
        part = parts[place]
        if isinstance(part, Text) and quote and quote in part.text:
            said = place
            start = _character(part.text, number(segment.get("startIndex")) or 0)
            found = start if part.text[start : start + len(quote)] == quote else part.text.index(quote)
            return place, found, found + len(quote)
    return said, None, None


def _character(text: str, byte: int) -> int:
    return len(text.encode()[:byte].decode(errors="ignore"))
