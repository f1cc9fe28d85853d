"""From rules and facts to a decision, which is pure: the same as in the package ``@countersign/gateway``."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import List, Optional, Sequence, Tuple, Union

from ._chains import accepts_chain
from .approvals import FoundApproval, RequestApproval, approval_fault
from .delegation import Delegation
from .policy import Rules
from .verification import SignatureResult


@dataclass(frozen=True)
class Reason:
    """Why a decision was made: a code for programs, and a message for people."""

    code: str
    message: str


@dataclass(frozen=True)
class AgentData:
    """The part of the service's data on an agent that decisions depend on."""

    did: str
    status: str
    verified: bool
    identity_method: Optional[str]
    grade: Optional[str] = None
    key_age_seconds: Optional[float] = None
    #: Since it was transferred to its owner; ``None`` if it never was. 0 also if that is not known.
    owner_age_seconds: Optional[float] = 0
    public_key: Optional[bytes] = None
    keyid: Optional[str] = None
    key_sequence: Optional[int] = None


@dataclass(frozen=True)
class Caller:
    """Whom a request identifies.

    :ivar kind: ``none``, ``unreadable``, ``conflict``, ``signature-invalid``, ``session-ended``, ``directory`` or ``named``; of a chain of
        delegations ``certificate-invalid``, ``certificate-replaced``, ``delegation-refused``, ``delegation-limit``, or
        ``delegation-unproven`` if its signature could not be verified
    :ivar proof: ``signature``, ``session``, or ``none`` for the identification header alone, which is never a proof
    :ivar url: of a directory
    :ivar key_sequence: of a session: the number of the key with which the agent signed in
    :ivar delegation: the proven chain of a delegate of this agent; ``None`` for the agent itself
    :ivar approval: of a signed request for which a rule requires one: what was found, or why it does not count
    :ivar now: when it was read, in Unix seconds
    """

    kind: str
    did: Optional[str] = None
    proof: str = "none"
    status: int = 401
    key_sequence: Optional[int] = None
    url: Optional[str] = None
    delegation: Optional[Delegation] = None
    approval: Union[FoundApproval, str, None] = None
    now: float = 0


@dataclass(frozen=True)
class LookupResult:
    """The result of looking an agent up. ``agent`` is ``None`` if the service does not know it.

    :ivar answered: whether the service answered
    :ivar age_seconds: of the last response, if the service is unreachable and one is cached; else ``None``
    """

    answered: bool
    agent: Optional[AgentData] = None
    age_seconds: Optional[float] = None


@dataclass(frozen=True)
class Refusal:
    """How a request is refused, or would be in shadow mode."""

    status: int
    code: str
    message: Optional[str] = None
    retry_after_seconds: Optional[int] = None


@dataclass(frozen=True)
class Delegate:
    """A key that an agent has delegated to. It has no DID of its own.

    :ivar keyid: the JWK thumbprint of the key
    :ivar depth: how many delegations lead from the agent to it: 1 to 3
    :ivar expires_at: when its delegation expires, in Unix seconds
    """

    keyid: str
    depth: int
    expires_at: int


@dataclass(frozen=True)
class Decision:
    """A decision with its reasons. If ``proof`` is ``none``, the data describes the agent that the caller claims to be.

    :ivar action: ``allow``, ``flag``, ``limit`` or ``deny``; in shadow mode it is not enforced
    :ivar admitted: whether the request is passed on
    :ivar reasons: the first one is the deciding one
    :ivar issuer: the service that certifies the agent, by its public origin
    :ivar source: where the data comes from: ``service``, ``cache``, or ``stale`` if the service is unreachable
    :ivar status_age_seconds: how old the status is at most
    :ivar directory: the directory of the policy whose key signed the request. Such a caller is no agent of the service
    :ivar delegation: the delegate of the agent that signed the request; ``None`` if the agent itself did, or nobody has proved anything
    :ivar approval: the approval of the request, if a rule requires one and ``action`` is not ``deny``. It was used up, except in shadow mode
    :ivar pending_approval: one that :meth:`Gate.use_approval` has to use up before the request is passed on
    """

    action: str
    admitted: bool
    mode: str
    level: Optional[str]
    reasons: Tuple[Reason, ...]
    refusal: Optional[Refusal]
    did: Optional[str] = None
    status: Optional[str] = None
    verified: bool = False
    identity_level: Optional[str] = None
    grade: Optional[str] = None
    issuer: Optional[str] = None
    source: Optional[str] = None
    status_age_seconds: Optional[float] = None
    proof: str = "none"
    signature: Optional[SignatureResult] = None
    directory: Optional[str] = None
    delegation: Optional[Delegate] = None
    approval: Optional[RequestApproval] = None
    pending_approval: Optional[FoundApproval] = None

    @property
    def proof_of_possession(self) -> bool:
        return self.proof != "none"


