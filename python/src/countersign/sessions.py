"""Sessions of agents at a site (docs/sessions.md): an agent signs a challenge once, and sends a token with its requests."""

from __future__ import annotations

import hashlib
import hmac
import json
import re
import secrets
import struct
import threading
import time
import uuid
from collections import OrderedDict
from dataclasses import dataclass
from datetime import datetime, timezone
from typing import Any, Callable, Dict, List, Mapping, NoReturn, Optional, Protocol, Sequence, Tuple, Union

from ._ed25519 import base64url, is_signature, thumbprint
from ._json import parse_json
from ._jws import base64url_bytes, is_base64url, is_number
from ._structured_fields import StructuredFieldError, decode_base64
from ._urls import is_origin
from .errors import CountersignError
from .nonces import NonceStore, UsedNonce, challenge_of
from .registry import Registry
from .results import Verification

#: How long an agent may take to answer a challenge, in seconds.
CHALLENGE_SECONDS = 60
#: More than an answer to a challenge can have.
MAX_ANSWER_BYTES = 16 * 1024

_MAX_SESSION_SECONDS = 24 * 60 * 60
# 256 bits, since guesses can be tested offline.
_MIN_SECRET_BYTES = 32
_MAX_SAFE_INTEGER = 2**53 - 1
_TOKEN = re.compile("[A-Za-z0-9_.-]{1,2048}")
_JSON_TYPE = re.compile("application/json *(;.*)?", re.IGNORECASE | re.DOTALL)
# Nothing else that the secret of a site signs begins so: session tokens begin with `eyJ`.
_CHALLENGE_PURPOSE = "agent-challenge-v1"
_RANDOM_BYTES, _HEAD_BYTES, _NONCE_BYTES = 16, 24, 56
_STATUS = {
    "VALIDATION_ERROR": 400,
    "INVALID_ARGUMENT": 400,
    "INVALID_SIGNATURE": 401,
    "CHALLENGE_SPENT": 401,
    "NOT_ADMITTED": 403,
    "METHOD_NOT_ALLOWED": 405,
    "PAYLOAD_TOO_LARGE": 413,
    "UNSUPPORTED_MEDIA_TYPE": 415,
}

#: Status, headers and body of a response.
Response = Tuple[int, List[Tuple[str, str]], bytes]
Secret = Union[str, bytes]


class ChallengeStore(Protocol):
    """Stores the unanswered challenges of a site. Several processes must share one store, such as Redis:
    ``SET key 1 EX seconds`` and ``GETDEL key``."""

    def put(self, key: str, seconds: float) -> None:
        """Stores a key, text without white space, for some seconds."""
        ...

    def take(self, key: str) -> bool:
        """Takes a key out, and returns whether it was there. Of several who take one key at the same moment, exactly one is
        told ``True``."""
        ...


class MemoryChallengeStore:
    """A challenge store in the memory of this process.

    :param max_entries: the oldest challenges are evicted beyond this, to bound the memory
    :param now: a clock, in seconds
    """

    def __init__(self, max_entries: int = 100_000, now: Callable[[], float] = time.monotonic) -> None:
        self._max_entries = max_entries
        self._now = now
        # In order of insertion.
        self._ends: "OrderedDict[str, float]" = OrderedDict()
        self._lock = threading.Lock()

    def put(self, key: str, seconds: float) -> None:
        with self._lock:
            self._ends[key] = self._now() + seconds
            self._ends.move_to_end(key)
            while len(self._ends) > self._max_entries or next(iter(self._ends.values())) <= self._now():
                self._ends.popitem(last=False)
                if not self._ends:
                    break

    def take(self, key: str) -> bool:
        with self._lock:
            return self._ends.pop(key, self._now()) > self._now()


@dataclass(frozen=True)
class SessionClaims:
    """The agent of a session, as it was when it signed in."""

    did: str
    #: The owner's identity provider, or ``unverified``.
    identity_level: str
    #: The number of the key with which it signed in. The session ends with the key.
    key_sequence: int
    #: Unix seconds.
    issued_at: int
    expires_at: int


