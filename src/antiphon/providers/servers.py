"""Servers of models on this machine: Ollama, LM Studio, llama.cpp and vLLM, where they listen as a rule."""

from __future__ import annotations

import http.client
import json
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, cast
from urllib.parse import urlsplit

from antiphon._shape import obj, objects, string
from antiphon.providers.registry import PROVIDERS, Provider

_NAMES = ("ollama", "lmstudio", "llamacpp", "vllm")
#: Nobody is to wait for a server that is not there, nor to read what is no list of models.
_SECONDS, _LARGEST = 0.5, 2_000_000


@dataclass(frozen=True, slots=True)
class Server:
    """A server that answered, and its models as `connect` takes them."""

    name: str
    url: str
    models: tuple[str, ...]


def find_servers(providers: Iterable[Provider] | None = None) -> list[Server]:
    """Ask each of them at once what models it has; those that do not answer are not there."""
    asked = [PROVIDERS[name] for name in _NAMES] if providers is None else list(providers)
    with ThreadPoolExecutor(len(asked)) as pool:
        return [server for server in pool.map(_found, asked) if server is not None]


def _found(provider: Provider) -> Server | None:
    parts = urlsplit(provider.url)
    connection = http.client.HTTPConnection(parts.hostname or "", parts.port, timeout=_SECONDS)
    try:
        connection.request("GET", f"{parts.path}/models", headers={"accept": "application/json"})
        response = connection.getresponse()
        data: Any = json.loads(response.read(_LARGEST)) if response.status == 200 else None
    except (OSError, http.client.HTTPException, ValueError):
        return None
    finally:
        connection.close()
    listed = obj(data).get("data")
    # Anything may listen at these ports: what does not speak as they do is something else.
    if not isinstance(listed, list):
        return None
    names = [string(each.get("id")) for each in objects(cast(object, listed))]
    models = tuple(f"{provider.name}/{name}" for name in names if name and name.isprintable())
    return Server(provider.name, provider.url, models)
