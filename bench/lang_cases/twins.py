"""The cases of bench/lang.py as one writes them in Python."""

from __future__ import annotations

import functools
import json
import math
from typing import Any


def arithmetic(n: int) -> int:
    total = 0
    i = 0
    while i < n:
        total = total + i * 2 - 1
        if i % 3 == 0:
            total += 1
        i += 1
    return total


def twice(x: int) -> int:
    return x + x


def calls(n: int) -> int:
    total = 0
    for i in range(n):
        total = twice(i) + total
    return total


def strings(n: int) -> int:
    s = ""
    for i in range(n):
        s += f"item {i}, "
    return len(s)


def arrays(n: int) -> int:
    xs: list[int] = []
    for i in range(n):
        xs.append(i)
    total = 0
    for x in xs:
        total += x
    return total + xs[5]


def fib(n: int) -> int:
    if n < 2:
        return n
    return fib(n - 1) + fib(n - 2)


def members(n: int) -> int:
    p = {"x": 0, "y": 1}
    for _ in range(n):
        p["x"] = p["x"] + p["y"]
    return p["x"]


def ranges(n: int) -> int:
    total = 0
    for i in range(1, n + 1):
        for j in range(3):
            total += i * j
    return total


def level(n: int) -> str:
    return "low" if n % 3 == 0 else "mid" if n % 3 == 1 else "high"


def matchLiterals(n: int) -> int:
    levels = [level(i) for i in range(3)]
    total = 0
    for i in range(n):
        one = levels[i % 3]
        match one:
            case "low":
                total += 1
            case "mid":
                total += 2
            case _:
                total += 3
        match one:
            case "low" | "mid":
                total += 1
            case _:
                total += 2
    return total


def matchTypes(n: int) -> int:
    mixed: list[int | str | None] = [1, "two", None]
    total = 0
    for i in range(n):
        one = mixed[i % 3]
        if isinstance(one, (int, float)):
            total += one
        elif isinstance(one, str):
            total += len(one)
    return total


def shapes() -> list[Any]:
    return [{"kind": "circle", "radius": 2}, {"kind": "square", "side": 3}]


def matchShapes(n: int) -> int:
    found = shapes()
    total = 0
    for i in range(n):
        shape = found[i % 2]
        if shape["kind"] == "circle":
            total += shape["radius"] * 3
        else:
            total += shape["side"] * shape["side"]
    return total


def isNumber(n: int) -> int:
    mixed: list[int | str] = [1, "two"]
    total = 0
    for i in range(n):
        one = mixed[i % 2]
        if isinstance(one, (int, float)):
            total += one
    return total


def isShape(n: int) -> int:
    found = [*shapes(), None]
    total = 0
    for i in range(n):
        shape = found[i % 3]
        if shape is not None and shape["kind"] == "circle":
            total += shape["radius"]
    return total


def missing(n: int) -> int:
    friend = {"name": "Ben", "nick": "benny"}
    users: list[Any] = [{"name": "Ada", "friend": friend}, {"name": "Cleo"}, None]
    total = 0
    for i in range(n):
        user = users[i % 3]
        total += len(user["name"] if user is not None else "nobody")
        other = user.get("friend") if user is not None else None
        total += len(other.get("nick", "") if other is not None else "")
    return total