@dataclass(frozen=True)
class Verdict:
    """The result of evaluating the rules, before the rate limit is applied."""

    action: str
    reasons: Tuple[Reason, ...]
    level: Optional[str] = None
    refusal: Optional[Refusal] = None
    agent: Optional[AgentData] = None
    #: The age of the response that it is based on, if the service is unreachable.
    stale_seconds: Optional[float] = None


_CODES = {
    400: "VALIDATION_ERROR",
    401: "UNAUTHENTICATED",
    402: "FORBIDDEN",
    403: "FORBIDDEN",
    404: "NOT_FOUND",
    429: "RATE_LIMITED",
    503: "UNAVAILABLE",
}
_STRICTNESS = {"allow": 0, "flag": 1, "limit": 2, "deny": 3}
_NEEDS_PROOF = ("no-identification", "proof-required", "delegation-unproven")


# Status and message of what is wrong with a chain of delegations.
_CHAIN_MESSAGES = {
    "certificate-invalid": (
        401,
        "The certificate in the request is not one of a trusted issuer for the key that signed the request.",
    ),
    "certificate-replaced": (
        401,
        "The certificate in the request was replaced or revoked. Get a new one from its issuer.",
    ),
    "delegation-refused": (
        403,
        "This site does not accept this delegated key. Let the agent itself sign the request.",
    ),
    "delegation-limit": (403, "The request is outside the limits of the delegation."),
    "delegation-unproven": (
        401,
        "The request has a chain of delegations, which counts only with a verified signature.",
    ),
}


def decide(rules: Rules, header: str, caller: Caller, result: Optional[LookupResult]) -> Verdict:
    """Evaluates the rules.

    The order: identification, deny list, delegation, reachability of the service, existence of the agent, status, proof of possession,
    age of the key, approval, allow list, grade, level.

    :param header: the name of the identification header, for messages
    :param result: ``None`` if the request names no agent
    """
    if caller.kind == "none":
        return _by_level(rules, "none", 401, [_no_identification(header)])
    if caller.kind == "signature-invalid":
        fixed = caller.status == 400
        refusal = refusal_of(400) if fixed else custom_refusal(rules, caller.status)
        return _deny(refusal, [Reason("signature-invalid", "The signature of the request is not valid.")])
    if caller.kind == "directory":
        message = (
            f"The caller signed the request with a key of {caller.url}. It is not an agent of the service."
        )
        return _by_level(rules, "directory", 403, [Reason("directory-signed", message)])
    if caller.kind == "session-ended":
        message = "The session has ended because the agent has changed its key. Sign in again."
        return _deny(custom_refusal(rules, 401), [Reason("session-ended", message)])
    if caller.kind in _CHAIN_MESSAGES:
        status, message = _CHAIN_MESSAGES[caller.kind]
        return _deny(custom_refusal(rules, status), [Reason(caller.kind, message)])
    if caller.kind == "conflict":
        message = f"The {header} header, the session and the signature must name the same agent."
        return _by_level(rules, "unknown", 401, [Reason("identification-conflict", message)])
    if caller.kind != "named" or caller.did is None:
        message = f"The {header} header must be one DID, or its last 24 characters."
        return _by_level(rules, "unknown", 401, [Reason("identification-unreadable", message)])
    proof = _proof_reason(caller.proof, header)
    if caller.did in rules.deny:
        reasons = [Reason("deny-list", "This agent is on the deny list."), proof]
        return _deny(custom_refusal(rules, 403), reasons)
    chain, accepted = caller.delegation, rules.delegation
    if chain is not None and (accepted is None or not accepts_chain(accepted, chain.hops)):
        status, message = _CHAIN_MESSAGES["delegation-refused"]
        return _deny(custom_refusal(rules, status), [Reason("delegation-refused", message), proof])
    if result is not None and result.answered:
        return _decide_for_agent(rules, header, caller, result.agent, [proof])
    age = None if result is None else result.age_seconds
    if rules.unreachable == "stale" and age is not None and age <= rules.max_stale_seconds:
        seconds = math.floor(age) + (age - math.floor(age) >= 0.5)
        message = (
            "The identity service is not reachable at the moment. "
            f"The decision uses its response from {seconds} seconds ago."
        )
        reasons = [Reason("answer-stale", message), proof]
        agent = None if result is None else result.agent
        return replace(_decide_for_agent(rules, header, caller, agent, reasons), stale_seconds=seconds)
    message = "The identity service is not reachable at the moment. Try again later."
    return _unreachable(rules, [Reason("service-unreachable", message), proof])


