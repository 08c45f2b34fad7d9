"""Spans and metrics of sessions and effects, for OpenTelemetry."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager
from functools import cached_property
from typing import Any

from opentelemetry.metrics import MeterProvider, get_meter_provider
from opentelemetry.trace import (
    Span,
    SpanKind,
    Status,
    StatusCode,
    Tracer,
    TracerProvider,
    get_current_span,
    get_tracer_provider,
    use_span,
)

from antiphon import __version__
from antiphon.effects.instrumentation import Instrumentation, ObservedSession
from antiphon.effects.pipeline import EffectCall
from antiphon.effects.types import AskModel, AskPerson, CallTool, ModelReplied, Outcome, RunPython, Sleep, ToolReturned
from antiphon.errors import Suspended
from antiphon.telemetry.attributes import (
    Attributes,
    ContentEncoder,
    describe_reply,
    describe_request,
    split_model_name,
)
from antiphon.telemetry.trace_ids import join_traces, next_trace_id

_SCOPE = "antiphon"
_NAME_ATTRIBUTES = {"invoke_agent": "gen_ai.agent.name", "invoke_workflow": "gen_ai.workflow.name"}
#: The boundaries that the conventions recommend for seconds and for tokens.
_SECONDS = (0.01, 0.02, 0.04, 0.08, 0.16, 0.32, 0.64, 1.28, 2.56, 5.12, 10.24, 20.48, 40.96, 81.92)
_TOKENS = tuple(float(4**power) for power in range(14))


class OpenTelemetry(Instrumentation):
    """Makes a span of each session, model request, tool call, question and pause, and the metrics of model requests.

    `encoder` encodes the content of messages and calls; without it, spans have none.
    """

    def __init__(
        self,
        tracer_provider: TracerProvider | None,
        meter_provider: MeterProvider | None,
        encoder: ContentEncoder | None,
    ) -> None:
        self._tracer_provider = tracer_provider
        self._encoder = encoder
        meter = (meter_provider or get_meter_provider()).get_meter(_SCOPE, __version__)
        self._duration = meter.create_histogram(
            "gen_ai.client.operation.duration",
            "s",
            "Duration of a model request",
            explicit_bucket_boundaries_advisory=_SECONDS,
        )
        self._tokens = meter.create_histogram(
            "gen_ai.client.token.usage",
            "{token}",
            "Tokens of a model request",
            explicit_bucket_boundaries_advisory=_TOKENS,
        )
        self._first_chunk = meter.create_histogram(
            "gen_ai.client.operation.time_to_first_chunk",
            "s",
            "Time until the first text of a streamed answer",
            explicit_bucket_boundaries_advisory=_SECONDS,
        )

    @cached_property
    def _tracer(self) -> Tracer:
        # Made with the first span: the program may set its provider after it switches this on.
        return join_traces((self._tracer_provider or get_tracer_provider()).get_tracer(_SCOPE, __version__))

    @contextmanager
    def session(self, session: ObservedSession) -> Generator[None]:
        """Make a span for the work on a session. Without a current span, it belongs to the trace of the session."""
        attributes: Attributes = {"gen_ai.operation.name": session.operation}
        if session.name:
            attributes["gen_ai.agent.name" if session.operation == "invoke_agent" else "gen_ai.workflow.name"] = (
                session.name
            )
        if session.id:
            attributes["gen_ai.conversation.id"] = session.id
        token = next_trace_id.set(_make_trace_id(session.trace_seed))
        try:
            span = self._tracer.start_span(f"{session.operation} {session.name}".rstrip(), attributes=attributes)
        finally:
            next_trace_id.reset(token)
        with self._use_span(span):
            yield

    @contextmanager
    def effect(self, call: EffectCall) -> Generator[Callable[[Outcome], object]]:
        """Make a span for an effect. Clocks, variables and printed lines have none."""
        effect, encoder = call.effect, self._encoder
        attributes: Attributes = {}
        content: Attributes = {}
        kind = SpanKind.INTERNAL
        match effect:
            case AskModel():
                name, kind = f"chat {split_model_name(effect.model)[1]}", SpanKind.CLIENT
                attributes = describe_request(effect)
                content = {} if encoder is None else encoder.encode_request(effect)
            case CallTool():
                name, attributes = f"execute_tool {effect.tool}", _describe_tool_call(call, effect)
                content = {} if encoder is None else {"gen_ai.tool.call.arguments": encoder.encode(effect.arguments)}
            case AskPerson():
                name = f"ask_person {effect.about}"
                content = {} if encoder is None else {"antiphon.question": encoder.encode(effect.text)}
            case RunPython():
                name = "run_python"
            case Sleep():
                name = "sleep"
                attributes["antiphon.sleep.seconds"] = effect.seconds
            case _:
                yield _ignore
                return
        began = time.perf_counter()
        span = self._tracer.start_span(
            name, kind=kind, attributes={"antiphon.step": call.path, **attributes, **content}
        )
        with self._use_span(span):
            yield lambda outcome: self._record(span, effect, outcome, time.perf_counter() - began, attributes)

    def stream_listener(self) -> Callable[[str], object]:
        """Return a function that notes when the first text of an answer arrives."""
        span, began, is_first = get_current_span(), time.perf_counter(), True

        def listen(_: str) -> None:
            nonlocal is_first
            if is_first:
                is_first, seconds = False, time.perf_counter() - began
                span.set_attribute("gen_ai.response.time_to_first_chunk", seconds)
                self._first_chunk.record(seconds, {"gen_ai.operation.name": "chat"})

        return listen

    @contextmanager
    def _use_span(self, span: Span) -> Generator[None]:
        """Make a span the current one, and end it. Errors may have content, so the SDK does not record them."""
        with use_span(span, end_on_exit=True, record_exception=False, set_status_on_exception=False):
            try:
                yield
            except BaseException as error:
                self._set_error(span, error)
                raise

    def _record(self, span: Span, effect: Any, outcome: Outcome, seconds: float, asked: Attributes) -> None:
        error, value = outcome.error, outcome.value
        measured: Attributes = {
            name: asked[name]
            for name in ("gen_ai.operation.name", "gen_ai.provider.name", "gen_ai.request.model")
            if name in asked
        }
        if error is not None:
            self._set_error(span, error)
            measured["error.type"] = type(error).__qualname__
        elif isinstance(value, ModelReplied):
            span.set_attributes(describe_reply(value.reply, value.cost))
            if self._encoder is not None:
                span.set_attributes(self._encoder.encode_reply(value.reply))
            measured["gen_ai.response.model"] = value.reply.model
            usage = value.reply.usage
            for kind, count in (("input", usage.input_tokens), ("output", usage.output_tokens)):
                if count is not None:
                    self._tokens.record(count, {**measured, "gen_ai.token.type": kind})
        elif isinstance(value, ToolReturned) and value.result is not None:
            if value.result.is_error:
                span.set_attribute("error.type", "tool_error")
                span.set_status(Status(StatusCode.ERROR))
            if self._encoder is not None:
                span.set_attribute("gen_ai.tool.call.result", self._encoder.encode(value.result.text))
        elif isinstance(effect, CallTool) and self._encoder is not None:
            span.set_attribute("gen_ai.tool.call.result", self._encoder.encode(value))
        if isinstance(effect, AskModel):
            self._duration.record(seconds, measured)

    def _set_error(self, span: Span, error: BaseException) -> None:
        """Set the error of a span. What waits for a person has not failed."""
        if isinstance(error, Suspended):
            span.set_attribute("antiphon.waiting", True)
            return
        span.set_attribute("error.type", type(error).__qualname__)
        span.set_status(
            Status(StatusCode.ERROR, self._encoder.encode(str(error)) if self._encoder is not None else None)
        )


def _describe_tool_call(call: EffectCall, effect: CallTool) -> Attributes:
    attributes: Attributes = {
        "gen_ai.operation.name": "execute_tool",
        "gen_ai.tool.name": effect.tool,
        "gen_ai.tool.type": "function",
    }
    last = call.path.rpartition("/")[2]
    # A call of a model is numbered by its own id, and one of a program by its position.
    return attributes if last.isdigit() else {**attributes, "gen_ai.tool.call.id": last}


def _make_trace_id(seed: str) -> int:
    return int.from_bytes(hashlib.sha256(seed.encode()).digest()[:16], "big") if seed else 0


def _ignore(_: Outcome) -> None:
    """Ignore an outcome."""
