"""llama.cpp in this process: each model file is loaded once, and its requests take turns.

The runtime requires a server of its own. It listens on a socket in a private directory, so no port
is opened. The server is the only way to save and restore the KV cache; the directory is removed
after that was done once.
"""

from __future__ import annotations

import atexit
import os
import shutil
import socket
import tempfile
import threading
from collections.abc import Callable
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from typing import Any

from antiphon._base.json import dump_json
from antiphon._base.json_access import as_integer, as_object
from antiphon._base.optional_deps import describe_missing_extra
from antiphon.errors import ConfigurationError
from antiphon.local import kv_cache_store as kept
from antiphon.local.gguf import GgufHeader, read_gguf_header
from antiphon.local.groundedness import ClaimFilter
from antiphon.local.prompt_template import LocalPrompt

#: Maximum context in tokens for which memory is allocated.
MAX_CONTEXT = 8192
#: Prompt tokens between two checks for cancellation, and between two progress reports.
#: Threads synchronise in every step: fewer, larger steps are much faster on a busy machine.
_BATCH_SIZE = 512
_PROMPT_CACHE_MIB = 512
_PROVIDER_HINT = "; or name a model at a provider, such as 'anthropic/claude-sonnet-5', and give its key"
#: Shorter openings are processed faster than restored.
_MIN_OPENING = 1000

_READ_SIZE = 1 << 20
_SOCKET, _STATE = "model.sock", "state"
#: Linux reports the number of running processes here, in the fourth field.
_LOADAVG = Path("/proc/loadavg")

PieceCallback = Callable[[dict[str, Any] | None], object]


class LocalEngine:
    """A loaded model."""

    def __init__(self, path: Path) -> None:
        self.header: GgufHeader = read_gguf_header(path)
        self.context = min(self.header.context or MAX_CONTEXT, MAX_CONTEXT)
        self._room: Path | None = Path(tempfile.mkdtemp(prefix="antiphon-"))
        self._opening = threading.Lock()
        stat = path.stat()
        #: The KV cache is keyed by model and runtime version.
        self._identity = f"{stat.st_size} {stat.st_mtime_ns} {load_runtime().__version__} {self.context} {self.header}"
        try:
            self._server: Any = _load_server(path, self.header, self.context, self._room)
        except BaseException:
            self._remove_socket_dir()
            raise
        self._running: set[LocalGeneration] = set()

    def begin(self, prompt: LocalPrompt, take: PieceCallback) -> LocalGeneration:
        """Start generating. `take` receives the pieces from another thread, and None at the end."""
        generation = LocalGeneration(self, prompt, take)
        self._running.add(generation)
        generation.thread.start()
        return generation

    def run(self, request: dict[str, Any], heard: Callable[[dict[str, Any]], bool]) -> None:
        """Have the runtime answer a request until `heard` returns True."""
        self._server.handle_chat_completions(request, heard)

    def over(self, generation: LocalGeneration) -> None:
        """Forget a request that is answered or cancelled."""
        self._running.discard(generation)

    def open(self, opening: list[dict[str, Any]], heard: Callable[[dict[str, Any]], bool]) -> None:
        """Process the opening of a conversation, or restore its KV cache. Only the first opening of a
        process.

        The runtime keeps others in memory.
        """
        text = dump_json(opening)
        if len(text) < _MIN_OPENING or not hasattr(socket, "AF_UNIX"):
            return
        with self._opening:
            if self._room is None:
                return
            try:
                self._restore_or_process(f"{self._identity} {text}", opening, heard, self._room)
            finally:
                self._remove_socket_dir()

    def _restore_or_process(
        self, key: str, opening: list[dict[str, Any]], heard: Callable[[dict[str, Any]], bool], room: Path
    ) -> None:
        file, is_wanted = room / _STATE, True

        def listen(piece: dict[str, Any]) -> bool:
            nonlocal is_wanted
            is_wanted = is_wanted and not heard(piece) if "prompt_progress" in piece else is_wanted
            return not is_wanted

        state = kept.load_state(key)
        if state is not None:
            file.write_bytes(state)
            _save_or_restore_state(room, "restore")
            return
        self.run({"messages": opening, "max_tokens": 1, "stream": True, "return_progress": True}, listen)
        if is_wanted and _save_or_restore_state(room, "save"):
            kept.save_state(key, file.read_bytes())

    def _remove_socket_dir(self) -> None:
        """Remove the socket directory, after which the server is unreachable."""
        if self._room is not None:
            shutil.rmtree(self._room, ignore_errors=True)
            self._room = None

    def count_tokens(self, text: str) -> int:
        """Return the number of tokens of a text."""
        # The runtime reports the count only when it rejects a prompt, so exceed its context.
        filler = [1] * self.context
        refusal = as_object(self._server.handle_completions({"prompt": [text, *filler], "max_tokens": 1}))
        return (as_integer(as_object(refusal.get("error")).get("n_prompt_tokens")) or len(filler)) - len(filler)

    def is_too_long(self, size: int) -> bool:
        """Return whether a text of this many characters cannot fit, whatever its tokens are."""
        return size > self.context * self.header.longest_token

    def close(self) -> None:
        """Stop all generations and free the memory."""
        for generation in list(self._running):
            generation.stop()
            generation.thread.join()
        self._server = None
        self._remove_socket_dir()

    def abandon(self) -> None:
        """Never free anything: in a forked child, the runtime would wait for threads that do not exist."""
        import ctypes

        self._room = None
        ctypes.pythonapi.Py_IncRef(ctypes.py_object(self._server))


