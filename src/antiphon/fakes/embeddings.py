"""Embeddings of the fakes: vectors of the words in a text, so that similar texts have similar vectors."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence
from typing import Any

from antiphon._base.json_access import as_array, as_integer, as_object, as_string
from antiphon.fakes.script import Received
from antiphon.fakes.vendors import ErrorReply
from antiphon.wire.api_spec import ApiSpec
from antiphon.wire.embeddings import GEMINI_EMBEDDINGS, OPENAI_EMBEDDINGS

#: The number of dimensions of known models, and of others.
_DIMENSIONS = {
    "text-embedding-3-small": 1536,
    "text-embedding-3-large": 3072,
    "text-embedding-ada-002": 1536,
    "gemini-embedding-001": 3072,
    "mistral-embed": 1024,
}
_OTHER_DIMENSIONS = 768
#: The models that make no shorter vectors.
_FIXED = ("text-embedding-ada-002", "mistral-embed")


def answer_embeddings(spec: ApiSpec, received: Received) -> dict[str, Any] | ErrorReply:
    """Return the body of the answer to a request for embeddings, or the error that the real server has."""
    if spec.embeddings is GEMINI_EMBEDDINGS:
        return _answer_gemini(received)
    return _answer_openai(received)


def _answer_openai(received: Received) -> dict[str, Any] | ErrorReply:
    body, given = as_object(received.body), as_object(received.body).get("input")
    texts = [given] if isinstance(given, str) else as_array(given)
    wanted = body.get("dimensions", body.get("output_dimension"))
    if not received.model:
        return ErrorReply("you must provide a model parameter")
    if len(texts) > OPENAI_EMBEDDINGS.max_texts:
        return ErrorReply(f"'$.input' is invalid. Please check the API reference: {len(texts)} inputs.", param="input")
    if not texts or not all(isinstance(each, str) and each for each in texts):
        return ErrorReply("'$.input' is invalid. Please check the API reference.", param="input")
    if wanted is not None and received.model in _FIXED:
        return ErrorReply("This model does not support specifying dimensions.", param="dimensions")
    if body.get("encoding_format", "float") not in ("float", "base64"):
        return ErrorReply("'$.encoding_format' is invalid.", param="encoding_format")
    vectors = _make_vectors(received.model, texts, wanted)
    if isinstance(vectors, ErrorReply):
        return vectors
    is_binary = body.get("encoding_format") == "base64"
    rows = [
        {"object": "embedding", "index": index, "embedding": _pack(vector) if is_binary else vector}
        for index, vector in enumerate(vectors)
    ]
    count = sum(_count_tokens(text) for text in texts)
    usage = {"prompt_tokens": count, "total_tokens": count}
    return {"object": "list", "data": rows, "model": received.model, "usage": usage}


def _answer_gemini(received: Received) -> dict[str, Any] | ErrorReply:
    asked = [as_object(each) for each in as_array(as_object(received.body).get("requests"))]
    if not asked or len(asked) > GEMINI_EMBEDDINGS.max_texts:
        return ErrorReply(
            f"* BatchEmbedContentsRequest.requests: at most 100 requests can be in one batch ({len(asked)})"
        )
    vectors: list[list[float]] = []
    for position, each in enumerate(asked):
        parts = [as_object(part) for part in as_array(as_object(each.get("content")).get("parts"))]
        text = " ".join(as_string(part.get("text")) for part in parts)
        where = f"* BatchEmbedContentsRequest.requests[{position}]"
        if each.get("model") != f"models/{received.model}":
            return ErrorReply(f"{where}.model: the model must match the model of the batch")
        if not text:
            return ErrorReply(f"{where}.content: contents is not specified")
        made = _make_vectors(received.model, [text], each.get("outputDimensionality"))
        if isinstance(made, ErrorReply):
            return made
        vectors += made
    return {"embeddings": [{"values": vector} for vector in vectors]}


def _make_vectors(model: str, texts: Sequence[str], wanted: object) -> list[list[float]] | ErrorReply:
    most = _DIMENSIONS.get(model, _OTHER_DIMENSIONS)
    count = most if wanted is None else as_integer(wanted)
    if count is None or not 1 <= count <= most:
        return ErrorReply(f"Invalid value for 'dimensions': {wanted!r} is not from 1 to {most}.", param="dimensions")
    return [_make_vector(text, count) for text in texts]


def _make_vector(text: str, count: int) -> list[float]:
    """Return a vector of length 1 that counts the words of a text."""
    numbers = [0.0] * count
    for word in re.findall(r"\w+", text.lower()) or [text]:
        numbers[int.from_bytes(hashlib.sha256(word.encode()).digest()[:8], "big") % count] += 1.0
    length = sum(number * number for number in numbers) ** 0.5
    return [number / length for number in numbers]


def _count_tokens(text: str) -> int:
    return len(re.findall(r"\w+|[^\w\s]", text)) or 1


def _pack(vector: Sequence[float]) -> str:
    from base64 import b64encode
    from struct import pack

    return b64encode(pack(f"<{len(vector)}f", *vector)).decode()
