"""Syntax and names of other languages, and what to write instead: the single table of hints.

The lexer, the parser and the checker look up tokens that are not part of the language. They report the hint
and continue as if the equivalent had been written, so that the rest of the program is checked as usual.
"""

from __future__ import annotations

from typing import Literal, NamedTuple

#: How a foreign statement is parsed: as an equivalent of this language, without its keyword, or not at all.
ForeignParseMode = Literal["let", "function", "throw", "type", "for", "drop", "call", "skip"]


class ForeignStatement(NamedTuple):
    """A statement of another language: what to write instead, and how to parse it."""

    hint: str
    way: ForeignParseMode


def _same_hint(names: str, hint: str) -> dict[str, str]:
    return dict.fromkeys(names.split(), hint)


def _same_statement(names: str, hint: str, way: ForeignParseMode) -> dict[str, ForeignStatement]:
    return dict.fromkeys(names.split(), ForeignStatement(hint, way))


_BITS = "there are no operators on bits: use `py(a, b) { return a & b }`; texts are joined with `+`"
_FLOOR = "write `(a / b).floor()`; `//` begins a comment"

#: Signs, the token they are parsed as, and what to write.
FOREIGN_SIGNS = {
    "&&": ("and", "write `and`"),
    "||": ("or", "write `or`; a default for what may be null is `x ?? …`"),
    "===": ("==", "write `==`, which never converts"),
    "!==": ("!=", "write `!=`, which never converts"),
    "->": ("=>", "write `=>` for a function or an arm of `match`, `:` before a type, and `.` before a member"),
    ":=": ("=", "write `let x = …` to declare, `x = …` to assign, on a line of its own; `for x in xs` in a loop"),
    "^": ("**", "write `**` for a power; there are no operators on bits"),
    "&": ("+", _BITS),
    "~": ("-", _BITS),
    "//": ("/", _FLOOR),
    "**=": ("*=", "write `x = x ** …`"),
    "??=": ("=", "write `x = x ?? …`"),
    "||=": ("=", "write `x = x or …`, or `x = x ?? …` where it may be null"),
    "&&=": ("=", "write `x = x and …`"),
}
#: Hints for two adjacent signs that are one sign in another language.
SIGN_PAIR_HINTS = {
    "++": "write `+= 1`",
    "--": "write `-= 1`",
    "<>": "write `!=`",
    "<<": "write `x * 2 ** n`",
    ">>": "write `(x / 2 ** n).floor()`",
    ">>=": "write `x = (x / 2 ** n).floor()`",
    "<<=": "write `x = x * 2 ** n`",
    "=<": "write `<=`",
    "=>": "write `>=`",
    "<=>": "compare with `<`, `==` and `>`; `xs.sortBy(x => …)` sorts",
    "=+": "write `+=`",
    "=!": "write `!=`",
    "::": "write `.`",
}
#: Hints for words that other languages write after a statement, on its line.
AFTER_STATEMENT_HINTS = {
    "with": "leave it out",
    "if": "write `if condition { … }`, with the statement in the braces",
    "unless": "write `if not … { … }`",
    "while": "write `while condition { … }`, with the statement in the braces",
    "until": "write `while not … { … }`",
    "for": "write `for x in xs { … }`, with the statement in the braces",
    "do": "a block stands in `{` and `}`: `for x in xs { … }`",
    "extends": "write out all fields: what has them fits",
    "implements": "write out all fields: what has them fits",
    ",": "each has its own statement; several at once are `const [a, b] = [1, 2]`",
    ":": "a `{` that begins a statement begins a block; an object stands in parentheses there",
    "=": "`=` assigns, and is a statement; `==` compares",
    "==": "write `=` to give it a value",
    "+=": "write `=` to give it a value",
    "-": "a name has letters, digits and `_`: `my_name`",
    "(": "write `const name = x => …`, or `function name(x) { … }`",
    "=>": "write `const name = x => …`, or `function name(x) { … }`",
    "{": "an object has no name before it: `{ x: 1 }`; nor has a block without `if`, `for`, `while` or `function`",
}
_INPUT = "an input is `input city: text`, each on a line of its own"
_MODEL = 'write `model m = { name: "…" }`'
_ASYNC = "write `async let x = do …`, `async do …`, or `const all = async for x in xs { yield … }`"
#: Hints for a run-on statement, by the word before the surplus token or the first word of the statement.
RUN_ON_HINTS = {
    **_same_hint("input inputs param parameter arg argument flag option", _INPUT),
    **_same_hint("model agent llm client", _MODEL),
    **_same_hint("async parallel concurrent spawn go", _ASYNC),
    **_same_hint("await", "leave it out: a program waits for each answer by itself"),
    **_same_hint("test it describe", 'write `test "name" { … }`'),
    **_same_hint("returns", "write `returns number`, behind the inputs"),
    **_same_hint("tool", "write `tool name(x: text): text { … }`"),
    **_same_hint("prompt template", 'a prompt is text: `const p = "…"`'),
    **_same_hint("break continue", "there are no labels: `break` and `continue` are for the loop they stand in"),
    **_same_hint("SELECT select INSERT UPDATE", 'tables are data: `parseCsv(readText("a.csv")).filter(row => …)`'),
    **_same_hint(
        "ls cat grep cd rm mkdir curl git npm pip python sudo docker",
        'a command is run with `run("…")` of "system/process"',
    ),
    **_same_hint("defer", "write `try { … } finally { … }`"),
    **_same_hint("guard", "write `if x == null { return }`"),
    **_same_hint("keyof", 'write out the names: `type Key = "name" | "age"`'),
    **_same_hint("private", "write `private const x = …`"),
    **_same_hint("export", "write it before a declaration: `export const name = …`"),
}
#: Hints for tokens after a prompt that are neither a model nor a context.
AFTER_PROMPT_HINTS = {
    "ask": 'a human is asked, and no model: write `ask "…"` alone',
    "text": 'a model is declared, and named without quotes: `model m = { name: "…" }`, then `do "…" m`',
    "order": 'the prompt comes first, then the model: `do "…" m`',
    "context": 'the model comes before the context: `do "…" m none`',
    "model": 'leave out `model`: `do "…" m`; alone it is the default one',
    "name": 'behind a prompt stand a model and a context, `default`, `local` or `none`: `do "…" m none`',
    ":": 'write `do "…" m none`, without names or `:`; settings are those of a model, `model m = { … }`',
    ",": 'write no comma: `do "…" m`',
    "=": 'write `do "…" m none`, without names; settings are those of a model, `model m = { … }`',
    "{": 'a prompt stands in quotes: `do "Greet {name}"`',
    ".": 'write the prompt behind it: `do "…"`',
}
#: Modes of a loop, and hints for a token after one.
LOOP_MODE_HINTS = {
    **_same_hint("verbose forget", "leave it out: only `compress` takes something"),
    "compress": 'write `compress("how")`, in parentheses',
}
#: Hints for tokens where a block should begin.
BEFORE_BLOCK_HINTS = {
    "...": "write `1..3`: both ends belong to a range",
    "do": "a block stands in `{` and `}`",
    "then": "a block stands in `{` and `}`",
    "=>": "write `{ return … }`, or `const name = x => …`",
    "=": "write `{ return … }`, or `const name = x => …`",
}
#: Hints for named arguments of Python.
NAMED_ARGUMENT_HINTS = {
    **_same_hint("end", "each `print` is a line: put what belongs on it into one text"),
    **_same_hint("sep", 'write `print(xs.join(", "))`'),
    **_same_hint("key", "write `xs.sortBy(x => …)`"),
    **_same_hint("reverse", "write `xs.sortBy(x => -x)`, or turn it around: `xs[::-1]`"),
}
#: Words that people write between a prompt and a model.
WORDS_BEFORE_MODEL = frozenset(("with", "using", "by", "via", "on", "from"))
#: Hints for arguments that a method takes in other languages, by method.
METHOD_ARGUMENT_HINTS = {
    "random": "it gives a number from 0 to 1: `1 + (random() * 6).floor()` is one of 1 to 6",
    "toFixed": "write `toFixed(2)`: so many digits behind the point",
    "replace": 'write `replace("old", "new")`',
    "insert": "write `insert(position, item)`",
    "pop": "write `xs.remove(0)` for the item at a position, `pop()` for the last",
    "split": 'it splits everywhere: take parts of what it gives, `s.split(",")[:2]`',
    "push": "push them one by one, or write `xs += [a, b]`",
    "join": 'write `xs.join(", ")`',
    "sum": "write `xs.sum()`",
}
STRING_ENDED_HINT = "the string ended before: put other quotes around it, or a `\\` before the quote in it"
_ASSIGNS = "an assignment is a statement: write `x => { total += x }`"
#: Hints for tokens between two values in a bracket.
BETWEEN_VALUES_HINTS = {
    **_same_hint("+= -= *= /=", _ASSIGNS),
    "...": "a part is `xs[1:3]`, up to the second position and without it",
    ",": "an item of an item is `xs[0][1]`, a part `xs[0:2]`",
    "=": "`=` assigns, and is a statement; `==` compares",
    ":": "a name and its value stand in an object: `{ name: value }`",
    "=>": "before `=>` stand the names of parameters: `(a, b) => …`",
    "do": "a block stands in `{` and `}`",
    "|": _BITS,
    ";": "write `,`",
    **_same_hint("name number text quote true false null { [", "write `,` between them"),
    "if": "write `condition ? a : b`",
}

