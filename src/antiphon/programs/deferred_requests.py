"""The model requests of rows that wait for batches of a provider: collected, and answered from the results."""

from __future__ import annotations

import secrets
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from tempfile import TemporaryFile
from typing import IO, TYPE_CHECKING, Any

from antiphon._base.json import dump_json
from antiphon._base.json_access import as_array, as_string
from antiphon.effects.pipeline import EffectCall, Middleware
from antiphon.errors import OptionError, ProviderError, Suspended
from antiphon.wire import Usage
from antiphon.wire.batches import BatchItem

if TYPE_CHECKING:
    from antiphon.durable.journal_middleware import JournalMiddleware
    from antiphon.effects import Budget, Outcome
    from antiphon.providers.batches import ProviderBatches, ResultFile
    from antiphon.wire import EncodedRequest

_HEX_DIGITS = 12


@dataclass(slots=True)
class RequestGroup:
    """Requests that are sent as one batch. `key` begins their ids; their bodies are in a temporary file."""

    key: str
    batches: ProviderBatches
    headers: Mapping[str, str]
    count: int = 0
    size: int = 0
    _file: IO[bytes] = field(default_factory=partial(TemporaryFile, prefix="antiphon-"), repr=False)
    #: The row, the id, the start and the length of each request.
    _places: list[tuple[int, str, int, int]] = field(default_factory=list[tuple[int, str, int, int]])

    def has_room(self, size: int) -> bool:
        """Return whether a request of this size fits."""
        facts = self.batches.facts
        return (facts.max_requests is None or self.count < facts.max_requests) and (
            facts.max_bytes is None or not self.count or self.size + size <= facts.max_bytes
        )

    def reserve(self, row: int, size: int) -> str:
        """Return the id of another request."""
        self.count, self.size = self.count + 1, self.size + size
        return f"{self.key}-{row}-{self.count}"

    def add(self, row: int, item: BatchItem) -> None:
        """Add a request."""
        start = self._file.seek(0, 2)
        self._file.write(item.body)
        self._places.append((row, item.custom_id, start, len(item.body)))

    def drop(self, row: int) -> None:
        """Remove the requests of a row."""
        self._places = [each for each in self._places if each[0] != row]

    def list_items(self) -> list[BatchItem]:
        """Return the requests."""
        items: list[BatchItem] = []
        for _, custom_id, start, length in self._places:
            self._file.seek(start)
            items.append(BatchItem(custom_id, self._file.read(length)))
        return items

    def close(self) -> None:
        """Delete the bodies."""
        self._file.close()


class RequestCollector:
    """Collects the requests of rows for batches, and answers them from results.

    `open_keys` are those of batches that were sent and have not been read.
    """

    def __init__(self, *, is_strict: bool) -> None:
        #: A request that a batch did not answer is not sent alone.
        self.is_strict = is_strict
        self.open_keys: set[str] = set()
        #: The provider's batches, by the keys for which rows have waited here.
        self.known: dict[str, ProviderBatches] = {}
        self._results: dict[str, ResultFile] = {}
        self._groups: list[RequestGroup] = []
        self._lock = threading.Lock()

    @property
    def has_requests(self) -> bool:
        """True if requests were collected that are not sent."""
        return bool(self._groups)

    def take_groups(self) -> list[RequestGroup]:
        """Return the collected requests, which are not collected any more."""
        with self._lock:
            groups, self._groups = self._groups, []
            return groups

    def collect(
        self,
        row: int,
        request: EncodedRequest,
        batches: ProviderBatches,
        note: Callable[[str, str], None],
    ) -> None:
        """Add a request to a batch. Its key and id are noted first, so that it is found again."""
        size, most = batches.measure(BatchItem("", request.body)), batches.facts.max_bytes
        if most is not None and size > most:
            raise OptionError(
                f"a request of {size:,} bytes does not fit into a batch of {batches.target.provider}, which takes"
                f" {most:,}; run this row without `--batch`"
            )
        with self._lock:
            group = self._find_group(batches, request.headers, size)
            custom_id = group.reserve(row, size)
        note(group.key, custom_id)
        with self._lock:
            group.add(row, BatchItem(custom_id, request.body))

    def drop_row(self, row: int) -> None:
        """Remove the requests of a row that has ended without them."""
        with self._lock:
            for group in self._groups:
                group.drop(row)

    def open_results(self, key: str, results: ResultFile) -> None:
        """Answer the requests of a batch from its results."""
        self._results[key] = results

    def close_results(self, key: str) -> None:
        """Delete the results of a batch, which all rows have taken."""
        self.open_keys.discard(key)
        self._results.pop(key).close()

    def find_results(self, key: str) -> ResultFile | None:
        """Return the results of a batch, if they are here."""
        return self._results.get(key)

    def is_waiting(self, key: str) -> bool:
        """Return whether the results of a batch are still to come."""
        if key in self._results:
            return False
        return key in self.open_keys or any(group.key == key for group in self._groups)

    def _find_group(self, batches: ProviderBatches, headers: Mapping[str, str], size: int) -> RequestGroup:
        for group in self._groups:
            if group.batches.group == batches.group and group.headers == headers and group.has_room(size):
                return group
        self._groups.append(RequestGroup(secrets.token_hex(_HEX_DIGITS), batches, dict(headers)))
        return self._groups[-1]


