"""Random programs as text: right in syntax, of every kind of node, with any space and comments between the tokens.

`programs()` is the strategy; `program_text(seed, size)` is one of them. What the programs do makes no sense.
"""

from __future__ import annotations

from collections.abc import Callable
from random import Random

from hypothesis import strategies as st

NAMES = (
    *("a", "b", "items", "user", "größe", "x1", "_", "longer_name_of_something", "anotherRatherLongName"),
    *("text", "model", "type", "tool", "test", "from", "as", "default", "local", "none", "verbose", "forget"),
)
WORDS = ("name", "and", "or", "not", "if", "do", "return", "null", "model", "in", "length")
PLAIN_TYPES = ("text", "number", "boolean", "json", "prompt", "model", "null", "Person")


def programs(size: int = 6) -> st.SearchStrategy[str]:
    """Programs of up to so many statements."""
    return st.builds(program_text, st.integers(0, 2**32), st.integers(0, size))


def program_text(seed: int, size: int) -> str:
    """The program of a seed, of so many statements at its top."""
    return Writer(Random(seed)).program(size)


class Writer:
    """Writes the parts of a program; `nested` is whether a bracket is open, `flat` whether no line may end."""

    def __init__(self, random: Random) -> None:
        self.random = random
        self.nested = False
        self.flat = False
        self.loops = 0
        #: How many operands may still be more than a name or a literal.
        self.budget = 40
        self._comments = 0

    # Space and comments

    def chance(self, share: float) -> bool:
        return self.random.random() < share

    def comment(self) -> str:
        self._comments += 1
        return f"/* {self._comments} */"

    def space(self) -> str:
        """What may stand between two tokens of a line, or nothing."""
        if self.chance(0.03):
            return f" {self.comment()} "
        return self.random.choice(("", "", " ", " ", " ", "  ", "\t"))

    def apart(self) -> str:
        """Space between two words."""
        return self.space() or " "

    def line_end(self) -> str:
        """One line end at least, with comments before and after it."""
        out = self.random.choice(("", " ", "  "))
        if self.chance(0.12):
            self._comments += 1
            out += f" // {self._comments}" + self.random.choice(("", "  ", ' `" { /*'))
        out += self.random.choice(("\n", "\n", "\n", "\n\n", "\n \n\n", "\r\n", "\r"))
        if self.chance(0.08):
            self._comments += 1
            own = (
                f"// {self._comments}",
                f"/* {self._comments} */",
                f"/*\n * {self._comments}\n  *  x\n*/",
                "/* a\n  b */",
            )
            out += f"  {self.random.choice(own)}" + self.random.choice(("\n", "\n\n"))
        return out + " " * self.random.randrange(5)

    def loose(self) -> str:
        """Space where a line may end."""
        return self.line_end() if not self.flat and self.chance(0.15) else self.space()

    def gap(self) -> str:
        """Space between tokens, with line ends if a bracket is open."""
        return self.loose() if self.nested else self.space()

    def inside(self, write: Callable[[], str]) -> str:
        """What `write` writes within a bracket."""
        nested, self.nested = self.nested, True
        out = write()
        self.nested = nested
        return out

    def on_one_line(self, write: Callable[[], str]) -> str:
        """What `write` writes where no line may end."""
        flat, self.flat = self.flat, True
        out = write()
        self.flat = flat
        return out

    def listed(self, opener: str, closer: str, item: Callable[[], str], most: int = 3, by_line: bool = False) -> str:
        """Items in a bracket."""

        def inner() -> str:
            count = self.random.randrange(most + 1) if self.chance(0.9) else 9
            out = self.gap()
            for at in range(count):
                out += item()
                if by_line and not self.flat and self.chance(0.3):
                    out += self.line_end()
                elif at < count - 1 or self.chance(0.3):
                    out += self.gap() + "," + self.gap()
            return out + self.gap()

        return opener + self.inside(inner) + closer

    def name(self) -> str:
        return self.random.choice(NAMES)

    # Strings and numbers

    def number(self) -> str:
        return self.random.choice(("0", "42", "3.14", "1e6", "1_000", "0x1F", "2.5e-3"))

    def plain_text(self) -> str:
        """A string without holes."""
        body = self.random.choice(
            ("", "low", "in whole years", r"\n \{x} \u{1F600}", "a longer text that says nothing")
        )
        quote = self.random.choice("\"'`")
        return f"{quote}{body}{quote}"

    def text(self, depth: int) -> str:
        quote = self.random.choice('""\'`')
        parts = [self._text_part(depth, quote) for _ in range(self.random.randrange(4))]
        return quote + "".join(parts) + quote

    def _text_part(self, depth: int, quote: str) -> str:
        kind = self.random.randrange(5)
        if kind == 0:
            return self.random.choice(("{a.b[0]}", "{user}", "{items[1:2]}", "{a[b]}"))
        if kind == 1 and depth > 0:
            write: Callable[[], str] = lambda: self.space() + self.expression(depth - 1) + self.space()  # noqa: E731
            return "${" + (self.inside(write) if quote == "`" else self.on_one_line(write)) + "}"
        if kind == 2 and quote == "`" and not self.flat:
            return 'over lines  \n   { "x": 1 } \n'
        return self.random.choice(
            ("some words ", '{ : "' if quote == "'" else "{ 1 }", r"\{ \\ \$", "// no comment ", "$5 ")
        )

    # Expressions, from the loosest operators to the tightest

    def expression(self, depth: int = 3) -> str:
        depth = depth if self.budget > 0 else 0
        out = self._coalesced(depth)
        if depth > 0 and self.chance(0.05):
            then, other = self.expression(depth - 1), self.expression(depth - 1)
            out += (
                f"{self.loose() or ' '}?{self.loose() or ' '}{then}{self.loose() or ' '}:{self.loose() or ' '}{other}"
            )
        return out

    def _coalesced(self, depth: int) -> str:
        return self._joined(depth, ("??",), lambda: self._joined(depth, ("or",), lambda: self._conjunction(depth)))

    def _joined(self, depth: int, signs: tuple[str, ...], operand: Callable[[], str], share: float = 0.08) -> str:
        out = operand()
        while depth > 0 and self.chance(share):
            sign = self.random.choice(signs)
            before = self.loose() if sign in ("??", "and", "or") else self.gap()
            out += f"{before or ' '}{sign}{self.loose() or ' '}{operand()}"
            share = 0.5
        return out

    def _conjunction(self, depth: int) -> str:
        return self._joined(depth, ("and",), lambda: self._negation(depth))

    def _negation(self, depth: int) -> str:
        return ("not" + self.apart() if self.chance(0.05) else "") + self._comparison(depth)

    def _comparison(self, depth: int) -> str:
        out = self._range(depth)
        if depth > 0 and self.chance(0.1):
            sign = self.random.choice(("==", "!=", "<", "<=", ">", ">=", "in"))
            out += f"{self.gap() or ' '}{sign}{self.loose() or ' '}{self._range(depth)}"
        elif self.chance(0.03):
            out += f"{self.gap() or ' '}is {self.random.choice(('text', 'number[]', '3 | null', '{a: text}'))}"
        return out

    def _range(self, depth: int) -> str:
        out = self._sum(depth)
        if self.chance(0.04):
            out += f"{self.gap()}..{self.loose()}{self._sum(depth)}"
        return out

    def _sum(self, depth: int) -> str:
        return self._joined(depth, ("+", "-"), lambda: self._product(depth), 0.15)

    def _product(self, depth: int) -> str:
        return self._joined(depth, ("*", "/", "%"), lambda: self._signed(depth))

    def _signed(self, depth: int) -> str:
        sign = f"-{self.space()}" if self.chance(0.06) else ""
        out = sign + self._postfix(depth)
        if self.chance(0.04):
            out += f"{self.gap() or ' '}**{self.loose() or ' '}{self._signed(depth)}"
        return out

    def _postfix(self, depth: int) -> str:
        out = self._atom(depth)
        while depth > 0 and self.chance(0.3):
            out += self.random.choice((self._member, self._member, self._call, self._index))(depth - 1)
        return out

    def _member(self, depth: int) -> str:
        call = self._call(depth) if self.chance(0.5) else ""
        sign = "?." if self.chance(0.2) else "."
        return f"{self.loose()}{sign}{self.space()}{self.random.choice(WORDS)}{call}"

    def _call(self, depth: int) -> str:
        if self.chance(0.2):
            return self.listed(
                self.space() + "(", ")", lambda: f"{self.name()}{self.space()}: {self.expression(depth)}"
            )
        return self.listed(self.space() + "(", ")", lambda: self.expression(depth))

    def _index(self, depth: int) -> str:
        def one() -> str:
            return f"{self.gap()}{self.expression(depth)}{self.gap()}"

        def inner() -> str:
            if self.chance(0.5):
                return one()
            return ":".join(one() if self.chance(0.5) else self.gap() for _ in range(self.random.choice((2, 2, 3))))

        return f"{self.space()}{'?.' if self.chance(0.2) else ''}[{self.inside(inner)}]"

    def _atom(self, depth: int) -> str:
        simple = (self.name, self.name, self.number, lambda: self.text(depth), self._constant)
        if depth <= 0 or self.budget <= 0 or self.chance(0.5):
            return self.random.choice(simple)()
        self.budget -= 1
        deeper = (self._parenthesis, self._array, self.object, self._ask, self._human, self.python, self._gathering)
        deeper += (self._lambda, self._match_value)
        return self.random.choice(deeper)(depth - 1)

    def _lambda(self, depth: int) -> str:
        # In brackets, so that what follows is not a part of it.
        def parameter() -> str:
            return self.name() + (f"{self.space()}:{self.space()}{self.type(1)}" if self.chance(0.3) else "")

        def inner() -> str:
            head = self.name() if self.chance(0.5) else self.listed("(", ")", parameter)
            body = self.block(min(depth, 1)) if self.chance(0.3) and self.loops < 8 else f"({self.expression(depth)})"
            return f"{head}{self.space()}=>{self.loose()}{body}"

        return f"({self.inside(inner)})"

    def _constant(self) -> str:
        return self.random.choice(("true", "false", "null"))

    def _parenthesis(self, depth: int) -> str:
        return f"({self.inside(lambda: self.gap() + self.expression(depth) + self.gap())})"

    def _array(self, depth: int) -> str:
        return self.listed("[", "]", lambda: ("..." if self.chance(0.1) else "") + self.expression(depth))

    def matching(self, write: Callable[[], str], words: tuple[str, ...]) -> str:
        """A `match` whose arms are what `write` writes."""
        nested, self.nested = self.nested, False
        out = f"match {self.random.choice((*words, 'user.kind', '(a)', '3'))}{self.space()}{{"
        for at in range(self.random.randrange(1, 4)):
            out += self.line_end() if not self.flat and self.chance(0.6) else self.space()
            tested = self.random.choice(('"low"', '"a" , "b"', "-1,2", "null", "is text|null", "true, is {a: text}"))
            out += f"{'else' if at == 2 else tested}{self.space()}=>{self.space()}{write()}"
            out += self.space() + "," if self.flat or self.chance(0.5) else self.line_end()
        self.nested = nested
        return out + self.space() + "}"

    def _match_value(self, depth: int) -> str:
        def body() -> str:
            out = self.expression(depth)
            return f"({out})" if out.startswith("{") else out

        return self.matching(body, ("a", "items"))

    def object(self, depth: int) -> str:
        """An object literal."""

        def entry() -> str:
            if self.chance(0.1):
                return self.name()
            if self.chance(0.1):
                return f"...{self.expression(depth)}"
            # After a line end the words of operators would go on with the entry before.
            key = self.plain_text() if self.chance(0.2) else self.random.choice(("do", "key", "model", "in"))
            return f"{key}{self.space()}:{self.gap()}{self.expression(depth)}"

        return self.listed("{", "}", entry, by_line=True)

    def _ask(self, depth: int) -> str:
        # In brackets, so that what follows on the line is not taken for the model.
        def inner() -> str:
            out = self.random.choice(("do", "vibe")) + self.apart() + self._sum(depth)
            if self.chance(0.4):
                out += " " + self.random.choice(("model", "coder", "m"))
            return out + (" " + self.random.choice(("default", "local", "none")) if self.chance(0.3) else "")

        return f"({self.inside(inner)})"

    def _human(self, depth: int) -> str:
        return f"ask{self.apart()}{self._postfix(depth)}"

    def python(self, depth: int) -> str:
        """A `py` block."""
        del depth
        head = "py" + self.random.choice(("(a, b)", "( a )", "()", " (a ,b,) ")) + self.random.choice(("", " ")) + "{"
        if self.flat or self.chance(0.4):
            return (
                head
                + self.random.choice((" return {'a': \"}\"} ", "return a", " import json; return json.dumps(a)", ""))
                + "}"
            )
        return head + self.random.choice(
            (
                "\n      if a: # }\n          return {1: 2}\n\n      return b\n    }",
                "x = 1\n  return x }",
                '\n  s = """\n keep }\n  this"""\n  return s\n}',
                "\n\treturn (1,\n\t\t2)\n}",
                "\n\n  return 1  \n\n }",
            )
        )

    def _gathering(self, depth: int) -> str:
        head = f"async{self.apart()}for{self.apart()}{self.name()}{self.apart()}in{self.apart()}"
        out = f"{head}{self._condition(depth)}{self.space()}"
        return f"({out}{self._loop_body(depth)})" if self.loops < 10 else "0"

    # Types

    def type(self, depth: int = 2) -> str:
        """A type as it is written."""
        out = self._single_type(depth)
        while depth > 0 and self.chance(0.15):
            out += f"{self.gap()}|{self.gap()}{self._single_type(depth)}"
        return out

    def _single_type(self, depth: int) -> str:
        kind = self.random.randrange(10 if depth > 0 else 5)
        if kind < 3:
            out = self.random.choice(PLAIN_TYPES)
        elif kind == 3:
            out = self.plain_text()
        elif kind == 4:
            out = self.random.choice(("3", "-1.5", "- 2", "true", "false"))
        elif kind < 7:
            out = self.object_type(depth - 1)
        elif kind == 7:
            out = self.inside(
                lambda: (
                    f"{{{self.gap()}[{self.gap()}text ]{self.gap()}:{self.gap()}{self.type(depth - 1)}{self.gap()}}}"
                )
            )
        elif kind == 8:
            types = self.listed("(", ")", lambda: self.type(depth - 1))
            return f"({self.inside(lambda: types + self.space() + '=>' + self.loose() + self.type(depth - 1))})"
        else:
            return f"({self.inside(lambda: self.gap() + self.type(depth - 1) + self.gap())})[]"
        return out + ("[]" if self.chance(0.2) and kind != 3 else "")

    def object_type(self, depth: int) -> str:
        """The fields of a type."""

        def field() -> str:
            optional = "?" if self.chance(0.2) else ""
            out = f"{self.random.choice(('name', 'age', 'type', 'if'))}{optional}{self.space()}:{self.space()}"
            return out + self.type(depth) + self._description()

        return self.listed("{", "}", field, by_line=True)

    def _description(self) -> str:
        return f" {self.plain_text()}" if self.chance(0.15) else ""

    # Statements

    def program(self, size: int) -> str:
        """A whole program."""
        out = self.random.choice(("#!/usr/bin/env antiphon\n", "#!x\n\n", "\ufeff")) if self.chance(0.1) else ""
        out += self.statements(size, 2)
        return out + (f"// {self._comments + 1}" if self.chance(0.1) else "")

    def statements(self, count: int, depth: int) -> str:
        """So many statements, and what separates them."""
        nested, self.nested = self.nested, False
        out = (
            ""
            if self.flat
            else self.random.choice(("", " ", "\n", "\n\n")) + (self.line_end() if self.chance(0.1) else "")
        )
        for _ in range(count):
            out += self.statement(depth)
            out += f"{self.space()};{self.space()}" if self.flat or self.chance(0.1) else self.line_end()
        self.nested = nested
        return out

    def block(self, depth: int) -> str:
        """A block of statements."""
        count = self.random.choice((0, 1, 1, 2, 3)) if depth > 0 else 1
        return f"{{{self.statements(count, depth - 1)}}}"

    def _loop_body(self, depth: int, yielding: bool = True) -> str:
        self.loops += 1
        out = self.block(min(depth, 1))
        self.loops -= 1
        if not yielding:
            return out
        return f"{{{self.space()}yield{self.apart()}{self.name()}{self.space()}}}" if self.chance(0.5) else out

    def statement(self, depth: int) -> str:
        """Any statement."""
        simple = (
            *(self._variable, self._variable, self._destructure, self._assign, self._expression_statement),
            *(self._asking, self._leaving, self._import, self._type, self._model, self._input, self._returns),
        )
        if depth <= 0 or self.loops >= 8:
            return self.random.choice(simple)()
        deeper = (self._if, self._for, self._while, self._try, self._function, self._tool, self._test, self.block)
        deeper = (*deeper, self._match)
        return self.random.choice((*simple, *(lambda d=depth, w=write: w(d) for write in deeper)))()

    def _modifiers(self) -> str:
        words = ["export"] if self.chance(0.1) else []
        words += [word for word in ("private", "async") if self.chance(0.1)]
        return "".join(word + self.random.choice((" ", "  ", " /* m */ ")) for word in words)

    def _variable(self) -> str:
        out = self._modifiers() + self.random.choice(("let", "const")) + self.apart() + self.name()
        if self.chance(0.3):
            out += f"{self.space()}:{self.space()}{self.type()}"
        return out + (f"{self.space()}={self.loose()}{self.expression()}" if self.chance(0.9) else "")

    def _input(self) -> str:
        out = (
            "private " if self.chance(0.1) else ""
        ) + f"input {self.name()}{self.space()}:{self.space()}{self.type()}"
        out += f"{self.space()}={self.loose()}{self.expression(1)}" if self.chance(0.5) else ""
        return out + self._description()

    def _returns(self) -> str:
        return f"returns {self.random.choice(('text', 'number[]', '{a: text}', '3 | 4', 'json'))}"

    def _destructure(self) -> str:
        head = self._modifiers() + self.random.choice(("let", "const")) + self.apart()
        return f"{head}{self._any_pattern()}{self.space()}={self.loose()}{self.expression(2)}"

    def _any_pattern(self) -> str:
        if self.chance(0.3):
            return self.listed("[", "]", lambda: self.name() + (f"{self.space()}: text" if self.chance(0.2) else ""))
        return self._pattern(2)

    def _pattern(self, depth: int) -> str:
        def field() -> str:
            out = ("private " if self.chance(0.1) else "") + self.name()
            if depth > 0 and self.chance(0.2):
                out += f"{self.space()}:{self.space()}{self._pattern(depth - 1)}"
            elif self.chance(0.9):
                out += (
                    f"{self.space()}:{self.space()}{self.random.choice(('text', 'number[]', '{a: text}[]', '3 | 4'))}"
                )
            out += self._description()
            return out + (f"{self.space()}={self.gap()}{self.expression(1)}" if self.chance(0.15) else "")

        return self.listed("{", "}", field, by_line=True)

    def _assign(self) -> str:
        index = f"{self.space()}[{self.inside(lambda: self.gap() + self.expression(1) + self.gap())}]"
        target = self.name() + self.random.choice(("", "", ".name", index, f".model{index}"))
        sign = self.random.choice(("=", "=", "+=", "-=", "*=", "/=", "%="))
        return f"{target}{self.space()}{sign}{self.loose() or ' '}{self.expression()}"

    def _expression_statement(self) -> str:
        out = self.expression()
        return f"({out})" if out.lstrip().startswith(("{", "async", "type", "tool", "model", "test", "match")) else out

    def _asking(self) -> str:
        context = self.random.choice(("", "", " local", " model", " coder none"))
        head = self.random.choice(("const answer = ", "const private answer = ", "async "))
        return f"{head}{self.random.choice(('do', 'vibe'))} {self.text(1)}{context}"

    def _leaving(self) -> str:
        word = self.random.choice(("break", "continue", "return", "return ", "throw ", "yield "))
        return word + (self.expression(2) if word.endswith(" ") else "")

    def _import(self) -> str:
        def item() -> str:
            return self.name() + (f"{self.apart()}as{self.apart()}{self.name()}" if self.chance(0.3) else "")

        return f'import{self.space()}{self.listed("{", "}", item)}{self.space()}from{self.space()}"./lib.vibe"'

    def _type(self) -> str:
        head = ("export " if self.chance(0.2) else "") + "type" + self.random.choice((" ", "  ")) + self.name()
        if self.chance(0.5):
            return f"{head}{self.space()}{self.object_type(2)}"
        return f"{head}{self.space()}={self.space()}{'| ' if self.chance(0.1) else ''}{self.type()}"

    def _model(self) -> str:
        return f"model {self.name()}{self.space()}={self.space()}{self.object(1)}"

    def _if(self, depth: int) -> str:
        out = f"if{self.apart()}{self._condition(2)}{self.space()}{self.block(depth)}"
        while self.chance(0.3):
            out += (
                f"{self.loose()}else{self.apart()}if{self.apart()}{self._condition(1)}{self.space()}{self.block(depth)}"
            )
        return out + (f"{self.loose()}else{self.loose()}{self.block(depth)}" if self.chance(0.4) else "")

    def _condition(self, depth: int) -> str:
        # An object there would be read as the block.
        out = self.expression(depth)
        return f"({out})" if out.startswith("{") else out

    def _mode(self) -> str:
        if self.chance(0.6):
            return ""
        return self.space() + self.random.choice(
            ("verbose", "forget", "compress", 'compress ( "how" )', "compress(m)", "compress('how', m,)")
        )

    def _match(self, depth: int) -> str:
        def body() -> str:
            short = ("return", "return 1", "throw 'x'", "a = 1", "break", "yield a", "print(a)")
            return self.block(depth) if self.chance(0.5) else self.random.choice(short)

        return self.matching(body, ("a", "items"))

    def _for(self, depth: int) -> str:
        each = self._any_pattern() if self.chance(0.2) else self.name()
        if each[0] not in "[{" and self.chance(0.2):
            each += f"{self.space()},{self.space()}{self.name()}"
        head = f"for{self.apart()}{each}{self.apart()}in{self.apart()}{self._condition(2)}{self.space()}"
        return head + self._loop_body(depth, False) + self._mode()

    def _while(self, depth: int) -> str:
        return f"while{self.apart()}{self._condition(2)}{self.space()}{self._loop_body(depth, False)}{self._mode()}"

    def _try(self, depth: int) -> str:
        name = self.apart() + self.name() if self.chance(0.7) else ""
        first, second = self._loop_body(depth, False), self._loop_body(depth, False)
        last = f"{self.loose()}finally{self.space()}{self._loop_body(depth, False)}" if self.chance(0.3) else ""
        if last and self.chance(0.3):
            return f"try{self.space()}{first}{last}"
        return f"try{self.space()}{first}{self.loose()}catch{name}{self.space()}{second}{last}"

    def _parameters(self) -> str:
        def parameter() -> str:
            out = self.name()
            if self.chance(0.8):
                out += f"{self.space()}:{self.space()}{self.type(1)}{self._description()}"
            return out + (f"{self.space()}={self.gap()}{self.expression(1)}" if self.chance(0.2) else "")

        return self.listed(self.space() + "(", ")", parameter)

    def _head(self, word: str) -> str:
        head = ("export " if self.chance(0.2) else "") + word + self.random.choice((" ", "  ")) + self.name()
        returns = f"{self.space()}:{self.space()}{self.type(1)}" if self.chance(0.5) else ""
        return head + self._parameters() + returns

    def _body(self, depth: int) -> str:
        loops, self.loops = self.loops, 0
        out = self.block(depth)
        self.loops = loops
        return out

    def _function(self, depth: int) -> str:
        return f"{self._head('function')}{self.space()}{self._body(depth)}"

    def _tool(self, depth: int) -> str:
        head = self._head("tool")
        if self.chance(0.6):
            head += f"{self.loose()}@description{self.space()}{self.plain_text()}{self.loose()}"
        return f"{head}{self.space()}{self._body(depth)}"

    def _test(self, depth: int) -> str:
        return f"test {self.plain_text()}{self.space()}{self._body(depth)}"