class LocalGeneration:
    """A request that runs in its own thread."""

    def __init__(self, engine: LocalEngine, prompt: LocalPrompt, take: PieceCallback) -> None:
        self._stopped = threading.Event()
        self._engine = engine
        self._prompt = prompt
        self._take = take
        self.thread = threading.Thread(target=self._run, name="antiphon-local", daemon=True)

    def stop(self) -> None:
        """Stop generating. The model becomes free at the next token or prompt batch."""
        self._stopped.set()

    def _run(self) -> None:
        prompt, engine = self._prompt, self._engine
        try:
            engine.open(prompt.opening, self._heard)
            if not self._stopped.is_set() and self._run_first_attempt():
                engine.run(prompt.again or {}, self._heard)
        except (ValueError, RuntimeError) as error:
            self._heard({"error": {"code": 400, "message": str(error), "type": "invalid_request_error"}})
        finally:
            engine.over(self)
            if not self._stopped.is_set():
                self._take(None)

    def _run_first_attempt(self) -> bool:
        """Run the first attempt. Return whether its answer was rejected."""
        prompt = self._prompt
        if prompt.again is None or prompt.is_claim is None:
            self._engine.run(prompt.request, self._heard)
            return False
        held, is_refused = ClaimFilter(prompt.is_claim), False

        def listen(piece: dict[str, Any]) -> bool:
            nonlocal is_refused
            ready = held.take(piece)
            is_refused = is_refused or ready is None
            for each in ready or ():
                self._heard(each)
            return is_refused or self._stopped.is_set()

        self._engine.run(prompt.request, listen)
        return is_refused and not self._stopped.is_set()

    def _heard(self, piece: dict[str, Any]) -> bool:
        """Pass a piece on. True tells the runtime to stop."""
        if self._stopped.is_set():
            return True
        self._take(piece)
        return False


_engines: dict[Path, LocalEngine] = {}
_lock = threading.Lock()
#: Whether this process was forked after models had been loaded.
_is_forked = False


def get_engine(path: Path) -> LocalEngine:
    """Return the engine of a model file, loaded on first use."""
    path = path.resolve()
    with _lock:
        if path not in _engines:
            _engines[path] = LocalEngine(path)
            if _is_forked:
                _engines[path].abandon()
            elif len(_engines) == 1:
                atexit.register(_close_engines, os.getpid())
        return _engines[path]


def _reset_after_fork() -> None:
    """Drop the parent's models in a forked child, so that they are loaded again."""
    global _lock, _is_forked
    _lock = threading.Lock()
    if _engines and not _is_forked:
        _is_forked = True
        _exit_without_cleanup()
    while _engines:
        _engines.popitem()[1].abandon()


def _exit_without_cleanup() -> None:
    """Make this process exit without the runtime's cleanup, which waits for the parent's threads."""
    import ctypes

    system = ctypes.CDLL(None)
    # Only some C libraries have this. It is called with the exit code, after Python's own cleanup.
    with suppress(AttributeError):
        system.on_exit(system._exit, None)


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_reset_after_fork)


