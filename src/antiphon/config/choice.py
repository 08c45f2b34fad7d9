"""Which model is used where several could be: one order, and an account of how it was followed."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from antiphon.config import keys
from antiphon.config.files import Settings, project_settings, user_settings
from antiphon.config.places import config_directory
from antiphon.config.trust import find_project
from antiphon.providers.registry import PROVIDERS, resolve

#: What is used of a provider whose key is there, in this order.
MODELS = {
    "anthropic": "anthropic/claude-sonnet-5-5",
    "openai": "openai/gpt-5.5",
    "google": "google/gemini-3.8-flash",
    "mistral": "mistral/mistral-medium-latest",
    "deepseek": "deepseek/deepseek-v4-flash",
    "groq": "groq/openai/gpt-oss-120b",
    "openrouter": "openrouter/anthropic/claude-sonnet-5.5",
}
LOCAL = "local/0.5b"


@dataclass(frozen=True, slots=True)
class Step:
    """One place that was asked: the model it named, or nothing, and what was found there."""

    name: str
    model: str
    found: str


@dataclass(frozen=True, slots=True)
class Choice:
    """The model to use, the step that decided, and all steps up to that one."""

    model: str
    source: str
    steps: tuple[Step, ...]


@dataclass(frozen=True, slots=True)
class Destination:
    """Where requests for a model go, who says so, and where the key comes from that goes along; nothing if none."""

    address: str
    address_from: str
    key_from: str


def destination(model: str) -> Destination:
    """Where a model is asked, as things are now."""
    provider = resolve(model)[0]
    if provider.name == "local":
        return Destination("this machine", "it runs here", "")
    variable = next((name for name in provider.url_env if os.environ.get(name, "").strip()), "")
    source = f"{variable} in {keys.read_from.get(variable, 'the environment')}" if variable else "the provider's own"
    return Destination(provider.address(), source, keys.where(provider))


def default_model(flag: str | None = None, program: str | None = None, *, cwd: Path | None = None) -> Choice:
    """The model to use: the flag, the program, project, user, `ANTIPHON_MODEL`, a provider with a key, or local.

    The first that names one decides; what comes behind is not even read.
    """
    asked: list[tuple[str, Callable[[], tuple[str, str]]]] = [
        ("flag", lambda: _given(flag)),
        ("program", lambda: _given(program)),
        ("project", lambda: _file(project_settings(cwd), _no_project(cwd))),
        ("user", lambda: _file(user_settings(), f"no {config_directory() / 'config.toml'}")),
        ("environment", _variable),
        ("key", _key),
        ("local", lambda: (LOCAL, "the model that runs on this machine")),
    ]
    steps: list[Step] = []
    for name, ask in asked:
        step = Step(name, *ask())
        steps.append(step)
        if step.model:
            break
    return Choice(steps[-1].model, steps[-1].name, tuple(steps))


def _given(model: str | None) -> tuple[str, str]:
    name = (model or "").strip()
    return name, "named there" if name else "no model is named"


def _file(settings: Settings | None, missing: str) -> tuple[str, str]:
    if settings is None:
        return "", missing
    return settings.model, f"{settings.path}" if settings.model else f"{settings.path} sets no `model`"


def _no_project(cwd: Path | None) -> str:
    project = find_project(cwd)
    names = [name for name in project.files if name.endswith(".toml")]
    if not names or project.state == "trusted":
        return "no antiphon.toml and no [tool.antiphon] in pyproject.toml"
    return f"{project.root / names[0]} is not trusted (`antiphon trust`)"


def _variable() -> tuple[str, str]:
    model = os.environ.get("ANTIPHON_MODEL", "").strip()
    if not model:
        return "", "not set"
    path = keys.read_from.get("ANTIPHON_MODEL")
    return model, f"in {path}" if path else "in the environment"


def _key() -> tuple[str, str]:
    # A model is no use without its key: from here on, stored keys are found by whoever connects.
    keys.activate()
    for name, model in MODELS.items():
        if place := keys.where(PROVIDERS[name]):
            return model, place
    return "", f"no key for {', '.join(MODELS)}"
