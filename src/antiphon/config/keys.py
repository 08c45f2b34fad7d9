"""Stored API keys: in the system's keyring if there is one, else in a file that only the user can read."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from antiphon._base.did_you_mean import suggest_name
from antiphon._base.user_dirs import user_directory
from antiphon.config.paths import read_own_json, write_private_json
from antiphon.errors import ConfigurationError

_SERVICE = "antiphon"


def store_key(name: str, key: str) -> str:
    """Store a provider's key. Return where."""
    variable, key = find_key_variable(name), check_key(name, key)
    kept = store_in_keyring(variable, key)
    write_private_json(get_keys_path(), {**read_stored_keys(get_keys_path()), variable: "" if kept else key})
    return "the system's keyring" if kept else str(get_keys_path())


def check_key(name: str, key: str) -> str:
    """Return a key without surrounding spaces. Raise a ConfigurationError if it cannot be a key."""
    key = key.strip()
    if not key or not key.isascii() or not key.isprintable() or " " in key:
        raise ConfigurationError(f"that is not a key for {name}: a key is one line of letters, digits and signs")
    return key


def remove_key(name: str) -> bool:
    """Delete a provider's stored key. Return whether there was one."""
    variable = find_key_variable(name)
    names = read_stored_keys(get_keys_path())
    if variable not in names:
        return False
    if not names.pop(variable):
        delete_from_keyring(variable)
    write_private_json(get_keys_path(), names)
    return True


def find_key_variable(name: str) -> str:
    """Return the variable for a provider's key.

    The error for an unknown name does not repeat it: it may be a key in the wrong place.
    """
    from antiphon.providers.registry import PROVIDERS

    provider = PROVIDERS.get({"gemini": "google"}.get(name, name))
    if provider is None:
        names = [each.name for each in PROVIDERS.values() if each.key_env]
        near = suggest_name(name, names)
        hint = f"did you mean `{near}`?" if near else f"there are {', '.join(names)}"
        raise ConfigurationError(f"that is not the name of a provider; {hint}")
    if not provider.key_env:
        raise ConfigurationError(f"provider `{provider.name}` takes no key")
    return provider.key_env[0]


def get_keys_path(environment: Mapping[str, str] | None = None) -> Path:
    """Return the path of the file that holds keys, and the names of those in the keyring."""
    return user_directory("config", environment) / "keys.json"


def restrict_keys_file(path: Path) -> str:
    """Remove access for other users if they could read the file. Return a message about that, or ""."""
    try:
        mode = path.stat().st_mode
        if os.name == "nt" or not mode & 0o077:
            return ""
        path.chmod(0o600)
    except FileNotFoundError:
        return ""
    except OSError as error:
        raise ConfigurationError(
            f"others can read {path}, and its mode cannot be changed: {error.strerror or error}; delete the file"
        ) from None
    return f"others could read {path} (mode {mode & 0o777:o}); the mode is now 600; consider replacing the keys"


def read_stored_keys(path: Path) -> dict[str, str]:
    """Return the stored keys by variable; those in the keyring are empty."""
    restrict_keys_file(path)
    return read_own_json(path, lambda entry: isinstance(entry, str), "`setup keys` writes; repair or delete it")


def _load_keyring() -> Any:
    """Return the `keyring` package if it is installed and has a secure backend, else `None`."""
    try:
        import keyring  # pyright: ignore[reportMissingImports]
    except ImportError:
        return None
    package: Any = keyring
    # Backends with a priority below 1 fail, lose data, or write plain files.
    return package if package.get_keyring().priority >= 1 else None


def store_in_keyring(variable: str, key: str) -> bool:
    """Store a key in the keyring. Return whether that worked."""
    package = _load_keyring()
    if package is None:
        return False
    try:
        package.set_password(_SERVICE, variable, key)
    except Exception:  # whatever a backend raises (no session, locked, refused), the file remains
        return False
    return True


def read_keyring_key(variable: str) -> str:
    """Return a key from the keyring."""
    package = _load_keyring()
    if package is None:
        return ""
    try:
        return package.get_password(_SERVICE, variable) or ""
    except Exception as error:
        raise ConfigurationError(
            f"the system's keyring did not return {variable}: {type(error).__name__}; unlock it, or set the variable"
        ) from None


def delete_from_keyring(variable: str) -> None:
    """Delete a key from the keyring."""
    package = _load_keyring()
    try:
        if package is not None:
            package.delete_password(_SERVICE, variable)
    except Exception as error:
        raise ConfigurationError(
            f"the system's keyring did not delete the key {variable}: {type(error).__name__}; nothing was changed"
        ) from None
