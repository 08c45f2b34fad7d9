"""Models: which settings they take."""

from __future__ import annotations

from dataclasses import dataclass

from antiphon.lang.check.names import tool_value
from antiphon.lang.check.notation import shown
from antiphon.lang.check.state import Checker
from antiphon.lang.check.types import JSON, MODEL, NUMBER, TEXT, TOOL, Array, Literal, Type, Union, plain
from antiphon.lang.syntax import habits
from antiphon.lang.syntax.nodes import (
    ArrayLit,
    BadExpr,
    Binary,
    Call,
    Entry,
    Expr,
    Member,
    ModelDecl,
    Name,
    NumberLit,
    Spread,
    Unary,
)


@dataclass(frozen=True, slots=True)
class Setting:
    """A setting of a model: its type, what it is for, and which numbers it takes.

    `option` is what requests call it, `connect` what `antiphon.connect` does.
    """

    type: Type
    doc: str
    least: float | None = None
    most: float | None = None
    whole: bool = False
    option: str = ""
    connect: str = ""


#: How typed answers may be asked for.
STRATEGIES = ("native", "prompted", "tool")


def _one_of(*words: str) -> tuple[Type, ...]:
    return tuple(map(Literal, words))


#: What stands between the braces of `model name = { … }`.
SETTINGS = {
    "name": Setting(TEXT, "What the provider calls it."),
    "provider": Setting(TEXT, "Whose it is, where the name does not say.", connect="provider"),
    "url": Setting(TEXT, "Where it is served.", connect="url"),
    "apiKey": Setting(TEXT, "The key, where it is not in the provider's usual environment variable.", connect="key"),
    "tools": Setting(Array(TOOL), "The tools it may call."),
    "system": Setting(TEXT, "What it is told before everything else."),
    "temperature": Setting(NUMBER, "How freely it chooses words.", 0, 2, option="temperature"),
    "topP": Setting(NUMBER, "From how much of the likely words it chooses.", 0, 1, option="top_p"),
    "maxTokens": Setting(NUMBER, "How long an answer may be, in tokens.", 1, whole=True, option="max_tokens"),
    "maxTurns": Setting(NUMBER, "How many requests a `vibe` may make.", 1, whole=True),
    "maxCost": Setting(NUMBER, "How many dollars one `do` or `vibe` may cost.", 0),
    "timeout": Setting(NUMBER, "How long the server may be silent, in seconds.", 0, connect="timeout"),
    "strategy": Setting(Union(_one_of(*STRATEGIES)), "How typed answers are asked for."),
    "attempts": Setting(NUMBER, "How often a typed answer that does not fit is asked for again.", 1, whole=True),
    "reasoning": Setting(
        Union((*_one_of("none", "minimal", "low", "medium", "high", "xhigh", "max"), NUMBER)),
        "How much it thinks: a word, or a number of tokens.",
        1,
        whole=True,
        option="reasoning",
    ),
}


def model(c: Checker, node: ModelDecl) -> bool:
    """`model name = { … }`."""
    seen: set[str] = set()
    for entry in node.settings.entries:
        if isinstance(entry, Spread) and isinstance(entry.value, BadExpr):
            # What could not be read may have been its name.
            seen.add("name")
            continue
        if isinstance(entry, Spread):
            c.expr(entry.value)
            c.report("V0362", "the settings of a model are written out", entry, "name each of them")
            continue
        if entry.key in seen:
            c.report("V0318", f"the setting `{entry.key}` is there twice", _key(entry), "leave one of them out")
        seen.add(entry.key)
        _check_setting(c, entry)
    where = node.name_start, node.name_start + len(node.name)
    if "name" not in seen:
        c.report("V0411", f"the model `{node.name}` has no `name`", where, 'add `name: "provider/model"`')
    node.settings.type = JSON
    symbol = node.symbol = c.symbol(node.name, "model", MODEL, node.name_start, node.end, node=node)
    if node.exported:
        from antiphon.lang.check.declarations import export

        export(c, node, symbol)
    c.declare(symbol)
    return False


def _check_setting(c: Checker, entry: Entry) -> None:
    setting = SETTINGS.get(entry.key)
    if setting is None:
        habit = habits.SETTINGS.get(entry.key, "")
        hint = habit or c.meant(entry.key, SETTINGS) or f"there are {', '.join(f'`{each}`' for each in SETTINGS)}"
        c.report("V0409", f"a model has no setting `{entry.key}`", _key(entry), hint, is_habit=bool(habit))
        c.expr(entry.value)
    elif entry.key == "tools":
        _check_tools(c, entry.value)
    elif setting.type is TEXT and _lacks_quotes(c, entry.value):
        written = c.source.text[entry.value.start : entry.value.end]
        c.report("V0201", f"there is no `{written}` here", entry.value, f'it stands in quotes: `"{written}"`')
    else:
        c.want(entry.value, setting.type, entry.key)
        _check_number(c, entry, setting)


def _lacks_quotes(c: Checker, node: Expr) -> bool:
    """Whether a text like `gpt-5` stands there without its quotes."""
    while isinstance(node, Binary | Member):
        node = node.left if isinstance(node, Binary) else node.object
    return isinstance(node, Name) and c.scope.find(node.name) is None


def _check_tools(c: Checker, node: Expr) -> None:
    if not isinstance(node, ArrayLit):
        type_ = plain(c.expr(node))
        if type_ != JSON and type_ != SETTINGS["tools"].type:
            message = f"expected an array of tools for `tools`, found `{shown(type_)}`"
            c.report("V0301", message, node, "write `[readFile, weather]`: their names, in brackets")
        return
    node.type = SETTINGS["tools"].type
    for item in node.items:
        if isinstance(item, Spread):
            hint = "write the bundle itself: `tools: [readonlyTools, mine]`"
            c.expr(item.value)
            c.report("V0362", "bundles of tools stand among the tools as they are", item, hint)
            continue
        if isinstance(item, Name) and tool_value(c, item) is not None:
            continue
        if isinstance(item, Call) and isinstance(item.callee, Name) and tool_value(c, item.callee) is not None:
            c.mismatch(item, TEXT, TOOL, "tools")
            continue
        type_ = plain(c.expr(item))
        # An item may be a bundle: an array of tools.
        if type_ not in (JSON, TOOL, SETTINGS["tools"].type):
            c.mismatch(item, type_, TOOL, "tools")


def _check_number(c: Checker, entry: Entry, setting: Setting) -> None:
    value = _constant(entry.value)
    if value is None or setting.least is None:
        return
    if value < setting.least or (setting.most is not None and value > setting.most):
        limits = f"from {setting.least} to {setting.most}" if setting.most is not None else f"at least {setting.least}"
        c.report("V0410", f"`{entry.key}` is {limits}, found {value}", entry.value, f"write a number {limits}")
    elif setting.whole and value != int(value):
        c.report("V0410", f"`{entry.key}` is a whole number, found {value}", entry.value)


def _constant(node: Expr) -> int | float | None:
    if isinstance(node, Unary) and isinstance(node.operand, NumberLit):
        return -node.operand.value
    return node.value if isinstance(node, NumberLit) else None


def _key(entry: Entry) -> tuple[int, int]:
    return entry.start, min(entry.end, entry.start + len(entry.key) + 2 * entry.quoted)
