"""`antiphon fake`: local fake provider servers that cost nothing and enforce the real rules."""

from __future__ import annotations

import logging
import socket
from contextlib import suppress

import click

from antiphon.errors import ConfigurationError


@click.command()
@click.option(
    "--port", type=click.IntRange(0, 65535), default=8765, show_default=True, help="The port; 0 picks a free one."
)
@click.option("--host", default="127.0.0.1", show_default=True, help="The address to listen on.")
@click.option("--script", type=click.Path(), help="A JSON file with answers. [default: echo the prompt]")
def fake(port: int, host: str, script: str | None) -> None:
    """Serve fake Anthropic, OpenAI and Gemini APIs.

    They answer from a script, or echo the prompt. They reject what the real APIs reject, with the same
    messages.
    """
    from antiphon.fakes import Fake, echo, load_script
    from antiphon.fakes.fake import make_missing_library_error

    app = Fake(load_script(script) if script else echo).app
    try:
        import uvicorn
    except ImportError as error:
        raise make_missing_library_error(error) from None
    try:
        listener = socket.create_server((host, port))
    except OSError as error:
        raise ConfigurationError(f"cannot listen on {host}:{port}: {error.strerror or error}") from None
    url = f"http://{host}:{listener.getsockname()[1]}"
    server = uvicorn.Server(uvicorn.Config(app, lifespan="off", log_level="warning", timeout_graceful_shutdown=1))
    logging.getLogger("uvicorn.access").setLevel(logging.INFO)
    with suppress(KeyboardInterrupt):
        click.echo(f"Anthropic  {url}\nOpenAI     {url}/v1\nGemini     {url}\nAny key is accepted. Ctrl-C stops.")
        server.run(sockets=[listener])
