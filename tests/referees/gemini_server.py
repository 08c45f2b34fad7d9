"""A server of Gemini's generateContent that keeps to its documentation of November 2026."""

from __future__ import annotations

import base64
import hashlib
import hmac
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from tests.referees.forms import choose_form
from tests.referees.gemini_checks import check_request, check_types
from tests.referees.gemini_tables import DUMMIES
from tests.referees.loopback import LoopbackServer, Reply
from tests.referees.prompts import render
from tests.referees.refusal import Refusal, refuse_unless
from tests.referees.script import Answer, Line

_SECRET = b"only this server can sign"
_STATUS = {
    400: "INVALID_ARGUMENT",
    401: "UNAUTHENTICATED",
    404: "NOT_FOUND",
    429: "RESOURCE_EXHAUSTED",
    503: "UNAVAILABLE",
}


class GeminiServer(LoopbackServer):
    """Serve `:generateContent` and `:streamGenerateContent`, with signed thoughts and continuation tokens."""

    def __init__(self, script: Iterable[Line] = ()) -> None:
        super().__init__(script)
        self._count = 0
        #: Continuation tokens: the request that each belongs to, its budget, and whether that was spent.
        self._tokens: dict[str, tuple[str, int, bool]] = {}

    @property
    def url(self) -> str:
        """Return the base address that clients take."""
        return self.root

    def word_error(self, refusal: Refusal) -> Mapping[str, Any]:
        status = _STATUS.get(refusal.status, "INTERNAL")
        return {"error": {"code": refusal.status, "message": refusal.message, "status": status}}

    def reply(self, path: str, headers: Mapping[str, str], body: dict[str, Any]) -> Reply:
        if not headers.get("x-goog-api-key"):
            raise Refusal("API key not valid. Please pass a valid API key.", status=401)
        start, _, rest = path.partition("/models/")
        refuse_unless(start in ("/v1", "/v1beta") and ":" in rest, f"no such path: {path}")
        called, method = rest.rsplit(":", 1)
        is_stream = method == "streamGenerateContent"
        name, model = check_request(called, body)
        check_types(body)
        if model["generation"] >= 3:
            _check_signers(body["contents"])
        self._check_token(body, model)
        self._note_prompt(name, body)
        answer = self.next_answer(body)
        reply = self._write_reply(name, model, body, answer)
        return Reply(reply, tuple(_stream(reply)) if is_stream else ())

    def _check_token(self, body: Mapping[str, Any], model: Mapping[str, Any]) -> None:
        token = body.get("continuationToken")
        if token is None:
            return
        refuse_unless(model["token"], "continuation_token is not supported on this model.")
        refuse_unless(token in self._tokens, "continuation_token is not valid or has expired.")
        request, budget, is_spent = self._tokens[token]
        refuse_unless(_hash_request(body) == request, "continuation_token belongs to a different request.")
        now = (body.get("generationConfig") or {}).get("maxOutputTokens") or 0
        words = "The token budget is spent: set a higher max_output_tokens to continue."
        refuse_unless(not is_spent or now > budget, words)

    def _note_prompt(self, name: str, body: Mapping[str, Any]) -> None:
        # It is not documented whether a response schema is part of the cached prefix; taken as one, to be safe.
        config = body.get("generationConfig") or {}
        form = config.get("responseJsonSchema") or config.get("responseSchema")
        pieces = [render(tool) for tool in body.get("tools") or ()]
        pieces += [render(body["systemInstruction"])] if body.get("systemInstruction") else []
        pieces += [render(form)]
        for content in body["contents"]:
            pieces += [content.get("role", "user") + render(part) for part in content["parts"]]
        first = next(
            (part["text"] for content in body["contents"] for part in content["parts"] if part.get("text")), ""
        )
        self.ledger.note(name, first, pieces)

    def _write_reply(
        self, name: str, model: Mapping[str, Any], body: Mapping[str, Any], answer: Answer
    ) -> dict[str, Any]:
        self._count += 1
        size = len(render(body)) // 4
        usage = {"promptTokenCount": size, "candidatesTokenCount": 20, "totalTokenCount": size + 20}
        reply: dict[str, Any] = {"usageMetadata": usage, "modelVersion": name, "responseId": f"r{self._count:04}"}
        if answer.stop.startswith("blocked:"):
            return {**reply, "promptFeedback": {"blockReason": answer.stop.split(":")[1]}}
        candidate: dict[str, Any] = {"index": 0, "finishReason": answer.stop or "STOP"}
        parts = self._write_parts(model, body, answer)
        if parts:
            candidate["content"] = {"role": "model", "parts": parts}
        if answer.stop in ("CONTINUATION", "MAX_TOKENS") and model["token"]:
            token = base64.b64encode(f"token {self._count}".encode()).decode()
            budget = (body.get("generationConfig") or {}).get("maxOutputTokens") or 65_536
            self._tokens[token] = (_hash_request(body), budget, answer.stop == "MAX_TOKENS")
            candidate["continuationToken"] = token
        return {**reply, "candidates": [{**candidate, **answer.extra}]}

    def _write_parts(self, model: Mapping[str, Any], body: Mapping[str, Any], answer: Answer) -> list[dict[str, Any]]:
        config = body.get("generationConfig") or {}
        text, calls = answer.text, [(call.name, call.args) for call in answer.calls]
        if answer.gives_value:
            form = config.get("responseJsonSchema") or _lower_types(config.get("responseSchema"))
            text, calls = choose_form(answer.value, form, _list_tools(body), _find_words(body["contents"]))
        signature = {"thoughtSignature": _sign(f"{self._count}")} if model["generation"] >= 3 else {}
        parts: list[dict[str, Any]] = []
        if (config.get("thinkingConfig") or {}).get("includeThoughts"):
            parts.append({"text": f"Thought {self._count}.", "thought": True})
        parts += [dict(block) for block in answer.blocks]
        if text:
            parts.append({"text": text, **({} if calls else signature)})
        for at, (called, args) in enumerate(calls):
            part: dict[str, Any] = {
                "functionCall": {"name": called, "args": dict(args), "id": f"f{self._count:04}{at}"}
            }
            parts.append({**part, **(signature if at == 0 else {})})
        return parts


