"""Rules A24 and A41: cache marks, in the order of a rendered prompt: tools, system, messages."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from antiphon._base.json_access import as_array, as_object, as_string
from antiphon.wire.rules.json_access import get_type_tag, is_json_dict
from antiphon.wire.rules.subject import CheckSubject
from antiphon.wire.rules.violation import Violation

_MAX_MARKS = 4
_DEFAULT_TTL = "5m"
#: Longest first: a mark may not live longer than one before it.
_TTLS = ("1h", "5m")


class _CacheMark(NamedTuple):
    path: str
    ttl: str


def find_anthropic_cache_violations(request: dict[str, object], subject: CheckSubject) -> Iterator[Violation]:
    """Yield violations of the rules about cache marks."""
    marks = list(_iter_marks(request))
    most = subject.facts.cache.marks or _MAX_MARKS
    moving = is_json_dict(request.get("cache_control"))
    if len(marks) + moving > most:
        text = f"A maximum of {most} blocks with cache_control may be provided. Found {len(marks) + moving}."
        yield Violation("A24", text)
    yield from _check_lifetimes(marks, subject)
    yield from _check_deferred_tools(request)
    yield from _check_cleared_messages(request)


def _iter_marks(request: dict[str, object]) -> Iterator[_CacheMark]:
    """Yield every mark. Deeper values are skipped, because a call's input may have a field of that name."""
    for key in ("tools", "system"):
        yield from _iter_list_marks(request.get(key), key)
    for index, message in enumerate(as_array(request.get("messages"))):
        path = f"messages.{index}.content"
        for place, block in enumerate(as_array(as_object(message).get("content"))):
            # A result's content precedes the end of the result.
            if get_type_tag(block) == "tool_result":
                yield from _iter_list_marks(as_object(block).get("content"), f"{path}.{place}.content")
            yield from _iter_block_marks(as_object(block), f"{path}.{place}")


def _iter_list_marks(blocks: object, path: str) -> Iterator[_CacheMark]:
    for index, block in enumerate(as_array(blocks)):
        yield from _iter_block_marks(as_object(block), f"{path}.{index}")


def _iter_block_marks(block: dict[str, object], path: str) -> Iterator[_CacheMark]:
    if block.get("cache_control") is not None:
        yield _CacheMark(path, as_string(as_object(block["cache_control"]).get("ttl")) or _DEFAULT_TTL)


def _check_lifetimes(marks: list[_CacheMark], subject: CheckSubject) -> Iterator[Violation]:
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


def _check_deferred_tools(request: dict[str, object]) -> Iterator[Violation]:
    for index, tool in enumerate(as_array(request.get("tools"))):
        data = as_object(tool)
        if data.get("defer_loading") is True and data.get("cache_control") is not None:
            text = (
                f"tools.{index}: Tool '{as_string(data.get('name'))[:64]}' cannot have both defer_loading=true and "
                "cache_control set. Tools with defer_loading cannot use prompt caching."
            )
            yield Violation("A41", text, f"tools.{index}")


def _check_cleared_messages(request: dict[str, object]) -> Iterator[Violation]:
    for index, message in enumerate(as_array(request.get("messages"))):
        data = as_object(message)
        if data.get("clear_at") is None:
            continue
        for place, block in enumerate(as_array(data.get("content"))):
            if as_object(block).get("cache_control") is not None:
                path = f"messages.{index}.content.{place}.cache_control"
                yield Violation("A41", f"{path}: cache_control is not supported in a message with `clear_at`", path)
