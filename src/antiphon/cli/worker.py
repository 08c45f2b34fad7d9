"""`antiphon worker`: execute sessions of a shared database."""

from __future__ import annotations

import logging
import os
from collections import Counter
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import replace
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import click

from antiphon._base.escape import escape_unprintable, escape_unprintable_line
from antiphon.cli.output import print_message
from antiphon.errors import AntiphonError, ConfigurationError
from antiphon.views.cost_format import format_cost
from antiphon.views.session_words import to_session_state

if TYPE_CHECKING:
    from antiphon.durable import Dispatcher, Journal, Metrics, RateLimits
    from antiphon.effects import Middleware
    from antiphon.lang.runtime import Program
    from antiphon.programs.launch_spec import LaunchSpec
    from antiphon.providers.prewarming import Prewarming
    from antiphon.storage.postgres import PostgresDatabase


def _parse_model_limits(_: click.Context, __: click.Parameter, given: tuple[str, ...]) -> dict[str, float]:
    try:
        return {model: float(number) for model, _, number in (each.rpartition("=") for each in given)}
    except ValueError:
        raise click.BadParameter("expected a model and a number, such as openai/gpt-5=600") from None


@click.command()
@click.option("--slots", type=click.IntRange(min=1), default=8, show_default=True, metavar="N",
              help="How many sessions execute concurrently.")  # fmt: skip
@click.option("--lease", type=click.FloatRange(min=1), default=30, show_default=True, metavar="SECONDS",
              help="Seconds of silence after which others take a worker's sessions; use the same for all.")  # fmt: skip
@click.option("--limit", "limits", multiple=True, callback=_parse_model_limits, metavar="MODEL=N",
              help="Send at most N requests a minute to a model, from all workers; `openai/*` is allowed.")  # fmt: skip
@click.option("--status", is_flag=True, help="Print the status of all workers and exit.")
@click.option("--json", "as_json", is_flag=True, help="Print the status as JSON.")
@click.option("--metrics", metavar="[HOST:]PORT", help="Serve the status to Prometheus at /metrics.")
def worker(
    slots: int,
    lease: float,
    limits: dict[str, float],
    status: bool,
    as_json: bool,
    metrics: str | None,
) -> None:
    """Execute sessions of a shared database until stopped.

    The database is PostgreSQL: `antiphon --db postgresql://USER:PASSWORD@HOST/DATABASE worker`. Any number of
    workers share its sessions. After SIGTERM or Ctrl-C, a worker finishes its current sessions and takes no more. A
    second signal ends it at once, and other workers resume its sessions. Start it in the directory of
    the programs.
    """
    from antiphon.durable import Dispatcher, Journal, RateLimits
    from antiphon.providers.prewarming import Prewarming
    from antiphon.storage.postgres import PostgresDatabase
    from antiphon.storage.store_location import get_database_url

    if as_json and not status:
        raise click.UsageError("`--json` needs `--status`")
    db = get_database_url()
    if db is None:
        raise click.UsageError("workers share a PostgreSQL database: `antiphon --db postgresql://… worker`")
    dispatcher = Dispatcher(db, lease=lease)
    if status:
        _print_status(dispatcher.metrics(), as_json)
        return
    logging.basicConfig(format="antiphon: %(message)s", level=logging.WARNING)
    journal, database, kept = Journal(db), PostgresDatabase(db), RateLimits(db, limits) if limits else None
    prewarming = Prewarming()
    # Report configuration errors before announcing that it works.
    dispatcher.metrics()
    with _serve_metrics(dispatcher, metrics):
        print_message(f"executes up to {slots} sessions at a time")
        context = click.get_current_context()

        def execute(id: str) -> None:
            # Threads do not inherit the click context.
            with context.scope(cleanup=False):
                _execute_run(journal, database, kept, prewarming, id)

        dispatcher.work(execute, slots)


# Executing


def _execute_run(
    journal: Journal, database: PostgresDatabase, limits: RateLimits | None, prewarming: Prewarming, id: str
) -> None:
    from antiphon.cli.execute import execute_headless, resume_lazy_run
    from antiphon.durable.shared_counter import SharedCounter
    from antiphon.effects.budget import NO_LIMITS, Budget, BudgetExceeded
    from antiphon.lang.syntax.diagnostics import ProgramErrors
    from antiphon.programs.batch import make_not_begun_ending, prepare_retry
    from antiphon.programs.launch_spec import load_launch_spec

    entry = journal.find(id)
    begun = load_launch_spec(entry, journal)
    kept = resume_lazy_run(journal, id, other_model=bool(begun.settings.get("every_model")))
    others: list[Middleware] = [] if limits is None else [limits]
    if entry.kind == "row" and (most := begun.settings.get("max_cost")) is not None:
        batch = entry.parent or ""
        budget = Budget(replace(NO_LIMITS, cost=most), f"batch:{batch}", SharedCounter(database, batch))
        if not entry.effects:
            try:
                budget.check()
            except BudgetExceeded as exceeded:
                kept.finish("interrupted", make_not_begun_ending(exceeded))
                return
        others.append(budget)
        begun = replace(begun, settings={**begun.settings, "max_cost": None})
    if kept.running is not None:
        prepare_retry(journal, entry, kept.running)
    try:
        found, program = _load_run_program(begun)
    except (AntiphonError, ProgramErrors) as error:
        kept.finish("failed", {"outcome": "invalid", "value": None, "error": {"message": str(error)}})
        print_message(
            f"session {escape_unprintable_line(id)} cannot be run here: {escape_unprintable_line(str(error))}"
        )
        return
    is_shared = entry.kind == "row"
    execute_headless(program, found, kept, *others, prewarming=prewarming if is_shared else None)


