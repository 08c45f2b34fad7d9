"""Resolution of a local model's name to its file."""

from __future__ import annotations

import threading
from pathlib import Path

from antiphon._base.terminal import hide_typed_input, hold_terminal
from antiphon.errors import ConfigurationError, WeightsError
from antiphon.local.manifest import find_weights, known


def is_known_tier(name: str) -> bool:
    """Return whether a name is that of known weights, not of a file."""
    return name in known()


def is_known_weights(name: str) -> bool:
    """Return whether a name means known weights, also by the path of a copy."""
    return is_known_tier(name) or any(Path(name).expanduser().stat().st_size == each.bytes for each in known().values())


def normalize_local_name(name: str) -> str:
    """Return a tier's name in its own spelling, or the path of an existing file."""
    if not name.lower().endswith(".gguf"):
        return find_weights(name).name
    if not Path(name).expanduser().is_file():
        raise ConfigurationError(f"there is no file {name!r}; a model of your own is `local/path/to/file.gguf`")
    return name


def resolve_weights_path(name: str, stop: threading.Event | None = None) -> Path:
    """Return the file of a model to load. Download a missing tier if the user agrees."""
    if not is_known_tier(name):
        return Path(name).expanduser()
    with _paths_lock:
        # Verifying the file takes a second, so do it once.
        if name not in _tier_paths:
            _tier_paths[name] = _get_tier_path(name, stop)
        return _tier_paths[name]


_paths_lock = threading.Lock()
_tier_paths: dict[str, Path] = {}


def _get_tier_path(tier: str, stop: threading.Event | None) -> Path:
    from antiphon.local.dequantize import ensure_dequantized
    from antiphon.local.engine import has_accelerators
    from antiphon.local.weights import find_installed_weights

    path, weights = find_installed_weights(tier) or _fetch_tier(tier, stop), find_weights(tier)
    return ensure_dequantized(path, weights) if weights.unpack and not has_accelerators() else path


def _fetch_tier(tier: str, stop: threading.Event | None) -> Path:
    """Download a tier after the user agreed. Nothing else updates the terminal meanwhile."""
    from antiphon.local.consent import require_download_consent
    from antiphon.local.progress import Report, show_download_progress
    from antiphon.local.weights import ensure

    with hold_terminal():
        require_download_consent(find_weights(tier), stop)
        with hide_typed_input(), show_download_progress() as show:

            def progress(report: Report) -> None:
                if stop is not None and stop.is_set():
                    raise WeightsError(f"fetching `{tier}` was stopped; what has come is kept")
                show(report)

            return ensure(tier, progress=progress)
