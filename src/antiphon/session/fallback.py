"""Fallback: models of which the next one answers if a request to the one before fails."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

from antiphon.errors import OptionError, ProviderError
from antiphon.session.exceptions import ModelRefused

if TYPE_CHECKING:
    from antiphon.session.settings import ModelProtocol

#: A failure that makes the next model answer.
FallbackReason = type[ProviderError] | type[ModelRefused]


@dataclass(frozen=True, slots=True, init=False)
class Fallback:
    """Models in the order in which they are asked: if a request fails in one of the ways `on`, the next one answers.

    `on` are classes of `ProviderError`, and `ModelRefused` for answers that the model refuses or a content filter
    withholds. A run stays with the model that answered; the next ask begins with the first one again. A model that is
    given by its name is tried twice within 20 seconds before the next one answers, and not at all for a while after
    five failures; `connect` takes another `retry` and `breaker`.
    """

    models: tuple[str | ModelProtocol, ...]
    on: tuple[FallbackReason, ...]

    def __init__(
        self, *models: str | ModelProtocol, on: FallbackReason | Sequence[FallbackReason] = (ProviderError,)
    ) -> None:
        reasons = cast("Iterable[Any]", on if isinstance(on, Iterable) else (on,))
        object.__setattr__(self, "models", models)
        object.__setattr__(self, "on", tuple(reasons))
        _check_models(models)
        _check_reasons(self.on)


def _check_models(models: Sequence[object]) -> None:
    from antiphon.session.settings import ModelProtocol

    for model in models:
        if not isinstance(model, str | ModelProtocol):
            raise OptionError(f"`Fallback` takes names of models, and models of `connect`, not {model!r:.80}")
    if len(models) < 2:
        raise OptionError("`Fallback` takes two models or more: the first, and those that answer if it fails")
    for place, model in enumerate(models):
        if any(model is each or (isinstance(model, str) and model == each) for each in models[:place]):
            name = model if isinstance(model, str) else getattr(model, "name", model)
            raise OptionError(f"`Fallback` has {name!r} twice; it is not asked again after it has failed")


def _check_reasons(on: Sequence[object]) -> None:
    for reason in on:
        if not (isinstance(reason, type) and issubclass(reason, ProviderError | ModelRefused)):
            named = reason.__name__ if isinstance(reason, type) else f"{reason!r:.80}"
            raise OptionError(f"`on` are classes of `ProviderError`, and `ModelRefused`, not {named}")
    if not on:
        raise OptionError("`on` names at least one class of errors, such as `ProviderError`")


@dataclass(frozen=True, slots=True)
class ModelChain:
    """Connected models in the order in which they are asked, and the failures after which the next one is."""

    models: tuple[ModelProtocol, ...] = ()
    on: tuple[FallbackReason, ...] = ()

    @property
    def choice(self) -> ModelProtocol | Fallback:
        """The models in the form in which a session takes them."""
        first, *others = self.models
        return Fallback(first, *others, on=self.on) if others else first

    def find_next(self, model: ModelProtocol, reason: type[BaseException]) -> ModelProtocol | None:
        """Return the model to ask after one has failed, or None if there is none or `on` does not name the reason."""
        if not issubclass(reason, self.on):
            return None
        place = next(place for place, each in enumerate(self.models, 1) if each is model)
        return next(iter(self.models[place:]), None)
