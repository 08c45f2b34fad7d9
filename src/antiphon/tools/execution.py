"""Execution of a tool call: every outcome becomes a result that the model can read."""

from __future__ import annotations

import dataclasses
import inspect
import logging
import os
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

from antiphon.conversation import Conversation, Image, MediaPart, Text, ToolCall, ToolResult
from antiphon.errors import ContentError, SessionAborted, Suspended
from antiphon.results import Result, to_model_text
from antiphon.results.model_text import collect_images
from antiphon.results.nested import wrap_nested_results
from antiphon.results.plain_json import ValueProxy
from antiphon.tools.call_host import NO_HOST, CallHost
from antiphon.tools.canonical_call import CanonicalCall, canonicalize
from antiphon.tools.function_schema import InvalidArguments
from antiphon.tools.guards import NO_GUARDS, CallGuards
from antiphon.tools.tool import FinishRun, NeedsHumanInput, Tool, ToolContext, ToolFailure
from antiphon.tools.worker_threads import ToolTimeout, call_function, is_coroutine_function

if TYPE_CHECKING:
    from antiphon.tools.coroutine_threads import CoroutineThreads

log = logging.getLogger("antiphon.tools")
#: Errors that show a bug in a function, rather than a failure at run time.
_BUG_ERRORS = (
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
    """One call of a run, as `AIResult.tool_calls` holds it. `duration` is in milliseconds.

    `result` is the text that the model saw, `None` if the call failed; then `error` says why.
    """

    tool: str
    args: dict[str, Any]
    result: str | None
    error: str | None
    duration: float


@dataclass(frozen=True, slots=True)
class ToolExecution:
    """The outcome of a call: its result, its record, and the full texts of results that were truncated."""

    result: ToolResult
    record: ToolCallRecord
    kept: Mapping[str, str]


async def execute(
    tool: Tool, call: ToolCall, conversation: Conversation, deps: Any = None, *, key: str = "", raise_bugs: bool = False
) -> ToolExecution:
    """Run one call of a tool in canonical form, without asking for approval: see `execute_call`."""
    return await execute_call(canonicalize(tool, call), conversation, deps, key=key, raise_bugs=raise_bugs)


async def execute_call(
    call: CanonicalCall,
    conversation: Conversation,
    deps: Any = None,
    *,
    key: str = "",
    raise_bugs: bool = False,
    threads: CoroutineThreads | None = None,
    guards: CallGuards = NO_GUARDS,
    host: CallHost = NO_HOST,
) -> ToolExecution:
    """Run one call. Every failure becomes an error result; only what ends or suspends the run is raised.

    `key` identifies the call among all calls; without one, a random key is made. An error that shows a bug in
    the tool's own code is logged with its traceback, and raised with `raise_bugs`. With `threads`, coroutines that
    may block run on an event loop of these. `guards` come before those of the tool. What they raise is raised,
    except for a ToolFailure, whose words the model reads. The tool asks people and models through the `host`.
    """
    guards = guards + call.tool.guards if call.tool.guards is not NO_GUARDS else guards
    try:
        if guards.before:
            await guards.check_call(call, deps)
        done = await _execute_unguarded(call, conversation, deps, key, raise_bugs, threads, host)
        if not guards.after:
            return done
        result = await guards.check_result(call, done.result, deps)
    except NeedsHumanInput:
        raise
    except ToolFailure as error:
        result = make_error_result(call.given, str(error))
        return ToolExecution(result, make_call_record(call.call, result), {})
    if result is done.result:
        return done
    # The stored text of a truncated result would bypass its replacement.
    return ToolExecution(result, make_call_record(call.call, result, done.record.duration), {})


async def _execute_unguarded(
    call: CanonicalCall,
    conversation: Conversation,
    deps: Any,
    key: str,
    raise_bugs: bool,
    threads: CoroutineThreads | None,
    host: CallHost,
) -> ToolExecution:
    import asyncio

    tool, given = call.tool, call.given
    began = time.perf_counter()
    kept: dict[str, str] = {}
    try:
        value = await _call_within_timeout(
            call, lambda: make_call_arguments(call, conversation, deps, key, host), threads
        )
        result = to_tool_result(given, value, tool.output_limit, kept)
    except InvalidArguments as error:
        result = make_error_result(given, f"the arguments of `{tool.name}` do not fit: {error}")
    except (NeedsHumanInput, FinishRun, Suspended, SessionAborted):
        raise
    except ToolFailure as error:
        result = make_error_result(given, str(error))
    except (Exception, SystemExit, asyncio.CancelledError) as error:
        task = asyncio.current_task()
        # A cancellation inside the tool is a failure of the tool; one of this task is not.
        if isinstance(error, asyncio.CancelledError) and (task is None or task.cancelling() > 0):
            raise
        if isinstance(error, _BUG_ERRORS):
            log.error("the tool `%s` has a bug", tool.name, exc_info=error)
            if raise_bugs:
                raise
        is_late = isinstance(error, ToolTimeout)
        result = make_error_result(
            given, f"`{tool.name}` did not finish within {tool.timeout:g} seconds" if is_late else _format_error(error)
        )
    return ToolExecution(result, make_call_record(call.call, result, (time.perf_counter() - began) * 1000), kept)


def make_call_record(call: ToolCall, result: ToolResult, duration: float = 0.0) -> ToolCallRecord:
    """Return the record of a call and its result."""
    text = result.content if isinstance(result.content, str) else result.text
    return ToolCallRecord(
        call.name, call.arguments, None if result.is_error else text, text if result.is_error else None, duration
    )


def make_error_result(call: ToolCall, reason: str) -> ToolResult:
    """Return an error result for a call."""
    return ToolResult(call.id, reason or "it failed without saying why", is_error=True)


def _format_error(error: BaseException) -> str:
    return f"{type(error).__name__}: {error}" if str(error) else type(error).__name__


async def _call_within_timeout(
    call: CanonicalCall, make_arguments: Callable[[], dict[str, Any]], threads: CoroutineThreads | None
) -> Any:
    """Return the value of a tool. Raise a `ToolTimeout` at the time, whatever the function does."""
    import asyncio

    tool = call.tool
    if tool.external and not call.problem:
        raise ToolFailure(f"`{tool.name}` runs elsewhere, and only a session can wait for its result")
    is_coroutine = is_coroutine_function(tool.function) or inspect.isasyncgenfunction(tool.function)
    if is_coroutine and not tool.is_cooperative:
        from antiphon.tools.coroutine_threads import run_coroutine

        return await run_coroutine(
            lambda: call_function(tool.function, **make_arguments()), tool.name, tool.timeout, threads
        )
    limit = asyncio.timeout(tool.timeout)
    try:
        async with limit:
            return await call_function(tool.function, **make_arguments())
    except TimeoutError:
        if not limit.expired():
            raise
        if not is_coroutine:
            log.warning("the tool `%s` keeps running after its time-out of %g seconds", tool.name, tool.timeout)
        raise ToolTimeout from None


def make_call_arguments(
    call: CanonicalCall, conversation: Conversation, deps: Any, key: str, host: CallHost
) -> dict[str, Any]:
    """Return the arguments for the tool's function, with a context if it wants one. Raise `InvalidArguments`."""
    if call.problem:
        raise InvalidArguments(call.problem)
    arguments, place = dict(call.values), call.tool.arguments.context
    if place:
        arguments[place] = ToolContext(call.call, conversation, deps, key or os.urandom(16).hex(), host)
    return arguments


def to_tool_result(call: ToolCall, value: object, limit: int, kept: dict[str, str]) -> ToolResult:
    """Convert a tool's return value to its result: text, images and files as they are, other values as JSON."""
    if isinstance(value, str):
        return _truncate_result(call, value, limit, kept)
    if isinstance(value, ValueProxy):
        value = value.value
    if isinstance(value, ToolResult):
        return _limit_own_result(call, value, limit, kept)
    if isinstance(value, Result):
        return _make_semantic_result(call, value, limit, kept)
    if (found := wrap_nested_results(value)) is not None:
        return _make_semantic_result(call, found, limit, kept, to_model_text(dataclasses.replace(found, summary="")))
    parts: Sequence[object] = cast(Sequence[object], value) if isinstance(value, list | tuple) else (value,)
    if any(isinstance(part, MediaPart) for part in parts) and all(
        isinstance(part, str | Text | MediaPart) for part in parts
    ):
        shown = [Text(part) if isinstance(part, str) else part for part in parts]
        texts = "\n".join(part.text for part in shown if isinstance(part, Text))
        if len(texts) <= limit:
            return ToolResult(call.id, cast(tuple[Text | MediaPart, ...], tuple(shown)))
        cut = _truncate_result(call, texts, limit, kept)
        return dataclasses.replace(cut, content=(Text(cut.text), *(p for p in shown if isinstance(p, MediaPart))))
    return _truncate_result(call, value_to_text(cast(object, value)), limit, kept)


def _limit_own_result(call: ToolCall, value: ToolResult, limit: int, kept: dict[str, str]) -> ToolResult:
    """Return a result that the tool built itself, with its text truncated to the limit. Files stay."""
    value = dataclasses.replace(value, call_id=call.id)
    if len(value.text) <= limit:
        return value
    cut = _truncate_result(call, value.text, limit, kept)
    media = tuple(part for part in value.parts if isinstance(part, MediaPart))
    return dataclasses.replace(value, content=(Text(cut.text), *media) if media else cut.text, handle=cut.handle)


def _make_semantic_result(
    call: ToolCall, value: Result, limit: int, kept: dict[str, str], text: str | None = None
) -> ToolResult:
    """Return a result with the text for the model and the full semantic value for people."""
    cut = _truncate_result(call, to_model_text(value) if text is None else text, limit, kept)
    pictures = () if value.is_error else tuple(_iter_images(value))
    content = (Text(cut.text), *pictures) if pictures else cut.content
    return dataclasses.replace(cut, content=content, is_error=value.is_error, semantic=value)


def _iter_images(value: Result) -> Iterator[Image | Text]:
    """Yield the images of a result that models can be sent, and a note for each invalid one."""
    for data, media_type, url in collect_images(value):
        if (data or url) and media_type in ("image/png", "image/jpeg", "image/gif", "image/webp"):
            try:
                yield Image(data, media_type) if data else Image(url=url)
            except ContentError as error:
                yield Text(f"[an image that is not shown: {error}]")


def _truncate_result(call: ToolCall, text: str, limit: int, kept: dict[str, str]) -> ToolResult:
    """Return the result, or its beginning with a handle to the full text, which is stored in `kept`."""
    if len(text) <= limit:
        return ToolResult(call.id, text)
    handle = f"result:{call.id}"
    kept[handle] = text
    boundary = text.rfind("\n", 0, limit) + 1
    head = text[: boundary if boundary > limit // 2 else limit]
    note = f"[{len(head):,} of {len(text):,} characters shown; `read_result` with handle {handle!r} reads on]"
    return ToolResult(call.id, f"{head.rstrip()}\n{note}", handle=handle)


def value_to_text(value: object) -> str:
    """Convert a value to text: empty for None, JSON for what is not text.

    Models, dataclasses and the like become JSON objects.
    """
    if value is None:
        return ""
    if isinstance(value, str | Text):
        return value if isinstance(value, str) else value.text
    from pydantic_core import PydanticSerializationError, to_json

    try:
        return to_json(value, serialize_unknown=True, inf_nan_mode="strings", bytes_mode="base64").decode()
    except (PydanticSerializationError, ValueError, RecursionError):
        return f"a {type(value).__name__} that has no JSON form"
