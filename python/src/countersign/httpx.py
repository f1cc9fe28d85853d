"""Signs the requests of the package ``httpx``: ``httpx.Client(transport=SigningTransport(agent))``, or
``httpx.AsyncClient(transport=AsyncSigningTransport(agent))``."""

from __future__ import annotations

import time
from typing import Optional

import anyio.to_thread
import httpx

from ._sending import MAX_RETRY_AFTER, Again, SigningAgent, again_after


class SigningTransport(httpx.BaseTransport):
    """Signs each request to the agent's audiences, each redirect anew. Requests to other origins raise ``WRONG_AUDIENCE``, unless the
    agent's ``unlisted`` is ``plain``. If a response asks for it with ``Accept-Signature``, the request is signed and sent once
    more: with its nonce, else after its ``Retry-After``. Bodies, also streams, are in memory.

    :param transport: what sends the requests; by default ``httpx.HTTPTransport()``, which uses no proxy
    :param max_retry_after: the longest such wait, in seconds; if the site asks for more, you get its 503
    """

    def __init__(
        self,
        agent: SigningAgent,
        transport: Optional[httpx.BaseTransport] = None,
        max_retry_after: float = MAX_RETRY_AFTER,
    ) -> None:
        self._agent = agent
        self._max_retry_after = max_retry_after
        self._transport = transport or httpx.HTTPTransport()

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        request.read()
        signed = _signed(self._agent, request, None)
        response = self._transport.handle_request(signed)
        again = _again(self._agent, signed, response, self._max_retry_after)
        if again is None:
            return response
        response.close()
        time.sleep(again.wait)
        return self._transport.handle_request(_signed(self._agent, request, again.nonce))

    def close(self) -> None:
        self._transport.close()


class AsyncSigningTransport(httpx.AsyncBaseTransport):
    """As :class:`SigningTransport`, for ``httpx.AsyncClient``."""

    def __init__(
        self,
        agent: SigningAgent,
        transport: Optional[httpx.AsyncBaseTransport] = None,
        max_retry_after: float = MAX_RETRY_AFTER,
    ) -> None:
        self._agent = agent
        self._max_retry_after = max_retry_after
        self._transport = transport or httpx.AsyncHTTPTransport()

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        await request.aread()
        if self._agent.signs_for(str(request.url)):
            # It may ask the service or for a chain, which would block the event loop.
            await anyio.to_thread.run_sync(self._agent.own_did)
        signed = _signed(self._agent, request, None)
        response = await self._transport.handle_async_request(signed)
        again = _again(self._agent, signed, response, self._max_retry_after)
        if again is None:
            return response
        await response.aclose()
        await anyio.sleep(again.wait)
        await anyio.to_thread.run_sync(self._agent.own_did)
        return await self._transport.handle_async_request(_signed(self._agent, request, again.nonce))

    async def aclose(self) -> None:
        await self._transport.aclose()


def _again(
    agent: SigningAgent, request: httpx.Request, response: httpx.Response, max_retry_after: float
) -> Optional[Again]:
    url, status = str(request.url), response.status_code
    return again_after(agent, url, request.headers, status, response.headers, max_retry_after)


def _signed(agent: SigningAgent, request: httpx.Request, nonce: Optional[str]) -> httpx.Request:
    """A copy: httpx makes redirects from the original, so they carry no signature of this request."""
    headers = httpx.Headers(request.headers)
    url = str(request.url)
    if agent.signs_for(url):
        given = [(name.decode("latin-1"), value.decode("latin-1")) for name, value in headers.raw]
        for name, value in agent.sign_request(request.method, url, given, request.content, nonce):
            headers[name] = value
    else:
        agent.check_unlisted(url)
        headers.pop(agent.id_header, None)
    return httpx.Request(
        request.method, url, headers=headers, stream=request.stream, extensions=request.extensions
    )


__all__ = ["AsyncSigningTransport", "SigningTransport"]
