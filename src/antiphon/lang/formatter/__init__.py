"""The formatter: prints the same tokens and comments with canonical white space.

It prints the tokens of the source, so that nothing is lost or changed; the tree only says what they are.
`tokens` holds the tokens and comments, `statements`, `brackets` and `line_breaks` decide where lines may
break, and `layout` fits them into lines.
"""

from antiphon.lang.formatter.statements import format_source

__all__ = ["format_source"]
