"""A client of a Countersign service: what it says about agents."""

from __future__ import annotations

import json
import re
import socket
import time
import urllib.error
import urllib.request
from typing import Any, Callable, Dict, Mapping, Optional, Tuple, Union, cast
from urllib.parse import quote

from ._bounded_map import BoundedMap
from ._chains import ProvenChains
from ._issuer_data import IssuerData
from ._jws import parse_jws
from ._naming import Naming
from ._urls import is_origin
from .approvals import read_approval
from .certificates import VerifiedCertificate, _with_status, verify_with_keys
from .errors import CountersignError
from .results import AgentKeys, AgentObject, Card, Grade, Lookup, Verification

_MAX_BYTES = 1024 * 1024
# Agents whose key sequence is remembered.
_MAX_AGENTS = 10_000
_JWT = re.compile(r"[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+")


class Registry:
    """A Countersign service.

    :param service: its origin, such as ``https://id.example``
    :param short_name: in DIDs (``svc:agent:…``), if the service has another one
    :param id_header: the identification header, if the service has another one
    :param timeout: of a call, in seconds
    :raises CountersignError: ``INVALID_ARGUMENT``
    """

    def __init__(
        self,
        service: str,
        short_name: str = "svc",
        id_header: str = "ServiceID",
        timeout: float = 15.0,
    ) -> None:
        self.service = service[:-1] if service.endswith("/") else service
        if not is_origin(self.service):
            raise CountersignError(
                "INVALID_ARGUMENT",
                "The address of the service must be an origin, such as https://id.example.",
            )
        try:
            self.naming = Naming(short_name, id_header)
        except ValueError as cause:
            raise CountersignError("INVALID_ARGUMENT", f"naming: {cause}.") from cause
        self.timeout = timeout
        self._key_sequences: "BoundedMap[str, int]" = BoundedMap(_MAX_AGENTS)
        self._issuer_data = IssuerData(lambda path, accept: self._send("GET", path, accept)[0])
        self.proven_chains = ProvenChains()

    def lookup(self, agent: str) -> Lookup:
        """The certificate of an agent and how its owner is verified (contract 4.1).

        :param agent: a DID, its tail, or a public key in base64
        :raises CountersignError: ``NOT_FOUND``, ``VALIDATION_ERROR``, ``NETWORK``
        """
        return cast(Lookup, self.call("GET", f"/api/v1/agent/{quote(agent, safe='')}"))

    def agent(self, agent: str) -> AgentObject:
        """The agent object: name, status, current key, channels (contract 4.7). Errors as :meth:`lookup`."""
        return cast(AgentObject, self._read(f"/api/agents/{quote(agent, safe='')}"))

    def card(self, agent: str) -> Card:
        """The agent card (contract 2.4). Errors as :meth:`lookup`."""
        return cast(Card, self._read(f"/api/agents/{quote(agent, safe='')}/card"))

    def grade(self, agent: str) -> Grade:
        """The grade and the evidence that it rests on. Errors as :meth:`lookup`."""
        return cast(Grade, self._read(f"/api/agents/{quote(agent, safe='')}/grade"))

    def keys(self, agent: str) -> AgentKeys:
        """The keys of an agent, former and current, and its pending recovery. Errors as :meth:`lookup`."""
        return cast(AgentKeys, self._read(f"/api/v1/agent/{quote(agent, safe='')}/keys"))

    def certificate(self, agent: str) -> str:
        """The signed certificate of an active agent: a JWT for ``verify_certificate``. Errors as :meth:`lookup`;
        the service's error if the agent is not active."""
        answer, status = self._send("GET", f"/api/v1/agent/{quote(agent, safe='')}/certificate", "application/jwt")
        text = answer.decode("ascii", "replace").strip()
        if _JWT.fullmatch(text) is None:
            raise CountersignError("PROTOCOL", "The response is not that of a Countersign service.", status)
        return text

    def verify_certificate(
        self,
        token: str,
        max_age_seconds: Optional[float] = None,
        issuer: Optional[str] = None,
        now: Callable[[], float] = time.time,
    ) -> VerifiedCertificate:
        """Verifies a certificate of this service that somebody has sent, with keys that are at most a minute old. Certificates are
        public: one proves nothing about who sends it.

        :param max_age_seconds: how old the status list may be; a shared cache in front of the service adds its own time. By default
            what the list says
        :param issuer: the public address of the service, if this object uses an internal one
        :param now: the clock, in Unix seconds
        :raises CountersignError: ``INVALID_TOKEN``, ``CERTIFICATE_REVOKED``, ``CERTIFICATE_SUSPENDED``; ``ISSUER_UNAVAILABLE``
        """
        origin = issuer or self.service
        jws = parse_jws(token, "certificate")
        # Nothing is fetched for a token that is refused anyway.
        keys = {} if jws.payload.get("iss") != origin else self._issuer_data.keys(jws.kid)
        certificate = verify_with_keys(token, origin, keys, now())
        uri = certificate.status_list[0]
        return _with_status(certificate, self._issuer_data.status_list(origin, uri, max_age_seconds, now()))

    def verify_approval(
        self, token: str, issuer: Optional[str] = None, now: Callable[[], float] = time.time
    ) -> Mapping[str, Any]:
        """The claims of an approval by the owner of an agent of this service. It may have expired: ``verify_request`` compares all of it
        with the request.

        :raises CountersignError: ``INVALID_TOKEN``; ``ISSUER_UNAVAILABLE``
        """
        return read_approval(token, self.naming, issuer or self.service, self._issuer_data.keys, now())

    def verify(
        self, public_key: str, challenge: str, signature: str, did: Optional[str] = None
    ) -> Verification:
        """Verifies an answer to a challenge (contract 4.3).

        :param public_key: 32 bytes in base64
        :param challenge: the text that the agent was sent
        :param signature: 64 bytes in base64
        :param did: the DID that the agent says it has, to be compared
        :raises CountersignError: ``INVALID_SIGNATURE``, ``NOT_FOUND``, ``VALIDATION_ERROR``, ``NETWORK``
        """
        body = {"publicKey": public_key, "challenge": challenge, "signature": signature}
        if did is not None:
            body[self.naming.did_field] = did
        answer = self.call("POST", "/api/v1/agent/verify", body)
        agent = answer.get("agent")
        if isinstance(agent, dict):
            answer = {**answer, "agent": self.with_did(agent)}
        return cast(Verification, answer)

    def with_did(self, answer: Dict[str, Any]) -> Dict[str, Any]:
        """An answer with the DID as ``did``, whatever the short name of the service."""
        field = self.naming.did_field
        return {**answer, "did": answer[field]} if field in answer else answer

    def _read(self, path: str) -> Dict[str, Any]:
        return self.with_did(self.call("GET", path))

    def record_key_sequence(self, did: str, sequence: int) -> bool:
        """Records the number of an agent's key. ``False`` if this object has seen a higher one: what has the lower number is
        outdated, such as a session from before a change of the key, or the response of a stale cache."""
        last = self._key_sequences.get(did) or 0
        self._key_sequences.set(did, max(last, sequence))
        return sequence >= last

    def call(
        self,
        method: str,
        path: str,
        body: Union[Mapping[str, Any], bytes, None] = None,
        headers: Optional[Mapping[str, str]] = None,
    ) -> Dict[str, Any]:
        """Sends a request to the service and returns the JSON object of its response.

        :param body: JSON; as bytes if an agent has signed it
        :raises CountersignError: the error that the service reports; ``NETWORK``; ``PROTOCOL``
        """
        answer, status = self._send(method, path, "application/json", body, headers)
        return _object_in(answer, status)

    def _send(
        self,
        method: str,
        path: str,
        accept: str,
        body: Union[Mapping[str, Any], bytes, None] = None,
        further: Optional[Mapping[str, str]] = None,
    ) -> Tuple[bytes, int]:
        data = body if body is None or isinstance(body, bytes) else json.dumps(body, ensure_ascii=False).encode("utf-8")
        headers = {"Accept": accept, "User-Agent": "countersign-python", **(further or {})}
        if data is not None:
            headers["Content-Type"] = "application/json"
        request = urllib.request.Request(self.service + path, data, headers, method=method)
        try:
            with _opener.open(request, timeout=self.timeout) as response:
                return response.read(_MAX_BYTES + 1), response.status
        except urllib.error.HTTPError as answer:
            with answer:
                raise _reported(answer.read(_MAX_BYTES), answer.code, answer.headers.get("Location")) from None
        except (urllib.error.URLError, socket.timeout, OSError) as cause:
            raise CountersignError("NETWORK", f"{self.service} did not answer: {cause}") from cause


class _NoRedirects(urllib.request.HTTPRedirectHandler):
    """A service does not redirect its API, so a redirect comes from somebody else."""

    def redirect_request(self, *_args: Any, **_named: Any) -> None:
        return None


_opener = urllib.request.build_opener(_NoRedirects)


def _object_in(data: bytes, status: int) -> Dict[str, Any]:
    if len(data) <= _MAX_BYTES:
        try:
            value = json.loads(data.decode("utf-8"))
        except ValueError:
            value = None
        if isinstance(value, dict):
            return value
    raise CountersignError("PROTOCOL", "The response is not that of a Countersign service.", status)


def _reported(data: bytes, status: int, location: Optional[str]) -> CountersignError:
    try:
        error = json.loads(data.decode("utf-8"))["error"]
        return CountersignError(
            str(error["code"]), str(error["message"]), status, error.get("requestId"), location
        )
    except (ValueError, KeyError, TypeError, AttributeError):
        message = f"The response with status {status} is not that of a Countersign service."
        return CountersignError("PROTOCOL", message, status)
