"""An agent with its key: claims, signs requests and challenges, changes its key."""

from __future__ import annotations

import base64
import re
import threading
import time
from dataclasses import dataclass
from datetime import datetime, timezone
from email.utils import parsedate_to_datetime
from typing import Any, Callable, Dict, Iterable, List, Literal, Mapping, Optional, Sequence, Tuple, Union, cast
from urllib.parse import quote

from ._chains import read_root
from ._http import TAG, HeaderList
from ._jws import parse_jws
from ._request_signer import RequestSigner, request_to_sign
from ._sign_delegation import DelegateRequest, DelegationSource, sign_delegation
from ._structured_fields import StructuredFieldError, parse_dictionary
from ._urls import is_loopback, is_origin, parse_url
from .approval_requests import PendingApproval, pending_in, question_for
from .delegation import SignedDelegation
from .errors import CountersignError
from .keys import AgentKey
from .registry import Registry
from .results import AgentKeys, AgentObject, DelegationsEnded, Rotated

# How often a certificate for new delegations is asked for: for ten seconds.
_END_POLLS = 40
_END_POLL_SECONDS = 0.25
_CHALLENGE_MAX_BYTES = 8192
_ACCEPT_SIGNATURE_MAX_LENGTH = 8192
_NONCE = re.compile("[A-Za-z0-9_-]{22,128}")
_ORIGIN = re.compile("https?://[^/?#]*", re.IGNORECASE)
_BOUND_CHALLENGE = re.compile("[a-z][a-z0-9]{0,15}-challenge-v1:", re.IGNORECASE)
# JSON objects in UTF-8, UTF-16 or UTF-32, and what laxer parsers read as one: with comments, other quotation marks or none.
_JSON_OBJECT = re.compile(rb'[\x00\t-\r \xef\xbb\xbf\xfe\xff]*\{[\x00\t-\r ]*(?:"|\}[\x00\t-\r ]*\Z)')
_LAX_OBJECT = re.compile(rb"(?s)[\x00\t-\r \xef\xbb\xbf\xfe\xff]*\{.*:")


def _has_token_header(text: str) -> bool:
    """Whether a text could be a JWS signing input. It decodes as the laxest verifiers do: ``urlsafe_b64decode`` skips
    every character that is not of base64. With all header parameters unprotected, the header is empty."""
    head, dot, _ = text.partition(".")
    if not dot or not head:
        return bool(dot)
    head = re.sub(r"[\s\ufeff=]", "", head)
    letters = re.sub(r"[^A-Za-z0-9+/_-]", "", head)
    data = letters[: len(letters) - 1] if len(letters) % 4 == 1 else letters
    decoded = base64.urlsafe_b64decode(data + "=" * (-len(data) % 4))
    return bool(_JSON_OBJECT.match(decoded) or (letters == head and _LAX_OBJECT.match(decoded)))


# Signed bytes of other purposes: claims, JWS signing inputs, signature bases, operations of services like this one, SSH
# signatures, DSSE envelopes; and control characters, which separate the fields of many protocols.
_FOREIGN_TEXTS: Tuple[Tuple[str, Callable[[str], object]], ...] = (
    ("LOOKS_LIKE_A_CLAIM", re.compile(r"[a-z][a-z0-9]{0,15}-verify-[0-9a-f]{32}\|", re.I | re.A).match),
    ("NOT_A_CHALLENGE", _has_token_header),
    ("NOT_A_CHALLENGE", re.compile('"@signature-params":').search),
    ("NOT_A_CHALLENGE", re.compile(r"[^\x21-\x7e]*[a-z][a-z0-9]{0,15}-(?:rotate|recover)-", re.I | re.A).match),
    (
        "NOT_A_CHALLENGE",
        re.compile(
            r"[^\x21-\x7e]*[a-z][a-z0-9]{0,15}(?:-[a-z]{1,16}){1,8}-v[0-9]{1,9}[^\x21-\x7e\n]*(?:\n|\Z)", re.I | re.A
        ).match,
    ),
    ("NOT_A_CHALLENGE", re.compile("SSHSIG|DSSEv1 ").match),
    ("NOT_A_CHALLENGE", re.compile(r"[\x00-\x1f\x7f]").search),
)


