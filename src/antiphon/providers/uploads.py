"""Uploads: files that a provider keeps, so that messages refer to them."""

from __future__ import annotations

import time
from collections.abc import Generator
from dataclasses import dataclass, field

from antiphon._base.json_access import as_object
from antiphon.conversation import File, Media
from antiphon.errors import BadReply, ContentError, OptionError
from antiphon.providers.exchange import ExchangeEvent, ExchangeStep, SendRequest, WaitStep
from antiphon.providers.json_exchange import JsonExchange
from antiphon.wire.files import (
    RESUMABLE_HEADERS,
    UPLOAD_URL_HEADER,
    FileForm,
    UploadedFile,
    encode_announcement,
    encode_multipart,
    make_file,
)
from antiphon.wire.media import find_media_problem, get_file_form

#: The seconds before the first question whether a video can be used, and the longest time between two.
_POLL_SECONDS, _MOST_POLL_SECONDS = 0.2, 5.0
#: The longest time until it can be used.
_MOST_SECONDS = 600.0


@dataclass(slots=True, kw_only=True)
class UploadExchange(JsonExchange):
    """The upload of a file, until the provider can use it. `file` is its result."""

    part: Media
    #: The base URL, which the address of a resumable upload begins with.
    url: str
    file: File = field(init=False)
    _form: FileForm = field(init=False)

    def __post_init__(self) -> None:
        self._form = _check_upload(self)

    @property
    def path(self) -> str:
        """The path of the first request."""
        return self._form.path

    def steps(self) -> Generator[ExchangeStep, ExchangeEvent, None]:
        """Send the file, and ask until it is ready."""
        if self._form.is_resumable:
            uploaded = yield from self._send_announced()
        else:
            answer = yield from self.fetch(SendRequest(*encode_multipart(self.part, self._form.fields)))
            uploaded = self._form.decode(as_object(answer.body))
        began, wait = time.monotonic(), _POLL_SECONDS
        while uploaded.poll and not uploaded.is_failed:
            if time.monotonic() - began > _MOST_SECONDS:
                raise self._make_error(f"did not finish {self.part.label} within {_MOST_SECONDS:g} seconds")
            yield WaitStep(wait)
            wait = min(wait * 2, _MOST_POLL_SECONDS)
            answer = yield from self.fetch(SendRequest(b"", get=uploaded.poll))
            uploaded = self._form.decode(as_object(answer.body))
        if uploaded.is_failed or not uploaded.id:
            raise self._make_error(f"took {self.part.label}, but cannot use it")
        self.file = make_file(self._form, self.part, uploaded)

    def _send_announced(self) -> Generator[ExchangeStep, ExchangeEvent, UploadedFile]:
        answer = yield from self.fetch(SendRequest(*encode_announcement(self.part)))
        address = answer.headers.get(UPLOAD_URL_HEADER, "")
        if not address.startswith(f"{self.url}/"):
            # The request has our key, which no other server may see.
            raise self._make_error("named no address of its own for the bytes of the file")
        sent = SendRequest(self.part.content, RESUMABLE_HEADERS, path=address.removeprefix(self.url))
        answer = yield from self.fetch(sent)
        return self._form.decode(as_object(answer.body))

    def _make_error(self, what: str) -> BadReply:
        return BadReply(f"{self.target.provider} {what}", provider=self.target.provider)


def _check_upload(job: UploadExchange) -> FileForm:
    """Return the form of the provider's files API. Raise an error if the file cannot be kept or used there."""
    part, target = job.part, job.target
    if not isinstance(part, Media):
        kind = type(part).__name__
        raise ContentError(f"`upload` takes an Image, Document, Audio or Video, not {kind}")
    form, most = get_file_form(target), target.facts.max_file_bytes
    if form is None:
        raise OptionError(f"{target.provider} keeps no files; anthropic, openai and google do")
    if not part.data:
        raise ContentError(f"{part.label} is at a URL, so there are no bytes to upload; send it as it is")
    if problem := find_media_problem(part, target):
        raise ContentError(f"{part.label} is not uploaded to {target.provider}: {problem}")
    if most is not None and part.size > most:
        size = f"{part.size / 2**20:.1f} MB, and {target.provider} keeps files of {most / 2**20:g} MB"
        raise ContentError(f"{part.label} has {size} at most; make it smaller")
    return form
