"""Decides on requests by a policy. The middlewares :mod:`countersign.asgi` and :mod:`countersign.wsgi` are built on it."""

from __future__ import annotations

import base64
import ipaddress
import json
import math
import re
import threading
import time
import uuid
from collections import OrderedDict
from dataclasses import dataclass, replace
from datetime import datetime, timezone
from typing import Any, Callable, Dict, Generic, List, Optional, Sequence, Tuple, TypeVar, Union
from urllib.parse import quote

from ._http import (
    Component,
    RawRequest,
    field_value,
    header_fields,
    matches_content_digest,
    strict_components,
)
from ._structured_fields import StructuredFieldError
from ._urls import is_origin
from .decision import (
    AgentData,
    Caller,
    Decision,
    LookupResult,
    Reason,
    Verdict,
    decide,
    decision_of,
    failure_verdict,
    rate_limited,
    strictest,
    with_unverified_signature,
)
from .errors import CountersignError
from .nonces import MemoryNonceStore, NonceStore
from .policy import Policy, PolicyError, Rules, read_policy
from .registry import Registry
from .verification import RequestVerifier, SignatureResult, SigningKey

#: At most this much of a body is buffered to compare its digest: 10 MiB.
MAX_BODY_BYTES = 10 * 1024 * 1024

_MAX_AGENTS = 10_000
_MAX_UNKNOWN_AGENTS = 1_000
_MAX_BUCKETS = 10_000
# How long after asking for an unknown key the service is not asked for another one of the same agent.
_REFRESH_SECONDS = 5.0
# How long after a failure the service is not asked.
_PAUSE_SECONDS = 1.0
# Errors of the service itself. Any other error is about the one agent that was asked for.
_SERVICE_ERRORS = ("NETWORK", "UNAVAILABLE", "RATE_LIMITED")

K = TypeVar("K")
V = TypeVar("V")