def failure_verdict(rules: Rules, with_chain: bool) -> Verdict:
    """The verdict if the gateway itself fails: that for an unreachable service without a cached response.

    :param with_chain: the request has a chain of delegations, which no rule rescues
    """
    message = "The gateway failed to decide. Try again later."
    reasons = [Reason("gateway-failed", message)]
    return _deny(refusal_of(503, 5), reasons) if with_chain else _unreachable(rules, reasons)


def strictest(verdicts: Sequence[Verdict]) -> Verdict:
    """The strictest of several verdicts, the first one among equals."""
    return max(verdicts, key=lambda each: _STRICTNESS[each.action])


def refusal_of(status: int, retry_after_seconds: Optional[int] = None) -> Refusal:
    """A refusal that the policy does not change."""
    return Refusal(status, _CODES[status], None, retry_after_seconds)


def rate_limited(decision: Decision, seconds: int) -> Decision:
    """Turns a decision into a refusal with status 429."""
    reason = Reason("over-limit", f"Too many requests. Try again in {seconds} seconds.")
    return refused_by(decision, reason, refusal_of(429, seconds))


def refused_by(decision: Decision, reason: Reason, refusal: Refusal) -> Decision:
    """Turns a decision into a refusal for a further reason."""
    return replace(
        decision,
        action="deny",
        admitted=decision.mode == "shadow",
        reasons=(reason, *decision.reasons),
        refusal=refusal,
        pending_approval=None,
    )


_REPLAY_UNCHECKED = (
    "This site cannot tell yet whether the signature was used before. Try again later."
)
_NO_NONCE_STORE = (
    "This site has no store of used signatures, so it cannot admit signed requests that change state."
)


def with_unverified_signature(
    decision: Decision, signature: SignatureResult, retry_after_seconds: Optional[int]
) -> Decision:
    """The decision on a request whose signature could not be verified, from that without the signature: if it is refused
    because it proves nothing, the refusal says why, and when to try again. The reasons name the signature instead of
    ``header-only``.

    :param retry_after_seconds: when, if its replay could not be checked; ``None``: never
    """
    decision = replace(decision, signature=signature)
    is_unchecked = signature.reason == "replay-unchecked"
    if is_unchecked and retry_after_seconds is None:
        reason = Reason("no-nonce-store", _NO_NONCE_STORE)
    elif is_unchecked:
        reason = Reason("replay-unchecked", _REPLAY_UNCHECKED)
    else:
        reason = Reason("signature-unverified", "The signature of the request could not be verified.")
    # It has a signature, so it did not only send the header.
    others = tuple(each for each in decision.reasons if each.code != "header-only")
    if decision.refusal is None or others[0].code not in _NEEDS_PROOF:
        is_named = len(others) < len(decision.reasons)
        return replace(decision, reasons=(*others, reason)) if is_named else decision
    seconds = retry_after_seconds if is_unchecked else 1
    status = signature.status if signature.status in (429, 503) else 401
    refusal = decision.refusal if status == 401 else refusal_of(status, seconds)
    return replace(decision, reasons=(reason, *others), refusal=refusal)


