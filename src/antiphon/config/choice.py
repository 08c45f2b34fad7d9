"""Which model is used where several could be: one order, and an account of how it was followed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from antiphon.config.configuration import Configuration
from antiphon.config.environment import Environment
from antiphon.config.files import ConfigFile
from antiphon.config.trust import Project

#: The providers of which a default model is used if their key is there, in this order.
PROVIDERS_BY_PREFERENCE = ("anthropic", "openai", "google", "mistral", "deepseek", "groq", "openrouter")
LOCAL = "local/0.5b"
#: The smallest that does well with the built-in tools: see docs/local.md.
LOCAL_WITH_TOOLS = "local/1.5b"


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


def destination(configuration: Configuration, model: str) -> Destination:
    """Where a model is asked."""
    from antiphon.providers.registry import resolve

    environment = configuration.environment
    provider = resolve(model)[0]
    if provider.name == "local":
        return Destination("this machine", "it runs here", "")
    variable = next((name for name in provider.url_env if environment.get(name, "").strip()), "")
    source = f"{variable} in {environment.place(variable)}" if variable else "the provider's own"
    return Destination(provider.address(environment), source, environment.key_place(provider))


def provider_defaults() -> dict[str, str]:
    """Return the default model of each provider that has one, in the order of preference."""
    from antiphon.facts.resolution import default_model

    found = {provider: default_model(provider) for provider in PROVIDERS_BY_PREFERENCE}
    return {provider: model for provider, model in found.items() if model}


def default_model(configuration: Configuration, flag: str | None = None, program: str | None = None) -> Choice:
    """The model to use: the flag, the program, project, user, `ANTIPHON_MODEL`, a provider with a key, or local.

    The first that names one decides; what comes behind is not even read.
    """
    asked: list[tuple[str, Callable[[], tuple[str, str]]]] = [
        ("flag", lambda: _given(flag)),
        ("program", lambda: _given(program)),
        ("project", lambda: _file(configuration.project_settings(), _no_project(configuration.project))),
        ("user", lambda: _file(configuration.user_settings(), f"no {configuration.user_file}")),
        ("environment", lambda: _variable(configuration.environment)),
        ("key", lambda: _key(configuration.environment)),
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
    if name == "default":
        return "", "the default is asked for"
    return name, "named there" if name else "no model is named"


def _file(settings: ConfigFile | None, missing: str) -> tuple[str, str]:
    if settings is None:
        return "", missing
    return settings.model, f"{settings.path}" if settings.model else f"{settings.path} sets no `model`"


def _no_project(project: Project) -> str:
    names = [name for name in project.files if name.endswith(".toml")]
    if not names or project.state == "trusted":
        return "no antiphon.toml and no [tool.antiphon] in pyproject.toml"
    return f"{project.root / names[0]} is not trusted (`antiphon trust`)"


def _variable(environment: Environment) -> tuple[str, str]:
    model = environment.get("ANTIPHON_MODEL", "").strip()
    return (model, f"in {environment.place('ANTIPHON_MODEL')}") if model else ("", "not set")


def _key(environment: Environment) -> tuple[str, str]:
    from antiphon.providers.registry import PROVIDERS

    for name in PROVIDERS_BY_PREFERENCE:
        if (place := environment.key_place(PROVIDERS[name])) and (model := provider_defaults().get(name)):
            return model, place
    return "", f"no key for {', '.join(PROVIDERS_BY_PREFERENCE)}"
