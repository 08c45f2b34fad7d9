"""What may be asked of a model besides the conversation, and to whom it goes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Literal, get_args

from antiphon.conversation import Origin
from antiphon.errors import OptionError

Effort = Literal["none", "minimal", "low", "medium", "high", "xhigh", "max"]


_KINDS: tuple[tuple[str, tuple[type, ...], str], ...] = (
    ("max_tokens", (int,), "a number of tokens"),
    ("temperature", (int, float), "a number"),
    ("top_p", (int, float), "a number"),
    ("stop", (tuple,), "a text or a list of texts"),
    ("tool_choice", (str,), "'auto', 'none', 'required' or a tool's name"),
    ("parallel_tool_calls", (bool,), "true or false"),
    ("reasoning", (str, int), "a word such as 'low' or a number of tokens"),
    ("output_schema", (Mapping,), "a JSON Schema"),
    ("extra", (Mapping,), "an object of fields"),
)


@dataclass(frozen=True, slots=True)
class Options:
    """How to answer. `None` leaves a thing to the provider; `extra` goes into the body as it is, last."""

    max_tokens: int | None = None
    temperature: float | None = None
    top_p: float | None = None
    stop: tuple[str, ...] = ()
    #: "auto", "none", "required" or the name of the one tool to call.
    tool_choice: str | None = None
    parallel_tool_calls: bool | None = None
    #: How much to think: a word, or a number of tokens where the provider takes one.
    reasoning: Effort | int | None = None
    #: The JSON Schema of the answer, for providers that guarantee such answers.
    output_schema: Mapping[str, Any] | None = None
    #: Whether to mark the prompt for the provider's cache, where it wants marks.
    cache: bool = True
    stream: bool = False
    extra: Mapping[str, Any] = field(default_factory=dict[str, Any])

    def __post_init__(self) -> None:
        for name, kinds, wanted in _KINDS:
            value = getattr(self, name)
            if value is not None and (not isinstance(value, kinds) or (isinstance(value, bool) and bool not in kinds)):
                raise OptionError(f"`{name}` is {wanted}, not {value!r:.60}")
        for name in ("max_tokens", "reasoning"):
            if isinstance(value := getattr(self, name), int) and value < 1:
                raise OptionError(f"`{name}` is at least 1, not {value}")
        if isinstance(self.reasoning, str) and self.reasoning not in get_args(Effort):
            raise OptionError(f"`reasoning` is one of {', '.join(get_args(Effort))}, or a number of tokens")


@dataclass(frozen=True, slots=True)
class Profile:
    """Where servers that speak the same API differ. The defaults are the API's owner."""

    #: Chat: the field that holds the token limit.
    max_tokens_field: str = "max_completion_tokens"
    #: Chat: call ids are exactly nine letters and digits (Mistral).
    short_ids: bool = False
    #: Chat: an assistant message must stand between tool results and the user's text (Mistral).
    assistant_after_tool: bool = False
    #: Chat: the fields of an assistant message in which a model takes its own thinking back, the best one first;
    #: "content" is for parts of the content. With none, it is not sent back.
    reasoning_fields: tuple[str, ...] = ()
    #: Chat: calls whose thinking is not this model's need the first of these fields all the same, empty (DeepSeek).
    reasoning_required: bool = False
    #: Chat: whether `stream_options` is understood.
    stream_usage: bool = True
    #: Chat: the system text's role.
    system_role: str = "system"
    #: Whether images may be sent; otherwise a line of text takes their place.
    images: bool = True
    #: Whether `temperature` and `top_p` are taken.
    sampling: bool = True
    #: Tools that the history calls are declared even when none are in force (proxies that insist).
    declare_called_tools: bool = False


@dataclass(frozen=True)
class Target:
    """The provider, API and model a request goes to."""

    provider: str
    api: str
    model: str
    profile: Profile = field(default_factory=Profile)
    #: Asked when there is an image to send: whether the model can see, or nothing where that is not known.
    sees: Callable[[], bool | None] | None = field(default=None, compare=False, repr=False)

    def sees_images(self) -> bool:
        """Whether images may be sent, as far as is known."""
        return self.profile.images and (self.sees is None or self.sees() is not False)

    @cached_property
    def origin(self) -> Origin:
        """What this target's own opaque data is marked with."""
        return Origin(self.provider, self.api, self.model)

    @cached_property
    def key(self) -> str:
        """Under what a turn keeps its encoding for this target."""
        return f"{self.provider} {self.api} {self.model} {self.profile!r}"


def sampling(target: Target, options: Options) -> dict[str, float]:
    """`temperature` and `top_p` where they are set; an OptionError for who takes neither."""
    given = {name: value for name in ("temperature", "top_p") if (value := getattr(options, name)) is not None}
    if given and not target.profile.sampling:
        raise OptionError(
            f"{target.provider} takes no `temperature` or `top_p` for {target.model!r}; leave them out, or put them"
            " into `extra` for a model that does"
        )
    return given
