"""Signs the requests of the package ``requests``: ``session.mount("https://", SigningAdapter(agent))``."""

from __future__ import annotations

from typing import Any, Optional, Union

import requests
from requests.adapters import HTTPAdapter

from .agent import Agent, challenge_nonce
from .errors import CountersignError


class SigningAdapter(HTTPAdapter):
    """Signs each request to the agent's audiences, each redirect anew. Other origins get neither a signature nor the
    identification header.

    If a response asks for it with a nonce in ``Accept-Signature``, the request is signed and sent once more.

    Mount it at ``https://``, and for an audience on loopback at ``http://``. Other arguments are those of ``HTTPAdapter``.
    """

    def __init__(self, agent: Agent, **settings: Any) -> None:
        self._agent = agent
        super().__init__(**settings)

    def send(self, request: requests.PreparedRequest, *args: Any, **named: Any) -> requests.Response:
        # A copy: requests makes redirects from the original, so they carry no signature of this request.
        response = super().send(self._signed(request.copy(), None), *args, **named)
        nonce = challenge_nonce(response.status_code, response.headers.get("accept-signature"))
        if nonce is None or not self._agent.signs_for(request.url or ""):
            return response
        response.close()
        return super().send(self._signed(request.copy(), nonce), *args, **named)

    def _signed(
        self, request: requests.PreparedRequest, nonce: Optional[str]
    ) -> requests.PreparedRequest:
        url, method = request.url or "", request.method or "GET"
        if not self._agent.signs_for(url):
            request.headers.pop(self._agent.id_header, None)
            return request
        body = request.body
        if isinstance(body, str):
            # Encoded here, so that the bytes that are signed are those that are sent.
            body = body.encode("utf-8")
            request.body = body
            request.prepare_content_length(body)
        if body is not None and not isinstance(body, bytes):
            raise CountersignError("INVALID_ARGUMENT", "A streamed body cannot be signed. Pass bytes.")
        headers = [(_text(name), _text(value)) for name, value in request.headers.items()]
        for name, value in self._agent.sign_request(method, url, headers, body, nonce):
            request.headers[name] = value
        return request


def _text(value: Union[str, bytes]) -> str:
    return value.decode("latin-1") if isinstance(value, bytes) else value


__all__ = ["SigningAdapter"]