_LINES = "a text over several lines stands in backticks, and a comment behind `//`"
#: Hints for triple-quoted strings.
TRIPLE_QUOTE_HINTS = {'"""': _LINES, "'''": _LINES, "```": "leave it out: a program is the lines themselves"}
#: Hints for blocks that begin with `:`, by the first word of their line.
COLON_BLOCK_HINTS = {
    "if": "write `if … { … } else if … { … } else { … }`",
    "else": "write `} else { … }`",
    "for": "write `for x in xs { … }`, or `for i in 3 { … }` (0, 1, 2)",
    "while": "write `while … { … }`",
    "try": "write `try { … } catch error { … } finally { … }`",
    "function": "write `function name(x) { … }`",
}

#: Hints for signs that begin a value in other languages only.
PREFIX_SIGN_HINTS = {
    "/": "regular expressions are texts, for the functions of `system/text`",
    "<": "a type stands behind the name: `const x: number = …`",
    "*": "write `...xs` to put the items of an array into another",
    "**": "write `...object` to put the fields of an object into another",
    "@": "there are no decorators: a tool is declared with `tool`",
    "+": "leave it out, or write `toNumber()`",
    ".": "write what stands before the point",
    "if": "write `condition ? a : b`, or `match`",
    "for": "write `xs.map(x => …)`, or a loop that pushes",
    "while": "a loop is no value: let it push into an array",
    "try": "`try` is no value: assign in it to a variable that is declared before",
    "throw": "`throw` is a statement: write `if x == null { throw … }` before",
    "return": "`return` is a statement: write it in an `if`",
    "let": "a variable is declared before: `let x = …`, on its own line",
    "const": "a variable is declared before: `const x = …`, on its own line",
    "import": 'a module is imported at the top: `import { name } from "./file.vibe"`',
    "=": "`=` assigns, and is a statement; `==` compares",
    "=>": "before `=>` stand the names of parameters: `x => …`, `() => …`",
    ")": "a value is missing before it",
    "]": "a value is missing before it",
    ",": "a value is missing before it",
    "|": "a function without a name is `x => …`",
}
_NOT_NULL = "compare it with `null` before, or give a default: `x ?? …`"
#: Hints for signs that follow a value in other languages.
POSTFIX_SIGN_HINTS = {
    "!": _NOT_NULL,
    "?:": "write `x ?? …` for what may be null, or `condition ? a : b`",
    "?": "leave it out: what goes wrong is thrown by itself, and caught with `try`",
}
#: The hint for catching only some errors.
CATCH_HINT = 'write `catch error { … }`, and in it `if error.code == "V0904" { … }`, or look at `error.message`'
#: Hints for invalid entries of an object, by their first token.
OBJECT_ENTRY_HINTS = {
    **_same_hint("number text quote", "write `name: value`"),
    "[": "the keys of an object are written out; with other ones it is a map: `m[key] = value`",
    "(": "a field that is a function is `name: (a, b) => { … }`",
    "=": "write `name: value`",
    "**": "write `...object`",
    ",": "an object has `name: value`; several values are an array, `[a, b]`, and `unique()` gives each once",
    "name": "a field is `name: value`; there are no others",
    ":": "write `name: value`",
    "=>": "write `name: value`",
}

#: Constants of other languages, and the equivalents that they are parsed as.
FOREIGN_CONSTANTS = {"None": "null", "undefined": "null", "True": "true", "False": "false"}

