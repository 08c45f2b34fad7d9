"""`antiphon ask … --save NAME`: save a request as a template."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from antiphon._base.escape import escape_unprintable_line
from antiphon.cli.chat_front.ask_request import resolve_answer_type
from antiphon.cli.configuration import current_configuration
from antiphon.cli.output import print_message
from antiphon.config.templates import PromptTemplate, get_template_path, save_template
from antiphon.errors import OptionError
from antiphon.tools.user_tools import load_user_tools, make_absolute_reference

if TYPE_CHECKING:
    from antiphon.cli.chat_front.ask_request import AskRequest


def save_request_template(request: AskRequest, words: Sequence[str], defaults: Mapping[str, str], name: str) -> None:
    """Save a template and print how to use it. Reject one that is unusable or holds a secret."""
    template = PromptTemplate(
        " ".join(words).strip(),
        request.system or "",
        request.model or "",
        request.tools or "",
        [*map(make_absolute_reference, request.own)],
        [*request.mcp],
        request.returns or "",
        _make_schema_absolute(request.schema),
        request.extract,
        request.options,
        defaults,
    )
    if not template.prompt and not template.system:
        raise OptionError(f'a template needs a prompt or a system text; use `antiphon ask "…" --save {name}`')
    resolve_answer_type(request.returns, request.schema)
    for each in request.own:
        load_user_tools(each)
    _check_names(template)
    _check_secrets(template)
    was_there = get_template_path(current_configuration(), name).exists()
    path = save_template(current_configuration(), name, template)
    open_names = "".join(f" -p {each}=…" for each in template.placeholders if each not in (*defaults, "input"))
    done = "replaced" if was_there else "saved"
    print_message(f"{done}: {escape_unprintable_line(str(path))}; use it with `antiphon ask -t {name}{open_names}`")


def _check_names(template: PromptTemplate) -> None:
    if template.model:
        from antiphon.providers.registry import resolve

        resolve(template.model)
    if unused := [each for each in template.defaults if each not in template.placeholders]:
        raise OptionError(f"the template has no `${unused[0]}`, for which `-p {unused[0]}=…` sets a default")


def _check_secrets(template: PromptTemplate) -> None:
    from antiphon.team.secret_scan import collect_known_secrets, find_secret

    if found := find_secret(template.to_toml(), collect_known_secrets()) or _find_secret_option(template.options):
        raise OptionError(
            f"the template was not saved: it contains {found.partition(', in line')[0]}; remove the secret"
        )


def _find_secret_option(options: Mapping[str, Any]) -> str:
    from antiphon.providers.redaction import is_secret_name

    names = [name for name in options.get("extra", {}) if is_secret_name(name)]
    return f"`extra.{names[0]}`, whose name is that of a secret" if names else ""


def _make_schema_absolute(schema: str | None) -> str:
    """Return the absolute path of a schema."""
    return str(Path(schema).resolve()) if schema else ""
