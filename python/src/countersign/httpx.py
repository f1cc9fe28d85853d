"""Signs the requests of the package ``httpx``: ``httpx.Client(transport=SigningTransport(agent))``, or
``httpx.AsyncClient(transport=AsyncSigningTransport(agent))``."""

from __future__ import annotations

import inspect
import time
from typing import List, Optional, Tuple

import anyio.to_thread
import httpx

from ._sending import MAX_RETRY_AFTER, Again, Approvals, SigningAgent, again_after
from .approval_requests import ApprovalOptions


class SigningTransport(httpx.BaseTransport):
    """Signs each request to the agent's audiences, each redirect anew. Requests to other origins raise ``WRONG_AUDIENCE``, unless the
    agent's ``unlisted`` is ``plain``. If a response asks for it with ``Accept-Signature``, the request is signed and sent once
    more: with its nonce, else after its ``Retry-After``. Bodies, also streams, are in memory.

    :param transport: what sends the requests; by default ``httpx.HTTPTransport()``, which uses no proxy
    :param max_retry_after: the longest such wait, in seconds; if the site asks for more, you get its 503
    :param approval: if a site requires an approval by the owner, ask for one of this request, wait for the decision, and send the request
        once more. By default, you get the refusal. A token that you have goes into the header ``ServiceID-Approval``
    """

    def __init__(
        self,
        agent: SigningAgent,
        transport: Optional[httpx.BaseTransport] = None,
        max_retry_after: float = MAX_RETRY_AFTER,
        approval: Optional[ApprovalOptions] = None,
    ) -> None:
        self._agent = agent
        self._max_retry_after = max_retry_after
        self._approvals = Approvals(agent, approval)
        self._transport = transport or httpx.HTTPTransport()

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        request.read()
        token = _token(self._approvals, request)
        response = self._send(request, token)
        if not self._asks(request, token, response):
            return response
        pending = self._approvals.ask(*_question(request))
        if self._approvals.options.on_pending is not None:
            self._approvals.options.on_pending(pending)
        token = pending.wait()
        response = self._send(request, token)
        self._asks(request, token, response)
        return response

    def _asks(self, request: httpx.Request, token: Optional[str], response: httpx.Response) -> bool:
        if not _may_concern(self._approvals, request, token, response):
            return False
        return self._approvals.asks(token, response.status_code, response.read())

    def _send(self, request: httpx.Request, token: Optional[str]) -> httpx.Response:
        signed = _signed(self._agent, request, self._approvals.header, token, None)
        response = self._transport.handle_request(signed)
        again = _again(self._agent, signed, response, self._max_retry_after)
        if again is None:
            return response
        response.close()
        time.sleep(again.wait)
        return self._transport.handle_request(
            _signed(self._agent, request, self._approvals.header, token, again.nonce)
        )

    def close(self) -> None:
        self._transport.close()


class AsyncSigningTransport(httpx.AsyncBaseTransport):
    """As :class:`SigningTransport`, for ``httpx.AsyncClient``. ``on_pending`` may be a coroutine function."""

    def __init__(
        self,
        agent: SigningAgent,
        transport: Optional[httpx.AsyncBaseTransport] = None,
        max_retry_after: float = MAX_RETRY_AFTER,
        approval: Optional[ApprovalOptions] = None,
    ) -> None:
        self._agent = agent
        self._max_retry_after = max_retry_after
        self._approvals = Approvals(agent, approval)
        self._transport = transport or httpx.AsyncHTTPTransport()

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        await request.aread()
        if self._agent.signs_for(str(request.url)):
            # It may ask the service or for a chain, which would block the event loop.
            await anyio.to_thread.run_sync(self._agent.own_did)
        token = _token(self._approvals, request)
        response = await self._send(request, token)
        if not await self._asks(request, token, response):
            return response
        pending = await anyio.to_thread.run_sync(self._approvals.ask, *_question(request))
        if self._approvals.options.on_pending is not None:
            shown = self._approvals.options.on_pending(pending)
            if inspect.isawaitable(shown):
                await shown
        token = await anyio.to_thread.run_sync(pending.check)
        while token is None:
            await anyio.sleep(pending.poll_seconds)
            token = await anyio.to_thread.run_sync(pending.check)
        response = await self._send(request, token)
        await self._asks(request, token, response)
        return response

    async def _asks(self, request: httpx.Request, token: Optional[str], response: httpx.Response) -> bool:
        if not _may_concern(self._approvals, request, token, response):
            return False
        return self._approvals.asks(token, response.status_code, await response.aread())

    async def _send(self, request: httpx.Request, token: Optional[str]) -> httpx.Response:
        signed = _signed(self._agent, request, self._approvals.header, token, None)
        response = await self._transport.handle_async_request(signed)
        again = _again(self._agent, signed, response, self._max_retry_after)
        if again is None:
            return response
        await response.aclose()
        await anyio.sleep(again.wait)
        await anyio.to_thread.run_sync(self._agent.own_did)
        return await self._transport.handle_async_request(
            _signed(self._agent, request, self._approvals.header, token, again.nonce)
        )

    async def aclose(self) -> None:
        await self._transport.aclose()


def _again(
    agent: SigningAgent, request: httpx.Request, response: httpx.Response, max_retry_after: float
) -> Optional[Again]:
    url, status = str(request.url), response.status_code
    return again_after(agent, url, request.headers, status, response.headers, max_retry_after)


def _token(approvals: Approvals, request: httpx.Request) -> Optional[str]:
    """The approval that a request brings along."""
    token: Optional[str] = request.headers.get(approvals.header)
    return None if approvals.is_foreign(token, str(request.url)) else token


def _may_concern(
    approvals: Approvals, request: httpx.Request, token: Optional[str], response: httpx.Response
) -> bool:
    kind = response.headers.get("Content-Type")
    return approvals.may_concern(str(request.url), token, response.status_code, kind)


def _question(request: httpx.Request) -> Tuple[str, str, List[Tuple[str, str]], bytes]:
    return request.method, str(request.url), _headers(request.headers), request.content


def _headers(headers: httpx.Headers) -> List[Tuple[str, str]]:
    return [(name.decode("latin-1"), value.decode("latin-1")) for name, value in headers.raw]


def _signed(
    agent: SigningAgent, request: httpx.Request, header: str, approval: Optional[str], nonce: Optional[str]
) -> httpx.Request:
    """A copy: httpx makes redirects from the original, so they carry no signature of this request."""
    headers = httpx.Headers(request.headers)
    url = str(request.url)
    headers.pop(header, None)
    if approval is not None:
        headers[header] = approval
    if agent.signs_for(url):
        signed = agent.sign_request(request.method, url, _headers(headers), request.content, nonce)
        for name, value in signed:
            headers[name] = value
    else:
        agent.check_unlisted(url)
        headers.pop(agent.id_header, None)
    return httpx.Request(
        request.method, url, headers=headers, stream=request.stream, extensions=request.extensions
    )


__all__ = ["AsyncSigningTransport", "SigningTransport"]
