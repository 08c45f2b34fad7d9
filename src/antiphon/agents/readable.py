"""The directories that tests may read: the system's programs and what is installed, never a home or a checkout."""

from __future__ import annotations

import os
import sys
from collections.abc import Collection, Iterable, Iterator
from glob import glob

#: Of the root; where it is a link, as on most systems, the link is made.
_SYSTEM = ("/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/nix/store", "/gnu/store")
#: Of /etc, what programs need to start and holds no secret.
_ETC = (
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
#: Settings of programs that an administrator has installed, such as npm's with its tokens.
_SETTINGS = ("/usr/local/etc",)
#: Of a directory that programs are installed in.
_PREFIX = ("bin", "lib", "lib64", "libexec", "include", "share", "pyvenv.cfg")
#: Where tools are that look for themselves in a home: the variable that leads there, and what is read of it.
TOOLS: dict[str, tuple[str, tuple[str, ...]]] = {
    "PYENV_ROOT": (".pyenv", ("bin", "libexec", "plugins", "pyenv.d", "shims", "version", "versions")),
    "PYTHONUSERBASE": (".local", ("bin", "lib", "share/uv/python", "share/uv/tools", "share/pipx/venvs")),
    "RBENV_ROOT": (".rbenv", ("bin", "libexec", "shims", "version", "versions")),
    "NVM_DIR": (".nvm", ("alias", "nvm.sh", "versions")),
    "ASDF_DATA_DIR": (".asdf", ("bin", "installs", "lib", "plugins", "shims")),
    "RUSTUP_HOME": (".rustup", ("settings.toml", "toolchains")),
    "CARGO_HOME": (".cargo", ("bin", "git", "registry")),
    "GOPATH": ("go", ("bin", "pkg")),
}


def tool_homes(home: str) -> dict[str, str]:
    """Return the variables by which tools that are installed in a home find themselves."""
    found = {name: os.path.join(home, where) for name, (where, _) in TOOLS.items()}
    return {name: path for name, path in found.items() if os.path.isdir(path)}


def system_links() -> dict[str, str]:
    """Return the links at the root that lead to the system's programs."""
    return {path: os.readlink(path) for path in _SYSTEM if os.path.islink(path)}


def readable_places(
    home: str, environment: dict[str, str], private: Collection[str], installed: Iterable[str]
) -> dict[str, str]:
    """Return what tests may read: where they find it, and where it is.

    Of `private` directories, such as a checkout, they get only what is `installed` in it, and of a home what tools
    are known to put there.
    """
    given = [os.path.realpath(each) for each in installed]
    wanted = [*_system(), *_tools(home, environment), *_programs(home, environment)]
    wanted += [part for each in given for part in _base(each, home)]
    wanted = [path for path in wanted if not any(_is_within(path, each) for each in private)] + given
    # A link may lead from one of these names to another.
    named = {
        name: os.path.realpath(path) for path in wanted for name in (os.path.abspath(path), os.path.realpath(path))
    }
    present = {
        name: path
        for name, path in named.items()
        if os.path.exists(path) and (name in _SYSTEM or not any(_is_within(each, path) for each in (home, *private)))
    }
    return {name: path for name, path in present.items() if path in given or not _is_seen(name, present)}


def hidden_places(home: str, private: Iterable[str], places: dict[str, str]) -> list[str]:
    """Return the private directories that would be seen through what may be read, as one below /usr would."""
    hidden = (home, *private, *filter(os.path.isdir, _SETTINGS))
    return [each for each in hidden if any(_is_within(each, place) for place in places if place in _SYSTEM)]


def _system() -> Iterator[str]:
    yield from (path for path in _SYSTEM if not os.path.islink(path))
    yield from (path for pattern in _ETC for path in glob(f"/etc/{pattern}"))


def _tools(home: str, environment: dict[str, str]) -> Iterator[str]:
    for name, (where, parts) in TOOLS.items():
        top = environment.get(name) or os.path.join(home, where)
        yield from (os.path.join(top, part) for part in parts)


def _programs(home: str, environment: dict[str, str]) -> Iterator[str]:
    """Name what is found by `PATH` and `PYTHONPATH`, and the interpreter that runs this."""
    for prefix in (sys.prefix, sys.base_prefix):
        yield from _installed(prefix, home)
    for path in filter(os.path.isabs, environment.get("PATH", "").split(os.pathsep)):
        yield path
        if os.path.basename(path) in ("bin", "sbin"):
            yield from _installed(os.path.dirname(path), home)
    yield from filter(os.path.isabs, environment.get("PYTHONPATH", "").split(os.pathsep))


def _installed(prefix: str, home: str) -> Iterator[str]:
    """Name the parts of a directory that programs are installed in; a home, and `.local` in it, are more than that."""
    if os.path.realpath(prefix) not in (os.path.realpath(home), os.path.realpath(os.path.join(home, ".local")), "/"):
        yield from (os.path.join(prefix, part) for part in _PREFIX)
        yield from _base(prefix, home)


def _base(environment: str, home: str) -> Iterator[str]:
    """Name the parts of the installation that a virtual environment was made from."""
    try:
        with open(os.path.join(environment, "pyvenv.cfg"), encoding="utf-8") as file:
            settings = [line.partition("=") for line in file]
    except (OSError, ValueError):
        return
    base = next((value.strip() for name, _, value in settings if name.strip() == "home"), "")
    if os.path.isabs(base) and os.path.realpath(base) != os.path.realpath(os.path.join(environment, "bin")):
        yield from _installed(os.path.dirname(os.path.realpath(base)), home)


def _is_within(path: str, directory: str) -> bool:
    """Tell whether a path is a directory or leads into it."""
    inner, outer = os.path.realpath(path), os.path.realpath(directory)
    return inner == outer or inner.startswith(outer.rstrip(os.sep) + os.sep)


def _is_seen(place: str, others: dict[str, str]) -> bool:
    """Tell whether a place is seen through another one already."""
    return any(
        place.startswith(other + os.sep) and os.path.realpath(source + place[len(other) :]) == others[place]
        for other, source in others.items()
    )