@dataclass(frozen=True)
class Answer:
    """An agent's answer to a challenge."""

    did: Optional[str]
    #: 32 bytes in base64.
    public_key: str
    challenge: str
    #: 64 bytes in base64.
    signature: str


class Agent:
    """An agent of a Countersign service.

    :param service: the service that certifies it: its origin, or a :class:`Registry`
    :param key: its key, such as ``AgentKey.from_file()``
    :param did: its DID, if it is known; :meth:`claim` and :meth:`whoami` find it out
    :param audiences: the origins that it signs requests for, such as ``https://shop.example``; https, on loopback also
        http. Every recipient of a signature can use it as proof, so never take an origin from the text of a site or a
        model
    :param unlisted: what the adapters do with requests to other origins: ``refuse`` raises ``WRONG_AUDIENCE``; ``plain`` sends
        them without a signature and the identification header
    :param now: the clock, in Unix seconds
    :raises CountersignError: ``INVALID_ARGUMENT``
    """

    def __init__(
        self,
        service: Union[str, Registry],
        key: AgentKey,
        did: Optional[str] = None,
        audiences: Iterable[str] = (),
        unlisted: Literal["refuse", "plain"] = "refuse",
        now: Callable[[], float] = time.time,
    ) -> None:
        self.registry = service if isinstance(service, Registry) else Registry(service)
        self._key = key
        self._naming = self.registry.naming
        self._did = None if did is None else self._full_did(did)
        self._audiences = frozenset(audience_of(each) for each in audiences)
        if unlisted not in ("refuse", "plain"):
            raise CountersignError("INVALID_ARGUMENT", 'unlisted must be "refuse" or "plain".')
        self._unlisted = unlisted
        self._now = now
        self._asking = threading.Lock()

    @property
    def did(self) -> Optional[str]:
        """``None`` until this object knows it: :meth:`claim`, :meth:`whoami` and the first signed request find it out."""
        return self._did

    def own_did(self) -> str:
        """The DID of this agent. If this object does not know it, it asks the service, once for all threads.

        :raises CountersignError: ``NO_DID`` if the key has no certificate; ``NETWORK``
        """
        with self._asking:
            if self._did is not None:
                return self._did
            try:
                self.whoami()
            except CountersignError as error:
                if error.code != "NOT_FOUND":
                    raise
                message = (
                    f"This key has no certificate at {self.registry.service}. "
                    "Claim one: agent.claim(token), with a claim token from the owner."
                )
                raise CountersignError("NO_DID", message) from error
            return self._require_did()

    @property
    def public_key(self) -> str:
        """32 bytes in padded standard base64."""
        return self._key.public_key

    def claim(self, token: str, agent_id: str = "main") -> str:
        """Redeems a claim token that the owner issued: the agent gets a certificate and a DID (contract 4.4).

        If the key has a certificate under this label already, from the owner of the token, it returns that one and changes
        nothing, also for a token that is used up: so an agent can claim at each start.

        :param token: ``svc-verify-`` and 32 hexadecimal characters; a secret until it is used
        :param agent_id: your label for this agent, 1 to 128 characters
        :returns: the DID
        :raises CountersignError: ``TOKEN_EXPIRED``; ``KEY_ALREADY_CLAIMED`` if another owner has the key; ``NOT_FOUND``;
            ``OUTCOME_UNKNOWN`` if the claim was sent without a response: :meth:`whoami` finds out
        """
        prefix = f"{self._naming.short_name}-verify-"
        if re.fullmatch(re.escape(prefix) + "[0-9a-f]{32}", token) is None:
            raise CountersignError(
                "INVALID_ARGUMENT",
                f"A claim token of this service is {prefix} and 32 hexadecimal characters. An agent whose key has a "
                "certificate needs none: leave out the claim, or call whoami().",
            )
        signature = self._key.sign(f"{token}|{agent_id}".encode("utf-8"))
        body = {
            "claimToken": token,
            "agentId": agent_id,
            "publicKey": self.public_key,
            "signature": _base64(signature),
        }
        try:
            claimed = self.registry.call("POST", "/api/v1/claim", body)
        except CountersignError as error:
            existing = self._certified_in(error)
            if existing is not None:
                self._did = existing
                return existing
            if error.code != "NETWORK":
                raise
            message = "The claim was sent, and its outcome is unknown. Call whoami() to find out."
            raise CountersignError("OUTCOME_UNKNOWN", message) from error
        self._did = str(claimed[self._naming.did_field])
        return self._did

    def whoami(self) -> AgentObject:
        """The agent object of this agent, found by its DID or, if that is not known, by its key.

        :raises CountersignError: ``NOT_FOUND`` if the key has no certificate
        """
        agent = self.registry.agent(self._did or self.public_key)
        if self._did is None:
            if "did" not in agent:
                raise CountersignError("PROTOCOL", "The response is not that of a Countersign service.")
            self._did = agent["did"]
        return agent

    def rotate(self, new_key: AgentKey) -> Rotated:
        """Replaces the key of this agent, at once; this object continues with the new key.

        Store the new key before the call. If the response is lost, call it again with the same key.

        :raises CountersignError: ``NO_DID``; ``UNUSABLE_KEY`` if the DID has another key; ``AGENT_NOT_ACTIVE``;
            ``KEY_ALREADY_CLAIMED`` if the new key was used before
        """
        did = self._require_did()
        current: Mapping[str, Any] = self.whoami()
        if current["publicKey"] != new_key.public_key:
            if current["publicKey"] != self.public_key:
                raise CountersignError("UNUSABLE_KEY", f"{did} has another key than this agent.")
            sequence = int(current["keySequence"]) + 1
            issued_at = int(self._now())
            keys = (self._key.thumbprint, new_key.thumbprint)
            message = self._key_operation("rotate", did, sequence, keys, issued_at)
            body = {
                "newPublicKey": new_key.public_key,
                "sequence": sequence,
                "issuedAt": issued_at,
                "oldSignature": _base64(self._key.sign(message)),
                "newSignature": _base64(new_key.sign(message)),
            }
            current = self.registry.call("POST", f"/api/v1/agent/{quote(did, safe='')}/keys", body)
        self._key = new_key
        return {
            "did": did,
            "keySequence": current["keySequence"],
            "keyChangedAt": current["keyChangedAt"],
        }

    def report_key(self) -> AgentKeys:
        """Reports the key of this object as compromised: it verifies nowhere any more, and agents that have it are suspended.

        Works for a key that the DID has or had, whatever its status. This cannot be undone.

        :returns: the keys of the agent
        :raises CountersignError: ``NO_DID``; ``UNUSABLE_KEY`` if the DID has never had this key
        """
        did = self._require_did()
        own = self._key.thumbprint
        path = f"/api/v1/agent/{quote(did, safe='')}/keys"
        keys = self.registry.keys(did)["keys"]
        sequences = [int(key["sequence"]) for key in keys if key["keyThumbprint"] == own]
        if not sequences:
            raise CountersignError("UNUSABLE_KEY", f"{did} has never had the key of this agent.")
        issued_at = int(self._now())
        message = self._key_operation("compromised", did, sequences[-1], (own, "-"), issued_at)
        signature = _base64(self._key.sign(message))
        body = {"sequence": sequences[-1], "issuedAt": issued_at, "signature": signature}
        return cast(AgentKeys, self.registry.with_did(self.registry.call("POST", f"{path}/compromised", body)))

    def answer(self, challenge: str, audience: str) -> Answer:
        """Answers a challenge ``svc-challenge-v1:<audience>:<nonce>`` if its audience is the site that this agent talks to.

        :param audience: the origin that this agent connected to; never take it from the challenge
        :raises CountersignError: ``LOOKS_LIKE_A_CLAIM``, ``NOT_A_CHALLENGE``, ``WRONG_AUDIENCE``
        """
        origin = _origin_of(audience, "The audience")
        _refuse_foreign_text(challenge)
        parsed = self._naming.parse_challenge(challenge)
        if parsed is None:
            prefix = self._naming.challenge_prefix
            raise CountersignError(
                "NOT_A_CHALLENGE",
                f"This is not a challenge of the form {prefix}<audience>:<nonce>, so it names no audience.",
            )
        if parsed[0] != origin:
            raise CountersignError(
                "WRONG_AUDIENCE",
                f"This challenge is for {parsed[0]}, but this agent is connected to {origin}. "
                "It may be relayed by an attacker.",
            )
        return self._answer_to(challenge)

    def answer_unbound(self, challenge: str) -> Answer:
        """Answers a challenge without an audience (contract 4.3). The site may be relaying that of another one.

        It signs no text with control characters such as line ends, and none that could be the signed bytes of another
        protocol: claims, texts whose part before the first dot decodes to the header of a JWS, signature bases,
        operations of the service, SSH signatures, DSSE envelopes.

        :raises CountersignError: ``LOOKS_LIKE_A_CLAIM``, ``NOT_A_CHALLENGE``; ``WRONG_AUDIENCE`` if it names an audience
        """
        _refuse_foreign_text(challenge)
        if _BOUND_CHALLENGE.match(challenge):
            message = "This challenge names an audience. Use answer(), which checks it."
            raise CountersignError("WRONG_AUDIENCE", message)
        return self._answer_to(challenge)

    def sign_request(
        self,
        method: str,
        url: str,
        headers: HeaderList = (),
        body: Optional[bytes] = None,
        nonce: Optional[str] = None,
    ) -> List[Tuple[str, str]]:
        """Signs a request to one of the agent's audiences (RFC 9421, Web Bot Auth): method, address, body and the headers
        that matter. The signature is valid for 60 seconds, once. Send the request unchanged.

        :param url: as it is sent, in the form that URL parsers write
        :param headers: the other headers of the request
        :param body: the bytes on the wire; ``None`` without content
        :param nonce: that of a response that asks for it (:func:`challenge_nonce`); by default a random one
        :returns: the headers to set
        :raises CountersignError: ``WRONG_AUDIENCE``; ``NO_DID`` if the key has no certificate; ``INVALID_ARGUMENT`` if the
            request cannot be signed
        """
        request = request_to_sign(method, url, headers, body, nonce)
        if request.url.origin not in self._audiences:
            raise not_listed(request.url.origin)
        signer = RequestSigner(self._naming, self.registry.service, self.own_did(), self._key)
        return signer.sign(request, int(self._now()))

    def request_approval(
        self,
        method: str,
        url: str,
        headers: HeaderList = (),
        body: Optional[bytes] = None,
        message: Optional[str] = None,
        expires_in_seconds: Optional[int] = None,
        valid_seconds: Optional[int] = None,
    ) -> PendingApproval:
        """Asks the owner to approve exactly this request, which must not be changed afterwards: method, URL and JSON body. The adapters do
        it with their setting ``approval`` when a site requires it.

        :param url: as it is sent, in the form that URL parsers write
        :param headers: of the request; only ``Content-Type`` counts
        :param body: the bytes on the wire: a JSON object. ``None`` without content
        :param message: what you say about the request, at most 200 characters. The owner sees it as a quotation
        :param expires_in_seconds: how long the owner has to decide: 60 to 86,400. By default 900
        :param valid_seconds: how long the approval is valid after the decision: 60 to 3,600. By default 600
        :raises CountersignError: ``APPROVALS_OFF`` if the owner does not allow it; ``VALIDATION_ERROR`` if nobody can approve such a
            request; ``INVALID_ARGUMENT`` if the body is not UTF-8; ``NO_DID``, ``AGENT_NOT_ACTIVE``, ``RATE_LIMITED``
        """
        options = {"message": message, "expiresInSeconds": expires_in_seconds, "validSeconds": valid_seconds}
        data = question_for(method, url, headers, body, options)
        did, service = self.own_did(), self.registry.service
        path, kind = f"/api/v1/agent/{did}/approvals", [("Content-Type", "application/json")]
        # Not by `sign_request`: the service itself is no audience.
        request = request_to_sign("POST", service + path, kind, data, None)
        signed = RequestSigner(self._naming, service, did, self._key).sign(request, int(self._now()))
        try:
            return pending_in(self.registry.call("POST", path, data, dict(signed)), self.registry)
        except CountersignError as error:
            if error.code != "FORBIDDEN":
                raise
            raise CountersignError("APPROVALS_OFF", str(error), error.status, error.request_id) from error

    def delegate(
        self,
        public_key: str,
        origins: Sequence[str],
        methods: Optional[Sequence[str]] = None,
        paths: Optional[Sequence[str]] = None,
        mcp: Optional[Sequence[str]] = None,
        expires_in_seconds: int = 3600,
        max_depth: int = 0,
    ) -> SignedDelegation:
        """Delegates to the key of a worker (``DelegatedAgent``): for these sites, methods and paths, and for a short time. Asks for a fresh
        certificate; the delegation itself is signed here and registered nowhere. It ends when it expires, by :meth:`end_delegations`,
        with a change of this agent's key, or when its certificate is replaced.

        :param public_key: of the worker: 32 bytes in padded standard base64. Its private key stays with the worker
        :param origins: the sites that it may send requests to: 1 to 8. Name one, and sign another delegation for the next site
        :param methods: such as ``GET``: 1 to 8. HEAD is not GET. By default every one
        :param paths: ``/exact`` or ``/prefix/*``, compared byte for byte: 1 to 8. By default every one
        :param mcp: calls of MCP, such as ``tools/list`` or ``tools/call search``: 1 to 16. Only sites whose server compares the headers
            with the body accept this limit. By default not limited
        :param expires_in_seconds: 1 to 86,400. It ends no later than the certificate
        :param max_depth: how many further delegations may follow: 0 to 2
        :raises CountersignError: ``DELEGATION_NOT_ALLOWED`` if the owner has not allowed it; ``INVALID_ARGUMENT``; ``NO_DID``;
            ``AGENT_NOT_ACTIVE``; ``UNUSABLE_KEY`` if the DID has another key
        """
        did = self.own_did()
        certificate = self.registry.certificate(did)
        root = read_root(certificate)
        if root is None:
            raise CountersignError("PROTOCOL", "The service issued no certificate.")
        if root.keyid != self._key.thumbprint:
            raise CountersignError("UNUSABLE_KEY", f"{did} has another key than this agent.")
        source = DelegationSource(certificate, None, root.max_depth, root.expires_at, self._key)
        request = DelegateRequest(public_key, origins, methods, paths, mcp, expires_in_seconds, max_depth)
        return sign_delegation(source, request, self._now())

    def end_delegations(self) -> DelegationsEnded:
        """Ends everything that this agent has delegated, at once; the agent itself goes on. Returns when the service has issued a
        certificate for new delegations.

        :raises CountersignError: ``NO_DID``; ``UNUSABLE_KEY`` if the DID has another key; ``AGENT_NOT_ACTIVE``; ``CONFLICT``;
            ``RATE_LIMITED``; ``TIMEOUT`` if delegations have ended, but there is no new certificate yet
        """
        did = self._require_did()
        current = self.whoami()
        if current["publicKey"] != self.public_key:
            raise CountersignError("UNUSABLE_KEY", f"{did} has another key than this agent.")
        entry, _ = self._entry_of_certificate(did)
        sequence, issued_at = int(current["keySequence"]), int(self._now())
        message = self._key_operation("end-delegations", did, sequence, (self._key.thumbprint, "-"), issued_at)
        body = {"sequence": sequence, "issuedAt": issued_at, "signature": _base64(self._key.sign(message))}
        path = f"/api/v1/agent/{quote(did, safe='')}/delegation/end"
        ended = cast(DelegationsEnded, self.registry.with_did(self.registry.call("POST", path, body)))
        if ended["endedAt"] is not None:
            self._wait_for_other_entry(did, entry, ended["endedAt"])
        return ended

    def _entry_of_certificate(self, did: str) -> Tuple[object, int]:
        """The status entry that the current certificate names, which every chain under it shares, and its ``iat``."""
        payload = parse_jws(self.registry.certificate(did), "certificate").payload
        return payload.get("status"), int(payload["iat"])

    def _wait_for_other_entry(self, did: str, entry: object, ended_at: str) -> None:
        """One node may be a second behind another, and chains under the certificate that it still hands out are refused."""
        # `iat` has whole seconds.
        since = int(datetime.strptime(ended_at, "%Y-%m-%dT%H:%M:%S.%fZ").replace(tzinfo=timezone.utc).timestamp())
        for _ in range(_END_POLLS):
            current, issued_at = self._entry_of_certificate(did)
            if current != entry and issued_at >= since:
                return
            time.sleep(_END_POLL_SECONDS)
        raise CountersignError(
            "TIMEOUT",
            "All delegations have ended, but the service has issued no certificate for new ones yet. Try to delegate later.",
        )

    def signs_for(self, url: str) -> bool:
        """Whether a URL is at one of the agent's audiences."""
        return origin_in(url) in self._audiences

    def check_unlisted(self, url: str) -> None:
        """Whether a request that is not signed may be sent.

        :raises CountersignError: ``WRONG_AUDIENCE`` unless ``unlisted`` is ``plain``
        """
        if self._unlisted == "plain":
            return
        match = _ORIGIN.match(url)
        raise not_listed(match.group().lower() if match else "this address")

    def renew_after_refusal(self, sent_chain: Optional[str]) -> bool:
        """After a 401: an agent signs with its key, of which there is no other."""
        return False

    @property
    def id_header(self) -> str:
        """The name of the identification header."""
        return self._naming.id_header

    def _answer_to(self, challenge: str) -> Answer:
        try:
            message = challenge.encode("utf-8")
        except UnicodeEncodeError:
            message = b""
        if not message or len(message) > _CHALLENGE_MAX_BYTES or b"\0" in message:
            raise CountersignError(
                "NOT_A_CHALLENGE",
                f"A challenge is well-formed Unicode without U+0000, of 1 to {_CHALLENGE_MAX_BYTES} bytes of UTF-8.",
            )
        return Answer(self._did, self.public_key, challenge, _base64(self._key.sign(message)))

    def _key_operation(
        self, name: str, did: str, sequence: int, keys: Tuple[str, str], issued_at: int
    ) -> bytes:
        """What a key signs about itself. ``keys``: the thumbprints of the old and the new one, ``-`` for none."""
        operation = f"{self._naming.short_name}-{name}-v1"
        lines = (operation, self.registry.service, did, str(sequence), *keys, str(issued_at))
        # 0xFF never occurs in UTF-8, so no challenge can be these bytes.
        return b"\xff" + "\n".join(lines).encode("utf-8")

    def _certified_in(self, error: CountersignError) -> Optional[str]:
        """The DID that a refused claim would have asked for, if the key has it already."""
        path, slash, did = (error.location or "").rpartition("/")
        if error.code not in ("KEY_ALREADY_CLAIMED", "TOKEN_EXPIRED") or path + slash != "/api/agents/":
            return None
        tail = self._naming.tail_of(did)
        return None if tail is None else self._naming.did_of(tail)

    def _require_did(self) -> str:
        if self._did is not None:
            return self._did
        message = "The DID of this agent is not known here: claim one, or call whoami() once."
        raise CountersignError("NO_DID", message)

    def _full_did(self, text: str) -> str:
        tail = self._naming.tail_of(text)
        if tail is not None:
            return self._naming.did_of(tail)
        message = f"A DID of this service is {self._naming.did_prefix} and 24 base58 characters."
        raise CountersignError("INVALID_ARGUMENT", message)


