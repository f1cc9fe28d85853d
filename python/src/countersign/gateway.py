"""Decides on requests by a policy. The middlewares :mod:`countersign.asgi` and :mod:`countersign.wsgi` are built on it."""

from __future__ import annotations

import json
import re
import time
import uuid
from dataclasses import replace
from typing import Any, Callable, Dict, List, Optional, Sequence, Tuple, Union
from urllib.parse import quote

from ._agent_cache import AgentCache
from ._bounded_map import BoundedMap
from ._chains import ProvenChains, is_chain
from ._http import (
    Component,
    HeaderFields,
    RawRequest,
    SignatureAgent,
    SignedParts,
    field_value,
    header_fields,
    is_safe_method,
    matches_content_digest,
    read_authority,
    strict_components,
)
from ._roots import certificate_status, key_sequence_of
from ._structured_fields import StructuredFieldError
from ._token_buckets import TokenBuckets, address_key
from ._urls import is_canonical_path, is_origin
from .approvals import FoundApproval, find_approval, is_body_compared, record_approval
from .decision import (
    AgentData,
    Caller,
    Decision,
    LookupResult,
    Reason,
    Verdict,
    decide,
    approval_message,
    custom_refusal,
    decision_of,
    failure_verdict,
    rate_limited,
    refusal_of,
    refused_by,
    strictest,
    with_unverified_signature,
)
from .delegation import MAX_DELEGATION_SECONDS, MAX_HOPS, Delegation, DelegationPolicy, DelegationRoot
from .directories import FetchKeySet, KeyDirectories
from .nonces import MemoryNonceStore, NonceStore, UsedNonce, challenge_of
from .policy import Policy, PolicyError, Rules, read_policy
from .registry import Registry
from .sessions import AgentSignIn, Response, refusal
from .verification import RequestVerifier, SignatureResult, SignatureRules, SigningKey
from .verify_request import approval_verifier

#: At most this much of a body is buffered to compare its digest: 10 MiB.
MAX_BODY_BYTES = 10 * 1024 * 1024

_MAX_AGENTS = 10_000
# How long after asking for an unknown key the service is not asked for another one of the same agent.
_REFRESH_SECONDS = 5.0
# RFC 6750 section 2.1.
_BEARER = re.compile(r"Bearer +([\x21-\x7e]+)", re.IGNORECASE)
# Without characters that clients and servers spell differently, or that would end a quoted string.
_SIGN_IN_PATH = re.compile(r"(?!//)/[A-Za-z0-9/._~!$&'()*+,=:@-]*")

