"""llama.cpp in this process: each model file is loaded once, and everybody's requests to it take turns.

The runtime insists on a server of its own. It is put on a socket in a private directory that is removed as soon as the
model is loaded, so that nobody can reach it, and no port is opened.
"""

from __future__ import annotations

import atexit
import os
import shutil
import tempfile
import threading
from collections.abc import Callable
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from typing import Any

from antiphon._extras import lacking
from antiphon._shape import number, obj
from antiphon.errors import ConfigurationError
from antiphon.providers.local.gguf import Header, read_header

#: The most tokens of context that memory is set aside for.
CONTEXT = 8192
#: Tokens of a prompt between two looks at whether anybody still wants the answer.
_BATCH = 64
_PROMPT_CACHE_MIB = 512
_ELSEWHERE = "; or name a model at a provider, such as 'anthropic/claude-sonnet-5', and give its key"

Take = Callable[[dict[str, Any] | None], object]


class Engine:
    """A loaded model."""

    def __init__(self, path: Path) -> None:
        self.header: Header = read_header(path)
        self.context = min(self.header.context or CONTEXT, CONTEXT)
        self._server: Any = _load(path, self.header, self.context)
        self._running: set[Generation] = set()

    def begin(self, request: dict[str, Any], take: Take) -> Generation:
        """Start to generate; the pieces go to `take` from another thread, and `None` when no more come."""
        generation = Generation(self._server, request, take, self._running.discard)
        self._running.add(generation)
        generation.thread.start()
        return generation

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

    def abandon(self) -> None:
        """Never give anything back: in a forked child the runtime would wait for threads that are not there."""
        import ctypes

        ctypes.pythonapi.Py_IncRef(ctypes.py_object(self._server))


class Generation:
    """A request under way in a thread of its own."""

    def __init__(self, server: Any, request: dict[str, Any], take: Take, over: Callable[[Generation], None]) -> None:
        self._stopped = threading.Event()
        self._take = take
        self._over = over
        self.thread = threading.Thread(target=self._run, args=(server, request), name="antiphon-local", daemon=True)

    def stop(self) -> None:
        """Generate no more. The model is free for others at the next token, or the next few dozen of a prompt."""
        self._stopped.set()

    def _run(self, server: Any, request: dict[str, Any]) -> None:
        try:
            server.handle_chat_completions(request, self._heard)
        except (ValueError, RuntimeError) as error:
            self._heard({"error": {"code": 400, "message": str(error), "type": "invalid_request_error"}})
        finally:
            self._over(self)
            if not self._stopped.is_set():
                self._take(None)

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


def threads() -> int:
    """How many threads compute: half of the cores, because the rest of the machine needs some too."""
    wish = os.environ.get("ANTIPHON_LOCAL_THREADS", "").strip()
    if not wish:
        return max(1, (os.cpu_count() or 2) // 2)
    if not wish.isdecimal() or int(wish) < 1:
        raise ConfigurationError(f"`ANTIPHON_LOCAL_THREADS` is a number of threads, not {wish!r}")
    return int(wish)


def load_runtime() -> Any:
    """The package that runs models; an error says how to get it."""
    try:
        return import_module("xllamacpp")
    except ImportError as error:
        raise ConfigurationError(lacking("the local model needs the package", "local", error) + _ELSEWHERE) from None


def _load(path: Path, header: Header, context: int) -> Any:
    runtime = load_runtime()
    private = tempfile.mkdtemp(prefix="antiphon-")
    try:
        return runtime.Server(_settings(runtime, path, context, f"{private}/model.sock"))
    except (RuntimeError, ValueError):
        raise ConfigurationError(
            f"llama.cpp cannot load {path}: its architecture is {header.architecture or 'not named'!r}, which"
            f" xllamacpp {runtime.__version__} may not know; or the file is damaged, or memory is short"
        ) from None
    finally:
        shutil.rmtree(private, ignore_errors=True)


def _settings(runtime: Any, path: Path, context: int, socket: str) -> Any:
    settings = runtime.CommonParams()
    settings.model.path = str(path)
    settings.n_ctx = context
    settings.n_batch = settings.n_ubatch = _BATCH
    settings.cpuparams.n_threads = settings.cpuparams_batch.n_threads = threads()
    settings.cache_ram_mib = _PROMPT_CACHE_MIB
    settings.hostnames = [socket]
    settings.n_threads_http = 1
    settings.ui = False
    # Below every level: nothing of the runtime's log reaches the terminal.
    settings.verbosity = -1
    return settings
