"""A call of a client that we serve: its progress, and questions to the client's user."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from antiphon._base.json_access import as_object
from antiphon.tools.call_host import CallHost

if TYPE_CHECKING:
    from mcp.server import ServerRequestContext
    from mcp_types import InputRequiredResult

#: The one field of a question.
_ANSWER = "answer"
_KEY = "question"


class ServedCall(CallHost):
    """The host of a call that a client made. Its user is asked by elicitation, if the client knows that."""

    def __init__(self, context: ServerRequestContext[Any, Any]) -> None:
        self._session = context.session
        self._loop = asyncio.get_running_loop()
        self._notices: list[asyncio.Future[None]] = []

    @property
    def can_ask(self) -> bool:
        """Return whether the client can ask its user."""
        known = self._session.client_capabilities
        return known is not None and known.elicitation is not None

    @property
    def asks_later(self) -> bool:
        """Return whether a question ends the request, and the client makes it again with the answer."""
        from mcp_types.version import MODERN_PROTOCOL_VERSIONS

        return self._session.protocol_version in MODERN_PROTOCOL_VERSIONS

    async def ask(self, name: str, text: str, *, can_wait: bool = False) -> str | None:
        """Return the user's answer to a question, or None if they decline or cannot be asked in between."""
        del name, can_wait
        if not self.can_ask or self.asks_later:
            return None
        return read_answer(await self._session.elicit_form(text, _make_form(is_question=True)))

    async def confirm(self, name: str, text: str, *, can_wait: bool = False) -> bool:
        """Return whether the user accepts what is asked."""
        del name, can_wait
        if not self.can_ask or self.asks_later:
            return False
        return is_accepted(await self._session.elicit_form(text, _make_form(is_question=False)))

    def report(self, done: float, total: float | None, message: str) -> None:
        """Send progress to the client, if it asked for that."""

        def send() -> None:
            self._notices.append(asyncio.ensure_future(self._session.report_progress(done, total, message or None)))

        # Tools may run in threads.
        self._loop.call_soon_threadsafe(send)

    async def finish(self) -> None:
        """Wait until all progress is sent."""
        await asyncio.sleep(0)
        await asyncio.gather(*self._notices, return_exceptions=True)


def make_input_request(text: str, *, is_question: bool) -> InputRequiredResult:
    """Return the result that makes a client ask its user and make the call again."""
    from mcp_types import ElicitRequest, ElicitRequestFormParams, InputRequiredResult

    params = ElicitRequestFormParams(message=text, requested_schema=_make_form(is_question=is_question))
    return InputRequiredResult(input_requests={_KEY: ElicitRequest(params=params)})


def find_response(responses: Any) -> Any:
    """Return the user's response in a call that is made again, or None."""
    return None if responses is None else responses.get(_KEY)


def read_answer(response: Any) -> str | None:
    """Return the text of a response, or None if the user declined."""
    answer = as_object(response.content).get(_ANSWER) if is_accepted(response) else None
    return answer if isinstance(answer, str) else None


def is_accepted(response: Any) -> bool:
    """Return whether the user accepted."""
    return getattr(response, "action", "") == "accept"


def _make_form(*, is_question: bool) -> dict[str, Any]:
    fields = {_ANSWER: {"type": "string", "title": "Answer"}} if is_question else {}
    return {"type": "object", "properties": fields, "required": [*fields]}
