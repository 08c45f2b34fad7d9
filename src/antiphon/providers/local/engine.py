"""llama.cpp in this process: each model file is loaded once, and everybody's requests to it take turns.

The runtime insists on a server of its own. It is put on a socket in a private directory, so that no port is opened. It
is the only way to what the runtime has read; the directory is removed when that has been used once, for the opening.
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

from antiphon._extras import lacking
from antiphon._json import dumps
from antiphon._shape import number, obj
from antiphon.errors import ConfigurationError
from antiphon.providers.local import kept
from antiphon.providers.local.backing import Held
from antiphon.providers.local.gguf import Header, read_header
from antiphon.providers.local.prompting import Prompt

#: The most tokens of context that memory is set aside for.
CONTEXT = 8192
#: Tokens of a prompt between two looks at whether anybody still wants the answer, and between two reports of progress.
#: Threads wait for each other in every step: fewer, larger steps are much faster where others want the cores too.
_BATCH = 512
_PROMPT_CACHE_MIB = 512
_ELSEWHERE = "; or name a model at a provider, such as 'anthropic/claude-sonnet-5', and give its key"
#: Openings of fewer characters are read faster than they are fetched.
_SHORTEST = 1000

_PIECE = 1 << 20
_SOCKET, _STATE = "model.sock", "state"
#: Where Linux says, in the fourth field, how many are running.
_LOAD = Path("/proc/loadavg")

Take = Callable[[dict[str, Any] | None], object]


class Engine:
    """A loaded model."""

    def __init__(self, path: Path) -> None:
        self.header: Header = read_header(path)
        self.context = min(self.header.context or CONTEXT, CONTEXT)
        self._room: Path | None = Path(tempfile.mkdtemp(prefix="antiphon-"))
        self._opening = threading.Lock()
        stat = path.stat()
        #: What was read by one model is nothing to another, nor to another version of the runtime.
        self._identity = f"{stat.st_size} {stat.st_mtime_ns} {load_runtime().__version__} {self.context} {self.header}"
        try:
            self._server: Any = _load(path, self.header, self.context, self._room)
        except BaseException:
            self._leave_room()
            raise
        self._running: set[Generation] = set()

    def begin(self, prompt: Prompt, take: Take) -> Generation:
        """Start to generate; the pieces go to `take` from another thread, and `None` when no more come."""
        generation = Generation(self, prompt, take)
        self._running.add(generation)
        generation.thread.start()
        return generation

    def run(self, request: dict[str, Any], heard: Callable[[dict[str, Any]], bool]) -> None:
        """Have the runtime answer a request, until `heard` says that it is enough."""
        self._server.handle_chat_completions(request, heard)

    def over(self, generation: Generation) -> None:
        """A request is answered, or given up."""
        self._running.discard(generation)

    def open(self, opening: list[dict[str, Any]], heard: Callable[[dict[str, Any]], bool]) -> None:
        """Read how a conversation begins, or take what was read of it before; of one opening in a process, the first.

        Others are kept by the runtime, in memory.
        """
        text = dumps(opening)
        if len(text) < _SHORTEST or not hasattr(socket, "AF_UNIX"):
            return
        with self._opening:
            if self._room is None:
                return
            try:
                self._restore_or_read(f"{self._identity} {text}", opening, heard, self._room)
            finally:
                self._leave_room()

    def _restore_or_read(
        self, key: str, opening: list[dict[str, Any]], heard: Callable[[dict[str, Any]], bool], room: Path
    ) -> None:
        file, is_wanted = room / _STATE, True

        def listen(piece: dict[str, Any]) -> bool:
            nonlocal is_wanted
            is_wanted = is_wanted and not heard(piece) if "prompt_progress" in piece else is_wanted
            return not is_wanted

        state = kept.take(key)
        if state is not None:
            file.write_bytes(state)
            _ask_server(room, "restore")
            return
        self.run({"messages": opening, "max_tokens": 1, "stream": True, "return_progress": True}, listen)
        if is_wanted and _ask_server(room, "save"):
            kept.keep(key, file.read_bytes())

    def _leave_room(self) -> None:
        """From now on nobody can reach the server."""
        if self._room is not None:
            shutil.rmtree(self._room, ignore_errors=True)
            self._room = None

    def count_tokens(self, text: str) -> int:
        """How many tokens a text is."""
        # The runtime counts out loud only when it refuses, so it is given more than it takes.
        filler = [1] * self.context
        refusal = obj(self._server.handle_completions({"prompt": [text, *filler], "max_tokens": 1}))
        return (number(obj(refusal.get("error")).get("n_prompt_tokens")) or len(filler)) - len(filler)

    def is_too_long(self, size: int) -> bool:
        """Whether a text of so many characters cannot fit, whatever its tokens are."""
        return size > self.context * self.header.longest_token

    def close(self) -> None:
        """Stop everything and give the memory back."""
        for generation in list(self._running):
            generation.stop()
            generation.thread.join()
        self._server = None
        self._leave_room()

    def abandon(self) -> None:
        """Never give anything back: in a forked child the runtime would wait for threads that are not there."""
        import ctypes

        self._room = None
        ctypes.pythonapi.Py_IncRef(ctypes.py_object(self._server))


class Generation:
    """A request under way in a thread of its own."""

    def __init__(self, engine: Engine, prompt: Prompt, take: Take) -> None:
        self._stopped = threading.Event()
        self._engine = engine
        self._prompt = prompt
        self._take = take
        self.thread = threading.Thread(target=self._run, name="antiphon-local", daemon=True)

    def stop(self) -> None:
        """Generate no more. The model is free for others at the next token, or the next few hundred of a prompt."""
        self._stopped.set()

    def _run(self) -> None:
        prompt, engine = self._prompt, self._engine
        try:
            engine.open(prompt.opening, self._heard)
            if not self._stopped.is_set() and self._is_answered():
                engine.run(prompt.again or {}, self._heard)
        except (ValueError, RuntimeError) as error:
            self._heard({"error": {"code": 400, "message": str(error), "type": "invalid_request_error"}})
        finally:
            engine.over(self)
            if not self._stopped.is_set():
                self._take(None)

    def _is_answered(self) -> bool:
        """Whether the first try ends with an answer that is not taken."""
        prompt = self._prompt
        if prompt.again is None or prompt.is_claim is None:
            self._engine.run(prompt.request, self._heard)
            return False
        held, is_refused = Held(prompt.is_claim), False

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
        """Hand a piece on; true tells the runtime to stop."""
        if self._stopped.is_set():
            return True
        self._take(piece)
        return False


_engines: dict[Path, Engine] = {}
_lock = threading.Lock()
#: Whether this process has the remains of models that were loaded in another.
_is_forked = False


def engine(path: Path) -> Engine:
    """The model of a file, loaded when it is first asked for."""
    path = path.resolve()
    with _lock:
        if path not in _engines:
            _engines[path] = Engine(path)
            if _is_forked:
                _engines[path].abandon()
            elif len(_engines) == 1:
                atexit.register(_close_all, os.getpid())
        return _engines[path]


def _begin_anew() -> None:
    """In a forked child, models are loaded again: of those of the parent, nothing would ever answer."""
    global _lock, _is_forked
    _lock = threading.Lock()
    if _engines and not _is_forked:
        _is_forked = True
        _leave_plainly()
    while _engines:
        _engines.popitem()[1].abandon()


def _leave_plainly() -> None:
    """End this process without the runtime's own farewell, in which it waits for threads of the parent."""
    import ctypes

    system = ctypes.CDLL(None)
    # Only some C libraries have this. It is called with the exit code, after Python has put everything away.
    with suppress(AttributeError):
        system.on_exit(system._exit, None)


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_begin_anew)