_PY_URL = 'import it from Python: `import { urlparse } from "py:urllib.parse"`'
_CLASS = "there are no classes: declare a `type`, and write functions that take it"
_NO_NEED = "leave it out"
#: Modifiers of other languages that have no meaning here.
FOREIGN_MODIFIERS = (
    *("static", "public", "protected", "final", "readonly", "declare", "abstract", "override", "extern", "pub", "mut"),
)
#: Words that begin a statement in other languages.
FOREIGN_STATEMENTS = {
    **_same_statement("var val auto my dim local", "write `let`, or `const` for what never changes", "let"),
    **_same_statement(
        "int float double string bool boolean str char long",
        "write `let x = …`; the type is found, or `let x: number`",
        "let",
    ),
    **_same_statement("def fn func fun sub proc defun method", "write `function name(x) { … }`", "function"),
    **_same_statement("raise", 'write `throw "what is wrong"`', "throw"),
    **_same_statement("interface struct record dataclass", "write `type Name { field: text }`", "type"),
    **_same_statement("foreach", "write `for x in xs { … }`", "for"),
    **_same_statement(" ".join(FOREIGN_MODIFIERS), _NO_NEED, "drop"),
    **_same_statement("await", "leave it out: a program waits for each answer by itself", "drop"),
    **_same_statement("print echo puts println printf say write log", "call it: `print(…)`", "call"),
    **_same_statement("assert", "call it: `assert(a == b)`", "call"),
    **_same_statement("len note sleep", "call it, with parentheses", "call"),
    **_same_statement("class", _CLASS, "skip"),
    **_same_statement("enum", 'write a type of texts: `type Color = "red" | "green"`', "skip"),
    **_same_statement("switch", 'write `match value { "a" => …, else => … }`', "skip"),
    **_same_statement("case default when", 'an arm of a `match` is `"a" => …`, the last one `else => …`', "skip"),
    **_same_statement("namespace module package", 'a file is a module: `import { name } from "./file.vibe"`', "skip"),
    **_same_statement("from", 'write `import { name } from "py:module"` for Python, `"./file.vibe"` for Vibe', "skip"),
    **_same_statement("include using use require", 'write `import { name } from "./file.vibe"`', "skip"),
    **_same_statement(
        "with",
        "write `const text = readText(path)` of `system/files`: nothing needs closing; what must be done "
        "at the end stands in `finally`",
        "skip",
    ),
    **_same_statement("delete del", "write `xs.remove(i)` or `m.remove(key)`; what may be absent is `null`", "skip"),
    **_same_statement(
        "global nonlocal", "leave it out: a function sees the variables around it, and may assign them", "skip"
    ),
    **_same_statement("unless", "write `if not …`", "skip"),
    **_same_statement("until", "write `while not …`", "skip"),
    **_same_statement("loop forever", "write `while true { … }`", "skip"),
    **_same_statement("repeat times", "write `for i in 3 { … }`", "skip"),
    **_same_statement("goto label", "write a function and call it", "skip"),
    **_same_statement("except rescue", "write `try { … } catch error { … }`", "skip"),
    **_same_statement("ensure", "write `finally { … }`", "skip"),
    **_same_statement("new", "there are no classes: write the object itself, `{ … }`", "skip"),
    **_same_statement("extends implements impl trait protocol mixin", _CLASS, "skip"),
    **_same_statement("elif elseif elsif", "write `else if`, after the `}` of an `if`", "skip"),
    **_same_statement("ts typescript js", "write `py(x) { return … }`: the code in it is Python", "skip"),
}

#: Hints for words that other languages write before a value.
PREFIX_WORD_HINTS = {
    "new": "there are no classes: write the object itself, `{ … }`",
    "new Error": 'an error is a text: `throw "what is wrong"`',
    "new Map": "write `{}`, declared as a map: `let m: { [text]: number } = {}`",
    "new Set": "write an array; `unique()` gives each item once",
    "new Array": "write `[]`",
    "new Object": "write `{}`",
    "new Date": "write `now()`, or import from `system/time`",
    "new URL": _PY_URL,
    "new RegExp": 'a pattern is a text: `import { find } from "system/text"`',
    "new Promise": "leave it out: a program waits for each answer by itself",
    "await": "leave it out: a program waits for each answer by itself",
    "lambda": "write `x => …`, or `(a, b) => …`",
    "typeof": "write `x is text`, `x is number`; such a test tells which it is",
    "void": "leave it out; nothing is `null`",
    "delete": "write `xs.remove(i)` or `m.remove(key)`",
    "function": "write `(a, b) => …` or `(a, b) => { … }`: a function without a name",
    "fn": "write `(a, b) => …`",
    "len": "call it: `len(…)`, or write `.length`",
    "str": "call it: `x.toString()`",
    "print": "call it: `print(…)`",
    "ts": "write `py(x) { return … }`: the code in it is Python",
    "switch": 'write `match value { "a" => …, else => … }`',
    "when": 'write `match value { "a" => …, else => … }`',
    "async": "leave it out: a program waits for each answer by itself",
    "async do": "write it before the declaration: `async let x = do …`",
    "async vibe": "write it before the declaration: `async let x = vibe …`",
}
#: Hints for letters before a string.
STRING_PREFIX_HINTS = {
    **_same_hint("f F", "leave out the `f`: `{name}` and `${expression}` stand in every string"),
    **_same_hint("r R b B u U rb br rf fr", "leave it out; a `\\` in a string is written `\\\\`"),
}
#: Hints for words that other languages write after a value.
POSTFIX_WORD_HINTS = {
    "if": "write `condition ? a : b`",
    "unless": "write `if not … { … }`",
    "for": "write `xs.map(x => …)`, and `xs.filter(x => …)` before it to leave some out",
    "instanceof": 'write `x is Type`; errors have a `code`: `e.code == "V0904"`',
    "isinstance": "write `x is Type`",
    "as": "leave it out: declare the type, `const x: number = …`; json is checked where it gets a type",
    "satisfies": "declare the type: `const x: number = …`",
    "of": "write `in`: `for x in xs { … }`",
    "|": _BITS,
    "then": "a block stands in `{` and `}`",
    "mod": "write `%`",
    "div": "write `(a / b).floor()`",
    "xor": "write `a != b`",
    "eq": "write `==`",
}
#: Hints for operators that do not accept a type, by the type on the left.
OPERATOR_TYPE_HINTS = {
    ("%", "text"): 'write `"{name} is ${age + 1}"`: what is in braces is put in',
    ("/", "text"): "write `s.toNumber()`; a time is a text, and `unix(now())` of `system/time` gives its seconds",
    ("*", "text"): "write `s.repeat(3)`",
    ("*", "array"): "push in a loop: `for i in 3 { xs.push(0) }`",
    ("-", "array"): "write `xs.filter(x => not x in ys)`",
    ("-", "text"): 'write `s.toNumber()` to calculate with it, `s.replace(part, "")` to take a part out',
}

