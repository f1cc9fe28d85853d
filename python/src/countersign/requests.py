"""Signs the requests of the package ``requests``: ``session = signing_session(agent)``."""

from __future__ import annotations

import time
from typing import Any, Optional, Union

import requests
from requests.adapters import HTTPAdapter

from ._sending import MAX_RETRY_AFTER, SigningAgent, again_after
from .errors import CountersignError


def signing_session(agent: SigningAgent, **settings: Any) -> requests.Session:
    """A session that signs its requests: a ``SigningAdapter`` at ``https://`` and, for audiences on loopback, at ``http://``.

    :param settings: those of ``SigningAdapter``
    """
    session = requests.Session()
    for scheme in ("https://", "http://"):
        session.mount(scheme, SigningAdapter(agent, **settings))
    return session


class SigningAdapter(HTTPAdapter):
    """Signs each request to the agent's audiences, each redirect anew. Requests to other origins raise ``WRONG_AUDIENCE``, unless the
    agent's ``unlisted`` is ``plain``.

    If a response asks for it with ``Accept-Signature``, the request is signed and sent once more: with its nonce, else after its
    ``Retry-After``. A streamed body cannot be signed: pass bytes.

    :func:`signing_session` mounts it at ``https://`` and ``http://``. Other arguments are those of ``HTTPAdapter``.

    :param max_retry_after: the longest such wait, in seconds; if the site asks for more, you get its 503
    """

    def __init__(self, agent: SigningAgent, max_retry_after: float = MAX_RETRY_AFTER, **settings: Any) -> None:
        self._agent = agent
        self._max_retry_after = max_retry_after
        super().__init__(**settings)

    def send(self, request: requests.PreparedRequest, *args: Any, **named: Any) -> requests.Response:
        # A copy: requests makes redirects from the original, so they carry no signature of this request.
        signed = self._signed(request.copy(), None)
        response = super().send(signed, *args, **named)
        again = again_after(
            self._agent,
            request.url or "",
            signed.headers,
            response.status_code,
            response.headers,
            self._max_retry_after,
        )
        if again is None:
            return response
        response.close()
        time.sleep(again.wait)
        return super().send(self._signed(request.copy(), again.nonce), *args, **named)

    def _signed(
        self, request: requests.PreparedRequest, nonce: Optional[str]
    ) -> requests.PreparedRequest:
        url, method = request.url or "", request.method or "GET"
        if not self._agent.signs_for(url):
            self._agent.check_unlisted(url)
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


__all__ = ["SigningAdapter", "signing_session"]
