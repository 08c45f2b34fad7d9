"""A template around what is asked, once or in a chat: what was said for this once comes first."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from antiphon.cli.key_value import parse_pairs
from antiphon.errors import OptionError

if TYPE_CHECKING:
    from antiphon.cli.chat_front.ask_request import Question
    from antiphon.config.templates import PromptTemplate


@dataclass(frozen=True, slots=True)
class ChatOpening:
    """How a template begins a chat. `made` makes the first message of what is typed; if `is_whole`, of nothing too."""

    name: str
    made: Callable[[str], str]
    is_whole: bool


def find_requested_template(given: Mapping[str, Any]) -> PromptTemplate | None:
    """The template that the command line names, if it does."""
    if given["template"] is None:
        return None
    from antiphon.cli.configuration import current_configuration
    from antiphon.config.templates import find_template

    return find_template(current_configuration(), given["template"])


def apply_template(said: Question, template: PromptTemplate, given: Mapping[str, Any]) -> Question:
    """A question by a template."""
    name = given["template"]
    prompt, system = template.filled(name, said.text, parse_pairs(given["params"], "-p"))
    if template.needs_input and not said.text.strip() and not said.attachments:
        raise OptionError(f"template `{name}` is about something: give it as words, or by standard input")
    has_type = said.returns is not None or said.schema is not None or said.extract
    schema = None if has_type else template.find_schema_path() or None
    if schema and template.is_projects:
        from antiphon.chat.output_schema import load_output_type

        load_output_type(schema, runs_python=False)
    return replace(
        _settled(said, template, system),
        text=prompt,
        returns=said.returns if has_type else template.returns or None,
        schema=said.schema or schema,
        extract=said.extract or (not has_type and template.extract),
    )


def opened(said: Question, template: PromptTemplate, given: Mapping[str, Any]) -> tuple[Question, ChatOpening | None]:
    """A chat by a template, and how that begins: `$input` is what is typed first."""
    name, values = given["template"], parse_pairs(given["params"], "-p")
    if template.returns or template.schema or template.extract:
        form = "a code block" if template.extract else "a value of its type"
        raise OptionError(f"template `{name}` gives {form}, and a chat is of texts: `antiphon ask -t {name}` asks it")
    system = template.render_system(name, values)
    opening = ChatOpening(name, lambda typed: template.filled(name, typed, values)[0], not template.needs_input)
    return _settled(said, template, system), opening if template.prompt else None


def _settled(said: Question, template: PromptTemplate, system: str) -> Question:
    """What was said and, of what was not, what the template says."""
    from antiphon.chat.request_options import check_options

    options = {**template.options, **said.options}
    check_options(options)
    return replace(
        said,
        model=said.model or template.model or None,
        system=said.system if said.system is not None else system or None,
        tools=said.tools or template.tools or None,
        own=said.own or tuple(template.tool),
        mcp=said.mcp or tuple(template.mcp),
        options=options,
    )