#: Words that end a block in other languages.
FOREIGN_BLOCK_ENDS = ("end", "fi", "done", "esac")
_SUM = "write `xs.{0}()`: it is a method of arrays"
_ON_NUMBER = "write `x.{0}()`: it is a method of numbers"
_PY = 'import it from Python: `import {{ {0} }} from "py:{1}"`'
_TO_NUMBER = 'write `"5".toNumber()`'
_TO_TEXT = "write `x.toString()`"
_ERROR = 'an error is a text: `throw "what is wrong"`'
#: Hints for built-in functions, modules and values of other languages; `a.b` is looked up before `a`.
GLOBAL_NAME_HINTS = {
    **_same_hint("console console.log console.info console.debug", "write `print(…)`"),
    **_same_hint("console.error console.warn System System.out std logging logger", "write `print(…)`"),
    **_same_hint("fmt fmt.Println print_r var_dump Debug", "write `print(…)`"),
    **_same_hint("raise", "write `throw error`"),
    **_same_hint("echo puts println printf alert fprintf cout", "write `print(…)`"),
    **_same_hint("JSON.parse json.loads jsonParse", "write `parseJson(…)`"),
    **_same_hint("JSON.stringify json.dumps jsonStringify", "write `toJson(…)`"),
    **_same_hint("JSON json", "write `parseJson(…)` to read, `toJson(…)` to write"),
    **_same_hint("parseInt int", f"{_TO_NUMBER}; `floor()` and `round()` make a number whole"),
    **_same_hint("parseFloat float Number Number.parseInt Number.parseFloat BigInt Decimal", _TO_NUMBER),
    **_same_hint("str String repr", _TO_TEXT),
    **_same_hint("Boolean bool", 'compare: `x != 0`, `x != ""`, `x != null`; there is no truthiness'),
    **_same_hint("NaN Infinity isFinite", "there is no such number here: what has no result is an error"),
    **_same_hint(
        "isNaN Number.isNaN", "`toNumber()` throws where a text is no number: write `try { … } catch error { … }`"
    ),
    **_same_hint("Number.isInteger", "write `x == x.floor()`"),
    **_same_hint(
        "Number.MAX_SAFE_INTEGER Number.MAX_VALUE", "integers have any size here; start with a value of your own"
    ),
    **_same_hint("range xrange", "write `for i in 3` (0, 1, 2) or `for i in 1..3` (1, 2, 3); as an array it is `1..3`"),
    **_same_hint("enumerate", "write `for i in xs.length { … xs[i] … }`"),
    **_same_hint("sorted", "write `xs.sortBy(x => x)`; `xs.sort()` sorts in place"),
    **_same_hint("reversed", "write `xs[::-1]`; `xs.reverse()` turns around in place"),
    **{each: _SUM.format(each) for each in ("sum", "map", "filter", "reduce")},
    **{each: f"write `xs.{each}()`, or `[a, b].{each}()`: it is a method of arrays" for each in ("min", "max")},
    **_same_hint("zip", "write `xs.zip(ys)`, whose items have `first` and `second`"),
    **_same_hint("map filter", "write `xs.map(x => …)`, `xs.filter(x => …)`: they are methods of arrays"),
    **_same_hint("any", "write `xs.some(x => …)`"),
    **_same_hint("all", "write `xs.every(x => …)`"),
    **_same_hint("reduce", "write `xs.reduce((all, x) => …, start)`"),
    **{each: _ON_NUMBER.format(each) for each in ("abs", "floor", "ceil")},
    **_same_hint("round", "write `x.round()`, or `x.round(2)`: it is a method of numbers"),
    **_same_hint("pow", "write `a ** b`"),
    **_same_hint("divmod", "write `(a / b).floor()` and `a % b`"),
    **_same_hint("Math math", 'numbers have `round floor ceil abs`; for more, `import { sqrt } from "py:math"`'),
    **_same_hint("Math.max", "write `[a, b].max()`"),
    **_same_hint("Math.min", "write `[a, b].min()`"),
    **{f"Math.{each}": _ON_NUMBER.format(each) for each in ("abs", "round", "floor", "ceil")},
    **_same_hint("Math.trunc", "write `x.floor()`"),
    **_same_hint("Math.pow", "write `a ** b`"),
    **_same_hint("Math.sqrt math.sqrt sqrt", "write `x ** 0.5`"),
    **_same_hint("Math.PI math.pi", _PY.format("pi", "math")),
    **_same_hint("Math.random random random.random", 'write `import { random } from "system/random"`'),
    **_same_hint("list tuple array", "write `[…]`; `xs.copy()` copies, and `0..4` is an array of numbers"),
    **_same_hint("Array Array.from", "write `[…]`, or `(0..4).map(i => …)`; `xs.copy()` copies"),
    **_same_hint("Array.isArray", "declare the type, or test it: `x is json[]`"),
    **_same_hint("dict Map Object", "write `{ … }`, declared as a map: `let m: { [text]: number } = {}`"),
    **_same_hint("set Set frozenset", "write an array; `unique()` gives each item once"),
    **_same_hint("Object.keys", "write `o.keys()`"),
    **_same_hint("Object.values", "write `o.values()`"),
    **_same_hint("Object.entries", "write `o.entries()`, or `for key, value in m`"),
    **_same_hint("Object.assign", "write `{ ...a, ...b }`"),
    **_same_hint("Object.freeze", "`const` fixes the name; hand over a copy to keep what you have: `o.copy()`"),
    **_same_hint("Promise Promise.all asyncio asyncio.gather", "write `const all = async for x in xs { yield … }`"),
    **_same_hint("setTimeout setInterval time.sleep", "write `sleep(seconds)`"),
    **_same_hint("fetch axios requests urllib httpx", 'write `import { get } from "system/http"`'),
    **_same_hint("Date Date.now datetime time performance", "write `now()`, or import from `system/time`"),
    **_same_hint("RegExp re", 'write `import { find, findAll, matches, replace } from "system/text"`'),
    **_same_hint("open fs path pathlib Path shutil", 'write `import { readText, writeText } from "system/files"`'),
    **_same_hint("window document localStorage navigator", "there is no browser here; files are in `system/files`"),
    **_same_hint("clearTimeout clearInterval", "leave it out: `sleep(seconds)` waits, and nothing runs on its own"),
    **_same_hint("crypto crypto.randomUUID", 'write `import { uuid } from "system/random"`, or use `system/hash`'),
    **_same_hint("hashlib", 'write `import { sha256 } from "system/hash"`'),
    **_same_hint("Buffer btoa atob base64", _PY.format("b64encode", "base64")),
    **_same_hint("URL URLSearchParams", _PY.format("urlparse", "urllib.parse")),
    **_same_hint("timedelta", 'write `add(now(), { days: 1 })` of "system/time"'),
    **_same_hint("mock patch stub", 'write `answers(["…"])` in a test: what models will say'),
    **_same_hint("namedtuple defaultdict Counter", "write `{}`, declared as a map: `let m: { [text]: number } = {}`"),
    **_same_hint("ls cat grep cd rm curl git", 'a command is run with `run("…")` of "system/process"'),
    **_same_hint("panic die abort fail error", 'write `throw "what is wrong"`'),
    **_same_hint("sprintf format", 'write `"{name} is ${age + 1}"`: what is in braces is put in'),
    **_same_hint("deque queue stack", "write an array: `push(x)`, `pop()`, `remove(0)`"),
    **_same_hint("let_ const_ var", "write `let`, or `const` for what never changes"),
    **_same_hint("subprocess exec spawn child_process", 'write `import { run } from "system/process"`'),
    **_same_hint("csv yaml toml", 'write `import { parseCsv } from "system/data"`'),
    **_same_hint("process.env os.environ os.getenv getenv", 'write `env("NAME")`'),
    **_same_hint("process.argv sys.argv argv", "write `args`, or declare an `input`"),
    **_same_hint("process.exit sys.exit exit quit", 'write `throw "why"`, or a `return` at the top level'),
    **_same_hint(
        "process os sys", 'there are `env("NAME")`, `args`, and the modules `system/files` and `system/process`'
    ),
    **_same_hint(
        "prompt input raw_input readline gets",
        'write `ask "…"`; what is given from outside is declared: `input city: text`',
    ),
    **_same_hint(
        "type typeof isinstance instanceof", "write `x is text`, `x is number`; such a test tells which it is"
    ),
    **_same_hint("hasArg", "declare it: `input verbose: boolean = false`, given as `--verbose`"),
    **_same_hint("getArg", "declare it: `input city: text`, given as `--city Oslo`; `args` has all others"),
    **_same_hint("uuid", 'write `import { uuid } from "system/random"`'),
    **_same_hint("hasattr getattr", 'write `o.has("name")`, `o.get("name")`'),
    **_same_hint("setattr", 'write `o["name"] = value`'),
    **_same_hint("callable id hash vars dir globals locals super", "there is no such thing here"),
    **_same_hint("chr ord hex bin oct", "use Python: `py(x) { return ord(x) }`"),
    **_same_hint("eval exec compile", "there is no such thing here; Python stands in `py() { … }`"),
    **_same_hint("this self", "there are no objects with methods: give the value to a function as a parameter"),
    **_same_hint("nil NULL nullptr Nothing", "write `null`"),
    **_same_hint("yes on YES", "write `true`"),
    **_same_hint("no off NO", "write `false`"),
    **_same_hint("pass noop", "leave it out: a block may be empty"),
    **_same_hint("end fi esac", "a block ends with `}`"),
    **_same_hint("begin", "a block begins with `{`"),
    **_same_hint("Error Exception ValueError TypeError RuntimeError KeyError RangeError", _ERROR),
    **_same_hint("module exports", "write `export` before the declaration: `export function name() { … }`"),
    **_same_hint("require", 'write `import { name } from "./file.vibe"`; for Python, `"py:module"`'),
    **_same_hint("__name__ __main__ main", "a program begins at its first line"),
    **_same_hint("describe it expect test", 'write `test "name" { assert(…) }`'),
    **_same_hint("assertEqual assertEquals assert_eq assertTrue assertThat", "write `assert(a == b)`"),
    **_same_hint("structuredClone deepcopy copy", "write `x.copy()`"),
    **_same_hint("encodeURIComponent", _PY.format("quote", "urllib.parse")),
    **_same_hint("undefined", "write `null`"),
    **_same_hint(
        "ai llm gpt chat complete completion generate openai anthropic claude agent",
        'write `do "…"`, or `vibe "…"` with tools',
    ),
    **_same_hint("string boolean number text", "it is the name of a type"),
}