def decision_of(
    mode: str,
    caller: Caller,
    verdict: Verdict,
    source: Optional[str] = None,
    issuer: Optional[str] = None,
    status_age_seconds: Optional[float] = None,
) -> Decision:
    """Completes a verdict.

    :param source: where the agent's data comes from, if it is not stale
    :param issuer: the service that certifies the agent
    :param status_age_seconds: how old the status is at most, if it is not stale
    """
    agent = verdict.agent
    named = caller.kind == "named"
    stale_seconds = verdict.stale_seconds
    return Decision(
        action=verdict.action,
        admitted=mode == "shadow" or verdict.action != "deny",
        mode=mode,
        level=verdict.level,
        reasons=verdict.reasons,
        refusal=verdict.refusal,
        did=caller.did if named else None,
        status=None if agent is None else agent.status,
        verified=agent is not None and agent.verified,
        identity_level=None if agent is None else _identity_level(agent),
        grade=None if agent is None else agent.grade,
        issuer=issuer if named else None,
        source=source if stale_seconds is None else "stale",
        status_age_seconds=status_age_seconds if stale_seconds is None else stale_seconds,
        proof=caller.proof if named else "none",
        directory=caller.url if caller.kind == "directory" else None,
        delegation=_delegate_of(caller.delegation) if named else None,
    )


def _delegate_of(delegation: Optional[Delegation]) -> Optional[Delegate]:
    """``delegation``: proven."""
    if delegation is None or delegation.keyid is None:
        return None
    return Delegate(delegation.keyid, delegation.depth, delegation.hops[-1].expires_at)


def _decide_for_agent(
    rules: Rules, header: str, caller: Caller, agent: Optional[AgentData], more: List[Reason]
) -> Verdict:
    if agent is None:
        unknown = Reason("agent-unknown", "The service has no such agent.")
        return _by_level(rules, "unknown", 403, [unknown, *more])

    def refuse(status: int, code: str, message: str) -> Verdict:
        verdict = _deny(custom_refusal(rules, status), [Reason(code, message), *more])
        return replace(verdict, agent=agent)

    if agent.status not in rules.statuses:
        return refuse(403, "status-refused", f"The certificate of this agent is {agent.status}.")
    if rules.approval is not None and caller.proof != "signature":
        return refuse(
            401,
            "proof-required",
            "This request needs a signature by the agent’s key: neither a header nor a session is enough. Sign the request.",
        )
    if rules.require_proof and caller.proof == "none":
        return refuse(
            401,
            "proof-required",
            "The request names an agent without proof. Sign the request with the agent’s key, "
            "or send a session of this site.",
        )
    key_age = max(0, int(agent.key_age_seconds or 0))
    if key_age < rules.minimum_key_age_seconds:
        minimum_age = _number_text(rules.minimum_key_age_seconds)
        message = f"The key of this agent is {key_age} seconds old. This site requires {minimum_age}."
        return refuse(403, "key-too-young", message)
    if agent.owner_age_seconds is not None:
        owner_age = max(0, int(agent.owner_age_seconds))
        if owner_age < rules.minimum_owner_age_seconds:
            minimum_age = _number_text(rules.minimum_owner_age_seconds)
            message = (
                f"This agent was transferred to its owner {owner_age} seconds ago. This site requires {minimum_age}."
            )
            return refuse(403, "owner-too-new", message)
    fault = _approval_fault(rules, caller)
    if fault == "directory-unavailable":
        message = "The identity service is not reachable at the moment. Try again later."
        refused = _deny(refusal_of(503, 5), [Reason("service-unreachable", message), *more])
        return replace(refused, agent=agent)
    if fault is not None:
        return refuse(403, fault, approval_message(fault, header))
    if agent.did in rules.allow:
        reasons = (Reason("allow-list", "This agent is on the allow list."), *more)
        return Verdict("allow", reasons, agent=agent)
    minimum = rules.minimum_grade
    if minimum is not None and (agent.grade is None or agent.grade > minimum):
        wanted = f"This site requires {minimum} or better."
        if agent.grade is None:
            return refuse(403, "grade-unknown", f"The grade of this agent is unknown. {wanted}")
        return refuse(403, "grade-too-low", f"The grade of this agent is {agent.grade}. {wanted}")
    level, why = _level_of(rules, agent)
    return replace(_by_level(rules, level, 403, [why, *more]), agent=agent)


