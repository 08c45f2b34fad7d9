"""Requests for embeddings in the forms of OpenAI and Gemini.

Sources: the types of openai 3.49 and google-genai 3.1, read on 2026-11-19.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from antiphon._base.json_access import as_array, as_integer, as_object
from antiphon.errors import BadReply

Vector = tuple[float, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class EmbeddingForm:
    """The form of embeddings of an API: the path of requests, the largest request, and its bodies.

    `version` is the beginning of the path that base URLs do not have.
    """

    path: str
    version: str = ""
    #: The most texts of a request, and their most bytes in UTF-8.
    max_texts: int
    max_bytes: int
    encode: Callable[[str, Sequence[str], Mapping[str, Any]], dict[str, Any]]
    #: The name of the field for the number of dimensions; some servers of the same API have another.
    dimensions_field: str
    dimensions_field_by_provider: Mapping[str, str]
    decode: Callable[[dict[str, Any]], list[Any]]
    #: Return the number of tokens, or None if it is unknown.
    count_tokens: Callable[[dict[str, Any]], int | None]


def build_embedding_fields(form: EmbeddingForm, provider: str, dimensions: int | None) -> dict[str, Any]:
    """Return the fields of a request besides its model and texts."""
    if dimensions is None:
        return {}
    return {form.dimensions_field_by_provider.get(provider, form.dimensions_field): dimensions}


def split_texts(form: EmbeddingForm, texts: Sequence[str]) -> list[Sequence[str]]:
    """Return the texts of each request, in order."""
    if not texts:
        return []
    starts, size = [0], 0
    for position, text in enumerate(texts):
        size += (length := len(text.encode("utf-8", "replace")))
        if position - starts[-1] == form.max_texts or (size > form.max_bytes and position > starts[-1]):
            starts.append(position)
            size = length
    return [texts[start:end] for start, end in zip(starts, [*starts[1:], len(texts)], strict=True)]


def parse_embeddings(form: EmbeddingForm, provider: str, body: object, count: int) -> tuple[list[Vector], int | None]:
    """Return the vectors of a response in the order of the texts, and the number of tokens.

    Raise BadReply if it does not have all vectors.
    """
    data = as_object(body)
    vectors = [_parse_vector(each) for each in form.decode(data)]
    if len(vectors) != count or not all(vectors) or len({len(each or ()) for each in vectors}) > 1:
        raise BadReply(
            f"{provider} answered with {len(vectors)} embeddings for {count} texts, or with damaged ones; is the model"
            " an embedding model?",
            provider=provider,
        )
    return [each for each in vectors if each], form.count_tokens(data)


def _parse_vector(value: object) -> Vector | None:
    numbers = as_array(value)
    if not all(isinstance(each, int | float) and not isinstance(each, bool) for each in numbers):
        return None
    return tuple([float(each) for each in numbers])


def _encode_openai(model: str, texts: Sequence[str], fields: Mapping[str, Any]) -> dict[str, Any]:
    return {"model": model, "input": list(texts), "encoding_format": "float", **fields}


def _decode_openai(data: dict[str, Any]) -> list[Any]:
    rows = [as_object(each) for each in as_array(data.get("data"))]
    positions = [as_integer(row.get("index")) for row in rows]
    if sorted(each for each in positions if each is not None) != list(range(len(rows))):
        return []
    ordered = sorted(zip(positions, rows, strict=True), key=lambda pair: pair[0] or 0)
    return [row.get("embedding") for _, row in ordered]


def _count_openai_tokens(data: dict[str, Any]) -> int | None:
    return as_integer(as_object(data.get("usage")).get("prompt_tokens"))


def _encode_gemini(model: str, texts: Sequence[str], fields: Mapping[str, Any]) -> dict[str, Any]:
    name = f"models/{model}"
    return {"requests": [{"model": name, "content": {"parts": [{"text": text}]}, **fields} for text in texts]}


def _decode_gemini(data: dict[str, Any]) -> list[Any]:
    return [as_object(each).get("values") for each in as_array(data.get("embeddings"))]


def _count_gemini_tokens(data: dict[str, Any]) -> int | None:
    return as_integer(as_object(data.get("usageMetadata")).get("promptTokenCount"))


#: OpenAI's form, which Mistral, Ollama, vLLM and others have too. OpenAI takes 300,000 tokens in all; a byte is at
#: most one token.
OPENAI_EMBEDDINGS = EmbeddingForm(
    path="/embeddings",
    max_texts=2048,
    max_bytes=300_000,
    encode=_encode_openai,
    dimensions_field="dimensions",
    dimensions_field_by_provider={"mistral": "output_dimension"},
    decode=_decode_openai,
    count_tokens=_count_openai_tokens,
)
GEMINI_EMBEDDINGS = EmbeddingForm(
    path="/models/{model}:batchEmbedContents",
    version="/v1beta",
    max_texts=100,
    max_bytes=300_000,
    encode=_encode_gemini,
    dimensions_field="outputDimensionality",
    dimensions_field_by_provider={},
    decode=_decode_gemini,
    count_tokens=_count_gemini_tokens,
)
