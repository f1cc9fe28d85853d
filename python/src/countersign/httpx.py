"""Signs the requests of the package ``httpx``: ``httpx.Client(transport=SigningTransport(agent))``, or
``httpx.AsyncClient(transport=AsyncSigningTransport(agent))``."""

from __future__ import annotations

from typing import Optional

import anyio.to_thread
import httpx

from .agent import Agent, challenge_nonce


class SigningTransport(httpx.BaseTransport):
    """Signs each request to the agent's audiences, each redirect anew. Other origins get neither a signature nor the
    identification header. If a response asks for it with a nonce in ``Accept-Signature``, the request is signed and sent once
    more.

    :param transport: what sends the requests; by default ``httpx.HTTPTransport()``, which uses no proxy
    """

    def __init__(self, agent: Agent, transport: Optional[httpx.BaseTransport] = None) -> None:
        self._agent = agent
        self._transport = transport or httpx.HTTPTransport()

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        request.read()
        response = self._transport.handle_request(_signed(self._agent, request, None))
        nonce = _challenge_of(self._agent, request, response)
        if nonce is None:
            return response
        response.close()
        return self._transport.handle_request(_signed(self._agent, request, nonce))

    def close(self) -> None:
        self._transport.close()


class AsyncSigningTransport(httpx.AsyncBaseTransport):
    """As :class:`SigningTransport`, for ``httpx.AsyncClient``."""

    def __init__(self, agent: Agent, transport: Optional[httpx.AsyncBaseTransport] = None) -> None:
        self._agent = agent
        self._transport = transport or httpx.AsyncHTTPTransport()

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        await request.aread()
        if self._agent.signs_for(str(request.url)):
            # It may ask the service, which would block the event loop.
            await anyio.to_thread.run_sync(self._agent.own_did)
        response = await self._transport.handle_async_request(_signed(self._agent, request, None))
        nonce = _challenge_of(self._agent, request, response)
        if nonce is None:
            return response
        await response.aclose()
        return await self._transport.handle_async_request(_signed(self._agent, request, nonce))

    async def aclose(self) -> None:
        await self._transport.aclose()


def _challenge_of(agent: Agent, request: httpx.Request, response: httpx.Response) -> Optional[str]:
    nonce = challenge_nonce(response.status_code, response.headers.get("accept-signature"))
    return nonce if agent.signs_for(str(request.url)) else None


def _signed(agent: Agent, request: httpx.Request, nonce: Optional[str]) -> httpx.Request:
    """A copy: httpx makes redirects from the original, so they carry no signature of this request."""
    headers = httpx.Headers(request.headers)
    url = str(request.url)
    if agent.signs_for(url):
        given = [(name.decode("latin-1"), value.decode("latin-1")) for name, value in headers.raw]
        for name, value in agent.sign_request(request.method, url, given, request.content, nonce):
            headers[name] = value
    else:
        headers.pop(agent.id_header, None)
    return httpx.Request(
        request.method, url, headers=headers, stream=request.stream, extensions=request.extensions
    )


__all__ = ["AsyncSigningTransport", "SigningTransport"]
