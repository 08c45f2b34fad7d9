"""Detection of model servers on this machine: Ollama, LM Studio, llama.cpp and vLLM, at their default
ports.
"""

from __future__ import annotations

import http.client
import json
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, cast
from urllib.parse import urlsplit

from antiphon._base.json_access import as_object, as_string, filter_objects
from antiphon.providers.registry import PROVIDERS, Provider

_SERVER_NAMES = ("ollama", "lmstudio", "llamacpp", "vllm")
#: Timeout in seconds, and maximum size of a list of models.
_TIMEOUT, _MAX_RESPONSE = 0.5, 2_000_000


@dataclass(frozen=True, slots=True)
class LocalServer:
    """A server that answered, with its models as names for `connect`."""

    name: str
    url: str
    models: tuple[str, ...]


def find_local_servers(providers: Iterable[Provider] | None = None) -> list[LocalServer]:
    """Query all servers concurrently for their models. Return those that answer."""
    asked = [PROVIDERS[name] for name in _SERVER_NAMES] if providers is None else list(providers)
    with ThreadPoolExecutor(len(asked)) as pool:
        return [server for server in pool.map(_query_server, asked) if server is not None]


def _query_server(provider: Provider) -> LocalServer | None:
    parts = urlsplit(provider.url)
    connection = http.client.HTTPConnection(parts.hostname or "", parts.port, timeout=_TIMEOUT)
    try:
        connection.request("GET", f"{parts.path}/models", headers={"accept": "application/json"})
        response = connection.getresponse()
        data: Any = json.loads(response.read(_MAX_RESPONSE)) if response.status == 200 else None
    except (OSError, http.client.HTTPException, ValueError):
        return None
    finally:
        connection.close()
    listed = as_object(data).get("data")
    # Anything may listen on these ports: ignore servers with another response.
    if not isinstance(listed, list):
        return None
    names = [as_string(each.get("id")) for each in filter_objects(cast(object, listed))]
    models = tuple(f"{provider.name}/{name}" for name in names if name and name.isprintable())
    return LocalServer(provider.name, provider.url, models)
