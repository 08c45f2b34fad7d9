"""Syntax errors in Python blocks."""

from __future__ import annotations

import warnings
from collections.abc import Sequence

from antiphon.lang.syntax.python_block import dedent_code


def find_python_error(code: str, parameters: Sequence[str] = ()) -> tuple[str, int] | None:
    """Return Python's message for the first syntax error and its offset, or None. The code is compiled, not run."""
    text, skipped = dedent_code(code)
    body = "\n".join(" " + each if each else "" for each in text.split("\n"))
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            compile(f"def _({', '.join(parameters)}):\n pass\n{body}\n", "<py>", "exec", dont_inherit=True)
    except SyntaxError as error:
        return error.msg, _map_to_block_offset(code, text, (error.lineno or 3) - 3, skipped, (error.offset or 1) - 2)
    except (ValueError, MemoryError, RecursionError, OverflowError) as error:
        return str(error) or "it is nested too deeply", 0
    return None


def _map_to_block_offset(code: str, text: str, line: int, skipped: int, column: int) -> int:
    """Return the offset in the block of a position in the dedented code."""
    written, read = code.split("\n"), text.split("\n")
    line = min(max(line, 0), len(read) - 1, len(written) - 1 - skipped)
    whole = written[line + skipped]
    indent = max(0, whole.find(read[line])) if read[line] else 0
    start = sum(len(each) + 1 for each in written[: line + skipped])
    return min(start + indent + max(column, 0), len(code))
