"""Requests of a server to us while it works on a call: questions to the person, links, model requests and roots."""

from __future__ import annotations

import unicodedata
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from antiphon.tools.mcp.active_call import ActiveCall
from antiphon.tools.mcp.config import McpServer
from antiphon.tools.mcp.forms import FormField, parse_form
from antiphon.tools.mcp.sampling import answer_sampling
from antiphon.tools.tool import ToolFailure

if TYPE_CHECKING:
    from mcp_types import (
        ElicitRequestFormParams,
        ElicitRequestURLParams,
        ElicitResult,
        ErrorData,
        InputRequest,
        InputResponse,
        ListRootsResult,
    )

_MAX_MESSAGE = 2_000
_MAX_ATTEMPTS = 5
DECLINE, CANCEL = "/decline", "/cancel"


async def answer_request(request: InputRequest, call: ActiveCall) -> InputResponse | ErrorData:
    """Answer a request of a server. A person decides about everything but the roots, which the user gave."""
    match request.method:
        case "elicitation/create":
            return await answer_elicitation(request.params, call)
        case "roots/list":
            return list_roots(call.server)
        case "sampling/createMessage":
            return await answer_sampling(request.params, call)


async def answer_elicitation(
    params: ElicitRequestFormParams | ElicitRequestURLParams, call: ActiveCall
) -> ElicitResult:
    """Put the question of a server to the person. Nobody there, or too many questions, means declined."""
    from mcp_types import ElicitResult

    if call.is_exhausted:
        return ElicitResult(action="cancel")
    with call.paused():
        # Distinguished by the mode: importing the classes would import the library.
        return await (_show_link(params, call) if params.mode == "url" else _fill_form(params, call))


def list_roots(server: McpServer) -> ListRootsResult:
    """Return the directories that the user gave for the server."""
    from mcp_types import ListRootsResult, Root
    from pydantic import FileUrl

    return ListRootsResult(roots=[Root(uri=FileUrl(each.as_uri()), name=each.name) for each in server.roots])


async def _fill_form(params: ElicitRequestFormParams, call: ActiveCall) -> ElicitResult:
    from mcp_types import ElicitResult

    head = f"MCP server `{call.server.name}` asks, for `{call.tool}`: {_clean(params.message)}"
    try:
        fields = parse_form(params.requested_schema)
    except ToolFailure as refused:
        call.host.report(0, None, f"MCP server `{call.server.name}` was not answered: {refused}")
        return ElicitResult(action="decline")
    if not fields:
        is_confirmed = await _confirm(head, call)
        return ElicitResult(action="accept", content={}) if is_confirmed else ElicitResult(action="decline")
    values: dict[str, Any] = {}
    for field in fields:
        action, value = await _ask_field(head, field, call)
        if action != "accept":
            return ElicitResult(action=action)
        if value is not None:
            values[field.name] = value
    return ElicitResult(action="accept", content=values)


async def _ask_field(head: str, field: FormField, call: ActiveCall) -> tuple[Any, Any]:
    """Return what a person decided, and the value of the field."""
    note = f"(Sent to `{call.server.name}`: give no passwords or keys. {DECLINE} declines, {CANCEL} cancels.)"
    question = text = f"{head}\n{_clean(field.describe())}\n{note}"
    for _ in range(_MAX_ATTEMPTS):
        said = await call.host.ask(call.name_question(question), question, can_wait=call.can_wait)
        if said is None or said.strip() == DECLINE:
            return "decline", None
        if said.strip() == CANCEL:
            return "cancel", None
        value, problem = field.read(said)
        if not problem:
            return "accept", value
        question = f"{text}\nNot usable: {_clean(problem)}"
    return "cancel", None


async def _show_link(params: ElicitRequestURLParams, call: ActiveCall) -> ElicitResult:
    """Show a link, which only the person opens."""
    from mcp_types import ElicitResult

    parts = urlsplit(params.url)
    is_local = parts.hostname in ("localhost", "127.0.0.1", "::1")
    is_plain = params.url.isascii() and params.url.isprintable() and " " not in params.url
    if not is_plain or not parts.hostname or parts.scheme not in (("http", "https") if is_local else ("https",)):
        call.host.report(0, None, f"MCP server `{call.server.name}` gave a link that is not https; it was declined")
        return ElicitResult(action="decline")
    text = (
        f"MCP server `{call.server.name}` wants you to open a page of {parts.hostname}, for `{call.tool}`: "
        f"{_clean(params.message)}\n{params.url}\nNothing is opened for you. Yes means that you opened it, or will."
    )
    return ElicitResult(action="accept" if await _confirm(text, call) else "decline")


async def _confirm(text: str, call: ActiveCall) -> bool:
    return await call.host.confirm(call.name_question(text), text, can_wait=call.can_wait)


def _clean(text: str) -> str:
    """Return a text without characters that disguise it, of limited length."""
    plain = "".join(each if each == "\n" or unicodedata.category(each)[0] != "C" else " " for each in text).strip()
    lines = "\n".join(line.strip() for line in plain.splitlines() if line.strip())
    return lines if len(lines) <= _MAX_MESSAGE else f"{lines[:_MAX_MESSAGE]}…"