#: The exports of the system modules, to hint at a missing import.
SYSTEM_EXPORTS = {
    "files": "readText readLines readBytes writeText appendText exists list copy move remove",
    "data": "parseCsv toCsv parseJsonLines toJsonLines parseYaml toYaml parseToml",
    "http": "get post request expectOk",
    "process": "run",
    "time": "today parseTime formatTime inZone parts add secondsBetween unix fromUnix",
    "text": "matches find findAll replace split escape fill",
    "random": "random choice shuffle uuid seed",
    "hash": "sha256 sha512 sha1 md5",
    "tools": "readFile listFiles globFiles grepFiles writeFile editFile gitStatus gitDiff gitLog runShell fetchUrl "
    "askUser currentTime readonlyTools allTools",
}
#: The system module that exports a name.
SYSTEM_MODULE_OF: dict[str, str] = {}
for _module, _names in SYSTEM_EXPORTS.items():
    for _name in _names.split():
        SYSTEM_MODULE_OF.setdefault(_name, f"system/{_module}")
        GLOBAL_NAME_HINTS.setdefault(_name, f'write `import {{ {_name} }} from "system/{_module}"`')


def _hint_parse_file(parse: str) -> str:
    return f'write `{parse}(readText(path))`, of "system/data" and "system/files"'


