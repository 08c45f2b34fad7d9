"""Which file a local model's name means."""

from __future__ import annotations

from functools import cache
from pathlib import Path

from antiphon.errors import ConfigurationError
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


def weights_path(name: str) -> Path:
    """The file of a model that is to be loaded, fetched if it is a tier's and not there."""
    return _fetched(name) if is_tier(name) else Path(name).expanduser()


@cache
def _fetched(tier: str) -> Path:
    # Checking the file takes a second, which is well spent once.
    from antiphon.providers.local.engine import has_devices
    from antiphon.providers.local.unpacking import unpacked
    from antiphon.providers.local.weights import ensure

    path, weights = ensure(tier), find(tier)
    return unpacked(path, weights) if weights.unpack and not has_devices() else path