class AgentSignIn:
    """"Sign in as an agent", for a site.

    Pass it to a :class:`countersign.gateway.Gate`, whose middleware serves the endpoint and reads the sessions. For an endpoint of
    your own, call :meth:`handle`.

    :param service: the service that certifies the agents: its origin, or a :class:`Registry`
    :param audience: the origin at which agents reach the site, such as ``https://shop.example``; never take it from a request
    :param secret: what signs the sessions: at least 32 bytes. Of several, the first one signs and all are accepted, so that a
        secret can be rotated without ending sessions
    :param session_seconds: how long a session lasts, at most a day
    :param admit: which of the ``verified`` agents to admit, from the response of ``Registry.verify``; by default all
    :param store: the unanswered challenges; by default in the memory of this process
    :param nonces: instead of ``store``: the challenges that were used. A challenge then carries a MAC made with the secret and uses
        no memory until an agent has signed it, and every process with the secret accepts the answer: once each, unless they
        share this store
    :param now: the clock, in Unix seconds
    :raises CountersignError: ``INVALID_ARGUMENT``
    """

    def __init__(
        self,
        service: Union[str, Registry],
        audience: str,
        secret: Union[Secret, Sequence[Secret]],
        session_seconds: float = 900,
        admit: Optional[Callable[[Verification], bool]] = None,
        store: Optional[ChallengeStore] = None,
        nonces: Optional[NonceStore] = None,
        now: Callable[[], float] = time.time,
    ) -> None:
        if not 0 < session_seconds <= _MAX_SESSION_SECONDS:
            raise CountersignError("INVALID_ARGUMENT", "session_seconds must be from 1 to 86400.")
        if store is not None and nonces is not None:
            raise CountersignError("INVALID_ARGUMENT", "AgentSignIn takes store or nonces, not both.")
        self.registry = service if isinstance(service, Registry) else Registry(service)
        self.audience = audience[:-1] if audience.endswith("/") else audience
        if not is_origin(self.audience):
            message = "The audience must be an origin, such as https://shop.example."
            raise CountersignError("INVALID_ARGUMENT", message)
        self._secrets = _read_secrets([secret] if isinstance(secret, (str, bytes)) else secret)
        self._session_seconds = session_seconds
        self._admit = admit
        self._store = store or MemoryChallengeStore()
        self._used = nonces
        self._last_expiry = 0
        self._lock = threading.Lock()
        self._now = now

    def begin(self) -> str:
        """Issues a challenge, ``svc-challenge-v1:<audience>:<nonce>``, for one agent."""
        if self._used is None:
            nonce = base64url(secrets.token_bytes(24))
            self._store.put(nonce, CHALLENGE_SECONDS)
        else:
            head = self._challenge_head(self._used)
            nonce = base64url(head + self._mac(self._secrets[0], self._challenge_text(head)))
        return f"{self.registry.naming.challenge_prefix}{self.audience}:{nonce}"

    def complete(
        self, public_key: str, challenge: str, signature: str, did: Optional[str] = None
    ) -> Dict[str, str]:
        """Checks the answer to a challenge and creates a session.

        :param public_key: 32 bytes in base64
        :param signature: 64 bytes in base64
        :param did: the DID that the agent says it has; the service compares it
        :returns: ``did``, ``token`` and ``expiresAt``
        :raises CountersignError: ``CHALLENGE_SPENT``, ``INVALID_SIGNATURE``, ``NOT_ADMITTED``; others of ``Registry.verify``
        """
        parsed = self.registry.naming.parse_challenge(challenge)
        # Redeemed before the service is asked, so that one challenge causes one request at most.
        if (
            parsed is None
            or parsed[0] != self.audience
            or not self._redeem(parsed[1], public_key, challenge, signature)
        ):
            raise CountersignError(
                "CHALLENGE_SPENT",
                "This challenge was not issued here, has expired or was already used. Request a new one.",
            )
        try:
            verification = self.registry.verify(public_key, challenge, signature, did)
        except CountersignError as error:
            if error.code != "NOT_FOUND":
                raise
            raise CountersignError("NOT_ADMITTED", "This key has no certificate.") from error
        try:
            admitted = verification["verified"] is True
            if not admitted or not (self._admit is None or self._admit(verification)):
                raise CountersignError("NOT_ADMITTED", "This site does not admit this agent.")
            proven = str(verification["agent"]["did"])
            agent = self.registry.agent(proven)
            sequence = int(agent["keySequence"])
            is_current = self.registry.record_key_sequence(proven, sequence)
            if agent["publicKey"] != public_key or not is_current:
                raise CountersignError("NOT_ADMITTED", "The key of this agent has changed.")
            level = str(verification["identityLevel"])
        except (KeyError, TypeError, ValueError) as cause:
            message = "The response is not that of a Countersign service."
            raise CountersignError("PROTOCOL", message) from cause
        issued_at = int(self._now())
        expires_at = int(self._now() + self._session_seconds)
        token = self.issue(SessionClaims(proven, level, sequence, issued_at, expires_at))
        end = datetime.fromtimestamp(expires_at, timezone.utc).strftime("%Y-%m-%dT%H:%M:%S.000Z")
        return {"did": proven, "token": token, "expiresAt": end}

    def issue(self, claims: SessionClaims) -> str:
        """The token of a session."""
        payload = {
            "iss": self.audience,
            "aud": self.audience,
            "sub": claims.did,
            "iat": claims.issued_at,
            "exp": claims.expires_at,
            "identityLevel": claims.identity_level,
            "keySequence": claims.key_sequence,
        }
        text = json.dumps(payload, ensure_ascii=False, separators=(",", ":"))
        signed = f"{_HEADER}.{base64url(text.encode('utf-8'))}"
        return f"{signed}.{base64url(self._mac(self._secrets[0], signed))}"

    def session(self, token: str) -> Optional[SessionClaims]:
        """Reads a token. Nobody is asked: a :class:`countersign.gateway.Gate` also compares status and key with those of the service.

        :returns: ``None`` if it was not issued here, has expired, or the agent has a later key as far as this process knows
        """
        claims = self._claims_of(token)
        if claims is None or claims.expires_at <= self._now():
            return None
        is_current = self.registry.record_key_sequence(claims.did, claims.key_sequence)
        return claims if is_current else None

    def handle(self, method: str, content_type: Optional[str], body: Optional[bytes]) -> Response:
        """Handles a request to the sign-in endpoint: GET issues a challenge, POST takes the answer and returns a session. It never
        raises.

        :param body: ``None`` if it has more than ``MAX_ANSWER_BYTES``
        """
        try:
            if method == "GET":
                return _json(200, {"challenge": self.begin()})
            if method != "POST":
                _refuse("METHOD_NOT_ALLOWED", "GET a challenge, POST its answer.")
            return _json(200, self.complete(*_answer_in(content_type, body)))
        except CountersignError as error:
            if error.code in _STATUS:
                return _failure(error)
        except Exception:  # Of a store, or of admit().
            pass
        return _json(503, _envelope("UNAVAILABLE", "Agents cannot be verified at the moment. Try again later."))

    def _challenge_head(self, used: NonceStore) -> bytes:
        """16 random bytes and the expiry. While the store could not tell otherwise that a challenge is younger than its memory, the
        boot id of the store, and an expiry that no other challenge has."""
        expires_at = int((self._now() + CHALLENGE_SECONDS) * 1000)
        challenge = challenge_of(used)
        with self._lock:
            unique = max(expires_at, self._last_expiry + 1)
            # Whoever asks for many challenges does not move their expiry further than a second.
            if challenge is None or unique - expires_at > 1000:
                return secrets.token_bytes(_RANDOM_BYTES) + struct.pack(">Q", expires_at)
            self._last_expiry = unique
        return base64url_bytes(challenge[:22]) + struct.pack(">Q", unique)

    def _redeem(self, nonce: str, public_key: str, challenge: str, signature: str) -> bool:
        """Whether a nonce was issued here, in time, and not used before."""
        if self._used is None:
            return self._store.take(nonce)
        data = base64url_bytes(nonce) if is_base64url(nonce) else b""
        head, mac = data[:_HEAD_BYTES], data[_HEAD_BYTES:]
        if len(data) != _NONCE_BYTES or base64url(data) != nonce:
            return False
        if not self._is_mac(self._challenge_text(head), mac):
            return False
        expires_at = struct.unpack(">Q", head[_RANDOM_BYTES:])[0] / 1000
        if expires_at <= self._now():
            return False
        # Verified before it is recorded, so that only holders of a key use the store, each a limited share of it.
        key = _bytes_of(public_key, 32, "publicKey")
        if not is_signature(key, challenge.encode("utf-8"), _bytes_of(signature, 64, "signature")):
            _refuse("INVALID_SIGNATURE", "The signature does not match this challenge and key.")
        outcome = self._used.record(
            UsedNonce(
                keyid=thumbprint(key),
                nonce=base64url(head[:_RANDOM_BYTES]) + nonce,
                hash=base64url(hashlib.sha256(nonce.encode("ascii")).digest()),
                created_at=int(expires_at - CHALLENGE_SECONDS),
                expires_at=int(expires_at) + 1,
            )
        )
        if outcome not in ("fresh", "used"):
            _refuse("UNAVAILABLE", "The store of used challenges is not available at the moment. Try again later.")
        return outcome == "fresh"

    def _claims_of(self, token: str) -> Optional[SessionClaims]:
        parts = token.split(".") if _TOKEN.fullmatch(token) else []
        # One header only, so that a token cannot choose its algorithm.
        if len(parts) != 3 or parts[0] != _HEADER or not all(is_base64url(each) for each in parts):
            return None
        payload, mac = base64url_bytes(parts[1]), base64url_bytes(parts[2])
        if base64url(payload) != parts[1] or base64url(mac) != parts[2]:
            return None
        if not self._is_mac(f"{parts[0]}.{parts[1]}", mac):
            return None
        try:
            value = parse_json(payload)
        except ValueError:
            return None
        if not isinstance(value, dict) or value.get("aud") != self.audience:
            return None
        did, level = value.get("sub"), value.get("identityLevel")
        issued_at, expires_at = _whole(value.get("iat")), _whole(value.get("exp"))
        # Tokens of an earlier release lack it. They are of agents that had one key only.
        sequence = _whole(value.get("keySequence", 1))
        if not isinstance(did, str) or not isinstance(level, str):
            return None
        if issued_at is None or expires_at is None or sequence is None or sequence < 1:
            return None
        return SessionClaims(did, level, sequence, issued_at, expires_at)

    def _challenge_text(self, head: bytes) -> str:
        return f"{_CHALLENGE_PURPOSE}\n{self.audience}\n{base64url(head)}"

    def _is_mac(self, text: str, mac: bytes) -> bool:
        return any(hmac.compare_digest(self._mac(each, text), mac) for each in self._secrets)

    @staticmethod
    def _mac(secret: bytes, text: str) -> bytes:
        return hmac.new(secret, text.encode("utf-8"), hashlib.sha256).digest()


