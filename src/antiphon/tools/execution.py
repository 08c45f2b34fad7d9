"""Running a call: every way it can go ends in a result the model can read."""

from __future__ import annotations

import dataclasses
import logging
import os
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

from antiphon.conversation import Conversation, Image, Text, ToolCall, ToolResult
from antiphon.errors import ContentError, Halted, Unsettled
from antiphon.results import Result, face
from antiphon.results.face import images_of
from antiphon.results.nested import gathered
from antiphon.results.plain import StandIn
from antiphon.tools.canonical import CanonicalCall, canonicalize
from antiphon.tools.signature import InvalidArguments
from antiphon.tools.threads import called
from antiphon.tools.tool import Finish, Pause, Tool, ToolContext, ToolFailure

log = logging.getLogger("antiphon.tools")
#: What a function raises because of how it is written, rather than because of what it met.
_BUGS = (
    NameError,
    TypeError,
    AttributeError,
    ImportError,
    SyntaxError,
    NotImplementedError,
    AssertionError,
    SystemExit,
)


@dataclass(frozen=True, slots=True)
class ToolCallRecord:
    """One call of a run, as `AIResult.tool_calls` keeps it. `duration` is in milliseconds.

    `result` is the text the model saw, `None` if the call failed; then `error` says why.
    """

    tool: str
    args: dict[str, Any]
    result: str | None
    error: str | None
    duration: float


@dataclass(frozen=True, slots=True)
class Executed:
    """What came of a call: its result, what is remembered of it, and whole texts of which the result shows a part."""

    result: ToolResult
    record: ToolCallRecord
    kept: Mapping[str, str]


async def execute(
    tool: Tool, call: ToolCall, conversation: Conversation, deps: Any = None, *, key: str = "", raise_bugs: bool = False
) -> Executed:
    """Run one call of a tool, in its canonical form, without asking anybody: see `execute_call`."""
    return await execute_call(canonicalize(tool, call), conversation, deps, key=key, raise_bugs=raise_bugs)


async def execute_call(
    call: CanonicalCall,
    conversation: Conversation,
    deps: Any = None,
    *,
    key: str = "",
    raise_bugs: bool = False,
) -> Executed:
    """Run one call. Whatever goes wrong is an error result; only what ends or stops the run gets out of here.

    `key` is its name among all calls; without one it is given one. What is no failure but a mistake in the tool's own
    code is logged with its traceback, and raised if so wanted.
    """
    import asyncio

    tool, given = call.tool, call.given
    began = time.perf_counter()
    limit = asyncio.timeout(tool.timeout)
    kept: dict[str, str] = {}
    try:
        async with limit:
            value = await _run(call, conversation, deps, key)
        result = as_result(given, value, tool.output_limit, kept)
    except InvalidArguments as error:
        result = failure(given, f"the arguments of `{tool.name}` do not fit: {error}")
    except (Pause, Finish, Unsettled, Halted):
        raise
    except ToolFailure as error:
        result = failure(given, str(error))
    except (Exception, SystemExit, asyncio.CancelledError) as error:
        if isinstance(error, asyncio.CancelledError) and _is_being_cancelled():
            raise
        late = limit.expired() and isinstance(error, TimeoutError)
        if isinstance(error, _BUGS):
            log.error("the tool `%s` has a bug", tool.name, exc_info=error)
            if raise_bugs:
                raise
        result = failure(
            given, f"`{tool.name}` did not finish within {tool.timeout:g} seconds" if late else _told(error)
        )
    return Executed(result, record(call.call, result, (time.perf_counter() - began) * 1000), kept)


def record(call: ToolCall, result: ToolResult, duration: float = 0.0) -> ToolCallRecord:
    """What is remembered of a call."""
    text = result.text
    return ToolCallRecord(
        call.name, call.arguments, None if result.is_error else text, text if result.is_error else None, duration
    )


def failure(call: ToolCall, reason: str) -> ToolResult:
    """An error result."""
    return ToolResult(call.id, reason or "it failed without saying why", is_error=True)


def _told(error: BaseException) -> str:
    return f"{type(error).__name__}: {error}" if str(error) else type(error).__name__


def _is_being_cancelled() -> bool:
    """Whether somebody wants this task to stop, rather than the tool having met a cancellation of its own."""
    import asyncio

    task = asyncio.current_task()
    return task is None or task.cancelling() > 0