def _close_all(process: int) -> None:
    # A forked child has none of the threads that closing would wait for.
    while _engines and os.getpid() == process:
        _engines.popitem()[1].close()


def threads() -> tuple[int, int]:
    """How many threads write and how many read: all cores read; to write, those that others leave, at least half.

    Whoever writes waits for all threads at every token: one that has to share its core is worse than none.
    """
    cores = os.cpu_count() or 2
    wish = os.environ.get("ANTIPHON_LOCAL_THREADS", "").strip()
    if not wish:
        return max(1, cores // 2, cores - busy(cores)), cores
    if not wish.isdecimal() or int(wish) < 1:
        raise ConfigurationError(f"`ANTIPHON_LOCAL_THREADS` is a number of threads, not {wish!r}")
    return int(wish), int(wish)


def busy(cores: int) -> int:
    """How many cores others use: over the last minute, and now, whichever is less.

    What ended a moment ago still counts for the minute, and what only looks up for a moment counts for now.
    """
    if not hasattr(os, "getloadavg"):
        return cores
    lately = round(os.getloadavg()[0])
    try:
        running = int(_LOAD.read_text().split()[3].partition("/")[0])
    except (OSError, ValueError, IndexError):
        return lately
    # This process is one of those that run.
    return min(lately, max(0, running - 1))


def load_runtime() -> Any:
    """The package that runs models; an error says how to get it."""
    try:
        return import_module("xllamacpp")
    except ImportError as error:
        raise ConfigurationError(lacking("the local model needs the package", "local", error) + _ELSEWHERE) from None


def has_devices() -> bool:
    """Whether something else than the processor could compute here."""
    return len(load_runtime().get_device_info()) > 1


def _load(path: Path, header: Header, context: int, room: Path) -> Any:
    runtime = load_runtime()
    _read_ahead(path)
    try:
        return runtime.Server(_settings(runtime, path, context, room))
    except (RuntimeError, ValueError):
        raise ConfigurationError(
            f"llama.cpp cannot load {path}: its architecture is {header.architecture or 'not named'!r}, which"
            f" xllamacpp {runtime.__version__} may not know; or the file is damaged, or memory is short"
        ) from None


def _read_ahead(path: Path) -> None:
    """Have the file in memory: the runtime lets nothing else in this process go on while it loads."""
    buffer = bytearray(_PIECE)
    with path.open("rb", buffering=0) as file:
        for at in range(0, path.stat().st_size, _PIECE):
            if not _is_in_memory(file.fileno(), at):
                file.seek(at)
                file.readinto(buffer)


def _is_in_memory(file: int, at: int) -> bool:
    """Whether a place of a file can be read without waiting for the disk, as far as the system tells."""
    try:
        return bool(os.preadv(file, [bytearray(1)], at, os.RWF_NOWAIT))
    except (OSError, AttributeError):
        return False


def _ask_server(room: Path, action: str) -> bool:
    """Have the server save what it has read to a file, or take it from there; whether it could."""
    import httpx2

    try:
        with httpx2.Client(transport=httpx2.HTTPTransport(uds=str(room / _SOCKET)), timeout=60) as client:
            answer = client.post(f"http://local/slots/0?action={action}", json={"filename": _STATE})
        return answer.status_code == 200
    except httpx2.HTTPError:
        return False


def _settings(runtime: Any, path: Path, context: int, room: Path) -> Any:
    settings = runtime.CommonParams()
    settings.model.path = str(path)
    settings.n_ctx = context
    settings.n_batch = settings.n_ubatch = _BATCH
    settings.cpuparams.n_threads, settings.cpuparams_batch.n_threads = threads()
    settings.n_parallel = 1
    settings.cache_ram_mib = _PROMPT_CACHE_MIB
    settings.hostnames = [str(room / _SOCKET)]
    settings.slot_save_path = f"{room}/"
    settings.n_threads_http = 1
    settings.ui = False
    # How much of a model fits is asked only where something else than this machine's memory could hold it: the answer
    # takes as long as loading. And what would warm it up is done by the first request.
    settings.fit_params = has_devices()
    settings.warmup = False
    # Below every level: nothing of the runtime's log reaches the terminal.
    settings.verbosity = -1
    return settings
