"""Credentials of MCP servers, stored as keys are: in the system's keyring, else in a file of the user."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from antiphon._base.user_dirs import user_directory
from antiphon.config.keys import delete_from_keyring, read_keyring_key, read_stored_keys, store_in_keyring
from antiphon.config.paths import write_private_json


class McpCredentials:
    """The stored logins at MCP servers, by address."""

    def __init__(self, environment: Mapping[str, str] | None = None) -> None:
        self._path = user_directory("config", environment) / "mcp-logins.json"

    @property
    def path(self) -> Path:
        """The file with the credentials, and the addresses of those in the keyring."""
        return self._path

    def load(self, address: str) -> str:
        """Return the stored credentials; empty if there are none."""
        stored = read_stored_keys(self._path)
        if address not in stored:
            return ""
        return stored[address] or read_keyring_key(_name_entry(address))

    def save(self, address: str, text: str) -> str:
        """Store credentials. Return where."""
        is_in_keyring = store_in_keyring(_name_entry(address), text)
        write_private_json(self._path, {**read_stored_keys(self._path), address: "" if is_in_keyring else text})
        return "the system's keyring" if is_in_keyring else str(self._path)

    def remove(self, address: str) -> bool:
        """Delete the credentials of a server. Return whether there were any."""
        stored = read_stored_keys(self._path)
        if address not in stored:
            return False
        if not stored.pop(address):
            delete_from_keyring(_name_entry(address))
        write_private_json(self._path, stored)
        return True

    def addresses(self) -> list[str]:
        """Return the addresses of all servers with credentials."""
        return list(read_stored_keys(self._path))


def _name_entry(address: str) -> str:
    return f"mcp {address}"
