"""Trace ids: the root spans of one session have the same one in all processes."""

from __future__ import annotations

from contextvars import ContextVar

from opentelemetry.sdk.trace import Tracer as SdkTracer
from opentelemetry.sdk.trace.id_generator import IdGenerator
from opentelemetry.trace import Tracer

#: The trace id of the root span that is about to start; 0 for one that the SDK makes.
next_trace_id: ContextVar[int] = ContextVar("antiphon_trace_id", default=0)


class _SessionTraceIds(IdGenerator):
    def __init__(self, inner: IdGenerator) -> None:
        self._inner = inner

    def generate_span_id(self) -> int:
        return self._inner.generate_span_id()

    def generate_trace_id(self) -> int:
        return next_trace_id.get() or self._inner.generate_trace_id()

    def is_trace_id_random(self) -> bool:
        return not next_trace_id.get() and self._inner.is_trace_id_random()


def join_traces(tracer: Tracer) -> Tracer:
    """Let a tracer of the SDK use `next_trace_id`. Other implementations make their own ids."""
    if isinstance(tracer, SdkTracer):
        tracer.id_generator = _SessionTraceIds(tracer.id_generator)
    return tracer
