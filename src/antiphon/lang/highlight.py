"""Syntax highlighting of programs: a Pygments lexer for terminals, pages and documentation."""

from __future__ import annotations

from collections.abc import Iterator
from re import MULTILINE, Match
from typing import Any, ClassVar

from pygments.lexer import RegexLexer, bygroups, default, include, words  # pyright: ignore[reportUnknownVariableType]
from pygments.lexers.python import PythonLexer  # pyright: ignore[reportMissingTypeStubs]
from pygments.token import (
    Comment,
    Keyword,
    Name,
    Number,
    Operator,
    Punctuation,
    String,
    Text,
    Whitespace,
    _TokenType,  # pyright: ignore[reportPrivateUsage]
)

from antiphon.lang.typecheck.methods import BUILTINS

DECLARATION_KEYWORDS = ("let", "const", "function")
CONTROL_KEYWORDS = (
    *("if", "else", "for", "in", "while", "break", "continue"),
    *("return", "throw", "try", "catch", "finally", "yield"),
)
ASK_KEYWORDS = ("do", "vibe", "ask")
MODULE_KEYWORDS = ("import", "export")
CONSTANT_KEYWORDS = ("true", "false", "null")
OPERATOR_KEYWORDS = ("and", "or", "not", "is")
#: Contextual keywords: keywords in their place only, and names elsewhere.
MODIFIER_KEYWORDS = ("private", "async")
CONTEXTUAL_DECLARATION_KEYWORDS = ("model", "type", "tool", "test", "input", "returns")
IMPORT_KEYWORDS = ("from", "as")
CONTEXT_KEYWORDS = ("default", "local", "none")
LOOP_MODE_KEYWORDS = ("verbose", "forget", "compress")
PYTHON_KEYWORDS = ("py", "pure")
MATCH_KEYWORDS = ("match",)
TYPE_KEYWORDS = ("text", "number", "boolean", "json", "prompt", "model", "null")

_NAME = r"[^\W\d]\w*"
_INDEX = r"\[[^\]\n{}]*\]"
_PYTHON = PythonLexer()


def _lex_python(_: RegexLexer, match: Match[str]) -> Iterator[tuple[int, _TokenType, str]]:
    for at, kind, text in _PYTHON.get_tokens_unprocessed(match.group()):
        yield match.start() + at, kind, text


def _word_pattern(*any_of: str) -> str:
    return rf"\b(?:{'|'.join(any_of)})\b"


def _string_rules(quote: str, others: str) -> list[Any]:
    """Return the rules for the inside of a string; characters in `others` end a run of plain text."""
    return [
        (quote, String, "#pop"),
        (r"\\(?:u\{[0-9a-fA-F]*\}|[^\n])", String.Escape),
        (r"\$\{", String.Interpol, "hole"),
        (rf"(\{{)({_NAME}(?:\.{_NAME}|{_INDEX})*)(\}})", bygroups(String.Interpol, Name.Variable, String.Interpol)),
        (rf"[^{quote}\\{{${others}]+", String),
        *([(r"\n", Text, "#pop")] if others else []),
        (r"[{$\\]", String),
    ]


