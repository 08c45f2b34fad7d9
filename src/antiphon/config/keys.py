"""Keys that the user stored: in the system's keyring where there is one, else in a file that only they can read."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from antiphon._places import user_directory
from antiphon._suggestions import nearest
from antiphon.config.places import read_own, write_private
from antiphon.errors import ConfigurationError

_SERVICE = "antiphon"


def set_key(name: str, key: str) -> str:
    """Store a provider's key; returns where."""
    variable, key = variable_of(name), check_key(name, key)
    kept = _to_keyring(variable, key)
    write_private(keys_file(), {**read(keys_file()), variable: "" if kept else key})
    return "the system's keyring" if kept else str(keys_file())


def check_key(name: str, key: str) -> str:
    """Return a key without the blanks around it; raise an error where it cannot be one."""
    key = key.strip()
    if not key or not key.isascii() or not key.isprintable() or " " in key:
        raise ConfigurationError(
            f"that is no key for {name}: a key is one line of letters, digits and signs, not empty"
        )
    return key


def remove_key(name: str) -> bool:
    """Forget a provider's stored key; returns whether there was one."""
    variable = variable_of(name)
    names = read(keys_file())
    if variable not in names:
        return False
    if not names.pop(variable):
        _forget_in_keyring(variable)
    write_private(keys_file(), names)
    return True


def variable_of(name: str) -> str:
    """The variable a provider's key goes by. An unknown name is not repeated: it may be a key in the wrong place."""
    from antiphon.providers.registry import PROVIDERS

    provider = PROVIDERS.get({"gemini": "google"}.get(name, name))
    if provider is None:
        names = [each.name for each in PROVIDERS.values() if each.key_env]
        near = nearest(name, names)
        hint = f"did you mean `{near}`?" if near else f"there are {', '.join(names)}"
        raise ConfigurationError(f"that is not the name of a provider; {hint}")
    if not provider.key_env:
        raise ConfigurationError(f"provider `{provider.name}` takes no key")
    return provider.key_env[0]


def keys_file(environment: Mapping[str, str] | None = None) -> Path:
    """The file that holds keys, and the names of those in the keyring."""
    return user_directory("config", environment) / "keys.json"


def protect(path: Path) -> str:
    """Take the file away from other users if they could read it; returns what to tell about that."""
    try:
        mode = path.stat().st_mode
        if os.name == "nt" or not mode & 0o077:
            return ""
        path.chmod(0o600)
    except FileNotFoundError:
        return ""
    except OSError as error:
        raise ConfigurationError(
            f"{path} can be read by others, and that cannot be changed: {error.strerror or error}; delete the file"
        ) from None
    return f"{path} could be read by others (mode {mode & 0o777:o}); it is now 600, but consider new keys"


def read(path: Path) -> dict[str, str]:
    """The stored keys by the name of their variable; those in the keyring are empty."""
    protect(path)
    return read_own(path, lambda entry: isinstance(entry, str), "`antiphon keys` writes; mend or delete it")


def _keyring() -> Any:
    """The `keyring` package if it is installed and has a safe place to keep things, else nothing."""
    try:
        import keyring  # pyright: ignore[reportMissingImports]
    except ImportError:
        return None
    package: Any = keyring
    # Below 1 are the backends that fail, forget, or write plain files.
    return package if package.get_keyring().priority >= 1 else None


def _to_keyring(variable: str, key: str) -> bool:
    package = _keyring()
    if package is None:
        return False
    try:
        package.set_password(_SERVICE, variable, key)
    except Exception:  # whatever a backend raises (no session, locked, refused), the file remains
        return False
    return True


def from_keyring(variable: str) -> str:
    """A key that the keyring holds."""
    package = _keyring()
    if package is None:
        return ""
    try:
        return package.get_password(_SERVICE, variable) or ""
    except Exception as error:
        raise ConfigurationError(
            f"the system's keyring did not give {variable}: {type(error).__name__}; unlock it, or set the variable"
        ) from None


def _forget_in_keyring(variable: str) -> None:
    package = _keyring()
    try:
        if package is not None:
            package.delete_password(_SERVICE, variable)
    except Exception as error:
        raise ConfigurationError(
            f"the system's keyring did not delete the key {variable}: {type(error).__name__}; nothing was changed"
        ) from None