async def _run(call: CanonicalCall, conversation: Conversation, deps: Any, key: str) -> Any:
    if call.problem:
        raise InvalidArguments(call.problem)
    tool, arguments = call.tool, dict(call.values)
    if tool.arguments.context:
        arguments[tool.arguments.context] = ToolContext(call.call, conversation, deps, key or os.urandom(16).hex())
    return await called(tool.function, **arguments)


def as_result(call: ToolCall, value: object, limit: int, kept: dict[str, str]) -> ToolResult:
    """A tool's value as its result: text and images as they are, other values as JSON."""
    if isinstance(value, StandIn):
        value = value.value
    if isinstance(value, ToolResult):
        return _own_result(call, value, limit, kept)
    if isinstance(value, Result):
        return _semantic_result(call, value, limit, kept)
    if (found := gathered(value)) is not None:
        return _semantic_result(call, found, limit, kept, face(dataclasses.replace(found, summary="")))
    parts: Sequence[object] = cast(Sequence[object], value) if isinstance(value, list | tuple) else (value,)
    if any(isinstance(part, Image) for part in parts) and all(isinstance(part, str | Text | Image) for part in parts):
        shown = [Text(part) if isinstance(part, str) else part for part in parts]
        texts = "\n".join(part.text for part in shown if isinstance(part, Text))
        if len(texts) <= limit:
            return ToolResult(call.id, cast(tuple[Text | Image, ...], tuple(shown)))
        cut = _cut(call, texts, limit, kept)
        return dataclasses.replace(cut, content=(Text(cut.text), *(p for p in shown if isinstance(p, Image))))
    return _cut(call, as_text(cast(object, value)), limit, kept)


def _own_result(call: ToolCall, value: ToolResult, limit: int, kept: dict[str, str]) -> ToolResult:
    """A result in the tool's own words, of which the model is shown no more than of any other. Images stay."""
    value = dataclasses.replace(value, call_id=call.id)
    if len(value.text) <= limit:
        return value
    cut = _cut(call, value.text, limit, kept)
    images = tuple(part for part in value.parts if isinstance(part, Image))
    return dataclasses.replace(value, content=(Text(cut.text), *images) if images else cut.text, handle=cut.handle)


def _semantic_result(
    call: ToolCall, value: Result, limit: int, kept: dict[str, str], text: str | None = None
) -> ToolResult:
    """Both faces of a result: what the model reads, and the whole for people."""
    cut = _cut(call, face(value) if text is None else text, limit, kept)
    pictures = () if value.is_error else tuple(_pictures(value))
    content = (Text(cut.text), *pictures) if pictures else cut.content
    return dataclasses.replace(cut, content=content, is_error=value.is_error, semantic=value)


def _pictures(value: Result) -> Iterator[Image | Text]:
    """The images in a result that models can be shown, and a line for each that is none."""
    for data, media_type, url in images_of(value):
        if (data or url) and media_type in ("image/png", "image/jpeg", "image/gif", "image/webp"):
            try:
                yield Image(data, media_type) if data else Image(url=url)
            except ContentError as error:
                yield Text(f"[an image that is not shown: {error}]")


def _cut(call: ToolCall, text: str, limit: int, kept: dict[str, str]) -> ToolResult:
    """The result, or its beginning with a handle to the whole, which is `kept`."""
    if len(text) <= limit:
        return ToolResult(call.id, text)
    handle = f"result:{call.id}"
    kept[handle] = text
    boundary = text.rfind("\n", 0, limit) + 1
    head = text[: boundary if boundary > limit // 2 else limit]
    note = f"[{len(head):,} of {len(text):,} characters shown; `read_result` with handle {handle!r} reads on]"
    return ToolResult(call.id, f"{head.rstrip()}\n{note}", handle=handle)


def as_text(value: object) -> str:
    """A value as text: nothing for None, JSON for what is no text; models, dataclasses and the like as objects."""
    if value is None:
        return ""
    if isinstance(value, str | Text):
        return value if isinstance(value, str) else value.text
    from pydantic_core import PydanticSerializationError, to_json

    try:
        return to_json(value, serialize_unknown=True, inf_nan_mode="strings", bytes_mode="base64").decode()
    except (PydanticSerializationError, ValueError, RecursionError):
        return f"a {type(value).__name__} that has no JSON form"