class VibeLexer(RegexLexer):
    """The Pygments lexer of the language; Python blocks are highlighted as Python."""

    name = "Vibe"
    aliases: ClassVar = ["vibe"]
    filenames: ClassVar = ["*.vibe"]
    mimetypes: ClassVar = ["text/x-vibe"]
    flags = MULTILINE

    tokens: ClassVar = {
        "root": [
            (r"\A\ufeff?#!.*", Comment.Hashbang),
            (r"\s+", Whitespace),
            (r"//.*", Comment.Single),
            (r"/\*", Comment.Multiline, "comment"),
            (
                r"\b(?:(pure)([ \t]+))?(py)(\s*)(\()([^()]*)(\))(\s*)(\{)",
                bygroups(
                    Keyword, Whitespace, Keyword, Whitespace, Punctuation, Name, Punctuation, Whitespace, Punctuation
                ),
                "python",
            ),
            include("words"),
            (r'"', String, "double"),
            (r"'", String, "single"),
            (r"`", String, "back"),
            (r"0[xX][0-9a-fA-F_]+", Number.Hex),
            (r"\d[\d_]*(?:\.\d[\d_]*(?:[eE][+-]?\d+)?|[eE][+-]?\d+)", Number.Float),
            (r"\d[\d_]*", Number.Integer),
            (r"(\})([ \t]*)" + f"({_word_pattern(*LOOP_MODE_KEYWORDS)})", bygroups(Punctuation, Whitespace, Keyword)),
            (r"\.\.\.?|\?\?|\?\.|=>|\*\*|[-+*/%=!<>]=?|\|", Operator),
            (r"[][(){},:;.?]", Punctuation),
            (r"@\w+", Name.Decorator),
            (r".", Text),
        ],
        "words": [
            (rf"(?<!\.)(\.)(\s*)({_NAME})", bygroups(Punctuation, Whitespace, Name.Attribute)),
            (rf"(\?\.)(\s*)({_NAME})", bygroups(Operator, Whitespace, Name.Attribute)),
            # `match` is a keyword if a value and a brace follow it on its line.
            (_word_pattern(*MATCH_KEYWORDS) + r"(?=[ \t]+[\w\"'`(].*\{)", Keyword),
            (rf"\b(is)([ \t]+)({_word_pattern(*TYPE_KEYWORDS)})", bygroups(Operator.Word, Whitespace, Keyword.Type)),
            (rf"\b(function|tool)([ \t]+)({_NAME})", bygroups(Keyword.Declaration, Whitespace, Name.Function)),
            (rf"\b(type)([ \t]+)({_NAME})", bygroups(Keyword.Declaration, Whitespace, Name.Class)),
            (rf"\b(model)([ \t]+)({_NAME})(?=\s*=)", bygroups(Keyword.Declaration, Whitespace, Name.Constant)),
            (r"\btest\b(?=[ \t]*[\"'`])", Keyword.Declaration),
            (rf"\b(input)([ \t]+)({_NAME})(?=[ \t]*:)", bygroups(Keyword.Declaration, Whitespace, Name.Attribute)),
            (
                rf"^(returns)([ \t]+)({_word_pattern(*TYPE_KEYWORDS)})",
                bygroups(Keyword.Declaration, Whitespace, Keyword.Type),
            ),
            (rf"^returns(?=[ \t]+(?:{_NAME}|[\"'`\d{{]))", Keyword.Declaration),
            (
                _word_pattern(*MODIFIER_KEYWORDS) + r"(?=[ \t]+(?:let|const|for|do|vibe|private|async)\b)",
                Keyword.Declaration,
            ),
            (r"\bprivate\b(?=[ \t]+(?:input[ \t]+)?[^\W\d]\w*[ \t]*:)", Keyword.Declaration),
            (r"(?:(?<=let )|(?<=const ))private\b(?=[ \t]+[\w{[])", Keyword.Declaration),
            (r"\bfrom\b(?=[ \t]*[\"'`])", Keyword.Namespace),
            (rf"\b(as)([ \t]+)({_NAME})", bygroups(Keyword.Namespace, Whitespace, Name)),
            (rf"([:|])([ \t]*)({_word_pattern(*TYPE_KEYWORDS)})", bygroups(Punctuation, Whitespace, Keyword.Type)),
            (rf"{_word_pattern(*TYPE_KEYWORDS)}(?=\[\])", Keyword.Type),
            (rf"(?<=\[){_word_pattern(*TYPE_KEYWORDS)}(?=\][ \t]*:)", Keyword.Type),
            # The type of a function; the lookahead for its arrow is limited to 80 characters.
            (
                rf"([(,])([ \t]*)({_word_pattern(*TYPE_KEYWORDS)})(?=[\w \t,|[\]]{{0,80}}\)[ \t]*=>)",
                bygroups(Punctuation, Whitespace, Keyword.Type),
            ),
            (
                rf"(?<=\) )(=>)([ \t]*)({_word_pattern(*TYPE_KEYWORDS)})(?=[ \t]*(?:$|[][=,){{}}|]))",
                bygroups(Operator, Whitespace, Keyword.Type),
            ),
            (rf"(?<!\? ){_NAME}(?=[ \t]*\??[ \t]*:)", Name.Attribute),
            (words(ASK_KEYWORDS, r"\b", r"\b"), Keyword.Reserved),
            # The model and the context are the last words of a model call.
            (
                r"(?<=[\"'`\w)] )" + _word_pattern(*CONTEXT_KEYWORDS, "model") + r"(?=[ \t]*(?:$|[])},;/]))",
                Keyword.Pseudo,
            ),
            (r"(?<=[\"'`\w)] )\bmodel\b(?=[ \t]+" + _word_pattern(*CONTEXT_KEYWORDS) + ")", Keyword.Pseudo),
            (words(DECLARATION_KEYWORDS, r"\b", r"\b"), Keyword.Declaration),
            (words(MODULE_KEYWORDS, r"\b", r"\b"), Keyword.Namespace),
            (words(CONTROL_KEYWORDS, r"\b", r"\b"), Keyword),
            (words(OPERATOR_KEYWORDS, r"\b", r"\b"), Operator.Word),
            (words(CONSTANT_KEYWORDS, r"\b", r"\b"), Keyword.Constant),
            (words(tuple(BUILTINS), r"\b", r"(?=[ \t]*\()"), Name.Builtin),
            (rf"{_NAME}(?=\()", Name.Function),
            (_NAME, Name),
        ],
        "comment": [
            (r"[^*]+", Comment.Multiline),
            (r"\*/", Comment.Multiline, "#pop"),
            (r"\*", Comment.Multiline),
        ],
        "double": _string_rules('"', r"\n"),
        "single": _string_rules("'", r"\n"),
        "back": _string_rules("`", ""),
        "hole": [(r"\}", String.Interpol, "#pop"), (r"\{", Punctuation, "braces"), include("root")],
        "braces": [(r"\}", Punctuation, "#pop"), (r"\{", Punctuation, "#push"), include("root")],
        "python": [
            (r"\}", Punctuation, "#pop"),
            (r"\{", Punctuation, "#push"),
            (r"#.*", Comment.Single),
            (r'[rbufRBUF]{0,2}"""', String, "python-double"),
            (r"[rbufRBUF]{0,2}'''", String, "python-single"),
            (r"""[rbufRBUF]{0,2}(?:"(?:[^"\\\n]++|\\.)*"?|'(?:[^'\\\n]++|\\.)*'?)""", _lex_python),
            # A prefix of a string belongs to the string.
            (r"""(?:(?!\b[rbufRBUF]{1,2}["'])[^{}"'#])+""", _lex_python),
            default("#pop"),
        ],
        "python-double": [(r'"""', String, "#pop"), (r'[^"\\]+|\\.|["\\]', String)],
        "python-single": [(r"'''", String, "#pop"), (r"[^'\\]+|\\.|['\\]", String)],
    }
