"""What is public: the names that packages export, all of them in `public_names.txt` (`UPDATE_GOLDEN=1` writes it)."""

from __future__ import annotations

import inspect
import os
import pickle
import pkgutil
import re
import subprocess
import sys
import typing
from collections.abc import Iterator
from dataclasses import fields, is_dataclass
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from pydantic import TypeAdapter, validate_call

import antiphon
from antiphon import Result, ToolCall, ToolSpec, errors, results
from antiphon.conversation import AssistantTurn, UserTurn
from antiphon.session import Session
from antiphon.wire import Usage

ROOT = Path(__file__).parents[1]
GOLDEN = Path(__file__).with_name("public_names.txt")
#: Folders that a room has for itself; `antiphon.lang` exports what is public of the language.
INNER = ("antiphon.lang.typecheck", "antiphon.lang.codegen", "antiphon.lang.formatter", "antiphon.lang.syntax.nodes")
#: Imported for type checkers alone, as they are heavy or would go round in circles: nobody can look them up.
FOR_CHECKERS = (
    *("Answers", "Configuration", "Conversation", "Event", "HumanInput", "ModelProtocol", "Question", "Server"),
    *("httpx2", "MeterProvider", "TracerProvider"),
)
#: What effects hold comes from rooms that a program without effects need not load.
FOR_CHECKERS += ("BeforeCall", "RefusalDetails", "Reply", "ToolCall", "ToolResult", "ToolSpec", "Turn")
#: A script that makes our recordings plays the model as `antiphon test` does.
OURS = ("docs/img/make.py", "examples/recordings/make.py")


def packages() -> Iterator[ModuleType]:
    """Every package that exports names."""
    yield antiphon
    for found in pkgutil.walk_packages(antiphon.__path__, "antiphon."):
        if found.ispkg and found.name not in INNER and hasattr(module := import_module(found.name), "__all__"):
            yield module


PACKAGES = {each.__name__: each for each in packages()}
PUBLIC = [
    pytest.param(package, value, id=f"{name}.{each}")
    for name, package in PACKAGES.items()
    for each in package.__all__
    if isinstance(value := getattr(package, each), type) or inspect.isfunction(value)
]


def test_the_list_of_public_names_is_the_one_that_was_agreed_on():
    raised = sorted(name for name, value in vars(errors).items() if isinstance(value, type))
    listed = {name: sorted(package.__all__) for name, package in PACKAGES.items()} | {"antiphon.errors": raised}
    text = "".join(f"{name}: {', '.join(names)}\n" for name, names in sorted(listed.items()))
    if os.environ.get("UPDATE_GOLDEN"):
        GOLDEN.write_text(text)
    assert text == GOLDEN.read_text()


@pytest.mark.parametrize(("package", "value"), PUBLIC)
def test_a_name_says_the_package_it_is_imported_from(package: ModuleType, value: Any):
    home = PACKAGES.get(value.__module__, errors)
    assert getattr(home, value.__name__) is value
    assert home is package or package is antiphon
    assert pickle.loads(pickle.dumps(value)) is value


@pytest.mark.parametrize(("package", "value"), PUBLIC)
def test_its_annotations_are_found_where_they_were_written(package: ModuleType, value: Any):  # noqa: ARG001
    hints, missing = _hints(value)
    assert not missing or missing in FOR_CHECKERS
    if is_dataclass(value) and not missing:
        assert {each.name for each in fields(value)} <= hints.keys()
        assert not any(isinstance(hint, str | typing.ForwardRef) for hint in hints.values())


def _hints(value: Any) -> tuple[dict[str, Any], str]:
    try:
        return typing.get_type_hints(value), ""
    except NameError as error:
        return {}, error.name


@pytest.mark.parametrize("value", [UserTurn, AssistantTurn, ToolCall, ToolSpec, Result, Usage])
def test_pydantic_takes_our_values_as_fields(value: type):
    assert TypeAdapter(list[value]).json_schema()["items"]  # type: ignore[valid-type]


def test_pydantic_and_inspect_read_our_functions():
    assert validate_call(results.error)("no such file").kind == "error"
    for function in (results.table, antiphon.connect, Session.vibe):
        assert inspect.getsource(function).lstrip().startswith(("def ", "@"))


def test_values_of_public_classes_are_pickled():
    call = ToolCall("c1", "weather", {"city": "Oslo"})
    assert pickle.loads(pickle.dumps(call)) == call
    assert b"antiphon.conversation\n" in pickle.dumps(call, 0)
    assert b"antiphon.conversation.parts" not in pickle.dumps(call, 0)


def test_what_is_made_says_its_package_though_nobody_asked_for_the_class():
    code = "import antiphon; print(type(antiphon.connect('gpt-5', key='k')).__module__, antiphon.Session.__module__)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["antiphon.providers", "antiphon.session"]


@pytest.mark.parametrize(
    "package", ["antiphon.providers", "antiphon.session", "antiphon.lang", "antiphon.lang.runtime", "antiphon.fakes"]
)
def test_a_package_whose_names_are_heavy_loads_none_of_them(package: str):
    code = f"import sys, {package}; print([name for name in sys.modules if name.startswith('{package}.')])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_a_name_that_a_package_does_not_have_is_an_attribute_error():
    for package in PACKAGES.values():
        assert not hasattr(package, "no_such_name")


def _documents() -> Iterator[Path]:
    yield from (ROOT / name for name in ("README.md", "CONTRIBUTING.md", "SECURITY.md"))
    for directory in ("docs", "examples"):
        yield from (path for path in (ROOT / directory).rglob("*") if path.suffix in (".md", ".py", ".vibe"))


def _imported(text: str) -> Iterator[tuple[str, str]]:
    for module, names in re.findall(r"^\s*from (antiphon[\w.]*) import (\([^)]*\)|[^\n#;]*)", text, re.MULTILINE):
        yield from ((module, name) for name in re.findall(r"\b(\w+)(?:\s+as\s+\w+)?", names))
    yield from ((module, "") for module in re.findall(r"^\s*import (antiphon\.[\w.]+)", text, re.MULTILINE))


def test_no_document_and_no_example_imports_what_is_private():
    private = [
        f"{path.relative_to(ROOT)}: from {module} import {name}"
        for path in _documents()
        if path.relative_to(ROOT).as_posix() not in OURS
        for module, name in _imported(path.read_text())
        if not _is_public(module, name)
    ]
    assert private == []


def _is_public(module: str, name: str) -> bool:
    if module == "antiphon.errors" or f"{module}.{name}" in {*PACKAGES, "antiphon.errors"}:
        return True
    return module in PACKAGES and (not name or name in PACKAGES[module].__all__)