def _check_signers(contents: list[Any]) -> None:
    for content in contents:
        for part in content["parts"]:
            signature = part.get("thoughtSignature")
            if signature is not None and signature not in DUMMIES:
                refuse_unless(_is_ours(signature), "Thought signature is not valid")


def _sign(claim: str) -> str:
    mark = hmac.new(_SECRET, claim.encode(), "sha256").hexdigest()
    return base64.b64encode(f"{claim}:{mark}".encode()).decode()


def _is_ours(signature: str) -> bool:
    try:
        claim, mark = base64.urlsafe_b64decode(signature.replace("+", "-").replace("/", "_")).decode().split(":")
    except ValueError:
        return False
    return hmac.compare_digest(hmac.new(_SECRET, claim.encode(), "sha256").hexdigest(), mark)


def _hash_request(body: Mapping[str, Any]) -> str:
    """Hash a request without its token and its budget, which alone may differ from hop to hop."""
    config = {k: v for k, v in (body.get("generationConfig") or {}).items() if k != "maxOutputTokens"}
    rest = {k: v for k, v in body.items() if k not in ("continuationToken", "generationConfig")}
    return hashlib.sha256(render([rest, config]).encode()).hexdigest()


def _lower_types(schema: Any) -> Any:
    if isinstance(schema, list):
        return [_lower_types(each) for each in schema]
    if not isinstance(schema, Mapping):
        return schema
    return {k: v.lower() if k == "type" and isinstance(v, str) else _lower_types(v) for k, v in schema.items()}


def _list_tools(body: Mapping[str, Any]) -> dict[str, Mapping[str, Any]]:
    functions = [each for tool in body.get("tools") or () for each in tool.get("functionDeclarations") or ()]
    return {
        each["name"]: each.get("parametersJsonSchema") or _lower_types(each.get("parameters")) or {}
        for each in functions
    }


def _find_words(contents: list[Any]) -> str:
    return "\n".join(p["text"] for c in contents if c.get("role") != "model" for p in c["parts"] if p.get("text"))


def _stream(reply: Mapping[str, Any]) -> Iterator[tuple[str, Mapping[str, Any]]]:
    candidates = reply.get("candidates")
    if not candidates:
        yield "", reply
        return
    last = {k: v for k, v in candidates[0].items() if k != "content"}
    base = {k: v for k, v in reply.items() if k != "candidates"}

    def chunk(parts: list[Any], **more: Any) -> tuple[str, Mapping[str, Any]]:
        return "", {**base, "candidates": [{"index": 0, "content": {"role": "model", "parts": parts}, **more}]}

    late: list[Any] = []
    for part in (candidates[0].get("content") or {}).get("parts") or ():
        text = part.get("text")
        if text and not part.get("thought"):
            for piece in (text[: len(text) // 2], text[len(text) // 2 :]):
                if piece:
                    yield chunk([{"text": piece}])
            if "thoughtSignature" in part:  # It may come late, on an empty text.
                late = [{"text": "", "thoughtSignature": part["thoughtSignature"]}]
        else:
            yield chunk([part])
    if late:
        yield chunk(late, **last)
    else:
        yield "", {**base, "candidates": [last]}
