"""Reports of nullable values that are used without a test."""

from __future__ import annotations

from antiphon.lang.syntax.nodes import Binary, Expr, Interpolation, TextLit
from antiphon.lang.typecheck.checker import Checker
from antiphon.lang.typecheck.types import AIResultType, Type, Union, is_nullable, remove_null

#: Classes of types that may include null.
_NULLABLE_CLASSES = frozenset((Union, AIResultType))


def require_non_null(c: Checker, node: Expr, type_: Type, member: str = "") -> Type:
    """Return the type of a used value without null; report a nullable one. `member` is the member that follows."""
    if type_.__class__ not in _NULLABLE_CLASSES or not is_nullable(type_):
        return type_
    text = c.source_text(node)
    what = f"`{text}`" if text == c.source.text[node.start : node.end] else "this"
    c.report("V0330", f"{what} may be null", node, _hint_null_test(c.receiver_text(node), member))
    return remove_null(type_)


def check_prompt_values(c: Checker, prompt: Expr) -> None:
    """Report nullable values that are interpolated into a prompt: a model would read `null`."""
    todo = [prompt]
    while todo:
        node = todo.pop()
        if isinstance(node, Binary) and node.op == "+":
            todo += (node.right, node.left)
        elif isinstance(node, TextLit):
            for part in node.parts:
                if isinstance(part, Interpolation) and part.value.type is not None:
                    require_non_null(c, part.value, part.value.type)


def _hint_null_test(text: str, member: str) -> str:
    if member:
        return f"write `{text}?.{member}`, or test before: `if {text} != null {{ … }}`"
    return f"give a value for that case, `({text} ?? …)`, or test before: `if {text} != null {{ … }}`"