def _load_run_program(begun: LaunchSpec) -> tuple[LaunchSpec, Program]:
    """Load a program from its directory or the worker's, or else from the saved copy."""
    from antiphon.cli.trust import explain_untrusted_program
    from antiphon.lang.runtime.program import loads
    from antiphon.programs.launch_spec import PIPED_NAME, restore_program

    untrusted = bool(begun.settings.get("untrusted"))
    if begun.file == PIPED_NAME or begun.is_edited:
        return begun, loads(begun.source, begun.name, untrusted=untrusted)
    places = (os.path.join(begun.directory, begun.file), os.path.abspath(begun.file))
    file = next((each for each in places if os.path.exists(each)), None)
    if file is None:
        # Anyone who may write to the database is trusted to run code on its workers.
        file = restore_program(begun)
        return replace(begun, file=file), _load_cached(file, os.stat(file).st_mtime_ns, untrusted)
    program = _load_cached(file, os.stat(file).st_mtime_ns, untrusted)
    if not untrusted and (refused := explain_untrusted_program(program.modules.compiled, file)):
        raise ConfigurationError(f"{refused}; trust it with `antiphon setup trust`")
    return replace(begun, file=file), program


@lru_cache(maxsize=64)
def _load_cached(file: str, changed: int, untrusted: bool) -> Program:  # noqa: ARG001
    """Load a program, cached by modification time: a batch has many rows for it."""
    from antiphon.lang.runtime.program import load

    return load(file, untrusted=untrusted)


# Reporting


def _print_status(metrics: Metrics, as_json: bool) -> None:
    from antiphon.views.stream import format_safe_json

    if as_json:
        workers = [{"process": each.process, "slots": each.slots, "silent": each.silent} for each in metrics.workers]
        numbers = {"lost": metrics.lost, "oldest_ready": metrics.oldest}
        numbers |= {"steps_per_second": metrics.effects_per_second, "cost_last_hour": metrics.cost}
        click.echo(format_safe_json({"sessions": dict(metrics.runs), **numbers, "workers": workers}))
        return
    counts = Counter[str]()
    for state, number in metrics.runs.items():
        counts[to_session_state(state)] += number
    states = ", ".join(f"{number} {state}" for state, number in sorted(counts.items()))
    click.echo(f"sessions {states or 'none'}")
    if metrics.lost:
        click.echo(f"lost     {metrics.lost} failed sessions killed their workers")
    if metrics.oldest is not None:
        click.echo(f"waiting  {metrics.oldest:.0f} s for the oldest ready session")
    click.echo(f"steps    {metrics.effects_per_second:.1f} per second in the last minute")
    click.echo(f"cost     {format_cost(metrics.cost) or 'none'} in the last hour")
    click.echo(f"workers  {len(metrics.workers)} with {metrics.slots} slots")
    for each in metrics.workers:
        click.echo(f"  {escape_unprintable(each.process)}  {each.slots} slots, seen {each.silent:.0f} s ago")


@contextmanager
def _serve_metrics(dispatcher: Dispatcher, where: str | None) -> Generator[None]:
    """Serve metrics to Prometheus while the worker runs."""
    if where is None:
        yield
        return
    import threading

    server = _make_metrics_server(dispatcher, where)
    threading.Thread(target=server.serve_forever, name="antiphon-metrics", daemon=True).start()
    try:
        yield
    finally:
        server.shutdown()
        server.server_close()


def _make_metrics_server(dispatcher: Dispatcher, where: str) -> Any:
    from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            if self.path.partition("?")[0] != "/metrics":
                self.send_error(404)
                return
            try:
                code, text = 200, dispatcher.metrics().to_prometheus()
            except AntiphonError as error:
                code, text = 503, f"{error}\n"
            self.send_response(code)
            self.send_header("Content-Type", "text/plain; version=0.0.4; charset=utf-8")
            self.end_headers()
            self.wfile.write(text.encode())

        def log_message(self, format: str, *args: Any) -> None:
            """Suppress request logging."""

    host, _, port = where.rpartition(":")
    try:
        return ThreadingHTTPServer((host or "127.0.0.1", int(port)), Handler)
    except (ValueError, OverflowError):
        raise click.BadParameter(f"{where!r} is not a port", param_hint="--metrics") from None
    except OSError as error:
        raise ConfigurationError(f"metrics cannot be served at {where}: {error.strerror or error}") from None
