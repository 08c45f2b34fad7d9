"""Request options and the target of a request."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal, TypedDict, get_args

from antiphon.conversation import Origin
from antiphon.errors import OptionError
from antiphon.facts.model_facts import Facts, InputLimits
from antiphon.facts.resolution import lookup_facts
from antiphon.facts.statements import STATEMENTS
from antiphon.wire.apis import APIS

Effort = Literal["none", "minimal", "low", "medium", "high", "xhigh", "max"]


_OPTION_TYPES: tuple[tuple[str, tuple[type, ...], str], ...] = (
    ("max_tokens", (int,), "a number of tokens"),
    ("temperature", (int, float), "a number"),
    ("top_p", (int, float), "a number"),
    ("stop", (tuple,), "a text or a list of texts"),
    ("tool_choice", (str,), "'auto', 'none', 'required' or a tool's name"),
    ("parallel_tool_calls", (bool,), "true or false"),
    ("reasoning", (str, int), "a word such as 'low' or a number of tokens"),
    ("output_schema", (Mapping,), "a JSON Schema"),
    ("cache", (bool, str), "true, false or a time such as '1h'"),
    ("background", (bool,), "true or false"),
    ("extra", (Mapping,), "an object of fields"),
)


@dataclass(frozen=True, slots=True)
class Options:
    """Options of a request. None leaves an option to the provider. `extra` is added to the body last,
    unchanged.
    """

    max_tokens: int | None = None
    temperature: float | None = None
    top_p: float | None = None
    stop: tuple[str, ...] = ()
    #: "auto", "none", "required" or the name of the one tool to call.
    tool_choice: str | None = None
    parallel_tool_calls: bool | None = None
    #: Reasoning effort: a word, or a number of tokens if the provider takes one.
    reasoning: Effort | int | None = None
    #: The JSON Schema of the answer, for providers that guarantee such answers.
    output_schema: Mapping[str, Any] | None = None
    #: Whether to mark the prompt for the provider's cache, or the lifetime there, such as "1h".
    cache: bool | str = True
    #: Key shared by the requests of a conversation and its forks, for OpenAI's cache; set by the library.
    cache_key: str = ""
    #: Id of the reply to compare with, so that the provider explains a cache miss; set by the library.
    compare_with: str = ""
    #: How long the cache keeps tools and system text that conversations share, such as "1h"; set by the library.
    head_cache: str = ""
    #: Reaction to a prompt that does not extend the previous one: report it (`tell`) or raise an `error`.
    prefix: Literal["tell", "error"] = "tell"
    #: Whether the provider makes the answer while nobody is connected; it is fetched by its id (OpenAI Responses).
    background: bool = False
    stream: bool = False
    #: Whether the conversation ends with a partial answer that the model must continue.
    continues: bool = False
    extra: Mapping[str, Any] = field(default_factory=dict[str, Any])

    def __post_init__(self) -> None:
        for name, kinds, wanted in _OPTION_TYPES:
            value = getattr(self, name)
            if value is not None and (not isinstance(value, kinds) or (isinstance(value, bool) and bool not in kinds)):
                raise OptionError(f"`{name}` is {wanted}, not {value!r:.60}")
        for name in ("max_tokens", "reasoning"):
            if isinstance(value := getattr(self, name), int) and value < 1:
                raise OptionError(f"`{name}` is at least 1, not {value}")
        if self.prefix not in ("tell", "error"):
            raise OptionError(f"`prefix` is 'tell' or 'error', not {self.prefix!r:.60}")
        if isinstance(self.reasoning, str) and self.reasoning not in get_args(Effort):
            raise OptionError(f"`reasoning` is one of {', '.join(get_args(Effort))}, or a number of tokens")


class ModelSettings(TypedDict, total=False):
    """The settings of requests that users choose, as keyword arguments: the fields of `Options` with the same names."""

    max_tokens: int | None
    temperature: float | None
    top_p: float | None
    stop: str | Sequence[str]
    tool_choice: str | None
    parallel_tool_calls: bool | None
    reasoning: Effort | int | None
    output_schema: Mapping[str, Any] | None
    cache: bool | str
    prefix: Literal["tell", "error"]
    background: bool
    extra: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Profile:
    """Differences between servers that implement the same API. The defaults are those of its owner."""

    #: Chat: the field that holds the token limit.
    max_tokens_field: str = "max_completion_tokens"
    #: Chat: call ids are exactly nine letters and digits (Mistral).
    short_ids: bool = False
    #: Chat: an assistant message is required between tool results and the user's text (Mistral).
    assistant_after_tool: bool = False
    #: Chat: the fields of an assistant message that return a model's own thinking to it, preferred first;
    #: "content" means content parts. Without any, thinking is not sent back.
    reasoning_fields: tuple[str, ...] = ()
    #: Chat: calls with another model's thinking still need the first of these fields, empty (DeepSeek).
    reasoning_required: bool = False
    #: Chat: whether the server supports `stream_options`.
    stream_usage: bool = True
    #: Chat: the system text's role.
    system_role: str = "system"
    #: Whether images may be sent; otherwise a line of text replaces them.
    images: bool = True
    #: Whether the server accepts `temperature` and `top_p`.
    sampling: bool = True
    #: Declare tools that the history calls even if none are active (some proxies require it).
    declare_called_tools: bool = False
    #: The path of requests, and of streamed ones, if they are not the API's own; `{model}` stands for the name.
    path: str = ""
    stream_path: str = ""
    #: Anthropic: the API's version, in the body of requests whose URLs name the model.
    body_version: str = ""
    #: Anthropic: betas stand in the body, and only the URL tells that an answer is streamed (InvokeModel).
    body_betas: bool = False


class _CurrentFacts:
    """An attribute that is resolved when it is first read, and again after any statement of facts."""

    def __get__(self, target: Target, owner: type[Target]) -> Facts:
        version = STATEMENTS.version
        facts = lookup_facts(target.provider, target.model, platform=target.platform)
        with STATEMENTS.lock:
            # A request reads the facts dozens of times, and they seldom change.
            if version == STATEMENTS.version and STATEMENTS.load is None:
                target.__dict__["facts"] = facts
                STATEMENTS.holders[id(target)] = target
        return facts


@dataclass(frozen=True)
class Target:
    """The provider, API and model that a request goes to."""

    provider: str
    api: str
    model: str
    profile: Profile = field(default_factory=Profile)
    #: The platform that serves the model, if the provider's name does not imply it: `bedrock`, `vertex`, `foundry`.
    platform: str = ""
    #: The origin that marks this target's own payloads.
    origin: Origin = field(init=False, compare=False, repr=False)
    #: The currently known facts about the model.
    facts = _CurrentFacts()

    def __post_init__(self) -> None:
        object.__setattr__(self, "origin", Origin(self.provider, self.api, self.model))

    def get_path(self, stream: bool) -> str:
        """Return the path of requests if the server has its own, or ""."""
        form = (self.profile.stream_path if stream else "") or self.profile.path
        if not form:
            return ""
        from urllib.parse import quote

        return form.replace("{model}", quote(self.model, safe=":@"))

    def accepts_images(self) -> bool:
        """Return whether images may be sent, as far as is known."""
        return self.profile.images and (self.facts.inputs or {}).get("images", InputLimits()) is not None

    @property
    def key(self) -> str:
        """The key under which a turn caches its encoding for this target. It covers all facts that affect
        it.
        """
        facts = self.facts
        known: tuple[Facts, str] | None = self.__dict__.get("_key")
        if known is None or known[0] is not facts:
            said = (facts.mid_system, facts.tool_change, facts.bound_thinking, facts.signed_calls, facts.result_media)
            said += (facts.inputs,)
            known = self.__dict__["_key"] = (
                facts,
                f"{self.provider} {self.api} {self.model} {self.profile!r} {said}",
            )
        return known[1]


#: The reasoning efforts, lowest first.
EFFORTS: tuple[str, ...] = get_args(Effort)


def choose_effort(target: Target, asked: str) -> str:
    """Return the effort that the model supports: the requested one, else the next lower, else the lowest."""
    known = target.facts.efforts
    if not known or asked in known:
        return asked
    # Some servers have efforts of their own.
    below = [word for word in known if word in EFFORTS and EFFORTS.index(word) < EFFORTS.index(asked)]
    return below[-1] if below else known[0]


def adapt_options(target: Target, options: Options) -> Options:
    """Return the options in the form that the model accepts. Raise OptionError for an unsupported one."""
    facts = target.facts
    most = facts.max_output
    # If an answer spans several requests, the limit applies to all of them together.
    is_limited = most is not None and facts.continuation != "token"
    if options.max_tokens is not None and is_limited and options.max_tokens > (most or 0):
        raise OptionError(
            f"`max_tokens` is {options.max_tokens:,}, and {target.model} gives at most {most:,} tokens; lower it"
        )
    if isinstance(options.cache, str) and options.cache not in facts.cache.ttls:
        known = ", ".join(facts.cache.ttls) or "none that is known"
        raise OptionError(f"`cache` is {options.cache!r}, and {target.model} keeps a prompt for {known}")
    if options.background and not (APIS[target.api].background_statuses and facts.continuation in ("background", None)):
        raise OptionError(
            f"{target.provider} does not answer in the background for {target.model}; leave `background` out"
        )
    if options.reasoning is None or facts.thinking.default != "never":
        return options
    if options.reasoning not in ("none", "minimal"):
        raise OptionError(f"{target.model} does not reason; leave `reasoning` out, or use another model")
    return replace(options, reasoning=None)


def build_cache_fields(options: Options) -> dict[str, Any]:
    """Return the fields for OpenAI's cache: key, lifetime, and the response to compare with."""
    more: dict[str, str] = {"ttl": options.cache} if isinstance(options.cache, str) else {}
    if options.compare_with.startswith("resp"):
        more["comparison_response_id"] = options.compare_with
    key = {"prompt_cache_key": options.cache_key} if options.cache_key else {}
    return key | ({"prompt_cache_options": more} if more else {})


def check_forced_tool(target: Target, options: Options) -> None:
    """Raise OptionError if the model cannot be forced to call a tool."""
    if target.facts.forced_choice == "no" or (
        target.facts.forced_choice == "no_required" and options.tool_choice == "required"
    ):
        raise OptionError(
            f"{target.model} cannot be made to call a tool: `tool_choice` {options.tool_choice!r} is refused; leave it"
            " out and ask for the call in words, or use another model"
        )


def build_sampling_fields(target: Target, options: Options) -> dict[str, float]:
    """Return `temperature` and `top_p` if they are set. Raise OptionError if the model takes neither."""
    given = {name: value for name in ("temperature", "top_p") if (value := getattr(options, name)) is not None}
    known = target.facts.sampling
    if given and (known == "no" or not target.profile.sampling):
        raise OptionError(
            f"{target.provider} takes no `temperature` or `top_p` for {target.model!r}; leave them out, or put them"
            " into `extra` for a model that does"
        )
    if given and known == "only_without_reasoning" and options.reasoning != "none":
        raise OptionError(
            f"{target.model} takes `temperature` and `top_p` only without reasoning; add `reasoning='none'`, or leave"
            " them out"
        )
    return given
