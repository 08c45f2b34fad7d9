"""A worker: it executes the runs of jobs in Procrastinate's queue, and takes over those of dead workers."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import signal
import threading
import time
from collections.abc import Callable, Generator, Iterable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import psycopg
from procrastinate import App, JobContext, PsycopgConnector
from procrastinate.exceptions import ConnectorException
from procrastinate.jobs import Job, Status
from procrastinate.manager import JobManager, NotificationCallback
from procrastinate.worker import Worker

from antiphon.durable.run_owner import identify_process
from antiphon.errors import LeaseLost, RunInUse, StoreError, Suspended
from antiphon.storage import run_queue
from antiphon.storage.postgres import PostgresDatabase

log = logging.getLogger("antiphon.durable")
#: Seconds between searches for runs of dead workers and for runs that are due.
WATCH_SECONDS = 0.5
#: Seconds between searches for ready runs without a job.
REPAIR_SECONDS = 60.0
_DAY_SECONDS = 86_400.0


class PersistentJobManager(JobManager):
    """A job manager that survives restarts of the server and errors for jobs that were taken over."""

    def __init__(self, connector: PsycopgConnector) -> None:
        super().__init__(connector)
        self._held: set[int] = set()
        self._is_unsure = False

    async def fetch_job(self, queues: Iterable[str] | None, worker_id: int) -> Job | None:
        try:
            if self._is_unsure:
                # Jobs that were fetched in a reply that got lost are taken over.
                released = {"worker": worker_id, "held": list(self._held)}
                await self.connector.execute_query_async(run_queue.RELEASE_UNKNOWN_JOBS, **released)
                self._is_unsure = False
            job = await super().fetch_job(queues, worker_id)
        except ConnectorException as error:
            log.warning("cannot fetch jobs now: %s", error.__cause__)
            self._is_unsure = True
            await asyncio.sleep(WATCH_SECONDS)
            return None
        if job is not None and job.id is not None:
            self._held.add(job.id)
        return job

    async def finish_job(self, job: Job, status: Status, delete_job: bool) -> None:
        assert job.id is not None
        try:
            await self._finish(job, status, delete_job)
        finally:
            self._held.discard(job.id)

    async def _finish(self, job: Job, status: Status, delete_job: bool) -> None:
        for _ in range(60):
            try:
                await super().finish_job(job, status, delete_job)
                return
            except ConnectorException as error:
                if isinstance(error.__cause__, psycopg.errors.RaiseException):
                    # The worker that took the run over has ended the job.
                    return
                log.warning("cannot end job %s now: %s", job.id, error.__cause__)
            await asyncio.sleep(1)
        self._is_unsure = True

    async def listen_for_jobs(
        self, *, on_notification: NotificationCallback, queues: Iterable[str] | None = None
    ) -> None:
        while True:
            with contextlib.suppress(ConnectorException):
                await super().listen_for_jobs(on_notification=on_notification, queues=queues)
            await asyncio.sleep(1)


async def _configure(connection: psycopg.AsyncConnection[Any]) -> None:
    # It sends single statements; a transaction around each would cost two round trips more.
    await connection.set_autocommit(True)


class IsolationLock:
    """A lock that admits any number of runs, or one exclusive run. Exclusive runs have priority."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._inside = 0
        self._is_alone = False
        self._want_alone = 0

    @contextlib.contextmanager
    def enter(self, alone: bool, note_waiting: Callable[[bool], None]) -> Generator[None]:
        """Hold the lock inside the block. If that takes waiting, call `note_waiting` before and after the wait."""
        with self._changed:
            if not (has_waited := not self._is_free(alone)):
                self._mark_entered(alone)
        if has_waited:
            note_waiting(True)
            with self._changed:
                self._want_alone += alone
                self._changed.wait_for(lambda: self._is_free(alone))
                self._want_alone -= alone
                self._mark_entered(alone)
        try:
            if has_waited:
                note_waiting(False)
            yield
        finally:
            with self._changed:
                self._inside -= 1
                self._is_alone = False
                self._changed.notify_all()

    def _is_free(self, alone: bool) -> bool:
        return self._inside == 0 if alone else not self._is_alone and not self._want_alone

    def _mark_entered(self, alone: bool) -> None:
        self._inside += 1
        self._is_alone = alone


