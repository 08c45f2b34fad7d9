"""The token services of a fake: of Google, of a managed identity of Azure, and of a container at AWS."""

from __future__ import annotations

import time
from datetime import UTC, datetime
from urllib.parse import parse_qs

from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from antiphon.fakes.identity import FakeIdentity

_LIFETIME = 3600
_GRANT = "urn:ietf:params:oauth:grant-type:jwt-bearer"


def make_token_routes(identity: FakeIdentity) -> list[Route]:
    """Return the routes of all token services."""

    async def google(request: Request) -> Response:
        form = parse_qs((await request.body()).decode())
        claims = identity.read_signed((form.get("assertion") or [""])[0])
        if form.get("grant_type") != [_GRANT] or claims is None or claims["exp"] < time.time():
            return JSONResponse({"error": "invalid_grant", "error_description": "Invalid JWT Signature."}, 400)
        token = identity.issue_google_token(_LIFETIME)
        return JSONResponse({"access_token": token, "expires_in": _LIFETIME, "token_type": "Bearer"})

    async def entra(request: Request) -> Response:
        if request.headers.get("x-identity-header") != identity.header:
            return JSONResponse({"statusCode": 401, "message": "The identity header is missing or wrong."}, 401)
        resource = request.query_params.get("resource", "")
        token = identity.issue_entra_token(_LIFETIME, resource.rstrip("/"))
        expires = str(int(time.time()) + _LIFETIME)
        return JSONResponse(
            {"access_token": token, "expires_on": expires, "resource": resource, "token_type": "Bearer"}
        )

    async def aws(request: Request) -> Response:  # noqa: ARG001
        keys = identity.issue_aws_keys(_LIFETIME)
        return JSONResponse(
            {
                "AccessKeyId": keys.access_key,
                "SecretAccessKey": keys.secret_key,
                "Token": keys.token,
                "Expiration": datetime.fromtimestamp(keys.expires_at, UTC).isoformat(),
            }
        )

    return [
        Route("/google/token", google, methods=["POST"]),
        Route("/entra/token", entra, methods=["GET"]),
        Route("/aws/credentials", aws, methods=["GET"]),
    ]
