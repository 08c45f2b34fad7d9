"""`antiphon ask … --save NAME`: what would be asked, as a template."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from antiphon._base.escape import escape_unprintable_line
from antiphon.cli.chat_front.ask_request import resolve_answer_type
from antiphon.cli.chat_front.output import print_message
from antiphon.cli.configuration import current_configuration
from antiphon.config.templates import PromptTemplate, get_template_path, save_template
from antiphon.errors import OptionError
from antiphon.tools.user_tools import load_user_tools, make_absolute_reference

if TYPE_CHECKING:
    from antiphon.cli.chat_front.ask_request import Question


def save(said: Question, words: Sequence[str], defaults: Mapping[str, str], name: str) -> None:
    """Save a template, and say how it is used. What could not be asked, or holds a secret, is not saved."""
    template = PromptTemplate(
        " ".join(words).strip(),
        said.system or "",
        said.model or "",
        said.tools or "",
        [*map(make_absolute_reference, said.own)],
        [*said.mcp],
        said.returns or "",
        _absolute(said.schema),
        said.extract,
        said.options,
        defaults,
    )
    if not template.prompt and not template.system:
        raise OptionError(f'a template has a question or a system text: `antiphon ask "…" --save {name}`')
    resolve_answer_type(said.returns, said.schema)
    for each in said.own:
        load_user_tools(each)
    _check_names(template)
    _check_secrets(template)
    was_there = get_template_path(current_configuration(), name).exists()
    path = save_template(current_configuration(), name, template)
    open_names = "".join(f" -p {each}=…" for each in template.placeholders if each not in (*defaults, "input"))
    done = "replaced" if was_there else "saved"
    print_message(f"{done}: {escape_unprintable_line(str(path))}; `antiphon ask -t {name}{open_names}` asks it")


def _check_names(template: PromptTemplate) -> None:
    if template.model:
        from antiphon.providers.registry import resolve

        resolve(template.model)
    if unused := [each for each in template.defaults if each not in template.placeholders]:
        raise OptionError(f"there is no `${unused[0]}` in it that `-p {unused[0]}=…` could be the default of")


def _check_secrets(template: PromptTemplate) -> None:
    from antiphon.team.secret_scan import collect_known_secrets, find_secret

    if found := find_secret(template.to_toml(), collect_known_secrets()) or _secret_option(template.options):
        raise OptionError(f"it is not saved: it holds {found.partition(', in line')[0]}; a template keeps no secrets")


def _secret_option(options: Mapping[str, Any]) -> str:
    from antiphon.providers.redaction import is_secret_name

    names = [name for name in options.get("extra", {}) if is_secret_name(name)]
    return f"`extra.{names[0]}`, which is called like a secret" if names else ""


def _absolute(schema: str | None) -> str:
    """The file of a schema wherever it is asked from."""
    return str(Path(schema).resolve()) if schema else ""