class RunWorker:
    """A worker in this process, from `run` to `stop`."""

    def __init__(self, database: PostgresDatabase, execute: Callable[[str], object], slots: int, lease: float) -> None:
        self._database = database
        self._execute = execute
        self._slots = slots
        self._lease = lease
        self._worker: Worker | None = None
        self._isolation = IsolationLock()
        self._stopped = threading.Event()
        self._over = threading.Event()

    def stop(self) -> None:
        """Take no more runs, and return from `run` when the current ones have ended."""
        self._stopped.set()
        if self._worker is not None:
            self._worker.stop()

    def run(self) -> None:
        """Work until stopped. In the main thread, SIGTERM or Ctrl-C stops it, and a second one ends it at once."""
        watch = threading.Thread(target=self._watch, name="antiphon-watch", daemon=True)
        try:
            asyncio.run(self._run(watch))
        finally:
            self._over.set()
            if watch.ident is not None:
                watch.join()

    async def _run(self, watch: threading.Thread) -> None:
        loop = asyncio.get_running_loop()
        # Each run occupies a thread, and the default executor has too few.
        loop.set_default_executor(ThreadPoolExecutor(self._slots + 2, "antiphon-run"))
        app = self._make_app()
        # Register before the first run, so that an abandoned run is known to be a worker's.
        self._send_heartbeat(self._database)
        with self._handle_signals(loop):
            async with app.open_async():
                self._worker = Worker(
                    app,
                    queues=[run_queue.QUEUE],
                    concurrency=self._slots,
                    delete_jobs="successful",
                    install_signal_handlers=False,
                    # Procrastinate would stop its heartbeat on shutdown, and the last runs would be taken over.
                    update_heartbeat_interval=_DAY_SECONDS,
                    stalled_worker_timeout=max(60.0, 10 * self._lease),
                )
                watch.start()
                running = asyncio.create_task(self._worker.run())
                # `stop` may have been called before the worker existed.
                await asyncio.sleep(0)
                if self._stopped.is_set():
                    self._worker.stop()
                await running

    def _make_app(self) -> App:
        connector = PsycopgConnector(
            conninfo=self._database.conninfo, min_size=1, max_size=4, timeout=10, configure=_configure
        )
        app = App(connector=connector)
        app.job_manager = PersistentJobManager(connector)
        app.task(name=run_queue.TASK, queue=run_queue.QUEUE, pass_context=True)(self._run_job)
        return app

    @contextlib.contextmanager
    def _handle_signals(self, loop: asyncio.AbstractEventLoop) -> Any:
        if threading.current_thread() is not threading.main_thread():
            yield
            return
        chosen, before = (signal.SIGTERM, signal.SIGINT), signal.getsignal(signal.SIGINT)

        def stop() -> None:
            for each in chosen:
                loop.remove_signal_handler(each)
            # The handler of Python would wait for the threads of the runs.
            signal.signal(signal.SIGINT, signal.SIG_DFL)
            log.warning("stopping after the current runs; another signal stops at once")
            self.stop()

        for each in chosen:
            loop.add_signal_handler(each, stop)
        try:
            yield
        finally:
            for each in chosen:
                loop.remove_signal_handler(each)
            signal.signal(signal.SIGINT, before)

    def _run_job(self, context: JobContext, run: str, lost: int = 0, **_: object) -> None:
        """Execute a job: claim its run and execute it."""
        job = context.job.id
        assert job is not None

        def note_waiting(is_waiting: bool) -> None:
            run_queue.mark_job_waiting(self._database, job, is_waiting)

        try:
            if lost > run_queue.MAX_TAKEOVERS:
                # It is marked as failed and not executed.
                self._claim_and_execute(job, run, lost)
                return
            # Of concurrent runs it is unknown which one killed their worker, so the last attempt is exclusive.
            with self._isolation.enter(lost == run_queue.MAX_TAKEOVERS, note_waiting):
                self._claim_and_execute(job, run, lost)
        except StoreError as error:
            # `repair_queue` queues it again within a minute.
            log.error("run %s: %s", run, error)

    def _claim_and_execute(self, job: int, run: str, lost: int) -> None:
        epoch = run_queue.claim_run(self._database, run, job, self._lease, lost)
        if epoch is None:
            return
        failure: BaseException | None = None
        try:
            self._execute(run)
        except (LeaseLost, RunInUse, Suspended) as error:
            log.info("run %s: %s", run, error)
        except BaseException as error:
            log.warning("run %s ended with %s: %s", run, type(error).__name__, error)
            failure = error
        run_queue.settle_run(self._database, run, epoch, identify_process(), failure)

    def _watch(self) -> None:
        database = PostgresDatabase(self._database.url, patience=0)
        beat_at = mend_at = blind_until = 0.0
        while not self._over.wait(WATCH_SECONDS):
            now = time.monotonic()
            try:
                if now >= beat_at:
                    self._send_heartbeat(database)
                    beat_at = now + self._lease / 4
                if now >= blind_until:
                    database.transact(lambda connection: run_queue.requeue_lost_runs(connection, self._lease))
                database.transact(run_queue.wake_runs)
                if now >= mend_at:
                    database.transact(run_queue.repair_queue)
                    mend_at = now + REPAIR_SECONDS
            except StoreError as error:
                # Other workers could not send heartbeats either.
                beat_at, blind_until = 0.0, time.monotonic() + self._lease
                log.warning("%s", error)
        with contextlib.suppress(StoreError):
            database.transact(lambda connection: run_queue.sign_off(connection, identify_process()))
        database.close()

    def _send_heartbeat(self, database: PostgresDatabase) -> None:
        worker = self._worker.worker_id if self._worker is not None else None
        database.transact(
            lambda connection: run_queue.send_heartbeat(connection, worker, identify_process(), self._slots)
        )
