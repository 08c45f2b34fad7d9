"""The one way a program is laid out: the same tokens and comments, with other space between them.

What is printed are the tokens of the source, so that nothing can be lost or changed; the tree only says what they are.
`pieces` are the tokens and comments, `statements`, `items` and `flow` say where lines may end between them, and
`layout` fits them into lines.
"""

from antiphon.lang.formatter.statements import format_source

__all__ = ["format_source"]
