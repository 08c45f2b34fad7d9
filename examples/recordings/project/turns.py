"""Turns of a conversation."""


class AssistantTurn:
    """What the model said, with its calls and their results."""

    def __init__(self, text, calls=()):
        self.text = text
        self.calls = list(calls)
        self.results = {}

    def add_result(self, call_id, result):
        if call_id not in {call.id for call in self.calls}:
            raise KeyError(f"no call {call_id!r} is open")
        self.results[call_id] = result
