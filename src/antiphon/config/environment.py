"""Environment variables for models, keys and addresses, with the source of each."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from antiphon.config import keys

if TYPE_CHECKING:
    from antiphon.providers.registry import Provider


@dataclass(frozen=True, eq=False, repr=False)
class Environment(Mapping[str, str]):
    """The user's variables, their stored keys, and variables from a project's `.env`.

    Stored keys are read on first use, and the keyring is opened only for the requested key.
    """

    own: Mapping[str, str]
    keys_file: Path
    taken: Mapping[str, str] = field(default_factory=dict[str, str])
    dotenv: Path | None = None

    def __getitem__(self, name: str) -> str:
        if not self.own.get(name, "").strip() and name in list_key_variables() and name in self._stored:
            return self._stored[name] or keys.read_keyring_key(name)
        return self.own[name] if name in self.own else self.taken[name]

    def __iter__(self) -> Iterator[str]:
        return iter({**self.own, **self._stored, **self.taken})

    def __len__(self) -> int:
        return len({**self.own, **self._stored, **self.taken})

    def place(self, name: str) -> str:
        """Return where a variable is set, if it is not a stored key."""
        return "the environment" if name in self.own else str(self.dotenv)

    def describe_key_source(self, provider: Provider) -> str:
        """Return where a provider's key comes from, or "". This does not open the keyring."""
        if name := _find_key_variable(self.own, provider):
            return f"{name} in the environment"
        stored = next((name for name in provider.key_env if name in self._stored), None)
        if stored is not None:
            return f"stored in {self.keys_file}" if self._stored[stored] else "stored in the system's keyring"
        name = _find_key_variable(self.taken, provider)
        return f"{name} in {self.dotenv}" if name else ""

    def describe_sign_in(self, provider: Provider) -> str:
        """Return the variable that shows how a user signs in to a platform, or "". There are ways without variables."""
        name = next((name for name in provider.sign_in_env if self.own.get(name, "").strip()), "")
        return f"{name} in the environment" if name else ""

    def list_known_keys(self) -> dict[str, str]:
        """Return the providers' keys by variable, as far as known without opening the keyring."""
        found = {**self.taken, **self._stored, **self.own}
        return {name: found[name] for name in list_key_variables() if found.get(name)}

    @cached_property
    def _stored(self) -> dict[str, str]:
        """The stored keys of providers for which the user has set no variable."""
        served = {name for each in _list_providers() if _find_key_variable(self.own, each) for name in each.key_env}
        return {name: key for name, key in keys.read_stored_keys(self.keys_file).items() if name not in served}


def apply_dotenv(environment: Environment, values: Mapping[str, str], path: Path) -> tuple[Environment, list[str]]:
    """Return the environment with the allowed variables of a trusted `.env`, and notes for the user.

    Allowed are provider keys, provider addresses and `ANTIPHON_MODEL`, and only if the user has no such
    variable or stored key. An address is accepted only with a key from the same file, or if there is no key
    at all.
    """
    served = {name for each in _list_providers() if environment.describe_key_source(each) for name in each.key_env}
    wanted = {"ANTIPHON_MODEL", *list_key_variables()} - served
    notes: list[str] = []
    for name in dict.fromkeys(name for each in _list_providers() for name in each.url_env):
        if name not in values or name in environment.own:
            continue
        elsewhere = find_key_source_for_address(name, environment) or _find_sign_in_for_address(name, values)
        if not elsewhere:
            wanted.add(name)
            continue
        notes.append(
            f"{path} sets {name}, but the key for it ({elsewhere}) is not from that file; it is ignored:"
            " set it in the environment, or add the key to the file"
        )
    taken = {name: value for name, value in values.items() if name in wanted and name not in environment.own}
    return replace(environment, taken=taken, dotenv=path), notes


def list_key_variables() -> frozenset[str]:
    """Return the variables that hold providers' keys."""
    return frozenset(name for each in _list_providers() for name in each.key_env)


def find_key_source_for_address(name: str, environment: Environment) -> str:
    """Return the source of the key that would be sent to the address in a variable, or ""."""
    places = (environment.describe_key_source(each) for each in _list_providers() if name in each.url_env)
    return next(filter(None, places), "")


def _find_sign_in_for_address(name: str, values: Mapping[str, str]) -> str:
    """Return what would be sent to the address in a variable if the same file has no key for it, or ""."""
    signing_in = [each for each in _list_providers() if name in each.url_env and each.sign_in]
    if not signing_in or any(values.get(key, "").strip() for each in signing_in for key in each.key_env):
        return ""
    return "your sign-in to its platform"


def _list_providers() -> Iterable[Provider]:
    # Imported late: they load all wire code, which commands that only print do not need.
    from antiphon.providers.registry import PROVIDERS

    return PROVIDERS.values()


def _find_key_variable(variables: Mapping[str, str], provider: Provider) -> str:
    return next((name for name in provider.key_env if variables.get(name, "").strip()), "")
