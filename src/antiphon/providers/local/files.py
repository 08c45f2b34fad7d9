"""Which file a local model's name means."""

from __future__ import annotations

import threading
from pathlib import Path

from antiphon._terminal import hold_terminal, unseen
from antiphon.errors import ConfigurationError, WeightsError
from antiphon.providers.local.manifest import find, known


def is_tier(name: str) -> bool:
    """Whether a name is that of weights that are known here, and not a file's."""
    return name in known()


def is_ours(name: str) -> bool:
    """Whether a name means weights that are known here, be it by the path of a copy."""
    return is_tier(name) or any(Path(name).expanduser().stat().st_size == each.bytes for each in known().values())


def checked_name(name: str) -> str:
    """The name as it is used: a tier's in its own spelling, or the path of a file that is there."""
    if not name.lower().endswith(".gguf"):
        return find(name).name
    if not Path(name).expanduser().is_file():
        raise ConfigurationError(f"there is no file {name!r}; a model of your own is `local/path/to/file.gguf`")
    return name


def weights_path(name: str, stop: threading.Event | None = None) -> Path:
    """Return the file of a model that is to be loaded; fetch a tier that is not here, if the user agrees."""
    if not is_tier(name):
        return Path(name).expanduser()
    with _lock:
        # Checking the file takes a second, which is well spent once.
        if name not in _paths:
            _paths[name] = _tier_path(name, stop)
        return _paths[name]


_lock = threading.Lock()
_paths: dict[str, Path] = {}


def _tier_path(tier: str, stop: threading.Event | None) -> Path:
    from antiphon.providers.local.engine import has_devices
    from antiphon.providers.local.unpacking import unpacked
    from antiphon.providers.local.weights import installed

    path, weights = installed(tier) or _fetch(tier, stop), find(tier)
    return unpacked(path, weights) if weights.unpack and not has_devices() else path


def _fetch(tier: str, stop: threading.Event | None) -> Path:
    """Fetch a tier after asking; nothing else moves on the terminal meanwhile."""
    from antiphon.providers.local.consent import require_consent
    from antiphon.providers.local.progress import Report, shown
    from antiphon.providers.local.weights import ensure

    with hold_terminal():
        require_consent(find(tier), stop)
        with unseen(), shown() as show:

            def progress(report: Report) -> None:
                if stop is not None and stop.is_set():
                    raise WeightsError(f"fetching `{tier}` was stopped; what has come is kept")
                show(report)

            return ensure(tier, progress=progress)
