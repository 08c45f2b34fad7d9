"""The fixes of one API: every module of an API in this package declares one `HistoryFixer`."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from antiphon.conversation import RepairAction
from antiphon.wire.rules import Violation

Body = dict[str, Any]
#: The text of a user that asks for the next part of an answer.
CONTINUE_TEXT = "Continue."
#: A fix changes a body in place and returns whether it did; the text says what it does.
BodyFix = tuple[Callable[[Body], bool], str]


@dataclass(frozen=True, slots=True, kw_only=True)
class HistoryFixer:
    """The fixes for the histories of one API, and what a history without a model is checked against."""

    #: The fixes by rule code, and those for a list without a request.
    fixes: Mapping[str, BodyFix]
    list_fixes: Mapping[str, BodyFix] = field(default_factory=dict[str, BodyFix])
    #: The legal names of functions, and every object of a body with such a name.
    legal_name: re.Pattern[str]
    iter_names: Callable[[Body], Iterator[tuple[str, Body]]]
    #: Return a body with the messages of other APIs converted, and the changes.
    convert: Callable[[Any], tuple[Any, list[RepairAction]]] = lambda body: (body, [])
    #: Return a list of messages without foreign or empty content, and the changes.
    clean: Callable[[list[Any]], tuple[list[Any], list[RepairAction]]] = lambda items: (items, [])
    #: Return where the results of one turn are in several messages, and in how many.
    find_split_results: Callable[[Body], list[tuple[str, int]]] = lambda body: []  # noqa: ARG005
    #: Return where the model speaks again before its calls are answered.
    find_split_calls: Callable[[Body], list[str]] = lambda body: []  # noqa: ARG005
    #: Return where a result is late, with the id of its call.
    find_late_results: Callable[[Body], list[tuple[str, str]]] = lambda body: []  # noqa: ARG005
    #: Return the fields that a request requires beside its messages.
    complete: Callable[[Body], Body] = lambda body: {}  # noqa: ARG005
    #: Return violations of rules that only some models have, if a body without a model shows that it needs them.
    check_strictly: Callable[[Body, str | None], list[Violation]] = lambda body, provider: []  # noqa: ARG005
    #: Copy marks that encoding again loses.
    restore_marks: Callable[[Body, Body], None] = lambda old, new: None  # noqa: ARG005