#: The only JWS header (RFC 7515) that is accepted.
_HEADER = base64url(b'{"alg":"HS256","typ":"agent-session+jwt"}')


def _read_secrets(given: Sequence[Secret]) -> List[bytes]:
    read = [each.encode("utf-8") if isinstance(each, str) else bytes(each) for each in given]
    if read and all(len(each) >= _MIN_SECRET_BYTES for each in read):
        return read
    raise CountersignError(
        "INVALID_ARGUMENT",
        f"The session secret must have at least {_MIN_SECRET_BYTES} bytes. Create one with: openssl rand -base64 32",
    )


def _whole(value: Any) -> Optional[int]:
    """A whole number of JSON, where ``1.0`` is one too."""
    if not is_number(value) or value != value // 1 or abs(value) > _MAX_SAFE_INTEGER:
        return None
    return int(value)


def _answer_in(content_type: Optional[str], body: Optional[bytes]) -> Tuple[str, str, str, Optional[str]]:
    # A form on another site's page cannot send this media type.
    if _JSON_TYPE.fullmatch(content_type or "") is None:
        _refuse("UNSUPPORTED_MEDIA_TYPE", "Send the answer as application/json.")
    if body is None or len(body) > MAX_ANSWER_BYTES:
        _refuse("PAYLOAD_TOO_LARGE", f"The answer is larger than {MAX_ANSWER_BYTES} bytes.")
    try:
        value = json.loads(body.decode("utf-8", "replace"))
    except (ValueError, RecursionError):
        value = None
    if not isinstance(value, dict):
        _refuse("VALIDATION_ERROR", "The answer is not a JSON object.")
    key, challenge, signature, did = (
        value.get(name) for name in ("publicKey", "challenge", "signature", "did")
    )
    texts = (key, challenge, signature, "" if did is None else did)
    if not all(isinstance(each, str) and _is_well_formed(each) for each in texts):
        message = "An answer needs the string members publicKey, challenge and signature."
        _refuse("VALIDATION_ERROR", message)
    return str(key), str(challenge), str(signature), did


