"""Tables that belong together: a name in one of them is in the others, as the recipes of CONTRIBUTING say."""

from __future__ import annotations

import inspect
import json
import pkgutil
import re
from collections.abc import Iterator
from dataclasses import fields
from importlib import import_module
from pathlib import Path
from typing import Any, get_args

import click
import pytest

import antiphon
from antiphon import results, views
from antiphon.chat.request_options import OPTION_PREFIXES
from antiphon.cli import SECTIONS, TOPICS, cli
from antiphon.conversation import Conversation, ToolSpec
from antiphon.effects import Budget, BudgetExceeded, Effect, Limits
from antiphon.effects.budget import NO_LIMITS, Spending
from antiphon.effects.types import EFFECT_TYPES
from antiphon.errors import OptionError
from antiphon.formats import READABLE_FORMATS, WRITABLE_FORMATS
from antiphon.lang.runtime import methods
from antiphon.lang.runtime.builtins_table import make_module_globals
from antiphon.lang.typecheck.methods import BUILTINS
from antiphon.lang.typecheck.model_settings import MODEL_SETTINGS
from antiphon.session.exceptions import EXCEPTIONS_BY_ENDING
from antiphon.session.result import RunEnding
from antiphon.tools import builtin
from antiphon.views.select import BODY_BUILDERS_BY_KIND
from antiphon.wire import APIS, Options, Profile, Target, Usage, wire

SOURCE = Path(antiphon.__file__).parent
PAGE = SOURCE / "web" / "static"
#: Values that no model has by itself, for the options that are settings of a model.
SETTINGS: dict[str, Any] = {
    "max_tokens": 77,
    "temperature": 0.25,
    "top_p": 0.75,
    "stop": ("END",),
    "tool_choice": "none",
    "parallel_tool_calls": False,
    "reasoning": "low",
    "output_schema": {"type": "object", "properties": {"a": {"type": "string"}}},
    "background": True,
    "extra": {"seed": 7},
}
#: Options that are no settings of a model: how a request is sent, and what the library adds to it.
NO_SETTINGS = {"cache", "cache_key", "compare_with", "head_cache", "prefix", "stream", "continues"}


def test_each_ending_without_a_value_has_an_exception() -> None:
    # A wrong answer is a ReturnError with its faults, and a failure is the error itself.
    assert {*get_args(RunEnding)} == {"done", "wrong", "failed", *EXCEPTIONS_BY_ENDING}


@pytest.mark.parametrize("name", [each.name for each in fields(Limits)])
def test_each_limit_is_enforced(name: str) -> None:
    budget = Budget(Limits(**{**{each.name: None for each in fields(Limits)}, name: 1}))
    budget.add(Spending(requests=2, tool_calls=2, usage=Usage(2, 2), cost=2.0))
    if name == "tool_calls":
        # Calls beyond it are not run; the budget counts them.
        assert budget.spent.tool_calls == 2
        return
    with pytest.raises(BudgetExceeded, match="is reached"):
        budget.check(seconds=2.0)
    Budget(NO_LIMITS).check(seconds=1e9)


def test_each_builtin_has_a_function() -> None:
    source = inspect.getsource(make_module_globals) + inspect.getsource(
        inspect.getmodule(make_module_globals) or object
    )
    assert [name for name in BUILTINS if f'"_vb_{name}"' not in source] == []


@pytest.mark.parametrize("value", ["text", 1, True, [1], {"a": 1}], ids=lambda each: type(each).__name__)
def test_each_method_has_a_function(value: Any) -> None:
    signatures, functions = methods._get_method_tables(value)
    assert [name for name in signatures if name not in functions] == []


# Requests


def test_each_option_is_a_setting_of_a_model_or_of_the_library() -> None:
    assert {each.name for each in fields(Options)} == SETTINGS.keys() | NO_SETTINGS


@pytest.mark.parametrize("name", SETTINGS)
@pytest.mark.parametrize("api", APIS)
def test_each_setting_changes_the_request_or_is_refused(api: str, name: str) -> None:
    conversation = Conversation(tools=[ToolSpec("look", "Looks.", {"type": "object", "properties": {}})])
    conversation.add_user("Go.")
    # Nothing is known about such a model, so the API alone decides.
    target = Target("unknown", api, "unknown")
    plain = wire(api).encode(conversation, target, Options()).body
    try:
        given = wire(api).encode(conversation, target, Options(**{name: SETTINGS[name]})).body
    except OptionError:
        return
    assert json.loads(given) != json.loads(plain)


