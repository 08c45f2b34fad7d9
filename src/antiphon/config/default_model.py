"""Selection of the default model: an ordered list of sources, and a report of how the choice was made."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from antiphon.config.configuration import Configuration
from antiphon.config.environment import Environment
from antiphon.config.files import ConfigFile

#: The providers whose default model is used if they have a key, in this order.
PROVIDERS_BY_PREFERENCE = ("anthropic", "openai", "google", "mistral", "deepseek", "groq", "openrouter")
#: Names of families that mean a provider's default model.
_PROVIDER_BY_FAMILY = {
    **{"claude": "anthropic", "gpt": "openai", "chatgpt": "openai", "gemini": "google"},
    **{"mistral": "mistral", "deepseek": "deepseek"},
}
#: Words in the names of models that name a family.
_MODEL_FAMILIES = ("sonnet", "opus", "haiku", "grok")
#: Names that mean the current model of a family.
FAMILY_NAMES = (*_PROVIDER_BY_FAMILY, *_MODEL_FAMILIES)
LOCAL_MODEL = "local/0.5b"
#: The smallest local model that works well with the built-in tools: see docs/models-and-keys.md.
LOCAL_TOOL_MODEL = "local/1.5b"


@dataclass(frozen=True, slots=True)
class ChoiceStep:
    """One source that was checked: the model it named, if any, and what was found there."""

    name: str
    model: str
    found: str


@dataclass(frozen=True, slots=True)
class ModelChoice:
    """The model to use, the source that decided, and all steps up to that one."""

    model: str
    source: str
    steps: tuple[ChoiceStep, ...]


@dataclass(frozen=True, slots=True)
class ModelDestination:
    """The address for requests to a model, what sets it, and the source of the key; empty if none."""

    address: str
    address_from: str
    key_from: str


def find_model_destination(configuration: Configuration, model: str) -> ModelDestination:
    """Return the address and the key source for requests to a model."""
    from antiphon.providers.registry import place_model, resolve

    environment = configuration.environment
    provider, name = resolve(model)
    if provider.name == "local":
        return ModelDestination("this machine", "it runs here", "")
    variable = next((name for name in provider.url_env if environment.get(name, "").strip()), "")
    source = f"{variable} in {environment.place(variable)}" if variable else "the provider's own"
    key = environment.describe_key_source(provider) or environment.describe_sign_in(provider)
    return ModelDestination(place_model(provider, name, environment).url, source, key)


def list_provider_defaults() -> dict[str, str]:
    """Return the default model of each provider that has one, in the order of preference."""
    from antiphon.facts.resolution import default_model

    found = {provider: default_model(provider) for provider in PROVIDERS_BY_PREFERENCE}
    return {provider: model for provider, model in found.items() if model}


def find_current_model(family: str) -> str | None:
    """Return the current model of a family such as `sonnet`, `gpt` or `gemini`; None for another name."""
    from antiphon.facts.resolution import list_known_models

    word = family.strip().lower()
    if provider := _PROVIDER_BY_FAMILY.get(word):
        return list_provider_defaults().get(provider)
    if word not in _MODEL_FAMILIES:
        return None
    return next(
        (
            f"{each.provider}/{each.name}"
            for each in list_known_models()
            if word in each.name.split("-") and not each.facts.lifecycle.replaced_by
        ),
        None,
    )


def default_model(configuration: Configuration, flag: str | None = None, program: str | None = None) -> ModelChoice:
    """Return the model to use, and how it was chosen.

    Sources are flag, program, project, user, `ANTIPHON_MODEL`, a provider with a key, and the local model. The first
    that names a model decides; later ones are not read.
    """
    project, environment = configuration.project, configuration.environment
    variable = environment.get("ANTIPHON_MODEL", "").strip()
    names = [name for name in project.files if name.endswith(".toml")]
    untrusted = f"{project.root / names[0]} is not trusted (`antiphon setup trust`)" if names else ""
    without = "no antiphon.toml and no [tool.antiphon] in pyproject.toml"
    without = without if project.state == "trusted" else untrusted or without
    asked: list[tuple[str, Callable[[], tuple[str, str]]]] = [
        ("flag", lambda: _check_explicit(flag)),
        ("program", lambda: _check_explicit(program)),
        ("project", lambda: _check_file(configuration.read_project_settings(), without)),
        ("user", lambda: _check_file(configuration.read_user_settings(), f"no {configuration.user_file}")),
        ("environment", lambda: (variable, f"in {environment.place('ANTIPHON_MODEL')}" if variable else "not set")),
        ("key", lambda: _check_keys(environment)),
        ("local", lambda: (LOCAL_MODEL, "the model on this machine")),
    ]
    steps: list[ChoiceStep] = []
    for name, ask in asked:
        step = ChoiceStep(name, *ask())
        steps.append(step)
        if step.model:
            break
    return ModelChoice(steps[-1].model, steps[-1].name, tuple(steps))


def _check_explicit(model: str | None) -> tuple[str, str]:
    name = (model or "").strip()
    if name == "default":
        return "", "the default was requested"
    return name, "named there" if name else "no model is named"


def _check_file(settings: ConfigFile | None, missing: str) -> tuple[str, str]:
    if settings is None:
        return "", missing
    return settings.model, f"{settings.path}" if settings.model else f"{settings.path} sets no `model`"


def _check_keys(environment: Environment) -> tuple[str, str]:
    from antiphon.providers.registry import PROVIDERS

    for name in PROVIDERS_BY_PREFERENCE:
        if (place := environment.describe_key_source(PROVIDERS[name])) and (
            model := list_provider_defaults().get(name)
        ):
            return model, place
    return "", f"no key for {', '.join(PROVIDERS_BY_PREFERENCE)}"
