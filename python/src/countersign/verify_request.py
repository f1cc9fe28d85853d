"""Verifying one request with the keys of a service."""

from __future__ import annotations

import base64
import time
from dataclasses import replace
from typing import Any, Callable, List, Mapping, Optional, Sequence, Union

from ._http import RawRequest, SignatureAgent, SignedParts
from ._roots import registry_roots
from .approvals import (
    ApprovalPolicy,
    FoundApproval,
    approval_fault,
    find_approval,
    is_body_compared,
    record_approval,
)
from .delegation import DelegationPolicy
from .errors import CountersignError
from .nonces import NonceStore
from .registry import Registry
from .verification import RequestVerifier, SignatureResult, SigningKey, refused


def verify_request(
    request: RawRequest,
    registry: Registry,
    audiences: Sequence[str],
    nonces: Optional[NonceStore],
    now: Callable[[], float] = time.time,
    delegation: Optional[DelegationPolicy] = None,
    approval: Optional[ApprovalPolicy] = None,
) -> SignatureResult:
    """Verifies the signature of a request (RFC 9421, Web Bot Auth). Decide by ``verdict``; ``reason`` is for your log.

    It asks the service for each signed request. The middlewares cache what it answers.

    :param registry: the service that certifies the agents
    :param audiences: the origins at which agents reach you, such as ``https://shop.example``; never take one from a request
    :param nonces: the nonces that were used, such as one ``MemoryNonceStore()`` that you create once; ``None``: you detect
        replays yourself
    :param now: the clock, in Unix seconds
    :param delegation: which delegates of agents to accept: requests that a worker signs, with a chain of delegations from its agent. Then
        ``did`` is the agent, and ``delegation`` says more. By default all are refused
    :param approval: which approvals by its owner a request needs, each of which admits it once. ``approval`` of the result says more;
        without ``nonces``, refuse a ``use_key`` that you have stored before. By default none is needed
    """
    found: List[FoundApproval] = []

    def find_key(agent: SignatureAgent, keyid: str) -> Union[SigningKey, str]:
        did = registry.naming.did_of_key_set(registry.service, agent.url)
        if did is None:
            return "untrusted-agent"
        try:
            found = registry.agent(did)
            if not registry.record_key_sequence(did, int(found["keySequence"])):
                return "directory-unavailable"
            if found["keyThumbprint"] != keyid:
                return "unknown-key"
            return SigningKey(base64.b64decode(found["publicKey"], validate=True), did, str(found["status"]))
        except CountersignError as error:
            return "unknown-key" if error.code == "NOT_FOUND" else "directory-unavailable"
        except (KeyError, TypeError, ValueError):
            return "directory-unavailable"

    def examine(received: SignedParts, digest: Optional[str], did: Optional[str]) -> Optional[str]:
        if approval is None:
            return None
        carried = find_approval(received, digest, did, registry.naming, approval_verifier(registry, None, now))
        if isinstance(carried, str):
            return carried
        found.append(carried)
        return approval_fault(carried.approval, approval, now())

    verifier = RequestVerifier(
        audiences,
        find_key,
        nonces,
        registry.naming,
        now=now,
        delegation=delegation,
        find_root=registry_roots(registry, now),
        proven=registry.proven_chains,
        examine=examine,
    )
    result = verifier.verify(request)
    if approval is None or result.verdict != "verified":
        return result
    if not approval.body_checked_by_application and not is_body_compared(found[0], result.digest, True):
        return refused("approval-mismatch", result)
    outcome = "fresh" if nonces is None else record_approval(found[0], nonces)
    if outcome == "fresh":
        return replace(result, approval=found[0].approval)
    return refused({"used": "approval-used", "share-exceeded": "too-many-requests"}.get(outcome, "approval-unchecked"), result)


def approval_verifier(
    registry: Registry, issuer: Optional[str], now: Callable[[], float]
) -> Callable[[str], Union[Mapping[str, Any], str]]:
    """Verifies approvals by the keys of a service."""

    def verify(token: str) -> Union[Mapping[str, Any], str]:
        try:
            return registry.verify_approval(token, issuer, now)
        except CountersignError as error:
            return "approval-invalid" if error.code == "INVALID_TOKEN" else "directory-unavailable"

    return verify
