"""The command line exports spans and metrics by OTLP."""

import os
import subprocess
import sys
import threading
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceRequest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from antiphon.fakes import Fake

_PROGRAM = 'sleep(0.01)\n"done"\n'


@contextmanager
def collector():
    """An OTLP receiver on this machine. Yields its address, and the bodies by path."""
    received = {}

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self):
            body = self.rfile.read(int(self.headers["content-length"]))
            received.setdefault(self.path, []).append(body)
            self.send_response(200)
            self.end_headers()

        def log_message(self, *_):
            """Print nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}", received
        server.shutdown()


def run(tmp_path, *arguments, code="pass", **variables):
    environment = {**os.environ, "ANTIPHON_DB": str(tmp_path / "a.db"), "OTEL_EXPORTER_OTLP_COMPRESSION": "none"}
    command = f"import sys; {code}; from antiphon.cli import main; sys.argv = {['antiphon', *arguments]!r}; main()"
    return subprocess.run(
        [sys.executable, "-P", "-c", command],
        env={**environment, **variables},
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )


def test_a_command_exports_its_spans(tmp_path):
    (tmp_path / "nap.vibe").write_text(_PROGRAM)
    with collector() as (address, received):
        done = run(tmp_path, "run", "nap.vibe", ANTIPHON_OTEL="1", OTEL_EXPORTER_OTLP_ENDPOINT=address)
    assert done.returncode == 0, done.stderr
    asked = [ExportTraceServiceRequest.FromString(body) for body in received["/v1/traces"]]
    (resource,) = [each for one in asked for each in one.resource_spans]
    assert ("service.name", "antiphon") in [
        (each.key, each.value.string_value) for each in resource.resource.attributes
    ]
    spans = {span.name: span for scope in resource.scope_spans for span in scope.spans}
    assert spans["sleep"].parent_span_id == spans["invoke_workflow nap.vibe"].span_id
    for body in received.get("/v1/metrics", []):
        ExportMetricsServiceRequest.FromString(body)


def test_nothing_is_exported_unless_it_is_switched_on(tmp_path):
    (tmp_path / "nap.vibe").write_text(_PROGRAM)
    with collector() as (address, received):
        done = run(tmp_path, "run", "nap.vibe", OTEL_EXPORTER_OTLP_ENDPOINT=address)
    assert done.returncode == 0, done.stderr
    assert received == {}


def test_a_command_does_not_import_what_it_does_not_use(tmp_path):
    (tmp_path / "nap.vibe").write_text(_PROGRAM)
    check = "import atexit; atexit.register(lambda: print([each for each in sys.modules if 'opentelemetry' in each]))"
    done = run(tmp_path, "run", "nap.vibe", code=check)
    assert done.stdout.endswith("[]\n")


def test_a_missing_extra_is_named(tmp_path):
    done = run(tmp_path, "list", code="sys.modules['opentelemetry'] = None", ANTIPHON_OTEL="1")
    assert done.returncode == 2
    assert "antiphon[otel]" in done.stderr
    assert "Traceback" not in done.stderr


def test_a_backend_that_takes_only_traces_gets_no_metrics(tmp_path):
    (tmp_path / "ask.vibe").write_text('model m = { name: "openai/gpt-5" }\ndo "Hello." m\n')
    with collector() as (address, received), Fake(["Hi."] * 3) as fake:
        sent = {"ANTIPHON_OTEL": "1", "OTEL_EXPORTER_OTLP_ENDPOINT": address, "OPENAI_API_KEY": "k"}
        sent["OPENAI_BASE_URL"] = fake.base_url("openai")
        for switched_off, paths in (
            ({}, ["/v1/metrics", "/v1/traces"]),
            ({"OTEL_METRICS_EXPORTER": "none"}, ["/v1/traces"]),
            ({"OTEL_TRACES_EXPORTER": "none"}, ["/v1/metrics"]),
        ):
            received.clear()
            done = run(tmp_path, "run", "ask.vibe", **sent, **switched_off)
            assert (done.returncode, sorted(received)) == (0, paths), done.stderr


def test_another_exporter_is_refused(tmp_path):
    done = run(tmp_path, "list", ANTIPHON_OTEL="1", OTEL_TRACES_EXPORTER="zipkin")
    assert done.returncode == 2
    assert "OTEL_TRACES_EXPORTER=zipkin is not supported; use `otlp` or `none`" in done.stderr