def not_listed(origin: str) -> CountersignError:
    return CountersignError(
        "WRONG_AUDIENCE",
        f"This agent does not sign for {origin}, which is not one of its audiences. If it is a site that you chose, add it: "
        f'Agent(…, audiences=["{origin}"]). To send such requests unsigned: Agent(…, unlisted="plain").',
    )


def challenge_nonce(status: int, accept_signature: Optional[str]) -> Optional[str]:
    """The nonce with which a response asks to sign its request once more. Nothing else of the field counts.

    :param accept_signature: the value of ``Accept-Signature``; ``None`` without one
    :returns: ``None`` if the status is not 401 or 503, or not exactly one member is for Web Bot Auth, or it names no nonce
        of 22 to 128 base64url characters
    """
    params = _requested_signature(accept_signature) if status in (401, 503) else None
    nonce = None if params is None else params.get("nonce")
    return nonce if type(nonce) is str and _NONCE.fullmatch(nonce) else None


def sign_again_after(
    status: int, accept_signature: Optional[str], retry_after: Optional[str], now: float
) -> Optional[float]:
    """How long to wait before a request is signed again that a site could not judge yet. Nothing was done then.

    :param accept_signature: the value of ``Accept-Signature``; ``None`` without one
    :param retry_after: the value of ``Retry-After``: seconds, or a date; ``None`` without one
    :param now: Unix seconds
    :returns: seconds; ``None`` if the status is not 503, or not exactly one member of ``Accept-Signature`` is for Web Bot Auth,
        or it names a nonce, or there is no ``Retry-After``
    """
    params = _requested_signature(accept_signature) if status == 503 else None
    if params is None or "nonce" in params:
        return None
    text = (retry_after or "").strip()
    if re.fullmatch("[0-9]{1,9}", text):
        return float(text)
    try:
        return max(0.0, parsedate_to_datetime(text).timestamp() - now)
    except (ValueError, TypeError, IndexError):
        return None


