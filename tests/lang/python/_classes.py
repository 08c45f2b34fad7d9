import datetime as datetime


class Counter:
    step = 1

    def __init__(self, value: int) -> None:
        self.value = value

    @classmethod
    def started(cls, value: int) -> "Counter":
        return cls(value)

    def next(self) -> int:
        self.value += self.step
        return self.value
