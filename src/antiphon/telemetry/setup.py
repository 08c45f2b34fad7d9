"""Switching telemetry on and off, in code and by the environment."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from antiphon._base.optional_deps import describe_missing_extra
from antiphon.effects import instrumentation
from antiphon.errors import ConfigurationError
from antiphon.providers.redaction import SecretRedactor, environment_secrets
from antiphon.telemetry.attributes import ContentEncoder

if TYPE_CHECKING:
    from opentelemetry.metrics import MeterProvider
    from opentelemetry.trace import TracerProvider

#: The variable of OpenTelemetry's own instrumentations that puts messages into spans.
CONTENT_VARIABLE = "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT"
_YES = ("1", "true", "span_only", "span_and_event")


def instrument(
    *,
    tracer_provider: TracerProvider | None = None,
    meter_provider: MeterProvider | None = None,
    content: bool | None = None,
) -> None:
    """Make spans and metrics of all sessions of this process from now on.

    Without providers, those of OpenTelemetry are used. With `content`, spans have the messages, and the arguments
    and results of tools, without known secrets; the default is what the environment says.
    """
    try:
        from antiphon.telemetry.spans import OpenTelemetry
    except ImportError as error:
        raise ConfigurationError(describe_missing_extra("telemetry needs", "otel", error)) from error
    if content is None:
        content = os.environ.get(CONTENT_VARIABLE, "").lower() in _YES
    encoder = ContentEncoder(SecretRedactor(environment_secrets())) if content else None
    instrumentation.install(OpenTelemetry(tracer_provider, meter_provider, encoder))


def uninstrument() -> None:
    """Make no more spans and metrics."""
    instrumentation.install(None)


def export_telemetry() -> None:
    """Make spans and metrics, and send them by OTLP over HTTP, as the variables `OTEL_…` say."""
    has_traces, has_metrics = _is_exported("OTEL_TRACES_EXPORTER"), _is_exported("OTEL_METRICS_EXPORTER")
    try:
        from opentelemetry import metrics, trace
        from opentelemetry.exporter.otlp.proto.http.metric_exporter import OTLPMetricExporter
        from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
        from opentelemetry.sdk.metrics import MeterProvider
        from opentelemetry.sdk.metrics.export import PeriodicExportingMetricReader
        from opentelemetry.sdk.resources import SERVICE_NAME, Resource
        from opentelemetry.sdk.trace import TracerProvider
        from opentelemetry.sdk.trace.export import BatchSpanProcessor
    except ImportError as error:
        raise ConfigurationError(describe_missing_extra("telemetry needs", "otel", error)) from error
    resource = Resource.create({SERVICE_NAME: os.environ.get("OTEL_SERVICE_NAME", "antiphon")})
    if has_traces:
        tracers = TracerProvider(resource=resource)
        tracers.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))
        trace.set_tracer_provider(tracers)
    if has_metrics:
        metrics.set_meter_provider(MeterProvider([PeriodicExportingMetricReader(OTLPMetricExporter())], resource))
    instrument()


def _is_exported(variable: str) -> bool:
    """Return whether the environment wants a kind of telemetry to be sent."""
    exporter = os.environ.get(variable, "").strip().lower()
    if exporter not in ("", "otlp", "none"):
        raise ConfigurationError(f"{variable}={exporter} is not supported; use `otlp` or `none`")
    return exporter != "none"
