"""What people write who come from another language, and what to write here: the one table of it.

The lexer, the parser and the checker look things up in it where they meet something that is not theirs; what they find
there they say, and read on as what was meant, so that the rest of the program is judged as usual.
"""

from __future__ import annotations

from typing import Literal, NamedTuple

#: How a foreign statement is read: as one of ours, without its word, or not at all.
Way = Literal["let", "function", "throw", "type", "for", "drop", "call", "skip"]


class Foreign(NamedTuple):
    """A statement of another language: what to write, and as what it is read."""

    hint: str
    way: Way


def _each(names: str, hint: str) -> dict[str, str]:
    return dict.fromkeys(names.split(), hint)


def _all(names: str, hint: str, way: Way) -> dict[str, Foreign]:
    return dict.fromkeys(names.split(), Foreign(hint, way))


_BITS = "there are no operators on bits: use `py(a, b) { return a & b }`; texts are joined with `+`"
_FLOOR = "write `(a / b).floor()`; `//` begins a comment"

#: Signs, as what they are read, and what to write.
SIGNS = {
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
#: The same, where two signs stand side by side and no operand between them.
PAIRS_OF_SIGNS = {
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
#: What stands behind a statement elsewhere, on its line.
BEHIND = {
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
#: Words that something stands behind on its line which is no part of a statement: that before it, or that at its begin.
BEGUN = {
    **_each("input inputs param parameter arg argument flag option", _INPUT),
    **_each("model agent llm client", _MODEL),
    **_each("async parallel concurrent spawn go", _ASYNC),
    **_each("await", "leave it out: a program waits for each answer by itself"),
    **_each("test it describe", 'write `test "name" { … }`'),
    **_each("returns", "write `returns number`, behind the inputs"),
    **_each("tool", "write `tool name(x: text): text { … }`"),
    **_each("prompt template", 'a prompt is text: `const p = "…"`'),
    **_each("break continue", "there are no labels: `break` and `continue` are for the loop they stand in"),
    **_each("SELECT select INSERT UPDATE", 'tables are data: `parseCsv(readText("a.csv")).filter(row => …)`'),
    **_each(
        "ls cat grep cd rm mkdir curl git npm pip python sudo docker",
        'a command is run with `run("…")` of "system/process"',
    ),
    **_each("defer", "write `try { … } finally { … }`"),
    **_each("guard", "write `if x == null { return }`"),
    **_each("keyof", 'write out the names: `type Key = "name" | "age"`'),
    **_each("private", "write `private const x = …`"),
    **_each("export", "write it before a declaration: `export const name = …`"),
}
#: What follows a prompt that is neither a model nor a context.
ASKED = {
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
#: What a loop says of its history, and what to write where something stands behind that.
MODES = {
    **_each("verbose forget", "leave it out: only `compress` takes something"),
    "compress": 'write `compress("how")`, in parentheses',
}
#: What stands where a block should begin.
BEFORE_BLOCKS = {
    "...": "write `1..3`: both ends belong to a range",
    "do": "a block stands in `{` and `}`",
    "then": "a block stands in `{` and `}`",
    "=>": "write `{ return … }`, or `const name = x => …`",
    "=": "write `{ return … }`, or `const name = x => …`",
}
#: Arguments that have names in Python.
ARGUMENTS = {
    **_each("end", "each `print` is a line: put what belongs on it into one text"),
    **_each("sep", 'write `print(xs.join(", "))`'),
    **_each("key", "write `xs.sortBy(x => …)`"),
    **_each("reverse", "write `xs.sortBy(x => -x)`, or turn it around: `xs[::-1]`"),
}
#: Words before a model elsewhere, behind what it is asked.
BEFORE_MODELS = frozenset(("with", "using", "by", "via", "on", "from"))
#: Arguments of methods that take others elsewhere, by the method: what to write for them.
METHOD_ARGUMENTS = {
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
STRING_ENDED = "the string ended before: put other quotes around it, or a `\\` before the quote in it"
_ASSIGNS = "an assignment is a statement: write `x => { total += x }`"
#: What stands between two values in a bracket elsewhere.
BETWEEN = {
    **_each("+= -= *= /=", _ASSIGNS),
    "...": "a part is `xs[1:3]`, up to the second position and without it",
    ",": "an item of an item is `xs[0][1]`, a part `xs[0:2]`",
    "=": "`=` assigns, and is a statement; `==` compares",
    ":": "a name and its value stand in an object: `{ name: value }`",
    "=>": "before `=>` stand the names of parameters: `(a, b) => …`",
    "do": "a block stands in `{` and `}`",
    "|": _BITS,
    ";": "write `,`",
    **_each("name number text quote true false null { [", "write `,` between them"),
    "if": "write `condition ? a : b`",
}

_LINES = "a text over several lines stands in backticks, and a comment behind `//`"
#: Strings between three quotes.
TRIPLE = {'"""': _LINES, "'''": _LINES, "```": "leave it out: a program is the lines themselves"}
#: Blocks that begin with `:` elsewhere, by the word that begins their line.
BLOCKS = {
    "if": "write `if … { … } else if … { … } else { … }`",
    "else": "write `} else { … }`",
    "for": "write `for x in xs { … }`, or `for i in 3 { … }` (0, 1, 2)",
    "while": "write `while … { … }`",
    "try": "write `try { … } catch error { … } finally { … }`",
    "function": "write `function name(x) { … }`",
}

#: Signs with which no value begins, where one does elsewhere.
SIGNS_ALONE = {
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
#: Signs that stand behind a value elsewhere.
SIGNS_BEHIND = {
    "!": _NOT_NULL,
    "?:": "write `x ?? …` for what may be null, or `condition ? a : b`",
    "?": "leave it out: what goes wrong is thrown by itself, and caught with `try`",
}
#: What to write where only some errors are meant.
CAUGHT = 'write `catch error { … }`, and in it `if error.code == "V0904" { … }`, or look at `error.message`'
#: What an object cannot have for a field, by how it begins.
ENTRIES = {
    **_each("number text quote", "write `name: value`"),
    "[": "the keys of an object are written out; with other ones it is a map: `m[key] = value`",
    "(": "a field that is a function is `name: (a, b) => { … }`",
    "=": "write `name: value`",
    "**": "write `...object`",
    ",": "an object has `name: value`; several values are an array, `[a, b]`, and `unique()` gives each once",
    "name": "a field is `name: value`; there are no others",
    ":": "write `name: value`",
    "=>": "write `name: value`",
}

#: Values of other languages that are words of their own, and are read as what they mean.
VALUES = {"None": "null", "undefined": "null", "True": "true", "False": "false"}

_PY_URL = 'import it from Python: `import { urlparse } from "py:urllib.parse"`'
_CLASS = "there are no classes: declare a `type`, and write functions that take it"
_NO_NEED = "leave it out"
#: Words before a declaration that say nothing here.
MODIFIERS = (
    *("static", "public", "protected", "final", "readonly", "declare", "abstract", "override", "extern", "pub", "mut"),
)
#: Words that begin a statement elsewhere.
STATEMENTS = {
    **_all("var val auto my dim local", "write `let`, or `const` for what never changes", "let"),
    **_all(
        "int float double string bool boolean str char long",
        "write `let x = …`; the type is found, or `let x: number`",
        "let",
    ),
    **_all("def fn func fun sub proc defun method", "write `function name(x) { … }`", "function"),
    **_all("raise", 'write `throw "what is wrong"`', "throw"),
    **_all("interface struct record dataclass", "write `type Name { field: text }`", "type"),
    **_all("foreach", "write `for x in xs { … }`", "for"),
    **_all(" ".join(MODIFIERS), _NO_NEED, "drop"),
    **_all("await", "leave it out: a program waits for each answer by itself", "drop"),
    **_all("print echo puts println printf say write log", "call it: `print(…)`", "call"),
    **_all("assert", "call it: `assert(a == b)`", "call"),
    **_all("len note sleep", "call it, with parentheses", "call"),
    **_all("class", _CLASS, "skip"),
    **_all("enum", 'write a type of texts: `type Color = "red" | "green"`', "skip"),
    **_all("switch", 'write `match value { "a" => …, else => … }`', "skip"),
    **_all("case default when", 'an arm of a `match` is `"a" => …`, the last one `else => …`', "skip"),
    **_all("namespace module package", 'a file is a module: `import { name } from "./file.vibe"`', "skip"),
    **_all("from", 'write `import { name } from "py:module"` for Python, `"./file.vibe"` for Vibe', "skip"),
    **_all("include using use require", 'write `import { name } from "./file.vibe"`', "skip"),
    **_all(
        "with",
        "write `const text = readText(path)` of `system/files`: nothing needs closing; what must be done "
        "at the end stands in `finally`",
        "skip",
    ),
    **_all("delete del", "write `xs.remove(i)` or `m.remove(key)`; what may be absent is `null`", "skip"),
    **_all("global nonlocal", "leave it out: a function sees the variables around it, and may assign them", "skip"),
    **_all("unless", "write `if not …`", "skip"),
    **_all("until", "write `while not …`", "skip"),
    **_all("loop forever", "write `while true { … }`", "skip"),
    **_all("repeat times", "write `for i in 3 { … }`", "skip"),
    **_all("goto label", "write a function and call it", "skip"),
    **_all("except rescue", "write `try { … } catch error { … }`", "skip"),
    **_all("ensure", "write `finally { … }`", "skip"),
    **_all("new", "there are no classes: write the object itself, `{ … }`", "skip"),
    **_all("extends implements impl trait protocol mixin", _CLASS, "skip"),
    **_all("elif elseif elsif", "write `else if`, after the `}` of an `if`", "skip"),
    **_all("ts typescript js", "write `py(x) { return … }`: the code in it is Python", "skip"),
}

#: Words that stand before a value elsewhere.
PREFIXES = {
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
#: Letters before a string.
STRING_PREFIXES = {
    **_each("f F", "leave out the `f`: `{name}` and `${expression}` stand in every string"),
    **_each("r R b B u U rb br rf fr", "leave it out; a `\\` in a string is written `\\\\`"),
}
#: Words that stand after a value elsewhere.
FOLLOWING = {
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
#: Operators between values of types they do not take, by the type on the left.
OPERATORS = {
    ("%", "text"): 'write `"{name} is ${age + 1}"`: what is in braces is put in',
    ("/", "text"): "write `s.toNumber()`; a time is a text, and `unix(now())` of `system/time` gives its seconds",
    ("*", "text"): "write `s.repeat(3)`",
    ("*", "array"): "push in a loop: `for i in 3 { xs.push(0) }`",
    ("-", "array"): "write `xs.filter(x => not x in ys)`",
    ("-", "text"): 'write `s.toNumber()` to calculate with it, `s.replace(part, "")` to take a part out',
}

#: Words that end a block elsewhere.
ENDS = ("end", "fi", "done", "esac")
_SUM = "write `xs.{0}()`: it is a method of arrays"
_ON_NUMBER = "write `x.{0}()`: it is a method of numbers"
_PY = 'import it from Python: `import {{ {0} }} from "py:{1}"`'
_TO_NUMBER = 'write `"5".toNumber()`'
_TO_TEXT = "write `x.toString()`"
_ERROR = 'an error is a text: `throw "what is wrong"`'
#: Functions, modules and values that are always there elsewhere; `a.b` goes before `a`.
NAMES = {
    **_each("console console.log console.info console.debug", "write `print(…)`"),
    **_each("console.error console.warn System System.out std logging logger", "write `print(…)`"),
    **_each("fmt fmt.Println print_r var_dump Debug", "write `print(…)`"),
    **_each("raise", "write `throw error`"),
    **_each("echo puts println printf alert fprintf cout", "write `print(…)`"),
    **_each("JSON.parse json.loads jsonParse", "write `parseJson(…)`"),
    **_each("JSON.stringify json.dumps jsonStringify", "write `toJson(…)`"),
    **_each("JSON json", "write `parseJson(…)` to read, `toJson(…)` to write"),
    **_each("parseInt int", f"{_TO_NUMBER}; `floor()` and `round()` make a number whole"),
    **_each("parseFloat float Number Number.parseInt Number.parseFloat BigInt Decimal", _TO_NUMBER),
    **_each("str String repr", _TO_TEXT),
    **_each("Boolean bool", 'compare: `x != 0`, `x != ""`, `x != null`; there is no truthiness'),
    **_each("NaN Infinity isFinite", "there is no such number here: what has no result is an error"),
    **_each("isNaN Number.isNaN", "`toNumber()` throws where a text is no number: write `try { … } catch error { … }`"),
    **_each("Number.isInteger", "write `x == x.floor()`"),
    **_each("Number.MAX_SAFE_INTEGER Number.MAX_VALUE", "integers have any size here; start with a value of your own"),
    **_each("range xrange", "write `for i in 3` (0, 1, 2) or `for i in 1..3` (1, 2, 3); as an array it is `1..3`"),
    **_each("enumerate", "write `for i in xs.length { … xs[i] … }`"),
    **_each("sorted", "write `xs.sortBy(x => x)`; `xs.sort()` sorts in place"),
    **_each("reversed", "write `xs[::-1]`; `xs.reverse()` turns around in place"),
    **{each: _SUM.format(each) for each in ("sum", "map", "filter", "reduce")},
    **{each: f"write `xs.{each}()`, or `[a, b].{each}()`: it is a method of arrays" for each in ("min", "max")},
    **_each("zip", "write `xs.zip(ys)`, whose items have `first` and `second`"),
    **_each("map filter", "write `xs.map(x => …)`, `xs.filter(x => …)`: they are methods of arrays"),
    **_each("any", "write `xs.some(x => …)`"),
    **_each("all", "write `xs.every(x => …)`"),
    **_each("reduce", "write `xs.reduce((all, x) => …, start)`"),
    **{each: _ON_NUMBER.format(each) for each in ("abs", "floor", "ceil")},
    **_each("round", "write `x.round()`, or `x.round(2)`: it is a method of numbers"),
    **_each("pow", "write `a ** b`"),
    **_each("divmod", "write `(a / b).floor()` and `a % b`"),
    **_each("Math math", 'numbers have `round floor ceil abs`; for more, `import { sqrt } from "py:math"`'),
    **_each("Math.max", "write `[a, b].max()`"),
    **_each("Math.min", "write `[a, b].min()`"),
    **{f"Math.{each}": _ON_NUMBER.format(each) for each in ("abs", "round", "floor", "ceil")},
    **_each("Math.trunc", "write `x.floor()`"),
    **_each("Math.pow", "write `a ** b`"),
    **_each("Math.sqrt math.sqrt sqrt", "write `x ** 0.5`"),
    **_each("Math.PI math.pi", _PY.format("pi", "math")),
    **_each("Math.random random random.random", 'write `import { random } from "system/random"`'),
    **_each("list tuple array", "write `[…]`; `xs.copy()` copies, and `0..4` is an array of numbers"),
    **_each("Array Array.from", "write `[…]`, or `(0..4).map(i => …)`; `xs.copy()` copies"),
    **_each("Array.isArray", "declare the type, or test it: `x is json[]`"),
    **_each("dict Map Object", "write `{ … }`, declared as a map: `let m: { [text]: number } = {}`"),
    **_each("set Set frozenset", "write an array; `unique()` gives each item once"),
    **_each("Object.keys", "write `o.keys()`"),
    **_each("Object.values", "write `o.values()`"),
    **_each("Object.entries", "write `o.entries()`, or `for key, value in m`"),
    **_each("Object.assign", "write `{ ...a, ...b }`"),
    **_each("Object.freeze", "`const` fixes the name; hand over a copy to keep what you have: `o.copy()`"),
    **_each("Promise Promise.all asyncio asyncio.gather", "write `const all = async for x in xs { yield … }`"),
    **_each("setTimeout setInterval time.sleep", "write `sleep(seconds)`"),
    **_each("fetch axios requests urllib httpx", 'write `import { get } from "system/http"`'),
    **_each("Date Date.now datetime time performance", "write `now()`, or import from `system/time`"),
    **_each("RegExp re", 'write `import { find, findAll, matches, replace } from "system/text"`'),
    **_each("open fs path pathlib Path shutil", 'write `import { readText, writeText } from "system/files"`'),
    **_each("window document localStorage navigator", "there is no browser here; files are in `system/files`"),
    **_each("clearTimeout clearInterval", "leave it out: `sleep(seconds)` waits, and nothing runs on its own"),
    **_each("crypto crypto.randomUUID", 'write `import { uuid } from "system/random"`, or use `system/hash`'),
    **_each("hashlib", 'write `import { sha256 } from "system/hash"`'),
    **_each("Buffer btoa atob base64", _PY.format("b64encode", "base64")),
    **_each("URL URLSearchParams", _PY.format("urlparse", "urllib.parse")),
    **_each("timedelta", 'write `add(now(), { days: 1 })` of "system/time"'),
    **_each("mock patch stub", 'write `answers(["…"])` in a test: what models will say'),
    **_each("namedtuple defaultdict Counter", "write `{}`, declared as a map: `let m: { [text]: number } = {}`"),
    **_each("ls cat grep cd rm curl git", 'a command is run with `run("…")` of "system/process"'),
    **_each("panic die abort fail error", 'write `throw "what is wrong"`'),
    **_each("sprintf format", 'write `"{name} is ${age + 1}"`: what is in braces is put in'),
    **_each("deque queue stack", "write an array: `push(x)`, `pop()`, `remove(0)`"),
    **_each("let_ const_ var", "write `let`, or `const` for what never changes"),
    **_each("subprocess exec spawn child_process", 'write `import { run } from "system/process"`'),
    **_each("csv yaml toml", 'write `import { parseCsv } from "system/data"`'),
    **_each("process.env os.environ os.getenv getenv", 'write `env("NAME")`'),
    **_each("process.argv sys.argv argv", "write `args`, or declare an `input`"),
    **_each("process.exit sys.exit exit quit", 'write `throw "why"`, or a `return` at the top level'),
    **_each("process os sys", 'there are `env("NAME")`, `args`, and the modules `system/files` and `system/process`'),
    **_each(
        "prompt input raw_input readline gets",
        'write `ask "…"`; what is given from outside is declared: `input city: text`',
    ),
    **_each("type typeof isinstance instanceof", "write `x is text`, `x is number`; such a test tells which it is"),
    **_each("hasArg", "declare it: `input verbose: boolean = false`, given as `--verbose`"),
    **_each("getArg", "declare it: `input city: text`, given as `--city Oslo`; `args` has all others"),
    **_each("uuid", 'write `import { uuid } from "system/random"`'),
    **_each("hasattr getattr", 'write `o.has("name")`, `o.get("name")`'),
    **_each("setattr", 'write `o["name"] = value`'),
    **_each("callable id hash vars dir globals locals super", "there is no such thing here"),
    **_each("chr ord hex bin oct", "use Python: `py(x) { return ord(x) }`"),
    **_each("eval exec compile", "there is no such thing here; Python stands in `py() { … }`"),
    **_each("this self", "there are no objects with methods: give the value to a function as a parameter"),
    **_each("nil NULL nullptr Nothing", "write `null`"),
    **_each("yes on YES", "write `true`"),
    **_each("no off NO", "write `false`"),
    **_each("pass noop", "leave it out: a block may be empty"),
    **_each("end fi esac", "a block ends with `}`"),
    **_each("begin", "a block begins with `{`"),
    **_each("Error Exception ValueError TypeError RuntimeError KeyError RangeError", _ERROR),
    **_each("module exports", "write `export` before the declaration: `export function name() { … }`"),
    **_each("require", 'write `import { name } from "./file.vibe"`; for Python, `"py:module"`'),
    **_each("__name__ __main__ main", "a program begins at its first line"),
    **_each("describe it expect test", 'write `test "name" { assert(…) }`'),
    **_each("assertEqual assertEquals assert_eq assertTrue assertThat", "write `assert(a == b)`"),
    **_each("structuredClone deepcopy copy", "write `x.copy()`"),
    **_each("encodeURIComponent", _PY.format("quote", "urllib.parse")),
    **_each("undefined", "write `null`"),
    **_each(
        "ai llm gpt chat complete completion generate openai anthropic claude agent",
        'write `do "…"`, or `vibe "…"` with tools',
    ),
    **_each("string boolean number text", "it is the name of a type"),
}

#: What the modules of the system give, for those who have not imported it.
SYSTEM = {
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
#: Which module of the system gives a name.
MODULE_OF: dict[str, str] = {}
for _module, _names in SYSTEM.items():
    for _name in _names.split():
        MODULE_OF.setdefault(_name, f"system/{_module}")
        NAMES.setdefault(_name, f'write `import {{ {_name} }} from "system/{_module}"`')


def _read(parse: str) -> str:
    return f'write `{parse}(readText(path))`, of "system/data" and "system/files"'


#: Names that are imported from elsewhere, and what to write.
EXPORTS = {
    **_each("bash shell exec sh spawn", 'write `run` of "system/process"; as a tool for models it is `runShell`'),
    **_each("glob", "write `globFiles`"),
    **_each("grep", "write `grepFiles`"),
    **_each("edit", "write `editFile`"),
    **_each("listDir ls", "write `listFiles`"),
    **_each("fileExists dirExists", 'write `import { exists } from "system/files"`'),
    **_each("appendFile append", 'write `import { appendText } from "system/files"`'),
    **_each("readFile open read readAll slurp readFileSync", 'write `import { readText } from "system/files"`'),
    **_each("writeFile write writeFileSync save", 'write `import { writeText } from "system/files"`'),
    **_each("readDir readdir listdir", 'write `import { list } from "system/files"`'),
    **_each("unlink deleteFile rm delete", 'write `import { remove } from "system/files"`'),
    **_each("rename mv", 'write `import { move } from "system/files"`'),
    **_each("randint randrange randomInt", 'write `import { choice } from "system/random"`, and `choice(1..6)`'),
    **_each("sample pick", 'write `import { shuffle } from "system/random"`, and `shuffle(xs)[0:3]`'),
    **_each("fetch", 'write `import { get } from "system/http"`'),
    **_each("put patch head", 'write `import { request } from "system/http"`, and `request("PUT", url)`'),
    **_each("readCsv read_csv loadCsv readCSV", _read("parseCsv")),
    **_each("readYaml loadYaml", _read("parseYaml")),
    **_each("readToml loadToml", _read("parseToml")),
    **_each("writeCsv saveCsv", 'write `writeText(path, toCsv(rows))`, of "system/files" and "system/data"'),
    **_each("readJson loadJson readJSON", 'write `parseJson(readText(path))`; `readText` is of "system/files"'),
    **_each("writeJson saveJson dumpJson", 'write `writeText(path, toJson(value))`; `writeText` is of "system/files"'),
    **_each("format strftime formatDate", 'write `import { formatTime } from "system/time"`'),
    **_each("parse strptime parseDate", 'write `import { parseTime } from "system/time"`'),
    **_each("match search regex test", 'write `find` or `matches` of "system/text"'),
    **_each("sub gsub replaceAll", 'write `import { replace } from "system/text"`'),
    **_each("mkdir", "leave it out: the directories of a file are made when it is written"),
    **_each("runCode", "write `py(x) { return … }`"),
    **_each("safeTools", "write `readonlyTools`, or name the tools one by one"),
    **_each("jsonParse", "`parseJson` is always there: leave it out of the import"),
    **_each("jsonStringify", "`toJson` is always there: leave it out of the import"),
    **_each("uuid random", 'write `import { uuid, random } from "system/random"`'),
    # The same word is another one in another module.
    **_each("system/process:exec system/process:spawn system/process:shell system/process:bash", "write `run`"),
    **_each("system/text:match system/text:search system/text:exec", "write `find`"),
    **_each("system/text:test", "write `matches`"),
    **_each("system/http:delete", 'write `request`, and `request("DELETE", url)`'),
}
#: Settings of models elsewhere.
SETTINGS = {
    **_each("thinkingLevel thinking effort reasoningEffort reasoning_effort", 'write `reasoning: "high"`'),
    **_each("maxRetriesOnError maxRetries retries", "leave it out: what fails for a moment is tried again by itself"),
    **_each("model id modelName", "write `name`"),
    **_each("key api_key", "write `apiKey`"),
    **_each("baseUrl baseURL base_url endpoint host", "write `url`"),
    **_each("systemPrompt system_prompt instructions", "write `system`"),
    **_each("max_tokens maxOutputTokens", "write `maxTokens`"),
    **_each("top_p", "write `topP`"),
}
#: Modules of other languages, and which of ours does the same.
MODULES = {
    **_each("fs fs/promises node:fs path node:path os node:os glob", "system/files"),
    **_each("file files io pathlib shutil fs-extra system/file system/fs system/io", "system/files"),
    **_each("axios node-fetch undici got ky request http https", "system/http"),
    **_each("requests httpx urllib fetch system/fetch system/net system/web system/request", "system/http"),
    **_each("child_process node:child_process execa subprocess process", "system/process"),
    **_each("system/shell system/exec system/cmd system/os", "system/process"),
    **_each("csv-parse papaparse js-yaml yaml toml csv data jsonlines", "system/data"),
    **_each("system/csv system/yaml system/toml system/tables", "system/data"),
    **_each("moment dayjs date-fns luxon datetime time date system/date system/datetime system/clock", "system/time"),
    **_each("re regex text string system/regex system/re system/string system/strings", "system/text"),
    **_each("crypto node:crypto hashlib hash system/crypto", "system/hash"),
    **_each("uuid nanoid system/utils random secrets system/uuid", "system/random"),
    **_each("tools system/agent", "system/tools"),
}
_JSON = "leave it out: `parseJson(…)` and `toJson(…)` are always there"
#: Modules of Python that are not needed here, and what to write.
FOR_PYTHON = {
    "json": _JSON,
    **_each("sys argparse click", "leave it out: what is given from outside is declared, `input city: text`"),
    **_each("typing dataclasses abc __future__", "leave it out: types are written without an import"),
    **_each("asyncio", "leave it out: a program waits for each answer by itself; `async for` runs rounds at once"),
    **_each("logging", "leave it out: write `print(…)`, or `note(…)` to tell the models too"),
    **_each("openai anthropic langchain ollama litellm", 'leave it out: write `do "…"`, and `model m = { name: "…" }`'),
    **_each("pydantic", "leave it out: declare a type, `type User { name: text }`"),
    **_each("os", 'write `env("NAME")`, which is always there, or `import { list } from "system/files"`'),
    **_each("pathlib shutil glob io", 'write `import { readText, writeText, list } from "system/files"`'),
    **_each("re", 'write `import { find, findAll, replace } from "system/text"`'),
    **_each("random", 'write `import { random, choice, shuffle } from "system/random"`'),
    **_each("uuid", 'write `import { uuid } from "system/random"`'),
    **_each("datetime", 'write `now()`, or `import { today, formatTime } from "system/time"`'),
    **_each("time", 'write `now()` and `sleep(seconds)`, or `import { unix } from "system/time"`'),
    **_each("requests httpx aiohttp", 'write `import { get, post } from "system/http"`'),
    **_each("subprocess", 'write `import { run } from "system/process"`'),
    **_each("csv yaml toml tomllib pandas", 'write `import { parseCsv } from "system/data"`'),
    **_each("hashlib", 'write `import { sha256 } from "system/hash"`'),
}

#: Methods and members, by what has them: text, array, map, object, number; `` is all of them.
METHODS: dict[str, dict[str, str]] = {
    "": {
        **_each("size count length len __len__", "write `.length`, without parentheses"),
        **_each("toUpperCase toUpper uppercase upcase", "write `upper()`"),
        **_each("toLowerCase toLower lowercase downcase casefold", "write `lower()`"),
        **_each("toJSON", "write `toJson(x)`"),
        **_each("str to_s to_string __str__", "write `toString()`"),
        **_each("contains has include __contains__", "write `includes(…)`, or `x in xs`"),
        **_each("then catch", "leave it out: a program waits for each answer by itself; errors are caught with `try`"),
        **_each("equals isEqual", "write `==`"),
        **_each("clone deepcopy slice_copy", "write `copy()`"),
        **_each("iter into_iter iterator stream", "leave it out: `for x in xs { … }`"),
        **_each("print println", "write `print(x)`"),
        **_each("unwrap expect", "leave it out; what may be null gets a default: `x ?? …`"),
    },
    "text": {
        **_each("strip trimStart trimEnd lstrip rstrip chomp", "write `trim()`"),
        **_each("substring substr mid", "write `slice(a, b)`, or `s[a:b]`"),
        **_each("charAt at", "write `s[0]`"),
        **_each("charCodeAt codePointAt", "use Python: `py(s) { return ord(s[0]) }`"),
        **_each("find index search", "write `indexOf(…)`, which gives -1 where there is none"),
        **_each("startswith begins_with", "write `startsWith(…)`"),
        **_each("endswith", "write `endsWith(…)`"),
        **_each("splitlines", "write `lines()`"),
        **_each("isEmpty empty is_empty isBlank", 'write `s == ""`'),
        **_each("chars", 'write `s.split("")`'),
        **_each("replaceAll sub gsub", "write `replace(a, b)`, which replaces all of them"),
        **_each("format", 'write `"{name} is ${age + 1}"`: what is in braces is put in'),
        **_each("concat append push extend", "write `a + b`: a text never changes; or `s += …`"),
        **_each("join", 'write `xs.join(", ")`: it is a method of arrays'),
        **_each("capitalize title", "write `s[0].upper() + s[1:]`"),
        **_each("isdigit isnumeric isDigit", 'write `matches(s, "^[0-9]+$")` of "system/text"'),
        **_each("isalpha isalnum isspace isAlpha", 'write `matches(s, "^[A-Za-z]+$")` of "system/text"'),
        **_each("isupper islower", "compare: `s == s.upper()`"),
        **_each(
            "match matchAll test", "regular expressions are in `system/text`: `find(s, pattern)`, `findAll`, `matches`"
        ),
        **_each("lastIndexOf rfind rindex", "turn it around: `s.length - 1 - s[::-1].indexOf(…)`, for one character"),
        **_each("year month day hour minute getFullYear getTime", 'write `parts(t).year` of "system/time"'),
        **_each("strftime isoformat toISOString", 'write `formatTime(t, "%Y-%m-%d")` of "system/time"'),
        **_each("localeCompare compareTo compare", "compare with `<`, `==` and `>`"),
        **_each("removeprefix trimPrefix removePrefix", "write `s.startsWith(a) ? s[a.length:] : s`"),
        **_each("removesuffix trimSuffix", "write `s.endsWith(a) ? s[:-a.length] : s`"),
        **_each("partition splitn", "write `split(part)`, and take its parts"),
        **_each("split_whitespace words", "write `split()`, without a separator"),
        **_each("swapcase", "there are `upper()` and `lower()`"),
        **_each("center", "write `padStart(n)` and `padEnd(n)`"),
        **_each("bytes", "text is text; files and hashes take it as UTF-8"),
        **_each("padLeft rjust zfill", 'write `padStart(n, "0")`'),
        **_each("padRight ljust", "write `padEnd(n)`"),
        **_each("toInt parseInt parseFloat to_i to_f toInteger", "write `toNumber()`"),
        **_each("map filter forEach", 'make it an array: `s.split("")`'),
        **_each("reverse reversed", "write `s[::-1]`"),
        **_each("encode decode", "text is text; files and hashes take it as UTF-8"),
        **_each("count", "write `s.split(part).length - 1`"),
        **_each("sort", 'make it an array: `s.split("")`'),
        **_each(
            "pop remove insert shift unshift", "a text never changes: write `s[1:]`, `s[:-1]` or `s.replace(a, b)`"
        ),
    },
    "array": {
        **_each("append add push_back enqueue", "write `push(x)`"),
        **_each("forEach each", "write a `for` loop: `for x in xs { … }`"),
        **_each("any", "write `some(x => …)`"),
        **_each("all", "write `every(x => …)`"),
        **_each("flatMap", "write `map(…).flat()`"),
        **_each("sorted orderBy toSorted", "write `sortBy(x => …)`"),
        **_each("toReversed reversed", "write `xs[::-1]`"),
        **_each("findIndex", "write `indexOf(x)`, or a loop over positions: `for i in xs.length`"),
        **_each("index", "write `indexOf(x)`"),
        **_each("fold foldl inject", "write `reduce((all, x) => …, start)`"),
        **_each("distinct uniq dedupe", "write `unique()`"),
        **_each("concat extend addAll", "write `xs + ys`, or `[...xs, ...ys]`"),
        **_each("shift", "write `remove(0)`"),
        **_each("unshift prepend", "write `insert(0, x)`"),
        **_each("splice", "write `remove(i)` and `insert(i, x)`"),
        **_each("delete removeAt", "write `remove(i)`"),
        **_each("at get elementAt nth", "write `xs[i]`; the last one is `xs[-1]`"),
        **_each("first", "write `xs[0]`"),
        **_each("reduceRight foldr", "turn it around: `xs[::-1].reduce((all, x) => …, start)`"),
        **_each("lastIndexOf findLast", "turn it around: `xs[::-1].indexOf(x)`, `xs[::-1].find(x => …)`"),
        **_each("sample choice random", 'write `choice(xs)` of "system/random"'),
        **_each("shuffle", 'write `shuffle(xs)` of "system/random"'),
        **_each("chunk window partition", "write slices in a loop: `xs[i:i + n]`"),
        **_each("compact", "write `filter(x => x != null)`"),
        **_each("sort_by sorted_by sortedBy", "write `sortBy(x => …)`"),
        **_each("group_by", "write `groupBy(x => …)`"),
        **_each("toList to_list toArray to_a", "leave it out: it is an array"),
        **_each("last peek", "write `xs[-1]`"),
        **_each("head take", "write `xs[:n]`"),
        **_each("tail drop skip", "write `xs[n:]`"),
        **_each("isEmpty empty is_empty", "write `xs.length == 0`"),
        **_each("clear", "write `xs = []`"),
        **_each("entries enumerate keys", "write `for i in xs.length { … xs[i] … }`"),
        **_each("fill", "write `[0].map(…)`, or push in a loop"),
        **_each("flatten", "write `flat()`"),
        **_each("select where", "write `filter(x => …)`"),
        **_each("collect", "write `map(x => …)`"),
        **_each("detect findFirst", "write `find(x => …)`"),
        **_each("average mean avg", "write `xs.sum() / xs.length`"),
        **_each("split trim upper lower", "that is a method of text: write `map(x => x.trim())`"),
    },
    "map": {
        **_each("set put add", "write `m[key] = value`"),
        **_each("delete pop del", "write `remove(key)`"),
        **_each("items iteritems", "write `for key, value in m`, or `entries()`"),
        **_each("forEach each", "write `for key, value in m { … }`"),
        **_each("includes contains containsKey hasKey hasOwnProperty __contains__ has_key", "write `has(key)`"),
        **_each("setdefault getOrDefault", "write `get(key, default)`"),
        **_each("update merge assign", "write `{ ...a, ...b }`"),
        **_each("clear", "write `m = {}`"),
        **_each("isEmpty empty is_empty", "write `m.length == 0`"),
        **_each("getItem", "write `get(key)`"),
        **_each("popitem", "write `remove(m.keys()[-1])`"),
        **_each("sort sorted", "write `entries().sortBy(e => e.value)`"),
        **_each("push append", "a map has keys: write `m[key] = value`"),
        **_each(
            "map filter find some every reduce sortBy groupBy sum min max",
            "go through its `entries()`, each with `key` and `value`, or through its `values()`",
        ),
    },
    "object": {
        **_each("items iteritems", "write `entries()`, each with `key` and `value`"),
        **_each("hasOwnProperty includes contains containsKey", 'write `has("name")`'),
        **_each("update merge assign", "write `{ ...a, ...b }`"),
        **_each("set put", "write `o.name = value`"),
        **_each("delete pop", 'write `remove("name")`'),
        **_each("json dict model_dump to_dict toObject", "it is data already; as text it is `toJson(x)`"),
        **_each("push append add", "an object has the fields it has: write an array, or a map, `m[key] = value`"),
    },
    "model": {
        **_each("name provider system tools temperature", "settings cannot be read: keep what is needed in a `const`"),
        **_each("usage cost tokens", "an answer says what it took: `r.run.usage`"),
        **_each(
            "do vibe ask chat complete completions generate run call prompt invoke messages",
            'a model stands behind the prompt: `do "…" m`',
        ),
    },
    "number": {
        **_each("toInt toInteger trunc", "write `floor()`"),
        **_each("length len size", "write `x.toString().length`"),
        **_each("add plus", "write `x + 1`"),
        **_each("toPrecision toLocaleString format", "write `toFixed(2)`"),
        **_each("sqrt", "write `x ** 0.5`"),
        **_each("pow", "write `x ** n`"),
        **_each("toNumber", "it is a number already"),
        **_each("times", "write `for i in 3 { … }`"),
    },
}

#: The names of our own types.
NAMED = frozenset(("text", "number", "boolean", "json", "prompt", "model"))
#: Types, by their names in small letters.
TYPES = {
    **_each("string str char varchar", "text"),
    **_each("int integer float double long short decimal bigint int32 int64 f64 i32 real", "number"),
    "bool": "boolean",
    **_each("object any unknown mixed dynamic jsonvalue", "json"),
    **_each("dict map record hashmap dictionary mapping defaultdict ordereddict", "{ [text]: json }"),
    **_each("function callable func callback", "(json) => json"),
    **_each("list array set tuple sequence iterable vector vec collection readonlyarray", "json[]"),
    **_each("void none nil undefined never nonetype unit", "null"),
    **_each("promise awaitable coroutine future task", "json"),
    **_each("date datetime time timestamp regexp pattern path url uuid bytes buffer", "text"),
    **_each("error exception", "text"),
    **_each("optional", "json"),
}
#: Types with others in `<…>` or `[…]`: how they are written here, `0` the first of those and `-1` the last.
GENERICS = {
    **_each("list array set sequence iterable vector vec collection readonlyarray frozenset iterator", "{0}[]"),
    **_each("dict map record hashmap dictionary mapping defaultdict ordereddict", "{{ [text]: {1} }}"),
    **_each("promise awaitable coroutine future task readonly required annotated final", "{0}"),
    **_each("optional maybe option nullable", "{0} | null"),
}
