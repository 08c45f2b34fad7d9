"""Values that may be null, where they are used: not before that was looked at."""

from __future__ import annotations

from antiphon.lang.check.state import Checker
from antiphon.lang.check.types import AI, Type, Union, may_be_null, without_null
from antiphon.lang.syntax.nodes import Binary, Expr, Hole, TextLit

#: Types that null may be among.
_OPEN = frozenset((Union, AI))


def present(c: Checker, node: Expr, type_: Type, member: str = "") -> Type:
    """The type of a value that is used, without null; one that may be null is reported. `member` is what follows."""
    if type_.__class__ not in _OPEN or not may_be_null(type_):
        return type_
    text = c.text_of(node)
    what = f"`{text}`" if text == c.source.text[node.start : node.end] else "this"
    c.report("V0330", f"{what} may be null", node, _remedy(c.object_text_of(node), member))
    return without_null(type_)


def check_sent(c: Checker, prompt: Expr) -> None:
    """What is put into a prompt must be there: a model would read `null`."""
    todo = [prompt]
    while todo:
        node = todo.pop()
        if isinstance(node, Binary) and node.op == "+":
            todo += (node.right, node.left)
        elif isinstance(node, TextLit):
            for part in node.parts:
                if isinstance(part, Hole) and part.value.type is not None:
                    present(c, part.value, part.value.type)


def _remedy(text: str, member: str) -> str:
    if member:
        return f"write `{text}?.{member}`, or test before: `if {text} != null {{ … }}`"
    return f"give a value for that case, `({text} ?? …)`, or test before: `if {text} != null {{ … }}`"