class _BoundedMap(Generic[K, V]):
    """A map that forgets the entry that was set the longest time ago."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._entries: "OrderedDict[K, V]" = OrderedDict()
        self._lock = threading.Lock()

    def get(self, key: K) -> Optional[V]:
        return self._entries.get(key)

    def set(self, key: K, value: V) -> None:
        with self._lock:
            self._entries[key] = value
            self._entries.move_to_end(key)
            if len(self._entries) > self._limit:
                self._entries.popitem(last=False)

    def remove(self, key: K) -> None:
        with self._lock:
            if key in self._entries:
                del self._entries[key]


@dataclass(frozen=True)
class _Entry:
    agent: Optional[AgentData]
    requested_at: float


class _AgentCache:
    """Looks agents up at the service and keeps the responses."""

    def __init__(
        self,
        registry: Registry,
        seconds: float,
        with_grade: bool,
        with_key: bool,
        now: Callable[[], float],
    ) -> None:
        self._registry = registry
        self._seconds = seconds
        self._with_grade = with_grade
        self._with_key = with_key
        self._blocked_until = -math.inf
        self._now = now
        self._agents: "_BoundedMap[str, _Entry]" = _BoundedMap(_MAX_AGENTS)
        # Kept apart, so that a flood of invented DIDs evicts no agent.
        self._unknown: "_BoundedMap[str, _Entry]" = _BoundedMap(_MAX_UNKNOWN_AGENTS)

    def get_fresh(self, did: str) -> Optional[_Entry]:
        entry = self._get(did)
        return entry if entry is not None and self._now() - entry.requested_at < self._seconds else None

    def lookup(self, did: str) -> LookupResult:
        """Asks the service. Never raises: every error becomes an unreachable service."""
        requested_at = self._now()
        # After a failure, so that requests do not each wait for a service that is down.
        if requested_at < self._blocked_until:
            return self._unreachable(did)
        try:
            agent = self._fetch(did)
        except CountersignError as error:
            if error.code in _SERVICE_ERRORS:
                self._blocked_until = self._now() + _PAUSE_SECONDS
            return self._unreachable(did)
        known = self._get(did)
        if known is not None and known.agent is not None and agent is not None:
            # An earlier key than before comes from a stale cache: its holder may have lost it since.
            if (agent.key_sequence or 0) < (known.agent.key_sequence or 0):
                return self._unreachable(did)
        target, other = (self._unknown, self._agents) if agent is None else (self._agents, self._unknown)
        target.set(did, _Entry(agent, requested_at))
        other.remove(did)
        return LookupResult(True, agent)

    def _fetch(self, did: str) -> Optional[AgentData]:
        try:
            lookup = self._registry.lookup(did)
            grade = self._registry.grade(did)["grade"] if self._with_grade else None
            data = AgentData(
                did=did,
                status=lookup["certificate"]["status"],
                verified=lookup["verified"] is True,
                identity_method=lookup["owner"]["identityMethod"],
                grade=grade,
            )
            if not self._with_key:
                return data
            agent = self._registry.agent(did)
            return replace(
                data,
                key_age_seconds=_age_of(agent["keyChangedAt"]),
                public_key=base64.b64decode(agent["publicKey"], validate=True),
                keyid=agent["keyThumbprint"],
                key_sequence=int(agent["keySequence"]),
            )
        except CountersignError as error:
            if error.code == "NOT_FOUND":
                return None
            raise
        except (KeyError, TypeError, ValueError) as cause:
            message = "The response is not that of a Countersign service."
            raise CountersignError("PROTOCOL", message) from cause

    def _unreachable(self, did: str) -> LookupResult:
        entry = self._get(did)
        if entry is None:
            return LookupResult(False)
        return LookupResult(False, entry.agent, self._now() - entry.requested_at)

    def _get(self, did: str) -> Optional[_Entry]:
        return self._agents.get(did) or self._unknown.get(did)


class _TokenBuckets:
    """A token bucket for each key: ``requests`` at once, refilled evenly over ``seconds``."""

    def __init__(self, requests: float, seconds: float) -> None:
        self._requests = requests
        self._rate = requests / seconds
        self._buckets: "_BoundedMap[str, Tuple[float, float]]" = _BoundedMap(_MAX_BUCKETS)
        self._lock = threading.Lock()

    def take(self, key: str, now: float) -> int:
        """Takes a token. 0 if there was one, else the number of seconds until the next one."""
        with self._lock:
            tokens, filled_at = self._buckets.get(key) or (self._requests, now)
            tokens = min(self._requests, tokens + max(0.0, now - filled_at) * self._rate)
            taken = tokens >= 1
            self._buckets.set(key, (tokens - 1 if taken else tokens, now))
        return 0 if taken else max(1, math.ceil((1 - tokens) / self._rate))


class Gate:
    """Makes the decisions.

    :param service: the origin of the Countersign service, or a :class:`Registry`
    :param policy: the policy: a dict as in the policy file, its JSON, or one that :func:`read_policy` returned
    :param audiences: the origins at which agents reach the site, such as ``https://shop.example``; without them, no signature
        counts
    :param nonces: where nonces are stored; by default in the memory of this process, so several processes need one
    :param issuer: the public address of the service, if ``service`` is an internal one
    :raises PolicyError: listing every mistake
    """

    def __init__(
        self,
        service: Union[str, Registry],
        policy: Union[Policy, Dict[str, Any], str, None] = None,
        audiences: Sequence[str] = (),
        nonces: Optional[NonceStore] = None,
        issuer: Optional[str] = None,
        now: Callable[[], float] = time.monotonic,
        wall_clock: Callable[[], float] = time.time,
    ) -> None:
        self.registry = service if isinstance(service, Registry) else Registry(service, timeout=2.0)
        self.naming = self.registry.naming
        self.policy = policy if isinstance(policy, Policy) else read_policy(policy, self.naming)
        self.audiences = list(audiences)
        self._issuer = issuer or self.registry.service
        self._check_options()
        self._nonces = nonces or MemoryNonceStore(now=wall_clock)
        self._now = now
        self._wall_clock = wall_clock
        rules = self.policy.all_rules
        with_grade = any(each.minimum_grade is not None for each in rules)
        with_key = bool(self.audiences) or any(each.minimum_key_age_seconds > 0 for each in rules)
        self._agents = _AgentCache(self.registry, self.policy.cache_seconds, with_grade, with_key, now)
        self._buckets = _TokenBuckets(self.policy.limit_requests, self.policy.limit_seconds)
        self._refreshed_at: "_BoundedMap[str, float]" = _BoundedMap(_MAX_AGENTS)

    def decide(self, request: RawRequest, address: Optional[str] = None) -> Decision:
        """Decides on a request. Never raises: if the gateway itself fails, the policy's rule for an unreachable service
        applies.

        :param address: that of the client, for rate limits
        """
        rules = self.policy.rules_for(request.method, request.target)
        try:
            return self._decide(request, rules, address)
        except Exception:  # Whatever fails here must not let a request through.
            verdict = strictest([failure_verdict(each) for each in rules])
            return decision_of(self.policy.mode, Caller("none"), verdict, None)

    def check_body(self, decision: Decision, request: RawRequest, body: bytes) -> Decision:
        """Compares a body with the digest that the agent signed.

        Call it with the body of each request that :meth:`needs_body` names.
        """
        signature = decision.signature
        if signature is None or signature.verdict != "verified" or signature.digest == "checked":
            return decision
        if signature.content_digest is None:
            reason = "components" if body else None
        else:
            try:
                matches = matches_content_digest(signature.content_digest, body)
            except StructuredFieldError:
                matches = False
            reason = None if matches else "digest"
        if reason is None:
            digest = "none" if signature.content_digest is None else "checked"
            return replace(decision, signature=replace(signature, digest=digest))
        failed = replace(signature, verdict="invalid", reason=reason, status=401)
        caller = Caller("signature-invalid")
        refused = self._evaluate(self.policy.rules_for(request.method, request.target), caller, None, None)
        return replace(refused, signature=failed)

    def needs_body(self, decision: Decision) -> bool:
        """Whether the body has to be compared before the request is passed on. HTTP/2 requests can have content without a
        header that says so, so a signed request has to be read even if none is announced."""
        signature = decision.signature
        return (
            decision.admitted
            and signature is not None
            and signature.verdict == "verified"
            and signature.digest != "checked"
        )

    def forwarded_headers(self, decision: Decision) -> List[Tuple[str, str]]:
        """The headers for the site behind the gateway. In shadow mode the decision starts with ``shadow-``."""
        signature = decision.signature
        values = {
            "Decision": f"shadow-{decision.action}" if decision.mode == "shadow" else decision.action,
            "Verified": "true" if decision.verified else "false",
            "Proof": decision.proof,
            "DID": None if decision.status is None else decision.did,
            "Status": decision.status,
            "Identity-Level": None if decision.identity_level is None else _printable(decision.identity_level),
            "Issuer": None if decision.status is None else decision.issuer,
            "Content-Digest": signature.content_digest
            if signature is not None and decision.proof == "signature"
            else None,
        }
        return [
            (self.naming.forwarded_header(name), value)
            for name, value in values.items()
            if value is not None
        ]

    def is_identity_header(self, name: str) -> bool:
        """Whether a header is one of those that only a gateway may set. Servers map ``X_ServiceID_DID`` and
        ``X-ServiceID-DID`` to the same variable."""
        normalized = re.sub("[^a-z0-9]", "-", name.lower())
        return normalized.startswith(self.naming.forwarded_header("").lower())

    def denial(
        self, decision: Decision, request: RawRequest
    ) -> Optional[Tuple[int, List[Tuple[str, str]], bytes]]:
        """The response to a refused request: status, headers, body. ``None`` if the request is admitted."""
        refusal = decision.refusal
        if decision.admitted or refusal is None:
            return None
        hidden = refusal.status == 404
        fallback = "There is nothing at this address." if hidden else decision.reasons[0].message
        message = refusal.message or fallback
        request_id = f"req_{uuid.uuid4().hex}"
        fields = header_fields(request.headers)
        page = _prefers_html(field_value(fields, "accept"))
        if page:
            body = _html_page(_TITLES[refusal.status], message, request_id)
        else:
            error: Dict[str, Any] = {"code": refusal.code, "message": message, "requestId": request_id}
            if not hidden:
                error["reasons"] = [each.code for each in decision.reasons]
            body = json.dumps({"error": error}, ensure_ascii=False, separators=(",", ":"))
        headers = [
            ("content-type", "text/html; charset=utf-8" if page else "application/json"),
            ("cache-control", "no-store"),
            ("vary", f"{self.vary}, Accept"),
            ("x-content-type-options", "nosniff"),
        ]
        if page:
            headers.append(("content-security-policy", "default-src 'none'"))
        if refusal.status == 401:
            headers.append(("www-authenticate", self.naming.id_header))
        lacks_proof = refusal.status == 401 or decision.reasons[0].code == "proof-required"
        if self.audiences and lacks_proof and not hidden:
            headers.append(("accept-signature", self._accept_signature(request)))
        if refusal.retry_after_seconds is not None:
            headers.append(("retry-after", str(refusal.retry_after_seconds)))
        return refusal.status, headers, body.encode("utf-8")

    def _check_options(self) -> None:
        mistakes = [
            f"audiences[{i}] takes an origin such as https://shop.example"
            for i, each in enumerate(self.audiences)
            if not is_origin(each)
        ]
        if not is_origin(self._issuer):
            mistakes.append("issuer takes an origin such as https://shop.example")
        if not self.audiences:
            places = ["policy"] if self.policy.rules.require_proof else []
            routes = enumerate(self.policy.routes)
            places += [f"policy.routes[{i}]" for i, each in routes if each.rules.require_proof]
            mistakes += [
                f"{each}.requireProof needs `audiences`: without them, nobody can prove anything"
                for each in places
            ]
        if mistakes:
            raise PolicyError(mistakes)

    @property
    def vary(self) -> str:
        """The ``Vary`` value for every response behind the gateway."""
        return f"{self.naming.id_header}, Signature" if self.audiences else self.naming.id_header

    def _decide(self, request: RawRequest, rules: List[Rules], address: Optional[str]) -> Decision:
        fields = header_fields(request.headers)
        preflight = (
            request.method == "OPTIONS"
            and field_value(fields, "origin")
            and field_value(fields, "access-control-request-method")
        )
        if preflight and self.policy.preflight == "pass":
            reason = Reason("preflight", "The request is a CORS preflight.")
            return decision_of(self.policy.mode, Caller("none"), Verdict("allow", (reason,)), None)
        if "signature" not in fields and "signature-input" not in fields:
            return self._decide_by_header(request, rules, address)
        if not self.audiences:
            unverified = SignatureResult(verdict="unverified", reason="no-audience", status=401)
            decision = self._decide_by_header(request, rules, address)
            return with_unverified_signature(decision, unverified)
        return self._decide_signed(request, rules, address)

    def _decide_by_header(
        self, request: RawRequest, rules: List[Rules], address: Optional[str]
    ) -> Decision:
        identification = field_value(header_fields(request.headers), self.naming.id_header.lower())
        tail = None if identification is None else self.naming.tail_of(identification)
        if identification is None:
            caller = Caller("none")
        elif tail is None:
            caller = Caller("unreadable")
        else:
            caller = Caller("named", self.naming.did_of(tail))
        if caller.did is None:
            return self._limited(self._evaluate(rules, caller, None, None), address)
        cached = self._agents.get_fresh(caller.did)
        result = LookupResult(True, cached.agent) if cached else self._agents.lookup(caller.did)
        source = ("cache" if cached else "service") if result.answered else None
        return self._limited(self._evaluate(rules, caller, result, source), address)

    def _decide_signed(
        self, request: RawRequest, rules: List[Rules], address: Optional[str]
    ) -> Decision:
        found: List[Tuple[LookupResult, str]] = []

        def find_key(agent: Any, keyid: str) -> Union[SigningKey, str]:
            did = self.naming.did_of_key_set(self._issuer, agent.url)
            if did is None:
                return "untrusted-agent"
            lookup, source = self._lookup_key(did, keyid)
            found.append((lookup, source))
            data = lookup.agent
            if data is not None and data.keyid == keyid and data.public_key is not None:
                # No status: the policy decides on it.
                return SigningKey(data.public_key, did)
            return "unknown-key" if lookup.answered else "directory-unavailable"

        def admits(key: SigningKey) -> bool:
            signer = Caller("named", key.did, "signature")
            shadow = self.policy.mode == "shadow"
            return shadow or self._verdict(rules, signer, found[-1][0]).action != "deny"

        verifier = RequestVerifier(
            self.audiences, find_key, self._nonces, self.naming, admit=admits, now=self._wall_clock
        )
        result = verifier.verify(request)
        if result.verdict == "verified" or result.reason == "not-admitted":
            lookup, answered_by = found[-1]
            signer = Caller("named", result.did, "signature")
            source = answered_by if lookup.answered else None
            decision = self._evaluate(rules, signer, lookup, source)
            return self._limited(replace(decision, signature=result), address)
        if result.verdict == "unverified":
            decision = self._decide_by_header(request, rules, address)
            return with_unverified_signature(decision, result)
        status = result.status if result.status in (400, 403) else 401
        caller = Caller("signature-invalid", status=status)
        return replace(self._evaluate(rules, caller, None, None), signature=result)

    def _lookup_key(self, did: str, keyid: str) -> Tuple[LookupResult, str]:
        cached = self._agents.get_fresh(did)
        if cached is not None:
            refreshed_at = self._refreshed_at.get(did)
            is_other = cached.agent is not None and cached.agent.keyid != keyid
            recent = refreshed_at is not None and self._now() - refreshed_at < _REFRESH_SECONDS
            if not is_other or recent:
                return LookupResult(True, cached.agent), "cache"
            self._refreshed_at.set(did, self._now())
        return self._agents.lookup(did), "service"

    def _evaluate(
        self,
        rules: List[Rules],
        caller: Caller,
        result: Optional[LookupResult],
        source: Optional[str],
    ) -> Decision:
        age = None if source is None else 0.0 if source == "service" else self.policy.cache_seconds
        verdict = self._verdict(rules, caller, result)
        return decision_of(self.policy.mode, caller, verdict, source, self._issuer, age)

    def _verdict(self, rules: List[Rules], caller: Caller, result: Optional[LookupResult]) -> Verdict:
        header = self.naming.id_header
        return strictest([decide(each, header, caller, result) for each in rules])

    def _limited(self, decision: Decision, address: Optional[str]) -> Decision:
        if decision.action != "limit":
            return decision
        if decision.did is None or decision.status is None:
            key = address_key(address or "")
        else:
            # Separate, so that a caller without proof cannot use up the limit of the agent that it names.
            key = f"{'proven' if decision.proof_of_possession else 'named'} {decision.did}"
        seconds = self._buckets.take(key, self._now())
        return decision if seconds == 0 else rate_limited(decision, seconds)

    def _accept_signature(self, request: RawRequest) -> str:
        fields = header_fields(request.headers)
        components = strict_components(
            request.method,
            fields,
            "?" in request.target,
            request.content_is_present(fields),
            Component("signature-agent", "sig1"),
            self.naming.id_header,
        )
        identifiers = " ".join(each.identifier for each in components)
        return f'sig1=({identifiers});created;expires;tag="web-bot-auth"'


def address_key(address: str) -> str:
    """The key under which requests of an address are counted: an IPv4 address, or the /64 of an IPv6 address."""
    bare = address.partition("%")[0].lower()
    try:
        parsed = ipaddress.ip_address(bare)
    except ValueError:
        return bare[:64]
    if isinstance(parsed, ipaddress.IPv6Address):
        if parsed.ipv4_mapped is not None:
            return str(parsed.ipv4_mapped)
        return str(ipaddress.IPv6Network((parsed, 64), strict=False))
    return str(parsed)


def _age_of(timestamp: str) -> float:
    changed = datetime.strptime(timestamp, "%Y-%m-%dT%H:%M:%S.%fZ").replace(tzinfo=timezone.utc)
    return (datetime.now(timezone.utc) - changed).total_seconds()


def _printable(text: str) -> str:
    return text if re.fullmatch(r"[\x21-\x7e]+", text) else quote(text, safe="!'()*-._~")


def _prefers_html(accept: Optional[str]) -> bool:
    """HTML must be listed, and before JSON: the same rule as in the service."""
    page = re.search(r"\btext/html\b", accept or "", re.IGNORECASE)
    data = re.search(r"\bapplication/json\b", accept or "", re.IGNORECASE)
    return page is not None and (data is None or page.start() < data.start())


_TITLES = {
    400: "Bad request",
    401: "Agent authentication required",
    402: "Payment required",
    403: "Access denied",
    404: "Not found",
    429: "Too many requests",
    503: "Agent verification is not available",
}


def _escape_html(text: str) -> str:
    return re.sub("[&<>\"']", lambda each: f"&#{ord(each.group())};", text)


def _html_page(title: str, message: str, request_id: str) -> str:
    return f"""<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>{title}</title>
<h1>{title}</h1>
<p>{_escape_html(message)}</p>
<p><small>{request_id}</small></p>
</html>
"""


__all__ = ["MAX_BODY_BYTES", "Gate", "address_key"]
