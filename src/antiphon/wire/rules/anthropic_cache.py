"""A24 and A41: the marks of the cache, in the order in which a prompt is rendered: tools, system, messages."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from antiphon._shape import arr, obj, string
from antiphon.wire.rules.reading import is_object, kind
from antiphon.wire.rules.subject import Subject
from antiphon.wire.rules.violation import Violation

_MOST = 4
_USUAL = "5m"
#: From the longest-lived on: a mark may not live longer than one before it.
_TTLS = ("1h", "5m")


class _Mark(NamedTuple):
    path: str
    ttl: str


def cache_violations(request: dict[str, object], subject: Subject) -> Iterator[Violation]:
    """Yield what is wrong with the marks."""
    marks = list(_marks(request))
    most = subject.facts.cache.marks or _MOST
    moving = is_object(request.get("cache_control"))
    if len(marks) + moving > most:
        text = f"A maximum of {most} blocks with cache_control may be provided. Found {len(marks) + moving}."
        yield Violation("A24", text)
    yield from _lifetimes(marks, subject)
    yield from _deferred(request)
    yield from _cleared(request)


def _marks(request: dict[str, object]) -> Iterator[_Mark]:
    """Yield every mark. Nothing deeper is searched: a call's input may well have a field of that name."""
    for key in ("tools", "system"):
        yield from _of_list(request.get(key), key)
    for index, message in enumerate(arr(request.get("messages"))):
        path = f"messages.{index}.content"
        for place, block in enumerate(arr(obj(message).get("content"))):
            # A result's content stands before the end of the result.
            if kind(block) == "tool_result":
                yield from _of_list(obj(block).get("content"), f"{path}.{place}.content")
            yield from _of_block(obj(block), f"{path}.{place}")


def _of_list(blocks: object, path: str) -> Iterator[_Mark]:
    for index, block in enumerate(arr(blocks)):
        yield from _of_block(obj(block), f"{path}.{index}")


def _of_block(block: dict[str, object], path: str) -> Iterator[_Mark]:
    if block.get("cache_control") is not None:
        yield _Mark(path, string(obj(block["cache_control"]).get("ttl")) or _USUAL)


def _lifetimes(marks: list[_Mark], subject: Subject) -> Iterator[Violation]:
    known = subject.facts.cache.ttls or _TTLS
    shortest = 0
    for mark in marks:
        path = f"{mark.path}.cache_control.ttl"
        if mark.ttl not in known:
            words = " or ".join(f"'{ttl}'" for ttl in sorted(known, reverse=True))
            yield Violation("A41", f"{path}: Input should be {words}", path)
        elif mark.ttl in _TTLS and _TTLS.index(mark.ttl) < shortest:
            text = (
                f"{path}: a ttl='{mark.ttl}' cache_control block must not come after a ttl='{_TTLS[shortest]}' "
                "cache_control block. Note that blocks are processed in the following order: `tools`, `system`, "
                "`messages`."
            )
            yield Violation("A41", text, path)
        elif mark.ttl in _TTLS:
            shortest = _TTLS.index(mark.ttl)


def _deferred(request: dict[str, object]) -> Iterator[Violation]:
    for index, tool in enumerate(arr(request.get("tools"))):
        data = obj(tool)
        if data.get("defer_loading") is True and data.get("cache_control") is not None:
            text = (
                f"tools.{index}: Tool '{string(data.get('name'))[:64]}' cannot have both defer_loading=true and "
                "cache_control set. Tools with defer_loading cannot use prompt caching."
            )
            yield Violation("A41", text, f"tools.{index}")


def _cleared(request: dict[str, object]) -> Iterator[Violation]:
    for index, message in enumerate(arr(request.get("messages"))):
        data = obj(message)
        if data.get("clear_at") is None:
            continue
        for place, block in enumerate(arr(data.get("content"))):
            if obj(block).get("cache_control") is not None:
                path = f"messages.{index}.content.{place}.cache_control"
                yield Violation("A41", f"{path}: cache_control is not supported in a message with `clear_at`", path)
