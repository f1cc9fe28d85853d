"""Countersign: an identity for software agents.

>>> from countersign import Agent, AgentKey
>>> agent = Agent("https://id.example", AgentKey.generate(), audiences=["https://shop.example"])
"""

from ._http import RawRequest, SignatureAgent
from .agent import Agent, Answer
from .approval_requests import ApprovalOptions, PendingApproval
from .approvals import ApprovalPolicy, RequestApproval
from .certificates import (
    VerifiedCertificate,
    VerifiedStaple,
    verify_certificate,
    verify_staple,
)
from .delegated_agent import DelegatedAgent
from .delegation import Delegation, DelegationHop, DelegationLimits, DelegationPolicy, SignedDelegation
from .enrolment import Enrolment, enrol, gcp_token, github_actions_token, keep_enrolled, token_file
from .errors import CountersignError
from .keys import AgentKey, default_key_file
from .nonces import MemoryNonceStore, NonceStore, UsedNonce
from .registry import Registry
from .reports import Evidence, ReportStatus, SentReport, evidence_of, report_agent, report_status
from .results import AgentKeys, AgentObject, Card, Grade, Lookup, Verification
from .sessions import AgentSignIn, ChallengeStore, MemoryChallengeStore, SessionClaims
from .status import StatusFollower
from .verification import RequestVerifier, SignatureResult, SigningKey
from .verify_request import verify_request

__version__ = "0.1.0"

__all__ = [
    "Agent",
    "AgentKey",
    "AgentKeys",
    "AgentObject",
    "AgentSignIn",
    "Answer",
    "ApprovalOptions",
    "ApprovalPolicy",
    "Card",
    "ChallengeStore",
    "CountersignError",
    "DelegatedAgent",
    "Delegation",
    "DelegationHop",
    "DelegationLimits",
    "DelegationPolicy",
    "Enrolment",
    "Evidence",
    "Grade",
    "Lookup",
    "MemoryChallengeStore",
    "MemoryNonceStore",
    "NonceStore",
    "PendingApproval",
    "RawRequest",
    "Registry",
    "ReportStatus",
    "RequestApproval",
    "RequestVerifier",
    "SentReport",
    "SessionClaims",
    "SignatureAgent",
    "SignatureResult",
    "SignedDelegation",
    "SigningKey",
    "StatusFollower",
    "UsedNonce",
    "Verification",
    "VerifiedCertificate",
    "VerifiedStaple",
    "__version__",
    "default_key_file",
    "enrol",
    "evidence_of",
    "gcp_token",
    "github_actions_token",
    "keep_enrolled",
    "report_agent",
    "report_status",
    "token_file",
    "verify_certificate",
    "verify_request",
    "verify_staple",
]
