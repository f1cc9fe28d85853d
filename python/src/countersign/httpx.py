"""Signs the requests of the package ``httpx``: ``httpx.Client(transport=SigningTransport(agent))``, or
``httpx.AsyncClient(transport=AsyncSigningTransport(agent))``."""

from __future__ import annotations

from typing import Optional

import httpx

from .agent import Agent


class SigningTransport(httpx.BaseTransport):
    """Signs each request to the agent's audiences, each redirect anew. Other origins get neither a signature nor the
    identification header.

    :param transport: what sends the requests; by default ``httpx.HTTPTransport()``, which uses no proxy
    """

    def __init__(self, agent: Agent, transport: Optional[httpx.BaseTransport] = None) -> None:
        self._agent = agent
        self._transport = transport or httpx.HTTPTransport()

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        request.read()
        return self._transport.handle_request(_signed(self._agent, request))

    def close(self) -> None:
        self._transport.close()


class AsyncSigningTransport(httpx.AsyncBaseTransport):
    """As :class:`SigningTransport`, for ``httpx.AsyncClient``."""

    def __init__(self, agent: Agent, transport: Optional[httpx.AsyncBaseTransport] = None) -> None:
        self._agent = agent
        self._transport = transport or httpx.AsyncHTTPTransport()

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        await request.aread()
        return await self._transport.handle_async_request(_signed(self._agent, request))

    async def aclose(self) -> None:
        await self._transport.aclose()


def _signed(agent: Agent, request: httpx.Request) -> httpx.Request:
    """A copy: httpx makes redirects from the original, so they carry no signature of this request."""
    headers = httpx.Headers(request.headers)
    url = str(request.url)
    if agent.signs_for(url):
        given = [(name.decode("latin-1"), value.decode("latin-1")) for name, value in headers.raw]
        for name, value in agent.sign_request(request.method, url, given, request.content):
            headers[name] = value
    else:
        headers.pop(agent.id_header, None)
    return httpx.Request(
        request.method, url, headers=headers, stream=request.stream, extensions=request.extensions
    )


__all__ = ["AsyncSigningTransport", "SigningTransport"]
