"""Signs the requests of the package ``requests``: ``session.auth = RequestsAuth(agent)``."""

from __future__ import annotations

from typing import Union

from requests import PreparedRequest
from requests.auth import AuthBase

from .agent import Agent


class RequestsAuth(AuthBase):
    """Signs each request to the agent's audiences. Requests to other origins stay unsigned.

    After a redirect within an origin, ``requests`` would send the signature of the first request; this removes it, and the
    site answers 401. Send such a request to its new address.
    """

    def __init__(self, agent: Agent) -> None:
        self._agent = agent

    def __call__(self, request: PreparedRequest) -> PreparedRequest:
        request.register_hook("response", self._remove_signature)
        if request.url is None or request.method is None or not self._agent.signs_for(request.url):
            return request
        headers = [(str(name), _text(value)) for name, value in request.headers.items()]
        body = request.body
        if body is not None and not isinstance(body, (bytes, str)):
            raise ValueError("A streamed body cannot be signed. Pass bytes.")
        data = body.encode("utf-8") if isinstance(body, str) else body
        for name, value in self._agent.sign_request(request.method, request.url, headers, data):
            request.headers[name] = value
        return request

    def _remove_signature(self, response, **_named):  # type: ignore[no-untyped-def]
        for name in ("Signature", "Signature-Input", "Signature-Agent", "Content-Digest"):
            response.request.headers.pop(name, None)
        return response


def _text(value: Union[str, bytes]) -> str:
    return value.decode("latin-1") if isinstance(value, bytes) else value
