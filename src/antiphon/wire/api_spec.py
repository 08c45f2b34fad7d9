"""The properties of an API that other packages read. Every package `wire/<api>/` declares its own."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from antiphon.wire.batches import BatchForm
from antiphon.wire.embeddings import EmbeddingForm
from antiphon.wire.files import FileForm


class ImagePlace(NamedTuple):
    """The place of an image in a body: base64 with its type, or a data URL if `type_key` is empty."""

    holder: dict[str, Any]
    key: str
    type_key: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class HttpForm:
    """The HTTP requests of an API: paths, headers and the form of streams."""

    #: The path of a request at the owner's server, below its version; `{model}` stands for a model's name.
    path: str
    #: The path of a streamed request, if it is another one.
    stream_path: str = ""
    versions: tuple[str, ...] = ("v1",)
    #: The beginning of the path that base URLs of the owner's SDK contain.
    base_path: str = ""
    #: The header of the key; in `authorization` it is a bearer token.
    key_header: str = "authorization"
    #: The header that states the API's version.
    version_header: str = ""
    #: Whether a server sends a stream as a JSON array if the parameter for events is lost.
    streams_arrays: bool = False
    #: Providers whose URLs name the model, and a field that only such requests have.
    url_model_providers: tuple[str, ...] = ()
    url_model_field: str = ""

    def match_path(self, path: str) -> str | None:
        """Return the model that a request path names, "" if none, or None if another API has this path."""
        for form in filter(None, (self.path, self.stream_path)):
            ending = re.escape(form).replace(re.escape("{model}"), "([^/:]+)")
            if found := re.search(f"{ending}$", path.partition("?")[0]):
                return found[1] if found.groups() else ""
        return None


@dataclass(frozen=True, slots=True, kw_only=True)
class HistoryForm:
    """The messages of an API: where they are in a request, and how they are recognised."""

    #: The field of a request that holds the messages.
    field: str
    #: The word for one of them.
    entry: str = "message"
    #: Return whether only this API has such a message, block of a message, or request.
    is_own_message: Callable[[dict[str, Any]], bool]
    is_own_block: Callable[[str], bool] = lambda kind: False  # noqa: ARG005
    is_own_request: Callable[[dict[str, Any]], bool] = lambda request: False  # noqa: ARG005
    #: Return where an object holds an image, or None if it is no image.
    find_image: Callable[[dict[str, Any]], ImagePlace | None]
    #: The fields of a text block besides its text.
    text_block: Mapping[str, str]
    #: The largest image as base64, if the API has its own limit.
    max_image_size: int | None = None
    #: Whether images may be in the URL-safe alphabet of base64.
    web_safe_base64: bool = False
    #: Whether a message has a place for a model's reasoning.
    holds_reasoning: bool = True
    #: Whether a message with a role and a text may be this API's.
    allows_plain: bool = True
    #: Whether a single message may replace the list.
    allows_single: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class MediaForm:
    """The files that a message of an API may hold, by kind: `image`, `document`, `audio`, `video`."""

    kinds: tuple[str, ...]
    #: The kinds that the server fetches from a URL, and those that it takes from its files API.
    url_kinds: tuple[str, ...]
    file_kinds: tuple[str, ...]
    #: Whether a text is a document of its own, and whether documents besides PDFs and texts are.
    text_documents: bool = False
    other_documents: bool = False
    #: The media types of a kind, if the API itself names them.
    types: Mapping[str, tuple[str, ...]] = field(default_factory=dict[str, tuple[str, ...]])
    #: How files are uploaded, if the API has files.
    upload: FileForm | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ApiSpec:
    """One API: its names, its HTTP form, its messages, and how unfinished answers continue."""

    name: str
    title: str
    #: The company that defines the API, as in the origins of histories.
    owner: str
    #: The provider of the registry that is the owner's own server.
    provider: str
    #: The letter of its rule codes, and the provider names to which all of its rules apply.
    rule_letter: str
    rule_providers: tuple[str, ...]
    http: HttpForm
    history: HistoryForm
    media: MediaForm
    #: The request field with the token that continues an answer; without one, the answer so far is sent back.
    continuation_field: str = ""
    #: The statuses of an answer that the server makes while nobody is connected.
    background_statuses: tuple[str, ...] = ()
    #: How embeddings are made, if the API makes them.
    embeddings: EmbeddingForm | None = None
    #: How batches of requests are sent, if the API has batches.
    batches: BatchForm | None = None
    #: The names that other frameworks have for providers with this API.
    framework_names: tuple[str, ...] = ()

    @property
    def module(self) -> str:
        """The name of its package in `wire`, and of its modules in `wire.rules`, `formats.fixes` and `fakes`."""
        return self.name.replace("-", "_")


#: The module of an API's package in which each function of its codec is, unless the package says otherwise.
CODEC_MODULES = {
    "HOSTED_TOOLS": "hosted_tools",
    "Decoder": "stream",
    "build_reasoning": "history_reader",
    "decode": "response",
    "encode": "request",
    "history": "request",
    "parse_error": "response",
    "path": "request",
    "read": "history_reader",
}
