"""The gateway as WSGI middleware, for Flask and Django: ``app.wsgi_app = WsgiGateway(app.wsgi_app, Gate(…))``."""

from __future__ import annotations

import io
import re
from http import HTTPStatus
from typing import Any, Callable, Dict, Iterable, List, Optional, Tuple
from urllib.parse import quote

from ._http import RawRequest
from .decision import Decision
from .gateway import MAX_BODY_BYTES, Gate
from .sessions import MAX_ANSWER_BYTES, Response

Environ = Dict[str, Any]
StartResponse = Callable[..., Any]
WsgiApp = Callable[[Environ, StartResponse], Iterable[bytes]]

#: Where the decision is in the environment of an admitted request.
DECISION_KEY = "countersign.decision"
_UNAMBIGUOUS = re.compile(r"[A-Za-z0-9/._~!$&'()*+,=:@-]*")


class WsgiGateway:
    """Admits or refuses agents before the site sees their requests.

    The decision on an admitted request is in ``environ["countersign.decision"]``.

    :param app: the site
    :param tls_terminated: whether clients reach a proxy in front of this server by https
    """

    def __init__(self, app: WsgiApp, gate: Gate, tls_terminated: bool = False) -> None:
        self._app = app
        self._gate = gate
        self._tls_terminated = tls_terminated

    def __call__(self, environ: Environ, start_response: StartResponse) -> Iterable[bytes]:
        gate = self._gate
        request = self._request_of(environ)
        if gate.is_sign_in(request):
            body = _read_body(environ, MAX_ANSWER_BYTES)
            answer = gate.sign_in(request, body, environ.get("REMOTE_ADDR"))
            return _respond(request, start_response, answer)
        decision = gate.decide(request, environ.get("REMOTE_ADDR"))
        if gate.needs_body(decision):
            body = _read_body(environ, MAX_BODY_BYTES)
            if body is not None:
                decision = gate.check_body(decision, request, body)
                environ["wsgi.input"] = io.BytesIO(body)
        decision = gate.use_approval(decision, request)
        for name in [each for each in environ if each.startswith("HTTP_")]:
            if gate.is_identity_header(name[5:]):
                del environ[name]
        for name, value in gate.forwarded_headers(decision):
            environ["HTTP_" + name.upper().replace("-", "_")] = value
        denial = gate.denial(decision, request)
        if denial is not None:
            return _respond(request, start_response, denial)
        environ[DECISION_KEY] = decision
        return self._app(environ, _with_vary(start_response, gate.vary))

    def _request_of(self, environ: Environ) -> RawRequest:
        https = self._tls_terminated or environ.get("wsgi.url_scheme") == "https"
        headers = [
            (name[5:].replace("_", "-"), str(value))
            for name, value in environ.items()
            if name.startswith("HTTP_")
        ]
        for name in ("CONTENT_TYPE", "CONTENT_LENGTH"):
            if environ.get(name) and not (name == "CONTENT_TYPE" and _is_default_type(environ)):
                headers.append((name.replace("_", "-"), environ[name]))
        return RawRequest(
            method=environ["REQUEST_METHOD"],
            scheme="https" if https else "http",
            authority=environ.get("HTTP_HOST", ""),
            target=_target_of(environ),
            headers=headers,
        )


def agent_of(environ: Environ) -> Decision:
    """The gateway's decision on a request. In Flask: ``agent_of(request.environ)``; in Django: ``agent_of(request.META)``.

    :raises LookupError: if no gateway has decided on it
    """
    decision = environ.get(DECISION_KEY)
    if isinstance(decision, Decision):
        return decision
    raise LookupError("No gateway has decided on this request.")


def _respond(
    request: RawRequest, start_response: StartResponse, response: Response
) -> Iterable[bytes]:
    status, headers, body = response
    fields = [*headers, ("content-length", str(len(body)))]
    start_response(f"{status} {HTTPStatus(status).phrase}", fields)
    return [b"" if request.method == "HEAD" else body]


def _target_of(environ: Environ) -> str:
    """The request target as sent. Servers decode the path, and only some give it as sent too."""
    raw = environ.get("RAW_URI") or environ.get("REQUEST_URI")
    if raw:
        return str(raw)
    query = str(environ.get("QUERY_STRING", ""))
    path = str(environ.get("SCRIPT_NAME", "")) + str(environ.get("PATH_INFO", ""))
    if _UNAMBIGUOUS.fullmatch(path) is None:
        # The form that was sent is not known, so no signature counts: this is not a form that clients send.
        path = "/\\" + quote(path, encoding="latin-1")
    return path + (f"?{query}" if query else "")


def _is_default_type(environ: Environ) -> bool:
    """wsgiref, and with it runserver of Django, adds a type to requests without one. The site sees the same in both cases, so
    an agent need not have signed it."""
    return (
        environ.get("CONTENT_TYPE") == "text/plain"
        and str(environ.get("SERVER_SOFTWARE", "")).startswith("WSGIServer/")
        and '"content-type"' not in environ.get("HTTP_SIGNATURE_INPUT", "")
    )


def _read_body(environ: Environ, limit: int) -> Optional[bytes]:
    """``None`` if the body is larger than the limit."""
    length = environ.get("CONTENT_LENGTH") or "0"
    if environ.get("HTTP_TRANSFER_ENCODING"):
        # Unless the server says that its input ends, reading on could wait for ever.
        if not environ.get("wsgi.input_terminated"):
            return None
        body: bytes = environ["wsgi.input"].read(limit + 1)
        if len(body) <= limit:
            return body
        environ["wsgi.input"] = _Joined(body, environ["wsgi.input"])
        return None
    if re.fullmatch("[0-9]{1,15}", length) is None or int(length) > limit:
        return None
    content: bytes = environ["wsgi.input"].read(int(length))
    return content


class _Joined(io.RawIOBase):
    """What was read of a stream, followed by the rest of it."""

    def __init__(self, head: bytes, rest: Any) -> None:
        self._head = io.BytesIO(head)
        self._rest = rest

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        data = self._head.read(len(buffer)) or self._rest.read(len(buffer))
        buffer[: len(data)] = data
        return len(data)


def _with_vary(start_response: StartResponse, names: str) -> StartResponse:
    def start(status: str, headers: List[Tuple[str, str]], *more: Any) -> Any:
        return start_response(status, merge_vary(headers, names), *more)

    return start


def merge_vary(headers: List[Tuple[str, str]], names: str) -> List[Tuple[str, str]]:
    """Adds names to the ``Vary`` of a response, without duplicates."""
    current = ", ".join(value for name, value in headers if name.lower() == "vary")
    present = [each.strip().lower() for each in current.split(",") if each.strip()]
    if "*" in present:
        return headers
    missing = [each for each in names.split(", ") if each.lower() not in present]
    value = ", ".join(([current] if current else []) + missing)
    return [each for each in headers if each[0].lower() != "vary"] + [("Vary", value)]
