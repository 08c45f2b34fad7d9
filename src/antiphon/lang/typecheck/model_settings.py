"""Model declarations and the settings they take."""

from __future__ import annotations

from dataclasses import dataclass

from antiphon.lang.syntax import nodes as n
from antiphon.lang.syntax.foreign_syntax import table as habits
from antiphon.lang.typecheck import types as t
from antiphon.lang.typecheck.checker import Checker
from antiphon.lang.typecheck.fix_hints import report_mismatch
from antiphon.lang.typecheck.literals import get_key_span
from antiphon.lang.typecheck.names import infer_tool_name
from antiphon.lang.typecheck.reporter import get_name_span
from antiphon.lang.typecheck.type_printer import format_type_short


@dataclass(frozen=True, slots=True)
class ModelSetting:
    """A setting of a model: its type, its purpose, and the numbers it accepts.

    `option` is its name in requests, `connect` its name in `antiphon.connect`.
    """

    type: t.Type
    doc: str
    least: float | None = None
    most: float | None = None
    whole: bool = False
    option: str = ""
    connect: str = ""


#: Strategies of requesting typed answers.
OUTPUT_STRATEGIES = ("native", "prompted", "tool")


def _make_literals(*words: str) -> tuple[t.Type, ...]:
    return tuple(map(t.Literal, words))


#: The settings in the braces of `model name = { … }`.
MODEL_SETTINGS = {
    "name": ModelSetting(t.TEXT, "What the provider calls it."),
    "provider": ModelSetting(t.TEXT, "Whose it is, where the name does not say.", connect="provider"),
    "url": ModelSetting(t.TEXT, "Where it is served.", connect="url"),
    "apiKey": ModelSetting(
        t.TEXT, "The key, where it is not in the provider's usual environment variable.", connect="key"
    ),
    "tools": ModelSetting(t.Array(t.TOOL), "The tools it may call."),
    "system": ModelSetting(t.TEXT, "What it is told before everything else."),
    "temperature": ModelSetting(t.NUMBER, "How freely it chooses words.", 0, 2, option="temperature"),
    "topP": ModelSetting(t.NUMBER, "From how much of the likely words it chooses.", 0, 1, option="top_p"),
    "maxTokens": ModelSetting(t.NUMBER, "How long an answer may be, in tokens.", 1, whole=True, option="max_tokens"),
    "maxTurns": ModelSetting(t.NUMBER, "How many requests a `vibe` may make.", 1, whole=True),
    "maxCost": ModelSetting(t.NUMBER, "How many dollars one `do` or `vibe` may cost.", 0),
    "timeout": ModelSetting(t.NUMBER, "How long the server may be silent, in seconds.", 0, connect="timeout"),
    "strategy": ModelSetting(t.Union(_make_literals(*OUTPUT_STRATEGIES)), "How typed answers are asked for."),
    "attempts": ModelSetting(t.NUMBER, "How often a typed answer that does not fit is asked for again.", 1, whole=True),
    "reasoning": ModelSetting(
        t.Union((*_make_literals("none", "minimal", "low", "medium", "high", "xhigh", "max"), t.NUMBER)),
        "How much it thinks: a word, or a number of tokens.",
        1,
        whole=True,
        option="reasoning",
    ),
}


def check_model_declaration(c: Checker, node: n.ModelDecl) -> bool:
    """Check `model name = { … }`."""
    seen: set[str] = set()
    for entry in node.settings.entries:
        if isinstance(entry, n.Spread) and isinstance(entry.value, n.BadExpr):
            # The unreadable part may have been its name.
            seen.add("name")
            continue
        if isinstance(entry, n.Spread):
            c.infer(entry.value)
            c.report("V0362", "the settings of a model are written out", entry, "name each of them")
            continue
        if entry.key in seen:
            c.report("V0318", f"the setting `{entry.key}` is there twice", get_key_span(entry), "leave one of them out")
        seen.add(entry.key)
        _check_setting(c, entry)
    where = get_name_span(node)
    if "name" not in seen:
        c.report("V0411", f"the model `{node.name}` has no `name`", where, 'add `name: "provider/model"`')
    node.settings.type = t.JSON
    symbol = node.symbol = c.scopes.make_symbol(node.name, "model", t.MODEL, node.name_start, node.end, node=node)
    if node.exported:
        c.scopes.export(node, symbol)
    c.scopes.declare(symbol)
    return False


