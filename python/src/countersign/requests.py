"""Signs the requests of the package ``requests``: ``session = signing_session(agent)``."""

from __future__ import annotations

import time
from typing import Any, Optional, Union

import requests
from requests.adapters import HTTPAdapter

from ._sending import MAX_RETRY_AFTER, Approvals, SigningAgent, again_after
from .approval_requests import ApprovalOptions
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
    :param approval: if a site requires an approval by the owner, ask for one of this request, wait for the decision, and send the request
        once more. By default, you get the refusal. A token that you have goes into the header ``ServiceID-Approval``
    """

    def __init__(
        self,
        agent: SigningAgent,
        max_retry_after: float = MAX_RETRY_AFTER,
        approval: Optional[ApprovalOptions] = None,
        **settings: Any,
    ) -> None:
        self._agent = agent
        self._max_retry_after = max_retry_after
        self._approvals = Approvals(agent, approval)
        super().__init__(**settings)

    def send(self, request: requests.PreparedRequest, *args: Any, **named: Any) -> requests.Response:
        response = self._send(request, *args, **named)
        if not self._asks(response):
            return response
        sent, url = response.request, request.url or ""
        headers = [(_text(name), _text(value)) for name, value in sent.headers.items()]
        body = sent.body if isinstance(sent.body, bytes) else None
        pending = self._approvals.ask(request.method or "GET", url, headers, body)
        if self._approvals.options.on_pending is not None:
            self._approvals.options.on_pending(pending)
        approved = request.copy()
        approved.headers[self._approvals.header] = pending.wait()
        response = self._send(approved, *args, **named)
        self._asks(response)
        return response

    def _asks(self, response: requests.Response) -> bool:
        """Whether to ask the owner."""
        sent, status = response.request, response.status_code
        token = sent.headers.get(self._approvals.header)
        kind = response.headers.get("Content-Type")
        if not self._approvals.may_concern(sent.url or "", token, status, kind):
            return False
        return self._approvals.asks(token, status, response.content)

    def _send(self, request: requests.PreparedRequest, *args: Any, **named: Any) -> requests.Response:
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
        if self._approvals.is_foreign(request.headers.get(self._approvals.header), url):
            del request.headers[self._approvals.header]
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
