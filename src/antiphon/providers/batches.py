"""Batches of model requests at a provider: sent, found again, polled, read and cancelled."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import islice
from tempfile import TemporaryFile
from typing import IO, TYPE_CHECKING, Any, NamedTuple, Protocol

from antiphon._base.json import load_json
from antiphon._base.json_access import as_object, as_string
from antiphon.errors import BadReply, MalformedJSONError, OptionError
from antiphon.facts.batch_facts import BatchFacts, find_batch_facts
from antiphon.facts.table import load_fact_table
from antiphon.providers.exchange import SendRequest
from antiphon.providers.json_exchange import JsonExchange
from antiphon.providers.response_limits import ResponseLimits
from antiphon.providers.retry import NO_RETRY
from antiphon.wire import APIS, EncodedRequest, Target, Usage
from antiphon.wire.batches import BatchForm, BatchItem, BatchOutcome, BatchPost, BatchResult, BatchState

if TYPE_CHECKING:
    from antiphon.providers.client import HttpClient
    from antiphon.providers.redaction import SecretRedactor
    from antiphon.providers.registry import Provider
    from antiphon.providers.retry import Retry
    from antiphon.wire import ApiCodec

#: Clocks differ by less, in seconds.
_MAX_CLOCK_SKEW = 600.0
#: How many of the newest batches are searched for one whose id was lost.
_MAX_SEARCHED = 1_000


class Deferral(Protocol):
    """Answers the requests of one step from batches, or suspends the step until they are answered."""

    def take(self, request: EncodedRequest, batches: ProviderBatches) -> bytes | None:
        """Return the body of the answer to a request, or None to send it now. Raise Suspended if it has none yet."""
        ...

    def count(self, usage: Usage) -> None:
        """Count the usage of an answer from a batch."""
        ...

    def settle(self, usage: Usage, compute_cost: Callable[[Usage], float | None]) -> float | None:
        """Return the cost of the whole step."""
        ...


class FoundBatch(NamedTuple):
    """A batch that was found again. Unless `is_sure`, only its results can show whether it is the right one."""

    id: str
    is_sure: bool


class ProviderBatches:
    """The batches at a model's provider. The requests of one batch share model, path and headers."""

    def __init__(
        self,
        client: HttpClient,
        codec: ApiCodec,
        target: Target,
        path: str,
        retry: Retry,
        limits: ResponseLimits,
        secrets: SecretRedactor,
    ) -> None:
        self.facts, self._form = get_batch_api(target.provider, target.api)
        self.target = target
        #: Batches with an equal one can be sent together.
        self.group = (client.url, target.provider, target.model, path)
        self._client, self._codec, self._path = client, codec, path
        self._retry, self._limits, self._secrets = retry, limits, secrets

    def measure(self, item: BatchItem) -> int:
        """Return the bytes that an item takes in a batch."""
        return len(item.body) + self._form.item_overhead

    def send(self, key: str, items: Sequence[BatchItem], headers: Mapping[str, str]) -> str:
        """Send a batch and return its id. It is sent once: after a failure it may exist, and `find` looks for it."""
        file = ""
        if self._form.upload is not None:
            uploaded = as_object(self._post(self._form.upload(self._path, items), self._retry))
            file = as_string(uploaded.get("id"))
            if not file:
                raise BadReply(f"{self.target.provider} named no file after an upload", provider=self.target.provider)
        post = self._form.create(self._path, key, file, items)
        made = self._post(post._replace(headers={**post.headers, **headers}), NO_RETRY)
        return self._read_state(made).id

    def find(self, key: str, since: float, count: int) -> FoundBatch | None:
        """Return the batch that was sent with this key at or after a time, if the provider has it."""
        unsure: FoundBatch | None = None
        for state in islice(self._iterate_states(), _MAX_SEARCHED):
            if state.created is not None and state.created < since - _MAX_CLOCK_SKEW:
                break
            if self._form.keeps_key:
                if state.key == key:
                    return FoundBatch(state.id, is_sure=True)
            elif state.total == count:
                if not state.is_ended:
                    unsure = unsure or FoundBatch(state.id, is_sure=False)
                elif self._has_key(state, key):
                    return FoundBatch(state.id, is_sure=True)
        return unsure

    def load_state(self, id: str) -> BatchState:
        """Return the state of a batch."""
        return self._read_state(self._get(self._form.get_path(id)))

    def cancel(self, id: str) -> None:
        """Ask the provider to end a batch. Requests that are answered by then have results."""
        self._post(BatchPost(self._form.get_path(id) + self._form.cancel_suffix, b"{}"), self._retry)

    def load_results(self, state: BatchState) -> ResultFile:
        """Return the results of a batch that has ended."""
        file = ResultFile(self._form, self.target.provider, state)
        try:
            for result in state.inline:
                file.add(result)
            for path in state.files:
                self._get(path, file.received)
                file.index()
        except BaseException:
            file.close()
            raise
        return file

    def _has_key(self, state: BatchState, key: str) -> bool:
        with self.load_results(state) as results:
            return any(id.startswith(f"{key}-") for id in results)

    def _iterate_states(self) -> Iterator[BatchState]:
        path = self._form.list_path
        while path:
            states, path = self._form.read_list(as_object(self._get(path)))
            yield from states
            path = path if states else ""

    def _read_state(self, data: object) -> BatchState:
        state = self._form.read_state(as_object(data))
        if not state.id:
            raise BadReply(f"{self.target.provider} answered without the id of a batch", provider=self.target.provider)
        return state

    def _get(self, path: str, file: IO[bytes] | None = None) -> Any:
        # The results of a batch are larger than any answer.
        limits = self._limits if file is None else ResponseLimits(None, None)
        return self._exchange(SendRequest(b"", get=path), "", self._retry, limits, file)

    def _post(self, post: BatchPost, retry: Retry) -> Any:
        return self._exchange(SendRequest(post.body, post.headers), post.path, retry, self._limits)

    def _exchange(
        self, send: SendRequest, path: str, retry: Retry, limits: ResponseLimits, file: IO[bytes] | None = None
    ) -> Any:
        exchange = JsonExchange(self._codec, self.target, retry, limits, self._secrets, send, file)
        for _ in self._client.drive(exchange, path):
            pass
        return exchange.result


