"""How much of a prompt is paid for twice: requests of sessions and programs, compared with the requests before them.

    python bench/prefix.py [ASKS]

The prompt of a request is its pieces in the order in which the API renders them: tools, system text, the settings that
are part of the cached prompt, then each block of the messages with its role. A request pays for what lies behind its
longest common beginning with any earlier one. The factor is what all of them pay, divided by what is new in each; where
each request extends the one before it, that is the size of the last prompt, and the factor is 1. Nothing here needs a
key: the built-in fake answers in this process.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from hashlib import sha256
from typing import Any

from antiphon.conversation import DerivedKey
from antiphon.facts import lookup_facts
from antiphon.providers import Model
from antiphon.wire import Target

#: Bytes of JSON to the token, roughly.
_BYTES_PER_TOKEN = 4
#: Where a conversation keeps the number of its last request.
_LAST = DerivedKey[int]("last request")
_MARKS = ("cache_control", "prompt_cache_breakpoint")
#: The pieces before the messages: tools, system text, settings.
_HEAD = 3
_TURNS = ("messages", "input", "contents")


def pieces(body: dict[str, Any], target: Target) -> list[str]:
    """Return the prompt of a request, piece by piece."""
    facts = lookup_facts(target.provider, target.model)
    system = body.get("system", body.get("instructions", body.get("systemInstruction")))
    settings = {name: _at(body, name) for name in facts.in_prefix or ()}
    head = [_text(body.get("tools")), _text(system), _text({k: v for k, v in settings.items() if v is not None})]
    messages = next((body[name] for name in _TURNS if name in body), [])
    return [*head, *(piece for message in messages for piece in _message(message))]


def _message(message: dict[str, Any]) -> list[str]:
    content = message.get("content", message.get("parts"))
    if not isinstance(content, list):
        return [_text(message)]
    shared = {key: value for key, value in message.items() if key not in ("content", "parts")}
    beside = {key: value for key, value in shared.items() if key not in ("role", "type", "id", "status")}
    blocks = [_text([message.get("role"), block]) for block in content]
    return [*blocks, _text(shared)] if beside else blocks


def _at(body: Any, path: str) -> Any:
    for step in path.split("."):
        body = body.get(step) if isinstance(body, dict) else None
    return body


def _text(value: Any) -> str:
    return json.dumps(_without_marks(value), ensure_ascii=False, sort_keys=True) if value else ""


def _without_marks(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _without_marks(each) for key, each in value.items() if key not in _MARKS}
    return [_without_marks(each) for each in value] if isinstance(value, list) else value


@dataclass(frozen=True, slots=True)
class Asked:
    """The prompt of one request, and the number of the one before it in its conversation."""

    pieces: list[str]
    before: int | None
    least: int

    @property
    def size(self) -> int:
        """Return how many bytes there are."""
        return _size(self.pieces)


@dataclass(slots=True)
class Watch:
    """The requests of models, in the order in which they were sent."""

    asked: list[Asked] = field(default_factory=list[Asked])

    def watch(self, model: Model) -> Model:
        """Note each request of a model from now on."""
        for name in ("achat", "astream"):
            setattr(model, name, partial(self._noted, model, getattr(model, name)))
        return model

    def connecting(self, connect: Callable[..., Any]) -> Callable[..., Any]:
        """Return a `connect` whose models are watched."""
        return lambda name, **given: self.watch(connect(name, **given))

    def _noted(self, model: Model, ask: Callable[..., Any], conversation: Any, **options: Any) -> Any:
        body = json.loads(model.request(conversation, **options))
        before = conversation.derived.get(_LAST)
        conversation.derived.set(_LAST, len(self.asked))
        least = lookup_facts(model.target.provider, model.target.model).cache.min or 0
        self.asked.append(Asked(pieces(body, model.target), before, least))
        return ask(conversation, **options)

    @property
    def factor(self) -> float:
        """Return the bytes that are paid for, for each byte that is new."""
        paid = new = 0
        sent: set[str] = set()
        for each in self.asked:
            beginnings = _beginnings(each.pieces)
            known = next((place for place in range(len(beginnings), 0, -1) if beginnings[place - 1] in sent), 0)
            sent.update(beginnings)
            own = _size(each.pieces[known:])
            earlier = self._cached_before(each)
            paid += own
            new += own if earlier is None else max(each.size - earlier.size, 0)
        return paid / new if new else 1.0

    def breaks(self) -> list[str]:
        """Return what differs where a prompt does not begin with the one before it, and that one was cached."""
        return [self._difference(number) for number in self._changed() if self._cached_before(self.asked[number])]

    def rewritten(self) -> list[str]:
        """Return what differs in any prompt, cached or not, but for a native form of the first ones.

        A form that the first asks want of the provider itself goes with no later ask: a prompt that is too short to be
        cached costs nothing to be read again.
        """
        found = [number for number in self._changed() if not self._is_early_form(self.asked[number])]
        return [self._difference(number) for number in found]

    def _changed(self) -> list[int]:
        """Return the numbers of the requests that do not begin with the one before them."""
        earlier = [None if each.before is None else self.asked[each.before].pieces for each in self.asked]
        pairs = zip(self.asked, earlier, strict=True)
        return [number for number, (each, old) in enumerate(pairs) if old and each.pieces[: len(old)] != old]

    def _difference(self, number: int) -> str:
        now, old = self.asked[number].pieces, self.asked[self.asked[number].before or 0].pieces
        place = _common(now, old)
        new = now[place] if place < len(now) else "nothing"
        return f"request {number + 1}, piece {place + 1}: {old[place][:200]} → {new[:200]}"

    def _is_early_form(self, asked: Asked) -> bool:
        """Return whether only the settings differ from those of the request before, which was not cached."""
        earlier = self.asked[asked.before or 0].pieces
        rest = earlier[_HEAD:]
        same = asked.pieces[: _HEAD - 1] == earlier[: _HEAD - 1] and asked.pieces[_HEAD:][: len(rest)] == rest
        return same and self._cached_before(asked) is None

    def _cached_before(self, asked: Asked) -> Asked | None:
        """Return the request before one, unless it is too short to be cached: that costs nothing to be read again."""
        earlier = self.asked[asked.before] if asked.before is not None else None
        return None if earlier is None or earlier.size < asked.least * _BYTES_PER_TOKEN else earlier


def _beginnings(texts: list[str]) -> list[str]:
    """Return a hash of what there is up to each piece."""
    hashed, out = sha256(), list[str]()
    for text in texts:
        hashed.update(f"{len(text)}:{text}".encode())
        out.append(hashed.hexdigest())
    return out


def _common(one: list[str], other: list[str]) -> int:
    count = 0
    for mine, yours in zip(one, other, strict=False):
        if mine != yours:
            break
        count += 1
    return count


def _size(texts: list[str]) -> int:
    return sum(len(text.encode()) for text in texts)


def main() -> None:
    """Measure all scenarios with all APIs, and the programs of the examples and of the documentation."""
    from prefix_cases import MODELS, SCENARIOS, docs, examples, run

    asks = int(sys.argv[1]) if sys.argv[1:] else 200
    print(f"{'scenario':24}" + "".join(f"{api:>20}" for api in MODELS))
    for name in SCENARIOS:
        row = [run(name, api, asks) for api in MODELS]
        print(f"{name:24}" + "".join(f"{watch.factor:14.3f}, {len(watch.breaks()):3}" for watch in row))
    for where, programs in (("examples", examples()), ("docs", docs())):
        measured = [(name, program()) for name, program in programs]
        watches = [watch for _, watch in measured if watch.asked]
        worst = max(watches, key=lambda watch: watch.factor)
        breaks = sum(len(watch.breaks()) for watch in watches)
        print(f"{where}: {len(watches)} programs that ask, worst factor {worst.factor:.3f}, {breaks} breaks")


if __name__ == "__main__":
    main()