class Gate:
    """Makes the decisions.

    :param service: the origin of the Countersign service, or a :class:`Registry`
    :param policy: the policy: a dict as in the policy file, its JSON, or one that :func:`read_policy` returned
    :param audiences: the origins at which agents reach the site, such as ``https://shop.example``; without them, no signature
        counts
    :param nonces: where nonces are stored; by default in the memory of this process, so several processes need one
    :param issuer: the public address of the service, if ``service`` is an internal one
    :param sessions: the sessions that count as proof: an :class:`AgentSignIn`, or one for each origin of the site
    :param sign_in_path: where the middlewares serve the sign-in endpoint, such as ``/agent-sign-in``; refusals name it
    :param fetch_directory: fetches the key sets of the policy's ``directories``, for sites whose requests leave through a proxy: takes
        the address, returns the body, and raises unless the status is 200
    :raises PolicyError: listing every mistake
    """

    def __init__(
        self,
        service: Union[str, Registry],
        policy: Union[Policy, Dict[str, Any], str, None] = None,
        audiences: Sequence[str] = (),
        nonces: Optional[NonceStore] = None,
        issuer: Optional[str] = None,
        sessions: Union[AgentSignIn, Sequence[AgentSignIn]] = (),
        sign_in_path: Optional[str] = None,
        fetch_directory: Optional[FetchKeySet] = None,
        now: Callable[[], float] = time.monotonic,
        wall_clock: Callable[[], float] = time.time,
    ) -> None:
        self.registry = service if isinstance(service, Registry) else Registry(service, timeout=2.0)
        self.naming = self.registry.naming
        self.policy = policy if isinstance(policy, Policy) else read_policy(policy, self.naming)
        self.audiences = list(audiences)
        self._issuer = issuer or self.registry.service
        self._sign_ins = [sessions] if isinstance(sessions, AgentSignIn) else list(sessions)
        self._sign_in_path = sign_in_path
        self._check_options()
        self._nonces = nonces or MemoryNonceStore(now=wall_clock)
        self._now = now
        self._wall_clock = wall_clock
        rules = self.policy.all_rules
        with_grade = any(each.minimum_grade is not None for each in rules)
        with_key = bool(self.audiences or self._sign_ins)
        with_key = with_key or any(
            each.minimum_key_age_seconds > 0 or each.minimum_owner_age_seconds > 0 for each in rules
        )
        self._agents = AgentCache(self.registry, self.policy.cache_seconds, with_grade, with_key, now)
        self._directories = KeyDirectories(self.policy.directories, fetch_directory, now, wall_clock)
        self._buckets = TokenBuckets(self.policy.limit_requests, self.policy.limit_seconds)
        self._sign_in_buckets = TokenBuckets(self.policy.limit_requests, self.policy.limit_seconds)
        self._refreshed_at: "BoundedMap[str, float]" = BoundedMap(_MAX_AGENTS)
        self._proven_chains = ProvenChains()

    def decide(self, request: RawRequest, address: Optional[str] = None) -> Decision:
        """Decides on a request. Never raises: if the gateway itself fails, the policy's rule for an unreachable service
        applies.

        :param address: that of the client, for rate limits
        """
        rules = self.policy.rules_for(request.method, request.target)
        try:
            return self._decide(request, rules, address)
        except Exception:  # Whatever fails here must not let a request through.
            is_delegated = self._carries_chain(header_fields(request.headers))
            verdict = strictest([failure_verdict(each, is_delegated) for each in rules])
            return decision_of(self.policy.mode, Caller("none"), verdict, None)

    def is_sign_in(self, request: RawRequest) -> bool:
        """Whether a request is for the sign-in endpoint, which :meth:`sign_in` serves."""
        return self._sign_in_path is not None and request.target.partition("?")[0] == self._sign_in_path

    def sign_in(self, request: RawRequest, body: Optional[bytes], address: Optional[str] = None) -> Response:
        """The response of the sign-in endpoint. Never raises.

        :param body: ``None`` if it is larger than ``MAX_ANSWER_BYTES`` of :mod:`countersign.sessions`
        :param address: that of the client, for the rate limit
        """
        seconds = self._sign_in_buckets.take(address_key(address or ""), self._now())
        if seconds > 0:
            message = "Too many sign-ins from this address."
            return refusal(429, "RATE_LIMITED", message, ("retry-after", str(seconds)))
        fields = header_fields(request.headers)
        site = next((each for each in self._sign_ins if _is_at(request, fields, each.audience)), None)
        if site is None:
            return refusal(404, "NOT_FOUND", "Agents do not sign in at this origin.")
        return site.handle(request.method, field_value(fields, "content-type"), body)

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

    def use_approval(self, decision: Decision, request: RawRequest) -> Decision:
        """Uses up the approval of a request that everything else admits. Call it last, after :meth:`check_body`."""
        found, signature = decision.pending_approval, decision.signature
        if found is None:
            return decision
        if decision.action == "deny" or signature is None:
            return replace(decision, pending_approval=None)
        rules = [each for each in self.policy.rules_for(request.method, request.target) if each.approval is not None]
        refused = custom_refusal(rules[0], 403)
        compares = any(each.approval and not each.approval.body_checked_by_application for each in rules)
        if compares and not is_body_compared(found, signature.digest, False):
            message = approval_message("approval-mismatch", self.naming.id_header)
            return refused_by(decision, Reason("approval-mismatch", message), refused)
        approved = replace(decision, approval=found.approval, pending_approval=None)
        if decision.mode == "shadow":
            return approved
        outcome = record_approval(found, self._nonces)
        if outcome == "fresh":
            return approved
        if outcome == "used":
            message = (
                f"The approval {found.approval.id} was used before. Ask this site for the result of that request "
                "before you ask for another approval."
            )
            return refused_by(decision, Reason("approval-used", message), refused)
        if outcome == "share-exceeded":
            return replace(rate_limited(decision, _SHARE_RETRY_SECONDS), pending_approval=None)
        message = "This site cannot tell whether the approval was used before, and never will. Ask for another one."
        return refused_by(decision, Reason("approval-unchecked", message), refusal_of(503))

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
        is_signed = decision.proof == "signature" or decision.directory is not None
        values = {
            "Decision": f"shadow-{decision.action}" if decision.mode == "shadow" else decision.action,
            "Verified": "true" if decision.verified else "false",
            "Proof": decision.proof,
            "DID": None if decision.status is None else decision.did,
            "Status": decision.status,
            "Identity-Level": None if decision.identity_level is None else _printable(decision.identity_level),
            "Issuer": None if decision.status is None else decision.issuer,
            "Content-Digest": signature.content_digest if signature is not None and is_signed else None,
            "Directory": decision.directory,
            "Delegate": None if decision.delegation is None else decision.delegation.keyid,
            # In shadow mode, nothing is used up: it may have been used before.
            "Approval": None
            if decision.approval is None or decision.mode == "shadow"
            else decision.approval.id,
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
        if decision.pending_approval is not None:
            raise RuntimeError("use_approval was not called")
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
            headers.append(("www-authenticate", self._challenges()))
        lacks_proof = refusal.status == 401 or decision.reasons[0].code in _ASK_FOR_SIGNATURE
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
        if self._sign_in_path is not None:
            path = self._sign_in_path
            if _SIGN_IN_PATH.fullmatch(path) is None or not is_canonical_path(path):
                mistakes.append("sign_in_path takes a path such as /agent-sign-in")
            if not self._sign_ins:
                mistakes.append("sign_in_path needs `sessions`")
        if not self.audiences and not self._sign_ins:
            places = ["policy"] if self.policy.rules.require_proof else []
            routes = enumerate(self.policy.routes)
            places += [f"policy.routes[{i}]" for i, each in routes if each.rules.require_proof]
            mistakes += [
                f"{each}.requireProof needs `audiences` or `sessions`: without them, nobody can prove anything"
                for each in places
            ]
        if not self.audiences:
            places = ["policy"] if self.policy.rules.approval is not None else []
            places += [f"policy.routes[{i}]" for i, each in enumerate(self.policy.routes) if each.rules.approval]
            mistakes += [
                f"{each}.approval requires `audiences`: without them, no signature is accepted" for each in places
            ]
        if not self.audiences and self.policy.directories:
            mistakes.append(
                "policy.directories requires `audiences`: without them, no signature is accepted"
            )
        if mistakes:
            raise PolicyError(mistakes)

    @property
    def vary(self) -> str:
        """The ``Vary`` value for every response behind the gateway."""
        names = [self.naming.id_header]
        names += ["Authorization"] if self._sign_ins else []
        names += ["Signature"] if self.audiences else []
        return ", ".join(names)

    def _challenges(self) -> str:
        """The authentication schemes that are accepted, and where to sign in (RFC 9110 section 11.6.1; docs/sessions.md)."""
        if not self._sign_ins:
            return self.naming.id_header
        sign_in = "" if self._sign_in_path is None else f' sign_in="{self._sign_in_path}"'
        return f"{self.naming.id_header}{sign_in}, Bearer"

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
        session = self._session_of(request, fields)
        if "signature" not in fields and "signature-input" not in fields:
            return self._decide_unsigned(request, rules, address, session)
        if not self.audiences:
            unverified = SignatureResult(verdict="unverified", reason="no-audience", status=401)
            return self._decide_unverified(request, rules, address, session, unverified, None)
        return self._decide_signed(request, rules, address, session)

    def _session_of(self, request: RawRequest, fields: HeaderFields) -> Optional[Caller]:
        """``None`` if the request has no valid session."""
        token = _BEARER.fullmatch(field_value(fields, "authorization") or "")
        if token is None:
            return None
        several = len(self._sign_ins) > 1 or len(self.audiences) > 1
        for each in self._sign_ins:
            claims = each.session(token.group(1))
            # One of the sites behind could use the sessions that it receives at the others.
            if claims is not None and not (several and not _is_at(request, fields, each.audience)):
                return Caller("named", claims.did, "session", key_sequence=claims.key_sequence)
        return None

    def _caller_of(self, identification: Optional[str], session: Optional[Caller]) -> Caller:
        if identification is None:
            return session or Caller("none")
        tail = self.naming.tail_of(identification)
        if tail is None:
            return Caller("unreadable")
        named = Caller("named", self.naming.did_of(tail))
        if session is None:
            return named
        return session if session.did == named.did else Caller("conflict")

    def _decide_unsigned(
        self, request: RawRequest, rules: List[Rules], address: Optional[str], session: Optional[Caller]
    ) -> Decision:
        identification = field_value(header_fields(request.headers), self.naming.id_header.lower())
        caller = self._caller_of(identification, session)
        if caller.did is None:
            return self._limited(self._evaluate(rules, caller, None, None), address)
        cached = self._agents.get_fresh(caller.did)
        if cached is not None and not _is_before(cached.agent, caller):
            result, source = LookupResult(True, cached.agent), "cache"
        else:
            result, source = self._agents.lookup(caller.did), "service"
        if _has_ended(caller, result):
            return self._limited(self._evaluate(rules, Caller("session-ended"), None, None), address)
        basis = source if result.answered else None
        return self._limited(self._evaluate(rules, caller, result, basis), address)

    def _decide_signed(
        self, request: RawRequest, rules: List[Rules], address: Optional[str], session: Optional[Caller]
    ) -> Decision:
        found: List[Tuple[LookupResult, str]] = []
        directories = self._directories

        def find_key(agent: Any, keyid: str) -> Union[SigningKey, str]:
            did = self.naming.did_of_key_set(self._issuer, agent.url)
            if did is None:
                return directories.find_key(agent, keyid)
            lookup, source = self._lookup_key(did, keyid)
            found.append((lookup, source))
            data = lookup.agent
            if data is not None and data.keyid == keyid and data.public_key is not None:
                # No status: the policy decides on it.
                return SigningKey(data.public_key, did)
            return "unknown-key" if lookup.answered else "directory-unavailable"

        def find_root(root: DelegationRoot) -> Union[SigningKey, str]:
            return self._find_root(root, found)

        def rules_of(agent: SignatureAgent) -> Optional[SignatureRules]:
            directory = directories.find(agent)
            return None if directory is None else directory.rules

        needs_approval = any(each.approval is not None for each in rules)
        carried: List[Union[FoundApproval, str]] = []

        def examine(received: SignedParts, digest: Optional[str], did: Optional[str]) -> None:
            if needs_approval and did is not None:
                verify = approval_verifier(self.registry, self._issuer, self._wall_clock)
                carried.append(find_approval(received, digest, did, self.naming, verify))

        def signer_of(
            did: Optional[str], agent: Optional[SignatureAgent], delegation: Optional[Delegation]
        ) -> Caller:
            if did is not None:
                approval = carried[0] if carried else None
                return Caller(
                    "named", did, "signature", delegation=delegation, approval=approval, now=self._wall_clock()
                )
            directory = None if agent is None else directories.find(agent)
            return Caller("directory", url=None if directory is None else directory.url)

        def admits(key: SigningKey, agent: SignatureAgent) -> bool:
            shadow = self.policy.mode == "shadow"
            lookup = found[-1][0] if found else None
            signer = signer_of(key.did, agent, key.delegation)
            return shadow or self._verdict(rules, signer, lookup).action != "deny"

        nonces = _Recorder(self._nonces)
        verifier = RequestVerifier(
            self.audiences,
            find_key,
            nonces,
            self.naming,
            rules_of=rules_of,
            admit=admits,
            now=self._wall_clock,
            delegation=_EVERY_CHAIN,
            find_root=find_root,
            proven=self._proven_chains,
            examine=examine,
        )
        result = verifier.verify(request)
        if result.verdict == "verified" or result.reason == "not-admitted":
            signer = signer_of(result.did, result.signature_agent, result.delegation)
            if session is not None and session.did != signer.did:
                decision = self._evaluate(rules, Caller("conflict"), None, None)
            elif not found:
                decision = self._evaluate(rules, signer, None, None)
            else:
                lookup, answered_by = found[-1]
                source = answered_by if lookup.answered else None
                decision = self._evaluate(rules, signer, lookup, source)
            if result.reason == "not-admitted" and decision.reasons[0].code == "delegation-refused":
                result = replace(result, reason="delegation-refused")
            limited = self._limited(replace(decision, signature=result), address)
            if not carried or limited.action == "deny" or isinstance(carried[0], str):
                return limited
            return replace(limited, pending_approval=carried[0])
        if result.verdict == "unverified":
            retry_after = nonces.retry_after_seconds()
            return self._decide_unverified(request, rules, address, session, result, retry_after)
        return replace(self._evaluate(rules, _refused_caller(result), None, None), signature=result)

    def _decide_unverified(
        self,
        request: RawRequest,
        rules: List[Rules],
        address: Optional[str],
        session: Optional[Caller],
        result: SignatureResult,
        retry_after_seconds: Optional[int],
    ) -> Decision:
        # A chain counts only with the signature: without it, neither a session nor the header admits the request.
        if self._carries_chain(header_fields(request.headers)):
            decision = self._evaluate(rules, Caller("delegation-unproven"), None, None)
        else:
            decision = self._decide_unsigned(request, rules, address, session)
        return with_unverified_signature(decision, result, retry_after_seconds)

    def _carries_chain(self, fields: HeaderFields) -> bool:
        certificate = field_value(fields, f"{self.naming.id_header.lower()}-certificate")
        return certificate is not None and is_chain(certificate)

    def _find_root(self, root: DelegationRoot, found: List[Tuple[LookupResult, str]]) -> Union[SigningKey, str]:
        """The agent's key at the root of a chain, whose certificate counts only with a current status: the service has to be reachable."""
        did = self.naming.did_of_key_set(self._issuer, root.signature_agent.url)
        if did is None:
            return "untrusted-agent"
        max_age, now = self.policy.cache_seconds, self._wall_clock
        status = certificate_status(self.registry, root, did, max_age, self._issuer, now)
        if status not in ("active", "suspended"):
            return status
        lookup, source = self._lookup_key(did, root.keyid)
        data = lookup.agent
        # An older response does not rescue a chain, whatever the policy has for an unreachable service.
        if not lookup.answered:
            return "directory-unavailable"
        if data is None:
            return "unknown-key"
        if data.public_key is None or (data.keyid, data.key_sequence) != (root.keyid, key_sequence_of(root)):
            return "delegation-ended"
        is_suspended = status == "suspended" and data.status == "active"
        current = replace(data, status=status, verified=False) if is_suspended else data
        found.append((replace(lookup, agent=current), source))
        # No status: the policy decides on it.
        return SigningKey(data.public_key, did)

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
        if decision.directory is not None:
            key = f"directory {decision.directory}"
        elif decision.did is None or decision.status is None:
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
        # Requests that change no state are admitted without.
        nonce = None if is_safe_method(request.method) else challenge_of(self._nonces)
        with_nonce = "" if nonce is None else f';nonce="{nonce}"'
        return f'sig1=({identifiers});created;expires{with_nonce};tag="web-bot-auth"'


#: What the verifier accepts. Which chains a site accepts, its rules decide afterwards.
_EVERY_CHAIN = DelegationPolicy(MAX_HOPS, MAX_DELEGATION_SECONDS, True)


def _refused_caller(result: SignatureResult) -> Caller:
    reason = result.reason
    if reason in ("delegation-refused", "delegation-limit"):
        return Caller(reason)
    if reason == "delegation-ended":
        return Caller("certificate-replaced")
    if result.delegation is not None and result.delegation.fault == "root":
        return Caller("certificate-invalid")
    return Caller("signature-invalid", status=result.status if result.status in (400, 403) else 401)


#: Reasons whose refusal asks for a signature, besides status 401.
_ASK_FOR_SIGNATURE = ("proof-required", "replay-unchecked")
#: For an agent that has used up its share of the store, in seconds: its approvals end within the hour.
_SHARE_RETRY_SECONDS = 60
#: For a store that does not say when to try again, in seconds.
_STORE_RETRY_SECONDS = 5


class _Recorder:
    """A store that remembers when the signature of one request was made."""

    def __init__(self, store: NonceStore) -> None:
        self._store = store
        self._created_at = 0

    def record(self, nonce: UsedNonce) -> str:
        self._created_at = nonce.created_at
        return self._store.record(nonce)

    def retry_after_seconds(self) -> Optional[int]:
        ask = getattr(self._store, "retry_after_seconds", None)
        return _STORE_RETRY_SECONDS if ask is None else ask(self._created_at)


def _is_before(agent: Optional[AgentData], caller: Caller) -> bool:
    """Whether a session was issued for a later key than the cache has."""
    sequence = 0 if agent is None else agent.key_sequence or 0
    return caller.key_sequence is not None and sequence < caller.key_sequence


def _has_ended(caller: Caller, result: LookupResult) -> bool:
    """Whether the agent of a session has another key now."""
    current = None if result.agent is None else result.agent.key_sequence
    if caller.key_sequence is None or current is None:
        return False
    # While the service is out of reach, a response from before the session says nothing about it.
    return current > caller.key_sequence or (result.answered and current < caller.key_sequence)


def _is_at(request: RawRequest, fields: HeaderFields, origin: str) -> bool:
    """Whether a request is for the host of an origin. A proxy may have ended the TLS connection."""
    scheme, _, host = origin.partition("://")
    return read_authority(replace(request, scheme=scheme), fields) == host


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


__all__ = ["MAX_BODY_BYTES", "Gate"]