def _close_engines(process: int) -> None:
    # A forked child has none of the threads that closing would wait for.
    while _engines and os.getpid() == process:
        _engines.popitem()[1].close()


def choose_thread_counts() -> tuple[int, int]:
    """Return the threads for generation and for prompts: prompts use all cores, generation the idle ones.

    Generation uses at least half of the cores. It synchronises all threads at every token, so a thread
    that shares its core slows it down.
    """
    cores = os.cpu_count() or 2
    wish = os.environ.get("ANTIPHON_LOCAL_THREADS", "").strip()
    if not wish:
        return max(1, cores // 2, cores - count_busy_cores(cores)), cores
    if not wish.isdecimal() or int(wish) < 1:
        raise ConfigurationError(f"`ANTIPHON_LOCAL_THREADS` is a number of threads, not {wish!r}")
    return int(wish), int(wish)


def count_busy_cores(cores: int) -> int:
    """Return how many cores other processes use: the lower of the last minute's average and now.

    A process that just ended still counts for the minute, and a brief one counts only for now.
    """
    if not hasattr(os, "getloadavg"):
        return cores
    lately = round(os.getloadavg()[0])
    try:
        running = int(_LOADAVG.read_text().split()[3].partition("/")[0])
    except (OSError, ValueError, IndexError):
        return lately
    # Exclude this process.
    return min(lately, max(0, running - 1))


def load_runtime() -> Any:
    """Import the package that runs models. Raise ConfigurationError with how to install it."""
    try:
        return import_module("xllamacpp")
    except ImportError as error:
        raise ConfigurationError(
            describe_missing_extra("the local model needs the package", "local", error) + _PROVIDER_HINT
        ) from None


def has_accelerators() -> bool:
    """Return whether a device other than the CPU is available."""
    return len(load_runtime().get_device_info()) > 1


def _load_server(path: Path, header: GgufHeader, context: int, room: Path) -> Any:
    runtime = load_runtime()
    _preload_file(path)
    try:
        return runtime.Server(_build_settings(runtime, path, context, room))
    except (RuntimeError, ValueError):
        raise ConfigurationError(
            f"llama.cpp cannot load {path}: its architecture is {header.architecture or 'not named'!r}, which"
            f" xllamacpp {runtime.__version__} may not know; or the file is damaged, or memory is short"
        ) from None


def _preload_file(path: Path) -> None:
    """Read the file into memory, because loading blocks every other thread of this process."""
    buffer = bytearray(_READ_SIZE)
    with path.open("rb", buffering=0) as file:
        for at in range(0, path.stat().st_size, _READ_SIZE):
            if not _is_in_memory(file.fileno(), at):
                file.seek(at)
                file.readinto(buffer)


def _is_in_memory(file: int, at: int) -> bool:
    """Return whether a position of a file can be read without waiting for the disk."""
    try:
        return bool(os.preadv(file, [bytearray(1)], at, os.RWF_NOWAIT))
    except (OSError, AttributeError):
        return False


def _save_or_restore_state(room: Path, action: str) -> bool:
    """Have the server save its KV cache to a file or restore it. Return whether it could."""
    import httpx2

    try:
        with httpx2.Client(transport=httpx2.HTTPTransport(uds=str(room / _SOCKET)), timeout=60) as client:
            answer = client.post(f"http://local/slots/0?action={action}", json={"filename": _STATE})
        return answer.status_code == 200
    except httpx2.HTTPError:
        return False


def _build_settings(runtime: Any, path: Path, context: int, room: Path) -> Any:
    settings = runtime.CommonParams()
    settings.model.path = str(path)
    settings.n_ctx = context
    settings.n_batch = settings.n_ubatch = _BATCH_SIZE
    settings.cpuparams.n_threads, settings.cpuparams_batch.n_threads = choose_thread_counts()
    settings.n_parallel = 1
    settings.cache_ram_mib = _PROMPT_CACHE_MIB
    settings.hostnames = [str(room / _SOCKET)]
    settings.slot_save_path = f"{room}/"
    settings.n_threads_http = 1
    settings.ui = False
    # Fitting parameters are computed only if an accelerator is available, because that takes as long as loading.
    # The first request warms the model up.
    settings.fit_params = has_accelerators()
    settings.warmup = False
    # Below every level: the runtime's log never reaches the terminal.
    settings.verbosity = -1
    return settings
