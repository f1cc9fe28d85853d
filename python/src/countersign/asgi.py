"""The gateway as ASGI middleware, for FastAPI and Starlette: ``app.add_middleware(AsgiGateway, gate=Gate(…))``."""

from __future__ import annotations

import asyncio
from typing import Any, Awaitable, Callable, Dict, List, Optional

from ._http import RawRequest
from .decision import Decision
from .gateway import MAX_BODY_BYTES, Gate
from .sessions import MAX_ANSWER_BYTES, Response
from .wsgi import merge_vary

Scope = Dict[str, Any]
Message = Dict[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
AsgiApp = Callable[[Scope, Receive, Send], Awaitable[None]]

#: Where the decision is in the scope of an admitted request.
DECISION_KEY = "countersign.decision"


class AsgiGateway:
    """Admits or refuses agents before the site sees their requests; WebSocket handshakes too.

    The decision on an admitted request is in ``scope["countersign.decision"]``.

    :param app: the site
    :param tls_terminated: whether clients reach a proxy in front of this server by https
    """

    def __init__(self, app: AsgiApp, gate: Gate, tls_terminated: bool = False) -> None:
        self._app = app
        self._gate = gate
        self._tls_terminated = tls_terminated

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] not in ("http", "websocket"):
            await self._app(scope, receive, send)
            return
        gate = self._gate
        request = self._request_of(scope)
        address = scope["client"][0] if scope.get("client") else None
        # In threads, because they may ask the service.
        loop = asyncio.get_running_loop()
        if scope["type"] == "http" and gate.is_sign_in(request):
            answer, _ = await _read_body(receive, MAX_ANSWER_BYTES)
            response = await loop.run_in_executor(None, gate.sign_in, request, answer, address)
            await _respond(scope, send, response)
            return
        decision = await loop.run_in_executor(None, gate.decide, request, address)
        if scope["type"] == "http" and gate.needs_body(decision):
            body, receive = await _read_body(receive, MAX_BODY_BYTES)
            if body is not None:
                decision = gate.check_body(decision, request, body)
        if decision.pending_approval is not None:
            decision = await loop.run_in_executor(None, gate.use_approval, decision, request)
        denial = gate.denial(decision, request)
        if denial is not None:
            await _refuse(scope, receive, send, denial)
            return
        headers = [
            (name, value)
            for name, value in scope["headers"]
            if not gate.is_identity_header(name.decode("latin-1"))
        ]
        headers += [
            (name.lower().encode("ascii"), value.encode("ascii"))
            for name, value in gate.forwarded_headers(decision)
        ]
        inner = {**scope, "headers": headers, DECISION_KEY: decision}
        await self._app(inner, receive, self._with_vary(send))

    def _request_of(self, scope: Scope) -> RawRequest:
        headers = [(name.decode("latin-1"), value.decode("latin-1")) for name, value in scope["headers"]]
        raw_path = scope.get("raw_path")
        # Without the path as sent, no signature counts: this is not a form that clients send.
        # Some clients for tests add the query to the path.
        path = raw_path.decode("latin-1").partition("?")[0] if raw_path else "/\\" + scope["path"]
        query = scope.get("query_string", b"").decode("latin-1")
        https = self._tls_terminated or scope.get("scheme") in ("https", "wss")
        return RawRequest(
            method=scope.get("method", "GET"),
            scheme="https" if https else "http",
            authority=next((value for name, value in headers if name.lower() == "host"), ""),
            target=path + (f"?{query}" if query else ""),
            headers=headers,
        )

    def _with_vary(self, send: Send) -> Send:
        async def send_with_vary(message: Message) -> None:
            if message["type"] == "http.response.start":
                texts = [
                    (name.decode("latin-1"), value.decode("latin-1"))
                    for name, value in message.get("headers", [])
                ]
                merged = merge_vary(texts, self._gate.vary)
                encoded = [(n.lower().encode("latin-1"), v.encode("latin-1")) for n, v in merged]
                message = {**message, "headers": encoded}
            await send(message)

        return send_with_vary


def agent_of(scope: Scope) -> Decision:
    """The gateway's decision on a request. In FastAPI and Starlette: ``agent_of(request.scope)``.

    :raises LookupError: if no gateway has decided on it
    """
    decision = scope.get(DECISION_KEY)
    if isinstance(decision, Decision):
        return decision
    raise LookupError("No gateway has decided on this request.")


async def _read_body(receive: Receive, limit: int) -> "tuple[Optional[bytes], Receive]":
    """The body, ``None`` if it is larger than the limit, and what the site receives in its place."""
    messages: List[Message] = []
    chunks: List[bytes] = []
    size = 0
    while True:
        message = await receive()
        messages.append(message)
        if message["type"] != "http.request":
            break
        chunks.append(message.get("body", b""))
        size += len(chunks[-1])
        if size > limit or not message.get("more_body", False):
            break

    async def replay() -> Message:
        return messages.pop(0) if messages else await receive()

    return (b"".join(chunks) if size <= limit else None), replay


async def _refuse(scope: Scope, receive: Receive, send: Send, denial: Response) -> None:
    if scope["type"] == "websocket":
        # Servers answer a handshake that is closed before it was accepted with 403.
        await receive()
        await send({"type": "websocket.close", "code": 1008})
        return
    await _respond(scope, send, denial)


async def _respond(scope: Scope, send: Send, response: Response) -> None:
    status, headers, body = response
    encoded = [(name.encode("ascii"), value.encode("utf-8")) for name, value in headers]
    encoded.append((b"content-length", str(len(body)).encode("ascii")))
    await send({"type": "http.response.start", "status": status, "headers": encoded})
    await send({"type": "http.response.body", "body": b"" if scope["method"] == "HEAD" else body})
