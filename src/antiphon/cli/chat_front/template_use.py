"""Apply a prompt template to a request or a chat; options of the command line take precedence."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from antiphon.cli.options import parse_pairs
from antiphon.errors import OptionError

if TYPE_CHECKING:
    from antiphon.cli.chat_front.ask_request import AskRequest
    from antiphon.config.templates import PromptTemplate


@dataclass(frozen=True, slots=True)
class ChatOpening:
    """The start of a chat by a template. `render` returns the first message; if `is_whole`, it needs no input."""

    name: str
    render: Callable[[str], str]
    is_whole: bool


def find_requested_template(given: Mapping[str, Any]) -> PromptTemplate | None:
    """Return the template named by `--template`, if any."""
    if given["template"] is None:
        return None
    from antiphon.cli.configuration import current_configuration
    from antiphon.config.templates import find_template

    return find_template(current_configuration(), given["template"])


def apply_template(request: AskRequest, template: PromptTemplate, given: Mapping[str, Any]) -> AskRequest:
    """Return the request with the prompt and options of a template."""
    name = given["template"]
    prompt, system = template.fill(name, request.text, parse_pairs(given["params"], "-p"))
    if template.needs_input and not request.text.strip() and not request.attachments:
        raise OptionError(f"template `{name}` needs a prompt; add it as an argument or by standard input")
    has_type = request.returns is not None or request.schema is not None or request.extract
    schema = None if has_type else template.find_schema_path() or None
    if schema and template.is_projects:
        from antiphon.chat.output_schema import load_output_type

        load_output_type(schema, runs_python=False)
    return replace(
        _fill_from_template(request, template, system),
        text=prompt,
        returns=request.returns if has_type else template.returns or None,
        schema=request.schema or schema,
        extract=request.extract or (not has_type and template.extract),
    )


def open_with_template(
    request: AskRequest, template: PromptTemplate, given: Mapping[str, Any]
) -> tuple[AskRequest, ChatOpening | None]:
    """Return the options of a chat by a template, and its opening, in which `$input` is the first typed line."""
    name, values = given["template"], parse_pairs(given["params"], "-p")
    if template.returns or template.schema or template.extract:
        form = "a code block" if template.extract else "a value of its type"
        raise OptionError(f"template `{name}` returns {form}, which a chat cannot; use `antiphon ask -t {name}`")
    system = template.render_system(name, values)
    opening = ChatOpening(name, lambda typed: template.fill(name, typed, values)[0], not template.needs_input)
    return _fill_from_template(request, template, system), opening if template.prompt else None


def _fill_from_template(request: AskRequest, template: PromptTemplate, system: str) -> AskRequest:
    """Return the request, with missing options taken from the template."""
    from antiphon.chat.request_options import check_options

    options = {**template.options, **request.options}
    check_options(options)
    return replace(
        request,
        model=request.model or template.model or None,
        system=request.system if request.system is not None else system or None,
        tools=request.tools or template.tools or None,
        own=request.own or tuple(template.tool),
        mcp=request.mcp or tuple(template.mcp),
        options=options,
    )
