"""Decoding of parts of server tools, which Google runs itself, and of citations from grounding
metadata.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

from antiphon._base.json import dump_json
from antiphon._base.json_access import as_array, as_integer, as_object, as_string
from antiphon.conversation import (
    AssistantPart,
    Citation,
    Origin,
    ProviderPayload,
    ServerCall,
    ServerResult,
    Text,
    shorten_call_id,
)
from antiphon.wire.gemini.field_names import as_object_list, camelize_keys, find_content_field
from antiphon.wire.server_tools import make_citation, truncate_result

_TOOL_KINDS = {"FILE_SEARCH": "file_search", "URL_CONTEXT": "web_fetch", "CODE_EXECUTION": "code_execution"}


def read_gemini_server_part(part: dict[str, Any], origin: Origin) -> ServerCall | ServerResult | None:
    """Convert a part of a server tool. Return None for any other part."""
    kind, native = find_content_field(part), ProviderPayload(origin, part)
    data = as_object(part.get(kind))
    id = as_string(data.get("id"))
    match kind:
        case "executableCode":
            given = {name: data[name] for name in ("language", "code") if data.get(name)}
            return ServerCall(id or shorten_call_id(dump_json(data)), "code_execution", given, native=native)
        case "codeExecutionResult":
            text, outcome = as_string(data.get("output")), as_string(data.get("outcome"))
            failed = "" if outcome in ("", "OUTCOME_OK") else f"{outcome.removeprefix('OUTCOME_').lower()}: "
            return ServerResult(id, (), truncate_result(failed + text), (), native)
        case "toolCall":
            return ServerCall(id, _read_tool_kind(data), as_object(data.get("args")), native=native)
        case "toolResponse":
            return _read_server_response(data, id, native)
        case _:
            return None


def _read_tool_kind(data: dict[str, Any]) -> str:
    kind = as_string(data.get("toolType"))
    return _TOOL_KINDS.get(kind, "web_search" if "SEARCH" in kind else "maps" if "MAPS" in kind else kind.lower())


def _read_server_response(data: dict[str, Any], id: str, native: ProviderPayload) -> ServerResult:
    response = as_object(data.get("response"))
    # Search suggestions are HTML to display, useless to a model.
    shown = {name: value for name, value in response.items() if "suggestion" not in name.lower()}
    return ServerResult(id, (), truncate_result(dump_json(shown)) if shown else "", (), native)


def pair_server_results(parts: Sequence[AssistantPart]) -> tuple[AssistantPart, ...]:
    """Return the parts with each result that names no call assigned to the preceding call."""
    paired, last = list[AssistantPart](), ""
    for part in parts:
        if isinstance(part, ServerCall):
            last = part.id
        if isinstance(part, ServerResult) and not part.call_id:
            part = replace(part, call_id=last)
        paired.append(part)
    return tuple(paired)


def add_citations(
    parts: Sequence[AssistantPart], candidate: dict[str, Any], origin: Origin
) -> tuple[AssistantPart, ...]:
    """Return the parts with the candidate's sources added to the texts that they support."""
    texts = [place for place, part in enumerate(parts) if isinstance(part, Text)]
    cited = list(parts)
    for place, citation in _iter_citations(parts, texts, candidate):
        part = cited[place]
        if isinstance(part, Text) and citation not in part.citations:
            # Keep the original part, so that the origin of the sources is known.
            native = part.native or ProviderPayload(origin, {"text": part.text})
            cited[place] = replace(part, native=native, citations=(*part.citations, citation))
    return tuple(cited)


def _iter_citations(
    parts: Sequence[AssistantPart], texts: list[int], candidate: dict[str, Any]
) -> Iterator[tuple[int, Citation]]:
    if not texts:
        return
    grounding = camelize_keys(candidate.get("groundingMetadata"))
    chunks = [_read_chunk(camelize_keys(chunk)) for chunk in as_object_list(grounding.get("groundingChunks"))]
    used: set[int] = set()
    for support in map(camelize_keys, as_object_list(grounding.get("groundingSupports"))):
        segment = camelize_keys(support.get("segment"))
        place, start, end = _locate_segment(parts, texts, segment)
        for index in as_array(support.get("groundingChunkIndices")):
            if isinstance(index, int) and index < len(chunks) and chunks[index].name:
                used.add(index)
                yield place, replace(chunks[index], start=start, end=end)
    yield from ((texts[-1], chunk) for index, chunk in enumerate(chunks) if index not in used and chunk.name)
    for source in map(
        camelize_keys, as_object_list(camelize_keys(candidate.get("citationMetadata")).get("citationSources"))
    ):
        if (found := make_citation(source)).name:
            yield texts[-1], found
    for page in map(
        camelize_keys, as_object_list(camelize_keys(candidate.get("urlContextMetadata")).get("urlMetadata"))
    ):
        if url := as_string(page.get("retrievedUrl")):
            yield texts[-1], Citation(url)


def _read_chunk(chunk: dict[str, Any]) -> Citation:
    """Convert a grounding chunk into a citation: a page, a map place, or a piece of a file."""
    kind = next(iter(chunk), "")
    data = camelize_keys(chunk.get(kind))
    return make_citation({"title": as_string(data.get("fileSearchStore"))} | data, as_string(data.get("text")))


def _locate_segment(
    parts: Sequence[AssistantPart], texts: list[int], segment: dict[str, Any]
) -> tuple[int, int | None, int | None]:
    """Return the part that holds a segment, and the segment's character range. The API counts bytes."""
    said, quote = (texts[-1], as_string(segment.get("text")))
    for place in texts:
        part = parts[place]
        if isinstance(part, Text) and quote and quote in part.text:
            said = place
            start = _byte_to_char_index(part.text, as_integer(segment.get("startIndex")) or 0)
            found = start if part.text[start : start + len(quote)] == quote else part.text.index(quote)
            return place, found, found + len(quote)
    return said, None, None


def _byte_to_char_index(text: str, byte: int) -> int:
    return len(text.encode()[:byte].decode(errors="ignore"))
