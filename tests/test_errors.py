"""The tree of errors that is drawn in `antiphon.errors` is the real one, and has them all."""

from __future__ import annotations

import pkgutil
import re
from collections.abc import Iterator
from importlib import import_module

import antiphon
from antiphon import errors
from antiphon.errors import AntiphonError

#: Ways to leave something, which whoever began it catches: nobody else ever sees one.
CONTROL_FLOW = {
    "ToolTimeout",
    "_FilesNotCopied",  # the sandbox cannot be made, told by the process inside it
    "IterationAborted",  # ends an iteration of a program because another failed
    "FinishRun",  # ends a run, from a tool
    "StopRun",  # ends a run, from inside
    "Suspended",  # an effect that has no outcome yet
    "NobodyAvailable",  # no person to ask
    "QuitChat",  # ends a chat
    "PromptShown",  # ends a program that was to show its first prompt
    "ProgramAborted",  # ends a program that was cancelled
    "DownloadCancelled",  # ends a download
    "InvalidField",  # asks the next renderer
    "SyntaxErrorReported",  # ends the parsing of a statement
    "InvalidNumberLiteral",  # ends the reading of a number
    "InputMismatch",  # ends the reading of an input
    "AtClient",  # a call that whoever asked runs himself
    "TooManyPins",  # ends the search for scripts to pin
    "NotConstant",  # ends the evaluation of a constant
    "_TooManySteps",  # ends the check of a schema
    "_Misfit",  # ends the reading of an answer that is still being said
    "_TruncatedFile",
    "_AttemptFailed",
    "_UnsupportedOption",
    "_UnsupportedFormat",
    "_UnsupportedSchema",
}


def raised() -> Iterator[type[BaseException]]:
    """Every exception class that is written in the package."""
    for module in pkgutil.walk_packages(antiphon.__path__, "antiphon."):
        if not module.name.endswith("__main__"):
            values = vars(import_module(module.name)).values()
            found = (each for each in values if isinstance(each, type) and issubclass(each, BaseException))
            # A warning is none.
            yield from (each for each in found if not issubclass(each, Warning))


def drawn() -> dict[str, str]:
    """The classes of the drawing, each with its parent."""
    parents: dict[str, str] = {}
    above: list[str] = []
    for line in (errors.__doc__ or "").splitlines():
        if found := re.match(r"((?:[│ ]   )*)(?:[├└]── )?(\w+)(?=  |$)", line):
            depth = len(found[0].removesuffix(found[2])) // 4
            above[depth:] = [found[2]]
            parents[found[2]] = above[depth - 1] if depth else ""
    return parents


def test_every_error_is_in_the_tree_and_drawn_where_it_is():
    real = {each for each in raised() if each.__module__.startswith("antiphon")}
    real = {each for each in real if each.__name__ not in CONTROL_FLOW}
    assert [each for each in real if not issubclass(each, AntiphonError)] == []
    assert {each.__name__: each.__base__.__name__ for each in real if each.__base__} == {
        **drawn(),
        "AntiphonError": "Exception",
    }


def test_the_drawing_says_which_package_exports_an_error():
    for name, package in re.findall(r"── (\w+) .*\((antiphon[\w.]*)\)$", errors.__doc__ or "", re.MULTILINE):
        assert issubclass(getattr(import_module(package), name), AntiphonError)
        assert getattr(import_module(package), name).__module__ == package


def test_what_is_only_a_way_out_is_known_by_name():
    ours = {each.__name__ for each in raised() if each.__module__.startswith("antiphon")}
    assert ours >= CONTROL_FLOW