def maps(n: int) -> int:
    counts: dict[str, int] = {}
    words = [f"word {i}" for i in range(100)]
    for i in range(n):
        word = words[i % 100]
        counts[word] = counts.get(word, 0) + 1
    for word in words:
        counts[word] += 1
    total = 0
    for _ in range(n // 100):
        for key, value in counts.items():
            if key in counts:
                total += value + counts.get(key, 0)
    return total


def mapNamed(n: int) -> int:
    return len([twice(x) for x in range(1, n + 1)])


def mapCall(n: int) -> int:
    return len([twice(x) for x in range(1, n + 1)])


def mapLambda(n: int) -> int:
    return len([x * 2 + 1 for x in range(1, n + 1)])


def isOdd(x: int) -> bool:
    return x % 2 == 1


def filterNamed(n: int) -> int:
    return len([x for x in range(1, n + 1) if isOdd(x)])


def filterLambda(n: int) -> int:
    return len([x for x in range(1, n + 1) if x % 2 == 1])


def reduceLambda(n: int) -> int:
    return functools.reduce(lambda sum, x: sum + x, range(1, n + 1), 0)


def plus(a: int, b: int) -> int:
    return a + b


def reduceNamed(n: int) -> int:
    return functools.reduce(plus, range(1, n + 1), 0)


def sortByNumber(n: int) -> int:
    points = [{"x": i * 7919 % 10007, "y": i} for i in range(1, n + 1)]
    ordered = sorted(points, key=lambda p: p["x"])
    return ordered[0]["x"]


def last(word: str) -> str:
    return word[-1]


def sortByText(n: int) -> int:
    words = [f"word {i}" for i in range(1, n + 1)]
    return len(sorted(words, key=last)[0])


def sorting(n: int) -> int:
    xs = [i * 7919 % 10007 for i in range(1, n + 1)]
    xs.sort()
    return xs[0] + sum(xs) + max(xs) + min(xs) + len(list(dict.fromkeys(xs)))


def searching(n: int) -> int:
    total = 0
    names = ["Ada", "Ben", "Cleo", "Dora"]
    for _ in range(n):
        if "Cleo" in names:
            total += names.index("Dora")
    return total


def textMethods(n: int) -> int:
    total = 0
    for i in range(n):
        parts = f"a, b ,c,{i}".split(",")
        total += len(parts[1].strip().upper())
        if "+" in "x-y".replace("-", "+"):
            total += len(parts) + "a-b".find("b")
    return total


def slices(n: int) -> int:
    total = 0
    s = "hello world"
    for _ in range(n):
        total += len(s[1:5]) + len(s[2:4])
    return total


def numbers(n: int) -> int:
    total = 0
    for i in range(n):
        total += math.floor(i * 1.5) + i // 2 + int("12")
    return total


def spreads(n: int) -> int:
    p = {"x": 0, "y": 1}
    for i in range(n):
        p = {**p, "x": i}
    return p["x"]


def records(n: int) -> int:
    total = 0
    for i in range(n):
        p = {"x": i, "y": 2}
        x, y = p["x"], p["y"]
        a, b = [x, y]
        total += a + b
    return total


def changes(n: int) -> int:
    p = {"x": 0, "y": 1}
    xs = [1, 2, 3]
    for i in range(n):
        p["x"] += p["y"]
        xs[i % 3] += 1
    return p["x"] + xs[0]


def nested(n: int) -> int:
    grid: list[list[int]] = []
    for y in range(10):
        row: list[int] = []
        for x in range(10):
            row.append(x * y)
        grid.append(row)
    total = 0
    round = 0
    while round < n // 100:
        y = 0
        while y < 10:
            for x in range(10):
                total += grid[y][x]
            y += 1
        round += 1
    return total


def pairs(n: int) -> int:
    total = 0
    points = [{"x": i, "y": 1} for i in range(1, 101)]
    for _ in range(n // 100):
        for point in points:
            x, y = point["x"], point["y"]
            total += x + y
    return total


def quotients(n: int) -> int:
    total: float = 0
    for i in range(1, n + 1):
        total += n / i + i % 7 + n % i
    return math.floor(total)


def steps(start: int) -> int:
    x = start
    count = 0
    while x > 1:
        x = x // 2 if x % 2 == 0 else 3 * x + 1
        count += 1
    return count


def collatz(n: int) -> int:
    longest = 0
    for i in range(1, n // 20 + 1):
        found = steps(i)
        longest = found if found > longest else longest
    return longest


def divisor(a: int, b: int) -> int:
    return a if b == 0 else divisor(b, a % b)


def remainders(n: int) -> int:
    total = 0
    for i in range(1, n // 5 + 1):
        total += divisor(i, 360)
    return total


def halving(n: int) -> int:
    total = 0.0
    for i in range(1, n // 10 + 1):
        guess = i / 2
        for _ in range(5):
            guess = (guess + i / guess) / 2
        total += guess
    return math.floor(total + 0.5)


def rounding(n: int) -> int:
    total = 0
    for i in range(n):
        total += len(f"{i / 7:.2f}") + math.floor(i * 0.37 + 0.5) + math.ceil(i**0.5)
    return total


def checked(i: int) -> int:
    if i % 2 == 0:
        raise ValueError(f"even: {i}")
    return i


def thrown(n: int) -> int:
    total = 0
    for i in range(n):
        try:
            total += checked(i)
        except ValueError as error:
            total += len(str(error))
    return total


def quick(xs: list[int]) -> list[int]:
    if len(xs) < 2:
        return xs
    pivot = xs[0]
    rest = xs[1:]
    return [*quick([x for x in rest if x < pivot]), pivot, *quick([x for x in rest if x >= pivot])]


def quicksort(n: int) -> int:
    xs = [i * 7919 % 10007 for i in range(1, n // 10 + 1)]
    return quick(xs)[10]


def looking(n: int) -> int:
    xs = [3, 5, 7, 11]
    total = 0
    for i in range(n):
        if i % 12 in xs:
            total += len(xs[::-1]) + len([*xs, i])
    return total


def fields(n: int) -> int:
    p = {"x": 0, "y": 1}
    total = 0
    for i in range(n):
        p = {**p, "y": i}
        total += len(list(p))
        for key, _ in p.items():
            total += len(key)
    return total


def parsed(n: int) -> float:
    rows = json.loads('[{"id": 1, "price": 2.5}, {"id": 2, "price": 3}]')
    total = 0.0
    for _ in range(n // 2):
        for row in rows:
            ident = row["id"]
            price = row["price"]
            total += ident * price
    return total