def _requested_signature(accept_signature: Optional[str]) -> Optional[Mapping[str, Any]]:
    """The parameters of the only member of ``Accept-Signature`` for Web Bot Auth."""
    if accept_signature is None or len(accept_signature) > _ACCEPT_SIGNATURE_MAX_LENGTH:
        return None
    try:
        members = parse_dictionary(accept_signature).values()
    except StructuredFieldError:
        return None
    tags = [(each, each.params.get("tag")) for each in members]
    tagged = [each for each, tag in tags if type(tag) is str and tag == TAG]
    return tagged[0].params if len(tagged) == 1 else None


def origin_in(url: str) -> Optional[str]:
    """The origin of an address in whatever spelling; ``None`` if there is none."""
    match = _ORIGIN.match(url)
    parsed = parse_url(match.group().lower()) if match else None
    return None if parsed is None else parsed.origin


def audience_of(text: str) -> str:
    origin = _origin_of(text, "An audience")
    url = parse_url(origin)
    if url is not None and (url.scheme == "https" or is_loopback(url.hostname)):
        return origin
    raise CountersignError("INVALID_ARGUMENT", f"{origin} is not https, so others could use a signature for it.")


def _origin_of(text: str, what: str) -> str:
    origin = text[:-1] if text.endswith("/") else text
    if is_origin(origin):
        return origin
    raise CountersignError("INVALID_ARGUMENT", f"{what} is not an origin, such as https://shop.example.")


def _refuse_foreign_text(challenge: str) -> None:
    for code, matches in _FOREIGN_TEXTS:
        if matches(challenge):
            message = "This is not a challenge: it could be the signed bytes of another purpose."
            raise CountersignError(code, message)


def _base64(data: bytes) -> str:
    return base64.b64encode(data).decode("ascii")