class RowRequests(Middleware):
    """Middleware of one row: its model requests wait for batches, and keep in its journal which ones."""

    def __init__(self, collector: RequestCollector, row: int, journal: JournalMiddleware, budget: Budget) -> None:
        self._collector, self._row, self._journal = collector, row, journal
        self.budget = budget
        #: What happened to requests that no batch has answered, for the user.
        self.fallbacks: list[str] = []

    def after(self, step: EffectCall, outcome: Outcome) -> None:
        """Add the tokens and the cost of a request to the budget."""
        self.budget.after(step, outcome)

    def deferral(self, path: str) -> DeferredRequest:
        """Return what answers the requests of a step."""
        return DeferredRequest(self._collector, self._row, self._journal, path, self)


class DeferredRequest:
    """The requests of one step, of which a batch holds the last; an answer may take several.

    The answers before it are noted in the journal, because the step begins again each time.
    """

    def __init__(
        self, collector: RequestCollector, row: int, journal: JournalMiddleware, path: str, report: RowRequests
    ) -> None:
        self._collector, self._row, self._journal, self._path = collector, row, journal, path
        self._report = report
        noted = journal.load_note(path)
        self._key, self._id = as_string(noted.get("batch")), as_string(noted.get("id"))
        self._answers: Sequence[Any] = as_array(noted.get("answers"))
        self._position = 0
        self._batched: Usage | None = None
        self._batches: ProviderBatches | None = None
        #: Why the rest of the step does not wait for batches.
        self._reason = ""

    def take(self, request: EncodedRequest, batches: ProviderBatches) -> bytes | None:
        """Return the answer to a request, or None to send it now. Raise Suspended while there is none."""
        self._batches = batches
        if self._reason:
            return None
        if self._position == len(self._answers):
            self._answer_last(request, batches)
            if self._reason:
                return None
        self._position += 1
        return dump_json(self._answers[self._position - 1]).encode()

    def count(self, usage: Usage) -> None:
        """Count the usage of an answer from a batch."""
        self._batched = usage if self._batched is None else self._batched.plus(usage)

    def settle(self, usage: Usage, compute_cost: Callable[[Usage], float | None]) -> float | None:
        """Return the cost of the step: a share of the usual price for what a batch has answered."""
        whole = compute_cost(usage)
        part = 0.0 if self._batched is None else compute_cost(self._batched)
        if self._reason:
            alone = None if whole is None or part is None else whole - part
            told = "" if alone is None else f", for ${alone:.4f}"
            self._report.fallbacks.append(f"{self._reason}; it was sent alone at the usual price{told}")
        if whole is None or part is None or self._batches is None:
            return None
        return whole - part * (1 - self._batches.facts.price_share)

    def _answer_last(self, request: EncodedRequest, batches: ProviderBatches) -> None:
        """Add the answer from the results, or say why there is none. Raise Suspended while it is to come."""
        if self._key:
            self._collector.known.setdefault(self._key, batches)
            if self._collector.is_waiting(self._key):
                self._suspend(batches)
            if (results := self._collector.find_results(self._key)) is not None:
                found = results.find(self._id)
                if found is not None and found.outcome == "succeeded":
                    self._key, self._answers = "", [*self._answers, found.body]
                    return
                if found is None or found.outcome != "cancelled":
                    why = (
                        "nothing" if found is None else found.outcome + (f": {found.message}" if found.message else "")
                    )
                    self._give_up(f"a batch of {batches.target.provider} did not answer a request ({why:.300})")
                    return
        # It is new, or its batch was not sent or was cancelled.
        self._report.budget.start_request()
        self._collector.collect(self._row, request, batches, self._note)
        self._suspend(batches)

    def _give_up(self, reason: str) -> None:
        if self._collector.is_strict:
            raise ProviderError(f"{reason}; `--batch-only` forbids to send it alone")
        self._report.budget.start_request()
        self._reason = reason

    def _note(self, key: str, id: str) -> None:
        self._journal.note(self._path, {"batch": key, "id": id, "answers": list(self._answers)})

    def _suspend(self, batches: ProviderBatches) -> None:
        raise Suspended(f"it waits for a batch of {batches.target.provider}")