#: Hints for imported names of other languages.
IMPORTED_NAME_HINTS = {
    **_same_hint("bash shell exec sh spawn", 'write `run` of "system/process"; as a tool for models it is `runShell`'),
    **_same_hint("glob", "write `globFiles`"),
    **_same_hint("grep", "write `grepFiles`"),
    **_same_hint("edit", "write `editFile`"),
    **_same_hint("listDir ls", "write `listFiles`"),
    **_same_hint("fileExists dirExists", 'write `import { exists } from "system/files"`'),
    **_same_hint("appendFile append", 'write `import { appendText } from "system/files"`'),
    **_same_hint("readFile open read readAll slurp readFileSync", 'write `import { readText } from "system/files"`'),
    **_same_hint("writeFile write writeFileSync save", 'write `import { writeText } from "system/files"`'),
    **_same_hint("readDir readdir listdir", 'write `import { list } from "system/files"`'),
    **_same_hint("unlink deleteFile rm delete", 'write `import { remove } from "system/files"`'),
    **_same_hint("rename mv", 'write `import { move } from "system/files"`'),
    **_same_hint("randint randrange randomInt", 'write `import { choice } from "system/random"`, and `choice(1..6)`'),
    **_same_hint("sample pick", 'write `import { shuffle } from "system/random"`, and `shuffle(xs)[0:3]`'),
    **_same_hint("fetch", 'write `import { get } from "system/http"`'),
    **_same_hint("put patch head", 'write `import { request } from "system/http"`, and `request("PUT", url)`'),
    **_same_hint("readCsv read_csv loadCsv readCSV", _hint_parse_file("parseCsv")),
    **_same_hint("readYaml loadYaml", _hint_parse_file("parseYaml")),
    **_same_hint("readToml loadToml", _hint_parse_file("parseToml")),
    **_same_hint("writeCsv saveCsv", 'write `writeText(path, toCsv(rows))`, of "system/files" and "system/data"'),
    **_same_hint("readJson loadJson readJSON", 'write `parseJson(readText(path))`; `readText` is of "system/files"'),
    **_same_hint(
        "writeJson saveJson dumpJson", 'write `writeText(path, toJson(value))`; `writeText` is of "system/files"'
    ),
    **_same_hint("format strftime formatDate", 'write `import { formatTime } from "system/time"`'),
    **_same_hint("parse strptime parseDate", 'write `import { parseTime } from "system/time"`'),
    **_same_hint("match search regex test", 'write `find` or `matches` of "system/text"'),
    **_same_hint("sub gsub replaceAll", 'write `import { replace } from "system/text"`'),
    **_same_hint("mkdir", "leave it out: the directories of a file are made when it is written"),
    **_same_hint("runCode", "write `py(x) { return … }`"),
    **_same_hint("safeTools", "write `readonlyTools`, or name the tools one by one"),
    **_same_hint("jsonParse", "`parseJson` is always there: leave it out of the import"),
    **_same_hint("jsonStringify", "`toJson` is always there: leave it out of the import"),
    **_same_hint("uuid random", 'write `import { uuid, random } from "system/random"`'),
    # In these modules the word has another equivalent.
    **_same_hint("system/process:exec system/process:spawn system/process:shell system/process:bash", "write `run`"),
    **_same_hint("system/text:match system/text:search system/text:exec", "write `find`"),
    **_same_hint("system/text:test", "write `matches`"),
    **_same_hint("system/http:delete", 'write `request`, and `request("DELETE", url)`'),
}
#: Hints for model settings of other libraries.
MODEL_SETTING_HINTS = {
    **_same_hint("thinkingLevel thinking effort reasoningEffort reasoning_effort", 'write `reasoning: "high"`'),
    **_same_hint(
        "maxRetriesOnError maxRetries retries", "leave it out: what fails for a moment is tried again by itself"
    ),
    **_same_hint("model id modelName", "write `name`"),
    **_same_hint("key api_key", "write `apiKey`"),
    **_same_hint("baseUrl baseURL base_url endpoint host", "write `url`"),
    **_same_hint("systemPrompt system_prompt instructions", "write `system`"),
    **_same_hint("max_tokens maxOutputTokens", "write `maxTokens`"),
    **_same_hint("top_p", "write `topP`"),
}
#: Modules of other languages, and their equivalents here.
EQUIVALENT_MODULES = {
    **_same_hint("fs fs/promises node:fs path node:path os node:os glob", "system/files"),
    **_same_hint("file files io pathlib shutil fs-extra system/file system/fs system/io", "system/files"),
    **_same_hint("axios node-fetch undici got ky request http https", "system/http"),
    **_same_hint("requests httpx urllib fetch system/fetch system/net system/web system/request", "system/http"),
    **_same_hint("child_process node:child_process execa subprocess process", "system/process"),
    **_same_hint("system/shell system/exec system/cmd system/os", "system/process"),
    **_same_hint("csv-parse papaparse js-yaml yaml toml csv data jsonlines", "system/data"),
    **_same_hint("system/csv system/yaml system/toml system/tables", "system/data"),
    **_same_hint(
        "moment dayjs date-fns luxon datetime time date system/date system/datetime system/clock", "system/time"
    ),
    **_same_hint("re regex text string system/regex system/re system/string system/strings", "system/text"),
    **_same_hint("crypto node:crypto hashlib hash system/crypto", "system/hash"),
    **_same_hint("uuid nanoid system/utils random secrets system/uuid", "system/random"),
    **_same_hint("tools system/agent", "system/tools"),
}
_JSON = "leave it out: `parseJson(…)` and `toJson(…)` are always there"
#: Hints for Python modules that are not needed here.
PYTHON_MODULE_HINTS = {
    "json": _JSON,
    **_same_hint("sys argparse click", "leave it out: what is given from outside is declared, `input city: text`"),
    **_same_hint("typing dataclasses abc __future__", "leave it out: types are written without an import"),
    **_same_hint("asyncio", "leave it out: a program waits for each answer by itself; `async for` runs rounds at once"),
    **_same_hint("logging", "leave it out: write `print(…)`, or `note(…)` to tell the models too"),
    **_same_hint(
        "openai anthropic langchain ollama litellm", 'leave it out: write `do "…"`, and `model m = { name: "…" }`'
    ),
    **_same_hint("pydantic", "leave it out: declare a type, `type User { name: text }`"),
    **_same_hint("os", 'write `env("NAME")`, which is always there, or `import { list } from "system/files"`'),
    **_same_hint("pathlib shutil glob io", 'write `import { readText, writeText, list } from "system/files"`'),
    **_same_hint("re", 'write `import { find, findAll, replace } from "system/text"`'),
    **_same_hint("random", 'write `import { random, choice, shuffle } from "system/random"`'),
    **_same_hint("uuid", 'write `import { uuid } from "system/random"`'),
    **_same_hint("datetime", 'write `now()`, or `import { today, formatTime } from "system/time"`'),
    **_same_hint("time", 'write `now()` and `sleep(seconds)`, or `import { unix } from "system/time"`'),
    **_same_hint("requests httpx aiohttp", 'write `import { get, post } from "system/http"`'),
    **_same_hint("subprocess", 'write `import { run } from "system/process"`'),
    **_same_hint("csv yaml toml tomllib pandas", 'write `import { parseCsv } from "system/data"`'),
    **_same_hint("hashlib", 'write `import { sha256 } from "system/hash"`'),
}