class ResultFile:
    """The results of a batch in a temporary file that has no name, by the ids of their requests."""

    def __init__(self, form: BatchForm, provider: str, state: BatchState) -> None:
        self.received: IO[bytes] = TemporaryFile(prefix="antiphon-")  # noqa: SIM115  (closed by `close`)
        self._form, self._provider = form, provider
        self._rest: BatchOutcome | None = state.rest
        self._places: dict[str, tuple[int, int]] = {}
        self._inline: dict[str, BatchResult] = {}
        self._indexed = 0

    def __enter__(self) -> ResultFile:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __iter__(self) -> Iterator[str]:
        yield from self._places
        yield from self._inline

    def close(self) -> None:
        """Delete the results."""
        self.received.close()

    def add(self, result: BatchResult) -> None:
        """Add a result."""
        self._inline.setdefault(result.custom_id, result)

    def index(self) -> None:
        """Find the results in the lines that were received since the last time."""
        self.received.seek(self._indexed)
        while line := self.received.readline():
            if line.strip():
                # The first of several results for one request counts.
                self._places.setdefault(self._read(line).custom_id, (self._indexed, len(line)))
            self._indexed += len(line)

    def find(self, custom_id: str) -> BatchResult | None:
        """Return the result of a request; None if the provider gave none."""
        if custom_id in self._inline:
            return self._inline[custom_id]
        if custom_id not in self._places:
            return BatchResult(custom_id, self._rest) if self._rest else None
        start, length = self._places[custom_id]
        return self._read(os.pread(self.received.fileno(), length, start))

    def _read(self, line: bytes) -> BatchResult:
        try:
            return self._form.read_result(as_object(load_json(line, "a result of a batch")))
        except MalformedJSONError as error:
            raise BadReply(f"{self._provider}: {error}", provider=self._provider) from None


def get_batch_api(provider: str, api: str) -> tuple[BatchFacts, BatchForm]:
    """Return the facts and the form of a provider's batch API. Raise OptionError if it has none."""
    facts, form = find_batch_facts(provider), APIS[api].batches
    if facts is None or form is None:
        known = ", ".join(f"`{name}`" for name in load_fact_table().batches)
        raise OptionError(f"{provider} has no batch API that is known here; there are {known}")
    return facts, form


def check_batch_provider(place: Provider) -> None:
    """Raise OptionError if a provider has no batch API."""
    get_batch_api(place.name, place.api)
