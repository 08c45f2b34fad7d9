"""Embeddings: texts as vectors, from the embedding models of providers."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, overload
from urllib.parse import quote

from antiphon._base.json import dump_json
from antiphon.errors import OptionError
from antiphon.providers.exchange import SendRequest
from antiphon.wire import APIS, Usage
from antiphon.wire.embeddings import Vector, build_embedding_fields, parse_embeddings, split_texts

if TYPE_CHECKING:
    from antiphon.providers.json_exchange import JsonExchange
    from antiphon.wire import Target


@dataclass(frozen=True, slots=True)
class Embeddings(Sequence[Vector]):
    """The vectors of texts, in their order. `cost` is in US dollars, None if it is unknown."""

    vectors: tuple[Vector, ...]
    model: str
    usage: Usage
    cost: float | None

    @overload
    def __getitem__(self, index: int) -> Vector: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[Vector, ...]: ...
    def __getitem__(self, index: int | slice) -> Vector | tuple[Vector, ...]:
        return self.vectors[index]

    def __len__(self) -> int:
        return len(self.vectors)

    def __iter__(self) -> Iterator[Vector]:
        return iter(self.vectors)

    def __repr__(self) -> str:
        length = len(self.vectors[0]) if self.vectors else 0
        return f"<Embeddings of {self.model}: {len(self.vectors)} vectors of {length} numbers>"


class EmbeddingJob:
    """The requests for the embeddings of texts. `collect` returns them when all exchanges have ended."""

    def __init__(
        self,
        target: Target,
        make_exchange: Callable[[SendRequest], JsonExchange],
        compute_cost: Callable[[Usage], float | None],
        texts: Iterable[str],
        dimensions: int | None,
        extra: Mapping[str, Any] | None,
    ) -> None:
        form = APIS[target.api].embeddings
        if form is None or target.profile.path:
            raise OptionError(
                f"{target.provider} has no embedding models; there are `openai/text-embedding-3-small`,"
                " `google/gemini-embedding-001`, `mistral/mistral-embed`, and `ollama/NAME`"
            )
        self._target, self._form, self._compute_cost = target, form, compute_cost
        self._pages = split_texts(form, _check_texts(texts))
        fields = {**build_embedding_fields(form, target.provider, _check_dimensions(dimensions)), **(extra or {})}
        self.path = form.version + form.path.replace("{model}", quote(target.model, safe=""))
        bodies = (form.encode(target.model, page, fields) for page in self._pages)
        self.exchanges = [make_exchange(SendRequest(dump_json(body).encode())) for body in bodies]

    def collect(self) -> Embeddings:
        """Return the embeddings. Raise BadReply if an answer does not have one for each text."""
        vectors: list[Vector] = []
        counts: list[int | None] = []
        for exchange, page in zip(self.exchanges, self._pages, strict=True):
            found, count = parse_embeddings(self._form, self._target.provider, exchange.result, len(page))
            vectors += found
            counts.append(count)
        known = [each for each in counts if each is not None]
        usage = Usage(sum(known) if len(known) == len(counts) else None, 0)
        name = f"{self._target.provider}/{self._target.model}"
        return Embeddings(tuple(vectors), name, usage, self._compute_cost(usage))


def _check_texts(texts: Iterable[str]) -> list[str]:
    if isinstance(texts, str):
        raise OptionError("`embed` takes a list of texts, not one text")
    checked = list(texts)
    for position, text in enumerate(checked, 1):
        if not isinstance(text, str) or not text.strip():
            raise OptionError(f"text {position} is {text!r:.60}; embeddings are made of texts that are not empty")
    return checked


def _check_dimensions(dimensions: int | None) -> int | None:
    if dimensions is not None and (not isinstance(dimensions, int) or isinstance(dimensions, bool) or dimensions < 1):
        raise OptionError(f"`dimensions` is a number from 1, not {dimensions!r:.60}")
    return dimensions


def embed(texts: Iterable[str], model: str, *, dimensions: int | None = None, **settings: Any) -> Embeddings:
    """Return the embeddings of texts by a model such as `openai/text-embedding-3-small`.

    `dimensions` asks for shorter vectors. `settings` are those of `connect`. In a saved session the request is
    repeated when the session is resumed; use a step to save the vectors.
    """
    from antiphon.providers.model import connect

    with connect(model, **settings) as connected:
        return connected.embed(texts, dimensions=dimensions)


async def aembed(texts: Iterable[str], model: str, *, dimensions: int | None = None, **settings: Any) -> Embeddings:
    """Like `embed`, but asynchronous."""
    from antiphon.providers.model import connect

    async with connect(model, **settings) as connected:
        return await connected.aembed(texts, dimensions=dimensions)
