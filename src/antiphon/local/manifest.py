"""Manifest of the known weights: size, licence, origin, and hash."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from antiphon._base.did_you_mean import suggest_name
from antiphon.errors import ConfigurationError, WeightsError

#: The default tier.
DEFAULT_TIER = "0.5b"

_NAME = re.compile(r"[a-z0-9][a-z0-9.-]*")
_FILE = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*\.gguf")
_PACKAGE = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*==[A-Za-z0-9.]+")
_SHA256 = re.compile(r"[0-9a-f]{64}")


@dataclass(frozen=True, slots=True)
class WeightsPart:
    """A piece of the file: the only member of its size in a package of the registry."""

    package: str
    bytes: int
    sha256: str

    def __post_init__(self) -> None:
        if not _PACKAGE.fullmatch(self.package):
            raise ConfigurationError(f"the package of a part looks like 'name==1.0', not {self.package!r}")
        if not _SHA256.fullmatch(self.sha256) or self.bytes <= 0:
            raise ConfigurationError(f"a part has a size and a sha256 of 64 hex digits, not {self!r}")


@dataclass(frozen=True, slots=True)
class Weights:
    """The file of one local model. `repository`, `revision` and `file` locate it on the model hub, if any."""

    name: str
    title: str
    file: str
    sha256: str
    licence: str
    parts: tuple[WeightsPart, ...]
    repository: str = ""
    revision: str = "main"
    #: Whether a larger, dequantised copy of the file is faster (see `dequantize`).
    unpack: bool = False

    def __post_init__(self) -> None:
        if not _NAME.fullmatch(self.name):
            raise ConfigurationError(f"the name of weights is of a-z, 0-9, `.` and `-`, not {self.name!r}")
        if not _FILE.fullmatch(self.file):
            raise ConfigurationError(f"the `file` of weights `{self.name}` is a plain name.gguf, not {self.file!r}")
        if not _SHA256.fullmatch(self.sha256) or not self.parts:
            raise ConfigurationError(f"weights `{self.name}` need a sha256 of 64 hex digits and at least one part")

    @property
    def bytes(self) -> int:
        """The size of the file."""
        return sum(part.bytes for part in self.parts)

    @property
    def variable(self) -> str:
        """The environment variable that names a file to use instead of the one in the cache."""
        return f"ANTIPHON_WEIGHTS_{re.sub('[^A-Z0-9]', '_', self.name.upper())}"

    @property
    def origin(self) -> str:
        """The publisher of the file."""
        return f"huggingface.co/{self.repository}" if self.repository else self.parts[0].package.partition("==")[0]

    def offset(self, index: int) -> int:
        """Return where a part begins in the file."""
        return sum(part.bytes for part in self.parts[:index])


_known: dict[str, Weights] = {}


def known() -> dict[str, Weights]:
    """Return all weights by name, the default first."""
    if not _known:
        _known.update(_read_manifest(Path(__file__).with_name("manifest.toml")))
    return _known


def register_weights(weights: Weights) -> None:
    """Make weights known under their name, in place of those of the same name."""
    known()[weights.name] = weights


def find_weights(name: str) -> Weights:
    """Return the weights that `0.5b`, `0.5B` or `local/0.5b` means. Raise WeightsError if there are none."""
    wanted = name.strip().lower().removeprefix("local/")
    if wanted in known():
        return known()[wanted]
    near = suggest_name(wanted, known())
    hint = f"did you mean {near!r}?" if near else f"there are {', '.join(known())}"
    raise WeightsError(f"there are no weights {name!r}; {hint} (a file of your own is `local/path/to/file.gguf`)")


def _read_manifest(path: Path) -> dict[str, Weights]:
    import tomllib

    with path.open("rb") as file:
        entries = tomllib.load(file)
    return {
        name: Weights(name, parts=tuple(WeightsPart(*part) for part in entry.pop("parts")), **entry)
        for name, entry in entries.items()
    }


def format_size(count: int) -> str:
    """Format a number of bytes for people: `491 MB`."""
    amount, units = float(count), iter(("bytes", "kB", "MB", "GB", "TB"))
    unit = next(units)
    while amount >= 999.5 and (larger := next(units, None)):
        amount, unit = amount / 1000, larger
    return f"{amount:.0f} {unit}" if amount >= 10 or unit == "bytes" else f"{amount:.1f} {unit}"