@pytest.mark.parametrize("name", ["max_tokens", "temperature", "top_p", "stop", "tool_choice", "parallel_tool_calls"])
def test_each_plain_setting_is_an_option_of_the_command_line(name: str) -> None:
    assert f"{name}=" in OPTION_PREFIXES


def test_each_setting_of_the_language_is_an_option() -> None:
    assert {each.option for each in MODEL_SETTINGS.values() if each.option} <= SETTINGS.keys()


@pytest.mark.parametrize("name", [each.name for each in fields(Profile)])
def test_each_difference_of_a_server_is_read(name: str) -> None:
    source = "".join(path.read_text(encoding="utf-8") for path in (SOURCE / "wire").rglob("*.py"))
    assert re.search(rf"profile\.{name}\b", source)


@pytest.mark.parametrize("name", sorted(set(READABLE_FORMATS) - set(WRITABLE_FORMATS)))
def test_each_format_of_others_is_detected_and_read(name: str) -> None:
    assert f'"{name}"' in (SOURCE / "formats" / "detect.py").read_text(encoding="utf-8")
    assert callable(import_module(f"antiphon.formats.{name.replace('-', '_')}").read)


# Effects, results and commands


def test_each_effect_has_a_kind() -> None:
    assert {*get_args(Effect)} == {*EFFECT_TYPES.values()}


def test_each_kind_of_result_is_exported_and_has_a_view() -> None:
    made = vars(import_module("antiphon.results.factories"))
    kinds = {
        name for name, each in made.items() if getattr(each, "__annotations__", {}).get("return") is results.Result
    }
    assert "diff" in kinds
    assert kinds <= BODY_BUILDERS_BY_KIND.keys() & {*results.__all__}


def test_each_view_is_drawn_by_the_page() -> None:
    types = {each.__dataclass_fields__["type"].default for each in get_args(views.ViewBody)}
    found = re.search(r"const BODIES = \{(.*?)\};", (PAGE / "views.js").read_text(encoding="utf-8"), re.DOTALL)
    assert found is not None
    assert {*re.findall(r"(\w+):", found[1])} == types


def test_each_panel_of_the_page_has_a_tab() -> None:
    main = (PAGE / "main.js").read_text(encoding="utf-8")
    panels = re.search(r"const LATER = \{(.*?)\n\};", main, re.DOTALL)
    assert panels is not None
    names = {*re.findall(r"^  (\w+): ", panels[1], re.MULTILINE)}
    assert [each for each in re.findall(r'import\("\./([\w.]+)"\)', panels[1]) if not (PAGE / each).is_file()] == []
    # A session is opened from the list of sessions, and compared from there.
    assert names - {"session", "compare"} == {*re.findall(r'tab\("(\w+)"', main)} - {"sessions"}


def test_each_builtin_tool_is_exported() -> None:
    made: set[str] = set()
    for module in pkgutil.iter_modules(builtin.__path__):
        found = vars(import_module(f"antiphon.tools.builtin.{module.name}"))
        made |= {name for name in found if re.fullmatch(r"[a-z]\w*_tools?", name)}
    # The tools that search are among those for files.
    assert made - {"search_tools", "as_tool", "as_tools"} <= {*builtin.__all__}


def iterate_options(name: str, command: click.Command) -> Iterator[tuple[str, click.Option]]:
    """Yield the options of a command and of those inside it, with its name."""
    for each in command.params:
        if isinstance(each, click.Option) and not each.hidden:
            yield name, each
    for inner, inside in command.commands.items() if isinstance(command, click.Group) else ():
        yield from iterate_options(f"{name} {inner}", inside)


def test_each_option_is_documented() -> None:
    pages = "".join(path.read_text(encoding="utf-8") for path in (SOURCE.parents[1] / "docs").rglob("*.md"))
    assert isinstance(cli, click.Group)
    named = {name for section in (*SECTIONS.values(), *TOPICS.values()) for name in section}
    commands = {name: cli.get_command(click.Context(cli), name) for name in named}
    found = [each for name, command in commands.items() if command for each in iterate_options(name, command)]
    assert [(name, each.opts) for name, each in found if not any(word in pages for word in each.opts)] == []


def test_each_command_is_registered() -> None:
    for module in pkgutil.iter_modules(import_module("antiphon.cli").__path__):
        value = getattr(import_module(f"antiphon.cli.{module.name}"), module.name, None)
        if isinstance(value, click.Command):
            name = module.name.replace("_", "-")
            assert isinstance(cli, click.Group)
            assert cli.get_command(click.Context(cli), name) is value, name
