"""A request that a vendor refuses."""

from __future__ import annotations


class Refusal(Exception):
    """Carry the status, the words and the vendor's codes of a refused request."""

    def __init__(
        self, message: str, *, status: int = 400, kind: str = "invalid_request_error", param: str = "", code: str = ""
    ) -> None:
        super().__init__(message)
        self.message = message
        self.status = status
        self.kind = kind
        self.param = param
        self.code = code


def refuse_unless(condition: object, message: str, *, param: str = "", code: str = "") -> None:
    """Raise a Refusal unless the condition holds."""
    if not condition:
        raise Refusal(message, param=param, code=code)
