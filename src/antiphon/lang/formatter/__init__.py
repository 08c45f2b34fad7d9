"""The formatter: prints the same tokens and comments with canonical white space.

It prints the tokens of the source, so that nothing is lost or changed; the tree only says what they are.
`tokens` holds the tokens and comments, `token_roles` what the tree says of them; `statements` and
`line_breaks` decide where lines may break, and `layout` fits them into lines. `fast_path` prints statements
that fit on a line without layout.
"""

from antiphon.lang.formatter.statements import format_source

__all__ = ["format_source"]