def _check_setting(c: Checker, entry: n.ObjectEntry) -> None:
    setting = MODEL_SETTINGS.get(entry.key)
    if setting is None:
        habit = habits.MODEL_SETTING_HINTS.get(entry.key, "")
        hint = (
            habit
            or c.hint_similar(entry.key, MODEL_SETTINGS)
            or f"there are {', '.join(f'`{each}`' for each in MODEL_SETTINGS)}"
        )
        c.report("V0409", f"a model has no setting `{entry.key}`", get_key_span(entry), hint, is_habit=bool(habit))
        c.infer(entry.value)
    elif entry.key == "tools":
        _check_tools_setting(c, entry.value)
    elif setting.type is t.TEXT and _is_unquoted_text(c, entry.value):
        written = c.source.text[entry.value.start : entry.value.end]
        c.report("V0201", f"there is no `{written}` here", entry.value, f'it stands in quotes: `"{written}"`')
    else:
        c.check_value(entry.value, setting.type, entry.key)
        _check_number_range(c, entry, setting)


def _is_unquoted_text(c: Checker, node: n.Expr) -> bool:
    """Return True if a text such as `gpt-5` is written without quotes."""
    while isinstance(node, n.Binary | n.Member):
        node = node.left if isinstance(node, n.Binary) else node.object
    return isinstance(node, n.Name) and c.scopes.find(node.name) is None


def _check_tools_setting(c: Checker, node: n.Expr) -> None:
    if not isinstance(node, n.ArrayLit):
        type_ = t.strip_ai_result(c.infer(node))
        if type_ != t.JSON and type_ != MODEL_SETTINGS["tools"].type:
            message = f"expected an array of tools for `tools`, found `{format_type_short(type_)}`"
            c.report("V0301", message, node, "write `[readFile, weather]`: their names, in brackets")
        return
    node.type = MODEL_SETTINGS["tools"].type
    for item in node.items:
        if isinstance(item, n.Spread):
            hint = "write the bundle itself: `tools: [readonlyTools, mine]`"
            c.infer(item.value)
            c.report("V0362", "bundles of tools stand among the tools as they are", item, hint)
            continue
        if isinstance(item, n.Name) and infer_tool_name(c, item) is not None:
            continue
        if isinstance(item, n.Call) and isinstance(item.callee, n.Name) and infer_tool_name(c, item.callee) is not None:
            report_mismatch(c, item, t.TEXT, t.TOOL, "tools")
            continue
        type_ = t.strip_ai_result(c.infer(item))
        # An item may be a bundle: an array of tools.
        if type_ not in (t.JSON, t.TOOL, MODEL_SETTINGS["tools"].type):
            report_mismatch(c, item, type_, t.TOOL, "tools")


def _check_number_range(c: Checker, entry: n.ObjectEntry, setting: ModelSetting) -> None:
    value = _get_number_literal(entry.value)
    if value is None or setting.least is None:
        return
    if value < setting.least or (setting.most is not None and value > setting.most):
        limits = f"from {setting.least} to {setting.most}" if setting.most is not None else f"at least {setting.least}"
        c.report("V0410", f"`{entry.key}` is {limits}, found {value}", entry.value, f"write a number {limits}")
    elif setting.whole and value != int(value):
        c.report("V0410", f"`{entry.key}` is a whole number, found {value}", entry.value)


def _get_number_literal(node: n.Expr) -> int | float | None:
    if isinstance(node, n.Unary) and isinstance(node.operand, n.NumberLit):
        return -node.operand.value
    return node.value if isinstance(node, n.NumberLit) else None