def _bytes_of(text: str, length: int, name: str) -> bytes:
    try:
        data = decode_base64(text)
    except StructuredFieldError:
        data = b""
    if len(data) != length:
        _refuse("VALIDATION_ERROR", f"{name} must be {length} bytes in base64.")
    return data


def _is_well_formed(text: str) -> bool:
    return not any("\ud800" <= each <= "\udfff" for each in text)


def _refuse(code: str, message: str) -> NoReturn:
    raise CountersignError(code, message)


def _failure(error: CountersignError) -> Response:
    status = _STATUS[error.code]
    code = "VALIDATION_ERROR" if error.code == "INVALID_ARGUMENT" else error.code
    more = [("allow", "GET, POST")] if status == 405 else []
    return _json(status, _envelope(code, str(error)), more)


def refusal(status: int, code: str, message: str, *more: Tuple[str, str]) -> Response:
    """A refusal of the sign-in endpoint, in the shape of the contract (section 7)."""
    return _json(status, _envelope(code, message), list(more))


def _envelope(code: str, message: str) -> Dict[str, Any]:
    return {"error": {"code": code, "message": message, "requestId": f"req_{uuid.uuid4().hex}"}}


def _json(status: int, body: Mapping[str, Any], more: Sequence[Tuple[str, str]] = ()) -> Response:
    headers = [
        ("content-type", "application/json"),
        ("cache-control", "no-store"),
        ("x-content-type-options", "nosniff"),
        *more,
    ]
    return status, headers, json.dumps(body, ensure_ascii=False).encode("utf-8")


__all__ = [
    "CHALLENGE_SECONDS",
    "MAX_ANSWER_BYTES",
    "AgentSignIn",
    "ChallengeStore",
    "MemoryChallengeStore",
    "SessionClaims",
]
