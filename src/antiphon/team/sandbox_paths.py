"""The directories that sandboxed tests may read: programs and tools, never a home or a checkout."""

from __future__ import annotations

import os
import sys
from collections.abc import Collection, Iterable, Iterator
from glob import glob

#: Directories of the root. Where one is a symlink, the sandbox gets the same symlink.
_SYSTEM_DIRS = ("/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/nix/store", "/gnu/store")
#: Entries of /etc that programs need to start and that hold no secrets.
_ETC_PATTERNS = (
    *("alternatives", "ca-certificates", "crypto-policies", "fonts", "gai.conf", "host.conf", "java*", "ld.so.*"),
    *(
        "locale.alias",
        "locale.conf",
        "localtime",
        "magic",
        "mime.types",
        "nsswitch.conf",
        "os-release",
        "pki/tls/certs",
    ),
    *("pki/ca-trust", "protocols", "python3*", "services", "ssl/certs", "ssl/openssl.cnf", "terminfo", "timezone"),
)
#: Directories with settings of installed programs, such as npm's with its tokens.
_ADMIN_SETTINGS_DIRS = ("/usr/local/etc",)
#: Parts of an installation prefix.
_PREFIX_PARTS = ("bin", "lib", "lib64", "libexec", "include", "share", "pyvenv.cfg")
#: Tools installed in a home: the variable that points there, the default directory, and the parts that are read.
TOOL_DIRS: dict[str, tuple[str, tuple[str, ...]]] = {
    "PYENV_ROOT": (".pyenv", ("bin", "libexec", "plugins", "pyenv.d", "shims", "version", "versions")),
    "PYTHONUSERBASE": (".local", ("bin", "lib", "share/uv/python", "share/uv/tools", "share/pipx/venvs")),
    "RBENV_ROOT": (".rbenv", ("bin", "libexec", "shims", "version", "versions")),
    "NVM_DIR": (".nvm", ("alias", "nvm.sh", "versions")),
    "ASDF_DATA_DIR": (".asdf", ("bin", "installs", "lib", "plugins", "shims")),
    "RUSTUP_HOME": (".rustup", ("settings.toml", "toolchains")),
    "CARGO_HOME": (".cargo", ("bin", "git", "registry")),
    "GOPATH": ("go", ("bin", "pkg")),
}


def find_tool_homes(home: str) -> dict[str, str]:
    """Return the environment variables that point to tools installed in a home directory."""
    found = {name: os.path.join(home, where) for name, (where, _) in TOOL_DIRS.items()}
    return {name: path for name, path in found.items() if os.path.isdir(path)}


def find_system_links() -> dict[str, str]:
    """Return the symlinks at the root that lead to system programs, with their targets."""
    return {path: os.readlink(path) for path in _SYSTEM_DIRS if os.path.islink(path)}


def find_readable_paths(
    home: str, environment: dict[str, str], private: Collection[str], installed: Iterable[str]
) -> dict[str, str]:
    """Return the readable paths: each path in the sandbox with its real path.

    Of `private` directories, such as a checkout, only the `installed` ones are readable; of a home, only
    known tool directories.
    """
    given = [os.path.realpath(each) for each in installed]
    wanted = [*_iter_system_paths(), *_iter_tool_paths(home, environment), *_iter_program_paths(home, environment)]
    wanted += [part for each in given for part in _iter_base_paths(each, home)]
    wanted = [path for path in wanted if not any(_is_within(path, each) for each in private)] + given
    # One of these names may be a symlink to another.
    named = {
        name: os.path.realpath(path) for path in wanted for name in (os.path.abspath(path), os.path.realpath(path))
    }
    present = {
        name: path
        for name, path in named.items()
        if os.path.exists(path)
        and (name in _SYSTEM_DIRS or not any(_is_within(each, path) for each in (home, *private)))
    }
    return {name: path for name, path in present.items() if path in given or not _is_covered(name, present)}


def find_hidden_paths(home: str, private: Iterable[str], places: dict[str, str]) -> list[str]:
    """Return private and settings directories that lie inside a readable one, such as a home below /usr."""
    hidden = (home, *private, *filter(os.path.isdir, _ADMIN_SETTINGS_DIRS))
    return [each for each in hidden if any(_is_within(each, place) for place in places if place in _SYSTEM_DIRS)]


def _iter_system_paths() -> Iterator[str]:
    yield from (path for path in _SYSTEM_DIRS if not os.path.islink(path))
    yield from (path for pattern in _ETC_PATTERNS for path in glob(f"/etc/{pattern}"))


def _iter_tool_paths(home: str, environment: dict[str, str]) -> Iterator[str]:
    for name, (where, parts) in TOOL_DIRS.items():
        top = environment.get(name) or os.path.join(home, where)
        yield from (os.path.join(top, part) for part in parts)


def _iter_program_paths(home: str, environment: dict[str, str]) -> Iterator[str]:
    """Yield the paths on `PATH` and `PYTHONPATH`, and those of the running interpreter."""
    for prefix in (sys.prefix, sys.base_prefix):
        yield from _iter_prefix_paths(prefix, home)
    for path in filter(os.path.isabs, environment.get("PATH", "").split(os.pathsep)):
        yield path
        if os.path.basename(path) in ("bin", "sbin"):
            yield from _iter_prefix_paths(os.path.dirname(path), home)
    yield from filter(os.path.isabs, environment.get("PYTHONPATH", "").split(os.pathsep))


def _iter_prefix_paths(prefix: str, home: str) -> Iterator[str]:
    """Yield the parts of an installation prefix, unless it is a home or its `.local` directory."""
    if os.path.realpath(prefix) not in (os.path.realpath(home), os.path.realpath(os.path.join(home, ".local")), "/"):
        yield from (os.path.join(prefix, part) for part in _PREFIX_PARTS)
        yield from _iter_base_paths(prefix, home)


def _iter_base_paths(environment: str, home: str) -> Iterator[str]:
    """Yield the parts of the installation on which a virtual environment is based."""
    try:
        with open(os.path.join(environment, "pyvenv.cfg"), encoding="utf-8") as file:
            settings = [line.partition("=") for line in file]
    except (OSError, ValueError):
        return
    base = next((value.strip() for name, _, value in settings if name.strip() == "home"), "")
    if os.path.isabs(base) and os.path.realpath(base) != os.path.realpath(os.path.join(environment, "bin")):
        yield from _iter_prefix_paths(os.path.dirname(os.path.realpath(base)), home)


def _is_within(path: str, directory: str) -> bool:
    """Return whether a path is a directory or leads into it."""
    inner, outer = os.path.realpath(path), os.path.realpath(directory)
    return inner == outer or inner.startswith(outer.rstrip(os.sep) + os.sep)


def _is_covered(place: str, others: dict[str, str]) -> bool:
    """Return whether a path is already visible through another one."""
    return any(
        place.startswith(other + os.sep) and os.path.realpath(source + place[len(other) :]) == others[place]
        for other, source in others.items()
    )
