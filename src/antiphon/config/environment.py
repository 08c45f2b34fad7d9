"""The variables that models, keys and addresses are looked up in, and where each of them comes from."""

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
    """The user's variables, the keys that they stored, and what was taken from the `.env` of a project.

    Stored keys are read when one is first looked for, and the keyring is opened for the one that is wanted.
    """

    own: Mapping[str, str]
    keys_file: Path
    taken: Mapping[str, str] = field(default_factory=dict[str, str])
    dotenv: Path | None = None

    def __getitem__(self, name: str) -> str:
        if not self.own.get(name, "").strip() and name in provider_keys() and name in self._stored:
            return self._stored[name] or keys.from_keyring(name)
        return self.own[name] if name in self.own else self.taken[name]

    def __iter__(self) -> Iterator[str]:
        return iter({**self.own, **self._stored, **self.taken})

    def __len__(self) -> int:
        return len({**self.own, **self._stored, **self.taken})

    def place(self, name: str) -> str:
        """Where a variable is set, if it is no stored key."""
        return "the environment" if name in self.own else str(self.dotenv)

    def key_place(self, provider: Provider) -> str:
        """Where the key of a provider comes from, or nothing; the keyring is not opened for it."""
        if name := _first(self.own, provider):
            return f"{name} in the environment"
        stored = next((name for name in provider.key_env if name in self._stored), None)
        if stored is not None:
            return f"stored in {self.keys_file}" if self._stored[stored] else "stored in the system's keyring"
        name = _first(self.taken, provider)
        return f"{name} in {self.dotenv}" if name else ""

    def known_keys(self) -> dict[str, str]:
        """The keys of providers by their variables, as far as they are known without opening the keyring."""
        found = {**self.taken, **self._stored, **self.own}
        return {name: found[name] for name in provider_keys() if found.get(name)}

    @cached_property
    def _stored(self) -> dict[str, str]:
        """The stored keys of providers for which the user has set no variable."""
        served = {name for each in _providers() if _first(self.own, each) for name in each.key_env}
        return {name: key for name, key in keys.read(self.keys_file).items() if name not in served}


def take(environment: Environment, values: Mapping[str, str], path: Path) -> tuple[Environment, list[str]]:
    """The environment with what a trusted project's `.env` may say, and what to tell the user.

    That is providers' keys and addresses and `ANTIPHON_MODEL`, and only where the user has none: not in a variable, and
    not stored. An address is taken only with a key from the same file, or where there is no key at all.
    """
    served = {name for each in _providers() if environment.key_place(each) for name in each.key_env}
    wanted = {"ANTIPHON_MODEL", *provider_keys()} - served
    notes: list[str] = []
    for name in dict.fromkeys(name for each in _providers() for name in each.url_env):
        if name not in values or name in environment.own:
            continue
        elsewhere = key_of_address(name, environment)
        if not elsewhere:
            wanted.add(name)
            continue
        notes.append(
            f"{path} sets {name}, but the key that would be sent there ({elsewhere}) is not from that file; "
            "it is ignored: set it in the environment itself, or put the key into the file too"
        )
    taken = {name: value for name, value in values.items() if name in wanted and name not in environment.own}
    return replace(environment, taken=taken, dotenv=path), notes


def provider_keys() -> frozenset[str]:
    """The variables that hold providers' keys."""
    return frozenset(name for each in _providers() for name in each.key_env)


def key_of_address(name: str, environment: Environment) -> str:
    """Where the key comes from that would be sent to the address in a variable, or nothing if there is none."""
    places = (environment.key_place(each) for each in _providers() if name in each.url_env)
    return next(filter(None, places), "")


def _providers() -> Iterable[Provider]:
    # Who only prints has no need of them, and they know all that can be sent.
    from antiphon.providers.registry import PROVIDERS

    return PROVIDERS.values()


def _first(variables: Mapping[str, str], provider: Provider) -> str:
    return next((name for name in provider.key_env if variables.get(name, "").strip()), "")