#: Hints for methods and members, by receiver: text, array, map, object, number; `` is any of them.
METHOD_HINTS: dict[str, dict[str, str]] = {
    "": {
        **_same_hint("size count length len __len__", "write `.length`, without parentheses"),
        **_same_hint("toUpperCase toUpper uppercase upcase", "write `upper()`"),
        **_same_hint("toLowerCase toLower lowercase downcase casefold", "write `lower()`"),
        **_same_hint("toJSON", "write `toJson(x)`"),
        **_same_hint("str to_s to_string __str__", "write `toString()`"),
        **_same_hint("contains has include __contains__", "write `includes(…)`, or `x in xs`"),
        **_same_hint(
            "then catch", "leave it out: a program waits for each answer by itself; errors are caught with `try`"
        ),
        **_same_hint("equals isEqual", "write `==`"),
        **_same_hint("clone deepcopy slice_copy", "write `copy()`"),
        **_same_hint("iter into_iter iterator stream", "leave it out: `for x in xs { … }`"),
        **_same_hint("print println", "write `print(x)`"),
        **_same_hint("unwrap expect", "leave it out; what may be null gets a default: `x ?? …`"),
    },
    "text": {
        **_same_hint("strip trimStart trimEnd lstrip rstrip chomp", "write `trim()`"),
        **_same_hint("substring substr mid", "write `slice(a, b)`, or `s[a:b]`"),
        **_same_hint("charAt at", "write `s[0]`"),
        **_same_hint("charCodeAt codePointAt", "use Python: `py(s) { return ord(s[0]) }`"),
        **_same_hint("find index search", "write `indexOf(…)`, which gives -1 where there is none"),
        **_same_hint("startswith begins_with", "write `startsWith(…)`"),
        **_same_hint("endswith", "write `endsWith(…)`"),
        **_same_hint("splitlines", "write `lines()`"),
        **_same_hint("isEmpty empty is_empty isBlank", 'write `s == ""`'),
        **_same_hint("chars", 'write `s.split("")`'),
        **_same_hint("replaceAll sub gsub", "write `replace(a, b)`, which replaces all of them"),
        **_same_hint("format", 'write `"{name} is ${age + 1}"`: what is in braces is put in'),
        **_same_hint("concat append push extend", "write `a + b`: a text never changes; or `s += …`"),
        **_same_hint("join", 'write `xs.join(", ")`: it is a method of arrays'),
        **_same_hint("capitalize title", "write `s[0].upper() + s[1:]`"),
        **_same_hint("isdigit isnumeric isDigit", 'write `matches(s, "^[0-9]+$")` of "system/text"'),
        **_same_hint("isalpha isalnum isspace isAlpha", 'write `matches(s, "^[A-Za-z]+$")` of "system/text"'),
        **_same_hint("isupper islower", "compare: `s == s.upper()`"),
        **_same_hint(
            "match matchAll test", "regular expressions are in `system/text`: `find(s, pattern)`, `findAll`, `matches`"
        ),
        **_same_hint(
            "lastIndexOf rfind rindex", "turn it around: `s.length - 1 - s[::-1].indexOf(…)`, for one character"
        ),
        **_same_hint("year month day hour minute getFullYear getTime", 'write `parts(t).year` of "system/time"'),
        **_same_hint("strftime isoformat toISOString", 'write `formatTime(t, "%Y-%m-%d")` of "system/time"'),
        **_same_hint("localeCompare compareTo compare", "compare with `<`, `==` and `>`"),
        **_same_hint("removeprefix trimPrefix removePrefix", "write `s.startsWith(a) ? s[a.length:] : s`"),
        **_same_hint("removesuffix trimSuffix", "write `s.endsWith(a) ? s[:-a.length] : s`"),
        **_same_hint("partition splitn", "write `split(part)`, and take its parts"),
        **_same_hint("split_whitespace words", "write `split()`, without a separator"),
        **_same_hint("swapcase", "there are `upper()` and `lower()`"),
        **_same_hint("center", "write `padStart(n)` and `padEnd(n)`"),
        **_same_hint("bytes", "text is text; files and hashes take it as UTF-8"),
        **_same_hint("padLeft rjust zfill", 'write `padStart(n, "0")`'),
        **_same_hint("padRight ljust", "write `padEnd(n)`"),
        **_same_hint("toInt parseInt parseFloat to_i to_f toInteger", "write `toNumber()`"),
        **_same_hint("map filter forEach", 'make it an array: `s.split("")`'),
        **_same_hint("reverse reversed", "write `s[::-1]`"),
        **_same_hint("encode decode", "text is text; files and hashes take it as UTF-8"),
        **_same_hint("count", "write `s.split(part).length - 1`"),
        **_same_hint("sort", 'make it an array: `s.split("")`'),
        **_same_hint(
            "pop remove insert shift unshift", "a text never changes: write `s[1:]`, `s[:-1]` or `s.replace(a, b)`"
        ),
    },
    "array": {
        **_same_hint("append add push_back enqueue", "write `push(x)`"),
        **_same_hint("forEach each", "write a `for` loop: `for x in xs { … }`"),
        **_same_hint("any", "write `some(x => …)`"),
        **_same_hint("all", "write `every(x => …)`"),
        **_same_hint("flatMap", "write `map(…).flat()`"),
        **_same_hint("sorted orderBy toSorted", "write `sortBy(x => …)`"),
        **_same_hint("toReversed reversed", "write `xs[::-1]`"),
        **_same_hint("findIndex", "write `indexOf(x)`, or a loop over positions: `for i in xs.length`"),
        **_same_hint("index", "write `indexOf(x)`"),
        **_same_hint("fold foldl inject", "write `reduce((all, x) => …, start)`"),
        **_same_hint("distinct uniq dedupe", "write `unique()`"),
        **_same_hint("concat extend addAll", "write `xs + ys`, or `[...xs, ...ys]`"),
        **_same_hint("shift", "write `remove(0)`"),
        **_same_hint("unshift prepend", "write `insert(0, x)`"),
        **_same_hint("splice", "write `remove(i)` and `insert(i, x)`"),
        **_same_hint("delete removeAt", "write `remove(i)`"),
        **_same_hint("at get elementAt nth", "write `xs[i]`; the last one is `xs[-1]`"),
        **_same_hint("first", "write `xs[0]`"),
        **_same_hint("reduceRight foldr", "turn it around: `xs[::-1].reduce((all, x) => …, start)`"),
        **_same_hint("lastIndexOf findLast", "turn it around: `xs[::-1].indexOf(x)`, `xs[::-1].find(x => …)`"),
        **_same_hint("sample choice random", 'write `choice(xs)` of "system/random"'),
        **_same_hint("shuffle", 'write `shuffle(xs)` of "system/random"'),
        **_same_hint("chunk window partition", "write slices in a loop: `xs[i:i + n]`"),
        **_same_hint("compact", "write `filter(x => x != null)`"),
        **_same_hint("sort_by sorted_by sortedBy", "write `sortBy(x => …)`"),
        **_same_hint("group_by", "write `groupBy(x => …)`"),
        **_same_hint("toList to_list toArray to_a", "leave it out: it is an array"),
        **_same_hint("last peek", "write `xs[-1]`"),
        **_same_hint("head take", "write `xs[:n]`"),
        **_same_hint("tail drop skip", "write `xs[n:]`"),
        **_same_hint("isEmpty empty is_empty", "write `xs.length == 0`"),
        **_same_hint("clear", "write `xs = []`"),
        **_same_hint("entries enumerate keys", "write `for i in xs.length { … xs[i] … }`"),
        **_same_hint("fill", "write `[0].map(…)`, or push in a loop"),
        **_same_hint("flatten", "write `flat()`"),
        **_same_hint("select where", "write `filter(x => …)`"),
        **_same_hint("collect", "write `map(x => …)`"),
        **_same_hint("detect findFirst", "write `find(x => …)`"),
        **_same_hint("average mean avg", "write `xs.sum() / xs.length`"),
        **_same_hint("split trim upper lower", "that is a method of text: write `map(x => x.trim())`"),
    },
    "map": {
        **_same_hint("set put add", "write `m[key] = value`"),
        **_same_hint("delete pop del", "write `remove(key)`"),
        **_same_hint("items iteritems", "write `for key, value in m`, or `entries()`"),
        **_same_hint("forEach each", "write `for key, value in m { … }`"),
        **_same_hint("includes contains containsKey hasKey hasOwnProperty __contains__ has_key", "write `has(key)`"),
        **_same_hint("setdefault getOrDefault", "write `get(key, default)`"),
        **_same_hint("update merge assign", "write `{ ...a, ...b }`"),
        **_same_hint("clear", "write `m = {}`"),
        **_same_hint("isEmpty empty is_empty", "write `m.length == 0`"),
        **_same_hint("getItem", "write `get(key)`"),
        **_same_hint("popitem", "write `remove(m.keys()[-1])`"),
        **_same_hint("sort sorted", "write `entries().sortBy(e => e.value)`"),
        **_same_hint("push append", "a map has keys: write `m[key] = value`"),
        **_same_hint(
            "map filter find some every reduce sortBy groupBy sum min max",
            "go through its `entries()`, each with `key` and `value`, or through its `values()`",
        ),
    },
    "object": {
        **_same_hint("items iteritems", "write `entries()`, each with `key` and `value`"),
        **_same_hint("hasOwnProperty includes contains containsKey", 'write `has("name")`'),
        **_same_hint("update merge assign", "write `{ ...a, ...b }`"),
        **_same_hint("set put", "write `o.name = value`"),
        **_same_hint("delete pop", 'write `remove("name")`'),
        **_same_hint("json dict model_dump to_dict toObject", "it is data already; as text it is `toJson(x)`"),
        **_same_hint("push append add", "an object has the fields it has: write an array, or a map, `m[key] = value`"),
    },
    "model": {
        **_same_hint(
            "name provider system tools temperature", "settings cannot be read: keep what is needed in a `const`"
        ),
        **_same_hint("usage cost tokens", "an answer says what it took: `r.run.usage`"),
        **_same_hint(
            "do vibe ask chat complete completions generate run call prompt invoke messages",
            'a model stands behind the prompt: `do "…" m`',
        ),
    },
    "number": {
        **_same_hint("toInt toInteger trunc", "write `floor()`"),
        **_same_hint("length len size", "write `x.toString().length`"),
        **_same_hint("add plus", "write `x + 1`"),
        **_same_hint("toPrecision toLocaleString format", "write `toFixed(2)`"),
        **_same_hint("sqrt", "write `x ** 0.5`"),
        **_same_hint("pow", "write `x ** n`"),
        **_same_hint("toNumber", "it is a number already"),
        **_same_hint("times", "write `for i in 3 { … }`"),
    },
}