def _approval_fault(rules: Rules, caller: Caller) -> Optional[str]:
    """Why the approval of a signed request does not count by these rules (docs/approvals.md, steps b to e)."""
    if rules.approval is None:
        return None
    if not isinstance(caller.approval, FoundApproval):
        return caller.approval or "approval-required"
    return approval_fault(caller.approval.approval, rules.approval, caller.now)


def approval_message(code: str, header: str) -> str:
    """:param header: the name of the identification header"""
    return _APPROVAL_MESSAGES[code].format(header=f"{header}-Approval")


_APPROVAL_MESSAGES = {
    "approval-required": "The owner of the agent has to approve this request, in a way that this site accepts. "
    "Ask for an approval, and send its token in {header}.",
    "approval-invalid": "The approval in the request is no valid token of the agent’s service.",
    "approval-mismatch": "The approval is for another request or agent, or this site could not compare the body. "
    "Send exactly the request that was approved.",
    "approval-expired": "The approval has expired, or is older than this site accepts. Ask for another one.",
}


def _level_of(rules: Rules, agent: AgentData) -> Tuple[str, Reason]:
    method = agent.identity_method
    if method is None:
        message = "The certificate is active, and its owner is not verified."
        return "unverified", Reason("owner-unverified", message)
    if rules.identity_methods is None or method in rules.identity_methods:
        message = f"The certificate is active, and its owner was verified by {method}."
        return "verified", Reason("owner-verified", message)
    message = f"The owner was verified by {method}, which this site does not accept."
    return "unverified", Reason("provider-not-accepted", message)


def _by_level(rules: Rules, level: str, status: int, reasons: List[Reason]) -> Verdict:
    # Only agents have owners who approve.
    is_agent = level in ("verified", "unverified")
    action = rules.levels[level] if rules.approval is None or is_agent else "deny"
    if action == "deny":
        return replace(_deny(custom_refusal(rules, status), reasons), level=level)
    return Verdict(action, tuple(reasons), level=level)


def _unreachable(rules: Rules, reasons: List[Reason]) -> Verdict:
    # Nothing replaces an approval: with it, the status of the agent has to be known.
    if rules.approval is None and rules.unreachable in ("flag", "allow"):
        return Verdict(rules.unreachable, tuple(reasons))
    return _deny(refusal_of(503, 5), reasons)


def _deny(refusal: Refusal, reasons: List[Reason]) -> Verdict:
    return Verdict("deny", tuple(reasons), refusal=refusal)


def custom_refusal(rules: Rules, status: int) -> Refusal:
    """A refusal with the status and message that the rules set."""
    chosen = rules.refusal_status or status
    return Refusal(chosen, _CODES[chosen], rules.refusal_message)


def _identity_level(agent: AgentData) -> str:
    return "unverified" if agent.identity_method is None else agent.identity_method


def _no_identification(header: str) -> Reason:
    message = f"The request has no {header} header, so it identifies no agent."
    return Reason("no-identification", message)


def _proof_reason(proof: str, header: str) -> Reason:
    if proof == "signature":
        return Reason("signature-proven", "The caller signed the request with the agent's key.")
    if proof == "session":
        return Reason(
            "session-proven",
            "The caller has a session of this site, and proved possession of the agent's key when it signed in.",
        )
    message = (
        f"The caller only sent the {header} header, which does not prove possession of the agent's key."
    )
    return Reason("header-only", message)


def _number_text(value: float) -> str:
    """As JavaScript writes a number from 0 to 10^21."""
    if float(value).is_integer():
        return str(int(value))
    if value >= 1e-6:
        return format(Decimal(repr(float(value))), "f")
    return re.sub("e-0+", "e-", repr(float(value)))