#: The names of the built-in types.
BUILTIN_TYPE_NAMES = frozenset(("text", "number", "boolean", "json", "prompt", "model"))
#: Equivalents of foreign types, by lower-case name.
FOREIGN_TYPES = {
    **_same_hint("string str char varchar", "text"),
    **_same_hint("int integer float double long short decimal bigint int32 int64 f64 i32 real", "number"),
    "bool": "boolean",
    **_same_hint("object any unknown mixed dynamic jsonvalue", "json"),
    **_same_hint("dict map record hashmap dictionary mapping defaultdict ordereddict", "{ [text]: json }"),
    **_same_hint("function callable func callback", "(json) => json"),
    **_same_hint("list array set tuple sequence iterable vector vec collection readonlyarray", "json[]"),
    **_same_hint("void none nil undefined never nonetype unit", "null"),
    **_same_hint("promise awaitable coroutine future task", "json"),
    **_same_hint("date datetime time timestamp regexp pattern path url uuid bytes buffer", "text"),
    **_same_hint("error exception", "text"),
    **_same_hint("optional", "json"),
}
#: How generic types are written here; `0` is the first type argument and `-1` the last.
GENERIC_TYPE_FORMS = {
    **_same_hint("list array set sequence iterable vector vec collection readonlyarray frozenset iterator", "{0}[]"),
    **_same_hint("dict map record hashmap dictionary mapping defaultdict ordereddict", "{{ [text]: {1} }}"),
    **_same_hint("promise awaitable coroutine future task readonly required annotated final", "{0}"),
    **_same_hint("optional maybe option nullable", "{0} | null"),
}
